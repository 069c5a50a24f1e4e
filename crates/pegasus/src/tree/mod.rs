//! Private decision trees (PEGASUS V.B): a server evaluates trees and forests of its own on numbers
//! that it cannot read, in a single round.
//!
//! The client's *query* is an RLWE ciphertext in the ring of the LWE secret itself, so that
//! features are extracted without a change of keys, and modulo the `2N` that rotations turn by, so
//! that nothing is rounded; the *reply* is one LWE ciphertext for each output. Between them:
//!
//! - **Comparisons.** A blind rotation of the constant polynomial `c (1 + X + .. + X^(N-1))` by a
//!   number at position `x` in `[0, N)` has `c` in coefficient `t` where `x <= t`, and `-c` where
//!   `x > t`. So *one* rotation compares a number with all its thresholds, however many nodes have
//!   it, and without any noise but the rotation's. A feature is sent as several such numbers, its
//!   digits, each finer than the one before. The server uses as many of them as a threshold needs:
//!   each digit after the first takes one more rotation for the threshold.
//! - **Blocks.** A tree is cut into subtrees. The outcomes inside of one, counted for each feature
//!   and added up in mixed radix, are a state below `S`; every feature whose bounds on the path to
//!   the subtree do not hold adds `S` to it. One table of the sum has the value of the leaf for
//!   states below `S` and 0 beyond, so that the sum of all blocks is the value of the leaf that is
//!   reached. Blocks are as large as states can be told apart. The paper has one table for each
//!   node, and one for each leaf: blocks of one state.
//! - **Reply.** The sum goes back to the LWE secret and to the smallest modulus at which it is as
//!   precise as asked for.
//!
//! A comparison is certain, but for one in `10^10`, for features that are
//! [`TreeParameters::margin`] positions of the last digit away from the threshold. Sums are told
//! apart with the probability of [`TreePlan::log2_failure_probability`]. The reply's
//! noise is not flooded: it may tell something of the trees to who has the secret key.

mod blocks;
mod comparison;
mod evaluate;
mod keys;
mod model;
mod parameters;
mod plan;
mod query;
mod ranges;

pub use evaluate::PreparedTreeKeys;
pub use keys::{TreeKeys, TreeSecrets};
pub use model::{DecisionTree, TreeModel, TreeNode};
pub use parameters::TreeParameters;
pub use plan::TreePlan;
pub use query::{TreeQuery, TreeReply};
pub use ranges::FeatureRanges;
