//! Parts of programs, which run on machines of their own.

use std::collections::BTreeSet;

use super::{operation::Graph, spec::Spec};
use crate::Error;

/// Some steps of a program, which can run apart from the others.
///
/// See [`Program::part`](crate::Program::part) for an example.
#[derive(Debug, Clone)]
pub struct Part {
    /// The steps, with values of their own numbers.
    pub(super) graph: Graph,
    pub(super) inputs: Vec<usize>,
    results: Vec<usize>,
}

impl Part {
    /// Returns some of the steps, which are in ascending order, as a part. `specs` are those of all
    /// values of the graph.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such step, or if the order is wrong.
    pub(super) fn of(graph: &Graph, steps: &[usize], specs: &[&Spec]) -> Result<Self, Error> {
        if !steps.is_sorted_by(|a, b| a < b) || steps.last() >= Some(&graph.steps.len()) {
            let what = format!("steps {steps:?} of {} are not in order", graph.steps.len());
            return Err(Error::argument("take a part of a program", what));
        }
        let first = graph.first_results();
        let results_of = |i: usize| first[i]..first[i] + graph.steps[i].results;
        let own: BTreeSet<usize> = steps.iter().flat_map(|i| results_of(*i)).collect();
        let used = steps.iter().flat_map(|i| &graph.steps[*i].inputs).copied();
        let inputs: BTreeSet<usize> = used.filter(|value| !own.contains(value)).collect();
        let others = (0..graph.steps.len()).filter(|i| steps.binary_search(i).is_err());
        let elsewhere = others.flat_map(|i| &graph.steps[i].inputs).chain(&graph.outputs);
        let results: BTreeSet<usize> =
            elsewhere.copied().filter(|value| own.contains(value)).collect();
        let [inputs, results]: [Vec<usize>; 2] =
            [inputs, results].map(|values| values.into_iter().collect());
        let spec = |value: usize| specs[value].clone();
        let graph = graph.taken_out(steps, &inputs, &results, spec);
        Ok(Part { graph, inputs, results })
    }

    /// The values that its steps use and other steps compute, or that are inputs of the program.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The values that its steps compute, and that other steps use or the program returns.
    pub fn results(&self) -> &[usize] {
        &self.results
    }
}
