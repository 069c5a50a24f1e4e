//! Bootstrapping: gives a large modulus to a ciphertext whose modulus is used up (Cheon, Han, Kim,
//! Kim, Song, ePrint 2018/153; HK20; GRAFT 2.3 and F).
//!
//! A ciphertext modulo a small `q0` that decrypts to `m` decrypts to `t = m + q0 I` modulo a large
//! `Q`, with a small integer polynomial `I`. Reading it modulo `Q` *raises* the modulus. Then the
//! coefficients of `t/q0` are moved into slots ([`crate::circuits::HomomorphicDft`]). There the
//! function `x - round(x)` removes `I` ([`crate::approximation::ModularReduction`]) and leaves
//! `m/q0`. The slots are moved back into coefficients. [`Order`] tells whether that step comes
//! last, or first, at a small modulus, on the operand.
//!
//! [`BootstrapPlan`] holds everything that does not depend on keys: transforms, scales, moduli, the
//! rotations whose keys are needed, and the failure probability. [`Bootstrapper`] is the plan with
//! the keys of a client.

mod approximation;
mod bootstrapper;
mod failure;
mod gains;
mod input;
mod iterated;
mod keys;
mod literal;
mod phases;
mod plan;
mod reduction;
mod run;

pub use bootstrapper::Bootstrapper;
pub use failure::log2_failure_probability;
pub use literal::{BootstrapLiteral, Order};
pub(crate) use plan::sparse_context;
pub use plan::{BootstrapPlan, SineUse};
pub use run::{SineErrors, Sines};
