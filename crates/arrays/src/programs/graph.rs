//! The graph of a program: steps that compute values from values.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{operation::Operation, spec::Spec};
use crate::{
    Error,
    server::{Decision, Policy},
};

/// An operation of a program, with its operands and the decisions on how it is performed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    /// The values that it computes from.
    pub(crate) inputs: Vec<usize>,
    /// The number of its results.
    pub(crate) results: usize,
    pub(crate) policy: Policy,
    /// The candidates that were chosen, in the order in which the operation needs them.
    pub(crate) decisions: Vec<Decision>,
    /// True for an interval that was seen in a sample and is not proved.
    pub(crate) rests_on_sample: bool,
}

/// The graph of a program.
///
/// Values are numbered. The inputs come first, and then the results of each step, in order. A step
/// computes only from values with smaller numbers than its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Graph {
    pub(crate) inputs: Vec<Spec>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<usize>,
}

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
    /// The values that its steps use and other steps compute, or that are inputs of the program.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The values that its steps compute, and that other steps use or the program returns.
    pub fn results(&self) -> &[usize] {
        &self.results
    }
}

impl Graph {
    /// Returns some of the steps, which are in ascending order, as a part. `specs` are those of all
    /// values.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such step, or if the order is wrong.
    pub(super) fn part(&self, steps: &[usize], specs: &[&Spec]) -> Result<Part, Error> {
        if !steps.is_sorted_by(|a, b| a < b) || steps.last() >= Some(&self.steps.len()) {
            let what = format!("steps {steps:?} of {} are not in order", self.steps.len());
            return Err(Error::argument("take a part of a program", what));
        }
        let first = self.first_results();
        let results_of = |i: usize| first[i]..first[i] + self.steps[i].results;
        let own: BTreeSet<usize> = steps.iter().flat_map(|i| results_of(*i)).collect();
        let used = steps.iter().flat_map(|i| &self.steps[*i].inputs).copied();
        let inputs: BTreeSet<usize> = used.filter(|value| !own.contains(value)).collect();
        let others = (0..self.steps.len()).filter(|i| steps.binary_search(i).is_err());
        let elsewhere = others.flat_map(|i| &self.steps[i].inputs).chain(&self.outputs);
        let results: BTreeSet<usize> =
            elsewhere.copied().filter(|value| own.contains(value)).collect();
        let [inputs, results]: [Vec<usize>; 2] =
            [inputs, results].map(|values| values.into_iter().collect());
        let spec = |value: usize| specs[value].clone();
        let graph = self.taken_out(steps, &inputs, &results, spec);
        Ok(Part { graph, inputs, results })
    }

    /// Returns these steps as a graph of their own, which leads from the values `inputs` to
    /// `outputs`.
    pub(super) fn taken_out(
        &self,
        steps: &[usize],
        inputs: &[usize],
        outputs: &[usize],
        spec: impl Fn(usize) -> Spec,
    ) -> Graph {
        let first = self.first_results();
        let own = steps.iter().flat_map(|i| first[*i]..first[*i] + self.steps[*i].results);
        let numbers: BTreeMap<usize, usize> =
            inputs.iter().copied().chain(own).enumerate().map(|(new, old)| (old, new)).collect();
        let renamed = |values: &[usize]| values.iter().map(|value| numbers[value]).collect();
        let step = |i: &usize| {
            let step = &self.steps[*i];
            Step { inputs: renamed(&step.inputs), ..step.clone() }
        };
        Graph {
            inputs: inputs.iter().map(|value| spec(*value)).collect(),
            steps: steps.iter().map(step).collect(),
            outputs: renamed(outputs),
        }
    }

    /// The policies of all steps, with those in loops.
    pub(super) fn policies(&self) -> Vec<Policy> {
        let mut policies = Vec::new();
        for step in &self.steps {
            policies.push(step.policy);
            if let Operation::Repeat { body, .. } = &step.operation {
                policies.extend(body.0.policies());
            }
        }
        policies
    }

    /// True if a step is a loop.
    pub(super) fn has_loops(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.operation, Operation::Repeat { .. }))
    }

    /// The number of values.
    pub(crate) fn values(&self) -> usize {
        self.inputs.len() + self.steps.iter().map(|step| step.results).sum::<usize>()
    }

    /// The number of the first result of each step.
    pub(crate) fn first_results(&self) -> Vec<usize> {
        let mut next = self.inputs.len();
        let first = |step: &Step| {
            let first = next;
            next += step.results;
            first
        };
        self.steps.iter().map(first).collect()
    }

    /// Checks a graph from a file.
    ///
    /// # Errors
    /// [`Error::Argument`] if a step has another number of results than its operation, or if a step
    /// or an output uses a value that is not computed before.
    pub(crate) fn check(&self) -> Result<(), Error> {
        const OPERATION: &str = "load a program";
        let unknown = |place: &str, value: usize| {
            let what = format!("{place} uses value {value}, which is not computed before it");
            Err(Error::argument(OPERATION, what))
        };
        let mut known = self.inputs.len();
        for (i, step) in self.steps.iter().enumerate() {
            if let Some(value) = step.inputs.iter().find(|value| **value >= known) {
                return unknown(&format!("step {i}"), *value);
            }
            let need = step.operation.results();
            if step.results != need {
                let what = format!("step {i} has {} results, and {need} are needed", step.results);
                return Err(Error::argument(OPERATION, what));
            }
            if let Operation::Repeat { body, times } = &step.operation {
                body.check(*times, step.inputs.len())?;
            }
            known += step.results;
        }
        match self.outputs.iter().find(|value| **value >= known) {
            Some(value) => unknown("an output", *value),
            None => Ok(()),
        }
    }

    /// The last step that uses each value, or `None` if it is an output or nothing uses it.
    pub(crate) fn last_uses(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.values()];
        for (i, step) in self.steps.iter().enumerate() {
            step.inputs.iter().for_each(|value| last[*value] = Some(i));
        }
        self.outputs.iter().for_each(|value| last[*value] = None);
        last
    }

    /// Returns the graph without the steps whose results nothing uses. The inputs stay.
    pub(crate) fn without_dead_steps(self) -> Graph {
        let first = self.first_results();
        let mut used: BTreeSet<usize> = self.outputs.iter().copied().collect();
        let mut is_used = vec![false; self.steps.len()];
        for (i, step) in self.steps.iter().enumerate().rev() {
            is_used[i] = (first[i]..first[i] + step.results).any(|value| used.contains(&value));
            if is_used[i] {
                used.extend(&step.inputs);
            }
        }
        let mut renamed: Vec<usize> = (0..self.inputs.len()).collect();
        let (mut next, mut steps) = (self.inputs.len(), Vec::new());
        for (step, is_used) in self.steps.into_iter().zip(is_used) {
            // The numbers of results that are dropped are not used.
            renamed.extend((0..step.results).map(|i| next + i));
            if is_used {
                next += step.results;
                let inputs = step.inputs.iter().map(|value| renamed[*value]).collect();
                steps.push(Step { inputs, ..step });
            }
        }
        let outputs = self.outputs.iter().map(|value| renamed[*value]).collect();
        Graph { inputs: self.inputs, steps, outputs }
    }
}
