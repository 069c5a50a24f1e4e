//! The ring `Z[X]/(2^e, X^N + 1)`, `1 <= e <= 60`.
//!
//! There is no transform, because 2 has no `2N`-th root of unity. A limb holds coefficients in
//! `[0, 2^e)` in both domains. Sums and products with constants are those of words modulo `2^64`,
//! whose low `e` bits count ([`Words`]). Products of polynomials are computed over the integers,
//! modulo primes that have transforms ([`products`]; GRAFT Ex. 3.1, C.6).

mod identity;
mod products;

use std::sync::Arc;

use crate::{Kernel, RingError, words::Words};
use identity::Identity;
use products::{Emulation, Products};

/// The ring of one power of two. See [`crate::ResidueRing`] for an example.
#[derive(Debug, Clone)]
pub struct PowerOfTwoRing {
    pub(crate) linear: Words,
    pub(crate) products: Products,
    pub(crate) identity: Identity,
}

impl PowerOfTwoRing {
    /// Makes the ring of `2^exponent`.
    ///
    /// # Errors
    /// If the exponent or the degree is not supported.
    pub(crate) fn new(exponent: u32, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        let emulation = Emulation::new(exponent..=exponent, degree, kernel)?;
        Ok(Self::of_emulation(&Arc::new(emulation), exponent, degree, kernel))
    }

    /// Makes the rings of `2^1 .. 2^largest`, which share their tables.
    ///
    /// # Errors
    /// The same as [`PowerOfTwoRing::new`].
    pub(crate) fn all(largest: u32, degree: usize, kernel: Kernel) -> Result<Vec<Self>, RingError> {
        let emulation = Arc::new(Emulation::new(1..=largest, degree, kernel)?);
        let ring = |exponent| Self::of_emulation(&emulation, exponent, degree, kernel);
        Ok((1..=largest).map(ring).collect())
    }

    fn of_emulation(
        emulation: &Arc<Emulation>,
        exponent: u32,
        degree: usize,
        kernel: Kernel,
    ) -> Self {
        let words = Words::new(exponent, kernel);
        let products = Products::new(Arc::clone(emulation), exponent);
        PowerOfTwoRing { linear: words, products, identity: Identity { words, degree } }
    }
}
