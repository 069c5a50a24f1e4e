//! The properties of look-ups, computed without keys.

use hippocrene::LookUpsDescription;
use pyo3::prelude::*;

use crate::{
    client::{ClientKey, WantedLookUps, wanted_look_ups},
    errors::detached,
};

/// The properties of look-ups.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct TablesDescription(LookUpsDescription);

#[pymethods]
impl TablesDescription {
    /// The name of the tables.
    #[getter]
    fn tables(&self) -> &'static str {
        self.0.tables
    }

    /// The capacity that results of values up to 1 have, in bits.
    #[getter]
    fn capacity(&self) -> f64 {
        self.0.capacity
    }

    /// The number of values in one ciphertext.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots
    }

    /// log2 of the probability that a look-up of all values of a ciphertext fails. It fails if the
    /// error of a value exceeds the stated error.
    #[getter]
    fn log2_failure_probability(&self) -> f64 {
        self.0.log2_failure_probability
    }

    fn __repr__(&self) -> String {
        let LookUpsDescription { tables, capacity, slots, log2_failure_probability: fails } =
            self.0;
        format!(
            "TablesDescription(tables='{tables}', capacity={capacity:.1}, slots={slots}, log2_failure_probability={fails:.1})"
        )
    }
}

/// The properties that look-ups with the keys of this client would have.
#[pyfunction]
pub(crate) fn describe_tables(
    py: Python<'_>,
    client: &ClientKey,
    tables: WantedLookUps,
) -> PyResult<TablesDescription> {
    detached(py, || wanted_look_ups(tables)?.describe(client.0.session())).map(TablesDescription)
}
