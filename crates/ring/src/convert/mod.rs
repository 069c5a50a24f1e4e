//! Base conversion: residues of a number modulo some moduli, from its residues modulo others.
//!
//! For moduli `q_0 .. q_{l-1}` with product `D`, `x = sum_i y_i (D/q_i) mod D` with `y_i = x_i
//! (D/q_i)^{-1} mod q_i` (Chinese remainder theorem). Callers fold the factor `(D/q_i)^{-1}` into
//! the transform that goes before.
//!
//! The sums modulo the targets `p_j` are a matrix product. It is computed in tiles of coefficients,
//! so that inputs stay in the first cache while every target passes over them, and each sum is
//! reduced once, at its end (or once per group of rows, where it would overflow). Which kernel does
//! so is decided for each target by itself, so that bases may mix sizes of moduli.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod portable;
mod power_of_two;
mod shift;
mod source;
mod target;
#[cfg(target_arch = "x86_64")]
mod tile;
#[cfg(target_arch = "x86_64")]
mod wide512;

pub(crate) use shift::centre;

use crate::Kernel;
use source::Source;
use target::{Family, Output, Target};

/// The most moduli that can be converted from.
pub const MAX_INPUTS: usize = 128;

/// Targets that are served in one pass over the inputs.
const BATCH: usize = 32;

/// Converts from the moduli `q_0 .. q_{l-1}` to the moduli `p_0 .. p_{k-1}`.
///
/// Limbs of one call have one length, a multiple of 16: whole polynomials, or the same range of
/// coefficients of each.
#[derive(Debug, Clone)]
pub struct BaseConverter {
    source: Source,
    targets: Vec<Target>,
    kernel: Kernel,
    #[cfg(target_arch = "x86_64")]
    ifma: ifma::Digits,
}

impl BaseConverter {
    /// The moduli of `from` are pairwise coprime, at most [`MAX_INPUTS`]; all are in `[2, 2^61)`.
    /// Neither they nor the targets need be prime; even targets other than powers of two are served
    /// slowly. From no moduli at all (`D = 1`) everything converts to zero.
    ///
    /// # Panics
    /// When `from` is too long, when two of its moduli share a factor, when a modulus is out of
    /// range, or when the CPU lacks the kernel.
    pub fn new(from: &[u64], to: &[u64], kernel: Kernel) -> Self {
        let to: Vec<(u64, u64)> = to.iter().map(|p| (*p, 1)).collect();
        Self::scaled(from, &to, kernel)
    }

    /// A conversion of which each target `(p, c)` takes `c` times the number that
    /// [`BaseConverter::new`] would give it, modulo `p`; `c` is in `[0, p)`. It costs no more (but
    /// for what is converted from a single modulus, which costs nothing to speak of for `c = 1`).
    ///
    /// # Panics
    /// As `new`.
    pub fn scaled(from: &[u64], to: &[(u64, u64)], kernel: Kernel) -> Self {
        assert!(from.len() <= MAX_INPUTS, "cannot convert from {} moduli", from.len());
        assert!(kernel.is_supported(), "this CPU cannot run the kernel {kernel}");
        let source = Source::new(from, kernel);
        #[cfg(target_arch = "x86_64")]
        let ifma = {
            let served =
                |to: &(u64, u64)| Family::choose(&source, *to, kernel) == Family::IfmaNarrow;
            let largest = to.iter().copied().filter(served).map(|(p, _)| p).max();
            ifma::Digits::new(&source, largest.unwrap_or(3))
        };
        let targets = to
            .iter()
            .map(|&to| {
                let (p, c) = to;
                assert!(
                    (2..1 << 61).contains(&p) && c < p,
                    "the target {p}, {c} is not in [2, 2^61)"
                );
                let family = Family::choose(&source, to, kernel);
                match family {
                    Family::Shift => shift::target(p),
                    Family::Portable => portable::target(&source, to),
                    Family::PowerOfTwo => power_of_two::target(&source, to),
                    #[cfg(target_arch = "x86_64")]
                    Family::F64 => avx2::target(&source, to),
                    #[cfg(target_arch = "x86_64")]
                    Family::Wide512 => wide512::target(&source, to),
                    #[cfg(target_arch = "x86_64")]
                    Family::IfmaNarrow | Family::IfmaWide | Family::IfmaPower => {
                        ifma.target(&source, to, family)
                    }
                }
            })
            .collect();
        BaseConverter {
            source,
            targets,
            kernel,
            #[cfg(target_arch = "x86_64")]
            ifma,
        }
    }

