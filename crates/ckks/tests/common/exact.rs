//! Decrypted polynomials as exact numbers, for errors far below the precision of `f64`.

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_rlwe::Modulus;
use num_bigint::{BigInt, BigUint, Sign};
use num_complex::Complex64;

use super::Setup;

/// Number of bits after the binary point of a [`Fixed`].
pub const FRACTION: usize = 320;

/// A polynomial with real coefficients, in units of `2^-FRACTION`.
pub type Fixed = Vec<BigInt>;

/// Returns the integers of smallest absolute value with these residues in the limbs of a modulus.
pub fn recombine(s: &Setup, modulus: Modulus, limbs: &[Vec<u64>]) -> Vec<BigInt> {
    let moduli = s.context.parameters().limb_moduli(modulus);
    let whole: BigUint = moduli.iter().map(|q| BigUint::from(*q)).product();
    let units: Vec<BigUint> = moduli
        .iter()
        .map(|q| {
            let rest = &whole / *q;
            // rest^-1 mod q, by the extended Euclidean algorithm, because q need not be prime.
            let inverse =
                BigInt::from(rest.clone()).modinv(&BigInt::from(*q)).expect("moduli are coprime");
            rest * inverse.to_biguint().expect("a residue")
        })
        .collect();
    let half = &whole >> 1usize;
    (0..limbs[0].len())
        .map(|i| {
            let x: BigUint =
                units.iter().zip(limbs).map(|(u, limb)| u * limb[i]).sum::<BigUint>() % &whole;
            if x > half { BigInt::from(x) - BigInt::from(whole.clone()) } else { BigInt::from(x) }
        })
        .collect()
}

/// Returns the decrypted polynomial of an RLWE ciphertext, exactly.
pub fn decrypted(s: &Setup, c: &hippocrene_rlwe::Ciphertext) -> Vec<BigInt> {
    let context = s.context.rlwe();
    let mut poly = s.secret.decrypt(context, c).unwrap();
    context.to_coefficient(&mut poly, c.modulus());
    let limbs: Vec<Vec<u64>> = poly.limbs().map(<[u64]>::to_vec).collect();
    recombine(s, c.modulus(), &limbs)
}

/// Returns `x` encoded at `scale` and divided by the scale. The values are rounded to integers.
pub fn encoded(s: &Setup, x: &[Complex64], scale: Scale) -> Fixed {
    let plaintext = s.context.encode(x.into(), x.len(), scale, s.top()).unwrap();
    let mut poly = plaintext.poly().clone();
    s.context.rlwe().to_coefficient(&mut poly, plaintext.modulus());
    let limbs: Vec<Vec<u64>> = poly.limbs().map(<[u64]>::to_vec).collect();
    recombine(s, plaintext.modulus(), &limbs).into_iter().map(|x| over(x, scale)).collect()
}

/// Returns the decrypted polynomial divided by the scale.
pub fn message(s: &Setup, c: &Ciphertext) -> Fixed {
    decrypted(s, c.inner()).into_iter().map(|x| over(x, c.scale())).collect()
}

/// Returns `x/scale`, in units of `2^-FRACTION`.
pub fn over(x: BigInt, scale: Scale) -> BigInt {
    let (mantissa, exponent) = scale.to_parts();
    (x << (FRACTION as i64 - i64::from(exponent)) as usize) / BigInt::from(mantissa)
}

/// Returns the product of integer polynomials modulo `X^N + 1`.
pub fn multiply(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    let n = a.len();
    let mut out = vec![BigInt::ZERO; n];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let product = x * y;
            if i + j < n { out[i + j] += product } else { out[i + j - n] -= product }
        }
    }
    out
}

/// Like [`multiply`], for fixed-point numbers.
pub fn multiply_fixed(a: &[BigInt], b: &[BigInt]) -> Fixed {
    multiply(a, b).into_iter().map(|x| x >> FRACTION).collect()
}

/// Returns log2 of an absolute value.
pub fn log2(x: &BigInt) -> f64 {
    if x.sign() == Sign::NoSign {
        return f64::NEG_INFINITY;
    }
    let bits = x.bits();
    let shift = bits.saturating_sub(60);
    let top: BigInt = x >> shift as usize;
    let top = i64::try_from(top).expect("60 bits") as f64;
    top.abs().log2() + shift as f64
}

/// Returns log2 of the root mean square of the differences of two polynomials.
pub fn log2_rms(a: &[BigInt], b: &[BigInt]) -> f64 {
    let sum: BigInt = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    0.5 * (log2(&sum) - (a.len() as f64).log2())
}

/// Returns log2 of the largest absolute value.
pub fn log2_max(a: &[BigInt]) -> f64 {
    a.iter().map(log2).fold(f64::NEG_INFINITY, f64::max)
}

/// Checks that `c` holds `expected`, with an error whose standard deviation is within a factor of
/// 1.5 of the estimate.
pub fn check(s: &Setup, c: &Ciphertext, expected: &[BigInt], what: &str) {
    let measured = log2_rms(&message(s, c), expected) - FRACTION as f64;
    let estimated = c.inner().noise().log2_std() - c.scale().log2();
    assert!(
        (measured - estimated).abs() < 1.5f64.log2(),
        "{what}: measured error 2^{measured:.2}, estimated 2^{estimated:.2}"
    );
}
