//! Linear maps from the elements of one array to those of another, such as matrix products, moves
//! and broadcasts.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use hippocrene_rlwe::stop;

use crate::server::{
    Server,
    linear::map_cache::Name,
    planner::choose::{Candidate, MARGIN_BITS},
};
use crate::{
    Arithmetic, Array, Diagonals, Error, Extent, Layout, PlainNumbers, SlotContents,
    server::ResultUse,
};

/// Number of entries between two checks whether the computation is to stop.
const ENTRIES_BETWEEN_STOPS: usize = 4096;

/// Minimum number of diagonals of an encoded map that is reused by rotating the operand. Encoding
/// this many diagonals takes longer than a rotation.
const MIN_DIAGONALS_TO_ROTATE_FOR: usize = 8;

/// Maximum memory, in bytes, for the encoded diagonals of a map that is not cached. Larger maps are
/// encoded in parts.
const MAX_ENCODED_BYTES: usize = 1 << 30;

/// Number of ciphertexts that one thread maps at a time if all diagonals are encoded.
const CIPHERTEXTS_AT_ONCE: usize = 4;

/// Maximum memory, in bytes, for mapped ciphertexts before they are added up. It holds for maps
/// that are encoded in parts, once for all of these ciphertexts.
const MAX_BYTES_OF_TERMS: usize = 512 << 20;

/// A linear map between two ciphertexts, and the pairs of ciphertexts that it is used for.
struct Block<F: Arithmetic> {
    diagonals: Diagonals<F>,
    pairs: Vec<Pair>,
    /// The name of the map, which is computed when a cache is asked for it.
    name: OnceLock<Name>,
}

/// A ciphertext `to` of the result, and the ciphertext `from` that is mapped to it. The latter is
/// rotated to the left by `rotated` slots first.
struct Pair {
    to: usize,
    from: usize,
    rotated: usize,
}

impl Server {
    /// Returns the array of layout `out` whose elements are weighted sums of slots of `a`.
    ///
    /// The element at position `to` is the sum of `weight` times the slot of `a` at position
    /// `from`, over the entries `(to, from, weight)`. The weights of equal pairs of positions are
    /// added up. Every stray slot of the result is zero. The result is one multiplication deep.
    ///
    /// The computation needs memory for the entries and for a few hundred encoded diagonals. Larger
    /// maps are encoded in parts. The encoded diagonals of a map that is applied for the second
    /// time are cached while there is room ([`Server::set_cache_memory`]).
    pub(in crate::server) fn linear_map<F: Arithmetic>(
        &self,
        a: &Array<F>,
        out: Layout,
        entries: impl IntoIterator<Item = (usize, usize, F::Number)>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.linear_map_before(a, out, entries, ResultUse::Nothing, operation)
    }

    /// Computes [`Server::linear_map`] with a precision that fits the next step, `after`.
    ///
    /// If that step adds up rounding errors, the map is computed more finely.
    pub(in crate::server) fn linear_map_before<F: Arithmetic>(
        &self,
        a: &Array<F>,
        out: Layout,
        entries: impl IntoIterator<Item = (usize, usize, F::Number)>,
        after: ResultUse,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        let form = self.form_of(&[a]);
        let slots = F::slots(&self.session);
        let blocks = blocks(&form, &out, slots, entries, operation)?;
        let (apart, extent) =
            (ciphertexts_with_one_source(&blocks, slots), extent(&blocks, slots, after));
        let map = Candidate::new("linear map", |server: &Server, [a]: [_; 1]| {
            let ciphertexts = server
                .mapped(&form, a, &blocks, &apart, extent)
                .map_err(|e| e.during(operation))?;
            Ok(Array::from_ciphertexts(out.clone(), form.clone(), SlotContents::Zero, ciphertexts))
        });
        let growth = extent.norm.max(1.0).log2();
        self.perform(operation, [a], form.product_bits(self) + growth + MARGIN_BITS, &[map])
    }

