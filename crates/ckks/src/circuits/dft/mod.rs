//! The homomorphic discrete Fourier transform, from the coefficients of a message to slots and
//! back.
//!
//! A ciphertext with `n` slots has a message `p(X^(N/2n))`, where `p` has `2n` real coefficients
//! `t_0 .. t_(2n-1)`. After [`Direction::CoefficientsToSlots`] its slots hold them as the `n`
//! complex numbers `c_k = t_k + i t_(k+n)`. Bootstrapping can then work on each of them (Cheon,
//! Han, Kim, Kim, Song, ePrint 2018/153). [`Direction::SlotsToCoefficients`] is the inverse. Both
//! are the special FFT, with its stages merged into a few sparse matrices (Chen, Chillotti, Song,
//! ePrint 2018/1043; Han, Hhan, Cheon, ePrint 2018/1073). Each matrix is one
//! [`super::LinearTransform`]. GRAFT's Table 9 measures the same two transforms.
//!
//! **Order.** The slots hold the `c_k` in bit-reversed order: slot `j` holds `c_k`, where `k` is
//! `j` with its `log2(n)` bits reversed. This avoids the cost of a permutation. It does no harm,
//! because the operations between the two transforms treat every slot alike.
//!
//! **Factor.** The whole transform is multiplied by a number. Each level contributes a part of it.
//!
//! **Packing.** Between the transforms, the slots hold complex or real numbers, as [`Packing`]
//! describes. Bootstrapping needs real numbers. [`crate::Evaluator::real_and_imaginary`] splits a
//! ciphertext of complex numbers, and [`crate::Evaluator::complex`] joins the parts again.

mod evaluate;
mod parts;
mod stages;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::linear_transform::{LinearTransform, Roots};
use crate::{CkksError, Context, Scale};
use stages::{Mask, Stages};

const OPERATION: &str = "make a homomorphic DFT";

/// The direction of a transform. See [`HomomorphicDft`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the coefficients of the message to the slots: a multiplication by the inverse of the
    /// special FFT's matrix.
    CoefficientsToSlots,
    /// From the slots to the coefficients of the message: a multiplication by the special FFT's
    /// matrix.
    SlotsToCoefficients,
}

/// How the `2n` coefficients are packed into slots, where `k` is the bit reversal of `j < n`. See
/// [`HomomorphicDft`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// `n` slots of complex numbers: slot `j` holds `t_k + i t_(k+n)`.
    Complex,
    /// `2n` slots of real numbers, at most `N/2`: slot `j` holds `t_k`, and slot `n + j` holds
    /// `t_(k+n)`. Coefficients to slots needs one more conjugation, and slots to coefficients one
    /// more rotation by `n`.
    SideBySide,
    /// `n` slots of real numbers, for messages whose `n` slots are real: slot `j` holds `t_k`. The
    /// other coefficients follow from these: `t_n = 0` and `t_(2n-k) = -t_k`. Both directions need
    /// one more conjugation.
    Real,
}

/// A level of a transform: consecutive stages of the FFT, merged into one linear transform. See
/// [`HomomorphicDft`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DftLevel {
    /// log2 of the radix: the number of the `log2(n)` stages that are merged. The matrix has
    /// `2^radix_log2` entries in each row.
    pub radix_log2: u32,
    /// log2 of the scale at which the matrix is encoded. This is the number of bits of modulus that
    /// the level uses if it keeps the scale of its operand.
    ///
    /// From coefficients to slots, the entries have absolute value `2^-radix_log2` (times the
    /// factor), and so `radix_log2` bits less precision. From slots to coefficients, they have
    /// absolute value 1.
    pub scale_bits: f64,
}

impl DftLevel {
    /// Returns `count` levels for a transform of `slots` slots, all at one scale. Their radices
    /// differ by a factor of at most 2, and the larger ones come first.
    pub fn even(slots: usize, count: u32, scale_bits: f64) -> Vec<DftLevel> {
        let stages = slots.max(1).ilog2();
        let count = count.max(1);
        (0..count)
            .map(|i| DftLevel {
                radix_log2: stages / count + u32::from(i < stages % count),
                scale_bits,
            })
            .collect()
    }
}

