//! Moves of many elements in two steps.
//!
//! A linear map takes a product with a plaintext for every distance that an element moves by. Distances `r = B h + l` that are gone in two steps, by `l` and by `B h`, take as many as there
//! are `l` and `h`: some hundred for thousands of distances, for one multiplication more. It works where no two elements meet half-way, as in reversals, in slices and masks, and where
//! elements that stood one after the other are spread out.

use std::collections::{BTreeMap, BTreeSet};

use hippocrene_rlwe::stop;

use super::Server;
use crate::{Array, Error, Form, Layout};

/// So many distances within ciphertexts are gone in one step: it takes about a second, and saves the capacity of a product.
pub(super) const ONE_STEP: usize = 128;

/// How many products are left after two steps at least.
pub(super) const LEFT: usize = 1;

/// How many ways of halving distances are looked at to the end.
const TRIED: usize = 8;

/// So many distances are halved for all ways together, about: of many distances, fewer ways are looked at.
const HALVED: usize = 1 << 22;

/// Where elements go, and where from: `(to, from)`.
pub(super) type Moves = Vec<(usize, usize)>;

impl Server {
    /// The array of layout `out` with the elements of `a` at the positions `from` moved to `to`, over the pairs `(to, from)`; other slots are zero. One multiplication deep, or two where that is much
    /// less work and more are left.
    pub(super) fn moved<F: Form>(
        &self,
        a: &Array<F>,
        out: Layout,
        moves: &[(usize, usize)],
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        let slots = F::slots(&self.session);
        let ones = |moves: &[(usize, usize)]| moves.iter().map(|(to, from)| (*to, *from, F::ONE)).collect();
        let (_, halves) = self.way(a, moves, operation)?;
        let Some([first, second]) = halves else {
            let entries: Vec<_> = ones(moves);
            return self.linear_map(a, out, entries, operation);
        };
        let end = first.iter().map(|(to, _)| to + 1).max().unwrap_or(1);
        let entries: Vec<_> = ones(&first);
        let half_way = self.linear_map(a, Layout::packed(&[end], slots)?, entries, operation)?;
        let entries: Vec<_> = ones(&second);
        self.linear_map(&half_way, out, entries, operation)
    }

    /// How many products with plaintexts these moves take, and the two steps of them where they are made in two.
    pub(super) fn way<F: Form>(
        &self,
        a: &Array<F>,
        moves: &[(usize, usize)],
        operation: &'static str,
    ) -> Result<(usize, Option<[Moves; 2]>), Error> {
        let room = self.form_of(&[a]).has_products(self, a, 2 + LEFT);
        shortest::<F>(F::slots(&self.session), moves, room, operation)
    }
}

/// [`Server::way`], where there is `room` for two products or not.
pub(super) fn shortest<F: Form>(
    slots: usize,
    moves: &[(usize, usize)],
    room: bool,
    operation: &'static str,
) -> Result<(usize, Option<[Moves; 2]>), Error> {
    let all = |moves: &[(usize, usize)]| products::<F>(slots, moves.iter().copied(), usize::MAX);
    let direct = all(moves);
    if direct <= ONE_STEP || !room {
        return Ok((direct, None));
    }
    let halves = halves(moves, operation)?
        .map(|[first, second]| (all(&first) + all(&second), [first, second]))
        .filter(|(both, _)| 4 * both < direct);
    Ok(halves.map_or((direct, None), |(both, halves)| (both, Some(halves))))
}

/// How many products with plaintexts a linear map takes between these positions, `(to, from)`, up to `most`.
pub(super) fn products<F: Form>(
    slots: usize,
    pairs: impl Iterator<Item = (usize, usize)>,
    most: usize,
) -> usize {
    let (log2, mask) = (slots.ilog2(), slots - 1);
    // Which diagonals there are between two ciphertexts: the next pair of positions is mostly in the same.
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut known: Vec<Vec<bool>> = Vec::new();
    let (mut last, mut place, mut count) = (None, 0, 0);
    for (to, from) in pairs {
        let pair = (to >> log2, from >> log2);
        if last != Some(pair) {
            last = Some(pair);
            place = *places.entry(pair).or_insert(known.len());
            known.resize_with(known.len().max(place + 1), || vec![false; slots]);
        }
        let diagonal = &mut known[place][F::diagonal(slots, to & mask, from & mask)];
        if !*diagonal {
            *diagonal = true;
            count += 1;
            if count >= most {
                break;
            }
        }
    }
    count
}