    /// Returns the ciphertexts of the result, one for each `to` of the pairs.
    ///
    /// Each is the sum of the mapped ciphertexts of `a` over its pairs. `apart` and `extent` are
    /// the results of the functions of that name for `blocks`.
    fn mapped<F: Arithmetic>(
        &self,
        form: &F,
        a: &Array<F>,
        blocks: &[Block<F>],
        apart: &BTreeSet<usize>,
        extent: Extent,
    ) -> Result<Vec<F::Ciphertext>, Error> {
        let inputs = a.expanded(&self.session);
        let (maps, room) = (F::maps(self), self.session.room());
        let inputs =
            self.session.compute_each(inputs.len(), |i| form.lowered(self, &inputs[i], extent))?;
        let mut results: BTreeMap<usize, F::Ciphertext> = BTreeMap::new();
        for Block { diagonals, pairs, name } in blocks {
            let bytes = self.bytes_of_diagonals(diagonals.len());
            // A map that is too large to be cached needs no name.
            let name =
                (bytes <= room.memory().1).then(|| *name.get_or_init(|| Name::of::<F>(diagonals)));
            let (map, is_whole) = match name.and_then(|name| maps.get(name)) {
                Some(kept) => (kept, true),
                None => {
                    // Storing all encoded diagonals pays off for a map that is cached, or for
                    // several pairs if memory allows. Otherwise each limb of a diagonal is encoded
                    // where it is used.
                    let kept = name.is_some_and(|name| maps.is_to_be_kept(name, bytes, room));
                    let is_whole = kept || (pairs.len() > 1 && bytes <= MAX_ENCODED_BYTES);
                    (Arc::new(F::map(self, diagonals, is_whole)?), is_whole)
                }
            };
            let operand = |Pair { from, rotated, .. }: &Pair| match rotated {
                0 => Ok(Cow::Borrowed(&*inputs[*from])),
                left => form.rotate(self, &inputs[*from], *left as i64).map(Cow::Owned),
            };
            let terms = |pairs: &[Pair]| {
                let operands: Vec<Cow<F::Ciphertext>> =
                    pairs.iter().map(operand).collect::<Result<_, _>>()?;
                form.apply_each(
                    self,
                    &operands.iter().map(|x| &**x).collect::<Vec<_>>(),
                    &map,
                    extent,
                )
            };
            let few = CIPHERTEXTS_AT_ONCE * self.session.threads();
            let at_once = if is_whole {
                few
            } else {
                few.max(MAX_BYTES_OF_TERMS / self.bytes_of_diagonals(2))
            };
            for pairs in pairs.chunks(at_once) {
                // Diagonals that are encoded in parts serve all operands at once, and the threads
                // share their limbs.
                let each = if is_whole {
                    pairs.len().div_ceil(self.session.threads())
                } else {
                    pairs.len()
                };
                let parts: Vec<&[Pair]> = pairs.chunks(each).collect();
                let terms = self.session.compute_each(parts.len(), |i| terms(parts[i]))?;
                for (Pair { to, .. }, term) in pairs.iter().zip(terms.into_iter().flatten()) {
                    let sum = match results.get(to) {
                        None => term,
                        Some(sum) if apart.contains(to) => form.overlay_copies(self, sum, &term)?,
                        Some(sum) => form.add(self, sum, &term)?,
                    };
                    results.insert(*to, sum);
                }
            }
            if let Some(name) = name {
                let bytes = F::map_bytes(&map);
                maps.keep(name, map, bytes, room);
            }
        }
        Ok(results.into_values().collect())
    }

    /// Returns the maximum memory, in bytes, of `count` diagonals that are encoded modulo `PQ_max`.
    fn bytes_of_diagonals(&self, count: usize) -> usize {
        let parameters = self.session.settings().parameters();
        count
            .saturating_mul(parameters.degree() * parameters.full().limb_count() * size_of::<u64>())
    }
}

/// Returns the ciphertexts of the result whose slots each depend on at most one ciphertext of `a`.
///
/// Adding up the mapped ciphertexts makes no value larger there.
fn ciphertexts_with_one_source<F: Arithmetic>(
    blocks: &[Block<F>],
    slots: usize,
) -> BTreeSet<usize> {
    let mut feeds: BTreeMap<usize, Vec<&Diagonals<F>>> = BTreeMap::new();
    for Block { diagonals, pairs, .. } in blocks {
        for Pair { to, .. } in pairs {
            feeds.entry(*to).or_default().push(diagonals);
        }
    }
    let is_apart = |feeds: &[&Diagonals<F>]| {
        let mut fed = vec![usize::MAX; slots];
        feeds.iter().enumerate().all(|(k, diagonals)| {
            diagonals.values().flatten().all(|(slot, _)| {
                let by = &mut fed[*slot as usize];
                let free = *by == usize::MAX || *by == k;
                *by = k;
                free
            })
        })
    };
    feeds.retain(|_, feeds| feeds.len() == 1 || is_apart(feeds));
    feeds.into_keys().collect()
}

