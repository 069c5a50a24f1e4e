//! Arbitrary moves in three steps: within rows, from row to row, and within rows again.
//!
//! Slots form rows of `c`. An element first goes to some column of its own row, then along that
//! column to the row where it belongs, and there to its place. The steps have up to `2 c - 1`,
//! `slots / c` and `2 c - 1` distances. In one step, moves without any order, such as shuffles,
//! have as many distances as there are slots.
//!
//! Elements do not collide if all elements that leave one row, and all that enter one row, use
//! different columns. Such columns are an edge colouring of a bipartite graph, with a node for each
//! row of either kind and an edge for each element. The least number of colours is the largest
//! number of edges at a node (Kőnig 1916). This module may use up to twice as many: it halves the
//! edges again and again such that every node keeps half of its edges. The halves come from trails
//! that leave each node as often as they enter it (Euler). Clos networks route calls in the same
//! way.

use std::collections::{BTreeMap, BTreeSet};

use crate::server::moves::Moves;

/// Maximum factor by which the number of ciphertexts grows while elements cross from row to row.
const MAX_CIPHERTEXT_GROWTH: usize = 4;

/// Splits moves into three steps, for slots in rows of `columns`: to another column of the same
/// row, along that column to the row of the destination, and within that row to the destination.
///
/// Returns `None` if some row has far more elements to send or to receive than it has slots, for
/// example if one element goes to many places.
pub(in crate::server) fn by_rows(
    moves: &[(usize, usize)],
    slots: usize,
    columns: usize,
) -> Option<[Moves; 3]> {
    // An element that goes to several places of one row is moved to that row once.
    let crossings: BTreeSet<(usize, usize)> =
        moves.iter().map(|(to, from)| (to / columns, *from)).collect();
    let edges: Vec<(usize, usize)> =
        crossings.iter().map(|(row, from)| (from / columns, *row)).collect();
    let colours = coloured(&edges);
    if colours.iter().max()? / columns >= MAX_CIPHERTEXT_GROWTH {
        return None;
    }
    let page = |rows: &mut dyn Iterator<Item = usize>| {
        rows.max().map_or(0, |last| ((last + 1) * columns).next_multiple_of(slots))
    };
    let pages = [page(&mut edges.iter().map(|e| e.0)), page(&mut edges.iter().map(|e| e.1))];
    let place = |row: usize, colour: usize, page: usize| {
        colour / columns * page + row * columns + colour % columns
    };
    let (mut first, mut second) = (Moves::new(), Moves::new());
    let mut crossed = BTreeMap::new();
    for (((from_row, row), colour), (_, from)) in edges.iter().zip(&colours).zip(&crossings) {
        let (left, entered) = (place(*from_row, *colour, pages[0]), place(*row, *colour, pages[1]));
        first.push((left, *from));
        second.push((entered, left));
        crossed.insert((*row, *from), entered);
    }
    let third = moves.iter().map(|(to, from)| (*to, crossed[&(to / columns, *from)])).collect();
    let (first, second) = closed(first, second, slots);
    let (second, third) = closed(second, third, slots);
    Some([first, second, third])
}

/// Renumbers the ciphertexts half-way so that those without elements are left out.
fn closed(mut before: Moves, mut after: Moves, slots: usize) -> (Moves, Moves) {
    let used: BTreeSet<usize> = before.iter().map(|(place, _)| place / slots).collect();
    let numbers: BTreeMap<usize, usize> = used.into_iter().zip(0..).collect();
    let close = |place: &mut usize| *place = numbers[&(*place / slots)] * slots + *place % slots;
    before.iter_mut().for_each(|(place, _)| close(place));
    after.iter_mut().for_each(|(_, place)| close(place));
    (before, after)
}

/// Colours the edges of a bipartite graph such that edges at one node have different colours.
///
/// All colours are less than the least power of two that is at least the largest number of edges at
/// a node.
fn coloured(edges: &[(usize, usize)]) -> Vec<usize> {
    let mut colours = vec![0; edges.len()];
    let mut classes: Vec<Vec<usize>> = vec![(0..edges.len()).collect()];
    while classes.iter().any(|class| shares_nodes(edges, class)) {
        let mut halves = Vec::with_capacity(2 * classes.len());
        for class in &classes {
            let mut sides = [Vec::new(), Vec::new()];
            for (edge, side) in class.iter().zip(halved(edges, class)) {
                sides[usize::from(side)].push(*edge);
            }
            halves.extend(sides);
        }
        classes = halves;
    }
    for (colour, class) in classes.iter().enumerate() {
        class.iter().for_each(|edge| colours[*edge] = colour);
    }
    colours
}

