//! The server, which computes on encrypted arrays.

use hippocrene::{
    Application, Arithmetic, Array, Basis, Bits, Comparison, Error, Function, IntegerPolynomial,
    Integers, Interval, Layout, Numbers, Polynomial, Residues, Ties,
};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::approximation::Calls;
use crate::array::{Computed, EncryptedArray, Held};
use crate::bits::gate;
use crate::client::{EvaluationKeys, TransferKey};
use crate::combinations::{Sums, in_order, place, places};
use crate::description::KeysDescription;
use crate::errors::{detached, to_py};
use crate::numbers::{BigArray, FromPlain, Number, Plain};

/// Evaluation keys prepared for computing.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Server(pub(crate) hippocrene::Server);

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
    /// Reads an array for this server. Elements that were read before are not read again.
    fn loaded<F: Held>(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        detached(py, || {
            let session = self.0.session();
            Ok(F::hold(array.read::<F>(session)?.into_owned(), session))
        })
    }

    /// Computes from an array of one form, with the interpreter lock released.
    fn compute<F: Held>(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        work: impl FnOnce(&hippocrene::Server, &Array<F>) -> Result<Array<F>, Error> + Send,
    ) -> Computed {
        let session = self.0.session();
        detached(py, || Ok(F::hold(work(&self.0, &*array.read(session)?)?, session)))
    }

    /// Computes from two arrays of one form, with the interpreter lock released.
    fn compute_from_two<F: Held>(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
        work: impl FnOnce(&hippocrene::Server, &Array<F>, &Array<F>) -> Result<Array<F>, Error> + Send,
    ) -> Computed {
        let session = self.0.session();
        detached(py, || {
            Ok(F::hold(work(&self.0, &*left.read(session)?, &*right.read(session)?)?, session))
        })
    }

    /// Computes from several arrays of one form, with the interpreter lock released.
    fn compute_from_all<F: Held>(
        &self,
        py: Python<'_>,
        arrays: &[Py<EncryptedArray>],
        work: impl FnOnce(&hippocrene::Server, &[&Array<F>]) -> Result<Vec<Array<F>>, Error> + Send,
    ) -> PyResult<Vec<EncryptedArray>> {
        let session = self.0.session();
        detached(py, || {
            let read = arrays.iter().map(|array| array.get().read::<F>(session));
            let read = read.collect::<Result<Vec<_>, _>>()?;
            let arrays: Vec<&Array<F>> = read.iter().map(|array| &**array).collect();
            let made = work(&self.0, &arrays)?.into_iter();
            Ok(made.map(|array| F::hold(array, session)).collect())
        })
    }

    /// Computes sums of elements, each times a weight.
    fn combined<F: Held + Arithmetic>(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        sums: &Sums,
        weights: &PyReadonlyArrayDyn<'_, F::Number>,
    ) -> PyResult<Option<EncryptedArray>>
    where
        F::Number: Element,
    {
        let (session, weights) = (self.0.session(), in_order(&weights.as_array(), Clone::clone));
        detached(py, || {
            let combined = self.0.linear_combinations_within(
                &*array.read::<F>(session)?,
                &sums.shape,
                sums.terms,
                sums.places.iter().copied().zip(weights.iter().cloned()),
                sums.most,
                sums.strides.as_deref(),
            )?;
            Ok(combined.map(|combined| F::hold(combined, session)))
        })
    }
}

