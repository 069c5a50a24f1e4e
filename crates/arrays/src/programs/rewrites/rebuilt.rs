//! A graph under construction from the values of another one.

use std::collections::BTreeMap;

use crate::{
    Layout,
    programs::{
        any::{AnyArray, each_kind},
        operation::{Graph, Operation, Step},
    },
    server::Policy,
};

/// A graph, with an array without residues for each of its values.
pub(in crate::programs) struct Known<'g> {
    pub(in crate::programs) graph: &'g Graph,
    pub(in crate::programs) values: Vec<AnyArray>,
}

/// A rewrite. It returns `None` if its pattern does not occur. New steps have no decisions.
pub(in crate::programs) type Rule = fn(&Known<'_>) -> Option<Graph>;

/// A graph under construction from the values of another one.
pub(super) struct Rebuilt {
    pub(super) graph: Graph,
    /// The new number of each value of the other graph, as far as it is known.
    pub(super) values: Vec<usize>,
}

/// Stands for a value of the other graph that has no number yet.
const UNKNOWN: usize = usize::MAX;

impl Rebuilt {
    pub(super) fn new(known: &Known<'_>) -> Self {
        let inputs = known.graph.inputs.clone();
        let mut values = vec![UNKNOWN; known.graph.values()];
        (0..inputs.len()).for_each(|i| values[i] = i);
        Rebuilt { graph: Graph { inputs, ..Graph::default() }, values }
    }

    /// Appends a step of the other graph, whose first result has the number `first` there.
    pub(super) fn keep(&mut self, step: &Step, first: usize) {
        let inputs = step.inputs.iter().map(|value| self.values[*value]).collect();
        let own = self.graph.values();
        (0..step.results).for_each(|i| self.values[first + i] = own + i);
        self.graph.steps.push(Step { inputs, ..step.clone() });
    }

    /// Appends a new step with one result, and returns its number. A step that exists is used again.
    pub(super) fn append(
        &mut self,
        operation: Operation,
        inputs: Vec<usize>,
        policy: Policy,
    ) -> usize {
        self.append_step(operation, inputs, policy, false)
    }

    pub(super) fn append_step(
        &mut self,
        operation: Operation,
        inputs: Vec<usize>,
        policy: Policy,
        rests_on_sample: bool,
    ) -> usize {
        let mut first = self.graph.inputs.len();
        for step in &self.graph.steps {
            if step.inputs == inputs && step.policy == policy && step.operation == operation {
                return first;
            }
            first += step.results;
        }
        let (results, decisions) = (1, Vec::new());
        let step = Step { operation, inputs, results, policy, decisions, rests_on_sample };
        self.graph.steps.push(step);
        first
    }

    /// Returns the graph, with the outputs of the other one, and without steps that nothing uses.
    pub(super) fn finished(self, outputs: &[usize]) -> Graph {
        let outputs = outputs.iter().map(|value| self.values[*value]).collect();
        Graph { outputs, ..self.graph }.without_dead_steps()
    }
}

impl Known<'_> {
    /// The number of uses of each value, by steps and as an output.
    pub(super) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.values.len()];
        let inputs = self.graph.steps.iter().flat_map(|step| &step.inputs);
        inputs.chain(&self.graph.outputs).for_each(|value| uses[*value] += 1);
        uses
    }

    /// The step that computes each value, or `None` for inputs.
    pub(super) fn makers(&self) -> Vec<Option<usize>> {
        let mut makers = vec![None; self.graph.inputs.len()];
        for (i, step) in self.graph.steps.iter().enumerate() {
            makers.extend(std::iter::repeat_n(Some(i), step.results));
        }
        makers
    }

    pub(super) fn shape(&self, value: usize) -> &[usize] {
        self.values[value].shape()
    }

    pub(super) fn size(&self, value: usize) -> usize {
        self.shape(value).iter().product()
    }

    pub(super) fn interval(&self, value: usize) -> Option<(f64, f64)> {
        match &self.values[value] {
            AnyArray::Numbers(array) => Some((array.interval().low(), array.interval().high())),
            _ => None,
        }
    }

    pub(super) fn layout(&self, value: usize) -> &Layout {
        each_kind!(&self.values[value], array => array.layout())
    }
}

impl Rebuilt {
    /// Appends a gather of elements of values of the other graph, and returns its result.
    pub(super) fn gathered(
        &mut self,
        known: &Known<'_>,
        from: &[Option<(usize, usize)>],
        shape: &[usize],
        policy: Policy,
    ) -> usize {
        let mut starts: BTreeMap<usize, usize> = BTreeMap::new();
        let mut inputs = Vec::new();
        let mut next = 0;
        for (value, _) in from.iter().flatten() {
            starts.entry(*value).or_insert_with(|| {
                inputs.push(self.values[*value]);
                next += known.size(*value);
                next - known.size(*value)
            });
        }
        let place = |source: &Option<(usize, usize)>| source.map(|(value, i)| starts[&value] + i);
        let places = from.iter().map(place).collect();
        self.append(Operation::Gather { shape: shape.to_vec(), places }, inputs, policy)
    }

    /// Appends the declaration of an interval that was seen in a sample.
    pub(super) fn declared(&mut self, value: usize, low: f64, high: f64, policy: Policy) -> usize {
        self.append_step(Operation::WithInterval { low, high }, vec![value], policy, true)
    }
}
