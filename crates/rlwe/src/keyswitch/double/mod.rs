//! The double decomposition (Kim, Lee, Seo and Song, ePrint 2023/413; MG23 2.8 and 4).
//!
//! It works with the keys of any gadget, including coalesced keys, which LAKS (6) left open.
//!
//! The single decomposition computes the inner product of the digits `x_j` with the key's
//! components `b_j` modulo each factor of `P'Q`. The double decomposition also cuts `PQ_max` into
//! `omega~` groups `G_i`. For each group it computes the inner product over the integers, with the
//! residues `[b_j]_(G_i)` of the key:
//!
//! `sum_j x_j b_j = sum_j x_j [b_j]_(G_i) mod G_i`, with
//! `|sum_j x_j [b_j]_(G_i)| <= omega N (D/2) (G_i/2) < E/2`.
//!
//! Here all digits are modulo numbers up to `D`, and digits and residues are centred. So the sums
//! are determined by their residues modulo the `r` primes of a *shared basis* with product `E`.
//! These primes are independent of `Q`: they always have 48 bits. Digits and sums are transformed
//! modulo these primes, which takes `(omega + 2 omega~) r` transforms in place of
//! `(omega + 2)(l + k)`. Exact base conversion leads from `E` to the factors of `P'Q`. A modulus
//! switch from coefficients follows.
//!
//! **The same result.** The digits are the same integers as in the single decomposition, and so are
//! the inner products modulo `P'Q`. So the results are equal to the last bit. If there is no memory
//! for the key ([`crate::Context::set_key_memory`]), the single decomposition with the same gadget
//! is used.
//!
//! **One key.** Groups do not depend on the modulus. Numbers that are congruent modulo `G_i` are
//! also congruent modulo the factors of `G_i` that `P'Q` has. Specials and the sprout are in the
//! first groups, so that smaller moduli need fewer groups. If the digits or the groups in use are
//! small, the sums are small too, and a part of the basis is enough.
//!
//! **Memory.** The key has `omega omega~ r` pairs of polynomials in place of the `dnum (l + k)`
//! pairs of the base key. It is made one prime after the other (one for each thread). Meanwhile the
//! coefficients of its coalesced components are in memory too, in 8 bytes each. A key switch holds
//! the `2 omega~ r` limbs of the sums.
//!
//! **The sprout.** Its odd part and its power of two are factors of groups like all others. There
//! are no products modulo powers of two here.
//!
//! **Transforms** (MG23 Table 4). With `l` limbs of `Q`, a key switch needs:
//!
//! - `(omega + 2 omega~) r` transforms of digits and sums;
//! - `l` if the switched polynomial is in the evaluation domain;
//! - `l` for each added polynomial that is not in the domain of the result;
//! - `2l` if the result is in the evaluation domain.
//!
//! The factors of base conversion are in the last passes of inverse transforms or in the constants
//! of conversions. One pass is left, which makes the remainder of the modulus switch canonical. It
//! includes a factor at no cost.

mod constants;
mod key;
mod shape;
mod switch;

pub(super) use constants::Double;
pub(super) use shape::{DoubleShape, LARGEST_PRIME};
pub(super) use switch::Sums;
