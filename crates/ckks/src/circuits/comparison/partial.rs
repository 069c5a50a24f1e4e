//! A composition during the search for a sign.

use super::StageLimits;
use crate::circuits::{
    Polynomial,
    composition::{DEVIATIONS, ErrorModel, Stage},
};

/// Number of intervals of the range at whose ends the factors of errors are evaluated. Chosen.
const SAMPLES: usize = 32;

/// Number of standard deviations of a bootstrap's error that margins have room for. Beside the
/// roundings of the stage, an evaluation requires 12.8.
const MARGIN_DEVIATIONS: f64 = 13.0;

/// A composition of some stages, with the range of its values.
#[derive(Debug, Clone)]
pub(super) struct PartialComposition {
    /// Smallest and largest absolute value, with all margins.
    pub(super) low: f64,
    pub(super) high: f64,
    /// Cost of the stages. It is the number of bits of capacity that they use, or with bootstraps
    /// between them the cost of those and the bits since the last one.
    pub(super) bits: f64,
    /// Number of bootstraps between the stages, and bits that are used since the last one.
    bootstraps: usize,
    bits_since_bootstrap: f64,
    pub(super) stages: Vec<Stage>,
    /// The margin of each stage as a share of its slack.
    pub(super) shares: Vec<f64>,
}

/// A polynomial that is applied to the values of a composition.
pub(super) struct Candidate<'a> {
    before: &'a PartialComposition,
    polynomial: Polynomial,
    range: (f64, f64),
    /// The largest factor of the roundings, without and with a rounding of the argument.
    largest: (f64, f64),
}

impl PartialComposition {
    /// Returns the empty composition, for values from `low` to 1.
    pub(super) fn start(low: f64) -> Self {
        PartialComposition {
            low,
            high: 1.0,
            bits: 0.0,
            bootstraps: 0,
            bits_since_bootstrap: 0.0,
            stages: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// Returns the progress of the composition: `log2(low / (1 - low))`.
    pub(super) fn logit(&self) -> f64 {
        (self.low / (1.0 - self.low)).log2()
    }

    /// Returns the bits of capacity that the last stage uses, with those by which its scale exceeds
    /// that of the stage before, and two for sums with conjugates.
    fn last_stage_bits(&self) -> f64 {
        let Some(last) = self.stages.last() else { return 0.0 };
        let before = self.stages.iter().rev().nth(1).unwrap_or(last);
        last.bits() + (last.scale_bits - before.scale_bits).max(0.0) + 2.0
    }

    /// True if the values may be bootstrapped after the last stage.
    pub(super) fn is_wide(&self, limits: StageLimits) -> bool {
        let min_margin = MARGIN_DEVIATIONS * limits.refresh_std;
        self.stages.last().is_none_or(|stage| stage.margin >= min_margin)
    }

    /// Returns the composition with bootstraps within these limits, or `None` if the last stage is
    /// too long for them.
    ///
    /// There is a bootstrap before this stage if the capacity that is left is too small for it. The
    /// margin of the stage before then has to hold the error of the bootstrap. If this stage
    /// `is_last`, it also leaves the remaining bits, with another bootstrap if need be.
    pub(super) fn with_bootstraps(mut self, limits: StageLimits, is_last: bool) -> Option<Self> {
        let bits = self.last_stage_bits();
        let (least, remaining) = match is_last {
            true => (limits.least_remaining_bits, limits.remaining_bits),
            false => (0.0, 0.0),
        };
        let limit = if self.bootstraps == 0 { limits.first_bits } else { limits.bits };
        let mut used = self.bits_since_bootstrap + bits + remaining;
        if used > limit {
            self.bootstraps += 1;
            used = bits + remaining;
            let min_margin = MARGIN_DEVIATIONS * limits.refresh_std;
            let before = self.stages.iter().rev().nth(1);
            if bits + least > limits.bits || before.is_some_and(|stage| stage.margin < min_margin) {
                return None;
            }
            if used > limits.bits {
                self.bootstraps += 1;
                used = remaining;
            }
        }
        self.bits_since_bootstrap = used;
        // One bootstrap less is cheaper than any number of bits within the limits.
        self.bits = self.bootstraps as f64 * limits.first_bits.max(limits.bits) + used;
        Some(self)
    }

    /// Applies a polynomial that maps the values to the given range. Returns `None` if it does not
    /// keep their sign. If `divided`, the polynomial is divided by its largest value, so that
    /// values stay in `[-1, 1]`.
    ///
    /// With `f_n`, `g_n` and minimax polynomials, values in the gap stay below those at the end of
    /// the gap. For minimax polynomials, all zeros of the derivative lie between the points where
    /// the error alternates, so the polynomial increases from 0 to the end of the gap.
    pub(super) fn step(
        &self,
        polynomial: &Polynomial,
        (low, high): (f64, f64),
        divided: bool,
        model: ErrorModel,
    ) -> Option<Candidate<'_>> {
        if low <= 0.0 {
            return None;
        }
        let divisor = if divided { high } else { 1.0 };
        let polynomial = scaled(polynomial, divisor);
        let mut largest = (model.conjugation, model.conjugation);
        let argument = |k| self.low + (self.high - self.low) * k as f64 / SAMPLES as f64;
        let arguments: Vec<f64> = (0..=SAMPLES).map(argument).collect();
        for gains in polynomial.gains_at(&arguments) {
            let own = model.conjugation + gains.roundings.iter().sum::<f64>();
            largest = (largest.0.max(own), largest.1.max(own + gains.argument * gains.argument));
        }
        Some(Candidate {
            before: self,
            polynomial,
            range: (low / divisor, high / divisor),
            largest: (largest.0.sqrt(), largest.1.sqrt()),
        })
    }
}

impl Candidate<'_> {
    /// Returns the composition with this stage added, whose margin is the given share of the slack.
    /// The slack is the smallest value or its distance from 1, whichever is smaller. If the
    /// polynomial was `divided`, it is divided again, so that values lie in `[-1, 1]` with the
    /// margin.
    pub(super) fn next(
        &self,
        share: f64,
        divided: bool,
        model: ErrorModel,
    ) -> Option<PartialComposition> {
        let (low, high) = self.range;
        if let Some(scale_bits) = model.common_scale_bits {
            let margin = model.margin(self.gain(), scale_bits);
            return self.with_stage(share, margin, scale_bits, 1.0);
        }
        let divisor = match divided {
            false => 1.0,
            // high/c + m = 1 with m = share low/c, or with m = share (1 - low/c).
            true if low / (high + share * low) < 0.5 => high + share * low,
            true => (high - share * low) / (1.0 - share),
        };
        let margin = share * (low / divisor).min(1.0 - low / divisor);
        if margin <= 0.0 {
            return None;
        }
        self.with_stage(share, margin, self.scale_bits(margin, model), divisor)
    }

