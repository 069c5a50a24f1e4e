//! The one operation on moduli: moving a polynomial from one divisor of `PQ_max` to another.
//!
//! `switch_modulus(x, Q -> Q', t)` is `round_t((Q'/Q) x)` in `R_Q'`. With `R = Q'/gcd(Q, Q')` and `S = Q/gcd(Q, Q')` it is
//! `(R x - delta)/S`, where `delta = R x mod S` and `delta = 0 mod t`. It is the rescale of CKKS, the rational rescale of
//! GRAFT (Def. 3.1), the ModDown of key switching (HK20), and the modulus switching of BGV (`t` the plaintext modulus).

use std::sync::Arc;

use arrayvec::ArrayVec;
use hippocrene_ring::{
    Domain, Poly,
    arith::{add_mod, inv_mod, mul_mod},
    automorphism::Automorphism,
    convert::BaseConverter,
    elementwise::Scalar,
    ntt::InverseFactor,
    scratch::Scratch,
};

use crate::{Context, Modulus, RlweError, context::LimbRefs};

/// The most limbs that are worked on together: base conversion reads its inputs once for all of them.
pub(crate) const GROUP: usize = 4;

/// The constants of one switch.
#[derive(Debug)]
pub(crate) struct SwitchPlan {
    to: Modulus,
    /// The factors of `S`, which are divided away.
    pub(crate) dropped: Modulus,
    /// From the factors of `S` to those of `Q'` (and `t`, last, when it is not 1).
    converter: BaseConverter,
    /// For each factor of `S`: `R (S/s)^{-1} mod s`, for the last pass of an inverse transform and on its own.
    pub(crate) inputs: Vec<(InverseFactor, Scalar)>,
    /// For each factor of `Q'`: `R`, unless it is 1.
    raise: Option<Vec<Scalar>>,
    /// For each factor of `Q'`: `S^{-1}`.
    lower: Vec<Scalar>,
    /// For each factor of `Q'`: `S`; only when `t` is not 1.
    dropped_product: Vec<u64>,
    /// `t` and `-S^{-1} mod t`.
    exact: Option<(u64, u64)>,
}

impl SwitchPlan {
    fn new(context: &Context, from: Modulus, to: Modulus, t: u64) -> Result<Self, RlweError> {
        let parameters = context.parameters();
        let (dropped, added) = (from.without(to), to.without(from));
        let product =
            |m: Modulus, p: u64| m.factors().fold(1 % p, |acc, i| mul_mod(acc, parameters.factor(i) % p, p));
        let inverse = |m: Modulus, p: u64| inv_mod(product(m, p), p);
        let mut targets = parameters.limb_moduli(to);
        if t > 1 {
            targets.push(t);
        }
        let converter = BaseConverter::new(&parameters.limb_moduli(dropped), &targets, context.kernel());
        let inputs = context
            .rings(dropped)
            .enumerate()
            .map(|(k, ring)| {
                let q = ring.modulus();
                let factor = mul_mod(converter.input_factor(k), product(added, q), q);
                (ring.ntt().inverse_factor(factor), ring.scalar(factor))
            })
            .collect();
        let exact = match t {
            1 => None,
            _ => match inverse(dropped, t) {
                Some(s) => Some((t, (t - s) % t)),
                None => {
                    return Err(RlweError::Parameters {
                        what: format!(
                            "the plaintext modulus {t} shares a factor with the modulus to be dropped"
                        ),
                    });
                }
            },
        };
        Ok(SwitchPlan {
            to,
            dropped,
            inputs,
            raise: (!added.is_one())
                .then(|| context.rings(to).map(|ring| ring.scalar(product(added, ring.modulus()))).collect()),
            lower: context
                .rings(to)
                .map(|ring| {
                    ring.scalar(inverse(dropped, ring.modulus()).expect("distinct primes are coprime"))
                })
                .collect(),
            dropped_product: match exact {
                Some(_) => context.rings(to).map(|ring| product(dropped, ring.modulus())).collect(),
                None => Vec::new(),
            },
            exact,
            converter,
        })
    }
}

