//! Gathers of gathered elements.

use std::collections::BTreeMap;

use super::rebuilt::{Known, Rebuilt};
use crate::programs::operation::{Graph, Operation};

/// Composes gathers: elements that are moved twice are moved once.
///
/// An interval that was declared between two gathers is declared for the result instead.
pub(super) fn composed_gathers(known: &Known<'_>) -> Option<Graph> {
    let first = known.graph.first_results();
    // The array and place that each element of a value is a copy of.
    let mut sources: BTreeMap<usize, Vec<Option<(usize, usize)>>> = BTreeMap::new();
    let mut is_found = false;
    let mut rebuilt = Rebuilt::new(known);
    for (i, step) in known.graph.steps.iter().enumerate() {
        let result = first[i];
        match &step.operation {
            Operation::WithInterval { .. } if step.rests_on_sample => {
                if let Some(found) = sources.get(&step.inputs[0]) {
                    sources.insert(result, found.clone());
                }
                rebuilt.keep(step, result);
            }
            Operation::Gather { shape, places } => {
                let own = |value: usize| (0..known.size(value)).map(move |i| Some((value, i)));
                let elements: Vec<_> = step
                    .inputs
                    .iter()
                    .flat_map(|value| match sources.get(value) {
                        Some(found) => found.clone(),
                        None => own(*value).collect(),
                    })
                    .collect();
                let from: Vec<_> =
                    places.iter().map(|place| place.and_then(|i| elements[i])).collect();
                if step.inputs.iter().any(|value| sources.contains_key(value)) {
                    is_found = true;
                    let gathered = rebuilt.gathered(known, &from, shape, step.policy);
                    let interval = known.interval(result).filter(|own| {
                        from.iter().flatten().any(|(value, _)| {
                            known.interval(*value).is_some_and(|of| of.0 < own.0 || own.1 < of.1)
                        })
                    });
                    rebuilt.values[result] = match interval {
                        Some((low, high)) => rebuilt.declared(gathered, low, high, step.policy),
                        None => gathered,
                    };
                } else {
                    rebuilt.keep(step, result);
                }
                sources.insert(result, from);
            }
            _ => rebuilt.keep(step, result),
        }
    }
    is_found.then(|| rebuilt.finished(&known.graph.outputs))
}
