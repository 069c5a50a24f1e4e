//! Descriptions of keys and files.

use hippocrene::wire;
use hippocrene::{Error, Fingerprint, KeyRequest, LookUps, Preset, Scheme, Session};
use pyo3::prelude::*;
use std::path::PathBuf;

use crate::{errors::detached, files::load};

/// The name of the preset of a session, whatever its precision.
pub(crate) fn preset_name(session: &Session) -> Option<&'static str> {
    let parameters = session.settings().parameters();
    preset_named(parameters.digest(), parameters.degree())
}

/// The name of the preset with this digest of its parameters and this ring degree.
pub(crate) fn preset_named(digest: Fingerprint, ring_degree: usize) -> Option<&'static str> {
    Preset::by_digest(digest, ring_degree).map(|preset| preset.name)
}

pub(crate) fn plain_modulus(session: &Session) -> Option<u64> {
    session.settings().integers().map(|integers| integers.plain_modulus)
}

pub(crate) fn scheme(session: &Session) -> &'static str {
    session.settings().integers().map_or("ckks", |integers| integers.scheme.name())
}

/// The purpose and the contents of evaluation keys.
#[pyclass(frozen, get_all, module = "hippocrene._native")]
#[derive(Clone)]
pub(crate) struct KeysDescription {
    scheme: &'static str,
    plain_modulus: Option<u64>,
    preset: Option<&'static str>,
    ring_degree: usize,
    precision: f64,
    /// `None` if every rotation is available.
    rotations: Option<Vec<i64>>,
    conjugation: bool,
    bootstrapping: bool,
    tables: Option<&'static str>,
    /// log2 of the probability that a look-up of all values of a ciphertext fails.
    log2_failure_probability: Option<f64>,
    bits: bool,
}

impl KeysDescription {
    /// The description of keys.
    pub(crate) fn of(keys: &hippocrene::EvaluationKeys) -> Self {
        KeysDescription {
            rotations: Some(keys.rotations()),
            conjugation: keys.conjugation(),
            bootstrapping: keys.bootstrapping().is_some(),
            tables: keys.look_ups().map(|own| own.request().tables),
            log2_failure_probability: failure(
                keys.session(),
                keys.look_ups().map(|own| own.request()),
            ),
            bits: keys.bits().is_some(),
            ..Self::every(keys.session(), &KeyRequest::default())
        }
    }

    /// The description of the same keys with the products of another scheme.
    pub(crate) fn of_scheme(self, scheme: Scheme) -> Self {
        KeysDescription { scheme: scheme.name(), ..self }
    }

    /// The description of a simulation, with all rotations, conjugation and the requested keys.
    pub(crate) fn every(session: &Session, request: &KeyRequest) -> Self {
        let settings = session.settings();
        KeysDescription {
            scheme: scheme(session),
            plain_modulus: plain_modulus(session),
            preset: preset_name(session),
            ring_degree: settings.parameters().degree(),
            precision: settings.precision(),
            rotations: None,
            conjugation: true,
            bootstrapping: request.bootstrapping.is_some(),
            tables: request.look_ups.map(|wanted| wanted.tables),
            log2_failure_probability: failure(session, request.look_ups),
            bits: request.bits.is_some(),
        }
    }
}

/// log2 of the probability that a look-up of all values of a ciphertext fails.
fn failure(session: &Session, look_ups: Option<LookUps>) -> Option<f64> {
    look_ups
        .and_then(|wanted| wanted.describe(session).ok())
        .map(|told| told.log2_failure_probability)
}

/// Describes the bytes of a file in the JSON that `hippocrene inspect` prints.
#[pyfunction]
pub(crate) fn inspect_bytes(py: Python<'_>, data: &[u8]) -> PyResult<String> {
    detached(py, || inspected(data))
}

/// Describes a file in the JSON that `hippocrene inspect` prints.
#[pyfunction]
pub(crate) fn inspect_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    load(py, &path, &[], &wire::Limits::default(), |bytes| inspected(bytes))
}

fn inspected(bytes: &[u8]) -> Result<String, Error> {
    let inspection = wire::inspect(bytes)?;
    serde_json::to_string(&inspection).map_err(|error| Error::Internal(error.to_string()))
}
