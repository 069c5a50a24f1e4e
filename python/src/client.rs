//! Keys, and the client that makes them.

use crate::array::{EncryptedArray, Held};
use crate::bits::{Plan, preset};
use crate::description::{KeysDescription, plain_modulus, preset_name, scheme};
use crate::errors::{detached, to_py};
use crate::files::{PyLimits, limits, load, to_python};
use crate::numbers::{Plain, Slices, to_numpy};
use hippocrene::{
    BigFloat, Bits, Bootstrapping, Encryption, Error, Integers, Interval, KeyRequest, LookUps,
    Numbers, Preset, Residues, Settings, Stored,
    wire::{Kind, Limits},
};
use num_bigint::BigInt;
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A requested bootstrap: whether arrays may be complex, the bound on the values, the precision,
/// and the number of slots.
pub(crate) type Wanted = (bool, f64, Option<f64>, Option<usize>);

pub(crate) fn wanted((complex, bound, precision, slots): Wanted) -> Bootstrapping {
    Bootstrapping { complex, slots, bound, precision }
}

/// Requested look-up tables: their name, and the capacity of results.
pub(crate) type WantedLookUps = (String, Option<f64>);

pub(crate) fn wanted_look_ups((tables, capacity): WantedLookUps) -> Result<LookUps, Error> {
    Ok(LookUps { capacity, ..LookUps::by_name(&tables)? })
}

/// The interval with these ends.
pub(crate) fn declared(py: Python<'_>, ends: Option<(f64, f64)>) -> PyResult<Option<Interval>> {
    let interval = ends.map(|(low, high)| Interval::finite(low, high)).transpose();
    interval.map_err(|error| to_py(py, &error))
}

/// Requested keys: rotations, or `None` for all powers of two; relinearisation; conjugation; a
/// bootstrap; look-up tables; bits.
pub(crate) type Requested =
    (Option<Vec<i64>>, bool, bool, Option<Wanted>, Option<WantedLookUps>, bool);

pub(crate) fn requested(
    (rotations, relinearisation, conjugation, bootstrapping, look_ups, bits): Requested,
    settings: &Settings,
) -> Result<KeyRequest, Error> {
    Ok(KeyRequest {
        relinearisation,
        conjugation,
        bootstrapping: bootstrapping.map(wanted),
        look_ups: look_ups.map(wanted_look_ups).transpose()?,
        bits: if bits { Some(preset(settings)?.bits()?) } else { None },
        ..rotations.map_or_else(KeyRequest::default, KeyRequest::only)
    })
}

/// The properties of a bootstrap.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct BootstrappingDescription(hippocrene::BootstrappingDescription);

#[pymethods]
impl BootstrappingDescription {
    /// True if complex arrays are bootstrapped too.
    #[getter]
    fn complex(&self) -> bool {
        self.0.complex
    }

    /// The bound on the values that it is planned for.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.bound
    }

    /// The precision, in bits after the binary point.
    #[getter]
    fn precision(&self) -> f64 {
        self.0.precision
    }

    /// The number of slots of a ciphertext that are bootstrapped.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots
    }

    /// The number of simple bootstraps in one with this precision.
    #[getter]
    fn iterations(&self) -> u32 {
        self.0.iterations
    }

    /// The capacity that an array needs to be bootstrapped, in bits.
    #[getter]
    fn capacity_needed(&self) -> f64 {
        self.0.capacity_needed
    }

    /// The approximate capacity after a bootstrap, in bits.
    #[getter]
    fn capacity_after(&self) -> f64 {
        self.0.capacity_after
    }

    /// log2 of the probability that a bootstrap fails, or `None` if it cannot fail.
    #[getter]
    fn log2_failure_probability(&self) -> Option<f64> {
        self.0.log2_failure_probability
    }

    /// The size of its keys in files, in bytes.
    #[getter]
    fn key_bytes(&self) -> usize {
        self.0.key_bytes
    }

    fn __repr__(&self) -> String {
        let hippocrene::BootstrappingDescription {
            precision, capacity_needed, capacity_after, ..
        } = self.0;
        let fails = match self.0.log2_failure_probability {
            Some(log2) => format!("{log2:.1}"),
            None => "None".to_owned(),
        };
        format!(
            "BootstrappingDescription(precision={precision:.1}, capacity_needed={capacity_needed:.1}, capacity_after={capacity_after:.1}, log2_failure_probability={fails})"
        )
    }
}

