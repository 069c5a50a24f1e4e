//! Tests of files with a reader that is written from `docs/reference/wire-format.md` alone.

use crate::stranger::*;
use crate::wire_common::{for_tables, grafted, things};
use hippocrene::{ClientKey, EvaluationKeys, KeyRequest, LookUps, Server, Stored};
use hippocrene_rlwe::{self as rlwe, Modulus, SecretKey};

#[test]
fn an_independent_reader_decrypts_arrays() {
    for log_degree in [4, 6, 7] {
        let things = things(log_degree);
        let (set, s) = read_secret(&things.client.to_bytes());
        assert_eq!((set.degree, set.precision), (1 << log_degree, things.fresh.precision()));
        for array in [&things.fresh, &things.product] {
            let (shape, elements) = decrypt(&array.to_bytes(), &set, &s);
            assert_eq!(shape, array.shape());
            let expected = things.client.decrypt(array).unwrap();
            assert_eq!(elements.len(), expected.len());
            for (have, need) in elements.iter().zip(&expected) {
                assert!((have - need).abs() < 1e-10, "{have} {need}");
            }
        }
        for array in [&things.integers, &things.squares] {
            let (shape, elements) = decrypt_integers(&array.to_bytes(), &set, &s);
            assert_eq!(shape, array.shape());
            assert_eq!(elements, things.client.decrypt_integers(array).unwrap());
        }
        for array in [&things.bits, &things.nots] {
            let (shape, elements) = decrypt_bits(&array.to_bytes(), &set, &s);
            assert_eq!(shape, array.shape());
            assert_eq!(elements, things.client.decrypt_bits(array).unwrap());
        }
        assert_eq!(
            decrypt_bits(&things.nots.to_bytes(), &set, &s).1,
            [false, true, true, false, true, false]
        );
        let integers = decrypt_integers(&things.integers.to_bytes(), &set, &s).1;
        assert_eq!(integers[..2], [61_074, 61_075]); // -70000, -69999
        assert!((decrypt(&things.fresh.to_bytes(), &set, &s).1[3] + 0.625).abs() < 1e-6);
        assert!((decrypt(&things.product.to_bytes(), &set, &s).1[3] - 9.0).abs() < 1e-6);
    }
}

/// The product follows notes, and no other array does.
#[test]
fn an_independent_reader_finds_the_notes_that_arrays_follow() {
    let things = things(4);
    let (set, s) = read_secret(&things.client.to_bytes());
    let notes = |file: &[u8]| read_array(file, &set, &s, 28, 1).notes;
    assert_eq!(notes(&things.fresh.to_bytes()), None);
    let context = "hippocrene 2026-11 notes of an interface";
    assert_eq!(notes(&things.product.to_bytes()), Some(fingerprint(context, b"in metres")));
}

