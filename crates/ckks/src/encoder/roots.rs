//! The roots of unity of the special FFT.

use aligned_vec::{AVec, ConstAlign};
use hippocrene_ring::arith::bit_reverse;

use crate::double_double::DoubleDouble;

/// The roots of one radix-4 butterfly.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Node {
    /// `w(d+1, a)^2 = w(d, a)`, `w(d+1, a)` and `w(d+1, a)^3`, each as (real, imaginary).
    pub square: (f64, f64),
    pub single: (f64, f64),
    pub cube: (f64, f64),
}

/// All roots for ring degree `N`, correctly rounded (except within 2^-90 of a tie).
///
/// The special FFT descends a tree of remainders. The node `(d, a)` with `0 <= a < 2^d` holds the
/// polynomial modulo `Y^(n/2^d) - w(d, a)^2`, where `w(d, a) = exp(2 pi i 5^a / 2^(d+3))`. Its
/// children `(d+1, a)` and `(d+1, a + 2^d)` hold it modulo `Y^(n/2^(d+1)) -+ w(d, a)`. These roots
/// do not depend on the number `n` of slots, so one table serves all of them. Siblings differ by a
/// quarter turn: `w(d, a + 2^(d-1)) = -i w(d, a)` (`+i w(1, 0)` at the top), since `5^(2^(d-1)) = 1
/// + 3 2^(d+1) mod 2^(d+3)` for `d > 1`.
#[derive(Debug)]
pub(super) struct Roots {
    /// `w(d, a)` at index `2^d + a`, which is the order of the slots.
    pub re: AVec<f64, ConstAlign<64>>,
    pub im: AVec<f64, ConstAlign<64>>,
    /// The node at position `k` of depth `d`, at index `2^d + k`, where `a` is `k` with its `d`
    /// bits reversed.
    pub nodes: Vec<Node>,
}

impl Roots {
    /// Computes the roots for up to `2^log_slots` slots.
    pub(super) fn new(log_slots: u32) -> Self {
        let circle = Circle::new(log_slots + 2);
        let root = |depth: u32, a: usize, power: usize| {
            let order = 8usize << depth;
            circle.point(((power * power_of_five(a, order)) % order) << (log_slots - 1 - depth))
        };
        let slots = 1usize << log_slots;
        let (mut re, mut im) = (AVec::with_capacity(64, slots), AVec::with_capacity(64, slots));
        re.push(0.0);
        im.push(0.0);
        for depth in 0..log_slots {
            let order = 8usize << depth;
            let mut exponent = 1;
            for _ in 0..1usize << depth {
                let (c, s) = circle.point(exponent << (log_slots - 1 - depth));
                re.push(c);
                im.push(s);
                exponent = (exponent * 5) % order;
            }
        }
        // Radix-4 passes reach depth log_slots - 4 at most, because the last three levels are a
        // separate pass.
        let mut nodes = vec![Node::default()];
        for depth in 0..log_slots.saturating_sub(4) {
            nodes.extend((0..1usize << depth).map(|k| {
                let a = bit_reverse(k, depth);
                Node {
                    square: root(depth, a, 1),
                    single: root(depth + 1, a, 1),
                    cube: root(depth + 1, a, 3),
                }
            }));
        }
        Roots { re, im, nodes }
    }

    /// Returns `w(depth, a)`.
    pub(super) fn at(&self, depth: u32, a: usize) -> (f64, f64) {
        let i = (1usize << depth) + a;
        (self.re[i], self.im[i])
    }

    /// Returns the nodes of depth `depth` below the one at position `k` of depth `depth - below`.
    pub(super) fn level(&self, depth: u32, k: usize, below: u32) -> &[Node] {
        let start = ((1usize << (depth - below)) + k) << below;
        &self.nodes[start..start + (1usize << below)]
    }
}

