//! The one operation on moduli: moving a polynomial from one divisor of `PQ_max` to another.
//!
//! `switch_modulus(x, Q -> Q', t)` is `round_t((Q'/Q) x)` in `R_Q'`. With `R = Q'/gcd(Q, Q')` and
//! `S = Q/gcd(Q, Q')` it is `(R x - delta)/S`, where `delta = R x mod S` and `delta = 0 mod t`. It
//! is the rescale of CKKS, the rational rescale of GRAFT (Def. 3.1; its Algorithms 5 and 6), the
//! ModDown of key switching (HK20), and the modulus switching of BGV (`t` the plaintext modulus).
//!
//! **`t` costs nothing.** `delta = t (t^{-1} R x mod S)` for the centred remainder. That is one
//! factor before base conversion and one after it (the constant folding of MG23 3.3). So the
//! modulus switch of BGV is the switch for `t = 1` between a division and a multiplication by `t`.
//! A scheme that keeps ciphertexts divided by `t`, as `crates/bgv` does, needs only `t = 1`.
//!
//! **Powers of two.** `S` and `Q'` share no prime but 2. With `Q = 2^b ..`, `Q' = 2^b' ..` and `b'
//! < b`, `S = 2^(b-b') S~` has no inverse modulo `2^b'`. The limb at [`Modulus::TWO`] is then
//! computed modulo `2^b`, where `R x - delta` is known from `x mod 2^b`: shifted right by `b - b'`
//! bits, and times `S~^{-1}`. `S` has one limb modulo `2^(b-b')` like any other.
//!
//! **Ties.** If `S = 2^k`, one coefficient in `2^k` has the remainder `S/2`. If ties were always
//! rounded to the same side, the error of all coefficients would have a mean of `1/2S`. That adds
//! up at the roots of unity near 1. For `S = 8` and `N = 2^15`, the error there would be 25 times
//! the error elsewhere: too much for squares of squares in BGV and for the first slots of CKKS. So
//! ties are rounded up and down in turn. For a larger `S`, hardly any coefficient is a tie.
//!
//! **Odd sprout primes.** The limb at [`Modulus::ODD`] goes from modulo `c` to modulo `c'`,
//! products of sprout primes. `R` is 0 modulo the primes of `c'` that are not in `c`, so that `R x
//! mod c'` is `R` times the residue modulo `c`, taken as a number.

mod plan;

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{Domain, Poly, automorphism::Automorphism};

use crate::{Context, Modulus, RlweError, limb_groups::MAX_GROUP_LIMBS, rings::LimbRefs};

use plan::{Combination, ties};

pub(crate) use plan::SwitchPlan;

