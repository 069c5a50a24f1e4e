//! Sprouts: the small factors that let moduli have any number of bits (GRAFT 3.2).

/// The most odd primes that a sprout may have.
pub const MAX_SPROUT_PRIMES: usize = 4;

/// A sprout `r_top = 2^a r_1 .. r_s`: with it, products of whole words and a divisor of `r_top` reach (nearly) every number of bits, so
/// that a ciphertext may be scaled down by any amount (GRAFT 3.2). The default is `r_top = 1`: the simple chain of RNS-CKKS.
///
/// It is *universal* for words of `w` bits with error `epsilon` when for each `b` in `1..=w` a divisor `r` has `|log2 r - b| <= epsilon`.
///
/// The odd primes are different, 1 modulo `2N`, and their product is below `2^61`: one transform serves all of them (GRAFT C.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Sprout {
    /// The exponent `a` of two, at most 60.
    pub two: u32,
    /// The odd primes `r_1 .. r_s`, at most [`MAX_SPROUT_PRIMES`].
    pub primes: Vec<u64>,
}

/// The sprouts that have names.
const NAMED: [(&str, u32, &[u64]); 7] = [
    ("sprout-15-16-17", 15, &[65_537, 114_689]),
    ("sprout-15-16-30", 15, &[65_537, 1_073_479_681]),
    ("sprout-15-16-32", 15, &[65_537, 4_293_918_721]),
    ("sprout-19-20-23", 19, &[1_179_649, 8_519_681]),
    ("sprout-19-21-23", 19, &[1_179_649, 8_257_537]),
    ("sprout-19-20-24", 19, &[786_433, 8_650_753]),
    ("sprout-60", 60, &[]),
];

impl Sprout {
    /// A sprout by its name; `None` for a name that there is not. All are universal for words of `w` bits, with error `epsilon`, at ring
    /// degrees up to `N`:
    ///
    /// | name | `r_top` | bits | `w` | epsilon | `N` | from |
    /// |---|---|---|---|---|---|---|
    /// | `sprout-15-16-17` | `2^15 65537 114689` | 47.8 | 48 | 0.193 | 2^13 | |
    /// | `sprout-15-16-30` | `2^15 65537 1073479681` | 61.0 | 61 | 0.0004 | 2^15 | GRAFT Ex. 3.2 |
    /// | `sprout-15-16-32` | `2^15 65537 4293918721` | 63.0 | 63 | 0.0004 | 2^15 | |
    /// | `sprout-19-20-23` | `2^19 1179649 8519681` | 62.2 | 62 | 0.193 | 2^16 | GRAFT Ex. C.1 |
    /// | `sprout-19-21-23` | `2^19 1179649 8257537` | 62.1 | 62 | 0.170 | 2^16 | |
    /// | `sprout-19-20-24` | `2^19 786433 8650753` | 61.6 | 61 | 0.415 | 2^17 | |
    /// | `sprout-60` | `2^60` | 60 | 60 | 0 | 2^17 | GRAFT Ex. 3.1 |
    ///
    /// (GRAFT gives `N <= 2^17` for `sprout-19-20-23`; its `r_1` is 1 modulo `2^17` only, so that `X^N + 1` does not split fully beyond
    /// `N = 2^16`.)
    pub fn named(name: &str) -> Option<Self> {
        let (_, two, primes) = NAMED.iter().find(|(own, ..)| *own == name)?;
        Some(Sprout { two: *two, primes: primes.to_vec() })
    }

    /// The names that [`Sprout::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, ..)| *name)
    }

    /// The name of this sprout, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        NAMED
            .iter()
            .find(|(_, two, primes)| *two == self.two && **primes == self.primes)
            .map(|(name, ..)| *name)
    }

    /// The sprout for words of 48 bits at ring degree `2^log_degree <= 2^17`: `sprout-15-16-32` up to `2^15` (epsilon 0.0004),
    /// `sprout-19-21-23` at `2^16` (0.170), `sprout-19-20-24` at `2^17` (0.415). `None` beyond.
    pub fn for_degree(log_degree: u32) -> Option<Self> {
        Self::named(match log_degree {
            ..=15 => "sprout-15-16-32",
            16 => "sprout-19-21-23",
            17 => "sprout-19-20-24",
            _ => return None,
        })
    }

    /// Whether it is 1: a simple chain.
    pub fn is_one(&self) -> bool {
        self.two == 0 && self.primes.is_empty()
    }

    /// The product of those odd primes whose bits are set in `mask`.
    pub fn odd_product(&self, mask: u8) -> u64 {
        let chosen = self.primes.iter().enumerate().filter(|(j, _)| mask >> j & 1 == 1);
        chosen.fold(1, |product, (_, r)| product.saturating_mul(*r))
    }

    /// The mask of all odd primes.
    pub(crate) fn all_odd(&self) -> u8 {
        (1u8 << self.primes.len()) - 1
    }
}
