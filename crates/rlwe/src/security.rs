//! The largest moduli that keep a ring degree secure.
//!
//! Limits for ternary secrets are from Table 5.2 of "Security Guidelines for Implementing
//! Homomorphic Encryption" (ePrint 2024/463), for an error of standard deviation 3.19 and classical
//! attacks. That standard does not cover sparse and binary secrets. Limits for sparse secrets are
//! the field's practice or estimates. The limits for binary secrets are estimates. [`limit_at`]
//! states their sources.

use crate::RlweError;
pub use crate::hybrid_attack::hybrid_attack_bits;

/// The distribution of the coefficients of a secret.
///
/// See [`limit_at`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretDistribution {
    /// Uniform on `{-1, 0, 1}`.
    Ternary,
    /// Exactly `weight` coefficients of `+-1`, the others 0.
    SparseTernary {
        /// The Hamming weight `h`.
        weight: usize,
    },
    /// Uniform on `{0, 1}`, for the secrets of single numbers that are looked up in tables, as in
    /// TFHE.
    Binary,
}

impl SecretDistribution {
    /// The expected squared norm of the secret, which is its expected Hamming weight.
    pub fn expected_weight(self, degree: usize) -> f64 {
        match self {
            SecretDistribution::Ternary => degree as f64 * 2.0 / 3.0,
            SecretDistribution::SparseTernary { weight } => weight as f64,
            SecretDistribution::Binary => degree as f64 / 2.0,
        }
    }

    /// The expected squared distance of the secret from its mean.
    ///
    /// It replaces the squared norm in the rounding error if the mean of the secret has been
    /// accounted for.
    pub fn expected_squared_distance_from_mean(self, degree: usize) -> f64 {
        match self {
            SecretDistribution::Binary => degree as f64 / 4.0,
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => {
                self.expected_weight(degree)
            }
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
            SecretDistribution::Binary => f.write_str("binary"),
        }
    }
}

/// A limit of `log2(PQ)` and its source.
///
/// See [`limit_at`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecurityLimit {
    /// The security in bits.
    pub bits: u32,
    /// The largest `log2(PQ)` in bits.
    pub log2_pq: u32,
    /// The source, in words.
    pub source: &'static str,
}

const GUIDELINES_SOURCE: &str = "Table 5.2 of ePrint 2024/463";
const PRACTICE_SOURCE: &str =
    "practice for Hamming weight 192 or more, as in Lattigo 6.2's bootstrapping parameters";
const ENCAPSULATION_SOURCE: &str = "practice for Hamming weight 32 or more: sparse-secret \
     encapsulation with log2(q0 p) = 60 + 61, as in Lattigo 6.2's bootstrapping parameters \
     (Bossuat, Troncoso-Pastoriza and Hubaux, ePrint 2022/024)";
const ENCAPSULATION_SCALED_SOURCE: &str = "the practice for Hamming weight 32 or more at ring \
     degree 2^16, by the ratio of the ring degrees";
const ESTIMATED_15_SOURCE: &str = "our estimate of the hybrid attack \
     (security::hybrid_attack_bits): 142 bits; the practice, Lattigo 6.2's N15QP768H192H32, has \
     84 bits, 153 by the estimate";
const ESTIMATED_SOURCE: &str = "our estimate of the hybrid attack (security::hybrid_attack_bits): \
     134 bits, as much as for the practice at Hamming weight 192";
const DOUBLED_SOURCE: &str = "twice the practice for Hamming weight 192 or more at ring degree \
     2^16; HElib's estimate allows more";

const ESTIMATED_BINARY_SOURCE: &str = "the lattice estimator (github.com/malb/lattice-estimator, \
     bench/estimates.py): 132.0 and 129.8 bits for the cheapest attack at dimensions 720 and \
     1024; 131.3 for the table's ternary secrets of dimension 1024, 128.8 for those of 2048";

