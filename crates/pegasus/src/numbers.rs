//! Single encrypted numbers.

use hippocrene_ckks::Scale;
use hippocrene_fhew::{LweCiphertext, LweParameters};
use hippocrene_rlwe::{Fingerprint, Noise};

use crate::{PegasusError, error::argument};

/// Encrypted numbers, one LWE ciphertext each.
///
/// A ciphertext of `x` satisfies `b + <a, s> = D x + e mod q`. All numbers share the scale `D` and
/// a bound on the absolute values.
///
/// Only numbers at the same scale can be added. The bound of a sum or multiple follows from those
/// of its operands. Results whose bound exceeds `q/2D` are refused. See [`crate::Pegasus`] for an
/// example.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    ciphertexts: Vec<LweCiphertext>,
    scale: Scale,
    bound: f64,
}

impl Numbers {
    /// Makes numbers up to `bound` in absolute value, at `scale`, of their ciphertexts.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there is no ciphertext or they have different keys,
    /// dimensions or moduli. Returns [`PegasusError::Domain`] if the bound is negative, not a
    /// number or too large for the modulus.
    pub fn new(
        ciphertexts: Vec<LweCiphertext>,
        scale: Scale,
        bound: f64,
    ) -> Result<Self, PegasusError> {
        const OPERATION: &str = "put numbers together";
        let Some(first) = ciphertexts.first() else {
            return argument(OPERATION, "there is no number".into());
        };
        let same =
            |c: &LweCiphertext| (c.parameters(), c.key()) == (first.parameters(), first.key());
        if !ciphertexts.iter().all(same) {
            return argument(OPERATION, "they have different keys, dimensions or moduli".into());
        }
        Numbers { ciphertexts, scale, bound: 0.0 }.bounded(bound, OPERATION)
    }

    /// The ciphertexts, one for each number.
    pub fn ciphertexts(&self) -> &[LweCiphertext] {
        &self.ciphertexts
    }

    /// The number of encrypted numbers, at least 1.
    #[allow(clippy::len_without_is_empty)] // there is always one
    pub fn len(&self) -> usize {
        self.ciphertexts.len()
    }

    /// The ratio of residues to numbers.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// A bound on the absolute values of the numbers.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The parameters of all ciphertexts.
    pub fn parameters(&self) -> LweParameters {
        self.ciphertexts[0].parameters()
    }

    /// The fingerprint of the secret key of all ciphertexts.
    pub fn key(&self) -> Fingerprint {
        self.ciphertexts[0].key()
    }

    /// The largest error estimate, in units of the residues.
    pub fn noise(&self) -> Noise {
        let largest =
            self.ciphertexts.iter().map(|c| c.noise().log2_std()).fold(f64::NEG_INFINITY, f64::max);
        Noise::from_log2_std(largest)
    }

    /// `-log2` of the estimated standard deviation of the error in a number.
    pub fn precision_bits(&self) -> f64 {
        self.scale.log2() - self.noise().log2_std()
    }

    /// Declares a bound, which may be tighter or wider than the computed one.
    ///
    /// # Errors
    /// Returns [`PegasusError::Domain`] if such numbers do not fit the modulus.
    pub fn with_bound(self, bound: f64) -> Result<Self, PegasusError> {
        self.bounded(bound, "declare a bound")
    }

    /// Returns the numbers at these indices, in this order. An index may occur several times.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there is no such index, or the list is empty.
    pub fn select(&self, places: &[usize]) -> Result<Self, PegasusError> {
        const OPERATION: &str = "select numbers";
        if let Some(place) = places.iter().find(|place| **place >= self.len()) {
            return argument(OPERATION, format!("there is no number {place} among {}", self.len()));
        }
        let chosen = places.iter().map(|place| self.ciphertexts[*place].clone()).collect();
        Self::new(chosen, self.scale, self.bound)
    }

    /// Returns these numbers, followed by those of `other`.
    ///
    /// # Errors
    /// Returns an error if scales, keys, dimensions or moduli differ.
    pub fn concat(mut self, other: &Numbers) -> Result<Self, PegasusError> {
        self.check_scale(other, "concatenate numbers")?;
        self.ciphertexts.extend_from_slice(&other.ciphertexts);
        Self::new(self.ciphertexts, self.scale, self.bound.max(other.bound))
    }

