//! Tests of invalid bytes. Each of them gives an error that names the values, and none a panic.

use crate::entry::{read_everything, seal};
use crate::wire_common::{settings, things};
use hippocrene::{
    BitArray, ClientKey, Clustering, EncryptedArray, Error, EvaluationKeys, IntegerArray,
    Interface, Program, PublicKey, Server, Session, Settings, Stored, TransferKey, TreeClient,
    TreeQuery, TreeReply,
    wire::{FormatError, Kind, Limits, inspect},
};
use hippocrene_ring::sample::Seed;
use proptest::prelude::*;

/// Loads a file according to its name.
fn load(name: &str, bytes: &[u8], session: &Session) -> Result<(), Error> {
    match name {
        "settings" => Settings::from_bytes_insecure(bytes, ()).map(drop),
        "secret" => ClientKey::from_bytes_insecure(bytes, 1).map(drop),
        "public" => PublicKey::from_bytes_insecure(bytes, 1).map(drop),
        "evaluation" | "bootstrapping" | "gates" => {
            EvaluationKeys::from_bytes_insecure(bytes, 1).map(drop)
        }
        "transfer" => TransferKey::from_bytes_insecure(bytes, 1).map(drop),
        "integers" | "squares" => IntegerArray::from_bytes(bytes, session).map(drop),
        "bits" | "nots" => BitArray::from_bytes(bytes, session).map(drop),
        "owner" => TreeClient::from_bytes(bytes, ()).map(drop),
        "query" => TreeQuery::from_bytes(bytes, ()).map(drop),
        "reply" => TreeReply::from_bytes(bytes, ()).map(drop),
        "program" => Program::from_bytes_insecure(bytes, ()).map(drop),
        "interface" => Interface::from_bytes_insecure(bytes, ()).map(drop),
        "clusters" => Clustering::from_bytes(bytes, session).map(drop),
        _ => EncryptedArray::from_bytes(bytes, session).map(drop),
    }
}

fn format_error(result: Result<(), Error>) -> FormatError {
    match result {
        Err(Error::Format(error)) => error,
        other => panic!("a format error is expected, not {other:?}"),
    }
}

/// The position of the ciphertext heads in the file of an array with one axis.
const HEADS: usize = 56 + 32 + 16;

/// The position of the ciphertext heads in the file of `product`, which has two axes, an interval
/// and the fingerprint of notes.
const PRODUCT_HEADS: usize = HEADS + 16 + 16 + 16;

#[test]
fn truncation_anywhere_is_an_error() {
    let things = things(4);
    let session = things.client.session();
    for (name, bytes) in things.files() {
        for end in 0..bytes.len() {
            let mut cut = bytes[..end].to_vec();
            let error = format_error(load(name, &cut, session));
            assert!(matches!(error, FormatError::Truncated { .. }), "{name} {end}: {error}");
            assert!(inspect(&cut).is_err(), "{name} {end}");
            // The same error occurs when the header states the shortened length.
            seal(&mut cut);
            let error = format_error(load(name, &cut, session));
            assert!(matches!(error, FormatError::Truncated { .. }), "{name} {end}: {error}");
            assert!(inspect(&cut).is_err(), "{name} {end}");
        }
        let mut long = bytes.clone();
        long.push(0);
        assert!(matches!(format_error(load(name, &long, session)), FormatError::Trailing { .. }));
        seal(&mut long);
        assert!(matches!(format_error(load(name, &long, session)), FormatError::Trailing { .. }));
        assert!(inspect(&long).is_err());
    }
}

