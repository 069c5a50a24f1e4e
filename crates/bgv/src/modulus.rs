//! The moduli of one plaintext modulus.

use hippocrene_rlwe::{Modulus, Parameters};

/// How many bits of noise budget the limb modulo a power of two may cost for being done without: it
/// costs as much as several others.
const DEAR_LIMB: f64 = 4.0;

/// By how many bits a margin may be missed.
const LANDING_SLACK: f64 = 0.5;

/// The moduli `q_0 .. q_{l-1} r` (`r` a divisor of the sprout) that are coprime to the plaintext
/// modulus, by their bits. A sprout prime that is the plaintext modulus, as 65537 may be, is in
/// none of them.
#[derive(Debug)]
pub(crate) struct Moduli {
    /// log2 and the modulus, ascending.
    all: Vec<(f64, Modulus)>,
}

impl Moduli {
    /// Those that are coprime to `t`, which shares no factor with a unit ([`shared_unit`]).
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

    /// The modulus of fresh ciphertexts: the largest without a power of two, unless more than a
    /// sixteenth of the bits is in that. Its first products are the dearest of all, and would be
    /// half as dear again.
    pub(crate) fn top(&self) -> Option<Modulus> {
        let (bits, top) = self.all.last()?;
        let without = self.all.iter().rev().find(|(_, modulus)| !modulus.contains(Modulus::TWO));
        let without = without.filter(|(left, _)| bits - left <= bits / 16.0);
        Some(without.map_or(*top, |(_, modulus)| *modulus))
    }

    /// The modulus that is nearest to `bits` bits, among those of at most `most` bits; one without
    /// a power of two if that is hardly farther. Every bit by which it is off costs about one of
    /// the noise budget.
    pub(crate) fn near(&self, bits: f64, most: f64) -> Option<Modulus> {
        self.cheapest(bits, |log2| log2 <= most)
    }

    /// The same among those of at least `bits` bits, for which bits too many cost no noise budget.
    pub(crate) fn above(&self, bits: f64, most: f64) -> Option<Modulus> {
        self.cheapest(bits, |log2| log2 >= bits && log2 <= most)
    }

    fn cheapest(&self, bits: f64, possible: impl Fn(f64) -> bool) -> Option<Modulus> {
        let cost = |(log2, modulus): &(f64, Modulus)| {
            (log2 - bits).abs() + if modulus.contains(Modulus::TWO) { DEAR_LIMB } else { 0.0 }
        };
        let candidates = self.all.iter().filter(|(log2, _)| possible(*log2));
        candidates.min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|(_, modulus)| *modulus)
    }

    /// The modulus to multiply or to land at for an error that is of the size of rounding at `bits`
    /// bits, of those of at most `most` bits: nearest to `margin` bits below, so that it is well
    /// below rounding, or where steps are long so far above that it is wholly of products: `clear`
    /// bits. Nothing between the two.
    pub(crate) fn landing(&self, bits: f64, most: f64, margin: f64, clear: f64) -> Option<Modulus> {
        let cost = |(log2, modulus): &(f64, Modulus)| {
            (log2 - bits + margin).abs()
                + if modulus.contains(Modulus::TWO) { DEAR_LIMB } else { 0.0 }
        };
        let fits = |above: f64| above <= LANDING_SLACK - margin || above >= clear;
        let candidates = self.all.iter().filter(|(log2, _)| *log2 <= most && fits(log2 - bits));
        candidates.min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|(_, modulus)| *modulus)
    }

    /// The divisor of `modulus` of at least `bits` bits that has the fewest limbs, and of those the
    /// smallest.
    pub(crate) fn divisor_at_least(&self, modulus: Modulus, bits: f64) -> Option<Modulus> {
        let fit =
            self.all.iter().filter(|(log2, divisor)| *log2 >= bits && divisor.divides(modulus));
        // They ascend, so that the first of the fewest limbs is the smallest.
        fit.min_by_key(|(_, divisor)| divisor.limb_count()).map(|(_, divisor)| *divisor)
    }
}

/// The unit that a plaintext modulus `t` shares a factor with, if there is one, so that ciphertexts
/// have no modulus with it: [`crate::Context::new`] refuses such a `t`.
pub fn shared_unit(parameters: &Parameters, t: u64) -> Option<u64> {
    (0..parameters.unit_count()).map(|i| parameters.factor(i)).find(|unit| gcd(*unit, t) != 1)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
