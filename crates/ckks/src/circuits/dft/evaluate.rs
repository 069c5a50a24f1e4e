//! Evaluation of the homomorphic DFT on ciphertexts.

use std::{
    borrow::Cow,
    f64::consts::{FRAC_1_SQRT_2, SQRT_2},
};

use hippocrene_rlwe::{Modulus, Noise};

use super::{Direction, HomomorphicDft, Level, Packing};
use crate::{Ciphertext, CkksError, Evaluator, Scale, circuits::linear_transform::ResultSpec};

const OPERATION: &str = "homomorphic DFT";

/// Bits by which a level's modulus may be too small. A level that would lose more bits than this is
/// deferred: the next level then uses the bits of both. Chosen.
const MAX_LEVEL_LOSS_BITS: f64 = 8.0;

impl Evaluator {
    /// Applies the transform `dft` to `a`. The result has exactly the scale `target`.
    ///
    /// Each level uses the bits of [`super::DftLevel::scale_bits`]. On a simple chain it uses as
    /// many whole primes as come closest to that. If the next prime is more than 8 bits too large,
    /// two levels share it. The whole transform uses `log2(scale/target)` bits in addition. Between
    /// levels, the scale is the larger one of the operand's scale and the target.
    ///
    /// **Bounds.** Let `b` be the bound of `a` and `f` the factor. From coefficients to slots, the
    /// result is bounded by `|f| b`. If you know a tighter bound on the coefficients, declare it
    /// ([`Ciphertext::set_bound`]). From slots to coefficients, the slots of the result are bounded
    /// by `n |f| b` (times `sqrt(2)` side by side, times 2 for real packing). The coefficients stay
    /// below `|f| b` (times `sqrt(2)` side by side), and only these have to fit the modulus.
    ///
    /// **Noise** is estimated for slots of absolute value `b` and independent angles.
    ///
    /// # Errors
    /// Fails if `a` has the wrong number of slots, a key is missing, or the modulus is too small.
    pub fn homomorphic_dft(
        &self,
        a: &Ciphertext,
        dft: &HomomorphicDft,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.homomorphic_dft_to(a, dft, target, None)
    }

    /// Like [`Evaluator::homomorphic_dft`], with a result modulo `end` if one is given. Its
    /// number of bits should be about that after the levels.
    pub(crate) fn homomorphic_dft_to(
        &self,
        a: &Ciphertext,
        dft: &HomomorphicDft,
        target: Scale,
        end: Option<Modulus>,
    ) -> Result<Ciphertext, CkksError> {
        let forward = dft.direction == Direction::SlotsToCoefficients;
        let operand_slots = dft.operand_slots;
        if a.slots() != operand_slots {
            return Err(CkksError::SlotMismatch {
                operation: OPERATION,
                left: a.slots(),
                right: operand_slots,
            });
        }
        let level_results = self.level_results(a, dft, target, end)?;
        let mut x = Cow::Borrowed(a);
        for (i, (level, level_result)) in dft.levels.iter().zip(&level_results).enumerate() {
            x = Cow::Owned(self.linear_transform_to(&x, &level.transform, *level_result)?);
            if i == 0 && forward && dft.packing == Packing::SideBySide {
                x = Cow::Owned(self.sum_of_halves(&x)?);
            }
            if i == 0 && dft.operand_slots > dft.packed_slots() {
                let (scale, bound) = (x.scale(), x.bound());
                x.to_mut().set_meta(scale, dft.slots, bound);
            }
        }
        let mut out = x.into_owned();
        if dft.conjugates() {
            let own = out.inner().noise();
            let mut bare = out.clone();
            bare.inner_mut().set_noise(Noise::NONE);
            let conjugate = self.conjugate(&bare)?;
            self.context().rlwe().add_assign(out.inner_mut(), conjugate.inner())?;
            // Real slots have real errors. Adding the conjugate doubles the real parts of the
            // earlier errors and removes the imaginary parts.
            let real = !forward && dft.packing == Packing::Real;
            let doubled = own.scaled(if real { 1.0 } else { 0.5 });
            out.inner_mut().set_noise(doubled.plus(conjugate.inner().noise()));
        }
        let slots = dft.slots as f64;
        let bound = match (forward, dft.packing) {
            (false, _) => out.bound(),
            (true, Packing::Real) => 2.0 * slots * out.bound(),
            (true, _) => slots * out.bound(),
        };
        out.set_bound(bound);
        Ok(out)
    }

