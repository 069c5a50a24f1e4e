//! Polynomials that stand for functions, with their errors.

use hippocrene::ckks::approximation::{Smoothness, best, best_to};
use pyo3::prelude::*;
use std::cell::RefCell;

use crate::errors::to_py;

/// The coefficients of the best polynomial in Chebyshev's basis, lowest degree first, and its
/// error: of this degree, or of the least one with this error.
#[pyfunction]
pub(crate) fn approximate(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    domain: (f64, f64),
    degree: Option<usize>,
    error: f64,
    derivative: Option<(u32, f64)>,
) -> PyResult<(Vec<f64>, f64)> {
    let calls = Calls::new(function);
    let smoothness = derivative
        .map_or(Smoothness::Sampled, |(order, bound)| Smoothness::Derivative { order, bound });
    let found = match degree {
        Some(degree) => best(|x| calls.value(x), domain, degree, smoothness),
        None => best_to(|x| calls.value(x), domain, error, smoothness),
    };
    calls.end()?;
    let found = found.map_err(|error| to_py(py, &error.into()))?;
    Ok((found.polynomial.coefficients().to_vec(), found.error))
}

/// A function of Python's as one of numbers: what it raises is kept, and it is not called again
/// then.
pub(crate) struct Calls<'a, 'py> {
    function: &'a Bound<'py, PyAny>,
    raised: RefCell<Option<PyErr>>,
}

impl<'a, 'py> Calls<'a, 'py> {
    pub(crate) fn new(function: &'a Bound<'py, PyAny>) -> Self {
        Calls { function, raised: RefCell::new(None) }
    }

    pub(crate) fn value(&self, x: f64) -> f64 {
        if self.raised.borrow().is_some() {
            return f64::NAN;
        }
        let y = self.function.call1((x,)).and_then(|y| y.extract::<f64>());
        y.unwrap_or_else(|error| {
            self.raised.replace(Some(error));
            f64::NAN
        })
    }

    /// What it raised, if it did.
    pub(crate) fn end(self) -> PyResult<()> {
        self.raised.into_inner().map_or(Ok(()), Err)
    }
}
