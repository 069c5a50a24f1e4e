//! Simulations of programs.

use crate::array::{Computed, EncryptedArray};
use crate::client::{
    EvaluationKeys, How, Requested, Wanted, WantedLookUps, declared, encrypted, requested,
    settings, wanted, wanted_look_ups,
};
use crate::description::{KeysDescription, plain_modulus};
use crate::errors::{detached, to_py};
use crate::numbers::{Plain, Slices, row_major, to_numpy};
use crate::server::Server;
use hippocrene::{Bits, Bootstrapping, Encryption, KeyRequest, LookUps, Numbers, Purpose};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A server without keys, and the encryption for it.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Simulation(hippocrene::Simulation, KeysDescription);

impl Simulation {
    /// A simulation with keys for this request.
    pub(crate) fn with_keys_of(simulation: hippocrene::Simulation, request: &KeyRequest) -> Self {
        let description = match simulation.keys() {
            Some(keys) => KeysDescription::of(keys),
            None => KeysDescription::every(simulation.server().session(), request),
        };
        Self(simulation, description)
    }

    /// A simulation with its own keys and no others.
    fn of_limited(simulation: hippocrene::Simulation) -> Self {
        Self::with_keys_of(simulation, &KeyRequest::only([]))
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as there are for keys
    fn new(
        py: Python<'_>,
        preset: &str,
        precision: Option<f64>,
        scheme: Option<&str>,
        plain_modulus: Option<u64>,
        bootstrapping: Option<Wanted>,
        look_ups: Option<WantedLookUps>,
        bits: bool,
    ) -> PyResult<Self> {
        detached(py, || {
            let settings = settings(preset, precision, scheme, plain_modulus)?;
            let bits = hippocrene::Preset::of_bits(&settings)
                .filter(|_| bits)
                .map(|preset| preset.bits())
                .transpose()?;
            let bootstrapping = bootstrapping.map(wanted);
            let look_ups = look_ups.map(wanted_look_ups).transpose()?;
            let request = KeyRequest { bootstrapping, look_ups, bits, ..KeyRequest::only([]) };
            let simulation = hippocrene::Simulation::with_keys(settings, &request)?;
            let description = KeysDescription::every(simulation.server().session(), &request);
            Ok(Self(simulation, description))
        })
    }

    /// A simulation with the requested keys and no others.
    #[staticmethod]
    fn limited(
        py: Python<'_>,
        preset: &str,
        precision: Option<f64>,
        scheme: Option<&str>,
        plain_modulus: Option<u64>,
        request: Requested,
    ) -> PyResult<Self> {
        detached(py, || {
            let settings = settings(preset, precision, scheme, plain_modulus)?;
            let request = requested(request, &settings)?;
            Ok(Self::of_limited(hippocrene::Simulation::limited_to(settings, &request)?))
        })
    }

    /// A simulation with keys like these and no others.
    #[staticmethod]
    fn limited_to(py: Python<'_>, keys: &EvaluationKeys) -> PyResult<Self> {
        detached(py, || Ok(Self::of_limited(hippocrene::Simulation::limited_to_keys(&keys.0)?)))
    }

    /// A simulation with the same parameters and every key. It has keys for bootstraps or tables if
    /// this one has them, or if they are requested.
    fn unlimited(&self, py: Python<'_>, bootstrapping: bool, tables: bool) -> PyResult<Self> {
        detached(py, || {
            let keys = self.0.keys();
            let bootstrap = keys.and_then(|keys| keys.bootstrapping()).map(|own| own.request());
            let look_ups = keys.and_then(|keys| keys.look_ups()).map(|own| own.request());
            let request = KeyRequest {
                bootstrapping: bootstrap.or(bootstrapping.then(Bootstrapping::default)),
                look_ups: look_ups.or(tables.then(LookUps::default)),
                bits: keys.and_then(|keys| keys.bits()).map(|own| own.literal().clone()),
                ..KeyRequest::only([])
            };
            let settings = self.0.server().session().settings().clone();
            let simulation = hippocrene::Simulation::with_keys(settings, &request)?;
            let description = KeysDescription::every(simulation.server().session(), &request);
            Ok(Self(simulation, description))
        })
    }

    /// The names of the requested keys that are missing. It is empty if there is every key.
    fn lacks(&self, py: Python<'_>, request: Requested) -> PyResult<Vec<String>> {
        let Some(keys) = self.0.keys() else { return Ok(Vec::new()) };
        detached(py, || Ok(keys.lacks(&requested(request, keys.session().settings())?)))
    }

    fn use_reference_prices(&self) {
        self.0.use_reference_prices();
    }

    /// The description of the keys of its server.
    fn describe(&self) -> KeysDescription {
        self.1.clone()
    }

    fn server(&self) -> Server {
        Server::new(self.0.server().clone())
    }

    #[getter]
    fn plain_modulus(&self) -> Option<u64> {
        plain_modulus(self.0.server().session())
    }

    /// True if it encrypts bits.
    #[getter]
    fn for_bits(&self) -> bool {
        self.0.server().bits().is_ok()
    }

    fn encrypt_bits(&self, py: Python<'_>, values: PyReadonlyArrayDyn<'_, bool>) -> Computed {
        let (bits, shape, session) =
            (row_major(&values)?, values.shape(), self.0.server().session());
        detached(py, || Ok(EncryptedArray::hold(self.0.encrypt_bits(bits, shape)?, session)))
    }

    fn encrypt(&self, py: Python<'_>, values: Plain<'_>, how: How) -> Computed {
        encrypted!(self.0, self.0.server().session(), encrypt, py, values, how)
    }

    /// The elements of an array without noise, or `None` if they are not known.
    fn values<'py>(
        &self,
        py: Python<'py>,
        array: &EncryptedArray,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if array.is_integers() {
            return Ok(None);
        }
        if array.is_bits() {
            let array =
                array.read::<Bits>(self.0.server().session()).map_err(|error| to_py(py, &error))?;
            return self.0.bits(&array).map(|bits| to_numpy(py, bits, array.shape())).transpose();
        }
        let array = detached(py, || array.read::<Numbers>(self.0.server().session()))?;
        let Some(values) = self.0.values(&array) else { return Ok(None) };
        if array.is_complex() {
            return to_numpy(py, values, array.shape()).map(Some);
        }
        let real: Vec<f64> = values.iter().map(|z| z.re).collect();
        to_numpy(py, real, array.shape()).map(Some)
    }

