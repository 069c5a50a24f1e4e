//! Files in numpy's `.npy` format, versions 1 to 3.
//!
//! A file is a magic string, a header and the numbers. The header is a Python dictionary literal
//! with three known keys. No length in a file is trusted: nothing is allocated beyond the size of
//! the file.

use super::{Array, Element, Number, Numbers, Stored, cut, longdouble};
use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::ops::Range;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The fields of the header: numpy's type string, the order of the numbers, and the shape.
#[derive(Debug, PartialEq)]
struct Header<'a> {
    descr: &'a str,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Reads a stream to its end, or to the point where an error is certain.
///
/// That point is the end of an invalid start or header, or one byte after the announced numbers.
pub(super) fn read(stream: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut to = |end: usize, bytes: &mut Vec<u8>| {
        let more = end.saturating_sub(bytes.len()) as u64;
        stream.take(more).read_to_end(bytes)
    };
    to(LONGEST_START, &mut bytes)?;
    let Ok(header) = header_of(&bytes) else { return Ok(bytes) };
    to(header.end, &mut bytes)?;
    let layout = bytes.get(header.clone()).and_then(|text| Layout::of(text).ok());
    if let Some(length) = layout.and_then(|layout| layout.length()) {
        to(header.end.saturating_add(length).saturating_add(1), &mut bytes)?;
    }
    Ok(bytes)
}

/// Reads numbers of any integer, float, complex or boolean type.
///
/// Both byte orders, and both C and Fortran order, are supported.
pub(super) fn parse_numbers(bytes: &[u8]) -> Result<Numbers, String> {
    let contents = Contents::of(bytes)?;
    if contents.layout.parts == 1 {
        return contents.array().map(Numbers::Real);
    }
    let parts = contents.numbers().map(f64::of_number);
    let parts = parts.map(|part| part.unwrap_or(f64::NAN)).collect::<Vec<_>>();
    let pairs = parts.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let read =
        |pair: [f64; 2]| pair.iter().all(|part| part.is_finite()).then_some(pair).ok_or(f64::WHAT);
    ordered(contents.layout.header, pairs, read).map(Numbers::Complex)
}

/// Reads real numbers as elements of this type.
pub(super) fn parse<T: Element>(bytes: &[u8]) -> Result<Array<T>, String> {
    let contents = Contents::of(bytes)?;
    if contents.layout.parts == 1 {
        contents.array()
    } else {
        Err("it holds complex numbers, which these keys do not encrypt".to_owned())
    }
}

/// The maximum number of bytes before the header: the magic string, the version and the header's
/// length.
const LONGEST_START: usize = MAGIC.len() + 2 + size_of::<u32>();

/// The error of a file without numpy's magic string.
const NOT_NPY: &str = "it is not a file of .npy, which begins with numpy's magic string. Write it \
                       with numpy.save, or use --format csv.";

/// The range of the header's bytes, which may extend beyond the bytes that are given.
fn header_of(bytes: &[u8]) -> Result<Range<usize>, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(NOT_NPY)?;
    let (&[major, _], rest) = rest.split_first_chunk().ok_or("it ends before the version")?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(&n, rest)| (usize::from(u16::from_le_bytes(n)), rest)),
        2 | 3 => rest.split_first_chunk().map(|(&n, rest)| (u32::from_le_bytes(n) as usize, rest)),
        _ => return Err(format!("version {major} of .npy is unknown: 1, 2 and 3 are possible")),
    }
    .ok_or("it ends before the length of the header")?;
    let start = bytes.len() - rest.len();
    Ok(start..start.saturating_add(length))
}

/// A parsed header, with the type of its numbers. Each number has one or two parts.
struct Layout<'a> {
    header: Header<'a>,
    parts: usize,
    size: usize,
    decode: Decoder,
}

impl<'a> Layout<'a> {
    fn of(text: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "the header is not text".to_owned())?;
        let header = parse_header(text)
            .ok_or_else(|| format!("the header {:?} cannot be read", cut(text.trim_end())))?;
        // A complex number is two real ones.
        let (real, parts) = match header.descr.get(1..) {
            Some("c16") => (format!("{}f8", &header.descr[..1]), 2),
            Some("c8") => (format!("{}f4", &header.descr[..1]), 2),
            Some("c32") => (format!("{}f16", &header.descr[..1]), 2),
            _ => (header.descr.to_owned(), 1),
        };
        let (size, decode) = decoder(&real).ok_or_else(|| {
            let descr = cut(header.descr);
            format!(
                "the numpy type {descr:?} cannot be read: use a type of numbers, such as float64 \
                 (\"<f8\") and complex128 (\"<c16\")"
            )
        })?;