/// The settings of a preset, changed by the options that are given.
pub(crate) fn settings(
    preset: &str,
    precision: Option<f64>,
    scheme: Option<&str>,
    plain_modulus: Option<u64>,
) -> Result<Settings, Error> {
    let mut settings = Preset::by_name(preset)?.settings()?;
    if let Some(precision) = precision {
        settings = settings.with_precision(precision)?;
    }
    let Some(scheme) = scheme else { return Ok(settings) };
    let scheme = Integers::scheme_by_name(scheme)?;
    let degree = settings.parameters().degree();
    let plain_modulus = plain_modulus.unwrap_or_else(|| Integers::default_plain_modulus(degree));
    let settings = settings.with_integers(Integers { scheme, plain_modulus })?;
    Integers::check_slots(plain_modulus, degree)?;
    Ok(settings)
}

/// The secret key of a client.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct ClientKey(pub(crate) hippocrene::ClientKey, Plan);

impl From<hippocrene::ClientKey> for ClientKey {
    fn from(key: hippocrene::ClientKey) -> Self {
        ClientKey(key, Plan::default())
    }
}

#[pymethods]
impl ClientKey {
    #[staticmethod]
    #[pyo3(signature = (preset, precision, scheme, plain_modulus, threads))]
    fn generate(
        py: Python<'_>,
        preset: &str,
        precision: Option<f64>,
        scheme: Option<&str>,
        plain_modulus: Option<u64>,
        threads: usize,
    ) -> PyResult<Self> {
        detached(py, || {
            let settings = settings(preset, precision, scheme, plain_modulus)?;
            hippocrene::ClientKey::generate_with(settings, threads).map(Self::from)
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8], threads: usize) -> PyResult<Self> {
        detached(py, || hippocrene::ClientKey::from_bytes(data, threads).map(Self::from))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<Self> {
        load(py, &path, &[Kind::SecretKey], &Limits::default(), |bytes| {
            hippocrene::ClientKey::from_bytes(bytes, threads).map(Self::from)
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_python(py, || Ok(self.0.to_bytes()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || self.0.save(path))
    }

    #[getter]
    fn preset(&self) -> Option<&'static str> {
        preset_name(self.0.session())
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    #[getter]
    fn precision(&self) -> f64 {
        self.0.session().settings().precision()
    }

    /// The number of slots of one ciphertext that the client encrypts.
    #[getter]
    fn slots(&self) -> usize {
        let session = self.0.session();
        if session.integers().is_some() { 2 * session.slots() } else { session.slots() }
    }

    #[getter]
    fn scheme(&self) -> &'static str {
        scheme(self.0.session())
    }

    #[getter]
    fn ring_degree(&self) -> usize {
        self.0.session().settings().parameters().degree()
    }

    #[getter]
    fn plain_modulus(&self) -> Option<u64> {
        plain_modulus(self.0.session())
    }

    #[pyo3(signature = (values, *, interval, precision))]
    fn encrypt(
        &self,
        py: Python<'_>,
        values: Plain<'_>,
        interval: Option<(f64, f64)>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        let (slices, shape, session) = (values.slices()?, values.shape(), self.0.session());
        let interval = declared(py, interval)?;
        detached(py, || match (slices, interval) {
            (Slices::Integers(integers), None) => {
                Ok(Residues::hold(self.0.encrypt_integers(integers, shape)?, session))
            }
            (Slices::Integers(integers), Some(interval)) => Ok(Residues::hold(
                self.0.encrypt_integers_within(integers, shape, interval)?,
                session,
            )),
            (Slices::Numbers(numbers), interval) => {
                let how = Encryption { interval, precision };
                Ok(Numbers::hold(self.0.encrypt_with(numbers, shape, &how)?, session))
            }
        })
    }

    /// True if its preset is one for bits.
    #[getter]
    fn for_bits(&self) -> bool {
        Preset::of_bits(self.0.session().settings()).is_some()
    }

    fn encrypt_bits(
        &self,
        py: Python<'_>,
        values: PyReadonlyArrayDyn<'_, bool>,
    ) -> PyResult<EncryptedArray> {
        let (bits, shape, session) = (values.as_slice()?, values.shape(), self.0.session());
        detached(py, || {
            let plan = self.1.of(session, |literal| self.0.bit_plan(literal))?;
            Ok(Bits::hold(self.0.encrypt_bits(plan, bits, shape)?, session))
        })
    }

    fn decrypt<'py>(&self, py: Python<'py>, array: &EncryptedArray) -> PyResult<Bound<'py, PyAny>> {
        if array.is_integers() {
            return self.decrypt_integers(py, array, false);
        }
        if array.is_bits() {
            let array = detached(py, || array.read::<Bits>(self.0.session()))?;
            let values = detached(py, || self.0.decrypt_bits(&array))?;
            return to_numpy(py, values, array.shape());
        }
        let array = detached(py, || array.read::<Numbers>(self.0.session()))?;
        if array.is_complex() {
            let values = detached(py, || self.0.decrypt_complex(&array))?;
            return to_numpy(py, values, array.shape());
        }
        let values = detached(py, || self.0.decrypt(&array))?;
        to_numpy(py, values, array.shape())
    }

    /// Decrypts to integers in `[0, t)`, or around zero if `signed`.
    fn decrypt_integers<'py>(
        &self,
        py: Python<'py>,
        array: &EncryptedArray,
        signed: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = detached(py, || array.read::<Residues>(self.0.session()))?;
        let values = detached(py, || match signed {
            true => self.0.decrypt_signed_integers(&array),
            false => self.0.decrypt_integers(&array),
        })?;
        to_numpy(py, values, array.shape())
    }

    fn noise_budget(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<f64> {
        let array = detached(py, || array.read::<Residues>(self.0.session()))?;
        detached(py, || self.0.noise_budget(&array))
    }

    /// The mantissa and the exponent of two of every real element, in row-major order.
    fn decrypt_exact(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
    ) -> PyResult<Vec<(BigInt, i64)>> {
        detached(py, || {
            let array = array.read::<Numbers>(self.0.session())?;
            Ok(self.0.decrypt_big(&array)?.iter().map(BigFloat::to_parts).collect())
        })
    }

    #[pyo3(signature = (array, bits))]
    fn decrypt_for_sharing<'py>(
        &self,
        py: Python<'py>,
        array: &EncryptedArray,
        bits: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = detached(py, || array.read::<Numbers>(self.0.session()))?;
        let values = detached(py, || {
            let bits = bits.map_or_else(|| self.0.sharing_bits(&array), Ok)?;
            self.0.decrypt_for_sharing(&array, bits)
        })?;
        to_numpy(py, values, array.shape())
    }

    fn public_key(&self, py: Python<'_>) -> PyResult<PublicKey> {
        detached(py, || self.0.public_key()).map(PublicKey::from)
    }

    #[pyo3(signature = (rotations, relinearisation, conjugation, bootstrapping, look_ups, bits))]
    #[allow(clippy::too_many_arguments)] // as many as there are kinds of keys
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        rotations: Option<Vec<i64>>,
        relinearisation: bool,
        conjugation: bool,
        bootstrapping: Option<Wanted>,
        look_ups: Option<WantedLookUps>,
        bits: bool,
    ) -> PyResult<EvaluationKeys> {
        let request = (rotations, relinearisation, conjugation, bootstrapping, look_ups, bits);
        let keys = detached(py, || {
            self.0.evaluation_keys(&requested(request, self.0.session().settings())?)
        })?;
        Ok(EvaluationKeys(keys))
    }

