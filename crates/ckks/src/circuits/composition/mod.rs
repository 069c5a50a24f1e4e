//! Polynomials one after another, each at a scale of its own: what a next one takes to nearly the
//! same values may be off by the more.

mod evaluate;
mod stage;

pub use stage::Stage;

use super::polynomial_noise::Gains;

pub(super) use evaluate::{kept, scale_of};
pub(super) use stage::{DEVIATIONS, Unit};

/// Polynomials one after another, first applied first, with what is known of their noise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composition {
    pub(super) stages: Vec<Stage>,
    pub(super) gains: ErrorGains,
    pub(super) unit: Unit,
    /// How far an argument of the first one may be off.
    pub(super) slack: f64,
    /// Whether imaginary parts are taken away between stages.
    pub(super) conjugates: bool,
}

/// By what errors are multiplied on their way to the result.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ErrorGains {
    /// An error of the argument of each stage.
    pub(super) arguments: Vec<f64>,
    /// The errors of the roundings of each stage, by depth.
    pub(super) roundings: Vec<Vec<f64>>,
}

impl ErrorGains {
    /// The root mean squares over the given arguments.
    pub(super) fn new(stages: &[Stage], arguments: impl ExactSizeIterator<Item = f64>) -> Self {
        let count = arguments.len() as f64;
        let roundings =
            stages.iter().map(|stage| vec![0.0; stage.polynomial.depth() + 1]).collect();
        let mut out = ErrorGains { arguments: vec![0.0; stages.len()], roundings };
        for mut x in arguments {
            let mut gains = Vec::with_capacity(stages.len());
            for stage in stages {
                gains.push(stage.polynomial.gains(x));
                x = stage.polynomial.evaluate(x);
            }
            let mut after = 1.0;
            for (i, gains) in gains.iter().enumerate().rev() {
                for (sum, variance) in out.roundings[i].iter_mut().zip(&gains.roundings) {
                    *sum += after * after * variance;
                }
                after *= gains.argument;
                out.arguments[i] += after * after;
            }
        }
        let mean = |sum: &mut f64| *sum = (*sum / count).sqrt();
        out.arguments.iter_mut().chain(out.roundings.iter_mut().flatten()).for_each(mean);
        out
    }

    /// The largest for any argument, of the gains that each stage has there.
    pub(super) fn largest(stages: &[Vec<Gains>]) -> Self {
        let depths = |gains: &Vec<Gains>| gains.first().map_or(0, |gains| gains.roundings.len());
        let roundings = stages.iter().map(|gains| vec![0.0; depths(gains)]).collect();
        let mut out = ErrorGains { arguments: vec![0.0; stages.len()], roundings };
        let larger = |a: &mut f64, b: f64| *a = a.max(b);
        for place in 0..stages.first().map_or(0, Vec::len) {
            let mut after = 1.0;
            for (i, gains) in stages.iter().enumerate().rev() {
                let roundings = gains[place].roundings.iter();
                out.roundings[i]
                    .iter_mut()
                    .zip(roundings)
                    .for_each(|(a, v)| larger(a, after * v.sqrt()));
                after *= gains[place].argument;
                larger(&mut out.arguments[i], after);
            }
        }
        out
    }
}

impl Composition {
    /// The bits of capacity that it takes in all.
    pub(super) fn bits(&self) -> f64 {
        (0..self.stages.len()).map(|i| self.needs(i)).sum()
    }

    /// How many products of ciphertexts it takes.
    pub(super) fn products(&self) -> usize {
        self.stages.iter().map(|stage| stage.polynomial.products()).sum()
    }

    /// The value of all of its polynomials, one after another.
    pub(super) fn apply(&self, x: f64) -> f64 {
        self.stages.iter().fold(x, |x, stage| stage.polynomial.evaluate(x))
    }

    /// The bits of capacity that stage `i` takes: its own, those by which its scale is larger than
    /// that of the stage before, and one for the sum with the conjugate.
    pub(super) fn needs(&self, i: usize) -> f64 {
        let stage = &self.stages[i];
        let doubled = if self.conjugates { 1.0 } else { 0.0 };
        let before =
            if i == 0 { stage.scale_bits } else { self.stages[i - 1].scale_bits + doubled };
        let after = if i + 1 < self.stages.len() { doubled } else { 0.0 };
        stage.bits() + (stage.scale_bits - before).max(0.0) + after
    }

    /// A stage that no modulus of so many bits has room for: the bits that it takes.
    pub(super) fn beyond(&self, bits: f64) -> Option<f64> {
        self.stages.iter().map(|stage| stage.bits() + stage.scale_bits).find(|need| *need > bits)
    }
}
