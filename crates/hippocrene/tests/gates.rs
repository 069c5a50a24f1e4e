//! Tests of gates of single bits, between a client and a server that share only files.

use std::sync::LazyLock;

use crate::entry::{read_everything, seal};
use crate::stranger::{
    Set, bit_length, centred, chacha20_from, fingerprint, multiply_add, number, open, prime, ring,
    take,
};
use hippocrene::{
    Error, Gate, GateArray, GateClient, GateKeys, GateServer, Stored,
    wire::{FormatError, Kind, inspect},
};
use proptest::prelude::*;

struct Files {
    secret: Vec<u8>,
    keys: Vec<u8>,
    fresh: Vec<u8>,
    result: Vec<u8>,
}

const VALUES: [bool; 6] = [true, true, false, false, true, false];

/// The files that one client and one server write.
static FILES: LazyLock<Files> = LazyLock::new(|| {
    let client = GateClient::generate().unwrap();
    let keys = client.evaluation_keys(2).unwrap();
    let fresh = client.encrypt(&VALUES, &[2, 3]).unwrap();
    let server = GateServer::new(&keys, 2).unwrap();
    let result = server.nand(&fresh, &server.not(&fresh).unwrap()).unwrap();
    let result = server.gather(&[&result, &fresh], &[3], &[Some(0), Some(8), None]).unwrap();
    let [secret, keys] = [client.to_bytes().to_vec(), keys.to_bytes()];
    Files { secret, keys, fresh: fresh.to_bytes(), result: result.to_bytes() }
});

fn client() -> GateClient {
    GateClient::from_bytes(&FILES.secret, ()).unwrap()
}

static SERVER: LazyLock<GateServer> =
    LazyLock::new(|| GateServer::new(&GateKeys::from_bytes(&FILES.keys, ()).unwrap(), 2).unwrap());

