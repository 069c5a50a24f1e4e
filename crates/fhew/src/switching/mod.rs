//! LWE key switching: from one dimension to a smaller one, as ring packing (PEGASUS Fig. 9, after
//! Chen, Dai, Kim and Song).
//!
//! With `g = N/n` and the secret `s` of dimension `N` read in strides, `S_v = sum_l s_(v + g l)
//! Y^l` for `v < g`, two inner products become sums of `g` products in `R_n = Z_q[Y]/(Y^n + 1)`:
//!
//! - of a value: `<a, s>` is the constant coefficient of `sum_v A_v S_v` with `A_v = a_v -
//!   sum_(l > 0) a_(v + g l) Y^(n - l)`;
//! - of `n` coefficients of an RLWE ciphertext of degree `N` at once: with `c1 = sum_u X^u
//!   C_u(X^g)`, the coefficients `r, r + g, r + 2g, ..` of `c1 s` are those of `sum_v A_v S_v` with
//!   `A_v = C_(r - v)` for `v <= r` and `Y C_(r - v + g)` for the others.
//!
//! The key holds RLWE encryptions of the `S_v` times the weights of a digit gadget (the paper reads
//! `s` in blocks, which serves single values only). A switch costs `g count` transforms of degree
//! `n` and as many terms of an inner product: for one value, or for `n` of them.

mod count;
mod key;
mod switch;

pub use key::LweSwitchingKey;
pub use switch::PreparedLweSwitchingKey;
