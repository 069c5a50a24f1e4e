//! Functions of numbers by look-up tables ([PEGASUS](hippocrene_pegasus)).

use hippocrene_ckks::{Ciphertext, Short};
use hippocrene_pegasus::{Function, Pegasus, PegasusError, Tables, Tangents};

use crate::server::Server;
use crate::{Array, EncryptedArray, Error, Interval, Numbers, SlotContents};

const APPLY: &str = "apply a function";

/// The operations on the order of values, which can also compare all pairs.
const ORDERS: [&str; 10] = [
    "sort", "top_k", "max", "min", "argmin", "argmax", "argsort", "max_pool", "median", "quantile",
];

/// Default maximum number of look-ups for one number.
const DEFAULT_MAX_LOOK_UPS: usize = 3;

/// Tolerance for an interval that exceeds a domain, relative to the largest number of the domain.
///
/// It allows for the rounding of bounds.
const ROUNDING_OF_BOUNDS: f64 = 1e-9;

/// Maximum error of the results of a steep function, relative to the largest result.
///
/// Functions with a larger error are refused. Chosen.
pub(in crate::server) const LARGEST_USEFUL_ERROR: f64 = 1.0 / 8.0;

/// The tables of a function, without or with slopes.
enum Made {
    Tables(Tables),
    Tangents(Tangents),
}

impl Made {
    fn deviation(&self) -> f64 {
        match self {
            Made::Tables(tables) => tables.deviation(),
            Made::Tangents(tangents) => tangents.deviation(),
        }
    }
}

