//! Operations on the numbers in some of the slots. The other slots may hold any values.

use hippocrene_ckks::{Ciphertext, Plaintext, Scale, Values};
use hippocrene_rlwe::Modulus;

use crate::{Layout, Numbers, Pegasus, PegasusError};

/// log2 of the largest unit (chosen).
const MAX_LOG2_UNIT: f64 = 64.0;

impl Pegasus {
    /// Repacks the numbers into these slots of a ciphertext that has the number of slots of `a`.
    ///
    /// The slots up to the smallest power of two that holds all places repeat over the ciphertext.
    /// Slots without a number hold 0.
    pub(crate) fn packed(
        &self,
        x: &Numbers,
        a: &Ciphertext,
        places: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        self.repack_repeated(x, &Layout::new(repeated_slots(places), places.to_vec())?, a.slots())
    }

    /// Returns `a + c` in these slots, and `a` in the others.
    pub(crate) fn add_at(
        &self,
        a: &Ciphertext,
        c: f64,
        places: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        if c == 0.0 {
            return Ok(a.clone());
        }
        let c = self.constant_at(c, places, a.slots(), a.scale(), a.modulus())?;
        Ok(self.evaluator().add_plain(a, &c)?)
    }

    /// Returns `c a` in these slots, with `c` at `scale`, and 0 in the others.
    pub(crate) fn mul_at(
        &self,
        a: &Ciphertext,
        c: f64,
        scale: Scale,
        places: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        let c = self.constant_at(c, places, a.slots(), scale, a.modulus())?;
        Ok(self.evaluator().mul_plain(a, &c)?)
    }

    /// Encodes `c` in these slots and 0 in the others.
    fn constant_at(
        &self,
        c: f64,
        places: &[usize],
        slots: usize,
        scale: Scale,
        modulus: Modulus,
    ) -> Result<Plaintext, PegasusError> {
        let layout = Layout::new(slots, places.to_vec())?;
        let mut values = vec![0.0; slots];
        layout.places().iter().for_each(|place| values[*place] = c);
        Ok(self.plan().context().encode(Values::Real(&values), slots, scale, modulus)?)
    }
}

/// Returns the bound of a ciphertext that was [packed](Pegasus::packed) to these places before a
/// line or a constant was added [there](Pegasus::add_at).
///
/// `bound_at_places` is the bound of the result at the places. `packed_bound` is the bound of the
/// packed values, which stay in the repetitions.
pub(crate) fn bound_after_packing(
    bound_at_places: f64,
    packed_bound: f64,
    places: &[usize],
    slots: usize,
) -> f64 {
    if repeated_slots(places) < slots { bound_at_places.max(packed_bound) } else { bound_at_places }
}

/// Returns the smallest power of two of slots that holds all places.
fn repeated_slots(places: &[usize]) -> usize {
    places.iter().max().map_or(1, |last| (last + 1).next_power_of_two())
}

/// Returns log2 of the unit of the numbers of a domain and of the slopes of a function on it.
///
/// Slopes have an error of about `2^-bits`. In this unit, the effect of that error on the result is
/// at most an eighth of `error`, or numbers are at most 1. The unit is 1 except for functions of
/// large numbers, whose slopes are small. It takes its bits from the modulus of the numbers.
pub(crate) fn unit_of((low, high): (f64, f64), bits: f64, error: f64) -> i32 {
    let half = (high - low) / 2.0;
    let finer = (3.0 - bits - error.log2()).min(0.0);
    (half.log2() + finer).ceil().clamp(0.0, MAX_LOG2_UNIT) as i32
}
