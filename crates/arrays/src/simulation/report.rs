//! The report on a simulated program.

use std::collections::BTreeMap;

use hippocrene_ckks::bits::BitLiteral;
use hippocrene_ring::{
    MAX_SPARE_BYTES,
    automorphism::{galois_element_of_conjugation, galois_element_of_rotation},
};
use hippocrene_rlwe::{Context, KeyUse, Modulus, SwitchingKey, Tally};

use super::Feature;
use crate::{Bootstrapping, EvaluationKeys, KeyRequest, LookUps};

/// The bytes of new memory that the operating system provides per second.
///
/// Chosen between figures that were measured: 2.5 to 9 GB per second in the first runs of eight
/// programs, whose times `bench/programs.py` prints (Linux on a virtual machine with a Zen 5,
/// November 2026). Memory that no process has used for a while took ten times as long there.
const NEW_BYTES_PER_SECOND: f64 = 4e9;

/// The predicted cost of a simulated program, and the keys that it needs.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{Encryption, Preset, Purpose, Simulation};
///
/// let simulation = Simulation::new(Preset::by_name("n13")?.settings()?)?;
/// let x = simulation.encrypt((&[1.0, 2.0][..]).into(), &[2], &Encryption::default())?;
/// simulation.server().sum(&simulation.server().mul(&x, &x)?, None)?;
///
/// let report = simulation.report();
/// let purposes: Vec<Purpose> = report.keys.iter().map(|key| key.purpose).collect();
/// assert_eq!(purposes, [Purpose::Relinearisation, Purpose::Rotation(1)]);
/// assert_eq!(report.bootstraps, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Seconds on one thread, by the profile of the session.
    pub seconds: f64,
    /// Seconds of the first run on a server. This includes the time in which the operating system
    /// provides memory.
    pub first_seconds: f64,
    /// The operations, each with its count and its seconds, the longest first.
    pub operations: Vec<(&'static str, u64, f64)>,
    /// The peak of memory while the program runs, in bytes.
    ///
    /// It counts the keys in the form used for computing, data derived from them, all ciphertexts,
    /// plaintexts and intermediate results, and the memory that is kept for reuse.
    ///
    /// It does not count the phase before, in which keys are read and a server is made of them. In
    /// that phase the keys and the server's keys are in memory together, which is about
    /// `peak_memory + key_bytes`.
    pub peak_memory: usize,
    /// Bytes of the keys as stored.
    pub key_bytes: usize,
    /// The keys that the program uses, each with the modulus that it needs and the size of that
    /// modulus.
    ///
    /// The moduli of all ciphertexts that a key is used for divide its modulus.
    pub keys: Vec<UsedKey>,
    /// The number of bootstraps of ciphertexts, including those of gates of bits.
    pub bootstraps: u64,
    /// log2 of a bound on the probability that any bootstrap or look-up fails; `None` where none
    /// can.
    ///
    /// If one fails, results are wrong by more than their stated errors.
    pub log2_failure_probability: Option<f64>,
    /// The bootstrap of numbers, if the program uses one.
    pub bootstrapping: Option<Bootstrapping>,
    /// The look-up tables, if the program uses them.
    pub look_ups: Option<LookUps>,
    /// The bootstrap of bits, if the server has keys for them.
    pub bits: Option<BitLiteral>,
}

/// A key that a simulated program uses.
///
/// See [`Report`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsedKey {
    /// The operation that uses the key.
    pub purpose: Purpose,
    /// The least common multiple of the moduli of the ciphertexts that the key is applied to.
    pub modulus: Modulus,
    /// log2 of `modulus`, in bits.
    pub modulus_bits: f64,
    /// True if the keys of a feature include this key, for at least this modulus, so that it need
    /// not be requested separately.
    ///
    /// The features are a bootstrap of numbers or of bits, and look-up tables.
    pub is_in_feature_keys: bool,
}

