//! Products with monomials `X^e`, `e` in `[0, 2N)`, in either domain.

use std::iter;

use crate::{
    ResidueRing,
    arith::{mul_mod, neg_mod},
    ntt,
};

/// The values of a monomial in the evaluation domain, in blocks of so many positions
/// ([`ntt::exponent`]), are those of the first block times a factor.
pub(crate) const PERIOD: usize = 64;

/// The values of all monomials of one ring in the evaluation domain, as
/// [`crate::elementwise::Elementwise::inner_product_turned`] takes them: every block of 64 is one
/// of 64 rows, which depends on the exponent modulo 64, times a power of `psi`.
#[derive(Debug, Clone)]
pub struct Monomials {
    /// `psi^j`, `0 <= j < 2N`, in the form of key residues.
    powers: Vec<u64>,
    /// The exponent of `psi` at the first position of each block.
    starts: Vec<u32>,
    /// Row `e`: `X^e` in a block, over its value at the first position; in the form of key
    /// residues.
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
    /// When the modulus is a power of two, whose limbs hold coefficients in both domains, or the
    /// degree is too small.
    pub fn new(ring: &ResidueRing) -> Self {
        let (degree, q) = (ring.degree(), ring.modulus());
        assert!(!ring.ntt().is_identity(), "rings of powers of two have no values");
        assert!(
            degree >= PERIOD,
            "monomials are of rings of degree {PERIOD} at least, but not {degree}"
        );
        // The values of X are the odd powers of psi.
        let mut x = vec![0; degree];
        x[1] = 1;
        ring.ntt().forward(&mut x);
        let exponents: Vec<usize> =
            (0..degree).map(|position| ntt::exponent(degree, position)).collect();
        let psi =
            x[exponents.iter().position(|e| *e == 1).expect("every odd exponent has its position")];
        let one = ring.elementwise().key_factor();
        let next = |power: &u64| Some(mul_mod(*power, psi, q));
        let powers: Vec<u64> = iter::successors(Some(one), next).take(2 * degree).collect();
        let row = |e: usize| {
            std::array::from_fn(|j| powers[e * (exponents[j] - exponents[0]) % (2 * degree)])
        };
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

/// `out = X^exponent y` modulo `q`, of residues in the coefficient domain, for `exponent < 2N`.
/// `X^N = -1`: what wraps around is negated, and everything is from `N` on.
///
/// # Panics
/// When the slices differ in length, or the exponent is too large.
pub fn times_monomial(q: u64, out: &mut [u64], y: &[u64], exponent: usize) {
    let degree = out.len();
    assert!(
        y.len() == degree && exponent < 2 * degree,
        "X^{exponent} times {} of {degree} coefficients",
        y.len()
    );
    let (shift, negative) = (exponent % degree, exponent >= degree);
    let (wrapped, kept) = out.split_at_mut(shift);
    let (low, high) = y.split_at(degree - shift);
    for (out, y, negated) in [(kept, low, negative), (wrapped, high, !negative)] {
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
        Kernel,
        arith::sub_mod,
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
                    // The values of y are the key, the digit is 1.
                    let ring = ResidueRing::prime(q, degree, kernel).unwrap();
                    let (mut values, elementwise) = (y.clone(), ring.elementwise());
                    ring.ntt().forward(&mut values);
                    let (one, key) =
                        (vec![1; degree], elementwise.prepare_key(&[(&values, &values)]));
                    let [mut sum0, mut sum1] = [vec![0; degree], vec![0; degree]];
                    let (monomials, digits) = (Monomials::new(&ring), [(0, &one[..])]);
                    let turned = [(&digits[..], monomials.power(exponent))];
                    elementwise.inner_product_turned(&mut sum0, &mut sum1, &turned, &key);
                    ring.ntt().inverse(&mut sum0);
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
