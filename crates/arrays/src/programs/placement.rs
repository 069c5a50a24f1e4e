//! The placement of bootstraps in a program.
//!
//! Each value needs some capacity. It is the capacity that its consumers use up, or the reserve of a
//! bootstrap. So the needs follow from the outputs backwards, as soon as it is known which values are
//! bootstrapped. A value is bootstrapped at most once, for all its consumers together, and no
//! further than they need. The search decides value by value, in reverse order, and keeps the
//! cheapest partial placements (a beam search). It is exact as long as nothing is dropped from the
//! beam.

/// Maximum number of partial placements that are kept. With 4096, all placements of 12 values are
/// compared.
const BEAM: usize = 4096;

/// Maximum number of partial placements times values (chosen). It bounds the time for large graphs.
const MAX_WORK: usize = 1 << 20;

/// Number of cheapest partial placements that each one is compared with, to drop it if it is worse
/// in everything (chosen).
const MAX_COMPARED: usize = 64;

/// A cost in seconds by capacity in bits, as a polyline with ascending capacities. It is constant
/// beyond both ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seconds(Vec<(f64, f64)>);

impl Seconds {
    /// Makes a polyline of measured costs.
    pub(super) fn new(mut measured: Vec<(f64, f64)>) -> Self {
        measured.sort_by(|a, b| a.0.total_cmp(&b.0));
        measured.dedup_by(|a, b| a.0 == b.0);
        Seconds(measured)
    }

    /// Returns the least cost at any capacity.
    fn least(&self) -> f64 {
        let least = self.0.iter().map(|(_, seconds)| *seconds).reduce(f64::min);
        least.unwrap_or(0.0)
    }

    /// Returns the cost at a capacity.
    pub(super) fn at(&self, capacity: f64) -> f64 {
        let above = self.0.partition_point(|(place, _)| *place < capacity);
        match (above.checked_sub(1).map(|below| self.0[below]), self.0.get(above)) {
            (Some((low, from)), Some((high, to))) => {
                from + (to - from) * (capacity - low) / (high - low)
            }
            (Some((_, seconds)), None) => seconds,
            (None, Some((_, seconds))) => *seconds,
            (None, None) => 0.0,
        }
    }
}

/// A value of a graph, with the operation that computes it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The values that it is computed from. Their numbers are smaller than its own.
    pub(super) inputs: Vec<usize>,
    /// The capacity that the operation uses up, in bits. An operation that bootstraps inside needs
    /// a fixed capacity instead.
    pub(super) depth: Depth,
    /// The cost of the operation by the capacity of its operands.
    pub(super) seconds: Seconds,
    /// The largest capacity that the value can have without a bootstrap.
    pub(super) most: f64,
    /// The cost of a bootstrap by the capacity of its result. It is `None` if the value cannot be
    /// bootstrapped.
    pub(super) bootstrap: Option<Seconds>,
    /// True if the value is returned.
    pub(super) is_output: bool,
}

/// The capacity that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Depth {
    /// This number of bits more than its result has.
    Uses(f64),
    /// This number of bits, whatever its result has, because it bootstraps inside.
    Needs(f64),
}

impl Depth {
    /// The capacity that operands need, for this capacity of the result.
    pub(super) fn of_operands(self, result: f64) -> f64 {
        match self {
            Depth::Uses(bits) => result + bits,
            Depth::Needs(bits) => bits,
        }
    }
}

/// The limits of bootstraps, in bits of capacity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The capacity that a value must have to be bootstrapped.
    pub(super) reserve: f64,
    /// The largest capacity after a bootstrap.
    pub(super) most: f64,
    /// The capacity that outputs keep.
    pub(super) of_outputs: f64,
}

/// A placement of bootstraps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placement {
    /// For each value, the capacity that its bootstrap restores, or `None` without a bootstrap.
    pub(super) bootstraps: Vec<Option<f64>>,
    /// For each value, the capacity that it needs when it is computed.
    pub(super) needs: Vec<f64>,
    /// The cost of all operations and bootstraps in seconds.
    pub(super) seconds: f64,
    /// A lower bound of the cost of any placement.
    pub(super) bound: f64,
}

/// The decision for a value. The decisions for the values after it end with that at index `after` of
/// a common list.
#[derive(Debug, Clone, Copy)]
struct Decided {
    bootstrap: Option<f64>,
    need: f64,
    after: Option<usize>,
}

