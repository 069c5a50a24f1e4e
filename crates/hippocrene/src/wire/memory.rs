//! How much memory loading takes, computed from what stands before the residues.

use hippocrene_rlwe::{Modulus, Parameters};

/// Bytes of the tables of a residue ring for each coefficient. Measured: 32 to 36 with the kernels
/// of `HIPPOCRENE_KERNEL` on x86 (`test_peak_memory.py` compares the sum with what a process takes).
const RING_TABLE_BYTES: u64 = 36;

/// Residue rings that powers of two of a sprout are emulated in, at most.
const RINGS_OF_TWO: u64 = 3;

/// Bytes of the tables of encoders for each coefficient.
const ENCODER_BYTES: u64 = 160;

/// Bytes of what is loaded besides residues and tables: settings, lists, threads.
const SMALL_BYTES: u64 = 1 << 20;

/// Bytes of the tables that a session has for parameters.
pub(super) fn of_tables(parameters: &Parameters) -> u64 {
    let sprout = &parameters.literal().sprout;
    let words = parameters.full().words().limb_count() as u64;
    let odd = (1 << sprout.primes.len()) - 1;
    let two = if sprout.two > 0 { RINGS_OF_TWO } else { 0 };
    let rings = RING_TABLE_BYTES * (words + odd + two);
    (rings + ENCODER_BYTES) * parameters.degree() as u64 + SMALL_BYTES
}

/// Bytes of a polynomial.
pub(super) fn of_poly(degree: usize, modulus: Modulus) -> u64 {
    (size_of::<u64>() * degree * modulus.limb_count()) as u64
}

/// Bytes of a switching key, of which one half is a seed.
pub(super) fn of_switching_key(parameters: &Parameters, modulus: Modulus) -> u64 {
    parameters.digits(modulus).count() as u64 * of_poly(parameters.degree(), modulus)
}

/// Bytes of what is packed in `packed` bytes with so many bits for each residue, in words.
pub(super) fn unpacked(packed: u64, bits: u32) -> u64 {
    (packed.saturating_mul(u64::BITS.into())).div_ceil(bits.max(1).into())
}
