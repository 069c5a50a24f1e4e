//! Circuits made of the evaluator's operations: sums over slots, sums of products, linear
//! transforms, powers, polynomials. Their products are those of the evaluator's scheme.

mod linear_transform;
mod matrix;
mod polynomial;
mod polynomial_evaluation;
mod powers;
mod products;
mod sums;

pub use linear_transform::{LinearTransform, Permutation};
pub use matrix::Matrix;
pub use polynomial::Polynomial;