/// The decisions for the values from some number on.
#[derive(Debug)]
struct Partial {
    /// The last decision, which is that for the first of these values.
    decided: Decided,
    /// The values before that number that are used after it, in descending order, with their needs.
    live: Vec<(usize, f64)>,
    seconds: f64,
}

/// Returns the cheapest placement that is found, or `None` if none is possible.
pub(super) fn place(nodes: &[Node], limits: Limits) -> Option<Placement> {
    place_within(nodes, limits, (MAX_WORK / nodes.len().max(1)).clamp(1, BEAM))
}

/// As [`place`], with a beam of this width.
fn place_within(nodes: &[Node], limits: Limits, most_kept: usize) -> Option<Placement> {
    // No value can have more than this.
    let ceiling = nodes.iter().map(|node| node.most).filter(|most| most.is_finite());
    let ceiling = ceiling.fold(limits.most, f64::max);
    // Seconds for each bit of capacity that a placement still has to provide, by the cheapest
    // bootstrap. They order the beam, and are no cost.
    let cheapest = nodes.iter().filter_map(|node| node.bootstrap.as_ref());
    let cheapest = cheapest.map(|cost| cost.at(limits.most)).fold(f64::INFINITY, f64::min);
    let rate = cheapest / (limits.most - limits.reserve).max(1.0);
    let rate = if rate.is_finite() { rate } else { 0.0 };
    // The operations that are not placed yet take at least this time.
    let mut left: f64 = nodes.iter().map(|node| node.seconds.least()).sum();
    let (mut list, mut bound) = (Vec::<Decided>::new(), f64::INFINITY);
    let start = Partial::start();
    let mut beam = start.extended_by(nodes.last()?, nodes.len() - 1, None, limits);
    left -= nodes.last()?.seconds.least();
    for (value, node) in nodes.iter().enumerate().rev().skip(1) {
        left -= node.seconds.least();
        let mut all = Vec::with_capacity(2 * beam.len());
        for partial in &beam {
            list.push(partial.decided);
            all.extend(partial.extended_by(node, value, Some(list.len() - 1), limits));
        }
        all.retain(|partial| partial.most_needed() <= ceiling);
        beam = undominated(all);
        if beam.len() > most_kept {
            let rank = |partial: &Partial| partial.seconds + rate * partial.most_needed();
            beam.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
            let dropped = beam.drain(most_kept..).map(|partial| partial.seconds + left);
            bound = dropped.fold(bound, f64::min);
        }
    }
    let best = beam.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let (mut bootstraps, mut needs) = (Vec::new(), Vec::new());
    let mut next = Some(best.decided);
    while let Some(decided) = next {
        bootstraps.push(decided.bootstrap);
        needs.push(decided.need);
        next = decided.after.map(|index| list[index]);
    }
    Some(Placement { bootstraps, needs, seconds: best.seconds, bound: bound.min(best.seconds) })
}

impl Placement {
    /// The largest share of the time of this placement that the best one may save. It is 0 if the
    /// search was exact.
    pub(super) fn gap(&self) -> f64 {
        if self.seconds > 0.0 { 1.0 - self.bound.max(0.0) / self.seconds } else { 0.0 }
    }
}

impl Partial {
    /// The largest need of a live value.
    fn most_needed(&self) -> f64 {
        self.live.iter().map(|(_, need)| *need).fold(0.0, f64::max)
    }

    /// Returns no decisions.
    fn start() -> Self {
        let decided = Decided { bootstrap: None, need: 0.0, after: None };
        Partial { decided, live: Vec::new(), seconds: 0.0 }
    }

