//! numpy's `.npy`, versions 1 to 3: a magic string, a header that is a Python dictionary literal of three known keys,
//! and the numbers. Read without trusting a length in it: nothing is allocated beyond the size of the file.

use super::{Array, Number};
use std::io::{self, Write};

const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header says: numpy's type string, the order of the numbers, the shape.
#[derive(Debug, PartialEq)]
struct Header<'a> {
    descr: &'a str,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Reads numbers of any integer, float or boolean type, of either byte order, in C or Fortran order.
pub(super) fn parse(bytes: &[u8]) -> Result<Array, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it does not start with numpy's magic string")?;
    let (&[major, _], rest) = rest.split_first_chunk().ok_or("it ends before the version")?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(&n, rest)| (usize::from(u16::from_le_bytes(n)), rest)),
        2 | 3 => rest.split_first_chunk().map(|(&n, rest)| (u32::from_le_bytes(n) as usize, rest)),
        _ => return Err(format!("version {major} of .npy is not known: 1, 2 and 3 are")),
    }
    .ok_or("it ends before the length of the header")?;
    let (text, data) = rest
        .split_at_checked(length)
        .ok_or_else(|| format!("the header has {length} bytes, {} are left", rest.len()))?;
    let text = std::str::from_utf8(text).map_err(|_| "the header is not text".to_owned())?;
    let header =
        parse_header(text).ok_or_else(|| format!("the header {:?} cannot be read", text.trim_end()))?;
    let (size, decode) = decoder(header.descr)
        .ok_or_else(|| format!("numbers of numpy type {:?} cannot be read: float64 can", header.descr))?;

    let count = header.shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
    if count.and_then(|n| n.checked_mul(size)) != Some(data.len()) {
        return Err(format!(
            "shape {:?} of {size}-byte numbers does not fit the {} bytes that follow the header",
            header.shape,
            data.len()
        ));
    }
    let mut values: Vec<f64> = data.chunks_exact(size).map(decode).collect();
    if header.fortran_order {
        values = from_fortran_order(&values, &header.shape);
    }
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(format!("number {index} in row-major order, {}, is not finite", values[index]));
    }
    Ok(Array { shape: header.shape, values })
}

/// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
fn parse_header(text: &str) -> Option<Header<'_>> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, value) = quoted(rest)?;
        let value = value.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" => {
                let (name, rest) = quoted(value)?;
                descr = Some(name);
                rest
            }
            "fortran_order" => {
                let (flag, rest) = value
                    .strip_prefix("True")
                    .map(|rest| (true, rest))
                    .or(value.strip_prefix("False").map(|rest| (false, rest)))?;
                fortran_order = Some(flag);
                rest
            }
            "shape" => {
                let (inside, rest) = value.strip_prefix('(')?.split_once(')')?;
                let inside = inside.trim().trim_end_matches(',');
                let extents = inside.split(',').filter(|extent| !(inside.is_empty() && extent.is_empty()));
                shape =
                    Some(extents.map(|extent| extent.trim().parse().ok()).collect::<Option<Vec<usize>>>()?);
                rest
            }
            _ => return None,
        }
        .trim_start();
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(Header { descr: descr?, fortran_order: fortran_order?, shape: shape? })
}

/// Splits a leading string literal without escapes from what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Reads one number from as many bytes as it has.
type Decoder = fn(&[u8]) -> f64;

/// Bytes of one number of a numpy type, and how to read it. Integers beyond `2^53` are rounded to the nearest double.
fn decoder(descr: &str) -> Option<(usize, Decoder)> {
    macro_rules! decode {
        ($t:ty, $from:ident) => {
            Some((size_of::<$t>(), |bytes| <$t>::$from(bytes.try_into().unwrap_or_default()) as f64))
        };
    }
    let little = match descr.chars().next()? {
        '<' | '|' => true,
        '>' => false,
        '=' => cfg!(target_endian = "little"),
        _ => return None,
    };
    match (&descr[1..], little) {
        ("f8", true) => decode!(f64, from_le_bytes),
        ("f8", false) => decode!(f64, from_be_bytes),
        ("f4", true) => decode!(f32, from_le_bytes),
        ("f4", false) => decode!(f32, from_be_bytes),
        ("i1", _) => decode!(i8, from_le_bytes),
        ("u1" | "b1", _) => decode!(u8, from_le_bytes),
        ("i2", true) => decode!(i16, from_le_bytes),
        ("i2", false) => decode!(i16, from_be_bytes),
        ("u2", true) => decode!(u16, from_le_bytes),
        ("u2", false) => decode!(u16, from_be_bytes),
        ("i4", true) => decode!(i32, from_le_bytes),
        ("i4", false) => decode!(i32, from_be_bytes),
        ("u4", true) => decode!(u32, from_le_bytes),
        ("u4", false) => decode!(u32, from_be_bytes),
        ("i8", true) => decode!(i64, from_le_bytes),
        ("i8", false) => decode!(i64, from_be_bytes),
        ("u8", true) => decode!(u64, from_le_bytes),
        ("u8", false) => decode!(u64, from_be_bytes),
        _ => None,
    }
}

