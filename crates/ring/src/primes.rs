//! Primality, the search for NTT primes, and roots of unity.

use crate::{
    RingError,
    arith::{mul_mod, pow_mod},
};

/// Whether `n` is prime: Miller-Rabin with the first twelve primes as bases, which is exact for every `n < 2^64`
/// (Sorenson and Webster, "Strong pseudoprimes to twelve prime bases", 2015).
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

/// The primes `q = 1 mod 2N` below `2^bits`, downwards from it (each has `bits` bits).
pub fn ntt_primes_below(bits: u32, degree: usize) -> impl Iterator<Item = u64> {
    let step = 2 * degree as u64;
    let top = 1u64 << bits;
    (1..)
        .map(move |k| top.saturating_sub(k * step) + 1)
        .take_while(move |&q| q > top / 2)
        .filter(|&q| is_prime(q))
}

/// The primes `q = 1 mod 2N` above `2^bits`, upwards from it (each has `bits + 1` bits).
pub fn ntt_primes_above(bits: u32, degree: usize) -> impl Iterator<Item = u64> {
    let step = 2 * degree as u64;
    let top = 1u64 << bits;
    (1..).map(move |k| top + k * step + 1).take_while(move |&q| q < 2 * top).filter(|&q| is_prime(q))
}

/// The `count` largest primes of exactly `bits` bits (`bits <= 61`) that are `1` modulo `2 degree`, none of them in `avoid`.
///
/// # Errors
/// [`RingError::TooFewPrimes`] when there are not so many.
pub fn ntt_primes(bits: u32, degree: usize, count: usize, avoid: &[u64]) -> Result<Vec<u64>, RingError> {
    let found: Vec<u64> = ntt_primes_below(bits, degree).filter(|q| !avoid.contains(q)).take(count).collect();
    if found.len() == count {
        Ok(found)
    } else {
        Err(RingError::TooFewPrimes { bits, degree, wanted: count, found: found.len() })
    }
}

/// The primitive `2N`-th root of unity `g^((q-1)/2N)` modulo the prime `q`, for the least `g >= 2` that gives one. The wire
/// format rests on this choice: it fixes what residues in the evaluation domain mean.
///
/// # Errors
/// [`RingError::NoRootOfUnity`] when `2N` does not divide `q - 1`.
pub fn primitive_root_2n(q: u64, degree: usize) -> Result<u64, RingError> {
    let order = 2 * degree as u64;
    if q < 3 || !(q - 1).is_multiple_of(order) {
        return Err(RingError::NoRootOfUnity { modulus: q, degree });
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
        assert!(!is_prime(3_215_031_751)); // strong pseudoprime to bases 2, 3, 5, 7
    }

    #[test]
    fn primes_are_as_asked() {
        for (bits, degree) in [(28, 1 << 10), (48, 1 << 16), (61, 1 << 17)] {
            let primes = ntt_primes(bits, degree, 5, &[]).unwrap();
            for (i, &q) in primes.iter().enumerate() {
                assert!(is_prime(q) && q % (2 * degree as u64) == 1 && 64 - q.leading_zeros() == bits);
                assert!(i == 0 || q < primes[i - 1]);
                let root = primitive_root_2n(q, degree).unwrap();
                assert_eq!(pow_mod(root, degree as u64, q), q - 1);
            }
            assert_eq!(ntt_primes(bits, degree, 4, &primes[..1]).unwrap(), primes[1..]);
        }
        assert!(ntt_primes_above(40, 1 << 14).take(3).all(|q| q > 1 << 40 && q < (1 << 40) + (1 << 30)));
        assert!(matches!(ntt_primes(18, 1 << 16, 9, &[]), Err(RingError::TooFewPrimes { .. })));
    }
}
