//! Our parameter sets, with words of 48 bits and a sprout.
//!
//! Each has 128 bits of security. The limit is that of Table 5.2 of ePrint 2024/463 for its ring
//! degree. For a sparse secret (Hamming weight 192, names that end in `s`) it is that of
//! [`hippocrene_rlwe::security::limit_at`].
//!
//! There are several ways to divide `log2(PQ)` between `Q` and `P`. We chose the one beyond which a
//! few more usable bits would cost much more time (`hippocrene_rlwe::design`). The usable bits
//! equal those of the simple chains or are a few less. The number of transforms in a key switch is
//! 0.73 to 0.9 times theirs, and equal at `2^13`. `P` exceeds every digit by about 3 bits or more,
//! so that rotations add no more noise than rounding does. The exception is `N = 2^13`, which has
//! no bit to spare.

use hippocrene_rlwe::SecretDistribution;

use super::{Family, Preset};

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 192 };

const fn set(
    name: &'static str,
    log_degree: u32,
    sprout: &'static str,
    units: &'static [(u32, usize)],
    specials: &'static [(u32, usize)],
    gadget_rank: usize,
) -> Preset {
    Preset {
        name,
        family: Family::Grafted,
        log_degree,
        secret: SecretDistribution::Ternary,
        sprout: Some(sprout),
        units,
        specials,
        gadget_rank,
        fresh_two: log_degree <= 13,
        scale_bits: None,
    }
}

const fn sparse(set: Preset) -> Preset {
    Preset { secret: SPARSE, ..set }
}

/// The sets, by ring degree.
///
/// The reasons for some sizes:
/// - `n12`: two words of 48 bits do not fit into 106 bits, so its word has 34 bits.
/// - `n13`: its units have 39 and 40 bits. The sprout is a digit of its own, so that one 48-bit
///   special is enough.
/// - `n16`, `n17` and the sparse sets: their units have 46 to 48 bits (42 in the first block of
///   `n15s`), so that the block with the sprout and those without fill `P` alike.
#[rustfmt::skip]
pub(super) const SETS: [Preset; 9] = [
    set("n12", 12, "sprout-17-16", &[(34, 1)], &[(38, 1)], 2),
    set("n13", 13, "sprout-15-16-17", &[(39, 2), (40, 1)], &[(48, 1)], 4),
    set("n14", 14, "sprout-15-16-32", &[(45, 1), (46, 1), (45, 1), (46, 1), (45, 1), (46, 1)], &[(47, 2)], 4),
    set("n15", 15, "sprout-15-16-32", &[(48, 2), (47, 11)], &[(48, 4)], 4),
    set("n16", 16, "sprout-19-21-23", &[(47, 9), (48, 20)], &[(43, 7)], 5),
    set("n17", 17, "sprout-19-20-24", &[(46, 6), (47, 5), (48, 9), (47, 3), (48, 9), (47, 3), (48, 9), (47, 3), (48, 9), (47, 3)], &[(48, 12)], 5),
    sparse(set("n15s", 15, "sprout-15-16-32", &[(42, 3), (47, 8)], &[(48, 4)], 3)),
    sparse(set("n16s", 16, "sprout-19-21-23", &[(48, 5), (47, 3), (48, 4), (47, 3), (48, 9)], &[(48, 7)], 4)),
    sparse(set("n17s", 17, "sprout-19-20-24", &[(48, 11), (47, 3), (48, 10), (47, 3), (48, 10), (47, 3), (48, 10)], &[(48, 13)], 4)),
];
