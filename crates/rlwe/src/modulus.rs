//! Moduli as divisors of `PQ_max`.

/// The most factors that `PQ_max` may have.
pub const MAX_FACTORS: usize = 128;

/// A modulus: a divisor of `PQ_max = (units) (specials)`, named by the set of its factors.
///
/// Factor `i` is unit `q_i` for `i` below the number of units, else a special. Limb `k` of a polynomial modulo this divisor
/// belongs to its `k`-th factor in ascending order. What the factors are is known by [`crate::Parameters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modulus(u128);

impl Modulus {
    /// The divisor 1.
    pub const ONE: Modulus = Modulus(0);

    /// The product of the factors `range`, which end below [`MAX_FACTORS`].
    pub fn of_range(range: std::ops::Range<usize>) -> Self {
        range.map(Modulus::of_factor).fold(Modulus::ONE, Modulus::lcm)
    }

    /// The single factor `i < MAX_FACTORS`.
    pub fn of_factor(i: usize) -> Self {
        assert!(i < MAX_FACTORS, "a factor index is below {MAX_FACTORS}");
        Modulus(1 << i)
    }

    /// How many factors, and so limbs, it has.
    pub fn limb_count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether factor `i` divides it.
    pub fn contains(self, i: usize) -> bool {
        i < MAX_FACTORS && self.0 >> i & 1 == 1
    }

    /// Its factors in ascending order: the `k`-th belongs to limb `k`.
    pub fn factors(self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone {
        Factors(self.0)
    }

    /// The limb that belongs to factor `i`, which divides it.
    pub fn limb_of(self, i: usize) -> usize {
        debug_assert!(self.contains(i));
        (self.0 & ((1 << i) - 1)).count_ones() as usize
    }

    /// The greatest common divisor.
    pub fn gcd(self, other: Modulus) -> Modulus {
        Modulus(self.0 & other.0)
    }

    /// The least common multiple.
    pub fn lcm(self, other: Modulus) -> Modulus {
        Modulus(self.0 | other.0)
    }

    /// `self / gcd(self, other)`.
    pub fn without(self, other: Modulus) -> Modulus {
        Modulus(self.0 & !other.0)
    }

    /// Whether it divides `other`.
    pub fn divides(self, other: Modulus) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether it is the divisor 1.
    pub fn is_one(self) -> bool {
        self.0 == 0
    }

    /// The set of factors as bits: bit `i` for factor `i`.
    pub fn to_bits(self) -> u128 {
        self.0
    }

    /// The divisor whose factors are the bits set.
    pub fn from_bits(bits: u128) -> Self {
        Modulus(bits)
    }
}

#[derive(Clone)]
struct Factors(u128);

impl Iterator for Factors {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        (self.0 != 0).then(|| {
            let i = self.0.trailing_zeros();
            self.0 &= self.0 - 1;
            i as usize
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.count_ones() as usize;
        (count, Some(count))
    }
}

impl DoubleEndedIterator for Factors {
    fn next_back(&mut self) -> Option<usize> {
        (self.0 != 0).then(|| {
            let i = 127 - self.0.leading_zeros();
            self.0 &= !(1 << i);
            i as usize
        })
    }
}

impl ExactSizeIterator for Factors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_operations_are_divisor_operations() {
        let (a, b) = (Modulus::of_range(0..5), Modulus::of_range(3..7).lcm(Modulus::of_factor(127)));
        assert_eq!(a.gcd(b).factors().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(b.without(a).factors().rev().collect::<Vec<_>>(), [127, 6, 5]);
        assert_eq!((b.limb_of(127), b.limb_of(3), b.limb_count()), (4, 0, 5));
        assert!(a.gcd(b).divides(a) && !a.divides(b) && Modulus::ONE.divides(a) && Modulus::ONE.is_one());
        assert_eq!(Modulus::from_bits(b.to_bits()), b);
    }
}