    /// Returns `x_i + y_i`.
    ///
    /// # Errors
    /// Returns an error if counts, scales, keys, dimensions or moduli differ, or if sums may be too
    /// large for the modulus.
    pub fn add(&self, other: &Numbers) -> Result<Self, PegasusError> {
        const OPERATION: &str = "add numbers";
        self.check_pair(other, OPERATION)?;
        let mut sum = self.clone();
        for (x, y) in sum.ciphertexts.iter_mut().zip(&other.ciphertexts) {
            x.add_assign(y)?;
        }
        sum.bounded(self.bound + other.bound, OPERATION)
    }

    /// Returns `x_i - y_i`.
    ///
    /// # Errors
    /// Returns the errors of [`Numbers::add`].
    pub fn sub(&self, other: &Numbers) -> Result<Self, PegasusError> {
        const OPERATION: &str = "subtract numbers";
        self.check_pair(other, OPERATION)?;
        let mut difference = self.clone();
        for (x, y) in difference.ciphertexts.iter_mut().zip(&other.ciphertexts) {
            x.sub_assign(y)?;
        }
        difference.bounded(self.bound + other.bound, OPERATION)
    }

    /// Returns `k x_i` for a small integer `k`.
    ///
    /// # Errors
    /// Returns [`PegasusError::Domain`] if the products may be too large for the modulus.
    pub fn times_integer(mut self, k: i64) -> Result<Self, PegasusError> {
        self.ciphertexts.iter_mut().for_each(|x| x.scale_assign(k));
        let bound = self.bound * k.unsigned_abs() as f64;
        self.bounded(bound, "multiply numbers by an integer")
    }

    /// Returns `x_i + c`, where `c` is rounded at the scale.
    ///
    /// # Errors
    /// Returns [`PegasusError::Domain`] if the sums may be too large for the modulus.
    pub fn plus(mut self, c: f64) -> Result<Self, PegasusError> {
        let bound = self.bound + c.abs();
        let constant = (c * self.scale.to_f64()).round();
        self = self.bounded(bound, "add a constant to numbers")?;
        // The bound guarantees that the sum fits the modulus.
        self.ciphertexts.iter_mut().for_each(|x| x.add_constant_assign(constant as i64));
        Ok(self)
    }

    /// Returns the same numbers, read as `x_i/c`. Nothing is computed.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if `c` is not positive and finite.
    pub fn over(mut self, c: f64) -> Result<Self, PegasusError> {
        const OPERATION: &str = "divide numbers by a constant";
        let Some(factor) = Scale::from_f64(c) else {
            return argument(OPERATION, format!("a divisor of {c}"));
        };
        self.scale = self.scale.times(factor);
        let bound = self.bound / c;
        self.bounded(bound, OPERATION)
    }

    /// The largest bound that fits the modulus.
    pub fn largest_bound(&self) -> f64 {
        (self.parameters().log2_modulus() - 1.0 - self.scale.log2()).exp2()
    }

    /// Returns the numbers with other estimates of their errors, in units of the residues.
    pub(crate) fn with_noises(mut self, noise: impl Fn(usize) -> Noise) -> Self {
        self.ciphertexts.iter_mut().enumerate().for_each(|(i, c)| c.set_noise(noise(i)));
        self
    }

    fn bounded(mut self, bound: f64, operation: &'static str) -> Result<Self, PegasusError> {
        let limit = self.largest_bound();
        if bound.is_nan() || bound < 0.0 || bound > limit {
            return Err(PegasusError::Domain { operation, have: bound, limit });
        }
        self.bound = bound;
        Ok(self)
    }

    fn check_scale(&self, other: &Numbers, operation: &'static str) -> Result<(), PegasusError> {
        if self.scale.is_close(other.scale) {
            return Ok(());
        }
        let (left, right) = (self.scale.log2(), other.scale.log2());
        Err(PegasusError::ScaleMismatch { operation, left, right })
    }

    fn check_pair(&self, other: &Numbers, operation: &'static str) -> Result<(), PegasusError> {
        if self.len() != other.len() {
            let what = format!("there are {} and {} of them", self.len(), other.len());
            return Err(PegasusError::Argument { operation, what });
        }
        self.check_scale(other, operation)
    }
}
