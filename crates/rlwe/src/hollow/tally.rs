//! What a hollow context notes.

use std::collections::BTreeMap;

use crate::{Gadget, Method, Modulus};

/// The name under which raises of a modulus are counted ([`Tally::raises`]).
pub(crate) const RAISE: &str = "raise the modulus";

/// What a switching key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyUse {
    /// From `s^2` to `s`.
    Relinearisation,
    /// The automorphism `X -> X^g` of this Galois element `g`.
    Galois(usize),
}

/// How often an operation was done.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noted {
    /// How many times.
    pub count: u64,
    /// Seconds that one thread takes for all of them, as predicted.
    pub seconds: f64,
    /// Transforms of limbs, as [`crate::Context::transforms`] counts them.
    pub transforms: u64,
}

/// What computations in a hollow context would take ([`crate::Context::hollow`]).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    operations: BTreeMap<&'static str, Noted>,
    keys: BTreeMap<KeyUse, Modulus>,
    derived: BTreeMap<(Option<KeyUse>, usize, usize), usize>,
    failure: f64,
}

impl Tally {
    /// The operations by name. Those that are made of others are counted with these.
    pub fn operations(&self) -> &BTreeMap<&'static str, Noted> {
        &self.operations
    }

    /// How often an operation was done.
    pub fn count(&self, operation: &str) -> u64 {
        self.operations.get(operation).map_or(0, |noted| noted.count)
    }

    /// How many ciphertexts had their modulus raised: every bootstrap does that once.
    pub fn raises(&self) -> u64 {
        self.count(RAISE)
    }

    /// log2 of a bound of the probability that something goes wrong that errors do not tell of, the
    /// sum of those that were noted ([`crate::Context::note_failure`]); none where nothing can.
    pub fn log2_failure_probability(&self) -> Option<f64> {
        (self.failure > 0.0).then(|| self.failure.min(1.0).log2())
    }

    /// Seconds that one thread takes, as predicted.
    pub fn seconds(&self) -> f64 {
        // The sum of none is -0.
        self.operations.values().fold(0.0, |sum, noted| sum + noted.seconds)
    }

    /// Transforms of limbs, as [`crate::Context::transforms`] counts them.
    pub fn transforms(&self) -> u64 {
        self.operations.values().map(|noted| noted.transforms).sum()
    }

    /// The keys that were used, each with the least common multiple of the moduli of the
    /// ciphertexts that it was used for.
    pub fn keys(&self) -> &BTreeMap<KeyUse, Modulus> {
        &self.keys
    }

    /// Bytes of what is derived from keys to switch faster ([`crate::Context::set_key_memory`]), if
    /// there is room for all of it.
    pub fn derived_key_bytes(&self) -> usize {
        self.derived.values().sum()
    }

    pub(crate) fn add(&mut self, operation: &'static str, seconds: f64, transforms: u64) {
        let noted = self.operations.entry(operation).or_default();
        noted.count += 1;
        noted.seconds += seconds;
        noted.transforms += transforms;
    }

    pub(crate) fn add_failure(&mut self, log2_probability: f64) {
        self.failure += log2_probability.exp2();
    }

    pub(crate) fn add_key(&mut self, name: KeyUse, modulus: Modulus) {
        let largest = self.keys.entry(name).or_insert(Modulus::ONE);
        *largest = largest.lcm(modulus);
    }

    pub(crate) fn add_derived(&mut self, name: Option<KeyUse>, gadget: Gadget, bytes: usize) {
        let groups = match gadget.method() {
            Method::Single => 0,
            Method::Double { groups } => groups,
        };
        self.derived.insert((name, gadget.group(), groups), bytes);
    }
}
