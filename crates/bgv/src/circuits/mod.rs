//! Circuits made of the operations of the evaluator: sums over slots, sums of products, linear
//! transforms, powers and polynomials. Their products use the scheme of the evaluator.

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
