//! Tests of arrays of bits, with small insecure parameters.

use std::sync::Arc;

use crate::common::insecure_bits;
use hippocrene::{
    BitArray, BitServer, CiphertextBody, ClientKey, Error, EvaluationKeys, KeyRequest, Server,
    Stored,
};
use hippocrene_ckks::bits::{BitPacking, BitPlan, Gate};
use hippocrene_ring::sample::Seed;

struct Setup {
    client: ClientKey,
    plan: Arc<BitPlan>,
    server: BitServer,
}

/// A client with the settings of [`insecure_bits`].
fn client(seed: u8) -> ClientKey {
    let (settings, _) = insecure_bits(BitPacking::Real, true, None);
    ClientKey::from_seed(settings, Seed::from_bytes([seed; 32]), 1).unwrap()
}

fn setup(packing: BitPacking, clean: bool, output_bits: Option<f64>) -> Setup {
    let (client, (_, literal)) = (client(1), insecure_bits(packing, clean, output_bits));
    let plan = client.bit_plan(literal.clone()).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::bits(literal)).unwrap()).unwrap();
    let server = server.bits().unwrap().clone();
    Setup { client, plan, server }
}

impl Setup {
    fn encrypt(&self, bits: &[bool]) -> BitArray {
        self.client.encrypt_bits(&self.plan, bits, &[bits.len()]).unwrap()
    }

    fn decrypt(&self, a: &BitArray) -> Vec<bool> {
        self.client.decrypt_bits(a).unwrap()
    }

    /// Encrypts bit `k` of each number, for every `k` below `bits`.
    fn slices(&self, numbers: &[u32], bits: usize) -> Vec<BitArray> {
        let slice = |k: usize| numbers.iter().map(|x| x >> k & 1 == 1).collect::<Vec<_>>();
        (0..bits).map(|k| self.encrypt(&slice(k))).collect()
    }
}

