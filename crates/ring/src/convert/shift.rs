//! The conversion from one modulus `q` to a `p >= q/2`: centred residues are in `[-p, p)`, so adding `p` is all there is to do.

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
        let (q, half) = (source.inputs[0].q, source.inputs[0].half);
        match kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `BaseConverter::new` has checked the CPU.
            Kernel::Avx512 | Kernel::Avx512Ifma => unsafe {
                shift_512(q, half, output.target.p, y[0], output.data)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::Avx2 => unsafe { shift_256(q, half, output.target.p, y[0], output.data) },
            _ => shift(q, half, output.target.p, y[0], output.data),
        }
    }
}

/// `out = [y] + p` with `[y] = (y + floor(q/2) mod q) - floor(q/2)`.
#[inline(always)]
fn shift(q: u64, half: u64, p: u64, y: &[u64], out: &mut [u64]) {
    for (out, y) in out.iter_mut().zip(y) {
        let shifted = y + half;
        *out = shifted.min(shifted.wrapping_sub(q)) + (p - half);
    }
}

/// [`shift`], compiled for vectors of 512 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
fn shift_512(q: u64, half: u64, p: u64, y: &[u64], out: &mut [u64]) {
    shift(q, half, p, y, out);
}

/// [`shift`], compiled for vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn shift_256(q: u64, half: u64, p: u64, y: &[u64], out: &mut [u64]) {
    shift(q, half, p, y, out);
}
