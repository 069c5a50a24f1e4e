//! Sums over slots, linear transforms, powers, polynomials and whole circuits compared with plain
//! arithmetic modulo `t`. Their noise is compared with its estimate.

use std::collections::BTreeMap;

use crate::common::{Setup, insecure};
use hippocrene_bgv::{
    BgvError, Ciphertext, LinearTransform, Matrix, Permutation, Polynomial, Scheme,
};
use hippocrene_rlwe::{
    Parameters, SecretDistribution, Sprout,
    design::{Request, design},
};
use proptest::prelude::*;

const SPROUT: &str = "sprout-15-16-32";

/// Returns rotations by the powers of two.
fn powers_of_two(log_degree: u32) -> Vec<i64> {
    (0..log_degree - 1).map(|k| 1 << k).collect()
}

/// Returns a setup whose slots can hold every integer modulo `t = 257`, at ring degree 128.
fn small(units: usize, sprout: &str) -> Setup {
    insecure(7, 48, units, sprout, 257, &powers_of_two(7))
}

fn power(x: u64, n: u64, t: u64) -> u64 {
    (0..n).fold(1, |p, _| p * (x % t) % t)
}

#[test]
fn sums_over_slots_are_exact() {
    for s in [insecure(10, 48, 3, SPROUT, 65537, &powers_of_two(10)), small(2, "none")] {
        let (half, t) = (s.degree() / 2, s.t());
        let x = s.values(1);
        let a = s.encrypt(&x);
        for (step, count) in [
            (1i64, 1),
            (1, 2),
            (2, 3),
            (1, 5),
            (4, 7),
            (-1, 8),
            (3, 4),
            (1, half),
            (half as i64, 2),
        ] {
            let sum = s.evaluator.inner_sum(&a, step, count).unwrap();
            let slot = |i: usize| {
                let (row, i) = (i / half * half, i % half);
                let at = |k: usize| (i as i64 + k as i64 * step).rem_euclid(half as i64) as usize;
                (0..count).map(|k| x[row + at(k)]).sum::<u64>() % t
            };
            assert_eq!(
                s.decrypt(&sum),
                (0..s.degree()).map(slot).collect::<Vec<_>>(),
                "{step} {count}"
            );
        }
        let sum = s.evaluator.total_sum(&a).unwrap();
        assert_eq!(s.decrypt(&sum), vec![x.iter().sum::<u64>() % t; s.degree()]);
        // Only the constant coefficient matters here, because every automorphism keeps it.
        let (have, there) = (sum.budget_bits(&s.context), s.budget(&sum));
        assert!(
            have <= there && there < have + 8.0,
            "{have} bits are estimated, but {there} are measured"
        );
        assert!(s.evaluator.inner_sum(&a, 1, 0).unwrap_err().to_string().contains("0 rotations"));
    }
}

/// Applies the map that the diagonals describe.
fn mapped(s: &Setup, diagonals: &BTreeMap<Permutation, Vec<i64>>, x: &[u64]) -> Vec<u64> {
    let (half, t) = (s.degree() / 2, s.t() as i64);
    let slot = |i: usize| {
        let of = |(p, d): (&Permutation, &Vec<i64>)| {
            let row = if p.exchanged { 1 - i / half } else { i / half };
            d[i] * x[row * half + (i + p.rotation) % half] as i64 % t
        };
        diagonals.iter().map(of).sum::<i64>().rem_euclid(t) as u64
    };
    (0..s.degree()).map(slot).collect()
}

fn diagonals(s: &Setup, permutations: &[(usize, bool)]) -> BTreeMap<Permutation, Vec<i64>> {
    let permutation = |(rotation, exchanged)| Permutation { exchanged, rotation };
    let values = |i: usize| s.values(100 + i as u64).iter().map(|v| *v as i64).collect();
    permutations.iter().enumerate().map(|(i, p)| (permutation(*p), values(i))).collect()
}

