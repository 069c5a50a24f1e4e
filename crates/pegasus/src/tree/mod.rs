//! Private decision trees (PEGASUS, section V.B).
//!
//! A server evaluates its own trees and forests on numbers that it cannot read, in a single round.
//!
//! The client's *query* is an RLWE ciphertext in the ring of the LWE secret itself, so features are
//! extracted without a key switch. Its modulus is the `2N` of the rotation exponents, so nothing is
//! rounded. The *reply* is one LWE ciphertext for each output. The steps in between are these:
//!
//! - **Comparisons.** Take the constant polynomial `c (1 + X + .. + X^(N-1))` and a number at
//!   position `x` in `[0, N)`. A blind rotation of the polynomial by the number has `c` in
//!   coefficient `t` where `x <= t`, and `-c` where `x > t`. So *one* rotation compares a number
//!   with all its thresholds, however many nodes use it. The only noise is that of the rotation. A
//!   feature is sent as several such numbers, its digits, each finer than the one before. The
//!   server uses as many of them as a threshold needs. Each digit after the first costs one more
//!   rotation for the threshold.
//! - **Blocks.** A tree is cut into subtrees. The outcomes of the comparisons inside one are
//!   counted for each feature and added up in mixed radix, which gives a state below `S`. Every
//!   feature whose bounds on the path to the subtree do not hold adds `S` to it. A table of this
//!   sum has the value of the leaf for states below `S`, and 0 beyond. So the sum of all blocks is
//!   the value of the leaf that is reached. Blocks are as large as possible while their states can
//!   be distinguished. The paper has one table for each node and one for each leaf, which are
//!   blocks of one state.
//! - **Reply.** The sum is switched back to the LWE secret, and to the smallest modulus at which it
//!   has the requested precision.
//!
//! If the feature is [`TreeParameters::margin`] positions of the last digit away from the
//! threshold, a comparison is wrong in one of `10^10` cases. [`TreePlan::log2_failure_probability`]
//! is log2 of the probability that one sum is mistaken for another. The reply's noise is not
//! flooded, so it may reveal something about the trees to the owner of the secret key.

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
