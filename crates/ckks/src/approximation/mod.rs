//! Polynomials that stand for other functions, each with a bound of its error that is computed, not
//! hoped for.
//!
//! - [`interpolate`] at Chebyshev nodes, for smooth functions on an interval; [`interpolate_to`] a
//!   wanted error.
//! - [`minimax`]: the best polynomial on an interval, or on several (Remez); [`best`] and
//!   [`best_to`] a wanted error, of functions of whom nothing need be known.
//! - [`ModularReduction`]: `x - round(x)` near the integers, as bootstrapping needs it (HK20).
//! - [`Wave`]: a cosine of period 1, as bootstrapping of bits needs it.
//! - [`sign`]: compositions of polynomials that come close to the sign, for comparisons.
//!
//! An error bound holds for the polynomial with the coefficients that it has, in exact arithmetic;
//! noise comes on top.

mod best;
mod cosine;
mod error_bound;
mod interpolation;
mod least_degree;
mod minimax;
mod modular_reduction;
mod newton;
mod nodes;
pub mod sign;
mod wave;

pub use best::{best, best_to};
pub use cosine::{Cosine, CosineInterpolation};
pub use error_bound::Smoothness;
pub use interpolation::{Approximation, interpolate, interpolate_to};
pub use least_degree::Coefficients;
pub use minimax::{Parity, minimax};
pub use modular_reduction::ModularReduction;
pub use wave::Wave;