impl Context {
    /// `out = round_t((Q'/Q) x)` for `x` modulo `from = Q` and `out` modulo `to = Q'`, in the domain of `x`. `out` gets the limbs
    /// of `to`, whatever it had.
    ///
    /// The result differs from `(Q'/Q) x` by at most `t/2` in every coefficient (`(t + 1)/2` for even `t`), and
    /// `R x - S out = 0 mod t`. Where the remainder is within a fraction `2^-45` of one half, either neighbour may come out.
    ///
    /// # Errors
    /// [`RlweError::Modulus`] when `x` does not have the limbs of `from`; [`RlweError::Parameters`] when `t` shares a factor with
    /// what is divided away.
    pub fn switch_modulus(
        &self,
        out: &mut Poly,
        x: &Poly,
        from: Modulus,
        to: Modulus,
        t: u64,
    ) -> Result<(), RlweError> {
        if x.limb_count() != from.limb_count() || [x.degree(), out.degree()] != [self.degree(); 2] {
            return Err(RlweError::Modulus {
                operation: "switch modulus",
                have: x.limb_count(),
                need: "the limbs of the source modulus are needed, of the ring degree",
            });
        }
        let plan = self.switch_plan(from, to, t)?;
        let mut remainder = self.scratch(plan.dropped, Domain::Coefficient);
        remainder.for_each_limb(self.threads(), |k, y| {
            let factor = plan.dropped.factors().nth(k).expect("a limb of this modulus");
            let limb = x.limb(from.limb_of(factor));
            match x.domain() {
                Domain::Evaluation => {
                    y.copy_from_slice(limb);
                    self.ring(factor).ntt().inverse_scaled(y, &plan.inputs[k].0);
                }
                Domain::Coefficient => self.ring(factor).elementwise().mul_scalar(y, limb, &plan.inputs[k].1),
            }
        });
        let remainder = Remainder::new(self, &plan, &remainder);
        let (degree, size) = (self.degree(), self.group(to.limb_count()));
        out.resize_limbs(to.limb_count());
        out.set_domain(x.domain());
        self.threads().for_each_chunk(out.as_mut_slice(), size * degree, |group, out| {
            let (first, count) = (group * size, out.len() / degree);
            let mut scratch = self.scratch_limbs(count + 1, x.domain());
            let (deltas, spare) = scratch.as_mut_slice().split_at_mut(count * degree);
            remainder.modulo(first, deltas);
            let limbs = out.chunks_exact_mut(degree).zip(deltas.chunks_exact_mut(degree));
            for ((k, factor), (out, delta)) in to.factors().enumerate().skip(first).zip(limbs) {
                let limb = from.contains(factor).then(|| x.limb(from.limb_of(factor)));
                self.finish_limb(&plan, k, out, limb, delta, x.domain(), spare, None);
            }
        });
        Ok(())
    }

    /// How many of `limbs` limbs are worked on together: as many as there are for each thread, up to [`GROUP`].
    pub(crate) fn group(&self, limbs: usize) -> usize {
        limbs.div_ceil(self.threads().count()).clamp(1, GROUP)
    }

    /// The constants of the switch from `from` to `to`.
    pub(crate) fn switch_plan(
        &self,
        from: Modulus,
        to: Modulus,
        t: u64,
    ) -> Result<Arc<SwitchPlan>, RlweError> {
        let full = self.parameters().full();
        if let Some(outside) = [from, to].into_iter().find(|m| m.is_one() || !m.divides(full)) {
            return Err(RlweError::Modulus {
                operation: "switch modulus",
                have: outside.limb_count(),
                need: "a product of units and specials is needed",
            });
        }
        if t == 0 {
            return Err(RlweError::Parameters { what: "the plaintext modulus is 0".into() });
        }
        self.switches.get_or_try_insert((from, to, t), || SwitchPlan::new(self, from, to, t))
    }

