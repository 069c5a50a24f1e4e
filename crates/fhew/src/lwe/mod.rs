//! LWE parameters, secrets, ciphertexts, and their extraction from RLWE ciphertexts.

mod ciphertext;
mod extract;
mod modulus;
mod parameters;
mod secret;
mod seeded;

pub use ciphertext::LweCiphertext;
pub use extract::RlweCoefficients;
pub use parameters::LweParameters;
pub use secret::LweSecretKey;
pub use seeded::SeededCoefficients;
