//! Moves of many elements in several steps.
//!
//! A linear map needs one product with a plaintext for every distance that an element moves by. A
//! distance `r = B h + l` can be moved in two steps, by `l` and then by `B h`. These need only as
//! many products as there are different `l` and `h`: about a hundred for thousands of distances,
//! for one multiplication more in depth.
//!
//! This works if few elements collide half-way, as in reversals, slices and masks, and if
//! neighbours are spread out. Elements without any order are moved by rows in three steps
//! ([`by_rows`]).

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    iter,
};

use hippocrene_rlwe::stop;

use crate::server::{
    Server, moves::Moves, moves::compact::closed_up, moves::three_steps::by_rows,
    planner::prices::Prices,
};
use crate::{Arithmetic, Array, Error, Layout, server::ResultUse};

/// Maximum number of distances within ciphertexts that are moved in one step. More would take over
/// a second; fewer steps save the capacity of a product.
pub(in crate::server) const MAX_DISTANCES_IN_ONE_STEP: usize = 128;

/// Minimum number of products for which moves in two steps leave capacity. If gaps are closed
/// first, it is one more.
pub(in crate::server) const PRODUCTS_LEFT: usize = 1;

/// Minimum number of products for which moves in three steps by rows leave capacity. They are two
/// multiplications deeper than one step.
const PRODUCTS_LEFT_BY_ROWS: usize = 3;

/// Capacity for more products than this does not change how moves are made.
const MAX_USEFUL_PRODUCTS: usize = 3 + PRODUCTS_LEFT_BY_ROWS;

/// Minimum factor by which an extra step must cut the work.
const MIN_SAVING_OF_A_STEP: usize = 3;

/// Maximum number of ways to split distances that are worked out in full, for up to `MANY_MOVES`
/// moves. For more moves, fewer ways are worked out.
const MAX_WAYS_TRIED: usize = 8;
const MANY_MOVES: usize = 1 << 16;

/// Maximum number of overflow places for colliding elements, the first place included.
const MAX_OVERFLOW_PLACES: usize = 4;

/// About the number of distances that are split for all ways together. For many distances, fewer
/// ways are tried.
const MAX_DISTANCES_HALVED: usize = 1 << 22;

impl Server {
    /// Returns the array of layout `out` with the elements of `a` at the positions `from` moved to
    /// `to`, for the pairs `(to, from)` in `moves`. All other slots are zero.
    ///
    /// It is one multiplication deep, or two or three if that is much less work and capacity for
    /// more of them is left. `after` says how the result is used.
    pub(in crate::server) fn moved<F: Arithmetic>(
        &self,
        a: &Array<F>,
        out: Layout,
        moves: &[(usize, usize)],
        after: ResultUse,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        self.moved_by(a, out, moves, &self.move_plan(a, moves, 0, operation)?, after, operation)
    }

    /// As [`Server::moved`], in this way.
    pub(in crate::server) fn moved_by<F: Arithmetic>(
        &self,
        a: &Array<F>,
        out: Layout,
        moves: &[(usize, usize)],
        way: &MovePlan,
        after: ResultUse,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let slots = F::slots(&self.session);
        let ones = |moves: &[(usize, usize)]| {
            moves.iter().map(|(to, from)| (*to, *from, F::ONE)).collect()
        };
        let mut there = Cow::Borrowed(a);
        for step in &way.before {
            let end = step.iter().map(|(to, _)| to + 1).max().unwrap_or(1);
            let entries: Vec<_> = ones(step);
            there = Cow::Owned(self.linear_map(
                &there,
                Layout::packed(&[end], slots)?,
                entries,
                operation,
            )?);
        }
        let entries: Vec<_> = ones(way.last.as_deref().unwrap_or(moves));
        self.linear_map_before(&there, out, entries, after, operation)
    }