#[test]
fn linear_transforms_are_exact() {
    for s in [insecure(10, 48, 3, SPROUT, 65537, &powers_of_two(10)), small(2, "none")] {
        let half = s.degree() / 2;
        let x = s.values(7);
        let a = s.encrypt(&x);
        let dense: Vec<(usize, bool)> = (0..20).flat_map(|r| [(r, false), (r, true)]).collect();
        for permutations in [
            &[(0, false)][..],
            &[(0, true)],
            &[(3, true)],
            &[(0, false), (1, false), (half - 1, false)],
            &[(0, false), (half - 2, true), (5, false), (5, true), (33, false)],
            &dense,
        ] {
            let diagonals = diagonals(&s, permutations);
            let transform = LinearTransform::new(&s.context, &diagonals).unwrap();
            assert_eq!(transform.exchanges(), permutations.iter().any(|p| p.1));
            let b = s.evaluator.linear_transform(&a, &transform).unwrap();
            assert_eq!(s.decrypt(&b), mapped(&s, &diagonals, &x), "{permutations:?}");
            match transform.exchanges() {
                // The estimate is an upper bound that is safe for later products.
                true => {
                    let above = b.inner().noise().log2_std() - s.error(&b);
                    assert!(
                        (-1.0..7.0).contains(&above),
                        "{permutations:?}: the estimate is {above} bits too large"
                    );
                }
                false => s.check_noise(&b, "a linear transform"),
            }
            // The product has another modulus and another factor.
            let square = s.evaluator.mul_bgv(&a, &a).unwrap();
            let b = s.evaluator.linear_transform(&square, &transform).unwrap();
            let squared = s.zip(&x, &x, |x, y| x * y);
            assert_eq!(s.decrypt(&b), mapped(&s, &diagonals, &squared), "{permutations:?}");
        }
    }
}

/// Diagonals given by few integers map like those with all of their zeros. Too large a noise is
/// found before anything is computed.
#[test]
fn sparse_diagonals_map_like_dense_ones() {
    let s = small(2, SPROUT);
    let (x, last) = (s.values(7), s.degree() as u32 - 1);
    let entries: BTreeMap<Permutation, Vec<(u32, i64)>> = [
        (Permutation::rotated(0), vec![]),
        (Permutation::rotated(5), vec![(0, 3), (last, -2)]),
        (Permutation::exchanged(2), vec![(last, 7), (1, 1)]),
    ]
    .into();
    let dense = entries.iter().map(|(p, entries)| {
        let mut diagonal = vec![0; s.degree()];
        entries.iter().for_each(|(slot, x)| diagonal[*slot as usize] = *x);
        (*p, diagonal)
    });
    let transform = LinearTransform::from_entries(&s.context, &entries).unwrap();
    let a = s.encrypt(&x);
    let b = s.evaluator.linear_transform(&a, &transform).unwrap();
    assert_eq!(s.decrypt(&b), mapped(&s, &dense.collect(), &x));
    s.check_noise(&b, "few entries");
    let far = [(Permutation::rotated(0), vec![(last + 1, 1)])].into();
    let error = LinearTransform::from_entries(&s.context, &far).unwrap_err().to_string();
    assert!(error.contains(&format!("slot {}", last + 1)), "{error}");

    let mut spent = a;
    while let Ok(next) = s.evaluator.linear_transform(&spent, &transform) {
        spent = next;
    }
    let before = s.context.rlwe().transforms();
    let error = s.evaluator.linear_transform(&spent, &transform).unwrap_err();
    assert!(
        matches!(error, BgvError::Budget { need, have, .. } if need >= have && have > 0.0),
        "{error}"
    );
    assert_eq!(s.context.rlwe().transforms() - before, 0);
}

/// With a key for each baby and giant step the rotations are hoisted, and the result is the same.
#[test]
fn linear_transforms_with_all_keys_are_hoisted() {
    let permutations: Vec<(usize, bool)> = (0..32).map(|r| (r, r % 3 == 0)).collect();
    let s = small(2, SPROUT);
    let diagonals = diagonals(&s, &permutations);
    let wanted = LinearTransform::new(&s.context, &diagonals).unwrap().rotations();
    assert!(wanted.len() <= 16, "{wanted:?}");
    let s = insecure(7, 48, 2, SPROUT, 257, &wanted);
    let transform = LinearTransform::new(&s.context, &diagonals).unwrap();
    let x = s.values(8);
    let before = s.context.rlwe().transforms();
    let b = s.evaluator.linear_transform(&s.encrypt(&x), &transform).unwrap();
    let first = s.context.rlwe().transforms() - before;
    assert_eq!(s.decrypt(&b), mapped(&s, &diagonals, &x));
    s.check_noise(&b, "a hoisted linear transform");
    let bytes = transform.memory().0;
    assert!(bytes > 0 && bytes.is_multiple_of(32 * 8 * s.degree()));
    // The encodings are cached.
    let before = s.context.rlwe().transforms();
    s.evaluator.linear_transform(&s.encrypt(&x), &transform).unwrap();
    assert!(s.context.rlwe().transforms() - before < first);
    transform.set_memory(0);
    assert_eq!(transform.memory(), (0, 0));
}

