//! The conversion from one modulus `q` to a `p >= q/2`.
//!
//! Centred residues are in `[-p, p)`, so only `p` has to be added.

use super::{
    source::Source,
    target::{Family, Output, Target},
};
use crate::Kernel;

/// Returns the constants of the target `p`.
pub(super) fn target(p: u64) -> Target {
    Target {
        family: Family::Shift,
        p,
        digits: [0; 2],
        inverse: 0,
        weights: Vec::new(),
        start: [0; 3],
        groups: Vec::new(),
        corrections: 0,
    }
}

/// Converts to targets of [`Family::Shift`].
pub(super) fn run(source: &Source, kernel: Kernel, y: &[&[u64]], outputs: &mut [Output]) {
    for output in outputs {
        centre(kernel, source.inputs[0].q, output.target.p, y[0], output.data);
    }
}

/// Sets `out = [y] + p` in `[0, 2p)`, where `[y]` is the centred residue of `y` in `[0, q)` modulo
/// `q <= 2p`.
///
/// The CPU must support the kernel.
///
/// # Panics
/// If `q` is larger than `2p`.
pub(crate) fn centre(kernel: Kernel, q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    assert!(q <= 2 * p, "centred residues modulo {q} are not in [-{p}, {p})");
    match kernel {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the plan that uses the kernel has checked the CPU.
        Kernel::Avx512 | Kernel::Avx512Ifma => unsafe { shift_512(q, p, y, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the same as above.
        Kernel::Avx2 => unsafe { shift_256(q, p, y, out) },
        _ => shift(q, p, y, out),
    }
}

/// Sets `out = [y] + p` with `[y] = (y + floor(q/2) mod q) - floor(q/2)`.
#[inline(always)]
fn shift(q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    let half = q / 2;
    for (out, y) in out.iter_mut().zip(y) {
        let shifted = y + half;
        *out = shifted.min(shifted.wrapping_sub(q)) + (p - half);
    }
}

/// Calls [`shift`], compiled for vectors of 512 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
fn shift_512(q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    shift(q, p, y, out);
}

/// Calls [`shift`], compiled for vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn shift_256(q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    shift(q, p, y, out);
}
