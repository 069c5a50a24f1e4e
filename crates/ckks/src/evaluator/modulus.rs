//! Which modulus comes next (GRAFT Alg. 2 and 3). Moduli are chosen by their bits: how many limbs
//! they have is nobody's business.

use hippocrene_rlwe::{Modulus, Noise, noise};

use super::Evaluator;
use crate::{Ciphertext, CkksError, Scale};

/// A scale that would end this many bits below the wanted one is not rescaled so far. Only simple
/// chains whose primes do not match the scale come to this; a universal sprout is always nearer.
const LARGEST_LOSS: f64 = 2.0;

/// How many bits of capacity a sum of plain products may cost for being had without the limb modulo
/// a power of two.
const DEAR_LIMB: f64 = 4.0;

/// log2 of what a scale may be off by, relatively, after a switch of moduli: it is followed to 128
/// bits, and rounded for each limb.
const SCALE_ERROR: f64 = -126.0;

/// A scale that is smaller than a target by no more bits is as good.
const COARSER: f64 = 1.0;

/// By so many bits roundings of plain numbers are to be smaller than what rescaling adds; values of
/// as many bits count as small.
const FINER: f64 = 3.0;

/// By so many bits at most the scale of plain numbers is larger for large values.
const MOST_FINER: f64 = 512.0;

impl Evaluator {
    /// The modulus that brings `scale` modulo `from` nearest to `target` (GRAFT Alg. 3): the
    /// grafted modulus nearest to `from target/scale`, and `from` itself where the scale is no
    /// larger than the target. Where `from`, a divisor of `PQ_max`, leaves more bits than `Q_max`
    /// has, it is `Q_max`.
    ///
    /// # Panics
    /// When `from` has a unit or special that the parameters have not.
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
            if have >= bits - surplus - LARGEST_LOSS || to == top {
                return to;
            }
            wanted += 1.0;
        }
    }

    /// Where `a^2` lands when it is rescaled to `target`: modulus and exact scale. Every operation
    /// that is one multiplication deep lands there, so that results of operations of one depth can
    /// be added as they are.
    ///
    /// # Panics
    /// When `a` is of larger parameters, whose units these have not.
    pub fn after_product(&self, a: &Ciphertext, target: Scale) -> (Modulus, Scale) {
        self.after_square(a.modulus(), a.scale(), target)
    }

    /// As [`Evaluator::after_product`], for a ciphertext of this modulus and scale.
    ///
    /// # Panics
    /// When `from` has a unit or special that the parameters have not.
    pub fn after_square(&self, from: Modulus, scale: Scale, target: Scale) -> (Modulus, Scale) {
        let square = scale.times(scale);
        let to = self.rescaled_modulus(from, square, target);
        (to, self.switched_scale(square, from, to))
    }

    /// The scale at which plain numbers up to `largest` are taken that `a` is multiplied by, for a
    /// product that is rescaled to `target`: that of `a`. Roundings of plain numbers, of that
    /// variance in each slot in the unit of the scale, are multiplied by the values of `a`: where
    /// the scale of `a` is smaller than the target, and they would be more than the noise of `a`
    /// times `largest`, it is as much larger, up to the target; and where these values are so large
    /// that they would be more than what rescaling adds, by no more than the bound of the product
    /// is smaller, which costs no capacity. The second scale is the one to rescale the product to,
    /// the target or as much larger.
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
        let more = (lost + FINER - a.scale().log2()).min(coarser).ceil();
        let scale = if coarser > COARSER && more >= coarser {
            target
        } else if coarser > COARSER && more >= 1.0 {
            a.scale().times(Scale::power_of_two(more as i32))
        } else {
            a.scale()
        };
        let rescaling =
            a.slots() as f64 * (1.0 + self.context().parameters().secret_weight()) / 12.0;
        let room = (0.5 * (rescaling / variance).log2() - FINER).max(FINER);
        let bits =
            (noise::log2(a.bound()) - room).min(-noise::log2(largest)).min(MOST_FINER).floor();
        let finer = Scale::power_of_two(bits.max(0.0) as i32);
        (scale.times(finer), target.times(finer))
    }

    /// `2^k` by which plain numbers at `scale`, and the product of them and `a` that is rescaled to
    /// `target`, are to be the finer where so many roundings of the product are added up
    /// afterwards, so that they are no more than one is at that target, or than the error of `a` of
    /// which the variance counts `energy` times in the end: about half the binary logarithm of
    /// their number, and `k` bits of capacity, of which half are left at least. It is 1 on a simple
    /// chain, where scales cannot be chosen.
    pub fn finer_for_sums(
        &self,
        a: &Ciphertext,
        scale: Scale,
        target: Scale,
        added: usize,
        energy: f64,
    ) -> Scale {
        let parameters = self.context().parameters();
        let most = self.finest_for_sums(added);
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

    /// The most that [`Evaluator::finer_for_sums`] is for so many roundings.
    pub fn finest_for_sums(&self, added: usize) -> Scale {
        let is_simple = self.context().parameters().top().sprout().is_one();
        Scale::power_of_two(if is_simple {
            0
        } else {
            (0.5 * (added.max(1) as f64).log2()).round() as i32
        })
    }

    /// `scale to/from`, exactly: the scale that a message has once it is brought from the modulus
    /// `from` to `to`.
    ///
    /// # Panics
    /// When one of them has a unit or special that the other and the parameters have not.
    pub fn switched_scale(&self, scale: Scale, from: Modulus, to: Modulus) -> Scale {
        self.context().switched_scale(scale, from, to)
    }

    /// What the values of a ciphertext of this scale and bound are off by since its scale was
    /// switched: `2^-126` of the bound. It is more than the noise where values and precision
    /// together have more bits than that.
    pub(super) fn scale_noise(a: &Ciphertext) -> Noise {
        if a.bound().is_finite() { Self::message(a).scaled(SCALE_ERROR) } else { Noise::NONE }
    }

    /// The largest grafted modulus of at most `bits` bits, give or take half a bit.
    ///
    /// # Errors
    /// [`CkksError::Capacity`] when there is none so small.
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

    /// The largest grafted modulus of at most `bits` bits, give or take half a bit, if there is one
    /// so small.
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

    /// A divisor of `modulus` of at least `bits` bits: of the fewest limbs, and of those the
    /// smallest; `modulus` itself if it has fewer bits.
    ///
    /// # Panics
    /// When `modulus` has a unit or special that the parameters have not.
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

    /// Where sums of many products with plaintexts are best had instead of modulo `modulus`: every
    /// product in the ring modulo `2^e` costs transforms. The smallest grafted modulus without a
    /// power of two that is no smaller (going up costs no capacity); failing that, near the top,
    /// the largest below it if that costs few bits; else `modulus` itself.
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
                    _ if bits < -DEAR_LIMB => false,
                    None => true,
                    Some((known, _)) if known < 0.0 => bits > known,
                    Some((known, _)) => (0.0..known).contains(&bits),
                };
                if better {
                    best = Some((bits, candidate));
                }
            }
        }
        best.map_or(modulus, |(_, modulus)| modulus)
    }
}
