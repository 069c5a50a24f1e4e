//! Functions of numbers by look-up tables, and what is put in order by them ([PEGASUS](hippocrene_pegasus)).

use hippocrene_ckks::Ciphertext;
use hippocrene_pegasus::{
    Function, Layout as Places, Numbers as Single, Pegasus, PegasusError, Tables, Tangents,
};

use super::Server;
use crate::{Array, EncryptedArray, Error, Layout, Numbers};

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
    /// [`Error::Argument`] when the server has no keys of tables, the array is complex or has no bound, `f` is not finite on all of the domain, or that is no interval; [`Error::Capacity`] when the array has too little
    /// capacity to go from slots to single numbers.
    pub fn apply(
        &self,
        a: &EncryptedArray,
        f: impl Fn(f64) -> f64,
        domain: Option<(f64, f64)>,
        look_ups: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
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
        let domain = domain.unwrap_or(function.domain(a.bound()));
        function.check(domain)?;
        self.apply(a, |x| function.value(x), Some(domain), look_ups)
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
        check_domain(a, tangents.domain())?;
        self.apply_each(a, |pegasus, c, places| pegasus.apply_tangents(c, tangents, places))
    }

    /// The function of these tables of every element.
    ///
    /// # Errors
    /// As [`Server::apply`].
    pub fn apply_tables(&self, a: &EncryptedArray, tables: &Tables) -> Result<EncryptedArray, Error> {
        check_domain(a, tables.domain())?;
        self.apply_each(a, |pegasus, c, places| pegasus.apply(c, tables, places))
    }

    /// `f` of every ciphertext and the slots of it that elements are in.
    pub(super) fn apply_each(
        &self,
        a: &EncryptedArray,
        f: impl Fn(&Pegasus, &Ciphertext, &[usize]) -> Result<Ciphertext, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        self.apply_blocks(a, self.form_of(&[a]), |pegasus, _, c, places| f(pegasus, c, places))
    }

    /// `f` of every ciphertext, with the number that it has among those of the array, and the slots of it that elements are in.
    pub(super) fn apply_blocks(
        &self,
        a: &EncryptedArray,
        form: Numbers,
        f: impl Fn(&Pegasus, usize, &Ciphertext, &[usize]) -> Result<Ciphertext, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        let pegasus = self.pegasus(APPLY)?;
        self.check_real(a, APPLY)?;
        self.with_capacity([a], 0.0, |[a]| {
            let slots = a.layout().slots();
            let mut places = vec![Vec::new(); a.layout().ciphertexts()];
            a.layout().positions().for_each(|position| places[position / slots].push(position % slots));
            let ciphertexts = a.expanded(&self.session);
            let all = ciphertexts.iter().zip(&places).enumerate();
            let out = all.map(|(k, (c, places))| f(pegasus, k, c, places)).collect::<Result<Vec<_>, _>>()?;
            Ok(Array::from_ciphertexts(a.layout().clone(), form, a.layout().is_full(), out))
        })
    }

    /// The elements of an array of one axis in rising order ([`Pegasus::sort`]): 63 look-ups for 16 elements, and one or two hundred for 32.
    ///
    /// # Errors
    /// [`Error::Shape`] when the array has not one axis, or its elements are in several ciphertexts; [`Error::Argument`] when the server has no keys of tables, or the array is complex or has no bound.
    pub fn sort(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let count = a.size();
        self.of_single(a, "sort", &[count], Pegasus::sort_rounds(count), |pegasus, x| pegasus.sort(x))
    }

    /// The largest element of an array of one axis, as an array without an axis ([`Pegasus::largest`]): by `n - 1` look-ups.
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn largest(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        self.of_single(a, "max", &[], rounds(a.size()), |pegasus, x| pegasus.largest(x, x.len()))
    }

    /// The smallest element: as [`Server::largest`].
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn smallest(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        self.of_single(a, "min", &[], rounds(a.size()), |pegasus, x| pegasus.smallest(x, x.len()))
    }

    /// The `k` largest elements of an array of one axis, in rising order ([`Pegasus::top_k`]).
    ///
    /// # Errors
    /// [`Error::Argument`] when there are not as many or none is wanted, and as [`Server::sort`].
    pub fn top_k(&self, a: &EncryptedArray, k: usize) -> Result<EncryptedArray, Error> {
        self.of_single(a, "top_k", &[k], Pegasus::sort_rounds(a.size()), |pegasus, x| pegasus.top_k(x, k))
    }

    /// The median of an array of one axis, as an array without an axis ([`Pegasus::median`]).
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn median(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "median";
        let rounds = Pegasus::sort_rounds(a.size());
        if !a.size().is_multiple_of(2) {
            return self.of_single(a, OPERATION, &[], rounds, |pegasus, x| pegasus.median(x));
        }
        self.check_line(a, OPERATION)?;
        // The sum of both in the middle is twice as large as either.
        self.of_elements(a, OPERATION, &[], (rounds, 2.0), |pegasus, x| pegasus.median(x))
    }

    /// The largest element of every window of `size`, or of `size` by `size` in an array of two axes ([`Pegasus::largest`]): windows lie side by side.
    ///
    /// # Errors
    /// [`Error::Shape`] when an axis is not so many windows long, there are more than two, or elements are in several ciphertexts; and as [`Server::sort`].
    pub fn max_pool(&self, a: &EncryptedArray, size: usize) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "max_pool";
        let shape = a.shape();
        let (rows, columns, down) = match *shape {
            [n] => (1, n, 1),
            [rows, columns] => (rows, columns, size),
            _ => return Err(Error::shape(OPERATION, format!("one axis or two are pooled, not {shape:?}"))),
        };
        if size == 0 || !rows.is_multiple_of(down) || !columns.is_multiple_of(size) {
            return Err(Error::shape(
                OPERATION,
                format!("windows of {size} do not fill the shape {shape:?}"),
            ));
        }
        // Element by element of a window, window by window.
        let windows = (0..rows / down).flat_map(|i| (0..columns / size).map(move |j| (i * down, j * size)));
        let order: Vec<usize> = windows
            .flat_map(|(i, j)| (i..i + down).flat_map(move |i| (j..j + size).map(move |j| i * columns + j)))
            .collect();
        let pooled: Vec<usize> = shape.iter().map(|extent| extent / size).collect();
        let window = down * size;
        self.of_elements(a, OPERATION, &pooled, (rounds(window), 1.0), |pegasus, x| {
            pegasus.largest(&x.select(&order)?, window)
        })
    }

    /// The place of the smallest element of an array of one axis, from 0, as an array without an axis ([`Pegasus::argmin`]): by `n (n + 1)/2` look-ups. Elements that are nearer to each other than the index of a
    /// table is off by are not told apart.
    ///
    /// # Errors
    /// [`Error::Argument`] when there are so many elements that tables do not tell their ranks apart, and as [`Server::sort`].
    pub fn argmin(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let most = (a.size() as f64 - 1.0).max(1.0);
        self.of_single(a, "argmin", &[], 1, |pegasus, x| {
            pegasus.argmin(x, pegasus.plan().repacking_scale(most)?)
        })
    }

    /// The place of the largest element: as [`Server::argmin`].
    ///
    /// # Errors
    /// As [`Server::argmin`].
    pub fn argmax(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let most = (a.size() as f64 - 1.0).max(1.0);
        self.of_single(a, "argmax", &[], 1, |pegasus, x| {
            pegasus.argmax(x, pegasus.plan().repacking_scale(most)?)
        })
    }

    /// `f` of the elements of an array of one axis as single numbers, at a scale at which differences can be looked up in so many rounds and results be repacked.
    fn of_single(
        &self,
        a: &EncryptedArray,
        operation: &'static str,
        shape: &[usize],
        rounds: usize,
        f: impl Fn(&Pegasus, &Single) -> Result<Single, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        self.check_line(a, operation)?;
        self.of_elements(a, operation, shape, (rounds, 1.0), f)
    }

    fn check_line(&self, a: &EncryptedArray, operation: &'static str) -> Result<(), Error> {
        if a.shape().len() != 1 {
            let what = format!("an array of one axis is needed, not one of shape {:?}", a.shape());
            return Err(Error::shape(operation, what));
        }
        Ok(())
    }

    /// `f` of the elements of an array in one ciphertext, with room for results that are so many times as large.
    fn of_elements(
        &self,
        a: &EncryptedArray,
        operation: &'static str,
        shape: &[usize],
        (rounds, room): (usize, f64),
        f: impl Fn(&Pegasus, &Single) -> Result<Single, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        let pegasus = self.pegasus(operation)?;
        self.check_real(a, operation)?;
        if a.layout().ciphertexts() != 1 {
            let what = format!("an array in one ciphertext is needed, not one of shape {:?}", a.shape());
            return Err(Error::shape(operation, what));
        }
        let form = self.form_of(&[a]);
        self.with_capacity([a], 0.0, |[a]| {
            let ciphertexts = a.expanded(&self.session);
            let mut c = Ciphertext::clone(&ciphertexts[0]);
            c.set_bound(room * pegasus.order_bound(rounds) * a.bound());
            let coefficients = pegasus.to_coefficients(&c)?;
            let places: Vec<usize> = a.layout().positions().collect();
            let x = pegasus.extract(&coefficients, &places)?.with_bound(a.bound())?;
            let y = f(pegasus, &x)?;
            let layout = Layout::packed(shape, self.session.slots())?;
            let places: Vec<usize> = layout.positions().collect();
            let slots = places.iter().max().map_or(1, |last| (last + 1).next_power_of_two());
            let all = pegasus.repack_repeated(&y, &Places::new(slots, places)?, self.session.slots())?;
            Ok(Array::from_ciphertexts(layout, form, false, vec![all]))
        })
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
            let what = "this server has no keys of look-up tables: make evaluation keys with them (KeyRequest::look_ups; in Python, evaluation_keys(tables=True))";
            Error::argument(operation, what)
        })
    }

    pub(super) fn check_real(&self, a: &EncryptedArray, operation: &'static str) -> Result<(), Error> {
        self.check(a, operation)?;
        if a.is_complex() {
            return Err(Error::argument(operation, "the array is complex, and tables are for real numbers"));
        }
        Ok(())
    }
}

/// How many rounds a tournament of so many numbers has.
fn rounds(count: usize) -> usize {
    count.max(1).next_power_of_two().ilog2() as usize
}

/// Checks that there are numbers within the bound of an array that are in the domain of a function.
fn check_domain(a: &EncryptedArray, (low, high): (f64, f64)) -> Result<(), Error> {
    let bound = a.bound();
    if low > bound || high < -bound {
        let what = format!(
            "the values are from {} to {bound}, by the bound of the array: none is in the domain from {low} to {high}",
            -bound
        );
        return Err(Error::argument(APPLY, what));
    }
    Ok(())
}
