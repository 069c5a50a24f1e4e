//! Like functions of several arrays.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::rebuilt::{Known, Rebuilt};
use crate::{
    programs::operation::{Graph, OfDifference, OfSign, Operation, Step},
    server::Ties,
};

/// Computes like functions of several arrays at once, in slots that one array leaves free.
pub(super) fn packed_functions(known: &Known<'_>) -> Option<Graph> {
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
                && (is_comparison(step)
                    || shapes.clone().all(|(a, b)| known.interval(*a) == known.interval(*b)))
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

/// True for comparisons, whose errors do not depend on the interval if the gap is given. The errors of
/// other functions depend on it, so these are packed only for equal intervals.
fn is_comparison(step: &Step) -> bool {
    matches!(step.operation, Operation::OfSign { .. } | Operation::OfDifference { .. })
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
