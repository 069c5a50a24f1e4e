//! The values that the ciphertexts of a dry run would hold.

use std::sync::Arc;

use num_complex::Complex64;

use crate::Values;

/// The values in the slots of a ciphertext of a dry run ([`crate::Context::dry_run`]), as far as
/// they are known.
///
/// Decryption would return them, but for noise. Every operation changes them as it changes the
/// slots. Ciphertexts with residues have none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DryRunValues(Option<Arc<[Complex64]>>);

impl DryRunValues {
    /// Returns the given values in the first of `slots` slots and zeros in the others.
    pub fn of(values: Values<'_>, slots: usize) -> Self {
        let mut all: Vec<Complex64> = match values {
            Values::Real(v) => v.iter().map(|x| Complex64::from(*x)).collect(),
            Values::Complex(v) => v.to_vec(),
            Values::Big(v) => v.iter().map(|x| Complex64::from(x.to_f64())).collect(),
            Values::BigComplex(v) => {
                v.iter().map(|z| Complex64::new(z.re.to_f64(), z.im.to_f64())).collect()
            }
        };
        all.resize(slots, Complex64::ZERO);
        DryRunValues(Some(all.into()))
    }

    /// Returns these values, one for each slot.
    pub fn from_values(values: Vec<Complex64>) -> Self {
        DryRunValues(Some(values.into()))
    }

    /// The values of all slots, or `None` if they are unknown.
    pub fn values(&self) -> Option<&[Complex64]> {
        self.0.as_deref()
    }

    /// Applies `f` to every value.
    pub fn map(&self, f: impl Fn(Complex64) -> Complex64) -> Self {
        DryRunValues(self.0.as_ref().map(|values| values.iter().map(|x| f(*x)).collect()))
    }

    /// Repeats the first `period` values over all slots.
    pub fn repeated(&self, period: usize) -> Self {
        DryRunValues(
            self.0.as_ref().map(|values| (0..values.len()).map(|i| values[i % period]).collect()),
        )
    }

    /// Combines the values of two ciphertexts slot by slot with `f`. The result is unknown unless
    /// both are known.
    pub fn zip(&self, other: &DryRunValues, f: impl Fn(Complex64, Complex64) -> Complex64) -> Self {
        let both = self.0.as_ref().zip(other.0.as_ref());
        DryRunValues(both.map(|(x, y)| x.iter().zip(y.iter()).map(|(x, y)| f(*x, *y)).collect()))
    }

    /// Repeats the values over `slots` slots.
    pub fn in_slots(&self, slots: usize) -> Self {
        DryRunValues(
            self.0
                .as_ref()
                .map(|values| (0..slots).map(|i| values[i % values.len().max(1)]).collect()),
        )
    }

    /// Rotates the values by `steps` to the left.
    pub fn rotated(&self, steps: i64) -> Self {
        DryRunValues(self.0.as_ref().map(|values| {
            let mut rotated = values.to_vec();
            rotated.rotate_left(steps.rem_euclid(values.len().max(1) as i64) as usize);
            rotated.into()
        }))
    }
}