/// Evaluates an expression in which `F` is the form of an array of numbers or integers.
macro_rules! of_form {
    ($array:ident, $computed:expr) => {
        of_form!(integers: $array.is_integers(), $computed)
    };
    (integers: $integers:expr, $computed:expr) => {
        if $integers {
            type F = Residues;
            $computed
        } else {
            type F = Numbers;
            $computed
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
    fn transfer(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        let session = self.0.session();
        let first = self.0.transfers().map_or(session, |(_, first)| first);
        of_form!(
            array,
            detached(py, || Ok(F::hold(self.0.transfer(&*array.read::<F>(first)?)?, session)))
        )
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
            Ok((Self(self.0.with_scheme(scheme)?), description.clone().of_scheme(scheme)))
        })
    }

    /// The number of ciphertexts that were bootstrapped.
    #[getter]
    fn bootstraps(&self) -> u64 {
        self.0.bootstraps() + self.0.bits().map_or(0, |bits| bits.bootstraps())
    }

    /// The number of values that were looked up in tables so far.
    #[getter]
    fn look_ups_done(&self) -> u64 {
        self.0.look_ups_done()
    }

    /// Returns this server with another precision of results.
    fn with_precision(&self, py: Python<'_>, bits: f64) -> PyResult<Self> {
        detached(py, || self.0.with_precision(bits).map(Self))
    }

    /// Returns this server for arrays whose unequal values have this distance or more.
    fn with_distance(&self, py: Python<'_>, distance: f64) -> PyResult<Self> {
        detached(py, || self.0.with_distance(distance).map(Self))
    }

    fn finishing(&self) -> Self {
        Self(self.0.finishing())
    }

    /// True if the server determines the precision of results, instead of their operands.
    #[getter]
    fn has_own_precision(&self) -> bool {
        self.0.own_precision().is_some()
    }

    /// A server that computes without residues, and an array for it that agrees with this one in
    /// all other respects.
    fn dry_run(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<(Self, EncryptedArray)> {
        let session = self.0.session();
        of_form!(
            array,
            detached(py, || {
                let dry = self.0.dry_run()?;
                let array = dry.stand_in(&*array.read::<F>(session)?)?;
                let array = F::hold(array, dry.session());
                Ok((Self(dry), array))
            })
        )
    }

    /// Reads the array and prepares it for computing.
    fn load(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        if array.is_bits() {
            return self.loaded::<Bits>(py, array);
        }
        of_form!(array, self.loaded::<F>(py, array))
    }

    // Declarations

    fn array_with_precision(&self, py: Python<'_>, array: &EncryptedArray, bits: f64) -> Computed {
        self.compute::<Numbers>(py, array, |server, array| {
            array.clone().with_precision(bits, server.session())
        })
    }

    fn with_interval(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        low: f64,
        high: f64,
    ) -> Computed {
        let interval = Interval::finite(low, high).map_err(|error| to_py(py, &error))?;
        if array.is_integers() {
            return self
                .compute::<Residues>(py, array, |_, array| array.clone().with_interval(interval));
        }
        self.compute::<Numbers>(py, array, |server, array| server.declare_interval(array, interval))
    }

    fn with_precision_bits(&self, py: Python<'_>, array: &EncryptedArray, bits: f64) -> Computed {
        self.compute::<Numbers>(py, array, |server, array| server.declare_precision(array, bits))
    }

    /// Declares that elements are deviations of values up to `bound` from their mean.
    fn as_deviations(&self, py: Python<'_>, array: &EncryptedArray, bound: f64) -> Computed {
        self.compute::<Numbers>(py, array, |_, array| Ok(array.clone().as_deviations(bound)))
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
        self.compute_from_two::<Numbers>(py, array, values, |_, array, values| {
            Ok(array.clone().as_variances(values.interval(), factor))
        })
    }

    // Arithmetic

    fn add(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        of_form!(left, self.compute_from_two::<F>(py, left, right, |server, a, b| server.add(a, b)))
    }

    fn sub(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        of_form!(left, self.compute_from_two::<F>(py, left, right, |server, a, b| server.sub(a, b)))
    }

    fn mul(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        of_form!(left, self.compute_from_two::<F>(py, left, right, |server, a, b| server.mul(a, b)))
    }

    fn add_plain(&self, py: Python<'_>, array: &EncryptedArray, values: Plain<'_>) -> Computed {
        let plain = values.slices()?;
        of_form!(
            array,
            self.compute::<F>(py, array, |server, a| server.add_plain(a, F::of_slices(plain)?))
        )
    }

    fn mul_plain(&self, py: Python<'_>, array: &EncryptedArray, values: Plain<'_>) -> Computed {
        let plain = values.slices()?;
        of_form!(
            array,
            self.compute::<F>(py, array, |server, a| server.mul_plain(a, F::of_slices(plain)?))
        )
    }

    fn add_number(&self, py: Python<'_>, array: &EncryptedArray, number: Number) -> Computed {
        of_form!(
            array,
            self.compute::<F>(py, array, |server, a| server.add_number(a, F::of_number(number)?))
        )
    }

    fn mul_number(&self, py: Python<'_>, array: &EncryptedArray, number: Number) -> Computed {
        of_form!(
            array,
            self.compute::<F>(py, array, |server, a| server.mul_number(a, F::of_number(number)?))
        )
    }

    /// Multiplies every element by a number with more precision than doubles.
    fn mul_exact_number(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        number: &BigArray,
    ) -> Computed {
        self.compute::<Numbers>(py, array, |server, a| server.mul_big_number(a, number.single()?))
    }

    fn div_number(&self, py: Python<'_>, array: &EncryptedArray, divisor: f64) -> Computed {
        self.compute::<Numbers>(py, array, |server, array| server.div_number(array, divisor))
    }

    /// True if factors of this size, rounded to doubles, would make products less precise than
    /// requested.
    fn needs_digits(&self, py: Python<'_>, array: &EncryptedArray, size: f64) -> PyResult<bool> {
        let session = self.0.session();
        detached(py, || Ok(self.0.needs_digits(&*array.read::<Numbers>(session)?, size)))
    }

    fn negate(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        of_form!(array, self.compute::<F>(py, array, |server, array| server.negate(array)))
    }

    fn pow(&self, py: Python<'_>, array: &EncryptedArray, exponent: u32) -> Computed {
        of_form!(array, self.compute::<F>(py, array, |server, array| server.pow(array, exponent)))
    }

    fn conjugate(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.compute(py, array, |server, array| server.conjugate(array))
    }

    fn times_i(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.compute(py, array, |server, array| server.times_i(array))
    }

    fn real(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.compute(py, array, |server, array| server.real(array))
    }

    fn imag(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.compute(py, array, |server, array| server.imaginary(array))
    }

    // Products of vectors and matrices, and sums

    fn dot(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> Computed {
        of_form!(left, self.compute_from_two::<F>(py, left, right, |server, a, b| server.dot(a, b)))
    }

    fn dot_plain(&self, py: Python<'_>, array: &EncryptedArray, vector: Plain<'_>) -> Computed {
        let vector = vector.slices()?;
        of_form!(
            array,
            self.compute::<F>(py, array, |server, a| server.dot_plain(a, F::of_matrix(vector)?))
        )
    }

    fn matmul_plain(&self, py: Python<'_>, array: &EncryptedArray, matrix: Plain<'_>) -> Computed {
        let (columns, matrix) = (matrix.shape()[1], matrix.slices()?);
        of_form!(
            array,
            self.compute::<F>(py, array, |server, array| {
                server.matmul_plain(array, F::of_matrix(matrix)?, columns)
            })
        )
    }

    fn rmatmul_plain(&self, py: Python<'_>, matrix: Plain<'_>, array: &EncryptedArray) -> Computed {
        let (rows, matrix) = (matrix.shape()[0], matrix.slices()?);
        of_form!(
            array,
            self.compute::<F>(py, array, |server, array| {
                server.rmatmul_plain(F::of_matrix(matrix)?, rows, array)
            })
        )
    }

    /// The sum of the products of pairs of arrays.
    fn sum_of_products(
        &self,
        py: Python<'_>,
        pairs: Vec<(Py<EncryptedArray>, Py<EncryptedArray>)>,
    ) -> Computed {
        let session = self.0.session();
        let integers = pairs.first().is_some_and(|(left, _)| left.get().is_integers());
        of_form!(
            integers: integers,
            detached(py, || {
                let read = pairs
                    .iter()
                    .map(|(a, b)| Ok((a.get().read(session)?, b.get().read(session)?)));
                let read = read.collect::<Result<Vec<_>, Error>>()?;
                let pairs: Vec<(&Array<F>, &Array<F>)> =
                    read.iter().map(|(a, b)| (&**a, &**b)).collect();
                Ok(F::hold(self.0.sum_of_products(&pairs)?, session))
            })
        )
    }

    /// Elements of the convolution with a plain vector: `length` of them, starting with `first`.
    fn convolve_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        kernel: Plain<'_>,
        first: usize,
        length: usize,
    ) -> Computed {
        let kernel = kernel.slices()?;
        of_form!(
            array,
            self.compute::<F>(py, array, |server, array| {
                server.convolve_plain(array, F::of_matrix(kernel)?, first, length)
            })
        )
    }

    fn sum(&self, py: Python<'_>, array: &EncryptedArray, axis: Option<usize>) -> Computed {
        of_form!(array, self.compute::<F>(py, array, |server, array| server.sum(array, axis)))
    }

    /// The cumulative sums along an axis.
    fn cumsum(&self, py: Python<'_>, array: &EncryptedArray, axis: usize) -> Computed {
        of_form!(array, self.compute::<F>(py, array, |server, array| server.cumsum(array, axis)))
    }

    /// Sums of selected elements, each times a plain number, over the last `axes` axes of the
    /// places and weights, which have the same shape. It is `None` if the sums need `most` products
    /// or more. The sums get the given strides, if that does not need much more work.
    fn linear_combinations(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        entries: (PyReadonlyArrayDyn<'_, i64>, Plain<'_>),
        axes: usize,
        most: Option<usize>,
        strides: Option<Vec<usize>>,
    ) -> PyResult<Option<EncryptedArray>> {
        let (places, weights) = entries;
        let sums = Sums::new(&places, axes, most, strides);
        match &weights {
            Plain::Integers(weights) => self.combined::<Residues>(py, array, &sums, weights),
            Plain::Real(weights) => self.combined::<Numbers>(py, array, &sums, weights),
            Plain::Complex(_) | Plain::Big(_) => {
                Err(PyTypeError::new_err("weights are integers or doubles"))
            }
        }
    }

    // Moves

    fn roll(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shift: i64,
        axis: Option<usize>,
    ) -> Computed {
        of_form!(
            array,
            self.compute::<F>(py, array, |server, array| server.roll(array, shift, axis))
        )
    }

    fn transpose(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        of_form!(array, self.compute::<F>(py, array, |server, array| server.transpose(array)))
    }

    /// Moves the elements to the layout of new arrays.
    fn packed(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        if array.is_bits() {
            return self.compute(py, array, |server, array| server.packed_bits(array));
        }
        of_form!(
            array,
            self.compute::<F>(py, array, |server, array| {
                server.relayout(array, Layout::packed(array.shape(), F::slots(server.session()))?)
            })
        )
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
        let mut gathered = if arrays.iter().any(|array| array.get().is_bits()) {
            self.compute_from_all(py, &arrays, |server, arrays| {
                Ok(vec![server.gather_bits(arrays, &shape, &places)?])
            })
        } else {
            let integers = arrays.iter().any(|array| array.get().is_integers());
            of_form!(
                integers: integers,
                self.compute_from_all::<F>(py, &arrays, |server, arrays| {
                    Ok(vec![server.gather_padded(arrays, &shape, &places)?])
                })
            )
        }?;
        Ok(gathered.remove(0))
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
        let (session, sources) = (self.0.session(), in_order(&places.as_array(), place));
        of_form!(
            array,
            detached(py, || {
                let array = array.read::<F>(session)?;
                match self.0.moving_products(&*array, &shape, &sources)? {
                    0 => Ok((
                        Some(F::hold(self.0.gather(&[&*array], &shape, &sources)?, session)),
                        0,
                    )),
                    products => Ok((None, products)),
                }
            })
        )
    }

    fn insert_axis(&self, py: Python<'_>, array: &EncryptedArray, axis: usize) -> Computed {
        of_form!(
            array,
            self.compute::<F>(py, array, |server, array| server.insert_axis(array, axis))
        )
    }

    fn broadcast_to(&self, py: Python<'_>, array: &EncryptedArray, shape: Vec<usize>) -> Computed {
        of_form!(
            array,
            self.compute::<F>(py, array, |server, array| server.broadcast_to(array, &shape))
        )
    }

    /// Repeats an array times a number, with the shape and the layout of another array.
    fn broadcast_like(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        other: &EncryptedArray,
        factor: f64,
    ) -> Computed {
        self.compute_from_two::<Numbers>(py, array, other, |server, array, other| {
            let copies = server.broadcast_like(array, other, factor)?;
            Ok(if array.size() == 1 { copies.as_mean() } else { copies })
        })
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
        self.compute_from_all::<Bits>(py, &arrays, |server, arrays| {
            let gates = names.iter().map(|name| gate(name)).collect::<Result<Vec<_>, _>>()?;
            let alike = server.in_common_layout(arrays)?;
            let inputs: Vec<_> = alike.iter().collect();
            match gates[..] {
                [gate] => Ok(vec![server.bits()?.gate(gate, &inputs)?]),
                _ => server.bits()?.gates(&gates, &inputs),
            }
        })
    }

    /// A gate of an array of bits and plain bits.
    fn gate_plain(
        &self,
        py: Python<'_>,
        name: &str,
        array: &EncryptedArray,
        bits: PyReadonlyArrayDyn<'_, bool>,
    ) -> Computed {
        let bits = bits.as_slice()?;
        self.compute::<Bits>(py, array, |server, array| {
            server.bits()?.gate_plain(gate(name)?, array, bits)
        })
    }

    /// The complement of an array of bits.
    fn complement(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.compute::<Bits>(py, array, |server, array| server.bits()?.not(array))
    }

    // Functions

    /// Bootstraps the array to at least `capacity` bits, or to the largest capacity without it.
    fn bootstrap(&self, py: Python<'_>, array: &EncryptedArray, capacity: Option<f64>) -> Computed {
        self.compute(py, array, |server, array| server.bootstrap_to(array, capacity))
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
        let basis = interval.map_or(Basis::Monomial, |(low, high)| Basis::Chebyshev { low, high });
        self.compute::<Numbers>(py, array, |server, array| {
            server.polynomial(array, &Polynomial::new(basis, coefficients)?)
        })
    }

    /// A polynomial with these integer coefficients, lowest degree first.
    fn integer_polynomial(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        coefficients: Vec<i64>,
    ) -> Computed {
        self.compute::<Residues>(py, array, |server, array| {
            let polynomial = IntegerPolynomial::new(array.form().plain_modulus, &coefficients)?;
            server.polynomial(array, &polynomial)
        })
    }

    /// The entry of a table for each integer.
    fn table(&self, py: Python<'_>, array: &EncryptedArray, table: Vec<i64>) -> Computed {
        self.compute::<Residues>(py, array, |server, array| {
            let polynomial = IntegerPolynomial::of_entries(array.form().plain_modulus, &table)?;
            server.polynomial(array, &polynomial)
        })
    }

    /// The entry of a table for each number, which is a place in the table.
    fn entries(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        table: Vec<f64>,
        precision: Option<f64>,
    ) -> Computed {
        self.compute(py, array, |server, array| server.entries(array, &table, precision))
    }

    /// 1 for integers that are 0, and 0 for others.
    fn is_zero(&self, py: Python<'_>, array: &EncryptedArray) -> Computed {
        self.compute::<Residues>(py, array, |server, array| server.is_zero(array))
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
        let compute = match operation {
            "sign" => hippocrene::Server::sign,
            "positive" => hippocrene::Server::positive,
            "relu" => hippocrene::Server::relu,
            "abs" => hippocrene::Server::abs,
            other => return Err(unknown(other)),
        };
        self.compute(py, array, |server, array| compute(server, array, how))
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
        let compute = match operation {
            "greater" => hippocrene::Server::greater,
            "less" => hippocrene::Server::less,
            "maximum" => hippocrene::Server::maximum,
            "minimum" => hippocrene::Server::minimum,
            other => return Err(unknown(other)),
        };
        self.compute_from_two(py, left, right, |server, a, b| compute(server, a, b, how))
    }

    /// Applies any Python function. It is evaluated on the domain before the computation starts.
    fn apply(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        function: &Bound<'_, PyAny>,
        how: How,
    ) -> Computed {
        let session = self.0.session();
        let array = detached(py, || Ok(array.read::<Numbers>(session)?.into_owned()))?;
        let calls = Calls::new(function);
        let prepared = self.0.prepare(&array, |x| calls.value(x), how.into());
        calls.end()?;
        let prepared = prepared.map_err(|error| to_py(py, &error))?;
        let result = detached(py, || self.0.apply_prepared(&array, &prepared))?;
        Ok(Numbers::hold(result, session))
    }

    /// Applies a function by name.
    fn apply_function(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        name: &str,
        how: How,
    ) -> Computed {
        self.compute::<Numbers>(py, array, |server, array| {
            let function = Function::by_name(name).map_err(Error::from)?;
            server.apply_named(array, function, how.into())
        })
    }

    fn near_zero(&self, py: Python<'_>, array: &EncryptedArray, within: f64) -> Computed {
        self.compute(py, array, |server, array| server.is_near_zero(array, within))
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
        let compute = match operation {
            "sort" => hippocrene::Server::sort,
            "argsort" => hippocrene::Server::argsort,
            "max" => hippocrene::Server::largest,
            "min" => hippocrene::Server::smallest,
            "median" => hippocrene::Server::median,
            "rank" => hippocrene::Server::rank,
            "argmin" => hippocrene::Server::argmin,
            "argmax" => hippocrene::Server::argmax,
            other => return Err(unknown(other)),
        };
        self.compute(py, array, |server, array| compute(server, array, axis))
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
        self.compute(py, array, |server, array| server.quantile(array, &shares, axis))
    }

    fn top_k(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        k: usize,
        axis: Option<usize>,
    ) -> Computed {
        self.compute(py, array, |server, array| server.top_k(array, k, axis))
    }

    fn max_pool(&self, py: Python<'_>, array: &EncryptedArray, size: usize) -> Computed {
        self.compute(py, array, |server, array| server.max_pool(array, size))
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

/// The error for an operation that does not exist.
fn unknown(operation: &str) -> PyErr {
    PyValueError::new_err(format!("there is no operation {operation:?}"))
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
