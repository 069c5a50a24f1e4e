//! The one operation on moduli: moving a polynomial from one divisor of `PQ_max` to another.
//!
//! `switch_modulus(x, Q -> Q', t)` is `round_t((Q'/Q) x)` in `R_Q'`. With `R = Q'/gcd(Q, Q')` and
//! `S = Q/gcd(Q, Q')` it is `(R x - delta)/S`, where `delta = R x mod S` and `delta = 0 mod t`. It
//! is the rescale of CKKS, the rational rescale of GRAFT (Def. 3.1; its Algorithms 5 and 6), the
//! ModDown of key switching (HK20), and the modulus switching of BGV (`t` the plaintext modulus).
//!
//! **`t` costs nothing.** `delta = t (t^{-1} R x mod S)` for the centred remainder: a factor on the
//! way into base conversion and one on the way out (the constant folding of MG23 3.3). So BGV's
//! modulus switch is the other one between a division and a multiplication by `t`: who keeps
//! ciphertexts divided by `t`, as `crates/bgv` does, needs only `t = 1`.
//!
//! **Powers of two.** `S` and `Q'` share no prime but 2. With `Q = 2^b ..`, `Q' = 2^b' ..` and `b'
//! < b`, `S = 2^(b-b') S~` has no inverse modulo `2^b'`. The limb at [`Modulus::TWO`] is then
//! computed modulo `2^b`, where `R x - delta` is known from `x mod 2^b`: shifted right by `b - b'`
//! bits, and times `S~^{-1}`. `S` has one limb modulo `2^(b-b')` like any other.
//!
//! **Ties.** Where `S = 2^k`, one coefficient in `2^k` has the remainder `S/2`. Were it always
//! rounded to the same side, the error of all coefficients would have a mean of `1/2S`, which adds
//! up at the roots of unity near 1: for `S = 8` and `N = 2^15` it is there 25 times what it is
//! elsewhere, too much for squares of squares in BGV and for the first slots of CKKS. So ties go up
//! and down by turns. Of a larger `S` hardly any coefficient is a tie.
//!
//! **Odd sprout primes.** The limb at [`Modulus::ODD`] goes from modulo `c` to modulo `c'`,
//! products of sprout primes. `R` is 0 modulo the primes of `c'` that are not in `c`, so that `R x
//! mod c'` is `R` times the residue modulo `c`, taken as a number.

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{
    Domain, Poly, ResidueRing,
    arith::{inv_mod, mul_mod},
    automorphism::Automorphism,
    convert::BaseConverter,
    elementwise::Scalar,
    ntt::InverseFactor,
};

use crate::{Context, Modulus, RlweError, context::LimbRefs};

/// The most limbs that are worked on together: base conversion reads its inputs once for all of
/// them.
pub(crate) const GROUP: usize = 32;

/// The most words of scratch memory that they take, for all threads together: half of what a key
/// switch may take at `N = 2^16`.
const GROUP_WORDS: usize = 1 << 22;

/// The constants of one switch.
#[derive(Debug)]
pub(crate) struct SwitchPlan {
    from: Modulus,
    to: Modulus,
    /// `S`, which is divided away.
    pub(crate) dropped: Modulus,
    /// From the limbs of `S` to those of `Q'` (with the larger power of two of `Q` and `Q'`, if
    /// `Q'` has one), times the factors of the targets.
    converter: BaseConverter,
    /// For each limb of `S`, modulo `s`: `t^{-1} R (S/s)^{-1} mod s`, for the last pass of an
    /// inverse transform and on its own.
    pub(crate) inputs: Vec<(InverseFactor, Scalar)>,
    /// For each limb of the result.
    targets: Vec<Target>,
}

/// The constants of one limb of the result.
#[derive(Debug)]
struct Target {
    position: usize,
    combination: Combination,
    /// By what `delta` is multiplied when it is converted, modulo the limb.
    factor: u64,
}

