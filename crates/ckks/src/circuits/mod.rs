//! Circuits made of the evaluator's operations: linear transforms, sums, polynomials.

mod linear_transform;
mod polynomial;
mod polynomial_evaluation;
mod sums;

pub use linear_transform::LinearTransform;
pub use polynomial::{Basis, Polynomial};