/// The operation that a key is for.
///
/// See [`Report`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Products of encrypted arrays.
    Relinearisation,
    /// A rotation by this number of slots to the left, or to the right if it is negative.
    Rotation(i64),
    /// Complex conjugation, which exchanges the rows of integers.
    Conjugation,
}

impl Report {
    /// Makes the report of a program from the tally of its operations.
    ///
    /// `polynomials` is the peak memory of ciphertexts, plaintexts and intermediate results, in
    /// bytes. Counted keys are those that the program uses, or all of `only`.
    pub(super) fn new(
        rlwe: &Context,
        tally: &Tally,
        features: &[&Feature],
        polynomials: usize,
        only: Option<&EvaluationKeys>,
    ) -> Self {
        let parameters = rlwe.parameters();
        let request =
            |f: fn(&KeyRequest) -> bool| features.iter().map(|a| &a.request).find(|a| f(a));
        let used = |(name, modulus): (&KeyUse, &Modulus)| UsedKey {
            purpose: purpose(*name, rlwe.degree()),
            modulus: *modulus,
            modulus_bits: parameters.log2(*modulus),
            is_in_feature_keys: features.iter().any(|feature| feature.holds(*name, *modulus)),
        };
        let mut keys: Vec<UsedKey> = tally.keys().iter().map(used).collect();
        keys.sort_by_key(|key| match key.purpose {
            Purpose::Relinearisation => (0, 0, false),
            Purpose::Rotation(steps) => (1, steps.unsigned_abs(), steps < 0),
            Purpose::Conjugation => (2, 0, false),
        });
        let (moduli, tables) = match only {
            Some(keys) => {
                let inner = keys.inner();
                let all = inner.galois().values().chain(inner.relinearisation());
                (
                    all.map(SwitchingKey::modulus).chain(sparse_moduli(keys)).collect(),
                    table_bytes(keys),
                )
            }
            None => {
                let tables = features.iter().map(|feature| table_bytes(&feature.keys)).sum();
                (key_moduli(tally, features, parameters.full()), tables)
            }
        };
        let moduli: Vec<Modulus> = moduli;
        let derived = tally.derived_key_bytes().min(rlwe.key_memory().1);
        // Keys are in memory before the first run.
        let new = derived + polynomials;
        let used = moduli.iter().map(|m| rlwe.prepared_key_bytes_at(*m)).sum::<usize>() + new;
        let seconds = tally.seconds();
        Report {
            seconds,
            first_seconds: seconds + new as f64 / NEW_BYTES_PER_SECOND,
            operations: operations(tally),
            // Blocks are dropped while keys are loaded and while the server computes.
            peak_memory: used + used.min(MAX_SPARE_BYTES),
            key_bytes: moduli
                .iter()
                .map(|m| parameters.switching_key_size_at(*m).seeded)
                .sum::<usize>()
                + tables,
            keys,
            bootstraps: tally.raises(),
            log2_failure_probability: tally.log2_failure_probability(),
            bootstrapping: request(|a| a.bootstrapping.is_some()).and_then(|a| a.bootstrapping),
            look_ups: request(|a| a.look_ups.is_some()).and_then(|a| a.look_ups),
            bits: request(|a| a.bits.is_some()).and_then(|a| a.bits.clone()),
        }
    }

    /// The rotations whose keys must be requested separately, since no feature includes them.
    pub fn rotations(&self) -> Vec<i64> {
        let steps = |key: &UsedKey| match key.purpose {
            _ if key.is_in_feature_keys => None,
            Purpose::Rotation(steps) => Some(steps),
            Purpose::Relinearisation | Purpose::Conjugation => None,
        };
        self.keys.iter().filter_map(steps).collect()
    }

    /// True if the program uses the key of complex conjugation and no feature includes that key.
    pub fn conjugates(&self) -> bool {
        self.keys.iter().any(|key| key.purpose == Purpose::Conjugation && !key.is_in_feature_keys)
    }

