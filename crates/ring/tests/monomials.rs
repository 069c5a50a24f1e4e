//! Inner products of which a part is turned by a monomial, against inner products and a product by the values of the monomial.

use hippocrene_ring::{
    Kernel, ResidueRing, Sampler, Seed,
    monomial::Monomials,
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
        exponent in 0usize..1 << 12,
        still in 0usize..70,
        turned in 0usize..70,
        seed in any::<[u8; 32]>(),
    ) {
        let (degree, seed) = (1 << log_degree, Seed::from_bytes(seed));
        let below = ntt_primes_below(bits, degree).next();
        let above = ntt_primes_above(bits - 1, degree).next();
        let q = if largest { below } else { above }.unwrap();
        for kernel in Kernel::supported() {
            let ring = ResidueRing::prime(q, degree, kernel).unwrap();
            let e = ring.elementwise();
            let words = |stream: usize, bound: u64| {
                let mut words = vec![0; degree];
                Sampler::new(&seed, stream as u64).uniform(bound, &mut words);
                words[0] = bound - 1;
                words
            };
            let digits = still + turned;
            let key: Vec<[Vec<u64>; 2]> = (0..digits).map(|d| [words(3 * d, q), words(3 * d + 1, q)]).collect();
            let pairs: Vec<(&[u64], &[u64])> = key.iter().map(|[b, a]| (&b[..], &a[..])).collect();
            let key = e.prepare_key(&pairs);
            let x: Vec<Vec<u64>> = (0..digits).map(|d| words(3 * d + 2, q * e.lazy_multiple())).collect();
            let terms: Vec<(usize, &[u64])> = x.iter().enumerate().map(|(d, x)| (d, &x[..])).collect();
            let (still, turned) = terms.split_at(still);

            let mut sums = [vec![1; degree], vec![2; degree]];
            let [sum0, sum1] = &mut sums;
            e.inner_product_turned(sum0, sum1, [still, turned], &key, &Monomials::new(&ring).power(exponent));

            let mut monomial = vec![0; degree];
            monomial[exponent % degree] = if exponent / degree % 2 == 0 { 1 } else { q - 1 };
            ring.ntt().forward(&mut monomial);
            let (mut expected, mut more) = (sums.clone(), sums.clone());
            let [sum0, sum1] = &mut expected;
            e.inner_product(sum0, sum1, still, &key);
            let [more0, more1] = &mut more;
            e.inner_product(more0, more1, turned, &key);
            for (sum, more) in expected.iter_mut().zip(&more) {
                e.mul_add_assign(sum, more, &monomial);
            }
            prop_assert_eq!(&sums, &expected, "{} {} {}", kernel, q, degree);
        }
    }
}
