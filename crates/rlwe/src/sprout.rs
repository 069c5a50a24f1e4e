//! Sprouts: the small factors that let moduli have any number of bits (GRAFT 3.2).

/// The maximum number of odd primes of a sprout.
pub const MAX_SPROUT_PRIMES: usize = 4;

/// A sprout `r_top = 2^a r_1 .. r_s` (GRAFT 3.2).
///
/// Products of whole words and a divisor of `r_top` reach nearly every number of bits. So a
/// ciphertext can be scaled down by any amount. The default is `r_top = 1`, the simple chain of
/// RNS-CKKS.
///
/// A sprout is *universal* for words of `w` bits with error `epsilon` if for each `b` in `1..=w`
/// some divisor `r` has `|log2 r - b| <= epsilon`.
///
/// The odd primes are different and 1 modulo `2N`. Their product is below `2^61`, so one transform
/// serves all of them (GRAFT C.6).
///
/// ```
/// use hippocrene_rlwe::Sprout;
///
/// let sprout = Sprout::named("sprout-15-16-32").unwrap();
/// assert_eq!((sprout.two, sprout.primes.len()), (15, 2));
/// assert!(sprout.epsilon(48) < 0.0004);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Sprout {
    /// The exponent `a` of two, at most 60.
    pub two: u32,
    /// The odd primes `r_1 .. r_s`, at most [`MAX_SPROUT_PRIMES`].
    pub primes: Vec<u64>,
}

/// Names of sprouts, with their exponents of two and odd primes.
const NAMED_SPROUTS: [(&str, u32, &[u64]); 9] = [
    ("sprout-17-16", 17, &[65_537]),
    ("sprout-15-16-17", 15, &[65_537, 114_689]),
    ("sprout-15-16-17.3", 15, &[65_537, 163_841]),
    ("sprout-15-16-30", 15, &[65_537, 1_073_479_681]),
    ("sprout-15-16-32", 15, &[65_537, 4_293_918_721]),
    ("sprout-19-20-23", 19, &[1_179_649, 8_519_681]),
    ("sprout-19-21-23", 19, &[1_179_649, 8_257_537]),
    ("sprout-19-20-24", 19, &[786_433, 8_650_753]),
    ("sprout-60", 60, &[]),
];

impl Sprout {
    /// Returns the sprout with this name, or `None` if there is none.
    ///
    /// All are universal for words of `w` bits, with error `epsilon` in bits, at ring degrees up to
    /// `N`:
    ///
    /// | name | `r_top` | bits | `w` | epsilon | `N` | from |
    /// |---|---|---|---|---|---|---|
    /// | `sprout-17-16` | `2^17 65537` | 33.0 | 33 | 0.00003 | 2^15 | |
    /// | `sprout-15-16-17` | `2^15 65537 114689` | 47.8 | 48 | 0.193 | 2^13 | |
    /// | `sprout-15-16-17.3` | `2^15 65537 163841` | 48.3 | 48 | 0.322 | 2^14 | |
    /// | `sprout-15-16-30` | `2^15 65537 1073479681` | 61.0 | 61 | 0.0004 | 2^15 | GRAFT Ex. 3.2 |
    /// | `sprout-15-16-32` | `2^15 65537 4293918721` | 63.0 | 63 | 0.0004 | 2^15 | |
    /// | `sprout-19-20-23` | `2^19 1179649 8519681` | 62.2 | 62 | 0.193 | 2^16 | GRAFT Ex. C.1 |
    /// | `sprout-19-21-23` | `2^19 1179649 8257537` | 62.1 | 62 | 0.170 | 2^16 | |
    /// | `sprout-19-20-24` | `2^19 786433 8650753` | 61.6 | 62 | 0.416 | 2^17 | |
    /// | `sprout-60` | `2^60` | 60 | 60 | 0 | 2^17 | GRAFT Ex. 3.1 |
    ///
    /// Two figures differ from GRAFT. GRAFT gives `N <= 2^17` for `sprout-19-20-23`. But its `r_1`
    /// is 1 modulo `2^17` and not modulo `2^18`, so `X^N + 1` does not split fully beyond
    /// `N = 2^16`. GRAFT also gives `|r / 2^b - 1| < 2^-13` for Examples 3.1 and 3.2. The maximum
    /// is 0 for the first. It is `2^-12` for the second, because of `r_2 = 2^30 - 2^18 + 1` alone.
    pub fn named(name: &str) -> Option<Self> {
        let (_, two, primes) = NAMED_SPROUTS.iter().find(|(own, ..)| *own == name)?;
        Some(Sprout { two: *two, primes: primes.to_vec() })
    }

