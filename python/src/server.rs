//! The server, which computes on encrypted arrays.

use hippocrene::{
    Array, Basis, Bits, Comparison, Error, Form, Function, IntegerPolynomial, Layout, Numbers,
    Polynomial, Residues, Tables, Tangents, Ties,
};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::approximation::Calls;
use crate::array::{EncryptedArray, Held};
use crate::bits::gate;
use crate::client::{EvaluationKeys, TransferKey};
use crate::errors::{detached, to_py};
use crate::numbers::{FromPlain, Number, Plain};

/// Evaluation keys prepared for computing.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Server(pub(crate) hippocrene::Server);

/// The result of preparing a Python function.
enum Made {
    Constant(Box<Array<Numbers>>),
    Tables(Tables),
    Tangents(Tangents),
}

impl Server {
    /// Computes from an array of one form, with the interpreter lock released.
    pub(crate) fn compute<F: Held>(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        work: impl FnOnce(&hippocrene::Server, &Array<F>) -> Result<Array<F>, Error> + Send,
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        detached(py, || Ok(F::hold(work(&self.0, &*array.read(session)?)?, session)))
    }

    /// Computes from two arrays of one form, with the interpreter lock released.
    pub(crate) fn compute_from_two<F: Held>(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
        work: impl FnOnce(&hippocrene::Server, &Array<F>, &Array<F>) -> Result<Array<F>, Error> + Send,
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        detached(py, || {
            Ok(F::hold(work(&self.0, &*left.read(session)?, &*right.read(session)?)?, session))
        })
    }

    fn dry_run_of<F: Held>(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
    ) -> PyResult<(Self, EncryptedArray)> {
        let session = self.0.session();
        detached(py, || {
            let dry = self.0.dry_run()?;
            let array = F::hold(dry.stand_in(&*array.read::<F>(session)?)?, dry.session());
            Ok((Self(dry), array))
        })
    }
}

/// Computes with one expression from arrays of numbers or integers. The first array determines the
/// form, which the expression can call `F`.
macro_rules! compute {
    ($server:ident, $py:ident, $array:ident, $work:expr) => {
        if $array.is_integers() {
            type F = Residues;
            $server.compute::<F>($py, $array, $work)
        } else {
            type F = Numbers;
            $server.compute::<F>($py, $array, $work)
        }
    };
    ($server:ident, $py:ident, $left:ident, $right:ident, $work:expr) => {
        if $left.is_integers() {
            $server.compute_from_two::<Residues>($py, $left, $right, $work)
        } else {
            $server.compute_from_two::<Numbers>($py, $left, $right, $work)
        }
    };
}

#[pymethods]
impl Server {
    #[new]
    fn new(py: Python<'_>, keys: &EvaluationKeys, threads: usize) -> PyResult<Self> {
        detached(py, || hippocrene::Server::with_threads(&keys.0, threads).map(Self))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.key().to_string()
    }

    fn set_key_memory(&self, limit: usize) {
        self.0.set_key_memory(limit);
    }

    #[getter]
    fn key_memory(&self) -> (usize, usize) {
        self.0.key_memory()
    }

    fn set_cache_memory(&self, limit: usize) {
        self.0.set_cache_memory(limit);
    }

    #[getter]
    fn cache_memory(&self) -> (usize, usize) {
        self.0.cache_memory()
    }

    /// The bytes of keys, of keys of tables, of derived keys, of caches, and of scratch memory.
    #[getter]
    fn memory(&self) -> (usize, usize, usize, usize, usize) {
        let memory = self.0.memory();
        (memory.keys, memory.tables, memory.derived_keys, memory.caches, memory.scratch)
    }

    /// Returns this server with a key for transferring arrays of another secret key.
    fn with_transfer(&self, py: Python<'_>, key: &TransferKey) -> PyResult<Self> {
        detached(py, || self.0.with_transfer(&key.0).map(Self))
    }

