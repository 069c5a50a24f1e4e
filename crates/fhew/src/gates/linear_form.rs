//! Gates as signs of linear forms.

use hippocrene_rlwe::Gate;

use crate::FhewError;

/// The linear form of a gate.
///
/// The gate is 1 where `weight sum + eighths/8` is in the upper half of the circle. `sum` is the
/// sum of the operands, each `1/8` or `-1/8` of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinearForm {
    pub(super) weight: i64,
    pub(super) eighths: i64,
}

impl LinearForm {
    /// Returns the linear form of a gate with `count` operands.
    ///
    /// # Errors
    /// [`FhewError::Operands`] if the number of operands does not fit the gate.
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
                    "{count} operands, but a majority needs three, a parity two or three, and \
                     every other gate two"
                );
                return Err(FhewError::Operands { operation: gate.name(), what });
            }
        };
        Ok(LinearForm { weight, eighths })
    }

    /// Returns the distance of the linear form from its nearest change of sign, in eighths of a
    /// turn.
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
            let Ok(form) = LinearForm::of(gate, count) else { continue };
            found += 1;
            for ones in 0..=count {
                let sum = 2 * ones as i64 - count as i64;
                let place = (form.weight * sum + form.eighths).rem_euclid(8);
                assert_eq!(
                    (1..=3).contains(&place),
                    gate.value(ones, count),
                    "{gate:?} {ones} of {count}"
                );
                // The distances from 0 and from half a turn.
                let margin = [place, 8 - place, (place - 4).abs()].into_iter().min();
                assert_eq!(margin.map(|m| m as f64), Some(form.margin()));
            }
        }
        assert_eq!(found, 9);
        assert!(
            LinearForm::of(Gate::And, 1).is_err() && LinearForm::of(Gate::Majority, 2).is_err()
        );
    }
}
