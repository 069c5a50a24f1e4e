//! Look-up of plain table entries at encrypted indices, by polynomials.

use std::borrow::Cow;

use hippocrene_ckks::{
    NoRefresh, Refresh, Short,
    bootstrap::SineUse,
    circuits::{EntriesLiteral, EntriesPlan, SineEntriesPlan},
};

use crate::server::{Server, planner::choose::Candidate};
use crate::{EncryptedArray, Error, Interval, Numbers};

const OPERATION: &str = "entries of a table";

/// Default precision: the error is this many bits below the spread of the entries.
const DEFAULT_PRECISION: f64 = 12.0;

/// The largest distance from an integer of an index that a simulation accepts. Chosen: it is far
/// above the errors of computed indices.
const MAX_DISTANCE: f64 = 0.25;

impl Server {
    /// Returns the table entry at the index that each element holds.
    ///
    /// The indices are integers from 0 on, with a small error. One computation by polynomials
    /// ([`EntriesPlan`]) serves all elements.
    ///
    /// **Error:** at most `2^-precision`. By default this is `2^-12` of the spread, the difference
    /// of the largest and the smallest entry. An index with error `e` adds about `3.3 e^2` times
    /// the difference of entries, or `8 e^2` times in tables of up to 4 entries. Between two
    /// indices, the result is some mean of entries.
    ///
    /// Elements outside of the table, or between two indices, are evaluated without an error
    /// message, unless a simulation knows them. An element below `-1/2` gives the result for its
    /// mirror image about `-1/2`. In tables of up to 4 entries, an element more than 1/8 below the
    /// first or above the last index may give any value.
    ///
    /// This uses [`EntriesPlan::bits`] of capacity. With bootstrapping keys, capacity is restored
    /// on the way, or the table is looked up at sines from a bootstrap of the indices
    /// ([`SineEntriesPlan`]). The fastest way that leaves enough capacity is taken. Tables of up to
    /// 4 entries cost one more multiplication if the array has stray slots. For arrays of integers,
    /// polynomials do the same exactly ([`crate::IntegerPolynomial::of_entries`]).
    ///
    /// # Errors
    /// [`Error::Argument`] when the array is complex or the parameters are a simple chain; when the
    /// interval of the array reaches more than 1/2 beyond the first or the last index, or more than
    /// 1/8 in tables of up to 4 entries; when the elements are too imprecise; when table and
    /// precision are not possible ([`EntriesPlan::new`]); and in a simulation when an element lies
    /// outside of the table or is no integer. [`Error::Capacity`] when too little is left.
    /// [`Error::MissingKey`] when the relinearisation key is missing.
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
        // The first entry is subtracted here and added in the end, so that zeros stay zero in slots
        // without an element.
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
                "values {} are possible, and places are integers from 0 to {last}. Declare the \
                 interval (0, {last}) if no value is beyond (with_interval).",
                a.interval()
            );
            return Err(Error::argument(OPERATION, what));
        }
        if let Some(x) = self.known_beyond(a, places) {
            let what = format!("a value of {} is no place of {} entries", Short(x), entries.len());
            return Err(Error::argument(OPERATION, what));
        }
        if let Some(x) = self.known_where(a, |x| (x - x.round()).abs() > MAX_DISTANCE) {
            let what = format!(
                "a value of {} is no integer, and the result would be some mean of entries. Encode \
                 categories as integers from 0 on.",
                Short(x)
            );
            return Err(Error::argument(OPERATION, what));
        }
        let place = a.interval().low();
        if a.interval().width() == 0.0 && place.fract() == 0.0 {
            let entry = entries.get(place as usize).copied().unwrap_or_default();
            return self.constant(a, entry).map_err(|e| e.during(OPERATION));
        }
        let a = match plan.accepts_any_argument() || !a.has_strays() {
            true => Cow::Borrowed(a),
            false => Cow::Owned(self.cleaned(a)?),
        };
        let found = |server: &Server, a: &EncryptedArray, refresh: &dyn Refresh| {
            server.map_as_it_is(a, OPERATION, true, |_, x| {
                Ok(server.evaluator.entries(x, &plan, refresh)?)
            })
        };
        let refreshed =
            Candidate::new("a circuit with bootstraps", |server: &Server, [a]: [_; 1]| {
                found(server, a, &*server.refresh_of(&form, &[a.layout()])?)
            });
        // The last operation of a program may leave nothing for another bootstrap.
        let at_once =
            Candidate::new("a circuit without bootstraps", |server: &Server, [a]: [_; 1]| {
                found(server, a, &NoRefresh(server.session.context()))
            });
        let mut candidates = vec![refreshed, at_once.otherwise(1)];
        let sine_error = SineEntriesPlan::estimated_sine_error(plan.literal());
        for (tier, sine_use) in self.sines_for_tables(sine_error).into_iter().enumerate() {
            let literal = plan.literal().clone();
            let run = move |server: &Server, [a]: [&EncryptedArray; 1]| {
                server.entries_of_sines(a, literal.clone(), sine_use)
            };
            let name = match tier {
                0 => "a table of sines from a bootstrap",
                _ => "a table of sines from a bootstrap at smaller scales",
            };
            candidates.push(Candidate::new(name, run).otherwise(tier));
        }
        let mut out = self.perform(OPERATION, [&*a], f64::INFINITY, &candidates)?;
        // How far values may lie outside of the range of the entries.
        let beyond = (out.bound() - high.max(-low)).max(0.0);
        let values = Interval::new(low + first, high + first).unwrap_or(Interval::EVERYTHING);
        if first != 0.0 {
            out = self.add_number(&out, first).map_err(|e| e.during(OPERATION))?;
            out.set_bound(out.bound().min(values.bound() + beyond));
        }
        Ok(out.with_known_interval(values + Interval::symmetric(beyond)))
    }

    /// Looks up a table during a bootstrap of its indices.
    fn entries_of_sines(
        &self,
        a: &EncryptedArray,
        literal: EntriesLiteral,
        sine_use: SineUse,
    ) -> Result<EncryptedArray, Error> {
        let count = literal.entries.len() as f64;
        let found = self.bootstrap_to_sines(a, (-0.5, count - 0.5), sine_use)?;
        let spacing = 2.0 * found.angle / count;
        let plan = SineEntriesPlan::new(self.session.context(), literal, spacing)?;
        let out = self.map_as_it_is(&found.sines, OPERATION, true, |_, x| {
            Ok(self.evaluator.entries_of_sines(x, &plan, found.errors)?)
        })?;
        let mut out = match plan.offset() {
            0.0 => out,
            offset => self.add_number(&out, offset)?,
        };
        out.set_bound(out.bound().min(plan.result_bound()));
        Ok(out)
    }
}