impl Server {
    /// Evaluates `f` at every element by look-up tables.
    ///
    /// `domain` must hold the interval of the array ([`EncryptedArray::interval`]), which is the
    /// default. If that interval is one number, the result is exact and nothing is looked up. At
    /// most `look_ups` tables, from 1 to 4 and 3 by default, are looked up for an element. Fewer
    /// are used if another one would hardly lower the error ([`Tables`]).
    ///
    /// **Error:** [`Tables::deviation`] of [`Server::tables`] states it before anything is
    /// computed. The result has the capacity that the keys were made for. For functions that
    /// contain a straight line ([`Tables`]), it has no more than the array has after a product.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when the server has no look-up keys; [`Error::Argument`] when the array is
    /// complex or has no bound, when `f` is not finite on all of the domain, or when the domain is
    /// not an interval; [`Error::Capacity`] when the array has too little capacity to extract
    /// single numbers from slots.
    pub fn apply(
        &self,
        a: &EncryptedArray,
        f: impl Fn(f64) -> f64,
        domain: Option<(f64, f64)>,
        look_ups: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, APPLY)?;
        if let Some(value) = self.value_of_one(a, &f, domain)? {
            return self.constant(a, value);
        }
        self.apply_tables(a, &self.tables(f, domain.unwrap_or(ends(a)), look_ups)?)
    }

    /// Evaluates a named function at every element, as [`Server::apply`].
    ///
    /// Square roots, logarithms and reciprocals are computed by a polynomial instead, if the
    /// capacity of the array allows one with less than half of the error.
    ///
    /// # Errors
    /// [`Error::Argument`] when the function is not defined on all of the domain, or when the error
    /// would not be far below the values, and as [`Server::apply`].
    pub fn apply_function(
        &self,
        a: &EncryptedArray,
        function: Function,
        domain: Option<(f64, f64)>,
        look_ups: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        self.named(a, function, domain, |domain| {
            self.tables(|x| function.value(x), domain, look_ups).map(Made::Tables)
        })
    }

    /// Evaluates a named function at every element, as [`Server::apply_precisely`].
    ///
    /// A polynomial may be used instead, as in [`Server::apply_function`].
    ///
    /// # Errors
    /// As [`Server::apply_function`] and [`Server::apply_precisely`].
    pub fn apply_function_precisely(
        &self,
        a: &EncryptedArray,
        function: Function,
        domain: Option<(f64, f64)>,
    ) -> Result<EncryptedArray, Error> {
        self.named(a, function, domain, |domain| {
            self.tangents(|x| function.value(x), domain).map(Made::Tangents)
        })
    }

    fn named(
        &self,
        a: &EncryptedArray,
        function: Function,
        domain: Option<(f64, f64)>,
        make: impl Fn((f64, f64)) -> Result<Made, Error>,
    ) -> Result<EncryptedArray, Error> {
        let named = |error: Error| error.during(function.name());
        self.check_real(a, APPLY)?;
        let ends = domain.unwrap_or(ends(a));
        function.check(ends)?;
        if let Some(value) = self.value_of_one(a, |x| function.value(x), domain).map_err(named)? {
            return self.constant(a, value);
        }
        check_interval(a.interval(), ends).map_err(named)?;
        let made = self.pegasus.is_some().then(|| make(ends)).transpose().map_err(named)?;
        if function.is_steep() {
            let stated = made.as_ref().map_or(f64::INFINITY, Made::deviation);
            if let Some(result) = self.by_polynomial(a, function, ends, stated).map_err(named)? {
                return Ok(result);
            }
            let largest = function.value(ends.0).abs().max(function.value(ends.1).abs());
            if made.is_some() && stated > LARGEST_USEFUL_ERROR * largest {
                let what = format!(
                    "by tables the results would have an error of {}, and the largest is {}. \
                     Declare a smaller interval of the values (with_interval((low, high))), or \
                     compute it where more capacity is left, for a polynomial.",
                    Short(stated),
                    Short(largest)
                );
                return Err(named(Error::argument(APPLY, what)));
            }
        }
        let result = match made {
            Some(made) => self.apply_made(a, &made),
            None => make(ends).and_then(|made| self.apply_made(a, &made)),
        };
        result.map_err(named)
    }

    fn apply_made(&self, a: &EncryptedArray, made: &Made) -> Result<EncryptedArray, Error> {
        match made {
            Made::Tables(tables) => self.apply_tables(a, tables),
            Made::Tangents(tangents) => self.apply_tangents(a, tangents),
        }
    }

    /// Returns the value of `f` at every element of an array whose interval is one number, or `None`
    /// for any other array.
    ///
    /// # Errors
    /// [`Error::Argument`] when the number is not in `domain` or `f` is not finite there.
    pub(in crate::server) fn value_of_one(
        &self,
        a: &EncryptedArray,
        f: impl Fn(f64) -> f64,
        domain: Option<(f64, f64)>,
    ) -> Result<Option<f64>, Error> {
        self.check_real(a, APPLY)?;
        let interval = a.interval();
        if interval.low() != interval.high() {
            return Ok(None);
        }
        if let Some(domain) = domain {
            check_interval(interval, domain)?;
        }
        let (x, value) = (interval.low(), f(interval.low()));
        if !value.is_finite() {
            let what = format!("the function is {value} at {}, not finite", Short(x));
            return Err(Error::argument(APPLY, what));
        }
        Ok(Some(value))
    }

    /// Makes tables of `f` for [`Server::apply_tables`], which can be used any number of times.
    ///
    /// [`Tables::deviation`] is the error.
    ///
    /// # Errors
    /// As [`Server::apply`].
    pub fn tables(
        &self,
        f: impl Fn(f64) -> f64,
        domain: (f64, f64),
        look_ups: Option<usize>,
    ) -> Result<Tables, Error> {
        Ok(self.pegasus(APPLY)?.make_tables(domain, look_ups.unwrap_or(DEFAULT_MAX_LOOK_UPS), f)?)
    }

    /// Evaluates `f` at every element more precisely than [`Server::apply`].
    ///
    /// Two tables are looked up for an element, one of values and one of slopes. The error of the
    /// index then enters only by its square ([`Tangents`]). The slopes are multiplied by the
    /// elements. The result therefore has 28 bits less than the capacity that the keys were made
    /// for, and no more capacity than the array.
    ///
    /// # Errors
    /// As [`Server::apply`], and [`Error::Capacity`] when the keys were made for too little
    /// capacity.
    pub fn apply_precisely(
        &self,
        a: &EncryptedArray,
        f: impl Fn(f64) -> f64,
        domain: Option<(f64, f64)>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, APPLY)?;
        if let Some(value) = self.value_of_one(a, &f, domain)? {
            return self.constant(a, value);
        }
        self.apply_tangents(a, &self.tangents(f, domain.unwrap_or(ends(a)))?)
    }

    /// Makes tables of `f` with slopes for [`Server::apply_tangents`].
    ///
    /// They can be used any number of times. [`Tangents::deviation`] is the error.
    ///
    /// # Errors
    /// As [`Server::apply`].
    pub fn tangents(&self, f: impl Fn(f64) -> f64, domain: (f64, f64)) -> Result<Tangents, Error> {
        Ok(self.pegasus(APPLY)?.make_tangents(domain, f)?)
    }

    /// Evaluates the function of tables with slopes at every element.
    ///
    /// # Errors
    /// As [`Server::apply_precisely`].
    pub fn apply_tangents(
        &self,
        a: &EncryptedArray,
        tangents: &Tangents,
    ) -> Result<EncryptedArray, Error> {
        self.check_domain(a, tangents.domain(), self.table_margin()?)?;
        // Slopes are multiplied by the contents of all slots, so the stray ones must be zero.
        let clean = self.cleaned(a).map_err(|e| e.during(APPLY))?;
        self.apply_each(&clean, APPLY, |pegasus, c, places| {
            pegasus.apply_tangents(c, tangents, places)
        })
    }

    /// Evaluates the function of tables at every element.
    ///
    /// # Errors
    /// As [`Server::apply`].
    pub fn apply_tables(
        &self,
        a: &EncryptedArray,
        tables: &Tables,
    ) -> Result<EncryptedArray, Error> {
        self.check_domain(a, tables.domain(), self.table_margin()?)?;
        self.apply_each(a, APPLY, |pegasus, c, places| pegasus.apply(c, tables, places))
    }

    /// Applies `f` to every ciphertext, with the slots in it that hold elements.
    pub(in crate::server) fn apply_each(
        &self,
        a: &EncryptedArray,
        operation: &'static str,
        f: impl Fn(&Pegasus, &Ciphertext, &[usize]) -> Result<Ciphertext, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, operation)?;
        self.apply_blocks([a], self.form_of(&[a]), operation, |pegasus, [c], places| {
            f(pegasus, c, places)
        })
    }

    /// Applies `f` to the ciphertexts of arrays of one layout, which have been checked already.
    ///
    /// `f` gets one ciphertext of each array, and the slots in them that hold elements.
    pub(in crate::server) fn apply_blocks<const COUNT: usize>(
        &self,
        operands: [&EncryptedArray; COUNT],
        form: Numbers,
        operation: &'static str,
        f: impl Fn(&Pegasus, [&Ciphertext; COUNT], &[usize]) -> Result<Ciphertext, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        let pegasus = self.pegasus(operation)?;
        let applied = self.perform_checked(operands, |operands| {
            let a = operands[0];
            let slots = a.layout().slots();
            let mut places = vec![Vec::new(); a.layout().ciphertexts()];
            a.layout()
                .positions()
                .for_each(|position| places[position / slots].push(position % slots));
            let ciphertexts = operands.map(|a| a.expanded(&self.session));
            let out = places.iter().enumerate().map(|(k, places)| match places.is_empty() {
                true => Ok(None),
                false => f(pegasus, ciphertexts.each_ref().map(|all| &*all[k]), places).map(Some),
            });
            let out = out.collect::<Result<Vec<_>, _>>()?;
            // A ciphertext without elements may hold anything, so another result serves there.
            let other = out.iter().flatten().next().cloned();
            let out: Vec<Ciphertext> =
                out.into_iter().filter_map(|c| c.or_else(|| other.clone())).collect();
            // Results are repeated in the remaining slots, unless elements reach into the second
            // half of the slots. Other slots are 0 then.
            let clean = places.iter().all(|places| places.iter().any(|place| *place >= slots / 2));
            let slots = SlotContents::zero_if(clean);
            Ok(Array::from_ciphertexts(a.layout().clone(), form, slots, out))
        });
        applied.map_err(|e| e.during(operation))
    }

    /// The memory of the look-up keys in bytes, without the repacking key.
    pub(crate) fn table_key_bytes(&self) -> usize {
        let clusters = self.k_means.as_ref().map(|k_means| k_means.pegasus());
        self.pegasus.as_ref().or(clusters).map_or(0, Pegasus::key_bytes)
    }

    /// Returns how many look-ups this server and its clones have done so far.
    ///
    /// Another thread can follow the progress of a long computation with it. [`crate::Simulation`]
    /// predicts the total.
    pub fn look_ups_done(&self) -> u64 {
        let clusters = self.k_means.as_ref().map(|k_means| k_means.pegasus());
        [self.pegasus.as_ref(), clusters].into_iter().flatten().map(Pegasus::look_ups_done).sum()
    }

    pub(in crate::server) fn pegasus(&self, operation: &'static str) -> Result<&Pegasus, Error> {
        self.pegasus.as_ref().ok_or_else(|| without_tables(operation))
    }

    pub(in crate::server) fn check_real(
        &self,
        a: &EncryptedArray,
        operation: &'static str,
    ) -> Result<(), Error> {
        self.check(a, operation)?;
        if a.is_complex() {
            return Err(Error::argument(
                operation,
                "the array is complex, and tables are for real numbers",
            ));
        }
        a.check_error_known(operation)
    }

    /// Checks that an array is real and that its interval lies in the domain of a function.
    ///
    /// In a simulation, which knows the elements, it also checks that these lie within reach of
    /// tables.
    ///
    /// Values known to a simulation may exceed it by this fraction of half its width.
    pub(in crate::server) fn check_domain(
        &self,
        a: &EncryptedArray,
        (low, high): (f64, f64),
        margin: f64,
    ) -> Result<(), Error> {
        self.check_real(a, APPLY)?;
        check_interval(a.interval(), (low, high))?;
        let reach = (high - low) / 2.0 * margin;
        match self.known_beyond(a, (low - reach, high + reach)) {
            None => Ok(()),
            Some(x) => {
                let [x, low, high] = [x, low, high].map(Short);
                Err(Error::argument(
                    APPLY,
                    format!("a value of {x} is not in the domain from {low} to {high}"),
                ))
            }
        }
    }

    /// The fraction of half the width of a domain by which values may exceed it in tables.
    fn table_margin(&self) -> Result<f64, Error> {
        Ok(self.pegasus(APPLY)?.plan().literal().margin)
    }

    /// In a simulation, which knows the elements, returns an element outside of these limits if
    /// there is one. Otherwise returns `None`.
    pub(in crate::server) fn known_beyond(
        &self,
        a: &EncryptedArray,
        (low, high): (f64, f64),
    ) -> Option<f64> {
        self.known_where(a, |x| x < low || x > high)
    }

    /// Returns an element for which `is_wanted` is true, in a simulation, which knows the elements.
    pub(in crate::server) fn known_where(
        &self,
        a: &EncryptedArray,
        is_wanted: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        self.known_elements(a).into_iter().flatten().find(|x| is_wanted(*x))
    }

    /// Returns the real parts of the elements in row-major order, as far as they are known, which
    /// is in a simulation.
    pub(in crate::server) fn known_elements(&self, a: &EncryptedArray) -> Vec<Option<f64>> {
        let (layout, ciphertexts) = (a.layout(), a.expanded(&self.session));
        let known = |at: usize| {
            ciphertexts.get(at / layout.slots())?.tracked_values()?.get(at % layout.slots())
        };
        layout.positions().map(|at| Some(known(at)?.re)).collect()
    }
}

