//! Simulation: what a program on encrypted arrays takes and gives, before any key is made.

use std::{collections::BTreeMap, sync::Arc};

use hippocrene_ckks::Values;
use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};
use hippocrene_rlwe::{KeyUse, Modulus, PreparedEvaluationKeys, Tally};
use num_complex::Complex64;

use crate::{
    Bootstrapping, CiphertextBody, ClientKey, EncryptedArray, Encryption, Error, EvaluationKeys,
    IntegerArray, KeyRequest, Server, Session, Settings,
};

/// Where programs are simulated: the same code computes on arrays without residues, and notes what it would take.
///
/// A simulation has a [`Server`] like any other, with every key that there can be, and encrypts arrays that hold no secret: their values go along in the clear, through
/// every operation, so that they can be looked at ([`Simulation::values`]) and a bound that they do not keep is found. Capacity, precision and bounds are those
/// of the program that it stands for, to the bit, and so are the errors.
/// (A key of the bootstrap that the program wants for larger moduli too is made for all: the precision of what bootstraps rotate by it then differs by a small part of a bit.)
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, Encryption, KeyRequest, Preset, Simulation};
///
/// let settings = Preset::by_name("n14")?.settings()?;
/// let simulation = Simulation::new(settings)?;
/// let x = simulation.encrypt((&[1.0, 2.0, 3.0, 4.0][..]).into(), &[4], &Encryption::default())?;
/// simulation.restart();
/// let y = simulation.server().sum(&simulation.server().mul(&x, &x)?, None)?;
///
/// let report = simulation.report();
/// assert!(report.seconds < 1.0 && report.bootstraps == 0);
/// assert_eq!(report.rotations(), [1, 2]); // the sum of four slots
/// assert!((simulation.values(&y).unwrap()[0].re - 30.0).abs() < 1e-9);
///
/// let client = ClientKey::generate(Preset::by_name("n14")?)?;
/// let keys = client.evaluation_keys(&KeyRequest::for_simulation(&report))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Simulation {
    client: ClientKey,
    server: Server,
    bootstrapping: Option<(Bootstrapping, EvaluationKeys)>,
}

/// What a simulated program takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Seconds that one thread takes, by the profile of the session.
    pub seconds: f64,
    /// The operations, with how often each is done and the seconds that it takes, the longest first.
    pub operations: Vec<(&'static str, u64, f64)>,
    /// The most bytes of memory at one time: of the keys, what is derived from them, and all ciphertexts, plaintexts and intermediate results.
    pub peak_memory: usize,
    /// Bytes of the keys as they are stored.
    pub key_bytes: usize,
    /// The keys that are used, each with the modulus that the moduli of the ciphertexts divide that it is used for, and how many bits that has.
    pub keys: Vec<UsedKey>,
    /// How many bootstraps of ciphertexts there are.
    pub bootstraps: u64,
    /// The bootstrap, if there is any.
    pub bootstrapping: Option<Bootstrapping>,
}

/// A key that a simulated program uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsedKey {
    /// What it is for.
    pub purpose: Purpose,
    /// The least common multiple of the moduli of the ciphertexts that it is used for.
    pub modulus: Modulus,
    /// log2 of that.
    pub modulus_bits: f64,
    /// Whether the keys of the bootstrap, which are asked for with it, hold it for this modulus.
    pub of_bootstrap: bool,
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Products.
    Relinearisation,
    /// A rotation by so many slots to the left; negative: to the right.
    Rotation(i64),
    /// Complex conjugation, which exchanges the rows of integers.
    Conjugation,
}