        Ok(Self { header, parts, size, decode })
    }

    /// The number of bytes of the numbers, or `None` if it overflows.
    fn length(&self) -> Option<usize> {
        let count = self.header.shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        count.and_then(|n| n.checked_mul(self.parts * self.size))
    }
}

/// The contents of a file.
struct Contents<'a> {
    layout: Layout<'a>,
    data: &'a [u8],
}

impl<'a> Contents<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, String> {
        let header = header_of(bytes)?;
        let (text, data) =
            bytes[header.start..].split_at_checked(header.len()).ok_or_else(|| {
                format!(
                    "the header has {} bytes, {} are left",
                    header.len(),
                    bytes.len() - header.start
                )
            })?;
        let layout = Layout::of(text)?;
        if layout.length() != Some(data.len()) {
            let have = match layout.length() {
                Some(length) if length < data.len() => {
                    "the bytes that follow the header: there are more".to_owned()
                }
                Some(_) => format!("the {} bytes that follow the header", data.len()),
                None => "into any file".to_owned(),
            };
            return Err(format!(
                "shape {} of {}-byte numbers does not fit {have}",
                cut(&format!("{:?}", layout.header.shape)),
                layout.parts * layout.size,
            ));
        }
        if layout.size == longdouble::SIZE {
            longdouble::check(data)?;
        }
        Ok(Self { layout, data })
    }

    /// The numbers in the order of the file. A complex number is two of them.
    fn numbers(&self) -> impl Iterator<Item = Stored> {
        self.data.chunks_exact(self.layout.size).map(self.layout.decode)
    }

    /// The array of real numbers.
    fn array<T: Element>(self) -> Result<Array<T>, String> {
        let numbers = self.numbers().collect();
        ordered(self.layout.header, numbers, T::of_number)
    }
}

