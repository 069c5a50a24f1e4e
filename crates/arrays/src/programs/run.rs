//! The run of a graph, on a server or in a dry run.

use hippocrene_rlwe::RlweError;

use super::{
    any::AnyArray,
    graph::{Graph, Perform, Step},
};
use crate::{Error, Server};

pub(super) const RUN: &str = "run a program";

/// Runs the steps of a graph in order. `after` is called with each step and its results, and stops
/// the run if it returns false.
pub(super) fn run<O: Perform + Clone>(
    graph: &Graph<O>,
    server: &Server,
    inputs: Vec<AnyArray>,
    after: impl FnMut(&Step<O>, &[AnyArray]) -> bool,
) -> Result<Vec<AnyArray>, Error> {
    run_on(graph, |step| server.planned_with(step.policy, step.decisions.clone()), inputs, after)
}

/// As [`run`], with the server that performs each step.
pub(super) fn run_on<O: Perform + Clone>(
    graph: &Graph<O>,
    server: impl Fn(&Step<O>) -> Server,
    inputs: Vec<AnyArray>,
    mut after: impl FnMut(&Step<O>, &[AnyArray]) -> bool,
) -> Result<Vec<AnyArray>, Error> {
    let last_uses = graph.last_uses();
    let mut values: Vec<Option<AnyArray>> = inputs.into_iter().map(Some).collect();
    let missing = |value: usize| Error::Internal(format!("value {value} was dropped too early"));
    for (i, step) in graph.steps.iter().enumerate() {
        let operands = step.inputs.iter().map(|value| values[*value].as_ref().ok_or(*value));
        let operands = operands.collect::<Result<Vec<_>, _>>().map_err(missing)?;
        let results = step.operation.perform(&server(step), &operands)?;
        if results.len() != step.results {
            let what = format!("step {i} has {} results, not {}", results.len(), step.results);
            return Err(Error::argument(RUN, what));
        }
        if !after(step, &results) {
            return Err(Error::Stopped(RlweError::Stopped { operation: RUN }));
        }
        values.extend(results.into_iter().map(Some));
        let is_done = |value: &&usize| last_uses[**value] == Some(i);
        step.inputs.iter().filter(is_done).for_each(|value| values[*value] = None);
    }
    let outputs = graph.outputs.iter();
    outputs.map(|value| values[*value].clone().ok_or_else(|| missing(*value))).collect()
}