/// Diagonals of ones add up a row. Their errors add up in the constant coefficient, and so does the
/// estimate.
#[test]
fn dependent_diagonals_are_not_underestimated() {
    let s = insecure(10, 48, 3, SPROUT, 65537, &powers_of_two(10));
    let half = s.degree() / 2;
    let x = s.values(9);
    let ones: BTreeMap<_, _> =
        (0..half).map(|r| (Permutation::rotated(r), vec![1; s.degree()])).collect();
    let transform = LinearTransform::new(&s.context, &ones).unwrap();
    let sum = s.evaluator.linear_transform(&s.encrypt(&x), &transform).unwrap();
    let of = |row: &[u64]| vec![row.iter().sum::<u64>() % s.t(); half];
    assert_eq!(s.decrypt(&sum), [of(&x[..half]), of(&x[half..])].concat());
    let (have, there) = (sum.budget_bits(&s.context), s.budget(&sum));
    assert!(
        have <= there && there < have + 8.0,
        "{have} bits are estimated, but {there} are measured"
    );
}

#[test]
fn matrix_products_are_exact() {
    for s in [small(2, SPROUT), small(2, "none")] {
        let half = s.degree() / 2;
        let x = s.values(10);
        let a = s.encrypt(&x);
        for (rows, columns) in [
            (1, 1),
            (3, 5),
            (5, 3),
            (1, half),
            (half, 1),
            (4, 33),
            (6, 40),
            (3, half),
            (half, half),
        ] {
            let entry = |i: usize| {
                (s.values(i as u64)[..columns]).iter().map(|v| *v as i64 - 100).collect()
            };
            let matrix: Vec<Vec<i64>> = (0..rows).map(entry).collect();
            let prepared = Matrix::new(&s.context, &matrix).unwrap();
            assert_eq!(prepared.shape(), (rows, columns));
            let product = s.decrypt(&s.evaluator.matrix_product(&prepared, &a).unwrap());
            for start in [0, half] {
                let value = |row: &Vec<i64>| {
                    row.iter()
                        .zip(&x[start..])
                        .map(|(m, x)| m * *x as i64)
                        .sum::<i64>()
                        .rem_euclid(257) as u64
                };
                let expected: Vec<u64> = matrix.iter().map(value).collect();
                assert_eq!(product[start..start + rows], expected, "{rows} x {columns}");
            }
        }
        // A flat matrix has few diagonals, and uses no more rotations than it lists.
        let flat = Matrix::new(&s.context, &[vec![1; half], vec![2; half]]).unwrap();
        let wanted = flat.rotations();
        assert!(wanted.len() <= 8, "{wanted:?}");
        let exact = insecure(7, 48, 2, SPROUT, 257, &wanted);
        let flat = Matrix::new(&exact.context, &[vec![1; half], vec![2; half]]).unwrap();
        exact.evaluator.matrix_product(&flat, &exact.encrypt(&x)).unwrap();
        assert!(Matrix::new(&s.context, &[vec![1], vec![1, 2]]).is_err());
        assert!(Matrix::new(&s.context, &[]).unwrap_err().to_string().contains("0 rows"));
    }
}

