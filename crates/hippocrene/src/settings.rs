//! Settings: a parameter set and how precisely it is computed with.

use hippocrene_ckks::Scale;
use hippocrene_rlwe::{Modulus, Parameters};

use crate::Error;

/// A parameter set with the scale that values are encrypted at, and the scales that arise from it by multiplication.
///
/// The digest names the parameter set, not the scale: settings that differ only in the scale can work on each other's arrays. Every
/// ciphertext carries its exact scale, so that results are right all the same: the server's scales are only what it brings products with
/// plain numbers and polynomials to, and operands are adjusted to each other. What differs is capacity and precision. Key files hold
/// the client's settings, so that a server made from them has the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    parameters: Parameters,
    /// The scale of ciphertexts with `l + 1` units.
    scales: Vec<Scale>,
}

impl Settings {
    /// Settings of a parameter set whose units but the first are close to `scale`.
    ///
    /// # Errors
    /// [`Error::Parameters`] when the scales that multiplication runs through drift away from `scale` by more than one bit.
    pub fn new(parameters: Parameters, scale: Scale) -> Result<Self, Error> {
        let count = parameters.unit_count();
        let mut scales = vec![scale; count];
        for l in (1..count).rev() {
            scales[l - 1] = scales[l].times(scales[l]).divided_by(parameters.factor(l));
            if (scales[l - 1].log2() - scale.log2()).abs() > 1.0 {
                return Err(Error::Parameters(format!(
                    "after {} multiplications the scale {scale} has drifted to {}: the primes are too far from the scale",
                    count - l,
                    scales[l - 1]
                )));
            }
        }
        Ok(Settings { parameters, scales })
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The scale of fresh ciphertexts.
    pub fn scale(&self) -> Scale {
        self.scales[self.scales.len() - 1]
    }

    /// The scale that ciphertexts modulo `modulus`, a product of the first units, have when every product is rescaled.
    pub fn scale_at(&self, modulus: Modulus) -> Scale {
        self.scales[modulus.limb_count().clamp(1, self.scales.len()) - 1]
    }
}
