//! Conversion of values between numpy and the library.

use crate::errors::detached;
use hippocrene::{Arithmetic, BigFloat, Error, Values};
use num_bigint::BigInt;
use numpy::{
    Complex64, Element, IntoPyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

/// A number of any precision: a mantissa and an exponent of two, or decimal notation.
#[derive(FromPyObject)]
pub(crate) enum Exact {
    Parts(BigInt, i64),
    Decimal(String),
}

/// Numbers with more precision than doubles, and their shape.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct BigArray {
    values: Vec<BigFloat>,
    shape: Vec<usize>,
}

#[pymethods]
impl BigArray {
    #[new]
    fn new(py: Python<'_>, numbers: Vec<Exact>, shape: Vec<usize>) -> PyResult<Self> {
        let values = detached(py, || {
            let read = |number| match number {
                Exact::Parts(mantissa, exponent) => Ok(BigFloat::from_parts(&mantissa, exponent)?),
                Exact::Decimal(text) => Ok(text.trim().parse()?),
            };
            numbers.into_iter().map(read).collect::<Result<Vec<_>, Error>>()
        })?;
        Ok(BigArray { values, shape })
    }
}

impl BigArray {
    /// The number, if there is exactly one.
    pub(crate) fn single(&self) -> Result<&BigFloat, Error> {
        match &self.values[..] {
            [number] => Ok(number),
            _ => Err(unfit("one number")),
        }
    }
}

/// A C-ordered numpy array of integers, doubles or complex doubles, or numbers with more precision.
pub(crate) enum Plain<'py> {
    Integers(PyReadonlyArrayDyn<'py, i64>),
    Real(PyReadonlyArrayDyn<'py, f64>),
    Complex(PyReadonlyArrayDyn<'py, Complex64>),
    Big(PyRef<'py, BigArray>),
}

/// An integer or a double.
#[derive(FromPyObject, Clone, Copy)]
pub(crate) enum Number {
    Integer(i64),
    Real(f64),
}

/// Plain numbers in row-major order, for arrays of any form.
#[derive(Clone, Copy)]
pub(crate) enum Slices<'a> {
    Integers(&'a [i64]),
    Numbers(Values<'a>),
}

// A derived implementation would format an error for each type that an array does not have.
impl<'a, 'py> FromPyObject<'a, 'py> for Plain<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<f64>>() {
            Ok(Plain::Real(array.try_readonly()?))
        } else if let Ok(array) = object.cast::<PyArrayDyn<i64>>() {
            Ok(Plain::Integers(array.try_readonly()?))
        } else if let Ok(array) = object.cast::<PyArrayDyn<Complex64>>() {
            Ok(Plain::Complex(array.try_readonly()?))
        } else {
            Ok(Plain::Big(object.extract()?))
        }
    }
}

impl Plain<'_> {
    pub(crate) fn slices(&self) -> PyResult<Slices<'_>> {
        Ok(match self {
            Plain::Integers(array) => Slices::Integers(array.as_slice()?),
            Plain::Real(array) => Slices::Numbers(Values::Real(array.as_slice()?)),
            Plain::Complex(array) => Slices::Numbers(Values::Complex(array.as_slice()?)),
            Plain::Big(array) => Slices::Numbers(Values::Big(&array.values)),
        })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Plain::Integers(array) => array.shape(),
            Plain::Real(array) => array.shape(),
            Plain::Complex(array) => array.shape(),
            Plain::Big(array) => &array.shape,
        }
    }
}

/// A form of arrays, with the plain numbers that numpy has for it.
pub(crate) trait FromPlain: Arithmetic {
    /// Plain numbers, one for each element.
    ///
    /// # Errors
    /// This and the next methods fail if the numbers have a kind that the form does not accept.
    fn of_slices(slices: Slices<'_>) -> Result<Self::Plain<'_>, Error>;

    /// The numbers of a vector or a matrix.
    fn of_matrix(slices: Slices<'_>) -> Result<&[Self::Number], Error>;

    fn of_number(number: Number) -> Result<Self::Number, Error>;
}

impl FromPlain for hippocrene::Numbers {
    fn of_slices(slices: Slices<'_>) -> Result<Values<'_>, Error> {
        match slices {
            Slices::Numbers(values) => Ok(values),
            Slices::Integers(_) => Err(unfit("doubles")),
        }
    }

    fn of_matrix(slices: Slices<'_>) -> Result<&[f64], Error> {
        match slices {
            Slices::Numbers(Values::Real(values)) => Ok(values),
            _ => Err(unfit("doubles")),
        }
    }

    fn of_number(number: Number) -> Result<f64, Error> {
        match number {
            Number::Integer(integer) => Ok(integer as f64),
            Number::Real(number) => Ok(number),
        }
    }
}

impl FromPlain for hippocrene::Residues {
    fn of_slices(slices: Slices<'_>) -> Result<&[i64], Error> {
        match slices {
            Slices::Integers(values) => Ok(values),
            Slices::Numbers(_) => Err(unfit("integers")),
        }
    }

    fn of_matrix(slices: Slices<'_>) -> Result<&[i64], Error> {
        Self::of_slices(slices)
    }

    fn of_number(number: Number) -> Result<i64, Error> {
        match number {
            Number::Integer(integer) => Ok(integer),
            Number::Real(_) => Err(unfit("integers")),
        }
    }
}

fn unfit(need: &str) -> Error {
    Error::Argument { operation: "compute", what: format!("these plain numbers are not {need}") }
}

/// Makes a numpy array of these values in row-major order.
pub(crate) fn to_numpy<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    Ok(values.into_pyarray(py).reshape(shape)?.into_any())
}