#[test]
fn powers_and_tests_for_zero_are_exact() {
    for s in [small(6, SPROUT), small(10, "none")] {
        let x: Vec<u64> =
            s.values(11).iter().enumerate().map(|(i, v)| if i % 3 == 0 { 0 } else { *v }).collect();
        let a = s.encrypt(&x);
        for n in [0u64, 1, 2, 3, 6, 7, 31] {
            let b = s.evaluator.power(&a, n).unwrap();
            assert_eq!(
                s.decrypt(&b),
                x.iter().map(|x| power(*x, n, 257)).collect::<Vec<_>>(),
                "{n}"
            );
            if n > 1 {
                s.check_noise(&b, "a power");
            }
        }
        let is_zero = s.evaluator.is_zero(&a).unwrap();
        assert_eq!(s.decrypt(&is_zero), x.iter().map(|x| u64::from(*x == 0)).collect::<Vec<_>>());
        let bfv = s.evaluator.clone().with_scheme(Scheme::Bfv).is_zero(&a).unwrap();
        assert_eq!(s.decrypt(&bfv), s.decrypt(&is_zero));
        let y = s.zip(&x, &s.values(12), |x, y| if y % 2 == 0 { x } else { y });
        let expected: Vec<u64> = x.iter().zip(&y).map(|(x, y)| u64::from(x == y)).collect();
        assert_eq!(s.decrypt(&s.evaluator.equals(&a, &s.encrypt(&y)).unwrap()), expected);
        assert_eq!(s.decrypt(&s.evaluator.equals_plain(&a, &s.plaintext(&y)).unwrap()), expected);
    }
    let without = insecure(7, 48, 5, "none", 65536, &[]);
    let zero = without.context.encoder().encode_coefficients(&[]).unwrap();
    let zero = without.context.encrypt(&without.secret, &zero).unwrap().expand(&without.context);
    assert!(without.evaluator.is_zero(&zero).unwrap_err().to_string().contains("slots"));
}

/// 16 squarings with parameters of 128-bit security at ring degree `2^15`, in both schemes. Enough
/// budget is left for a product with a table and a sum over all slots.
#[test]
fn equality_of_16_bits_fits_128_bit_security() {
    let design = design(&Request {
        log_degree: 15,
        secret: SecretDistribution::Ternary,
        sprout: Sprout::named(SPROUT).unwrap(),
        usable: 640,
        word: 48,
        log2_pq: None,
        margin: 4,
    });
    let parameters = Parameters::new(design.unwrap().literal().unwrap()).unwrap();
    let s = crate::common::setup(parameters, 65537, &[]);
    let x = s.values(13);
    let y = s.zip(&x, &s.values(14), |x, y| if y % 2 == 0 { x } else { y });
    let expected: Vec<u64> = x.iter().zip(&y).map(|(x, y)| u64::from(x == y)).collect();
    for scheme in [Scheme::Bgv, Scheme::Bfv] {
        let evaluator = s.evaluator.clone().with_scheme(scheme);
        let equal = evaluator.equals(&s.encrypt(&x), &s.encrypt(&y)).unwrap();
        assert_eq!(s.decrypt(&equal), expected);
        let left = equal.budget_bits(&s.context);
        assert!(left > 40.0, "{scheme:?}: {left}");
        assert!(
            s.budget(&equal) >= left,
            "{scheme:?}: {left} bits are estimated, but {} are measured",
            s.budget(&equal)
        );
    }
}

fn check_polynomial(
    s: &Setup,
    p: &Polynomial,
    x: &[u64],
    a: &Ciphertext,
    what: &str,
) -> Ciphertext {
    let expected: Vec<u64> = x.iter().map(|x| p.evaluate(*x)).collect();
    let bfv = s.evaluator.clone().with_scheme(Scheme::Bfv).polynomial(a, p).unwrap();
    assert_eq!(s.decrypt(&bfv), expected, "{what}, BFV");
    let (have, there) = (bfv.budget_bits(&s.context), s.budget(&bfv));
    assert!(have <= there, "{what}: {have} bits are estimated, but {there} are measured");
    let b = s.evaluator.polynomial(a, p).unwrap();
    assert_eq!(s.decrypt(&b), expected, "{what}");
    b
}

