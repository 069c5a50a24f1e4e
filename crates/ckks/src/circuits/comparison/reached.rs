//! How far a composition has come while it is searched for.

use crate::circuits::{
    Polynomial,
    composition::{Stage, Unit},
};

/// Where gains are taken: so many points of the range, and both ends.
const SAMPLES: usize = 32;

/// What stages have reached.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    /// Where the absolute values lie, margins included.
    pub(super) low: f64,
    pub(super) high: f64,
    /// The bits of capacity so far.
    pub(super) bits: f64,
    pub(super) stages: Vec<Stage>,
    /// The share of the slack that each one's margin is.
    pub(super) shares: Vec<f64>,
}

/// What a polynomial does to values that lie in a range.
pub(super) struct Step<'a> {
    before: &'a Reached,
    polynomial: Polynomial,
    range: (f64, f64),
    /// The largest gain of roundings, and of roundings and one of the argument.
    largest: (f64, f64),
}

impl Reached {
    /// Values from `low` to 1 before any stage.
    pub(super) fn start(low: f64) -> Self {
        Reached { low, high: 1.0, bits: 0.0, stages: Vec::new(), shares: Vec::new() }
    }

    /// How far they have come: `log2(low / (1 - low))`.
    pub(super) fn logit(&self) -> f64 {
        (self.low / (1.0 - self.low)).log2()
    }

    /// What a polynomial makes of them, which takes them to the given range; none where it does not
    /// keep their sign. Where it is `divided`, it is so by its largest value: values then stay in
    /// `[-1, 1]`.
    ///
    /// Values in the gap stay below those at its end, with `f_n`, `g_n` and minimax polynomials:
    /// the derivative of the last has all its zeros between the points where its error alternates,
    /// so that it rises from 0 to the end of the gap.
    pub(super) fn step(
        &self,
        polynomial: &Polynomial,
        (low, high): (f64, f64),
        divided: bool,
        unit: Unit,
    ) -> Option<Step<'_>> {
        if low <= 0.0 {
            return None;
        }
        let divisor = if divided { high } else { 1.0 };
        let polynomial = scaled(polynomial, divisor);
        let mut largest = (unit.conjugation, unit.conjugation);
        for k in 0..=SAMPLES {
            let x = self.low + (self.high - self.low) * k as f64 / SAMPLES as f64;
            let gains = polynomial.gains(x);
            let own = unit.conjugation + gains.roundings.iter().sum::<f64>();
            largest = (largest.0.max(own), largest.1.max(own + gains.argument * gains.argument));
        }
        Some(Step {
            before: self,
            polynomial,
            range: (low / divisor, high / divisor),
            largest: (largest.0.sqrt(), largest.1.sqrt()),
        })
    }
}

impl Step<'_> {
    /// A next stage whose margin is the given share of the slack: of the least value, or of the
    /// distance of that from 1. Where the polynomial was divided, it is again, such that values lie
    /// in `[-1, 1]` with the margin.
    pub(super) fn next(&self, share: f64, divided: bool, unit: Unit) -> Option<Reached> {
        let (low, high) = self.range;
        if let Some(scale_bits) = unit.fixed {
            let margin = unit.margin(self.gain(), scale_bits);
            return self.reached(share, margin, scale_bits, 1.0);
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
        self.reached(share, margin, self.scale_bits(margin, unit), divisor)
    }

    /// The last stage: with its margin, values come within `error` of 1.
    pub(super) fn last(&self, error: f64, unit: Unit) -> Option<Reached> {
        let (low, high) = self.range;
        let off = (1.0 - low).max(high - 1.0);
        let (margin, scale_bits) = match unit.fixed {
            // Nothing is refreshed after it.
            Some(scale_bits) => {
                (Unit { refreshed: 0.0, ..unit }.margin(self.gain(), scale_bits), scale_bits)
            }
            None if off < error => (error - off, self.scale_bits(error - off, unit)),
            None => return None,
        };
        self.reached(1.0, margin, scale_bits, 1.0)
    }

    fn reached(&self, share: f64, margin: f64, scale_bits: f64, divisor: f64) -> Option<Reached> {
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

    /// The scale for a margin. Where the stage before has a larger one, or there is none, the
    /// argument is rounded too.
    fn scale_bits(&self, margin: f64, unit: Unit) -> f64 {
        let bits = unit.scale_bits(self.largest.0, margin);
        let before = self.before.stages.last().map_or(f64::INFINITY, |stage| stage.scale_bits);
        if before > bits { unit.scale_bits(self.largest.1, margin) } else { bits }
    }

    /// The gain at a scale that all stages have: the argument of the first is rounded.
    fn gain(&self) -> f64 {
        if self.before.stages.is_empty() { self.largest.1 } else { self.largest.0 }
    }
}

fn scaled(polynomial: &Polynomial, divisor: f64) -> Polynomial {
    polynomial
        .times(divisor.recip())
        .expect("coefficients were finite, and the divisor is positive")
}
