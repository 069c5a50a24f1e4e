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

/// List the parameter sets, by ring degree.
#[pyfunction]
pub(crate) fn presets(py: Python<'_>) -> PyResult<Vec<Preset>> {
    detached(py, || hippocrene::PRESETS.iter().map(describe).collect())
}

fn describe(preset: &hippocrene::Preset) -> Result<Preset, hippocrene::Error> {
    let hippocrene::PresetDescription { name, ring_degree, slots, log2_pq, usable_bits, .. } =
        preset.describe()?;
    Ok(Preset { name, ring_degree, slots, log2_pq, usable_bits })
}
