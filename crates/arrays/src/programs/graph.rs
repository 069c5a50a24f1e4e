//! The graph of a program: steps that compute values from values.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{any::AnyArray, spec::Spec};
use crate::{
    Error, Server,
    server::{Decision, Policy},
};

/// The name of loops in errors.
pub(super) const LOOP: &str = "repeat";

/// Maximum number of rounds of a loop (chosen; a dry run performs all of them).
const MAX_TIMES: usize = 1 << 20;

/// An operation that a graph can consist of.
pub trait Perform: Sized {
    /// Performs the operation on the server.
    fn perform(&self, server: &Server, inputs: &[&AnyArray]) -> Result<Vec<AnyArray>, Error>;

    /// The number of results.
    fn results(&self) -> usize;

    /// The graph that is repeated, and the number of rounds, if this is a loop.
    fn looped(&self) -> Option<(&Graph<Self>, usize)>;
}

/// An operation of a program, with its operands and the decisions on how it is performed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step<O> {
    pub(crate) operation: O,
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Graph<O> {
    pub(crate) inputs: Vec<Spec>,
    pub(crate) steps: Vec<Step<O>>,
    pub(crate) outputs: Vec<usize>,
}

impl<O> Default for Graph<O> {
    fn default() -> Self {
        Graph { inputs: Vec::new(), steps: Vec::new(), outputs: Vec::new() }
    }
}

impl<O: Perform + Clone> Graph<O> {
    /// Returns these steps as a graph of their own, which leads from the values `inputs` to
    /// `outputs`.
    pub(super) fn taken_out(
        &self,
        steps: &[usize],
        inputs: &[usize],
        outputs: &[usize],
        spec: impl Fn(usize) -> Spec,
    ) -> Self {
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
            if let Some((body, _)) = step.operation.looped() {
                policies.extend(body.policies());
            }
        }
        policies
    }

    /// True if a step is a loop.
    pub(super) fn has_loops(&self) -> bool {
        self.steps.iter().any(|step| step.operation.looped().is_some())
    }

    /// The number of values.
    pub(crate) fn values(&self) -> usize {
        self.inputs.len() + self.steps.iter().map(|step| step.results).sum::<usize>()
    }

    /// The number of the first result of each step.
    pub(crate) fn first_results(&self) -> Vec<usize> {
        let mut next = self.inputs.len();
        let first = |step: &Step<O>| {
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
            if let Some((body, times)) = step.operation.looped() {
                body.check_loop(times, step.inputs.len())?;
            }
            known += step.results;
        }
        match self.outputs.iter().find(|value| **value >= known) {
            Some(value) => unknown("an output", *value),
            None => Ok(()),
        }
    }

    /// The largest number of rounds of a loop in this graph, with those of the loops in it.
    fn most_rounds(&self) -> usize {
        let rounds = |step: &Step<O>| {
            step.operation
                .looped()
                .map_or(1, |(body, times)| times.saturating_mul(body.most_rounds()))
        };
        self.steps.iter().map(rounds).max().unwrap_or(1)
    }

    /// Checks the body of a loop with this number of rounds and operands.
    ///
    /// # Errors
    /// [`Error::Argument`] if it has another number of inputs, if there are no rounds or too many,
    /// and as [`Graph::check`].
    pub(super) fn check_loop(&self, times: usize, operands: usize) -> Result<(), Error> {
        self.check()?;
        let fits = self.inputs.len() == operands && (1..=operands).contains(&self.outputs.len());
        if fits && (1..=MAX_TIMES).contains(&times.saturating_mul(self.most_rounds())) {
            return Ok(());
        }
        let what = format!(
            "a loop with {times} rounds, {operands} operands and {} inputs is not possible. 1 to \
             {MAX_TIMES} rounds are, with those of loops inside.",
            self.inputs.len()
        );
        Err(Error::argument(LOOP, what))
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

    /// Returns the number of the first output that depends on none of the first `count` inputs.
    pub(crate) fn output_without(&self, count: usize) -> Option<usize> {
        let mut depends: Vec<bool> = (0..self.inputs.len()).map(|input| input < count).collect();
        for step in &self.steps {
            let own = step.inputs.iter().any(|value| depends[*value]);
            depends.extend(std::iter::repeat_n(own, step.results));
        }
        self.outputs.iter().position(|value| !depends[*value])
    }

    /// Returns the graph without the steps whose results nothing uses. The inputs stay.
    pub(crate) fn without_dead_steps(self) -> Self {
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