#[test]
fn polynomials_of_every_small_degree_are_exact() {
    for s in [small(6, SPROUT), small(8, "none")] {
        let x = s.values(15);
        let a = s.encrypt(&x);
        let square = s.evaluator.mul_bgv(&a, &a).unwrap();
        let squared = s.zip(&x, &x, |x, y| x * y);
        let others: Vec<Ciphertext> = (0..5).map(|_| s.encrypt(&x)).collect();
        for n in 0..34usize {
            let c: Vec<i64> = s.values(16)[..=n].iter().map(|c| *c as i64).collect();
            let p = Polynomial::new(257, &c).unwrap();
            let b = check_polynomial(&s, &p, &x, &a, &format!("degree {n}"));
            if n > 1 {
                let more = others.iter().map(|a| s.evaluator.polynomial(a, &p).unwrap());
                s.check_noises(
                    &[b].into_iter().chain(more).collect::<Vec<_>>(),
                    &format!("degree {n}"),
                );
            }
            check_polynomial(&s, &p, &squared, &square, &format!("degree {n} of a square"));
        }
        // Sparse polynomials, and polynomials whose leading part is a constant.
        for terms in [
            &[(0, 3), (5, 1)][..],
            &[(6, 2)],
            &[(8, 1), (7, 5), (1, 1)],
            &[(12, 7), (3, -1)],
            &[(16, -1), (0, 1)],
        ] {
            let mut c = vec![0i64; 20];
            terms.iter().for_each(|(i, v)| c[*i] = *v);
            let p = Polynomial::new(257, &c).unwrap();
            check_polynomial(&s, &p, &x, &a, &format!("{terms:?}"));
        }
        let other = Polynomial::new(65537, &[1, 2]).unwrap();
        let error = s.evaluator.polynomial(&a, &other).unwrap_err();
        assert!(matches!(error, BgvError::PlainModulusMismatch { .. }), "{error}");
    }
}

/// The degree `t - 1` is a power of two, so the depth is eight products, like that of a test for
/// zero.
#[test]
fn polynomials_of_tables_evaluate_functions() {
    for s in [small(6, SPROUT), small(10, "none")] {
        let x = s.values(17);
        let a = s.encrypt(&x);
        let table: Vec<i64> =
            (0..257i64).map(|x| (x * 7919) % 251 + i64::from(x > 128) * 3).collect();
        let p = Polynomial::of_table(257, &table).unwrap();
        assert_eq!(p.degree(), 256);
        let b = check_polynomial(&s, &p, &x, &a, "a table");
        s.check_noise(&b, "a table");
        let zero = s.evaluator.is_zero(&a).unwrap();
        let (have, all) = (b.budget_bits(&s.context), zero.budget_bits(&s.context));
        assert!(have > all - 3.0, "{have} of {all}");
    }
}

/// Without slots, polynomials are evaluated in the ring, also for moduli that are not prime. The
/// integers are constant coefficients.
#[test]
fn polynomials_are_right_modulo_any_number() {
    for t in [1000u64, 1 << 16, 15] {
        let s = insecure(8, 48, 7, if t % 2 == 1 { SPROUT } else { "none" }, t, &[]);
        let encoder = s.context.encoder();
        for (x, n) in [(3i64, 4usize), (7, 8), (12, 11), (5, 16)] {
            let p =
                Polynomial::new(t, &(0..=n as i64).map(|i| i * i + 2).collect::<Vec<_>>()).unwrap();
            let plaintext = encoder.encode_coefficients(&[x]).unwrap();
            let a = s.context.encrypt(&s.secret, &plaintext).unwrap().expand(&s.context);
            let b = s.evaluator.polynomial(&a, &p).unwrap();
            let got =
                encoder.decode_coefficients(&s.context.decrypt(&s.secret, &b).unwrap()).unwrap();
            assert_eq!(got[0], p.evaluate(x as u64), "{t} {n}");
            assert!(got[1..].iter().all(|c| *c == 0));
        }
    }
}

