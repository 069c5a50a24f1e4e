//! Compaction: gaps between elements are filled with the elements of other ciphertexts.
//!
//! Products with plain matrices and sums along axes leave elements far apart: each is in the first
//! of `2^k` slots, and the other slots are stray. If such elements are to be moved close together,
//! neighbours in the result come from different ciphertexts, and each ciphertext has a different
//! distance for each of its elements. So the elements of up to `2^k` ciphertexts are first moved
//! into the gaps of one, those of one ciphertext by one distance or two. From these fewer
//! ciphertexts, elements then move in groups.

use std::collections::BTreeMap;

use crate::server::moves::Moves;

/// Returns up to two ways to move elements by way of the gaps between them.
///
/// A way consists of two lists of moves. The first list moves each element from its position to a
/// place in a gap, as `(place, from)`. The second list moves it from there to the result, as `(to,
/// place)`. There is no way if the elements have no gaps, or if there are too few ciphertexts.
///
/// To get the place, the bits of the position are reordered: some of the high bits become the
/// lowest bits. The first way takes bits in which elements differ that are neighbours in the
/// result. The second way takes the lowest bits in which the numbers of the ciphertexts differ.
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

/// Returns one bit of the positions for each of the distances 1, 2, 4 and so on.
///
/// Two elements whose positions differ only in this bit are at that distance in the result. The
/// list ends at the first distance without such a bit, or after `most` bits.
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

/// Returns these bits of `x`, packed, with the first of them as the lowest.
fn taken(x: usize, bits: &[u32]) -> usize {
    bits.iter().enumerate().fold(0, |out, (i, bit)| out | (x >> bit & 1) << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that elements end where they should, and returns the number of places up to the last
    /// used one, for each way.
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
        // Rows of `columns` elements. Rows are 16 apart, and each column takes half of a
        // ciphertext. Both become one axis of the result.
        let moves = |offset: usize, columns: usize, row: usize| -> Moves {
            let all = (0..200).flat_map(|r| (0..columns).map(move |c| (r, c)));
            all.map(|(r, c)| (r * row + c, c * 4096 + r * 16 + offset)).collect()
        };
        let closely = |groups: usize, last: usize| groups * 4096 + 199 * 16 + last + 1;
        // Grouped by columns; or by ciphertexts, with the first column of each and then the second.
        assert_eq!(places(&moves(0, 128, 128)), [closely(7, 15), closely(7, 15)]);
        assert_eq!(places(&moves(5, 128, 128)), [closely(7, 15), closely(7, 15)]);
        // A part of each row of the result, and rows whose length is not a power of two.
        assert_eq!(places(&moves(0, 64, 128))[0], closely(3, 15));
        assert_eq!(places(&moves(0, 99, 99))[0], closely(6, 2));
        let twice =
            moves(0, 16, 32).into_iter().flat_map(|(to, from)| [(to, from), (to + 16, from)]);
        assert_eq!(places(&twice.collect::<Moves>())[0], closely(0, 15));
        // One column after the other, so that neighbours end far apart.
        let columns: Moves = moves(0, 128, 128)
            .iter()
            .map(|(to, from)| (to % 128 * 200 + to / 128, *from))
            .collect();
        assert_eq!(places(&columns).len(), 2);
        // No gaps, or nothing to put into them.
        assert!(places(&(0..100).map(|i| (i, 99 - i)).collect::<Moves>()).is_empty());
        assert!(places(&(0..100).map(|i| (64 * i, 32 * i)).collect::<Moves>()).is_empty());
        assert!(places(&[(3, 7)]).is_empty() && places(&[]).is_empty());
    }
}
