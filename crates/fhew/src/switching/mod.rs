//! LWE key switching from one dimension to a smaller one, by ring packing (PEGASUS Fig. 9, after
//! Chen, Dai, Kim and Song).
//!
//! Let `g = N/n`. The secret `s` of dimension `N` is read in strides: `S_v = sum_l s_(v + g l) Y^l`
//! for `v < g`. Then two kinds of inner products become sums of `g` products in
//! `R_n = Z_q[Y]/(Y^n + 1)`:
//!
//! - A single value: `<a, s>` is the constant coefficient of `sum_v A_v S_v` with
//!   `A_v = a_v - sum_(l > 0) a_(v + g l) Y^(n - l)`.
//! - `n` coefficients of an RLWE ciphertext of degree `N` at once. With `c1 = sum_u X^u C_u(X^g)`,
//!   the coefficients `r, r + g, r + 2g, ..` of `c1 s` are those of `sum_v A_v S_v` with
//!   `A_v = C_(r - v)` for `v <= r` and `A_v = Y C_(r - v + g)` otherwise.
//!
//! The key holds RLWE encryptions of the `S_v` times the weights of a digit gadget. (The paper
//! reads `s` in blocks instead, which suits single values only.) With `count` digits, a switch
//! needs `g count` transforms of degree `n` and an inner product of `g count` terms, for one value
//! or for `n` of them.

mod count;
mod key;
mod switch;

pub use key::LweSwitchingKey;
pub use switch::PreparedLweSwitchingKey;
