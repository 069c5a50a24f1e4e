//! `numpy.longdouble` on x86: 80 bits in 16 bytes, where the last six bytes are arbitrary.
//!
//! Other machines write different numbers of the same name, with 128 bits, and the file does not
//! say which. Numbers of x86 are recognized by the highest bit of the mantissa, which is always 1,
//! and by an exponent in the range of doubles. About one in thirty numbers of 128 bits looks like
//! that by chance.

use super::Stored;

/// Bytes of one number.
pub(super) const SIZE: usize = 16;
/// The number of values that identifies the format.
///
/// At most one in `10^12` files of this number of 128-bit values looks like x86 by chance.
const MIN_VALUES_TO_IDENTIFY: usize = 8;
const BIAS: i32 = 16383;
/// The range of exponents of numbers that are exactly the sum of two doubles.
const EXPONENTS: std::ops::RangeInclusive<i32> = -1011..=1023;

/// The fields of the first ten bytes: the sign, 15 bits of exponent and 64 bits of mantissa.
///
/// The sign is true for negative numbers.
fn fields(bytes: &[u8]) -> (bool, i32, u64) {
    let (mantissa, rest) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let top = rest.first_chunk().map_or(0, |top| u16::from_le_bytes(*top));
    (top >> 15 == 1, i32::from(top & 0x7fff), u64::from_le_bytes(*mantissa))
}

/// True if 16 bytes look like a number of 128 bits.
fn is_wide(bytes: &[u8]) -> bool {
    let top = bytes.last_chunk().map_or(0, |top| u16::from_le_bytes(*top));
    bytes.iter().all(|byte| *byte == 0) || EXPONENTS.contains(&(i32::from(top & 0x7fff) - BIAS))
}

/// Reads a number from a file that [`check`] accepted.
pub(super) fn read(bytes: &[u8]) -> Stored {
    let (negative, exponent, mantissa) = fields(bytes);
    let sign = if negative { -1.0 } else { 1.0 };
    match (exponent, mantissa << 1) {
        (0x7fff, 0) => Stored::Real(sign * f64::INFINITY),
        (0x7fff, _) => Stored::Real(f64::NAN),
        _ => {
            let unit =
                sign * 2f64.powi(-63) * 2f64.powi(exponent.max(BIAS + EXPONENTS.start()) - BIAS);
            let low = mantissa & 0x7ff;
            Stored::Long([unit * (mantissa - low) as f64, unit * low as f64])
        }
    }
}

