//! Iterated bootstrapping, which bootstraps the error of a bootstrap (META-BTS: Bae, Cheon, Cho,
//! Kim, Kim, ePrint 2022/1167).
//!
//! A bootstrap of `m` gives `y = m + e`. The operand `a` is still available, with a small modulus
//! but its full precision, so `a - y`, at the modulus and scale of `a`, holds `-e`. At a scale that
//! is smaller by `2^k` it holds `-e 2^k`. For a `k` near the precision of `y`, that is as large as
//! `m` may be. Bootstrapping it gives `-e 2^k + e'`, and `y` plus this divided by `2^k` is `m +
//! e'/2^k`. So each iteration adds `k` bits of precision and costs a bootstrap and `k` bits of
//! scale.
//!
//! Grafted moduli need no preparation for this. [`crate::Evaluator::adjust`] gives the difference,
//! and the sum needs an integer constant for each of its terms. With `y` at the scale `D` and the
//! correction at `D' 2^k`, the terms are multiplied by `round(2^f D' 2^k/D)` and by `2^f`. The sum
//! has the scale of the first. The error of that rounding is `2^-(k+f)` of the correction, which is
//! at most `2^-f` of the error of the correction itself.

use hippocrene_ring::automorphism::galois_element_of_conjugation;
use hippocrene_rlwe::{Noise, noise::rounding};

use super::{
    Bootstrapper,
    plan::{CORRECTION_BITS, ITERATION_DEVIATIONS},
};
use crate::{Ciphertext, CkksError, Scale};

const OPERATION: &str = "bootstrap";

/// Approximate number of roundings of the difference at the scale of the operand: one when it is
/// computed, and those in the first levels of the transform.
const DIFFERENCE_ROUNDINGS: usize = 3;

/// Smallest gain in precision of an iteration, in bits. If an iteration gains less, the bootstrap
/// fails. Chosen.
const MIN_GAIN_BITS: f64 = 1.0;

/// Number of bits by which the modulus of the operand exceeds that of a single bootstrap, for the
/// sum of a ciphertext and its bootstrap. Chosen.
const EXTRA_MODULUS_BITS: f64 = 3.0;

impl Bootstrapper {
    /// Bootstraps to a precision of `wanted` bits ([`Ciphertext::precision_bits`]), or to that of
    /// `a` minus one bit if that is lower.
    pub(super) fn bootstrap_precisely(
        &self,
        a: &Ciphertext,
        output_bits: Option<f64>,
        wanted: f64,
    ) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let bits =
            a.scale().log2() + plan.literal().bound.max(1.0).log2() + 1.0 + plan.capacity_needed();
        let mut low = Ciphertext::empty(e.context());
        let modulus = e.divisor_at_least(a.modulus(), bits + EXTRA_MODULUS_BITS);
        e.context().rlwe().reduce_modulus_into(low.inner_mut(), a.inner(), modulus)?;
        low.set_meta(a.scale(), a.slots(), a.bound());
        // No iteration removes the error of the operand itself, nor the rounding errors of the
        // difference.
        let rounded = rounding(e.context().parameters().secret_weight(), 2);
        let off = [rounded; DIFFERENCE_ROUNDINGS].into_iter().fold(a.inner().noise(), Noise::plus);
        let own = a.precision_bits() + a.inner().noise().log2_std() - off.log2_std();
        let reachable = wanted.min(own - 1.0);
        // Results are brought to the modulus of the operand by a constant that is as fine as their
        // scale.
        let scale = plan.literal().output_scale_bits + plan.scale_growth();
        let least = e.context().parameters().log2(low.modulus()) + scale;
        let output_bits = output_bits.map(|bits| bits.max(least.min(plan.output_bits())));
        let mut y = self.bootstrap_once(&low, output_bits, plan.approximation)?;
        while y.precision_bits() < reachable {
            let have = y.precision_bits();
            y = self.corrected(&low, &y, output_bits)?;
            if y.precision_bits() < (have + MIN_GAIN_BITS).min(reachable) {
                return Err(CkksError::Argument {
                    operation: OPERATION,
                    what: format!(
                        "the iterations end at a precision of {have:.1} bits, and {wanted:.1} are \
                         needed. One bootstrap is too imprecise, or the scale of the operand, \
                         2^{:.1}, is too small",
                        a.scale().log2()
                    ),
                });
            }
            if plan.literal().real {
                y = self.without_imaginary_parts(&y)?;
            }
        }
        Ok(y)
    }

    /// Returns the real parts. The iterations correct only the real parts of the errors of real
    /// slots, so imaginary errors would remain as they are after the first bootstrap.
    fn without_imaginary_parts(&self, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let e = self.evaluator();
        let mut out = e.real_part(y)?;
        // The sum of a slot and its conjugate has twice the error of the real part, because both
        // have the same error.
        let rlwe = e.context().rlwe();
        let key =
            e.keys().galois_at(galois_element_of_conjugation(rlwe.degree()), rlwe, y.modulus())?;
        let added = rlwe.key_switch_noise_by(y.modulus(), key, y.modulus())?;
        out.inner_mut().set_noise(y.inner().noise().scaled(1.0).plus(added));
        out.set_meta(y.scale().times(Scale::power_of_two(1)), y.slots(), y.bound());
        Ok(out)
    }

    /// Returns `y`, a bootstrap of `a`, plus a bootstrap of its error.
    fn corrected(
        &self,
        a: &Ciphertext,
        y: &Ciphertext,
        output_bits: Option<f64>,
    ) -> Result<Ciphertext, CkksError> {
        let (e, bound) = (self.evaluator(), self.plan().literal().bound);
        let k = (y.precision_bits() - ITERATION_DEVIATIONS.log2() + bound.log2()).floor() as i32;
        // The error of `y` is a part of the value here, not noise.
        let mut out = y.clone();
        out.inner_mut().set_noise(Noise::NONE);
        // The difference also contains the error of `a`. So bringing `y` to the modulus and scale
        // of `a` may cause an error of half that size.
        let there = a.inner().noise().scaled(y.scale().log2() - a.scale().log2() - 1.0);
        let mut error = e.sub(a, &e.adjust_with_error(&out, there, a.modulus(), a.scale())?)?;
        error.set_meta(a.scale().times(Scale::power_of_two(-k)), a.slots(), bound);
        let mut correction =
            self.bootstrap_once(&error, output_bits, self.plan().approximation_of_errors)?;
        let scale = correction.scale().times(Scale::power_of_two(k));
        let fine = scale.times(Scale::power_of_two(CORRECTION_BITS));
        e.check_capacity(&out, out.modulus(), fine.log2(), y.bound(), OPERATION)?;
        let constant = fine.ratio_rounded(y.scale()).ok_or_else(|| CkksError::Argument {
            operation: OPERATION,
            what: format!(
                "an iteration has to bring the scale 2^{:.1} to 2^{:.1}, which is too far",
                y.scale().log2(),
                fine.log2()
            ),
        })?;
        e.multiply_constant(&mut out, constant)?;
        e.multiply_constant(&mut correction, 1 << CORRECTION_BITS)?;
        correction.set_meta(out.scale(), y.slots(), (-f64::from(k)).exp2() * bound);
        e.add_assign(&mut out, &correction)?;
        out.set_bound(y.bound());
        Ok(out)
    }
}
