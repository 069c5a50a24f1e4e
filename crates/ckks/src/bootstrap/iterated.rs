//! Bootstraps of bootstraps' errors (META-BTS: Bae, Cheon, Cho, Kim, Kim, ePrint 2022/1167).
//!
//! A bootstrap of `m` gives `y = m + e`. The ciphertext that was bootstrapped is still there, of a
//! small modulus but as precise as ever: `a - y`, at its modulus and scale, holds `-e`. Read at a
//! scale `2^k` times smaller it holds `-e 2^k`, which is as large as `m` may be for a `k` near the
//! precision of `y`; it is bootstrapped to `-e 2^k + e'`, and `y` plus that over `2^k` is `m +
//! e'/2^k`. So each iteration adds `k` bits of precision, for a bootstrap and `k` bits of scale.
//!
//! On grafted moduli there is nothing to prepare for this: the difference is had by
//! [`crate::Evaluator::adjust`], and the sum by an integer constant for each of its terms. With `y`
//! at the scale `D` and the correction at `D' 2^k`, the terms are multiplied by `round(2^f D'
//! 2^k/D)` and by `2^f`, and the sum has the scale of the first: what the rounding is off by,
//! `2^-(k+f)` of the correction, is `2^-f` of what the correction itself is off by, or less.

use hippocrene_ring::automorphism::galois_element_of_conjugation;
use hippocrene_rlwe::{Noise, noise::rounding};

use super::{
    Bootstrapper,
    plan::{CORRECTION_BITS, ITERATION_DEVIATIONS},
};
use crate::{Ciphertext, CkksError, Scale};

const OPERATION: &str = "bootstrap";

/// How often the difference is rounded at the scale of what is bootstrapped, or about so: when it
/// is taken, and in the first levels of the transform.
const ROUNDINGS: usize = 3;

/// What has to be gained by an iteration, in bits.
const GAIN: f64 = 1.0;

/// By how many bits the modulus of what is bootstrapped exceeds what one bootstrap needs, for the
/// sum of a ciphertext and its bootstrap.
const MARGIN: f64 = 3.0;

impl Bootstrapper {
    /// Bootstraps to a precision of `wanted` bits, as [`Ciphertext::precision_bits`] counts, or to
    /// that of `a`, less one bit, where that is lower.
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
        let modulus = e.divisor_at_least(a.modulus(), bits + MARGIN);
        e.context().rlwe().reduce_modulus_into(low.inner_mut(), a.inner(), modulus)?;
        low.set_meta(a.scale(), a.slots(), a.bound());
        // What is bootstrapped is off by as much itself, which no iteration takes away, and so is
        // the difference, which is rounded on its way.
        let rounded = rounding(e.context().parameters().secret_weight(), 2);
        let off = [rounded; ROUNDINGS].into_iter().fold(a.inner().noise(), Noise::plus);
        let own = a.precision_bits() + a.inner().noise().log2_std() - off.log2_std();
        let reachable = wanted.min(own - 1.0);
        // Results are brought to the modulus of what was bootstrapped, by a constant as fine as
        // their scale.
        let scale = plan.literal().output_scale_bits + plan.scale_growth();
        let least = e.context().parameters().log2(low.modulus()) + scale;
        let output_bits = output_bits.map(|bits| bits.max(least.min(plan.output_bits())));
        let mut y = self.bootstrap_once(&low, output_bits, plan.approximation)?;
        while y.precision_bits() < reachable {
            let have = y.precision_bits();
            y = self.corrected(&low, &y, output_bits)?;
            if y.precision_bits() < (have + GAIN).min(reachable) {
                return Err(CkksError::Argument {
                    operation: OPERATION,
                    what: format!(
                        "iterations end at a precision of {have:.1} bits, {wanted:.1} are wanted: one bootstrap is too imprecise, or the scale of 2^{:.1} of what \
                         is bootstrapped too small",
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

    /// The real parts. Of the errors of real slots only these are bootstrapped: imaginary ones
    /// would stay as they are after the first bootstrap.
    fn without_imaginary_parts(&self, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let e = self.evaluator();
        let mut out = e.real_part(y)?;
        // Twice the error of the real parts: that of both is the same.
        let rlwe = e.context().rlwe();
        let key =
            e.keys().galois_at(galois_element_of_conjugation(rlwe.degree()), rlwe, y.modulus())?;
        let added = rlwe.key_switch_noise_by(y.modulus(), key, y.modulus())?;
        out.inner_mut().set_noise(y.inner().noise().scaled(1.0).plus(added));
        out.set_meta(y.scale().times(Scale::power_of_two(1)), y.slots(), y.bound());
        Ok(out)
    }

    /// `y`, a bootstrap of `a`, plus a bootstrap of what it is off by.
    fn corrected(
        &self,
        a: &Ciphertext,
        y: &Ciphertext,
        output_bits: Option<f64>,
    ) -> Result<Ciphertext, CkksError> {
        let (e, bound) = (self.evaluator(), self.plan().literal().bound);
        let k = (y.precision_bits() - ITERATION_DEVIATIONS.log2() + bound.log2()).floor() as i32;
        // Its error is part of what it holds here.
        let mut out = y.clone();
        out.inner_mut().set_noise(Noise::NONE);
        // What `a` is off by is in the difference as well: `y` need not come to its modulus and
        // scale more exactly than to half of that.
        let there = a.inner().noise().scaled(y.scale().log2() - a.scale().log2() - 1.0);
        let mut error = e.sub(a, &e.adjust_beside(&out, there, a.modulus(), a.scale())?)?;
        error.set_meta(a.scale().times(Scale::power_of_two(-k)), a.slots(), bound);
        let mut correction =
            self.bootstrap_once(&error, output_bits, self.plan().approximation_of_errors)?;
        let scale = correction.scale().times(Scale::power_of_two(k));
        let fine = scale.times(Scale::power_of_two(CORRECTION_BITS));
        e.check_capacity(&out, out.modulus(), fine.log2(), y.bound(), OPERATION)?;
        let constant = fine.ratio_rounded(y.scale()).ok_or_else(|| CkksError::Argument {
            operation: OPERATION,
            what: format!(
                "an iteration takes a scale of 2^{:.1} to 2^{:.1}",
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