fn bits(count: usize, seed: u64) -> Vec<bool> {
    let mut state = seed * 2 + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 63 == 1
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn gates_match_plain_gates() {
    for packing in [BitPacking::Real, BitPacking::Complex] {
        let s = setup(packing, true, Some(66.0));
        // Three ciphertexts; the last one is only partly filled.
        let count = 2 * s.plan.capacity() + 5;
        let plain: Vec<Vec<bool>> = (0..3).map(|seed| bits(count, seed)).collect();
        let a: Vec<BitArray> = plain.iter().map(|bits| s.encrypt(bits)).collect();
        assert_eq!((a[0].shape(), a[0].size(), a[0].bodies().len()), (&[count][..], count, 3));
        assert_eq!(s.decrypt(&a[0]), plain[0]);
        let expected = |gate: Gate, operands: usize| -> Vec<bool> {
            let ones = |i: usize| plain[..operands].iter().filter(|bits| bits[i]).count();
            (0..count).map(|i| gate.value(ones(i), operands)).collect()
        };
        let (x, y) = (&a[0], &a[1]);
        let all = [
            (s.server.and(x, y), Gate::And),
            (s.server.or(x, y), Gate::Or),
            (s.server.xor(x, y), Gate::Xor),
            (s.server.nand(x, y), Gate::Nand),
            (s.server.nor(x, y), Gate::Nor),
            (s.server.xnor(x, y), Gate::Xnor),
        ];
        for (result, gate) in all {
            assert_eq!(s.decrypt(&result.unwrap()), expected(gate, 2), "{gate:?}");
        }
        let not: Vec<bool> = plain[0].iter().map(|bit| !bit).collect();
        assert_eq!(s.decrypt(&s.server.not(x).unwrap()), not);
        let before = s.server.bootstraps();
        let adder = s.server.gates(&[Gate::Xor, Gate::Majority], &[x, y, &a[2]]).unwrap();
        assert_eq!(s.server.bootstraps(), before + 3);
        for (sum, gate) in adder.iter().zip([Gate::Xor, Gate::Majority]) {
            assert_eq!(s.decrypt(sum), expected(gate, 3), "{gate:?}");
        }
        let public = &plain[1];
        for gate in [Gate::And, Gate::Or, Gate::Xor, Gate::Nand, Gate::Nor, Gate::Xnor] {
            let result = s.server.gate_plain(gate, x, public).unwrap();
            assert_eq!(s.decrypt(&result), expected(gate, 2), "{gate:?} of plain bits");
        }
        let before = s.server.bootstraps();
        for (gate, same) in
            [(Gate::And, true), (Gate::And, false), (Gate::Xor, true), (Gate::Nor, true)]
        {
            let result = s.server.gate_plain(gate, x, &vec![same; count]).unwrap();
            let expected: Vec<bool> = plain[0]
                .iter()
                .map(|bit| gate.value(usize::from(*bit) + usize::from(same), 2))
                .collect();
            assert_eq!(s.decrypt(&result), expected, "{gate:?} of one plain bit");
        }
        assert_eq!(s.server.bootstraps(), before);
        let chosen = s.server.select(x, y, &a[2]).unwrap();
        let choice: Vec<bool> =
            (0..count).map(|i| if plain[0][i] { plain[1][i] } else { plain[2][i] }).collect();
        assert_eq!(s.decrypt(&chosen), choice);
    }
}

#[test]
fn numbers_in_bit_slices_are_added_and_compared() {
    const BITS: usize = 8;
    let s = setup(BitPacking::Real, true, Some(66.0));
    let numbers =
        |factor: u32| (0..s.plan.capacity() as u32).map(move |i| i * factor % 256).collect();
    let (x, y): (Vec<u32>, Vec<u32>) = (numbers(57), numbers(201));
    let (a, b) = (s.slices(&x, BITS), s.slices(&y, BITS));
    let server = &s.server;
    let mut sum = vec![server.xor(&a[0], &b[0]).unwrap()];
    let mut carry = server.and(&a[0], &b[0]).unwrap();
    // x > y is the carry of x + not y.
    let mut greater = server.and(&a[0], &server.not(&b[0]).unwrap()).unwrap();
    for (a, b) in a.iter().zip(&b).skip(1) {
        sum.push(server.gate(Gate::Xor, &[a, b, &carry]).unwrap());
        carry = server.gate(Gate::Majority, &[a, b, &carry]).unwrap();
        greater = server.gate(Gate::Majority, &[a, &server.not(b).unwrap(), &greater]).unwrap();
    }
    sum.push(carry);
    let slices: Vec<Vec<bool>> = sum.iter().map(|bits| s.decrypt(bits)).collect();
    let greater = s.decrypt(&greater);
    for i in 0..x.len() {
        let have: u32 = slices.iter().enumerate().map(|(k, bits)| u32::from(bits[i]) << k).sum();
        assert_eq!((have, greater[i]), (x[i] + y[i], x[i] > y[i]), "{} {}", x[i], y[i]);
    }
}

/// Without cleaning, each NAND multiplies the error of the bits by 1.6.
///
/// When a refresh is due, a NAND takes two bootstraps.
#[test]
fn gates_have_no_depth_limit() {
    let s = setup(BitPacking::Real, false, Some(66.0));
    let mut plain = bits(s.plan.capacity(), 7);
    let mut a = s.encrypt(&plain);
    for _ in 0..60 {
        a = s.server.nand(&a, &a).unwrap();
        plain.iter_mut().for_each(|bit| *bit = !*bit);
        assert!(a.error() < 0.2);
    }
    assert_eq!(s.decrypt(&a), plain);
    assert!(s.server.bootstraps() > 60, "{}", s.server.bootstraps());
    // The bootstrapper alone, without such refreshes, runs out of precision.
    let CiphertextBody::Seeded(x) = s.encrypt(&plain).bodies()[0].clone() else {
        panic!("fresh bits have a seed")
    };
    let mut x = x.seeded().expand(s.client.session().context());
    let refused = (0..60).find(|_| match s.server.bootstrapper().gate(Gate::Nand, &[&x, &x]) {
        Ok(next) => {
            x = next;
            false
        }
        Err(_) => true,
    });
    assert!(refused.is_some());
}

#[test]
fn products_are_computed_where_capacity_allows() {
    let s = setup(BitPacking::Real, false, None);
    let plain: Vec<Vec<bool>> = (0..2).map(|seed| bits(s.plan.capacity(), seed)).collect();
    let fresh = [s.encrypt(&plain[0]), s.encrypt(&plain[1])];
    // A fresh array has only the capacity that a bootstrap needs.
    let mut x = s.server.xor(&fresh[0], &fresh[1]).unwrap();
    let y = s.server.or(&fresh[0], &fresh[1]).unwrap();
    assert_eq!(s.server.bootstraps(), 2);
    let mut expected: Vec<bool> = plain[0].iter().zip(&plain[1]).map(|(a, b)| a ^ b).collect();
    let either: Vec<bool> = plain[0].iter().zip(&plain[1]).map(|(a, b)| a | b).collect();
    for (i, gate) in
        [Gate::Nand, Gate::Xor, Gate::Or, Gate::Xnor, Gate::And, Gate::Nor].into_iter().enumerate()
    {
        x = s.server.gate(gate, &[&x, &y]).unwrap();
        for (bit, other) in expected.iter_mut().zip(&either) {
            *bit = gate.value(usize::from(*bit) + usize::from(*other), 2);
        }
        assert_eq!(s.decrypt(&x), expected, "{i}");
        if i == 0 {
            assert_eq!(s.server.bootstraps(), 2);
        }
    }
    assert!(s.server.bootstraps() < 8);
}

#[test]
fn client_and_server_share_only_files() {
    for packing in [BitPacking::Real, BitPacking::Complex] {
        let s = setup(packing, true, Some(66.0));
        let literal = s.plan.literal().clone();
        let keys = s.client.evaluation_keys(&KeyRequest::bits(literal.clone())).unwrap().to_bytes();
        let plain: Vec<Vec<bool>> = (0..2).map(|seed| bits(s.plan.capacity() + 3, seed)).collect();
        let public = s.client.public_key().unwrap();
        let (x, shape) = (s.encrypt(&plain[0]).to_bytes(), [plain[1].len()]);
        let y = public
            .encrypt_bits(&public.bit_plan(literal.clone()).unwrap(), &plain[1], &shape)
            .unwrap()
            .to_bytes();
        // For fresh bits under the secret key, half of each ciphertext is stored as a seed.
        assert!(2 * x.len() < y.len() + 1000, "{} {}", x.len(), y.len());

        let server = Server::new(EvaluationKeys::from_bytes_insecure(&keys, 1).unwrap()).unwrap();
        let [x, y] = [x, y].map(|bytes| BitArray::from_bytes(&bytes, server.session()).unwrap());
        let bits = server.bits().unwrap();
        assert_eq!(bits.plan().literal(), &literal);
        let z = bits.nand(&x, &bits.xor(&x, &y).unwrap()).unwrap();
        let z = BitArray::from_bytes(&z.to_bytes(), s.client.session()).unwrap();
        let expected: Vec<bool> =
            plain[0].iter().zip(&plain[1]).map(|(x, y)| !(x & (x ^ y))).collect();
        assert_eq!(s.decrypt(&z), expected);
    }
}

#[test]
fn mismatched_operands_are_refused() {
    let s = setup(BitPacking::Real, true, Some(66.0));
    let (a, b) = (s.encrypt(&[true, false, true]), s.encrypt(&[true, false]));
    assert!(matches!(s.server.and(&a, &b), Err(Error::Shape { .. })));
    assert!(matches!(s.client.encrypt_bits(&s.plan, &[true], &[2]), Err(Error::Shape { .. })));
    assert!(matches!(s.server.gate(Gate::Majority, &[&a, &a]), Err(Error::Argument { .. })));
    assert!(matches!(s.server.gate(Gate::And, &[]), Err(Error::Argument { .. })));
    assert!(matches!(s.server.gate_plain(Gate::And, &a, &[true]), Err(Error::Shape { .. })));
    assert!(matches!(
        s.server.gate_plain(Gate::Majority, &a, &[true; 3]),
        Err(Error::Argument { .. })
    ));
    let none = Server::new(s.client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    assert!(none.bits().unwrap_err().to_string().contains("KeyRequest::bits"));
    let other = client(2);
    assert!(matches!(other.decrypt_bits(&a), Err(Error::KeyMismatch(_))));
    let theirs = other.encrypt_bits(&s.plan, &[true, false, true], &[3]).unwrap();
    assert!(matches!(s.server.xor(&a, &theirs), Err(Error::KeyMismatch(_))));
    assert!(matches!(s.server.not(&theirs), Err(Error::KeyMismatch(_))));
}

/// Returns a server with the keys for bits and all rotations.
fn moving(packing: BitPacking, clean: bool) -> (ClientKey, Arc<BitPlan>, Server) {
    let (client, (_, literal)) = (client(1), insecure_bits(packing, clean, None));
    let plan = client.bit_plan(literal.clone()).unwrap();
    let request = KeyRequest { bits: Some(literal), ..KeyRequest::only(1..32) };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    (client, plan, server)
}

fn all(sources: impl IntoIterator<Item = usize>) -> Vec<Option<usize>> {
    sources.into_iter().map(Some).collect()
}

/// Selecting bits whose sources all move by the same rotation takes no bootstrap.
///
/// The bits come from the start and the middle of an array, from the imaginary parts and from the
/// second ciphertext. Gates on the selected bits take no bootstrap either.
#[test]
fn bits_that_move_by_one_rotation_need_no_bootstrap() {
    for packing in [BitPacking::Real, BitPacking::Complex] {
        let (client, plan, server) = moving(packing, true);
        let capacity = plan.capacity();
        let plain = bits(capacity + capacity / 2, 7);
        let a = client.encrypt_bits(&plan, &plain, &[plain.len()]).unwrap();
        let pick = |first: usize, count: usize, step: usize| {
            let sources: Vec<usize> = (0..count).map(|i| first + i * step).collect();
            let expected: Vec<bool> = sources.iter().map(|i| plain[*i]).collect();
            (server.gather_bits(&[&a], &[count], &all(sources)), expected)
        };
        let (last, middle) = (capacity - 1, capacity / 2);
        let alike = [
            (0, 5, 1),
            (3, 1, 1),
            (1, 6, 2),
            (middle, 7, 1),
            (middle + 3, 4, 4),
            (last, 1, 1),
            (capacity, 9, 1),
            (capacity + 2, 3, 1),
        ];
        let gates = server.bits().unwrap();
        for (first, count, step) in alike {
            let (picked, expected) = pick(first, count, step);
            let picked = picked.unwrap();
            assert_eq!(picked.shape(), [count]);
            assert_eq!(
                client.decrypt_bits(&picked).unwrap(),
                expected,
                "{first}, {count}, {step}, {packing:?}"
            );
            assert_eq!(
                client.decrypt_bits(&gates.not(&picked).unwrap()).unwrap(),
                expected.iter().map(|bit| !bit).collect::<Vec<_>>()
            );
        }
        assert_eq!(gates.bootstraps(), 0);
        // Gates accept selected bits. Stray slots do no harm, even after several gates.
        let ((x, p), (y, q)) = (pick(middle, 7, 1), pick(2, 7, 1));
        let (x, y) = (x.unwrap(), y.unwrap());
        let (mut gate, mut expected) =
            (gates.and(&x, &y).unwrap(), p.iter().zip(&q).map(|(p, q)| p & q).collect::<Vec<_>>());
        for _ in 0..3 {
            gate = gates.xor(&gate, &x).unwrap();
            expected = expected.iter().zip(&p).map(|(e, p)| e ^ p).collect();
            gate = gates.or(&gate, &y).unwrap();
            expected = expected.iter().zip(&q).map(|(e, q)| e | q).collect();
        }
        assert_eq!(client.decrypt_bits(&gate).unwrap(), expected);
        // A selection across the boundary between real and imaginary parts takes a bootstrap,
        // unless it begins at the start of a part.
        let before = gates.bootstraps();
        let (across, expected) = pick(middle - 2, 4, 1);
        assert_eq!(client.decrypt_bits(&across.unwrap()).unwrap(), expected);
        assert_eq!(gates.bootstraps() - before, u64::from(packing == BitPacking::Complex));
        let error = gates
            .and(&pick(0, 4, 2).0.unwrap(), &pick(0, 4, 1).0.unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("and: ") && error.contains("different layouts"), "{error}");
    }
}

/// Bits can be left out, repeated, joined and padded in any way.
///
/// Gates accept moved bits, and the results of gates can be moved.
#[test]
fn bits_can_be_moved_anywhere() {
    for (packing, clean, seed) in [
        (BitPacking::Real, true, 1),
        (BitPacking::Real, false, 2),
        (BitPacking::Complex, true, 3),
        (BitPacking::Complex, false, 4),
    ] {
        let (client, plan, server) = moving(packing, clean);
        let gates = server.bits().unwrap();
        let capacity = plan.capacity();
        let encrypt =
            |plain: &[bool], shape: &[usize]| client.encrypt_bits(&plan, plain, shape).unwrap();
        let check = |a: &BitArray, expected: &[bool]| {
            assert_eq!(
                client.decrypt_bits(a).unwrap(),
                expected,
                "{packing:?} {clean} {:?}",
                a.shape()
            );
            assert!(a.error() < 0.25, "{}", a.error());
        };
        let lengths = [capacity + capacity / 2, 5 * 3, capacity];
        let plain: Vec<Vec<bool>> = lengths.iter().zip(seed..).map(|(n, k)| bits(*n, k)).collect();
        let arrays = [
            encrypt(&plain[0], &[lengths[0]]),
            encrypt(&plain[1], &[5, 3]),
            encrypt(&plain[2], &[lengths[2]]),
        ];
        let line = plain.concat();
        let mut state = seed;
        let mut below = |n: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for shape in [vec![7], vec![3, 5], vec![2 * capacity + 3], vec![4, capacity / 2]] {
            let size = shape.iter().product();
            let sources: Vec<Option<usize>> =
                (0..size).map(|_| (below(8) > 0).then(|| below(line.len()))).collect();
            let moved = server.gather_bits(&arrays.each_ref(), &shape, &sources).unwrap();
            assert_eq!(moved.shape(), shape);
            let expected: Vec<bool> = sources.iter().map(|s| s.is_some_and(|s| line[s])).collect();
            check(&moved, &expected);
            // Gates mix moved bits with fresh ones, and their results can be moved again.
            let other = bits(size, seed + 9);
            let gate = gates.nand(&moved, &encrypt(&other, &shape)).unwrap();
            let nand: Vec<bool> = expected.iter().zip(&other).map(|(x, y)| !(x & y)).collect();
            check(&gate, &nand);
            let reversed = server.gather_bits(&[&gate], &[size], &all((0..size).rev())).unwrap();
            check(&reversed, &nand.iter().copied().rev().collect::<Vec<_>>());
            let padded: Vec<Option<usize>> =
                [None].into_iter().chain((0..size).map(Some)).collect();
            let padded = server.gather_bits(&[&reversed], &[size + 1], &padded).unwrap();
            check(&padded, &[vec![false], nand.into_iter().rev().collect()].concat());
        }
        // Each ciphertext that bits come from is bootstrapped once.
        let before = gates.bootstraps();
        server.gather_bits(&[&arrays[0], &arrays[1]], &[2], &all([lengths[0] + 1, 0])).unwrap();
        server.gather_bits(&[&arrays[0]], &[3], &all([2, 1, 0])).unwrap();
        assert_eq!(gates.bootstraps() - before, 3);
        // A row and a column have different layouts. `in_common_layout` gives them the same one.
        let (row, column) = (
            server.gather_bits(&[&arrays[1]], &[3], &all([3, 4, 5])).unwrap(),
            server.gather_bits(&[&arrays[1]], &[3], &all([1, 4, 7])).unwrap(),
        );
        assert!(gates.and(&row, &column).is_err());
        let alike = server.in_common_layout(&[&row, &column]).unwrap();
        let and = gates.and(&alike[0], &alike[1]).unwrap();
        check(&and, &[3, 4, 5].map(|i| plain[1][i] & plain[1][[1, 4, 7][i - 3]]));
    }
}

#[test]
fn invalid_moves_of_bits_are_refused() {
    let (client, plan, server) = moving(BitPacking::Real, true);
    let a = client.encrypt_bits(&plan, &[true, false], &[2]).unwrap();
    let gather = |arrays: &[&BitArray], shape: &[usize], sources: &[Option<usize>]| {
        server.gather_bits(arrays, shape, sources).unwrap_err().to_string()
    };
    assert!(gather(&[&a], &[1], &all([2])).contains("a place beyond the 2 bits"));
    assert!(gather(&[&a, &a], &[1], &all([4])).contains("place 4 of 4 bits in 2 arrays"));
    assert!(gather(&[], &[1], &all([0])).contains("place 0 of 0 bits in 0 arrays"));
    assert!(gather(&[&a], &[1], &[None]).contains("zeros"));
    for sources in [all([0]), all([1, 0])] {
        let error = server.gather_bits(&[&a], &[3], &sources).unwrap_err();
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
    let numbers = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    assert!(matches!(numbers.gather_bits(&[&a], &[2], &all([1, 0])), Err(Error::NoKeys { .. })));
    let theirs = self::client(2).encrypt_bits(&plan, &[true, true], &[2]).unwrap();
    assert!(matches!(
        server.gather_bits(&[&a, &theirs], &[2], &all([0, 3])),
        Err(Error::KeyMismatch(_))
    ));
}
