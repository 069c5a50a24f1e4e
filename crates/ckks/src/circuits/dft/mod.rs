//! The homomorphic discrete Fourier transform: coefficients of a message to slots, and slots to
//! coefficients.
//!
//! A ciphertext with `n` slots has a message `p(X^(N/2n))`, `p` with `2n` real coefficients `t_0 ..
//! t_(2n-1)`. It holds them in its slots as the `n` complex numbers `c_k = t_k + i t_(k+n)` after
//! [`Direction::CoefficientsToSlots`], where bootstrapping can work on them one by one (Cheon, Han,
//! Kim, Kim, Song, ePrint 2018/153), and [`Direction::SlotsToCoefficients`] is the way back. What
//! connects them is the special FFT, whose stages are merged into a few sparse matrices (Chen,
//! Chillotti, Song, ePrint 2018/1043; Han, Hhan, Cheon, ePrint 2018/1073), each of them one
//! [`super::LinearTransform`]. GRAFT's Table 9 measures the same two transforms.
//!
//! **Order.** In the slots the `c_k` stand in bit-reversed order: slot `j` holds `c_k` with `k` the
//! `log2(n)` bits of `j` reversed. So no permutation is ever paid for: what goes on between the two
//! transforms does the same to every slot.
//!
//! **Factor.** The whole transform is multiplied by a number, of which each level has its share.
//!
//! **Packing.** What the slots hold between the transforms is one of [`Packing`]: complex numbers,
//! or real ones, which bootstrapping needs; a ciphertext of complex numbers is parted by
//! [`crate::Evaluator::real_and_imaginary`] and put together again by
//! [`crate::Evaluator::complex`].

mod evaluate;
mod parts;
mod stages;

use std::collections::{BTreeMap, BTreeSet};

use super::linear_transform::{LinearTransform, Roots};
use crate::{CkksError, Context, Scale};
use stages::{Mask, Stages};

const OPERATION: &str = "make a homomorphic DFT";

/// Which way a transform goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The coefficients of the message into the slots: a multiplication by the inverse of the
    /// special FFT's matrix.
    CoefficientsToSlots,
    /// What is in the slots into the coefficients of the message: a multiplication by the special
    /// FFT's matrix.
    SlotsToCoefficients,
}

/// How the `2n` coefficients are packed into slots. With `k` the bit reversal of `j < n`:
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// `n` slots of complex numbers: slot `j` holds `t_k + i t_(k+n)`.
    Complex,
    /// `2n` slots of real numbers, at most `N/2`: slot `j` holds `t_k`, and slot `n + j` holds
    /// `t_(k+n)`. From coefficients to slots it takes a conjugation more, and back a rotation by
    /// `n` more.
    SideBySide,
    /// `n` slots of real numbers, for messages whose `n` slots are real: slot `j` holds `t_k`. The
    /// other coefficients follow from these, for `t_n = 0` and `t_(2n-k) = -t_k`. Either way it
    /// takes a conjugation more.
    Real,
}

/// A level of a transform: neighbouring stages of the FFT, merged into one linear transform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DftLevel {
    /// How many of the `log2(n)` stages are merged: the matrix has `2^radix_log2` entries in each
    /// row.
    pub radix_log2: u32,
    /// How many bits of the modulus the level takes where it leaves the scale as it is: the scale
    /// at which its matrix is encoded, as log2. From coefficients to slots the entries are of
    /// absolute value `2^-radix_log2` (times the factor), and so have that many bits less; back
    /// they are of absolute value 1.
    pub scale_bits: f64,
}

impl DftLevel {
    /// `count` levels of radices that differ by a factor 2 at most, the larger ones first, for a
    /// transform of `slots` slots, all at one scale.
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

/// A transform between coefficients and slots, ready to be applied
/// ([`crate::Evaluator::homomorphic_dft`]). Its matrices are made of roots of unity, to any
/// precision; they are encoded when they are first used.
#[derive(Debug)]
pub struct HomomorphicDft {
    direction: Direction,
    packing: Packing,
    slots: usize,
    /// The slots of its operand.
    taken: usize,
    factor: f64,
    levels: Vec<Level>,
}

/// The linear transform of some stages.
#[derive(Debug)]
struct Level {
    transform: LinearTransform,
    scale_bits: f64,
    /// Its share of the factor.
    factor: f64,
    /// By how much it makes the root mean square of the slots grow.
    growth: f64,
}

impl HomomorphicDft {
    /// The transform of messages with `slots` slots, times `factor`, in these levels, the one that
    /// is applied first coming first. It leaves the coefficients in complex slots, or takes them
    /// from there: [`Packing::Complex`].
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the radices do not make up the number of slots, this is not
    /// possible, or a number makes no sense.
    pub fn new(
        context: &Context,
        direction: Direction,
        slots: usize,
        levels: &[DftLevel],
        factor: f64,
    ) -> Result<Self, CkksError> {
        Self::with_packing(context, direction, Packing::Complex, slots, levels, factor)
    }

    /// [`HomomorphicDft::new`] with another packing.
    ///
    /// # Errors
    /// As [`HomomorphicDft::new`], and when side by side there are more than `N/2` slots.
    pub fn with_packing(
        context: &Context,
        direction: Direction,
        packing: Packing,
        slots: usize,
        levels: &[DftLevel],
        factor: f64,
    ) -> Result<Self, CkksError> {
        Self::make(context, direction, packing, slots, levels, factor, false)
    }

