//! Moves of bits: picking, repeating, joining and padding.

use std::{borrow::Cow, collections::BTreeSet};

use hippocrene_ckks::{Ciphertext, bits::BitParts};

use crate::server::{Server, moves::Moves, planner::policy::Policy};
use crate::{Array, BitArray, Bits, Error, Layout, Numbers, SlotContents};

const OPERATION: &str = "move elements";

impl Server {
    /// Gathers the bits at the places `sources` into an array of this shape, in row-major order.
    ///
    /// Places count over all bits of `arrays`, as in [`Server::gather`]. A bit without a source
    /// is 0. Bits may be left out, or come several times.
    ///
    /// Nothing is bootstrapped if all bits come from one array and move alike. That holds for
    /// single bits, rows, columns, and slices whose steps are powers of two. It takes one rotation
    /// of each ciphertext, or none if the first bit of the array is the first one picked. The bits
    /// then keep their layout, and gates accept two columns of arrays of one shape, or two rows,
    /// but not a row with a column ([`Server::in_common_layout`]).
    ///
    /// In all other cases every ciphertext that bits come from is bootstrapped to the capacity of
    /// one linear map, which is applied to its real and its imaginary parts. The result has the
    /// layout of fresh bits, row by row, and the precision of bits after a gate that is not
    /// cleaned.
    ///
    /// # Errors
    /// - [`Error::NoKeys`] if there are no keys of bits.
    /// - [`Error::Argument`] if there is no array, a place does not exist, or no bit has a source.
    /// - [`Error::Shape`] if the number of sources differs from the number of elements of the
    ///   shape.
    /// - [`Error::MissingKey`] if rotation keys are missing. Those of bits
    ///   ([`crate::KeyRequest::bits`]) have none for this.
    pub fn gather_bits(
        &self,
        arrays: &[&BitArray],
        shape: &[usize],
        sources: &[Option<usize>],
    ) -> Result<BitArray, Error> {
        let bits = self.bits()?;
        if let [array] = arrays
            && let Some(places) = sources.iter().copied().collect::<Option<Vec<_>>>()
            && let Some(view) = bits.view(array, shape, &places)?
        {
            return Ok(view);
        }
        self.moved_bits(arrays, shape, sources)
    }

    /// Returns arrays of bits with layouts that gates accept together.
    ///
    /// If an array has the shape of the first one but another layout, all arrays are moved to the
    /// layout of fresh ones.
    ///
    /// # Errors
    /// As [`Server::gather_bits`].
    pub fn in_common_layout(&self, arrays: &[&BitArray]) -> Result<Vec<BitArray>, Error> {
        let alike = |a: &&BitArray| {
            a.shape() != arrays[0].shape() || a.layout().is_like(arrays[0].layout())
        };
        if arrays.iter().all(alike) {
            return Ok(arrays.iter().map(|a| (*a).clone()).collect());
        }
        arrays.iter().map(|a| self.packed_bits(a)).collect()
    }

    /// Returns the same array with its bits moved to the layout of fresh arrays.
    ///
    /// # Errors
    /// As [`Server::gather_bits`].
    pub fn packed_bits(&self, a: &BitArray) -> Result<BitArray, Error> {
        match a.layout().is_packed() {
            true => Ok(a.clone()),
            false => self.moved_bits(&[a], a.shape(), &(0..a.size()).map(Some).collect::<Vec<_>>()),
        }
    }

    /// As [`Server::gather_bits`], always by bootstraps and a linear map.
    fn moved_bits(
        &self,
        arrays: &[&BitArray],
        shape: &[usize],
        sources: &[Option<usize>],
    ) -> Result<BitArray, Error> {
        let bits = self.bits()?;
        let capacity = bits.plan().capacity();
        let out = Layout::filled(shape, capacity, sources.len(), OPERATION)?;
        // Positions and ciphertexts are counted over all arrays.
        let (mut places, mut ciphertexts) = (Vec::new(), Vec::new());
        for array in arrays {
            bits.check(&[array], OPERATION)?;
            let first = ciphertexts.len() * capacity;
            places.extend(array.layout().positions().map(|position| first + position));
            ciphertexts.extend(
                bits.ready(array, 1)?.expanded(&self.session).into_iter().map(Cow::into_owned),
            );
        }
        let mut moves: Moves = Vec::with_capacity(sources.len());
        for (to, source) in out.positions().zip(sources) {
            let Some(source) = *source else { continue };
            let Some(from) = places.get(source) else {
                let what =
                    format!("place {source} of {} bits in {} arrays", places.len(), arrays.len());
                return Err(Error::argument(OPERATION, what));
            };
            moves.push((to, *from));
        }
        if moves.is_empty() {
            return Err(Error::argument(OPERATION, "no place of a bit: zeros take no moving"));
        }
        // Only the ciphertexts that bits come from are bootstrapped.
        let used: BTreeSet<usize> = moves.iter().map(|(_, from)| from / capacity).collect();
        let used: Vec<usize> = used.into_iter().collect();
        for (_, from) in &mut moves {
            let place = used.partition_point(|k| *k < *from / capacity);
            *from = place * capacity + *from % capacity;
        }
        let parts = self.session.compute_each(used.len(), |i| bits.parts(&ciphertexts[used[i]]))?;
        let error = parts.iter().map(|p| p.error).fold(0.0, f64::max);
        let parts = parts.into_iter().flat_map(|p| p.parts).collect();
        let mapped = self.mapped_parts(parts, &moves, out.ciphertexts() * capacity)?;
        let each = mapped.len() / out.ciphertexts();
        let of_parts = |i: usize| {
            let parts = mapped[each * i..][..each].to_vec();
            Ok(bits.bootstrapper().of_parts(BitParts { parts, error })?)
        };
        let bodies = self.session.compute_each(out.ciphertexts(), of_parts)?;
        Ok(Array::from_ciphertexts(
            out,
            Bits { packing: bits.plan().literal().packing },
            SlotContents::Zero,
            bodies,
        ))
    }

    /// Moves bits within parts of ciphertexts by a linear map, up to the position `end`.
    ///
    /// The parts are treated as the ciphertexts of one array of numbers, in this order. `moves`
    /// counts the numbers in the parts as it counts bits in slots.
    fn mapped_parts(
        &self,
        parts: Vec<Ciphertext>,
        moves: &[(usize, usize)],
        end: usize,
    ) -> Result<Vec<Ciphertext>, Error> {
        let settings = self.session.settings();
        let precision = self.bits()?.plan().bit_scale().log2() - settings.overhead();
        let slots = self.session.slots();
        let layout = |end: usize| Layout::packed(&[end], slots);
        let form = Numbers { complex: false, precision, interval: None, error_known: true };
        let array =
            Array::from_ciphertexts(layout(parts.len() * slots)?, form, SlotContents::Stray, parts);
        let entries = moves.iter().map(|(to, from)| (*to, *from, 1.0));
        let policy = Policy { precision: None, ..self.policy };
        let server = Server { policy, ..self.clone() };
        let mapped = server.linear_map(&array, layout(end)?, entries, OPERATION)?;
        Ok(mapped.expanded(&self.session).into_iter().map(Cow::into_owned).collect())
    }
}