/// A transform between coefficients and slots, to be applied with
/// [`crate::Evaluator::homomorphic_dft`].
///
/// Its matrices consist of roots of unity, which are computed to any precision. They are encoded
/// when they are first used.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::{DftLevel, Direction, HomomorphicDft};
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 8,
/// #     units: primes::ntt_primes(48, 1 << 8, 8, &[])?,
/// #     specials: primes::ntt_primes(49, 1 << 8, 3, &[])?,
/// #     sprout: Sprout::for_degree(8).unwrap(),
/// #     gadget_rank: 5,
/// #     secret: SecretDistribution::Ternary,
/// # })?;
/// # let context = hippocrene_ckks::Context::new(parameters, Threads::single())?;
///
/// let levels = DftLevel::even(16, 2, 30.0);
/// let dft = HomomorphicDft::new(&context, Direction::CoefficientsToSlots, 16, &levels, 1.0)?;
/// assert_eq!((dft.depth(), dft.bits(), dft.slots()), (2, 60.0, 16));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HomomorphicDft {
    direction: Direction,
    packing: Packing,
    slots: usize,
    /// The number of slots of the operand.
    operand_slots: usize,
    factor: f64,
    levels: Arc<[Level]>,
}

/// The linear transform of consecutive stages.
#[derive(Debug)]
struct Level {
    transform: LinearTransform,
    scale_bits: f64,
    /// The share of this level in the factor of the whole transform.
    factor: f64,
    /// The factor by which this level increases the root mean square of the slots.
    growth: f64,
}

impl HomomorphicDft {
    /// Prepares the transform of messages with `slots` slots, times `factor`. The levels are given
    /// in the order in which they are applied. The coefficients are in complex slots:
    /// [`Packing::Complex`].
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the radices do not multiply to the number of slots,
    /// the parameters do not support this number of slots, or a number is out of range.
    pub fn new(
        context: &Context,
        direction: Direction,
        slots: usize,
        levels: &[DftLevel],
        factor: f64,
    ) -> Result<Self, CkksError> {
        Self::with_packing(context, direction, Packing::Complex, slots, levels, factor)
    }

    /// Like [`HomomorphicDft::new`], with any packing.
    ///
    /// # Errors
    /// Fails as [`HomomorphicDft::new`] does, and if the packing needs more than `N/2` slots.
    pub fn with_packing(
        context: &Context,
        direction: Direction,
        packing: Packing,
        slots: usize,
        levels: &[DftLevel],
        factor: f64,
    ) -> Result<Self, CkksError> {
        Self::prepare(context, direction, packing, slots, levels, factor, false)
    }

    /// Prepares the transform of the first `slots` of all `N/2` slots into coefficients
    /// ([`Packing::Complex`]), whatever the other slots hold.
    ///
    /// These coefficients are smaller by a factor of `N/(2n)` than those of a message with `n`
    /// slots, and only they are meaningful. Rotations by `n`, `2n`, .., `N/4` cancel the other
    /// coefficients in a sum and multiply these by that factor. After that the message has `n`
    /// slots.
    ///
    /// # Errors
    /// Fails as [`HomomorphicDft::new`] does.
    pub fn of_first_slots(
        context: &Context,
        slots: usize,
        levels: &[DftLevel],
        factor: f64,
    ) -> Result<Self, CkksError> {
        Self::prepare(
            context,
            Direction::SlotsToCoefficients,
            Packing::Complex,
            slots,
            levels,
            factor,
            true,
        )
    }

