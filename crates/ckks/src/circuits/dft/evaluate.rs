//! The homomorphic DFT of ciphertexts.

use std::{
    borrow::Cow,
    f64::consts::{FRAC_1_SQRT_2, SQRT_2},
};

use hippocrene_rlwe::{Modulus, Noise};

use super::{Direction, HomomorphicDft, Level, Packing};
use crate::{Ciphertext, CkksError, Evaluator, Scale, circuits::linear_transform::Landing};

const OPERATION: &str = "homomorphic DFT";

/// A level that would take so many bits more than it says waits for the next one, which takes what
/// both need.
const LARGEST_STEP: f64 = 8.0;

impl Evaluator {
    /// The transform `dft` of `a`, at exactly the scale `target`.
    ///
    /// A level takes the bits that [`super::DftLevel::scale_bits`] says (on a simple chain, all of
    /// the next primes that have so many; where the next prime has 8 bits more than that, two
    /// levels share it), and the whole transform takes `log2(scale/target)` more. Between levels
    /// the scale is the larger one of the operand's and the target.
    ///
    /// **Bounds.** Let the slots of `a` be bounded by `b`, and the factor be `f`. From coefficients
    /// to slots the result is bounded by `|f| b`; where a tighter bound on the coefficients is
    /// known, declare it ([`Ciphertext::set_bound`]). From slots to coefficients it is bounded by
    /// `n |f| b` (times `sqrt(2)` side by side, times 2 where it is real), which is what the slots
    /// of such a polynomial can reach; but the coefficients stay below `|f| b` (times `sqrt(2)`
    /// side by side), and only these have to fit the modulus.
    ///
    /// **Noise** is estimated for slots of absolute value `b` and independent angles.
    ///
    /// # Errors
    /// When `a` has another number of slots than `dft` takes, a key is missing, or the modulus is
    /// too small.
    pub fn homomorphic_dft(
        &self,
        a: &Ciphertext,
        dft: &HomomorphicDft,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.homomorphic_dft_to(a, dft, target, None)
    }

    /// [`Evaluator::homomorphic_dft`] that ends modulo `end`, where there is one: of about the bits
    /// that the levels lead to.
    pub(crate) fn homomorphic_dft_to(
        &self,
        a: &Ciphertext,
        dft: &HomomorphicDft,
        target: Scale,
        end: Option<Modulus>,
    ) -> Result<Ciphertext, CkksError> {
        let forward = dft.direction == Direction::SlotsToCoefficients;
        let taken = dft.taken;
        if a.slots() != taken {
            return Err(CkksError::SlotMismatch {
                operation: OPERATION,
                left: a.slots(),
                right: taken,
            });
        }
        let landings = self.landings(a, dft, target, end)?;
        let mut x = Cow::Borrowed(a);
        for (i, (level, landing)) in dft.levels.iter().zip(&landings).enumerate() {
            x = Cow::Owned(self.linear_transform_to(&x, &level.transform, *landing)?);
            if i == 0 && forward && dft.packing == Packing::SideBySide {
                x = Cow::Owned(self.sum_of_halves(&x)?);
            }
            if i == 0 && dft.taken > dft.packed_slots() {
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
            // Real slots have real errors: the real parts of those before are doubled, and there
            // are no imaginary ones.
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

    /// Where the levels leave their results. Their bounds are on coefficients.
    fn landings(
        &self,
        a: &Ciphertext,
        dft: &HomomorphicDft,
        target: Scale,
        end: Option<Modulus>,
    ) -> Result<Vec<Landing>, CkksError> {
        let paired =
            dft.direction == Direction::SlotsToCoefficients && dft.packing == Packing::SideBySide;
        let between = if a.scale() < target { target } else { a.scale() };
        let mut coefficients = a.bound() * if paired { SQRT_2 } else { 1.0 };
        // Side by side, slots repeat until the last level: roundings of diagonals, times them, are
        // in every other one of the coefficients that are averaged over from there on.
        let repeat =
            dft.direction == Direction::CoefficientsToSlots && dft.packing == Packing::SideBySide;
        let mut magnitude = a.bound();
        // The modulus that the levels lead to; a result may be modulo a larger one, with its scale
        // larger by as much.
        let (mut modulus, mut scale) = (a.modulus(), a.scale());
        let mut landings = Vec::with_capacity(dft.levels.len());
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
                false => self.or_wait(level, (modulus, scale), (next, next_scale)),
            };
            coefficients *= level.factor;
            self.check_capacity(a, next, next_scale.log2(), coefficients, OPERATION)?;
            let up = if is_last { next } else { self.up_without_two(next) };
            landings.push(Landing {
                modulus: up,
                scale: self.switched_scale(next_scale, next, up),
                magnitude: magnitude * if repeat && !is_last { FRAC_1_SQRT_2 } else { 1.0 },
                largest_coefficient: coefficients,
                bound: coefficients,
            });
            magnitude *= level.growth * if i == 0 && paired { SQRT_2 } else { 1.0 };
            (modulus, scale) = (next, next_scale);
        }
        Ok(landings)
    }

    /// The bits that a level from a modulus and a scale to another scale leaves.
    fn bits_after(
        &self,
        level: &Level,
        (modulus, scale): (Modulus, Scale),
        next_scale: Scale,
    ) -> f64 {
        self.log2(modulus) - level.scale_bits - scale.log2() + next_scale.log2()
    }

    /// What a level leads to, or where it starts from at a larger scale: where a simple chain has
    /// no primes so small, a level leaves the modulus to the next one.
    fn or_wait(
        &self,
        level: &Level,
        (modulus, scale): (Modulus, Scale),
        (next, next_scale): (Modulus, Scale),
    ) -> (Modulus, Scale) {
        let wanted = self.bits_after(level, (modulus, scale), next_scale);
        let waits = next != modulus && self.log2(next) < wanted - LARGEST_STEP;
        match Scale::from_f64(level.scale_bits.exp2()).filter(|_| waits) {
            Some(factor) => (modulus, scale.times(factor)),
            None => (next, next_scale),
        }
    }

    /// Where the next transform would go up to a modulus without a power of two
    /// ([`Evaluator::without_two`]), a level goes there at once.
    fn up_without_two(&self, next: Modulus) -> Modulus {
        let up = self.without_two(next);
        if self.log2(up) > self.log2(next) { up } else { next }
    }

    /// The moduli at which the levels of `dft` rotate ciphertexts, and that of its result, for an
    /// operand modulo `from` of this scale: as [`Evaluator::homomorphic_dft`] chooses them. Nothing
    /// where the modulus is too small.
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
                false => self.or_wait(level, (modulus, scale), (next, next_scale)),
            };
            operand = self.up_without_two(modulus);
        }
        Some((moduli, modulus))
    }

    /// The sum of the two halves of the slots: it has half as many.
    fn sum_of_halves(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let slots = a.slots() / 2;
        let rotated = self.rotate(a, slots as i64)?;
        let mut sum = a.clone();
        self.context().rlwe().add_assign(sum.inner_mut(), rotated.inner())?;
        // Of the noise, every other coefficient is doubled, and what is between them is of no
        // account; the rotation adds some of its own.
        let noise = a.inner().noise().scaled(0.5 * 3f64.log2()).plus(rotated.inner().noise());
        sum.inner_mut().set_noise(noise);
        sum.set_meta(a.scale(), slots, a.bound());
        Ok(sum)
    }
}
