//! Loops: a function of a state that is applied several times, as one step of a program.
//!
//! In every round, the state has the same shape, interval, layout and capacity. That is the header
//! of the loop.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    any::AnyArray,
    graph::{Graph, LOOP, Perform},
    run::run_on,
};
use crate::{Error, Interval, Layout, Numbers, Server};

/// The body of a loop: the steps that compute the next state from a state.
///
/// Its first inputs are the arrays of the state after a bootstrap. The others are the same in all
/// rounds. See [`Recorder::repeat`](crate::Recorder::repeat) for an example.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoopBody<O>(pub(super) Graph<O>);

impl<O: PartialEq> PartialEq for LoopBody<O> {
    /// True if both have the same steps, whatever was decided about them.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        let steps = a.steps.iter().zip(&b.steps);
        (&a.inputs, &a.outputs, a.steps.len()) == (&b.inputs, &b.outputs, b.steps.len())
            && steps.clone().all(|(a, b)| (&a.inputs, a.policy) == (&b.inputs, b.policy))
            && steps.clone().all(|(a, b)| a.operation == b.operation)
    }
}

impl<O: Perform + Clone> LoopBody<O> {
    /// The number of arrays of the state.
    pub(super) fn states(&self) -> usize {
        self.0.outputs.len()
    }

    /// Applies the body to a state, which comes first among the inputs.
    pub(super) fn repeat(
        &self,
        server: &Server,
        times: usize,
        inputs: &[&AnyArray],
    ) -> Result<Vec<AnyArray>, Error> {
        self.0.check_loop(times, inputs.len())?;
        let (state, same) = inputs.split_at(self.states());
        let mut state: Vec<AnyArray> = state.iter().copied().cloned().collect();
        for _ in 0..times {
            let entered = state.iter().zip(&self.0.inputs).map(|(array, spec)| {
                let ends = spec.interval.and_then(|(low, high)| Interval::new(low, high));
                let array = entered(server, array, ends)?;
                spec.check(&array, "state")?;
                Ok(array)
            });
            let mut inputs = entered.collect::<Result<Vec<_>, Error>>()?;
            inputs.extend(same.iter().copied().cloned());
            // The decisions of all rounds are those of the loop.
            state = run_on(&self.0, |step| server.with_policy(step.policy), inputs, |_, _| true)?;
        }
        Ok(state)
    }
}

/// Returns an array as the body of a loop finds it: in the layout of a fresh array, with zeros in
/// all other slots, with this interval or its own one, and after a bootstrap.
pub(super) fn entered(
    server: &Server,
    array: &AnyArray,
    interval: Option<Interval>,
) -> Result<AnyArray, Error> {
    let AnyArray::Numbers(array) = array else {
        let what = format!("the state of a loop holds numbers, not {}", array.holds());
        return Err(Error::argument(LOOP, what));
    };
    let packed = Layout::packed(array.shape(), server.session().slots())?;
    let packed = server.relayout::<Numbers>(array, packed)?;
    let clean = server.declare_interval(&packed, interval.unwrap_or(packed.interval()))?;
    Ok(server.bootstrap_to(&clean, None)?.into())
}

impl<O: Perform + Clone> Graph<O> {
    /// Takes the steps out of a recorded graph that lead from the `entered` state to `results`.
    /// `others` are the values from elsewhere that they use. They become the last inputs.
    pub(super) fn body(&self, entered: &[usize], results: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let first = self.first_results();
        // The steps that depend on the state.
        let mut depends: BTreeSet<usize> = entered.iter().copied().collect();
        let mut steps = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            if step.inputs.iter().any(|value| depends.contains(value)) {
                depends.extend(first[i]..first[i] + step.results);
                steps.push(i);
            }
        }
        // Among them, the steps that lead to the results.
        let mut used: BTreeSet<usize> = results.iter().copied().collect();
        let mut body = Vec::new();
        for i in steps.into_iter().rev() {
            if (first[i]..first[i] + self.steps[i].results).any(|value| used.contains(&value)) {
                used.extend(&self.steps[i].inputs);
                body.push(i);
            }
        }
        body.reverse();
        let others = used.into_iter().filter(|value| !depends.contains(value)).collect();
        (body, others)
    }
}
