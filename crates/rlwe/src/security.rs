//! The largest moduli that keep a ring degree secure.
//!
//! Ternary secrets: Table 5.2 of "Security Guidelines for Implementing Homomorphic Encryption" (ePrint 2024/463), error
//! standard deviation 3.19, classical attacks. Sparse secrets are outside that standard; their limits are the field's
//! practice, as stated at [`limit`].

use crate::RlweError;

/// How the coefficients of a secret are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretDistribution {
    /// Uniform on `{-1, 0, 1}`.
    Ternary,
    /// Exactly `weight` coefficients of `+-1`, the others 0.
    SparseTernary {
        /// The Hamming weight `h`.
        weight: usize,
    },
}

impl SecretDistribution {
    /// The expected squared norm of the secret: its (expected) Hamming weight.
    pub fn expected_weight(self, degree: usize) -> f64 {
        match self {
            SecretDistribution::Ternary => degree as f64 * 2.0 / 3.0,
            SecretDistribution::SparseTernary { weight } => weight as f64,
        }
    }
}

impl std::fmt::Display for SecretDistribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SecretDistribution::Ternary => f.write_str("ternary"),
            SecretDistribution::SparseTernary { weight } => {
                write!(f, "sparse ternary (Hamming weight {weight})")
            }
        }
    }
}

/// A limit of `log2(PQ)` and where it is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecurityLimit {
    /// The largest `log2(PQ)` in bits.
    pub log2_pq: u32,
    /// The source, in words.
    pub source: &'static str,
}

const GUIDELINES: &str = "Table 5.2 of ePrint 2024/463";
const PRACTICE: &str =
    "practice for Hamming weight 192 or more, as in Lattigo 6.2's bootstrapping parameters";

/// The largest `log2(PQ)` for 128-bit security, or `None` where no limit is known.
///
/// Ternary: ePrint 2024/463. Sparse with `h >= 192`: 1550 bits at `N = 2^16` and 768 bits at `N = 2^15`, the field's
/// practice (Lattigo 6.2's parameter sets N16QP1546H192H32 and N15QP768H192H32).
pub fn limit(log_degree: u32, secret: SecretDistribution) -> Option<SecurityLimit> {
    let limit = |log2_pq, source| Some(SecurityLimit { log2_pq, source });
    match (secret, log_degree) {
        (SecretDistribution::Ternary, 10) => limit(26, GUIDELINES),
        (SecretDistribution::Ternary, 11) => limit(53, GUIDELINES),
        (SecretDistribution::Ternary, 12) => limit(106, GUIDELINES),
        (SecretDistribution::Ternary, 13) => limit(214, GUIDELINES),
        (SecretDistribution::Ternary, 14) => limit(430, GUIDELINES),
        (SecretDistribution::Ternary, 15) => limit(868, GUIDELINES),
        (SecretDistribution::Ternary, 16) => limit(1747, GUIDELINES),
        (SecretDistribution::Ternary, 17) => limit(3523, GUIDELINES),
        (SecretDistribution::SparseTernary { weight: 192.. }, 15) => limit(768, PRACTICE),
        (SecretDistribution::SparseTernary { weight: 192.. }, 16) => limit(1550, PRACTICE),
        _ => None,
    }
}

/// Checks `log2(PQ)` against [`limit`].
///
/// # Errors
/// [`RlweError::Insecure`] beyond the limit, [`RlweError::NoSecurityLimit`] where none is known.
pub fn check(log_degree: u32, secret: SecretDistribution, log2_pq: f64) -> Result<SecurityLimit, RlweError> {
    let limit = limit(log_degree, secret)
        .ok_or_else(|| RlweError::NoSecurityLimit { log_degree, secret: secret.to_string() })?;
    if log2_pq > f64::from(limit.log2_pq) {
        return Err(RlweError::Insecure {
            have: log2_pq,
            limit: limit.log2_pq,
            log_degree,
            secret: secret.to_string(),
            source_of_limit: limit.source,
        });
    }
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_enforced() {
        use SecretDistribution::*;
        assert!(check(14, Ternary, 430.0).is_ok());
        assert!(check(14, Ternary, 430.1).unwrap_err().to_string().contains("ePrint 2024/463"));
        assert!(matches!(check(9, Ternary, 10.0), Err(RlweError::NoSecurityLimit { .. })));
        assert!(matches!(
            check(15, SparseTernary { weight: 64 }, 10.0),
            Err(RlweError::NoSecurityLimit { .. })
        ));
        assert!(check(16, SparseTernary { weight: 192 }, 1546.0).is_ok());
    }
}
