//! Bits in any order: picked, repeated, joined and padded.

use std::{borrow::Cow, collections::BTreeSet};

use hippocrene_ckks::{Ciphertext, bits::BitParts};

use crate::server::{Server, moves::Moves, planner::policy::Policy};
use crate::{Array, BitArray, Bits, Error, Layout, Numbers, SlotContents};

const OPERATION: &str = "move elements";

impl Server {
    /// The array of this shape whose bits are, in row-major order, those at the places `sources` of
    /// all bits of `arrays`, counted as [`Server::gather`] counts them, and 0 where there is no
    /// source. Bits may be left out, and come several times.
    ///
    /// Nothing is bootstrapped where all bits of one array move alike: single ones, rows, columns,
    /// slices with steps that are powers of two. That is a rotation of each ciphertext, or nothing
    /// from the first bit on, and they stand then as they did: gates take two columns of arrays of
    /// one shape, or two rows, but no row with a column ([`Server::standing_alike`]). Everything
    /// else takes a bootstrap of each ciphertext that bits come from, which ends with capacity for
    /// a linear map, and such a map of its real and of its imaginary parts: bits stand row by row
    /// then, as fresh ones do, and as precise as bits are after a gate that is not cleaned.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when there are no keys of bits, [`Error::Argument`] when there is no
    /// array, no such place or zeros only, [`Error::Shape`] when there are not as many sources as
    /// the shape has elements, [`Error::MissingKey`] when rotation keys are missing: those of bits
    /// ([`crate::KeyRequest::bits`]) have none for this.
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

    /// Arrays of bits of one shape such that gates take them together: those that stand otherwise
    /// than fresh ones are moved, unless all stand alike.
    ///
    /// # Errors
    /// As [`Server::gather_bits`].
    pub fn standing_alike(&self, arrays: &[&BitArray]) -> Result<Vec<BitArray>, Error> {
        let alike = |a: &&BitArray| {
            a.shape() != arrays[0].shape() || a.layout().is_like(arrays[0].layout())
        };
        if arrays.iter().all(alike) {
            return Ok(arrays.iter().map(|a| (*a).clone()).collect());
        }
        arrays.iter().map(|a| self.packed_bits(a)).collect()
    }

    /// The same array with its bits where those of fresh arrays stand.
    ///
    /// # Errors
    /// As [`Server::gather_bits`].
    pub fn packed_bits(&self, a: &BitArray) -> Result<BitArray, Error> {
        match a.layout().is_packed() {
            true => Ok(a.clone()),
            false => self.moved_bits(&[a], a.shape(), &(0..a.size()).map(Some).collect::<Vec<_>>()),
        }
    }

    /// [`Server::gather_bits`] by bootstraps and a linear map.
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
        // Only those that bits come from are bootstrapped.
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

    /// What these moves make of parts of slots, which are the ciphertexts of arrays of numbers, one
    /// after the other, up to the position `end`: numbers in parts are counted as bits are in slots
    /// of parts.
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
