//! The choice between BGV and BFV.

/// The method that multiplies ciphertexts. Ciphertexts and keys are the same in both schemes, and
/// one circuit may use both.
///
/// **Cost.** A BGV product takes less than half the time of a BFV product. On a grafted chain, the
/// modulus can be reduced by exactly the growth of the noise. There BGV needs about the same
/// modulus as BFV, and is the better choice.
///
/// Before a BGV product, the noise of both factors must be reduced to that of rounding. On a simple
/// chain, the primes rarely match the growth of the noise. BGV wastes the difference there and BFV
/// does not, so more BFV products fit into a modulus. BFV products of fresh ciphertexts also keep
/// the factor 1 of their messages. Sums of products of different depths then need no multiplication
/// by constants.
///
/// ```
/// assert_eq!(hippocrene_bgv::Scheme::Bfv.name(), "bfv");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// BGV: the tensor product modulo `Q`. A modulus switch reduces the noise of both operands
    /// first.
    Bgv,
    /// BFV: the tensor product over the integers, scaled by `t/Q` (full RNS; Halevi, Polyakov and
    /// Shoup, ePrint 2018/117; Kim, Polyakov and Zucca, ePrint 2021/204).
    Bfv,
}

impl Scheme {
    /// The name of the scheme: `bgv` or `bfv`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Bgv => "bgv",
            Scheme::Bfv => "bfv",
        }
    }
}
