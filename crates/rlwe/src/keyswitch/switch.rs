//! The key switch itself, single and hoisted.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, automorphism::Automorphism, scratch::Scratch};

use super::gadget::{Decomposition, Digit};
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
    /// The polynomial itself: the limbs that each digit has itself.
    original: &'a Poly,
    /// The coefficients of the digits: what base conversion extends.
    coefficients: Scratch<'a>,
    /// For each digit its limbs at the other positions of `PQ`, if they were extended at once.
    extended: Option<ArrayVec<Scratch<'a>, MAX_LIMBS>>,
    /// At [`Modulus::TWO`], if `Q` has it and the digits were extended at once: each digit in the form that inner products take there.
    lifted: Option<Scratch<'a>>,
}

impl Context {
    /// Decomposes `poly`, modulo `modulus` (a divisor of `Q_max`) in the evaluation domain, for one key switch.
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
            self.limb_ring(modulus, k).ntt().inverse_scaled_into(limb, poly.limb(k), &plan.inputs[k]);
        });
        Ok(Decomposed { plan, modulus, original: poly, coefficients, extended: None, lifted: None })
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
        if modulus.contains(Modulus::TWO) {
            let elementwise = self.ring_at(self.parameters().full(), Modulus::TWO).elementwise();
            let size = elementwise.lifted_limbs() * self.degree();
            let count = decomposed.plan.digits.len() * elementwise.lifted_limbs();
            let mut lifted = self.scratch_limbs(count, Domain::Evaluation);
            self.threads().for_each_chunk(lifted.as_mut_slice(), size, |d, out| {
                let digit = &decomposed.plan.digits[d];
                let limb = match digit.factors.contains(Modulus::TWO) {
                    true => poly.limb(modulus.limb_of(Modulus::TWO)),
                    false => extended[d].limb(digit.others.limb_of(Modulus::TWO)),
                };
                elementwise.lift(out, limb);
            });
            decomposed.lifted = Some(lifted);
        }
        decomposed.extended = Some(extended);
        Ok(decomposed)
    }

    /// Switches keys: with a key from `s'` to `s`, the decomposed `c` modulo `Q`, and `added` (polynomials modulo `Q`),
    /// `out0 + out1 s = round_t((Q'/Q) (added0 + added1 s + c s')) + e` modulo `to = Q'`, any divisor of `PQ_max`, in one modulus switch from `PQ`. The
    /// result goes through `automorphism`. Everything is in the evaluation domain.
    ///
    /// It is Algorithm 4 of GRAFT without its first step: the digits are taken modulo the divisors of the blocks that `Q` has, of the sprout
    /// too, so that there is no `Q_inter`. What only `Q'` has costs no inner product.
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
        let product = Product { context: self, decomposed, key, added };
        let extended = decomposed.plan.extended;
        let plan = self.switch_plan(extended, to, t)?;
        let degree = self.degree();

        // First where one part of a limb is divided away and another stays, which can be in the sprout only.
        let split: ArrayVec<usize, GROUP> = plan.dropped.factors().filter(|p| to.contains(*p)).collect();
        let mut shared = [0, 1].map(|_| self.scratch_limbs(split.len(), Domain::Evaluation));
        let [s0, s1] = &mut shared;
        self.threads().for_each_chunk_pair(s0.as_mut_slice(), s1.as_mut_slice(), degree, |k, s0, s1| {
            let target = [split[k]];
            product.at(&target, 0, &product.extend(&target), [s0, s1]);
        });
        let shared = |position: usize| {
            let k = split.iter().position(|p| *p == position)?;
            Some([shared[0].limb(k), shared[1].limb(k)])
        };

        // Then what the modulus switch divides away, as the scaled coefficients that it wants.
        let mut remainders = [0, 1].map(|_| self.scratch(plan.dropped, Domain::Coefficient));
        let [r0, r1] = &mut remainders;
        let size = self.group(plan.dropped.limb_count());
        self.threads().for_each_chunk_pair(
            r0.as_mut_slice(),
            r1.as_mut_slice(),
            size * degree,
            |group, r0, r1| {
                let positions = positions(plan.dropped, group * size, r0.len() / degree);
                let targets: Targets = positions.iter().copied().filter(|p| !split.contains(p)).collect();
                let fresh = product.extend(&targets);
                let limbs = r0.chunks_exact_mut(degree).zip(r1.chunks_exact_mut(degree));
                for (position, (r0, r1)) in positions.into_iter().zip(limbs) {
                    match (targets.iter().position(|p| *p == position), shared(position)) {
                        (Some(i), _) => product.at(&targets, i, &fresh, [&mut *r0, &mut *r1]),
                        (None, Some([x0, x1])) => {
                            self.load_remainder(&plan, position, r0, x0);
                            self.load_remainder(&plan, position, r1, x1);
                        }
                        (None, None) => unreachable!("what is not split is a target"),
                    }
                    self.invert_remainder(&plan, position, r0);
                    self.invert_remainder(&plan, position, r1);
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
                let positions = positions(to, first, count);
                let wanted = |p: &usize| extended.contains(*p) && !split.contains(p);
                let targets: Targets = positions.iter().copied().filter(wanted).collect();
                let fresh = product.extend(&targets);
                let mut scratch = self.scratch_limbs(2 * count + 3, Domain::Coefficient);
                let (delta0, rest) = scratch.as_mut_slice().split_at_mut(count * degree);
                let (delta1, rest) = rest.split_at_mut(count * degree);
                let (acc0, rest) = rest.split_at_mut(degree);
                let (acc1, spare) = rest.split_at_mut(degree);
                r0.modulo(first, delta0);
                r1.modulo(first, delta1);
                for (k, position) in positions.into_iter().enumerate() {
                    let x = match targets.iter().position(|p| *p == position) {
                        Some(i) => {
                            product.at(&targets, i, &fresh, [&mut *acc0, &mut *acc1]);
                            Some([&*acc0, &*acc1])
                        }
                        None => shared(position),
                    };
                    let range = k * degree..(k + 1) * degree;
                    for (part, (out, delta)) in
                        [(&mut *out0, &mut *delta0), (&mut *out1, &mut *delta1)].into_iter().enumerate()
                    {
                        self.finish_limb(
                            &plan,
                            first + k,
                            &mut out[range.clone()],
                            x.map(|x| x[part]),
                            &mut delta[range.clone()],
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

    /// The noise that a key switch of a polynomial modulo `from` adds when it ends modulo `to`: that of the inner product,
    /// divided by `P Q/Q'`, and the rounding of the modulus switch.
    pub fn key_switch_noise(&self, from: Modulus, to: Modulus, t: u64) -> Noise {
        let parameters = self.parameters();
        let decomposition = self.decompositions.get_or_insert(from, || Decomposition::new(self, from));
        let down = parameters.log2(to) - parameters.log2(from) - parameters.log2(parameters.specials());
        let product = decomposition.noise.scaled((t as f64).log2() + down);
        match from.lcm(parameters.specials()).divides(to) {
            true => product,
            false => product.plus(noise::rounding(parameters.secret_weight(), t, 2)),
        }
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

/// The inner product of the digits with a key, modulo `PQ`, plus `P` times what is added.
#[derive(Clone, Copy)]
struct Product<'a> {
    context: &'a Context,
    decomposed: &'a Decomposed<'a>,
    key: &'a PreparedSwitchingKey,
    added: [Option<&'a Poly>; 2],
}

impl<'a> Product<'a> {
    /// The digits at the positions `targets` of `PQ`, unless they were extended at once: limb `d |targets| + i` is digit `d` at target `i`, where the
    /// digit does not have that position itself.
    fn extend(&self, targets: &[usize]) -> Scratch<'a> {
        let Product { context, decomposed, .. } = *self;
        let (degree, digits) = (context.degree(), &decomposed.plan.digits);
        let count = if decomposed.extended.is_none() { digits.len() * targets.len() } else { 0 };
        let mut extended = context.scratch_limbs(count, Domain::Evaluation);
        if count == 0 {
            return extended;
        }
        for (digit, limbs) in
            digits.iter().zip(extended.as_mut_slice().chunks_exact_mut(targets.len() * degree))
        {
            let mut outputs: ArrayVec<(usize, &mut [u64]), GROUP> = targets
                .iter()
                .zip(limbs.chunks_exact_mut(degree))
                .filter(|(position, _)| digit.others.contains(**position))
                .map(|(position, limb)| (digit.others.limb_of(*position), limb))
                .collect();
            if !outputs.is_empty() {
                digit.converter.convert_into(&mut outputs, &decomposed.digit_coefficients(digit.factors));
            }
            for (k, limb) in outputs {
                context.limb_ring(digit.others, k).ntt().forward_lazy(limb);
            }
        }
        extended
    }

    /// The inner product at target `i`, from the digits that [`Product::extend`] gave for these targets.
    ///
    /// The key is modulo `PQ_max`; where `PQ` has a divisor of what that has, the product is reduced. (The residues of the digits modulo the
    /// divisor stand for themselves as numbers.)
    fn at(&self, targets: &[usize], i: usize, fresh: &Poly, [acc0, acc1]: [&mut [u64]; 2]) {
        let Product { context, decomposed, key, added } = *self;
        let (position, gadget) = (targets[i], &*decomposed.plan);
        let full = context.parameters().full();
        let wide = context.ring_at(full, position).elementwise();
        let limb = |d: usize| match &decomposed.extended {
            _ if gadget.digits[d].factors.contains(position) => {
                decomposed.original.limb(decomposed.modulus.limb_of(position))
            }
            Some(extended) => extended[d].limb(gadget.digits[d].others.limb_of(position)),
            None => fresh.limb(targets.len() * d + i),
        };
        if position == Modulus::TWO {
            let size = wide.lifted_limbs() * context.degree();
            let count = if decomposed.lifted.is_none() { gadget.digits.len() } else { 0 };
            let mut scratch = context.scratch_limbs(count * wide.lifted_limbs(), Domain::Evaluation);
            for (d, out) in scratch.as_mut_slice().chunks_exact_mut(size).enumerate() {
                wide.lift(out, limb(d));
            }
            let lifted = decomposed.lifted.as_ref().unwrap_or(&scratch).as_slice();
            let pairs = pairs(&gadget.digits, |d| &lifted[d * size..(d + 1) * size]);
            wide.inner_product_lifted(acc0, acc1, &pairs, key.limb(position));
        } else {
            wide.inner_product(acc0, acc1, &pairs(&gadget.digits, limb), key.limb(position));
        }
        let elementwise = context.ring_at(gadget.extended, position).elementwise();
        if !full.agrees(gadget.extended, position) {
            let mut spare = context.scratch_limbs(1, Domain::Evaluation);
            for acc in [&mut *acc0, &mut *acc1] {
                elementwise.reduce(spare.limb_mut(0), acc);
                acc.copy_from_slice(spare.limb(0));
            }
        }
        if decomposed.modulus.contains(position) {
            let limb = decomposed.modulus.limb_of(position);
            for (acc, added) in [acc0, acc1].into_iter().zip(added) {
                if let Some(added) = added {
                    elementwise.mul_scalar_add_assign(acc, added.limb(limb), &gadget.specials[limb]);
                }
            }
        }
    }
}

/// The index in switching keys and the limb of each digit; of a merged digit all parts have the same limb.
fn pairs<'a>(digits: &[Digit], limb: impl Fn(usize) -> &'a [u64]) -> ArrayVec<(usize, &'a [u64]), MAX_LIMBS> {
    let digits = digits.iter().enumerate();
    digits
        .flat_map(|(d, digit)| digit.indices.iter().map(move |index| (*index, d)))
        .map(|(index, d)| (index, limb(d)))
        .collect()
}

/// Positions of one group of limbs.
type Targets = ArrayVec<usize, GROUP>;

/// The positions of `modulus` from the `first` on, `count` of them.
fn positions(modulus: Modulus, first: usize, count: usize) -> Targets {
    modulus.factors().skip(first).take(count).collect()
}