    /// The names of all named sprouts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED_SPROUTS.iter().map(|(name, ..)| *name)
    }

    /// The name of this sprout, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        NAMED_SPROUTS
            .iter()
            .find(|(_, two, primes)| *two == self.two && **primes == self.primes)
            .map(|(name, ..)| *name)
    }

    /// Returns the sprout for words of 48 bits at ring degree `2^log_degree`, or `None` beyond
    /// `2^17`.
    ///
    /// This is `sprout-15-16-32` up to `2^15` (epsilon 0.0004), `sprout-19-21-23` at `2^16` (0.170)
    /// and `sprout-19-20-24` at `2^17` (0.416).
    pub fn for_degree(log_degree: u32) -> Option<Self> {
        Self::named(match log_degree {
            ..=15 => "sprout-15-16-32",
            16 => "sprout-19-21-23",
            17 => "sprout-19-20-24",
            _ => return None,
        })
    }

    /// The error in bits with which this sprout is universal for words of `word` bits.
    ///
    /// It is `max_b min_r |log2 r - b|` over `b` in `1..=word` and the divisors `r`. GRAFT's
    /// Theorem 3.3 states it as `|r / 2^b - 1|`, which for small errors is `ln 2` times this value.
    ///
    /// That theorem bounds the error of rescaling. Its proof in C.4, written in bits, gives the
    /// bound without the remainder. Let the units be `2^w` within `eta` bits. Let a ciphertext be
    /// modulo `q_0 .. q_{l-1} r`, where `r` is the divisor nearest to a whole number of bits. Then
    /// it can be scaled down by any whole number `delta` of bits to within
    /// `ceil(delta / w) eta + 2 epsilon` bits.
    pub fn epsilon(&self, word: u32) -> f64 {
        let divisors: Vec<f64> = (0..=self.all_odd())
            .flat_map(|odd| {
                let odd = (self.odd_product(odd) as f64).log2();
                (0..=self.two.min(word.saturating_add(1))).map(move |two| odd + f64::from(two))
            })
            .collect();
        let nearest = |bits: u32| {
            let distances = divisors.iter().map(|r| (r - f64::from(bits)).abs());
            distances.fold(f64::INFINITY, f64::min)
        };
        // Beyond the largest divisor, the error is largest at the last number of bits.
        let largest = divisors.iter().fold(0.0, |most: f64, r| most.max(*r)).ceil() as u32;
        (1..=word.min(largest)).chain([word]).map(nearest).fold(0.0, f64::max)
    }

    /// True if the sprout is 1, which gives a simple chain.
    pub fn is_one(&self) -> bool {
        self.two == 0 && self.primes.is_empty()
    }

    /// The odd primes whose bits are set in `mask`.
    pub(crate) fn chosen(&self, mask: u8) -> impl Iterator<Item = u64> {
        self.primes
            .iter()
            .enumerate()
            .filter(move |(j, _)| u32::from(mask) >> j & 1 == 1)
            .map(|(_, r)| *r)
    }

    /// The product of the odd primes whose bits are set in `mask`, or `2^64 - 1` if it is larger.
    pub fn odd_product(&self, mask: u8) -> u64 {
        self.chosen(mask).fold(1, u64::saturating_mul)
    }

    /// The mask of all odd primes.
    pub(crate) fn all_odd(&self) -> u8 {
        (1u8 << self.primes.len()) - 1
    }
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::primes;

    use super::*;
    use crate::{Modulus, Parameters, ParametersLiteral, SecretDistribution};

    /// For each named sprout: the bits of a word, the error in bits that [`Sprout::named`] states,
    /// and log2 of the largest ring degree.
    const STATED_ERRORS: [(&str, u32, f64, u32); 9] = [
        ("sprout-17-16", 33, 0.00003, 15),
        ("sprout-15-16-17", 48, 0.193, 13),
        ("sprout-15-16-17.3", 48, 0.322, 14),
        ("sprout-15-16-30", 61, 0.0004, 15),
        ("sprout-15-16-32", 63, 0.0004, 15),
        ("sprout-19-20-23", 62, 0.193, 16),
        ("sprout-19-21-23", 62, 0.170, 16),
        ("sprout-19-20-24", 62, 0.416, 17),
        ("sprout-60", 60, 0.0, 17),
    ];

    #[test]
    fn named_sprouts_are_universal() {
        assert!(Sprout::names().eq(STATED_ERRORS.map(|(name, ..)| name)));
        for (name, word, stated, log_degree) in STATED_ERRORS {
            let sprout = Sprout::named(name).unwrap();
            assert_eq!(sprout.name(), Some(name));
            let epsilon = sprout.epsilon(word);
            assert!(
                epsilon <= stated && epsilon >= 0.7 * stated,
                "{name}: {epsilon}, stated {stated}"
            );
            assert!(
                sprout.epsilon(word + 1) > stated.max(0.49),
                "{name}: larger words than {word}"
            );
            let splits = |n: u32| sprout.primes.iter().all(|r| r % (2 << n) == 1);
            assert!(sprout.primes.iter().all(|r| primes::is_prime(*r)));
            assert!(splits(log_degree) && (log_degree == 17 || !splits(log_degree + 1)), "{name}");
        }
        for log_degree in 4..=17 {
            let sprout = Sprout::for_degree(log_degree).unwrap();
            assert!(
                sprout.epsilon(48) < 0.4151
                    && sprout.primes.iter().all(|r| r % (2 << log_degree) == 1)
            );
        }
        assert_eq!(Sprout::for_degree(18), None);
        // Far beyond the bits of the sprout, the error is largest at the last number of bits.
        assert_eq!(Sprout { two: 5, primes: vec![] }.epsilon(u32::MAX), f64::from(u32::MAX - 5));
        assert_eq!(Sprout { two: u32::MAX, primes: vec![] }.epsilon(48), 0.0);
    }

    /// GRAFT C.4 claims that Examples 3.1 and 3.2 satisfy Theorem 3.3 with epsilon below 2^-13.
    #[test]
    fn the_papers_epsilon_is_two_to_the_minus_twelve() {
        assert_eq!(Sprout::named("sprout-60").unwrap().epsilon(60), 0.0);
        let sprout = Sprout::named("sprout-15-16-30").unwrap();
        let relative = -(-sprout.epsilon(61) * std::f64::consts::LN_2).exp_m1();
        assert!((relative.log2() + 12.0).abs() < 1e-3, "2^{}", relative.log2());
        let r_2 = sprout.primes[1] as f64 / 30f64.exp2();
        assert!((1.0 - r_2 - relative).abs() < 1e-8, "{r_2}");
    }

    /// Checks Theorem 3.3 for the primes of real units, from every modulus, by every number of
    /// bits.
    #[test]
    fn rescaling_by_any_number_of_bits_is_within_the_theorem() {
        for (name, word, _, log_degree) in STATED_ERRORS {
            let word = word.min(61);
            let sprout = Sprout::named(name).unwrap();
            let units = primes::ntt_primes(word, 1 << log_degree, 3, &[]).unwrap();
            let eta = units
                .iter()
                .map(|q| (f64::from(word) - (*q as f64).log2()).abs())
                .fold(0.0, f64::max);
            let epsilon = sprout.epsilon(word);
            let literal = ParametersLiteral {
                log_degree,
                units,
                specials: Vec::new(),
                sprout,
                gadget_rank: 0,
                secret: SecretDistribution::Ternary,
            };
            let parameters = Parameters::new_insecure(literal).unwrap();
            for bits in 2..=4 * word {
                // The proof takes this modulus of `bits` bits: whole words and the divisor nearest
                // to the rest.
                let (l, gamma) = ((bits / word).min(3), bits - (bits / word).min(3) * word);
                let from =
                    Modulus::of_range(0..l as usize).lcm(nearest_divisor(&parameters, gamma));
                let log2_from = parameters.log2(from);
                for delta in 1..bits {
                    let to = parameters.grafted_modulus(log2_from - f64::from(delta));
                    let error = (log2_from - parameters.log2(to) - f64::from(delta)).abs();
                    // Choosing the cheapest among the nearest moduli may cost 2^-6 bits.
                    let bound = f64::from(delta.div_ceil(word)) * eta + 2.0 * epsilon + 1.0 / 64.0;
                    assert!(
                        error <= bound + 1e-9,
                        "{name}: {bits} by {delta}: {error}, bound {bound}"
                    );
                }
            }
        }
    }

    /// Returns the divisor of the sprout nearest to `bits` bits, which is 1 for 0 bits.
    fn nearest_divisor(parameters: &Parameters, bits: u32) -> Modulus {
        let sprout = parameters.top().sprout();
        let divisors =
            (0..=sprout.odd()).flat_map(|odd| (0..=sprout.two()).map(move |two| (odd, two)));
        let distance = |m: Modulus| (parameters.log2(m) - f64::from(bits)).abs();
        let divisors = divisors.map(|(odd, two)| Modulus::of_sprout(odd, two));
        divisors.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap()
    }
}
