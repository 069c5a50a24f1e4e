//! Key switching: hybrid (HK20), with a gadget for each modulus derived from one key (LAKS), and
//! with one modulus switch at the end.

pub(crate) mod components;
mod count;
mod decomposed;
pub(crate) mod decomposition;
mod destination;
mod digit;
mod double;
mod expanded;
mod gadget;
pub(crate) mod key_store;
pub(crate) mod operand;
mod operations;
mod planner;
mod product;
mod repeats;
mod rotation_factor;
mod rotation_sum;
mod switch;

pub use decomposed::Decomposed;
pub use destination::Destination;
pub use gadget::{Gadget, Method};
pub use key_store::DEFAULT_KEY_MEMORY_BYTES;
pub(crate) use operations::{Count, SwitchOperands};
pub use operations::{LimbOperations, Operations};
pub use rotation_factor::{LimbByLimb, RotationFactor, TermFactor};
pub use rotation_sum::{RotationSum, Summand, Term};
