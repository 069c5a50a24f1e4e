//! Polynomials that stand for other functions, each with a bound of its error that is computed, not hoped for: [`interpolate`] at
//! Chebyshev nodes and the reduction modulo 1 that bootstrapping needs ([`ModularReduction`], HK20).

mod cosine;
mod error_bound;
mod interpolation;
mod least_degree;
mod modular_reduction;
mod newton;
mod nodes;

pub use cosine::{Cosine, CosineInterpolation};
pub use error_bound::Smoothness;
pub use interpolation::{Approximation, interpolate, interpolate_to};
pub use least_degree::Coefficients;
pub use modular_reduction::ModularReduction;
