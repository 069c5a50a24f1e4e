//! What computes.

use hippocrene::{Basis, EncryptedArray as Array, Error, Polynomial};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::client::{EvaluationKeys, TransferKey};
use crate::errors::detached;
use crate::numbers::Numbers;

/// Evaluation keys made ready to compute with.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Server(hippocrene::Server);

impl Server {
    /// Computes from one array, with the interpreter lock released.
    fn compute(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        work: impl FnOnce(&hippocrene::Server, &Array) -> Result<Array, Error> + Send,
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        let array = detached(py, || work(&self.0, &*array.read(session)?))?;
        Ok(EncryptedArray::new(array, session))
    }

    /// Computes from two arrays, with the interpreter lock released.
    fn compute_from_two(
        &self,
        py: Python<'_>,
        left: &EncryptedArray,
        right: &EncryptedArray,
        work: impl FnOnce(&hippocrene::Server, &Array, &Array) -> Result<Array, Error> + Send,
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        let array = detached(py, || work(&self.0, &*left.read(session)?, &*right.read(session)?))?;
        Ok(EncryptedArray::new(array, session))
    }
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

    /// This server, with the key by which it takes arrays of another key.
    fn with_transfer(&self, py: Python<'_>, key: &TransferKey) -> PyResult<Self> {
        detached(py, || self.0.with_transfer(&key.0).map(Self))
    }

    /// The key whose arrays are transferred.
    #[getter]
    fn transfers(&self) -> Option<String> {
        self.0.transfers().map(|(key, _)| key.to_string())
    }

    /// The array of another key, brought to this server's.
    fn transfer(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        let first = self.0.transfers().map_or(self.0.session(), |(_, first)| first);
        let array = detached(py, || self.0.transfer(&*array.read(first)?))?;
        Ok(EncryptedArray::new(array, self.0.session()))
    }

    /// This server, with another precision of results.
    fn with_precision(&self, py: Python<'_>, bits: f64) -> PyResult<Self> {
        detached(py, || self.0.with_precision(bits).map(Self))
    }

    fn array_with_precision(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        bits: f64,
    ) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| array.clone().with_precision(bits, server.session()))
    }

    /// The array, read and ready to compute with.
    fn load(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute(py, array, |_, array| Ok(array.clone()))
    }

    fn with_bound(&self, py: Python<'_>, array: &EncryptedArray, bound: f64) -> PyResult<EncryptedArray> {
        self.compute(py, array, |_, array| array.clone().with_bound(bound))
    }

    fn add(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute_from_two(py, left, right, |server, left, right| server.add(left, right))
    }

    fn sub(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute_from_two(py, left, right, |server, left, right| server.sub(left, right))
    }

    fn mul(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute_from_two(py, left, right, |server, left, right| server.mul(left, right))
    }

    fn add_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        values: Numbers<'_>,
    ) -> PyResult<EncryptedArray> {
        let values = values.values()?;
        self.compute(py, array, |server, array| server.add_plain(array, values))
    }

    fn mul_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        values: Numbers<'_>,
    ) -> PyResult<EncryptedArray> {
        let values = values.values()?;
        self.compute(py, array, |server, array| server.mul_plain(array, values))
    }

    fn add_number(&self, py: Python<'_>, array: &EncryptedArray, number: f64) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.add_number(array, number))
    }

    fn mul_number(&self, py: Python<'_>, array: &EncryptedArray, number: f64) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.mul_number(array, number))
    }

    fn negate(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.negate(array))
    }

    fn pow(&self, py: Python<'_>, array: &EncryptedArray, exponent: u32) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.pow(array, exponent))
    }

    fn conjugate(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.conjugate(array))
    }

    fn dot(&self, py: Python<'_>, left: &EncryptedArray, right: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute_from_two(py, left, right, |server, left, right| server.dot(left, right))
    }

    fn dot_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        vector: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<EncryptedArray> {
        let vector = vector.as_slice()?;
        self.compute(py, array, |server, array| server.dot_plain(array, vector))
    }

    fn matmul_plain(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        matrix: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<EncryptedArray> {
        let columns = matrix.shape()[1];
        let matrix = matrix.as_slice()?;
        self.compute(py, array, |server, array| server.matmul_plain(array, matrix, columns))
    }

    fn rmatmul_plain(
        &self,
        py: Python<'_>,
        matrix: PyReadonlyArray2<'_, f64>,
        array: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        let rows = matrix.shape()[0];
        let matrix = matrix.as_slice()?;
        self.compute(py, array, |server, array| server.rmatmul_plain(matrix, rows, array))
    }

    #[pyo3(signature = (array, axis))]
    fn sum(&self, py: Python<'_>, array: &EncryptedArray, axis: Option<usize>) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.sum(array, axis))
    }

    #[pyo3(signature = (array, axis))]
    fn mean(&self, py: Python<'_>, array: &EncryptedArray, axis: Option<usize>) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.mean(array, axis))
    }

    #[pyo3(signature = (array, shift, axis))]
    fn roll(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shift: i64,
        axis: Option<usize>,
    ) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.roll(array, shift, axis))
    }

    fn transpose(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.transpose(array))
    }

    fn insert_axis(&self, py: Python<'_>, array: &EncryptedArray, axis: usize) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.insert_axis(array, axis))
    }

    fn broadcast_to(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        shape: Vec<usize>,
    ) -> PyResult<EncryptedArray> {
        self.compute(py, array, |server, array| server.broadcast_to(array, &shape))
    }

    /// A polynomial of these coefficients, lowest degree first: of powers, or of Chebyshev polynomials of an interval.
    #[pyo3(signature = (array, coefficients, interval))]
    fn polynomial(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
        coefficients: Vec<f64>,
        interval: Option<(f64, f64)>,
    ) -> PyResult<EncryptedArray> {
        let basis = interval.map_or(Basis::Monomial, |(low, high)| Basis::Chebyshev { low, high });
        self.compute(py, array, |server, array| {
            let polynomial = Polynomial::new(basis, coefficients)?;
            server.polynomial(array, &polynomial)
        })
    }
}
