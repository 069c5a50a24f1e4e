//! RNS bases, which convert between big integers and their residues by the Chinese remainder
//! theorem.
//!
//! They serve keys, tests and the interfaces of the library. Hot operations use [`crate::convert`].

use num_bigint::{BigInt, BigUint};

use crate::{
    RingError,
    arith::{inv_mod, mul_mod},
};

/// Returns the base-2 logarithm of `x`, with an error of at most two units in the last place.
///
/// The logarithm of zero is minus infinity.
pub fn log2(x: &BigUint) -> f64 {
    let shift = x.bits().saturating_sub(64);
    // `top` has the highest 64 bits of x, and `f64` keeps 53 of them.
    let top = (x >> shift).iter_u64_digits().next().unwrap_or(0);
    (top as f64).log2() + shift as f64
}

/// Pairwise coprime moduli `q_0, .., q_{l-1}` with the product `D`. Their residues represent
/// integers modulo `D`.
///
/// ```
/// use hippocrene_ring::RnsBasis;
/// use num_bigint::BigInt;
///
/// let basis = RnsBasis::new(&[7, 11])?;
/// let mut residues = [0; 2];
/// basis.decompose(&BigInt::from(-5), &mut residues);
/// assert_eq!(residues, [2, 6]);
/// assert_eq!(basis.compose_centred(&residues), BigInt::from(-5));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RnsBasis {
    moduli: Vec<u64>,
    product: BigUint,
    half: BigUint,
    /// `D / q_i`.
    cofactors: Vec<BigUint>,
    /// `(D / q_i)^-1 mod q_i`.
    factors: Vec<u64>,
}

impl RnsBasis {
    /// Makes the basis of these moduli, each at least 2. An empty list gives the basis of `D = 1`.
    ///
    /// # Errors
    /// [`RingError::ModulusRange`] for a modulus of 0 or 1, and [`RingError::NotCoprime`] for two
    /// moduli with a common factor.
    pub fn new(moduli: &[u64]) -> Result<Self, RingError> {
        for (i, &q) in moduli.iter().enumerate() {
            if q < 2 {
                return Err(RingError::ModulusRange { modulus: q });
            }
            if let Some(&first) = moduli[..i].iter().find(|&&p| inv_mod(p, q).is_none()) {
                return Err(RingError::NotCoprime { first, second: q });
            }
        }
        let product: BigUint = moduli.iter().product();
        let cofactors: Vec<BigUint> = moduli.iter().map(|&q| &product / q).collect();
        let factors = moduli
            .iter()
            .map(|&q| {
                let cofactor =
                    moduli.iter().filter(|&&p| p != q).fold(1 % q, |c, &p| mul_mod(c, p % q, q));
                inv_mod(cofactor, q).expect("pairwise coprime")
            })
            .collect();
        Ok(RnsBasis { moduli: moduli.to_vec(), half: &product >> 1, product, cofactors, factors })
    }

    /// Returns the moduli.
    pub fn moduli(&self) -> &[u64] {
        &self.moduli
    }

    /// Returns the product `D` of the moduli.
    pub fn product(&self) -> &BigUint {
        &self.product
    }

    /// Returns `log2 D`.
    pub fn log2(&self) -> f64 {
        log2(&self.product)
    }

    /// Returns the integer in `[0, D)` with these residues, one in `[0, q_i)` for each modulus.
    ///
    /// # Panics
    /// If the number of residues differs from the number of moduli.
    pub fn compose(&self, residues: &[u64]) -> BigUint {
        assert_eq!(residues.len(), self.moduli.len(), "there must be one residue for each modulus");
        let mut sum = BigUint::ZERO;
        for (i, &x) in residues.iter().enumerate() {
            sum += &self.cofactors[i] * mul_mod(x, self.factors[i], self.moduli[i]);
        }
        sum % &self.product
    }

    /// Returns the integer in `(-D/2, D/2]` with these residues, one in `[0, q_i)` for each
    /// modulus.
    ///
    /// # Panics
    /// If the number of residues differs from the number of moduli.
    pub fn compose_centred(&self, residues: &[u64]) -> BigInt {
        let x = self.compose(residues);
        let negative = x > self.half;
        let x = BigInt::from(x);
        if negative { x - BigInt::from(self.product.clone()) } else { x }
    }

    /// Returns the coefficients in `(-D/2, D/2]` of the polynomial with these limbs.
    ///
    /// There is one limb of residues in `[0, q_i)` for each modulus.
    ///
    /// # Panics
    /// If the number of limbs differs from the number of moduli, or the lengths of limbs differ.
    pub fn compose_limbs(&self, limbs: &[&[u64]]) -> Vec<BigInt> {
        assert_eq!(limbs.len(), self.moduli.len(), "there must be one limb for each modulus");
        let degree = limbs.first().map_or(0, |limb| limb.len());
        let mut residues = vec![0; limbs.len()];
        (0..degree)
            .map(|k| {
                for (residue, limb) in residues.iter_mut().zip(limbs) {
                    *residue = limb[k];
                }
                self.compose_centred(&residues)
            })
            .collect()
    }