    /// Chooses how these moves are made if capacity for `wanted` products must be left after them.
    pub(in crate::server) fn move_plan<F: Arithmetic>(
        &self,
        a: &Array<F>,
        moves: &[(usize, usize)],
        wanted: usize,
        operation: &'static str,
    ) -> Result<MovePlan, Error> {
        let form = self.form_of(&[a]);
        let left = (1..=MAX_USEFUL_PRODUCTS)
            .take_while(|left| form.has_products(self, a, left + wanted))
            .count();
        shortest::<F>(&self.prices(a)?, F::slots(&self.session), moves, left, operation)
    }
}

/// A way to make moves, in one step or several.
pub(in crate::server) struct MovePlan {
    /// The number of products with plaintexts.
    pub products: usize,
    /// The work, in products with plaintexts ([`cost`]).
    pub work: usize,
    /// The weight of the work, for the capacity that the steps before the last one use.
    worth: usize,
    /// The steps before the last one.
    pub before: Vec<Moves>,
    /// The last step, if there are others before it.
    last: Option<Moves>,
}

impl MovePlan {
    /// Returns the work, weighted for the capacity that is used.
    fn price(&self) -> usize {
        self.work.saturating_mul(self.worth)
    }

    /// Returns this way with one step before it; `others` are the moves that are left then.
    fn after(self, step: Moves, [products, work]: [usize; 2], others: Moves) -> Self {
        MovePlan {
            products: products + self.products,
            work: work + self.work,
            worth: MIN_SAVING_OF_A_STEP * self.worth,
            before: iter::once(step).chain(self.before).collect(),
            last: Some(self.last.unwrap_or(others)),
        }
    }
}

/// Returns the cheapest way to make these moves if `left` products in a row are possible now.
fn shortest<F: Arithmetic>(
    prices: &Prices,
    slots: usize,
    moves: &[(usize, usize)],
    left: usize,
    operation: &'static str,
) -> Result<MovePlan, Error> {
    let cost = |moves: &[(usize, usize)]| cost::<F>(prices, slots, moves);
    let direct = |[products, work]: [usize; 2]| MovePlan {
        products,
        work,
        worth: 1,
        before: Vec::new(),
        last: None,
    };
    let mut best = direct(cost(moves));
    if best.products <= MAX_DISTANCES_IN_ONE_STEP || left < 2 + PRODUCTS_LEFT {
        return Ok(best);
    }
    let mut ways = Vec::with_capacity(3);
    if let Some([first, second]) = split_half_way(moves, slots, |moves| cost(moves)[1], operation)?
    {
        let (all, rest) = (cost(&first), direct(cost(&second)));
        ways.push(rest.after(first, all, second));
    }
    let last = moves.iter().fold((0, 0), |last, m| (m.0.max(last.0), m.1.max(last.1)));
    if left >= 3 + PRODUCTS_LEFT && last.1 / slots > 2 * (last.0 / slots + 1) {
        for [first, second] in closed_up(moves, slots) {
            stop::check(operation)?;
            let rest = shortest::<F>(prices, slots, &second, left - 2, operation)?;
            let all = cost(&first);
            ways.push(rest.after(first, all, second));
        }
    }
    let least = ways.iter().map(MovePlan::price).fold(best.price(), usize::min);
    let (least_by_rows, lengths) = rows_of(slots, moves);
    if left >= 3 + PRODUCTS_LEFT_BY_ROWS && MIN_SAVING_OF_A_STEP * least_by_rows < least {
        for columns in lengths {
            stop::check(operation)?;
            let Some([first, second, third]) = by_rows(moves, slots, columns) else { continue };
            let steps = [&first, &second, &third].map(|moves| cost(moves));
            let [products, work] = [0, 1].map(|k| steps.iter().map(|step| step[k]).sum());
            ways.push(MovePlan {
                products,
                work,
                worth: MIN_SAVING_OF_A_STEP,
                before: vec![first, second],
                last: Some(third),
            });
        }
    }
    for way in ways {
        if way.price() < best.price() {
            best = way;
        }
    }
    Ok(best)
}

