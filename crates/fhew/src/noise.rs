//! The error of the digit gadget, which switching keys and rotation keys share.

use hippocrene_ring::digits::Digits;
use hippocrene_rlwe::Noise;

/// Returns the error of `<a, s>` that comes from the bits of `a` below the lowest digit.
///
/// Each coefficient of `a` has a uniform error of variance `2^(2 shift) / 12`. There is no error if
/// the digits hold all bits. `weight` is the expected squared norm of `s`, or of `(1, s)` if `b` is
/// decomposed as well.
pub(crate) fn gadget_rounding(digits: &Digits, weight: f64) -> Noise {
    if digits.shift() == 0 {
        return Noise::NONE;
    }
    Noise::from_std((weight / 12.0).sqrt()).scaled(f64::from(digits.shift()))
}
