//! The precision of the homomorphic DFT, on numbers of many bits.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{
    BigFloat, Context, Evaluator, Scale,
    circuits::{DftLevel, Direction, HomomorphicDft},
};
use hippocrene_ring::{RnsBasis, Sampler, Threads, arith::bit_reverse};
use hippocrene_rlwe::{EvaluationKeys, Modulus, SecretKey};
use num_complex::Complex;

use crate::{
    Result,
    precision::{Errors, Number, difference, messages, number},
};

/// log2 of the scale at which a message is encoded to get its exact coefficients. The choice allows
/// for more bits than any measured precision.
const EXACT_SCALE_LOG2: i32 = 200;
/// The number of units of a modulus that holds this scale.
const EXACT_SCALE_UNITS: usize = 6;

/// A parameter set with one secret, and the transforms of all its slots in one direction.
pub struct Transforms {
    context: Arc<Context>,
    secret: SecretKey,
    evaluator: Evaluator,
    fresh: Modulus,
    direction: Direction,
    levels: u32,
    /// Has a fixed seed, so the messages are the same in every run of the table.
    sampler: Sampler,
}

impl Transforms {
    /// Makes the keys for transforms with `levels` levels.
    ///
    /// # Errors
    /// When the set is too small, the environment names a kernel that cannot run, or the system has
    /// no entropy.
    pub fn new(preset: &Preset, direction: Direction, levels: u32) -> Result<Self> {
        let parameters = preset.parameters()?;
        let fresh = preset.fresh(&parameters);
        let context = Arc::new(Context::new(parameters, Threads::single())?);
        let rlwe = context.rlwe();
        let secret = SecretKey::generate(rlwe)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        // The rotations do not depend on the scale.
        let rotations = transform(&context, direction, levels, 40)?.rotations();
        keys.add_rotations(rlwe, &secret, rotations)?;
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
        Ok(Transforms { context, secret, evaluator, fresh, direction, levels, sampler: messages() })
    }

    /// Measures the errors in `runs` runs, if operand, levels and result have the scale `2^bits`.
    ///
    /// Each run has fresh messages. The transformed numbers are complex, with root mean square
    /// 0.41.
    ///
    /// # Errors
    /// When the scale does not fit the parameter set.
    pub fn errors(&mut self, bits: i32, runs: usize) -> Result<Errors> {
        let dft = transform(&self.context, self.direction, self.levels, bits)?;
        let scale = Scale::power_of_two(bits);
        let errors: Vec<f64> =
            (0..runs).map(|_| self.worst_error(&dft, scale)).collect::<Result<_>>()?;
        Ok(Errors::of(&errors))
    }

    fn worst_error(&mut self, dft: &HomomorphicDft, scale: Scale) -> Result<f64> {
        let (slots, coefficients) = self.message()?;
        let (from, to) = match self.direction {
            Direction::CoefficientsToSlots => (slots, coefficients),
            Direction::SlotsToCoefficients => (coefficients, slots),
        };
        let context = &self.context;
        let plain = context.encode(from[..].into(), from.len(), scale, self.fresh)?;
        let encrypted = context.encrypt(&self.secret, &plain)?.expand(context);
        let out = self.evaluator.homomorphic_dft(&encrypted, dft, scale)?;
        let decoded = context.decode_big_complex(&context.decrypt(&self.secret, &out)?)?;
        let mut worst = 0.0f64;
        for (got, expected) in decoded.iter().zip(&to) {
            worst = worst.max(difference(got, expected)?);
        }
        Ok(worst)
    }

    /// Returns numbers for all slots, and the coefficients of their message in the order of the
    /// transforms.
    ///
    /// Slot `j` holds `t_k + i t_(k+n)`, where `k` has the bits of `j` in reverse order.
    fn message(&mut self) -> Result<(Vec<Number>, Vec<Number>)> {
        let n = self.context.max_slots();
        // Coefficients are smaller than slots by a factor sqrt(n).
        let exponent = match self.direction {
            Direction::CoefficientsToSlots => 0,
            Direction::SlotsToCoefficients => i64::from(n.ilog2() / 2),
        };
        let mut part = || -> Result<BigFloat> {
            let (mantissa, own) = number(&mut self.sampler)?.to_parts();
            Ok(BigFloat::from_parts(&mantissa, own + exponent)?)
        };
        let slots: Vec<Number> =
            (0..n).map(|_| Ok(Complex { re: part()?, im: part()? })).collect::<Result<_>>()?;

        let (context, modulus) = (&self.context, Modulus::of_range(0..EXACT_SCALE_UNITS));
        let plain =
            context.encode(slots[..].into(), n, Scale::power_of_two(EXACT_SCALE_LOG2), modulus)?;
        let mut poly = plain.poly().clone();
        context.rlwe().to_coefficient(&mut poly, modulus);
        let limbs: Vec<&[u64]> = poly.limbs().collect();
        let exact =
            RnsBasis::new(&context.parameters().limb_moduli(modulus))?.compose_limbs(&limbs);
        let part = |k: usize| BigFloat::from_parts(&exact[k], -i64::from(EXACT_SCALE_LOG2));
        let coefficients = (0..n)
            .map(|j| bit_reverse(j, n.ilog2()))
            .map(|k| Ok(Complex { re: part(k)?, im: part(k + n)? }))
            .collect::<Result<_>>()?;
        Ok((slots, coefficients))
    }
}

fn transform(
    context: &Context,
    direction: Direction,
    levels: u32,
    bits: i32,
) -> Result<HomomorphicDft> {
    let slots = context.max_slots();
    let levels = DftLevel::even(slots, levels, f64::from(bits));
    Ok(HomomorphicDft::new(context, direction, slots, &levels, 1.0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_scale_is_more_precision() {
        let preset = Preset::by_name("n14").unwrap();
        for (direction, least) in
            [(Direction::CoefficientsToSlots, 10.0), (Direction::SlotsToCoefficients, 5.0)]
        {
            let mut transforms = Transforms::new(&preset, direction, 2).unwrap();
            let low = transforms.errors(30, 1).unwrap().precision();
            let high = transforms.errors(70, 1).unwrap().precision();
            assert!(low > least && low < 30.0, "{direction:?}: {low} bits");
            assert!((36.0..44.0).contains(&(high - low)), "{direction:?}: {low}, {high} bits");
        }
    }
}
