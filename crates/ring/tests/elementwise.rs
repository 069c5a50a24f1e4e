//! Tests of every elementwise operation of every kernel against one-line definitions by division.

use hippocrene_ring::{
    Kernel, ResidueRing, Threads,
    arith::{centred, mul_mod, signed_mod},
    elementwise::{DigitWriter, Elementwise, KeyLimb, PairTerm},
    primes::{ntt_primes_above, ntt_primes_below},
};
use proptest::prelude::*;

/// Returns the largest and the smallest prime of each size at which the arithmetic changes, and
/// small odd numbers.
fn moduli() -> Vec<u64> {
    let sizes = [20, 30, 45, 48, 49, 50, 51, 59, 60, 61];
    let primes = sizes.iter().flat_map(|&bits| {
        let largest = ntt_primes_below(bits, 16).next();
        let smallest = ntt_primes_above(bits - 1, 16).next();
        largest.into_iter().chain(smallest)
    });
    primes.chain([3, 5, 17, 257, 8191, 8193, 65537, (1 << 61) - 1]).collect()
}

/// A stream of words (SplitMix64).
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns words below `bound`. Some, none or all of them are the largest word, or near 0 or
    /// the middle.
    fn vector(&mut self, length: usize, bound: u64) -> Vec<u64> {
        let kind = self.next() % 4;
        (0..length)
            .map(|_| {
                let word = self.next();
                match if kind == 3 { word >> 32 & 7 } else { kind } {
                    0 => bound - 1,
                    3 => bound - 1 - word % bound.min(4),
                    4 => word % bound.min(4),
                    5 => (bound / 2 - 1 + word % 3) % bound,
                    _ => word % bound,
                }
            })
            .collect()
    }
}

/// One modulus and one length, with random operands.
struct Case {
    q: u64,
    length: usize,
    words: Words,
}

impl Case {
    fn residues(&mut self) -> Vec<u64> {
        self.words.vector(self.length, self.q)
    }

    fn zeros(&self) -> Vec<u64> {
        vec![0; self.length]
    }
}

/// Returns `f` at every position.
fn expected<const K: usize>(inputs: [&[u64]; K], f: impl Fn([u128; K]) -> u128) -> Vec<u64> {
    (0..inputs[0].len()).map(|i| f(inputs.map(|x| u128::from(x[i]))) as u64).collect()
}

fn additions(e: &Elementwise, case: &mut Case) -> Result<(), TestCaseError> {
    let q = u128::from(case.q);
    let (a, b, mut out) = (case.residues(), case.residues(), case.zeros());
    let sum = expected([&a, &b], |[a, b]| (a + b) % q);
    let difference = expected([&a, &b], |[a, b]| (a + q - b) % q);

    e.add(&mut out, &a, &b);
    prop_assert_eq!(&out, &sum);
    out.copy_from_slice(&a);
    e.add_assign(&mut out, &b);
    prop_assert_eq!(&out, &sum);
    let twice = expected([&a, &b], |[a, b]| a + b % 2 * q);
    out.copy_from_slice(&twice);
    e.add_lazy_assign(&mut out, &twice);
    prop_assert_eq!(&out, &expected([&twice], |[x]| 2 * x % (2 * q)));
    e.sub(&mut out, &a, &b);
    prop_assert_eq!(&out, &difference);
    out.copy_from_slice(&a);
    e.sub_assign(&mut out, &b);
    prop_assert_eq!(&out, &difference);
    out.copy_from_slice(&b);
    e.sub_from_assign(&mut out, &a);
    prop_assert_eq!(&out, &difference);
    out.copy_from_slice(&a);
    e.neg_assign(&mut out);
    prop_assert_eq!(&out, &expected([&a], |[a]| (q - a) % q));
    let c = b[0];
    out.copy_from_slice(&a);
    e.add_scalar_assign(&mut out, c);
    prop_assert_eq!(&out, &expected([&a], |[a]| (a + u128::from(c)) % q));
    Ok(())
}

