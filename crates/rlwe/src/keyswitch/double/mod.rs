//! The double decomposition (Kim, Lee, Seo and Song, ePrint 2023/413; MG23 2.8 and 4), on the keys
//! of any gadget: coalesced ones too, which LAKS (6) left open.
//!
//! The single decomposition takes the inner product of the digits `x_j` with the key's components
//! `b_j` modulo each factor of `P'Q`. This one cuts `PQ_max` into `omega~` groups `G_i` once more
//! and takes it over the integers, for each group with the residues `[b_j]_(G_i)`:
//!
//! `sum_j x_j b_j = sum_j x_j [b_j]_(G_i) mod G_i`, with `|sum_j x_j [b_j]_(G_i)| <= omega N (D/2)
//! (G_i/2) < E/2`,
//!
//! for all digits modulo numbers up to `D`, centred like the residues. So sums are known from what
//! they are modulo the `r` primes of a *shared basis* with product `E`, which need have nothing to
//! do with `Q`: they are of 48 bits whatever the primes of `Q` are. In these the digits and the
//! sums are transformed, `(omega + 2 omega~) r` limbs, in place of `(omega + 2)(l + k)`. Exact base
//! conversion leads from `E` to the factors of `P'Q`; what follows is a modulus switch from
//! coefficients.
//!
//! **The same result.** The digits are the same integers as in the single decomposition, and so are
//! the inner products modulo `P'Q`: results are equal to the last bit, and where there is no room
//! for the key ([`crate::Context::set_key_memory`]) the single decomposition with the same gadget
//! stands in.
//!
//! **One key.** Groups do not depend on the modulus: what is congruent modulo `G_i` is congruent
//! modulo the factors of `G_i` that `P'Q` has. Specials and the sprout come in the first groups, so
//! that smaller moduli need fewer. Where digits or the groups in use are small, so are sums, and a
//! part of the basis does.
//!
//! **Memory.** The key has `omega omega~ r` pairs of polynomials for the `dnum (l + k)` of the base
//! key; while it is made, one prime after the other (one for each thread), the coefficients of its
//! coalesced components are there too, in 8 bytes each. A key switch holds the `2 omega~ r` limbs
//! of the sums.
//!
//! **The sprout.** Its odd part and its power of two are factors of groups like others. There are
//! no products modulo powers of two here.
//!
//! **Transforms** (MG23 Table 4), for `l` limbs of `Q`: `(omega + 2 omega~) r`, and `l` for what is
//! switched and for each polynomial that is added and in the other domain than the result, where in
//! the evaluation domain the first and in coefficients the result are taken to be; `2l` for a
//! result in the evaluation domain. Factors of base conversion are in the last passes of inverse
//! transforms or in the constants of conversions; a pass is left that makes what is divided away
//! canonical, into which a factor fits at no cost.

mod constants;
mod key;
mod shape;
mod switch;

pub(super) use constants::Double;
pub(super) use shape::{DoubleShape, LARGEST_PRIME};
pub(super) use switch::Sums;