/// Returns about how many products moves by rows need for elements without any order, and the two
/// powers of two that are the best lengths of rows.
fn rows_of(slots: usize, moves: &[(usize, usize)]) -> (usize, [usize; 2]) {
    let count = |at: fn(&(usize, usize)) -> usize| {
        moves.iter().map(|m| at(m) / slots).collect::<BTreeSet<_>>().len()
    };
    let (to, from) = (count(|m| m.0), count(|m| m.1));
    // With rows of `c` slots there are `2 c` distances within each ciphertext, and `slots / c`
    // between any two ciphertexts.
    let even = (to * from * slots / (2 * (to + from))).isqrt().max(1);
    let products = (4 * even * (to + from)).min(3 * moves.len());
    (products, [even.ilog2(), even.ilog2() + 1].map(|log2| (1 << log2).min(slots / 2)))
}

/// Returns the number of products with plaintexts of a linear map between these positions,
/// `(to, from)`, and its work.
///
/// The work is the number of products that take about as long as these products and the rotations
/// by baby steps and giant steps.
fn cost<F: Arithmetic>(prices: &Prices, slots: usize, moves: &[(usize, usize)]) -> [usize; 2] {
    let pairs = diagonals::<F>(slots, moves.iter().copied(), usize::MAX);
    // Baby steps are hoisted, and there are about as many giant steps.
    let steps = |diagonals: usize| diagonals.isqrt() * (prices.hoisted_rotation + prices.rotation);
    let work = |diagonals: &usize| diagonals + steps(*diagonals) + prices.map;
    [pairs.iter().sum(), pairs.iter().map(work).sum()]
}

/// Returns the number of products with plaintexts of a linear map between these positions,
/// `(to, from)`, counted up to `most`.
pub(in crate::server) fn products<F: Arithmetic>(
    slots: usize,
    pairs: impl Iterator<Item = (usize, usize)>,
    most: usize,
) -> usize {
    diagonals::<F>(slots, pairs, most).into_iter().sum()
}

/// Returns the number of diagonals between each pair of a ciphertext that elements go to and one
/// that they come from, counted up to `most` in all.
fn diagonals<F: Arithmetic>(
    slots: usize,
    mut pairs: impl Iterator<Item = (usize, usize)>,
    most: usize,
) -> Vec<usize> {
    let (log2, mask) = (slots.ilog2(), slots - 1);
    // The diagonals of each pair of ciphertexts. The next move is mostly between the same pair.
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let (mut known, mut counts): (Vec<Vec<bool>>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut last, mut place, mut count) = (None, 0, 0);
    // Nested iterators are several times as fast in `all` as in a loop.
    pairs.all(|(to, from)| {
        let pair = (to >> log2, from >> log2);
        if last != Some(pair) {
            last = Some(pair);
            place = *places.entry(pair).or_insert(known.len());
            known.resize_with(known.len().max(place + 1), || vec![false; slots]);
            counts.resize(known.len(), 0);
        }
        let diagonal = &mut known[place][F::diagonal(slots, to & mask, from & mask)];
        if !*diagonal {
            *diagonal = true;
            counts[place] += 1;
            count += 1;
        }
        count < most
    });
    counts
}

