//! Secret, public and switching keys.

mod encapsulation;
mod galois;
mod public;
mod rotation_tree;
mod rotations;
pub(crate) mod secret;
mod size;
mod switching;
mod transfer;

pub use encapsulation::{EncapsulationKeys, PreparedEncapsulationKeys};
pub use galois::{EvaluationKeys, PreparedEvaluationKeys};
pub use public::PublicKey;
pub use rotation_tree::{RotationNode, RotationTree};
pub use secret::{SecretKey, expand_uniform};
pub use size::KeySize;
pub use switching::{PreparedSwitchingKey, SwitchingKey};
pub use transfer::{PreparedTransferKey, TransferKey};
