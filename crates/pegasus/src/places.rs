//! Operations on the numbers in some slots only. Other slots may hold values beyond any bound.

use hippocrene_ckks::{Ciphertext, Plaintext, Scale, Values};
use hippocrene_rlwe::Modulus;

use crate::{Layout, Numbers, Pegasus, PegasusError};

/// log2 of the largest unit.
const MAX_LOG2_UNIT: f64 = 64.0;

impl Pegasus {
    /// The numbers in these slots of a ciphertext that has as many slots as `a`.
    ///
    /// The slots up to the smallest power of two that holds all places repeat over the ciphertext.
    /// Those without a number hold 0.
    pub(crate) fn packed(
        &self,
        x: &Numbers,
        a: &Ciphertext,
        places: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        self.repack_repeated(x, &Layout::new(reach(places), places.to_vec())?, a.slots())
    }

    /// `a + c` in these slots, and `a` in the others.
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

    /// `c a` in these slots, with `c` at `scale`, and 0 in the others.
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

    /// `c` in these slots, and 0 in others.
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

/// The bound of a ciphertext that was [packed](Pegasus::packed) to these places before a line or a
/// constant was added [there](Pegasus::add_at).
///
/// `at` is the bound of the result at the places. `beside` is the bound of the packed values, which
/// remain in the repetitions.
pub(crate) fn bound_of(at: f64, beside: f64, places: &[usize], slots: usize) -> f64 {
    if reach(places) < slots { at.max(beside) } else { at }
}

/// The smallest power of two of slots that holds all places.
fn reach(places: &[usize]) -> usize {
    places.iter().max().map_or(1, |last| (last + 1).next_power_of_two())
}

/// log2 of the unit of the numbers of a domain and of the slopes of a function on it.
///
/// Slopes have an error of about `2^-bits`. In this unit, that error makes at most an eighth of
/// `error` in the result, or numbers are at most 1. The unit is 1 except for functions of large
/// numbers, whose slopes are small. It takes its bits from the modulus of the numbers.
pub(crate) fn unit_of((low, high): (f64, f64), bits: f64, error: f64) -> i32 {
    let half = (high - low) / 2.0;
    let finer = (3.0 - bits - error.log2()).min(0.0);
    (half.log2() + finer).ceil().clamp(0.0, MAX_LOG2_UNIT) as i32
}
