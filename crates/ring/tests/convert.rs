//! Tests of base conversion against big integers, for every kernel of this CPU.

use hippocrene_ring::{
    Domain, Kernel, Poly,
    convert::{BaseConverter, MAX_INPUTS},
    primes::ntt_primes,
};
use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

/// Returns `count` moduli whose sizes cycle through `bits`, none of them in `avoid`.
fn moduli(bits: &[u32], count: usize, avoid: &[u64]) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::new();
    for i in 0..count {
        let used = [avoid, &found].concat();
        found.push(ntt_primes(bits[i % bits.len()], 64, 1, &used).unwrap()[0]);
    }
    found
}

/// Returns residues that are reproducible from a seed (SplitMix64).
fn residues(seed: u64, moduli: &[u64], n: usize) -> Vec<Vec<u64>> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    // The first coefficients are the extremes.
    let extreme = |i: usize, q: u64| [0, q - 1, q / 2, q / 2 + 1][i];
    moduli
        .iter()
        .map(|&q| (0..n).map(|i| if i < 4 { extreme(i, q) } else { next() % q }).collect())
        .collect()
}

fn slices(limbs: &mut [Vec<u64>]) -> Vec<&mut [u64]> {
    limbs.iter_mut().map(Vec::as_mut_slice).collect()
}

fn product(moduli: &[u64]) -> BigInt {
    moduli.iter().map(|&q| BigInt::from(q)).product()
}

/// Returns `x mod m` in `[0, m)`.
fn modulo(x: &BigInt, m: u64) -> u64 {
    let r = x % BigInt::from(m);
    let r = if r.sign() == Sign::Minus { r + BigInt::from(m) } else { r };
    u64::try_from(r).unwrap()
}

/// Returns the integer that the fast conversion represents: the sum of the centred `y_i` times
/// `D/q_i`.
fn fast(from: &[u64], y: &[u64]) -> BigInt {
    let d = product(from);
    let terms = from.iter().zip(y).map(|(&q, &y)| {
        let centred = if y >= q - q / 2 { y as i64 - q as i64 } else { y as i64 };
        BigInt::from(centred) * (&d / BigInt::from(q))
    });
    terms.sum()
}

/// Returns the representative modulo `d` in `[-d/2, d/2)`.
fn centre(x: BigInt, d: &BigInt) -> BigInt {
    let mut r = x % d;
    if &r * 2 >= *d {
        r -= d;
    }
    if &r * 2 < -d {
        r += d;
    }
    r
}

/// Returns the possible results of the exact conversion of `l` moduli.
///
/// They are the representative in `[-d/2, d/2)`, and within `l (l + 7) 2^-54 d` of `-d/2` and `d/2`
/// also the other one.
fn representatives(x: &BigInt, d: &BigInt, l: usize) -> Vec<BigInt> {
    let x = centre(x.clone(), d);
    let other = if x.sign() == Sign::Minus { &x + d } else { &x - d };
    let from_half: BigInt = d - BigInt::from(x.magnitude() * 2u32);
    let near = from_half << 53u32 <= d * BigInt::from(l * (l + 7)) && l > 1;
    if near { vec![x, other] } else { vec![x] }
}

