//! The choice of the next modulus (GRAFT Alg. 2 and 3). Moduli are chosen by their bits, whatever
//! their number of limbs.

use hippocrene_rlwe::{Modulus, Noise, noise};

use super::Evaluator;
use crate::{Ciphertext, CkksError, Scale};

/// Largest number of bits by which rescaling may miss the target scale from below. If it would miss
/// by more, it divides by less. This only happens on simple chains whose primes do not match the
/// scale, because a universal sprout always comes closer. Chosen.
const MAX_RESCALE_MISS_BITS: f64 = 2.0;

/// Largest number of bits of capacity that a sum of plain products may give up to avoid a limb
/// modulo a power of two. Chosen.
const MAX_LOST_CAPACITY_BITS: f64 = 4.0;

/// log2 of the relative error of a scale after a modulus switch. Scales are tracked to 128 bits and
/// rounded for each limb.
const LOG2_SCALE_ERROR: f64 = -126.0;

/// Number of bits by which a scale may be below a target and still count as equal to it. Chosen.
const SCALE_TOLERANCE_BITS: f64 = 1.0;

/// Number of bits by which the rounding errors of plain numbers should be below those of rescaling.
/// Values of at most this many bits count as small. Chosen.
const PLAIN_ROUNDING_MARGIN_BITS: f64 = 3.0;

/// Largest number of bits by which the scale of plain numbers is increased for large values.
/// Chosen.
const MAX_EXTRA_PLAIN_SCALE_BITS: f64 = 512.0;

impl Evaluator {
    /// Returns the modulus that brings `scale` modulo `from` nearest to `target` (GRAFT Alg. 3).
    ///
    /// It is the grafted modulus nearest to `from target/scale`. It is `from` itself if the scale
    /// is not larger than the target. If `from`, a divisor of `PQ_max`, would lead to more bits
    /// than `Q_max` has, it is `Q_max`.
    ///
    /// # Panics
    /// Panics if `from` has a unit or special modulus that the parameters do not have.
    pub fn rescaled_modulus(&self, from: Modulus, scale: Scale, target: Scale) -> Modulus {
        let (bits, surplus) = (self.log2(from), scale.log2() - target.log2());
        if surplus < 0.5 {
            return from;
        }
        let top = self.context().parameters().top();
        let mut wanted = bits - surplus;
        loop {
            let to = self.context().parameters().grafted_modulus(wanted);
            let have = self.log2(to);
            if have >= bits {
                return from;
            }
            if have >= bits - surplus - MAX_RESCALE_MISS_BITS || to == top {
                return to;
            }
            wanted += 1.0;
        }
    }

    /// Returns modulus and exact scale of `a^2` after it is rescaled to `target`. Every operation
    /// with a depth of one product gives this modulus and scale, so that results of the same depth
    /// can be added without adjustment.
    ///
    /// # Panics
    /// Panics if `a` belongs to larger parameters, whose units these do not have.
    pub fn after_product(&self, a: &Ciphertext, target: Scale) -> (Modulus, Scale) {
        self.after_square(a.modulus(), a.scale(), target)
    }

    /// Like [`Evaluator::after_product`], for a ciphertext of this modulus and scale.
    ///
    /// # Panics
    /// Panics if `from` has a unit or special modulus that the parameters do not have.
    pub fn after_square(&self, from: Modulus, scale: Scale, target: Scale) -> (Modulus, Scale) {
        let square = scale.times(scale);
        let to = self.rescaled_modulus(from, square, target);
        (to, self.switched_scale(square, from, to))
    }

