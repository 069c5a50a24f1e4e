//! The sign of real slots, and what follows from it: comparisons, the larger and the smaller of
//! two, absolute values.
//!
//! The sign is a composition of polynomials ([`CompositeSign`], CKK20, LLNK22), which comes close
//! to it where `gap <= |x| <= bound`. What noise an early stage adds is little beside the values
//! that it leaves, and later ones take both to 1 or -1: early stages take smaller scales than late
//! ones (GRAFT 4.3). [`SignPlan`] finds polynomials and scales together, so that the whole takes
//! the fewest bits of capacity.
//!
//! # How scales follow from the precision
//! With `u(S) = 2^-S sqrt(n (1 + h) / 12)` the standard deviation of the error that one rounding at
//! the scale `2^S` makes in each of `n` slots, `h` the squared norm of the secret, a stage `p` adds
//! an error of standard deviation `k u(S)`; `k` is computed from the derivatives of `p` by each
//! rounding of its evaluation. Each stage has a *margin* `m >= 16 k u(S)`. The values that it
//! leaves lie in `[low - m, high + m]`, and that is the range which the next stage is made for: so
//! the errors of all stages are in the ranges, however they are amplified or shrunk on the way, and
//! the last one's says how far the result may be off: `1 - low + m`, at most `2^-precision`.
//!
//! All of this is about real numbers, and the errors of slots are complex. Imaginary parts would
//! not do harm at first, but are amplified where a value is near 0, as values are, and without end:
//! odd polynomials do not bound them. So they are taken away after each stage but the last, as half
//! the sum of the result and its conjugate, which takes the key of the conjugation, and a bit of
//! capacity.
//!
//! # What is stated
//! With `e = 2^-precision`, up to the error of the arguments themselves (and but for a probability
//! of about `2^-32` for each slot and stage, that noise is beyond sixteen standard deviations: what
//! a rounding adds to a slot is distributed as Laplace's, since it goes with the secret there):
//! - [`Evaluator::sign`](crate::Evaluator::sign): within `e` where `gap <= |x| <= bound`; of
//!   absolute value at most `1 + e` where `|x| < gap`.
//! - [`Evaluator::step`](crate::Evaluator::step), [`greater`](crate::Evaluator::greater),
//!   [`less`](crate::Evaluator::less): within `e/2` of 0 or 1; between `-e/2` and `1 + e/2` in the
//!   gap.
//! - [`Evaluator::abs`](crate::Evaluator::abs): within `e |x|` outside of the gap, `(2 + e) |x|`,
//!   thus `(2 + e) gap`, within it; and `bound e/2` for the product at the end.
//! - [`Evaluator::relu`](crate::Evaluator::relu): half of that; and so
//!   [`maximum`](crate::Evaluator::maximum) and [`minimum`](crate::Evaluator::minimum), with `x`
//!   the difference of the operands.

mod evaluate;
mod functions;
mod reached;
mod search;

pub use super::composition::Stage;

use super::composition::{Composition, ErrorGains, Unit};
use crate::{CkksError, Context, Short, approximation::sign::CompositeSign};
use reached::Reached;

const OPERATION: &str = "plan a comparison";

/// What a sign is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignLiteral {
    /// How many slots the ciphertexts have.
    pub slots: usize,
    /// The largest absolute value of an argument; ciphertexts whose bound is larger are refused.
    pub bound: f64,
    /// The least absolute value of an argument whose sign comes out.
    pub gap: f64,
    /// The precision: where `gap <= |x| <= bound`, the result is within `2^-precision` of the sign.
    pub precision: f64,
}

/// A sign planned: polynomials and scales.
#[derive(Debug, Clone, PartialEq)]
pub struct SignPlan {
    literal: SignLiteral,
    /// Arguments are divided by this, the bound and a little more: they lie in `[-1, 1]` then, with
    /// their error.
    reach: f64,
    composition: Composition,
}

/// So many arguments outside of the gap, of all orders of magnitude alike, say by what errors are
/// multiplied.
const SAMPLES: usize = 256;

/// The share of the gap that the error of an argument may be, as so many standard deviations of it.
const SHARE: f64 = 1.0 / 32.0;
const ARGUMENT_DEVIATIONS: f64 = 8.0;

impl SignPlan {
    /// The minimax composition (LLNK22) and the scales that take the fewest bits of capacity;
    /// `context` has to allow for any scale (a sprout). The search takes about a second.
    ///
    /// # Errors
    /// [`CkksError::Argument`] unless `2^-30 <= gap/bound < 1` and the precision is 1 to 40 bits
    /// (numbers of 53 bits do no better), the slots are a power of two that the parameters have;
    /// [`CkksError::Capacity`] unless a modulus of these parameters holds a stage.
    pub fn new(context: &Context, literal: SignLiteral) -> Result<Self, CkksError> {
        Self::planned(context, literal, None, search::least)
    }