impl Context {
    /// Computes `out = round_t((Q'/Q) x)` for `x` modulo `from = Q` and `out` modulo `to = Q'`.
    ///
    /// Both are divisors of `PQ_max`. The result is in the domain of `x`. `out` is resized to the
    /// limbs of `to`.
    ///
    /// The result differs from `(Q'/Q) x` by at most `t/2` in every coefficient, and `R x - S out =
    /// 0 mod t`.
    ///
    /// Near a tie either neighbour may be the result. With `l > 1` limbs in `S`, this can happen if
    /// `(t^{-1} R x mod S)/S` is within `l (l + 7) 2^-54` of one half. This is `2^-44.9` for 20
    /// limbs, `2^-43.1` for 40, and `2^-39.9` for 128, the maximum. The result then differs by at
    /// most `t (1/2 + l (l + 7) 2^-54)`. The reason is the floating point in base conversion
    /// ([`hippocrene_ring::convert::BaseConverter::convert_exact`]). With a single limb, results
    /// are always the nearest.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if `x` does not have the limbs of `from`, and
    /// [`RlweError::Parameters`] if `t` shares a factor with `S`. An even `t` does if the power of
    /// two becomes smaller.
    pub fn switch_modulus(
        &self,
        out: &mut Poly,
        x: &Poly,
        from: Modulus,
        to: Modulus,
        t: u64,
    ) -> Result<(), RlweError> {
        self.check_residues(&[x, out], "switch modulus")?;
        if x.limb_count() != from.limb_count() || [x.degree(), out.degree()] != [self.degree(); 2] {
            return Err(RlweError::Modulus {
                operation: "switch modulus",
                have: x.limb_count(),
                need: "the limbs of the source modulus are needed, of the ring degree",
            });
        }
        let plan = self.switch_plan(from, to, t)?;
        self.record("switch modulus", |count| {
            match x.domain() {
                Domain::Evaluation => count.inverse(plan.dropped, 1),
                Domain::Coefficient => count.passes(plan.dropped, 1),
            }
            if !plan.dropped.is_one() {
                match x.domain() {
                    Domain::Evaluation => {
                        let dropped = plan.dropped;
                        to.factors().for_each(|p| count.convert_to_transform(dropped, to, p, 1));
                        if dropped.limb_count() > 1 {
                            count.sources(dropped, count.runs(to.limb_count(), 1));
                        }
                        count.touch(dropped.limb_count());
                        count.forward(to, 1);
                    }
                    Domain::Coefficient => count.conversions(plan.dropped, to, 1),
                }
            }
            count.passes(to, 1);
        });
        let mut remainder = self.scratch(plan.dropped, Domain::Coefficient);
        remainder.for_each_limb(self.threads(), |k, y| {
            let position = plan.dropped.factors().nth(k).expect("a limb of this modulus");
            let limb = x.limb(from.limb_of(position));
            self.load_remainder(&plan, position, y, limb);
            match x.domain() {
                Domain::Evaluation => self.invert_remainder(&plan, position, y),
                Domain::Coefficient => {
                    let ring = self.ring_at(plan.dropped, position);
                    ring.mul_scalar_assign(y, &plan.inputs[k].1);
                }
            }
            if let Some(half) = ties(plan.dropped) {
                split_ties(y, half);
            }
        });
        let remainder = Remainder::new(self, &plan, &remainder, x.domain() == Domain::Evaluation);
        let (degree, size) = (self.degree(), self.group_size(to.limb_count(), 1));
        out.resize_limbs(to.limb_count());
        out.set_domain(x.domain());
        self.touch_scratch(&[1]);
        self.threads().for_each_chunk(out.as_mut_slice(), size * degree, |group, out| {
            let first = group * size;
            let mut spare = self.scratch_limbs(1, x.domain());
            remainder.modulo(first, out);
            let limbs = out.chunks_exact_mut(degree);
            for ((k, position), out) in to.factors().enumerate().skip(first).zip(limbs) {
                let limb = from.contains(position).then(|| x.limb(from.limb_of(position)));
                remainder.finish_limb(k, out, limb, x.domain(), spare.limb_mut(0), None);
            }
        });
        Ok(())
    }

    /// The constants of the switch from `from` to `to`.
    pub(crate) fn switch_plan(
        &self,
        from: Modulus,
        to: Modulus,
        t: u64,
    ) -> Result<Arc<SwitchPlan>, RlweError> {
        [from, to]
            .into_iter()
            .try_for_each(|modulus| self.check_switched(modulus, "switch modulus"))?;
        if t == 0 {
            return Err(RlweError::Parameters { what: "the plaintext modulus is 0".into() });
        }
        self.plans
            .switches
            .get_or_try_insert((from, to, t), || SwitchPlan::new(&self.rings, from, to, t))
    }

    /// Sets `y` to the residues of `x` modulo the limb of `S` at `position`. `x` is the limb modulo
    /// `Q` there, in either domain.
    pub(crate) fn load_remainder(
        &self,
        plan: &SwitchPlan,
        position: usize,
        y: &mut [u64],
        x: &[u64],
    ) {
        match plan.from.agrees(plan.dropped, position) {
            true => y.copy_from_slice(x),
            false => self.ring_at(plan.dropped, position).reduce(y, x),
        }
    }

    /// Transforms `x`, modulo the limb `s` of `S` at `position`, from the evaluation domain to the
    /// coefficients of `R (S/s)^{-1} x`.
    pub(crate) fn invert_remainder(&self, plan: &SwitchPlan, position: usize, x: &mut [u64]) {
        let factor = &plan.inputs[plan.dropped.limb_of(position)].0;
        self.inverse_scaled(self.ring_at(plan.dropped, position), x, factor);
    }
}

