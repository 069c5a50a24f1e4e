//! Estimates of the memory for loading files, from the fields before the residues.
//!
//! `python/tests/test_peak_memory.py` compares them with the memory of processes.

use hippocrene_ring::Kernel;
use hippocrene_rlwe::{Modulus, Parameters};

/// The largest number of residue rings that emulate the power of two of a sprout.
const RINGS_OF_TWO: u64 = 3;

/// Bytes of an encoder's tables for each coefficient.
const ENCODER_BYTES: u64 = 32;

/// Additional bytes for the first keys of a process: code that is read for the first time, lists
/// and threads.
///
/// Measured: 4 to 4.5 MiB.
const FIRST_KEYS_BYTES: u64 = 5 << 20;

/// Additional bytes for an array. Measured: below 1 MiB.
pub(super) const ARRAY_BYTES: u64 = 1 << 20;

/// Additional bytes of a polynomial, because memory is allocated in pages.
const PAGE_BYTES: u64 = 4096;

/// Bytes of a residue ring's tables for each coefficient, with the kernel of this machine.
///
/// Tables for IFMA hold the roots of an eighth of the nodes, and scales of blocks. Tables for the
/// portable kernel hold every root and its quotient, for the forward and the backward transform.
fn ring_table_bytes() -> u64 {
    match Kernel::detect() {
        Ok(Kernel::Avx512Ifma) => 14,
        _ => 34,
    }
}

/// Bytes of a session's tables for these parameters.
pub(super) fn of_tables(parameters: &Parameters) -> u64 {
    let sprout = &parameters.literal().sprout;
    let words = parameters.full().words().limb_count() as u64;
    let odd = (1 << sprout.primes.len()) - 1;
    let two = if sprout.two > 0 { RINGS_OF_TWO } else { 0 };
    let rings = ring_table_bytes() * (words + odd + two);
    (rings + ENCODER_BYTES) * parameters.degree() as u64
}

/// Bytes of the first session of a process, for these parameters.
pub(super) fn of_session(parameters: &Parameters) -> u64 {
    of_tables(parameters) + FIRST_KEYS_BYTES
}

/// Bytes of a polynomial.
pub(super) fn of_poly(degree: usize, modulus: Modulus) -> u64 {
    (size_of::<u64>() * degree * modulus.limb_count()) as u64 + PAGE_BYTES
}

/// Bytes of a switching key. One half of it is a seed.
pub(super) fn of_switching_key(parameters: &Parameters, modulus: Modulus) -> u64 {
    parameters.digits(modulus).count() as u64 * of_poly(parameters.degree(), modulus)
}

/// Bytes of residues as words, if they take `packed` bytes when packed to `bits` bits each.
pub(super) fn unpacked(packed: u64, bits: u32) -> u64 {
    packed.saturating_mul(u64::BITS.into()).div_ceil(bits.max(1).into())
}