/// Splits moves into those to a place half-way and those from there on, with about the least work.
/// Returns `None` if elements collide too often on every way that is tried.
fn split_half_way(
    moves: &[(usize, usize)],
    slots: usize,
    work: impl Fn(&[(usize, usize)]) -> usize,
    operation: &'static str,
) -> Result<Option<[Moves; 2]>, Error> {
    let distance = |(to, from): &(usize, usize)| *from as i64 - *to as i64;
    let Some(least) = moves.iter().map(distance).min() else { return Ok(None) };
    // Each ciphertext that elements come from, and each that they go to, has its own set of
    // distances.
    let by_ciphertext = |at: fn(&(usize, usize)) -> usize| {
        let mut pairs: Vec<_> =
            moves.iter().map(|m| (at(m) / slots, distance(m) - least)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    };
    let [to, from] = [by_ciphertext(|m| m.0), by_ciphertext(|m| m.1)];
    let mut distances: Vec<i64> = from.iter().map(|(_, d)| *d).filter(|d| *d > 0).collect();
    distances.sort_unstable();
    distances.dedup();
    let (Some(&first), Some(&last)) = (distances.first(), distances.last()) else {
        return Ok(None);
    };
    // Candidates for the second step: multiples of a short distance, or the distance between the
    // first elements of two rows.
    let doubled = iter::successors(Some(first), |b| Some(2 * b)).take_while(|b| *b <= last);
    let rows = (2 * MAX_DISTANCES_IN_ONE_STEP).min(MAX_DISTANCES_HALVED / from.len());
    let bases: BTreeSet<i64> = doubled.chain(distances.iter().take(rows).copied()).collect();
    let mut ways: Vec<[(usize, i64); 2]> = Vec::with_capacity(bases.len());
    let mut short: Vec<(usize, i64)> = Vec::with_capacity(from.len());
    for base in bases {
        stop::check(operation)?;
        let long = |of: &[(usize, i64)]| {
            of.chunk_by(|one, next| (one.0, one.1 / base) == (next.0, next.1 / base)).count()
        };
        let mut steps = |of: &mut dyn Iterator<Item = (usize, i64)>| {
            short.clear();
            short.extend(of.map(|(ciphertext, d)| (ciphertext, d % base)));
            short.sort_unstable();
            short.dedup();
            short.len()
        };
        let each = steps(&mut from.iter().copied()) + long(&to);
        let all = steps(&mut distances.iter().map(|d| (0, *d)));
        ways.push(
            [each, all + distances.chunk_by(|one, next| one / base == next / base).count()]
                .map(|n| (n, base)),
        );
    }
    // Ways are ranked by the distances of each ciphertext, and by those of all ciphertexts
    // together.
    let tried = (MAX_WAYS_TRIED * MANY_MOVES / moves.len()).clamp(1, MAX_WAYS_TRIED);
    let mut best: Option<(usize, [Moves; 2])> = None;
    let bases = (0..2).flat_map(|how| {
        ways.sort_unstable_by_key(|way| way[how]);
        ways.iter().take(tried).map(|way| way[how].1).collect::<Vec<_>>()
    });
    for base in bases.collect::<BTreeSet<_>>() {
        let short = |m: &(usize, usize)| (distance(m) - least) % base;
        let long = |m: &(usize, usize)| (distance(m) - least) / base * base;
        for way in
            [by_way_of(moves, slots, short), by_way_of(moves, slots, long)].into_iter().flatten()
        {
            stop::check(operation)?;
            let both: usize = way.iter().map(|step| work(step)).sum();
            if best.as_ref().is_none_or(|(least, _)| both < *least) {
                best = Some((both, way));
            }
        }
    }
    Ok(best.map(|(_, way)| way))
}

/// Moves every element to the left by `by`, and from there to where it belongs.
///
/// Elements that collide, all but the first, go to other ciphertexts that nothing else goes to.
/// Returns `None` if one place would need more than [`MAX_OVERFLOW_PLACES`] ciphertexts.
fn by_way_of(
    moves: &[(usize, usize)],
    slots: usize,
    by: impl Fn(&(usize, usize)) -> i64,
) -> Option<[Vec<(usize, usize)>; 2]> {
    let places = moves.iter().map(|m| m.1 as i64 - by(m));
    let start = places.clone().min()?.min(0);
    let page =
        places.clone().max().map(|last| ((last - start) as usize + 1).next_multiple_of(slots))?;
    let mut there: BTreeMap<usize, usize> = BTreeMap::new();
    let mut second = Vec::with_capacity(moves.len());
    for (place, (to, from)) in places.map(|place| (place - start) as usize).zip(moves) {
        let free = |place: &usize| there.get(place).is_none_or(|other| other == from);
        let place = (0..MAX_OVERFLOW_PLACES).map(|i| place + i * page).find(free)?;
        there.insert(place, *from);
        second.push((*to, place));
    }
    // Ciphertexts that nothing goes to are left out.
    let used: BTreeSet<usize> = there.keys().map(|place| place / slots).collect();
    let numbers: BTreeMap<usize, usize> = used.into_iter().zip(0..).collect();
    let close = |place: usize| numbers[&(place / slots)] * slots + place % slots;
    let first = there.into_iter().map(|(place, from)| (close(place), from)).collect();
    Some([first, second.into_iter().map(|(to, place)| (to, close(place))).collect()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numbers;

    const PRICES: Prices =
        Prices { rotation: 4, hoisted_rotation: 2, tensor: 2, map: 8, ciphertext: 8 };

    fn count(moves: &[(usize, usize)], slots: usize) -> usize {
        products::<Numbers>(slots, moves.iter().copied(), usize::MAX)
    }

    /// Checks that moves in two steps end where they should, and returns the number of their
    /// products.
    fn halved(moves: &[(usize, usize)], slots: usize) -> Option<usize> {
        let [first, second] =
            split_half_way(moves, slots, |moves| cost::<Numbers>(&PRICES, slots, moves)[1], "move")
                .unwrap()?;
        let there: BTreeMap<usize, usize> = first.iter().copied().collect();
        assert_eq!(there.len(), first.len(), "no two elements meet");
        assert!(second.iter().zip(moves).all(|((to, place), m)| *to == m.0 && there[place] == m.1));
        Some(count(&first, slots) + count(&second, slots))
    }

    #[test]
    fn moves_in_two_steps_have_few_distances() {
        let few = |moves: Vec<(usize, usize)>, most: usize| {
            let both = halved(&moves, 1 << 16).expect("there is a way");
            assert!(both <= most, "{both}");
        };
        let n = 4096;
        few((0..n).map(|i| (n - 1 - i, i)).collect(), 130);
        // Spread out, packed again, and every third element.
        few((0..n).map(|i| (16 * i, i)).collect(), 130);
        few((0..n).map(|i| (i, 16 * i)).collect(), 130);
        few((0..n).map(|i| (i, 3 * i)).collect(), 130);
        // Rows of 10 with a stride of 16, packed.
        few((0..n).map(|i| (i, i / 10 * 16 + i % 10)).collect(), 70);
        // The columns of a matrix, far from one another.
        few((0..400).map(|i| (i % 20 * 1024 + i / 20, i / 20 * 32 + i % 20)).collect(), 40);
        // A mask.
        let kept: Vec<usize> = (0..n).filter(|i| i * i % 7 < 3).collect();
        few(kept.iter().enumerate().map(|(to, from)| (to, *from)).collect(), 200);
        // One element to many places.
        few((0..n).map(|i| (i, 0)).collect(), 130);
        // Elements that collide half-way.
        few((0..n).map(|i| (i * 1237 % n, i)).collect(), 160);
        few((0..2 * n).map(|i| (i % 2 * n + i / 2, i)).collect(), 270);
        assert_eq!(halved(&[(0, 5), (1, 6)], 1 << 16), None);
    }

    /// Rows of five are moved to a stride of eight, over twenty ciphertexts. Each ciphertext has a
    /// part of the distances.
    #[test]
    fn ciphertexts_have_few_of_many_distances() {
        let moves: Moves =
            (0..33_000).flat_map(|q| (0..5).map(move |j| (8 * q + j, 5 * q + j))).collect();
        let both = halved(&moves, 1 << 13).expect("there is a way");
        assert!(count(&moves, 1 << 13) > 33_000 && both < 2_600, "{both}");
    }
}