    /// Returns the possible decisions for the next value, without a bootstrap and with one. `after`
    /// is the index of the last decision in the list.
    fn extended_by(
        &self,
        node: &Node,
        value: usize,
        after: Option<usize>,
        limits: Limits,
    ) -> Vec<Partial> {
        let used = self.live.first().filter(|(first, _)| *first == value);
        let rest = &self.live[usize::from(used.is_some())..];
        let of_output = if node.is_output { limits.of_outputs } else { 0.0 };
        let need = used.map_or(0.0, |(_, need)| *need).max(of_output);
        let cost = node.bootstrap.as_ref().filter(|_| need <= limits.most && need > 0.0);
        let with = cost.map(|cost| (Some(need), limits.reserve, cost.at(need)));
        let ways = [Some((None, need, 0.0)), with].map(|way| {
            let (bootstrap, need, seconds) = way.filter(|(_, need, _)| *need <= node.most)?;
            let operands = node.depth.of_operands(need);
            let mut live = rest.to_vec();
            for input in &node.inputs {
                let place = live.partition_point(|(value, _)| value > input);
                match live.get_mut(place).filter(|(value, _)| value == input) {
                    Some((_, need)) => *need = need.max(operands),
                    None => live.insert(place, (*input, operands)),
                }
            }
            Some(Partial {
                decided: Decided { bootstrap, need, after },
                live,
                seconds: self.seconds + seconds + node.seconds.at(operands),
            })
        });
        ways.into_iter().flatten().collect()
    }
}

