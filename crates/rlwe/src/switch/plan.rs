//! The constants of one modulus switch.

use hippocrene_ring::{
    ResidueRing,
    arith::{inv_mod, mul_mod},
    convert::BaseConverter,
    elementwise::Scalar,
    ntt::InverseFactor,
};

use crate::{Modulus, RlweError, rings::Rings};

/// The constants of one switch.
#[derive(Debug)]
pub(crate) struct SwitchPlan {
    pub(super) from: Modulus,
    pub(super) to: Modulus,
    /// `S`, the divisor of the switch.
    pub(crate) dropped: Modulus,
    /// Converts from the limbs of `S` to those of `Q'`, times the factors of the targets. If `Q'`
    /// has a power of two, it is the larger one of `Q` and `Q'` here.
    pub(super) converter: BaseConverter,
    /// For each limb of `S`, modulo `s`: `t^{-1} R (S/s)^{-1} mod s`. One form is for the last pass
    /// of an inverse transform, the other for a multiplication of its own.
    pub(crate) inputs: Vec<(InverseFactor, Scalar)>,
    /// For each limb of the result.
    pub(super) targets: Vec<Target>,
}

/// The constants of one limb of the result.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) position: usize,
    pub(super) combination: Combination,
    /// The factor of `delta` in the conversion, modulo the limb.
    factor: u64,
}

/// How a limb is computed from `x` and from `delta`. The converter returns `delta` times its
/// factor.
///
/// `u` is `S~^{-1}`. At [`Modulus::TWO`], `S~` is `S` without its power of two. Elsewhere it is
/// `S`.
#[derive(Debug)]
pub(super) enum Combination {
    /// `(x - delta) R u`. The factor of `delta` is `R^{-1}`.
    Difference(Scalar),
    /// `(x - delta) R u`, where `x - delta` is shifted right by this number of bits before the
    /// multiplication. The factor of `delta` is `R^{-1}`.
    Shifted(Scalar, u32),
    /// `x R u - delta u`, where `R` is not invertible. The scalars are `R u` and `-u`.
    Sum(Scalar, Scalar),
    /// `-delta u`, where `R x` is 0 or `x` has no such limb.
    Delta(Scalar),
    /// `x R`, as `S = 1`.
    Multiple(Scalar),
    /// 0, as `S = 1` and `R x` is 0.
    Zero,
}

impl Target {
    fn new(rings: &Rings, from: Modulus, to: Modulus, work: Modulus, position: usize) -> Self {
        let parameters = rings.parameters();
        let (dropped, added) = (from.without(to), to.without(from));
        let ring = rings.at(to, position);
        let q = parameters.limb_modulus(work, position);
        let power = if position == Modulus::TWO { dropped.two() } else { 0 };
        let odd = dropped.without(Modulus::of_sprout(0, power));
        let u = inv_mod(parameters.residue(odd, q), q)
            .expect("S shares no prime but 2 with the target");
        let r = parameters.residue(added, q);
        let (raise, negative) = (ring.scalar(mul_mod(r, u, q)), ring.scalar(q - u));
        // The result depends on x if Q has this limb and R is not 0 modulo it.
        let uses_x = from.contains(position) && r != 0;
        let (combination, factor) = match (uses_x, dropped.is_one(), inv_mod(r, q)) {
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
    pub(super) fn new(
        rings: &Rings,
        from: Modulus,
        to: Modulus,
        t: u64,
    ) -> Result<Self, RlweError> {
        let parameters = rings.parameters();
        let (dropped, added) = (from.without(to), to.without(from));
        let work = match to.two() {
            0 => to,
            _ => to.lcm(Modulus::of_sprout(0, from.two())),
        };
        let targets: Vec<Target> =
            work.factors().map(|position| Target::new(rings, from, to, work, position)).collect();
        let scaled = |(q, target): (u64, &Target)| (q, mul_mod(t % q, target.factor, q));
        let outputs: Vec<(u64, u64)> =
            parameters.limb_moduli(work).into_iter().zip(&targets).map(scaled).collect();
        let moduli = match ties(dropped) {
            // The numbers from -2^(k-1) to 2^(k-1) are the centred residues modulo 2^k + 1.
            Some(half) => vec![2 * half + 1],
            None => parameters.limb_moduli(dropped),
        };
        let converter = BaseConverter::scaled(&moduli, &outputs, rings.kernel());
        let input = |(k, ring): (usize, &ResidueRing)| {
            let q = ring.modulus();
            let inverse = inv_mod(t % q, q).ok_or_else(|| RlweError::Parameters {
                what: format!(
                    "the plaintext modulus {t} shares a factor with the modulus to be dropped"
                ),
            })?;
            let factor = mul_mod(converter.input_factor(k), parameters.residue(added, q), q);
            let factor = mul_mod(factor, inverse, q);
            Ok((ring.inverse_factor(factor), ring.scalar(factor)))
        };
        let inputs = rings.of(dropped).enumerate().map(input).collect::<Result<_, RlweError>>()?;
        Ok(SwitchPlan { from, to, dropped, inputs, targets, converter })
    }
}

impl Target {
    /// True if the limb depends on `x`.
    pub(super) fn needs_x(&self) -> bool {
        !matches!(self.combination, Combination::Delta(_) | Combination::Zero)
    }

    /// Replaces `delta` in `limb` by `(R x - delta)/S`.
    ///
    /// `x` is in the ring of this limb. `delta` is lazily reduced and in the domain of `x`.
    pub(super) fn combine(&self, ring: &ResidueRing, limb: &mut [u64], x: Option<&[u64]>) {
        match (&self.combination, x) {
            (Combination::Difference(raise), Some(x)) => {
                ring.sub_from_mul_scalar_assign(limb, x, raise);
            }
            (Combination::Shifted(raise, shift), Some(x)) => {
                ring.sub_from_shift_mul_scalar_assign(limb, x, *shift, raise);
            }
            (Combination::Sum(raise, negative), Some(x)) => {
                ring.mul_scalar_assign(limb, negative);
                ring.mul_scalar_add_assign(limb, x, raise);
            }
            (Combination::Delta(negative), _) => ring.mul_scalar_assign(limb, negative),
            (Combination::Multiple(raise), Some(x)) => ring.mul_scalar(limb, x, raise),
            _ => limb.fill(0),
        }
    }
}

/// Returns `S/2` if `S` is a power of two.
pub(super) fn ties(dropped: Modulus) -> Option<u64> {
    let two = dropped.two();
    (two > 0 && dropped == Modulus::of_sprout(0, two)).then(|| 1 << (two - 1))
}
