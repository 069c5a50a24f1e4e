//! Entries of a table at the places that encrypted numbers hold.

use std::borrow::Cow;

use hippocrene_ckks::{
    Short,
    circuits::{EntriesLiteral, EntriesPlan},
};

use super::Server;
use crate::{EncryptedArray, Error, Form, Numbers};

const OPERATION: &str = "entries of a table";

/// So many bits below the largest entry is what entries are off by at most, where nothing is said.
const PRECISION: f64 = 12.0;

impl Server {
    /// The entry of a table at the place that each element holds: an integer from 0 on, give or take a little. One computation for all elements, by polynomials ([`EntriesPlan`]): an entry comes out within `2^-precision`, which is
    /// `2^-12` of the largest of them where nothing is said, and an element that is off by `e` adds about `4 e^2` times the difference of entries, `8 e^2` in tables of up to 4. Among the places it is some mean of entries, and beyond them, below `-1/2` or
    /// above the last by more than 1/2, it may be anything.
    ///
    /// It takes [`EntriesPlan::bits`] of capacity, which where there are bootstrapping keys is given back on the way; and a multiplication more where there are slots with something else than elements. Integers have polynomials that do the same,
    /// exactly ([`hippocrene_bgv::circuits::Polynomial::of_entries`]).
    ///
    /// # Errors
    /// [`Error::Argument`] when the array is complex, the parameters are a simple chain, the bound of the array exceeds the last place by more than 1/2, its elements are too imprecise, or table and precision are not possible ([`EntriesPlan::new`]);
    /// [`Error::Capacity`] when too little is left; [`Error::MissingKey`] when the key of products is missing.
    pub fn entries(
        &self,
        a: &EncryptedArray,
        entries: &[f64],
        precision: Option<f64>,
    ) -> Result<EncryptedArray, Error> {
        self.check(a, OPERATION)?;
        let form = self.form_of(&[a]);
        if form.complex {
            return Err(Error::argument(OPERATION, "the array is complex, and places are integers"));
        }
        if self.session.context().parameters().top().sprout().is_one() {
            let what = "on a simple chain scales cannot be chosen; take parameters with a sprout";
            return Err(Error::argument(OPERATION, what));
        }
        let last = entries.len() as f64 - 0.5;
        if let Some(x) = self.known_beyond(a, (-0.5, last)) {
            let what = format!("a value of {} is no place of {} entries", Short(x), entries.len());
            return Err(Error::argument(OPERATION, what));
        }
        let a = if a.has_strays() { Cow::Owned(self.cleaned(a)?) } else { Cow::Borrowed(a) };
        let first = entries.first().copied().unwrap_or(0.0);
        // Where there is no element, zeros stay: the first entry is added to elements alone.
        let apart = first != 0.0 && a.is_clean() && !a.layout().is_full();
        let largest = entries.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        let precision =
            precision.unwrap_or_else(|| PRECISION - if largest > 0.0 { largest.log2() } else { 0.0 });
        let table = entries.iter().map(|entry| if apart { entry - first } else { *entry }).collect();
        let literal = EntriesLiteral { slots: self.session.slots(), entries: table, precision };
        let plan = EntriesPlan::new(self.session.context(), literal)
            .map_err(|e| self.advised::<Numbers>(Error::from(e), &[]))?;
        let refresh = self.refresh_of(&form, &[a.layout()]);
        let clean = a.layout().is_full() || a.is_clean() && (apart || first == 0.0);
        let out =
            self.map(&a, OPERATION, clean, 0.0, |_, x| Ok(self.evaluator.entries(x, &plan, &*refresh)?))?;
        if !apart {
            return Ok(out);
        }
        let mut out =
            self.add_plain(&out, Numbers::plain(&vec![first; a.size()])).map_err(|e| e.during(OPERATION))?;
        out.set_bound(out.bound().min(largest + (-precision).exp2()));
        Ok(out)
    }
}