impl Simulation {
    /// A simulation with these settings. Times are predicted by the profile of this machine, if there is one ([`crate::profile::installed`]), and else by typical
    /// figures for its kernel.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Self::make(settings, None)
    }

    /// A simulation whose server bootstraps, asked for or where capacity lacks, as one does that has the keys for `bootstrapping`.
    ///
    /// # Errors
    /// As [`Simulation::new`] and [`Bootstrapping::plan`].
    pub fn with_bootstrapping(settings: Settings, bootstrapping: Bootstrapping) -> Result<Self, Error> {
        Self::make(settings, Some(bootstrapping))
    }

    fn make(settings: Settings, bootstrapping: Option<Bootstrapping>) -> Result<Self, Error> {
        let session = Session::hollow(settings)?;
        let (client, rlwe) = (ClientKey::in_session(session.clone())?, session.context().rlwe());
        let with_keys = |bootstrapping| -> Result<_, Error> {
            let request = KeyRequest { bootstrapping: Some(bootstrapping), ..KeyRequest::only([]) };
            Ok((bootstrapping, client.evaluation_keys(&request)?))
        };
        let bootstrapping = bootstrapping.map(with_keys).transpose()?;
        let keys = match &bootstrapping {
            Some((_, keys)) => PreparedEvaluationKeys::every_beside(rlwe, keys.inner())?,
            None => PreparedEvaluationKeys::every(rlwe, client.fingerprint())?,
        };
        let own = bootstrapping.as_ref().and_then(|(_, keys)| keys.bootstrapping());
        let server = Server::of_prepared(session.clone(), Arc::new(keys), client.fingerprint(), own)?;
        Ok(Simulation { client, server, bootstrapping })
    }

    /// The server, which has every key.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// An array like those that a client encrypts, without residues.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`].
    pub fn encrypt(
        &self,
        values: Values<'_>,
        shape: &[usize],
        how: &Encryption,
    ) -> Result<EncryptedArray, Error> {
        self.client.encrypt_with(values, shape, how)
    }

    /// [`Simulation::encrypt`] for integers. Their values are not followed.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_integers`].
    pub fn encrypt_integers(&self, values: &[i64], shape: &[usize]) -> Result<IntegerArray, Error> {
        self.client.encrypt_integers(values, shape)
    }

    /// The elements of an array in row-major order, but for noise; nothing where they are not known.
    pub fn values(&self, array: &EncryptedArray) -> Option<Vec<Complex64>> {
        let session = self.server.session();
        let slots =
            array.expanded(session).iter().map(|c| c.known_values().map(<[Complex64]>::to_vec)).collect();
        let slots: Option<Vec<Vec<Complex64>>> = slots;
        slots.map(|slots| array.layout().gather(&slots))
    }

    /// Forgets what was noted so far, such as what the encryption of arguments took. The memory of arrays that are there counts on.
    pub fn restart(&self) {
        self.server.session().context().rlwe().reset_tally();
    }

    /// What was noted since [`Simulation::restart`].
    pub fn report(&self) -> Report {
        let rlwe = self.server.session().context().rlwe();
        let tally = rlwe.tally();
        let parameters = rlwe.parameters();
        let bootstraps = tally.raises();
        let of_bootstrap = self.bootstrapping.as_ref().filter(|_| bootstraps > 0);
        let used = |(name, modulus): (&KeyUse, &Modulus)| UsedKey {
            purpose: purpose(*name, rlwe.degree()),
            modulus: *modulus,
            modulus_bits: parameters.log2(*modulus),
            of_bootstrap: of_bootstrap.is_some_and(|(_, keys)| holds(keys.inner(), *name, *modulus)),
        };
        let moduli = key_moduli(&tally, of_bootstrap.map(|(_, keys)| keys), parameters.full());
        let mut keys: Vec<UsedKey> = tally.keys().iter().map(used).collect();
        keys.sort_by_key(|key| match key.purpose {
            Purpose::Relinearisation => (0, 0, false),
            Purpose::Rotation(steps) => (1, steps.unsigned_abs(), steps < 0),
            Purpose::Conjugation => (2, 0, false),
        });
        let derived = tally.derived_key_bytes().min(rlwe.key_memory().1);
        let polynomials = rlwe.meter().map_or(0, |meter| meter.peak());
        Report {
            seconds: tally.seconds(),
            operations: operations(&tally),
            peak_memory: moduli.iter().map(|m| rlwe.prepared_key_bytes_at(*m)).sum::<usize>()
                + derived
                + polynomials,
            key_bytes: moduli.iter().map(|m| parameters.switching_key_size_at(*m).seeded).sum(),
            keys,
            bootstraps,
            bootstrapping: of_bootstrap.map(|(bootstrapping, _)| *bootstrapping),
        }
    }
}

