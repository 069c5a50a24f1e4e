//! Parameter sets by name.

use crate::errors::detached;
use pyo3::prelude::*;

/// A named parameter set.
#[pyclass(frozen, get_all, module = "hippocrene")]
pub(crate) struct Preset {
    name: &'static str,
    ring_degree: usize,
    slots: usize,
    log2_pq: f64,
    usable_bits: f64,
}

#[pymethods]
impl Preset {
    fn __repr__(&self) -> String {
        format!(
            "Preset(name='{}', ring_degree={}, slots={}, log2_pq={:.1}, usable_bits={:.1})",
            self.name, self.ring_degree, self.slots, self.log2_pq, self.usable_bits
        )
    }
}

/// Lists the parameter sets by ring degree.
#[pyfunction]
pub(crate) fn presets(py: Python<'_>) -> PyResult<Vec<Preset>> {
    detached(py, || hippocrene::PRESETS.iter().map(describe).collect())
}

/// The smallest plaintext modulus for arrays of a preset that is at least `least`.
#[pyfunction]
pub(crate) fn plain_modulus_from(py: Python<'_>, preset: &str, least: u64) -> PyResult<u64> {
    detached(py, || {
        let parameters = hippocrene::Preset::by_name(preset)?.parameters()?;
        hippocrene::Integers::plain_modulus_from(&parameters, least)
    })
}

fn describe(preset: &hippocrene::Preset) -> Result<Preset, hippocrene::Error> {
    let hippocrene::PresetDescription { name, ring_degree, slots, log2_pq, usable_bits, .. } =
        preset.describe()?;
    Ok(Preset { name, ring_degree, slots, log2_pq, usable_bits })
}