    /// The polynomials of `composition`, at the scales that take the fewest bits; all but the last
    /// divided by a number near 1, such that what they leave lies in `[-1, 1]` with its error.
    ///
    /// # Errors
    /// As [`SignPlan::new`], and when the composition does not come so close.
    pub fn composed(
        context: &Context,
        composition: &CompositeSign,
        literal: SignLiteral,
    ) -> Result<Self, CkksError> {
        let stages = composition.stages();
        Self::planned(context, literal, None, |low, error, unit| {
            Ok(search::scales(stages, low, error, unit))
        })
    }

    /// The polynomials of `composition`, all at one scale, as simple chains have it. The precision
    /// is what comes of that; what the literal says counts for nothing. The bound has to be 1, or a
    /// power of two by which the scales of arguments are smaller. Imaginary parts are left as they
    /// are, so that the scale stays: it has to be so large that the noise of all stages is small
    /// beside the gap. Values between stages may be off by as much as a refresh leaves that has
    /// this standard deviation, `refreshed`; 0 where there is none.
    ///
    /// # Errors
    /// As [`SignPlan::new`], and when the noise at this scale does not leave the sign.
    pub fn at_scale(
        context: &Context,
        composition: &CompositeSign,
        scale_bits: f64,
        refreshed: f64,
        literal: SignLiteral,
    ) -> Result<Self, CkksError> {
        let (stages, literal) = (composition.stages(), SignLiteral { precision: 1.0, ..literal });
        Self::planned(context, literal, Some(scale_bits), |low, error, unit| {
            Ok(search::scales(stages, low, error, Unit { refreshed, ..unit }))
        })
    }

    fn planned(
        context: &Context,
        literal: SignLiteral,
        fixed: Option<f64>,
        search: impl FnOnce(f64, f64, Unit) -> Result<Option<Reached>, CkksError>,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let SignLiteral { slots, bound, gap, precision } = literal;
        if !slots.is_power_of_two() || slots > context.max_slots() {
            let most = context.max_slots();
            return fail(format!("{slots} slots: a power of two up to {most} is possible"));
        }
        if !(bound.is_finite() && gap > 0.0 && (2f64.powi(-30)..1.0).contains(&(gap / bound))) {
            return fail(format!(
                "a gap of {} among values up to {}: it is 2^-30 of the bound at least, and smaller than the bound",
                Short(gap),
                Short(bound)
            ));
        }
        if !(1.0..=40.0).contains(&precision) {
            return fail(format!("a precision of {} bits: it is 1 to 40 bits", Short(precision)));
        }
        let unit = Unit::new(context.parameters(), slots, fixed);
        let off = SHARE * gap;
        // A chain of one scale does not bear that arguments are divided by just anything.
        let reach = if fixed.is_some() { bound } else { bound + off };
        let Some(reached) = search((gap - off) / reach, (-precision).exp2(), unit)? else {
            return fail(format!(
                "no composition takes values from {gap:e} to {bound:e} within 2^-{precision:.1} of the sign, the noise of these scales included"
            ));
        };
        let low = (gap - off) / reach;
        let argument = |k: usize| low.powf((k as f64 + 0.5) / SAMPLES as f64);
        let gains = ErrorGains::new(&reached.stages, (0..SAMPLES).map(argument));
        let (stages, conjugates) = (reached.stages, fixed.is_none());
        let composition = Composition { stages, gains, unit, slack: off / reach, conjugates };
        let have = context.parameters().log2(context.parameters().top());
        match composition.beyond(have) {
            // What it takes in all: parameters that have more than one stage needs may not have
            // that.
            Some(need) => {
                let need = need.max(composition.bits());
                Err(CkksError::Capacity { operation: OPERATION, need, have })
            }
            None => Ok(SignPlan { literal, reach, composition }),
        }
    }

    /// What it is for.
    pub fn literal(&self) -> &SignLiteral {
        &self.literal
    }

    /// The polynomials with their scales, first applied first. The first one's argument is divided
    /// by [`SignPlan::reach`].
    pub fn stages(&self) -> &[Stage] {
        &self.composition.stages
    }

    /// What arguments are divided by.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// A bound of the distance from the sign where `gap <= |x| <= bound`, and of how far the
    /// absolute value exceeds 1 anywhere.
    pub fn error(&self) -> f64 {
        let last = self.last();
        (1.0 - last.range.0).max(last.range.1 - 1.0) + last.margin
    }

    /// How precise arguments have to be, as [`crate::Ciphertext::precision_bits`] says it, for the
    /// least of them to count: eight standard deviations of their error are a 32nd of the gap.
    pub fn argument_precision(&self) -> f64 {
        -(SHARE * self.literal.gap / ARGUMENT_DEVIATIONS).log2()
    }

    /// The bits of capacity that it takes in all.
    pub fn bits(&self) -> f64 {
        self.composition.bits()
    }

    /// How many products of ciphertexts it takes.
    pub fn products(&self) -> usize {
        self.composition.products()
    }

    /// Whether it takes the key of the conjugation: to take imaginary parts away between stages,
    /// where scales are free.
    pub fn conjugates(&self) -> bool {
        self.stages().len() > 1 && self.composition.conjugates
    }

    /// The same on plain numbers.
    pub fn apply(&self, x: f64) -> f64 {
        self.composition.apply(x / self.reach)
    }

    fn last(&self) -> &Stage {
        self.stages().last().expect("a search ends with a last stage")
    }
}
