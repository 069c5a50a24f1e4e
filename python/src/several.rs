//! What is computed from many arrays, or from those of another key, by form.

use hippocrene::{Array, Bits, Form};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::array::{EncryptedArray, Held};
use crate::errors::detached;
use crate::server::Server;

impl Server {
    pub(crate) fn transfer_form<F: Held + Form>(
        &self,
        py: Python<'_>,
        array: &EncryptedArray,
    ) -> PyResult<EncryptedArray> {
        let first = self.0.transfers().map_or(self.0.session(), |(_, first)| first);
        let session = self.0.session();
        detached(py, || Ok(F::hold(self.0.transfer(&*array.read::<F>(first)?)?, session)))
    }

    pub(crate) fn sum_of_products_of<F: Held + Form>(
        &self,
        py: Python<'_>,
        left: &[&EncryptedArray],
        right: &[&EncryptedArray],
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        detached(py, || {
            // One and the same array stays one: its product with itself is a square.
            let read = left.iter().map(|a| a.read::<F>(session)).collect::<Result<Vec<_>, _>>()?;
            let others = right.iter().map(|b| b.read::<F>(session)).collect::<Result<Vec<_>, _>>()?;
            let same = left.iter().zip(right).map(|(a, b)| std::ptr::eq(*a, *b));
            let each = read.iter().zip(&others).zip(same);
            let pairs: Vec<_> = each.map(|((a, b), same)| (&**a, if same { &**a } else { &**b })).collect();
            Ok(F::hold(self.0.sum_of_products(&pairs)?, session))
        })
    }

    pub(crate) fn gather_of<F: Held + Form>(
        &self,
        py: Python<'_>,
        arrays: &[&EncryptedArray],
        shape: &[usize],
        sources: &[i64],
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        detached(py, || {
            let read = arrays.iter().map(|a| a.read::<F>(session)).collect::<Result<Vec<_>, _>>()?;
            let arrays: Vec<&Array<F>> = read.iter().map(|array| &**array).collect();
            // What is negative is a zero.
            let sources: Vec<Option<usize>> = sources.iter().map(|s| usize::try_from(*s).ok()).collect();
            Ok(F::hold(self.0.gather_padded(&arrays, shape, &sources)?, session))
        })
    }

    /// Bits of the one array that there may be.
    pub(crate) fn gather_bits(
        &self,
        py: Python<'_>,
        arrays: &[&EncryptedArray],
        shape: &[usize],
        sources: &[i64],
    ) -> PyResult<EncryptedArray> {
        let [array] = arrays else {
            return Err(PyValueError::new_err("bits of several arrays are not joined"));
        };
        self.compute::<Bits>(py, array, |server, array| server.bits()?.gather(array, shape, &places(sources)))
    }
}

/// Places as the library counts them: what is negative is beyond all elements.
fn places(sources: &[i64]) -> Vec<usize> {
    sources.iter().map(|s| usize::try_from(*s).unwrap_or(usize::MAX)).collect()
}
