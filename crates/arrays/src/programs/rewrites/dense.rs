//! Arrays that lie in more ciphertexts than their elements need.
//!
//! The time of a function grows with the number of ciphertexts, and a move takes far less.

use super::rebuilt::{Known, Rebuilt};
use crate::{
    Layout,
    programs::operation::{Graph, Operation},
};

/// Packs the operands of functions into as few ciphertexts as possible.
pub(super) fn dense_operands(known: &Known<'_>) -> Option<Graph> {
    let is_sparse = |value: usize| {
        let own = known.layout(value);
        let packed = Layout::packed(known.shape(value), own.slots());
        packed.is_ok_and(|packed| packed.ciphertexts() < own.ciphertexts())
    };
    moved_operands(known, |operation, inputs| {
        let of_elements = matches!(
            operation,
            Operation::Apply(_)
                | Operation::ApplyNamed { .. }
                | Operation::OfSign { .. }
                | Operation::OfDifference { .. }
                | Operation::Polynomial { .. }
                | Operation::Entries { .. }
                | Operation::IsNearZero { .. }
        );
        (of_elements && inputs.iter().any(|value| is_sparse(*value))).then_some(Operation::Pack)
    })
}

/// Leaves free slots beside the rows of an array, for a product with a matrix of more columns.
///
/// The rows of the product then have the places of those of the array. Otherwise they may lie in
/// many ciphertexts.
pub(super) fn spread_rows(known: &Known<'_>) -> Option<Graph> {
    moved_operands(known, |operation, inputs| {
        let (Operation::MatmulPlain { columns, .. }, [value]) = (operation, inputs) else {
            return None;
        };
        let [rows, width] = *known.shape(*value) else { return None };
        let layout = known.layout(*value);
        let needed = Layout::packed(&[rows, *columns], layout.slots()).ok()?;
        let fits = layout.strides()[0] >= *columns * layout.strides()[1];
        let strides = needed.strides().to_vec();
        (width < *columns && !fits).then_some(Operation::Relayout { strides })
    })
}

/// Moves the operands of the steps for which `moves` returns an operation. It takes the operation
/// of the step and its operands.
fn moved_operands(
    known: &Known<'_>,
    moves: impl Fn(&Operation, &[usize]) -> Option<Operation>,
) -> Option<Graph> {
    let (first, mut rebuilt, mut found) = (known.graph.first_results(), Rebuilt::new(known), false);
    for (i, step) in known.graph.steps.iter().enumerate() {
        let Some(operation) = moves(&step.operation, &step.inputs) else {
            rebuilt.keep(step, first[i]);
            continue;
        };
        found = true;
        let moved = step.inputs.iter().map(|value| rebuilt.values[*value]).collect::<Vec<_>>();
        let moved: Vec<usize> = moved
            .into_iter()
            .map(|value| rebuilt.append(operation.clone(), vec![value], step.policy))
            .collect();
        let (own, rests) = (step.operation.clone(), step.rests_on_sample);
        rebuilt.values[first[i]] = rebuilt.append_step(own, moved, step.policy, rests);
    }
    found.then(|| rebuilt.finished(&known.graph.outputs))
}
