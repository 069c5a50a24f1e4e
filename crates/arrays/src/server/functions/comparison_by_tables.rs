//! Signs, comparisons, equality, maximum and minimum by look-up tables.

use hippocrene_ckks::Short;
use hippocrene_pegasus::{Extremum, Pegasus};

use crate::server::{
    Comparison, Server,
    functions::comparison::{DEVIATIONS_FROM_ZERO, indistinct},
};
use crate::{EncryptedArray, Error};

/// Part of error messages: the keys or the capacity for more precision than tables have.
const MORE_PRECISION_HINT: &str =
    "More needs bootstrapping keys, or the conjugation key and more capacity.";

impl Server {
    /// Returns the smallest absolute value, or difference, that tables tell from 0.
    ///
    /// `bound` is the bound of the absolute values. The gap is seven standard deviations of the
    /// error of the table index. With `lut12` this is about a 118th of `bound`. It is about twice
    /// as large with `lut11`, and about half as large with `lut13`.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when the server has no look-up keys; [`Error::Argument`] when the bound is
    /// negative or not finite.
    pub fn table_gap(&self, bound: f64) -> Result<f64, Error> {
        Ok(self.tables_for_gap("gap of tables", bound)?.step_gap(bound))
    }

    /// Returns the distance from which on [`Server::argsort`] puts two elements in order.
    ///
    /// `bound` is the bound of the absolute values. The gap is seven standard deviations of the
    /// error in a difference of extracted numbers. It holds for elements whose own error is much
    /// smaller. On `n15` it is about a 340th of `bound` with
    /// `lut12`.
    ///
    /// # Errors
    /// As [`Server::table_gap`].
    pub fn argsort_gap(&self, bound: f64) -> Result<f64, Error> {
        Ok(self.tables_for_gap("gap of argsort", bound)?.argsort_gap(bound))
    }

    /// Returns the tables, if `bound` is a bound.
    fn tables_for_gap(&self, operation: &'static str, bound: f64) -> Result<&Pegasus, Error> {
        let pegasus = self.pegasus(operation)?;
        if !(bound.is_finite() && bound >= 0.0) {
            let what = format!(
                "absolute values up to {}: a finite bound is needed, not below 0",
                Short(bound)
            );
            return Err(Error::argument(operation, what));
        }
        Ok(pegasus)
    }

    /// Returns 1 where `a` and `b` differ by less than `tolerance`, and 0 where they differ by
    /// more.
    ///
    /// This is one look-up for each element. Shapes broadcast as in numpy.
    ///
    /// **Error:** [`EncryptedArray::precision_bits`] of the result, if the difference is far enough
    /// from the tolerance. It must be farther away than [`Server::table_gap`] of the sum of both
    /// bounds and the tolerance. For a nearer difference, the result may be either 0 or 1.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when the server has no look-up keys; [`Error::Argument`] when the arrays
    /// are complex or have no bound, or when the tolerance is not above that gap; [`Error::Shape`]
    /// when the shapes do not fit; [`Error::Capacity`] when there is too little capacity to extract
    /// single numbers from slots.
    pub fn is_close(
        &self,
        a: &EncryptedArray,
        b: &EncryptedArray,
        tolerance: f64,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "is close";
        self.check_two(a, b, OPERATION)?;
        let difference = self.sub(a, b).map_err(|e| e.during(OPERATION))?;
        self.near(&difference, tolerance, OPERATION)
    }

    /// Returns 1 where the absolute value is less than `tolerance`, and 0 where it is more.
    ///
    /// This is [`Server::is_close`] with 0 as the second operand.
    ///
    /// # Errors
    /// As [`Server::is_close`].
    pub fn is_near_zero(
        &self,
        a: &EncryptedArray,
        tolerance: f64,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "compare with 0";
        self.check(a, OPERATION)?;
        self.near(a, tolerance, OPERATION)
    }

    fn near(
        &self,
        a: &EncryptedArray,
        tolerance: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        self.pegasus(operation)?;
        let distances = a.interval().abs();
        if !a.is_complex()
            && tolerance > 0.0
            && (distances.high() < tolerance || distances.low() >= tolerance)
        {
            let near = f64::from(distances.high() < tolerance);
            return self.constant(a, near).map_err(|e| e.during(operation));
        }
        let near = self.apply_each(a, operation, |pegasus, c, places| {
            pegasus.apply_near(c, tolerance, places)
        });
        near.map_err(|error| match error {
            Error::Argument { what, .. } => Error::argument(operation, what),
            other => other,
        })
    }