fn products(e: &Elementwise, case: &mut Case) -> Result<(), TestCaseError> {
    let q = u128::from(case.q);
    let (a, b, c, d) = (case.residues(), case.residues(), case.residues(), case.residues());
    let (mut out, mut out1, mut out2) = (case.zeros(), case.zeros(), case.zeros());
    let product = expected([&a, &b], |[a, b]| a * b % q);

    e.mul(&mut out, &a, &b);
    prop_assert_eq!(&out, &product);
    out.copy_from_slice(&a);
    e.mul_assign(&mut out, &b);
    prop_assert_eq!(&out, &product);
    out.copy_from_slice(&c);
    e.mul_add_assign(&mut out, &a, &b);
    prop_assert_eq!(&out, &expected([&a, &b, &c], |[a, b, c]| (a * b + c) % q));
    e.tensor(&mut out, &mut out1, &mut out2, &a, &b, &c, &d);
    prop_assert_eq!(&out, &expected([&a, &c], |[a, c]| a * c % q));
    prop_assert_eq!(&out1, &expected([&a, &b, &c, &d], |[a, b, c, d]| (a * d + b * c) % q));
    prop_assert_eq!(&out2, &expected([&b, &d], |[b, d]| b * d % q));
    e.square(&mut out, &mut out1, &mut out2, &a, &b);
    prop_assert_eq!(&out, &expected([&a], |[a]| a * a % q));
    prop_assert_eq!(&out1, &expected([&a, &b], |[a, b]| 2 * a * b % q));
    prop_assert_eq!(&out2, &expected([&b], |[b]| b * b % q));
    Ok(())
}

fn products_by_constants(e: &Elementwise, case: &mut Case) -> Result<(), TestCaseError> {
    let q = u128::from(case.q);
    let lazy = case.q * e.lazy_multiple();
    let (a, mut out) = (case.residues(), case.zeros());
    let twice = case.words.vector(case.length, 2 * case.q);
    let x = case.words.vector(case.length, lazy);
    let s = e.scalar(case.words.next());
    let c = u128::from(s.value());
    prop_assert!(c < q);
    let product = expected([&x], |[x]| x * c % q);

    e.mul_scalar(&mut out, &x, &s);
    prop_assert_eq!(&out, &product);
    out.copy_from_slice(&x);
    e.mul_scalar_assign(&mut out, &s);
    prop_assert_eq!(&out, &product);
    let sum = expected([&a, &x], |[a, x]| (a + x * c) % q);
    out.copy_from_slice(&a);
    e.mul_scalar_add_assign(&mut out, &x, &s);
    prop_assert_eq!(&out, &sum);
    e.add_mul_scalar(&mut out, &a, &x, &s);
    prop_assert_eq!(&out, &sum);
    out.copy_from_slice(&x);
    e.sub_from_mul_scalar_assign(&mut out, &twice, &s);
    let difference = expected([&twice, &x], |[a, x]| (a + u128::from(lazy) - x) * c % q);
    prop_assert_eq!(&out, &difference);
    e.sub_mul_scalar(&mut out, &twice, &x, &s);
    prop_assert_eq!(&out, &difference);
    Ok(())
}

fn reductions(e: &Elementwise, case: &mut Case, from: u64) -> Result<(), TestCaseError> {
    let (q, mut out) = (case.q, case.zeros());
    let mut a = case.words.vector(case.length, u64::MAX);
    a[..6].copy_from_slice(&[
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        (1 << 63) + 1,
        u64::MAX / q * q,
        u64::MAX / q * q - 1,
    ]);
    e.reduce(&mut out, &a);
    prop_assert_eq!(&out, &a.iter().map(|a| a % q).collect::<Vec<_>>());
    let signed: Vec<i64> = a.iter().map(|&a| a as i64).collect();
    e.from_signed(&mut out, &signed);
    prop_assert_eq!(&out, &signed.iter().map(|&a| signed_mod(a, q)).collect::<Vec<_>>());

    let mut a = case.words.vector(case.length, from);
    a[..4].copy_from_slice(&[0, from - 1, from / 2, from.div_ceil(2)]);
    e.reduce_centred(&mut out, &a, from);
    prop_assert_eq!(&out, &a.iter().map(|&a| signed_mod(centred(a, from), q)).collect::<Vec<_>>());
    Ok(())
}