    /// Limb `k` of the result, `(R x - delta)/S` modulo the `k`-th factor of `Q'`: from `x` modulo it (0 if that is no factor of `Q`) in
    /// `domain`, and `delta` in coefficients. The result goes through `automorphism`, in the evaluation domain.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn finish_limb(
        &self,
        plan: &SwitchPlan,
        k: usize,
        out: &mut [u64],
        x: Option<&[u64]>,
        delta: &mut [u64],
        domain: Domain,
        spare: &mut [u64],
        automorphism: Option<&Automorphism>,
    ) {
        let ring = self.limb_ring(plan.to, k);
        let elementwise = ring.elementwise();
        if domain == Domain::Evaluation {
            ring.ntt().forward_lazy(delta);
        }
        match (&plan.raise, x, automorphism) {
            (None, Some(x), None) => elementwise.sub_mul_scalar(out, x, delta, &plan.lower[k]),
            (None, Some(x), Some(automorphism)) => {
                elementwise.sub_mul_scalar(spare, x, delta, &plan.lower[k]);
                automorphism.apply_evaluation(out, spare);
            }
            (raise, x, automorphism) => {
                match (raise, x) {
                    (Some(raise), Some(x)) => elementwise.mul_scalar(spare, x, &raise[k]),
                    _ => spare.fill(0),
                }
                elementwise.sub_mul_scalar(out, spare, delta, &plan.lower[k]);
                if let Some(automorphism) = automorphism {
                    spare.copy_from_slice(out);
                    automorphism.apply_evaluation(out, spare);
                }
            }
        }
    }
}

/// What a switch subtracts before it divides: `delta`, known modulo the factors of `S`, to be had modulo those of `Q'`.
pub(crate) struct Remainder<'a> {
    context: &'a Context,
    plan: &'a SwitchPlan,
    limbs: LimbRefs<'a>,
    /// For `t` other than 1: `t`, and the `v` modulo `t` for which `delta + S v = 0 mod t`.
    multiple: Option<(u64, Scratch<'a>)>,
}

impl<'a> Remainder<'a> {
    /// From the residues of `R (S/s)^{-1} x` modulo each factor `s` of `S`, as coefficients.
    pub(crate) fn new(context: &'a Context, plan: &'a SwitchPlan, limbs: &'a Poly) -> Self {
        let limbs: LimbRefs = limbs.limbs().collect();
        let multiple = plan.exact.map(|(t, factor)| {
            let mut v = context.scratch_limbs(1, Domain::Coefficient);
            match plan.dropped.is_one() {
                true => v.clear(),
                false => {
                    plan.converter.convert_exact_into(&mut [(plan.to.limb_count(), v.limb_mut(0))], &limbs)
                }
            }
            v.limb_mut(0).iter_mut().for_each(|x| *x = mul_mod(*x % t, factor, t));
            (t, v)
        });
        Remainder { context, plan, limbs, multiple }
    }

    /// `delta` modulo the factors of `Q'` from the `first` on, as many as `out` has limbs, as coefficients, lazily reduced.
    pub(crate) fn modulo(&self, first: usize, out: &mut [u64]) {
        if self.plan.dropped.is_one() {
            return out.fill(0);
        }
        let degree = self.context.degree();
        let mut outputs: ArrayVec<(usize, &mut [u64]), GROUP> =
            (first..).zip(out.chunks_exact_mut(degree)).collect();
        self.plan.converter.convert_exact_into(&mut outputs, &self.limbs);
        if let Some((t, v)) = &self.multiple {
            for (k, delta) in outputs {
                let q = self.context.limb_ring(self.plan.to, k).modulus();
                make_divisible(delta, q, self.plan.dropped_product[k], *t, v.limb(0));
            }
        }
    }
}

/// Adds to `delta` modulo `q` the multiple `S v` of least absolute value that makes it 0 modulo `t`: `v` in `[0, t)` stands for its
/// representative in `(-t/2, t/2]`.
fn make_divisible(delta: &mut [u64], q: u64, s: u64, t: u64, v: &[u64]) {
    for (x, &v) in delta.iter_mut().zip(v) {
        let v = if v > t / 2 { q - (t - v) % q } else { v % q };
        *x = add_mod(*x % q, mul_mod(v % q, s, q), q);
    }
}