/// Reorders numbers whose first axis runs fastest into row-major order.
fn from_fortran_order(values: &[f64], shape: &[usize]) -> Vec<f64> {
    let mut index = vec![0; shape.len()];
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        let source = index.iter().zip(shape).rev().fold(0, |sum, (&i, &extent)| sum * extent + i);
        out.push(values[source]);
        for (i, &extent) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < extent {
                break;
            }
            *i = 0;
        }
    }
    out
}

/// Writes numbers of eight bytes, version 1, as `numpy.save` does.
pub(super) fn write<T: Number>(array: &Array<T>, stream: &mut dyn Write) -> io::Result<()> {
    let extents: String = array.shape.iter().map(|extent| format!("{extent}, ")).collect();
    let shape = if array.shape.len() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") };
    let text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}", T::DESCR);
    // The header ends in a line feed, and the numbers start at a multiple of 64.
    let length = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    let field = u16::try_from(length).map_err(|_| io::Error::other("the array has too many axes"))?;
    stream.write_all(MAGIC)?;
    stream.write_all(&[1, 0])?;
    stream.write_all(&field.to_le_bytes())?;
    writeln!(stream, "{text:<width$}", width = length - 1)?;
    array.values.iter().try_for_each(|value| stream.write_all(&value.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, &[version, 0]].concat();
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn saved(array: &Array) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(array, &mut bytes).expect("writing to memory");
        bytes
    }

    #[test]
    fn writes_what_numpy_writes() {
        let bytes = saved(&Array { shape: vec![2, 3], values: vec![0.0; 6] });
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
        assert_eq!(bytes.len(), 128 + 48);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(&bytes[10..10 + text.len()], text.as_bytes());
        assert_eq!(bytes[127], b'\n');
        assert!(
            saved(&Array { shape: vec![2], values: vec![0.0; 2] })[10..]
                .starts_with(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }")
        );
        assert!(
            saved(&Array { shape: vec![], values: vec![0.0] })[10..]
                .starts_with(b"{'descr': '<f8', 'fortran_order': False, 'shape': (), }")
        );
    }

    #[test]
    fn reads_every_type_version_and_order() {
        let three = Ok(Array { shape: vec![1], values: vec![3.0] });
        let header =
            |descr: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}\n");
        for (descr, data) in [
            ("<f8", 3f64.to_le_bytes().to_vec()),
            (">f8", 3f64.to_be_bytes().to_vec()),
            ("<f4", 3f32.to_le_bytes().to_vec()),
            (">f4", 3f32.to_be_bytes().to_vec()),
            ("|i1", vec![3]),
            ("|u1", vec![3]),
            ("<i2", vec![3, 0]),
            (">u2", vec![0, 3]),
            ("<u4", vec![3, 0, 0, 0]),
            (">i4", vec![0, 0, 0, 3]),
            ("<i8", 3i64.to_le_bytes().to_vec()),
            (">u8", 3u64.to_be_bytes().to_vec()),
        ] {
            for version in 1..=3 {
                assert_eq!(parse(&file(version, &header(descr), &data)), three, "{descr}");
            }
        }
        let fortran = "{\"shape\": (2, 3), 'fortran_order': True, 'descr': '|u1'}";
        let array = Array { shape: vec![2, 3], values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0] };
        assert_eq!(parse(&file(1, fortran, &[0, 3, 1, 4, 2, 5])), Ok(array));
    }

    #[test]
    fn refuses_what_is_not_numbers() {
        let error = |bytes: &[u8]| parse(bytes).unwrap_err();
        assert!(error(b"PK\x03\x04").contains("magic"));
        assert!(error(&file(9, "", b"")).contains("version 9"));
        let objects = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }";
        assert!(error(&file(1, objects, &[0; 8])).contains("\"|O\""));
        let record = "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }";
        assert!(error(&file(1, record, &[0; 8])).contains("cannot be read"));
        let absurd = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 7), }";
        assert!(error(&file(1, absurd, &[0; 8])).contains("does not fit the 8 bytes"));
        let nan = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
        let data = [1f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat();
        assert_eq!(error(&file(1, nan, &data)), "number 1 in row-major order, NaN, is not finite");
        assert_eq!(
            error(&[MAGIC, &[2, 0], &[255; 4], b"{"].concat()),
            "the header has 4294967295 bytes, 1 are left"
        );
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = saved(&Array { shape: vec![2, 2], values: vec![1.0, 2.0, 3.0, 4.0] });
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            shape in proptest::collection::vec(0usize..4, 0..5),
            seed in proptest::collection::vec(-1e300f64..1e300, 256),
        ) {
            let array = Array { values: seed[..shape.iter().product()].to_vec(), shape };
            prop_assert_eq!(parse(&saved(&array)), Ok(array));
        }

        #[test]
        fn no_header_makes_it_panic(header in "\\{?('descr'|'shape'|'fortran_order'|:|,| |\\(|\\)|'<f8'|True|[0-9]{1,25}|\\PC){0,12}\\}?") {
            prop_assert!(parse(&file(1, &header, &[0; 8])).is_err() || header.contains("shape"));
        }
    }
}