    /// True if the program uses the relinearisation key.
    pub fn relinearises(&self) -> bool {
        self.keys.iter().any(|key| key.purpose == Purpose::Relinearisation)
    }
}

impl KeyRequest {
    /// Requests the keys that a simulated program uses, and no others.
    pub fn for_simulation(report: &Report) -> Self {
        KeyRequest {
            relinearisation: report.relinearises(),
            conjugation: report.conjugates(),
            bootstrapping: report.bootstrapping,
            look_ups: report.look_ups,
            bits: report.bits.clone(),
            ..KeyRequest::only(report.rotations())
        }
    }
}

impl Feature {
    /// True if this key is among the feature's own, for ciphertexts modulo `modulus`.
    fn holds(&self, name: KeyUse, modulus: Modulus) -> bool {
        let keys = self.keys.inner();
        let key = match name {
            KeyUse::Relinearisation => keys.relinearisation(),
            KeyUse::Galois(element) => keys.galois().get(&element),
        };
        key.is_some_and(|key| modulus.divides(key.modulus()))
    }
}

/// The moduli of the keys that [`KeyRequest::for_simulation`] requests.
///
/// Keys that come with features are for the moduli that these need. Other keys are for all moduli,
/// `full`. Of the two keys of a sparse secret only the key back is counted, since the other is
/// small.
fn key_moduli(tally: &Tally, features: &[&Feature], full: Modulus) -> Vec<Modulus> {
    let mut moduli: BTreeMap<KeyUse, Modulus> = BTreeMap::new();
    let mut back = Vec::new();
    for Feature { keys, .. } in features {
        let inner = keys.inner();
        let galois = inner.galois().iter().map(|(g, key)| (KeyUse::Galois(*g), key.modulus()));
        let relinearisation =
            inner.relinearisation().map(|key| (KeyUse::Relinearisation, key.modulus()));
        for (name, modulus) in galois.chain(relinearisation) {
            let all = moduli.entry(name).or_insert(Modulus::ONE);
            *all = all.lcm(modulus);
        }
        back.extend(sparse_moduli(keys));
    }
    for (name, modulus) in tally.keys() {
        if !features.iter().any(|feature| feature.holds(*name, *modulus)) {
            moduli.insert(*name, full);
        }
    }
    moduli.into_values().chain(back).collect()
}

/// The moduli of the keys back from sparse secrets.
fn sparse_moduli(keys: &EvaluationKeys) -> impl Iterator<Item = Modulus> {
    let sparse = [
        keys.bootstrapping().map(|own| own.encapsulation()),
        keys.bits().map(|own| own.encapsulation()),
    ];
    sparse.map(|own| own.map(|own| own.up().modulus())).into_iter().flatten()
}

/// Bytes of keys between slots and single numbers, as stored.
fn table_bytes(keys: &EvaluationKeys) -> usize {
    keys.look_ups().map_or(0, |own| own.inner().bytes(keys.session().context()))
}

/// The operations with counts and seconds, the longest first.
pub(super) fn operations(tally: &Tally) -> Vec<(&'static str, u64, f64)> {
    let mut all: Vec<_> = tally
        .operations()
        .iter()
        .map(|(name, noted)| (*name, noted.count, noted.seconds))
        .collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    all
}

/// The purpose of a key.
///
/// Rotations by more than half of the slots count as rotations to the right.
fn purpose(name: KeyUse, degree: usize) -> Purpose {
    let element = match name {
        KeyUse::Relinearisation => return Purpose::Relinearisation,
        KeyUse::Galois(element) => element,
    };
    if element == galois_element_of_conjugation(degree) {
        return Purpose::Conjugation;
    }
    let slots = degree as i64 / 2;
    let left =
        (1..slots).find(|steps| galois_element_of_rotation(degree, *steps) == element).unwrap_or(0);
    Purpose::Rotation(if left > slots / 2 { left - slots } else { left })
}
