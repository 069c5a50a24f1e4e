//! Circuits made of the evaluator's operations: linear transforms, sums, polynomials, and the homomorphic DFT.

mod dft;
mod linear_transform;
mod polynomial;
mod polynomial_evaluation;
mod sums;

pub use dft::{DftLevel, Direction, HomomorphicDft, Packing};
pub use linear_transform::{FreshTransform, LinearTransform};
pub use polynomial::{Basis, Polynomial};
