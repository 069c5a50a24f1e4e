//! FHEW: LWE ciphertexts of single numbers, and what is done to them: sums, key switching between
//! dimensions, look-up tables by blind rotation (paper PEGASUS, sections II to IV.A and its
//! appendices).
//!
//! An LWE ciphertext `(b, a)` of a message `m` modulo `q` under the secret `s` satisfies `b + <a,
//! s> = m + e mod q`, as RLWE ciphertexts do with `c0 + c1 s`; coefficients of those become LWE
//! ciphertexts by [`RlweCoefficients::extract`]. Messages are residues modulo `q`; a real number
//! `x` at the scale `D` is the message `round(D x)`, and who computes keeps `D`.

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
pub use gates::{CERTAIN_DEVIATIONS, GateEvaluator, GateKeys, GateParameters, GateSecretKey};
pub use lwe::{LweCiphertext, LweParameters, LweSecretKey, RlweCoefficients, SeededCoefficients};
pub use preset::Preset;
pub use rotation::{
    BlindRotationKey, LOOK_UP, LookupTable, LookupTables, PreparedBlindRotationKey, RotationGadget,
    RotationParameters,
};
pub use switching::{LweSwitchingKey, PreparedLweSwitchingKey};
