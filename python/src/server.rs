//! The server, which computes on encrypted arrays.

use std::{str::FromStr, sync::Arc};

use hippocrene::{
    AnyArray, Application, Comparison, Error, InOrder, Integers, Numbers, OfDifference, OfSign,
    Operation, Plain, Recorder, Ties,
};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::approximation::Calls;
use crate::array::{Computed, EncryptedArray};
use crate::bits::gate;
use crate::client::{EvaluationKeys, TransferKey, TrivialEncryption};
use crate::combinations::{Sums, in_order, place, places};
use crate::description::KeysDescription;
use crate::errors::{detached, to_py};
use crate::numbers::{BigArray, Number, PlainArray, row_major};

/// Evaluation keys prepared for computing.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Server {
    inner: hippocrene::Server,
    /// Writes down the operations, if a program is being recorded.
    recorder: Option<Arc<Recorder>>,
}

/// [`Application`] as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct How {
    domain: Option<(f64, f64)>,
    error: Option<f64>,
    breaks: Option<Vec<f64>>,
    gap: Option<f64>,
    look_ups: Option<usize>,
    precise: bool,
}

impl From<How> for Application {
    fn from(how: How) -> Self {
        let How { domain, error, breaks, gap, look_ups, precise } = how;
        Application { domain, error, breaks, gap, look_ups, precise }
    }
}

impl Server {
    pub(crate) fn new(inner: hippocrene::Server) -> Self {
        Server { inner, recorder: None }
    }

    /// The server of a recorder.
    pub(crate) fn recording(recorder: Arc<Recorder>) -> Self {
        Server { inner: recorder.server().clone(), recorder: Some(recorder) }
    }

    pub(crate) fn inner(&self) -> &hippocrene::Server {
        &self.inner
    }

    /// Returns this server with another policy.
    fn with(&self, inner: hippocrene::Server) -> Self {
        Server { inner, recorder: self.recorder.clone() }
    }

    /// Performs an operation, with the interpreter lock released.
    fn run(
        &self,
        py: Python<'_>,
        operation: Operation,
        inputs: &[&EncryptedArray],
    ) -> PyResult<Vec<EncryptedArray>> {
        let session = self.inner.session();
        detached(py, || {
            if let Some(recorder) = &self.recorder {
                let values = inputs.iter().map(|input| input.value_of(recorder));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let results = recorder.perform(&self.inner, operation, &values)?;
                return results.into_iter().map(|value| recorded(recorder, value)).collect();
            }
            let read = inputs.iter().map(|input| input.any(session));
            let read = read.collect::<Result<Vec<_>, _>>()?;
            let arrays: Vec<&AnyArray> = read.iter().map(|array| &**array).collect();
            let results = operation.perform(&self.inner, &arrays)?;
            Ok(results.into_iter().map(|array| EncryptedArray::hold(array, session)).collect())
        })
    }

    /// Returns the array that a recorded program computes a function of.
    fn operand_of_function(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
    ) -> PyResult<Option<EncryptedArray>> {
        let Some(recorder) = &self.recorder else { return Ok(None) };
        detached(py, || {
            let value = recorder.operand_of_function(array.value_of(recorder)?)?;
            recorded(recorder, value).map(Some)
        })
    }

    /// Performs an operation with one result.
    fn one(&self, py: Python<'_>, operation: Operation, inputs: &[&EncryptedArray]) -> Computed {
        let name = operation.name();
        self.run(py, operation, inputs)?
            .pop()
            .ok_or_else(|| to_py(py, &Error::Internal(format!("{name} has no result"))))
    }
}

/// The array that stands for a value of a program.
pub(crate) fn recorded(recorder: &Arc<Recorder>, value: usize) -> Result<EncryptedArray, Error> {
    Ok(EncryptedArray::of_value(recorder.array(value)?, recorder, value))
}

/// The values that arrays stand for in a recorder.
fn values_of(arrays: &[Py<EncryptedArray>], recorder: &Arc<Recorder>) -> Result<Vec<usize>, Error> {
    arrays.iter().map(|array| array.get().value_of(recorder)).collect()
}

/// The recorder of a server that writes down a program.
fn need_recorder(recorder: &Option<Arc<Recorder>>) -> Result<&Arc<Recorder>, Error> {
    let missing = || Error::Internal("this server does not record a program".into());
    recorder.as_ref().ok_or_else(missing)
}

