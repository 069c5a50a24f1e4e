//! Circuits made of the evaluator's operations: linear transforms, sums, powers, polynomials, the
//! homomorphic DFT, and comparisons.

pub mod comparison;
mod composition;
mod dft;
mod entries;
mod entries_of_sines;
mod hermite;
mod linear_transform;
mod polynomial;
mod polynomial_evaluation;
mod polynomial_noise;
mod power;
mod sums;
mod trace;
mod tracked_errors;

pub use dft::{DftLevel, Direction, HomomorphicDft, Packing};
pub use entries::{EntriesLiteral, EntriesPlan};
pub use entries_of_sines::SineEntriesPlan;
pub use linear_transform::{LinearTransform, OneTimeTransform, Spread};
pub use polynomial::{Basis, Polynomial};
pub use tracked_errors::SlotValues;
