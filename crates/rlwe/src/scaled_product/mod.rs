//! Scaled products over the integers, as BFV needs them.
//!
//! Let `a` be a ciphertext modulo `Q` with `a0 + a1 s = A`, and `b` one modulo `Q_b` with
//! `b0 + b1 s = B`. Their scaled product is a ciphertext of `(t/Q_b) A B` modulo `Q`. It is
//! computed with residues only (Halevi, Polyakov and Shoup, ePrint 2018/117), by the method of Kim,
//! Polyakov and Zucca (ePrint 2021/204, section 4.3; MG23 2.3). The method needs an *auxiliary
//! modulus* `R` of about the size of `Q` and coprime to it:
//!
//! 1. `b` is switched to `R`: `b' = round((R/Q_b) b)` is computed modulo `R`. From there it is
//!    converted to modulo `Q`, as an integer in `[-R/2, R/2)`.
//! 2. `a` is converted from modulo `Q` to modulo `R`, as an integer in `[-Q/2, Q/2)`.
//! 3. The tensor product `x` of `a` and `b'` is computed modulo `Q R`. This is as good as over the
//!    integers, because multiples of `Q R` become multiples of `t Q`.
//! 4. `y = round((t/R) x) = (t x - delta)/R` is computed modulo `Q`, with the centred remainder
//!    `delta = t x mod R`.
//!
//! `Q_b` may be any modulus coprime to `R`. If `b` has to be brought down to `Q` before the
//! product, the switch of step 1 does that too.
//!
//! **Cost.** A switch and a lift of both parts of `b`, a lift of those of `a`, and the scaling take
//! `9 l r` pairs of limbs of exact base conversion. Operands and result are in the evaluation
//! domain. Of the `3 l` limbs of `(t/R) x` modulo `Q`, only those of `y2` are transformed back,
//! because the key switch decomposes its coefficients. For the other two parts, `(t/R) x` stays in
//! the evaluation domain and `-delta/R` in coefficients. The key switch adds both, the latter to
//! coefficients that it transforms anyway. So a product takes `7 (l + r)` transforms, and a square
//! `5 l + 7 r`, in place of `9 l + 7 r` with everything in coefficients. The factors `t/R` are in
//! the constants of base conversions and in the last passes of inverse transforms.
//!
//! **Sums.** Tensor products are added modulo `Q R` before the fourth step. The sum is scaled and
//! relinearised once ([`ScaledSum`]). Each product after the first one takes `6 l + 4 r`
//! transforms.

mod constants;
mod product;
mod sum;
#[cfg(test)]
mod tests;

pub(crate) use constants::ScaledProduct;
pub use sum::ScaledSum;
