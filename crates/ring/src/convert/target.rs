//! One modulus that is converted to, with its kernel and constants.

use super::source::Source;
use crate::Kernel;

/// The kernel that converts to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// One addition, for a single source modulus `q <= 2p`, whose centred residues are already in
    /// `[-p, p)`.
    Shift,
    /// Sums modulo 2^64 ([`super::power_of_two`]), for `p` a power of two.
    PowerOfTwo,
    /// 128-bit sums in plain Rust ([`super::portable`]).
    Portable,
    /// Exact sums of doubles with AVX2 ([`super::avx2`]), for odd `p` below 2^50.
    #[cfg(target_arch = "x86_64")]
    F64,
    /// Sums of 30-bit digits with AVX-512 ([`super::wide512`]), for odd `p`.
    #[cfg(target_arch = "x86_64")]
    Wide512,
    /// Sums of 52-bit digits with AVX-512 IFMA ([`super::ifma`]), for odd `p` below 2^50.
    #[cfg(target_arch = "x86_64")]
    IfmaNarrow,
    /// The same for any odd `p`, if all inputs are at most 2^52 and their sum is at most 6 2^52.
    /// Unreduced sums then stay below 8p.
    #[cfg(target_arch = "x86_64")]
    IfmaWide,
    /// The same for powers of two up to 2^52.
    #[cfg(target_arch = "x86_64")]
    IfmaPower,
}

impl Family {
    /// Returns true if outputs of this family and of `other` are computed in one pass over the
    /// inputs.
    pub fn shares_pass_with(self, other: Family) -> bool {
        #[cfg(target_arch = "x86_64")]
        let ifma =
            |family| matches!(family, Family::IfmaNarrow | Family::IfmaWide | Family::IfmaPower);
        #[cfg(not(target_arch = "x86_64"))]
        let ifma = |_| false;
        self == other || ifma(self) && ifma(other)
    }

    /// Returns the fastest family that `kernel` supports for converting `source` to `p`, times `c`.
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

/// The constants of one target.
///
/// All kernels compute a sum of rows times weights, and then reduce it. The rows are digits of the
/// inputs, and the quotient by `D` in the exact conversion. Kernels differ in the digits and in the
/// Montgomery radix `R`.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub family: Family,
    /// The modulus.
    pub p: u64,
    /// The digits of the modulus, if a kernel needs them. The lowest may have bits above it.
    pub digits: [u64; 2],
    /// `p^{-1} mod R`.
    pub inverse: u64,
    /// The weights of the rows, times `R mod p`. The first is that of the quotient, `-D`.
    pub weights: Vec<u64>,
    /// The initial values of the sums.
    pub start: [u64; 3],
    /// The ends of groups of rows. Each group is summed without overflow and then reduced.
    pub groups: Vec<usize>,
    /// The number of corrections that a reduced sum needs. It is below `2^(corrections + 1) p`.
    pub corrections: u32,
}

/// One target and the memory for its residues.
pub(super) struct Output<'a> {
    pub target: &'a Target,
    pub data: &'a mut [u64],
}

/// Returns the number of corrections for a reduced sum below `bound / unit` times `p`.
pub(super) fn corrections(bound: u128, unit: u128) -> u32 {
    (0..).find(|c| bound <= unit << (c + 1)).unwrap_or(0)
}