/// Checks both conversions of the same inputs against big integers, for every kernel.
fn check(from: &[u64], to: &[u64], n: usize, seed: u64) {
    let y = residues(seed, from, n);
    let y_slices: Vec<&[u64]> = y.iter().map(Vec::as_slice).collect();
    let d = product(from);
    let column = |at: usize| -> Vec<u64> { y.iter().map(|limb| limb[at]).collect() };
    let sums: Vec<BigInt> = (0..n).map(|at| fast(from, &column(at))).collect();
    for sum in &sums {
        let u: BigInt = (sum - centre(sum.clone(), &d)) / &d;
        assert!(u <= BigInt::from(from.len() / 2) && u >= -BigInt::from(from.len() / 2));
    }
    let mut exact: Vec<Vec<BigInt>> =
        sums.iter().map(|sum| representatives(sum, &d, from.len())).collect();
    for (kernel, scaled) in Kernel::supported().flat_map(|k| [(k, false), (k, true)]) {
        let factors: Vec<u64> =
            to.iter().map(|p| if scaled { seed.rotate_left(7) % p } else { 1 }).collect();
        let converter = match scaled {
            false => BaseConverter::new(from, to, kernel),
            true => {
                let to: Vec<(u64, u64)> = to.iter().copied().zip(factors.iter().copied()).collect();
                BaseConverter::scaled(from, &to, kernel)
            }
        };
        let mut out = vec![vec![u64::MAX; n]; to.len()];
        converter.convert(&mut slices(&mut out), &y_slices);
        for (j, &p) in to.iter().enumerate() {
            for at in 0..n {
                let r = out[j][at];
                assert!(r < 2 * p, "{kernel}: {r} of target {p}, coefficient {at}, {from:?}");
                let expected = modulo(&(&sums[at] * factors[j]), p);
                assert_eq!(r % p, expected, "{kernel}: target {p}, coefficient {at}, {from:?}");
            }
        }
        converter.convert_exact(&mut slices(&mut out), &y_slices);
        for (j, &p) in to.iter().enumerate() {
            for at in 0..n {
                let r = out[j][at];
                assert!(
                    r < 2 * p,
                    "{kernel}: {r} of target {p}, coefficient {at}, {from:?}, exact"
                );
                // If two results are possible, all targets and kernels must agree on one.
                exact[at].retain(|x| modulo(&(x * factors[j]), p) == r % p);
                assert!(
                    !exact[at].is_empty(),
                    "{kernel}: target {p}, coefficient {at}, {from:?}, exact"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_mix_of_sizes(
        from_bits in prop::collection::vec(20u32..=61, 1..5),
        to_bits in prop::collection::vec(20u32..=61, 1..5),
        l in 1usize..=24,
        k in 1usize..=24,
        blocks in 1usize..=6,
        seed in any::<u64>(),
    ) {
        let from = moduli(&from_bits, l, &[]);
        let to = moduli(&to_bits, k, &from);
        check(&from, &to, 16 * blocks, seed);
    }
}

#[test]
fn the_sizes_that_schemes_use() {
    for (from_bits, l, to_bits, k) in [
        (48, 12, 48, 24),
        (48, 1, 48, 7),
        (50, 24, 50, 3),
        (49, 5, 49, 36),
        (40, 2, 60, 3),
        (60, 3, 40, 8),
        (60, 2, 41, 8),
        (60, 2, 60, 5),
        (61, 4, 61, 5),
        (61, 12, 48, 5),
        (60, 1, 30, 3),
        (30, 1, 60, 3),
    ] {
        let from = moduli(&[from_bits], l, &[]);
        let to = moduli(&[to_bits], k, &from);
        check(&from, &to, 64, 7);
    }
}

#[test]
fn as_many_inputs_as_allowed_of_any_size() {
    for bits in [20, 40, 48, 49, 52, 53, 60, 61] {
        let from = moduli(&[bits], MAX_INPUTS, &[]);
        let mut to = moduli(&[25, 40, 43, 49, 50, 59, 60, 61], 16, &from);
        to.extend([6, (1 << 61) - 2]);
        check(&from, &to, 32, u64::from(bits));
    }
}

#[test]
fn composite_and_even_moduli() {
    let from = [1 << 16, 65537 * 97, (1 << 48) - 59, 3 * 5 * 7 * 11];
    check(&from, &[1 << 12, 6, 2, 3, 9, 65535, (1 << 60) - 2, (1 << 40) - 1, (1 << 61) - 1], 48, 5);
    check(&[1 << 16], &[1 << 12, 6, 3, 1 << 15, 32769, (1 << 61) - 1], 48, 5);
    check(&[7, 9, 1 << 60], &[1 << 12, 6, 3, 1 << 15, 32769, (1 << 61) - 1], 48, 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The modulus switches of sprouts convert between powers of two, composites and primes.
    #[test]
    fn powers_of_two_among_others(
        bits in prop::collection::vec(20u32..=61, 0..5),
        l in 0usize..=8,
        composite: bool,
        source in 0u32..=60,
        targets in prop::collection::vec(1u32..=60, 1..4),
        blocks in 1usize..=9,
        seed in any::<u64>(),
    ) {
        let l = if bits.is_empty() { 0 } else { l };
        let mut from = moduli(&bits, l, &[257, 641]);
        if composite {
            from.push(257 * 641);
        }
        if source > 0 {
            from.insert(seed as usize % (from.len() + 1), 1 << source);
        }
        if !from.is_empty() {
            let mut to: Vec<u64> = targets.iter().map(|e| 1 << e).collect();
            to.extend([65537 * 769, 65537, (1 << 61) - 1]);
            check(&from, &to, 16 * blocks, seed);
        }
    }
}

#[test]
fn factors_make_residues_into_digits() {
    for kernel in Kernel::supported() {
        let from = [moduli(&[48, 60, 30], 5, &[]), vec![1 << 20]].concat();
        let converter = BaseConverter::new(&from, &moduli(&[48, 61], 2, &from), kernel);
        let y = residues(11, &from, 16);
        let mut x = y.clone();
        for at in 0..16 {
            let sum = fast(&from, &y.iter().map(|limb| limb[at]).collect::<Vec<_>>());
            for (limb, &q) in x.iter_mut().zip(&from) {
                limb[at] = modulo(&sum, q);
            }
        }
        let plain = x.clone();
        converter.scale_inputs(&mut slices(&mut x));
        assert_eq!(x, y, "{kernel}");
        for (i, &q) in from.iter().enumerate() {
            let times = |x: u64| {
                (u128::from(x) * u128::from(converter.input_factor(i)) % u128::from(q)) as u64
            };
            assert!(plain[i].iter().zip(&y[i]).all(|(&x, &y)| times(x) == y));
        }
    }
}

#[test]
fn some_targets_in_any_order() {
    for kernel in Kernel::supported() {
        let from = moduli(&[48, 60], 5, &[]);
        let to = moduli(&[48, 60, 20], 40, &from);
        let converter = BaseConverter::new(&from, &to, kernel);
        assert_eq!((converter.inputs(), converter.outputs()), (5, 40));
        let y = residues(3, &from, 32);
        let y: Vec<&[u64]> = y.iter().map(Vec::as_slice).collect();
        for exact in [false, true] {
            let mut all = vec![vec![0; 32]; to.len()];
            let mut some = vec![vec![0; 32]; 3];
            let wanted = [36, 0, 7];
            let mut pairs: Vec<_> =
                wanted.into_iter().zip(some.iter_mut().map(Vec::as_mut_slice)).collect();
            if exact {
                converter.convert_exact(&mut slices(&mut all), &y);
                converter.convert_exact_into(&mut pairs, &y);
            } else {
                converter.convert(&mut slices(&mut all), &y);
                converter.convert_into(&mut pairs, &y);
            }
            assert!(wanted.iter().zip(&some).all(|(&j, limb)| *limb == all[j]), "{kernel}");
        }
    }
}

/// Outputs that are larger than the cache, in aligned memory, equal the outputs of one target at a
/// time.
#[test]
fn large_outputs() {
    let n = 1 << 14;
    for kernel in Kernel::supported() {
        let from = moduli(&[48, 44], 5, &[]);
        let to = moduli(&[48, 45], 20, &from);
        let converter = BaseConverter::new(&from, &to, kernel);
        let y = residues(3, &from, n);
        let y: Vec<&[u64]> = y.iter().map(Vec::as_slice).collect();
        let mut all = Poly::zero(n, to.len(), Domain::Coefficient);
        converter
            .convert_exact(&mut all.as_mut_slice().chunks_exact_mut(n).collect::<Vec<_>>(), &y);
        for (j, limb) in all.limbs().enumerate() {
            let mut alone = vec![0; n];
            converter.convert_exact_into(&mut [(j, &mut alone[..])], &y);
            assert!(limb == alone, "{kernel} {j}");
        }
    }
}

#[test]
fn no_moduli_convert_to_zero() {
    for kernel in Kernel::supported() {
        let converter = BaseConverter::new(&[], &moduli(&[40, 60], 2, &[]), kernel);
        let mut out = vec![vec![5; 16]; 2];
        converter.convert(&mut slices(&mut out), &[]);
        assert_eq!(out, vec![vec![0; 16]; 2]);
    }
}

#[test]
#[should_panic(expected = "all limbs must have the same length")]
fn limbs_of_different_lengths_are_refused() {
    let converter = BaseConverter::new(&[97, 101], &[103], Kernel::Portable);
    converter.convert(&mut [&mut [0; 16]], &[&[0; 16], &[0; 32]]);
}

#[test]
#[should_panic(expected = "all limbs must have the same length")]
fn short_outputs_are_refused() {
    let converter = BaseConverter::new(&[97], &[103], Kernel::Portable);
    converter.convert(&mut [&mut [0; 16]], &[&[0; 32]]);
}

#[test]
#[should_panic(expected = "share")]
fn moduli_with_a_common_factor_are_refused() {
    BaseConverter::new(&[15, 21], &[103], Kernel::Portable);
}
