//! The one operation on moduli: moving a polynomial from one divisor of `PQ_max` to another.
//!
//! `switch_modulus(x, Q -> Q', t)` is `round_t((Q'/Q) x)` in `R_Q'`. With `R = Q'/gcd(Q, Q')` and `S = Q/gcd(Q, Q')` it is
//! `(R x - delta)/S`, where `delta = R x mod S` and `delta = 0 mod t`. It is the rescale of CKKS, the rational rescale of
//! GRAFT (Def. 3.1), the ModDown of key switching (HK20), and the modulus switching of BGV (`t` the plaintext modulus).

use hippocrene_ring::{
    Domain, Poly,
    arith::{add_mod, inv_mod, mul_mod},
    convert::BaseConverter,
    elementwise::Scalar,
    ntt::InverseFactor,
};

use crate::{
    Context, Modulus, RlweError,
    context::{LimbMuts, LimbRefs},
};

/// The constants of one switch.
#[derive(Debug)]
pub(crate) struct SwitchPlan {
    /// The factors of `S`, which are divided away.
    dropped: Modulus,
    /// From the factors of `S` to those of `Q'` (and `t`, last, when it is not 1).
    converter: BaseConverter,
    /// For each factor of `S`: `R (S/s)^{-1} mod s`, for the last pass of an inverse transform and on its own.
    inputs: Vec<(InverseFactor, Scalar)>,
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
        let plan = self.switches.get_or_try_insert((from, to, t), || SwitchPlan::new(self, from, to, t))?;
        let evaluation = x.domain() == Domain::Evaluation;
        out.resize_limbs(to.limb_count());
        out.set_domain(x.domain());

        let mut delta = self.scratch_limbs(to.limb_count() + usize::from(t > 1), Domain::Coefficient);
        if plan.dropped.is_one() {
            delta.clear();
        } else {
            let mut remainder = self.scratch(plan.dropped, Domain::Coefficient);
            remainder.for_each_limb(self.threads(), |k, y| {
                let factor = plan.dropped.factors().nth(k).expect("a limb of this modulus");
                let limb = x.limb(from.limb_of(factor));
                if evaluation {
                    y.copy_from_slice(limb);
                    self.ring(factor).ntt().inverse_scaled(y, &plan.inputs[k].0);
                } else {
                    self.ring(factor).elementwise().mul_scalar(y, limb, &plan.inputs[k].1);
                }
            });
            let y: LimbRefs = remainder.limbs().collect();
            let mut outputs: LimbMuts = delta.limbs_mut().collect();
            plan.converter.convert_exact(&mut outputs, &y);
            drop(outputs);
            if let Some((t, factor)) = plan.exact {
                self.make_divisible(&mut delta, &plan, to, t, factor);
            }
        }

        let (delta, _) = delta.as_mut_slice().split_at_mut(to.limb_count() * self.degree());
        self.threads().for_each_chunk_pair(out.as_mut_slice(), delta, self.degree(), |k, out, delta| {
            let factor = to.factors().nth(k).expect("a limb of this modulus");
            let ring = self.ring(factor);
            if evaluation {
                ring.ntt().forward_lazy(delta);
            }
            let elementwise = ring.elementwise();
            match (&plan.raise, from.contains(factor)) {
                (None, _) => {
                    elementwise.sub_mul_scalar(out, x.limb(from.limb_of(factor)), delta, &plan.lower[k]);
                }
                (Some(raise), true) => {
                    let mut raised = self.scratch_limbs(1, Domain::Evaluation);
                    elementwise.mul_scalar(raised.limb_mut(0), x.limb(from.limb_of(factor)), &raise[k]);
                    elementwise.sub_mul_scalar(out, raised.limb(0), delta, &plan.lower[k]);
                }
                (Some(_), false) => {
                    let mut zero = self.scratch_limbs(1, Domain::Evaluation);
                    zero.clear();
                    elementwise.sub_mul_scalar(out, zero.limb(0), delta, &plan.lower[k]);
                }
            }
        });
        Ok(())
    }

    /// Adds to `delta`, whose last limb is `delta mod t`, the multiple `S v` of least absolute value that makes it 0 modulo `t`.
    fn make_divisible(&self, delta: &mut Poly, plan: &SwitchPlan, to: Modulus, t: u64, factor: u64) {
        let degree = self.degree();
        let (limbs, last) = delta.as_mut_slice().split_at_mut(to.limb_count() * degree);
        last.iter_mut().for_each(|x| *x = mul_mod(*x % t, factor, t));
        let last = &*last;
        self.threads().for_each_chunk(limbs, degree, |k, limb| {
            let q = self.limb_ring(to, k).modulus();
            let s = plan.dropped_product[k];
            for (x, &v) in limb.iter_mut().zip(last) {
                let v = if v > t / 2 { q - (t - v) % q } else { v % q };
                *x = add_mod(*x % q, mul_mod(v % q, s, q), q);
            }
        });
    }
}