/// How a limb comes from `x` and the `delta` that the converter gives (times the factor). With `u =
/// S~^{-1}`: `S~` is `S` without its power of two at [`Modulus::TWO`], and `S` elsewhere.
#[derive(Debug)]
enum Combination {
    /// `(x - delta) R u`; the factor of `delta` is `R^{-1}`.
    Difference(Scalar),
    /// The same, shifted right by so many bits before the multiplication.
    Shifted(Scalar, u32),
    /// `x R u - delta u`, where `R` is not invertible: of the scalars `R u` and `-u`.
    Sum(Scalar, Scalar),
    /// `-delta u`, where `R x` is 0 or is not there.
    Delta(Scalar),
    /// `x R`, as `S = 1`.
    Multiple(Scalar),
    /// 0, as `S = 1` and `R x` is 0.
    Zero,
}

impl Target {
    fn new(context: &Context, from: Modulus, to: Modulus, work: Modulus, position: usize) -> Self {
        let parameters = context.parameters();
        let (dropped, added) = (from.without(to), to.without(from));
        let ring = context.ring_at(to, position);
        let q = parameters.limb_modulus(work, position);
        let power = if position == Modulus::TWO { dropped.two() } else { 0 };
        let odd = dropped.without(Modulus::of_sprout(0, power));
        let u = inv_mod(parameters.residue(odd, q), q)
            .expect("S shares no prime but 2 with the target");
        let r = parameters.residue(added, q);
        let (raise, negative) = (ring.scalar(mul_mod(r, u, q)), ring.scalar(q - u));
        // Modulo the limb, R x is known from this divisor of the limb of Q.
        let known = from.contains(position) && r != 0;
        let (combination, factor) = match (known, dropped.is_one(), inv_mod(r, q)) {
            (true, true, _) => (Combination::Multiple(raise), 1),
            (false, true, _) => (Combination::Zero, 1),
            (true, false, Some(inverse)) if power > 0 => {
                (Combination::Shifted(raise, u32::from(power)), inverse)
            }
            (true, false, Some(inverse)) => (Combination::Difference(raise), inverse),
            (true, false, None) => (Combination::Sum(raise, negative), 1),
            (false, false, _) => (Combination::Delta(negative), 1),
        };
        Target { position, combination, factor }
    }
}

impl SwitchPlan {
    fn new(context: &Context, from: Modulus, to: Modulus, t: u64) -> Result<Self, RlweError> {
        let parameters = context.parameters();
        let (dropped, added) = (from.without(to), to.without(from));
        let work = match to.two() {
            0 => to,
            _ => to.lcm(Modulus::of_sprout(0, from.two())),
        };
        let targets: Vec<Target> =
            work.factors().map(|position| Target::new(context, from, to, work, position)).collect();
        let scaled = |(q, target): (u64, &Target)| (q, mul_mod(t % q, target.factor, q));
        let wanted: Vec<(u64, u64)> =
            parameters.limb_moduli(work).into_iter().zip(&targets).map(scaled).collect();
        let moduli = match ties(dropped) {
            // The numbers from -2^(k-1) to 2^(k-1) are what is centred modulo 2^k + 1.
            Some(half) => vec![2 * half + 1],
            None => parameters.limb_moduli(dropped),
        };
        let converter = BaseConverter::scaled(&moduli, &wanted, context.kernel());
        let input = |(k, ring): (usize, &ResidueRing)| {
            let q = ring.modulus();
            let inverse = inv_mod(t % q, q).ok_or_else(|| RlweError::Parameters {
                what: format!(
                    "the plaintext modulus {t} shares a factor with the modulus to be dropped"
                ),
            })?;
            let factor = mul_mod(converter.input_factor(k), parameters.residue(added, q), q);
            let factor = mul_mod(factor, inverse, q);
            Ok((ring.ntt().inverse_factor(factor), ring.scalar(factor)))
        };
        let inputs =
            context.rings(dropped).enumerate().map(input).collect::<Result<_, RlweError>>()?;
        Ok(SwitchPlan { from, to, dropped, inputs, targets, converter })
    }
}

