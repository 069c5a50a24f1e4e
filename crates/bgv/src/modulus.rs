//! The moduli of ciphertexts that can be used with one plaintext modulus.

use hippocrene_rlwe::{Modulus, Parameters};

/// Cost of the limb modulo a power of two, in bits of noise budget (chosen). A modulus without it
/// is preferred if it costs at most this much noise budget, because that limb takes as long as
/// several others.
const POWER_OF_TWO_LIMB_COST_BITS: f64 = 4.0;

/// Number of bits by which the margin of a product that is switched down may be less than the
/// requested margin (chosen).
const SWITCH_MARGIN_TOLERANCE_BITS: f64 = 0.5;

/// The moduli `q_0 .. q_{l-1} r` that are coprime to the plaintext modulus, sorted by size.
///
/// Here `r` is a divisor of the sprout. If the plaintext modulus is a prime of the sprout, as 65537
/// may be, no modulus contains that prime.
#[derive(Debug)]
pub(crate) struct Moduli {
    /// log2 of each modulus and the modulus, ascending.
    all: Vec<(f64, Modulus)>,
}

impl Moduli {
    /// Lists the moduli that are coprime to `t`. `t` must share no factor with a unit
    /// ([`shared_unit`]).
    pub(crate) fn new(parameters: &Parameters, t: u64) -> Self {
        let top = parameters.top();
        let coprime =
            |modulus: Modulus| parameters.limb_moduli(modulus).into_iter().all(|q| gcd(q, t) == 1);
        let sprouts = (0..=top.odd())
            .flat_map(|odd| (0..=top.two()).map(move |two| Modulus::of_sprout(odd, two)));
        let sprouts: Vec<Modulus> =
            sprouts.filter(|sprout| sprout.divides(top) && coprime(*sprout)).collect();
        let prefixes = (0..=parameters.unit_count()).map(|l| Modulus::of_range(0..l));
        let mut all: Vec<(f64, Modulus)> = prefixes
            .flat_map(|units| sprouts.iter().map(move |sprout| units.lcm(*sprout)))
            .filter(|modulus| !modulus.is_one())
            .map(|modulus| (parameters.log2(modulus), modulus))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Moduli { all }
    }

    /// Returns the modulus of fresh ciphertexts, or `None` if there is no modulus.
    ///
    /// It is the largest modulus without a power of two. If that has less than 15/16 of the bits of
    /// the largest modulus of all, it is the largest modulus of all. The first products are the
    /// most expensive ones, and the limb modulo a power of two would make them half as expensive
    /// again.
    pub(crate) fn top(&self) -> Option<Modulus> {
        let (bits, top) = self.all.last()?;
        let without = self.all.iter().rev().find(|(_, modulus)| !modulus.contains(Modulus::TWO));
        let without = without.filter(|(left, _)| bits - left <= bits / 16.0);
        Some(without.map_or(*top, |(_, modulus)| *modulus))
    }

    /// Returns the modulus nearest to `bits` bits, among those of at most `max_bits` bits. Each bit
    /// of difference costs about one bit of noise budget. A modulus without a power of two is
    /// preferred if it is at most [`POWER_OF_TWO_LIMB_COST_BITS`] bits farther away.
    pub(crate) fn near(&self, bits: f64, max_bits: f64) -> Option<Modulus> {
        self.cheapest(bits, |log2| log2 <= max_bits)
    }

    /// Returns the cheapest modulus of at least `bits` and at most `max_bits` bits. Bits above
    /// `bits` cost no noise budget.
    pub(crate) fn above(&self, bits: f64, max_bits: f64) -> Option<Modulus> {
        self.cheapest(bits, |log2| log2 >= bits && log2 <= max_bits)
    }

    fn cheapest(&self, bits: f64, possible: impl Fn(f64) -> bool) -> Option<Modulus> {
        let cost = |(log2, modulus): &(f64, Modulus)| {
            (log2 - bits).abs()
                + if modulus.contains(Modulus::TWO) { POWER_OF_TWO_LIMB_COST_BITS } else { 0.0 }
        };
        let candidates = self.all.iter().filter(|(log2, _)| possible(*log2));
        candidates.min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|(_, modulus)| *modulus)
    }

    /// Returns the modulus of at most `max_bits` bits to which a product is switched down.
    ///
    /// At a modulus of `bits` bits, the error of the product would be as large as the rounding
    /// error of the switch. The returned modulus is the cheapest one near `bits - margin` bits,
    /// where the product's error is well below the rounding error. If the chain has no modulus
    /// there, the result has at least `bits + clear` bits, where the rounding error is negligible.
    /// Moduli between these two ranges are never chosen.
    pub(crate) fn modulus_after_product(
        &self,
        bits: f64,
        max_bits: f64,
        margin: f64,
        clear: f64,
    ) -> Option<Modulus> {
        let cost = |(log2, modulus): &(f64, Modulus)| {
            (log2 - bits + margin).abs()
                + if modulus.contains(Modulus::TWO) { POWER_OF_TWO_LIMB_COST_BITS } else { 0.0 }
        };
        let fits = |above: f64| above <= SWITCH_MARGIN_TOLERANCE_BITS - margin || above >= clear;
        let candidates = self.all.iter().filter(|(log2, _)| *log2 <= max_bits && fits(log2 - bits));
        candidates.min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|(_, modulus)| *modulus)
    }

    /// Returns the divisor of `modulus` with the fewest limbs that has at least `bits` bits. Among
    /// several, it returns the smallest.
    pub(crate) fn divisor_at_least(&self, modulus: Modulus, bits: f64) -> Option<Modulus> {
        let divisors =
            self.all.iter().filter(|(log2, divisor)| *log2 >= bits && divisor.divides(modulus));
        // The moduli ascend, so the first one with the fewest limbs is the smallest.
        divisors.min_by_key(|(_, divisor)| divisor.limb_count()).map(|(_, divisor)| *divisor)
    }
}

/// Returns the unit prime that shares a factor with the plaintext modulus `t`, if there is one.
///
/// [`crate::Context::new`] refuses such a `t`, because every modulus of ciphertexts that has this
/// unit would share that factor with `t`.
pub fn shared_unit(parameters: &Parameters, t: u64) -> Option<u64> {
    (0..parameters.unit_count()).map(|i| parameters.factor(i)).find(|unit| gcd(*unit, t) != 1)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
