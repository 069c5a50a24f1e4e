//! Formatting of numbers in tables.

/// Formats `x` with `digits` significant digits.
///
/// The result is a plain decimal (`0.000123`, `16.7`, `1640`), below a millionth one with an
/// exponent (`1.23e-7`), and a dash if `x` is not finite.
pub fn significant(x: f64, digits: u32) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    let rounded = round_to(x, digits);
    if rounded == 0.0 {
        return "0".into();
    }
    if rounded.abs() < 1e-6 {
        return format!("{x:.*e}", digits as usize - 1);
    }
    let decimals = digits as i32 - 1 - rounded.abs().log10().floor() as i32;
    format!("{rounded:.*}", decimals.max(0) as usize)
}

/// Rounds `x` to `digits` significant digits.
pub fn round_to(x: f64, digits: u32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = digits as i32 - 1 - x.abs().log10().floor() as i32;
    if exponent >= 0 {
        let unit = 10f64.powi(exponent);
        (x * unit).round() / unit
    } else {
        let unit = 10f64.powi(-exponent);
        (x / unit).round() * unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_at_every_magnitude() {
        let cases = [
            (0.000_123_44, "0.000123"),
            (1.236e-33, "1.24e-33"),
            (0.9996, "1.00"),
            (1.0, "1.00"),
            (16.66, "16.7"),
            (333.4, "333"),
            (1636.0, "1640"),
            (-14.52, "-14.5"),
            (0.0, "0"),
            (f64::NAN, "-"),
        ];
        for (x, shown) in cases {
            assert_eq!(significant(x, 3), shown);
        }
    }

    #[test]
    fn rounding_keeps_significant_digits() {
        assert_eq!(round_to(123_456.0, 4), 123_500.0);
        assert_eq!(round_to(0.012_345_6, 4), 0.012_35);
        assert_eq!(round_to(0.0, 4), 0.0);
    }
}
