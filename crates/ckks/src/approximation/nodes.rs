//! The distribution of an interpolation's nodes among the intervals around the integers (HK20,
//! Algorithm 1).

use std::f64::consts::PI;

/// The intervals `I_i = [i - epsilon, i + epsilon]` around the integers `|i| < k`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Intervals {
    pub(super) k: u32,
    pub(super) epsilon: f64,
}

impl Intervals {
    /// The middles of the intervals, which are integers, from left to right.
    pub(super) fn middles(self) -> impl Iterator<Item = f64> + Clone {
        let most = i64::from(self.k) - 1;
        (-most..=most).map(|i| i as f64)
    }

    /// Returns the nodes from left to right. In each interval they are Chebyshev nodes, `i +
    /// epsilon cos((2j - 1) pi / (2 d_i))`.
    pub(super) fn nodes(self, counts: &[usize]) -> Vec<f64> {
        let mut nodes = Vec::with_capacity(counts.iter().sum());
        for (i, &d) in self.middles().zip(counts) {
            nodes.extend(
                (0..d).rev().map(|j| i + self.epsilon * (PI * (j as f64 + 0.5) / d as f64).cos()),
            );
        }
        nodes
    }
}

/// A distribution of nodes among the intervals that makes the largest bound of the error as small
/// as possible.
#[derive(Debug, Clone)]
pub(super) struct Allocation {
    epsilon: f64,
    /// log2 of the factor by which the bound of `|w|` is multiplied in each interval.
    weights: Vec<f64>,
    /// The number of nodes in each interval.
    pub(super) counts: Vec<usize>,
    /// log2 of a bound of `|w| = |prod (x - node)|` in each interval: `epsilon^(d_i) 2^(1-d_i)
    /// prod_(j != i) (|i-j| + epsilon)^(d_j)` (HK20). An interval without nodes has no factor of
    /// its own.
    pub(super) bounds: Vec<f64>,
}

impl Allocation {
    /// Returns a distribution without any nodes.
    pub(super) fn new(intervals: Intervals, weights: Vec<f64>) -> Self {
        let count = weights.len();
        Allocation {
            epsilon: intervals.epsilon,
            weights,
            counts: vec![0; count],
            bounds: vec![0.0; count],
        }
    }

    /// Adds a node where the weighted bound is largest: a step of Algorithm 1. (The algorithm of
    /// the slides starts with one node in each interval. With weights and few nodes, starting
    /// without any is better.)
    pub(super) fn add_node(&mut self) {
        let weighted = |i: &usize| self.bounds[*i] + self.weights[*i];
        let Some(worst) = (0..self.counts.len()).max_by(|a, b| weighted(a).total_cmp(&weighted(b)))
        else {
            return;
        };
        for (i, bound) in self.bounds.iter_mut().enumerate() {
            *bound += match i.abs_diff(worst) {
                0 if self.counts[worst] == 0 => self.epsilon.log2(),
                0 => self.epsilon.log2() - 1.0,
                distance => (distance as f64 + self.epsilon).log2(),
            };
        }
        self.counts[worst] += 1;
    }

    /// Returns log2 of the largest weighted bound.
    pub(super) fn largest(&self) -> f64 {
        self.bounds.iter().zip(&self.weights).map(|(b, w)| b + w).fold(f64::NEG_INFINITY, f64::max)
    }
}