#[test]
fn every_bit_counts() {
    let things = things(4);
    let session = things.client.session();
    for (name, mut bytes) in things.files() {
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            format_error(load(name, &bytes, session));
            assert!(inspect(&bytes).is_err(), "{name}, bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(load(name, &bytes, session).is_ok());
    }
}

#[test]
fn bits_flipped_under_a_valid_checksum_never_panic() {
    let things = things(4);
    let session = things.client.session();
    for (name, bytes) in things.files() {
        // All bits before the residues.
        let end = bytes.len().min(if name == "evaluation" { 180 } else { 320 });
        let mut accepted = 0;
        for bit in 0..8 * end {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            seal(&mut bytes);
            accepted += usize::from(load(name, &bytes, session).is_ok());
            inspect(&bytes).ok();
        }
        // Files with flipped bits of the length or the checksum are accepted, because sealing
        // corrects these. So are files with other names of the key, bounds, seeds or residues.
        assert!(accepted >= 12 * 8 && accepted < 8 * end, "{name}: {accepted}");
    }
}

#[test]
fn absurd_numbers_are_refused_without_panic() {
    let things = things(4);
    let session = things.client.session();
    for (name, bytes) in things.files() {
        for at in 0..bytes.len().min(320) {
            for value in [u64::MAX, 1 << 63, 1 << 32, u64::from(u32::MAX), i64::MAX as u64, 0] {
                for width in [4, 8] {
                    let mut bytes = bytes.clone();
                    let end = bytes.len().min(at + width);
                    bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                    let _ = load(name, &bytes, session);
                    seal(&mut bytes);
                    // This only tests that the calls return. Their results are tested below.
                    let _ = (load(name, &bytes, session), inspect(&bytes));
                }
            }
        }
    }
}

#[test]
fn bytes_without_the_magic_are_refused_at_any_length() {
    let things = things(4);
    for bytes in [&b"1"[..], b"1,2\n", b"\x89HPCR\r\n", b"\x89PNG\r\n\x1a\n"] {
        let error = format_error(load("fresh", bytes, things.client.session()));
        let cut = b"\x89HPCR\r\n\x1a".starts_with(bytes);
        let (magic, short) = (
            matches!(error, FormatError::Magic { .. }),
            matches!(error, FormatError::Truncated { .. }),
        );
        assert_eq!((magic, short), (!cut, cut), "{bytes:?}: {error}");
    }
}

/// Sets bytes of a file, seals it, and returns the error of loading it.
fn refused(name: &str, bytes: &[u8], at: usize, new: &[u8], session: &Session) -> String {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    if !(48..56).contains(&at) {
        seal(&mut bytes);
    }
    format_error(load(name, &bytes, session)).to_string()
}

#[test]
fn errors_name_the_mistake() {
    let things = things(4);
    let session = things.client.session();
    let files: std::collections::HashMap<_, _> = things.files().into_iter().collect();
    let absurd = u64::MAX.to_le_bytes();
    let mut wrong = Vec::new();
    for (name, at, new, message) in [
        ("secret", 0, &b"PK"[..], "not a Hippocrene file"),
        ("secret", 8, &[3, 0], "format version 3; this library reads version 1"),
        ("secret", 10, &[99], "kind 99, which does not exist"),
        ("secret", 10, &[3], "flags is 1; it must be 0"),
        ("public", 10, &[4], "evaluation keys, not a public key"),
        ("secret", 11, &[0], "flags is 0; it must be 1"),
        ("secret", 16, &[0xff; 16], "digest ffffffffffffffffffffffffffffffff, needed"),
        ("secret", 32, &[0xff; 16], "names key ffffffffffffffffffffffffffffffff, but holds key"),
        ("settings", 32, &[1], "the key of settings is 01000000000000000000000000000000"),
        ("fresh", 16, &[0; 16], "digest 00000000000000000000000000000000, needed"),
        ("fresh", 48, &absurd, "18446744073709551615 are needed"),
        ("settings", 56, &[18, 0, 0, 0], "2^18"),
        ("settings", 56, &absurd[..4], "2^4294967295"),
        ("settings", 60, &absurd[..4], "number of primes is 4294967296; it must be at most 126"),
        ("settings", 60, &[126, 0, 0, 0], "at most 126"),
        ("settings", 68, &[4, 0, 0, 0], "gadget rank 4"),
        ("settings", 72, &[17, 0, 0, 0], "Hamming weight 17"),
        (
            "settings",
            84,
            &[1, 0, 0, 0],
            "fresh ciphertexts modulo 2^1; the sprout's power of two is 2^0",
        ),
        ("settings", 88, &1000f64.to_le_bytes(), "a precision of 1000 bits takes a scale of 2^10"),
        ("settings", 88, &f64::NAN.to_le_bytes(), "a precision of NaN bits"),
        ("settings", 108, &97u64.to_le_bytes(), "needed"), // a prime, but not the one of the digest
        ("settings", 108, &99u64.to_le_bytes(), "99 is not a prime"),
        ("evaluation", 140, &[16], "flags of evaluation keys is 16; it must be 0 to 15"),
        ("evaluation", 140, &[9], "evaluation keys: the data ends"),
        ("gates", 140, &[0], "evaluation keys: "),
        ("bootstrapping", 140, &[0], "evaluation keys: "),
        (
            "evaluation",
            144,
            &absurd[..4],
            "number of Galois keys is 4294967295; it must be at most 15",
        ),
        ("evaluation", 144, &[2], "the modulus of a key is 0xf0000001f with"),
        ("evaluation", 148, &[4], "a Galois element is 4; it must be an odd number from 3 to 31"),
        ("evaluation", 152, &[3], "a Galois element is 3; it must be an odd number from "),
        (
            "evaluation",
            160,
            &absurd[..8],
            "the modulus of a key is 0xffffffffffffffff with sprout 0b0 and 2^0; it must be a \
             divisor",
        ),
        ("evaluation", 160, &[7], "the modulus of a key is 0x7 with"),
        (
            "evaluation",
            176,
            &[1],
            "the modulus of a key is 0xf with sprout 0b1 and 2^0; it must be a divisor",
        ),
        ("fresh", 56, &[64], "flags of an array is 64; it must be a sum of flags of 63"),
        ("nots", 56, &[8], "flags of an array is 8"),
        (
            "product",
            88,
            &f64::NAN.to_le_bytes(),
            "the interval of an array is NaN to 16; it must be finite",
        ),
        (
            "product",
            88,
            &17f64.to_le_bytes(),
            "the interval of an array is 17 to 16; it must be finite",
        ),
        (
            "product",
            96,
            &f64::INFINITY.to_le_bytes(),
            "the interval of an array is 0 to inf; it must be finite",
        ),
        ("fresh", 60, &[65], "number of axes is 65; it must be at most 64"),
        ("fresh", HEADS + 2 * 58, &[1], "the bits of a residue is 1; it must be at least 46 for"),
        ("fresh", 64, &[16], "number of ciphertexts is 2; it must be 1"),
        ("product", 64, &[16], "the number of slots is 16; it must be 8"),
        ("fresh", 64, &[9], "the number of slots is 9"),
        ("fresh", 64, &absurd, "the number of slots is 18446744073709551615"),
        (
            "fresh",
            72,
            &absurd,
            "number of ciphertexts is 18446744073709551615; it must be 2 for shape (11,)",
        ),
        ("fresh", 88, &absurd, "larger than 2^32"),
        ("fresh", 88, &[0], "the layout: "),
        ("fresh", 96, &[3], "not all powers of two"),
        ("fresh", 96, &absurd, "a stride is 18446744073709551615"),
        (
            "fresh",
            80,
            &f64::INFINITY.to_le_bytes(),
            "precision of an array is inf; it must be a finite number",
        ),
        (
            "fresh",
            80,
            &200f64.to_le_bytes(),
            "the precision of an array: a precision of 200 bits takes a scale of 2^",
        ),
        ("settings", 76, &[61], "the sprout 2^61"),
        ("settings", 80, &[5], "number of odd primes of the sprout is 5; it must be at most 4"),
        ("fresh", HEADS, &[0; 16], "modulus of a ciphertext is 1"),
        (
            "fresh",
            HEADS + 16,
            &[1],
            "modulus of a ciphertext is 0x7 with sprout 1 and 2^0; it must be bits 126",
        ),
        (
            "product",
            PRODUCT_HEADS,
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 1, 9],
            "at positions [126, 127], of the sprout 0b1 and 2^9; it must be a divisor of",
        ),
        (
            "product",
            PRODUCT_HEADS,
            &[9],
            "at positions [0, 3], of the sprout 0b0 and 2^0; it must be a divisor of the 3 units",
        ),
        ("fresh", HEADS + 45, &[0], "mantissa of a scale"),
        (
            "fresh",
            HEADS + 46,
            &(-1128i32).to_le_bytes(),
            "exponent of a scale is -1128; it must be -1127 to 873",
        ),
        // A scale is a mantissa of at least 2^127 times a power of two, and all bounds here are at
        // least 1.
        (
            "fresh",
            HEADS + 46,
            &(200 - 127i32).to_le_bytes(),
            "the scale of a ciphertext is 2^200.0; it must be no larger than the modulus, 2^",
        ),
        (
            "product",
            PRODUCT_HEADS + 46,
            &(200 - 127i32).to_le_bytes(),
            "the scale of a ciphertext is 2^201.0; it must be",
        ),
        ("fresh", HEADS + 18, &[4], "parts of a ciphertext is 4"),
        ("fresh", HEADS + 50, &f64::NAN.to_le_bytes(), "bound of a ciphertext is NaN"),
        ("fresh", HEADS + 50, &(-1f64).to_le_bytes(), "bound of a ciphertext is -1"),
        ("fresh", HEADS + 50, &(-1e300f64).to_le_bytes(), "bound of a ciphertext is -1e300; it"),
        (
            "fresh",
            HEADS + 22,
            &5e-324f64.to_le_bytes(),
            "noise of a seeded ciphertext is 5e-324; it",
        ),
        (
            "fresh",
            80,
            &1e300f64.to_le_bytes(),
            "the precision of an array: a precision of 1e300 bits takes a scale of 2^1e300;",
        ),
        ("fresh", HEADS + 50, &f64::INFINITY.to_le_bytes(), "bound of a ciphertext is inf"),
        ("fresh", HEADS + 22, &1f64.to_le_bytes(), "noise of a seeded ciphertext is 1"),
        ("fresh", HEADS + 2 * 58, &[49], "the bits of a residue is 49; it must be at most 48 for "),
        ("fresh", HEADS + 2 * 58, &[62], "the bits of a residue is 62; it must be 1 to 61"),
        ("product", PRODUCT_HEADS + 22, &f64::NAN.to_le_bytes(), "noise of a ciphertext is NaN"),
        ("settings", 96, &[3], "scheme of integers is 3; it must be 0 for none, 1 or 2"),
        ("settings", 96, &[0], "plaintext modulus without a scheme is 65537; it must be 0"),
        ("settings", 100, &[0; 8], "plaintext modulus 0: 2 to 2^61 - 1 are supported"),
        ("settings", 100, &absurd, "plaintext modulus 18446744073709551615: 2 to"),
        (
            "integers",
            10,
            &[5],
            "the file holds an encrypted array of numbers, not an encrypted array of integers",
        ),
        ("integers", 56, &[1], "flags of an array is 1; it must be a sum of flags of 46"),
        ("integers", 64, &[32], "number of ciphertexts is 2; it must be 1"),
        ("squares", 64, &[32], "the number of slots is 32; it must be 16"),
        (
            "integers",
            64,
            &[8],
            "the number of slots is 8; it must be a power of two from 16 to 131072",
        ),
        ("integers", 80, &[1, 0, 0], "plaintext modulus of an array is 1; it must be 2 to"),
        (
            "integers",
            80,
            &absurd,
            "plaintext modulus of an array is 18446744073709551615; it must be 2 to",
        ),
        (
            "integers",
            80,
            &[3],
            "plaintext modulus of an array is 65539; it must be 65537, that of the keys",
        ),
        ("integers", HEADS + 16 + 18, &[4], "parts of a ciphertext is 4"),
        ("integers", HEADS + 16 + 30, &[2], "factor of a seeded ciphertext is 2; it must be 1"),
        (
            "squares",
            HEADS + 16 + 30,
            &[0; 8],
            "factor of a ciphertext is 0; it must be a unit modulo 65537",
        ),
        (
            "squares",
            HEADS + 16 + 30,
            &absurd,
            "factor of a ciphertext is 18446744073709551615; it must be a",
        ),
        ("squares", HEADS + 16 + 22, &f64::INFINITY.to_le_bytes(), "noise of a ciphertext is inf"),
        (
            "bits",
            10,
            &[7],
            "the file holds an encrypted array of integers, not an encrypted array of bits",
        ),
        ("bits", 56, &[8], "flags of an array is 8; it must be a sum of flags of 39"),
        ("bits", 56, &[2], "the number of slots is 16; it must be 8"),
        ("nots", 56, &[3], "the number of slots is 8; it must be a power of two from 16 to 131072"),
        ("bits", 64, &[32], "number of ciphertexts is 2; it must be 1"),
        ("nots", 64, &[16], "the number of slots is 16; it must be 8"),
        ("bits", 80, &[1], "the unused field of an array of bits is 1; it must be 0"),
        ("bits", HEADS + 18, &[4], "parts of a ciphertext is 4"),
        ("bits", HEADS + 45, &[0], "mantissa of a scale"),
        ("bits", HEADS + 46, &(-1128i32).to_le_bytes(), "exponent of a scale is -1128; it must be"),
        ("bits", HEADS + 46, &(-120i32).to_le_bytes(), "the error of bits is "),
        ("nots", HEADS + 16 + 22, &30f64.to_le_bytes(), "it must be below 1/2"),
        ("nots", HEADS + 16 + 22, &f64::NAN.to_le_bytes(), "noise of a ciphertext is NaN"),
        ("product", PRODUCT_HEADS + 22, &5000f64.to_le_bytes(), "noise of a ciphertext is 5000"),
    ] {
        let error = refused(name, &files[name], at, new, session);
        if !error.contains(message) {
            wrong.push(format!("{name} at {at}: {error:?} does not say {message:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The shape has 2^32 elements, but there are no ciphertexts.
    let mut long = files["fresh"].clone();
    long[88..96].copy_from_slice(&(1u64 << 32).to_le_bytes());
    long[72..80].copy_from_slice(&(1u64 << 29).to_le_bytes());
    seal(&mut long);
    let error = format_error(load("fresh", &long, session)).to_string();
    assert!(
        error.starts_with("heads of ciphertexts: ") && error.contains(&(58u64 << 29).to_string()),
        "{error}"
    );
}

/// The position of the fields of a bootstrap in a file without other keys.
const BOOTSTRAPPING: usize = 56 + 52 + 4 * 8 + 8;

#[test]
fn fields_of_a_bootstrap_are_checked() {
    let things = things(4);
    let (session, bytes) = (things.client.session(), things.bootstrapping.to_bytes());
    assert_eq!(bytes[BOOTSTRAPPING..][..8], 20.125f64.to_le_bytes());
    let numbers = [f64::NAN, f64::INFINITY, -1.0, -0.0, 88.0];
    let [nan, infinite, negative, zero, two_units] = numbers.map(f64::to_le_bytes);
    // The file has three levels, the cosine and the arcsine.
    let (levels, cosine) = (152, 152 + 3 * 12);
    let mut wrong = Vec::new();
    let cases: Vec<(usize, &[u8], &str)> = vec![
        (0, &nan, "precision of a bootstrap is NaN; it must be 1 to 10000"),
        (0, &[0; 8], "precision of a bootstrap is 0"),
        (8, &[8], "flags of a bootstrap is 8; it must be at most 7"),
        (12, &[4], "log2 of the slots of a bootstrap is 4; it must be at most 3"),
        (16, &infinite, "bound of a bootstrap is inf"),
        (16, &negative, "bound of a bootstrap is -1; it must be positive"),
        (24, &nan, "bits of the base modulus is NaN"),
        (24, &two_units, "base modulus is 0x1 with sprout 0b0 and 2^0; it must be 0x3 with"),
        (32, &[3], "base modulus is 0x3 with sprout 0b0 and 2^0; it must be 0x1 with"),
        (50, &[17], "weight of the sparse secret is 17; it must be at most 16"),
        (54, &[1], "special modulus of the sparse secret is "),
        (62, &infinite, "bits of a bootstrap's scale is inf"),
        (70, &[0; 8], "bits of a bootstrap's scale is 0"),
        (78, &negative, "output bits of a bootstrap is -1; it must be 0 for all, or from 1"),
        (78, &zero, "output bits of a bootstrap is -0"),
        (86, &[17], "number of levels is 17; it must be at most 16"),
        (90, &[0xff; 4], "number of levels is 4294967295"),
        (94, &[0], "the reduction of a bootstrap: k = 0 and 2 doublings"),
        (98, &[13], "k = 17 and 13 doublings"),
        (
            102,
            &[0xff; 4],
            "number of coefficients of a cosine is 4294967295; it must be at most 4096",
        ),
        (106, &[0, 16], "bootstrapping keys: the data ends"),
        (110, &[0; 8], "epsilon = 0"),
        (118, &nan, "an error of NaN"),
        (
            126,
            &[7],
            "modulus of the key from the sparse secret is 0x7 with sprout 0b0 and 2^0; it must be \
             a divisor",
        ),
        (8, &[3], "flags of a bootstrap is 3; it must be without 2 and 4, as it is iterated"),
        (8, &[5], "flags of a bootstrap is 5; it must be without 2 and 4, as it is iterated"),
        (144, &nan, "precision that a bootstrap is iterated to is NaN"),
        (
            144,
            &negative,
            "precision that a bootstrap is iterated to is -1; it must be 0 for one bootstrap, or \
             from 1",
        ),
        (144, &zero, "precision that a bootstrap is iterated to is -0"),
        (levels, &[17], "stages of a level is 17"),
        (levels + 4, &nan, "bits of a level's scale is NaN"),
        (cosine, &nan, "coefficient 0 is NaN"),
        (cosine + 3 * 8, &[0; 8], "coefficients end in 0"),
    ];
    for (at, new, message) in cases {
        let error = refused("bootstrapping", &bytes, BOOTSTRAPPING + at, new, session);
        if !error.contains(message) {
            wrong.push(format!("{at}: {error:?} does not say {message:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // All fields are checked before any residue, even those after other keys.
    let own = things.bootstrapping.bootstrapping().unwrap().clone();
    let mut both = things.keys.clone().with_bootstrapping(own).to_bytes();
    let precision = 20.125f64.to_le_bytes();
    let at = both.windows(8).position(|field| *field == precision).unwrap();
    both[at - 6..at].fill(0xff);
    for (precision, message) in
        [(precision, "residue 15 of limb"), (nan, "precision of a bootstrap is NaN")]
    {
        let error = refused("bootstrapping", &both, at, &precision, session);
        assert!(error.contains(message), "{error}");
    }
    let last = refused("bootstrapping", &bytes, bytes.len() - 6, &[0xff; 6], session);
    assert!(last.starts_with("key from the sparse secret: residue 15 of limb 2"), "{last}");
    // The file needs secure parameters, and its sparse secret is not secure.
    let keys = EvaluationKeys::from_bytes(&bytes, 1).unwrap_err();
    assert!(matches!(keys, Error::Security(_)), "{keys}");
}

#[test]
fn fields_of_gates_are_checked() {
    let things = things(4);
    let (session, bytes) = (things.client.session(), things.gates.to_bytes());
    assert_eq!(bytes[BOOTSTRAPPING + 4..][..8], 48f64.to_le_bytes());
    let [nan, infinite, two_units] = [f64::NAN, f64::INFINITY, 88.0].map(f64::to_le_bytes);
    // The file has three levels and the cosine.
    let (levels, cosine) = (116, 116 + 3 * 12);
    let mut wrong = Vec::new();
    let cases: Vec<(usize, &[u8], &str)> = vec![
        (0, &[4], "flags of bits is 4; it must be at most 3"),
        (4, &nan, "bits of the base modulus is NaN"),
        (4, &two_units, "base modulus is 0x1 with sprout 0b0 and 2^0; it must be 0x3 with"),
        (12, &[3], "base modulus is 0x3 with sprout 0b0 and 2^0; it must be 0x1 with"),
        (30, &[17], "weight of the sparse secret is 17; it must be at most 16"),
        (34, &[1], "special modulus of the sparse secret is "),
        (42, &infinite, "bits of a bootstrap's scale is inf"),
        (50, &nan, "bits that scales fall by is NaN"),
        (58, &[0xff; 4], "bits of the scale of bits is 4294967295; it must be at most 1000"),
        (62, &nan, "output bits of a bootstrap is NaN"),
        (70, &[17], "number of levels is 17; it must be at most 16"),
        (74, &[0xff; 4], "number of levels is 4294967295"),
        (78, &[0], "k = 0 and 3 doublings"),
        (82, &[13], "k = 17 and 13 doublings"),
        (
            86,
            &[0xff; 4],
            "number of coefficients of a cosine is 4294967295; it must be at most 4096",
        ),
        (86, &[0, 16], "keys of bits: the data ends"),
        (90, &nan, "an error of NaN"),
        (
            98,
            &[7],
            "modulus of the key from the sparse secret is 0x7 with sprout 0b0 and 2^0; it must be \
             a divisor",
        ),
        (levels, &[17], "stages of a level is 17"),
        (levels + 4, &nan, "bits of a level's scale is NaN"),
        (cosine, &nan, "coefficient 0 is NaN"),
        (cosine + 2 * 8, &[0; 8], "coefficients end in 0"),
    ];
    for (at, new, message) in cases {
        let error = refused("gates", &bytes, BOOTSTRAPPING + at, new, session);
        if !error.contains(message) {
            wrong.push(format!("{at}: {error:?} does not say {message:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let last = refused("gates", &bytes, bytes.len() - 6, &[0xff; 6], session);
    assert!(last.starts_with("key from the sparse secret: residue 15 of limb 2"), "{last}");
    // Keys that can be read may still be refused by a server.
    let keys = EvaluationKeys::from_bytes_insecure(&bytes, 1).unwrap();
    let server = Server::new(keys).unwrap_err().to_string();
    assert!(server.contains("plan a bootstrap of bits"), "{server}");
}

#[test]
fn residues_out_of_range_are_named() {
    let things = things(4);
    let session = things.client.session();
    let parameters = session.settings().parameters();
    // The second limb of `b` is modulo a prime of 40 bits, so it has 16 residues of 5 bytes.
    let limb = 56 + 52 + 4 * 8 + 32 + 16 * 6;
    let q = parameters.factor(1);
    for value in [q, (1 << 40) - 1] {
        let at = limb + 5 * 5;
        let error =
            refused("public", &things.public.to_bytes(), at, &value.to_le_bytes()[..5], session);
        let expected =
            format!("public key: residue 5 of limb 1 is {value}, not below its modulus {q}");
        assert_eq!(error, expected);
    }
    // The largest valid residue.
    let mut bytes = things.public.to_bytes();
    bytes[limb..limb + 5].copy_from_slice(&(q - 1).to_le_bytes()[..5]);
    seal(&mut bytes);
    let loaded = PublicKey::from_bytes_insecure(&bytes, 1).unwrap();
    assert_eq!(loaded.inner().b().limb(1)[0], q - 1);
    let bytes = things.transfer.to_bytes();
    let error = refused("transfer", &bytes, bytes.len() - 6, &[0xff; 6], session);
    assert!(
        error.starts_with("transfer key: residue 15 of limb 3 is 281474976710655, not"),
        "{error}"
    );
    // The last residue of a Galois key, with 48 bits.
    let bytes = things.keys.to_bytes();
    let error = refused("evaluation", &bytes, bytes.len() - 6, &[0xff; 6], session);
    assert!(
        error.starts_with("Galois key: residue 15 of limb 3 is 281474976710655, not"),
        "{error}"
    );
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "hpc"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_corpus_is_replayed() {
    let session = Session::new(settings(4), 1).unwrap();
    let client = ClientKey::from_seed(settings(4), Seed::from_bytes([7; 32]), 1).unwrap();
    let files = corpus();
    assert!(files.len() >= 12, "{} files", files.len());
    for (name, bytes) in files {
        read_everything(&bytes);
        match name.strip_prefix("bad-") {
            Some(kind) => {
                let kind = kind.split('-').next().unwrap();
                format_error(load(kind, &bytes, &session));
            }
            None => load(&name, &bytes, &session).unwrap(),
        }
        if name == "squares" {
            let squares = client
                .decrypt_integers(&IntegerArray::from_bytes(&bytes, &session).unwrap())
                .unwrap();
            assert_eq!(squares, [25, 1, 4, 24_463, 45_219, 65_536]);
        }
        if name == "nots" {
            let bits =
                client.decrypt_bits(&BitArray::from_bytes(&bytes, &session).unwrap()).unwrap();
            assert_eq!(bits, [false, true, true, false, true, false]);
        }
        if name == "product" {
            let array = EncryptedArray::from_bytes(&bytes, &session).unwrap();
            let squares = client.decrypt(&array).unwrap();
            for (have, need) in squares.iter().zip([0.25, 2.25, 4.0, 9.0, 0.0625, 1.0]) {
                assert!((have - need).abs() < 1e-6, "{have} {need}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Files of the corpus with bytes changed, deleted, repeated and spliced between files, under
    /// valid checksums.
    #[test]
    fn mutations_never_panic(
        (first, second) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<u64>(), 0u8..4, 1usize..9),
            1..5,
        ),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = corpus();
        let (mut bytes, other) = (first.get(&files).1.clone(), &second.get(&files).1);
        for (at, value, edit, width) in edits {
            let at = at.index(bytes.len().min(400));
            let end = bytes.len().min(at + width);
            match edit {
                0 => bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => {
                    let from = cut.index(other.len());
                    let tail = other[from..other.len().min(from + 8 * width)].to_vec();
                    bytes.splice(at..end, tail);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        read_everything(&bytes);
    }
}

/// An array is compared with the limits before memory for its residues is allocated, and so is its
/// description by [`inspect`].
#[test]
fn files_beyond_limits_are_refused() {
    let things = things(4);
    let session = things.client.session();
    let files: std::collections::HashMap<_, _> = things.files().into_iter().collect();
    let bytes = &files["fresh"];
    let inspection = inspect(bytes).unwrap();
    let refused = |limits: &Limits| {
        let error =
            format_error(EncryptedArray::from_bytes_within(bytes, session, limits).map(drop));
        assert_eq!(limits.check(&inspection).unwrap_err(), error);
        assert!(matches!(error, FormatError::Limit { .. }), "{error}");
        error.to_string()
    };
    let (length, peak, any) = (bytes.len() as u64, inspection.peak_memory, Limits::default());
    let words = refused(&Limits { max_bytes: Some(length - 1), ..any.clone() });
    assert!(
        words.contains(&format!("takes {length} bytes, and the limits allow {}.", length - 1)),
        "{words}"
    );
    let words = refused(&Limits { max_memory: Some(peak - 1), ..any.clone() });
    assert!(words.contains(&format!("takes {peak} bytes of memory, and")), "{words}");
    let words =
        refused(&Limits { kinds: Some(vec![Kind::BitArray, Kind::TreeQuery]), ..any.clone() });
    assert!(
        words.contains("of the kind array, and the limits allow bit_array, tree_query."),
        "{words}"
    );
    let words = refused(&any.clone().with_presets(&["n12"]).unwrap());
    assert!(words.contains(&format!(
        "has the parameters {}, and the limits allow n12.",
        inspection.parameters
    )));
    let all = Limits {
        max_bytes: Some(length),
        max_memory: Some(peak),
        max_work: Some(0),
        kinds: Some(vec![Kind::Array]),
        parameters: Some(vec![session.settings().parameters().digest()]),
    };
    assert!(EncryptedArray::from_bytes_within(bytes, session, &all).is_ok());
    all.check(&inspection).unwrap();
}
