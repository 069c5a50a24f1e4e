//! The conversion from one modulus `q` to a `p >= q/2`: centred residues are in `[-p, p)`, so
//! adding `p` is all there is to do.

use super::{
    source::Source,
    target::{Family, Output, Target},
};
use crate::Kernel;

/// The constants for the target `p`.
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

/// `out = [y] + p` in `[0, 2p)`, with `[y]` the centred residue modulo `q <= 2p` of `y` in `[0,
/// q)`. The CPU has the kernel.
///
/// # Panics
/// When `q` is larger than `2p`.
pub(crate) fn centre(kernel: Kernel, q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    assert!(q <= 2 * p, "centred residues modulo {q} are not in [-{p}, {p})");
    match kernel {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the plan that has the kernel has checked the CPU.
        Kernel::Avx512 | Kernel::Avx512Ifma => unsafe { shift_512(q, p, y, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kernel::Avx2 => unsafe { shift_256(q, p, y, out) },
        _ => shift(q, p, y, out),
    }
}

/// `out = [y] + p` with `[y] = (y + floor(q/2) mod q) - floor(q/2)`.
#[inline(always)]
fn shift(q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    let half = q / 2;
    for (out, y) in out.iter_mut().zip(y) {
        let shifted = y + half;
        *out = shifted.min(shifted.wrapping_sub(q)) + (p - half);
    }
}

/// [`shift`], compiled for vectors of 512 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
fn shift_512(q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    shift(q, p, y, out);
}

/// [`shift`], compiled for vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn shift_256(q: u64, p: u64, y: &[u64], out: &mut [u64]) {
    shift(q, p, y, out);
}
