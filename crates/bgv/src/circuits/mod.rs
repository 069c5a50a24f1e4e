//! Circuits made of the evaluator's operations: sums over slots, sums of products, linear transforms, powers, polynomials.
//!
//! Sums of products and polynomials are computed in the manner of BGV whatever the evaluator's scheme: ciphertexts are the same in both, and sums before relinearisation need one modulus.

mod linear_transform;
mod matrix;
mod polynomial;
mod polynomial_evaluation;
mod powers;
mod sums;

pub use linear_transform::{LinearTransform, Permutation};
pub use matrix::Matrix;
pub use polynomial::Polynomial;
