//! Raising the modulus of a ciphertext from `q` to a multiple `Q`. This is the first step of
//! bootstrapping (HK20; GRAFT 2.3, F.2).

use hippocrene_ring::{Domain, Poly, convert::BaseConverter};

use crate::{Ciphertext, Context, Modulus, RlweError, dry_run::tally::RAISE};

const OPERATION: &str = "raise the modulus";

impl Context {
    /// Raises the modulus `q` of `a` to a multiple `to = Q`.
    ///
    /// The parts of `out` are those of `a`, read as integers in `[-q/2, q/2)`.
    ///
    /// If `a` decrypts to `m + e` modulo `q`, the result decrypts to `m + e + q I` modulo `Q`, with
    /// `I` an integer polynomial. Nothing is rounded, so the noise does not change.
    ///
    /// Let the parts be uniform modulo `q` and the secret have Hamming weight `h`. Then a
    /// coefficient of `I + (m + e)/q` is distributed as the sum of `h + 1` independent numbers that
    /// are uniform on `[-1/2, 1/2)`.
    ///
    /// Near `q/2` the sign may be wrong. If `q` has `l > 1` limbs, this can happen to a coefficient
    /// of a part that is within `l (l + 7) 2^-54 q` of `q/2` ([`BaseConverter::convert_exact`]).
    /// The integer then exceeds `q/2` by at most that much.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if `to` is not a modulus of ciphertexts or not a multiple of
    /// `q`, and [`RlweError::Parts`] if `a` has more than two parts.
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

    /// Checks that the modulus can be raised from `from` to `to`.
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

    /// Computes `out = x` modulo `to`, a multiple of `from`, in the coefficient domain. Overwrites
    /// `x`.
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
        let is_shared = |position: &usize| from.contains(*position) && from.agrees(to, *position);
        for position in to.factors().filter(is_shared) {
            out.limb_mut(to.limb_of(position)).copy_from_slice(x.limb(from.limb_of(position)));
        }
        let converted: Vec<usize> = to.factors().filter(|position| !is_shared(position)).collect();
        let targets: Vec<u64> =
            converted.iter().map(|position| parameters.limb_modulus(to, *position)).collect();
        let converter = BaseConverter::new(&own, &targets, self.kernel());
        self.record("raise a polynomial", |count| {
            count.conversions(from, to.without(from), 1);
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
            if let Some(j) = converted.iter().position(|p| *p == position) {
                converter.convert_exact_into(&mut [(j, &mut *limb)], &inputs);
                let ring = self.ring_at(to, position);
                // Converted limbs are below twice the modulus.
                ring.mul_scalar_assign(limb, &ring.scalar(1));
            }
        });
    }
}