    /// Returns the scale at which to encode plain numbers up to `largest` for a product with `a`,
    /// and the scale to rescale this product to, which is `target` or larger.
    ///
    /// The first scale is normally that of `a`. The rounding errors of plain numbers have the given
    /// `variance` in each slot, in the unit of the scale, and are multiplied by the values of `a`.
    /// Two cases need a larger scale:
    /// - If the scale of `a` is smaller than the target and these errors would exceed the noise of
    ///   `a` times `largest`, the first scale is increased by that difference, up to the target.
    /// - If the values are so large that these errors would exceed those of rescaling, both scales
    ///   are increased, by at most the factor by which the bound of the product is smaller. This
    ///   uses no capacity.
    pub fn plain_scale(
        &self,
        a: &Ciphertext,
        largest: f64,
        variance: f64,
        target: Scale,
    ) -> (Scale, Scale) {
        let coarser = target.log2() - a.scale().log2();
        let lost = noise::log2(a.bound()) + 0.5 * variance.log2() - noise::log2(largest)
            + a.precision_bits();
        let more = (lost + PLAIN_ROUNDING_MARGIN_BITS - a.scale().log2()).min(coarser).ceil();
        let scale = if coarser > SCALE_TOLERANCE_BITS && more >= coarser {
            target
        } else if coarser > SCALE_TOLERANCE_BITS && more >= 1.0 {
            a.scale().times(Scale::power_of_two(more as i32))
        } else {
            a.scale()
        };
        let rescaling =
            a.slots() as f64 * (1.0 + self.context().parameters().secret_weight()) / 12.0;
        let room = (0.5 * (rescaling / variance).log2() - PLAIN_ROUNDING_MARGIN_BITS)
            .max(PLAIN_ROUNDING_MARGIN_BITS);
        let bits = (noise::log2(a.bound()) - room)
            .min(-noise::log2(largest))
            .min(MAX_EXTRA_PLAIN_SCALE_BITS)
            .floor();
        let finer = Scale::power_of_two(bits.max(0.0) as i32);
        (scale.times(finer), target.times(finer))
    }

    /// Returns the factor `2^k` by which the scales of plain numbers and of their product with `a`
    /// should be increased if the product is added up `added` times afterwards.
    ///
    /// Without it, the roundings of the summed products would add up. With it, they are no larger
    /// than a single one at that target, or than the error of `a`, whose variance counts `energy`
    /// times in the end. `k` is about half the binary logarithm of `added`. It uses `k` bits of
    /// capacity, and at least half of the capacity remains. The factor is 1 on a simple chain,
    /// where scales cannot be chosen.
    pub fn sum_scale_factor(
        &self,
        a: &Ciphertext,
        scale: Scale,
        target: Scale,
        added: usize,
        energy: f64,
    ) -> Scale {
        let parameters = self.context().parameters();
        let most = self.max_sum_scale_factor(added);
        if most == Scale::power_of_two(0) {
            return most;
        }
        let rounding = 0.5 * (a.slots() as f64 * (1.0 + parameters.secret_weight()) / 12.0).log2();
        let carried = 0.5 * noise::log2(energy) - a.precision_bits();
        let louder = (carried - (rounding - target.log2())).max(0.0);
        let left = a.capacity_bits(self.context()) - scale.log2();
        let bits = (most.log2() - louder).min(0.5 * left).round();
        Scale::power_of_two(bits.max(0.0) as i32)
    }

    /// Returns the largest value of [`Evaluator::sum_scale_factor`] for a number of roundings.
    pub fn max_sum_scale_factor(&self, added: usize) -> Scale {
        let is_simple = self.context().parameters().top().sprout().is_one();
        Scale::power_of_two(if is_simple {
            0
        } else {
            (0.5 * (added.max(1) as f64).log2()).round() as i32
        })
    }

    /// Returns `scale to/from`, exactly: the scale of a message after it is brought from the
    /// modulus `from` to `to`.
    ///
    /// # Panics
    /// Panics if one of them has a unit or special modulus that neither the other one nor the
    /// parameters have.
    pub fn switched_scale(&self, scale: Scale, from: Modulus, to: Modulus) -> Scale {
        self.context().switched_scale(scale, from, to)
    }

    /// Returns the error of the values that comes from the error of the scale after a modulus
    /// switch: `2^-126` of the bound. It exceeds the noise if values and precision together have
    /// more bits than that.
    pub(super) fn scale_noise(a: &Ciphertext) -> Noise {
        if a.bound().is_finite() {
            Self::message_as_noise(a).scaled(LOG2_SCALE_ERROR)
        } else {
            Noise::NONE
        }
    }