/// Returns the key of one limb with coalesced digits.
fn coalesced(e: &Elementwise, key: &KeyLimb, groups: &[&[usize]]) -> KeyLimb {
    KeyLimb::coalesce(&[(e, key)], groups, &Threads::single()).swap_remove(0)
}

fn inner_products(e: &Elementwise, case: &mut Case) -> Result<(), TestCaseError> {
    let (q, lazy) = (u128::from(case.q), case.q * e.lazy_multiple());
    let digits = [1, 2, 3, 4, 5, 7, 16, 17, 64, 65][(case.words.next() % 10) as usize];
    let key: Vec<(Vec<u64>, Vec<u64>)> =
        (0..digits).map(|_| (case.residues(), case.residues())).collect();
    let pairs: Vec<(&[u64], &[u64])> = key.iter().map(|(b, a)| (&b[..], &a[..])).collect();
    let prepared = KeyLimb::of_pairs(e, &pairs);
    prop_assert_eq!((prepared.digits(), prepared.length()), (digits, case.length));

    // The first round uses all digits in order. The second uses every other digit, in reverse
    // order.
    for step in [1, 2] {
        let mut which: Vec<usize> = (0..digits).step_by(step).collect();
        if step == 2 {
            which.reverse();
        }
        let x: Vec<Vec<u64>> = which.iter().map(|_| case.words.vector(case.length, lazy)).collect();
        let terms: Vec<(usize, &[u64])> = which.iter().zip(&x).map(|(&d, x)| (d, &x[..])).collect();
        let (mut acc0, mut acc1) = (case.residues(), case.residues());
        e.inner_product(&mut acc0, &mut acc1, &terms, &prepared);
        for i in 0..case.length {
            let sum = |part: &dyn Fn(usize) -> u64| {
                terms
                    .iter()
                    .fold(0, |sum, (d, x)| (sum + u128::from(mul_mod(x[i], part(*d), case.q))) % q)
                    as u64
            };
            prop_assert_eq!(acc0[i], sum(&|d| key[d].0[i]));
            prop_assert_eq!(acc1[i], sum(&|d| key[d].1[i]));
        }
    }

    // Groups of digits are coalesced: one alone, all together, and a digit in two groups.
    let groups: Vec<Vec<usize>> =
        vec![vec![digits - 1], (0..digits).collect(), (0..digits).step_by(2).collect()];
    let slices: Vec<&[usize]> = groups.iter().map(Vec::as_slice).collect();
    let coalesced = coalesced(e, &prepared, &slices);
    prop_assert_eq!((coalesced.digits(), coalesced.length()), (3, case.length));
    let x: Vec<Vec<u64>> = groups.iter().map(|_| case.words.vector(case.length, lazy)).collect();
    let all = |x: &[Vec<u64>], key: &KeyLimb, which: &[(usize, usize)]| {
        let terms: Vec<(usize, &[u64])> = which.iter().map(|&(d, i)| (d, &x[i][..])).collect();
        let mut acc = (vec![0; x[0].len()], vec![0; x[0].len()]);
        e.inner_product(&mut acc.0, &mut acc.1, &terms, key);
        acc
    };
    let apart: Vec<(usize, usize)> = groups
        .iter()
        .enumerate()
        .flat_map(|(i, group)| group.iter().map(move |d| (*d, i)))
        .collect();
    let products = all(&x, &coalesced, &[(0, 0), (1, 1), (2, 2)]);
    prop_assert_eq!(&products, &all(&x, &prepared, &apart));

    // A range of the key is multiplied by the same range of the digits.
    let first = case.length / 2 / 8 * 8;
    let part: Vec<Vec<u64>> = x.iter().map(|x| x[first..].to_vec()).collect();
    let of_range =
        all(&part, &coalesced.range(first, case.length - first), &[(0, 0), (1, 1), (2, 2)]);
    prop_assert_eq!(
        (&of_range.0[..], &of_range.1[..]),
        (&products.0[first..], &products.1[first..])
    );
    Ok(())
}

