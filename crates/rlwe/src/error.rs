//! The errors of this crate.

use hippocrene_ring::RingError;
use thiserror::Error;

use crate::{Fingerprint, Modulus};

/// Formats the number of bits that an operation needs and the smaller number that it has, with one
/// decimal.
///
/// If both would read the same, the first is rounded up and the second down.
pub fn format_need_and_have(need: f64, have: f64) -> [String; 2] {
    let texts = [need, have].map(|bits| match bits.abs() < 1e6 {
        true => format!("{bits:.1}"),
        // Such a number exceeds every modulus, so it is printed in full.
        false => format!("{bits:e}"),
    });
    match texts[0] == texts[1] {
        true => [(need * 10.0).ceil(), (have * 10.0).floor()]
            .map(|tenths| format!("{:.1}", tenths / 10.0)),
        false => texts,
    }
}

/// Formats a number as `ring degree 2^16` or `dimension 720`.
fn degree_or_dimension(n: usize) -> String {
    match n.is_power_of_two() {
        true => format!("ring degree 2^{}", n.ilog2()),
        false => format!("dimension {n}"),
    }
}

/// An error with keys, moduli or ciphertexts.
///
/// Each message names the operation, the value that it had and the value that it needs.
///
/// ```
/// use hippocrene_rlwe::{RlweError, SecretDistribution, security};
///
/// let error = security::check(14, SecretDistribution::Ternary, 440.0).unwrap_err();
/// assert!(matches!(error, RlweError::Insecure { limit: 430, .. }));
/// assert!(error.to_string().starts_with("log2(PQ) = 440.0 bits at ring degree 2^14"));
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum RlweError {
    /// An error of the crate below.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Parameters beyond the security limit.
    #[error(
        "log2(PQ) = {} bits at {} with a {secret} secret is beyond the {limit} bits that give \
         128-bit security ({source_of_limit})",
        format_need_and_have(*have, f64::from(*limit))[0], degree_or_dimension(*dimension)
    )]
    Insecure {
        /// `log2(PQ)` of the parameters.
        have: f64,
        /// The largest secure number of bits.
        limit: u32,
        /// The ring degree, or the dimension of LWE samples.
        dimension: usize,
        /// The secret distribution, in words.
        secret: String,
        /// The source of the limit.
        source_of_limit: &'static str,
    },
    /// No security limit is known for these parameters.
    #[error(
        "no 128-bit security limit is known for {} with a {secret} secret",
        degree_or_dimension(*dimension)
    )]
    NoSecurityLimit {
        /// The ring degree, or the dimension of LWE samples.
        dimension: usize,
        /// The secret distribution, in words.
        secret: String,
    },
    /// Parameters that make no sense.
    #[error("parameters: {what}")]
    Parameters {
        /// The fault, with numbers.
        what: String,
    },
    /// A profile with impossible figures.
    #[error("profile: {what}")]
    Profile {
        /// The fault: the field, its value, and the allowed values.
        what: String,
    },
    /// Residues are needed, and a dry run has none.
    #[error("{operation}: this is a simulation, which computes without residues")]
    DryRun {
        /// The operation.
        operation: &'static str,
    },
    /// A modulus does not suit an operation.
    #[error("{operation}: the modulus has {have} limbs, but {need}")]
    Modulus {
        /// The operation.
        operation: &'static str,
        /// The number of limbs of the given modulus.
        have: usize,
        /// The need of the operation, in words.
        need: &'static str,
    },
    /// Two operands have different moduli.
    #[error(
        "{operation}: the operands have moduli of {left:.1} and {right:.1} bits; bring them to one \
         modulus first"
    )]
    ModulusMismatch {
        /// The operation.
        operation: &'static str,
        /// The bits of the left operand's modulus.
        left: f64,
        /// The bits of the right operand's modulus.
        right: f64,
    },
    /// The modulus of a switching key is no multiple of the one that is needed.
    #[error(
        "the keys have the {operation} only for arrays of lower capacity: modulo {:.1} bits ({} \
         limbs), no multiple of the {:.1} bits ({} limbs) that are needed",
        have.1, have.0.limb_count(), need.1, need.0.limb_count()
    )]
    KeyModulus {
        /// The operation, with its step.
        operation: String,
        /// The modulus of the key, and its bits.
        have: Box<(Modulus, f64)>,
        /// The modulus that must divide it, and its bits.
        need: Box<(Modulus, f64)>,
    },
    /// An operand belongs to other parameters.
    #[error(
        "{operation}: made with the parameters {have} (their digest), and {need} are needed. Use \
         arrays and keys of one client."
    )]
    ParameterMismatch {
        /// The operation.
        operation: &'static str,
        /// The given digest.
        have: Fingerprint,
        /// The needed digest.
        need: Fingerprint,
    },
    /// An operand belongs to another key.
    #[error(
        "{operation}: encrypted under key {have}, but key {need} is needed. Use arrays and keys of \
         one client: those with the same fingerprint."
    )]
    KeyMismatch {
        /// The operation.
        operation: &'static str,
        /// The given fingerprint.
        have: Fingerprint,
        /// The needed fingerprint.
        need: Fingerprint,
    },
    /// A computation had to stop ([`crate::stop`]).
    #[error("{operation}: stopped")]
    Stopped {
        /// The operation.
        operation: &'static str,
    },
    /// A ciphertext has the wrong number of parts.
    #[error(
        "{operation}: the ciphertext has {have} parts, {need} are needed{}",
        if *have == 3 { " (relinearise it first)" } else { "" }
    )]
    Parts {
        /// The operation.
        operation: &'static str,
        /// The given number of parts.
        have: usize,
        /// The needed number of parts.
        need: usize,
    },
    /// A decomposition belongs to another ciphertext.
    #[error("{operation}: the decomposition is of another ciphertext")]
    WrongDecomposition {
        /// The operation.
        operation: &'static str,
    },
    /// The relinearisation key is missing.
    #[error(
        "{operation}: the keys lack the relinearisation key, which products of ciphertexts need"
    )]
    MissingRelinearisationKey {
        /// The operation.
        operation: &'static str,
    },
    /// A Galois key is missing.
    #[error("the keys lack the {operation} (they have {held})")]
    MissingGaloisKey {
        /// The missing key, such as `rotation by 4`.
        operation: String,
        /// The keys that exist, in words.
        held: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_differ() {
        for (need, have, texts) in [
            (64.001, 64.0, ["64.1", "64.0"]),
            (64.0, 63.999, ["64.0", "63.9"]),
            (64.02, 63.98, ["64.1", "63.9"]),
            (40.25, 31.04, ["40.2", "31.0"]),
            (-0.01, -0.02, ["-0.0", "-0.1"]),
            (f64::INFINITY, 3.0, ["inf", "3.0"]),
        ] {
            assert_eq!(format_need_and_have(need, have), texts);
        }
    }
}