    /// The fingerprint of the secret key whose arrays can be transferred.
    #[getter]
    fn transfers(&self) -> Option<String> {
        self.0.transfers().map(|(key, _)| key.to_string())
    }

    /// Transfers an array of another secret key to the key of this server.
    fn transfer(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        match array.is_integers() {
            true => self.transfer_form::<Residues>(py, array),
            false => self.transfer_form::<Numbers>(py, array),
        }
    }

    /// The sum of the products of pairs of arrays.
    fn sum_of_products(
        &self,
        py: Python<'_>,
        left: Vec<PyRef<'_, EncryptedArray>>,
        right: Vec<PyRef<'_, EncryptedArray>>,
    ) -> PyResult<EncryptedArray> {
        let (left, right): (Vec<&EncryptedArray>, Vec<&EncryptedArray>) =
            (left.iter().map(|a| &**a).collect(), right.iter().map(|a| &**a).collect());
        match left.first().is_some_and(|array| array.is_integers()) {
            true => self.sum_of_products_of::<Residues>(py, &left, &right),
            false => self.sum_of_products_of::<Numbers>(py, &left, &right),
        }
    }

    /// The number of ciphertexts that were bootstrapped.
    #[getter]
    fn bootstraps(&self) -> u64 {
        self.0.bootstraps() + self.0.bits().map_or(0, |bits| bits.bootstraps())
    }

    /// Gates of the same arrays of bits. A single gate is computed by products if there is
    /// capacity, and several gates by one bootstrap.
    fn gates(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        arrays: Vec<PyRef<'_, EncryptedArray>>,
    ) -> PyResult<Vec<EncryptedArray>> {
        let arrays: Vec<&EncryptedArray> = arrays.iter().map(|a| &**a).collect();
        self.gates_of(py, &names, &arrays)
    }

    /// A gate of an array of bits and plain bits.
    fn gate_plain(
        &self,
        py: Python<'_>,
        name: &str,
        array: &EncryptedArray,
        bits: PyReadonlyArrayDyn<'_, bool>,
    ) -> PyResult<EncryptedArray> {
        let bits = bits.as_slice()?;
        self.compute::<Bits>(py, array, |server, array| {
            server.bits()?.gate_plain(gate(name)?, array, bits)
        })
    }

    /// The complement of an array of bits.
    fn complement(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute::<Bits>(py, array, |server, array| server.bits()?.not(array))
    }

    /// Returns this server with another precision of results.
    fn with_precision(&self, py: Python<'_>, bits: f64) -> PyResult<Self> {
        detached(py, || self.0.with_precision(bits).map(Self))
    }

    fn finishing(&self) -> Self {
        Self(self.0.finishing())
    }

    /// True if the server determines the precision of results, instead of their operands.
    #[getter]
    fn has_own_precision(&self) -> bool {
        self.0.own_precision().is_some()
    }