/// The moves to a place half-way and those from there on, in about the fewest distances, if there is a way on which no two elements meet.
fn halves(moves: &[(usize, usize)], operation: &'static str) -> Result<Option<[Moves; 2]>, Error> {
    let distance = |(to, from): &(usize, usize)| *from as i64 - *to as i64;
    let Some(least) = moves.iter().map(distance).min() else { return Ok(None) };
    let distances: BTreeSet<i64> = moves.iter().map(|m| distance(m) - least).filter(|d| *d > 0).collect();
    let (Some(&first), Some(&last)) = (distances.first(), distances.last()) else { return Ok(None) };
    // What may be gone in the second step: multiples of a short distance, or the distance of the first elements of two rows.
    let doubled = std::iter::successors(Some(first), |b| Some(2 * b)).take_while(|b| *b <= last);
    let rows = (2 * ONE_STEP).min(HALVED / distances.len());
    let bases: BTreeSet<i64> = doubled.chain(distances.iter().take(rows).copied()).collect();
    let mut ways: Vec<(usize, i64)> = Vec::with_capacity(bases.len());
    for base in bases {
        stop::check(operation)?;
        let steps =
            |of: fn(i64, i64) -> i64| distances.iter().map(|d| of(*d, base)).collect::<BTreeSet<_>>().len();
        ways.push((steps(|d, base| d % base) + steps(|d, base| d / base), base));
    }
    ways.sort_unstable();
    for (_, base) in ways.into_iter().take(TRIED) {
        let short = |m: &(usize, usize)| (distance(m) - least) % base;
        let long = |m: &(usize, usize)| (distance(m) - least) / base * base;
        stop::check(operation)?;
        if let Some(way) = by_way_of(moves, short).or_else(|| by_way_of(moves, long)) {
            return Ok(Some(way));
        }
    }
    Ok(None)
}

/// The moves of every element by `by` to the left, and from there to where it belongs, unless two elements meet.
fn by_way_of(
    moves: &[(usize, usize)],
    by: impl Fn(&(usize, usize)) -> i64,
) -> Option<[Vec<(usize, usize)>; 2]> {
    let places = moves.iter().map(|m| m.1 as i64 - by(m));
    let start = places.clone().min()?.min(0);
    let places = places.map(|place| (place - start) as usize);
    let mut there: BTreeMap<usize, usize> = BTreeMap::new();
    let mut second = Vec::with_capacity(moves.len());
    for (place, (to, from)) in places.zip(moves) {
        if there.insert(place, *from).is_some_and(|other| other != *from) {
            return None;
        }
        second.push((*to, place));
    }
    Some([there.into_iter().collect(), second])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves in two steps end where they should; how many distances each step has.
    fn distances(moves: &[(usize, usize)]) -> Option<[usize; 2]> {
        let [first, second] = halves(moves, "move").unwrap()?;
        let half_way: BTreeMap<usize, usize> = first.iter().copied().collect();
        assert!(second.iter().zip(moves).all(|((to, place), m)| *to == m.0 && half_way[place] == m.1));
        let count = |moves: &[(usize, usize)]| {
            moves.iter().map(|(to, from)| *from as i64 - *to as i64).collect::<BTreeSet<_>>().len()
        };
        Some([count(&first), count(&second)])
    }

    #[test]
    fn moves_in_two_steps_have_few_distances() {
        let few = |moves: Vec<(usize, usize)>, most: usize| {
            let [a, b] = distances(&moves).expect("there is a way");
            assert!(a + b <= most, "{a} and {b}");
        };
        let n = 4096;
        few((0..n).map(|i| (n - 1 - i, i)).collect(), 130);
        // Spread out and packed again, and every third.
        few((0..n).map(|i| (16 * i, i)).collect(), 130);
        few((0..n).map(|i| (i, 16 * i)).collect(), 130);
        few((0..n).map(|i| (i, 3 * i)).collect(), 130);
        // Rows of 10 in places for 16, packed.
        few((0..n).map(|i| (i, i / 10 * 16 + i % 10)).collect(), 70);
        // The columns of a matrix, far from one another.
        few((0..400).map(|i| (i % 20 * 1024 + i / 20, i / 20 * 32 + i % 20)).collect(), 40);
        // A mask.
        let kept: Vec<usize> = (0..n).filter(|i| i * i % 7 < 3).collect();
        few(kept.iter().enumerate().map(|(to, from)| (to, *from)).collect(), 200);
        // One element to many places.
        few((0..n).map(|i| (i, 0)).collect(), 130);
        // Elements in no order meet.
        assert_eq!(distances(&(0..n).map(|i| (i * 1237 % n, i)).collect::<Vec<_>>()), None);
        assert_eq!(distances(&[(0, 5), (1, 6)]), None);
    }
}
