//! What is done to the numbers in some slots, and not to what stands in others: they may be larger
//! than any bound says.

use hippocrene_ckks::{Ciphertext, Plaintext, Scale, Values};
use hippocrene_rlwe::Modulus;

use crate::{Layout, Numbers, Pegasus, PegasusError};

/// The largest unit, in bits.
const MOST_UNIT: f64 = 64.0;

impl Pegasus {
    /// The numbers in these slots of a ciphertext of as many as `a` has. The slots up to the least
    /// power of two that reaches all of them are repeated in the others; those among them that none
    /// of the numbers goes to hold 0.
    pub(crate) fn packed(
        &self,
        x: &Numbers,
        a: &Ciphertext,
        places: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        self.repack_repeated(x, &Layout::new(reach(places), places.to_vec())?, a.slots())
    }

    /// `a + c` in these slots, and `a` in others.
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

    /// `c a` in these slots, `c` at `scale`, and 0 in others.
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

/// The bound of what has been [packed](Pegasus::packed) to these places, and then had a line or a
/// middle added [there](Pegasus::add_at): that of the result `at` them, and where there are
/// repetitions, which are without, what is `beside` them.
pub(crate) fn bound_of(at: f64, beside: f64, places: &[usize], slots: usize) -> f64 {
    if reach(places) < slots { at.max(beside) } else { at }
}

/// The least power of two of slots that reaches all of them.
fn reach(places: &[usize]) -> usize {
    places.iter().max().map_or(1, |last| (last + 1).next_power_of_two())
}

/// The unit, as a power of two, in which the numbers of a domain and slopes of a function on it are
/// counted: such that what slopes are off by, about `2^-bits`, makes of numbers an eighth of
/// `error` at most, or numbers are at most 1. It is 1 but for functions of large numbers, whose
/// slopes are small; as many bits of the numbers' modulus are taken by it.
pub(crate) fn unit_of((low, high): (f64, f64), bits: f64, error: f64) -> i32 {
    let half = (high - low) / 2.0;
    let finer = (3.0 - bits - error.log2()).min(0.0);
    (half.log2() + finer).ceil().clamp(0.0, MOST_UNIT) as i32
}