fn sums_of_products(e: &Elementwise, case: &mut Case) -> Result<(), TestCaseError> {
    let count = [0, 1, 2, 3, 4, 5, 16, 17, 64, 65][(case.words.next() % 10) as usize];
    let terms: Vec<[Vec<u64>; 3]> =
        (0..count).map(|_| [case.residues(), case.residues(), case.residues()]).collect();
    let slices: Vec<PairTerm> =
        terms.iter().map(|[x, y0, y1]| (&x[..], [&y0[..], &y1[..]])).collect();
    let mut acc = [case.residues(), case.residues()];
    let [acc0, acc1] = &mut acc;
    e.sum_products(acc0, acc1, &slices);
    for (part, acc) in acc.iter().enumerate() {
        let sum = |i: usize| {
            terms.iter().fold(0, |sum, t| {
                (sum + u128::from(mul_mod(t[0][i], t[1 + part][i], case.q))) % u128::from(case.q)
            })
        };
        prop_assert_eq!(acc, &(0..case.length).map(|i| sum(i) as u64).collect::<Vec<_>>());
    }
    Ok(())
}

/// Sums of products with repeated values equal those with the values written out.
fn sums_of_repeated_products(e: &Elementwise, case: &mut Case) -> Result<(), TestCaseError> {
    let count = (case.words.next() % 5) as usize;
    let length = 8 * case.length;
    let whole = |case: &mut Case| (0..8).flat_map(|_| case.residues()).collect::<Vec<u64>>();
    let terms: Vec<[Vec<u64>; 3]> =
        (0..count).map(|_| [case.residues(), whole(case), whole(case)]).collect();
    let written_out: Vec<Vec<u64>> =
        terms.iter().map(|[x, ..]| (0..length).map(|i| x[i / 64 * 8 + i % 8]).collect()).collect();
    let short: Vec<PairTerm> =
        terms.iter().map(|[x, y0, y1]| (&x[..], [&y0[..], &y1[..]])).collect();
    let long: Vec<PairTerm> = terms
        .iter()
        .zip(&written_out)
        .map(|([_, y0, y1], x)| (&x[..], [&y0[..], &y1[..]]))
        .collect();
    let mut sums = [vec![0; length], vec![0; length]];
    let mut expected = sums.clone();
    let [sum0, sum1] = &mut sums;
    e.sum_repeated_products(sum0, sum1, &short);
    let [sum0, sum1] = &mut expected;
    e.sum_products(sum0, sum1, &long);
    prop_assert_eq!(sums, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn agrees_with_division(
        q in proptest::sample::select(moduli()),
        from in proptest::sample::select(moduli()),
        length in proptest::sample::select(vec![8usize, 16, 24, 32, 56, 128]),
        seed in any::<u64>(),
    ) {
        for kernel in Kernel::supported() {
            let e = Elementwise::new(q, kernel);
            prop_assert!(e.modulus() == q && e.lazy_multiple() >= 4);
            let mut case = Case { q, length, words: Words(seed) };
            additions(&e, &mut case)?;
            products(&e, &mut case)?;
            products_by_constants(&e, &mut case)?;
            reductions(&e, &mut case, from)?;
            inner_products(&e, &mut case)?;
            sums_of_products(&e, &mut case)?;
            sums_of_repeated_products(&e, &mut case)?;
        }
    }
}

#[test]
fn even_moduli_are_centred_downwards() {
    for kernel in Kernel::supported() {
        let e = Elementwise::new(65537, kernel);
        let mut out = [0; 8];
        e.reduce_centred(&mut out, &[0, 1, 7, 8, 9, 15, 3, 12], 16);
        assert_eq!(out, [0, 1, 7, 65529, 65530, 65536, 3, 65533]);
    }
}

/// Barrett quotients have the largest errors for moduli near a power of two, but not so near that
/// its reciprocal is almost exact. Few products show the errors, so many are tried.
#[test]
fn products_where_quotients_fall_short() {
    let mut words = Words(1);
    for bits in [47, 48, 49, 50, 60] {
        let degree = 1 << (bits / 2 - 4);
        for q in ntt_primes_above(bits, degree)
            .take(12)
            .chain(ntt_primes_below(bits + 1, degree).take(12))
        {
            let mut large =
                || -> Vec<u64> { (0..2048).map(|_| q - 1 - words.next() % (q / 16)).collect() };
            let (a, b, c, d) = (large(), large(), large(), large());
            for kernel in Kernel::supported() {
                let e = Elementwise::new(q, kernel);
                let mut out: [Vec<u64>; 3] = std::array::from_fn(|_| vec![0; a.len()]);
                let [c0, c1, c2] = &mut out;
                e.tensor(c0, c1, c2, &a, &b, &c, &d);
                let q = u128::from(q);
                assert_eq!(c0, &expected([&a, &c], |[a, c]| a * c % q));
                assert_eq!(c1, &expected([&a, &b, &c, &d], |[a, b, c, d]| (a * d + b * c) % q));
                e.mul_add_assign(c2, &a, &c);
                assert_eq!(c2, &expected([&a, &b, &c, &d], |[a, b, c, d]| (b * d + a * c) % q));
            }
        }
    }
}

/// Long inner products of many digits, which are computed a few digits and words at a time, equal
/// the sums of those of single digits.
#[test]
fn long_inner_products_of_many_digits() {
    let length = 2 * 4096 + 24;
    for kernel in Kernel::supported() {
        for q in [ntt_primes_below(48, 16).next().unwrap(), (1 << 61) - 1] {
            let e = Elementwise::new(q, kernel);
            let mut words = Words(q);
            let mut polynomials =
                |count: usize| (0..count).map(|_| words.vector(length, q)).collect::<Vec<_>>();
            let (x, b, a) = (polynomials(9), polynomials(9), polynomials(9));
            let key = KeyLimb::of_pairs(
                &e,
                &b.iter().zip(&a).map(|(b, a)| (&b[..], &a[..])).collect::<Vec<_>>(),
            );
            let product = |digits: &[usize]| {
                let mut acc = (vec![0; length], vec![0; length]);
                let digits: Vec<(usize, &[u64])> =
                    digits.iter().map(|d| (*d, &x[*d][..])).collect();
                e.inner_product(&mut acc.0, &mut acc.1, &digits, &key);
                acc
            };
            let mut sum = (vec![0; length], vec![0; length]);
            for d in 0..9 {
                let one = product(&[d]);
                e.add_assign(&mut sum.0, &one.0);
                e.add_assign(&mut sum.1, &one.1);
            }
            assert!(product(&[0, 1, 2, 3, 4, 5, 6, 7, 8]) == sum, "{kernel} {q}");
        }
    }
}

/// A gathered key gives the same results as its limbs, at either end of its memory.
#[test]
fn gathered_keys_give_the_same() {
    for kernel in Kernel::supported() {
        for q in [65537, ntt_primes_below(48, 16).next().unwrap(), (1 << 61) - 1] {
            let e = Elementwise::new(q, kernel);
            let mut words = Words(q);
            let mut polynomial = || words.vector(24, q);
            let x = polynomial();
            let digits: Vec<(usize, &[u64])> = vec![(0, &x), (1, &x)];
            let mut keys: Vec<KeyLimb> = (0..3)
                .map(|_| {
                    let parts: [Vec<u64>; 4] = std::array::from_fn(|_| polynomial());
                    KeyLimb::of_pairs(&e, &[(&parts[0], &parts[1]), (&parts[2], &parts[3])])
                })
                .collect();
            let products = |keys: &[KeyLimb]| -> Vec<_> {
                keys.iter()
                    .map(|key| {
                        let mut acc = (vec![0; 24], vec![0; 24]);
                        e.inner_product(&mut acc.0, &mut acc.1, &digits, key);
                        acc
                    })
                    .collect()
            };
            let apart = products(&keys);
            KeyLimb::gather(&mut keys);
            assert_eq!(products(&keys), apart);
            KeyLimb::gather(&mut keys[1..]);
            assert_eq!(products(&keys), apart);
        }
    }
}

/// Coalescing the limbs of a key together gives the same as coalescing them one by one, for every
/// number of threads.
#[test]
fn keys_are_coalesced_limb_by_limb() {
    for kernel in Kernel::supported() {
        let moduli = [65537, ntt_primes_below(48, 16).next().unwrap(), (1 << 61) - 1];
        let rings = moduli.map(|q| Elementwise::new(q, kernel));
        let mut words = Words(1);
        let keys: Vec<KeyLimb> = rings
            .iter()
            .map(|e| {
                let digits: Vec<_> =
                    (0..5).map(|_| [(); 2].map(|()| words.vector(24, e.modulus()))).collect();
                KeyLimb::of_pairs(
                    e,
                    &digits.iter().map(|[b, a]| (&b[..], &a[..])).collect::<Vec<_>>(),
                )
            })
            .collect();
        let (groups, limbs) =
            ([&[0, 3][..], &[1, 2, 4]], rings.iter().zip(&keys).collect::<Vec<_>>());
        for threads in [Threads::single(), Threads::new(2).unwrap()] {
            let together = KeyLimb::coalesce(&limbs, &groups, &threads);
            assert_eq!(together.len(), limbs.len());
            for ((e, key), together) in limbs.iter().zip(&together) {
                let (x, y) = (words.vector(24, e.modulus()), words.vector(24, e.modulus()));
                let product = |key: &KeyLimb| {
                    let mut acc = (vec![0; 24], vec![0; 24]);
                    e.inner_product(&mut acc.0, &mut acc.1, &[(0, &x), (1, &y)], key);
                    acc
                };
                assert_eq!(product(together), product(&coalesced(e, key, &groups)));
            }
        }
    }
}

#[test]
fn an_empty_inner_product_is_zero() {
    for kernel in Kernel::supported() {
        let e = Elementwise::new(65537, kernel);
        let key = KeyLimb::of_pairs(&e, &[(&[3; 16], &[4; 16])]);
        let (mut acc0, mut acc1) = ([1; 16], [2; 16]);
        e.inner_product(&mut acc0, &mut acc1, &[], &key);
        assert_eq!((acc0, acc1), ([0; 16], [0; 16]));
    }
}

#[test]
#[should_panic(expected = "must have the same length")]
fn lengths_that_differ_are_refused() {
    let e = Elementwise::new(65537, Kernel::supported().max().unwrap());
    e.add_assign(&mut [0; 16], &[0; 8]);
}

#[test]
#[should_panic(expected = "digits of an inner product must be among the 1")]
fn a_digit_that_the_key_lacks_is_refused() {
    let e = Elementwise::new(65537, Kernel::supported().max().unwrap());
    let key = KeyLimb::of_pairs(&e, &[(&[3; 16], &[4; 16])]);
    e.inner_product(&mut [0; 16], &mut [0; 16], &[(1, &[0; 16])], &key);
}

#[test]
#[should_panic(expected = "coalesced digits must be among the 1")]
fn a_digit_that_the_key_lacks_is_not_coalesced() {
    let e = Elementwise::new(65537, Kernel::supported().max().unwrap());
    let key = KeyLimb::of_pairs(&e, &[(&[3; 16], &[4; 16])]);
    coalesced(&e, &key, &[&[0], &[0, 1]]);
}

/// Returns the message of the panic of `f`.
fn panics(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = std::panic::catch_unwind(f).expect_err("it panics");
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("panics say why")).to_string())
}