    /// Checks the arguments and prepares the transform.
    fn prepare(
        context: &Context,
        direction: Direction,
        packing: Packing,
        slots: usize,
        levels: &[DftLevel],
        factor: f64,
        first_slots: bool,
    ) -> Result<Self, CkksError> {
        let packed = if packing == Packing::SideBySide { 2 * slots } else { slots };
        check(context, slots, packed, levels, factor)?;
        let forward = direction == Direction::SlotsToCoefficients;
        let mut next = if forward { 0 } else { slots.ilog2() };
        let factor_parts = factor_parts(factor, levels.len());
        let mut made = Vec::with_capacity(levels.len());
        for (level, (sign, share)) in levels.iter().zip(factor_parts) {
            let count = level.radix_log2;
            let first = if forward { next } else { next - count };
            next = if forward { next + count } else { first };
            let stages = Stages { log_slots: slots.ilog2(), first, count };
            // The level at the packed end is masked.
            let is_next = if forward { made.is_empty() } else { made.len() + 1 == levels.len() };
            let mask = match packing {
                Packing::SideBySide if is_next => Mask::Halves,
                Packing::Real if is_next && forward => Mask::HalveFirst,
                Packing::Complex if is_next && first_slots => Mask::Only(context.max_slots()),
                _ => Mask::None,
            };
            let exponents = if forward { stages.forward(mask) } else { stages.inverse(mask) };
            // Adding the conjugate doubles the result.
            let halved = !forward && is_next && packing != Packing::Complex;
            let entry = share.times(Scale::power_of_two(if forward { 0 } else { -(count as i32) }));
            let factor = if halved { entry.times(Scale::power_of_two(-1)) } else { entry };
            let transform_slots = match mask {
                Mask::Halves => packed,
                Mask::Only(all) => all,
                Mask::None | Mask::HalveFirst => slots,
            };
            let diagonals = diagonals(exponents, stages.log_order(), sign, factor);
            // The last giant step of a level has the length of the first baby step of the next
            // coarser level. If both go the same way, they are the same rotation and share a key.
            // The same levels are mirrored in both directions.
            let coarser = if forward { levels.len() - 1 - made.len() } else { made.len() };
            made.push(Level {
                transform: LinearTransform::from_roots(
                    transform_slots,
                    diagonals,
                    coarser % 2 == 1,
                )?,
                scale_bits: level.scale_bits,
                factor: share.to_f64(),
                growth: factor.to_f64() * (f64::from(count) / 2.0).exp2(),
            });
        }
        let operand_slots = match (forward, first_slots) {
            (true, true) => context.max_slots(),
            (true, false) => packed,
            (false, _) => slots,
        };
        Ok(HomomorphicDft { direction, packing, slots, operand_slots, factor, levels: made.into() })
    }

    /// Returns a transform of coefficients to slots for complex slots, if this one is for real
    /// slots ([`Packing::Real`]). It has half the factor, and both share their matrices.
    pub(crate) fn with_both_parts(&self) -> Option<Self> {
        let is_real = self.packing == Packing::Real;
        (is_real && self.direction == Direction::CoefficientsToSlots).then(|| HomomorphicDft {
            packing: Packing::Complex,
            // The conjugate, which real slots add, doubles the result.
            factor: 0.5 * self.factor,
            levels: Arc::clone(&self.levels),
            ..*self
        })
    }

    /// The direction of the transform.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// How the coefficients are packed into slots.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// The number `n` of slots of the messages whose coefficients are transformed.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The number of slots that hold the coefficients: `2n` side by side, otherwise `n`.
    pub fn packed_slots(&self) -> usize {
        if self.packing == Packing::SideBySide { 2 * self.slots } else { self.slots }
    }

    /// The number of slots of the operand.
    pub fn operand_slots(&self) -> usize {
        self.operand_slots
    }

    /// The factor of the whole transform.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// The number of levels, of one multiplication each.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The bits of modulus that the transform uses if it keeps the scale of its operand.
    pub fn bits(&self) -> f64 {
        self.levels.iter().map(|level| level.scale_bits).sum()
    }

    /// The numbers of slots of the rotations whose keys it needs.
    pub fn rotations(&self) -> Vec<i64> {
        let mut all: BTreeSet<i64> =
            self.levels.iter().flat_map(|level| level.transform.rotations()).collect();
        if self.rotates_halves() {
            all.insert(self.slots as i64);
        }
        all.into_iter().collect()
    }

