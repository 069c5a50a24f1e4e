//! Rewrites: other graphs for the same results, which may take less time.
//!
//! A [`Rule`] looks for a pattern in a graph and replaces every instance of it. The planner keeps
//! the new graph if a dry run shows that it is faster.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{
    any::{AnyArray, each_kind},
    operation::{Graph, OfDifference, OfSign, Operation, Step},
    plain::Plain,
};
use crate::{
    Layout,
    server::{Policy, Ties},
};

/// A graph, with an array without residues for each of its values.
pub(super) struct Known<'g> {
    pub(super) graph: &'g Graph,
    pub(super) values: Vec<AnyArray>,
}

/// A rewrite. It returns `None` if its pattern does not occur. New steps have no decisions.
pub(super) type Rule = fn(&Known<'_>) -> Option<Graph>;

/// All rules, in the order in which they are tried.
pub(super) const RULES: [Rule; 5] =
    [composed_gathers, joined_matrices, added_products, packed_functions, shared_layouts];

/// A graph under construction from the values of another one.
struct Rebuilt {
    graph: Graph,
    /// The new number of each value of the other graph, as far as it is known.
    values: Vec<usize>,
}

/// Stands for a value of the other graph that has no number yet.
const UNKNOWN: usize = usize::MAX;

impl Rebuilt {
    fn new(known: &Known<'_>) -> Self {
        let inputs = known.graph.inputs.clone();
        let mut values = vec![UNKNOWN; known.graph.values()];
        (0..inputs.len()).for_each(|i| values[i] = i);
        Rebuilt { graph: Graph { inputs, ..Graph::default() }, values }
    }

    /// Appends a step of the other graph, whose first result has the number `first` there.
    fn keep(&mut self, step: &Step, first: usize) {
        let inputs = step.inputs.iter().map(|value| self.values[*value]).collect();
        let own = self.graph.values();
        (0..step.results).for_each(|i| self.values[first + i] = own + i);
        self.graph.steps.push(Step { inputs, ..step.clone() });
    }

    /// Appends a new step with one result, and returns its number. A step that exists is used again.
    fn append(&mut self, operation: Operation, inputs: Vec<usize>, policy: Policy) -> usize {
        self.append_step(operation, inputs, policy, false)
    }

    fn append_step(
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
    fn finished(self, outputs: &[usize]) -> Graph {
        let outputs = outputs.iter().map(|value| self.values[*value]).collect();
        Graph { outputs, ..self.graph }.without_dead_steps()
    }
}

impl Known<'_> {
    /// The number of uses of each value, by steps and as an output.
    fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.values.len()];
        let inputs = self.graph.steps.iter().flat_map(|step| &step.inputs);
        inputs.chain(&self.graph.outputs).for_each(|value| uses[*value] += 1);
        uses
    }

    /// The step that computes each value, or `None` for inputs.
    fn makers(&self) -> Vec<Option<usize>> {
        let mut makers = vec![None; self.graph.inputs.len()];
        for (i, step) in self.graph.steps.iter().enumerate() {
            makers.extend(std::iter::repeat_n(Some(i), step.results));
        }
        makers
    }

    fn shape(&self, value: usize) -> &[usize] {
        self.values[value].shape()
    }

    fn size(&self, value: usize) -> usize {
        self.shape(value).iter().product()
    }

    fn interval(&self, value: usize) -> Option<(f64, f64)> {
        match &self.values[value] {
            AnyArray::Numbers(array) => Some((array.interval().low(), array.interval().high())),
            _ => None,
        }
    }

    fn layout(&self, value: usize) -> &Layout {
        each_kind!(&self.values[value], array => array.layout())
    }
}