/// Converts residues modulo `2 half` to centred remainders modulo `2 half + 1`.
///
/// A tie is a residue of `half`. Every other tie becomes `-half`.
fn split_ties(y: &mut [u64], half: u64) {
    let mut threshold = half + 1;
    for y in y {
        // The next tie goes to the other side.
        let tie = *y == half;
        let up = *y >= threshold;
        threshold ^= if tie { half ^ (half + 1) } else { 0 };
        *y += u64::from(up);
    }
}

/// The `delta` that a switch subtracts before it divides. It is known modulo the limbs of `S` and
/// is converted to those of `Q'`.
pub(crate) struct Remainder<'a> {
    context: &'a Context,
    plan: &'a SwitchPlan,
    limbs: LimbRefs<'a>,
    is_transformed: bool,
}

impl<'a> Remainder<'a> {
    /// The remainder with these residues of `t^{-1} R (S/s)^{-1} x` modulo each limb `s` of `S`, as
    /// coefficients. If `is_transformed`, `delta` is needed in the evaluation domain and nothing is
    /// added to its coefficients before.
    pub(crate) fn new(
        context: &'a Context,
        plan: &'a SwitchPlan,
        limbs: &'a Poly,
        is_transformed: bool,
    ) -> Self {
        let limbs: LimbRefs = limbs.limbs().collect();
        Remainder { context, plan, limbs, is_transformed }
    }

    /// The modulus of the only limb of `S`, if limb `k` of `delta` is transformed directly from the
    /// residues modulo it.
    fn centres(&self, k: usize) -> Option<u64> {
        self.plan.converter.centres(k).filter(|_| self.is_transformed)
    }

    /// Sets `out` to `delta` modulo the limbs of the result from `first` on, as coefficients,
    /// lazily reduced.
    ///
    /// If `S` is 1, `delta` is 0 and `out` is unchanged. Limbs that [`Remainder::finish_limb`]
    /// computes from the residues modulo `S` themselves are unchanged too.
    pub(crate) fn modulo(&self, first: usize, out: &mut [u64]) {
        if self.plan.dropped.is_one() {
            return;
        }
        let degree = self.context.degree();
        let limbs = (first..).zip(out.chunks_exact_mut(degree));
        let mut outputs: ArrayVec<(usize, &mut [u64]), MAX_GROUP_LIMBS> =
            limbs.filter(|(k, _)| self.centres(*k).is_none()).collect();
        self.plan.converter.convert_exact_into(&mut outputs, &self.limbs);
    }

    /// Computes limb `k` of the result: `(R x - delta)/S` modulo the limb of `Q'`, after
    /// `automorphism`.
    ///
    /// `x` is the limb at the same position, in `domain`, or `None` for 0 if `Q` has no such limb.
    /// `limb` holds the result of [`Remainder::modulo`] at first, and that of this function at the
    /// end.
    pub(crate) fn finish_limb(
        &self,
        k: usize,
        limb: &mut [u64],
        x: Option<&[u64]>,
        domain: Domain,
        spare: &mut [u64],
        automorphism: Option<&Automorphism>,
    ) {
        let Remainder { context, plan, .. } = *self;
        let target = &plan.targets[k];
        let ring = context.ring_at(plan.to, target.position);
        if domain == Domain::Evaluation && !plan.dropped.is_one() {
            match self.centres(k) {
                Some(from) => context.forward_lazy_centred(ring, limb, self.limbs[0], from),
                None => context.forward_lazy(ring, limb),
            }
        }
        let reduce = target.position == Modulus::ODD
            && target.needs_x()
            && !plan.from.agrees(plan.to, Modulus::ODD);
        match (x, &target.combination, automorphism) {
            (Some(x), _, _) if reduce => {
                ring.reduce(spare, x);
                target.combine(ring, limb, Some(spare));
            }
            (Some(x), Combination::Difference(raise), Some(automorphism)) => {
                // The automorphism cannot work in place, so the difference is written to `spare`.
                ring.sub_mul_scalar(spare, x, limb, raise);
                return ring.apply_automorphism(automorphism, domain, limb, spare);
            }
            (x, ..) => target.combine(ring, limb, x),
        }
        if let Some(automorphism) = automorphism {
            spare.copy_from_slice(limb);
            ring.apply_automorphism(automorphism, domain, limb, spare);
        }
    }
}
