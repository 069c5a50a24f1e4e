//! Which of several numbers is the smallest, for many of them at once, by a tournament.
//!
//! Of two numbers, `|x - y|` and the sign of `x - y` are looked up with one rotation. Both are antiperiodic functions of the residue but for a constant, so that differences take all of the circle, at twice the resolution of
//! other tables. `x + y - |x - y|` is twice the smaller one and goes on to the next round. In the end the bits are multiplied along the tree: "is nearest among all" and "the left one of the two is nearer" are 1 if their sum
//! is 2, which one look-up says for the left one, and what is left is the right one. With `K` numbers this takes `K - 1` look-ups of signs, of which `K - 2` have the magnitudes with them, and `K - 2` of products:
//! `2K - 3` (PEGASUS has about `2K`).

use super::plan::{rounds, widening};
use crate::{Numbers, Pegasus, PegasusError, error::argument};

/// A node of the tree: one of the numbers, or the smaller one of two nodes.
enum Node {
    Leaf(usize),
    /// Which two, and whether the first of them is the smaller one.
    Pair(usize, usize, Numbers),
}

impl Pegasus {
    /// For columns of numbers, `x_0` to `x_(K-1)` of every row, bits that say which of them is the smallest, at the scale of repacking. In all rows they add up to 1. Numbers of one row differ by `2^(2-R)`
    /// of half of the circle at most, `R` the rounds of the tournament.
    pub(super) fn nearest(&self, columns: Vec<Numbers>) -> Result<Vec<Numbers>, PegasusError> {
        let (count, rows) = (columns.len(), columns.first().map_or(0, Numbers::len));
        if count < 2 {
            return argument("find the nearest", format!("{count} numbers to compare"));
        }
        let rounds = rounds(count);
        let mut nodes: Vec<Node> = (0..count).map(Node::Leaf).collect();
        let mut standing: Vec<(usize, Numbers)> = columns.into_iter().enumerate().collect();
        for round in 0..rounds {
            let all = |side: usize| {
                let mut chosen = standing.chunks_exact(2).map(|pair| &pair[side].1);
                let first = chosen.next().cloned().ok_or_else(nothing)?;
                chosen.try_fold(first, Numbers::concat)
            };
            let (left, right) = (all(0)?, all(1)?);
            let (is_left, least) = self.smaller(&left, &right, rounds - 1 - round)?;
            let mut next = Vec::new();
            for (k, pair) in standing.chunks_exact(2).enumerate() {
                let places: Vec<usize> = (k * rows..(k + 1) * rows).collect();
                nodes.push(Node::Pair(pair[0].0, pair[1].0, is_left.select(&places)?));
                if let Some(least) = &least {
                    next.push((nodes.len() - 1, least.select(&places)?));
                }
            }
            if let [(node, x)] = standing.chunks_exact(2).remainder() {
                let bound = 2.0 * x.bound().min(self.widest(x) / f64::from(1 << (rounds - round)));
                next.push((*node, loose(x)?.times_integer(2)?.with_bound(bound)?));
            }
            standing = next;
        }
        self.along(nodes, count)
    }

    /// Whether `x_i <= y_i`, and, except in the last round, `2 min(x_i, y_i)`. Before the last round differences are had `2^to_go` times, for they may be as much larger there.
    fn smaller(
        &self,
        x: &Numbers,
        y: &Numbers,
        to_go: u32,
    ) -> Result<(Numbers, Option<Numbers>), PegasusError> {
        let widest = self.widest(x);
        // Differences and the sums that magnitudes are taken from are within bounds that do not follow from those of their terms.
        let difference = loose(y)?.sub(&loose(x)?)?.times_integer(1 << to_go)?.with_bound(widest)?;
        let bits = self.plan().repacking_scale(1.0)?;
        if to_go == 0 {
            return Ok((self.look_up_sign(&difference, bits)?, None));
        }
        let (is_left, magnitude) = self.look_up_sign_and_magnitude(&difference, bits, x.scale(), to_go)?;
        let twice = loose(x)?.add(&loose(y)?)?.sub(&loose(&magnitude)?)?;
        Ok((is_left, Some(twice.with_bound(widest / f64::from(1 << to_go))?)))
    }

    /// How large differences may be.
    fn widest(&self, x: &Numbers) -> f64 {
        x.largest_bound() / (1.0 + self.plan().literal().margin)
    }

    /// From which of two is nearer to which of all is nearest, from the root to the leaves.
    fn along(&self, nodes: Vec<Node>, count: usize) -> Result<Vec<Numbers>, PegasusError> {
        // Sums of bits at the scale of repacking, times this, take most of the circle.
        let wider = widening(self.plan().literal()) as i64;
        let mut chosen: Vec<Option<Numbers>> = nodes.iter().map(|_| None).collect();
        let mut leaves: Vec<Option<Numbers>> = vec![None; count];
        for (k, node) in nodes.into_iter().enumerate().rev() {
            match (node, chosen[k].take()) {
                (Node::Leaf(j), bits) => leaves[j] = bits,
                (Node::Pair(left, right, is_left), None) => {
                    chosen[right] = Some(is_left.clone().times_integer(-1)?.plus(1.0)?.with_bound(1.0)?);
                    chosen[left] = Some(is_left);
                }
                (Node::Pair(left, right, is_left), Some(bits)) => {
                    let sum = bits.add(&is_left)?.plus(-1.5)?.with_bound(1.5)?.times_integer(wider)?;
                    let both = self.look_up_sign(&sum, bits.scale())?;
                    chosen[right] = Some(bits.sub(&both)?.with_bound(1.0)?);
                    chosen[left] = Some(both);
                }
            }
        }
        leaves.into_iter().map(|bits| bits.ok_or_else(nothing)).collect()
    }
}

/// The same numbers, of which nothing is claimed.
fn loose(x: &Numbers) -> Result<Numbers, PegasusError> {
    x.clone().with_bound(0.0)
}

fn nothing() -> PegasusError {
    PegasusError::Argument { operation: "find the nearest", what: "there is nothing to compare".into() }
}