#[pymethods]
impl Server {
    #[new]
    fn with_threads(py: Python<'_>, keys: &EvaluationKeys, threads: usize) -> PyResult<Self> {
        detached(py, || hippocrene::Server::with_threads(&keys.0, threads).map(Self::new))
    }

    /// Makes arrays of this server's own values.
    fn trivial_encryption(&self) -> TrivialEncryption {
        let (session, key) = (self.inner.session().clone(), self.inner.key());
        TrivialEncryption(hippocrene::TrivialEncryption::new(session, key))
    }

    /// If the server records a program in which loops can be steps, the capacity in bits that a
    /// state needs at the end of a round.
    #[getter]
    fn loop_reserve(&self) -> Option<f64> {
        self.recorder.as_ref().and(self.inner.bootstrap_reserve())
    }

    /// The period of the slots of an array, and whether slots without an element are zero. Files do
    /// not store it.
    fn slot_period(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
    ) -> PyResult<Option<(usize, bool)>> {
        detached(py, || Ok(array.any(self.inner.session())?.slot_period()))
    }

    /// Returns an array with the period of its slots.
    fn with_slot_period(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        period: usize,
        has_zeros: bool,
    ) -> PyResult<EncryptedArray> {
        let session = self.inner.session();
        detached(py, || {
            let array = array.any(session)?.into_owned().with_slot_period(period, has_zeros)?;
            Ok(EncryptedArray::hold(array, session))
        })
    }

    /// Begins a loop, and returns the state as each round finds it.
    fn enter_loop(
        &self,
        py: Python<'_>,
        state: Vec<Py<EncryptedArray>>,
    ) -> PyResult<Vec<EncryptedArray>> {
        detached(py, || {
            let recorder = need_recorder(&self.recorder)?;
            let entered = recorder.enter_loop(&values_of(&state, recorder)?)?;
            entered.into_iter().map(|value| recorded(recorder, value)).collect()
        })
    }

    /// Makes one step of a loop, and returns the state after this number of rounds.
    fn repeat(
        &self,
        py: Python<'_>,
        state: Vec<Py<EncryptedArray>>,
        entered: Vec<Py<EncryptedArray>>,
        results: Vec<Py<EncryptedArray>>,
        times: usize,
    ) -> PyResult<Vec<EncryptedArray>> {
        detached(py, || {
            let recorder = need_recorder(&self.recorder)?;
            let [state, entered, results] =
                [state, entered, results].map(|arrays| values_of(&arrays, recorder));
            let after = recorder.repeat(&state?, &entered?, &results?, times)?;
            after.into_iter().map(|value| recorded(recorder, value)).collect()
        })
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.inner.key().to_string()
    }

    fn set_key_memory(&self, limit: usize) {
        self.inner.set_key_memory(limit);
    }

    #[getter]
    fn key_memory(&self) -> (usize, usize) {
        self.inner.key_memory()
    }

    fn set_cache_memory(&self, limit: usize) {
        self.inner.set_cache_memory(limit);
    }

    #[getter]
    fn cache_memory(&self) -> (usize, usize) {
        self.inner.cache_memory()
    }

    /// The bytes of keys, of keys of tables, of derived keys, of caches, and of scratch memory.
    #[getter]
    fn memory(&self) -> (usize, usize, usize, usize, usize) {
        let memory = self.inner.memory();
        (memory.keys, memory.tables, memory.derived_keys, memory.caches, memory.scratch)
    }

    /// Returns this server with a key for transferring arrays of another secret key.
    fn with_transfer(&self, py: Python<'_>, key: &TransferKey) -> PyResult<Self> {
        detached(py, || self.inner.with_transfer(&key.0).map(Self::new))
    }

    /// The fingerprint of the secret key whose arrays can be transferred.
    #[getter]
    fn transfers(&self) -> Option<String> {
        self.inner.transfers().map(|(key, _)| key.to_string())
    }

    /// Transfers an array of another secret key to the key of this server.
    fn transfer(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        let session = self.inner.session();
        let first = self.inner.transfers().map_or(session, |(_, first)| first);
        detached(py, || {
            let array: AnyArray = match &*array.any(first)? {
                AnyArray::Numbers(array) => self.inner.transfer(array)?.into(),
                AnyArray::Integers(array) => self.inner.transfer(array)?.into(),
                AnyArray::Bits(_) => return Err(bits_are_not("transfer")),
            };
            Ok(EncryptedArray::hold(array, session))
        })
    }