    /// Returns the composition with this stage as the last one. With its margin, all values are
    /// within `error` of 1. If noise of the standard deviation `noise_std` is allowed besides, the
    /// margin may be wider.
    pub(super) fn last(
        &self,
        error: f64,
        noise_std: Option<f64>,
        model: ErrorModel,
    ) -> Option<PartialComposition> {
        let (low, high) = self.range;
        let off = (1.0 - low).max(high - 1.0);
        let (margin, scale_bits) = match model.common_scale_bits {
            // There is no refresh after the last stage.
            Some(scale_bits) => (
                ErrorModel { refresh_std: 0.0, ..model }.margin(self.gain(), scale_bits),
                scale_bits,
            ),
            None if off < error => {
                let margin = (error - off).max(DEVIATIONS * noise_std.unwrap_or(0.0));
                (margin, self.scale_bits(margin, model))
            }
            None => return None,
        };
        self.with_stage(1.0, margin, scale_bits, 1.0)
    }

    /// Adds the stage with this margin and scale. Returns `None` if the margin could change a sign.
    fn with_stage(
        &self,
        share: f64,
        margin: f64,
        scale_bits: f64,
        divisor: f64,
    ) -> Option<PartialComposition> {
        let (low, high) = (self.range.0 / divisor, self.range.1 / divisor);
        if margin >= low {
            return None;
        }
        let stage = Stage {
            polynomial: scaled(&self.polynomial, divisor),
            scale_bits,
            margin,
            range: (low, high),
        };
        let mut out = self.before.clone();
        (out.low, out.high, out.bits) = (low - margin, high + margin, out.bits + stage.bits());
        out.stages.push(stage);
        out.shares.push(share);
        Some(out)
    }

    /// Returns the scale in bits for a margin. The argument is rounded too if there is no stage
    /// before or if that has a larger scale.
    fn scale_bits(&self, margin: f64, model: ErrorModel) -> f64 {
        let bits = model.scale_bits(self.largest.0, margin);
        let before = self.before.stages.last().map_or(f64::INFINITY, |stage| stage.scale_bits);
        if before > bits { model.scale_bits(self.largest.1, margin) } else { bits }
    }

    /// Returns the factor of the roundings at a common scale, where the argument of the first stage
    /// is rounded.
    fn gain(&self) -> f64 {
        if self.before.stages.is_empty() { self.largest.1 } else { self.largest.0 }
    }
}

/// Returns the polynomial divided by a positive number.
fn scaled(polynomial: &Polynomial, divisor: f64) -> Polynomial {
    polynomial
        .times(divisor.recip())
        .expect("coefficients were finite, and the divisor is positive")
}
