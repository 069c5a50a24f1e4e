//! Products with monomials `X^e`, `e` in `[0, 2N)`, in either domain.

use std::iter;

use crate::{Kernel, ResidueRing, arith::mul_mod, ntt};

/// The values of a monomial in the evaluation domain, in blocks of so many positions ([`ntt::exponent`]), are those of the first block times a factor.
pub(crate) const PERIOD: usize = 64;

/// The values of all monomials of one ring in the evaluation domain, as [`crate::elementwise::Elementwise::inner_product_turned`] takes them: every block of 64
/// is one of 64 rows, which depends on the exponent modulo 64, times a power of `psi`.
#[derive(Debug, Clone)]
pub struct Monomials {
    /// `psi^j`, `0 <= j < 2N`, in the form of key residues.
    powers: Vec<u64>,
    /// The exponent of `psi` at the first position of each block.
    starts: Vec<u32>,
    /// Row `e`: `X^e` in a block, over its value at the first position; in the form of key residues.
    rows: Vec<[u64; PERIOD]>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub struct Monomial<'a> {
    all: &'a Monomials,
    exponent: u32,
}

impl Monomials {
    /// For a ring of a prime, of degree 64 at least.
    ///
    /// # Panics
    /// When the modulus is a power of two, whose limbs hold coefficients in both domains, or the degree is too small.
    pub fn new(ring: &ResidueRing) -> Self {
        let (degree, q) = (ring.degree(), ring.modulus());
        assert!(!ring.ntt().is_identity(), "rings of powers of two have no values");
        assert!(degree >= PERIOD, "monomials are of rings of degree {PERIOD} at least, but not {degree}");
        // The values of X are the odd powers of psi.
        let mut x = vec![0; degree];
        x[1] = 1;
        ring.ntt().forward(&mut x);
        let exponents: Vec<usize> = (0..degree).map(|position| ntt::exponent(degree, position)).collect();
        let psi = x[exponents.iter().position(|e| *e == 1).expect("every odd exponent has its position")];
        let one = ring.elementwise().key_factor();
        let next = |power: &u64| Some(mul_mod(*power, psi, q));
        let powers: Vec<u64> = iter::successors(Some(one), next).take(2 * degree).collect();
        let row =
            |e: usize| std::array::from_fn(|j| powers[e * (exponents[j] - exponents[0]) % (2 * degree)]);
        let rows = (0..PERIOD).map(row).collect();
        let starts = exponents.iter().step_by(PERIOD).map(|e| *e as u32).collect();
        Monomials { powers, starts, rows }
    }

    /// `X^exponent`, for any exponent.
    pub fn power(&self, exponent: usize) -> Monomial<'_> {
        Monomial { all: self, exponent: (exponent % self.powers.len()) as u32 }
    }
}

impl Monomial<'_> {
    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.all.starts.len()
    }

    /// What the row is multiplied by in a block; both are in the form of key residues.
    #[inline(always)]
    pub(crate) fn factor(&self, block: usize) -> u64 {
        let mask = self.all.powers.len() - 1;
        self.all.powers[self.all.starts[block].wrapping_mul(self.exponent) as usize & mask]
    }

    /// The values in a block, up to the factor.
    pub(crate) fn row(&self) -> &[u64; PERIOD] {
        &self.all.rows[self.exponent as usize % PERIOD]
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
        for (degree, bits) in [(64, 20), (64, 40), (1024, 48), (1024, 50), (1024, 60)] {
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

                    // The values of y are the key, the digit is 1.
                    let ring = ResidueRing::prime(q, degree, kernel).unwrap();
                    let (mut values, elementwise) = (y.clone(), ring.elementwise());
                    ring.ntt().forward(&mut values);
                    let (one, key) = (vec![1; degree], elementwise.prepare_key(&[(&values, &values)]));
                    let [mut sum0, mut sum1] = [vec![0; degree], vec![0; degree]];
                    let (monomials, digits) = (Monomials::new(&ring), [(0, &one[..])]);
                    let turned = [(&digits[..], monomials.power(exponent))];
                    elementwise.inner_product_turned(&mut sum0, &mut sum1, &turned, &key);
                    ring.ntt().inverse(&mut sum0);
                    let expected = |i: usize| sub_mod(rotated[i], y[i], q);
                    assert!((0..degree).all(|i| sum0[i] == expected(i)), "{kernel} {degree} {exponent}");
                }
            }
        }
    }
}
