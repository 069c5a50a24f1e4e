//! The parameter sets of GRAFT's Table 2, with the paper's word sizes.
//!
//! The table gives sizes of factors and their number, as `51 x 6`. It is read as follows.
//! - The column `#` counts the factors of `PQ`. For the grafted sets the sprout is one of them: the
//!   factor nearest to it in size (`sprout-15-16-30` has 61.0 bits, `sprout-19-20-23` has 62.2).
//!   The other factors of `Q` share the rest of `log2 Q`, so that `Q` is the paper's. (The paper's
//!   sprouts cannot have 51 bits: the text names these two sprouts, and its expected times count
//!   5 + 2 limbs for `graSHE14`.)
//! - The factors of a simple set, from the base up, are in the order of the columns: base, slots to
//!   coefficients, multiplications, modular reduction, coefficients to slots.
//! - Our moduli are below `2^61`, so 62-bit primes become 61-bit ones.
//! - `graFHE15s` contains a `4*` that the paper does not explain and does not count as a factor. It
//!   is left out.
//!
//! Four of the six sets with a sparse secret (Hamming weight 192) exceed our limits for sparse
//! secrets ([`hippocrene_rlwe::security::limit_at`]) by 2 to 9 bits. The paper states 128 bits or
//! more for all.

use hippocrene::{Family, Preset};
use hippocrene_rlwe::SecretDistribution;

use super::PaperSet;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 192 };
const TERNARY: SecretDistribution = SecretDistribution::Ternary;

pub(super) const fn simple(
    name: &'static str,
    (log_degree, secret): (u32, SecretDistribution),
    units: &'static [(u32, usize)],
    specials: &'static [(u32, usize)],
    gadget_rank: usize,
    scale_bits: u32,
    log2_pq: u32,
) -> PaperSet {
    let preset = Preset {
        name,
        family: Family::Simple,
        log_degree,
        secret,
        sprout: None,
        units,
        specials,
        gadget_rank,
        fresh_two: false,
        scale_bits: Some(scale_bits),
    };
    PaperSet { preset, log2_pq, security: 128, differs: "" }
}

pub(super) const fn grafted(
    name: &'static str,
    (log_degree, secret): (u32, SecretDistribution),
    units: &'static [(u32, usize)],
    specials: &'static [(u32, usize)],
    gadget_rank: usize,
    log2_pq: u32,
) -> PaperSet {
    let sprout = if log_degree == 16 { "sprout-19-20-23" } else { "sprout-15-16-30" };
    let preset = Preset {
        name,
        family: Family::Grafted,
        log_degree,
        secret,
        sprout: Some(sprout),
        units,
        specials,
        gadget_rank,
        fresh_two: true,
        scale_bits: None,
    };
    PaperSet { preset, log2_pq, security: 128, differs: "" }
}

pub(super) const fn differs(differs: &'static str, set: PaperSet) -> PaperSet {
    PaperSet { differs, ..set }
}

/// The sets, each simple one before its grafted twin.
#[rustfmt::skip]
pub const TABLE_2: [PaperSet; 12] = [
    simple("simSHE14", (14, TERNARY), &[(40, 1), (38, 7)], &[(60, 2)], 4, 38, 427),
    grafted("graSHE14", (14, TERNARY), &[(49, 5)], &[(60, 2)], 3, 427),
    PaperSet { security: 192, ..simple("simSHE15", (15, TERNARY), &[(43, 1), (41, 9)], &[(60, 3)], 4, 41, 592) },
    PaperSet { security: 192, ..grafted("graSHE15", (15, TERNARY), &[(58, 3), (59, 3)], &[(60, 3)], 3, 592) },
    simple("simSHE15s", (15, SPARSE), &[(52, 1), (53, 1), (45, 10)], &[(60, 2)], 6, 90, 675),
    differs("eight 62-bit primes have 61 bits", grafted("graSHE15s", (15, SPARSE), &[(61, 8)], &[(61, 2)], 5, 679)),
    simple("simFHE15s", (15, SPARSE), &[(38, 1), (32, 1), (28, 7), (38, 8), (41, 3)], &[(42, 2)], 10, 28, 777),
    differs("six 62-bit primes have 61 bits; without the 4*", grafted("graFHE15s", (15, SPARSE), &[(38, 1), (61, 9)], &[(61, 2)], 6, 780)),
    simple("simFHE16", (16, TERNARY), &[(45, 1), (30, 3), (35, 10), (60, 12), (56, 4)], &[(61, 5)], 6, 35, 1734),
    grafted("graFHE16", (16, TERNARY), &[(59, 13), (60, 10)], &[(61, 5)], 5, 1734),
    simple("simFHE16s", (16, SPARSE), &[(58, 1), (42, 12), (58, 12)], &[(59, 3), (60, 2)], 5, 42, 1555),
    grafted("graFHE16s", (16, SPARSE), &[(36, 1), (58, 20)], &[(59, 3), (60, 2)], 5, 1555),
];
