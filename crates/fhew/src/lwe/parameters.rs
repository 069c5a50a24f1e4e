//! Dimension, modulus and distribution of the secret.

use hippocrene_rlwe::{SecretDistribution, security};

use crate::FhewError;

/// What moduli lie in: errors are smaller than the least.
const MODULI: std::ops::Range<u64> = 1 << 7..1 << 61;

/// The dimension `n`, the modulus `q` and the distribution of the secret of LWE ciphertexts; errors
/// are Gaussian of standard deviation [`hippocrene_rlwe::SIGMA`].
///
/// A ring of degree `n` is as hard as the dimension `n` (no better attack on it is known), so that
/// the limits of [`security`] hold for both, and one type serves for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LweParameters {
    dimension: usize,
    modulus: u64,
    secret: SecretDistribution,
}

impl LweParameters {
    /// Parameters of at least 128 bits of security: fresh ciphertexts and keys modulo `modulus` are
    /// within the limit of [`security::check_dimension`].
    ///
    /// # Errors
    /// [`hippocrene_rlwe::RlweError::Insecure`] or [`hippocrene_rlwe::RlweError::NoSecurityLimit`]
    /// beyond that; otherwise as [`LweParameters::insecure`].
    pub fn new(
        dimension: usize,
        modulus: u64,
        secret: SecretDistribution,
    ) -> Result<Self, FhewError> {
        let parameters = Self::insecure(dimension, modulus, secret)?;
        security::check_dimension(dimension, secret, parameters.log2_modulus())?;
        Ok(parameters)
    }

    /// Parameters whose security nobody has checked: for tests, and for moduli that a secret is
    /// bounded for elsewhere.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when the dimension is zero, the modulus is not in `[2^7, 2^61)`,
    /// or the Hamming weight is above the dimension.
    pub fn insecure(
        dimension: usize,
        modulus: u64,
        secret: SecretDistribution,
    ) -> Result<Self, FhewError> {
        if dimension == 0 || !MODULI.contains(&modulus) {
            let what = format!(
                "dimension {dimension} and modulus {modulus}, but a positive dimension and a modulus from 2^7 to 2^61 are needed"
            );
            return Err(FhewError::Parameters { what });
        }
        if let SecretDistribution::SparseTernary { weight } = secret
            && weight > dimension
        {
            let what = format!("Hamming weight {weight} is above the dimension {dimension}");
            return Err(FhewError::Parameters { what });
        }
        Ok(LweParameters { dimension, modulus, secret })
    }

    /// These, modulo another number in `[2^7, 2^61)`. Errors are as wide at every modulus, so that
    /// a smaller one is the more secure; a larger one is checked as by [`LweParameters::new`].
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when it is not in range; [`hippocrene_rlwe::RlweError::Insecure`]
    /// or [`hippocrene_rlwe::RlweError::NoSecurityLimit`] when it is larger than theirs and beyond
    /// the limit.
    pub fn with_modulus(self, modulus: u64) -> Result<Self, FhewError> {
        let make = if modulus > self.modulus { Self::new } else { Self::insecure };
        make(self.dimension, modulus, self.secret)
    }

    /// These, modulo another number in `[2^7, 2^61)`, of ciphertexts that are switched to it: their
    /// secret has encrypted nothing there, so that no limit holds for it.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when it is not in range.
    pub(crate) fn switched(self, modulus: u64) -> Result<Self, FhewError> {
        Self::insecure(self.dimension, modulus, self.secret)
    }

    /// The dimension `n`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The degree of the ring in which a secret is a polynomial, the next power of two; its
    /// coefficients from `n` on are 0.
    pub fn ring_degree(&self) -> usize {
        self.dimension.next_power_of_two()
    }

    /// The modulus `q`.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// `log2 q`.
    pub fn log2_modulus(&self) -> f64 {
        (self.modulus as f64).log2()
    }

    /// The distribution of the secret.
    pub fn secret(&self) -> SecretDistribution {
        self.secret
    }

    /// The expected squared norm of the secret.
    pub fn secret_weight(&self) -> f64 {
        self.secret.expected_weight(self.dimension)
    }

    /// The expected squared distance of the secret from its mean.
    pub fn secret_spread(&self) -> f64 {
        self.secret.expected_spread(self.dimension)
    }
}
