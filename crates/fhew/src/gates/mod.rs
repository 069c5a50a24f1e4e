//! Gates of single bits, each a blind rotation (FHEW: Ducas and Micciancio, ePrint 2014/816; the
//! order of steps and the multiplexer are TFHE's, ePrint 2018/421).
//!
//! A bit is the message `q/8` or `-q/8` under the ring's secret, with the modulus `q` of the ring.
//! A gate is the sign of a linear form of its bits, at which the circle is turned by eighths
//! ([`GateParameters`] has what it costs and how sure it is):
//!
//! 1. the linear form, modulo `q`;
//! 2. the switch to the modulus and the secret of inputs (PEGASUS Fig. 9);
//! 3. the rotation of a test polynomial whose coefficients are all `q/8` (PEGASUS Fig. 2), and the
//!    extraction of its constant coefficient.
//!
//! The error of a result is that of the rotation alone, whatever the errors of the operands were:
//! there is no limit of depth.

mod evaluate;
mod keys;
mod parameters;
mod reading;
mod secret;

pub use evaluate::GateEvaluator;
pub use keys::GateKeys;
pub use parameters::{CERTAIN_DEVIATIONS, GateParameters};
pub use secret::GateSecretKey;
