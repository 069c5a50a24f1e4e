//! Keys, and the client that makes them.

use crate::array::{Computed, EncryptedArray};
use crate::bits::{Plan, preset};
use crate::description::{KeysDescription, plain_modulus, preset_name, scheme};
use crate::errors::{detached, to_py};
use crate::files::{PyLimits, limits, load, to_python, with_files};
use crate::numbers::{Plain, Slices, to_numpy};
use hippocrene::{
    BigFloat, Bits, Bootstrapping, Encryption, Error, Integers, Interval, KMeansMethod, KeyRequest,
    LookUps, Numbers, Preset, Residues, Settings, Shape, Stored, wire::Kind,
};
use num_bigint::BigInt;
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A requested bootstrap: the bound on the values, the precision, and the number of slots.
pub(crate) type Wanted = (f64, Option<f64>, Option<usize>);

pub(crate) fn wanted((bound, precision, slots): Wanted) -> Bootstrapping {
    Bootstrapping { slots, bound, precision }
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

/// The declared interval of values, and their precision.
pub(crate) type How = (Option<(f64, f64)>, Option<f64>);

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

/// The number of points, the dimension, and the number of clusters.
pub(crate) type Sizes = (usize, usize, usize);

pub(crate) fn clustering_method(
    tables: Option<&str>,
    (points, dimension, clusters): Sizes,
) -> Result<KMeansMethod, Error> {
    let shape = Shape::new(points, dimension, clusters)?;
    Ok(match tables {
        Some(tables) => {
            KMeansMethod::Tables(LookUps { clusters: Some(shape), ..LookUps::by_name(tables)? })
        }
        None => KMeansMethod::Slots(shape),
    })
}

/// The properties of a bootstrap.
#[pyclass(frozen, get_all, module = "hippocrene._native")]
pub(crate) struct BootstrappingDescription {
    /// The bound on the values that it is planned for.
    bound: f64,
    /// The precision, in bits after the binary point.
    precision: f64,
    /// The number of slots of a ciphertext that are bootstrapped.
    slots: usize,
    /// The number of simple bootstraps in one with this precision.
    iterations: u32,
    /// The capacity that an array needs to be bootstrapped, in bits.
    capacity_needed: f64,
    /// The approximate capacity after a bootstrap, in bits.
    capacity_after: f64,
    /// log2 of the probability that a bootstrap fails, or `None` if it cannot fail.
    log2_failure_probability: Option<f64>,
    /// The size of its keys in files, in bytes.
    key_bytes: usize,
}

#[pymethods]
impl BootstrappingDescription {
    fn __repr__(&self) -> String {
        let Self { precision, capacity_needed, capacity_after, .. } = self;
        let fails = match self.log2_failure_probability {
            Some(log2) => format!("{log2:.1}"),
            None => "None".to_owned(),
        };
        format!(
            "BootstrappingDescription(precision={precision:.1}, \
             capacity_needed={capacity_needed:.1}, capacity_after={capacity_after:.1}, \
             log2_failure_probability={fails})"
        )
    }
}

/// The properties of look-ups.
#[pyclass(frozen, get_all, module = "hippocrene._native")]
pub(crate) struct TablesDescription {
    /// The name of the tables.
    tables: &'static str,
    /// The capacity that results of values up to 1 have, in bits.
    capacity: f64,
    /// The number of values in one ciphertext.
    slots: usize,
    /// log2 of the probability that a look-up of all values of a ciphertext fails. It fails if the
    /// error of a value exceeds the stated error.
    log2_failure_probability: f64,
}

#[pymethods]
impl TablesDescription {
    fn __repr__(&self) -> String {
        let Self { tables, capacity, slots, log2_failure_probability: fails } = self;
        format!(
            "TablesDescription(tables='{tables}', capacity={capacity:.1}, slots={slots}, \
             log2_failure_probability={fails:.1})"
        )
    }
}

/// Encrypts numbers or integers by the methods of a key. `$numbers` is the one for numbers.
macro_rules! encrypted {
    ($key:expr, $session:expr, $numbers:ident, $py:ident, $values:ident, $how:ident) => {{
        let (slices, shape, (interval, precision)) = ($values.slices()?, $values.shape(), $how);
        let (key, session, interval) = (&$key, $session, declared($py, interval)?);
        detached($py, || match (slices, interval) {
            (Slices::Integers(integers), None) => {
                Ok(EncryptedArray::hold(key.encrypt_integers(integers, shape)?, session))
            }
            (Slices::Integers(integers), Some(interval)) => Ok(EncryptedArray::hold(
                key.encrypt_integers_within(integers, shape, interval)?,
                session,
            )),
            (Slices::Numbers(numbers), interval) => {
                let how = Encryption { interval, precision };
                Ok(EncryptedArray::hold(key.$numbers(numbers, shape, &how)?, session))
            }
        })
    }};
}

pub(crate) use encrypted;

/// Encrypts bits with a key and its plan for bits.
macro_rules! encrypted_bits {
    ($key:expr, $py:ident, $values:ident) => {{
        let (bits, shape) = (crate::numbers::row_major(&$values)?, $values.shape());
        let session = $key.0.session();
        detached($py, || {
            let plan = $key.1.of(session, |literal| $key.0.bit_plan(literal))?;
            Ok(EncryptedArray::hold($key.0.encrypt_bits(plan, bits, shape)?, session))
        })
    }};
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

with_files!(
    /// The secret key of a client.
    ClientKey with Plan, SecretKey, threads, {
    #[staticmethod]
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

    fn encrypt(&self, py: Python<'_>, values: Plain<'_>, how: How) -> Computed {
        encrypted!(self.0, self.0.session(), encrypt_with, py, values, how)
    }

    /// True if its preset is one for bits.
    #[getter]
    fn for_bits(&self) -> bool {
        Preset::of_bits(self.0.session().settings()).is_some()
    }

    fn encrypt_bits(&self, py: Python<'_>, values: PyReadonlyArrayDyn<'_, bool>) -> Computed {
        encrypted_bits!(self, py, values)
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

    fn evaluation_keys(&self, py: Python<'_>, request: Requested) -> PyResult<EvaluationKeys> {
        detached(py, || {
            self.0.evaluation_keys(&requested(request, self.0.session().settings())?)
        })
        .map(EvaluationKeys)
    }

    /// The properties that a bootstrap with these parameters would have.
    fn describe_bootstrapping(
        &self,
        py: Python<'_>,
        bootstrapping: Wanted,
    ) -> PyResult<BootstrappingDescription> {
        let told = detached(py, || wanted(bootstrapping).describe(self.0.session()))?;
        Ok(BootstrappingDescription {
            bound: told.bound,
            precision: told.precision,
            slots: told.slots,
            iterations: told.iterations,
            capacity_needed: told.capacity_needed,
            capacity_after: told.capacity_after,
            log2_failure_probability: told.log2_failure_probability,
            key_bytes: told.key_bytes,
        })
    }

    /// The properties that look-ups with the keys of this client would have.
    fn describe_tables(
        &self,
        py: Python<'_>,
        tables: WantedLookUps,
    ) -> PyResult<TablesDescription> {
        let told = detached(py, || wanted_look_ups(tables)?.describe(self.0.session()))?;
        let hippocrene::LookUpsDescription { tables, capacity, slots, log2_failure_probability } =
            told;
        Ok(TablesDescription { tables, capacity, slots, log2_failure_probability })
    }

    /// Makes the keys for k-means.
    fn clustering_keys(
        &self,
        py: Python<'_>,
        tables: Option<&str>,
        sizes: Sizes,
    ) -> PyResult<EvaluationKeys> {
        detached(py, || {
            let method = clustering_method(tables, sizes)?;
            self.0.evaluation_keys(&method.key_request(self.0.session())?)
        })
        .map(EvaluationKeys)
    }

    /// The standard deviation of the error of compared squared distances in k-means, divided by the
    /// square of the radius.
    fn nearest_deviation(
        &self,
        py: Python<'_>,
        tables: Option<&str>,
        sizes: Sizes,
    ) -> PyResult<f64> {
        detached(py, || self.0.nearest_deviation(clustering_method(tables, sizes)?))
    }

    fn second(&self, py: Python<'_>, capacity: f64) -> PyResult<Self> {
        detached(py, || self.0.second_key(capacity).map(Self::from))
    }

    fn transfer_key(&self, py: Python<'_>, second: &ClientKey) -> PyResult<TransferKey> {
        detached(py, || self.0.transfer_key(&second.0)).map(TransferKey)
    }
});

with_files!(
    /// A public key.
    PublicKey with Plan, PublicKey, threads, {
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.key().to_string()
    }

    #[getter]
    fn preset(&self) -> Option<&'static str> {
        preset_name(self.0.session())
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

    /// True if its preset is one for bits.
    #[getter]
    fn for_bits(&self) -> bool {
        Preset::of_bits(self.0.session().settings()).is_some()
    }

    fn encrypt_bits(&self, py: Python<'_>, values: PyReadonlyArrayDyn<'_, bool>) -> Computed {
        encrypted_bits!(self, py, values)
    }

    fn encrypt(&self, py: Python<'_>, values: Plain<'_>, how: How) -> Computed {
        encrypted!(self.0, self.0.session(), encrypt_with, py, values, how)
    }
});

/// Makes arrays that everyone can read, in the form of encrypted ones.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct TrivialEncryption(pub(crate) hippocrene::TrivialEncryption);

#[pymethods]
impl TrivialEncryption {
    #[getter]
    fn plain_modulus(&self) -> Option<u64> {
        plain_modulus(self.0.session())
    }

    fn encrypt(&self, py: Python<'_>, values: Plain<'_>, how: How) -> Computed {
        let (slices, shape, (interval, precision)) = (values.slices()?, values.shape(), how);
        let (interval, session) = (declared(py, interval)?, self.0.session());
        detached(py, || match slices {
            Slices::Integers(integers) => {
                let array = self.0.encrypt_integers(integers, shape, interval)?;
                Ok(EncryptedArray::hold(array, session))
            }
            Slices::Numbers(numbers) => {
                let how = Encryption { interval, precision };
                Ok(EncryptedArray::hold(self.0.encrypt_with(numbers, shape, &how)?, session))
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

with_files!(
    /// The key that transfers arrays from one secret key to another one.
    TransferKey, TransferKey, threads, {
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.key().to_string()
    }

    #[getter]
    fn second(&self) -> String {
        self.0.second().to_string()
    }
});