fn shares_nodes(edges: &[(usize, usize)], class: &[usize]) -> bool {
    let (mut from, mut to) = (BTreeSet::new(), BTreeSet::new());
    !class.iter().all(|edge| from.insert(edges[*edge].0) && to.insert(edges[*edge].1))
}

/// Splits edges into two halves and returns the half of each. Every node has half of its edges in
/// each, up to one edge at nodes of odd degree.
fn halved(edges: &[(usize, usize)], class: &[usize]) -> Vec<bool> {
    // The edges at each node. Nodes of the second side are numbered after those of the first.
    let sides = class.iter().map(|edge| edges[*edge].0 + 1).max().unwrap_or(0);
    let ends = |i: usize| [edges[class[i]].0, sides + edges[class[i]].1];
    let nodes = (0..class.len()).map(|i| ends(i)[1] + 1).max().unwrap_or(0);
    let mut at: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for i in 0..class.len() {
        ends(i).into_iter().for_each(|node| at[node].push(i));
    }
    let odd = (0..nodes).filter(|node| at[*node].len() % 2 == 1).collect::<Vec<_>>();
    let (mut half, mut done) = (vec![false; class.len()], vec![false; class.len()]);
    // Trails from odd nodes end at odd nodes; all others end where they began. Edges that are
    // walked from the first side to the second go to one half, and the others to the other half.
    for start in odd.into_iter().chain(0..nodes) {
        let mut node = start;
        while let Some(i) = at[node].pop() {
            if done[i] {
                continue;
            }
            done[i] = true;
            let [from, to] = ends(i);
            half[i] = node == from;
            node = if node == from { to } else { from };
        }
    }
    half
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn edges_at_a_node_have_different_colours(
            edges in prop::collection::vec((0usize..12, 0usize..20), 1..200),
        ) {
            let colours = coloured(&edges);
            let degree = |at: fn(&(usize, usize)) -> usize| {
                (0..20)
                    .map(|node| edges.iter().filter(|edge| at(edge) == node).count())
                    .max()
                    .unwrap()
            };
            let most = degree(|edge| edge.0).max(degree(|edge| edge.1)).next_power_of_two();
            prop_assert!(colours.iter().all(|colour| *colour < most));
            for at in [|edge: &(usize, usize)| edge.0, |edge: &(usize, usize)| edge.1] {
                let all: BTreeSet<_> =
                    edges.iter().zip(&colours).map(|(edge, c)| (at(edge), *c)).collect();
                prop_assert_eq!(all.len(), edges.len());
            }
        }

        #[test]
        fn elements_come_to_where_they_belong(
            sources in prop::collection::vec(0usize..300, 1..400),
            log_columns in 1u32..5,
            begin in 0usize..100,
        ) {
            let (slots, columns) = (64, 1 << log_columns);
            let moves: Moves =
                sources.iter().enumerate().map(|(i, from)| (begin + i, *from)).collect();
            let Some([first, second, third]) = by_rows(&moves, slots, columns) else {
                return Ok(());
            };
            let step = |there: &BTreeMap<usize, usize>, moves: &Moves| -> BTreeMap<usize, usize> {
                moves.iter().map(|(to, from)| (*to, there[from])).collect()
            };
            let all: BTreeMap<usize, usize> = sources.iter().map(|from| (*from, *from)).collect();
            let after = step(&step(&step(&all, &first), &second), &third);
            prop_assert_eq!(after.into_iter().collect::<Moves>(), moves);
            for (within, moves) in [(true, &first), (false, &second), (true, &third)] {
                let places: BTreeSet<usize> = moves.iter().map(|(to, _)| *to).collect();
                prop_assert_eq!(places.len(), moves.len());
                for (to, from) in moves {
                    match within {
                        true => prop_assert_eq!(to % slots / columns, from % slots / columns),
                        false => prop_assert_eq!(to % columns, from % columns),
                    }
                }
            }
        }
    }
}