    /// The properties that a bootstrap with these parameters would have.
    fn describe_bootstrapping(
        &self,
        py: Python<'_>,
        bootstrapping: Wanted,
    ) -> PyResult<BootstrappingDescription> {
        detached(py, || wanted(bootstrapping).describe(self.0.session()))
            .map(BootstrappingDescription)
    }

    fn second(&self, py: Python<'_>, capacity: f64) -> PyResult<Self> {
        detached(py, || self.0.second(capacity).map(Self::from))
    }

    fn transfer_key(&self, py: Python<'_>, second: &ClientKey) -> PyResult<TransferKey> {
        detached(py, || self.0.transfer_key(&second.0)).map(TransferKey)
    }
}

/// A public key.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct PublicKey(hippocrene::PublicKey, Plan);

impl From<hippocrene::PublicKey> for PublicKey {
    fn from(key: hippocrene::PublicKey) -> Self {
        PublicKey(key, Plan::default())
    }
}

#[pymethods]
impl PublicKey {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8], threads: usize) -> PyResult<Self> {
        detached(py, || hippocrene::PublicKey::from_bytes(data, threads).map(Self::from))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<Self> {
        load(py, &path, &[Kind::PublicKey], &Limits::default(), |bytes| {
            hippocrene::PublicKey::from_bytes(bytes, threads).map(Self::from)
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_python(py, || Ok(self.0.to_bytes()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || self.0.save(path))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.key().to_string()
    }

    #[getter]
    fn plain_modulus(&self) -> Option<u64> {
        plain_modulus(self.0.session())
    }

    /// True if its preset is one for bits.
    #[getter]
    fn for_bits(&self) -> bool {
        Preset::of_bits(self.0.session().settings()).is_some()
    }

    fn encrypt_bits(
        &self,
        py: Python<'_>,
        values: PyReadonlyArrayDyn<'_, bool>,
    ) -> PyResult<EncryptedArray> {
        let (bits, shape, session) = (values.as_slice()?, values.shape(), self.0.session());
        detached(py, || {
            let plan = self.1.of(session, |literal| self.0.bit_plan(literal))?;
            Ok(Bits::hold(self.0.encrypt_bits(plan, bits, shape)?, session))
        })
    }

    #[pyo3(signature = (values, *, interval, precision))]
    fn encrypt(
        &self,
        py: Python<'_>,
        values: Plain<'_>,
        interval: Option<(f64, f64)>,
        precision: Option<f64>,
    ) -> PyResult<EncryptedArray> {
        let (slices, shape, session) = (values.slices()?, values.shape(), self.0.session());
        let interval = declared(py, interval)?;
        detached(py, || match (slices, interval) {
            (Slices::Integers(integers), None) => {
                Ok(Residues::hold(self.0.encrypt_integers(integers, shape)?, session))
            }
            (Slices::Integers(integers), Some(interval)) => Ok(Residues::hold(
                self.0.encrypt_integers_within(integers, shape, interval)?,
                session,
            )),
            (Slices::Numbers(numbers), interval) => {
                let how = Encryption { interval, precision };
                Ok(Numbers::hold(self.0.encrypt_with(numbers, shape, &how)?, session))
            }
        })
    }
}

/// The keys that a server computes with.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct EvaluationKeys(pub(crate) hippocrene::EvaluationKeys);

#[pymethods]
impl EvaluationKeys {
    #[staticmethod]
    #[pyo3(signature = (data, threads, limits))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        threads: usize,
        limits: Option<PyLimits>,
    ) -> PyResult<Self> {
        detached(py, || {
            let limits = self::limits(limits)?;
            hippocrene::EvaluationKeys::from_bytes_within(data, threads, &limits).map(Self)
        })
    }

    #[staticmethod]
    #[pyo3(signature = (path, threads, limits))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        threads: usize,
        limits: Option<PyLimits>,
    ) -> PyResult<Self> {
        let limits = detached(py, || self::limits(limits))?;
        load(py, &path, &[Kind::EvaluationKeys], &limits, |bytes| {
            hippocrene::EvaluationKeys::from_bytes_within(bytes, threads, &limits).map(Self)
        })
    }

    fn describe(&self, py: Python<'_>) -> KeysDescription {
        py.detach(|| KeysDescription::of(&self.0))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_python(py, || self.0.to_bytes_or_stop())
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || self.0.save(path))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.key().to_string()
    }

    /// The names of the requested keys that are missing.
    fn lacks(&self, py: Python<'_>, request: Requested) -> PyResult<Vec<String>> {
        detached(py, || Ok(self.0.lacks(&requested(request, self.0.session().settings())?)))
    }
}

/// The key that transfers arrays from one secret key to another one.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct TransferKey(pub(crate) hippocrene::TransferKey);

#[pymethods]
impl TransferKey {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8], threads: usize) -> PyResult<Self> {
        detached(py, || hippocrene::TransferKey::from_bytes(data, threads).map(Self))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<Self> {
        load(py, &path, &[Kind::TransferKey], &Limits::default(), |bytes| {
            hippocrene::TransferKey::from_bytes(bytes, threads).map(Self)
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_python(py, || Ok(self.0.to_bytes()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || self.0.save(path))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.key().to_string()
    }

    #[getter]
    fn second(&self) -> String {
        self.0.second().to_string()
    }
}