/// Every digit must be written once, with polynomials of the key's length. Otherwise inner products
/// would read unwritten memory, or memory outside the key.
#[test]
fn keys_are_put_as_they_are_declared() {
    let one = [1; 64];
    for kernel in Kernel::supported() {
        let prime = ntt_primes_below(50, 64).next().unwrap();
        let rings = [
            ResidueRing::prime(prime, 64, kernel).unwrap(),
            ResidueRing::power_of_two(16, 64, kernel).unwrap(),
        ];
        for e in &rings {
            let put = |length: usize, digits: &[(usize, &[u64], &[u64])]| {
                let puts = |_: usize, put: &mut DigitWriter<'_>| {
                    digits.iter().for_each(|(d, b, a)| put(*d, b, a))
                };
                let key = || drop(KeyLimb::prepare(&[e], 2, length, &Threads::single(), puts));
                panics(std::panic::AssertUnwindSafe(key))
            };
            let [first, second] = [(0, &one[..], &one[..]), (1, &one[..], &one[..])];
            assert_eq!(put(64, &[first, first]), "digit 0 of a key is put twice");
            assert_eq!(put(64, &[first, second, first]), "digit 0 of a key is put twice");
            assert_eq!(put(64, &[second]), "digit 0 of the 2 digits of a key is missing");
            assert_eq!(put(64, &[(2, &one, &one)]), "a key of 2 digits has no digit 2");
            for (b, a) in [(8, 64), (64, 8), (8, 8)] {
                let text = put(64, &[first, (1, &one[..b], &one[..a])]);
                assert!(text.contains("the key's length 64"), "{text}");
            }
            for length in [1 << 60, 1 << 59, 1 << 63, usize::MAX] {
                let text = put(length, &[(0, &[], &[]), (1, &[], &[])]);
                assert!(text.contains("must fit the address space"), "{length}: {text}");
            }
        }
    }
}

