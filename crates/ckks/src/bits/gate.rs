//! Gates as functions of an angle.

use std::f64::consts::{SQRT_2, TAU};

use hippocrene_rlwe::Gate;

use crate::CkksError;

/// The function of the angle that a gate evaluates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// The function `(1 - amplitude cos)/2`, where `cos` is the cosine of the angle.
    Half {
        /// The factor of the cosine.
        amplitude: f64,
    },
    /// The function `1 - cos^2`.
    Parity,
    /// The function `cos^2 (1 + cos)/2`, or `1 - cos^2 (1 + cos)/2`.
    Single {
        /// True for the second of these functions.
        complement: bool,
    },
}

/// A gate as a function of `x = factor (s - count/2)/4` turns, where `s` is the sum of `count`
/// bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GateFunction {
    pub(super) shape: Shape,
    /// The offset that is subtracted from `x`, in turns: more than -1/2 and at most 1/2.
    pub(super) offset: f64,
}

impl GateFunction {
    /// The identity of a bit `b` at `x = (b - 1/2)/2`.
    pub(super) const REFRESH: GateFunction =
        GateFunction { shape: Shape::Half { amplitude: 1.0 }, offset: -0.25 };

    /// Returns the largest distance between the result and the bit if `x` has an error of `error`
    /// turns, in exact arithmetic.
    pub(super) fn error(&self, error: f64) -> f64 {
        // With an error of a quarter of the circle no bit can be read.
        if error.is_nan() || error >= 0.25 {
            return 1.0;
        }
        let (sin, cos) = (TAU * error).sin_cos();
        match self.shape {
            Shape::Half { amplitude } if amplitude > 1.0 => (1.0 - cos + sin) / 2.0,
            Shape::Half { .. } => (1.0 - cos) / 2.0,
            Shape::Parity => sin * sin,
            Shape::Single { .. } => {
                (1.0 - cos * cos * (1.0 + cos) / 2.0).max(sin * sin * (1.0 + sin) / 2.0)
            }
        }
    }

    /// Returns the factor by which an error of the cosine is multiplied in the result.
    pub(super) fn slope(&self) -> f64 {
        match self.shape {
            Shape::Half { amplitude } => amplitude / 2.0,
            Shape::Parity => 2.0,
            Shape::Single { .. } => 2.5,
        }
    }

    /// Returns the function of a gate that has a bootstrap of its own, and the factor of the sum of
    /// the bits in its angle.
    ///
    /// The factor is 1, except for parities. With twice the sum, a parity is a plain cosine and
    /// needs no square.
    pub(super) fn for_single_gate(
        gate: Gate,
        count: usize,
    ) -> Result<(GateFunction, i64), CkksError> {
        let function = Self::of(gate, count)?;
        if function.shape != Shape::Parity {
            return Ok((function, 1));
        }
        Ok((
            GateFunction {
                shape: Shape::Half { amplitude: 1.0 },
                offset: principal(2.0 * function.offset),
            },
            2,
        ))
    }

    /// Returns the function of a gate of `count` bits whose angle is the sum of the bits, with the
    /// factor 1.
    pub(super) fn of(gate: Gate, count: usize) -> Result<GateFunction, CkksError> {
        let threshold = Shape::Half { amplitude: SQRT_2 };
        let single = |complement| Shape::Single { complement };
        // `sum` is the sum of bits at which the cosine is 1. A threshold gate returns 0 for the two
        // sums of bits on either side of it.
        let (shape, sum) = match (gate, count) {
            (Gate::And, 2) | (Gate::Majority, 3) => (threshold, 0.5),
            (Gate::Or, 2) => (threshold, -0.5),
            (Gate::Nand, 2) => (threshold, 2.5),
            (Gate::Nor, 2) => (threshold, 1.5),
            (Gate::Xor, 2 | 3) => (Shape::Parity, 0.0),
            (Gate::Xnor, 2 | 3) => (Shape::Parity, 1.0),
            (Gate::And, 3) => (single(false), 3.0),
            (Gate::Nand, 3) => (single(true), 3.0),
            (Gate::Nor, 3) => (single(false), 0.0),
            (Gate::Or, 3) => (single(true), 0.0),
            _ => {
                let what = format!(
                    "there are {count} operands: a majority has three, the other gates two or three"
                );
                return Err(CkksError::Argument { operation: gate.name(), what });
            }
        };
        Ok(GateFunction { shape, offset: principal((sum - count as f64 / 2.0) / 4.0) })
    }
}