    /// How many moduli are converted from, `l`.
    pub fn inputs(&self) -> usize {
        self.source.inputs.len()
    }

    /// How many moduli are converted to, `k`.
    pub fn outputs(&self) -> usize {
        self.targets.len()
    }

    /// The one modulus `q` that is converted from, where target `j` takes no more than an addition:
    /// where `q` is at most twice that target. Residues modulo `q` can then be handed to
    /// [`crate::ntt::NttPlan::forward_lazy_centred`] as they are.
    ///
    /// # Panics
    /// When `j` is not below `k`.
    pub fn centres(&self, j: usize) -> Option<u64> {
        (self.targets[j].family == Family::Shift).then(|| self.source.inputs[0].q)
    }

    /// `(D/q_i)^{-1} mod q_i`: the factor by which limb `i` has to be multiplied before it is
    /// converted.
    pub fn input_factor(&self, i: usize) -> u64 {
        self.source.inputs[i].factor
    }

    /// Multiplies each limb by its [`BaseConverter::input_factor`]: for callers that have not
    /// folded it into a transform.
    ///
    /// # Panics
    /// When the number of limbs is not `l`.
    pub fn scale_inputs(&self, x: &mut [&mut [u64]]) {
        assert_eq!(x.len(), self.inputs(), "one limb per source modulus");
        for (limb, input) in x.iter_mut().zip(&self.source.inputs) {
            input.scale(limb);
        }
    }

    /// The fast conversion. From `y_i` in `[0, q_i)` (already multiplied by the input factors) to
    /// `out_j` in `[0, 2 p_j)`, congruent modulo `p_j` to `x + u D` with `|u| <= l/2`: the sum of
    /// the centred `y_i` times `D/q_i`, without the final reduction modulo `D`. For uniform `x` it
    /// has mean 0 and variance `l D^2 / 12`. Centred means in `[-q_i/2, q_i/2)`.
    ///
    /// # Panics
    /// When there are not `l` inputs and `k` outputs of one length, a multiple of 16.
    pub fn convert(&self, out: &mut [&mut [u64]], y: &[&[u64]]) {
        assert_eq!(out.len(), self.outputs(), "one limb per target modulus");
        self.run(false, out.iter_mut().map(|data| &mut **data).enumerate(), y);
    }

    /// [`BaseConverter::convert`] to some of the targets: of each pair the number `j` of the target
    /// in `to`, and its limb. Limbs that fit in the cache together can so be transformed right
    /// after; groups of 4 are as fast, per target, as all at once.
    ///
    /// # Panics
    /// As `convert`, and when a `j` is not below `k`.
    pub fn convert_into(&self, out: &mut [(usize, &mut [u64])], y: &[&[u64]]) {
        self.run(false, out.iter_mut().map(|(j, data)| (*j, &mut **data)), y);
    }

