//! Operations on many arrays, or on arrays of another key, for each form of arrays.

use hippocrene::{Array, BitArray, Bits, Form};
use pyo3::prelude::*;

use crate::array::{EncryptedArray, Held};
use crate::bits::gate;
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
            let left = left.iter().map(|a| a.read::<F>(session)).collect::<Result<Vec<_>, _>>()?;
            let right =
                right.iter().map(|b| b.read::<F>(session)).collect::<Result<Vec<_>, _>>()?;
            let pairs: Vec<_> = left.iter().zip(&right).map(|(a, b)| (&**a, &**b)).collect();
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
            let read =
                arrays.iter().map(|a| a.read::<F>(session)).collect::<Result<Vec<_>, _>>()?;
            let arrays: Vec<&Array<F>> = read.iter().map(|array| &**array).collect();
            Ok(F::hold(self.0.gather_padded(&arrays, shape, &places(sources))?, session))
        })
    }

    pub(crate) fn gates_of(
        &self,
        py: Python<'_>,
        names: &[String],
        arrays: &[&EncryptedArray],
    ) -> PyResult<Vec<EncryptedArray>> {
        let session = self.0.session();
        detached(py, || {
            let gates = names.iter().map(|name| gate(name)).collect::<Result<Vec<_>, _>>()?;
            let read =
                arrays.iter().map(|a| a.read::<Bits>(session)).collect::<Result<Vec<_>, _>>()?;
            let inputs: Vec<&BitArray> = read.iter().map(|a| &**a).collect();
            let alike = self.0.standing_alike(&inputs)?;
            let inputs: Vec<&BitArray> = alike.iter().collect();
            let out = match gates[..] {
                [gate] => vec![self.0.bits()?.gate(gate, &inputs)?],
                _ => self.0.bits()?.gates(&gates, &inputs)?,
            };
            Ok(out.into_iter().map(|array| Bits::hold(array, session)).collect())
        })
    }

    pub(crate) fn gather_bits(
        &self,
        py: Python<'_>,
        arrays: &[&EncryptedArray],
        shape: &[usize],
        sources: &[i64],
    ) -> PyResult<EncryptedArray> {
        let session = self.0.session();
        detached(py, || {
            let read =
                arrays.iter().map(|a| a.read::<Bits>(session)).collect::<Result<Vec<_>, _>>()?;
            let arrays: Vec<&BitArray> = read.iter().map(|array| &**array).collect();
            Ok(Bits::hold(self.0.gather_bits(&arrays, shape, &places(sources))?, session))
        })
    }
}

/// Places as the library counts them. A negative one stands for a zero, and becomes `None`.
pub(crate) fn places(sources: &[i64]) -> Vec<Option<usize>> {
    sources.iter().map(|s| usize::try_from(*s).ok()).collect()
}