/// Limits for uniform ternary secrets: log2 of the ring degree, and the largest `log2(PQ)` in bits
/// for 128, 192 and 256 bits of security.
const TERNARY_LIMITS: [(u32, [Option<u32>; 3]); 8] = [
    (10, [Some(26), None, None]),
    (11, [Some(53), Some(36), Some(27)]),
    (12, [Some(106), Some(73), Some(56)]),
    (13, [Some(214), Some(147), Some(114)]),
    (14, [Some(430), Some(297), Some(230)]),
    (15, [Some(868), Some(597), Some(462)]),
    (16, [Some(1747), Some(1199), Some(929)]),
    (17, [Some(3523), Some(2411), Some(1866)]),
];

/// Limits for uniform binary secrets: dimensions, and the largest `log2 q` in bits for 128 bits of
/// security.
const BINARY_LIMITS: [(usize, u32); 2] = [(720, 17), (1024, 25)];

/// The levels of security that have limits, in bits.
pub const LEVELS: [u32; 3] = [128, 192, 256];

/// Returns the limit of `log2(PQ)` for `bits` bits of security, one of [`LEVELS`], or `None` if no
/// limit is known.
///
/// Ternary secrets: the limits are from ePrint 2024/463.
///
/// Sparse secrets with Hamming weight `h >= 192`, 128 bits only: 1550 at `N = 2^16` and 768 at
/// `N = 2^15`. This is the field's practice (Lattigo 6.2's parameter sets N16QP1546H192H32 and
/// N15QP768H192H32). There is no practice for `N = 2^17`. The limit there is 3100, twice that of
/// `2^16`, because the known attacks on sparse secrets depend on `h` and `N / log2(PQ)` alone.
/// HElib's fit to the lwe-estimator of 2020 (`lweEstimateSecurity`, with
/// `2.9 N / log2(PQ / sigma) + 8.4` bits at `h = 192`) allows a little more than each of the three.
///
/// Sparse secrets with `32 <= h < 192`, 128 bits only, for the keys of sparse-secret encapsulation
/// alone ([`crate::EncapsulationKeys`]):
///
/// - 121 at `N = 2^16`. The authors of the encapsulation (ePrint 2022/024) choose the modulus
///   `q0 p` of that key so that 128 bits hold. Lattigo 6.2's N16QP1546H192H32 has 60 + 61 bits.
/// - 242 at `2^17`, in proportion to `N` as above.
/// - 65 at `2^14` and 121 at `2^15`. In proportion to `N` there would be no room for a key. The
///   estimate of [`hybrid_attack_bits`] is 134 and 142 bits.
///
/// For comparison, [`hybrid_attack_bits`] is 153 for the 33 + 51 bits of Lattigo's N15QP768H192H32,
/// 133 and 132 for Lattigo's two sets at `h = 192`, and 167 at `2^16` with `h = 32`.
///
/// Binary secrets, `n = 1024` and 128 bits only: 25. The lattice estimator gives 129.8 bits for the
/// cheapest attack (dual hybrid, MATZOV's costs). This is between its 131.3 and 128.8 bits for the
/// table's ternary secrets at `2^10` and `2^11`. A limit of 26 would give 125.2 bits.
/// [`limit_of_dimension`] has a limit for `n = 720` too: 17, with 132.0 bits of security. A limit
/// of 18 would give 125.1 bits. `bench/estimates.py` prints these figures.
///
/// ```
/// use hippocrene_rlwe::{SecretDistribution, security};
///
/// let limit = security::limit_at(128, 14, SecretDistribution::Ternary).unwrap();
/// assert_eq!(limit.log2_pq, 430);
/// assert_eq!(security::limit_at(128, 9, SecretDistribution::Ternary), None);
/// ```
pub fn limit_at(bits: u32, log_degree: u32, secret: SecretDistribution) -> Option<SecurityLimit> {
    let level = LEVELS.iter().position(|level| *level == bits)?;
    let (log2_pq, source) = match (secret, log_degree, bits) {
        (SecretDistribution::Ternary, ..) => {
            let (_, limits) = TERNARY_LIMITS.iter().find(|(n, _)| *n == log_degree)?;
            (limits[level]?, GUIDELINES_SOURCE)
        }
        (SecretDistribution::SparseTernary { weight: 192.. }, 15, 128) => (768, PRACTICE_SOURCE),
        (SecretDistribution::SparseTernary { weight: 192.. }, 16, 128) => (1550, PRACTICE_SOURCE),
        (SecretDistribution::SparseTernary { weight: 192.. }, 17, 128) => (3100, DOUBLED_SOURCE),
        (SecretDistribution::SparseTernary { weight: 32.. }, 14, 128) => (65, ESTIMATED_SOURCE),
        (SecretDistribution::SparseTernary { weight: 32.. }, 15, 128) => (121, ESTIMATED_15_SOURCE),
        (SecretDistribution::SparseTernary { weight: 32.. }, 16, 128) => {
            (121, ENCAPSULATION_SOURCE)
        }
        (SecretDistribution::SparseTernary { weight: 32.. }, 17, 128) => {
            (242, ENCAPSULATION_SCALED_SOURCE)
        }
        (SecretDistribution::Binary, 1.., 128) => {
            let (_, limit) = BINARY_LIMITS
                .iter()
                .find(|(n, _)| n.is_power_of_two() && n.ilog2() == log_degree)?;
            (*limit, ESTIMATED_BINARY_SOURCE)
        }
        _ => return None,
    };
    Some(SecurityLimit { bits, log2_pq, source })
}

