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
    scale_bits: u32,
    multiplications: usize,
}

#[pymethods]
impl Preset {
    fn __repr__(&self) -> String {
        format!(
            "Preset(name='{}', ring_degree={}, slots={}, log2_pq={:.1}, scale_bits={}, multiplications={})",
            self.name, self.ring_degree, self.slots, self.log2_pq, self.scale_bits, self.multiplications
        )
    }
}

/// List the parameter sets, by ring degree.
#[pyfunction]
pub(crate) fn presets(py: Python<'_>) -> PyResult<Vec<Preset>> {
    detached(py, || hippocrene::PRESETS.iter().map(describe).collect())
}

fn describe(preset: &hippocrene::Preset) -> Result<Preset, hippocrene::Error> {
    let settings = preset.settings()?;
    let parameters = settings.parameters();
    Ok(Preset {
        name: preset.name,
        ring_degree: parameters.degree(),
        slots: parameters.degree() / 2,
        log2_pq: parameters.log2(parameters.full()),
        scale_bits: preset.scale_bits,
        multiplications: preset.depth,
    })
}
