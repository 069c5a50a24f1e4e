//! Moduli as divisors of `PQ_max`.

/// The maximum number of units and specials in `PQ_max`.
pub const MAX_UNITS_AND_SPECIALS: usize = 126;

/// The maximum number of limbs of a polynomial: one for each unit and special, and two for the
/// sprout.
pub(crate) const MAX_LIMBS: usize = 128;

/// A modulus: a divisor of `PQ_max = (units) (sprout) (specials)`.
///
/// Each limb of a polynomial belongs to a *position*. Limb `k` belongs to the `k`-th position of
/// the modulus in ascending order:
///
/// - Position `i` below the number of units is the unit `q_i`.
/// - The next positions are the specials. A modulus either has a unit or special or does not.
/// - [`Modulus::ODD`] and [`Modulus::TWO`] come last. They belong to the sprout `2^a r_1 .. r_s`
///   ([`crate::Sprout`], GRAFT 3.2). The limb at `ODD` is modulo the product of those `r_j` that
///   divide the modulus. The limb at `TWO` is modulo `2^e`.
///
/// [`crate::Parameters`] has the primes of the positions.
///
/// ```
/// use hippocrene_rlwe::Modulus;
///
/// let (a, b) = (Modulus::of_range(0..3), Modulus::of_factor(2).lcm(Modulus::of_sprout(1, 5)));
/// assert_eq!(a.gcd(b), Modulus::of_factor(2));
/// assert!(a.divides(a.lcm(b)));
/// assert_eq!(b.factors().collect::<Vec<_>>(), [2, Modulus::ODD, Modulus::TWO]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modulus {
    /// Bit `i` for position `i`. The bits of `ODD` and `TWO` are set exactly if the fields below
    /// are not 0.
    words: u128,
    /// Bit `j` for the odd sprout prime `r_{j+1}`.
    odd: u8,
    /// The exponent of two.
    two: u8,
}

impl Modulus {
    /// The divisor 1.
    pub const ONE: Modulus = Modulus { words: 0, odd: 0, two: 0 };

    /// The position of the odd part of the sprout.
    pub const ODD: usize = 126;

    /// The position of the power of two.
    pub const TWO: usize = 127;

    /// The bits of the positions of units and specials.
    const WORDS: u128 = (1 << MAX_UNITS_AND_SPECIALS) - 1;

    fn new(words: u128, odd: u8, two: u8) -> Self {
        let sprout = u128::from(odd != 0) << Self::ODD | u128::from(two != 0) << Self::TWO;
        Modulus { words: words & Self::WORDS | sprout, odd, two }
    }

    /// The product of the units and specials at the positions in `range`.
    ///
    /// # Panics
    /// Panics if the range ends above [`MAX_UNITS_AND_SPECIALS`].
    pub fn of_range(range: std::ops::Range<usize>) -> Self {
        assert!(
            range.end <= MAX_UNITS_AND_SPECIALS,
            "units and specials are at positions below {MAX_UNITS_AND_SPECIALS}"
        );
        let below = |end: usize| (1u128 << end) - 1;
        Modulus::new(below(range.end) & !below(range.start), 0, 0)
    }

    /// The single unit or special at position `i`.
    ///
    /// # Panics
    /// Panics if `i` is not below [`MAX_UNITS_AND_SPECIALS`].
    pub fn of_factor(i: usize) -> Self {
        assert!(
            i < MAX_UNITS_AND_SPECIALS,
            "the position of a unit or special is below {MAX_UNITS_AND_SPECIALS}"
        );
        Modulus::new(1 << i, 0, 0)
    }

    /// The sprout divisor `2^two` times the primes `r_{j+1}` for the bits `j` that are set in
    /// `odd`.
    pub fn of_sprout(odd: u8, two: u8) -> Self {
        Modulus::new(0, odd, two)
    }

    /// The odd sprout primes in this modulus: bit `j` for `r_{j+1}`.
    pub fn odd(self) -> u8 {
        self.odd
    }

    /// The exponent of two in this modulus.
    pub fn two(self) -> u8 {
        self.two
    }

    /// The part of this modulus that divides the sprout.
    pub fn sprout(self) -> Modulus {
        Modulus::of_sprout(self.odd, self.two)
    }

    /// The part of this modulus that is a product of units and specials.
    pub fn words(self) -> Modulus {
        Modulus::new(self.words, 0, 0)
    }

    /// The number of positions, which is also the number of limbs.
    pub fn limb_count(self) -> usize {
        self.words.count_ones() as usize
    }

    /// True if this modulus has a limb at position `i`.
    pub fn contains(self, i: usize) -> bool {
        i < MAX_LIMBS && self.words >> i & 1 == 1
    }

