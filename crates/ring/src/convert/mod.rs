//! Base conversion: computes the residues of a number modulo some moduli from its residues modulo
//! others.
//!
//! For moduli `q_0 .. q_{l-1}` with product `D`, the Chinese remainder theorem gives
//! `x = sum_i y_i (D/q_i) mod D` with `y_i = x_i (D/q_i)^{-1} mod q_i`. Callers fold the factor
//! `(D/q_i)^{-1}` into the preceding transform.
//!
//! The sums modulo the targets `p_j` are a matrix product. It is computed in tiles of coefficients,
//! so that the inputs stay in the first-level cache for all targets. Each sum is reduced once at
//! its end, or once per group of rows if it would overflow. The kernel is chosen for each target
//! separately, so that bases may mix sizes of moduli.

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

/// The maximum number of moduli that can be converted from.
pub const MAX_INPUTS: usize = 128;

/// The maximum number of targets that are computed in one pass over the inputs.
const MAX_OUTPUTS_PER_PASS: usize = 32;

/// Converts from the moduli `q_0 .. q_{l-1}` to the moduli `p_0 .. p_{k-1}`.
///
/// All limbs of a call have the same length, a multiple of 16. They are whole polynomials, or the
/// same range of coefficients of each.
///
/// ```
/// use hippocrene_ring::{Kernel, convert::BaseConverter};
///
/// let converter = BaseConverter::new(&[97, 101], &[89], Kernel::Portable);
/// // The number is 5000 in every position.
/// let mut inputs = [vec![5000 % 97; 16], vec![5000 % 101; 16]];
/// let [x0, x1] = &mut inputs;
/// converter.scale_inputs(&mut [x0, x1]);
/// let mut out = vec![0; 16];
/// converter.convert_exact(&mut [&mut out], &[&inputs[0], &inputs[1]]);
/// // The representative of 5000 in [-97 * 101 / 2, 97 * 101 / 2) is 5000 - 97 * 101.
/// assert_eq!(out[0] % 89, (5000 - 97 * 101_i64).rem_euclid(89) as u64);
/// ```
#[derive(Debug, Clone)]
pub struct BaseConverter {
    source: Source,
    targets: Vec<Target>,
    kernel: Kernel,
    #[cfg(target_arch = "x86_64")]
    ifma: ifma::Digits,
}

impl BaseConverter {
    /// Makes the conversion between these moduli, all in `[2, 2^61)`.
    ///
    /// The moduli of `from` are pairwise coprime and at most [`MAX_INPUTS`]. No modulus need be
    /// prime. Conversion to even targets other than powers of two is slow. An empty `from`
    /// (`D = 1`) converts everything to zero.
    ///
    /// # Panics
    /// If `from` is too long, two of its moduli have a common factor, a modulus is out of range, or
    /// the CPU lacks the kernel.
    pub fn new(from: &[u64], to: &[u64], kernel: Kernel) -> Self {
        let to: Vec<(u64, u64)> = to.iter().map(|p| (*p, 1)).collect();
        Self::scaled(from, &to, kernel)
    }

    /// Makes a conversion that multiplies the result of each target `(p, c)` by `c` in `[0, p)`,
    /// modulo `p`.
    ///
    /// It costs as much as [`BaseConverter::new`]. The exception is a conversion from a single
    /// modulus, which is almost free only for `c = 1`.
    ///
    /// # Panics
    /// The same as `new`.
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
                    "the target {p} is not in [2, 2^61), or its factor {c} is not below it"
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

    /// Returns the number `l` of moduli that are converted from.
    pub fn inputs(&self) -> usize {
        self.source.inputs.len()
    }

    /// Returns the number `k` of moduli that are converted to.
    pub fn outputs(&self) -> usize {
        self.targets.len()
    }

    /// Returns the single modulus `q` that is converted from, if the conversion to target `j` is
    /// only an addition. This requires that `q` is at most twice the target.
    ///
    /// Residues modulo `q` can then go to [`crate::ntt::NttPlan::forward_lazy_centred`] unchanged.
    ///
    /// # Panics
    /// If `j` is not below `k`.
    pub fn centres(&self, j: usize) -> Option<u64> {
        (self.targets[j].family == Family::Shift).then(|| self.source.inputs[0].q)
    }

    /// Returns `(D/q_i)^{-1} mod q_i`, by which limb `i` must be multiplied before the conversion.
    pub fn input_factor(&self, i: usize) -> u64 {
        self.source.inputs[i].factor
    }

    /// Multiplies each limb by its [`BaseConverter::input_factor`].
    ///
    /// Callers that have folded the factors into a transform do not need it.
    ///
    /// # Panics
    /// If the number of limbs is not `l`.
    pub fn scale_inputs(&self, x: &mut [&mut [u64]]) {
        assert_eq!(x.len(), self.inputs(), "there must be one limb for each source modulus");
        for (limb, input) in x.iter_mut().zip(&self.source.inputs) {
            input.scale(limb);
        }
    }

