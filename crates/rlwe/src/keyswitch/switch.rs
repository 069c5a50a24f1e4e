//! The key switch itself, single and hoisted.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, automorphism::Automorphism, sample::SIGMA, scratch::Scratch};

use super::gadget::Decomposition;
use crate::{
    Context, Modulus, PreparedSwitchingKey, RlweError,
    context::LimbRefs,
    modulus::MAX_LIMBS,
    noise::{self, Noise},
    switch::{GROUP, Remainder},
};

/// A polynomial modulo `Q` decomposed into digits, each to be known modulo `PQ` in the evaluation domain.
///
/// From [`Context::decompose`] the digits are extended to `PQ` as a key switch goes along, a few limbs at a time; from
/// [`Context::decompose_hoisted`] they are extended at once, to be shared by the rotations of one ciphertext (hoisting, Halevi and
/// Shoup, ePrint 2018/244).
#[derive(Debug)]
pub struct Decomposed<'a> {
    plan: Arc<Decomposition>,
    modulus: Modulus,
    /// The polynomial itself: the limbs of each digit modulo its own factors.
    original: &'a Poly,
    /// The coefficients of the digits: what base conversion extends.
    coefficients: Scratch<'a>,
    /// For each digit its limbs modulo the other factors of `PQ`, if they were extended at once.
    extended: Option<ArrayVec<Scratch<'a>, MAX_LIMBS>>,
}

impl Context {
    /// Decomposes `poly`, modulo `modulus` (a product of units) in the evaluation domain, for one key switch.
    ///
    /// # Errors
    /// When the polynomial does not fit, or the parameters have no key switching.
    pub fn decompose<'a>(&'a self, poly: &'a Poly, modulus: Modulus) -> Result<Decomposed<'a>, RlweError> {
        self.check_message(poly, modulus, "switch keys")?;
        if self.parameters().specials().is_one() {
            return Err(RlweError::Parameters {
                what: "there are no special primes, and so no key switching".into(),
            });
        }
        let plan = self.decompositions.get_or_insert(modulus, || Decomposition::new(self, modulus));
        let mut coefficients = self.scratch(modulus, Domain::Coefficient);
        coefficients.for_each_limb(self.threads(), |k, limb| {
            limb.copy_from_slice(poly.limb(k));
            self.limb_ring(modulus, k).ntt().inverse_scaled(limb, &plan.inputs[k]);
        });
        Ok(Decomposed { plan, modulus, original: poly, coefficients, extended: None })
    }

