//! FHEW: LWE ciphertexts of single numbers and the operations on them.
//!
//! The operations are sums, key switching between dimensions, look-up tables by blind rotation, and
//! gates of single bits (paper PEGASUS, sections II to IV.A and its appendices).
//!
//! An LWE ciphertext `(b, a)` of a message `m` modulo `q` under the secret `s` satisfies
//! `b + <a, s> = m + e mod q`. RLWE ciphertexts satisfy the same equation with `c0 + c1 s`, and
//! [`RlweCoefficients::extract`] turns their coefficients into LWE ciphertexts. Messages are
//! residues modulo `q`. A real number `x` at the scale `D` is the message `round(D x)`. The caller
//! keeps track of `D`.

mod dry_run;
mod error;
mod gates;
mod lwe;
mod noise;
mod preset;
mod rotation;
mod samples;
mod switching;

pub use error::FhewError;
pub use gates::{GateEvaluator, GateKeys, GateParameters, GateSecretKey, MIN_GATE_DEVIATIONS};
pub use lwe::{LweCiphertext, LweParameters, LweSecretKey, RlweCoefficients, SeededCoefficients};
pub use preset::Preset;
pub use rotation::{
    BlindRotationKey, LOOK_UP_OPERATION, LookupTable, LookupTables, PreparedBlindRotationKey,
    RotationGadget, RotationParameters,
};
pub use switching::{LweSwitchingKey, PreparedLweSwitchingKey};