    /// Returns this server with products of integers by the named scheme, and its description.
    fn with_scheme(
        &self,
        py: Python<'_>,
        description: &KeysDescription,
        scheme: &str,
    ) -> PyResult<(Self, KeysDescription)> {
        detached(py, || {
            let scheme = Integers::scheme_by_name(scheme)?;
            let server = self.with(self.inner.with_scheme(scheme)?);
            Ok((server, description.clone().of_scheme(scheme)))
        })
    }

    /// The number of ciphertexts that were bootstrapped.
    #[getter]
    fn bootstraps(&self) -> u64 {
        self.inner.bootstraps() + self.inner.bits().map_or(0, |bits| bits.bootstraps())
    }

    /// The number of values that were looked up in tables so far.
    #[getter]
    fn look_ups_done(&self) -> u64 {
        self.inner.look_ups_done()
    }

    /// Returns this server with another precision of results.
    fn with_precision(&self, py: Python<'_>, bits: f64) -> PyResult<Self> {
        detached(py, || Ok(self.with(self.inner.with_precision(bits)?)))
    }

    /// Returns this server for arrays whose unequal values have this distance or more.
    fn with_distance(&self, py: Python<'_>, distance: f64) -> PyResult<Self> {
        detached(py, || Ok(self.with(self.inner.with_distance(distance)?)))
    }

    fn finishing(&self) -> Self {
        self.with(self.inner.finishing())
    }

    /// True if the server determines the precision of results, instead of their operands.
    #[getter]
    fn has_own_precision(&self) -> bool {
        self.inner.own_precision().is_some()
    }

    /// A server that computes without residues, and an array for it that agrees with this one in
    /// all other respects.
    fn dry_run(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<(Self, EncryptedArray)> {
        let session = self.inner.session();
        detached(py, || {
            let dry = self.inner.dry_run()?;
            let array: AnyArray = match &*array.any(session)? {
                AnyArray::Numbers(array) => dry.stand_in(array)?.into(),
                AnyArray::Integers(array) => dry.stand_in(array)?.into(),
                AnyArray::Bits(_) => return Err(bits_are_not("make a dry run")),
            };
            let array = EncryptedArray::hold(array, dry.session());
            Ok((Self::new(dry), array))
        })
    }

    /// Reads the array and prepares it for computing.
    fn load(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        let session = self.inner.session();
        detached(py, || Ok(EncryptedArray::hold(array.any(session)?.into_owned(), session)))
    }

    // Declarations

    fn array_with_precision(&self, py: Python<'_>, array: &EncryptedArray, bits: f64) -> Computed {
        self.one(py, Operation::WithPrecision(bits), &[array])
    }

    fn with_interval(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        low: f64,
        high: f64,
    ) -> Computed {
        self.one(py, Operation::WithInterval { low, high }, &[array])
    }

    fn with_precision_bits(&self, py: Python<'_>, array: &EncryptedArray, bits: f64) -> Computed {
        self.one(py, Operation::WithPrecisionBits(bits), &[array])
    }

    /// Declares that elements are deviations of values up to `bound` from their mean.
    fn as_deviations(&self, py: Python<'_>, array: &EncryptedArray, bound: f64) -> Computed {
        self.one(py, Operation::AsDeviations { bound }, &[array])
    }

    /// Declares that elements are variances of the elements of `values`, and derives their interval
    /// from that.
    fn as_variances(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        values: &EncryptedArray,
        factor: f64,
    ) -> Computed {
        self.one(py, Operation::AsVariances { factor }, &[array, values])
    }

    // Arithmetic

    fn add(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        self.one(py, Operation::Add, &[left, right])
    }

    fn sub(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        self.one(py, Operation::Sub, &[left, right])
    }

    fn mul(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        self.one(py, Operation::Mul, &[left, right])
    }

    fn add_plain(&self, py: Python<'_>, array: &EncryptedArray, values: PlainArray) -> Computed {
        self.one(py, Operation::AddPlain(values.plain), &[array])
    }

    fn mul_plain(&self, py: Python<'_>, array: &EncryptedArray, values: PlainArray) -> Computed {
        self.one(py, Operation::MulPlain(values.plain), &[array])
    }

    fn add_number(&self, py: Python<'_>, array: &EncryptedArray, number: Number) -> Computed {
        self.one(py, Operation::AddNumber(number.into()), &[array])
    }

    fn mul_number(&self, py: Python<'_>, array: &EncryptedArray, number: Number) -> Computed {
        self.one(py, Operation::MulNumber(number.into()), &[array])
    }

    /// Multiplies every element by a number with more precision than doubles.
    fn mul_exact_number(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        number: &BigArray,
    ) -> Computed {
        let number = number.single().map_err(|error| to_py(py, &error))?.clone();
        self.one(py, Operation::MulBigNumber(number), &[array])
    }

    fn div_number(&self, py: Python<'_>, array: &EncryptedArray, divisor: f64) -> Computed {
        self.one(py, Operation::DivNumber(divisor), &[array])
    }

    /// True if factors of this size, rounded to doubles, would make products less precise than
    /// requested.
    fn needs_digits(&self, py: Python<'_>, array: &EncryptedArray, size: f64) -> PyResult<bool> {
        let session = self.inner.session();
        detached(py, || Ok(self.inner.needs_digits(&*array.read::<Numbers>(session)?, size)))
    }

    fn negate(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::Negate, &[array])
    }