/// Returns `5^exponent mod order`, for a power of two `order` below 2^32.
pub(super) fn power_of_five(mut exponent: usize, order: usize) -> usize {
    let (mut base, mut result) = (5 % order, 1 % order);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = (result * base) % order;
        }
        base = (base * base) % order;
        exponent >>= 1;
    }
    result
}

/// The points `exp(2 pi i t / 2^log_order)`, rounded from double-double. Only one octant is stored.
/// The others follow by symmetry, so that conjugate, opposite and mirrored points agree in every
/// bit.
#[derive(Debug)]
pub(super) struct Circle {
    log_order: u32,
    /// `(cos, sin)` for `0 <= t <= 2^log_order / 8`.
    octant: Vec<(f64, f64)>,
}

impl Circle {
    /// Computes the points for `log_order >= 2`.
    pub(super) fn new(log_order: u32) -> Self {
        let last = (1usize << log_order) / 8;
        // t = coarse 2^half + fine. The series is summed about 2 sqrt(last) times, and each point
        // is one product.
        let half = last.max(1).ilog2().div_ceil(2);
        let unit = DoubleDouble::PI.mul(DoubleDouble::from(2.0 / (1u64 << log_order) as f64));
        let series = |t: usize| unit.mul(DoubleDouble::from(t as u64)).cos_sin();
        let fine: Vec<_> = (0..1usize << half).map(series).collect();
        let coarse: Vec<_> = (0..=last >> half).map(|t| series(t << half)).collect();
        let octant = (0..=last).map(|t| {
            let ((c1, s1), (c0, s0)) = (coarse[t >> half], fine[t & ((1 << half) - 1)]);
            (c1.mul(c0).sub(s1.mul(s0)).to_f64(), s1.mul(c0).add(c1.mul(s0)).to_f64())
        });
        Circle { log_order, octant: octant.collect() }
    }

    /// Returns `exp(2 pi i t / 2^log_order)` for `t < 2^log_order`.
    pub(super) fn point(&self, t: usize) -> (f64, f64) {
        let quarter = (1usize << self.log_order) / 4;
        let (quadrant, t) = (t / quarter, t % quarter);
        let (c, s) = if t < self.octant.len() {
            self.octant[t]
        } else {
            let (c, s) = self.octant[quarter - t];
            (s, c)
        };
        match quadrant {
            0 => (c, s),
            1 => (-s, c),
            2 => (-c, -s),
            _ => (s, -c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octants_agree_with_the_library() {
        for log_order in [2, 3, 4, 9, 18] {
            let circle = Circle::new(log_order);
            let order = 1usize << log_order;
            for t in 0..order {
                let angle = 2.0 * std::f64::consts::PI * t as f64 / order as f64;
                let (c, s) = circle.point(t);
                assert!(
                    (c - angle.cos()).abs() < 1e-15 && (s - angle.sin()).abs() < 1e-15,
                    "{t} of {order}"
                );
            }
        }
    }

    #[test]
    fn roots_are_rounded_correctly() {
        // exp(i pi/8), exp(i pi/16), exp(i pi/32), to 30 digits: cos by half angles of sqrt(1/2).
        let circle = Circle::new(18);
        for (t, cos, sin) in [
            (1 << 14, "0.923879532511286756128183189397", "0.382683432365089771728459984030"),
            (1 << 13, "0.980785280403230449126182236134", "0.195090322016128267848284868477"),
            (1 << 12, "0.995184726672196886244836953109", "0.098017140329560601994195563889"),
        ] {
            assert_eq!(circle.point(t), (cos.parse().unwrap(), sin.parse().unwrap()));
        }
    }

    #[test]
    fn siblings_differ_by_a_quarter_turn() {
        let roots = Roots::new(8);
        assert_eq!(roots.at(1, 1), {
            let (c, s) = roots.at(1, 0);
            (-s, c)
        });
        for depth in 2..8 {
            for a in 0..1 << (depth - 1) {
                let (c, s) = roots.at(depth, a);
                assert_eq!(roots.at(depth, a + (1 << (depth - 1))), (s, -c));
            }
        }
    }
}