impl Context {
    /// `out = round_t((Q'/Q) x)` for `x` modulo `from = Q` and `out` modulo `to = Q'`, any two
    /// divisors of `PQ_max`, in the domain of `x`. `out` gets the limbs of `to`, whatever it had.
    ///
    /// The result differs from `(Q'/Q) x` by at most `t/2` in every coefficient, and `R x - S out =
    /// 0 mod t`.
    ///
    /// Near a tie either neighbour may come out. With `l > 1` limbs in `S`, that is where `(t^{-1}
    /// R x mod S)/S` is within `l (l + 7) 2^-54` of one half: `2^-44.9` for 20 limbs, `2^-43.1` for
    /// 40, `2^-39.9` for 128, the most there can be. The result then differs by at most `t (1/2 + l
    /// (l + 7) 2^-54)`. The reason is the floating point in base conversion
    /// ([`BaseConverter::convert_exact`]). A single limb has no such window.
    ///
    /// # Errors
    /// [`RlweError::Modulus`] when `x` does not have the limbs of `from`; [`RlweError::Parameters`]
    /// when `t` shares a factor with what is divided away, as an even `t` does when the power of
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
        self.reckon("switch modulus", |count| {
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
                    ring.elementwise().mul_scalar_assign(y, &plan.inputs[k].1);
                }
            }
            if let Some(half) = ties(plan.dropped) {
                split_ties(y, half);
            }
        });
        let remainder = Remainder::new(self, &plan, &remainder, x.domain() == Domain::Evaluation);
        let (degree, size) = (self.degree(), self.group(to.limb_count(), 1));
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

    /// How many of `limbs` limbs are worked on together: equal shares of those that each thread
    /// has, of at most [`GROUP`] limbs, which take `scratch` limbs of scratch memory each.
    pub(crate) fn group(&self, limbs: usize, scratch: usize) -> usize {
        self.group_of_threads(self.threads().count(), limbs, scratch)
    }

    /// [`Context::group`] with so many threads.
    pub(crate) fn group_of_threads(&self, threads: usize, limbs: usize, scratch: usize) -> usize {
        let most = (GROUP_WORDS / (threads * scratch.max(1) * self.degree())).clamp(1, GROUP);
        let share = limbs.div_ceil(threads).max(1);
        share.div_ceil(share.div_ceil(most))
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
        self.switches.get_or_try_insert((from, to, t), || SwitchPlan::new(self, from, to, t))
    }

    /// Sets `y` to the residues of `x` modulo the limb of `S` at `position`, from its limb modulo
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
            false => self.ring_at(plan.dropped, position).elementwise().reduce(y, x),
        }
    }

    /// From `x` modulo the limb `s` of `S` at `position`, in the evaluation domain, to the
    /// coefficients of `R (S/s)^{-1} x`.
    pub(crate) fn invert_remainder(&self, plan: &SwitchPlan, position: usize, x: &mut [u64]) {
        let factor = &plan.inputs[plan.dropped.limb_of(position)].0;
        self.inverse_scaled(self.ring_at(plan.dropped, position), x, factor);
    }
}

/// `S/2` where `S` is a power of two.
fn ties(dropped: Modulus) -> Option<u64> {
    let two = dropped.two();
    (two > 0 && dropped == Modulus::of_sprout(0, two)).then(|| 1 << (two - 1))
}

/// From residues modulo `2 half` to centred remainders modulo `2 half + 1`: of those that are
/// `half` in either, every other one is `-half`.
fn split_ties(y: &mut [u64], half: u64) {
    let mut least = half + 1;
    for y in y {
        // The next tie goes to the other side.
        let tie = *y == half;
        let up = *y >= least;
        least ^= if tie { half ^ (half + 1) } else { 0 };
        *y += u64::from(up);
    }
}

