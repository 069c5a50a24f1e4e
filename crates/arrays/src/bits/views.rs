//! Selections of bits that need only rotations of whole ciphertexts.

use std::borrow::Cow;

use hippocrene_ckks::bits::{BitCiphertext, BitPacking};

use super::{BitArray, BitServer};
use crate::{Array, Error, Layout, SlotContents, format_shape};

const OPERATION: &str = "move elements";

impl BitServer {
    /// Selects the bits at the places `sources` of `a`, in row-major order, as an array of shape
    /// `shape`.
    ///
    /// This works if all of them move by the same distance: single elements, rows, columns, and
    /// slices with steps that are powers of two. Otherwise it returns `None`. It needs one rotation
    /// of each ciphertext, or none if the selection starts in the first slot.
    ///
    /// The selected bits keep their distances. So gates accept two columns of arrays of one shape,
    /// or two rows, but not a row and a column.
    pub(crate) fn view(
        &self,
        a: &BitArray,
        shape: &[usize],
        sources: &[usize],
    ) -> Result<Option<BitArray>, Error> {
        self.check(&[a], OPERATION)?;
        let slots = self.plan().capacity();
        Layout::filled(shape, slots, sources.len(), OPERATION)?;
        let positions: Vec<usize> = a.layout().positions().collect();
        let from: Option<Vec<usize>> =
            sources.iter().map(|source| positions.get(*source).copied()).collect();
        let Some(from) = from else {
            let what = format!(
                "a place beyond the {} bits of shape {}",
                a.size(),
                format_shape(a.shape())
            );
            return Err(Error::argument(OPERATION, what));
        };
        let Some(layout) = Layout::standing(shape, &from, slots) else { return Ok(None) };
        let left = from[0] % slots;
        let part = a.part(from[0] / slots, layout.clone(), SlotContents::Stray);
        if left == 0 {
            return Ok(Some(part));
        }
        let row = match a.form().packing {
            BitPacking::Real => slots,
            BitPacking::Complex => slots / 2,
        };
        // One rotation cannot move some bits from one part of a slot to the other and keep the rest
        // in place.
        if left < row && from.iter().any(|f| f % slots >= row && f % slots - left < row) {
            return Ok(None);
        }
        let evaluator = self.bootstrapper().evaluator();
        let moved = |x: Cow<'_, BitCiphertext>| -> Result<BitCiphertext, Error> {
            let x = if left < row { x.into_owned() } else { evaluator.exchange_parts(&x)? };
            Ok(if left.is_multiple_of(row) {
                x
            } else {
                evaluator.rotate_bits(&x, (left % row) as i64)?
            })
        };
        let moved =
            part.expanded(&self.session).into_iter().map(moved).collect::<Result<_, Error>>()?;
        Ok(Some(Array::from_ciphertexts(layout, *a.form(), SlotContents::Stray, moved)))
    }
}