#[test]
fn circuits_that_are_too_deep_are_refused() {
    let s = small(2, "none");
    let a = s.encrypt(&s.values(18));
    let table = Polynomial::of_table(257, &(0..257).rev().collect::<Vec<_>>()).unwrap();
    let error = s.evaluator.polynomial(&a, &Polynomial::new(257, &[1; 200]).unwrap()).unwrap_err();
    assert!(
        matches!(error, BgvError::Budget { operation: "evaluate a polynomial", .. }),
        "{error}"
    );
    // The function x -> 256 - x has degree 1.
    assert_eq!(table.degree(), 1);
    s.evaluator.polynomial(&a, &table).unwrap();
    assert!(matches!(
        s.evaluator.is_zero(&a).unwrap_err(),
        BgvError::Budget { operation: "multiply", .. }
    ));
    // The error states the needs of all 16 products and the budget before the first one. The first
    // product needs the least, because the noise of fresh ciphertexts is small.
    let square = s.evaluator.square(&a).unwrap();
    let one = a.budget_bits(&s.context) - square.budget_bits(&s.context);
    assert!(matches!(s.evaluator.power(&a, u64::MAX), Err(BgvError::Budget { .. })));
    let BgvError::Budget { need, have, .. } = s.evaluator.power(&a, 1 << 16).unwrap_err() else {
        panic!()
    };
    assert_eq!(have, a.budget_bits(&s.context));
    assert!(
        need > 16.0 * one && need < 40.0 * one,
        "{need} bits are needed, {one} for the first product"
    );
    assert!(LinearTransform::new(&s.context, &BTreeMap::new()).is_err());
    let short = BTreeMap::from([(Permutation::rotated(0), vec![1; 5])]);
    assert!(
        LinearTransform::new(&s.context, &short).unwrap_err().to_string().contains("5 integers")
    );
    let far = BTreeMap::from([(Permutation::exchanged(64), vec![1; 128])]);
    assert!(
        LinearTransform::new(&s.context, &far).unwrap_err().to_string().contains("rotation 64")
    );
}

/// A step of a circuit over a stack of ciphertexts. The fields are the indices of the operands,
/// from the top.
#[derive(Debug, Clone)]
enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    MulInteger(usize, i64),
    AddInteger(usize, i64),
    MulPlain(usize, u64),
    Rotate(usize, i64),
    Exchange(usize),
    Products(usize, usize, usize),
    Polynomial(usize, Vec<i64>),
    Transform(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let i = 0usize..4;
    let integer = prop_oneof![-300i64..300, Just(0), Just(1), Just(256)];
    let step = prop_oneof![
        (i.clone(), i.clone()).prop_map(|(a, b)| Step::Add(a, b)),
        (i.clone(), i.clone()).prop_map(|(a, b)| Step::Sub(a, b)),
        (i.clone(), i.clone()).prop_map(|(a, b)| Step::Mul(a, b)),
        (i.clone(), integer.clone()).prop_map(|(a, c)| Step::MulInteger(a, c)),
        (i.clone(), integer.clone()).prop_map(|(a, c)| Step::AddInteger(a, c)),
        (i.clone(), any::<u64>()).prop_map(|(a, p)| Step::MulPlain(a, p)),
        (i.clone(), -70i64..70).prop_map(|(a, k)| Step::Rotate(a, k)),
        i.clone().prop_map(Step::Exchange),
        (i.clone(), i.clone(), i.clone()).prop_map(|(a, b, c)| Step::Products(a, b, c)),
        (i.clone(), prop::collection::vec(integer, 1..9)).prop_map(|(a, c)| Step::Polynomial(a, c)),
        (i, 1usize..7).prop_map(|(a, n)| Step::Transform(a, n)),
    ];
    prop::collection::vec(step, 1..14)
}

fn rotated(x: &[u64], by: i64) -> Vec<u64> {
    let half = x.len() / 2;
    let k = by.rem_euclid(half as i64) as usize;
    [&x[k..half], &x[..k], &x[half + k..], &x[half..half + k]].concat()
}

