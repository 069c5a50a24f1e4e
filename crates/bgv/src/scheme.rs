//! The choice between BGV and BFV.

/// How products of ciphertexts are computed. Ciphertexts and keys are the same in both schemes, and
/// one circuit may have products of both kinds.
///
/// **Which costs less.** A product of BGV takes less than half the time of one of BFV. On a grafted
/// chain, the modulus can be reduced by just the bits by which the noise has grown. There BGV takes
/// about the same number of bits as BFV, and is the better choice.
///
/// BGV needs factors whose noise has been reduced to that of rounding. On a simple chain, the primes
/// rarely have the size of the growth of the noise. BGV wastes the difference there, and BFV does
/// not, so that more products fit a modulus. Products of BFV of fresh ciphertexts also keep the
/// factor 1 of their messages, so that sums of products of different depth need no multiples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// BGV: the tensor product modulo `Q`, of operands whose noise was brought down by modulus
    /// switching before.
    Bgv,
    /// BFV: the tensor product over the integers, scaled by `t/Q` (full RNS, Halevi, Polyakov and
    /// Shoup, ePrint 2018/117; Kim, Polyakov and Zucca, ePrint 2021/204).
    Bfv,
}

impl Scheme {
    /// Its name: `bgv` or `bfv`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Bgv => "bgv",
            Scheme::Bfv => "bfv",
        }
    }
}