    /// Returns the largest grafted modulus of at most `bits` bits, to within half a bit.
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`] if there is none.
    pub(crate) fn modulus_at_most(
        &self,
        bits: f64,
        a: &Ciphertext,
        operation: &'static str,
    ) -> Result<Modulus, CkksError> {
        self.largest_modulus(bits).ok_or_else(|| {
            let have = a.capacity_bits(self.context());
            CkksError::Capacity { operation, need: have + 1.0 - bits.min(0.0), have }
        })
    }

    /// Returns the largest grafted modulus of at most `bits` bits, to within half a bit, or `None`
    /// if there is none.
    pub(crate) fn largest_modulus(&self, bits: f64) -> Option<Modulus> {
        let mut wanted = bits;
        while wanted > 0.0 {
            let to = self.context().parameters().grafted_modulus(wanted);
            if self.log2(to) <= bits + 0.5 {
                return Some(to);
            }
            wanted -= 1.0;
        }
        None
    }

    /// Returns a divisor of `modulus` of at least `bits` bits with the fewest limbs, and among
    /// these the smallest. Returns `modulus` itself if it has fewer bits.
    ///
    /// # Panics
    /// Panics if `modulus` has a unit or special modulus that the parameters do not have.
    pub fn divisor_at_least(&self, modulus: Modulus, bits: f64) -> Modulus {
        let mut best = (modulus.limb_count(), self.log2(modulus), modulus);
        let exponents = [0, modulus.two()];
        for two in &exponents[..if modulus.two() == 0 { 1 } else { 2 }] {
            for odd in (0..=modulus.odd()).filter(|odd| odd & !modulus.odd() == 0) {
                let mut divisor = Modulus::of_sprout(odd, *two);
                let mut have = if divisor.is_one() { 0.0 } else { self.log2(divisor) };
                for i in modulus.words().factors() {
                    if have + 1e-9 >= bits {
                        break;
                    }
                    divisor = divisor.lcm(Modulus::of_factor(i));
                    have += (self.context().parameters().factor(i) as f64).log2();
                }
                let candidate = (divisor.limb_count(), have, divisor);
                if have + 1e-9 >= bits
                    && !divisor.is_one()
                    && (candidate.0, candidate.1) < (best.0, best.1)
                {
                    best = candidate;
                }
            }
        }
        best.2
    }

    /// Returns the modulus at which sums of many products with plaintexts are computed instead of
    /// `modulus`. Every product in the ring modulo `2^e` would cost extra transforms.
    ///
    /// It is the smallest grafted modulus without a power of two that is at least as large, because
    /// moving up uses no capacity. Near the top there may be none. Then it is the largest one below
    /// if that costs few bits, and otherwise `modulus` itself.
    pub(crate) fn without_two(&self, modulus: Modulus) -> Modulus {
        if modulus.two() == 0 {
            return modulus;
        }
        let (top, have) = (self.context().parameters().top(), self.log2(modulus));
        let mut best: Option<(f64, Modulus)> = None;
        for units in 0..=self.context().parameters().unit_count() {
            for odd in (0..=top.odd()).filter(|odd| odd & !top.odd() == 0) {
                let candidate = Modulus::of_range(0..units).lcm(Modulus::of_sprout(odd, 0));
                if candidate.is_one() {
                    continue;
                }
                let bits = self.log2(candidate) - have;
                let better = match best {
                    _ if bits < -MAX_LOST_CAPACITY_BITS => false,
                    None => true,
                    Some((best_bits, _)) if best_bits < 0.0 => bits > best_bits,
                    Some((best_bits, _)) => (0.0..best_bits).contains(&bits),
                };
                if better {
                    best = Some((bits, candidate));
                }
            }
        }
        best.map_or(modulus, |(_, modulus)| modulus)
    }
}
