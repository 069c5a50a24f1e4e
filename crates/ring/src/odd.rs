//! The ring `Z_q[X]/(X^N + 1)` of an odd `q`, which is a prime or a product of primes.

use crate::{
    Kernel, RingError,
    elementwise::Elementwise,
    monomial::Monomials,
    ntt::{self, NttPlan},
};

/// The ring of a prime or of a product of primes.
///
/// Limbs hold coefficients in one domain and values in the other. See [`crate::ResidueRing`] for an
/// example.
#[derive(Debug, Clone)]
pub struct OddRing {
    pub(crate) ntt: NttPlan,
    pub(crate) elementwise: Elementwise,
    pub(crate) degree: usize,
}

impl OddRing {
    /// Makes the ring of the product of `primes`.
    ///
    /// # Errors
    /// The same as [`NttPlan::composite`].
    ///
    /// # Panics
    /// If transforms return larger residues than products accept, which is an error in a kernel.
    pub(crate) fn new(primes: &[u64], degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        let ntt = NttPlan::composite(primes, degree, kernel)?;
        let elementwise = Elementwise::new(primes.iter().product(), kernel);
        assert!(
            ntt.lazy_bound() <= elementwise.lazy_multiple(),
            "products must accept the lazy results of transforms"
        );
        Ok(OddRing { ntt, elementwise, degree })
    }

    /// Returns the monomials of this ring.
    pub(crate) fn monomials(&self) -> Monomials {
        let OddRing { ntt, elementwise, degree } = self;
        // The values of X are the odd powers of psi.
        let mut x = vec![0; *degree];
        x[1] = 1;
        ntt.forward(&mut x);
        let of_psi = (0..*degree).find(|position| ntt::exponent(*degree, *position) == 1);
        let psi = x[of_psi.expect("every odd exponent has its position")];
        Monomials::of_root(*degree, elementwise.modulus(), psi, elementwise.key_factor())
    }
}
