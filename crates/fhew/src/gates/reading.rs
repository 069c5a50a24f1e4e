//! Gates as signs of linear forms.

use hippocrene_rlwe::Gate;

use crate::FhewError;

/// A gate is 1 where `weight sum + eighths/8` is in the upper half of the circle, `sum` being the
/// sum of its bits as `1/8` and `-1/8` turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) weight: i64,
    pub(super) eighths: i64,
}

impl Reading {
    /// How a gate of so many bits is read.
    ///
    /// # Errors
    /// [`FhewError::Operands`] for a number of bits that it does not take.
    pub(super) fn of(gate: Gate, count: usize) -> Result<Self, FhewError> {
        let (weight, eighths) = match (gate, count) {
            (Gate::And, 2) => (1, -1),
            (Gate::Or, 2) => (1, 1),
            (Gate::Nand, 2) => (-1, 1),
            (Gate::Nor, 2) => (-1, -1),
            (Gate::Xor, 2) => (2, 2),
            (Gate::Xnor, 2) => (-2, -2),
            (Gate::Xor, 3) => (-2, 0),
            (Gate::Xnor, 3) => (2, 0),
            (Gate::Majority, 3) => (1, 0),
            _ => {
                let what = format!(
                    "{count} operands, but a majority is of three bits, a parity of two or three, and the other gates of two"
                );
                return Err(FhewError::Operands { operation: gate.name(), what });
            }
        };
        Ok(Reading { weight, eighths })
    }

    /// How far the linear form is from where its sign changes, in eighths of a turn.
    pub(super) fn margin(self) -> f64 {
        self.weight.unsigned_abs() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_the_gates() {
        let mut found = 0;
        for (gate, count) in Gate::ALL.into_iter().flat_map(|gate| [(gate, 2), (gate, 3)]) {
            let Ok(reading) = Reading::of(gate, count) else { continue };
            found += 1;
            for ones in 0..=count {
                let sum = 2 * ones as i64 - count as i64;
                let place = (reading.weight * sum + reading.eighths).rem_euclid(8);
                assert_eq!(
                    (1..=3).contains(&place),
                    gate.value(ones, count),
                    "{gate:?} {ones} of {count}"
                );
                // From 0 and from a half.
                let margin = [place, 8 - place, (place - 4).abs()].into_iter().min();
                assert_eq!(margin.map(|m| m as f64), Some(reading.margin()));
            }
        }
        assert_eq!(found, 9);
        assert!(Reading::of(Gate::And, 1).is_err() && Reading::of(Gate::Majority, 2).is_err());
    }
}
