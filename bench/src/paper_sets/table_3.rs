//! The parameter sets of GRAFT's Table 3, for bits, with the paper's word sizes.
//!
//! The table is read like Table 2. The primes of a simple chain, from the base up, are in the order
//! base, slots to coefficients, multiplications, modular reduction, coefficients to slots. Two
//! levels of slots to coefficients share one prime (`28 (= 14 + 14)`). One factor of each grafted
//! set is the sprout, which is as large as the 62-bit factor. The sprout at `N = 2^14` has 61.0
//! bits, and 62-bit primes have 61 bits here.
//!
//! At `N = 2^14` there is no established practice for a secret of Hamming weight 256. Our estimate
//! ([`hippocrene_rlwe::security::hybrid_attack_bits`]) is below 128 bits. `simBinFHE16` exceeds our
//! limit by 48 bits. These sets are refused, unless they are requested as insecure sets for
//! measurements.

use hippocrene_rlwe::SecretDistribution;

use super::{
    PaperSet,
    table_2::{differs, grafted, simple},
};

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 256 };
const SPARSE_192: SecretDistribution = SecretDistribution::SparseTernary { weight: 192 };

/// The sets, each simple one before its grafted twins.
#[rustfmt::skip]
pub const TABLE_3: [PaperSet; 5] = [
    differs("the paper's columns add up to 427", simple("simBinFHE14", (14, SPARSE), &[(32, 1), (28, 1), (26, 2), (32, 7), (29, 2)], &[(33, 1)], 13, 26, 424)),
    differs("the sprout has 61 bits", grafted("graBinFHE14", (14, SPARSE), &[(28, 1), (56, 5)], &[(56, 1)], 7, 426)),
    differs("the sprout has 61 bits", grafted("graBinFHE14Opt", (14, SPARSE), &[(26, 1), (56, 5)], &[(56, 1)], 7, 424)),
    simple("simBinFHE16", (16, SPARSE), &[(32, 1), (32, 1), (30, 28), (32, 7), (32, 2)], &[(58, 7)], 3, 30, 1598),
    differs("62-bit primes have 61 bits", grafted("graBinFHE16", (16, SPARSE_192), &[(34, 1), (61, 18)], &[(61, 5)], 4, 1522)),
];
