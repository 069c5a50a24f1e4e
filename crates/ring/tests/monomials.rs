//! Tests of sums of inner products times monomials minus one, against inner products and products
//! with the values of the monomials.

use hippocrene_ring::{
    Kernel, ResidueRing, Sampler, Seed,
    elementwise::KeyLimb,
    primes::{ntt_primes_above, ntt_primes_below},
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn turned_inner_products_are_inner_products_turned(
        log_degree in 6u32..10,
        bits in proptest::sample::select(vec![20u32, 36, 48, 50, 51, 60, 61]),
        largest in any::<bool>(),
        turned in proptest::collection::vec((0usize..1 << 12, 0usize..70), 1..4),
        seed in any::<[u8; 32]>(),
    ) {
        let (degree, seed) = (1 << log_degree, Seed::from_bytes(seed));
        let below = ntt_primes_below(bits, degree).next();
        let above = ntt_primes_above(bits - 1, degree).next();
        let q = if largest { below } else { above }.unwrap();
        for kernel in Kernel::supported() {
            let ring = ResidueRing::prime(q, degree, kernel).unwrap();
            let e = &ring;
            let words = |stream: usize, bound: u64| {
                let mut words = vec![0; degree];
                Sampler::new(&seed, stream as u64).uniform(bound, &mut words);
                words[0] = bound - 1;
                words
            };
            let digits: usize = turned.iter().map(|(_, count)| count).sum();
            // A key without digits has no length.
            prop_assume!(digits > 0);
            let key: Vec<[Vec<u64>; 2]> =
                (0..digits).map(|d| [words(3 * d, q), words(3 * d + 1, q)]).collect();
            let pairs: Vec<(&[u64], &[u64])> = key.iter().map(|[b, a]| (&b[..], &a[..])).collect();
            let key = KeyLimb::of_pairs(e, &pairs);
            let x: Vec<Vec<u64>> =
                (0..digits).map(|d| words(3 * d + 2, q * e.lazy_multiple())).collect();
            let terms: Vec<(usize, &[u64])> =
                x.iter().enumerate().map(|(d, x)| (d, &x[..])).collect();
            let monomials = ring.monomials();
            let mut rest = &terms[..];
            let turned: Vec<_> = turned
                .iter()
                .map(|(exponent, count)| {
                    let (digits, others) = rest.split_at(*count);
                    rest = others;
                    (digits, monomials.power(*exponent))
                })
                .zip(turned.iter().map(|(exponent, _)| *exponent))
                .collect();
            let pairs: Vec<_> = turned.iter().map(|(pair, _)| *pair).collect();

            let mut sums = [vec![1; degree], vec![2; degree]];
            let [sum0, sum1] = &mut sums;
            e.inner_product_times_monomials(sum0, sum1, &pairs, &key);

            let mut expected = [vec![0; degree], vec![0; degree]];
            for ((digits, _), exponent) in turned {
                let mut values = vec![0; degree];
                values[exponent % degree] = if exponent / degree % 2 == 0 { 1 } else { q - 1 };
                values[0] = (values[0] + q - 1) % q;
                ring.forward(&mut values);
                let mut products = [vec![0; degree], vec![0; degree]];
                let [product0, product1] = &mut products;
                e.inner_product(product0, product1, digits, &key);
                for (sum, product) in expected.iter_mut().zip(&products) {
                    e.mul_add_assign(sum, product, &values);
                }
            }
            prop_assert_eq!(&sums, &expected, "{} {} {}", kernel, q, degree);
        }
    }
}
