//! Residue rings: what a limb is computed in.

use crate::{
    Kernel, RingError,
    elementwise::{Elementwise, Scalar},
    ntt::NttPlan,
};

/// The ring of one limb, `Z_q[X]/(X^N + 1)`, with its kernels.
///
/// Its modulus is a prime or a product of primes; both answer to the same operations, and who calls does not ask which it is.
#[derive(Debug, Clone)]
pub struct ResidueRing {
    ntt: NttPlan,
    elementwise: Elementwise,
    modulus: u64,
    degree: usize,
}

impl ResidueRing {
    /// The ring of the prime `q < 2^61`, `q = 1 mod 2 degree`.
    ///
    /// # Errors
    /// When the degree or the modulus is not supported, or there is no transform.
    pub fn prime(q: u64, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        Self::composite(&[q], degree, kernel)
    }

    /// The ring of the product `q < 2^61` of distinct `primes`, each `1 mod 2 degree`, with one transform for all of them. Limbs of it
    /// reduced modulo some of the primes are limbs of the ring of those, in either domain (GRAFT C.6).
    ///
    /// # Errors
    /// When the degree or the product is not supported, two primes are equal, or there is no transform.
    pub fn composite(primes: &[u64], degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        let ntt = NttPlan::composite(primes, degree, kernel)?;
        let q = primes.iter().product();
        let elementwise = Elementwise::new(q, kernel);
        assert!(ntt.lazy_bound() <= elementwise.lazy_multiple(), "products take what transforms leave");
        Ok(ResidueRing { ntt, elementwise, modulus: q, degree })
    }

    /// The modulus `q`.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// The ring degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// `log2 q`.
    pub fn log2(&self) -> f64 {
        (self.modulus as f64).log2()
    }

    /// The transform between the two domains.
    pub fn ntt(&self) -> &NttPlan {
        &self.ntt
    }

    /// Operations on one limb.
    pub fn elementwise(&self) -> &Elementwise {
        &self.elementwise
    }

    /// A constant of this ring, prepared for multiplications.
    pub fn scalar(&self, c: u64) -> Scalar {
        self.elementwise.scalar(c)
    }
}
