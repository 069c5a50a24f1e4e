//! Sums of products that are relinearised once, compared with plain arithmetic modulo `t`. Their
//! noise is compared with its estimate.

use crate::common::{Setup, insecure};
use hippocrene_bgv::{Ciphertext, LinearTransform, Permutation, Scheme};
use hippocrene_rlwe::{
    Parameters, SecretDistribution, Sprout,
    design::{Request, design},
};

const SPROUT: &str = "sprout-15-16-32";

#[test]
fn products_are_added_up_before_they_are_relinearised() {
    for (sprout, units, scheme) in chains_of_products() {
        let s = insecure(10, 48, units, sprout, 65537, &[]);
        let e = &s.evaluator.clone().with_scheme(scheme);
        let values: Vec<Vec<u64>> = (0..8).map(|i| s.values(i)).collect();
        let fresh: Vec<Ciphertext> = values.iter().map(|v| s.encrypt(v)).collect();
        let (before, one) = (s.context.rlwe().transforms(), e.mul(&fresh[0], &fresh[1]).unwrap());
        let transforms = s.context.rlwe().transforms() - before;
        let pairs: Vec<(&Ciphertext, &Ciphertext)> = fresh.iter().zip(fresh.iter().rev()).collect();
        let (before, sum) = (s.context.rlwe().transforms(), e.sum_of_products(&pairs).unwrap());
        // Each BFV product except the first needs 6 l + 4 r transforms. A whole product needs 7 (l
        // + r) and those of the key switch.
        let most = if scheme == Scheme::Bgv { 2 * transforms } else { 5 * transforms };
        assert!(s.context.rlwe().transforms() - before < most);
        let pairs = values.iter().zip(values.iter().rev());
        let expected = pairs.fold(vec![0; s.degree()], |sum, (x, y)| {
            s.zip(&sum, &s.zip(x, y, |x, y| x * y), |a, b| a + b)
        });
        assert_eq!(s.decrypt(&sum), expected);
        match scheme {
            Scheme::Bgv => s.check_noise(&sum, "a sum of products"),
            // The errors of factors and of products are added as if they were dependent.
            Scheme::Bfv => {
                assert!((-0.585..3.1).contains(&(sum.inner().noise().log2_std() - s.error(&sum))))
            }
        }
        // At most one bit is lost for each doubling of the number of products.
        assert!(sum.budget_bits(&s.context) > one.budget_bits(&s.context) - 3.0);

        // Operands of different factors and moduli, including a square. The factors cost no budget.
        let square = e.mul(&one, &one).unwrap();
        let mixed = [(&fresh[0], &fresh[2]), (&square, &fresh[1]), (&one, &one), (&fresh[3], &one)];
        let sum = e.sum_of_products(&mixed).unwrap();
        let product = s.zip(&values[0], &values[1], |x, y| x * y);
        let squared = s.zip(&product, &product, |x, y| x * y);
        let terms = [
            s.zip(&values[0], &values[2], |x, y| x * y),
            s.zip(&squared, &values[1], |x, y| x * y),
            squared,
            s.zip(&values[3], &product, |x, y| x * y),
        ];
        let expected =
            terms.iter().fold(vec![0; s.degree()], |sum, term| s.zip(&sum, term, |a, b| a + b));
        assert_eq!(s.decrypt(&sum), expected);
        let alone = e.mul(&square, &fresh[1]).unwrap();
        let (have, all) = (sum.budget_bits(&s.context), alone.budget_bits(&s.context));
        assert!(have > all - 8.0, "{have} of {all}");
        assert!(e.sum_of_products(&[]).unwrap_err().to_string().contains("no products"));

        // Factors that were changed by constants, of operands at large moduli and at the smallest
        // one.
        let thrice = e.mul_integer(&fresh[2], 3).unwrap();
        let sum = e
            .sum_of_products(&[(&fresh[0], &fresh[1]), (&thrice, &fresh[3]), (&thrice, &thrice)])
            .unwrap();
        let terms = [
            s.zip(&values[0], &values[1], |x, y| x * y),
            s.zip(&values[2], &values[3], |x, y| 3 * x * y),
            s.zip(&values[2], &values[2], |x, y| 9 * x * y),
        ];
        let expected =
            terms.iter().fold(vec![0; s.degree()], |sum, term| s.zip(&sum, term, |a, b| a + b));
        assert_eq!(s.decrypt(&sum), expected);
        assert!(sum.budget_bits(&s.context) <= s.budget(&sum));
    }
}