/// Returns the partial placements, the cheapest first, without most of those that a cheaper one
/// beats in all needs. The live values of all of them are the same.
fn undominated(mut all: Vec<Partial>) -> Vec<Partial> {
    all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut kept: Vec<Partial> = Vec::with_capacity(all.len());
    for partial in all {
        let beats =
            |other: &Partial| other.live.iter().zip(&partial.live).all(|((_, a), (_, b))| a <= b);
        if !kept.iter().take(MAX_COMPARED).any(beats) {
            kept.push(partial);
        }
    }
    kept
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the placement that bootstraps the given values, or `None` if it is not possible. This
    /// is the definition, value by value.
    pub(in crate::programs) fn placement_of(
        nodes: &[Node],
        limits: Limits,
        is_bootstrapped: &[bool],
    ) -> Option<Placement> {
        let mut needs: Vec<f64> =
            nodes.iter().map(|n| if n.is_output { limits.of_outputs } else { 0.0 }).collect();
        let (mut seconds, mut bootstraps) = (0.0, vec![None; nodes.len()]);
        for (value, node) in nodes.iter().enumerate().rev() {
            if is_bootstrapped[value] {
                let cost = node.bootstrap.as_ref()?;
                if needs[value] > limits.most || needs[value] <= 0.0 {
                    return None;
                }
                seconds += cost.at(needs[value]);
                bootstraps[value] = Some(needs[value]);
                needs[value] = limits.reserve;
            }
            if needs[value] > node.most {
                return None;
            }
            let operands = node.depth.of_operands(needs[value]);
            seconds += node.seconds.at(operands);
            for input in &node.inputs {
                needs[*input] = needs[*input].max(operands);
            }
        }
        Some(Placement { bootstraps, needs, seconds, bound: seconds })
    }

    fn cost(nodes: &[Node], limits: Limits, is_bootstrapped: &[bool]) -> Option<f64> {
        placement_of(nodes, limits, is_bootstrapped).map(|placement| placement.seconds)
    }

    fn exhaustive(nodes: &[Node], limits: Limits) -> Option<f64> {
        (0..1usize << nodes.len())
            .filter_map(|bits| {
                let chosen: Vec<bool> = (0..nodes.len()).map(|i| bits >> i & 1 == 1).collect();
                cost(nodes, limits, &chosen)
            })
            .min_by(f64::total_cmp)
    }

    const LIMITS: Limits = Limits { reserve: 80.0, most: 400.0, of_outputs: 1.0 };

    /// Random graphs of up to 12 values: chains with branches that join again, shared values,
    /// operations that bootstrap inside, and inputs with little capacity.
    fn graphs() -> impl Strategy<Value = Vec<Node>> {
        let node = (
            prop::collection::vec(any::<prop::sample::Index>(), 1..3),
            20.0..350.0f64,
            0.01..2.0f64,
            0.2..3.0f64,
            prop::bool::weighted(0.15),
            prop::bool::weighted(0.8),
            prop::bool::weighted(0.2),
        );
        prop::collection::vec(node, 1..12).prop_map(|nodes| {
            let count = nodes.len();
            let made = nodes.into_iter().enumerate().map(|(i, node)| {
                let (inputs, bits, seconds, bootstrap, inside, possible, is_output) = node;
                let inputs: Vec<usize> =
                    if i == 0 { Vec::new() } else { inputs.iter().map(|x| x.index(i)).collect() };
                let polyline = |s: f64| Seconds::new(vec![(50.0, 0.5 * s), (400.0, s)]);
                Node {
                    depth: match inside {
                        true => Depth::Needs(LIMITS.reserve),
                        false => Depth::Uses(if i == 0 { 0.0 } else { bits }),
                    },
                    most: match (i, inside) {
                        (0, _) => 300.0,
                        (_, true) => LIMITS.most - 100.0,
                        _ => f64::INFINITY,
                    },
                    seconds: polyline(if i == 0 { 0.0 } else { seconds }),
                    bootstrap: possible.then(|| polyline(bootstrap)),
                    is_output: is_output || i + 1 == count,
                    inputs,
                }
            });
            made.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn placements_of_small_graphs_are_the_cheapest(nodes in graphs()) {
            let found = place(&nodes, LIMITS);
            let best = exhaustive(&nodes, LIMITS);
            prop_assert_eq!(found.is_some(), best.is_some());
            if let (Some(found), Some(best)) = (found, best) {
                prop_assert!((found.seconds - best).abs() <= 1e-9 * best);
                let chosen: Vec<bool> = found.bootstraps.iter().map(Option::is_some).collect();
                prop_assert_eq!(cost(&nodes, LIMITS, &chosen), Some(found.seconds));
                prop_assert_eq!(found.gap(), 0.0);
            }
        }

        #[test]
        fn the_best_placement_is_within_the_gap_of_a_narrow_beam(
            nodes in graphs(),
            width in 1..4usize,
        ) {
            let (found, best) = (place_within(&nodes, LIMITS, width), exhaustive(&nodes, LIMITS));
            if let (Some(found), Some(best)) = (found, best) {
                prop_assert!((0.0..=1.0).contains(&found.gap()));
                prop_assert!((1.0 - found.gap()) * found.seconds <= best * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn a_chain_is_bootstrapped_as_late_as_it_must_be() {
        let node = |depth: f64, is_output: bool| Node {
            inputs: Vec::new(),
            depth: Depth::Uses(depth),
            seconds: Seconds::new(vec![(0.0, 1.0)]),
            most: f64::INFINITY,
            bootstrap: Some(Seconds::new(vec![(0.0, 1.0), (400.0, 5.0)])),
            is_output,
        };
        let mut nodes: Vec<Node> = (0..8).map(|i| node(100.0, i == 7)).collect();
        (1..8).for_each(|i| nodes[i].inputs = vec![i - 1]);
        nodes[0] = Node { depth: Depth::Uses(0.0), most: 290.0, ..nodes[0].clone() };
        let found = place(&nodes, LIMITS).unwrap();
        // Seven products of 100 bits need 701 bits. The input has 210 bits above the reserve.
        let places: Vec<usize> = (0..8).filter(|i| found.bootstraps[*i].is_some()).collect();
        assert_eq!(places.len(), 2);
        let heights: f64 = found.bootstraps.iter().flatten().sum();
        assert!(heights < 700.0, "{heights}");
    }

    #[test]
    fn large_graphs_keep_a_bound_of_the_cost() {
        let node = |i: usize| Node {
            inputs: if i == 0 { Vec::new() } else { vec![i - 1, i.saturating_sub(7)] },
            depth: Depth::Uses(if i == 0 { 0.0 } else { 30.0 + (i % 5) as f64 }),
            seconds: Seconds::new(vec![(0.0, 0.1), (400.0, 0.2)]),
            most: if i == 0 { 300.0 } else { f64::INFINITY },
            bootstrap: Some(Seconds::new(vec![(0.0, 1.0 + (i % 3) as f64), (400.0, 4.0)])),
            is_output: i == 1999,
        };
        let nodes: Vec<Node> = (0..2000).map(node).collect();
        let found = place(&nodes, LIMITS).unwrap();
        assert!((0.0..0.9).contains(&found.gap()), "{}", found.gap());
        // A bootstrap restores 320 bits, and the chain uses 64,000 bits. Each value is also used
        // seven steps later, so that more of them are bootstrapped.
        let count = found.bootstraps.iter().flatten().count();
        assert!((200..=400).contains(&count), "{count}");
        let chosen: Vec<bool> = found.bootstraps.iter().map(Option::is_some).collect();
        let seconds = cost(&nodes, LIMITS, &chosen).unwrap();
        assert!((seconds - found.seconds).abs() < 1e-6 * seconds);
    }
}