    fn array_with_precision(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        bits: f64,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| {
            array.clone().with_precision(bits, server.session())
        })
    }

    /// Reads the array and prepares it for computing.
    fn load(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        fn read<F: Held>(
            array: &EncryptedArray,
            session: &hippocrene::Session,
        ) -> Result<EncryptedArray, Error> {
            Ok(F::hold(array.read(session)?.into_owned(), session))
        }
        let session = self.0.session();
        detached(py, || match (array.is_bits(), array.is_integers()) {
            (true, _) => read::<Bits>(array, session),
            (_, true) => read::<Residues>(array, session),
            _ => read::<Numbers>(array, session),
        })
    }

    fn with_interval(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        low: f64,
        high: f64,
    ) -> PyResult<EncryptedArray> {
        let interval =
            hippocrene::Interval::finite(low, high).map_err(|error| to_py(py, &error))?;
        if array.is_integers() {
            return self
                .compute::<Residues>(py, array, |_, array| array.clone().with_interval(interval));
        }
        self.compute::<Numbers>(py, array, |server, array| server.declare_interval(array, interval))
    }

    fn with_precision_bits(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        bits: f64,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| server.declare_precision(array, bits))
    }

    /// A server that computes without residues, and an array for it that agrees with this one in
    /// all other respects.
    fn dry_run(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<(Self, EncryptedArray)> {
        match array.is_integers() {
            true => self.dry_run_of::<Residues>(py, array),
            false => self.dry_run_of::<Numbers>(py, array),
        }
    }

    fn add(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, left, right, |server, left, right| server.add(left, right))
    }

    fn sub(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, left, right, |server, left, right| server.sub(left, right))
    }

    fn mul(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, left, right, |server, left, right| server.mul(left, right))
    }

    fn add_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        values: Plain<'_>,
    ) -> PyResult<EncryptedArray> {
        let slices = values.slices()?;
        compute!(self, py, array, |server, array| {
            server.add_plain(array, F::of_slices(slices)?)
        })
    }

    fn mul_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        values: Plain<'_>,
    ) -> PyResult<EncryptedArray> {
        let slices = values.slices()?;
        compute!(self, py, array, |server, array| {
            server.mul_plain(array, F::of_slices(slices)?)
        })
    }

    fn add_number(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        number: Number,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| {
            server.add_number(array, F::of_number(number)?)
        })
    }

    fn mul_number(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        number: Number,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| {
            server.mul_number(array, F::of_number(number)?)
        })
    }

    fn negate(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| server.negate(array))
    }

    fn pow(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        exponent: u32,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| server.pow(array, exponent))
    }

    fn conjugate(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| server.conjugate(array))
    }

    fn dot(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, left, right, |server, left, right| server.dot(left, right))
    }

    fn dot_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        vector: Plain<'_>,
    ) -> PyResult<EncryptedArray> {
        let vector = vector.slices()?;
        compute!(self, py, array, |server, array| {
            server.dot_plain(array, F::of_matrix(vector)?)
        })
    }

    fn matmul_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        matrix: Plain<'_>,
    ) -> PyResult<EncryptedArray> {
        let columns = matrix.shape()[1];
        let matrix = matrix.slices()?;
        compute!(self, py, array, |server, array| {
            server.matmul_plain(array, F::of_matrix(matrix)?, columns)
        })
    }

    fn rmatmul_plain(
        &self,
        py: Python<'_>,
        matrix: Plain<'_>,
        array: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        let rows = matrix.shape()[0];
        let matrix = matrix.slices()?;
        compute!(self, py, array, |server, array| {
            server.rmatmul_plain(F::of_matrix(matrix)?, rows, array)
        })
    }

    #[pyo3(signature = (array, axis))]
    fn sum(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        axis: Option<usize>,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| server.sum(array, axis))
    }

    #[pyo3(signature = (array, shift, axis))]
    fn roll(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shift: i64,
        axis: Option<usize>,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| server.roll(array, shift, axis))
    }

    fn transpose(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| server.transpose(array))
    }

    /// Moves the elements to the layout of new arrays.
    fn packed(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        if array.is_bits() {
            return self.compute::<Bits>(py, array, |server, array| server.packed_bits(array));
        }
        compute!(self, py, array, |server, array| {
            server.relayout(array, Layout::packed(array.shape(), F::slots(server.session()))?)
        })
    }

    /// The elements of these arrays at these places, which are counted through all arrays in order.
    fn gather(
        &self,
        py: Python<'_>,
        arrays: Vec<PyRef<'_, EncryptedArray>>,
        shape: Vec<usize>,
        sources: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<EncryptedArray> {
        let arrays: Vec<&EncryptedArray> = arrays.iter().map(|array| &**array).collect();
        let sources = sources.as_slice()?;
        if arrays.iter().any(|array| array.is_bits()) {
            return self.gather_bits(py, &arrays, &shape, sources);
        }
        match arrays.iter().any(|array| array.is_integers()) {
            true => self.gather_of::<Residues>(py, &arrays, &shape, sources),
            false => self.gather_of::<Numbers>(py, &arrays, &shape, sources),
        }
    }

    fn insert_axis(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        axis: usize,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| server.insert_axis(array, axis))
    }

    fn broadcast_to(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shape: Vec<usize>,
    ) -> PyResult<EncryptedArray> {
        compute!(self, py, array, |server, array| server.broadcast_to(array, &shape))
    }

    /// A polynomial with these coefficients, lowest degree first, in powers or in the Chebyshev
    /// polynomials of an interval.
    #[pyo3(signature = (array, coefficients, interval))]
    fn polynomial(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        coefficients: Vec<f64>,
        interval: Option<(f64, f64)>,
    ) -> PyResult<EncryptedArray> {
        let basis = interval.map_or(Basis::Monomial, |(low, high)| Basis::Chebyshev { low, high });
        self.compute::<Numbers>(py, array, |server, array| {
            let polynomial = Polynomial::new(basis, coefficients)?;
            server.polynomial(array, &polynomial)
        })
    }

    /// A polynomial with these integer coefficients, lowest degree first.
    fn integer_polynomial(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        coefficients: Vec<i64>,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Residues>(py, array, |server, array| {
            let polynomial = IntegerPolynomial::new(array.form().plain_modulus, &coefficients)?;
            server.polynomial(array, &polynomial)
        })
    }

    /// The entry of a table for each integer.
    fn table(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        table: Vec<i64>,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Residues>(py, array, |server, array| {
            let polynomial = IntegerPolynomial::of_entries(array.form().plain_modulus, &table)?;
            server.polynomial(array, &polynomial)
        })
    }

    /// The entry of a table for each number, which is a place in the table.
    #[pyo3(signature = (array, table, precision))]
    fn entries(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        table: Vec<f64>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| server.entries(array, &table, precision))
    }

    /// 1 for integers that are 0, and 0 for others.
    fn is_zero(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute::<Residues>(py, array, |server, array| server.is_zero(array))
    }

    #[pyo3(signature = (array, gap, precision))]
    fn sign(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, ..Comparison::default() };
        self.compute::<Numbers>(py, array, |server, array| server.sign(array, how))
    }

    #[pyo3(signature = (array, gap, precision, at_ties))]
    fn positive(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
        at_ties: f64,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, at_ties: ties(at_ties)? };
        self.compute::<Numbers>(py, array, |server, array| server.positive(array, how))
    }

    #[pyo3(signature = (array, gap, precision))]
    fn relu(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, ..Comparison::default() };
        self.compute::<Numbers>(py, array, |server, array| server.relu(array, how))
    }

    #[pyo3(signature = (array, gap, precision))]
    fn abs(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, ..Comparison::default() };
        self.compute::<Numbers>(py, array, |server, array| server.abs(array, how))
    }

    #[pyo3(signature = (left, right, gap, precision, at_ties))]
    fn greater(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
        at_ties: f64,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, at_ties: ties(at_ties)? };
        self.compute_from_two::<Numbers>(py, left, right, |server, left, right| {
            server.greater(left, right, how)
        })
    }

    #[pyo3(signature = (left, right, gap, precision, at_ties))]
    fn less(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
        at_ties: f64,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, at_ties: ties(at_ties)? };
        self.compute_from_two::<Numbers>(py, left, right, |server, left, right| {
            server.less(left, right, how)
        })
    }

    #[pyo3(signature = (left, right, gap, precision))]
    fn maximum(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, ..Comparison::default() };
        self.compute_from_two::<Numbers>(py, left, right, |server, left, right| {
            server.maximum(left, right, how)
        })
    }

    #[pyo3(signature = (left, right, gap, precision))]
    fn minimum(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        let how = Comparison { gap, precision, ..Comparison::default() };
        self.compute_from_two::<Numbers>(py, left, right, |server, left, right| {
            server.minimum(left, right, how)
        })
    }

    /// Applies any Python function. It is evaluated on the domain before the look-ups start.
    #[pyo3(signature = (array, function, domain, look_ups, precise))]
    fn apply(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        function: &Bound<'_, PyAny>,
        domain: Option<(f64, f64)>,
        look_ups: usize,
        precise: bool,
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        let calls = Calls::new(function);
        let value = |x: f64| calls.value(x);
        let array = detached(py, || Ok(array.read::<Numbers>(session)?.into_owned()))?;
        let interval = array.interval();
        let ends = domain.unwrap_or((interval.low(), interval.high()));
        let made = match self.0.of_one_value(&array, value, domain) {
            Ok(Some(constant)) => Ok(Made::Constant(Box::new(constant))),
            Ok(None) if precise => self.0.tangents(value, ends).map(Made::Tangents),
            Ok(None) => self.0.tables(value, ends, Some(look_ups)).map(Made::Tables),
            Err(error) => Err(error),
        };
        calls.end()?;
        let made = made.map_err(|error| to_py(py, &error))?;
        let result = detached(py, || match made {
            Made::Constant(result) => Ok(*result),
            Made::Tables(tables) => self.0.apply_tables(&array, &tables),
            Made::Tangents(tangents) => self.0.apply_tangents(&array, &tangents),
        })?;
        Ok(Numbers::hold(result, session))
    }

    /// Applies a function by name.
    #[pyo3(signature = (array, name, domain, look_ups, precise))]
    fn apply_function(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        name: &str,
        domain: Option<(f64, f64)>,
        look_ups: usize,
        precise: bool,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| {
            let function = Function::by_name(name).map_err(Error::from)?;
            match precise {
                true => server.apply_function_precisely(array, function, domain),
                false => server.apply_function(array, function, domain, Some(look_ups)),
            }
        })
    }

    fn near_zero(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        within: f64,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| server.is_near_zero(array, within))
    }

    /// `sort`, `argsort`, `max`, `min`, `median`, `argmin` or `argmax`, along an axis or of all
    /// elements.
    fn in_order(
        &self,
        py: Python<'_>,
        operation: &str,
        array: &EncryptedArray,
        axis: Option<usize>,
    ) -> PyResult<EncryptedArray> {
        let compute = match operation {
            "sort" => hippocrene::Server::sort,
            "argsort" => hippocrene::Server::argsort,
            "max" => hippocrene::Server::largest,
            "min" => hippocrene::Server::smallest,
            "median" => hippocrene::Server::median,
            "argmin" => hippocrene::Server::argmin,
            "argmax" => hippocrene::Server::argmax,
            other => return Err(PyValueError::new_err(format!("there is no order {other:?}"))),
        };
        self.compute::<Numbers>(py, array, |server, array| compute(server, array, axis))
    }

    fn top_k(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        k: usize,
        axis: Option<usize>,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| server.top_k(array, k, axis))
    }

    fn max_pool(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        size: usize,
    ) -> PyResult<EncryptedArray> {
        self.compute::<Numbers>(py, array, |server, array| server.max_pool(array, size))
    }
}

/// Sets the limit of the caches of all servers of the process together, in bytes.
#[pyfunction]
pub(crate) fn set_cache_budget(limit: usize) {
    hippocrene::set_cache_budget(limit);
}

/// The size of the caches of all servers together, and their limit, in bytes.
#[pyfunction]
pub(crate) fn cache_budget() -> (usize, usize) {
    hippocrene::cache_budget()
}

/// The result of a comparison for equal values.
fn ties(value: f64) -> PyResult<Ties> {
    match value {
        0.0 => Ok(Ties::Zero),
        0.5 => Ok(Ties::Half),
        1.0 => Ok(Ties::One),
        _ => {
            Err(PyValueError::new_err(format!("at_ties is {value}: equal values give 0, 0.5 or 1")))
        }
    }
}