/// Sprouts and numbers of units, for products of both schemes.
fn chains_of_products() -> [(&'static str, usize, Scheme); 4] {
    [
        (SPROUT, 4, Scheme::Bgv),
        ("none", 5, Scheme::Bgv),
        (SPROUT, 4, Scheme::Bfv),
        ("none", 5, Scheme::Bfv),
    ]
}

/// The errors of one product that is added many times add up. They are not treated as independent.
#[test]
fn errors_of_equal_products_add_up() {
    const TIMES: usize = 256;
    for (sprout, units, scheme) in chains_of_products() {
        let s = insecure(10, 48, units, sprout, 65537, &[]);
        let e = &s.evaluator.clone().with_scheme(scheme);
        let (x, y) = (s.values(1), s.values(2));
        let (a, b) = (s.encrypt(&x), s.encrypt(&y));
        let other = e.add_integer(&a, 1).unwrap();
        let pairs: Vec<(&Ciphertext, &Ciphertext)> = (0..TIMES)
            .map(|i| match i % 4 {
                0 => (&a, &b),
                1 => (&b, &a),
                2 => (&other, &b),
                _ => (&b, &other),
            })
            .collect();
        let sum = e.sum_of_products(&pairs).unwrap();
        let half = TIMES as u128 / 2;
        assert_eq!(s.decrypt(&sum), s.zip(&x, &y, |x, y| half * (x * y + (x + 1) * y)));
        let (estimated, there) = (sum.inner().noise().log2_std(), s.error(&sum));
        assert!(
            estimated > there - 0.585 && estimated < there + 3.0,
            "{estimated} bits for {there}"
        );
    }
}

/// Operands that are sums of the same ciphertext share an error, although no two of them are equal.
/// Their products are just as dependent.
#[test]
fn errors_of_dependent_operands_are_not_underestimated() {
    const TIMES: u128 = 256;
    for (sprout, units, scheme) in chains_of_products() {
        let s = insecure(10, 48, units, sprout, 65537, &[]);
        let e = &s.evaluator.clone().with_scheme(scheme);
        let (x, y) = (s.values(1), s.values(2));
        let (a, b) = (s.encrypt(&x), s.encrypt(&y));
        let multiples: Vec<Ciphertext> =
            std::iter::successors(Some(a.clone()), |sum| Some(e.add(sum, &a).unwrap()))
                .take(TIMES as usize)
                .collect();
        let pairs: Vec<(&Ciphertext, &Ciphertext)> =
            multiples.iter().map(|sum| (sum, &b)).collect();
        let sum = e.sum_of_products(&pairs).unwrap();
        let all = TIMES * (TIMES + 1) / 2;
        assert_eq!(s.decrypt(&sum), s.zip(&x, &y, |x, y| all * x * y));
        let (estimated, there) = (sum.inner().noise().log2_std(), s.error(&sum));
        assert!(
            estimated > there - 0.585,
            "{estimated} bits are estimated, but {there} are measured"
        );
    }
}

/// Returns a setup of ring degree 2^15 with 128 bits of security and `usable` bits of modulus.
fn real(usable: u32) -> Setup {
    let design = design(&Request {
        log_degree: 15,
        secret: SecretDistribution::Ternary,
        sprout: Sprout::named(SPROUT).unwrap(),
        usable,
        word: 48,
        log2_pq: None,
        margin: 4,
    });
    crate::common::setup(Parameters::new(design.unwrap().literal().unwrap()).unwrap(), 65537, &[1])
}

/// In the product of an error and its conjugate, the values add up in one coefficient.
#[test]
fn products_with_exchanged_rows_are_within_the_budget() {
    for usable in [300, 560] {
        let s = real(usable);
        let (x, half) = (s.values(1), s.degree() / 2);
        let f = s.encrypt(&x);
        let exchanged = s.evaluator.exchange_rows(&f).unwrap();
        let sum = s.evaluator.add(&f, &exchanged).unwrap();
        // The map moves all slots by one place, and those at the ends of the rows into the other
        // row.
        let mut diagonals = [(false, vec![1; s.degree()]), (true, vec![0; s.degree()])];
        for end in [0, half] {
            (diagonals[0].1[end], diagonals[1].1[end]) = (0, 1);
        }
        let diagonals = diagonals
            .map(|(exchanged, diagonal)| (Permutation { exchanged, rotation: 1 }, diagonal));
        let transform = LinearTransform::new(&s.context, &diagonals.into()).unwrap();
        let moved = s.evaluator.linear_transform(&f, &transform).unwrap();
        for (a, b, what) in [
            (&f, &exchanged, "a product with exchanged rows"),
            (&sum, &sum, "the square of a sum of both rows"),
            (&moved, &moved, "the square of a result moved from row to row"),
        ] {
            let mut product = s.evaluator.mul(a, b).unwrap();
            for squared in 0..3 {
                let (have, there) = (product.budget_bits(&s.context), s.budget(&product));
                assert!(
                    have <= there,
                    "{what}, {usable} bits, squared {squared}: {have} bits are estimated, but \
                     {there} are measured"
                );
                let Ok(square) = s.evaluator.mul(&product, &product) else { break };
                product = square;
            }
        }
    }
}

/// After a product with 0, the carry of messages beyond `t/2` is the whole error.
#[test]
fn sums_without_noise_have_the_error_of_the_carry() {
    for scheme in [Scheme::Bgv, Scheme::Bfv] {
        let s = insecure(10, 48, 3, SPROUT, 65537, &[]);
        let e = &s.evaluator.clone().with_scheme(scheme);
        let zero = e.mul_integer(&s.encrypt(&s.values(1)), 0).unwrap();
        let mut x = s.values(2);
        let mut sum = e.add_plain(&zero, &s.plaintext(&x)).unwrap();
        let mut doublings = 0;
        while let Ok(twice) = e.add(&sum, &sum) {
            (x, sum) = (s.zip(&x, &x, |x, y| x + y), twice);
            assert_eq!(s.decrypt(&sum), x, "{scheme:?}, doubled {doublings} times");
            assert!(sum.budget_bits(&s.context) <= s.budget(&sum));
            doublings += 1;
        }
        assert!(doublings > 30, "{doublings}");
    }
}