/// Composes gathers: elements that are moved twice are moved once.
///
/// A declared interval between two gathers is declared for the result instead.
fn composed_gathers(known: &Known<'_>) -> Option<Graph> {
    let (makers, first) = (known.makers(), known.graph.first_results());
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
                    let interval = known.interval(result).filter(|_| {
                        let declared = |value: &usize| {
                            makers[*value].is_some_and(|i| known.graph.steps[i].rests_on_sample)
                        };
                        step.inputs.iter().any(declared)
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

impl Rebuilt {
    /// Appends a gather of elements of values of the other graph, and returns its result.
    fn gathered(
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
    fn declared(&mut self, value: usize, low: f64, high: f64, policy: Policy) -> usize {
        self.append_step(Operation::WithInterval { low, high }, vec![value], policy, true)
    }
}

/// Joins the matrices that one array is multiplied by to one matrix.
fn joined_matrices(known: &Known<'_>) -> Option<Graph> {
    let first = known.graph.first_results();
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, step) in known.graph.steps.iter().enumerate() {
        if columns_of(step).is_some() {
            groups.entry(step.inputs[0]).or_default().push(i);
        }
    }
    groups.retain(|_, steps| {
        let policy = known.graph.steps[steps[0]].policy;
        steps.len() > 1 && steps.iter().all(|i| known.graph.steps[*i].policy == policy)
    });
    if groups.is_empty() {
        return None;
    }
    let mut rebuilt = Rebuilt::new(known);
    for (i, step) in known.graph.steps.iter().enumerate() {
        let members = groups.get(&step.inputs[0]).filter(|steps| steps.contains(&i));
        let Some(members) = members else {
            rebuilt.keep(step, first[i]);
            continue;
        };
        if members[0] != i {
            continue;
        }
        let matrices: Vec<(&[f64], usize)> =
            members.iter().filter_map(|i| columns_of(&known.graph.steps[*i])).collect();
        let columns: usize = matrices.iter().map(|(_, columns)| columns).sum();
        let rows = matrices[0].0.len() / matrices[0].1;
        let joined = (0..rows).flat_map(|row| {
            matrices.iter().flat_map(move |(m, n)| m[row * n..(row + 1) * n].iter().copied())
        });
        let matrix = Plain::Reals(joined.collect());
        let input = rebuilt.values[step.inputs[0]];
        let product =
            rebuilt.append(Operation::MatmulPlain { matrix, columns }, vec![input], step.policy);
        let mut start = 0;
        for (member, (_, own)) in members.iter().zip(&matrices) {
            let value = first[*member];
            let shape = known.shape(value).to_vec();
            let count = known.size(value) / own;
            let places = (0..count)
                .flat_map(|row| (0..*own).map(move |j| Some(row * columns + start + j)))
                .collect();
            let part = Operation::Gather { shape, places };
            rebuilt.values[value] = rebuilt.append(part, vec![product], step.policy);
            start += own;
        }
    }
    Some(rebuilt.finished(&known.graph.outputs))
}

/// Returns the plain matrix that a step multiplies by from the right, with its number of columns.
fn columns_of(step: &Step) -> Option<(&[f64], usize)> {
    match &step.operation {
        Operation::MatmulPlain { matrix: Plain::Reals(matrix), columns } => {
            Some((matrix, *columns))
        }
        Operation::DotPlain(Plain::Reals(vector)) => Some((vector, 1)),
        _ => None,
    }
}

/// Adds products before they are relinearised.
fn added_products(known: &Known<'_>) -> Option<Graph> {
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

/// Computes like functions of several arrays at once, in slots that one array leaves free.
fn packed_functions(known: &Known<'_>) -> Option<Graph> {
    let first = known.graph.first_results();
    // Functions of one level do not depend on each other.
    let mut levels = vec![0usize; known.values.len()];
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for (i, step) in known.graph.steps.iter().enumerate() {
        let level = step.inputs.iter().map(|value| levels[*value]).max().unwrap_or(0);
        let is_member = is_packable(known, step);
        levels[first[i]..first[i] + step.results].fill(level + usize::from(is_member));
        if !is_member {
            continue;
        }
        let alike = groups.iter_mut().find(|(own, members)| {
            let other = &known.graph.steps[members[0]];
            let shapes = step.inputs.iter().zip(&other.inputs);
            *own == level
                && (&other.operation, other.policy) == (&step.operation, step.policy)
                && shapes.clone().all(|(a, b)| known.shape(*a) == known.shape(*b))
        });
        match alike {
            Some((_, members)) => members.push(i),
            None => groups.push((level, vec![i])),
        }
    }
    let groups: Vec<Vec<usize>> = groups
        .into_iter()
        .flat_map(|(_, members)| {
            let value = first[members[0]];
            let room = known.layout(value).slots() / known.size(value).next_power_of_two();
            let parts: Vec<_> = members.chunks(room.max(1)).map(<[usize]>::to_vec).collect();
            parts
        })
        .filter(|members| members.len() > 1)
        .collect();
    if groups.is_empty() {
        return None;
    }
    let group_of: BTreeMap<usize, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, members)| members.iter().map(move |i| (*i, group)))
        .collect();
    let mut rebuilt = Rebuilt::new(known);
    for unit in order_of_units(known, &groups, &group_of)? {
        match group_of.get(&unit) {
            Some(group) => rebuilt.packed(known, &groups[*group], &first),
            None => rebuilt.keep(&known.graph.steps[unit], first[unit]),
        }
    }
    Some(rebuilt.finished(&known.graph.outputs))
}

/// True for functions of elements whose results depend on nothing but the elements.
fn is_packable(known: &Known<'_>, step: &Step) -> bool {
    let is_function = match &step.operation {
        Operation::Apply(_) | Operation::ApplyNamed { .. } => true,
        Operation::OfSign { function, .. } => matches!(function, OfSign::Sign | OfSign::Positive),
        Operation::OfDifference { function, .. } => {
            matches!(function, OfDifference::Greater | OfDifference::Less)
        }
        _ => false,
    };
    let shape = known.shape(step.inputs[0]);
    is_function && step.inputs.iter().all(|value| known.shape(*value) == shape)
}

/// Returns the steps in an order in which all members of a group are computed with the first one.
/// The other members are left out. It is `None` if there is no such order.
fn order_of_units(
    known: &Known<'_>,
    groups: &[Vec<usize>],
    group_of: &BTreeMap<usize, usize>,
) -> Option<Vec<usize>> {
    let makers = known.makers();
    let unit_of = |step: usize| group_of.get(&step).map_or(step, |group| groups[*group][0]);
    let mut waits_for = vec![0usize; known.graph.steps.len()];
    let mut then: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, step) in known.graph.steps.iter().enumerate() {
        for maker in step.inputs.iter().filter_map(|value| makers[*value]) {
            waits_for[unit_of(i)] += 1;
            then.entry(unit_of(maker)).or_default().push(unit_of(i));
        }
    }
    let units: Vec<usize> =
        (0..known.graph.steps.len()).filter(|step| unit_of(*step) == *step).collect();
    let mut ready: BinaryHeap<Reverse<usize>> =
        units.iter().filter(|unit| waits_for[**unit] == 0).map(|unit| Reverse(*unit)).collect();
    let mut order = Vec::with_capacity(units.len());
    while let Some(Reverse(unit)) = ready.pop() {
        order.push(unit);
        for next in then.remove(&unit).unwrap_or_default() {
            waits_for[next] -= 1;
            if waits_for[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    (order.len() == units.len()).then_some(order)
}

impl Rebuilt {
    /// Appends one function of the operands of all members, and the parts of its result.
    fn packed(&mut self, known: &Known<'_>, members: &[usize], first: &[usize]) {
        let example = &known.graph.steps[members[0]];
        let (size, shape) = (known.size(first[members[0]]), known.shape(first[members[0]]));
        let stacked = [&[members.len()], shape].concat();
        let operands = (0..example.inputs.len()).map(|place| {
            let from: Vec<_> = members
                .iter()
                .flat_map(|i| {
                    let value = known.graph.steps[*i].inputs[place];
                    (0..size).map(move |element| Some((value, element)))
                })
                .collect();
            self.gathered(known, &from, &stacked, example.policy)
        });
        let operands = operands.collect();
        let operation = with_least_gap(known, members);
        let all = self.append(operation, operands, example.policy);
        for (k, member) in members.iter().enumerate() {
            let places = (k * size..(k + 1) * size).map(Some).collect();
            let part = Operation::Gather { shape: shape.to_vec(), places };
            self.values[first[*member]] = self.append(part, vec![all], example.policy);
        }
    }
}

/// Returns the common operation of comparisons with the smallest of their default gaps. Operations
/// without a default gap stay as they are.
fn with_least_gap(known: &Known<'_>, members: &[usize]) -> Operation {
    let mut operation = known.graph.steps[members[0]].operation.clone();
    let (Operation::OfSign { how, .. } | Operation::OfDifference { how, .. }) = &mut operation
    else {
        return operation;
    };
    if how.gap.is_none() {
        let bound = |member: &usize| match &known.graph.steps[*member].inputs[..] {
            [a, b] => known
                .interval(*a)
                .zip(known.interval(*b))
                .map_or(0.0, |(a, b)| (a.1 - b.0).abs().max((a.0 - b.1).abs())),
            inputs => known.interval(inputs[0]).map_or(0.0, |(low, high)| high.max(-low)),
        };
        let least = members.iter().map(bound).fold(f64::INFINITY, f64::min);
        let share = if how.at_ties == Ties::Half { 0.5 } else { 1.0 };
        how.gap = Some(share * least / 256.0);
    }
    operation
}

/// Moves a value once to the layout in which several steps use it.
fn shared_layouts(known: &Known<'_>) -> Option<Graph> {
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

#[cfg(test)]
mod tests {
    use hippocrene_ring::primes;
    use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
    use proptest::prelude::*;

    use super::super::{
        any::AnyKind,
        plain::PlainNumber,
        planner::{decided, values_of},
        recorder::Recorder,
        run::run,
        spec::{Spec, SpecKind},
    };
    use super::*;
    use crate::{Application, Error, KeyRequest, Numbers, Settings, Simulation};

    const SHAPE: [usize; 2] = [6, 4];
    const SIZE: usize = 24;

    /// Returns a recorder with ring degree `2^8` and 900 bits of capacity. Insecure.
    fn recorder() -> Recorder {
        let degree = 1 << 8;
        let parameters = Parameters::new_insecure(ParametersLiteral {
            log_degree: 8,
            units: primes::ntt_primes(48, degree, 20, &[]).unwrap(),
            specials: primes::ntt_primes(49, degree, 3, &[]).unwrap(),
            sprout: Sprout::for_degree(8).unwrap(),
            gadget_rank: 7,
            secret: SecretDistribution::Ternary,
        });
        let settings = Settings::at_scale(parameters.unwrap(), 40).unwrap();
        Recorder::new(settings, &KeyRequest::only([]), None).unwrap()
    }

    /// Performs operations as in the pattern of a rule on matrices `a` and `b` and on a `row`, and
    /// returns results.
    fn performed(
        recorder: &Recorder,
        kind: usize,
        [a, b, row]: [usize; 3],
        seed: usize,
    ) -> Result<Vec<usize>, Error> {
        let perform = |operation, inputs: &[usize]| -> Result<usize, Error> {
            Ok(recorder.perform(recorder.server(), operation, inputs)?[0])
        };
        let matrix = |seed: usize| {
            let entry = |i: usize| ((i * 37 + seed * 11) % 17) as f64 / 40.0 - 0.2;
            Plain::Reals((0..16).map(entry).collect())
        };
        let gather = |stride: usize| {
            let place = |i: usize| (i * (2 * stride + 1) + stride) % (2 * SIZE);
            let places = (0..SIZE).map(|i| (i % 7 != 3).then(|| place(i))).collect();
            Operation::Gather { shape: SHAPE.to_vec(), places }
        };
        let tanh = || Operation::ApplyNamed { name: "tanh".into(), how: Application::default() };
        Ok(match kind {
            0 => vec![perform(Operation::Add, &[a, b])?],
            1 => {
                let (p, q) = (perform(Operation::Mul, &[a, b])?, perform(Operation::Mul, &[b, b])?);
                vec![perform(Operation::Add, &[p, q])?]
            }
            2 => {
                let moved = perform(gather(seed), &[a, b])?;
                vec![perform(gather(seed + 1), &[moved, a])?]
            }
            3 => {
                let product = |seed| Operation::MatmulPlain { matrix: matrix(seed), columns: 4 };
                vec![perform(product(seed), &[a])?, perform(product(seed + 1), &[a])?]
            }
            4 => vec![perform(tanh(), &[a])?, perform(tanh(), &[b])?],
            5 => {
                let first = perform(Operation::Sum { axis: Some(1) }, &[a])?;
                let second = perform(Operation::Sum { axis: Some(1) }, &[b])?;
                let first = perform(Operation::Sub, &[first, row])?;
                let second = perform(Operation::Mul, &[second, row])?;
                let sum = perform(Operation::Add, &[first, second])?;
                let column = perform(Operation::InsertAxis { axis: 1 }, &[sum])?;
                vec![perform(Operation::BroadcastTo { shape: SHAPE.to_vec() }, &[column])?]
            }
            _ => vec![perform(Operation::MulNumber(PlainNumber::Real(0.25)), &[a])?],
        })
    }

    /// The values of the outputs of a graph, by a dry run that follows the values of its inputs.
    fn outputs(graph: &Graph, simulation: &Simulation) -> Vec<Vec<f64>> {
        let inputs = graph.inputs.iter().enumerate().map(|(k, spec)| {
            let size = spec.shape.iter().product();
            let value = |i: usize| ((i * (7 + k) + k) % 19) as f64 / 9.5 - 1.0;
            let sample: Vec<f64> = (0..size).map(value).collect();
            spec.stand_in(simulation, Some(&sample)).unwrap()
        });
        let found = run(graph, simulation.server(), inputs.collect(), |_, _| true).unwrap();
        let values = |array: &AnyArray| simulation.values(Numbers::of(array).unwrap()).unwrap();
        found.iter().map(|array| values(array).iter().map(|z| z.re).collect()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rewritten_graphs_have_the_same_results(
            steps in prop::collection::vec((0usize..7, any::<prop::sample::Index>(),
                any::<prop::sample::Index>(), 0usize..9), 2..9),
        ) {
            let recorder = recorder();
            let input = |name: &str, shape: &[usize]| {
                let spec = Spec::new(SpecKind::Numbers, shape.to_vec(), Some((-1.0, 1.0))).unwrap();
                recorder.input(name, spec, None).unwrap()
            };
            let mut values = vec![input("x", &SHAPE), input("y", &SHAPE)];
            let row = input("row", &SHAPE[..1]);
            for (kind, a, b, seed) in steps {
                let operands = [*a.get(&values), *b.get(&values), row];
                // Capacity may run out.
                if let Ok(results) = performed(&recorder, kind, operands, seed) {
                    values.extend(results);
                }
            }
            let last = &values[values.len().saturating_sub(3)..];
            let (mut graph, _) = recorder.graph(last).unwrap();
            let simulation = recorder.simulation();
            for rule in RULES {
                let known = Known { graph: &graph, values: values_of(&graph, simulation).unwrap() };
                let Some(rewritten) = rule(&known) else { continue };
                prop_assert!(rewritten.check().is_ok());
                let Ok(rewritten) = decided(rewritten, simulation) else { continue };
                let (before, after) = (outputs(&graph, simulation), outputs(&rewritten, simulation));
                prop_assert_eq!(before.len(), after.len());
                for (before, after) in before.iter().zip(&after) {
                    prop_assert_eq!(before.len(), after.len());
                    let largest = before.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                    for (x, y) in before.iter().zip(after) {
                        // Functions of other intervals have other polynomials.
                        prop_assert!((x - y).abs() <= 0.02 * largest, "{x} became {y}");
                    }
                }
                graph = rewritten;
            }
        }
    }
}
