//! Tests of the transforms: every kernel of this CPU against the definition, and against every
//! other kernel.

use hippocrene_ring::{
    Kernel,
    arith::{add_mod, mul_mod, pow_mod, sub_mod},
    ntt::{NttPlan, exponent},
    primes::{ntt_primes_above, ntt_primes_below, primitive_root_2n},
};

const BITS: [u32; 13] = [17, 20, 30, 45, 46, 47, 48, 49, 50, 51, 59, 60, 61];

/// Returns the largest and the smallest prime of `bits` bits with a transform of this degree, if
/// there are any.
fn extreme_primes(bits: u32, degree: usize) -> impl Iterator<Item = u64> {
    let largest = ntt_primes_below(bits, degree).next();
    let smallest = ntt_primes_above(bits - 1, degree).next();
    largest.into_iter().chain(smallest)
}

/// Returns reproducible residues (SplitMix64).
fn random(seed: u64, bound: u64, n: usize) -> Vec<u64> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) % bound
        })
        .collect()
}

/// Returns inputs in `[0, bound)` that drive a kernel to the ends of its ranges.
fn inputs(bound: u64, n: usize) -> Vec<Vec<u64>> {
    let max = bound - 1;
    vec![
        random(1, bound, n),
        vec![max; n],
        vec![0; n],
        (0..n).map(|i| if i % 2 == 0 { 0 } else { max }).collect(),
        (0..n).map(|i| if i < n / 2 { max } else { 0 }).collect(),
        random(2, 2, n).into_iter().map(|bit| bit * max).collect(),
    ]
}

/// Returns the plans of all kernels of this CPU.
fn plans(q: u64, degree: usize) -> Vec<(Kernel, NttPlan)> {
    Kernel::supported().map(|kernel| (kernel, NttPlan::new(q, degree, kernel).unwrap())).collect()
}

/// Computes the transform by its definition, in time `N^2`: the values `a(psi^e)` at `positions`,
/// with the exponents `e` of [`exponent`].
fn by_definition(a: &[u64], q: u64, positions: &[usize]) -> Vec<u64> {
    let n = a.len();
    let psi = primitive_root_2n(q, n).unwrap();
    let value =
        |point: u64| a.iter().rev().fold(0, |sum, &c| add_mod(mul_mod(sum, point, q), c % q, q));
    positions.iter().map(|&i| value(pow_mod(psi, exponent(n, i) as u64, q))).collect()
}

#[test]
fn every_kernel_evaluates_at_the_odd_powers_of_the_root() {
    for log in 4..=17 {
        let n = 1 << log;
        for bits in BITS {
            for q in extreme_primes(bits, n) {
                let positions: Vec<usize> = match log {
                    ..=8 => (0..n).collect(),
                    9..=13 => vec![0, 1, n / 2 - 1, n - 1, n / 3, n / 5],
                    _ => vec![0, n - 1],
                };
                for (kernel, plan) in plans(q, n) {
                    let a = random(7, q, n);
                    let mut values = a.clone();
                    plan.forward(&mut values);
                    for (&i, expected) in positions.iter().zip(by_definition(&a, q, &positions)) {
                        assert_eq!(values[i], expected, "{kernel}, q = {q}, N = {n}, position {i}");
                    }
                }
            }
        }
    }
}

/// The portable kernel agrees with the definition, so it is the reference for whole transforms.
#[test]
fn kernels_agree_to_the_bit_and_round_trips_are_exact() {
    for log in 4..=17 {
        let n = 1 << log;
        for bits in BITS {
            for q in extreme_primes(bits, n) {
                let plans = plans(q, n);
                for a in inputs(q, n) {
                    let mut reference = a.clone();
                    plans[0].1.forward(&mut reference);
                    for (kernel, plan) in &plans {
                        let what =
                            format!("{kernel}, q = {q}, N = {n}, a = {}, {}, ...", a[0], a[1]);
                        let mut values = a.clone();
                        plan.forward(&mut values);
                        assert!(values == reference, "forward, {what}");
                        plan.inverse(&mut values);
                        assert!(values == a, "inverse, {what}");
                    }
                }
            }
        }
    }
}

#[test]
fn lazy_inputs_and_outputs_stay_in_range() {
    for log in 4..=17 {
        let n = 1 << log;
        for bits in BITS {
            for q in extreme_primes(bits, n) {
                for a in inputs(2 * q, n) {
                    let mut reference: Vec<u64> = a.iter().map(|&x| x % q).collect();
                    let mut reference_inverse = reference.clone();
                    let portable = NttPlan::new(q, n, Kernel::Portable).unwrap();
                    portable.forward(&mut reference);
                    portable.inverse(&mut reference_inverse);
                    for (kernel, plan) in plans(q, n) {
                        let what =
                            format!("{kernel}, q = {q}, N = {n}, a = {}, {}, ...", a[0], a[1]);
                        assert!(u128::from(plan.lazy_bound()) * u128::from(q) < 1 << 63, "{what}");
                        let mut values = a.clone();
                        plan.forward_lazy(&mut values);
                        assert!(values.iter().all(|&x| x < plan.lazy_bound() * q), "{what}");
                        assert!(
                            values.iter().zip(&reference).all(|(x, y)| x % q == *y),
                            "forward, {what}"
                        );
                        let mut values = a.clone();
                        plan.inverse(&mut values);
                        assert!(values == reference_inverse, "inverse, {what}");
                    }
                }
            }
        }
    }
}

