//! Elements selected from an array, and sums of them.

use hippocrene::{Error, Form, Numbers, Residues};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::{exceptions::PyTypeError, prelude::*};

use crate::array::{EncryptedArray, Held};
use crate::errors::detached;
use crate::numbers::Plain;
use crate::server::Server;

/// A place as the library counts them. A negative one becomes a place beyond all elements.
fn place(place: &i64) -> usize {
    usize::try_from(*place).unwrap_or(usize::MAX)
}

/// Sums of selected elements, each times a plain number, over the last `axes` axes of the places
/// and weights, which have the same shape. It is `None` if the sums need `most` products or more.
/// The sums get the given strides, if that does not need much more work.
#[pyfunction]
pub(crate) fn linear_combinations(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    entries: (PyReadonlyArrayDyn<'_, i64>, Plain<'_>),
    axes: usize,
    most: Option<usize>,
    strides: Option<Vec<usize>>,
) -> PyResult<Option<EncryptedArray>> {
    let (places, weights) = entries;
    let (shape, summed) = places.shape().split_at(places.shape().len().saturating_sub(axes));
    let (terms, most) = (summed.iter().product(), most.unwrap_or(usize::MAX));
    let places = in_order(&places, place);
    match &weights {
        Plain::Integers(weights) => {
            let weights = in_order(weights, |weight| *weight);
            let entries = || places.iter().copied().zip(weights.iter().copied());
            combined::<Residues>(py, server, array, |server, array| {
                server.linear_combinations_within(
                    array,
                    shape,
                    terms,
                    entries(),
                    most,
                    strides.as_deref(),
                )
            })
        }
        Plain::Real(weights) => {
            let weights = in_order(weights, |weight| *weight);
            let entries = || places.iter().copied().zip(weights.iter().copied());
            combined::<Numbers>(py, server, array, |server, array| {
                server.linear_combinations_within(
                    array,
                    shape,
                    terms,
                    entries(),
                    most,
                    strides.as_deref(),
                )
            })
        }
        Plain::Complex(_) | Plain::Big(_) => {
            Err(PyTypeError::new_err("weights are integers or doubles"))
        }
    }
}

/// The elements of an array with any strides, in row-major order.
fn in_order<T: Element, U>(array: &PyReadonlyArrayDyn<'_, T>, element: impl Fn(&T) -> U) -> Vec<U> {
    let mut elements = Vec::with_capacity(array.len());
    // `for_each` is used because stepping an iterator of many axes allocates memory for each
    // element.
    array.as_array().iter().for_each(|x| elements.push(element(x)));
    elements
}

fn combined<F: Held + Form>(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    work: impl FnOnce(
        &hippocrene::Server,
        &hippocrene::Array<F>,
    ) -> Result<Option<hippocrene::Array<F>>, Error>
    + Send,
) -> PyResult<Option<EncryptedArray>> {
    let session = server.0.session();
    detached(py, || {
        Ok(work(&server.0, &*array.read(session)?)?.map(|combined| F::hold(combined, session)))
    })
}

/// The number of products for moving the elements to these places. The count stops at a few
/// hundred. It is 0 if the move needs no multiplication, or if there is no capacity for one.
#[pyfunction]
pub(crate) fn moving_products(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    shape: Vec<usize>,
    places: PyReadonlyArray1<'_, i64>,
) -> PyResult<usize> {
    let (session, places) = (server.0.session(), places.as_slice()?);
    let sources = || places.iter().map(place).collect::<Vec<_>>();
    detached(py, || match array.is_integers() {
        true => server.0.moving_products::<Residues>(&*array.read(session)?, &shape, &sources()),
        false => server.0.moving_products::<Numbers>(&*array.read(session)?, &shape, &sources()),
    })
}