/// Returns the limit of `log2(PQ)` for 128-bit security, or `None` if no limit is known:
/// [`limit_at`] 128 bits.
pub fn limit(log_degree: u32, secret: SecretDistribution) -> Option<SecurityLimit> {
    limit_at(128, log_degree, secret)
}

/// Returns the limit of `log2 q` for 128-bit security of LWE samples of any dimension, or `None` if
/// no limit is known.
///
/// This is the limit of the largest listed dimension that does not exceed `dimension`.
pub fn limit_of_dimension(dimension: usize, secret: SecretDistribution) -> Option<SecurityLimit> {
    match secret {
        SecretDistribution::Binary => {
            let (_, log2_pq) =
                BINARY_LIMITS.into_iter().rev().find(|(known, _)| *known <= dimension)?;
            Some(SecurityLimit { bits: 128, log2_pq, source: ESTIMATED_BINARY_SOURCE })
        }
        SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => {
            limit(dimension.checked_ilog2()?, secret)
        }
    }
}

/// Returns the limit of the highest level of security that `log2_pq` satisfies, or `None` if that
/// is below 128 bits or not known.
pub fn level(log_degree: u32, secret: SecretDistribution, log2_pq: f64) -> Option<SecurityLimit> {
    let limits = LEVELS.iter().rev().filter_map(|bits| limit_at(*bits, log_degree, secret));
    limits.into_iter().find(|limit| log2_pq <= f64::from(limit.log2_pq))
}

/// Checks `log2(PQ)` against [`limit`].
///
/// # Errors
/// Returns [`RlweError::Insecure`] if `log2_pq` exceeds the limit or is not a number, and
/// [`RlweError::NoSecurityLimit`] if no limit is known.
pub fn check(
    log_degree: u32,
    secret: SecretDistribution,
    log2_pq: f64,
) -> Result<SecurityLimit, RlweError> {
    let degree = 1usize.checked_shl(log_degree).unwrap_or(usize::MAX);
    check_limit(limit(log_degree, secret), degree, secret, log2_pq)
}

/// Checks `log2 q` against [`limit_of_dimension`].
///
/// # Errors
/// Returns the same errors as [`check`].
pub fn check_dimension(
    dimension: usize,
    secret: SecretDistribution,
    log2_q: f64,
) -> Result<SecurityLimit, RlweError> {
    check_limit(limit_of_dimension(dimension, secret), dimension, secret, log2_q)
}