    fn restart(&self) {
        self.0.restart();
    }

    fn report(&self, py: Python<'_>) -> SimulationReport {
        py.detach(|| SimulationReport::of(&self.0))
    }
}

/// The predicted cost of a program.
#[pyclass(frozen, get_all, module = "hippocrene._native")]
pub(crate) struct SimulationReport {
    seconds: f64,
    first_seconds: f64,
    operations: Vec<(&'static str, u64, f64)>,
    peak_memory: usize,
    key_bytes: usize,
    bootstraps: u64,
    /// log2 of the probability that a bootstrap or a look-up fails.
    log2_failure_probability: Option<f64>,
    /// The bootstrap of numbers, if the program has one.
    bootstrapping: Option<Wanted>,
    /// The tables for look-ups, and the capacity of results.
    look_ups: Option<WantedLookUps>,
    /// True if the program computes on bits.
    bits: bool,
    /// For each rotation, its steps, and the bits of the modulus of its key.
    rotations: Vec<(i64, f64)>,
    conjugation: bool,
    relinearisation: bool,
}

impl SimulationReport {
    pub(crate) fn of(simulation: &hippocrene::Simulation) -> Self {
        let report = simulation.report();
        let bits = |steps: i64| {
            let used = report.keys.iter().find(|key| key.purpose == Purpose::Rotation(steps));
            used.map_or(0.0, |key| key.modulus_bits)
        };
        let bootstrapping = report.bootstrapping;
        SimulationReport {
            seconds: report.seconds,
            first_seconds: report.first_seconds,
            peak_memory: report.peak_memory,
            key_bytes: report.key_bytes,
            bootstraps: report.bootstraps,
            log2_failure_probability: report.log2_failure_probability,
            bootstrapping: bootstrapping.map(|b| (b.bound, b.precision, b.slots)),
            look_ups: report.look_ups.map(|tables| (tables.tables.to_owned(), tables.capacity)),
            bits: report.bits.is_some(),
            rotations: report.rotations().into_iter().map(|r| (r, bits(r))).collect(),
            conjugation: report.conjugates(),
            relinearisation: report.relinearises(),
            operations: report.operations,
        }
    }
}