/// Residues modulo another modulus, up to twice as large, prime or not, are transformed as after a
/// conversion.
#[test]
fn centred_residues_of_another_modulus_are_transformed() {
    for log in [4, 7, 9, 10, 11, 12, 15] {
        let n = 1 << log;
        for bits in BITS {
            for q in extreme_primes(bits, n) {
                for from in [2 * q, q + 2, q - 2, q / 2 + 1, 65537, 2] {
                    let mut y = random(from, from, n);
                    let half = from / 2;
                    let edges =
                        [0, 1, half.saturating_sub(1), half, (half + 1).min(from - 1), from - 1];
                    y[..edges.len()].copy_from_slice(&edges);
                    let centred = |x: u64| if x > (from - 1) / 2 { x + 2 * q - from } else { x };
                    let mut reference: Vec<u64> = y.iter().map(|&x| centred(x) % q).collect();
                    NttPlan::new(q, n, Kernel::Portable).unwrap().forward(&mut reference);
                    for (kernel, plan) in plans(q, n) {
                        let mut values = vec![u64::MAX; n];
                        plan.forward_lazy_centred(&mut values, &y, from);
                        let what = format!("{kernel}, from {from} to q = {q}, N = {n}");
                        assert!(values.iter().all(|&x| x < plan.lazy_bound() * q), "{what}");
                        assert!(values.iter().zip(&reference).all(|(x, y)| x % q == *y), "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn residues_of_too_large_a_modulus_are_refused() {
    let n = 1 << 10;
    for bits in BITS {
        let q = extreme_primes(bits, n).next().unwrap();
        for (kernel, plan) in plans(q, n) {
            let transform = || plan.forward_lazy_centred(&mut vec![0; n], &vec![0; n], 2 * q + 1);
            assert!(std::panic::catch_unwind(transform).is_err(), "{kernel}, q = {q}");
        }
    }
}

#[test]
fn a_constant_in_the_inverse_multiplies_the_result() {
    for log in 4..=17 {
        let n = 1 << log;
        for bits in BITS {
            for q in extreme_primes(bits, n) {
                for (kernel, plan) in plans(q, n) {
                    let values = random(3, 2 * q, n);
                    let mut plain = values.clone();
                    plan.inverse(&mut plain);
                    for c in [0, 1, q / 3, q - 1] {
                        let mut scaled = values.clone();
                        plan.inverse_scaled(&mut scaled, &plan.inverse_factor(c));
                        let mut elsewhere = vec![u64::MAX; n];
                        plan.inverse_scaled_into(&mut elsewhere, &values, &plan.inverse_factor(c));
                        assert!(elsewhere == scaled, "{kernel}, q = {q}, N = {n}, c = {c}");
                        let matches =
                            scaled.iter().zip(&plain).all(|(s, p)| *s == mul_mod(*p, c, q));
                        assert!(matches, "{kernel}, q = {q}, N = {n}, c = {c}");
                    }
                }
            }
        }
    }
}

#[test]
fn pointwise_products_are_negacyclic_convolutions() {
    for log in 4..=9 {
        let n = 1 << log;
        for bits in BITS {
            for q in extreme_primes(bits, n) {
                let (a, b) = (random(4, q, n), random(5, q, n));
                let mut product = vec![0; n];
                for (i, &x) in a.iter().enumerate() {
                    for (j, &y) in b.iter().enumerate() {
                        let (k, term) = ((i + j) % n, mul_mod(x, y, q));
                        product[k] = if i + j < n {
                            add_mod(product[k], term, q)
                        } else {
                            sub_mod(product[k], term, q)
                        };
                    }
                }
                for (kernel, plan) in plans(q, n) {
                    let (mut x, mut y) = (a.clone(), b.clone());
                    plan.forward(&mut x);
                    plan.forward(&mut y);
                    x.iter_mut().zip(&y).for_each(|(x, &y)| *x = mul_mod(*x, y, q));
                    plan.inverse(&mut x);
                    assert!(x == product, "{kernel}, q = {q}, N = {n}");
                }
            }
        }
    }
}

#[test]
fn slices_need_no_alignment() {
    let n = 1 << 12;
    for q in BITS.into_iter().flat_map(|bits| extreme_primes(bits, n)) {
        for (kernel, plan) in plans(q, n) {
            let a = random(6, q, n);
            let mut aligned = a.clone();
            plan.forward(&mut aligned);
            for shift in 1..8 {
                let mut memory = vec![0; n + 8];
                memory[shift..shift + n].copy_from_slice(&a);
                plan.forward(&mut memory[shift..shift + n]);
                assert!(
                    memory[shift..shift + n] == aligned[..],
                    "{kernel}, q = {q}, shift {shift}"
                );
                plan.inverse(&mut memory[shift..shift + n]);
                assert!(memory[shift..shift + n] == a[..], "{kernel}, q = {q}, shift {shift}");
                assert!(
                    memory[..shift].iter().chain(&memory[shift + n..]).all(|&x| x == 0),
                    "{kernel}"
                );
            }
        }
    }
}

#[test]
fn impossible_rings_are_refused() {
    for (q, degree) in [(97, 24), (97, 8), (786_433, 1 << 18), (1 << 61, 64), (97, 64), (513, 64)] {
        for kernel in Kernel::supported() {
            assert!(NttPlan::new(q, degree, kernel).is_err(), "q = {q}, N = {degree}");
        }
    }
}
