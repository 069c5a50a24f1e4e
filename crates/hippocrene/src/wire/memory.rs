//! How much memory loading takes, computed from what stands before the residues.
//!
//! `python/tests/test_peak_memory.py` compares it with what processes take.

use hippocrene_ring::Kernel;
use hippocrene_rlwe::{Modulus, Parameters};

/// Residue rings that powers of two of a sprout are emulated in, at most.
const RINGS_OF_TWO: u64 = 3;

/// Bytes of the tables of encoders for each coefficient.
const ENCODER_BYTES: u64 = 32;

/// Bytes that the first keys of a process take besides: code that is read for the first time,
/// lists, threads. Measured: 4 to 4.5 MiB.
const FIRST_KEYS_BYTES: u64 = 5 << 20;

/// Bytes that an array takes besides. Measured: below 1 MiB.
pub(super) const ARRAY_BYTES: u64 = 1 << 20;

/// Bytes of a polynomial besides its residues: memory comes in pages.
const PAGE_BYTES: u64 = 4096;

/// Bytes of the tables of a residue ring for each coefficient, with the kernel of this machine.
///
/// Tables of IFMA have roots of an eighth of the nodes, and scales of blocks; those of the portable
/// kernel have every root with its quotient, forwards and backwards.
fn ring_table_bytes() -> u64 {
    match Kernel::detect() {
        Ok(Kernel::Avx512Ifma) => 14,
        _ => 34,
    }
}

/// Bytes of the tables that a session has for parameters.
pub(super) fn of_tables(parameters: &Parameters) -> u64 {
    let sprout = &parameters.literal().sprout;
    let words = parameters.full().words().limb_count() as u64;
    let odd = (1 << sprout.primes.len()) - 1;
    let two = if sprout.two > 0 { RINGS_OF_TWO } else { 0 };
    let rings = ring_table_bytes() * (words + odd + two);
    (rings + ENCODER_BYTES) * parameters.degree() as u64
}

/// Bytes of a session for parameters, which is the first one of a process.
pub(super) fn of_session(parameters: &Parameters) -> u64 {
    of_tables(parameters) + FIRST_KEYS_BYTES
}

/// Bytes of a polynomial.
pub(super) fn of_poly(degree: usize, modulus: Modulus) -> u64 {
    (size_of::<u64>() * degree * modulus.limb_count()) as u64 + PAGE_BYTES
}

/// Bytes of a switching key, of which one half is a seed.
pub(super) fn of_switching_key(parameters: &Parameters, modulus: Modulus) -> u64 {
    parameters.digits(modulus).count() as u64 * of_poly(parameters.degree(), modulus)
}

/// Bytes of what is packed in `packed` bytes with so many bits for each residue, in words.
pub(super) fn unpacked(packed: u64, bits: u32) -> u64 {
    packed.saturating_mul(u64::BITS.into()).div_ceil(bits.max(1).into())
}