/// Ranges of a key are gathered like whole keys, wherever they begin.
#[test]
fn ranges_are_gathered() {
    for kernel in Kernel::supported() {
        for q in [ntt_primes_below(48, 16).next().unwrap(), (1 << 61) - 1] {
            let e = Elementwise::new(q, kernel);
            let mut words = Words(q);
            let [b, a, x] = [(); 3].map(|()| words.vector(64, q));
            let key = KeyLimb::of_pairs(&e, &[(&b, &a), (&a, &b)]);
            let mut ranges = [
                key.range(8, 16),
                key.range(56, 8),
                key.clone(),
                KeyLimb::of_pairs(&e, &[]).range(0, 0),
            ];
            let products = |ranges: &[KeyLimb]| -> Vec<_> {
                ranges
                    .iter()
                    .map(|key| {
                        let mut acc = (vec![0; key.length()], vec![0; key.length()]);
                        let digits =
                            (0..key.digits()).map(|d| (d, &x[..key.length()])).collect::<Vec<_>>();
                        e.inner_product(&mut acc.0, &mut acc.1, &digits, key);
                        acc
                    })
                    .collect()
            };
            let apart = products(&ranges);
            KeyLimb::gather(&mut ranges);
            assert_eq!(products(&ranges), apart);
        }
    }
}

#[test]
fn moduli_without_arithmetic_are_refused() {
    for q in [0, 1, 2, 1 << 20, (1 << 61) + 1] {
        let new = || _ = Elementwise::new(q, Kernel::Portable);
        assert!(panics(new).contains("not an odd modulus"));
    }
}