/// The moduli contain both odd primes of the sprout, either of them, or none, with different powers
/// of two.
#[test]
fn an_independent_reader_decrypts_arrays_of_grafted_moduli() {
    let client = ClientKey::generate_with(grafted(5), 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let (set, s) = read_secret(&client.to_bytes());
    assert_eq!(set.odd.len(), 2);
    let values: Vec<f64> = (0..set.degree / 2 + 3).map(|i| i as f64 / 8.0 - 1.0).collect();
    let mut array = client.encrypt(&values, &[values.len()]).unwrap();
    let mut sprouts = Vec::new();
    for step in 0..6 {
        if step > 0 {
            array = server.mul_plain(&array, &vec![0.5; values.len()][..]).unwrap();
        }
        let bytes = array.to_bytes();
        let (shape, elements) = decrypt(&bytes, &set, &s);
        assert_eq!(shape, [values.len()]);
        for (have, need) in elements.iter().zip(&client.decrypt(&array).unwrap()) {
            assert!((have - need).abs() < 1e-10, "step {step}: {have} {need}");
        }
        assert!((elements[3] - values[3] * 0.5f64.powi(step)).abs() < 1e-6, "step {step}");
        sprouts.extend(read_array(&bytes, &set, &s, 28, 1).messages.iter().map(|m| m.sprout));
    }
    for (what, found) in [
        ("both primes", sprouts.iter().any(|(mask, _)| *mask == 3)),
        ("the first", sprouts.iter().any(|(mask, _)| *mask == 1)),
        ("the second", sprouts.iter().any(|(mask, _)| *mask == 2)),
        ("powers of two", sprouts.iter().any(|(_, two)| *two > 1)),
    ] {
        assert!(found, "{what}: {sprouts:?}");
    }
}

#[test]
fn an_independent_reader_checks_keys_with_the_secret() {
    let things = things(6);
    let (set, s) = read_secret(&things.client.to_bytes());
    let small = |values: &[u64], factor: usize| {
        set.coefficients(values, set.factors[factor]).iter().all(|e| e.abs() < 40)
    };

    let bytes = things.public.to_bytes();
    let (kind, digest, _, mut payload) = open(&bytes);
    let (read, computed) = Set::read(&mut payload);
    assert_eq!((kind, digest), (3, &computed[..]));
    assert_eq!(read.factors, set.factors);
    let seed = take(&mut payload, 32);
    let b = set.polynomial(&mut payload, set.units);
    for (i, b) in b.iter().enumerate() {
        let q = set.factors[i];
        let sample = multiply_add(b, &set.expand(seed, 0, i, q), &set.values(&s, q), q);
        assert!(small(&sample, i) && !small(b, i), "limb {i}");
    }
    assert!(payload.is_empty());

    let bytes = things.keys.to_bytes();
    let (kind, _, _, mut payload) = open(&bytes);
    Set::read(&mut payload);
    let (flags, count) = (number(&mut payload, 4), number(&mut payload, 4));
    let elements: Vec<u64> = (0..count).map(|_| number(&mut payload, 4) as u64).collect();
    // The rotations by 1 and by -2 = 30, and conjugation.
    assert_eq!((kind, flags), (4, 1));
    let mut expected = [5, (0..30).fold(1, |p, _| p * 5 % 128), 127];
    expected.sort_unstable();
    assert_eq!(elements, expected);
    let moduli: Vec<Vec<usize>> = (0..1 + count)
        .map(|_| {
            let positions = number(&mut payload, 16);
            assert_eq!(number(&mut payload, 2), 0, "there is no sprout");
            (0..128).filter(|i| positions >> i & 1 == 1).collect()
        })
        .collect();
    // The key of the rotation by -2 has two of the three units.
    let smaller = 1 + elements.iter().position(|g| ![5, 127].contains(g)).unwrap();
    for (i, modulus) in moduli.iter().enumerate() {
        assert_eq!(*modulus, if i == smaller { vec![0, 1, 3] } else { vec![0, 1, 2, 3] });
    }
    let group = set.units.div_ceil(set.rank);
    // No Galois element is 1, so 1 denotes the relinearisation key here.
    for (element, modulus) in std::iter::once(1).chain(elements).zip(moduli) {
        let seed = take(&mut payload, 32);
        let target = set.rotated(&s, element);
        let units = modulus.iter().filter(|i| **i < set.units).count();
        for d in 0..units.div_ceil(group) {
            for &i in &modulus {
                let q = set.factors[i];
                let b = set.unpack(&mut payload, bit_length(q), q);
                let secret = set.values(&s, q);
                let a = set.expand(seed, d as u64, i, q);
                let mut sample = multiply_add(&b, &a, &set.values(&target, q), q);
                if i < set.units && i / group == d {
                    let p = set.factors[set.units..].iter().fold(1, |p, f| mul(p, f % q, q));
                    let from = match element {
                        1 => multiply_add(&vec![0; secret.len()], &secret, &secret, q),
                        _ => secret,
                    };
                    sample = multiply_add(&sample, &from, &vec![q - p; from.len()], q);
                }
                assert!(small(&sample, i), "element {element}, group {d}, limb {i}");
            }
        }
    }
    assert!(payload.is_empty());
}

/// The widths of residues in a key are those of its own modulus, not those of `PQ`.
#[test]
fn an_independent_reader_reads_keys_with_a_part_of_the_sprout() {
    let client = ClientKey::generate_with(grafted(5), 1).unwrap();
    let context = client.session().context().rlwe();
    let secret = SecretKey::from_seed(context, client.seed().clone()).unwrap();
    let mut keys = rlwe::EvaluationKeys::empty(context, client.fingerprint());
    let (units, two) = (Modulus::of_range(0..2), context.parameters().literal().sprout.two as u8);
    let parts = [Modulus::of_sprout(0b01, 0), Modulus::of_sprout(0b10, two - 3)];
    for (rotation, part) in [1, 2].into_iter().zip(parts) {
        keys.add_rotations_at(context, &secret, [rotation], units.lcm(part)).unwrap();
    }
    let keys = EvaluationKeys::new(client.session().clone(), keys);
    let read = EvaluationKeys::from_bytes_insecure(&keys.to_bytes(), 1).unwrap();
    assert_eq!(read.to_bytes(), keys.to_bytes());

    let (set, s) = read_secret(&client.to_bytes());
    let bytes = keys.to_bytes();
    let (_, _, _, mut payload) = open(&bytes);
    Set::read(&mut payload);
    assert_eq!((number(&mut payload, 4), number(&mut payload, 4)), (0, 2));
    let elements = [(); 2].map(|()| number(&mut payload, 4) as u64);
    assert_eq!(elements, [5, 25]);
    let moduli = elements.map(|_| modulus(&mut payload));
    let all = (1 << set.odd.len()) - 1;
    assert!(moduli.iter().all(|(_, mask, two)| *mask != all && *two < set.two), "{moduli:?}");
    assert_eq!(payload.len(), moduli.iter().map(|modulus| set.key_bytes(*modulus)).sum::<usize>());
    for (element, (positions, mask, two)) in elements.into_iter().zip(moduli) {
        let seed = take(&mut payload, 32);
        let target = set.rotated(&s, element);
        let groups = set.groups().into_iter().enumerate();
        for (d, group) in groups.filter(|(_, group)| group & positions != 0) {
            for i in (0..128).filter(|i| positions >> i & 1 == 1) {
                let q = set.factor(i, mask, two);
                let b = set.unpack(&mut payload, bit_length(q), q);
                if group >> i & 1 == 1 {
                    continue; // at these positions it holds the secret too
                }
                let a = set.expand(seed, d as u64, i, q);
                for (q, errors) in set.message(&[&b, &a], &target, i, (mask, q), 1) {
                    assert!(q > 1000, "{q}");
                    let small = errors.iter().all(|e| e.abs() < 40);
                    assert!(small, "element {element}, group {d}, position {i}, modulo {q}");
                }
            }
        }
    }
    assert!(payload.is_empty());
}

#[test]
fn an_independent_reader_reads_the_plan_of_a_bootstrap() {
    let things = things(6);
    let (set, _) = read_secret(&things.client.to_bytes());
    let bytes = things.bootstrapping.to_bytes();
    let (kind, _, _, mut payload) = open(&bytes);
    Set::read(&mut payload);
    assert_eq!((kind, number(&mut payload, 4), number(&mut payload, 4)), (4, 2, 0));
    assert_eq!(float(&mut payload), 20.125);
    assert_eq!((number(&mut payload, 4), number(&mut payload, 4)), (1, 5));
    assert_eq!((float(&mut payload), float(&mut payload)), (2.0, 48.0));
    assert_eq!((number(&mut payload, 16), number(&mut payload, 2)), (1, 0));
    assert_eq!(number(&mut payload, 4), 8);
    let special = number(&mut payload, 8) as u64;
    assert_eq!((bit_length(special), special % (2 * set.degree)), (61, 1));
    assert_eq!([(); 3].map(|()| float(&mut payload)), [52.0, 40.0, 0.0]);
    assert_eq!([(); 6].map(|()| number(&mut payload, 4)), [2, 1, 17, 2, 4, 4]);
    assert_eq!((float(&mut payload), float(&mut payload)), (0.0078125, 1e-9));
    // The key from the sparse secret has two units and the one special.
    assert_eq!((number(&mut payload, 16), number(&mut payload, 2)), (0b1011, 0));
    assert_eq!(float(&mut payload), 20.125);
    let levels = [(); 3].map(|()| (number(&mut payload, 4), float(&mut payload)));
    assert_eq!(levels, [(4, 45.0), (1, 46.0), (5, 30.5)]);
    assert_eq!([(); 8].map(|()| float(&mut payload)), [0.5, -0.25, 0.0, 0.125, 0.0, 1.0, 0.0, 0.5]);
    // The key to the sparse secret has one digit modulo q0 and the special. The other has the
    // digits of two units.
    let digits = 2usize.div_ceil(set.units.div_ceil(set.rank));
    let limb = |factor: u64| set.degree as usize * bit_length(factor) / 8;
    let up: usize = [0, 1, 3].iter().map(|i| limb(set.factors[*i])).sum();
    assert_eq!(payload.len(), 32 + limb(set.factors[0]) + limb(special) + 32 + digits * up);
}

#[test]
fn an_independent_reader_reads_the_plan_of_gates() {
    let things = things(6);
    let (set, _) = read_secret(&things.client.to_bytes());
    let bytes = things.gates.to_bytes();
    let (kind, _, _, mut payload) = open(&bytes);
    Set::read(&mut payload);
    assert_eq!((kind, number(&mut payload, 4), number(&mut payload, 4)), (4, 8, 0));
    assert_eq!((number(&mut payload, 4), float(&mut payload)), (3, 48.0));
    assert_eq!((number(&mut payload, 16), number(&mut payload, 2)), (1, 0));
    assert_eq!(number(&mut payload, 4), 8);
    let special = number(&mut payload, 8) as u64;
    assert_eq!((bit_length(special), special % (2 * set.degree)), (61, 1));
    assert_eq!([(); 2].map(|()| float(&mut payload)), [32.25, 5.0]);
    assert_eq!((number(&mut payload, 4), float(&mut payload)), (23, 66.0));
    assert_eq!([(); 5].map(|()| number(&mut payload, 4)), [2, 1, 17, 3, 3]);
    assert_eq!(float(&mut payload), 1e-9);
    assert_eq!((number(&mut payload, 16), number(&mut payload, 2)), (0b1011, 0));
    let levels = [(); 3].map(|()| (number(&mut payload, 4), float(&mut payload)));
    assert_eq!(levels, [(4, 26.5), (1, 26.5), (5, 13.0)]);
    assert_eq!([(); 3].map(|()| float(&mut payload)), [0.5, 0.0, 0.125]);
    let digits = 2usize.div_ceil(set.units.div_ceil(set.rank));
    let limb = |factor: u64| set.degree as usize * bit_length(factor) / 8;
    let up: usize = [0, 1, 3].iter().map(|i| limb(set.factors[*i])).sum();
    assert_eq!(payload.len(), 32 + limb(set.factors[0]) + limb(special) + 32 + digits * up);
}

#[test]
fn an_independent_reader_checks_a_transfer_key() {
    let things = things(6);
    let (set, s) = read_secret(&things.client.to_bytes());
    let (narrow, second) = read_secret(&things.second.to_bytes());
    assert!(narrow.factors.len() < set.factors.len() && narrow.factors[..2] == set.factors[..2]);

    let bytes = things.transfer.to_bytes();
    let (kind, digest, _, mut payload) = open(&bytes);
    let (read, computed) = Set::read(&mut payload);
    assert_eq!((kind, digest), (6, &computed[..]));
    assert_eq!(read.factors, set.factors);
    let (of_second, secret) = (things.second.to_bytes(), things.second.fingerprint());
    assert_eq!(take(&mut payload, 16), open(&of_second).1);
    assert_eq!(take(&mut payload, 16), secret.as_bytes());
    let seed = take(&mut payload, 32);
    let group = set.units.div_ceil(set.rank);
    for d in 0..set.units.div_ceil(group) {
        let b = set.polynomial(&mut payload, set.factors.len());
        for (i, b) in b.iter().enumerate() {
            let q = set.factors[i];
            let mut sample =
                multiply_add(b, &set.expand(seed, d as u64, i, q), &set.values(&second, q), q);
            if i < set.units && i / group == d {
                let p = set.factors[set.units..].iter().fold(1, |p, f| mul(p, f % q, q));
                sample = multiply_add(&sample, &set.values(&s, q), &vec![q - p; s.len()], q);
            }
            assert!(
                set.coefficients(&sample, q).iter().all(|e| e.abs() < 40),
                "group {d}, limb {i}"
            );
        }
    }
    assert!(payload.is_empty());
}

/// Returns the coefficients of `b + a z` of the next sample of a key.
fn sample(payload: &mut &[u8], ring: &Set, (seed, stream): (&[u8], u64), z: &[u64]) -> Vec<i64> {
    let q = ring.factors[0];
    let b = ring.unpack(payload, bit_length(q), q);
    ring.coefficients(&multiply_add(&b, &ring.expand_nonce(seed, stream, q), z, q), q)
}

/// Checks a key that switches from a secret to `z`, and returns the coefficients of that secret.
///
/// If the secret is not given, it is read off the key.
fn switching_key(
    payload: &mut &[u8],
    ring: &Set,
    z: &[u64],
    from: usize,
    secret: Option<&[i64]>,
) -> Vec<i64> {
    let (seed, strides) = (take(payload, 32), from / ring.degree as usize);
    let mut found = vec![0; from];
    for v in 0..strides {
        // The samples of the last digit have the largest weight.
        let digits: Vec<Vec<i64>> =
            (0..12).map(|k| sample(payload, ring, (seed, (12 * v + k) as u64), z)).collect();
        for l in 0..ring.degree as usize {
            let weight = |k: usize| 1i64 << (25 - 24 + 2 * k);
            let s = secret.map_or((digits[11][l] as f64 / weight(11) as f64).round() as i64, |s| {
                s[v + strides * l]
            });
            assert!(s.abs() <= 1);
            found[v + strides * l] = s;
            for (k, digit) in digits.iter().enumerate() {
                assert!(
                    (digit[l] - weight(k) * s).abs() < 40,
                    "sample {v}, digit {k}, coefficient {l}"
                );
            }
        }
    }
    found
}

/// Finds the secrets of look-ups, which are in no file.
///
/// The repacking key is an encryption of the first secret, which leads to the second.
#[test]
fn an_independent_reader_follows_the_keys_of_look_up_tables() {
    let client = ClientKey::generate_with(for_tables(), 2).unwrap();
    let asked = LookUps { tables: "lut11", capacity: Some(20.5), clusters: None };
    let request = KeyRequest { look_ups: Some(asked), ..KeyRequest::only([]) };
    let bytes = client.evaluation_keys(&request).unwrap().to_bytes();
    let (set, s) = read_secret(&client.to_bytes());
    let (kind, _, _, mut payload) = open(&bytes);
    Set::read(&mut payload);
    assert_eq!((kind, number(&mut payload, 4)), (4, 1 + 4));
    let keys = 1 + number(&mut payload, 4) as usize;
    take(&mut payload, 4 * (keys - 1));
    let moduli: Vec<_> = (0..keys).map(|_| modulus(&mut payload)).collect();
    take(&mut payload, moduli.iter().map(|modulus| set.key_bytes(*modulus)).sum());

    assert_eq!((number(&mut payload, 4), float(&mut payload)), (4, 20.5));
    take(&mut payload, 32);
    let repacking = modulus(&mut payload);
    // The end of the file is needed first. It holds c0 at the first position, which is the first
    // unit, and then at the others.
    let whole = set.poly_bytes(set.with_whole_sprout(repacking));
    let mut last = &payload[payload.len() - 32 - whole..];
    let seed = take(&mut last, 32);
    let q0 = set.factors[0];
    let c0 = set.unpack(&mut last, bit_length(q0), q0);
    let m = multiply_add(&c0, &set.expand(seed, 0, 0, q0), &set.values(&s, q0), q0);
    let m = Message {
        coefficients: set.coefficients(&m, q0),
        factors: vec![q0],
        sprout: (0, 0),
        own: Vec::new(),
    };
    let z: Vec<i64> =
        m.values(set.degree).iter().map(|x| (x.re / 2f64.powi(38)).round() as i64).collect();
    assert!(z.len() == 1024 && z.iter().all(|z| (0..=1).contains(z)));

    let (p, q) = (prime(25, 1024), prime(48, 2048));
    let (small, large) = (ring(1024, p), ring(2048, q));
    let values = small.values(&z, p);
    assert_eq!(switching_key(&mut payload, &small, &values, 2048, Some(&s)), s);
    let mut tables = payload;
    take(&mut payload, 32 + 512 * 12 * 2048 * 48 / 8);
    let y = switching_key(&mut payload, &small, &values, 2048, None);
    assert_eq!(payload.len(), 32 + whole);

    let seed = take(&mut tables, 32);
    let (values, one) =
        (large.values(&y, q), (0..2048).map(|j| i64::from(j == 0)).collect::<Vec<_>>());
    for (i, pair) in z.chunks_exact(2).enumerate() {
        if ![0, 1, 2, 3, 255, 511].contains(&i) {
            take(&mut tables, 12 * 2048 * 48 / 8);
            continue;
        }
        for row in 0..12 {
            let got = sample(&mut tables, &large, (seed, (12 * i + row) as u64), &values);
            let m = i64::from(pair == [[1, 0], [0, 1], [1, 1]][row / 4]);
            let weight = 1i64 << (18 + 15 * (row % 2));
            let times = if row % 4 < 2 { &one } else { &y };
            for (got, times) in got.iter().zip(times) {
                assert!((got - m * weight * times).abs() < 40, "pair {i}, row {row}");
            }
        }
    }
}

/// Reads the files of the corpus. They hold two rows of two features, with ranges 0 to 10 and -1 to
/// 1. The output is whether the second feature is above 1/2.
#[test]
fn an_independent_client_queries_decision_trees() {
    let file = |name: &str| {
        std::fs::read(format!("{}/tests/corpus/{name}.hpc", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    let (owner, query, reply) = (file("owner"), file("query"), file("reply"));
    let two_r = 4096;
    let ring = ring(1024, prime(25, 1024));
    let (kind, digest, key, seed) = open(&owner);
    assert_eq!(kind, 9);
    assert_eq!(digest, fingerprint("hippocrene 2026-11-24 tables of decision trees", b"lut11"));
    let derived: Vec<u8> =
        chacha20_from(seed, 0, 1 << 63).take(4).flat_map(u64::to_le_bytes).collect();
    assert_eq!(key, fingerprint("hippocrene 2026-11 LWE secret key fingerprint", &derived));
    let z = ring.bits(&derived);

    // Unpacks residues of `bits` bits each.
    let residues = |bytes: &[u8], count: usize, bits: usize| -> Vec<u64> {
        assert_eq!(bytes.len(), (count * bits).div_ceil(8));
        let bit = |k: usize| u64::from(bytes[k / 8] >> (k % 8) & 1);
        (0..count).map(|i| (0..bits).map(|k| bit(i * bits + k) << k).sum()).collect()
    };
    let (kind, same, of, mut payload) = open(&query);
    assert_eq!((kind, same, of), (14, digest, key));
    assert_eq!((number(&mut payload, 4), number(&mut payload, 4)), (2, 2));
    let mut interface = digest.to_vec();
    interface.extend(2u32.to_le_bytes());
    for (low, high) in [(0.0f64, 10.0f64), (-1.0, 1.0)] {
        interface.extend(2u32.to_le_bytes());
        interface.extend([low, high].map(f64::to_le_bytes).concat());
    }
    interface.extend(b"of the corpus");
    let interface = fingerprint("hippocrene 2026-11 interface of decision trees", &interface);
    assert_eq!(take(&mut payload, 16), interface);
    let seed = take(&mut payload, 32);
    let c0 = residues(payload, 4 * 5, 12);
    let c1 = ring.expand_nonce(seed, 0, two_r);
    let product = multiply_add_two(&vec![0; 1024], &c1, &z);
    for (i, (feature, low, high)) in
        [(2.5, 0.0, 10.0), (0.25, -1.0, 1.0), (7.5, 0.0, 10.0), (0.75, -1.0, 1.0)]
            .into_iter()
            .enumerate()
    {
        for digit in 0..5 {
            let number = 5 * i + digit;
            let m = c0[number].wrapping_add(product[number]) % two_r;
            let guard = if digit == 0 { 64.0 } else { 0.0 };
            let share = (feature - low) / (high - low);
            let position = guard + 1920.0 * 43f64.powi(digit as i32) * share;
            let expected = position.round().rem_euclid(two_r as f64) as u64;
            let off = centred((m + two_r - expected) % two_r, two_r);
            assert!(off.abs() < 15, "digit {digit} of number {i}: {m} instead of {expected}");
        }
    }

    let (kind, same, of, mut payload) = open(&reply);
    assert_eq!((kind, same, of), (15, digest, key));
    assert_eq!((number(&mut payload, 4), number(&mut payload, 4)), (1, 2));
    assert_eq!(take(&mut payload, 16), interface);
    let (span, modulus, middle) =
        (float(&mut payload), number(&mut payload, 8) as u64, float(&mut payload));
    let bits = bit_length(modulus);
    for expected in [0.0, 1.0] {
        let lwe = residues(take(&mut payload, (1025 * bits).div_ceil(8)), 1025, bits);
        let sum = lwe[1..].iter().zip(&z).map(|(a, z)| *a as i64 * z).sum::<i64>() + lwe[0] as i64;
        let m = centred(sum.rem_euclid(modulus as i64) as u64, modulus);
        let output = middle + span * m as f64 / modulus as f64;
        assert!((output - expected).abs() < 0.5, "{output} instead of {expected}");
    }
    assert!(payload.is_empty());
}

/// Reads the CBOR of a program or an interface.
fn read_body(file: &[u8], kind: u8) -> Cbor {
    let (have, digest, key, mut payload) = open(file);
    let (_, computed) = Set::read(&mut payload);
    assert_eq!((have, digest, key), (kind, &computed[..], &[0; 16][..]));
    assert_eq!(number(&mut payload, 8) as usize, payload.len());
    let body = Cbor::read(&mut payload);
    assert!(payload.is_empty());
    body
}

#[test]
fn an_independent_reader_runs_a_program_on_plain_integers() {
    let program = things(5).program;
    let body = read_body(&program.to_bytes(), 20);
    assert_eq!(body.names(), ["interface", "graph", "steps", "cost", "composes_rotations"]);
    assert_eq!(read_body(&program.interface().to_bytes(), 21), *body.get("interface"));

    let interface = body.get("interface");
    assert_eq!(interface.names(), ["inputs", "parameters", "results", "keys", "notes"]);
    let [input] = interface.get("inputs").list() else { panic!("one input") };
    let spec = input.get("spec");
    assert_eq!((input.get("name").text(), spec.get("kind").text()), ("x", "integers"));
    assert_eq!(spec.get("shape").integers(), [2, 3]);
    assert_eq!(spec.get("interval").list(), [Cbor::Float(-9.0), Cbor::Float(9.0)]);
    let (results, names) = interface.get("results").case();
    let names: Vec<&str> = names.list().iter().map(Cbor::text).collect();
    assert_eq!((results, &names[..]), ("named", &["moved", "weighted"][..]));
    let keys = interface.get("keys");
    let need = ["relinearisation", "rotations", "conjugation", "bootstrapping", "bits"];
    assert_eq!(keys.names(), need);
    assert_eq!(keys.get("bootstrapping"), &Cbor::Null);

    let notes = interface.get("notes");
    assert_eq!(notes.names(), ["inputs", "results"]);
    assert_eq!(notes.get("inputs").text(), "in metres");
    assert_eq!(notes.get("results").text(), "in inches");

    let graph = body.get("graph");
    assert_eq!(graph.names(), ["inputs", "steps", "outputs"]);
    assert_eq!(graph.get("inputs").list(), std::slice::from_ref(spec));
    let mut values: Vec<Vec<i64>> = vec![vec![4, -9, 0, 7, 5, 1]];
    for (step, report) in graph.get("steps").list().iter().zip(body.get("steps").list()) {
        let fields = ["operation", "inputs", "results", "policy", "decisions", "rests_on_sample"];
        assert_eq!(step.names(), fields);
        let fields = ["precision", "finishing", "capacity", "distance", "extra_function_bits"];
        assert_eq!(step.get("policy").names(), fields);
        let fields = [
            "operation",
            "inputs",
            "results",
            "seconds",
            "bootstraps",
            "capacity_bits",
            "precision_bits",
            "error_bound",
            "jumps",
            "rests_on_sample",
        ];
        assert_eq!(report.names(), fields);
        assert_eq!(report.get("inputs"), step.get("inputs"));
        let [from] = step.get("inputs").integers()[..] else { panic!("one operand") };
        let from = &values[from as usize];
        let result = match step.get("operation").case() {
            ("Gather", operation) => {
                let places = operation.get("places").list().iter();
                places
                    .map(|place| match place {
                        Cbor::Null => 0,
                        place => from[place.integer() as usize],
                    })
                    .collect()
            }
            ("MulPlain", operation) => {
                let (kind, weights) = operation.case();
                assert_eq!(kind, "Integers");
                from.iter().zip(weights.integers()).map(|(x, weight)| x * weight).collect()
            }
            (name, _) => panic!("no operation {name}"),
        };
        values.push(result);
    }
    let outputs = graph.get("outputs").integers();
    let outputs = outputs.iter().map(|value| &values[*value as usize][..]);
    assert_eq!(outputs.collect::<Vec<_>>(), [&[5, 0, 4][..], &[10, 0, 20]]);
    let cost = body.get("cost");
    let fields = [
        "seconds",
        "first_seconds",
        "peak_memory",
        "key_bytes",
        "bootstraps",
        "log2_failure_probability",
        "precision_bits",
        "error_bound",
        "placement_gap",
    ];
    assert_eq!(cost.names(), fields);
    assert_eq!(cost.get("error_bound"), &Cbor::Null);
    assert_eq!(cost.get("bootstraps").integer(), 0);
}
