//! Simple chains at the ring degrees of our grafted sets.
//!
//! Each has a base prime and one prime near the scale `2^40` for each multiplication in a row.

use hippocrene_rlwe::SecretDistribution;

use super::{Family, Preset};

const fn set(
    name: &'static str,
    log_degree: u32,
    units: &'static [(u32, usize)],
    specials: &'static [(u32, usize)],
    gadget_rank: usize,
) -> Preset {
    Preset {
        name,
        family: Family::Simple,
        log_degree,
        secret: SecretDistribution::Ternary,
        sprout: None,
        units,
        specials,
        gadget_rank,
        fresh_two: false,
        scale_bits: Some(40),
    }
}

/// The sets, by ring degree.
pub(super) const SETS: [Preset; 4] = [
    set("simple-n13", 13, &[(46, 1), (40, 3)], &[(47, 1)], 4),
    set("simple-n14", 14, &[(48, 1), (40, 7)], &[(48, 2)], 4),
    set("simple-n15", 15, &[(48, 1), (40, 16)], &[(44, 4)], 5),
    set("simple-n16", 16, &[(48, 1), (40, 35)], &[(48, 6)], 6),
];
