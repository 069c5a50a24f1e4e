//! Encrypted arrays.

use crate::errors::detached;
use hippocrene::wire::{self, Inspection};
use hippocrene::{Error, Session};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::borrow::Cow;
use std::path::PathBuf;

/// An encrypted array.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct EncryptedArray(State);

enum State {
    /// With the session that it belongs to.
    Read { array: hippocrene::EncryptedArray, session: Session },
    /// Bytes whose checksum is right, and what they say they are. Their residues are read where a session is.
    Bytes { bytes: Vec<u8>, inspection: Box<Inspection> },
}

impl EncryptedArray {
    pub(crate) fn new(array: hippocrene::EncryptedArray, session: &Session) -> Self {
        Self(State::Read { array, session: session.clone() })
    }

    /// The array, read with `session` where it was not read before.
    pub(crate) fn read(&self, session: &Session) -> Result<Cow<'_, hippocrene::EncryptedArray>, Error> {
        match &self.0 {
            State::Read { array, .. } => Ok(Cow::Borrowed(array)),
            State::Bytes { bytes, .. } => {
                hippocrene::EncryptedArray::from_bytes(bytes, session).map(Cow::Owned)
            }
        }
    }

    fn of_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        let inspection = wire::inspect(&bytes)?;
        if inspection.array.is_none() {
            let (have, need) = (inspection.kind, wire::Kind::Array);
            return Err(wire::FormatError::Kind { have, need }.into());
        }
        Ok(Self(State::Bytes { bytes, inspection: Box::new(inspection) }))
    }
}

#[pymethods]
impl EncryptedArray {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: Vec<u8>) -> PyResult<Self> {
        detached(py, || Self::of_bytes(data))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        detached(py, || Self::of_bytes(wire::read(&path, Some(wire::Kind::Array))?.to_vec()))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| match &self.0 {
            State::Read { array, .. } => Cow::Owned(array.to_bytes()),
            State::Bytes { bytes, .. } => Cow::Borrowed(bytes),
        });
        PyBytes::new(py, &bytes)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || match &self.0 {
            State::Read { array, .. } => array.save(&path),
            State::Bytes { bytes, .. } => wire::save(&path, bytes, wire::Kind::Array),
        })
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(
            py,
            match &self.0 {
                State::Read { array, .. } => array.shape(),
                State::Bytes { inspection, .. } => {
                    inspection.array.as_ref().map_or(&[][..], |array| &array.shape)
                }
            },
        )
    }

    #[getter]
    fn is_complex(&self) -> bool {
        match &self.0 {
            State::Read { array, .. } => array.is_complex(),
            State::Bytes { inspection, .. } => inspection.array.as_ref().is_some_and(|array| array.complex),
        }
    }

    #[getter]
    fn key(&self) -> String {
        match &self.0 {
            State::Read { array, .. } => array.key().to_string(),
            State::Bytes { inspection, .. } => inspection.key.clone().unwrap_or_default(),
        }
    }

    #[getter]
    fn bound(&self) -> f64 {
        match &self.0 {
            State::Read { array, .. } => array.bound(),
            State::Bytes { inspection, .. } => inspection.array.as_ref().map_or(0.0, |array| array.bound),
        }
    }

    #[getter]
    fn precision(&self) -> f64 {
        match &self.0 {
            State::Read { array, .. } => array.precision(),
            State::Bytes { inspection, .. } => inspection.array.as_ref().map_or(0.0, |array| array.precision),
        }
    }

    #[getter]
    fn precision_bits(&self) -> f64 {
        match &self.0 {
            State::Read { array, session } => array.precision_bits(session),
            State::Bytes { inspection, .. } => {
                inspection.array.as_ref().map_or(0.0, |array| array.precision_bits)
            }
        }
    }

    /// `None` for bytes made with parameters that are no preset's.
    #[getter]
    fn capacity_bits(&self) -> Option<f64> {
        match &self.0 {
            State::Read { array, session } => Some(array.capacity_bits(session)),
            State::Bytes { inspection, .. } => {
                inspection.array.as_ref().and_then(|array| array.capacity_bits)
            }
        }
    }
}