impl Target {
    /// Whether `x` counts.
    fn needs_x(&self) -> bool {
        !matches!(self.combination, Combination::Delta(_) | Combination::Zero)
    }

    /// From `limb = delta` to `(R x - delta)/S`, with `x` in the ring of this limb and `delta`
    /// lazily reduced in the domain of `x`.
    fn combine(&self, ring: &ResidueRing, limb: &mut [u64], x: Option<&[u64]>) {
        let elementwise = ring.elementwise();
        match (&self.combination, x) {
            (Combination::Difference(raise), Some(x)) => {
                elementwise.sub_from_mul_scalar_assign(limb, x, raise);
            }
            (Combination::Shifted(raise, shift), Some(x)) => {
                elementwise.sub_from_shift_mul_scalar_assign(limb, x, *shift, raise);
            }
            (Combination::Sum(raise, negative), Some(x)) => {
                elementwise.mul_scalar_assign(limb, negative);
                elementwise.mul_scalar_add_assign(limb, x, raise);
            }
            (Combination::Delta(negative), _) => elementwise.mul_scalar_assign(limb, negative),
            (Combination::Multiple(raise), Some(x)) => elementwise.mul_scalar(limb, x, raise),
            _ => limb.fill(0),
        }
    }
}

/// What a switch subtracts before it divides: `delta`, known modulo the limbs of `S`, to be had
/// modulo those of `Q'`.
pub(crate) struct Remainder<'a> {
    context: &'a Context,
    plan: &'a SwitchPlan,
    limbs: LimbRefs<'a>,
    is_transformed: bool,
}

impl<'a> Remainder<'a> {
    /// From the residues of `t^{-1} R (S/s)^{-1} x` modulo each limb `s` of `S`, as coefficients.
    /// `is_transformed` says that `delta` is wanted in the evaluation domain, and nothing is done
    /// to its coefficients.
    pub(crate) fn new(
        context: &'a Context,
        plan: &'a SwitchPlan,
        limbs: &'a Poly,
        is_transformed: bool,
    ) -> Self {
        let limbs: LimbRefs = limbs.limbs().collect();
        Remainder { context, plan, limbs, is_transformed }
    }

    /// The one limb of `S`, where limb `k` of `delta` is transformed right from its residues.
    fn centres(&self, k: usize) -> Option<u64> {
        self.plan.converter.centres(k).filter(|_| self.is_transformed)
    }

    /// `delta` modulo the limbs of the result from the `first` on, as many as `out` has limbs, as
    /// coefficients, lazily reduced. Where `S` is 1 it is 0, and `out` is left alone; and so are
    /// limbs that [`Remainder::finish_limb`] takes from the residues modulo `S` themselves.
    pub(crate) fn modulo(&self, first: usize, out: &mut [u64]) {
        if self.plan.dropped.is_one() {
            return;
        }
        let degree = self.context.degree();
        let limbs = (first..).zip(out.chunks_exact_mut(degree));
        let mut outputs: ArrayVec<(usize, &mut [u64]), GROUP> =
            limbs.filter(|(k, _)| self.centres(*k).is_none()).collect();
        self.plan.converter.convert_exact_into(&mut outputs, &self.limbs);
    }

    /// Limb `k` of the result, `(R x - delta)/S` modulo the limb of `Q'`: from `x` at its position
    /// (0 if `Q` does not have it) in `domain`. `limb` is what [`Remainder::modulo`] gave first,
    /// and the result at the end, which goes through `automorphism`.
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
                ring.elementwise().reduce(spare, x);
                target.combine(ring, limb, Some(spare));
            }
            (Some(x), Combination::Difference(raise), Some(automorphism)) => {
                // What is permuted has to lie elsewhere anyway.
                ring.elementwise().sub_mul_scalar(spare, x, limb, raise);
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
