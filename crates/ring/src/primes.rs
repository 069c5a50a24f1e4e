//! Primality tests, the search for NTT primes, and roots of unity.

use crate::{
    RingError,
    arith::{mul_mod, pow_mod},
};

/// Returns true if `n` is prime.
///
/// Miller-Rabin with the first twelve primes as bases is exact for every `n < 2^64` (Sorenson and
/// Webster, "Strong pseudoprimes to twelve prime bases", 2015).
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    if let Some(p) = BASES.into_iter().find(|p| n.is_multiple_of(*p)) {
        return n == p;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.into_iter().all(|base| {
        let mut x = pow_mod(base, odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        for _ in 1..twos {
            x = mul_mod(x, x, n);
            if x == n - 1 {
                return true;
            }
        }
        false
    })
}

/// Returns `2^bits` and `2N` if both fit into a word and `N` is not 0.
fn top_and_step(bits: u32, degree: usize) -> Option<(u64, u64)> {
    let step = (degree as u64).checked_mul(2).filter(|step| *step > 0)?;
    Some((1u64.checked_shl(bits)?, step))
}

/// Returns the primes `q = 1 mod 2N` of exactly `bits` bits, in descending order.
///
/// There are none if `2N` or `2^bits` does not fit into a word, or `N` is 0.
pub fn ntt_primes_below(bits: u32, degree: usize) -> impl Iterator<Item = u64> {
    top_and_step(bits, degree).into_iter().flat_map(|(top, step)| {
        let candidates = (1..=(top - 1) / step).rev().map(move |k| k * step + 1);
        candidates.take_while(move |&q| q > top / 2).filter(|&q| is_prime(q))
    })
}

/// Returns the primes `q = 1 mod 2N` above `2^bits + 1` of `bits + 1` bits, in ascending order.
///
/// There are none if `2N` or `2^bits` does not fit into a word, or `N` is 0.
pub fn ntt_primes_above(bits: u32, degree: usize) -> impl Iterator<Item = u64> {
    top_and_step(bits, degree).into_iter().flat_map(|(top, step)| {
        let candidates = top / step + 1..=2 * (top - 1) / step;
        candidates.map(move |k| k * step + 1).filter(|&q| is_prime(q))
    })
}

/// Returns the `count` largest primes of exactly `bits` bits that are `1` modulo `2 degree` and not
/// in `avoid`.
///
/// Rings support primes of up to 61 bits.
///
/// # Errors
/// [`RingError::TooFewPrimes`] if there are fewer such primes. There are none for `bits` of 0 or
/// above 63, and for degree 0.
pub fn ntt_primes(
    bits: u32,
    degree: usize,
    count: usize,
    avoid: &[u64],
) -> Result<Vec<u64>, RingError> {
    let found: Vec<u64> =
        ntt_primes_below(bits, degree).filter(|q| !avoid.contains(q)).take(count).collect();
    if found.len() == count {
        Ok(found)
    } else {
        Err(RingError::TooFewPrimes { bits, degree, wanted: count, found: found.len() })
    }
}

/// Returns the primitive `2N`-th root of unity `g^((q-1)/2N)` modulo the prime `q`, for the
/// smallest `g >= 2` that gives one.
///
/// The wire format depends on this choice, which fixes the meaning of residues in the evaluation
/// domain. The caller must know that `q` is a prime ([`is_prime`]): for other numbers, the search
/// may try every `g`.
///
/// # Errors
/// [`RingError::NoRootOfUnity`] if `2N` does not divide `q - 1`, and [`RingError::NotPrime`] if no
/// `g` gives a root.
pub fn primitive_root_2n(q: u64, degree: usize) -> Result<u64, RingError> {
    let none = RingError::NoRootOfUnity { modulus: q, degree };
    let order = (degree as u64).checked_mul(2).ok_or(none.clone())?;
    if q < 3 || !(q - 1).is_multiple_of(order) {
        return Err(none);
    }
    (2..q)
        .map(|g| pow_mod(g, (q - 1) / order, q))
        .find(|&root| pow_mod(root, order / 2, q) == q - 1)
        .ok_or(RingError::NotPrime { modulus: q })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_trial_division() {
        let slow = |n: u64| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        for n in 0..20_000 {
            assert_eq!(is_prime(n), slow(n), "{n}");
        }
        assert!(is_prime((1 << 61) - 1));
        assert!(!is_prime(3_215_031_751)); // A strong pseudoprime to 2, 3, 5 and 7.
    }

    #[test]
    fn primes_are_as_asked() {
        for (bits, degree) in [(28, 1 << 10), (48, 1 << 16), (61, 1 << 17)] {
            let primes = ntt_primes(bits, degree, 5, &[]).unwrap();
            for (i, &q) in primes.iter().enumerate() {
                assert!(
                    is_prime(q) && q % (2 * degree as u64) == 1 && 64 - q.leading_zeros() == bits
                );
                assert!(i == 0 || q < primes[i - 1]);
                let root = primitive_root_2n(q, degree).unwrap();
                assert_eq!(pow_mod(root, degree as u64, q), q - 1);
            }
            assert_eq!(ntt_primes(bits, degree, 4, &primes[..1]).unwrap(), primes[1..]);
        }
        assert!(
            ntt_primes_above(40, 1 << 14).take(3).all(|q| q > 1 << 40 && q < (1 << 40) + (1 << 30))
        );
        assert!(matches!(ntt_primes(18, 1 << 16, 9, &[]), Err(RingError::TooFewPrimes { .. })));
    }

    #[test]
    fn the_search_ends_for_every_size() {
        for (bits, degree) in
            [(0, 64), (64, 64), (u32::MAX, 64), (20, 0), (30, 1 << 63), (1, 1), (16, 1 << 20)]
        {
            let refused = ntt_primes(bits, degree, 2, &[]).unwrap_err();
            assert_eq!(
                refused,
                RingError::TooFewPrimes { bits, degree, wanted: 2, found: 0 },
                "{bits} {degree}"
            );
            assert!(
                refused.to_string().contains(&format!("1 modulo {}", 2 * degree as u128)),
                "{refused}"
            );
            assert_eq!(ntt_primes_above(bits, degree).next(), None, "{bits} {degree}");
        }
        assert_eq!(ntt_primes_below(4, 1).collect::<Vec<_>>(), [13, 11]);
        assert_eq!(ntt_primes_above(4, 1).collect::<Vec<_>>(), [19, 23, 29, 31]);
        assert_eq!(ntt_primes_below(10, 24).collect::<Vec<_>>(), [1009, 769, 673, 577]);
        assert_eq!(ntt_primes_above(9, 24).collect::<Vec<_>>(), [577, 673, 769, 1009]);
        assert!(
            ntt_primes_above(63, 1 << 16).next().is_some_and(|q| q > 1 << 63 && q % (1 << 17) == 1)
        );
        let error = RingError::NoRootOfUnity { modulus: 97, degree: 1 << 63 };
        assert_eq!(primitive_root_2n(97, 1 << 63), Err(error.clone()));
        assert!(error.to_string().contains("1 modulo 18446744073709551616"), "{error}");
    }
}