/// Returns the extent of all maps whose results are added up, the largest over the results.
///
/// All maps use this extent, because only ciphertexts of one scale can be added up.
fn extent<F: Arithmetic>(blocks: &[Block<F>], slots: usize, after: ResultUse) -> Extent {
    let none = Extent { norm: 0.0, diagonals: 0, energy: 0.0, after };
    let mut sums: BTreeMap<usize, Extent> = BTreeMap::new();
    for Block { diagonals, pairs, .. } in blocks {
        let mut rows = vec![(0.0, 0.0); slots];
        for (slot, weight) in diagonals.values().flatten() {
            let (size, row) = (F::magnitude(*weight), &mut rows[*slot as usize]);
            *row = (row.0 + size, row.1 + size * size);
        }
        let (norm, energy) = rows.into_iter().fold((0.0, 0.0), larger_of_both);
        for Pair { to, .. } in pairs {
            let sum = sums.entry(*to).or_insert(none);
            sum.norm += norm;
            sum.energy += energy;
            sum.diagonals += diagonals.len();
        }
    }
    sums.into_values().fold(none, |a, b| {
        let (norm, energy) = larger_of_both((a.norm, a.energy), (b.norm, b.energy));
        Extent { norm, energy, diagonals: a.diagonals.max(b.diagonals), after }
    })
}

fn larger_of_both(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.max(b.0), a.1.max(b.1))
}

/// Splits a linear map into maps between pairs of ciphertexts, by diagonals.
///
/// Pairs whose maps are equal, or equal but for a rotation of the operand, share one map. Those of
/// blocks of rows are equal, and those of blocks of columns differ by a rotation. A ciphertext of
/// the result without any entry gets a map without entries.
fn blocks<F: Arithmetic>(
    form: &F,
    out: &Layout,
    slots: usize,
    entries: impl IntoIterator<Item = (usize, usize, F::Number)>,
    operation: &'static str,
) -> Result<Vec<Block<F>>, Error> {
    let (log2, mask) = (slots.ilog2(), slots - 1);
    // `places` says where the entries of each pair of ciphertexts are collected. The last pair is
    // remembered, since the next entry mostly belongs to the same one.
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut collected: Vec<Vec<Entry<F>>> = Vec::new();
    let (mut last, mut place) = (None, 0);
    // Nested iterators are several times as fast in `try_for_each` as in a loop.
    entries.into_iter().enumerate().try_for_each(|(i, (to, from, weight))| {
        if i % ENTRIES_BETWEEN_STOPS == 0 {
            stop::check(operation)?;
        }
        let pair = (to >> log2, from >> log2);
        if last != Some(pair) {
            last = Some(pair);
            place = *places.entry(pair).or_insert(collected.len());
            collected.resize_with(collected.len().max(place + 1), Vec::new);
        }
        let (to, from) = (to & mask, from & mask);
        collected[place].push((F::diagonal(slots, to, from) as u32, to as u32, weight));
        Ok::<_, Error>(())
    })?;
    for to in 0..out.ciphertexts() {
        if places.range((to, 0)..(to + 1, 0)).next().is_none() {
            places.insert((to, 0), collected.len());
            collected.push(Vec::new());
        }
    }
    let mut blocks: Vec<Block<F>> = Vec::new();
    for ((to, from), place) in places {
        stop::check(operation)?;
        let diagonals = diagonals(form, slots, &std::mem::take(&mut collected[place]));
        let alike = blocks.iter().enumerate().find_map(|(i, block)| {
            rotation_between::<F>(slots, &block.diagonals, &diagonals).map(|rotated| (i, rotated))
        });
        match alike {
            Some((i, rotated)) => blocks[i].pairs.push(Pair { to, from, rotated }),
            None => {
                let pairs = vec![Pair { to, from, rotated: 0 }];
                blocks.push(Block { diagonals, pairs, name: OnceLock::new() });
            }
        }
    }
    Ok(blocks)
}

/// An entry of a map between two ciphertexts: its diagonal, its target slot, and its weight.
type Entry<F> = (u32, u32, <F as PlainNumbers>::Number);

/// Groups entries by their diagonals, in ascending order of target slots.
///
/// The weights of entries with the same diagonal and slot are added up. If there are no entries,
/// the result is diagonal 0 without any.
fn diagonals<F: Arithmetic>(form: &F, slots: usize, entries: &[Entry<F>]) -> Diagonals<F> {
    let mut counts = vec![0usize; slots];
    entries.iter().for_each(|(diagonal, ..)| counts[*diagonal as usize] += 1);
    if entries.is_empty() {
        return BTreeMap::from([(0, Vec::new())]);
    }
    let (mut numbers, mut sorted) = (Vec::new(), Vec::new());
    for (diagonal, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
        sorted.push(Vec::with_capacity(*count));
        numbers.push(diagonal);
        *count = numbers.len() - 1;
    }
    entries.iter().for_each(|(diagonal, slot, weight)| {
        sorted[counts[*diagonal as usize]].push((*slot, *weight))
    });
    // Most entries come in ascending order already.
    for entries in sorted.iter_mut().filter(|entries| !entries.is_sorted_by(|x, y| x.0 < y.0)) {
        entries.sort_unstable_by_key(|(slot, _)| *slot);
        entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = form.plus(kept.1, next.1);
            }
            same
        });
    }
    numbers.into_iter().zip(sorted).collect()
}