    /// Returns the gap of tables for the elements of `d`, if the step is moved by the gap itself.
    ///
    /// Moving the step widens the bound of the values by the gap, which in turn widens the gap.
    pub(in crate::server) fn moved_table_gap(
        &self,
        d: &EncryptedArray,
        operation: &'static str,
    ) -> Result<f64, Error> {
        let pegasus = self.pegasus(operation)?;
        let off = DEVIATIONS_FROM_ZERO * self.noise_of(&[d]).log2_std().exp2();
        let part = pegasus.step_gap(1.0);
        Ok((part * d.bound()).hypot(off) / (1.0 - part.min(0.5)))
    }

    /// Returns 1 for elements above 0 and 0 for elements below.
    pub(in crate::server) fn step_by_tables(
        &self,
        a: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        self.check_tables(&[a], how, operation)?;
        self.apply_each(a, operation, |pegasus, c, places| pegasus.apply_step(c, places))
    }

    /// Returns 1 for elements above 0 and -1 for elements below.
    pub(in crate::server) fn sign_by_tables(
        &self,
        a: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        self.check_tables(&[a], how, operation)?;
        self.apply_each(a, operation, |pegasus, c, places| pegasus.apply_sign(c, places))
    }

    /// Returns the larger or the smaller of `a` and `b`, or of `a` and 0.
    ///
    /// The error bound holds at every difference, so `how.gap` is ignored.
    pub(in crate::server) fn order_by_tables(
        &self,
        a: &EncryptedArray,
        b: Option<&EncryptedArray>,
        which: Extremum,
        how: Comparison,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        self.check_order(a.bound() + b.map_or(0.0, EncryptedArray::bound), how, operation)?;
        self.check_real(a, operation)?;
        let Some(b) = b else {
            let one = |pegasus: &Pegasus, c: &_, places: &[usize]| {
                pegasus.apply_order(c, None, which, places)
            };
            return self.apply_each(a, operation, one);
        };
        self.check_real(b, operation)?;
        let form = self.form_of(&[a, b]);
        let (a, b) = self.broadcast(a, b, operation).map_err(|e| e.during(operation))?;
        self.apply_blocks([&*a, &*b], form, operation, |pegasus, [x, y], places| {
            pegasus.apply_order(x, Some(y), which, places)
        })
    }

    /// Returns the absolute values, by one look-up for each.
    pub(in crate::server) fn magnitude_by_tables(
        &self,
        a: &EncryptedArray,
        how: Comparison,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        self.check_order(a.bound(), how, operation)?;
        self.apply(a, f64::abs, None, Some(1)).map_err(|e| e.during(operation))
    }

    /// Checks that tables are as precise as `how` asks, for differences up to `bound`.
    ///
    /// Half the error of a table index must not exceed the error of polynomials near 0. The latter
    /// is a quarter of `2^-precision` of the bound.
    fn check_order(
        &self,
        bound: f64,
        how: Comparison,
        operation: &'static str,
    ) -> Result<(), Error> {
        let pegasus = self.pegasus(operation)?;
        let off =
            pegasus.step_gap(bound) / bound + DEVIATIONS_FROM_ZERO * pegasus.repacking_deviation();
        let bits = -(2.0 * off).log2();
        if how.precision.is_some_and(|asked| asked > bits) {
            let what = format!("tables have a precision of {bits:.1} bits. {MORE_PRECISION_HINT}");
            return Err(Error::argument(operation, what));
        }
        Ok(())
    }

    /// Checks that tables have the gap and the precision that `how` asks for.
    ///
    /// They apply to the difference of two operands, or to the only operand. The error of a sign is
    /// that of repacking, and the error of a comparison is half of it.
    pub(in crate::server) fn check_tables(
        &self,
        operands: &[&EncryptedArray],
        how: Comparison,
        operation: &'static str,
    ) -> Result<(), Error> {
        let pegasus = self.pegasus(operation)?;
        let bound = operands.iter().map(|a| a.bound()).sum();
        // The error of the operands, which adds to that of the index.
        let off = DEVIATIONS_FROM_ZERO * self.noise_of(operands).log2_std().exp2();
        let (gap, bits) = (
            pegasus.step_gap(bound).hypot(off),
            -(DEVIATIONS_FROM_ZERO * pegasus.repacking_deviation()).log2(),
        );
        if how.gap.is_some_and(|asked| asked < gap)
            || how.precision.is_some_and(|asked| asked > bits)
        {
            let what = format!(
                "tables have a gap of {gap:.2e} for numbers up to {} with the error of these, and \
                 a precision of {bits:.1} bits. {MORE_PRECISION_HINT}",
                Short(bound)
            );
            return Err(Error::argument(operation, what));
        }
        let [least, most] =
            [how.gap.unwrap_or(gap), operands.iter().map(|a| a.interval().bound()).sum()];
        if most <= least {
            return Err(indistinct(most, least, operation));
        }
        Ok(())
    }
}
