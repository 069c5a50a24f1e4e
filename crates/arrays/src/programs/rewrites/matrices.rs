//! Several plain matrices of one array.

use std::collections::BTreeMap;

use super::rebuilt::{Known, Rebuilt};
use crate::programs::{
    operation::{Graph, Operation, Step},
    plain::Plain,
};

/// Joins the matrices that one array is multiplied by to one matrix.
pub(super) fn joined_matrices(known: &Known<'_>) -> Option<Graph> {
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
