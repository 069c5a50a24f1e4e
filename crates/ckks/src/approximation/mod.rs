//! Polynomials that approximate other functions, each with a computed bound of its error.
//!
//! - [`interpolate`] at Chebyshev nodes, for smooth functions on an interval, and
//!   [`interpolate_to`] with a given error.
//! - [`minimax`]: the best polynomial on one or several intervals (Remez). [`best`] and [`best_to`]
//!   are for functions about which nothing is known.
//! - [`Pieces`]: polynomials between the jumps and kinks of a function, which it finds.
//! - [`ModularReduction`]: `x - round(x)` near the integers, for bootstrapping (HK20).
//! - [`Wave`]: a cosine of period 1, for bootstrapping of bits.
//! - [`sign`]: compositions of polynomials that approximate the sign, for comparisons.
//!
//! An error bound holds for the polynomial with its actual coefficients, in exact arithmetic. The
//! noise of ciphertexts comes on top.

mod best;
mod cosine;
mod error_bound;
mod interpolation;
mod least_degree;
mod minimax;
mod modular_reduction;
mod newton;
mod nodes;
mod pieces;
pub mod sign;
mod wave;

pub use best::{best, best_to};
pub use cosine::{Cosine, CosineInterpolation};
pub use error_bound::Smoothness;
pub use interpolation::{Approximation, interpolate, interpolate_to};
pub use least_degree::Coefficients;
pub use minimax::{Parity, minimax};
pub use modular_reduction::ModularReduction;
pub use pieces::{Break, MAX_BREAKS, Pieces, Side, range_of};
pub use wave::Wave;