/// Returns the rotation of the operand, in slots to the left, that lets `known` replace `map`.
///
/// The result is `None` if no such rotation was found, or if the maps differ and have fewer than
/// [`MIN_DIAGONALS_TO_ROTATE_FOR`] diagonals.
fn rotation_between<F: Arithmetic>(
    slots: usize,
    known: &Diagonals<F>,
    map: &Diagonals<F>,
) -> Option<usize> {
    if known == map {
        return Some(0);
    }
    if known.len() != map.len() || map.len() < MIN_DIAGONALS_TO_ROTATE_FOR {
        return None;
    }
    // Each row of slots rotates by itself. A diagonal stays within the rows or exchanges them, and
    // does the same after a rotation. The diagonals of one of these kinds determine the rotation.
    let row = F::row(slots);
    let side = map.first_key_value()?.0 / row * row;
    // Finds the first diagonal after the longest gap. If several gaps have this length, only one is
    // tried.
    let first = |map: &Diagonals<F>| {
        let map = || map.range(side..side + row).map(|(r, _)| r % row);
        let before = map().next_back().into_iter().chain(map());
        map().zip(before).max_by_key(|(r, before)| (r + row - before) % row).map(|(r, _)| r)
    };
    let rotated = (first(map)? + row - first(known)?) % row;
    let same = known
        .iter()
        .all(|(r, entries)| map.get(&(r / row * row + (r + rotated) % row)) == Some(entries));
    same.then_some(rotated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Numbers, Residues};

    #[test]
    fn maps_are_alike_but_for_a_rotation() {
        let slots = 256;
        // Moves element `k` of a column of 40 rows, `stride` slots apart, to slot `k`.
        let column = |first: usize, stride: usize, weight: f64| -> Diagonals<Numbers> {
            (0..40)
                .map(|k| ((first + (stride - 1) * k) % slots, vec![(k as u32, weight)]))
                .collect()
        };
        let between = |known: &_, map: &_| rotation_between::<Numbers>(slots, known, map);
        let known = column(3, 4, 1.0);
        assert_eq!(between(&known, &known), Some(0));
        for first in [0, 2, 4, 200, 255] {
            assert_eq!(between(&known, &column(first, 4, 1.0)), Some((first + slots - 3) % slots));
        }
        assert_eq!(between(&known, &column(5, 4, 2.0)), None);
        assert_eq!(between(&known, &column(5, 6, 1.0)), None);
        // Maps of few diagonals are not rotated. Rows of integers rotate by themselves.
        let few = |first: usize| {
            column(first, 4, 1.0).into_iter().take(MIN_DIAGONALS_TO_ROTATE_FOR - 1).collect()
        };
        assert_eq!(between(&few(3), &few(4)), None);
        let integers = |first: usize| -> Diagonals<Residues> {
            (first..first + 40).map(|r| (r, vec![(0, 1)])).collect()
        };
        let between = |first: usize, other: usize| {
            rotation_between::<Residues>(slots, &integers(first), &integers(other))
        };
        assert_eq!(
            [between(0, 1), between(5, 2), between(130, 133)],
            [Some(1), Some(125), Some(3)]
        );
        // The second map exchanges the rows, with all its diagonals or a part. After that, both
        // maps exchange the rows with a part of their diagonals.
        assert_eq!([between(0, 128), between(0, 100)], [None, None]);
        let both = |by: usize| -> Diagonals<Residues> {
            let places = (3..40).chain(140..150).map(|r| r / 128 * 128 + (r + by) % 128);
            places.zip((0..47).map(|i| vec![(0, i)])).collect()
        };
        let between =
            |by: usize, other: usize| rotation_between::<Residues>(slots, &both(by), &both(other));
        assert_eq!(
            [between(0, 9), between(9, 0), between(0, 100)],
            [Some(9), Some(119), Some(100)]
        );
        let mut moved = both(9);
        let last = moved.pop_last().unwrap();
        moved.insert((last.0 + 1) % slots, last.1);
        assert_eq!(rotation_between::<Residues>(slots, &both(0), &moved), None);
    }
}
