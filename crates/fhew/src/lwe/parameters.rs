//! The dimension, the modulus and the distribution of the secret of LWE ciphertexts.

use hippocrene_rlwe::{SecretDistribution, security};

use crate::FhewError;

/// The allowed range of moduli. Errors are smaller than its lower end.
const MODULI: std::ops::Range<u64> = 1 << 7..1 << 61;

/// The dimension `n`, the modulus `q` and the distribution of the secret of LWE ciphertexts.
///
/// Errors are Gaussian with standard deviation [`hippocrene_rlwe::SIGMA`]. A ring of degree `n` is
/// as hard as the dimension `n`, because no better attack on it is known. So the limits of
/// [`security`] hold for both, and this type serves for both.
///
/// ```
/// use hippocrene_fhew::LweParameters;
/// use hippocrene_rlwe::SecretDistribution;
///
/// let parameters = LweParameters::new(1024, 1 << 25, SecretDistribution::Ternary)?;
/// assert_eq!(parameters.ring_degree(), 1024);
/// assert!(LweParameters::new(512, 1 << 25, SecretDistribution::Ternary).is_err(), "insecure");
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LweParameters {
    dimension: usize,
    modulus: u64,
    secret: SecretDistribution,
}

impl LweParameters {
    /// Makes parameters of at least 128 bits of security.
    ///
    /// Fresh ciphertexts and keys modulo `modulus` are within the limit of
    /// [`security::check_dimension`].
    ///
    /// # Errors
    /// [`hippocrene_rlwe::RlweError::Insecure`] or [`hippocrene_rlwe::RlweError::NoSecurityLimit`]
    /// beyond that limit. Otherwise the same as [`LweParameters::insecure`].
    pub fn new(
        dimension: usize,
        modulus: u64,
        secret: SecretDistribution,
    ) -> Result<Self, FhewError> {
        let parameters = Self::insecure(dimension, modulus, secret)?;
        security::check_dimension(dimension, secret, parameters.log2_modulus())?;
        Ok(parameters)
    }

    /// Makes parameters without a check of their security.
    ///
    /// They serve tests, and moduli of a secret whose limit is checked elsewhere.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if the dimension is zero, the modulus is not in `[2^7, 2^61)`, or
    /// the Hamming weight is above the dimension.
    pub fn insecure(
        dimension: usize,
        modulus: u64,
        secret: SecretDistribution,
    ) -> Result<Self, FhewError> {
        if dimension == 0 || !MODULI.contains(&modulus) {
            let what = format!(
                "dimension {dimension} and modulus {modulus}, but a positive dimension and a \
                 modulus from 2^7 to 2^61 are needed"
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

    /// Returns these parameters with another modulus in `[2^7, 2^61)`.
    ///
    /// Errors have the same width at every modulus, so a smaller modulus is more secure. A larger
    /// one is checked as by [`LweParameters::new`].
    ///
    /// # Errors
    /// - [`FhewError::Parameters`] if the modulus is out of range.
    /// - [`hippocrene_rlwe::RlweError::Insecure`] or
    ///   [`hippocrene_rlwe::RlweError::NoSecurityLimit`] if it is larger than the present one and
    ///   beyond the limit.
    pub fn with_modulus(self, modulus: u64) -> Result<Self, FhewError> {
        let make = if modulus > self.modulus { Self::new } else { Self::insecure };
        make(self.dimension, modulus, self.secret)
    }

    /// Returns the parameters of ciphertexts that are switched to another modulus in `[2^7, 2^61)`.
    ///
    /// The secret encrypts nothing modulo this number, so no security limit applies.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if the modulus is out of range.
    pub(crate) fn switched(self, modulus: u64) -> Result<Self, FhewError> {
        Self::insecure(self.dimension, modulus, self.secret)
    }

    /// Returns the dimension `n`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the degree of the ring in which a secret is a polynomial: the next power of two.
    ///
    /// The coefficients of the secret from `n` on are 0.
    pub fn ring_degree(&self) -> usize {
        self.dimension.next_power_of_two()
    }

    /// Returns the modulus `q`.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// Returns `log2 q`.
    pub fn log2_modulus(&self) -> f64 {
        (self.modulus as f64).log2()
    }

    /// Returns the distribution of the secret.
    pub fn secret(&self) -> SecretDistribution {
        self.secret
    }

    /// Returns the expected squared norm of the secret.
    pub fn secret_weight(&self) -> f64 {
        self.secret.expected_weight(self.dimension)
    }

    /// Returns the expected squared distance of the secret from its mean.
    pub fn secret_spread(&self) -> f64 {
        self.secret.expected_squared_distance_from_mean(self.dimension)
    }
}
