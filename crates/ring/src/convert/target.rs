//! One modulus that is converted to: which kernel serves it and the constants it needs.

use super::source::Source;
use crate::Kernel;

/// What computes a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// One addition: a single source modulus `q <= 2p`, whose centred residues are already in `[-p,
    /// p)`.
    Shift,
    /// Sums modulo 2^64 ([`super::power_of_two`]); `p` a power of two.
    PowerOfTwo,
    /// 128-bit sums, by plain Rust ([`super::portable`]).
    Portable,
    /// Exact sums of doubles, by AVX2 ([`super::avx2`]); `p` odd, below 2^50.
    #[cfg(target_arch = "x86_64")]
    F64,
    /// Sums of 30-bit digits, by AVX-512 ([`super::wide512`]); `p` odd.
    #[cfg(target_arch = "x86_64")]
    Wide512,
    /// Sums of 52-bit digits, by AVX-512 IFMA ([`super::ifma`]); `p` odd, below 2^50.
    #[cfg(target_arch = "x86_64")]
    IfmaNarrow,
    /// The same for any odd `p`, when all inputs are below 2^52 and together below 6 2^52, so that
    /// unreduced sums stay below 8p.
    #[cfg(target_arch = "x86_64")]
    IfmaWide,
    /// The same for powers of two up to 2^52.
    #[cfg(target_arch = "x86_64")]
    IfmaPower,
}

impl Family {
    /// Whether outputs of this family and of `other` are computed in one pass over the inputs.
    pub fn goes_with(self, other: Family) -> bool {
        #[cfg(target_arch = "x86_64")]
        let ifma =
            |family| matches!(family, Family::IfmaNarrow | Family::IfmaWide | Family::IfmaPower);
        #[cfg(not(target_arch = "x86_64"))]
        let ifma = |_| false;
        self == other || ifma(self) && ifma(other)
    }

    /// The fastest that `kernel` allows for converting `source` to `p`, times `c`.
    pub fn choose(source: &Source, (p, c): (u64, u64), kernel: Kernel) -> Self {
        match (source.inputs.as_slice(), kernel) {
            #[cfg(target_arch = "x86_64")]
            (inputs, Kernel::Avx512Ifma)
                if p.is_power_of_two() && p <= 1 << 52 && (c > 1 || inputs.len() > 1) =>
            {
                Family::IfmaPower
            }
            _ if p.is_power_of_two() => Family::PowerOfTwo,
            ([one], _) if c == 1 && one.q <= 2 * p => Family::Shift,
            #[cfg(target_arch = "x86_64")]
            (_, Kernel::Avx2) if p % 2 == 1 && p < 1 << 50 => Family::F64,
            #[cfg(target_arch = "x86_64")]
            (_, Kernel::Avx512Ifma) if p % 2 == 1 && p < 1 << 50 => Family::IfmaNarrow,
            #[cfg(target_arch = "x86_64")]
            (inputs, Kernel::Avx512Ifma)
                if p % 2 == 1
                    && inputs.iter().all(|input| input.q <= 1 << 52)
                    && inputs.iter().map(|input| input.q).sum::<u64>() <= 6 << 52 =>
            {
                Family::IfmaWide
            }
            #[cfg(target_arch = "x86_64")]
            (_, Kernel::Avx512 | Kernel::Avx512Ifma) if p % 2 == 1 => Family::Wide512,
            _ => Family::Portable,
        }
    }
}

/// The constants of one target. All kernels compute a sum of rows (digits of the inputs, and the
/// quotient by `D` in the exact conversion) times weights, then reduce it; they differ in the
/// digits and in the Montgomery radix `R`.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub family: Family,
    /// The modulus.
    pub p: u64,
    /// The digits of the modulus, where a kernel needs them (the lowest may have bits above it).
    pub digits: [u64; 2],
    /// `p^{-1} mod R`.
    pub inverse: u64,
    /// What each row is multiplied by, times `R mod p`; first the row of the quotient, whose weight
    /// is `-D`.
    pub weights: Vec<u64>,
    /// What the sums start at.
    pub start: [u64; 3],
    /// Where groups of rows end: each group is summed without overflow and then reduced.
    pub groups: Vec<usize>,
    /// How often a reduced sum has to be corrected: it is below `2^(corrections + 1) p`.
    pub corrections: u32,
}

/// One target and where its residues go.
pub(super) struct Output<'a> {
    pub target: &'a Target,
    pub data: &'a mut [u64],
}

/// The number of corrections for a reduced sum below `bound / unit` times `p`.
pub(super) fn corrections(bound: u128, unit: u128) -> u32 {
    (0..).find(|c| bound <= unit << (c + 1)).unwrap_or(0)
}
