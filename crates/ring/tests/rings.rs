//! One suite for every kind of ring and every kernel, against schoolbook multiplication.

use hippocrene_ring::{
    Kernel, ResidueRing, RingError,
    primes::{is_prime, ntt_primes, ntt_primes_below},
};

/// Splitmix64: reproducible residues.
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

/// Products of two and three primes that have transforms of this degree, near the ends of what the kernels take.
fn composites(degree: usize) -> Vec<Vec<u64>> {
    let small: Vec<u64> = (1..).map(|k| 2 * degree as u64 * k + 1).filter(|&p| is_prime(p)).take(2).collect();
    let mut found = vec![small.clone()];
    for bits in [48, 50, 61] {
        let largest = |taken: &[u64]| {
            let room = (1u64 << bits) / taken.iter().product::<u64>();
            (1..)
                .map(|k| (room / (2 * degree as u64) - k) * 2 * degree as u64 + 1)
                .find(|p| is_prime(*p) && !taken.contains(p))
                .unwrap()
        };
        found.push(vec![small[0], largest(&small[..1])]);
        if bits == 61 {
            found.push(vec![small[1], largest(&small), small[0]]);
        }
    }
    found
}

#[test]
fn reducing_commutes_with_transforms_of_composite_rings() {
    for log in [4, 6, 9, 11, 15] {
        let n = 1 << log;
        for primes in composites(n) {
            let q: u64 = primes.iter().product();
            let a = random(3, q, n);
            for kernel in Kernel::supported() {
                let ring = ResidueRing::composite(&primes, n, kernel).unwrap();
                assert_eq!((ring.modulus(), ring.degree()), (q, n));
                let mut values = a.clone();
                ring.ntt().forward(&mut values);
                for divisor in primes.iter().map(|&p| vec![p]).chain([primes[1..].to_vec()]) {
                    let small = ResidueRing::composite(&divisor, n, kernel).unwrap();
                    let (mut expected, mut reduced) = (vec![0; n], vec![0; n]);
                    small.elementwise().reduce(&mut expected, &a);
                    small.ntt().forward(&mut expected);
                    small.elementwise().reduce(&mut reduced, &values);
                    assert!(reduced == expected, "{kernel}, N = {n}, from {primes:?} to {divisor:?}");
                    // The embedding of what was reduced is congruent to what was transformed.
                    small.ntt().inverse(&mut reduced);
                    let same = reduced.iter().zip(&a).all(|(r, a)| *r == a % small.modulus());
                    assert!(same, "{kernel}, N = {n}, from {primes:?} to {divisor:?}");
                }
                ring.ntt().inverse(&mut values);
                assert!(values == a, "{kernel}, N = {n}, {primes:?}");
            }
        }
    }
}

#[test]
fn impossible_rings_are_refused() {
    let n = 64;
    let [p, q] = ntt_primes(40, n, 2, &[]).unwrap()[..] else { unreachable!() };
    let refused = |primes: &[u64]| ResidueRing::composite(primes, n, Kernel::Portable).unwrap_err();
    assert_eq!(refused(&[]), RingError::ModulusRange { modulus: 1 });
    assert_eq!(refused(&[257, 257]), RingError::NotCoprime { first: 257, second: 257 });
    assert_eq!(refused(&[p, q]), RingError::ModulusRange { modulus: u64::MAX });
    assert_eq!(refused(&[257 * 641]), RingError::NotPrime { modulus: 257 * 641 });
    assert_eq!(refused(&[257, 97]), RingError::NoRootOfUnity { modulus: 97, degree: n });
    let near = ntt_primes_below(53, n).next().unwrap();
    assert!(matches!(refused(&[257, near]), RingError::ModulusRange { .. }));
}