impl Report {
    /// The rotations that have keys of their own, beside those of the bootstrap.
    pub fn rotations(&self) -> Vec<i64> {
        let steps = |key: &UsedKey| match key.purpose {
            _ if key.of_bootstrap => None,
            Purpose::Rotation(steps) => Some(steps),
            Purpose::Relinearisation | Purpose::Conjugation => None,
        };
        self.keys.iter().filter_map(steps).collect()
    }

    /// Whether the key of complex conjugation is used, other than one of the bootstrap.
    pub fn conjugates(&self) -> bool {
        self.keys.iter().any(|key| key.purpose == Purpose::Conjugation && !key.of_bootstrap)
    }
}

impl KeyRequest {
    /// The keys that a simulated program uses, and no others.
    pub fn for_simulation(report: &Report) -> Self {
        KeyRequest {
            conjugation: report.conjugates(),
            bootstrapping: report.bootstrapping,
            ..KeyRequest::only(report.rotations())
        }
    }
}

/// Whether such a key is among `keys`, for ciphertexts modulo `modulus`.
fn holds(keys: &hippocrene_rlwe::EvaluationKeys, name: KeyUse, modulus: Modulus) -> bool {
    let key = match name {
        KeyUse::Relinearisation => keys.relinearisation(),
        KeyUse::Galois(element) => keys.galois().get(&element),
    };
    key.is_some_and(|key| modulus.divides(key.modulus()))
}

/// The moduli of the keys that [`KeyRequest::for_simulation`] asks for: those of the bootstrap for what it wants, the others for all moduli, `full`. Of those of the sparse
/// secret one is small.
fn key_moduli(tally: &Tally, of_bootstrap: Option<&EvaluationKeys>, full: Modulus) -> Vec<Modulus> {
    let mut moduli = BTreeMap::new();
    if let Some(keys) = of_bootstrap {
        let inner = keys.inner();
        let galois = inner.galois().iter().map(|(g, key)| (KeyUse::Galois(*g), key.modulus()));
        moduli.extend(galois);
        moduli.extend(inner.relinearisation().map(|key| (KeyUse::Relinearisation, key.modulus())));
    }
    for (name, modulus) in tally.keys() {
        if !of_bootstrap.is_some_and(|keys| holds(keys.inner(), *name, *modulus)) {
            moduli.insert(*name, full);
        }
    }
    let back =
        of_bootstrap.and_then(|keys| keys.bootstrapping()).map(|own| own.encapsulation().up().modulus());
    moduli.into_values().chain(back).collect()
}

/// The operations, the longest first.
fn operations(tally: &Tally) -> Vec<(&'static str, u64, f64)> {
    let mut all: Vec<_> =
        tally.operations().iter().map(|(name, noted)| (*name, noted.count, noted.seconds)).collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    all
}

/// What a key is for. Rotations by more than half of the slots are those to the right.
fn purpose(name: KeyUse, degree: usize) -> Purpose {
    let element = match name {
        KeyUse::Relinearisation => return Purpose::Relinearisation,
        KeyUse::Galois(element) => element,
    };
    if element == galois_element_of_conjugation(degree) {
        return Purpose::Conjugation;
    }
    let slots = degree as i64 / 2;
    let left = (1..slots).find(|steps| galois_element_of_rotation(degree, *steps) == element).unwrap_or(0);
    Purpose::Rotation(if left > slots / 2 { left - slots } else { left })
}

/// Checks that the values of an array without residues keep to a bound that is declared.
pub(crate) fn check_bound(
    array: &[CiphertextBody<crate::Numbers>],
    bound: f64,
    operation: &'static str,
) -> Result<(), Error> {
    let values = array.iter().filter_map(|body| match body {
        CiphertextBody::Full(c) => c.known_values(),
        CiphertextBody::Seeded(c) => c.known_values(),
    });
    let largest = values.flatten().map(|x| x.norm()).fold(0.0, f64::max);
    if largest <= bound * (1.0 + 1e-9) {
        return Ok(());
    }
    Err(Error::argument(operation, format!("a value of {largest} exceeds the declared bound {bound}")))
}
