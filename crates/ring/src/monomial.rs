//! Products with monomials `X^e`, for `e` in `[0, 2N)`, in either domain.

use std::iter;

use crate::{
    arith::{mul_mod, neg_mod},
    ntt,
};

/// The length of a block of positions in the evaluation domain.
///
/// In every block, the values of a monomial are those of the first block times a factor
/// ([`ntt::exponent`]).
pub(crate) const PERIOD: usize = 64;

/// The values of all monomials of one ring, in the evaluation domain.
///
/// [`crate::elementwise::Elementwise::inner_product_times_monomials`] reads them. Each block of 64
/// values is a row times a power of `psi`. There are 64 rows, one for each exponent modulo 64.
///
/// ```
/// use hippocrene_ring::{Kernel, ResidueRing, elementwise::KeyLimb, primes::ntt_primes};
///
/// let q = ntt_primes(40, 64, 1, &[])?[0];
/// let ring = ResidueRing::prime(q, 64, Kernel::detect()?)?;
/// // The key is the polynomial 1 in both parts, and the digit is 1: the sum is X^3 - 1.
/// let one = vec![1; 64];
/// let key = KeyLimb::of_pairs(&ring, &[(&one, &one)]);
/// let (mut sum0, mut sum1) = (vec![0; 64], vec![0; 64]);
/// let digits = [(0, &one[..])];
/// let monomials = ring.monomials();
/// let turned = [(&digits[..], monomials.power(3))];
/// ring.inner_product_times_monomials(&mut sum0, &mut sum1, &turned, &key);
/// ring.inverse(&mut sum0);
/// assert_eq!((sum0[0], sum0[1], sum0[3]), (q - 1, 0, 1));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Monomials {
    /// `psi^j` for `0 <= j < 2N`, in the form of key residues.
    powers: Vec<u64>,
    /// The exponent of `psi` at the first position of each block.
    starts: Vec<u32>,
    /// Row `e` holds `X^e` in a block, divided by its value at the first position, in the form of
    /// key residues.
    rows: Vec<[u64; PERIOD]>,
}

/// One monomial of [`Monomials`]. See there for an example.
#[derive(Debug, Clone, Copy)]
pub struct Monomial<'a> {
    all: &'a Monomials,
    exponent: u32,
}

impl Monomials {
    /// Makes the monomials of the ring with this degree and the prime `q`.
    ///
    /// `psi` is the root of unity whose powers `ntt::exponent` gives, and `one` is 1 in the form of
    /// key residues.
    ///
    /// # Panics
    /// If the degree is below 64.
    pub(crate) fn of_root(degree: usize, q: u64, psi: u64, one: u64) -> Self {
        assert!(
            degree >= PERIOD,
            "monomials need a ring degree of at least {PERIOD}, but it is {degree}"
        );
        let exponents: Vec<usize> =
            (0..degree).map(|position| ntt::exponent(degree, position)).collect();
        let next = |power: &u64| Some(mul_mod(*power, psi, q));
        let powers: Vec<u64> = iter::successors(Some(one), next).take(2 * degree).collect();
        let row = |e: usize| {
            std::array::from_fn(|j| powers[e * (exponents[j] - exponents[0]) % (2 * degree)])
        };
        let rows = (0..PERIOD).map(row).collect();
        let starts = exponents.iter().step_by(PERIOD).map(|e| *e as u32).collect();
        Monomials { powers, starts, rows }
    }

    /// Returns `X^exponent`, for any exponent.
    pub fn power(&self, exponent: usize) -> Monomial<'_> {
        Monomial { all: self, exponent: (exponent % self.powers.len()) as u32 }
    }
}

impl Monomial<'_> {
    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.all.starts.len()
    }

    /// Returns the factor of the row in a block. Both are in the form of key residues.
    #[inline(always)]
    pub(crate) fn factor(&self, block: usize) -> u64 {
        let mask = self.all.powers.len() - 1;
        self.all.powers[self.all.starts[block].wrapping_mul(self.exponent) as usize & mask]
    }

    /// Returns the row: the values in each block, up to the factor.
    pub(crate) fn row(&self) -> &[u64; PERIOD] {
        &self.all.rows[self.exponent as usize % PERIOD]
    }
}

/// Sets `out = X^exponent y` modulo `q`, for residues in the coefficient domain and
/// `exponent < 2N`.
///
/// Because `X^N = -1`, coefficients that wrap around are negated. For exponents from `N` on, all
/// are negated once more.
///
/// # Panics
/// If the slices differ in length, or the exponent is too large.
pub fn times_monomial(q: u64, out: &mut [u64], y: &[u64], exponent: usize) {
    let degree = out.len();
    assert!(
        y.len() == degree && exponent < 2 * degree,
        "X^{exponent} cannot multiply {} coefficients in a ring of degree {degree}",
        y.len()
    );
    let (shift, negative) = (exponent % degree, exponent >= degree);
    let (wrapped, unwrapped) = out.split_at_mut(shift);
    let (low, high) = y.split_at(degree - shift);
    for (out, y, negated) in [(unwrapped, low, negative), (wrapped, high, !negative)] {
        out.copy_from_slice(y);
        if negated {
            out.iter_mut().for_each(|x| *x = neg_mod(*x, q));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Kernel, ResidueRing,
        arith::sub_mod,
        elementwise::KeyLimb,
        primes::ntt_primes,
        sample::{Sampler, Seed},
    };

    #[test]
    fn both_domains_agree_with_shifts() {
        for (degree, bits) in [(64, 20), (64, 40), (1024, 48), (1024, 50), (1024, 60)] {
            let q = ntt_primes(bits, degree, 1, &[]).unwrap()[0];
            let mut y = vec![0; degree];
            Sampler::new(&Seed::from_bytes([7; 32]), 0).uniform(q, &mut y);
            y[1] = 0;
            for exponent in
                [0, 1, 3, degree / 2 + 1, degree - 1, degree, degree + 5, 2 * degree - 1]
            {
                let mut rotated = vec![0; degree];
                for (k, &x) in y.iter().enumerate() {
                    let at = (k + exponent) % (2 * degree);
                    rotated[at % degree] = if at < degree { x } else { neg_mod(x, q) };
                }
                let mut out = vec![7; degree];
                times_monomial(q, &mut out, &y, exponent);
                assert_eq!(out, rotated, "{degree} {exponent}");
                for kernel in Kernel::supported() {
                    // The values of y are the key, and the digit is 1.
                    let ring = ResidueRing::prime(q, degree, kernel).unwrap();
                    let mut values = y.clone();
                    ring.forward(&mut values);
                    let key = KeyLimb::of_pairs(&ring, &[(&values, &values)]);
                    let one = vec![1; degree];
                    let [mut sum0, mut sum1] = [vec![0; degree], vec![0; degree]];
                    let (monomials, digits) = (ring.monomials(), [(0, &one[..])]);
                    let turned = [(&digits[..], monomials.power(exponent))];
                    ring.inner_product_times_monomials(&mut sum0, &mut sum1, &turned, &key);
                    ring.inverse(&mut sum0);
                    let expected = |i: usize| sub_mod(rotated[i], y[i], q);
                    assert!(
                        (0..degree).all(|i| sum0[i] == expected(i)),
                        "{kernel} {degree} {exponent}"
                    );
                }
            }
        }
    }
}
