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
};

use crate::{Context, Modulus, RlweError, context::LimbRefs};

/// The most limbs that are worked on together: base conversion reads its inputs once for all of them.
pub(crate) const GROUP: usize = 8;

/// The constants of one switch.
#[derive(Debug)]
pub(crate) struct SwitchPlan {
    from: Modulus,
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
        let mut targets = parameters.primes(to);
        if t > 1 {
            targets.push(t);
        }
        let converter = BaseConverter::new(&parameters.primes(dropped), &targets, context.kernel());
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
            from,
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
        if x.limb_count() != from.limb_count() {
            return Err(RlweError::Modulus {
                operation: "switch modulus",
                have: x.limb_count(),
                need: "the limbs of the source modulus are needed",
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
        let remainder: LimbRefs = remainder.limbs().collect();
        self.finish_switch(out, x, &plan, &remainder, None);
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
        self.switches.get_or_try_insert((from, to, t), || SwitchPlan::new(self, from, to, t))
    }

    /// The second half of a switch: `remainder` holds, for each factor `s` of what is divided away, the residues of
    /// `R (S/s)^{-1} x` modulo `s` as coefficients; of `x` only the limbs that stay are read. The result goes through
    /// `automorphism`, in the evaluation domain.
    ///
    /// Outputs are made a few limbs at a time, so that they stay in the cache from the conversion to the end.
    pub(crate) fn finish_switch(
        &self,
        out: &mut Poly,
        x: &Poly,
        plan: &SwitchPlan,
        remainder: &LimbRefs<'_>,
        automorphism: Option<&Automorphism>,
    ) {
        let (degree, to) = (self.degree(), plan.to);
        out.resize_limbs(to.limb_count());
        out.set_domain(x.domain());
        let mut last = self.scratch_limbs(usize::from(plan.exact.is_some()), Domain::Coefficient);
        if let Some((t, factor)) = plan.exact {
            match plan.dropped.is_one() {
                true => last.clear(),
                false => {
                    plan.converter.convert_exact_into(&mut [(to.limb_count(), last.limb_mut(0))], remainder)
                }
            }
            last.limb_mut(0).iter_mut().for_each(|x| *x = mul_mod(*x % t, factor, t));
        }
        let last = plan.exact.map(|(t, _)| (t, last.limb(0)));
        let size = self.group(to.limb_count());
        self.threads().for_each_chunk(out.as_mut_slice(), size * degree, |group, out| {
            let first = group * size;
            let count = out.len() / degree;
            let mut scratch = self.scratch_limbs(count + 1, x.domain());
            let (delta, spare) = scratch.as_mut_slice().split_at_mut(count * degree);
            if plan.dropped.is_one() {
                delta.fill(0);
            } else {
                let mut outputs: ArrayVec<(usize, &mut [u64]), GROUP> =
                    (first..).zip(delta.chunks_exact_mut(degree)).collect();
                plan.converter.convert_exact_into(&mut outputs, remainder);
            }
            for (k, (out, delta)) in
                out.chunks_exact_mut(degree).zip(delta.chunks_exact_mut(degree)).enumerate()
            {
                self.finish_limb(out, x, plan, first + k, delta, last, spare, automorphism);
            }
        });
    }

    /// Limb `k` of the result, from `delta` modulo its factor.
    #[allow(clippy::too_many_arguments)]
    fn finish_limb(
        &self,
        out: &mut [u64],
        x: &Poly,
        plan: &SwitchPlan,
        k: usize,
        delta: &mut [u64],
        last: Option<(u64, &[u64])>,
        spare: &mut [u64],
        automorphism: Option<&Automorphism>,
    ) {
        let factor = plan.to.factors().nth(k).expect("a limb of this modulus");
        let ring = self.ring(factor);
        let elementwise = ring.elementwise();
        if let Some((t, last)) = last {
            make_divisible(delta, ring.modulus(), plan.dropped_product[k], t, last);
        }
        if x.domain() == Domain::Evaluation {
            ring.ntt().forward_lazy(delta);
        }
        match (&plan.raise, plan.from.contains(factor), automorphism) {
            (None, _, None) => {
                elementwise.sub_mul_scalar(out, x.limb(plan.from.limb_of(factor)), delta, &plan.lower[k]);
            }
            (None, _, Some(automorphism)) => {
                elementwise.sub_mul_scalar(spare, x.limb(plan.from.limb_of(factor)), delta, &plan.lower[k]);
                automorphism.apply_evaluation(out, spare);
            }
            (Some(raise), common, automorphism) => {
                match common {
                    true => elementwise.mul_scalar(spare, x.limb(plan.from.limb_of(factor)), &raise[k]),
                    false => spare.fill(0),
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

/// Adds to `delta` modulo `q` the multiple `S v` of least absolute value that makes it 0 modulo `t`: `v` in `[0, t)` stands for its
/// representative in `(-t/2, t/2]`.
fn make_divisible(delta: &mut [u64], q: u64, s: u64, t: u64, v: &[u64]) {
    for (x, &v) in delta.iter_mut().zip(v) {
        let v = if v > t / 2 { q - (t - v) % q } else { v % q };
        *x = add_mod(*x % q, mul_mod(v % q, s, q), q);
    }
}
