//! Queries from the client to the server, and replies.

use hippocrene_fhew::{LweCiphertext, LweParameters, SeededCoefficients};
use hippocrene_ring::Seed;
use hippocrene_rlwe::{Fingerprint, Noise};
use zeroize::Zeroizing;

use super::{FeatureRanges, TreeParameters, TreeSecrets};
use crate::{PegasusError, error::argument};

/// Encrypted rows of features, one row after the other. See [`TreePlan`](super::TreePlan) for an
/// example.
///
/// Each feature is [`TreeParameters::digits`] numbers. They are coefficients of RLWE ciphertexts in
/// the ring of the LWE secret, and half of the ciphertexts is a seed.
#[derive(Debug, Clone)]
pub struct TreeQuery {
    features: usize,
    digits: usize,
    numbers: SeededCoefficients,
}

impl TreeQuery {
    /// Assembles a query of rows of `features` features from its parts.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the numbers do not make rows. Also returns the errors
    /// of [`SeededCoefficients::from_parts`].
    pub fn from_parts(
        parameters: TreeParameters,
        features: usize,
        seed: Seed,
        c0: Vec<u64>,
        key: Fingerprint,
    ) -> Result<Self, PegasusError> {
        let digits = parameters.digits();
        let numbers = features.saturating_mul(digits);
        if numbers == 0 || c0.is_empty() || !c0.len().is_multiple_of(numbers) {
            let what = format!(
                "{} numbers are no rows of {features} features of {digits} digits",
                c0.len()
            );
            return argument("put a query together", what);
        }
        let numbers = SeededCoefficients::from_parts(parameters.query(), seed, c0, key)?;
        Ok(TreeQuery { features, digits, numbers })
    }

    /// The number of features of a row.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.numbers.c0().len() / (self.features * self.digits)
    }

    /// The encrypted numbers.
    pub fn numbers(&self) -> &SeededCoefficients {
        &self.numbers
    }
}

/// An LWE ciphertext for each row and each output, under the secret of queries. See
/// [`TreePlan`](super::TreePlan) for an example.
///
/// A decrypted number `m` modulo `q` means `middle + span m / q`, with the middle of its output.
/// The middles and the span are public.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeReply {
    pub(super) span: f64,
    pub(super) middles: Vec<f64>,
    pub(super) values: Vec<LweCiphertext>,
}

impl TreeReply {
    /// Assembles a reply from its parts.
    ///
    /// `values` holds `b` and `a` of each output, one row after the other.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the values do not make rows of outputs, the span is
    /// not positive and finite, or a middle is not finite. Also
    /// returns the errors of [`LweCiphertext::from_parts`].
    pub fn from_parts(
        parameters: LweParameters,
        key: Fingerprint,
        span: f64,
        middles: Vec<f64>,
        values: Vec<(u64, Vec<u64>)>,
    ) -> Result<Self, PegasusError> {
        const OPERATION: &str = "put a reply together";
        if middles.is_empty() || values.is_empty() || !values.len().is_multiple_of(middles.len()) {
            let what = format!("{} values are no rows of {} outputs", values.len(), middles.len());
            return argument(OPERATION, what);
        }
        if !(span.is_finite() && span > 0.0) || middles.iter().any(|x| !x.is_finite()) {
            return argument(OPERATION, format!("a span of {span} around {middles:?}"));
        }
        let values = values.into_iter();
        let values =
            values.map(|(b, a)| LweCiphertext::from_parts(parameters, b, a, Noise::NONE, key));
        Ok(TreeReply { span, middles, values: values.collect::<Result<_, _>>()? })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.middles.len()
    }

    /// The number of outputs of a row.
    pub fn outputs(&self) -> usize {
        self.middles.len()
    }

    /// The largest distance between the smallest and the largest possible value, plus a margin for
    /// errors.
    pub fn span(&self) -> f64 {
        self.span
    }

    /// The value that the residue 0 stands for, for each output.
    pub fn middles(&self) -> &[f64] {
        &self.middles
    }

    /// The ciphertexts, grouped by row.
    pub fn values(&self) -> &[LweCiphertext] {
        &self.values
    }
}

impl TreeParameters {
    /// Returns the positions of the digits of rows of features, one after the other.
    pub(super) fn messages(
        &self,
        ranges: &FeatureRanges,
        rows: &[f64],
        operation: &'static str,
    ) -> Result<Zeroizing<Vec<u64>>, PegasusError> {
        let features = ranges.count();
        if rows.is_empty() || !rows.len().is_multiple_of(features) {
            let what = format!("{} values are no rows of {features} features", rows.len());
            return argument(operation, what);
        }
        if let Some(place) = rows.iter().position(|x| x.is_nan()) {
            let (row, feature) = (place / features, place % features);
            return argument(operation, format!("feature {feature} of row {row} is not a number"));
        }
        let mut messages = Zeroizing::new(Vec::with_capacity(rows.len() * self.digits()));
        for (i, value) in rows.iter().enumerate() {
            let share = ranges.share(i % features, *value);
            messages.extend((0..self.digits()).map(|digit| self.message(share, digit)));
        }
        Ok(messages)
    }

    /// Returns the position of a digit modulo `2N`, for a value at a share of its range.
    ///
    /// The first digit uses the first half of the circle of `2N` positions. For the other digits,
    /// the whole circle is one period.
    pub(super) fn message(&self, share: f64, digit: usize) -> u64 {
        let position = self.start(digit) + share * self.scale(digit);
        let circle = 2.0 * self.positions();
        position.round().rem_euclid(circle) as u64
    }
}

impl TreeSecrets {
    /// Encrypts rows of features, one after the other. Values beyond their range become its nearest
    /// end.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the number of values is not a multiple of the number
    /// of features, or a value is NaN. Also when the operating system has no entropy.
    pub fn encrypt(&self, ranges: &FeatureRanges, rows: &[f64]) -> Result<TreeQuery, PegasusError> {
        let messages = self.parameters().messages(ranges, rows, "encrypt a query")?;
        let numbers =
            self.input.encrypt_coefficients(self.parameters().query().modulus(), &messages)?;
        Ok(TreeQuery { features: ranges.count(), digits: self.parameters().digits(), numbers })
    }

    /// Decrypts a reply, and returns its values row by row.
    ///
    /// # Errors
    /// Returns an error if the reply belongs to another key.
    pub fn decrypt(&self, reply: &TreeReply) -> Result<Vec<f64>, PegasusError> {
        let value = |(i, c): (usize, &LweCiphertext)| {
            let share = self.input.decrypt(c)? as f64 / c.parameters().modulus() as f64;
            Ok(reply.middles[i % reply.outputs()] + reply.span * share)
        };
        reply.values.iter().enumerate().map(value).collect()
    }
}
