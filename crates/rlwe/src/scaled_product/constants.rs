//! The constants of scaled products.

use std::sync::Arc;

use hippocrene_ring::{
    ResidueRing,
    arith::{inv_mod, mul_mod, neg_mod},
    convert::{BaseConverter, MAX_INPUTS},
    elementwise::Scalar,
    ntt::InverseFactor,
    primes,
};

use crate::{Modulus, RlweError, rings::Rings};

/// The number of bits of the primes of the auxiliary modulus. All kernels are fastest for 48 bits.
const PRIME_BITS: u32 = 48;

/// The number of bits by which `R` may be smaller than `Q`, if that saves a prime. The rounding
/// error of `b'` then grows by the same number of bits. Chosen.
const AUXILIARY_SLACK_BITS: f64 = 0.5;

/// The constants of products of a ciphertext modulo `Q` and one modulo `Q_b`, times `t`.
#[derive(Debug)]
pub(crate) struct ScaledProduct {
    /// The rings of the primes of `R`.
    pub(super) rings: Vec<Arc<ResidueRing>>,
    /// Converts from `Q` to `R`.
    pub(super) lift: BaseConverter,
    /// For each limb of `Q`: `(Q/q)^{-1}`.
    pub(super) lift_inputs: Vec<InverseFactor>,
    /// Converts from `Q_b` to `R`, times `-Q_b^{-1}`. That gives `(R b - delta)/Q_b` modulo `R`,
    /// where `R b` is 0.
    pub(super) switch: BaseConverter,
    /// For each limb of `Q_b`: `R (Q_b/q)^{-1}`.
    pub(super) switch_inputs: Vec<InverseFactor>,
    /// For each limb of `Q_b`: `R`.
    pub(super) raise: Vec<Scalar>,
    /// Converts from `R` to `Q`, times `t/R`.
    pub(super) back: BaseConverter,
    /// For each prime of `R`: `(R/p)^{-1}`.
    pub(super) back_inputs: Vec<Scalar>,
    /// Converts from `R` to `Q`, times `-1/R`.
    pub(super) divide: BaseConverter,
    /// For each prime of `R`: `t (R/p)^{-1}`.
    pub(super) divide_inputs: Vec<InverseFactor>,
    /// For each limb of `Q`: -1.
    pub(super) negative: Vec<(InverseFactor, Scalar)>,
}

impl ScaledProduct {
    pub(super) fn new(
        rings: &Rings,
        modulus: Modulus,
        other: Modulus,
        t: u64,
    ) -> Result<Self, RlweError> {
        let parameters = rings.parameters();
        let auxiliary_rings = rings.auxiliary_rings(modulus)?;
        let primes: Vec<u64> = auxiliary_rings.iter().map(|ring| ring.modulus()).collect();
        // The auxiliary modulus, modulo q.
        let auxiliary = |q: u64| primes.iter().fold(1 % q, |product, p| mul_mod(product, p % q, q));
        let inverse = |x: u64, q: u64| {
            inv_mod(x, q).expect("no factor of Q_max is among the auxiliary primes")
        };
        let kernel = rings.kernel();
        let (own, others) = (parameters.limb_moduli(modulus), parameters.limb_moduli(other));
        let lift = BaseConverter::new(&own, &primes, kernel);
        let quotient = |p: u64| neg_mod(inverse(parameters.residue(other, p), p), p);
        let switch = BaseConverter::scaled(&others, &scaled(&primes, quotient), kernel);
        let back = BaseConverter::scaled(
            &primes,
            &scaled(&own, |q| mul_mod(t % q, inverse(auxiliary(q), q), q)),
            kernel,
        );
        let divide = BaseConverter::scaled(
            &primes,
            &scaled(&own, |q| neg_mod(inverse(auxiliary(q), q), q)),
            kernel,
        );
        let lift_inputs = rings.of(modulus).enumerate();
        let lift_inputs = lift_inputs.map(|(k, ring)| ring.inverse_factor(lift.input_factor(k)));
        let switch_inputs = rings.of(other).enumerate().map(|(k, ring)| {
            let q = ring.modulus();
            ring.inverse_factor(mul_mod(switch.input_factor(k), auxiliary(q), q))
        });
        let divide_inputs = auxiliary_rings.iter().enumerate().map(|(i, ring)| {
            let p = ring.modulus();
            ring.inverse_factor(mul_mod(divide.input_factor(i), t % p, p))
        });
        let negative = rings.of(modulus).map(|ring| {
            let minus = ring.modulus() - 1;
            (ring.inverse_factor(minus), ring.scalar(minus))
        });
        Ok(ScaledProduct {
            lift_inputs: lift_inputs.collect(),
            switch_inputs: switch_inputs.collect(),
            raise: rings.of(other).map(|ring| ring.scalar(auxiliary(ring.modulus()))).collect(),
            back_inputs: auxiliary_rings
                .iter()
                .enumerate()
                .map(|(i, ring)| ring.scalar(back.input_factor(i)))
                .collect(),
            divide_inputs: divide_inputs.collect(),
            negative: negative.collect(),
            lift,
            switch,
            back,
            divide,
            rings: auxiliary_rings,
        })
    }
}

/// Pairs each target with its factor.
fn scaled(to: &[u64], factor: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
    to.iter().map(|q| (*q, factor(*q))).collect()
}

impl Rings {
    /// The primes of the auxiliary modulus.
    pub(super) fn auxiliary_primes(&self, modulus: Modulus) -> Result<Vec<u64>, RlweError> {
        let parameters = self.parameters();
        parameters.check_modulus(modulus, "multiply")?;
        let factors = parameters.literal().units.iter().chain(&parameters.literal().sprout.primes);
        let avoid: Vec<u64> = factors.copied().collect();
        let mut missing_bits = parameters.log2(modulus) - AUXILIARY_SLACK_BITS;
        let mut chosen = Vec::new();
        let free =
            primes::ntt_primes_below(PRIME_BITS, self.degree()).filter(|p| !avoid.contains(p));
        for p in free.take(MAX_INPUTS) {
            if missing_bits <= 0.0 {
                break;
            }
            chosen.push(p);
            missing_bits -= (p as f64).log2();
        }
        if missing_bits <= 0.0 {
            return Ok(chosen);
        }
        let (have, need) = (
            modulus.limb_count(),
            "a modulus that the auxiliary primes of 48 bits cover is needed",
        );
        Err(RlweError::Modulus { operation: "multiply over the integers", have, need })
    }

    /// The rings of the auxiliary modulus.
    fn auxiliary_rings(&self, modulus: Modulus) -> Result<Vec<Arc<ResidueRing>>, RlweError> {
        self.auxiliary_primes(modulus)?.into_iter().map(|q| self.auxiliary(q)).collect()
    }
}