    /// The transform of the first `slots` of all `N/2` slots into coefficients
    /// ([`Packing::Complex`]), whatever the others hold. These coefficients are `N/(2n)` times
    /// smaller than those of a message with `n` slots, and they are the only ones that mean
    /// something: once the others have been summed away, by rotations by `n`, `2n`, .., `N/4`,
    /// which multiplies these by as much, the message has `n` slots.
    ///
    /// # Errors
    /// As [`HomomorphicDft::new`].
    pub fn of_first_slots(
        context: &Context,
        slots: usize,
        levels: &[DftLevel],
        factor: f64,
    ) -> Result<Self, CkksError> {
        Self::make(
            context,
            Direction::SlotsToCoefficients,
            Packing::Complex,
            slots,
            levels,
            factor,
            true,
        )
    }

    fn make(
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
        let shares = shares(factor, levels.len());
        let mut made = Vec::with_capacity(levels.len());
        for (level, (sign, share)) in levels.iter().zip(shares) {
            let count = level.radix_log2;
            let first = if forward { next } else { next - count };
            next = if forward { next + count } else { first };
            let stages = Stages { log_slots: slots.ilog2(), first, count };
            // The level next to the packed slots is masked.
            let is_next = if forward { made.is_empty() } else { made.len() + 1 == levels.len() };
            let mask = match packing {
                Packing::SideBySide if is_next => Mask::Halves,
                Packing::Real if is_next && forward => Mask::HalveFirst,
                Packing::Complex if is_next && first_slots => Mask::Only(context.max_slots()),
                _ => Mask::None,
            };
            let exponents = if forward { stages.forward(mask) } else { stages.inverse(mask) };
            // Adding the conjugate doubles.
            let halved = !forward && is_next && packing != Packing::Complex;
            let entry = share.times(Scale::power_of_two(if forward { 0 } else { -(count as i32) }));
            let factor = if halved { entry.times(Scale::power_of_two(-1)) } else { entry };
            let transform_slots = match mask {
                Mask::Halves => packed,
                Mask::Only(all) => all,
                Mask::None | Mask::HalveFirst => slots,
            };
            let diagonals = diagonals(exponents, stages.log_order(), sign, factor);
            // The last giant step of a level is as long as the first baby step of the next coarser
            // one; going the same way they are the same rotation, and take one key. Of both
            // directions the same levels are mirrored.
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
        let taken = match (forward, first_slots) {
            (true, true) => context.max_slots(),
            (true, false) => packed,
            (false, _) => slots,
        };
        Ok(HomomorphicDft { direction, packing, slots, taken, factor, levels: made })
    }

    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// How coefficients are packed into slots.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// `n`: the slots of the messages whose coefficients it transforms.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// How many slots the coefficients are packed into: `2n` side by side, else `n`.
    pub fn packed_slots(&self) -> usize {
        if self.packing == Packing::SideBySide { 2 * self.slots } else { self.slots }
    }

    /// The slots of what it is applied to.
    pub fn operand_slots(&self) -> usize {
        self.taken
    }

    /// What everything is multiplied by.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// How many levels it has, of one multiplication each.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// How many bits of the modulus it takes where it leaves the scale as it is.
    pub fn bits(&self) -> f64 {
        self.levels.iter().map(|level| level.scale_bits).sum()
    }

    /// The rotations whose keys it wants.
    pub fn rotations(&self) -> Vec<i64> {
        let mut all: BTreeSet<i64> =
            self.levels.iter().flat_map(|level| level.transform.rotations()).collect();
        if self.rotates_halves() {
            all.insert(self.slots as i64);
        }
        all.into_iter().collect()
    }

    /// Whether the two halves of the slots are added up, by a rotation after the first level.
    pub(crate) fn rotates_halves(&self) -> bool {
        self.packing == Packing::SideBySide && self.direction == Direction::SlotsToCoefficients
    }

    /// The rotations whose keys each level wants.
    pub(crate) fn rotations_by_level(&self) -> impl Iterator<Item = Vec<i64>> {
        self.levels.iter().map(|level| level.transform.rotations())
    }

    /// How many bits of the modulus each level takes.
    pub(crate) fn bits_by_level(&self) -> impl Iterator<Item = f64> {
        self.levels.iter().map(|level| level.scale_bits)
    }

    /// Whether it wants the key of conjugation.
    pub fn conjugates(&self) -> bool {
        match self.packing {
            Packing::Complex => false,
            Packing::SideBySide => self.direction == Direction::CoefficientsToSlots,
            Packing::Real => true,
        }
    }

    /// Sets how many bytes the encoded matrices of each level may take: see
    /// [`LinearTransform::set_memory`].
    pub fn set_memory(&self, bytes: usize) {
        self.levels.iter().for_each(|level| level.transform.set_memory(bytes));
    }

    /// How many bytes encoded matrices take, level by level, and how many each level may take.
    pub fn memory(&self) -> Vec<(usize, usize)> {
        self.levels.iter().map(|level| level.transform.memory()).collect()
    }
}

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

/// Each level's share of the factor, exactly, with its sign (whether it is negative): what is not a
/// power of two and the sign go to the first.
fn shares(factor: f64, count: usize) -> Vec<(bool, Scale)> {
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

/// Diagonals of these roots of unity times a number, and -1 if it is negative.
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
