//! Values that several steps move to one layout.

use std::collections::BTreeMap;

use super::rebuilt::{Known, Rebuilt};
use crate::programs::operation::{Graph, Operation};

/// Moves a value once to the layout in which several steps use it.
pub(super) fn shared_layouts(known: &Known<'_>) -> Option<Graph> {
    let first = known.graph.first_results();
    // For each step whose two operands have one shape and two layouts: its operands.
    let misaligned: BTreeMap<usize, [usize; 2]> = known
        .graph
        .steps
        .iter()
        .enumerate()
        .filter_map(|(i, step)| {
            let elementwise =
                matches!(step.operation, Operation::Add | Operation::Sub | Operation::Mul);
            let [a, b] = step.inputs[..] else { return None };
            let differ = elementwise
                && known.shape(a) == known.shape(b)
                && !known.layout(a).is_like(known.layout(b));
            differ.then_some((i, [a, b]))
        })
        .collect();
    let key = |moved: usize, other: usize| (moved, known.layout(other).strides().to_vec());
    let mut counts: BTreeMap<(usize, Vec<usize>), usize> = BTreeMap::new();
    for [a, b] in misaligned.values() {
        *counts.entry(key(*a, *b)).or_default() += 1;
        *counts.entry(key(*b, *a)).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    if counts.is_empty() {
        return None;
    }
    let mut rebuilt = Rebuilt::new(known);
    for (i, step) in known.graph.steps.iter().enumerate() {
        let operands = misaligned.get(&i).and_then(|[a, b]| {
            let count = |moved, other| counts.get(&key(moved, other)).copied().unwrap_or(0);
            match (count(*b, *a), count(*a, *b)) {
                (0, 0) => None,
                (second, first) if second >= first => Some(([*a, *b], 1)),
                _ => Some(([*a, *b], 0)),
            }
        });
        let Some((operands, moved)) = operands else {
            rebuilt.keep(step, first[i]);
            continue;
        };
        let mut inputs: Vec<usize> = operands.iter().map(|value| rebuilt.values[*value]).collect();
        let strides = known.layout(operands[1 - moved]).strides().to_vec();
        inputs[moved] =
            rebuilt.append(Operation::Relayout { strides }, vec![inputs[moved]], step.policy);
        let own = rebuilt.append(step.operation.clone(), inputs, step.policy);
        rebuilt.values[first[i]] = own;
    }
    Some(rebuilt.finished(&known.graph.outputs))
}