    /// Chooses modulus and scale of the result of each level. The bounds are those of the
    /// coefficients.
    fn level_results(
        &self,
        a: &Ciphertext,
        dft: &HomomorphicDft,
        target: Scale,
        end: Option<Modulus>,
    ) -> Result<Vec<ResultSpec>, CkksError> {
        let paired =
            dft.direction == Direction::SlotsToCoefficients && dft.packing == Packing::SideBySide;
        let between = if a.scale() < target { target } else { a.scale() };
        let mut coefficients = a.bound() * if paired { SQRT_2 } else { 1.0 };
        // Side by side, slots repeat until the last level. The rounding errors of the diagonals,
        // times the slots, then affect only every other of the coefficients that the estimate
        // averages over.
        let repeat =
            dft.direction == Direction::CoefficientsToSlots && dft.packing == Packing::SideBySide;
        let mut magnitude = a.bound();
        // The modulus that the levels lead to. A result may have a larger modulus, with a scale
        // that is larger by the same factor.
        let (mut modulus, mut scale) = (a.modulus(), a.scale());
        let mut level_results = Vec::with_capacity(dft.levels.len());
        for (i, level) in dft.levels.iter().enumerate() {
            let is_last = i + 1 == dft.levels.len();
            let next_scale = if is_last { target } else { between };
            let wanted = self.bits_after(level, (modulus, scale), next_scale);
            let next = match end.filter(|_| is_last) {
                Some(end) => end,
                None => self.modulus_at_most(wanted, a, OPERATION)?,
            };
            let (next, next_scale) = match is_last {
                true => (next, next_scale),
                false => self.or_defer(level, (modulus, scale), (next, next_scale)),
            };
            coefficients *= level.factor;
            self.check_capacity(a, next, next_scale.log2(), coefficients, OPERATION)?;
            let up = if is_last { next } else { self.up_without_two(next) };
            level_results.push(ResultSpec {
                modulus: up,
                scale: self.switched_scale(next_scale, next, up),
                magnitude: magnitude * if repeat && !is_last { FRAC_1_SQRT_2 } else { 1.0 },
                largest_coefficient: coefficients,
                bound: coefficients,
            });
            magnitude *= level.growth * if i == 0 && paired { SQRT_2 } else { 1.0 };
            (modulus, scale) = (next, next_scale);
        }
        Ok(level_results)
    }

    /// Returns the bits of modulus that remain after a level, if it changes the scale to
    /// `next_scale`.
    fn bits_after(
        &self,
        level: &Level,
        (modulus, scale): (Modulus, Scale),
        next_scale: Scale,
    ) -> f64 {
        self.log2(modulus) - level.scale_bits - scale.log2() + next_scale.log2()
    }

    /// Returns modulus and scale after a level. If a simple chain has no prime that is small
    /// enough, the level keeps the modulus and leaves its bits to the next one, at a larger scale.
    fn or_defer(
        &self,
        level: &Level,
        (modulus, scale): (Modulus, Scale),
        (next, next_scale): (Modulus, Scale),
    ) -> (Modulus, Scale) {
        let wanted = self.bits_after(level, (modulus, scale), next_scale);
        let is_deferred = next != modulus && self.log2(next) < wanted - MAX_LEVEL_LOSS_BITS;
        match Scale::from_f64(level.scale_bits.exp2()).filter(|_| is_deferred) {
            Some(factor) => (modulus, scale.times(factor)),
            None => (next, next_scale),
        }
    }

    /// Returns the modulus that a level should end at. If the next transform would first move up to
    /// a modulus without a power of two ([`Evaluator::without_two`]), the level ends there at once.
    fn up_without_two(&self, next: Modulus) -> Modulus {
        let up = self.without_two(next);
        if self.log2(up) > self.log2(next) { up } else { next }
    }

    /// Returns the moduli at which the levels of `dft` rotate ciphertexts, and the modulus of the
    /// result, as [`Evaluator::homomorphic_dft`] chooses them for an operand modulo `from` at this
    /// scale. Returns `None` if the modulus is too small.
    pub(crate) fn dft_moduli(
        &self,
        dft: &HomomorphicDft,
        from: Modulus,
        scale: Scale,
        target: Scale,
    ) -> Option<(Vec<Modulus>, Modulus)> {
        let between = if scale < target { target } else { scale };
        let (mut modulus, mut scale, mut operand) = (from, scale, from);
        let mut moduli = Vec::with_capacity(dft.levels.len());
        for (i, level) in dft.levels.iter().enumerate() {
            moduli.push(self.without_two(operand));
            let is_last = i + 1 == dft.levels.len();
            let next_scale = if is_last { target } else { between };
            let next =
                self.largest_modulus(self.bits_after(level, (modulus, scale), next_scale))?;
            (modulus, scale) = match is_last {
                true => (next, next_scale),
                false => self.or_defer(level, (modulus, scale), (next, next_scale)),
            };
            operand = self.up_without_two(modulus);
        }
        Some((moduli, modulus))
    }

    /// Returns the sum of the two halves of the slots. The result has half as many slots.
    fn sum_of_halves(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let slots = a.slots() / 2;
        let rotated = self.rotate(a, slots as i64)?;
        let mut sum = a.clone();
        self.context().rlwe().add_assign(sum.inner_mut(), rotated.inner())?;
        // Every other coefficient of the noise is doubled and the ones in between do not matter.
        // The rotation adds noise of its own.
        let noise = a.inner().noise().scaled(0.5 * 3f64.log2()).plus(rotated.inner().noise());
        sum.inner_mut().set_noise(noise);
        sum.set_meta(a.scale(), slots, a.bound());
        Ok(sum)
    }
}