/// Returns the largest distance between the result of a bootstrap by `gate` and its bit, in exact
/// arithmetic, if the sum of the `count` bits has an error of `error`.
///
/// # Errors
/// Fails with [`CkksError::Argument`] if the gate does not accept `count` bits.
pub fn gate_error(gate: Gate, count: usize, error: f64) -> Result<f64, CkksError> {
    Ok(GateFunction::of(gate, count)?.error(error / 4.0))
}

/// Returns the same place on the circle as a number of turns in (-1/2, 1/2].
fn principal(turn: f64) -> f64 {
    turn - (turn - 0.5).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(function: &GateFunction, x: f64) -> f64 {
        let c = (TAU * (x - function.offset)).cos();
        match function.shape {
            Shape::Half { amplitude } => (1.0 - amplitude * c) / 2.0,
            Shape::Parity => 1.0 - c * c,
            Shape::Single { complement } => {
                let one = c * c * (1.0 + c) / 2.0;
                if complement { 1.0 - one } else { one }
            }
        }
    }

    #[test]
    fn functions_of_the_angle_are_the_gates() {
        let mut found = 0;
        for (gate, count) in Gate::ALL.into_iter().flat_map(|gate| [(gate, 2), (gate, 3)]) {
            let Ok(function) = GateFunction::of(gate, count) else {
                assert_eq!((gate, count), (Gate::Majority, 2));
                continue;
            };
            found += 1;
            assert!(function.offset > -0.5 && function.offset <= 0.5);
            let (alone, factor) = GateFunction::for_single_gate(gate, count).unwrap();
            for ones in 0..=count {
                let bit = f64::from(u8::from(gate.value(ones, count)));
                let mut largest = [0f64; 3];
                for (largest, error) in largest.iter_mut().zip([0.0, 0.05, 0.3]) {
                    for sign in [-1.0, 1.0] {
                        let x = (ones as f64 + sign * error - count as f64 / 2.0) / 4.0;
                        *largest = largest.max((apply(&function, x) - bit).abs());
                        *largest = largest.max((apply(&alone, factor as f64 * x) - bit).abs());
                    }
                    let bound = gate_error(gate, count, error).unwrap();
                    assert!((alone.error(factor as f64 * error / 4.0) - bound).abs() < 1e-12);
                    assert!(
                        *largest <= bound + 1e-12,
                        "{gate:?} {count} {ones}: {largest:?} {bound}"
                    );
                }
                assert!(largest[0] < 1e-12);
            }
        }
        assert_eq!(found, 13);
        for (bit, error) in [(0.0, 0.1), (1.0, -0.1), (1.0, 0.1)] {
            let x = (bit + error - 0.5) / 2.0;
            let have = (apply(&GateFunction::REFRESH, x) - bit).abs();
            assert!((have - GateFunction::REFRESH.error(error.abs() / 2.0)).abs() < 1e-12);
            assert!((have - (std::f64::consts::FRAC_PI_2 * error).sin().powi(2)).abs() < 1e-12);
        }
    }

    #[test]
    fn errors_grow_to_first_or_second_order() {
        let e = 1e-4;
        assert!((gate_error(Gate::Nand, 2, e).unwrap() / e - TAU / 8.0).abs() < 1e-3);
        let square = (TAU / 4.0 * e).powi(2);
        assert!((gate_error(Gate::Xor, 2, e).unwrap() / square - 1.0).abs() < 1e-3);
        assert!((gate_error(Gate::And, 3, e).unwrap() / square - 1.25).abs() < 1e-3);
        assert_eq!(gate_error(Gate::And, 3, 1.0).unwrap(), 1.0);
        assert!(gate_error(Gate::And, 1, e).is_err() && gate_error(Gate::Xor, 4, e).is_err());
    }
}
