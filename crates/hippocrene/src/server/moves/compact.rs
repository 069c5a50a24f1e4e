//! Gaps between elements filled with others, which stood in ciphertexts of their own.
//!
//! What plain matrices and sums along axes give stands far apart: each element in the first of
//! `2^k` slots, of which the others are nobody's. Where such elements come to stand closely, those
//! that end next to one another begin in different ciphertexts, and each ciphertext has a distance
//! for each of its elements. Elements of up to `2^k` ciphertexts go into the gaps of one first, all
//! of a ciphertext by one distance or two; of the fewer ciphertexts that there are then, elements
//! move in groups.

use std::collections::BTreeMap;

use crate::server::moves::Moves;

/// Moves of all elements into gaps, `(place, from)`, and those from there to where they belong,
/// `(to, place)`: the ways there are to do that, if there are gaps and so many ciphertexts.
///
/// A place is the position that an element comes from with its bits in another order: some high
/// bits come to be the lowest. These are those that tell elements apart that end next to one
/// another, or else the lowest ones that tell ciphertexts apart.
pub(in crate::server) fn closed_up(moves: &[(usize, usize)], slots: usize) -> Vec<[Moves; 2]> {
    let Some(&(_, first)) = moves.first() else { return Vec::new() };
    let differing = moves.iter().fold(0, |bits, (_, from)| bits | from ^ first);
    let gap = differing.trailing_zeros();
    if gap == 0 || differing == 0 {
        return Vec::new();
    }
    let ones = |from: u32| (from..usize::BITS).filter(move |bit| differing >> bit & 1 == 1);
    let lowest: Vec<u32> = ones(slots.ilog2()).take(gap as usize).collect();
    let mut ways = vec![next_to_one_another(moves, ones(gap), gap), lowest];
    ways.dedup();
    ways.retain(|low| !low.is_empty());
    let moved = |low: Vec<u32>| {
        let rest: Vec<u32> = (gap..usize::BITS).filter(|bit| !low.contains(bit)).collect();
        let place = |from: usize| taken(from, &rest) << gap | taken(from, &low);
        let into: BTreeMap<usize, usize> =
            moves.iter().map(|(_, from)| (place(*from), *from)).collect();
        [into.into_iter().collect(), moves.iter().map(|(to, from)| (*to, place(*from))).collect()]
    };
    ways.into_iter().map(moved).collect()
}

/// The bits of positions by which elements differ that end 1, 2, 4 .. apart, as far as there are
/// such, up to so many.
fn next_to_one_another(
    moves: &[(usize, usize)],
    bits: impl Iterator<Item = u32>,
    most: u32,
) -> Vec<u32> {
    let ends: BTreeMap<usize, usize> = moves.iter().map(|(to, from)| (*from, *to)).collect();
    let apart = |bit: u32| {
        let other = |from: &usize| ends.get(&(from ^ 1 << bit));
        ends.iter().find_map(|(from, to)| other(from).map(|other| to.abs_diff(*other)))
    };
    let apart: Vec<(u32, Option<usize>)> = bits.map(|bit| (bit, apart(bit))).collect();
    let bit_of =
        |step: u32| apart.iter().find(|(_, apart)| *apart == Some(1 << step)).map(|(bit, _)| *bit);
    (0..most).map_while(bit_of).collect()
}

/// These bits of `x`, the first of them the lowest.
fn taken(x: usize, bits: &[u32]) -> usize {
    bits.iter().enumerate().fold(0, |out, (i, bit)| out | (x >> bit & 1) << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places up to the last one that each way takes, after the check that elements end where
    /// they should.
    fn places(moves: &[(usize, usize)]) -> Vec<usize> {
        let ways = closed_up(moves, 8192).into_iter().map(|[first, second]| {
            let there: BTreeMap<usize, usize> = first.iter().copied().collect();
            assert_eq!(there.len(), first.len(), "no two elements meet");
            assert!(
                second.iter().zip(moves).all(|((to, place), m)| *to == m.0 && there[place] == m.1)
            );
            there.keys().max().map_or(0, |last| last + 1)
        });
        ways.collect()
    }

    #[test]
    fn elements_far_apart_go_into_gaps() {
        // Rows of so many columns that stand 16 apart, the columns in half of a ciphertext each,
        // made one axis.
        let moves = |offset: usize, columns: usize, row: usize| -> Moves {
            let all = (0..200).flat_map(|r| (0..columns).map(move |c| (r, c)));
            all.map(|(r, c)| (r * row + c, c * 4096 + r * 16 + offset)).collect()
        };
        let closely = |groups: usize, last: usize| groups * 4096 + 199 * 16 + last + 1;
        // By columns; or by ciphertexts, the first of the columns of each and then the second.
        assert_eq!(places(&moves(0, 128, 128)), [closely(7, 15), closely(7, 15)]);
        assert_eq!(places(&moves(5, 128, 128)), [closely(7, 15), closely(7, 15)]);
        // Part of a row of the result, and rows that are no power of two.
        assert_eq!(places(&moves(0, 64, 128))[0], closely(3, 15));
        assert_eq!(places(&moves(0, 99, 99))[0], closely(6, 2));
        let twice =
            moves(0, 16, 32).into_iter().flat_map(|(to, from)| [(to, from), (to + 16, from)]);
        assert_eq!(places(&twice.collect::<Moves>())[0], closely(0, 15));
        // Columns after columns, which end far apart.
        let columns: Moves = moves(0, 128, 128)
            .iter()
            .map(|(to, from)| (to % 128 * 200 + to / 128, *from))
            .collect();
        assert_eq!(places(&columns).len(), 2);
        // No gaps, or nothing that would go into them.
        assert!(places(&(0..100).map(|i| (i, 99 - i)).collect::<Moves>()).is_empty());
        assert!(places(&(0..100).map(|i| (64 * i, 32 * i)).collect::<Moves>()).is_empty());
        assert!(places(&[(3, 7)]).is_empty() && places(&[]).is_empty());
    }
}