/// Checks that a file holds numbers of x86 in the range of doubles.
pub(super) fn check(data: &[u8]) -> Result<(), String> {
    let other = |what: String| {
        Err(format!(
            "{what}: numpy.savetxt(path, x, fmt=\"%.25g\", delimiter=\",\") writes a readable file"
        ))
    };
    let (mut numbers, mut all_wide) = (0, true);
    for (index, bytes) in data.chunks_exact(SIZE).enumerate() {
        let (_, exponent, mantissa) = fields(bytes);
        let normal =
            mantissa >> 63 == 1 && (exponent == 0x7fff || EXPONENTS.contains(&(exponent - BIAS)));
        if !normal && (exponent, mantissa) != (0, 0) {
            return other(format!(
                "number {} of the file is not a long double of x86 in the range of doubles; long \
                 doubles of other machines cannot be read",
                index + 1
            ));
        }
        numbers += usize::from(normal);
        all_wide &= is_wide(bytes) && bytes.iter().any(|byte| *byte != 0);
    }
    if all_wide && numbers < MIN_VALUES_TO_IDENTIFY && !data.is_empty() {
        return other(
            "it does not say whether its long doubles are those of x86 or of another machine"
                .into(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Element;
    use super::*;
    use hippocrene::BigFloat;
    use proptest::prelude::*;

    /// The bytes of a number, followed by six arbitrary bytes.
    fn long(negative: bool, exponent: i32, mantissa: u64, behind: [u8; 6]) -> Vec<u8> {
        let top = (exponent + BIAS) as u16 | u16::from(negative) << 15;
        [&mantissa.to_le_bytes()[..], &top.to_le_bytes(), &behind].concat()
    }

    #[test]
    fn all_64_bits_are_read() {
        // The bytes that numpy 2.4 on x86 writes for -numpy.longdouble("0.1") and 2**64 - 1.
        let tenth = long(true, -4, 0xcccc_cccc_cccc_cccd, [0xf7, 0x65, 0xee, 0x7f, 0, 0]);
        assert_eq!(tenth[..10], [0xcd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xfb, 0xbf]);
        check(&tenth).unwrap();
        let exact = BigFloat::of_number(read(&tenth)).unwrap();
        assert_eq!(exact.to_decimal(25), "-1.000000000000000000013553e-1");
        assert_eq!(f64::of_number(read(&tenth)), Ok(-0.1));
        assert_eq!(format!("{:?}", read(&tenth)), exact.to_string());
        let most = long(false, 63, u64::MAX, [0; 6]);
        assert_eq!(i128::of_number(read(&most)), Ok(i128::from(u64::MAX)));
        assert_eq!(f64::of_number(read(&most)), Ok(2f64.powi(64)));
        assert!(i128::of_number(read(&long(false, 64, 1 << 63, [0; 6]))).is_err());
        assert!(i128::of_number(read(&tenth)).is_err());
        assert_eq!(f64::of_number(read(&[0; 16])), Ok(0.0));
        for (exponent, mantissa) in [(0x4000, 1 << 63), (0x4000, u64::MAX)] {
            let bytes = long(false, exponent, mantissa, [0; 6]);
            check(&bytes).unwrap();
            assert!(
                f64::of_number(read(&bytes)).is_err() && BigFloat::of_number(read(&bytes)).is_err()
            );
        }
    }

    #[test]
    fn long_doubles_of_other_machines_are_refused() {
        // The numbers 1, 3 and a third with 128 bits, from other machines.
        let one = [[0; 8], [0, 0, 0, 0, 0, 0, 0xff, 0x3f]].concat();
        let third = [[0x55; 8], [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xfd, 0x3f]].concat();
        // The number 1 as two doubles.
        let two = [1f64.to_le_bytes(), (-1e-20f64).to_le_bytes()].concat();
        for data in [one.clone(), [one.clone(), one].concat(), third, two] {
            assert!(check(&data).unwrap_err().contains("numpy.savetxt"), "{data:x?}");
        }
        // A few numbers of x86 followed by such bytes may be either kind. A larger number of them
        // is unambiguous.
        let unsure = long(false, 0, 1 << 63, [0, 0, 0, 0, 0xe0, 0x3f]);
        assert!(check(&unsure).unwrap_err().contains("another machine"));
        check(&unsure.repeat(MIN_VALUES_TO_IDENTIFY)).unwrap();
        check(&[unsure, vec![0; 16]].concat()).unwrap();
        check(&[]).unwrap();
    }

    proptest! {
        #[test]
        fn any_bytes_are_numbers_or_refused(
            numbers in proptest::collection::vec(
                (any::<u64>(), prop_oneof![15372u16..17407, any::<u16>()], any::<[u8; 6]>()),
                0..4,
            ),
        ) {
            let bytes = |(mantissa, top, behind): &(u64, u16, [u8; 6])| {
                [&mantissa.to_le_bytes()[..], &top.to_le_bytes(), behind].concat()
            };
            let data: Vec<u8> = numbers.iter().flat_map(bytes).collect();
            for (bytes, (_, top, _)) in
                data.chunks_exact(SIZE).zip(&numbers).filter(|_| check(&data).is_ok())
            {
                prop_assert_eq!(f64::of_number(read(bytes)).is_ok(), top & 0x7fff != 0x7fff);
            }
        }

        #[test]
        fn both_halves_are_exact(
            negative: bool,
            exponent in EXPONENTS,
            mantissa in (1u64 << 63)..=u64::MAX,
        ) {
            let exact =
                BigFloat::of_number(read(&long(negative, exponent, mantissa, [0; 6]))).unwrap();
            let (odd, twos) = exact.to_parts();
            let zeros = mantissa.trailing_zeros();
            let sign = if negative { "-" } else { "" };
            prop_assert_eq!(odd.to_string(), format!("{sign}{}", mantissa >> zeros));
            prop_assert_eq!(twos, i64::from(exponent) - 63 + i64::from(zeros));
        }
    }
}