    /// Computes the fast conversion, from `y_i` in `[0, q_i)` to `out_j` in `[0, 2 p_j)`.
    ///
    /// The `y_i` have already been multiplied by the input factors. `out_j` is congruent modulo
    /// `p_j` to `x + u D` with `|u| <= l/2`. This is the sum of the centred `y_i` times `D/q_i`,
    /// without the final reduction modulo `D`. For uniform `x`, it has mean 0 and variance
    /// `l D^2 / 12`. Centred means in `[-q_i/2, q_i/2)`.
    ///
    /// # Panics
    /// If there are not `l` inputs and `k` outputs of the same length, a multiple of 16.
    pub fn convert(&self, out: &mut [&mut [u64]], y: &[&[u64]]) {
        assert_eq!(out.len(), self.outputs(), "there must be one limb for each target modulus");
        self.run(false, out.iter_mut().map(|data| &mut **data).enumerate(), y);
    }

    /// Computes [`BaseConverter::convert`] to some of the targets.
    ///
    /// Each pair has the index `j` of the target and its limb. Limbs that fit in the cache together
    /// can then be transformed immediately. Groups of 4 targets are as fast per target as all at
    /// once.
    ///
    /// # Panics
    /// The same as `convert`. Also if a `j` is not below `k`.
    pub fn convert_into(&self, out: &mut [(usize, &mut [u64])], y: &[&[u64]]) {
        self.run(false, out.iter_mut().map(|(j, data)| (*j, &mut **data)), y);
    }

    /// Computes the exact conversion, from `y_i` in `[0, q_i)` to `out_j` in `[0, 2 p_j)`.
    ///
    /// The `y_i` have already been multiplied by the input factors. `out_j` is congruent modulo
    /// `p_j` to the representative of `x` in `[-D/2, D/2)`. The quotient by `D` is
    /// `sum_i y_i / q_i`, summed in floating point in the order of the inputs and rounded, the same
    /// on every CPU. It is wrong by one only if `x/D` is within `l (l + 7) 2^-54` of one half. The
    /// result is then the other representative near `D/2`, which exceeds `D/2` by at most that
    /// fraction of `D`. A single modulus is converted without floating point, always exactly.
    ///
    /// The fraction is derived as follows. Roundings have a relative error of at most `2^-53`. Each
    /// of the `l` terms, which are below 1, has three roundings: of the residue, of the reciprocal
    /// and of their product. The sum of the first `k` terms is below `k`, and has one more rounding
    /// from `k = 2` on. The total is `3 l + (2 + .. + l) = (l (l + 7) - 2)/2` times `2^-53`, and
    /// products of errors are far below the term 2.
    ///
    /// # Panics
    /// The same as `convert`.
    pub fn convert_exact(&self, out: &mut [&mut [u64]], y: &[&[u64]]) {
        assert_eq!(out.len(), self.outputs(), "there must be one limb for each target modulus");
        self.run(true, out.iter_mut().map(|data| &mut **data).enumerate(), y);
    }

    /// Computes [`BaseConverter::convert_exact`] to some of the targets. See
    /// [`BaseConverter::convert_into`].
    ///
    /// # Panics
    /// The same as `convert_into`.
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
        assert_eq!(y.len(), self.inputs(), "there must be one limb for each source modulus");
        let Some(n) = y.first().map(|limb| limb.len()) else {
            outputs.for_each(|(_, data)| data.fill(0));
            return;
        };
        assert!(n.is_multiple_of(16), "the length {n} is not a multiple of 16");
        assert!(y.iter().all(|limb| limb.len() == n), "all limbs must have the same length");
        let Some(first) = self.targets.first() else { return };
        // With one input, the centred residue is already exact.
        let exact = exact && self.inputs() > 1;
        let mut outputs = outputs.map(|(j, data)| {
            assert_eq!(data.len(), n, "all limbs must have the same length");
            Output { target: &self.targets[j], data }
        });
        let mut batch: [Output; MAX_OUTPUTS_PER_PASS] =
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

    /// Converts to each of `batch`, with the kernel of each target.
    fn run_batch(&self, exact: bool, batch: &mut [Output], y: &[&[u64]]) {
        batch.sort_unstable_by_key(|output| output.target.family);
        for group in batch.chunk_by_mut(|a, b| a.target.family.shares_pass_with(b.target.family)) {
            match group[0].target.family {
                Family::Shift => shift::run(&self.source, self.kernel, y, group),
                Family::Portable => portable::run(&self.source, exact, y, group),
                Family::PowerOfTwo => power_of_two::run(&self.source, self.kernel, exact, y, group),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `new` has checked the CPU, and `run` the lengths.
                Family::F64 => unsafe { avx2::run(&self.source, exact, y, group) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the same as above.
                Family::Wide512 => unsafe { wide512::run(&self.source, exact, y, group) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the same as above.
                Family::IfmaNarrow | Family::IfmaWide | Family::IfmaPower => unsafe {
                    ifma::run(&self.ifma, &self.source, exact, y, group)
                },
            }
        }
    }
}

/// Added to a number in `[0, 2^51)`, this constant leaves the nearest integer (to even) in the low
/// 52 bits of the sum.
const ROUNDING: f64 = (1u64 << 52) as f64;

/// Returns the nearest integer to `x` in `[0, 2^51)`, rounded as in the vector kernels.
fn round(x: f64) -> u64 {
    (x + ROUNDING).to_bits() & ((1 << 52) - 1)
}
