//! Key switching: hybrid (HK20), with a gadget chosen for each modulus from one key (LAKS), in one
//! pass that ends in one modulus switch.

mod count;
mod decomposed;
pub(crate) mod decomposition;
mod double;
pub(crate) mod expanded;
mod gadget;
pub(crate) mod operand;
mod operations;
mod planner;
mod product;
mod repeats;
mod rotation_factor;
mod rotation_sum;
mod switch;

pub(crate) use count::expanded_bytes;
pub use decomposed::Decomposed;
pub use expanded::DEFAULT_KEY_MEMORY;
pub use gadget::{Gadget, Method};
pub(crate) use operations::Count;
pub use operations::{LimbOperations, Operations};
pub use rotation_factor::{LimbByLimb, RotationFactor, TermFactor};
pub use rotation_sum::{RotationSum, Summand, Term};
pub use switch::Destination;
