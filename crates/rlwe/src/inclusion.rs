//! How the moduli of a second parameter set are expressed in the first.

use crate::{Modulus, Parameters, RlweError};

/// The map from the moduli of a second parameter set to those of the first. Positions keep their
/// order, so that limbs stay at their index.
#[derive(Debug, Clone)]
pub(crate) struct Inclusion {
    /// The position of each unit in the first set.
    units: Vec<usize>,
    /// The bit of each odd prime of the sprout in the first set.
    odd: Vec<u8>,
    /// The exponent of two in the second sprout.
    two: u8,
}

impl Inclusion {
    /// Builds the map for two sets with the same secret distribution.
    ///
    /// # Errors
    /// Returns [`RlweError::Parameters`] if a modulus of `second` is not a modulus of `first`.
    pub(crate) fn new(first: &Parameters, second: &Parameters) -> Result<Self, RlweError> {
        if first.secret() != second.secret() {
            return Err(RlweError::Parameters {
                what: format!(
                    "a second parameter set has the distribution of the secret of the first; \
                     this one has {}, the first {}",
                    second.secret(),
                    first.secret()
                ),
            });
        }
        Self::of_moduli(first, second)
    }

    /// [`Inclusion::new`] for secrets of any two distributions.
    pub(crate) fn of_moduli(first: &Parameters, second: &Parameters) -> Result<Self, RlweError> {
        let fail = |what: String| {
            Err(RlweError::Parameters { what: format!("a second parameter set {what}") })
        };
        if first.log_degree() != second.log_degree() {
            return fail(format!(
                "has the ring degree 2^{}, and the first 2^{}. Make the second key from the first one.",
                second.log_degree(),
                first.log_degree()
            ));
        }
        let (wide, narrow) = (first.literal(), second.literal());
        let mut units: Vec<usize> = Vec::with_capacity(narrow.units.len());
        for prime in &narrow.units {
            let next = units.last().map_or(0, |last| last + 1);
            match wide.units.iter().skip(next).position(|q| q == prime) {
                Some(i) => units.push(next + i),
                None => {
                    return fail(format!(
                        "has units of the first, in its order; {prime} is not one that comes next"
                    ));
                }
            }
        }
        let bit =
            |prime: &u64| wide.sprout.primes.iter().position(|r| r == prime).map(|j| 1u8 << j);
        match narrow.sprout.primes.iter().map(bit).collect::<Option<Vec<u8>>>() {
            Some(odd) if narrow.sprout.two <= wide.sprout.two => {
                Ok(Inclusion { units, odd, two: narrow.sprout.two as u8 })
            }
            _ => fail("has a sprout that divides that of the first".into()),
        }
    }

    /// Returns a modulus of ciphertexts of the second set, as a modulus of the first.
    pub(crate) fn modulus(&self, modulus: Modulus) -> Modulus {
        let units = modulus
            .words()
            .factors()
            .filter_map(|i| self.units.get(i).copied())
            .map(Modulus::of_factor);
        let odd = self
            .odd
            .iter()
            .enumerate()
            .filter(|(j, _)| modulus.odd() >> j & 1 == 1)
            .map(|(_, bit)| *bit);
        let sprout = Modulus::of_sprout(odd.fold(0, |all, bit| all | bit), modulus.two());
        units.fold(sprout, Modulus::lcm)
    }

    /// Returns the greatest common divisor of `modulus`, of the first set, and `Q_max` of the
    /// second, as a modulus of the second.
    pub(crate) fn common(&self, modulus: Modulus) -> Modulus {
        let units =
            self.units.iter().enumerate().filter(|(_, position)| modulus.contains(**position));
        let odd = self.odd.iter().enumerate().filter(|(_, bit)| modulus.odd() & **bit != 0);
        let odd = odd.fold(0, |all, (j, _)| all | 1 << j);
        let sprout = Modulus::of_sprout(odd, modulus.two().min(self.two));
        units.map(|(i, _)| Modulus::of_factor(i)).fold(sprout, Modulus::lcm)
    }
}
