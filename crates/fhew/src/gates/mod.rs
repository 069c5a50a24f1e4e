//! Gates of single bits, each by a blind rotation.
//!
//! The scheme is FHEW (Ducas and Micciancio, ePrint 2014/816). The order of the steps and the
//! multiplexer are those of TFHE (ePrint 2018/421).
//!
//! A bit is the message `q/8` or `-q/8` under the ring's secret, where `q` is the modulus of the
//! ring. A gate is the sign of a linear form of its bits, turned around the circle by a number of
//! eighths. [`GateParameters`] states the cost of a gate and its failure probability. A gate has
//! three steps:
//!
//! 1. It computes the linear form modulo `q`.
//! 2. It switches to the modulus and the secret of the rotation's inputs (PEGASUS Fig. 9).
//! 3. It rotates a test polynomial whose coefficients are all `q/8` (PEGASUS Fig. 2), and extracts
//!    the constant coefficient.
//!
//! The error of a result is that of the rotation alone, whatever the errors of the operands were.
//! So circuits of any depth are possible.

mod evaluate;
mod keys;
mod linear_form;
mod parameters;
mod secret;

pub use evaluate::GateEvaluator;
pub use keys::GateKeys;
pub use parameters::{GateParameters, MIN_GATE_DEVIATIONS};
pub use secret::GateSecretKey;