/// Converts numbers and returns them as an array, in the order that the header gives.
fn ordered<N: Copy + Debug, T>(
    header: Header<'_>,
    mut numbers: Vec<N>,
    read: impl Fn(N) -> Result<T, &'static str>,
) -> Result<Array<T>, String> {
    if header.fortran_order {
        numbers = from_fortran_order(&numbers, &header.shape);
    }
    let values = numbers.into_iter().enumerate().map(|(index, number)| {
        read(number).map_err(|what| {
            format!("number {} in row-major order, {number:?}, is not {what}", index + 1)
        })
    });
    Ok(Array { values: values.collect::<Result<_, _>>()?, shape: header.shape })
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
                let extents =
                    inside.split(',').filter(|extent| !(inside.is_empty() && extent.is_empty()));
                shape = Some(
                    extents
                        .map(|extent| extent.trim().parse().ok())
                        .collect::<Option<Vec<usize>>>()?,
                );
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

/// Splits a leading string literal without escapes from the rest of the text.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Reads one number from exactly its bytes.
type Decoder = fn(&[u8]) -> Stored;

/// The number of bytes of one number of a numpy type, and the function that reads it.
fn decoder(descr: &str) -> Option<(usize, Decoder)> {
    macro_rules! decode {
        ($t:ty, $from:ident, $number:ident) => {
            Some((size_of::<$t>(), |bytes| {
                Stored::$number(<$t>::$from(bytes.try_into().unwrap_or_default()).into())
            }))
        };
    }
    let little = match descr.chars().next()? {
        '<' | '|' => true,
        '>' => false,
        '=' => cfg!(target_endian = "little"),
        _ => return None,
    };
    match (&descr[1..], little) {
        ("f8", true) => decode!(f64, from_le_bytes, Real),
        ("f8", false) => decode!(f64, from_be_bytes, Real),
        ("f4", true) => decode!(f32, from_le_bytes, Real),
        ("f4", false) => decode!(f32, from_be_bytes, Real),
        ("f2", true) => Some((2, |bytes| {
            Stored::Real(half(u16::from_le_bytes(bytes.try_into().unwrap_or_default())))
        })),
        ("f2", false) => Some((2, |bytes| {
            Stored::Real(half(u16::from_be_bytes(bytes.try_into().unwrap_or_default())))
        })),
        ("f16", true) => Some((longdouble::SIZE, longdouble::read)),
        ("i1", _) => decode!(i8, from_le_bytes, Integer),
        ("u1" | "b1", _) => decode!(u8, from_le_bytes, Integer),
        ("i2", true) => decode!(i16, from_le_bytes, Integer),
        ("i2", false) => decode!(i16, from_be_bytes, Integer),
        ("u2", true) => decode!(u16, from_le_bytes, Integer),
        ("u2", false) => decode!(u16, from_be_bytes, Integer),
        ("i4", true) => decode!(i32, from_le_bytes, Integer),
        ("i4", false) => decode!(i32, from_be_bytes, Integer),
        ("u4", true) => decode!(u32, from_le_bytes, Integer),
        ("u4", false) => decode!(u32, from_be_bytes, Integer),
        ("i8", true) => decode!(i64, from_le_bytes, Integer),
        ("i8", false) => decode!(i64, from_be_bytes, Integer),
        ("u8", true) => decode!(u64, from_le_bytes, Integer),
        ("u8", false) => decode!(u64, from_be_bytes, Integer),
        _ => None,
    }
}

/// Converts a half-precision float: a sign, 5 bits of exponent and 10 of mantissa.
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Reorders numbers whose first axis runs fastest into row-major order.
fn from_fortran_order<T: Copy>(values: &[T], shape: &[usize]) -> Vec<T> {
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

/// Writes numbers in version 1 of the format, as `numpy.save` does.
pub(super) fn write<T: Number>(array: &Array<T>, stream: &mut dyn Write) -> io::Result<()> {
    let extents: String = array.shape.iter().map(|extent| format!("{extent}, ")).collect();
    let shape =
        if array.shape.len() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") };
    let text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}", T::DESCR);
    // The header ends in a line feed, and the numbers start at a multiple of 64.
    let length = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    let field =
        u16::try_from(length).map_err(|_| io::Error::other("the array has too many axes"))?;
    stream.write_all(MAGIC)?;
    stream.write_all(&[1, 0])?;
    stream.write_all(&field.to_le_bytes())?;
    writeln!(stream, "{text:<width$}", width = length - 1)?;
    array.values.iter().try_for_each(|value| value.write(stream))
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

    fn saved<T: Number>(array: &Array<T>) -> Vec<u8> {
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
        let complex = Array { shape: vec![], values: vec![[1.0, -2.0]] };
        assert!(saved(&complex)[10..].starts_with(b"{'descr': '<c16', "));
        assert_eq!(parse_numbers(&saved(&complex)), Ok(Numbers::Complex(complex)));
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
        let three = Ok(Numbers::Real(Array { shape: vec![1], values: vec![3.0] }));
        let header = |descr: &str| {
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}\n")
        };
        for (descr, data) in [
            ("<f8", 3f64.to_le_bytes().to_vec()),
            (">f8", 3f64.to_be_bytes().to_vec()),
            ("<f4", 3f32.to_le_bytes().to_vec()),
            (">f4", 3f32.to_be_bytes().to_vec()),
            ("<f2", vec![0, 0x42]),
            (">f2", vec![0x42, 0]),
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
                assert_eq!(parse_numbers(&file(version, &header(descr), &data)), three, "{descr}");
            }
        }
        let fortran = "{\"shape\": (2, 3), 'fortran_order': True, 'descr': '|u1'}";
        let array = Array { shape: vec![2, 3], values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0] };
        assert_eq!(parse_numbers(&file(1, fortran, &[0, 3, 1, 4, 2, 5])), Ok(Numbers::Real(array)));
        let want = Ok(Numbers::Complex(Array { shape: vec![1], values: vec![[3.0, -0.5]] }));
        for (descr, data) in [
            ("<c16", [3f64.to_le_bytes(), (-0.5f64).to_le_bytes()].concat()),
            (">c16", [3f64.to_be_bytes(), (-0.5f64).to_be_bytes()].concat()),
            ("<c8", [3f32.to_le_bytes(), (-0.5f32).to_le_bytes()].concat()),
            (">c8", [3f32.to_be_bytes(), (-0.5f32).to_be_bytes()].concat()),
        ] {
            assert_eq!(parse_numbers(&file(1, &header(descr), &data)), want, "{descr}");
        }
        let fortran = "{'shape': (2, 2), 'fortran_order': True, 'descr': '<c8'}";
        let data: Vec<u8> = (0..8u8).flat_map(|part| f32::from(part).to_le_bytes()).collect();
        let values = vec![[0.0, 1.0], [4.0, 5.0], [2.0, 3.0], [6.0, 7.0]];
        let want = Ok(Numbers::Complex(Array { shape: vec![2, 2], values }));
        assert_eq!(parse_numbers(&file(1, fortran, &data)), want);
    }

    #[test]
    fn halves_match_numpy() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x0001, 2f64.powi(-24)),
            (0x03ff, 6.097_555_160_522_461e-5),
            (0x0400, 2f64.powi(-14)),
            (0x3555, 0.333_251_953_125),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan() && half(0x8000).is_sign_negative());
    }

    #[test]
    fn refuses_types_other_than_numbers() {
        let error = |bytes: &[u8]| parse_numbers(bytes).unwrap_err();
        assert!(error(b"PK\x03\x04").contains("magic"));
        assert!(error(&file(9, "", b"")).contains("version 9"));
        let objects = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }";
        assert!(error(&file(1, objects, &[0; 8])).contains("\"|O\""));
        let record = "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }";
        assert!(error(&file(1, record, &[0; 8])).contains("cannot be read"));
        let absurd =
            "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 7), }";
        assert!(error(&file(1, absurd, &[0; 8])).contains("does not fit into any file"));
        let nan = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
        let data = [1f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat();
        assert_eq!(
            error(&file(1, nan, &data)),
            "number 2 in row-major order, NaN, is not a finite number"
        );
        let complex = "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }";
        assert_eq!(
            error(&file(1, complex, &data)),
            "number 1 in row-major order, [1.0, NaN], is not a finite number"
        );
        assert!(
            error(&file(1, complex, &data[..8]))
                .contains("16-byte numbers does not fit the 8 bytes")
        );
        let long = "{'descr': '>f16', 'fortran_order': False, 'shape': (1,), }";
        assert!(error(&file(1, long, &[0; 16])).contains("numpy type \">f16\" cannot be read"));
        let long = "{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }";
        assert!(error(&file(1, long, &[255; 16])).contains("not a finite number"));
        assert!(
            error(&file(1, long, &[1; 16]))
                .contains("number 1 of the file is not a long double of x86")
        );
        assert_eq!(
            error(&[MAGIC, &[2, 0], &[255; 4], b"{"].concat()),
            "the header has 4294967295 bytes, 1 are left"
        );
    }

    #[test]
    fn reads_no_more_than_the_header_declares() {
        let array = Array { shape: vec![2, 2], values: vec![1.0, 2.0, 3.0, 4.0] };
        let bytes = saved(&array);
        assert_eq!(read(&mut &bytes[..]).expect("reading from memory"), bytes);
        for start in [&bytes[..], b"a,b", MAGIC, &bytes[..20]] {
            let all = read(&mut start.chain(io::repeat(b' '))).expect("reading without end");
            assert!(all.len() <= bytes.len() + 1 && parse_numbers(&all).is_err());
        }
        let more = parse_numbers(&[&bytes[..], b"x"].concat()).unwrap_err();
        assert!(
            more.ends_with("does not fit the bytes that follow the header: there are more"),
            "{more}"
        );
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = saved(&Array { shape: vec![2, 2], values: vec![1.0, 2.0, 3.0, 4.0] });
        for length in 0..bytes.len() {
            assert!(parse_numbers(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            shape in proptest::collection::vec(0usize..4, 0..5),
            seed in proptest::collection::vec(-1e300f64..1e300, 256),
        ) {
            let array = Array { values: seed[..shape.iter().product()].to_vec(), shape };
            prop_assert_eq!(parse_numbers(&saved(&array)), Ok(Numbers::Real(array)));
        }

        #[test]
        fn no_header_makes_it_panic(
            header in "\\{?('descr'|'shape'|'fortran_order'|:|,| \
                                               |\\(|\\)|'<f8'|True|[0-9]{1,25}|\\PC){0,12}\\}?",
        ) {
            prop_assert!(
                parse_numbers(&file(1, &header, &[0; 8])).is_err() || header.contains("shape")
            );
        }
    }
}
