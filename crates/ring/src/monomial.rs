//! Products with monomials `X^e`, `e` in `[0, 2N)`, in either domain.

use crate::{Kernel, ResidueRing, ntt};

/// The values of all monomials of one ring in the evaluation domain, made of one table of `2N` powers.
#[derive(Debug, Clone)]
pub struct Monomials {
    /// `psi^j`.
    powers: Vec<u64>,
    /// The exponent `e` of each position, where a polynomial has its value at `psi^e`.
    exponents: Vec<u32>,
    kernel: Kernel,
}

impl Monomials {
    /// For a ring of primes.
    ///
    /// # Panics
    /// When the modulus is a power of two, whose limbs hold coefficients in both domains.
    pub fn new(ring: &ResidueRing, kernel: Kernel) -> Self {
        assert!(!ring.ntt().is_identity(), "rings of powers of two have no values");
        let degree = ring.degree();
        let mut values = vec![0; degree];
        values[1] = 1;
        ring.ntt().forward(&mut values);
        let exponents: Vec<u32> =
            (0..degree).map(|position| ntt::exponent(degree, position) as u32).collect();
        let mut powers = vec![0; 2 * degree];
        // Odd powers are the values of X; even ones, psi^(2 j), are products of two odd ones, psi^(2 j - 1) psi.
        for (e, value) in exponents.iter().zip(&values) {
            powers[*e as usize] = *value;
        }
        for j in 0..degree {
            let odd = powers[(2 * j + 2 * degree - 1) % (2 * degree)];
            powers[2 * j] = crate::arith::mul_mod(odd, powers[1], ring.modulus());
        }
        Monomials { powers, exponents, kernel }
    }

    /// Writes the values of `X^exponent` in evaluation order.
    ///
    /// # Panics
    /// When `out` is not of the ring degree.
    pub fn values(&self, exponent: usize, out: &mut [u64]) {
        assert_eq!(out.len(), self.exponents.len(), "limbs are of the ring degree");
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU supports the kernel, as `Kernel::is_supported` says.
            Kernel::Avx512 | Kernel::Avx512Ifma if self.kernel.is_supported() => unsafe {
                self.values_avx512(exponent, out);
            },
            _ => self.values_any(exponent, out),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
    fn values_avx512(&self, exponent: usize, out: &mut [u64]) {
        self.values_any(exponent, out);
    }

    #[inline(always)]
    fn values_any(&self, exponent: usize, out: &mut [u64]) {
        let mask = self.powers.len() as u32 - 1;
        for (out, e) in out.iter_mut().zip(&self.exponents) {
            *out = self.powers[(e.wrapping_mul(exponent as u32) & mask) as usize];
        }
    }
}

/// `acc = acc + (X^exponent - 1) y` modulo `q < 2^61`, of residues in `[0, q)` in the coefficient domain; `exponent < 2N`.
///
/// # Panics
/// When the slices differ in length, or the exponent is too large.
pub fn add_rotated_difference(kernel: Kernel, q: u64, acc: &mut [u64], y: &[u64], exponent: usize) {
    let degree = acc.len();
    assert!(
        y.len() == degree && exponent < 2 * degree,
        "X^{exponent} times {} of {degree} coefficients",
        y.len()
    );
    match kernel {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU supports the kernel, as `Kernel::is_supported` says.
        Kernel::Avx512 | Kernel::Avx512Ifma if kernel.is_supported() => unsafe {
            add_avx512(q, acc, y, exponent);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kernel::Avx2 if kernel.is_supported() => unsafe { add_avx2(q, acc, y, exponent) },
        _ => add_any(q, acc, y, exponent),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
fn add_avx512(q: u64, acc: &mut [u64], y: &[u64], exponent: usize) {
    add_any(q, acc, y, exponent);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_avx2(q: u64, acc: &mut [u64], y: &[u64], exponent: usize) {
    add_any(q, acc, y, exponent);
}

/// `X^N = -1`: what wraps around is negated, and everything is from `N` on.
#[inline(always)]
fn add_any(q: u64, acc: &mut [u64], y: &[u64], exponent: usize) {
    let degree = acc.len();
    let (shift, negative) = (exponent % degree, exponent >= degree);
    let (low, high) = acc.split_at_mut(shift);
    let (y_low, y_high) = y.split_at(shift);
    let (kept, wrapped) = y.split_at(degree - shift);
    if negative {
        segment::<false>(q, low, wrapped, y_low);
        segment::<true>(q, high, kept, y_high);
    } else {
        segment::<true>(q, low, wrapped, y_low);
        segment::<false>(q, high, kept, y_high);
    }
}

/// `acc + rotated - y`, or `acc - rotated - y`: from `[0, 3q)` in two steps.
#[inline(always)]
fn segment<const NEGATIVE: bool>(q: u64, acc: &mut [u64], rotated: &[u64], y: &[u64]) {
    for ((x, r), y) in acc.iter_mut().zip(rotated).zip(y) {
        let r = if NEGATIVE { q - *r } else { *r };
        let sum = *x + r + (q - *y);
        let sum = sum.min(sum.wrapping_sub(2 * q));
        *x = sum.min(sum.wrapping_sub(q));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arith::{add_mod, neg_mod, sub_mod},
        primes::ntt_primes,
        sample::{Sampler, Seed},
    };

    #[test]
    fn both_domains_agree_with_shifts() {
        for (degree, bits) in [(16, 20), (64, 40), (1024, 48), (1024, 60)] {
            let q = ntt_primes(bits, degree, 1, &[]).unwrap()[0];
            let mut all = [vec![0; degree], vec![0; degree]];
            for (i, x) in all.iter_mut().enumerate() {
                Sampler::new(&Seed::from_bytes([7; 32]), i as u64).uniform(q, x);
            }
            let [acc, mut y] = all;
            y[1] = 0;
            for exponent in [0, 1, 3, degree / 2 + 1, degree - 1, degree, degree + 5, 2 * degree - 1] {
                let mut rotated = vec![0; degree];
                for (k, &x) in y.iter().enumerate() {
                    let at = (k + exponent) % (2 * degree);
                    rotated[at % degree] = if at < degree { x } else { neg_mod(x, q) };
                }
                for kernel in Kernel::supported() {
                    let mut sum = acc.clone();
                    add_rotated_difference(kernel, q, &mut sum, &y, exponent);
                    let expected = |i: usize| add_mod(acc[i], sub_mod(rotated[i], y[i], q), q);
                    assert!((0..degree).all(|i| sum[i] == expected(i)), "{kernel} {degree} {exponent}");

                    let ring = ResidueRing::prime(q, degree, kernel).unwrap();
                    let (mut values, mut product) = (vec![0; degree], y.clone());
                    Monomials::new(&ring, kernel).values(exponent, &mut values);
                    ring.ntt().forward(&mut product);
                    ring.elementwise().mul_assign(&mut product, &values);
                    ring.ntt().inverse(&mut product);
                    assert_eq!(product, rotated, "{kernel} {degree} {exponent}");
                }
            }
        }
    }
}