    /// Whether the two halves of the slots are added, by a rotation after the first level.
    pub(crate) fn rotates_halves(&self) -> bool {
        self.packing == Packing::SideBySide && self.direction == Direction::SlotsToCoefficients
    }

    /// The rotations whose keys each level needs.
    pub(crate) fn rotations_by_level(&self) -> impl Iterator<Item = Vec<i64>> {
        self.levels.iter().map(|level| level.transform.rotations())
    }

    /// The bits of modulus that each level uses.
    pub(crate) fn bits_by_level(&self) -> impl Iterator<Item = f64> {
        self.levels.iter().map(|level| level.scale_bits)
    }

    /// Whether it needs the conjugation key.
    pub fn conjugates(&self) -> bool {
        match self.packing {
            Packing::Complex => false,
            Packing::SideBySide => self.direction == Direction::CoefficientsToSlots,
            Packing::Real => true,
        }
    }

    /// Sets the number of bytes that the encoded matrices of each level may occupy: see
    /// [`LinearTransform::set_memory`].
    pub fn set_memory(&self, bytes: usize) {
        self.levels.iter().for_each(|level| level.transform.set_memory(bytes));
    }

    /// Returns for each level the bytes that its encoded matrix occupies and the bytes that it may
    /// occupy.
    pub fn memory(&self) -> Vec<(usize, usize)> {
        self.levels.iter().map(|level| level.transform.memory()).collect()
    }
}

/// Checks the arguments of a transform.
fn check(
    context: &Context,
    slots: usize,
    packed: usize,
    levels: &[DftLevel],
    factor: f64,
) -> Result<(), CkksError> {
    let stages: u64 = levels.iter().map(|level| u64::from(level.radix_log2)).sum();
    let most = context.max_slots();
    let what = if !slots.is_power_of_two() || packed > most {
        format!("{packed} slots: a power of two up to {most} is possible")
    } else if levels.is_empty() || stages != u64::from(slots.ilog2()) {
        let need = slots.ilog2();
        format!(
            "{stages} stages in {} levels: {slots} slots need {need}, in one level at least",
            levels.len()
        )
    } else if let Some(level) = levels.iter().find(|level| !(1.0..=1e4).contains(&level.scale_bits))
    {
        format!("a scale of 2^{}", level.scale_bits)
    } else if !factor.is_normal() {
        format!("a factor of {factor}")
    } else {
        return Ok(());
    };
    Err(CkksError::Argument { operation: OPERATION, what })
}

/// Returns each level's part of the factor, exactly, with its sign (`true` for negative). The first
/// level gets the sign and the part that is not a power of two.
fn factor_parts(factor: f64, count: usize) -> Vec<(bool, Scale)> {
    let exponent = factor.abs().log2().round() as i64;
    let mantissa = Scale::from_f64(factor.abs()).expect("the factor is finite and not zero");
    let mantissa = mantissa.times(Scale::power_of_two(-exponent as i32));
    let part = |i: usize| (exponent * i as i64).div_euclid(count as i64);
    (0..count)
        .map(|i| {
            let power = Scale::power_of_two((part(i + 1) - part(i)) as i32);
            if i == 0 { (factor < 0.0, power.times(mantissa)) } else { (false, power) }
        })
        .collect()
}

/// Returns diagonals of these roots of unity times `factor`, and times -1 if `negative`.
fn diagonals(
    exponents: BTreeMap<usize, Vec<u32>>,
    log_order: u32,
    negative: bool,
    factor: Scale,
) -> BTreeMap<usize, Roots> {
    let with_sign =
        |t: u32| if negative && t != Roots::ZERO { t ^ 1 << (log_order - 1) } else { t };
    let roots = |d: Vec<u32>| Roots {
        exponents: d.into_iter().map(with_sign).collect(),
        log_order,
        factor,
    };
    exponents.into_iter().map(|(r, d)| (r, roots(d))).collect()
}
