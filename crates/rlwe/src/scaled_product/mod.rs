//! Products over the integers, scaled: those of BFV.
//!
//! For ciphertexts `a` modulo `Q` and `b` modulo `Q_b` with `a0 + a1 s = A` and `b0 + b1 s = B`,
//! the scaled product is one modulo `Q` with `(t/Q_b) A B`, in residues only (Halevi, Polyakov and
//! Shoup, ePrint 2018/117), by the way of Kim, Polyakov and Zucca (ePrint 2021/204, section 4.3;
//! MG23 2.3): with an *auxiliary modulus* `R` of about the size of `Q`, and coprime to it,
//!
//! 1. `b` is switched to `R`: `b' = round((R/Q_b) b)`, known modulo `R` and from there, as the
//!    integer in `[-R/2, R/2)` that it is, modulo `Q`;
//! 2. `a` is taken from modulo `Q` to modulo `R` as the integer in `[-Q/2, Q/2)` that it is;
//! 3. the tensor product `x` of `a` and `b'` is taken modulo `Q R`, which is as good as over the
//!    integers: multiples of `Q R` become multiples of `t Q`;
//! 4. `y = round((t/R) x) = (t x - delta)/R` modulo `Q`, with `delta = t x mod R`, centred.
//!
//! `Q_b` may be any modulus coprime to `R`: where `b` is to come down to `Q` before the product,
//! that is this very switch.
//!
//! **What is saved.** A switch and a lift of both parts of `b`, and a lift and a scaling of others,
//! are `9 l r` pairs of limbs of base conversion, all exact. Operands are in the evaluation domain,
//! and so is the result. Of the `3 l` limbs that `(t/R) x` has modulo `Q`, only those of `y2` are
//! transformed back, whose coefficients the key switch decomposes. For the other two parts `(t/R)
//! x` stays in the evaluation domain and `-delta/R` in coefficients: a key switch adds both, the
//! latter to what it transforms anyway. That makes `7 (l + r)` transforms (`5 l + 7 r` for a
//! square) where all that is in coefficients takes `9 l + 7 r`. Factors `t/R` are in the constants
//! of base conversions and last passes of inverse transforms.
//!
//! **Sums.** Tensor products are added up modulo `Q R` before the fourth step, and the sum is
//! scaled and relinearised once ([`ScaledSum`]): each product but the first takes `6 l + 4 r`
//! transforms.

mod constants;
mod product;
mod sum;
#[cfg(test)]
mod tests;

pub(crate) use constants::ScaledProduct;
pub use sum::ScaledSum;
