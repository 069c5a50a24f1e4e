//! Sums of products.

use std::collections::BTreeMap;

use super::rebuilt::{Known, Rebuilt};
use crate::programs::operation::{Graph, Operation};

/// Adds products before they are relinearised.
pub(super) fn added_products(known: &Known<'_>) -> Option<Graph> {
    let (makers, uses, first) = (known.makers(), known.uses(), known.graph.first_results());
    // The factors of each value that is a sum of products.
    let mut factors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut is_found = false;
    let mut rebuilt = Rebuilt::new(known);
    for (i, step) in known.graph.steps.iter().enumerate() {
        let result = first[i];
        match (&step.operation, &step.inputs[..]) {
            (Operation::Mul | Operation::SumOfProducts, _) => {
                factors.insert(result, step.inputs.clone());
            }
            (Operation::Add, [a, b]) if a != b => {
                let parts = [a, b].map(|value| {
                    let maker = makers[*value].map(|i| known.graph.steps[i].policy);
                    let is_part = uses[*value] == 1
                        && maker == Some(step.policy)
                        && known.shape(*value) == known.shape(result);
                    factors.get(value).filter(|_| is_part).cloned()
                });
                if let [Some(a), Some(b)] = parts {
                    is_found = true;
                    let all = [a, b].concat();
                    let inputs = all.iter().map(|value| rebuilt.values[*value]).collect();
                    rebuilt.values[result] =
                        rebuilt.append(Operation::SumOfProducts, inputs, step.policy);
                    factors.insert(result, all);
                    continue;
                }
            }
            _ => {}
        }
        rebuilt.keep(step, result);
    }
    is_found.then(|| rebuilt.finished(&known.graph.outputs))
}