/// Returns the error of an operation that lacks keys of look-up tables.
pub(in crate::server) fn without_tables(operation: &'static str) -> Error {
    let what = match ORDERS.contains(&operation) {
        true => {
            "this server has no keys of look-up tables, and too little capacity or too few keys to \
             compare values without bootstraps. Make evaluation keys with bootstraps \
             (KeyRequest::bootstrapping), with a preset such as n16, or with tables \
             (KeyRequest::look_ups), with n15."
        }
        false => {
            "this server has no keys of look-up tables. Make evaluation keys with them \
             (KeyRequest::look_ups), with a preset such as n15, or approximate a function of \
             single values by a polynomial (Polynomial::approximate)."
        }
    };
    Error::NoKeys { operation, what: what.into() }
}

/// Returns the ends of the interval of an array.
fn ends(a: &EncryptedArray) -> (f64, f64) {
    (a.interval().low(), a.interval().high())
}

/// Checks that a domain holds an interval, up to the rounding of its ends.
fn check_interval(interval: Interval, (low, high): (f64, f64)) -> Result<(), Error> {
    let rounded = ROUNDING_OF_BOUNDS * low.abs().max(high.abs());
    // An end of a domain may be NaN here. Making the tables refuses it.
    if interval.low() < low - rounded || interval.high() > high + rounded {
        let what = format!(
            "the values are {interval}, but the domain is from {} to {}. Take a larger domain, or \
             declare that the values lie in this one (with_interval).",
            Short(low),
            Short(high)
        );
        return Err(Error::argument(APPLY, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_hold_intervals_but_for_roundings() {
        let interval = Interval::symmetric(16.0);
        let refused = check_interval(interval, (-8.0, 8.0)).unwrap_err().to_string();
        assert!(
            refused.contains("the values are from -16 to 16, but the domain is from -8 to 8"),
            "{refused}"
        );
        assert!(refused.contains("(with_interval)"), "{refused}");
        assert!(
            check_interval(interval, (-16.0, 15.0)).is_err()
                && check_interval(interval, (0.0, 16.0)).is_err()
        );
        assert!(check_interval(interval, (-16.0, 16.0 - 1e-9)).is_ok());
        assert!(check_interval(interval.abs(), (0.0, 16.0)).is_ok());
    }
}
