//! Signs and equality, from slots to slots.
//!
//! Numbers use the whole circle. The domain of other tables is half of it. So the error of the
//! index is half as large.

use hippocrene_ckks::{Ciphertext, Short};
use hippocrene_fhew::{LookupTable, LweCiphertext};
use hippocrene_rlwe::Noise;

use crate::{Numbers, Pegasus, PegasusError, error::argument, look_up::INDEX_DEVIATIONS};

/// Number of standard deviations of the index beyond which a number is certainly on its side of a
/// step (chosen).
pub(crate) const STEP_DEVIATIONS: f64 = 7.0;

impl Pegasus {
    /// Returns the distance from a step of [`Pegasus::apply_step`] or [`Pegasus::apply_near`]
    /// beyond which the result is certain, for numbers up to `bound`.
    ///
    /// It is seven standard deviations of the index. Closer to the step, the result may be either
    /// value.
    pub fn step_gap(&self, bound: f64) -> f64 {
        let parameters = self.tables().parameters();
        let margin = 1.0 + self.plan().literal().margin;
        STEP_DEVIATIONS * self.index_deviation() * bound * margin
            / parameters.ring().dimension() as f64
    }

    /// The standard deviation of the error of a repacked number, relative to the bound that it is
    /// repacked with.
    pub fn repacking_deviation(&self) -> f64 {
        let lwe = self.back().parameters()[1].log2_modulus();
        (self.number_noise().log2_std() - lwe).exp2() / self.plan().literal().reduction.epsilon()
    }

    /// The noise of a number after a look-up, without the effect of the error of the index.
    pub(crate) fn number_noise(&self) -> Noise {
        let (parameters, back) = (self.tables().parameters(), self.back());
        let [ring, lwe] = [parameters.ring(), back.parameters()[1]].map(|p| p.log2_modulus());
        parameters.noise().scaled(lwe - ring).plus(back.noise())
    }

    /// The standard deviation of the index of extracted numbers, in entries of a table.
    pub(crate) fn index_deviation(&self) -> f64 {
        let extraction = self.extraction();
        let modulus = extraction.parameters()[1].modulus();
        self.tables().parameters().index_noise(extraction.noise(), modulus).log2_std().exp2()
    }

    /// Returns 1 where the number in one of these slots of `a` is above 0, and 0 where it is below,
    /// by one look-up.
    ///
    /// **Error:** half of [`Pegasus::repacking_deviation`] if the number differs from 0 by more
    /// than [`Pegasus::step_gap`]. For closer numbers, the result is 0 or 1 with this error.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::to_coefficients`], [`Pegasus::extract`] and
    /// [`Pegasus::repack`].
    pub fn apply_step(&self, a: &Ciphertext, slots: &[usize]) -> Result<Ciphertext, PegasusError> {
        self.add_at(&self.half_signs(a, slots)?, 0.5, slots)
    }

    /// Returns 1 where the number in one of these slots of `a` is above 0, and -1 where it is
    /// below. It is twice [`Pegasus::apply_step`], minus 1.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::apply_step`].
    pub fn apply_sign(&self, a: &Ciphertext, slots: &[usize]) -> Result<Ciphertext, PegasusError> {
        Ok(self.evaluator().mul_integer(&self.half_signs(a, slots)?, 2)?)
    }

    /// Returns half of the signs.
    fn half_signs(&self, a: &Ciphertext, slots: &[usize]) -> Result<Ciphertext, PegasusError> {
        let x = self.extract_to_circle(a, a.bound(), slots)?;
        let step = self.look_up_sign(&x, self.plan().repacking_scale(0.5)?)?;
        self.packed(&step.plus(-0.5)?.with_bound(0.5)?, a, slots)
    }

    /// Returns 1 where the number in one of these slots of `a` is closer to 0 than `tolerance`, and
    /// 0 where it is farther, by one look-up.
    ///
    /// **Error:** [`Pegasus::repacking_deviation`] if the number is far enough from `tolerance` and
    /// `-tolerance`. The necessary distance is [`Pegasus::step_gap`] of the bound of `a` plus the
    /// tolerance, combined with seven standard deviations of the error of `a`. For closer numbers,
    /// the result is 0 or 1 with this error.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the tolerance is not positive, not larger than that
    /// distance, or larger than the bound. Also returns the errors of [`Pegasus::apply_step`].
    pub fn apply_near(
        &self,
        a: &Ciphertext,
        tolerance: f64,
        slots: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        const OPERATION: &str = "compare with 0";
        if tolerance.is_nan() || tolerance <= 0.0 {
            return argument(
                OPERATION,
                format!("a tolerance of {tolerance:?}: a positive one is needed"),
            );
        }
        let bound = a.bound() + tolerance;
        let gap = self.step_gap(bound).hypot(STEP_DEVIATIONS * (-a.precision_bits()).exp2());
        if !(tolerance > gap && tolerance <= a.bound()) {
            let [tolerance, bound] = [tolerance, a.bound()].map(Short);
            let what = format!(
                "a tolerance of {tolerance}: these tables tell {gap:.2e} from 0, for numbers up \
                 to {bound} with the error of these"
            );
            return argument(OPERATION, what);
        }
        // Beyond half of the circle the table continues with the opposite sign. It is 0 there. It
        // is -1 only where no number can be, because the bound is less than half of the circle by
        // the tolerance.
        let x = self.extract_to_circle(a, bound, slots)?;
        let (parameters, scale) = (self.tables().parameters(), self.plan().repacking_scale(1.0)?);
        let near = |x: f64| f64::from(x.abs() < tolerance);
        let table = LookupTable::new(
            &parameters,
            self.circle_domain(&x)?,
            self.entry_scale(scale).to_f64(),
            near,
        )?;
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            x.ciphertexts().iter().map(|c| (c, &table)).collect();
        let near =
            Numbers::new(self.look_up_sums(&items, 1, Some(parameters.noise()))?, scale, 1.0)?;
        self.packed(&near, a, slots)
    }

    /// Extracts the numbers in these slots, at a scale at which `bound` plus their error and the
    /// margin is half of the circle.
    fn extract_to_circle(
        &self,
        a: &Ciphertext,
        bound: f64,
        slots: &[usize],
    ) -> Result<Numbers, PegasusError> {
        let mut a = a.clone();
        a.set_bound((bound + max_excess(a.precision_bits())) / 2.0);
        self.extract(&self.to_coefficients(&a)?, slots)?.with_bound(bound)
    }
}

/// Returns the distance that numbers of this precision may be beyond their bound.
pub(crate) fn max_excess(precision_bits: f64) -> f64 {
    INDEX_DEVIATIONS * (-precision_bits).exp2()
}