    fn pow(&self, py: Python<'_>, array: &EncryptedArray, exponent: u32) -> Computed {
        self.one(py, Operation::Pow { exponent }, &[array])
    }

    fn conjugate(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::Conjugate, &[array])
    }

    fn times_i(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::TimesI, &[array])
    }

    fn real(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::Real, &[array])
    }

    fn imag(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::Imaginary, &[array])
    }

    // Products of vectors and matrices, and sums

    fn dot(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        self.one(py, Operation::Dot, &[left, right])
    }

    fn dot_plain(&self, py: Python<'_>, array: &EncryptedArray, vector: PlainArray) -> Computed {
        self.one(py, Operation::DotPlain(vector.plain), &[array])
    }

    fn matmul_plain(&self, py: Python<'_>, array: &EncryptedArray, matrix: PlainArray) -> Computed {
        let PlainArray { plain: matrix, shape } = matrix;
        self.one(py, Operation::MatmulPlain { matrix, columns: shape[1] }, &[array])
    }

    fn rmatmul_plain(
        &self,
        py: Python<'_>,
        matrix: PlainArray,
        array: &EncryptedArray,
    ) -> Computed {
        let PlainArray { plain: matrix, shape } = matrix;
        self.one(py, Operation::RmatmulPlain { matrix, rows: shape[0] }, &[array])
    }

    /// The sum of the products of pairs of arrays.
    fn sum_of_products(
        &self,
        py: Python<'_>,
        pairs: Vec<(Py<EncryptedArray>, Py<EncryptedArray>)>,
    ) -> Computed {
        let operands: Vec<_> = pairs.iter().flat_map(|(a, b)| [a.get(), b.get()]).collect();
        self.one(py, Operation::SumOfProducts, &operands)
    }

    /// Elements of the convolution with a plain vector: `length` of them, starting with `first`.
    fn convolve_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        kernel: PlainArray,
        first: usize,
        length: usize,
    ) -> Computed {
        self.one(py, Operation::ConvolvePlain { kernel: kernel.plain, first, length }, &[array])
    }

    fn sum(&self, py: Python<'_>, array: &EncryptedArray, axis: Option<usize>) -> Computed {
        self.one(py, Operation::Sum { axis }, &[array])
    }

    /// The cumulative sums along an axis.
    fn cumsum(&self, py: Python<'_>, array: &EncryptedArray, axis: usize) -> Computed {
        self.one(py, Operation::CumSum { axis }, &[array])
    }

    /// Sums of selected elements, each times a plain number, over the last `axes` axes of the
    /// places and weights, which have the same shape. It is `None` if the sums need `most` products
    /// or more. The sums get the given strides, if that does not need much more work.
    fn linear_combinations(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        entries: (PyReadonlyArrayDyn<'_, i64>, PlainArray),
        axes: usize,
        most: Option<usize>,
        strides: Option<Vec<usize>>,
    ) -> PyResult<Option<EncryptedArray>> {
        let (places, weights) = entries;
        if matches!(weights.plain, Plain::Complex(_) | Plain::Big(_)) {
            return Err(PyTypeError::new_err("weights are integers or doubles"));
        }
        let Sums { shape, terms, places, most, strides } = Sums::new(&places, axes, most, strides);
        let weights = weights.plain;
        let sums = Operation::LinearCombinations { shape, terms, places, weights, most, strides };
        Ok(self.run(py, sums, &[array])?.pop())
    }

    // Moves

    fn roll(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shift: i64,
        axis: Option<usize>,
    ) -> Computed {
        self.one(py, Operation::Roll { shift, axis }, &[array])
    }

    fn transpose(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::Transpose, &[array])
    }

    /// Moves the elements to the layout of new arrays.
    fn packed(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::Pack, &[array])
    }

    /// The elements of these arrays at these places, which are counted through all arrays in order.
    fn gather(
        &self,
        py: Python<'_>,
        arrays: Vec<Py<EncryptedArray>>,
        shape: Vec<usize>,
        sources: PyReadonlyArray1<'_, i64>,
    ) -> Computed {
        let places = places(sources.as_slice()?);
        let operands: Vec<_> = arrays.iter().map(Py::get).collect();
        self.one(py, Operation::Gather { shape, places }, &operands)
    }

    /// The elements of an array at these places if they can be moved without a multiplication, or
    /// if there is no capacity for one. Otherwise this returns the number of products for moving
    /// them, which stops at a few hundred.
    fn pick(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shape: Vec<usize>,
        places: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<(Option<EncryptedArray>, usize)> {
        let sources = in_order(&places.as_array(), place);
        let products = detached(py, || match &*array.any(self.inner.session())? {
            AnyArray::Numbers(array) => self.inner.moving_products(array, &shape, &sources),
            AnyArray::Integers(array) => self.inner.moving_products(array, &shape, &sources),
            AnyArray::Bits(_) => Err(bits_are_not("move elements")),
        })?;
        if products > 0 {
            return Ok((None, products));
        }
        let places = sources.into_iter().map(Some).collect();
        Ok((Some(self.one(py, Operation::Gather { shape, places }, &[array])?), 0))
    }

    fn insert_axis(&self, py: Python<'_>, array: &EncryptedArray, axis: usize) -> Computed {
        self.one(py, Operation::InsertAxis { axis }, &[array])
    }

    fn broadcast_to(&self, py: Python<'_>, array: &EncryptedArray, shape: Vec<usize>) -> Computed {
        self.one(py, Operation::BroadcastTo { shape }, &[array])
    }

    /// Repeats an array times a number, with the shape and the layout of another array.
    fn broadcast_like(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        other: &EncryptedArray,
        factor: f64,
    ) -> Computed {
        self.one(py, Operation::BroadcastLike { factor }, &[array, other])
    }

    // Gates

    /// Gates of the same arrays of bits. A single gate is computed by products if there is
    /// capacity, and several gates by one bootstrap.
    fn gates(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        arrays: Vec<Py<EncryptedArray>>,
    ) -> PyResult<Vec<EncryptedArray>> {
        let gates = names.iter().map(|name| gate(name)).collect::<Result<Vec<_>, _>>();
        let gates = gates.map_err(|error| to_py(py, &error))?;
        let operands: Vec<_> = arrays.iter().map(Py::get).collect();
        self.run(py, Operation::Gates(gates), &operands)
    }

    /// A gate of an array of bits and plain bits.
    fn gate_plain(
        &self,
        py: Python<'_>,
        name: &str,
        array: &EncryptedArray,
        bits: PyReadonlyArrayDyn<'_, bool>,
    ) -> Computed {
        let gate = gate(name).map_err(|error| to_py(py, &error))?;
        self.one(py, Operation::GatePlain { gate, bits: row_major(&bits)?.to_vec() }, &[array])
    }

    /// The complement of an array of bits.
    fn complement(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::Complement, &[array])
    }

    // Functions

    /// Bootstraps the array to at least `capacity` bits, or to the largest capacity without it.
    fn bootstrap(&self, py: Python<'_>, array: &EncryptedArray, capacity: Option<f64>) -> Computed {
        self.one(py, Operation::Bootstrap { capacity }, &[array])
    }

    /// A polynomial with these coefficients, lowest degree first, in powers or in the Chebyshev
    /// polynomials of an interval.
    fn polynomial(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        coefficients: Vec<f64>,
        interval: Option<(f64, f64)>,
    ) -> Computed {
        self.one(py, Operation::Polynomial { coefficients, chebyshev: interval }, &[array])
    }

    /// A polynomial with these integer coefficients, lowest degree first.
    fn integer_polynomial(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        coefficients: Vec<i64>,
    ) -> Computed {
        self.one(py, Operation::IntegerPolynomial(coefficients), &[array])
    }

    /// The entry of a table for each integer.
    fn table(&self, py: Python<'_>, array: &EncryptedArray, table: Vec<i64>) -> Computed {
        self.one(py, Operation::IntegerTable(table), &[array])
    }

    /// The entry of a table for each number, which is a place in the table.
    fn entries(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        table: Vec<f64>,
        precision: Option<f64>,
    ) -> Computed {
        self.one(py, Operation::Entries { entries: table, precision }, &[array])
    }

    /// 1 for integers that are 0, and 0 for others.
    fn is_zero(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.one(py, Operation::IsZero, &[array])
    }

    /// `sign`, `positive`, `relu` or `abs` of an array, with the options of [`Comparison`].
    fn of_sign(
        &self,
        py: Python<'_>,
        operation: &str,
        array: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
        at_ties: f64,
    ) -> Computed {
        let how = Comparison { gap, precision, at_ties: ties(py, at_ties)? };
        let function: OfSign = known(operation)?;
        self.one(py, Operation::OfSign { function, how }, &[array])
    }

    /// `greater`, `less`, `maximum` or `minimum` of two arrays, with the options of [`Comparison`].
    #[allow(clippy::too_many_arguments)] // two operands and the options
    fn of_difference(
        &self,
        py: Python<'_>,
        operation: &str,
        left: &EncryptedArray,
        right: &EncryptedArray,
        gap: Option<f64>,
        precision: Option<f64>,
        at_ties: f64,
    ) -> Computed {
        let how = Comparison { gap, precision, at_ties: ties(py, at_ties)? };
        let function: OfDifference = known(operation)?;
        self.one(py, Operation::OfDifference { function, how }, &[left, right])
    }

    /// Applies any Python function. It is evaluated on the domain before the computation starts.
    fn apply(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        function: &Bound<'_, PyAny>,
        how: How,
    ) -> Computed {
        let session = self.inner.session();
        let narrowed = self.operand_of_function(py, array)?;
        let array = narrowed.as_ref().unwrap_or(array);
        let numbers = detached(py, || array.read::<Numbers>(session))?;
        let calls = Calls::new(function);
        let prepared = self.inner.prepare(&numbers, |x| calls.value(x), how.into());
        calls.end()?;
        let prepared = Box::new(prepared.map_err(|error| to_py(py, &error))?);
        self.one(py, Operation::Apply(prepared), &[array])
    }

    /// Applies a function by name.
    fn apply_function(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        name: &str,
        how: How,
    ) -> Computed {
        let (name, how) = (name.to_owned(), how.into());
        self.one(py, Operation::ApplyNamed { name, how }, &[array])
    }

    fn near_zero(&self, py: Python<'_>, array: &EncryptedArray, within: f64) -> Computed {
        self.one(py, Operation::IsNearZero { within }, &[array])
    }

    // Order

    /// `sort`, `argsort`, `rank`, `max`, `min`, `median`, `argmin` or `argmax`, along an axis or of
    /// all elements.
    fn in_order(
        &self,
        py: Python<'_>,
        operation: &str,
        array: &EncryptedArray,
        axis: Option<usize>,
    ) -> Computed {
        let function: InOrder = known(operation)?;
        self.one(py, Operation::InOrder { function, axis }, &[array])
    }

    /// Quantiles along an axis or of all elements. The first axis of the result has one entry for
    /// each of the shares.
    fn quantile(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shares: Vec<f64>,
        axis: Option<usize>,
    ) -> Computed {
        self.one(py, Operation::Quantile { shares, axis }, &[array])
    }

    fn top_k(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        k: usize,
        axis: Option<usize>,
    ) -> Computed {
        self.one(py, Operation::TopK { k, axis }, &[array])
    }

    fn max_pool(&self, py: Python<'_>, array: &EncryptedArray, size: usize) -> Computed {
        self.one(py, Operation::MaxPool { size }, &[array])
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

/// The operation or the kind of this name.
pub(crate) fn known<T: FromStr>(name: &str) -> PyResult<T> {
    name.parse().map_err(|_| PyValueError::new_err(format!("the name {name:?} is unknown")))
}

/// The error of an operation that arrays of bits do not have.
fn bits_are_not(operation: &'static str) -> Error {
    let what = "this array holds encrypted bits, and numbers or integers are needed".into();
    Error::Argument { operation, what }
}

/// The result of a comparison for equal values.
fn ties(py: Python<'_>, value: f64) -> PyResult<Ties> {
    match value {
        0.0 => Ok(Ties::Zero),
        0.5 => Ok(Ties::Half),
        1.0 => Ok(Ties::One),
        _ => {
            let what = format!("at_ties is {value}: equal values give 0, 0.5 or 1");
            Err(to_py(py, &Error::Argument { operation: "compare", what }))
        }
    }
}
