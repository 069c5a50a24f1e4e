//! Entries of a table at the places that encrypted numbers hold.

use std::borrow::Cow;

use hippocrene_ckks::{
    NoRefresh, Refresh, Short,
    circuits::{EntriesLiteral, EntriesPlan},
};

use crate::server::Server;
use crate::{EncryptedArray, Error, Interval, Numbers};

const OPERATION: &str = "entries of a table";

/// Default error of entries: this many bits below the difference of the largest and the smallest.
const DEFAULT_PRECISION: f64 = 12.0;

impl Server {
    /// The entry of a table at the place that each element holds: an integer from 0 on, give or
    /// take a little. One computation for all elements, by polynomials ([`EntriesPlan`]): an entry
    /// comes out within `2^-precision`, which is `2^-12` of the difference of the largest and the
    /// smallest where nothing is said, and an element that is off by `e` adds about `3.3 e^2` times
    /// the difference of entries, `8 e^2` in tables of up to 4. Among the places it is some mean of
    /// entries. An element below `-1/2` is taken for what is as far above; in tables of up to 4
    /// entries what is farther from the places than 1/8 may come out as anything.
    ///
    /// It takes [`EntriesPlan::bits`] of capacity, which where there are bootstrapping keys is
    /// given back on the way; and of up to 4 entries a multiplication more where there are slots
    /// with something else than elements. Integers have polynomials that do the same, exactly
    /// ([`crate::IntegerPolynomial::of_entries`]).
    ///
    /// # Errors
    /// [`Error::Argument`] when the array is complex, the parameters are a simple chain, the bound
    /// of the array exceeds the last place by more than that, its elements are too imprecise, or
    /// table and precision are not possible ([`EntriesPlan::new`]); [`Error::Capacity`] when too
    /// little is left; [`Error::MissingKey`] when the key of products is missing.
    pub fn entries(
        &self,
        a: &EncryptedArray,
        entries: &[f64],
        precision: Option<f64>,
    ) -> Result<EncryptedArray, Error> {
        self.check(a, OPERATION)?;
        let form = self.form_of(&[a]);
        if form.complex {
            return Err(Error::argument(
                OPERATION,
                "the array is complex, and places are integers",
            ));
        }
        if self.session.context().parameters().top().sprout().is_one() {
            let what = "on a simple chain scales cannot be chosen; take parameters with a sprout";
            return Err(Error::argument(OPERATION, what));
        }
        let first = entries.first().copied().unwrap_or(0.0);
        // Zeros stay where there is no element: the first entry is added in the end.
        let table: Vec<f64> = entries.iter().map(|entry| entry - first).collect();
        let (low, high) =
            table.iter().fold((0.0f64, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
        let precision = precision.unwrap_or_else(|| match high - low {
            0.0 => DEFAULT_PRECISION,
            spread => DEFAULT_PRECISION - spread.log2(),
        });
        let literal = EntriesLiteral { slots: self.session.slots(), entries: table, precision };
        let plan = EntriesPlan::new(self.session.context(), literal).map_err(|e| {
            self.advised::<Numbers>(Error::from(e), &[])
                .with_at_most(a.capacity_bits(&self.session))
        })?;
        let places = plan.places();
        if !Interval::new(places.0, places.1).is_some_and(|places| places.covers(a.interval())) {
            let last = entries.len() - 1;
            let what = format!(
                "values {} are possible, and places are integers from 0 to {last}. Declare the interval (0, {last}) if no value is beyond (EncryptedArray::with_interval; in Python, encrypt(.., interval=(0, {last})) or x.with_interval((0, {last})))",
                a.interval()
            );
            return Err(Error::argument(OPERATION, what));
        }
        if let Some(x) = self.known_beyond(a, places) {
            let what = format!("a value of {} is no place of {} entries", Short(x), entries.len());
            return Err(Error::argument(OPERATION, what));
        }
        let a = match plan.is_tame() || !a.has_strays() {
            true => Cow::Borrowed(a),
            false => Cow::Owned(self.cleaned(a)?),
        };
        let refresh = self.refresh_of(&form, &[a.layout()]);
        let found = |refresh: &dyn Refresh, bits: f64| {
            self.map(&a, OPERATION, true, bits, |_, x| {
                Ok(self.evaluator.entries(x, &plan, refresh)?)
            })
        };
        let mut out = match found(&*refresh, 0.0) {
            // It may be the last operation, which leaves nothing for another bootstrap.
            Err(Error::Capacity { .. }) if self.bootstraps.is_some() => {
                found(&NoRefresh(self.session.context()), plan.bits())?
            }
            out => out?,
        };
        // By what values may be beyond the entries.
        let beyond = (out.bound() - high.max(-low)).max(0.0);
        let values = Interval::new(low + first, high + first).unwrap_or(Interval::EVERYTHING);
        if first != 0.0 {
            out = self.add_number(&out, first).map_err(|e| e.during(OPERATION))?;
            out.set_bound(out.bound().min(values.bound() + beyond));
        }
        Ok(out.within(values + Interval::symmetric(beyond)))
    }
}
