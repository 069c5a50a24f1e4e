//! Compositions: polynomials applied one after another, each at its own scale. If a later
//! polynomial maps a range of arguments to nearly the same value, earlier ones may have larger
//! errors.

mod evaluate;
mod stage;

pub use stage::Stage;

use super::polynomial_noise::Gains;

pub(super) use evaluate::{reserved_bits, scale_of};
pub(super) use stage::{DEVIATIONS, ErrorModel};

/// Polynomials that are applied one after another, in this order, with the factors of their errors.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composition {
    pub(super) stages: Vec<Stage>,
    pub(super) gains: ErrorGains,
    pub(super) model: ErrorModel,
    /// Largest allowed error of the first argument.
    pub(super) max_argument_error: f64,
    /// Whether the imaginary parts are removed between stages.
    pub(super) conjugates: bool,
}

/// The factors by which errors are multiplied on their way to the result.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ErrorGains {
    /// Factor of an error in the argument of each stage.
    pub(super) arguments: Vec<f64>,
    /// Factors of the rounding errors of each stage, by depth.
    pub(super) roundings: Vec<Vec<f64>>,
}

impl ErrorGains {
    /// Returns the root mean squares of the factors over the given arguments.
    pub(super) fn new(stages: &[Stage], mut arguments: Vec<f64>) -> Self {
        let count = arguments.len() as f64;
        let roundings =
            stages.iter().map(|stage| vec![0.0; stage.polynomial.depth() + 1]).collect();
        let mut out = ErrorGains { arguments: vec![0.0; stages.len()], roundings };
        let mut gains = Vec::with_capacity(stages.len());
        for Stage { polynomial, .. } in stages {
            gains.push(polynomial.gains_at(&arguments));
            arguments.iter_mut().for_each(|x| *x = polynomial.evaluate(*x));
        }
        for place in 0..arguments.len() {
            let mut after = 1.0;
            for (i, gains) in gains.iter().enumerate().rev() {
                let gains = &gains[place];
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

    /// Returns the largest factors over all arguments. `stages` holds the factors of each stage at
    /// each argument.
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
    /// The bits of capacity that the composition uses in total.
    pub(super) fn bits(&self) -> f64 {
        (0..self.stages.len()).map(|i| self.stage_bits(i)).sum()
    }

    /// The number of products of ciphertexts that the composition needs.
    pub(super) fn products(&self) -> usize {
        self.stages.iter().map(|stage| stage.polynomial.products()).sum()
    }

    /// Returns the value of all of its polynomials at `x`, applied one after another.
    pub(super) fn apply(&self, x: f64) -> f64 {
        self.stages.iter().fold(x, |x, stage| stage.polynomial.evaluate(x))
    }

    /// Returns the bits of capacity that stage `i` uses: its own, those by which its scale exceeds
    /// that of the stage before, and one for the sum with the conjugate.
    pub(super) fn stage_bits(&self, i: usize) -> f64 {
        let stage = &self.stages[i];
        let doubled = if self.conjugates { 1.0 } else { 0.0 };
        let before =
            if i == 0 { stage.scale_bits } else { self.stages[i - 1].scale_bits + doubled };
        let after = if i + 1 < self.stages.len() { doubled } else { 0.0 };
        stage.bits() + (stage.scale_bits - before).max(0.0) + after
    }

    /// Returns the bits that the first stage needs that does not fit a modulus of `bits` bits, or
    /// `None` if all of them fit.
    pub(super) fn first_stage_above(&self, bits: f64) -> Option<f64> {
        self.stages.iter().map(|stage| stage.bits() + stage.scale_bits).find(|need| *need > bits)
    }
}
