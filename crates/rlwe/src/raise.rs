//! Raising a modulus: a ciphertext modulo `q` read modulo a multiple `Q` of it, the first step of
//! bootstrapping (HK20; GRAFT 2.3, F.2).

use hippocrene_ring::{Domain, Poly, convert::BaseConverter};

use crate::{Ciphertext, Context, Modulus, RlweError, dry_run::tally::RAISE};

const OPERATION: &str = "raise the modulus";

impl Context {
    /// `out = a` with the parts, taken as integers in `[-q/2, q/2)`, modulo a multiple `to = Q` of
    /// the modulus `q` of `a`.
    ///
    /// If `a` decrypts to `m + e` modulo `q`, the result decrypts to `m + e + q I` modulo `Q`, with
    /// `I` an integer polynomial. Nothing is rounded, so the noise stays.
    ///
    /// With parts that are uniform modulo `q` and a secret of Hamming weight `h`, a coefficient of
    /// `I + (m + e)/q` is the sum of `h + 1` independent numbers that are uniform on `[-1/2, 1/2)`.
    ///
    /// Near `q/2` either sign may come out. With `l > 1` limbs in `q`, that is where a coefficient
    /// of a part is within `l (l + 7) 2^-54 q` of `q/2` ([`BaseConverter::convert_exact`]). The
    /// integer is then larger than `q/2` by that much at most.
    ///
    /// # Errors
    /// [`RlweError::Modulus`] when `to` is not a modulus of ciphertexts or no multiple of `q`,
    /// [`RlweError::Parts`] when `a` has more than two parts.
    pub fn raise_modulus_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), RlweError> {
        self.check_two_parts(a, OPERATION)?;
        let from = a.modulus();
        self.check_raise(from, to)?;
        self.record(RAISE, |_| ());
        out.reshape(self, 2, to, a.noise(), a.key());
        let mut coefficients = self.scratch(from, Domain::Coefficient);
        for (out, part) in out.parts_mut().iter_mut().zip(a.parts()) {
            coefficients.as_mut_slice().copy_from_slice(part.as_slice());
            coefficients.set_domain(part.domain());
            self.to_coefficient(&mut coefficients, from);
            self.raise_coefficients(out, &mut coefficients, from, to);
            self.to_evaluation(out, to);
        }
        Ok(())
    }

    pub(crate) fn check_raise(&self, from: Modulus, to: Modulus) -> Result<(), RlweError> {
        self.check_modulus(from, OPERATION)?;
        self.check_modulus(to, OPERATION)?;
        match from.divides(to) {
            true => Ok(()),
            false => {
                let (have, need) =
                    (to.limb_count(), "a multiple of the modulus of the ciphertext is needed");
                Err(RlweError::Modulus { operation: OPERATION, have, need })
            }
        }
    }

    /// `out = x` in coefficients, from modulo `from` to modulo its multiple `to`. `x` is used up.
    pub(crate) fn raise_coefficients(
        &self,
        out: &mut Poly,
        x: &mut Poly,
        from: Modulus,
        to: Modulus,
    ) {
        let (own, parameters) = (self.parameters().limb_moduli(from), self.parameters());
        out.resize_limbs(to.limb_count());
        out.set_domain(Domain::Coefficient);
        let kept = |position: &usize| from.contains(*position) && from.agrees(to, *position);
        for position in to.factors().filter(kept) {
            out.limb_mut(to.limb_of(position)).copy_from_slice(x.limb(from.limb_of(position)));
        }
        let fresh: Vec<usize> = to.factors().filter(|position| !kept(position)).collect();
        let wanted: Vec<u64> =
            fresh.iter().map(|position| parameters.limb_modulus(to, *position)).collect();
        let converter = BaseConverter::new(&own, &wanted, self.kernel());
        self.record("raise a polynomial", |count| {
            let kept = to
                .factors()
                .filter(kept)
                .fold(Modulus::ONE, |all, p| all.lcm(to.gcd(Modulus::of_factor(p))));
            count.conversions(from, to.without(kept), 1);
            count.passes(from, 1);
            count.passes(to, 1);
        });
        x.for_each_limb(self.threads(), |k, limb| {
            let ring = self.limb_ring(from, k);
            ring.mul_scalar_assign(limb, &ring.scalar(converter.input_factor(k)));
        });
        let inputs: Vec<&[u64]> = x.limbs().collect();
        out.for_each_limb(self.threads(), |k, limb| {
            let position = to.factors().nth(k).expect("a limb of this modulus");
            if let Some(j) = fresh.iter().position(|p| *p == position) {
                converter.convert_exact_into(&mut [(j, &mut *limb)], &inputs);
                let ring = self.ring_at(to, position);
                // Converted limbs are below twice the modulus.
                ring.mul_scalar_assign(limb, &ring.scalar(1));
            }
        });
    }
}