    /// Decomposes `poly` for several key switches.
    ///
    /// # Errors
    /// As [`Context::decompose`].
    pub fn decompose_hoisted<'a>(
        &'a self,
        poly: &'a Poly,
        modulus: Modulus,
    ) -> Result<Decomposed<'a>, RlweError> {
        let mut decomposed = self.decompose(poly, modulus)?;
        let mut extended = ArrayVec::new();
        for digit in &decomposed.plan.digits {
            let inputs = decomposed.digit_coefficients(digit.factors);
            let mut limbs = self.scratch(digit.others, Domain::Evaluation);
            let (degree, size) = (self.degree(), self.group(digit.others.limb_count()));
            self.threads().for_each_chunk(limbs.as_mut_slice(), size * degree, |group, limbs| {
                let first = group * size;
                let mut outputs: ArrayVec<(usize, &mut [u64]), GROUP> =
                    (first..).zip(limbs.chunks_exact_mut(degree)).collect();
                digit.converter.convert_into(&mut outputs, &inputs);
                for (k, limb) in outputs {
                    self.limb_ring(digit.others, k).ntt().forward_lazy(limb);
                }
            });
            extended.push(limbs);
        }
        decomposed.extended = Some(extended);
        Ok(decomposed)
    }

    /// Switches keys: with a key from `s'` to `s`, the decomposed `c` modulo `Q`, and `added` (polynomials modulo `Q`),
    /// `out0 + out1 s = round_t((Q'/Q) (added0 + added1 s + c s')) + e` modulo `to = Q'`, in one modulus switch from `PQ`. The result goes
    /// through `automorphism`. Everything is in the evaluation domain.
    ///
    /// # Errors
    /// When moduli or parameters do not fit.
    #[allow(clippy::too_many_arguments)]
    pub fn switch_keys_into(
        &self,
        out: [&mut Poly; 2],
        decomposed: &Decomposed<'_>,
        key: &PreparedSwitchingKey,
        added: [Option<&Poly>; 2],
        to: Modulus,
        t: u64,
        automorphism: Option<&Automorphism>,
    ) -> Result<(), RlweError> {
        self.check_digest(key.parameters(), "switch keys")?;
        let from = decomposed.modulus;
        for added in added.iter().flatten() {
            self.check_message(added, from, "switch keys")?;
        }
        if out.iter().any(|out| out.degree() != self.degree()) {
            return Err(RlweError::Modulus {
                operation: "switch keys",
                have: from.limb_count(),
                need: "the results are polynomials of another ring degree",
            });
        }
        let extended = from.lcm(self.parameters().specials());
        if !to.divides(extended) {
            return Err(RlweError::Modulus {
                operation: "switch keys",
                have: to.limb_count(),
                need: "a divisor of the modulus times the specials is needed",
            });
        }
        let plan = self.switch_plan(extended, to, t)?;
        let degree = self.degree();

        // First what the modulus switch divides away, as the scaled coefficients that it wants.
        let mut remainders = [0, 1].map(|_| self.scratch(plan.dropped, Domain::Coefficient));
        let [r0, r1] = &mut remainders;
        let size = self.group(plan.dropped.limb_count());
        self.threads().for_each_chunk_pair(
            r0.as_mut_slice(),
            r1.as_mut_slice(),
            size * degree,
            |group, r0, r1| {
                let targets = targets(plan.dropped, group * size, r0.len() / degree);
                let extended = self.extend_digits(decomposed, &targets);
                let limbs = r0.chunks_exact_mut(degree).zip(r1.chunks_exact_mut(degree));
                for (i, (r0, r1)) in limbs.enumerate() {
                    self.inner_product([r0, r1], &targets, i, &extended, decomposed, key, added);
                    let (ntt, factor) = (self.ring(targets[i]).ntt(), &plan.inputs[group * size + i].0);
                    ntt.inverse_scaled(r0, factor);
                    ntt.inverse_scaled(r1, factor);
                }
            },
        );

        // Then what stays, limb by limb from the digits to the end.
        let [r0, r1] = [0, 1].map(|i| Remainder::new(self, &plan, &remainders[i]));
        let [out0, out1] = out;
        for out in [&mut *out0, &mut *out1] {
            out.resize_limbs(to.limb_count());
            out.set_domain(Domain::Evaluation);
        }
        let size = self.group(to.limb_count());
        self.threads().for_each_chunk_pair(
            out0.as_mut_slice(),
            out1.as_mut_slice(),
            size * degree,
            |group, out0, out1| {
                let (first, count) = (group * size, out0.len() / degree);
                let targets = targets(to, first, count);
                let extended = self.extend_digits(decomposed, &targets);
                let mut scratch = self.scratch_limbs(2 * count + 3, Domain::Coefficient);
                let (delta0, rest) = scratch.as_mut_slice().split_at_mut(count * degree);
                let (delta1, rest) = rest.split_at_mut(count * degree);
                let (acc0, rest) = rest.split_at_mut(degree);
                let (acc1, spare) = rest.split_at_mut(degree);
                r0.modulo(first, delta0);
                r1.modulo(first, delta1);
                for i in 0..count {
                    self.inner_product([acc0, acc1], &targets, i, &extended, decomposed, key, added);
                    let range = i * degree..(i + 1) * degree;
                    for (out, acc, delta) in
                        [(&mut *out0, &*acc0, &mut *delta0), (&mut *out1, &*acc1, &mut *delta1)]
                    {
                        let (out, delta) = (&mut out[range.clone()], &mut delta[range.clone()]);
                        self.finish_limb(
                            &plan,
                            first + i,
                            out,
                            Some(acc),
                            delta,
                            Domain::Evaluation,
                            spare,
                            automorphism,
                        );
                    }
                }
            },
        );
        Ok(())
    }

    /// The digits modulo the factors `targets` of `PQ`, unless they were extended at once: limb `d |targets| + i` is digit `d` modulo target
    /// `i`, where that is not a factor of the digit.
    fn extend_digits<'a>(&'a self, decomposed: &Decomposed<'_>, targets: &[usize]) -> Scratch<'a> {
        let (degree, digits) = (self.degree(), &decomposed.plan.digits);
        let count = if decomposed.extended.is_none() { digits.len() * targets.len() } else { 0 };
        let mut extended = self.scratch_limbs(count, Domain::Evaluation);
        for (digit, limbs) in
            digits.iter().zip(extended.as_mut_slice().chunks_exact_mut(targets.len() * degree))
        {
            let mut outputs: ArrayVec<(usize, &mut [u64]), GROUP> = targets
                .iter()
                .zip(limbs.chunks_exact_mut(degree))
                .filter(|(factor, _)| digit.others.contains(**factor))
                .map(|(factor, limb)| (digit.others.limb_of(*factor), limb))
                .collect();
            if !outputs.is_empty() {
                digit.converter.convert_into(&mut outputs, &decomposed.digit_coefficients(digit.factors));
            }
            for (k, limb) in outputs {
                self.limb_ring(digit.others, k).ntt().forward_lazy(limb);
            }
        }
        extended
    }

    /// The inner product of the digits with the key modulo target `i`, plus `P` times `added`.
    #[allow(clippy::too_many_arguments)]
    fn inner_product(
        &self,
        [acc0, acc1]: [&mut [u64]; 2],
        targets: &[usize],
        i: usize,
        fresh: &Poly,
        decomposed: &Decomposed<'_>,
        key: &PreparedSwitchingKey,
        added: [Option<&Poly>; 2],
    ) {
        let (factor, gadget) = (targets[i], &*decomposed.plan);
        let digits: ArrayVec<(usize, &[u64]), MAX_LIMBS> = gadget
            .digits
            .iter()
            .enumerate()
            .map(|(d, digit)| {
                let limb = match &decomposed.extended {
                    _ if digit.factors.contains(factor) => {
                        decomposed.original.limb(decomposed.modulus.limb_of(factor))
                    }
                    Some(extended) => extended[d].limb(digit.others.limb_of(factor)),
                    None => fresh.limb(targets.len() * d + i),
                };
                (digit.index, limb)
            })
            .collect();
        let elementwise = self.ring(factor).elementwise();
        elementwise.inner_product(acc0, acc1, &digits, key.limb(factor));
        if decomposed.modulus.contains(factor) {
            let limb = decomposed.modulus.limb_of(factor);
            for (acc, added) in [acc0, acc1].into_iter().zip(added) {
                if let Some(added) = added {
                    elementwise.mul_scalar_add_assign(acc, added.limb(limb), &gadget.specials[limb]);
                }
            }
        }
    }

    /// The noise that a key switch of a polynomial modulo `from` adds when it ends modulo `to`: that of the inner product,
    /// divided by `P Q/Q'`, and the rounding of the modulus switch.
    pub fn key_switch_noise(&self, from: Modulus, to: Modulus, t: u64) -> Noise {
        let parameters = self.parameters();
        let digits = parameters.digits(from).map(|(_, digit)| (parameters.log2(digit), digit.limb_count()));
        let down = parameters.log2(to) - parameters.log2(from) - parameters.log2(parameters.specials());
        noise::inner_product(self.degree(), SIGMA * t as f64, digits).scaled(down).plus(noise::rounding(
            parameters.secret_weight(),
            t,
            2,
        ))
    }
}

impl Decomposed<'_> {
    /// Whether it is the decomposition of this very polynomial.
    pub(crate) fn is_of(&self, poly: &Poly) -> bool {
        std::ptr::eq(self.original, poly)
    }

    /// The coefficients of the digit modulo `factors`.
    fn digit_coefficients(&self, factors: Modulus) -> LimbRefs<'_> {
        factors.factors().map(|i| self.coefficients.limb(self.modulus.limb_of(i))).collect()
    }
}

/// The factors of `modulus` from the `first` on, `count` of them.
fn targets(modulus: Modulus, first: usize, count: usize) -> ArrayVec<usize, GROUP> {
    modulus.factors().skip(first).take(count).collect()
}
