//! Polynomials that approximate functions, with their errors.

use hippocrene::ckks::approximation::{Smoothness, best, best_to};
use pyo3::prelude::*;
use std::cell::RefCell;

use crate::errors::to_py;

/// The coefficients of the best polynomial in Chebyshev's basis, lowest degree first, and its
/// error. It has the given degree, or the least degree with the given error.
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

/// A Python function as a function of numbers. After its first exception, which is kept, it is not
/// called again.
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

    /// Returns the exception that the function raised, if any.
    pub(crate) fn end(self) -> PyResult<()> {
        self.raised.into_inner().map_or(Ok(()), Err)
    }
}