#[test]
fn client_and_server_share_only_files() {
    let folder = std::env::temp_dir().join(format!("hippocrene-gates-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name);
    client().save(path("secret")).unwrap();
    GateKeys::from_bytes(&FILES.keys, ()).unwrap().save(path("keys")).unwrap();
    client().encrypt(&VALUES, &[6]).unwrap().save(path("x")).unwrap();

    let server = GateServer::new(&GateKeys::load(path("keys"), ()).unwrap(), 1).unwrap();
    let x = GateArray::load(path("x"), ()).unwrap();
    let turned = server.gather(&[&x], &[6], &[5, 4, 3, 2, 1, 0].map(Some)).unwrap();
    server.xor(&x, &turned).unwrap().save(path("y")).unwrap();
    assert_eq!(server.rotations(), 6);

    let client = GateClient::load(path("secret"), ()).unwrap();
    let y = GateArray::load(path("y"), ()).unwrap();
    assert_eq!(y.shape(), [6]);
    assert_eq!(client.decrypt(&y).unwrap(), [true, false, false, false, false, true]);
    assert!(x.error() < 1e-4 && y.error() > x.error() && y.error() < 0.5);
    assert!(matches!(y.save(path("secret")), Err(Error::Io { .. })));
    std::fs::remove_dir_all(folder).unwrap();

    // A fresh file has the header, the head, two lengths, a seed and 26 bits for each bit. A result
    // has 1025 numbers of 26 bits for each bit.
    assert_eq!(FILES.fresh.len(), 56 + 16 + 16 + 32 + 20);
    assert_eq!(FILES.result.len(), 56 + 16 + 8 + 3 * (1025usize * 26).div_ceil(8));
}

#[test]
fn gates_of_arrays() {
    // This test has a server of its own, because other tests count rotations in the same process.
    let (client, server) =
        (client(), GateServer::new(&GateKeys::from_bytes(&FILES.keys, ()).unwrap(), 2).unwrap());
    let words: Vec<u8> = (0..8).collect();
    let plain: [Vec<bool>; 3] = [0, 1, 2].map(|k| words.iter().map(|w| w >> k & 1 == 1).collect());
    let bits = plain.clone().map(|bits| client.encrypt(&bits, &[2, 4]).unwrap());
    let operands: Vec<&GateArray> = bits.iter().collect();
    for count in [2, 3] {
        let gates: Vec<Gate> =
            Gate::ALL.into_iter().filter(|g| (*g, count) != (Gate::Majority, 2)).collect();
        let before = server.rotations();
        let results = server.gates(&gates, &operands[..count]).unwrap();
        // Conjunctions and disjunctions of three bits begin with those of two bits, and each of
        // these is shared by two gates.
        assert_eq!(server.rotations() - before, 8 * if count == 2 { 6 } else { 7 + 2 });
        for (gate, result) in gates.iter().zip(&results) {
            let ones = |i: usize| plain[..count].iter().filter(|bits| bits[i]).count();
            let expected: Vec<bool> = (0..8).map(|i| gate.value(ones(i), count)).collect();
            assert_eq!(client.decrypt(result).unwrap(), expected, "{gate:?} of {count}");
            assert_eq!(result.shape(), [2, 4]);
        }
    }
    let selected = server.select(&bits[0], &bits[1], &bits[2]).unwrap();
    let expected: Vec<bool> =
        (0..8).map(|i| if plain[0][i] { plain[1][i] } else { plain[2][i] }).collect();
    assert_eq!(client.decrypt(&selected).unwrap(), expected);

    // Gates with plain bits need no rotation.
    let before = server.rotations();
    for gate in Gate::ALL.into_iter().filter(|gate| *gate != Gate::Majority) {
        let result = server.gate_plain(gate, &bits[0], &plain[1]).unwrap();
        let expected: Vec<bool> = (0..8)
            .map(|i| gate.value(usize::from(plain[0][i]) + usize::from(plain[1][i]), 2))
            .collect();
        assert_eq!(client.decrypt(&result).unwrap(), expected, "{gate:?}");
    }
    assert_eq!(server.rotations(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Adds and compares numbers of four bits, bit by bit.
    #[test]
    fn adders(x in 0u8..16, y in 0u8..16) {
        let (client, server) = (client(), &*SERVER);
        let slices = |x: u8| -> Vec<GateArray> {
            (0..4).map(|k| client.encrypt(&[x >> k & 1 == 1], &[]).unwrap()).collect()
        };
        let (a, b) = (slices(x), slices(y));
        let mut first = server.gates(&[Gate::Xor, Gate::And], &[&a[0], &b[0]]).unwrap();
        let (mut carry, mut sums) = (first.pop().unwrap(), vec![first.pop().unwrap()]);
        let mut greater = server.and(&a[0], &server.not(&b[0]).unwrap()).unwrap();
        for (i, j) in a.iter().zip(&b).skip(1) {
            greater = server.gate(Gate::Majority, &[i, &server.not(j).unwrap(), &greater]).unwrap();
            let mut both = server.gates(&[Gate::Xor, Gate::Majority], &[i, j, &carry]).unwrap();
            carry = both.pop().unwrap();
            sums.push(both.pop().unwrap());
        }
        sums.push(carry);
        let bit = |a: &GateArray| client.decrypt(a).unwrap()[0];
        let total: u8 = sums.iter().enumerate().map(|(k, s)| u8::from(bit(s)) << k).sum();
        prop_assert_eq!(total, x + y);
        prop_assert_eq!(bit(&greater), x > y);
        let largest = server.select(&greater, &a[3], &b[3]).unwrap();
        prop_assert_eq!(bit(&largest), x.max(y) >= 8);
    }
}

/// Loads a file according to the kind in its header.
fn load(bytes: &[u8]) -> Result<(), Error> {
    match bytes.get(10) {
        Some(17) => GateClient::from_bytes(bytes, ()).map(drop),
        Some(18) => GateKeys::from_bytes(bytes, ()).map(drop),
        _ => GateArray::from_bytes(bytes, ()).map(drop),
    }
}

#[test]
fn inspect_describes_every_file() {
    for (bytes, kind, shape, fresh) in [
        (&FILES.secret, Kind::GateSecretKey, None, None),
        (&FILES.keys, Kind::GateKeys, None, None),
        (&FILES.fresh, Kind::GateArray, Some(vec![2, 3]), Some(true)),
        (&FILES.result, Kind::GateArray, Some(vec![3]), Some(false)),
    ] {
        let inspection = inspect(bytes).unwrap();
        let gates = inspection.gates.unwrap();
        assert_eq!(
            (inspection.kind, inspection.secret, inspection.ring_degree),
            (kind, kind == Kind::GateSecretKey, 1024)
        );
        assert_eq!((gates.parameters, gates.shape, gates.fresh), ("gates10", shape, fresh));
        read_everything(bytes);
    }
    assert!(matches!(
        GateArray::from_bytes(&FILES.secret, ()),
        Err(Error::Format(FormatError::Kind { .. }))
    ));
    assert_eq!(
        client().decrypt(&GateArray::from_bytes(&FILES.result, ()).unwrap()).unwrap(),
        [true, false, false]
    );
}

#[test]
fn truncation_anywhere_is_an_error() {
    for bytes in [&FILES.secret, &FILES.fresh, &FILES.result, &FILES.keys] {
        for end in (0..bytes.len())
            .filter(|end| *end < 400 || end % 100_003 == 0 || *end + 1 == bytes.len())
        {
            let mut cut = bytes[..end].to_vec();
            assert!(
                matches!(load(&cut), Err(Error::Format(FormatError::Truncated { .. }))),
                "{end}"
            );
            seal(&mut cut);
            assert!(
                matches!(load(&cut), Err(Error::Format(FormatError::Truncated { .. }))),
                "{end}"
            );
            assert!(inspect(&cut).is_err());
        }
        let mut long = bytes.clone();
        long.push(0);
        seal(&mut long);
        assert!(matches!(load(&long), Err(Error::Format(FormatError::Trailing { .. }))));
    }
}

#[test]
fn bits_flipped_under_a_valid_checksum_never_panic() {
    for bytes in [&FILES.secret, &FILES.fresh, &FILES.result] {
        for bit in (0..8 * bytes.len()).filter(|bit| *bit < 8 * 150 || bit % 611 == 0) {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(load(&bytes).is_err(), "the checksum counts {bit}");
            read_everything(&bytes);
        }
    }
}

/// Returns the error of a file with `new` bytes at the position `at`, under a valid checksum.
fn refused(bytes: &[u8], at: usize, new: &[u8]) -> String {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    seal(&mut bytes);
    match load(&bytes) {
        Err(Error::Format(error)) => error.to_string(),
        other => panic!("a format error is expected, not {other:?}"),
    }
}

#[test]
fn invalid_fields_are_named() {
    for (bytes, at, new, word) in [
        (&FILES.fresh, 56, &[2][..], "flags"),
        (&FILES.fresh, 16, &[0; 16], "digest"),
        (&FILES.fresh, 60, &[65], "axes"),
        (&FILES.fresh, 64, &1f64.to_le_bytes(), "noise"),
        (&FILES.result, 64, &0f64.to_le_bytes(), "noise"),
        (&FILES.result, 64, &20f64.to_le_bytes(), "noise"),
        (&FILES.result, 64, &f64::NAN.to_le_bytes(), "noise"),
        (&FILES.result, 72, &[0; 8], "no elements"),
        (&FILES.fresh, 72, &[255; 16], "shape"),
        (&FILES.fresh, 139, &[255], "last byte"),
        (&FILES.result, 80, &[255; 4], "residue"),
        (&FILES.secret, 56, &[1; 32], "key"),
    ] {
        let error = refused(bytes, at, new);
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn mistakes_are_named() {
    let (client, server) = (client(), &*SERVER);
    let x = client.encrypt(&[true, false], &[2]).unwrap();
    let y = client.encrypt(&[true], &[1]).unwrap();
    assert!(matches!(server.and(&x, &y), Err(Error::Shape { operation: "and", .. })));
    assert!(matches!(client.encrypt(&[true], &[2]), Err(Error::Shape { .. })));
    assert!(matches!(client.encrypt(&[], &[0]), Err(Error::Shape { .. })));
    assert!(matches!(server.gates(&[Gate::Xor], &[]), Err(Error::Argument { .. })));
    let error = server.gate(Gate::Majority, &[&x, &x]).unwrap_err();
    assert_eq!(error.kind(), "ArgumentError");
    assert_eq!(
        error.to_string(),
        "majority: 2 operands, but a majority needs three, a parity two or three, and \
         every other gate two"
    );
    assert!(matches!(
        server.gate_plain(Gate::Majority, &x, &[true, true]),
        Err(Error::Argument { .. })
    ));
    assert!(matches!(server.gate_plain(Gate::And, &x, &[true]), Err(Error::Shape { .. })));
    assert!(matches!(server.gather(&[&x], &[1], &[Some(2)]), Err(Error::Argument { .. })));
    assert!(matches!(server.gather(&[], &[1], &[None]), Err(Error::Argument { .. })));
    assert!(matches!(server.gather(&[&x], &[2], &[None]), Err(Error::Shape { .. })));

    let other = GateClient::generate().unwrap();
    let foreign = other.encrypt(&[true, true], &[2]).unwrap();
    assert!(matches!(other.decrypt(&x), Err(Error::KeyMismatch(_))));
    for result in [
        server.and(&x, &foreign),
        server.not(&foreign),
        server.select(&x, &foreign, &x),
        server.gate_plain(Gate::And, &foreign, &[true, true]),
        server.gather(&[&x, &foreign], &[1], &[Some(0)]),
    ] {
        assert!(matches!(result, Err(Error::KeyMismatch(_))));
    }
}

/// Decrypts the secret and both kinds of arrays by `docs/reference/wire-format.md` alone.
#[test]
fn an_independent_reader_decrypts_single_bits() {
    let q = prime(26, 1024);
    let ring = ring(1024, q);
    let (kind, digest, key, seed) = open(&FILES.secret);
    assert_eq!(kind, 17);
    assert_eq!(digest, fingerprint("hippocrene 2026-11 gates of single bits", b"gates10"));
    let derived: Vec<u8> =
        chacha20_from(seed, 1, 1 << 63).take(4).flat_map(u64::to_le_bytes).collect();
    assert_eq!(key, fingerprint("hippocrene 2026-11 LWE secret key fingerprint", &derived));
    let s = ring.secret(&derived);

    let width = bit_length(q);
    let residues = |bytes: &[u8], count: usize| -> Vec<u64> {
        assert_eq!(bytes.len(), (count * width).div_ceil(8));
        let bit = |k: usize| u64::from(bytes[k / 8] >> (k % 8) & 1);
        (0..count).map(|i| (0..width).map(|k| bit(i * width + k) << k).sum()).collect()
    };
    let check = |phase: u64, expected: bool| {
        let eighth = (q + 4) as i64 / 8;
        let off = centred(phase, q) - if expected { eighth } else { -eighth };
        assert!(off.abs() < eighth / 4, "{off}");
    };
    let (kind, same, of, mut payload) = open(&FILES.fresh);
    assert_eq!((kind, same, of), (19, digest, key));
    assert_eq!(
        (number(&mut payload, 4), number(&mut payload, 4), number(&mut payload, 8)),
        (1, 2, 0)
    );
    assert_eq!((number(&mut payload, 8), number(&mut payload, 8)), (2, 3));
    let c1 = ring.expand_nonce(take(&mut payload, 32), 0, q);
    let product = ring.coefficients(&multiply_add(&[0; 1024], &c1, &ring.values(&s, q), q), q);
    for ((c0, product), expected) in residues(payload, 6).into_iter().zip(product).zip(VALUES) {
        check((c0 as i64 + product).rem_euclid(q as i64) as u64, expected);
    }

    let (kind, _, of, mut payload) = open(&FILES.result);
    assert_eq!((kind, of), (19, key));
    assert_eq!((number(&mut payload, 4), number(&mut payload, 4)), (0, 1));
    take(&mut payload, 8);
    assert_eq!(number(&mut payload, 8), 3);
    for expected in [true, false, false] {
        let lwe = residues(take(&mut payload, (1025 * width).div_ceil(8)), 1025);
        let sum = lwe[1..].iter().zip(&s).map(|(a, s)| *a as i64 * s).sum::<i64>() + lwe[0] as i64;
        check(sum.rem_euclid(q as i64) as u64, expected);
    }
    assert!(payload.is_empty());
}

/// By `docs/reference/wire-format.md` alone, ciphertext `i` of fresh bits has the `c1` of
/// stream `i`, as values modulo `q`.
#[test]
fn an_independent_reader_decrypts_bits_of_several_ciphertexts() {
    let (q, bits) = (prime(26, 1024), (0..1030).map(|i| i % 7 < 3).collect::<Vec<bool>>());
    let ring = ring(1024, q);
    let [y, _] = secrets();
    let file = client().encrypt(&bits, &[bits.len()]).unwrap().to_bytes();
    let (_, _, _, mut payload) = open(&file);
    take(&mut payload, 24);
    let seed = take(&mut payload, 32);
    assert_eq!(payload.len(), (1030usize * 26).div_ceil(8));
    let bit = |k: usize| u64::from(payload[k / 8] >> (k % 8) & 1);
    let c0 = |i: usize| (0..26).map(|k| bit(i * 26 + k) << k).sum::<u64>();
    let values = ring.values(&y, q);
    for i in 0..2 {
        let c1 = ring.expand_nonce(seed, i as u64, q);
        let product = ring.coefficients(&multiply_add(&[0; 1024], &c1, &values, q), q);
        for (j, bit) in bits[1024 * i..].iter().take(1024).enumerate() {
            let phase = (c0(1024 * i + j) as i64 + product[j]).rem_euclid(q as i64) as u64;
            let message = if *bit { (q + 4) as i64 / 8 } else { -((q + 4) as i64 / 8) };
            assert!((centred(phase, q) - message).abs() < 40, "bit {j} of ciphertext {i}");
        }
    }
}

/// Returns the secret `y` of bits and the secret `z` of inputs as polynomials, by
/// `docs/reference/wire-format.md` alone.
fn secrets() -> [Vec<i64>; 2] {
    let (_, _, _, seed) = open(&FILES.secret);
    let [y, z] = [1, 2].map(|domain| -> Vec<u8> {
        chacha20_from(seed, domain, 1 << 63).take(4).flat_map(u64::to_le_bytes).collect()
    });
    let (_, _, _, keys) = open(&FILES.keys);
    assert_eq!(keys[..16], fingerprint("hippocrene 2026-11 LWE secret key fingerprint", &z));
    let ring = ring(1024, prime(26, 1024));
    let mut bits = ring.bits(&z);
    bits[720..].fill(0);
    [ring.secret(&y), bits]
}

/// Checks the message and the secret of each sample of the server's keys, by
/// `docs/reference/wire-format.md` alone.
#[test]
fn an_independent_reader_follows_the_keys_of_gates() {
    let [y, z] = secrets();
    let (p, q) = (prime(17, 1024), prime(26, 1024));
    let (small, large) = (ring(1024, p), ring(1024, q));
    let (kind, _, _, whole) = open(&FILES.keys);
    assert_eq!((kind, whole.len()), (18, 17_488 + 6480 * 26 * 1024 / 8));
    let phase = |set: &Set, payload: &mut &[u8], seed: &[u8], stream: u64, secret: &[u64]| {
        let modulus = set.factors[0];
        let b = set.unpack(payload, bit_length(modulus), modulus);
        let a = set.expand_nonce(seed, stream, modulus);
        set.coefficients(&multiply_add(&b, &a, secret, modulus), modulus)
    };

    let mut payload = &whole[16..];
    let seed = take(&mut payload, 32);
    let values = small.values(&z, p);
    for k in 0..8 {
        let got = phase(&small, &mut payload, seed, k, &values);
        let near = |(got, y): (&i64, &i64)| (got - (y << (1 + 2 * k))).abs() < 40;
        assert!(got.iter().zip(&y).all(near), "digit {k}");
    }

    assert_eq!(whole.len() - payload.len(), 17_456);
    let seed = take(&mut payload, 32);
    let (values, one) =
        (large.values(&y, q), (0..1024).map(|j| i64::from(j == 0)).collect::<Vec<_>>());
    let mut found = [false; 3];
    for (i, pair) in z[..720].chunks_exact(2).enumerate() {
        if i >= 8 && i != 359 {
            take(&mut payload, 18 * 26 * 1024 / 8);
            continue;
        }
        for row in 0..18 {
            let got = phase(&large, &mut payload, seed, (18 * i + row) as u64, &values);
            let bit = pair == [[1, 0], [0, 1], [1, 1]][row / 6];
            found[row / 6] |= bit;
            let weight = i64::from(bit) << (8 + 6 * (row % 3));
            let times = if row % 6 < 3 { &one } else { &y };
            let near = |(got, times): (&i64, &i64)| (got - weight * times).abs() < 40;
            assert!(got.iter().zip(times).all(near), "pair {i}, row {row}");
        }
    }
    assert!(payload.is_empty() && found.contains(&true));
}