/// Runs a circuit. If no operation is refused for lack of noise budget, the result is right and the
/// measured budget is at least the estimated one.
fn check_circuit(s: &Setup, scheme: Scheme, steps: &[Step]) {
    let e = &s.evaluator.clone().with_scheme(scheme);
    let mut stack: Vec<(Vec<u64>, Ciphertext)> =
        (20..24).map(|i| (s.values(i), s.encrypt(&s.values(i)))).collect();
    for step in steps {
        let at = |i: &usize| &stack[stack.len() - 1 - i];
        let result = match step {
            Step::Add(i, j) => (s.zip(&at(i).0, &at(j).0, |x, y| x + y), e.add(&at(i).1, &at(j).1)),
            Step::Sub(i, j) => {
                (s.zip(&at(i).0, &at(j).0, |x, y| x + 257 - y), e.sub(&at(i).1, &at(j).1))
            }
            Step::Mul(i, j) => (s.zip(&at(i).0, &at(j).0, |x, y| x * y), e.mul(&at(i).1, &at(j).1)),
            Step::MulInteger(i, c) => {
                let residue = c.rem_euclid(257) as u128;
                (s.zip(&at(i).0, &at(i).0, |x, _| x * residue), e.mul_integer(&at(i).1, *c))
            }
            Step::AddInteger(i, c) => {
                let residue = c.rem_euclid(257) as u128;
                (s.zip(&at(i).0, &at(i).0, |x, _| x + residue), e.add_integer(&at(i).1, *c))
            }
            Step::MulPlain(i, seed) => {
                let p = s.values(*seed);
                (s.zip(&at(i).0, &p, |x, y| x * y), e.mul_plain(&at(i).1, &s.plaintext(&p)))
            }
            Step::Rotate(i, k) => (rotated(&at(i).0, *k), e.rotate_rows(&at(i).1, *k)),
            Step::Exchange(i) => {
                let (first, second) = at(i).0.split_at(s.degree() / 2);
                ([second, first].concat(), e.exchange_rows(&at(i).1))
            }
            Step::Products(i, j, k) => {
                let [x, y, z] = [&at(i).0, &at(j).0, &at(k).0];
                let sum =
                    s.zip(&s.zip(x, y, |x, y| x * y), &s.zip(z, z, |x, y| x * y), |a, b| a + b);
                (sum, e.sum_of_products(&[(&at(i).1, &at(j).1), (&at(k).1, &at(k).1)]))
            }
            Step::Polynomial(i, c) => {
                let p = Polynomial::new(257, c).unwrap();
                (at(i).0.iter().map(|x| p.evaluate(*x)).collect(), e.polynomial(&at(i).1, &p))
            }
            Step::Transform(i, n) => {
                let permutations: Vec<(usize, bool)> =
                    (0..*n).map(|r| (11 * r % 64, r % 2 == 1)).collect();
                let diagonals = diagonals(s, &permutations);
                let transform = LinearTransform::new(&s.context, &diagonals).unwrap();
                (mapped(s, &diagonals, &at(i).0), e.linear_transform(&at(i).1, &transform))
            }
        };
        match result {
            (values, Ok(c)) => {
                assert_eq!(s.decrypt(&c), values, "{step:?} of {steps:?}");
                let (have, there) = (c.budget_bits(&s.context), s.budget(&c));
                assert!(
                    have <= there,
                    "{have} bits are estimated, but {there} are measured: {step:?} of {steps:?}"
                );
                stack.push((values, c));
            }
            (_, Err(error)) => {
                assert!(matches!(error, BgvError::Budget { .. }), "{error}: {step:?} of {steps:?}");
                return;
            }
        }
    }
}

#[test]
fn random_circuits_are_exact() {
    let (grafted, simple) = (small(6, SPROUT), small(7, "none"));
    let circuits = [
        (&grafted, Scheme::Bgv),
        (&simple, Scheme::Bgv),
        (&grafted, Scheme::Bfv),
        (&simple, Scheme::Bfv),
    ];
    for (s, scheme) in circuits {
        let config =
            ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) };
        let mut runner = proptest::test_runner::TestRunner::new(config);
        runner
            .run(&steps(), |steps| {
                check_circuit(s, scheme, &steps);
                Ok(())
            })
            .unwrap();
    }
}

/// If the diagonals may take no memory, a few of them are encoded at a time. The result is the same
/// to the bit.
#[test]
fn many_diagonals_are_encoded_in_parts() {
    let s = insecure(9, 48, 3, SPROUT, 12289, &(0..256).collect::<Vec<_>>());
    let all: Vec<(usize, bool)> = (0..130).flat_map(|r| [(r, false), (r, true)]).collect();
    let diagonals = diagonals(&s, &all);
    let x = s.values(10);
    let a = s.encrypt(&x);
    let transform = LinearTransform::new(&s.context, &diagonals).unwrap();
    let whole = s.evaluator.linear_transform(&a, &transform).unwrap();
    assert!(transform.memory().0 > 0);
    transform.set_memory(0);
    let parts = s.evaluator.linear_transform(&a, &transform).unwrap();
    assert_eq!(transform.memory(), (0, 0));
    assert_eq!((whole.inner(), whole.factor()), (parts.inner(), parts.factor()));
    assert_eq!(s.decrypt(&parts), mapped(&s, &diagonals, &x));
}
