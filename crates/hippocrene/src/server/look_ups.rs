//! Functions of numbers by look-up tables ([PEGASUS](hippocrene_pegasus)).

use hippocrene_ckks::{Ciphertext, Short};
use hippocrene_pegasus::{Function, Pegasus, PegasusError, Tables, Tangents};

use super::Server;
use crate::{Array, EncryptedArray, Error, Numbers};

const APPLY: &str = "apply a function";

/// So many tables at most are looked up for a number where nothing is said.
const LOOK_UPS: usize = 3;

impl Server {
    /// `f` of every element, which are in `domain`; where none is said, they are within the bound of the array, `[-B, B]`. At most `look_ups` tables (1 to 4; 3 where nothing is said) are looked up for an element: as many
    /// as pay ([`Tables`]).
    ///
    /// **Error:** [`Server::tables`] says it before anything is computed. The result has the capacity that the keys were made for; of functions with a straight line in them ([`Tables`]) no more than the array has after a product.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when the server has no keys of tables; [`Error::Argument`] when the array is complex or has no bound, `f` is not finite on all of the domain, or that is no interval; [`Error::Capacity`] when the array has too little
    /// capacity to go from slots to single numbers.
    pub fn apply(
        &self,
        a: &EncryptedArray,
        f: impl Fn(f64) -> f64,
        domain: Option<(f64, f64)>,
        look_ups: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, APPLY)?;
        let domain = domain.unwrap_or((-a.bound(), a.bound()));
        self.apply_tables(a, &self.tables(f, domain, look_ups)?)
    }

    /// [`Server::apply`] of a function by name. Where no domain is said, it is [`Function::domain`].
    ///
    /// # Errors
    /// [`Error::Argument`] when the function is not defined on all of the domain, and as [`Server::apply`].
    pub fn apply_function(
        &self,
        a: &EncryptedArray,
        function: Function,
        domain: Option<(f64, f64)>,
        look_ups: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, APPLY)?;
        let domain = domain.unwrap_or(function.domain(a.bound()));
        function.check(domain)?;
        let result = self.apply(a, |x| function.value(x), Some(domain), look_ups);
        result.map_err(|e| e.during(function.name()))
    }

    /// `f` as tables, to be used with [`Server::apply_tables`] as often as one likes; [`Tables::deviation`] is the error.
    ///
    /// # Errors
    /// As [`Server::apply`].
    pub fn tables(
        &self,
        f: impl Fn(f64) -> f64,
        domain: (f64, f64),
        look_ups: Option<usize>,
    ) -> Result<Tables, Error> {
        Ok(self.pegasus(APPLY)?.make_tables(domain, look_ups.unwrap_or(LOOK_UPS), f)?)
    }

    /// [`Server::apply`], more precisely: two tables are looked up for an element, one of them of slopes, and what an element is off by at its index counts by its square ([`Tangents`]). It is a product too: the result has
    /// 28 bits less of the capacity that the keys were made for, and no more than the array.
    ///
    /// # Errors
    /// As [`Server::apply`], and [`Error::Capacity`] when the keys were made for too little.
    pub fn apply_precisely(
        &self,
        a: &EncryptedArray,
        f: impl Fn(f64) -> f64,
        domain: Option<(f64, f64)>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, APPLY)?;
        let domain = domain.unwrap_or((-a.bound(), a.bound()));
        self.apply_tangents(a, &self.tangents(f, domain)?)
    }

    /// `f` as tables with slopes, to be used with [`Server::apply_tangents`] as often as one likes; [`Tangents::deviation`] is the error.
    ///
    /// # Errors
    /// As [`Server::apply`].
    pub fn tangents(&self, f: impl Fn(f64) -> f64, domain: (f64, f64)) -> Result<Tangents, Error> {
        Ok(self.pegasus(APPLY)?.make_tangents(domain, f)?)
    }

    /// The function of these tables of every element.
    ///
    /// # Errors
    /// As [`Server::apply_precisely`].
    pub fn apply_tangents(&self, a: &EncryptedArray, tangents: &Tangents) -> Result<EncryptedArray, Error> {
        self.check_domain(a, tangents.domain())?;
        // Slopes are multiplied by what is in other slots too.
        let clean = self.cleaned(a).map_err(|e| e.during(APPLY))?;
        self.apply_each(&clean, APPLY, |pegasus, c, places| pegasus.apply_tangents(c, tangents, places))
    }

    /// The function of these tables of every element.
    ///
    /// # Errors
    /// As [`Server::apply`].
    pub fn apply_tables(&self, a: &EncryptedArray, tables: &Tables) -> Result<EncryptedArray, Error> {
        self.check_domain(a, tables.domain())?;
        self.apply_each(a, APPLY, |pegasus, c, places| pegasus.apply(c, tables, places))
    }

    /// `f` of every ciphertext and the slots of it that elements are in.
    pub(super) fn apply_each(
        &self,
        a: &EncryptedArray,
        operation: &'static str,
        f: impl Fn(&Pegasus, &Ciphertext, &[usize]) -> Result<Ciphertext, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, operation)?;
        self.apply_blocks(a, self.form_of(&[a]), operation, |pegasus, _, c, places| f(pegasus, c, places))
    }

    /// `f` of every ciphertext of an array that was checked, with the number that it has among those of the array, and the slots of it that elements are in.
    pub(super) fn apply_blocks(
        &self,
        a: &EncryptedArray,
        form: Numbers,
        operation: &'static str,
        f: impl Fn(&Pegasus, usize, &Ciphertext, &[usize]) -> Result<Ciphertext, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        let pegasus = self.pegasus(operation)?;
        let applied = self.with_capacity([a], 0.0, |[a]| {
            let slots = a.layout().slots();
            let mut places = vec![Vec::new(); a.layout().ciphertexts()];
            a.layout().positions().for_each(|position| places[position / slots].push(position % slots));
            let ciphertexts = a.expanded(&self.session);
            let all = ciphertexts.iter().zip(&places).enumerate();
            let out = all.map(|(k, (c, places))| match places.is_empty() {
                true => Ok(None),
                false => f(pegasus, k, c, places).map(Some),
            });
            let out = out.collect::<Result<Vec<_>, _>>()?;
            // Where there is no element may be anything: another of the results is.
            let other = out.iter().flatten().next().cloned();
            let out: Vec<Ciphertext> = out.into_iter().filter_map(|c| c.or_else(|| other.clone())).collect();
            // Where elements reach into the second half of the slots, these are not repeated, and hold 0 elsewhere.
            let clean = places.iter().all(|places| places.iter().any(|place| *place >= slots / 2));
            Ok(Array::from_ciphertexts(a.layout().clone(), form, clean, out))
        });
        applied.map_err(|e| e.during(operation))
    }

    /// Bytes of memory that the keys between slots and single numbers take.
    pub(crate) fn table_key_bytes(&self) -> usize {
        let clusters = self.k_means.as_ref().map(|k_means| k_means.pegasus());
        self.pegasus.as_ref().or(clusters).map_or(0, Pegasus::key_bytes)
    }

    /// How many values this server and its clones have looked up in tables so far: another thread can see how far something is that takes long. [`crate::Simulation`] says how many there will be.
    pub fn look_ups_done(&self) -> u64 {
        let clusters = self.k_means.as_ref().map(|k_means| k_means.pegasus());
        [self.pegasus.as_ref(), clusters].into_iter().flatten().map(Pegasus::look_ups_done).sum()
    }

    pub(super) fn pegasus(&self, operation: &'static str) -> Result<&Pegasus, Error> {
        self.pegasus.as_ref().ok_or_else(|| {
            let what = "this server has no keys of look-up tables: make evaluation keys with them (KeyRequest::look_ups; in Python, evaluation_keys(tables=True)); a function of single values may be a polynomial instead (Polynomial::approximate; in Python, hippocrene.approximate)";
            Error::NoKeys { operation, what }
        })
    }

    pub(super) fn check_real(&self, a: &EncryptedArray, operation: &'static str) -> Result<(), Error> {
        self.check(a, operation)?;
        if a.is_complex() {
            return Err(Error::argument(operation, "the array is complex, and tables are for real numbers"));
        }
        a.check_error_known(operation)
    }

    /// Checks an array of real numbers, and that there are some within its bound that are in the domain of a function, and in a simulation that its elements are, as far as tables reach.
    fn check_domain(&self, a: &EncryptedArray, (low, high): (f64, f64)) -> Result<(), Error> {
        self.check_real(a, APPLY)?;
        let bound = a.bound();
        if low > bound || high < -bound {
            let what = format!(
                "the values are from {} to {}, by the bound of the array: none is in the domain from {} to {}",
                Short(-bound),
                Short(bound),
                Short(low),
                Short(high)
            );
            return Err(Error::argument(APPLY, what));
        }
        let reach = (high - low) / 2.0 * self.pegasus(APPLY)?.plan().literal().margin;
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

    /// An element beyond these limits, in a simulation, which knows them.
    pub(super) fn known_beyond(&self, a: &EncryptedArray, (low, high): (f64, f64)) -> Option<f64> {
        let (layout, ciphertexts) = (a.layout(), a.expanded(&self.session));
        let known =
            |at: usize| ciphertexts.get(at / layout.slots())?.known_values()?.get(at % layout.slots());
        layout.positions().filter_map(|at| Some(known(at)?.re)).find(|x| *x < low || *x > high)
    }
}