fn check_limit(
    limit: Option<SecurityLimit>,
    dimension: usize,
    secret: SecretDistribution,
    log2_pq: f64,
) -> Result<SecurityLimit, RlweError> {
    let limit = limit
        .ok_or_else(|| RlweError::NoSecurityLimit { dimension, secret: secret.to_string() })?;
    if log2_pq.is_nan() || log2_pq > f64::from(limit.log2_pq) {
        return Err(RlweError::Insecure {
            have: log2_pq,
            limit: limit.log2_pq,
            dimension,
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
        assert!(matches!(check(14, Ternary, f64::NAN), Err(RlweError::Insecure { .. })));
        assert!(matches!(check(9, Ternary, 10.0), Err(RlweError::NoSecurityLimit { .. })));
        assert!(matches!(
            check(15, SparseTernary { weight: 31 }, 10.0),
            Err(RlweError::NoSecurityLimit { .. })
        ));
        for (log_degree, limit) in [(14, 65.0), (15, 121.0), (16, 121.0), (17, 242.0)] {
            for weight in [32, 191] {
                assert!(check(log_degree, SparseTernary { weight }, limit).is_ok());
                assert!(check(log_degree, SparseTernary { weight }, limit + 0.1).is_err());
            }
        }
        assert!(check(16, SparseTernary { weight: 192 }, 1546.0).is_ok());
        for (log_degree, limit) in [(15, 768.0), (16, 1550.0), (17, 3100.0)] {
            assert!(check(log_degree, SparseTernary { weight: 192 }, limit).is_ok());
            assert!(check(log_degree, SparseTernary { weight: 192 }, limit + 0.1).is_err());
            assert!(check(log_degree, SparseTernary { weight: 191 }, limit / 2.0).is_err());
            // HElib's estimate, interpolated between its lines for 180 and 210 (sigma 3.19).
            let x = f64::from(1 << log_degree) / (limit - 3.19f64.log2());
            assert!((2.83 + 0.4 * 0.17) * x + 10.0 - 0.4 * 4.0 > 128.0);
        }
        for other in [10, 12, 13, 18] {
            assert!(check(other, SparseTernary { weight: 192 }, 10.0).is_err());
        }
        assert!(check(10, Binary, 25.0).is_ok() && check(10, Binary, 25.1).is_err());
        assert!(check(9, Binary, 10.0).is_err() && check(11, Binary, 10.0).is_err());
        for (dimension, limit) in [(720, 17.0), (1023, 17.0), (1024, 25.0), (2000, 25.0)] {
            assert!(check_dimension(dimension, Binary, limit).is_ok());
            assert!(check_dimension(dimension, Binary, limit + 0.1).is_err());
        }
        assert!(
            check_dimension(719, Binary, 10.0).is_err()
                && check_dimension(0, Ternary, 10.0).is_err()
        );
        assert!(
            check_dimension(1500, Ternary, 26.0).is_ok()
                && check_dimension(1500, Ternary, 27.0).is_err()
        );
    }

    /// Checks the figures in the documentation of [`limit_at`]. The precision of our estimate is
    /// about 5 bits.
    #[test]
    fn limits_of_sparse_secrets_agree_with_the_estimate() {
        for (log_degree, weight, stated) in
            [(15, 192, 131.9), (16, 192, 133.0), (14, 32, 134.3), (15, 32, 142.0), (16, 32, 167.4)]
        {
            let limit =
                limit(log_degree, SecretDistribution::SparseTernary { weight }).unwrap().log2_pq;
            let have = hybrid_attack_bits(log_degree, weight, f64::from(limit));
            assert!((have - stated).abs() < 1.1, "2^{log_degree}, {weight}: {have}");
        }
    }

    #[test]
    fn levels_are_the_highest_that_hold() {
        use SecretDistribution::*;
        for (log2_pq, bits) in
            [(462.0, Some(256)), (462.1, Some(192)), (597.1, Some(128)), (868.1, None)]
        {
            assert_eq!(level(15, Ternary, log2_pq).map(|limit| limit.bits), bits);
        }
        assert_eq!(level(10, Ternary, 1.0).map(|limit| limit.bits), Some(128));
        assert_eq!(
            level(15, SparseTernary { weight: 192 }, 1.0).map(|limit| limit.bits),
            Some(128)
        );
        assert_eq!(limit_at(129, 15, Ternary), None);
    }
}
