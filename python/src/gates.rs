//! Gates of single bits.

use hippocrene::{Error, Gate, GateArray, Stored};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::{
    array::EncryptedArray,
    bits::gate,
    combinations::places,
    errors::{detached, to_py},
    files::with_files,
    numbers::{row_major, to_numpy},
};

with_files!(GateClient, GateSecretKey, {
    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        detached(py, || hippocrene::GateClient::generate().map(Self))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    fn evaluation_keys(&self, py: Python<'_>, threads: usize) -> PyResult<GateKeys> {
        detached(py, || self.0.evaluation_keys(threads).map(GateKeys))
    }

    fn encrypt(
        &self,
        py: Python<'_>,
        values: PyReadonlyArrayDyn<'_, bool>,
    ) -> PyResult<EncryptedArray> {
        let (bits, shape) = (row_major(&values)?, values.shape());
        detached(py, || self.0.encrypt(bits, shape).map(EncryptedArray::of_gates))
    }

    fn decrypt<'py>(&self, py: Python<'py>, array: &EncryptedArray) -> PyResult<Bound<'py, PyAny>> {
        let (values, shape) = detached(py, || {
            let array = array.gates("decrypt")?;
            Ok::<_, Error>((self.0.decrypt(array)?, array.shape()))
        })?;
        to_numpy(py, values, shape)
    }
});

with_files!(GateKeys, GateKeys, {
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }
});

/// Keys prepared for computing. The methods for bits are those of a server of numbers.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct GateServer(hippocrene::GateServer);

impl GateServer {
    fn compute(
        py: Python<'_>,
        compute: impl FnOnce() -> Result<GateArray, Error> + Send,
    ) -> PyResult<EncryptedArray> {
        detached(py, || compute().map(EncryptedArray::of_gates))
    }
}

fn all<'a>(
    arrays: &'a [PyRef<'_, EncryptedArray>],
    operation: &'static str,
) -> Result<Vec<&'a GateArray>, Error> {
    arrays.iter().map(|array| array.gates(operation)).collect()
}

#[pymethods]
impl GateServer {
    #[new]
    fn new(py: Python<'_>, keys: &GateKeys, threads: usize) -> PyResult<Self> {
        detached(py, || hippocrene::GateServer::new(&keys.0, threads).map(Self))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    #[getter]
    fn key_memory(&self) -> usize {
        self.0.key_memory()
    }

    #[getter]
    fn rotations(&self) -> u64 {
        self.0.rotations()
    }

    fn gates(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        arrays: Vec<PyRef<'_, EncryptedArray>>,
    ) -> PyResult<Vec<EncryptedArray>> {
        let arrays = all(&arrays, "gates").map_err(|error| to_py(py, &error))?;
        detached(py, || {
            let gates: Vec<Gate> = names.iter().map(|name| gate(name)).collect::<Result<_, _>>()?;
            let out = self.0.gates(&gates, &arrays)?;
            Ok::<_, Error>(out.into_iter().map(EncryptedArray::of_gates).collect())
        })
    }

    fn gate_plain(
        &self,
        py: Python<'_>,
        name: &str,
        array: &EncryptedArray,
        bits: PyReadonlyArrayDyn<'_, bool>,
    ) -> PyResult<EncryptedArray> {
        let bits = row_major(&bits)?;
        Self::compute(py, || {
            let gate = gate(name)?;
            self.0.gate_plain(gate, array.gates(gate.name())?, bits)
        })
    }

    fn complement(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        Self::compute(py, || self.0.not(array.gates("not")?))
    }

    fn select(
        &self,
        py: Python<'_>,
        condition: &EncryptedArray,
        a: &EncryptedArray,
        b: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        const SELECT: &str = "select";
        Self::compute(py, || {
            self.0.select(condition.gates(SELECT)?, a.gates(SELECT)?, b.gates(SELECT)?)
        })
    }

    fn gather(
        &self,
        py: Python<'_>,
        arrays: Vec<PyRef<'_, EncryptedArray>>,
        shape: Vec<usize>,
        sources: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<EncryptedArray> {
        let arrays = all(&arrays, "move elements").map_err(|error| to_py(py, &error))?;
        let sources = places(sources.as_slice()?);
        Self::compute(py, || self.0.gather(&arrays, &shape, &sources))
    }

    /// Returns the array itself, because single bits have only one layout.
    fn packed(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<EncryptedArray> {
        Self::compute(py, || Ok(array.gates("packed")?.clone()))
    }
}