    /// Writes the residues of `x` in `[0, q_i)` to `out`, one for each modulus.
    ///
    /// # Panics
    /// If the length of `out` differs from the number of moduli.
    pub fn decompose(&self, x: &BigInt, out: &mut [u64]) {
        assert_eq!(out.len(), self.moduli.len(), "there must be one residue for each modulus");
        for (residue, &q) in out.iter_mut().zip(&self.moduli) {
            let magnitude = (x.magnitude() % q).iter_u64_digits().next().unwrap_or(0);
            *residue = if x.sign() == num_bigint::Sign::Minus && magnitude > 0 {
                q - magnitude
            } else {
                magnitude
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates bases of up to six moduli of any size, prime or not.
    fn bases() -> impl Strategy<Value = RnsBasis> {
        let modulus = (2u32..64).prop_flat_map(|bits| 1u64 << (bits - 1)..=u64::MAX >> (64 - bits));
        prop::collection::vec(modulus, 0..7).prop_map(|candidates| {
            let mut moduli: Vec<u64> = Vec::new();
            for q in candidates {
                if moduli.iter().all(|&p| inv_mod(p, q).is_some()) {
                    moduli.push(q);
                }
            }
            RnsBasis::new(&moduli).unwrap()
        })
    }

    proptest! {
        #[test]
        fn residues_round_trip(basis in bases(), words in prop::array::uniform6(any::<u64>())) {
            let residues: Vec<u64> = basis.moduli().iter().zip(words).map(|(q, w)| w % q).collect();
            let x = basis.compose(&residues);
            prop_assert!(&x < basis.product());
            for (q, r) in basis.moduli().iter().zip(&residues) {
                prop_assert_eq!(&x % q, BigUint::from(*r));
            }
            let centred = basis.compose_centred(&residues);
            let twice = &centred * 2;
            let product = BigInt::from(basis.product().clone());
            prop_assert!(twice <= product && twice > -&product);
            prop_assert!(
                centred == BigInt::from(x.clone()) || centred == BigInt::from(x) - product
            );
            let mut back = vec![u64::MAX; residues.len()];
            basis.decompose(&centred, &mut back);
            prop_assert_eq!(&back, &residues);

            let limbs: Vec<[u64; 2]> = residues.iter().map(|&r| [r, 0]).collect();
            let limbs: Vec<&[u64]> = limbs.iter().map(|limb| limb.as_slice()).collect();
            if !limbs.is_empty() {
                prop_assert_eq!(basis.compose_limbs(&limbs), vec![centred, BigInt::ZERO]);
            }
        }

        #[test]
        fn any_integer_is_decomposed(
            basis in bases(),
            words in prop::collection::vec(any::<u32>(), 0..30),
            minus: bool,
        ) {
            let x = BigInt::from(BigUint::new(words)) * if minus { -1 } else { 1 };
            let mut residues = vec![0; basis.moduli().len()];
            basis.decompose(&x, &mut residues);
            for (q, r) in basis.moduli().iter().zip(residues) {
                prop_assert!(r < *q);
                prop_assert_eq!((&x - r) % q, BigInt::ZERO);
            }
        }
    }

    #[test]
    fn moduli_that_share_a_factor_are_refused() {
        assert_eq!(
            RnsBasis::new(&[7, 15, 21]),
            Err(RingError::NotCoprime { first: 7, second: 21 })
        );
        assert_eq!(RnsBasis::new(&[9, 9]), Err(RingError::NotCoprime { first: 9, second: 9 }));
        assert_eq!(RnsBasis::new(&[5, 1]), Err(RingError::ModulusRange { modulus: 1 }));
        assert_eq!(RnsBasis::new(&[0]), Err(RingError::ModulusRange { modulus: 0 }));
    }

    #[test]
    fn logarithms_are_accurate() {
        assert_eq!(log2(&BigUint::ZERO), f64::NEG_INFINITY);
        assert_eq!(log2(&(BigUint::from(1u8) << 4000u32)), 4000.0);
        assert!((log2(&BigUint::from(3u8).pow(500)) - 500.0 * 3f64.log2()).abs() < 1e-12);
        assert_eq!(log2(&BigUint::from(10u8)), 10f64.log2());
        let basis = RnsBasis::new(&[(1 << 61) - 1, (1 << 48) - 59, 3]).unwrap();
        let sum: f64 = basis.moduli().iter().map(|&q| (q as f64).log2()).sum();
        assert!((basis.log2() - sum).abs() < 1e-12);
    }
}
