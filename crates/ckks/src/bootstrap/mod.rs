//! Bootstrapping: a ciphertext whose modulus is used up is given a large one again (Cheon, Han,
//! Kim, Kim, Song, ePrint 2018/153; HK20; GRAFT 2.3 and F).
//!
//! A ciphertext modulo a small `q0` that decrypts to `m` decrypts to `t = m + q0 I` modulo a large
//! `Q`, with a small integer polynomial `I`: the modulus is *raised*. The coefficients of `t/q0`
//! are brought into slots ([`crate::circuits::HomomorphicDft`]), where `x -> x - round(x)` takes
//! `I` away ([`crate::approximation::ModularReduction`]), and `m/q0` is left; the slots go back
//! into coefficients. [`Order`] says whether that last step is done at the end, or first of all, at
//! a small modulus, on what is to be bootstrapped.
//!
//! [`BootstrapPlan`] is everything that can be said without a key: transforms, scales, moduli, the
//! rotations whose keys are needed, the failure probability. [`Bootstrapper`] is the plan with the
//! keys of a client.

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
pub use plan::BootstrapPlan;
pub(crate) use plan::narrow;
