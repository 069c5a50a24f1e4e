//! Arithmetic on single residues, for tables, constants and reference code. It is too slow for hot
//! loops.

/// Returns `a + b mod q` for `a, b` in `[0, q)` and `q < 2^63`.
pub fn add_mod(a: u64, b: u64, q: u64) -> u64 {
    let s = a + b;
    if s >= q { s - q } else { s }
}

/// Returns `a - b mod q` for `a, b` in `[0, q)`.
pub fn sub_mod(a: u64, b: u64, q: u64) -> u64 {
    if a >= b { a - b } else { a + q - b }
}

/// Returns `-a mod q` for `a` in `[0, q)`.
pub fn neg_mod(a: u64, q: u64) -> u64 {
    if a == 0 { 0 } else { q - a }
}

/// Returns `a * b mod q`.
pub fn mul_mod(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

/// Returns `base^exponent mod q`.
pub fn pow_mod(base: u64, mut exponent: u64, q: u64) -> u64 {
    let mut base = base % q;
    let mut result = 1 % q;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul_mod(result, base, q);
        }
        base = mul_mod(base, base, q);
        exponent >>= 1;
    }
    result
}

/// Returns the inverse of `a` modulo any `q` by the extended Euclidean algorithm, or `None` if
/// `gcd(a, q) > 1`.
pub fn inv_mod(a: u64, q: u64) -> Option<u64> {
    let (mut r0, mut r1) = (i128::from(q), i128::from(a % q));
    let (mut t0, mut t1) = (0i128, 1i128);
    while r1 != 0 {
        let k = r0 / r1;
        (r0, r1) = (r1, r0 - k * r1);
        (t0, t1) = (t1, t0 - k * t1);
    }
    (r0 == 1).then(|| t0.rem_euclid(i128::from(q)) as u64)
}

/// Returns `q^-1 mod 2^64` for odd `q`.
///
/// Newton's iteration begins with 3 correct bits and doubles their number in every round.
pub fn inv64(q: u64) -> u64 {
    let mut x = q;
    for _ in 0..5 {
        x = x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x)));
    }
    x
}

/// Returns `q^-1 mod 2^52` for odd `q`.
pub fn inv52(q: u64) -> u64 {
    inv64(q) & ((1 << 52) - 1)
}

/// Returns the signed integer `a` modulo `q`, in `[0, q)`.
pub fn signed_mod(a: i64, q: u64) -> u64 {
    (i128::from(a)).rem_euclid(i128::from(q)) as u64
}

/// Returns the representative in `(-q/2, q/2]` of `a` in `[0, q)`, for `q < 2^63`.
///
/// It has no branch, because `a` may be secret.
pub fn centred(a: u64, q: u64) -> i64 {
    let is_large = (q / 2).wrapping_sub(a) as i64 >> 63;
    a as i64 - (q as i64 & is_large)
}

/// Returns the `bits` low bits of `x` in reversed order.
pub fn bit_reverse(x: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS - bits) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn inverse_times_itself_is_one(a in 1u64..1 << 61, q in 3u64..1 << 61) {
            match inv_mod(a, q) {
                Some(b) => prop_assert_eq!(mul_mod(a, b, q), 1),
                None => prop_assert!(gcd(a, q) > 1),
            }
        }

        #[test]
        fn signed_and_centred_are_inverse(a in any::<i64>(), q in 3u64..1 << 61) {
            let r = signed_mod(a, q);
            prop_assert_eq!(signed_mod(centred(r, q), q), r);
            prop_assert!(centred(r, q).unsigned_abs() <= q / 2);
        }
    }

    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
}
