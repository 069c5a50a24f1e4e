//! PEGASUS: encrypted numbers move between slots and single ciphertexts (Lu, Huang, Hong, Ma and
//! Qu, ePrint 2020/1606; Fig. 6).
//!
//! In the slots of a CKKS ciphertext, numbers are added and multiplied all at once. In LWE
//! ciphertexts of one number each, any function is evaluated by a look-up table.
//!
//! ```text
//! slots --to_coefficients--> Coefficients --extract--> Numbers --look_up--> Numbers --repack--> slots
//! ```
//!
//! [`PegasusPlan`] holds everything that needs no key: transforms, moduli, scales, the rotations
//! that need keys, and the failure probability. [`Pegasus`] is the plan with the keys of a client.
//! It runs single steps, or all of them ([`Pegasus::lut`]).
//!
//! Between extraction and repacking, [`Numbers`] can be added, subtracted, multiplied by integers
//! and looked up any number of times (section IV.C.1). A [`Layout`] states the slot of each number
//! (section IV.C.2).

mod coefficients;
mod error;
mod extract;
mod function;
mod k_means;
mod keys;
mod larger;
mod layout;
mod look_up;
mod modulo;
mod numbers;
mod order;
mod pegasus;
mod places;
mod plan;
mod ranks;
mod repack;
mod sign;
mod tables;
mod tangents;
mod tournament;
mod tree;

pub use coefficients::Coefficients;
pub use error::PegasusError;
pub use function::Function;
pub use k_means::{IterationTimes, KMeans, KMeansPlan, KMeansState, SMALL_CLUSTER_SHARE, Shape};
pub use keys::{PegasusKeys, PegasusSecrets, RepackingKey};
pub use larger::Extremum;
pub use layout::Layout;
pub use numbers::Numbers;
pub use pegasus::Pegasus;
pub use plan::{PegasusLiteral, PegasusPlan, SwitchingDigits};
pub use tables::Tables;
pub use tangents::Tangents;
pub use tree::{
    DecisionTree, FeatureRanges, PreparedTreeKeys, TreeKeys, TreeModel, TreeNode, TreeParameters,
    TreePlan, TreeQuery, TreeReply, TreeSecrets,
};