    /// The positions in ascending order. The `k`-th one belongs to limb `k`.
    pub fn factors(self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone {
        Positions(self.words)
    }

    /// The index of the limb that belongs to position `i`. The modulus must have this position.
    pub fn limb_of(self, i: usize) -> usize {
        debug_assert!(self.contains(i));
        (self.words & ((1 << i) - 1)).count_ones() as usize
    }

    /// The greatest common divisor.
    pub fn gcd(self, other: Modulus) -> Modulus {
        Modulus::new(self.words & other.words, self.odd & other.odd, self.two.min(other.two))
    }

    /// The least common multiple.
    pub fn lcm(self, other: Modulus) -> Modulus {
        Modulus::new(self.words | other.words, self.odd | other.odd, self.two.max(other.two))
    }

    /// Returns `self / gcd(self, other)`. For powers of two this is the quotient: `2^5` without
    /// `2^3` is `2^2`.
    pub fn without(self, other: Modulus) -> Modulus {
        let two = self.two.saturating_sub(other.two);
        Modulus::new(self.words & !other.words, self.odd & !other.odd, two)
    }

    /// True if this modulus divides `other`.
    pub fn divides(self, other: Modulus) -> bool {
        self.gcd(other) == self
    }

    /// True if the limbs of both moduli at `position` are modulo the same number. Both must have
    /// the position.
    pub(crate) fn agrees(self, other: Modulus, position: usize) -> bool {
        match position {
            Self::ODD => self.odd == other.odd,
            Self::TWO => self.two == other.two,
            _ => true,
        }
    }

    /// True if this is the divisor 1.
    pub fn is_one(self) -> bool {
        self == Modulus::ONE
    }

    /// Returns the parts of this modulus, for storing.
    ///
    /// They are the positions as bits (bit `i` for position `i`), the odd sprout primes as bits,
    /// and the exponent of two.
    pub fn to_parts(self) -> (u128, u8, u8) {
        (self.words, self.odd, self.two)
    }

    /// Returns the divisor with these parts ([`Modulus::to_parts`]), or `None` if the bits of `ODD`
    /// and `TWO` contradict the other two parts.
    pub fn from_parts(words: u128, odd: u8, two: u8) -> Option<Self> {
        let modulus = Modulus::new(words, odd, two);
        (modulus.words == words).then_some(modulus)
    }
}

#[derive(Clone)]
/// Iterates over the bits that are set, in ascending order.
struct Positions(u128);

impl Iterator for Positions {
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

impl DoubleEndedIterator for Positions {
    fn next_back(&mut self) -> Option<usize> {
        (self.0 != 0).then(|| {
            let i = 127 - self.0.leading_zeros();
            self.0 &= !(1 << i);
            i as usize
        })
    }
}

impl ExactSizeIterator for Positions {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_operations_are_divisor_operations() {
        let (a, b) =
            (Modulus::of_range(0..5), Modulus::of_range(3..7).lcm(Modulus::of_factor(125)));
        assert_eq!(a.gcd(b).factors().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(b.without(a).factors().rev().collect::<Vec<_>>(), [125, 6, 5]);
        assert_eq!((b.limb_of(125), b.limb_of(3), b.limb_count()), (4, 0, 5));
        assert!(
            a.gcd(b).divides(a)
                && !a.divides(b)
                && Modulus::ONE.divides(a)
                && Modulus::ONE.is_one()
        );
    }

    /// Compares with the divisors of `2^3 3 5 7` as numbers. 7 is a unit; 3 and 5 are odd sprout
    /// primes.
    #[test]
    fn sprout_divisors_are_divisors() {
        let all: Vec<(Modulus, u32)> = (0..32u32)
            .map(|i| {
                let (odd, two, unit) = (i & 3, i >> 2 & 3, i >> 4);
                let number = (1 << two) * [1, 3, 5, 15][odd as usize] * [1, 7][unit as usize];
                let word = if unit == 1 { Modulus::of_factor(0) } else { Modulus::ONE };
                (word.lcm(Modulus::of_sprout(odd as u8, two as u8)), number)
            })
            .collect();
        let named =
            |m: Modulus| all.iter().find(|(other, _)| *other == m).map(|(_, number)| *number);
        let gcd = |a: u32, b: u32| {
            (1..=a).rev().find(|d| a.is_multiple_of(*d) && b.is_multiple_of(*d)).unwrap()
        };
        for (m, a) in &all {
            assert_eq!(m.limb_count(), [7, 15, 2].iter().filter(|p| gcd(*a, **p) > 1).count());
            assert_eq!(
                m.factors().map(|i| m.limb_of(i)).collect::<Vec<_>>(),
                Vec::from_iter(0..m.limb_count())
            );
            assert_eq!(
                (m.contains(Modulus::ODD), m.contains(Modulus::TWO)),
                (gcd(*a, 15) > 1, a % 2 == 0)
            );
            assert_eq!(m.words().lcm(m.sprout()), *m);
            for (n, b) in &all {
                assert_eq!(named(m.gcd(*n)), Some(gcd(*a, *b)));
                assert_eq!(named(m.lcm(*n)), Some(a * b / gcd(*a, *b)));
                assert_eq!(named(m.without(*n)), Some(a / gcd(*a, *b)));
                assert_eq!(m.divides(*n), b % a == 0);
            }
            let (words, odd, two) = m.to_parts();
            assert_eq!(Modulus::from_parts(words, odd, two), Some(*m));
            assert_eq!(Modulus::from_parts(words ^ 1 << Modulus::ODD, odd, two), None);
            assert_eq!(Modulus::from_parts(words ^ 1 << Modulus::TWO, odd, two), None);
        }
    }
}