    /// The exact conversion. From `y_i` in `[0, q_i)` (already multiplied by the input factors) to
    /// `out_j` in `[0, 2 p_j)`, congruent modulo `p_j` to the representative of `x` in `[-D/2,
    /// D/2)`. The quotient by `D` is `sum_i y_i / q_i`, summed in floating point in the order of
    /// the inputs and rounded, the same on every CPU. It is off by one only where `x/D` is within
    /// `l (l + 7) 2^-54` of one half: the result is then the other representative near `D/2`,
    /// larger than it by that fraction of `D` at most. A single modulus is converted without
    /// floating point, always exactly.
    ///
    /// Where the fraction comes from: roundings have a relative error of at most `2^-53`. Each of
    /// the `l` terms, which are below 1, has three: of the residue, of the reciprocal and of their
    /// product. The sum of the first `k` terms is below `k`, and has one more from `k = 2` on. All
    /// together that is `3 l + (2 + .. + l) = (l (l + 7) - 2)/2` times `2^-53`, and products of
    /// errors are far below the 2.
    ///
    /// # Panics
    /// As `convert`.
    pub fn convert_exact(&self, out: &mut [&mut [u64]], y: &[&[u64]]) {
        assert_eq!(out.len(), self.outputs(), "one limb per target modulus");
        self.run(true, out.iter_mut().map(|data| &mut **data).enumerate(), y);
    }

    /// [`BaseConverter::convert_exact`] to some of the targets, as [`BaseConverter::convert_into`].
    ///
    /// # Panics
    /// As `convert_into`.
    pub fn convert_exact_into(&self, out: &mut [(usize, &mut [u64])], y: &[&[u64]]) {
        self.run(true, out.iter_mut().map(|(j, data)| (*j, &mut **data)), y);
    }

    /// Converts to each of `outputs`, in batches.
    fn run<'a>(
        &'a self,
        exact: bool,
        outputs: impl Iterator<Item = (usize, &'a mut [u64])>,
        y: &[&[u64]],
    ) {
        assert_eq!(y.len(), self.inputs(), "one limb per source modulus");
        let Some(n) = y.first().map(|limb| limb.len()) else {
            outputs.for_each(|(_, data)| data.fill(0));
            return;
        };
        assert!(n.is_multiple_of(16), "the length {n} is not a multiple of 16");
        assert!(y.iter().all(|limb| limb.len() == n), "limbs of one length");
        let Some(first) = self.targets.first() else { return };
        // With one input the centred residue is the exact one.
        let exact = exact && self.inputs() > 1;
        let mut outputs = outputs.map(|(j, data)| {
            assert_eq!(data.len(), n, "limbs of one length");
            Output { target: &self.targets[j], data }
        });
        let mut batch: [Output; BATCH] =
            std::array::from_fn(|_| Output { target: first, data: &mut [] });
        loop {
            let count =
                batch.iter_mut().zip(&mut outputs).map(|(slot, output)| *slot = output).count();
            if count == 0 {
                return;
            }
            self.run_batch(exact, &mut batch[..count], y);
        }
    }

    /// Converts to each of `batch`, with the kernel that each wants.
    fn run_batch(&self, exact: bool, batch: &mut [Output], y: &[&[u64]]) {
        batch.sort_unstable_by_key(|output| output.target.family);
        for group in batch.chunk_by_mut(|a, b| a.target.family.goes_with(b.target.family)) {
            match group[0].target.family {
                Family::Shift => shift::run(&self.source, self.kernel, y, group),
                Family::Portable => portable::run(&self.source, exact, y, group),
                Family::PowerOfTwo => power_of_two::run(&self.source, self.kernel, exact, y, group),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the CPU was checked in `new`, the lengths in `run`.
                Family::F64 => unsafe { avx2::run(&self.source, exact, y, group) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Family::Wide512 => unsafe { wide512::run(&self.source, exact, y, group) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Family::IfmaNarrow | Family::IfmaWide | Family::IfmaPower => unsafe {
                    ifma::run(&self.ifma, &self.source, exact, y, group)
                },
            }
        }
    }
}

/// Added to a number in `[0, 2^51)` it leaves the nearest integer (to even) in the low 52 bits of
/// the sum.
const ROUNDING: f64 = (1u64 << 52) as f64;

/// The nearest integer to `x` in `[0, 2^51)`, as the vector kernels round.
fn round(x: f64) -> u64 {
    (x + ROUNDING).to_bits() & ((1 << 52) - 1)
}
