//! The larger or the smaller of two numbers, from slots to slots.
//!
//! They are half of `x + y + |x - y|` and of `x + y - |x - y|`. The magnitude is antiperiodic up to
//! a constant. So differences can use the whole circle, at twice the resolution of other tables.

use hippocrene_ckks::Ciphertext;
use hippocrene_fhew::{LookupTable, LweCiphertext};
use hippocrene_rlwe::Noise;

use crate::{Numbers, Pegasus, PegasusError, sign::max_excess};

/// Selects the larger or the smaller of two numbers. See [`Pegasus`] for an example of a setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extremum {
    /// Selects the larger number.
    Larger,
    /// Selects the smaller number.
    Smaller,
}

impl Pegasus {
    /// Returns the larger (or the smaller) of the numbers in these slots of `a` and `b`, by one
    /// look-up. Without `b`, it compares with 0.
    ///
    /// The result has the capacity that repacking leaves. It does not depend on the capacity of the
    /// operands.
    ///
    /// **Error:** that of the selected number, plus half of the error that rounding the index makes
    /// in a table on the whole circle, plus that of rotation and repacking.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::to_coefficients`], [`Pegasus::extract`] and
    /// [`Pegasus::repack`].
    pub fn apply_order(
        &self,
        a: &Ciphertext,
        b: Option<&Ciphertext>,
        which: Extremum,
        slots: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        let (left, right) = (a.bound(), b.map_or(0.0, Ciphertext::bound));
        let all = left + right;
        // Twice the result is in `[centre - all, centre + all]`.
        let centre = match which {
            Extremum::Larger => (left - right).abs(),
            Extremum::Smaller => -(left - right).abs(),
        };
        // Numbers to be repacked use a small part of the circle. The difference is multiplied by
        // this integer, so that it uses the whole circle.
        let times = (0.5 / self.plan().literal().reduction.epsilon()).ceil();
        let beyond: f64 =
            [Some(a), b].into_iter().flatten().map(|c| max_excess(c.precision_bits())).sum();
        let single = |c: &Ciphertext| {
            let mut wide = c.clone();
            wide.set_bound(0.5 * times * (all + beyond));
            self.extract(&self.to_coefficients(&wide)?, slots)?.with_bound(c.bound())
        };
        let x = single(a)?;
        let (sum, difference) = match b {
            None => (x.clone(), x.clone()),
            Some(b) => {
                let y = single(b)?;
                (x.add(&y)?, x.sub(&y)?)
            }
        };
        let (magnitude, middle) = self.magnitudes(&difference, times as i64)?;
        // The result has both errors of the selected number, and no error of the other one.
        let noise = |i: usize| {
            x.ciphertexts()[i].noise().scaled(1.0).plus(magnitude.ciphertexts()[i].noise())
        };
        let (sum, magnitude) = (sum.with_bound(0.0)?, magnitude.clone().with_bound(0.0)?);
        let twice = match which {
            Extremum::Larger => sum.add(&magnitude)?.plus(middle - centre)?,
            Extremum::Smaller => sum.sub(&magnitude)?.plus(-middle - centre)?,
        };
        let half = twice.with_noises(noise).with_bound(all)?.over(2.0)?;
        let mut packed = self.add_at(&self.packed(&half, a, slots)?, centre / 2.0, slots)?;
        packed.set_bound(left.max(right));
        Ok(packed)
    }

    /// Returns `|x| - m` at the scale of `x`, and `m`, by tables of `times x`, which may use nearly
    /// the whole circle. The noise estimate counts only the rounding of the index.
    fn magnitudes(&self, x: &Numbers, times: i64) -> Result<(Numbers, f64), PegasusError> {
        let parameters = self.tables().parameters();
        let wide = x
            .clone()
            .with_bound(0.0)?
            .times_integer(times)?
            .with_bound(x.bound() * times as f64)?;
        let domain = self.circle_domain(&wide)?;
        let middle = domain / times as f64;
        let value = |x: f64| (x.abs() - domain) / times as f64;
        let table =
            LookupTable::new(&parameters, domain, self.entry_scale(x.scale()).to_f64(), value)?;
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            wide.ciphertexts().iter().map(|c| (c, &table)).collect();
        let index = parameters.index_noise(Noise::NONE, wide.parameters().modulus());
        let noise = parameters.noise().plus(table.noise(index));
        Ok((Numbers::new(self.look_up_sums(&items, 1, Some(noise))?, x.scale(), middle)?, middle))
    }
}
