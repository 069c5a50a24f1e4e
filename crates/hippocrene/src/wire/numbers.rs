//! The part of the array format that is specific to numbers.

use hippocrene_arrays::{
    Interval, Numbers, ScaleAndBound, Session, Settings, capacity_bits, precision_bits,
};
use hippocrene_ckks::Scale;
use hippocrene_rlwe::Parameters;

use super::{
    FormatError, Kind,
    array::{CiphertextHead, FileForm},
    cursor::Cursor,
    fields::unusable,
};

/// The flag of arrays of complex numbers.
const COMPLEX: u32 = 1;
/// The flag of arrays whose error is not known.
const ERROR_UNKNOWN: u32 = 16;
/// The largest absolute value of `floor(log2(scale))`.
const MAX_SCALE_BITS: i32 = 1000;

/// Checks that a modulus of `modulus` bits holds the scale times the bound, or times 1 if the
/// bound is larger.
///
/// Larger bounds are not checked, because worst-case bounds may be arbitrarily large. The scale
/// alone may exceed the modulus if values are tiny.
fn check_scale(own: ScaleAndBound, modulus: f64) -> Result<(), FormatError> {
    let scale = own.scale.log2();
    if scale + own.bound.min(1.0).log2() <= modulus {
        return Ok(());
    }
    let (have, need) =
        (format!("2^{scale:.1}"), format!("no larger than the modulus, 2^{modulus:.1}"));
    Err(FormatError::field("the scale of a ciphertext", have, need))
}

impl CiphertextHead<Numbers> {
    /// The estimate of [`EncryptedArray::precision_bits`](crate::EncryptedArray::precision_bits).
    pub(super) fn precision_bits(&self, slots: usize) -> f64 {
        precision_bits(self.own.scale, self.noise(), slots)
    }

    /// The estimate of [`Ciphertext::capacity_bits`].
    pub(super) fn capacity_bits(&self, parameters: &Parameters) -> f64 {
        let ScaleAndBound { scale, bound } = self.own;
        capacity_bits(parameters.log2(self.modulus), scale, bound)
    }
}

impl FileForm for Numbers {
    const KIND: Kind = Kind::Array;
    const FLAGS: u32 = COMPLEX | ERROR_UNKNOWN;
    const HAS_INTERVAL: bool = true;
    const OWN_BYTES: usize = 28;

    fn coefficients(&self) -> usize {
        2
    }

    fn flags(&self) -> u32 {
        let flag = |flag: u32, is: bool| if is { flag } else { 0 };
        flag(COMPLEX, self.complex) | flag(ERROR_UNKNOWN, !self.error_known)
    }

    fn field(&self) -> [u8; 8] {
        self.precision.to_le_bytes()
    }

    fn of_field(flags: u32, field: [u8; 8]) -> Result<Self, FormatError> {
        let precision = f64::from_le_bytes(field);
        if !precision.is_finite() {
            return Err(FormatError::number(
                "the precision of an array",
                precision,
                "a finite number",
            ));
        }
        let [complex, unknown] = [COMPLEX, ERROR_UNKNOWN].map(|flag| flags & flag != 0);
        Ok(Numbers { complex, precision, interval: None, error_known: !unknown })
    }

    fn interval(&self) -> Option<Interval> {
        self.interval
    }

    fn with_interval(self, interval: Interval) -> Option<Self> {
        (!self.complex).then_some(Numbers { interval: Some(interval), ..self })
    }

    fn check_settings(
        &self,
        settings: &Settings,
        ciphertexts: &[CiphertextHead<Self>],
    ) -> Result<(), FormatError> {
        ciphertexts
            .iter()
            .try_for_each(|c| check_scale(c.own, settings.parameters().log2(c.modulus)))?;
        let scale = settings.scale_of(self.precision);
        scale.map(drop).map_err(|error| unusable("the precision of an array", error))
    }

    fn check_session(&self, _: &Session) -> Result<(), FormatError> {
        Ok(())
    }

    fn write_own(own: &ScaleAndBound, out: &mut Vec<u8>) {
        write_scale(out, own.scale);
        out.extend(own.bound.to_le_bytes());
    }

    fn read_own(&self, cursor: &mut Cursor<'_>, _: bool) -> Result<ScaleAndBound, FormatError> {
        let mantissa = cursor.u128()?;
        let scale = checked_scale(mantissa, cursor.i32()?)?;
        let bound = cursor.f64()?;
        if !(bound.is_finite() && bound.is_sign_positive()) {
            return Err(FormatError::number(
                "the bound of a ciphertext",
                bound,
                "finite and not negative",
            ));
        }
        Ok(ScaleAndBound { scale, bound })
    }
}

/// Appends the mantissa and the exponent of a scale.
pub(super) fn write_scale(out: &mut Vec<u8>, scale: Scale) {
    let (mantissa, exponent) = scale.to_parts();
    out.extend(mantissa.to_le_bytes());
    out.extend(exponent.to_le_bytes());
}

/// Returns a scale from its stored parts, if it is between `2^-1000` and `2^1001`.
pub(super) fn checked_scale(mantissa: u128, exponent: i32) -> Result<Scale, FormatError> {
    let scale = Scale::from_parts(mantissa, exponent).ok_or_else(|| {
        FormatError::field("the mantissa of a scale", format!("{mantissa:#x}"), "at least 2^127")
    })?;
    // floor(log2(scale)) is the exponent plus 127.
    if exponent.checked_add(127).is_none_or(|bits| bits.abs() > MAX_SCALE_BITS) {
        let (least, most) = (-MAX_SCALE_BITS - 127, MAX_SCALE_BITS - 127);
        return Err(FormatError::field(
            "the exponent of a scale",
            exponent,
            format!("{least} to {most}"),
        ));
    }
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moduli_hold_scales_of_tiny_values() {
        let fits = |log2, bound| {
            let own = ScaleAndBound { scale: Scale::power_of_two(log2), bound };
            check_scale(own, 60.0).is_ok()
        };
        assert!(fits(60, 1.0) && fits(60, f64::MAX) && !fits(61, 1.0) && !fits(61, f64::MAX));
        // For example, a product of signs with values of such a small bound.
        assert!(fits(99, 2f64.powi(-40)) && !fits(101, 2f64.powi(-40)) && fits(1000, 0.0));
    }
}
