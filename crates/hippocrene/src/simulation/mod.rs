//! Simulation: what a program on encrypted arrays takes and gives, before any key is made.

mod report;
mod trees;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hippocrene_ckks::{Values, bootstrap::BootstrapPlan};
use hippocrene_fhew::LOOK_UP;
use hippocrene_ring::{Kernel, Meter};
use hippocrene_rlwe::{PreparedEvaluationKeys, Profile};
use num_complex::Complex64;
use zeroize::Zeroizing;

use crate::{
    BitArray, Bootstrapping, BootstrappingKeys, ClientKey, Clustering, EncryptedArray, Encryption,
    Error, EvaluationKeys, IntegerArray, Interval, KeyRequest, LookUps, Server, Session, Settings,
};

pub use report::{Purpose, Report, UsedKey};
pub use trees::TreeSimulation;

/// Where programs are simulated: the same code computes on arrays without residues, and notes what
/// it would take.
///
/// A simulation has a [`Server`] like any other, with every key that there can be, and encrypts
/// arrays that hold no secret: their values go along in the clear, through every operation, so that
/// they can be looked at ([`Simulation::values`]) and a bound that they do not keep is found.
/// Capacity, precision and bounds are those of the program that it stands for, to the bit, and so
/// are the errors. (A key of the bootstrap that the program wants for larger moduli too is made for
/// all: the precision of what bootstraps rotate by it then differs by a small part of a bit.)
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
    /// What the server has keys for beside rotations, one thing at a time.
    features: Vec<Feature>,
    /// How many ciphertexts the server had bootstrapped when what was noted was forgotten.
    before: AtomicU64,
    /// Bytes of the polynomials of all these keys, of which the memory of those that are used is
    /// reckoned instead.
    held: usize,
    /// The keys of the server, where it does not have every key.
    only: Option<EvaluationKeys>,
}

/// A request for one thing beside rotations, and the keys that come with it.
#[derive(Debug)]
struct Feature {
    request: KeyRequest,
    keys: EvaluationKeys,
}

impl Simulation {
    /// A simulation with these settings. Times are predicted by
    /// [`crate::profile::for_predictions`].
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Self::with_keys(settings, &KeyRequest::only([]))
    }

    /// A simulation whose server bootstraps, asked for or where capacity lacks, as one does that
    /// has the keys for `bootstrapping`.
    ///
    /// # Errors
    /// As [`Simulation::new`] and [`Bootstrapping::plan`].
    pub fn with_bootstrapping(
        settings: Settings,
        bootstrapping: Bootstrapping,
    ) -> Result<Self, Error> {
        Self::with_keys(
            settings,
            &KeyRequest { bootstrapping: Some(bootstrapping), ..KeyRequest::only([]) },
        )
    }

    /// A simulation whose server can do what takes keys beside those of rotations, as one does that
    /// has the keys of `request`: bootstrap, look up tables, and compute on bits. Rotations and
    /// conjugation it has all, whatever the request says of them.
    ///
    /// # Errors
    /// As [`Simulation::new`] and [`ClientKey::evaluation_keys`].
    pub fn with_keys(settings: Settings, request: &KeyRequest) -> Result<Self, Error> {
        let (session, client) = Self::parties(settings)?;
        let rlwe = session.context().rlwe();
        let none = || KeyRequest::only([]);
        let bootstrapping = request
            .bootstrapping
            .map(|wanted| KeyRequest { bootstrapping: Some(wanted), ..none() });
        let make =
            |request: KeyRequest| Ok(Feature { keys: client.evaluation_keys(&request)?, request });
        let bootstrapping: Option<Feature> = bootstrapping.map(make).transpose()?;
        // Each is made for itself, and tables have the capacity that they have beside bootstraps.
        let own = bootstrapping.as_ref().and_then(|feature| feature.keys.bootstrapping());
        let reserve = match (own, request.look_ups) {
            (Some(own), Some(_)) => {
                let plan =
                    BootstrapPlan::new(Arc::clone(session.context()), own.literal().clone())?;
                Some(crate::bootstrapping::reserve(&plan))
            }
            _ => None,
        };
        let precision = own.map(BootstrappingKeys::precision);
        let wanted = request.look_ups.map(|wanted| wanted.beside(&session, reserve)).transpose()?;
        let look_ups = wanted.map(|wanted| KeyRequest { look_ups: Some(wanted), ..none() });
        let bits = request.bits.clone().map(KeyRequest::bits);
        let others = [look_ups, bits].into_iter().flatten().map(make);
        let features = bootstrapping.into_iter().map(Ok).chain(others);
        let features = features.collect::<Result<Vec<Feature>, Error>>()?;
        let all = match &features[..] {
            [one] => one.keys.clone(),
            _ => client.evaluation_keys(&KeyRequest {
                // It was found before.
                bootstrapping: request
                    .bootstrapping
                    .map(|wanted| Bootstrapping { precision, ..wanted }),
                look_ups: wanted,
                bits: request.bits.clone(),
                ..none()
            })?,
        };
        let keys = match &features[..] {
            [] => PreparedEvaluationKeys::every(rlwe, client.fingerprint())?,
            _ => PreparedEvaluationKeys::every_beside(rlwe, all.inner())?,
        };
        let server = Server::of_prepared(session.clone(), Arc::new(keys), &all)?;
        drop(all);
        let held = session.context().rlwe().meter().map_or(0, Meter::live);
        Ok(Simulation { client, server, features, before: AtomicU64::new(0), held, only: None })
    }

    /// A session without residues, and a client in it.
    fn parties(settings: Settings) -> Result<(Session, ClientKey), Error> {
        let session = Session::hollow(settings)?;
        let client = ClientKey::in_session(session.clone())?;
        Ok((session, client))
    }

    /// A simulation whose server has the keys of `request` and no others: it goes the way that a
    /// server with such keys goes, and has its errors. Memory and sizes are those of all these
    /// keys, used or not.
    ///
    /// # Errors
    /// As [`Simulation::new`] and [`ClientKey::evaluation_keys`].
    pub fn limited_to(settings: Settings, request: &KeyRequest) -> Result<Self, Error> {
        let (_, client) = Self::parties(settings)?;
        let keys = client.evaluation_keys(request)?;
        let features = features_of(&client, &keys)?;
        Self::with_only(client, features, keys)
    }

    /// [`Simulation::limited_to`] of keys that there are. Their residues are not looked at.
    ///
    /// # Errors
    /// As [`Simulation::limited_to`].
    pub fn limited_to_keys(keys: &EvaluationKeys) -> Result<Self, Error> {
        let (session, client) = Self::parties(keys.session().settings().clone())?;
        let rlwe = session.context().rlwe();
        let mut inner = hippocrene_rlwe::EvaluationKeys::empty(rlwe, client.fingerprint());
        if keys.inner().relinearisation().is_some() {
            inner.add_relinearisation(rlwe, client.secret())?;
        }
        let top = rlwe.parameters().top();
        let galois =
            keys.inner().galois().iter().map(|(element, key)| (*element, key.modulus().gcd(top)));
        inner.add_each_galois_at(rlwe, client.secret(), galois)?;
        let features = features_of(&client, keys)?;
        let mut all = EvaluationKeys::new(session, inner);
        for Feature { keys, .. } in &features {
            if let Some(own) = keys.bootstrapping() {
                all = all.with_bootstrapping(own.clone());
            }
            if let Some(own) = keys.look_ups() {
                all = all.with_look_ups(own.clone());
            }
            if let Some(own) = keys.bits() {
                all = all.with_bits(own.clone());
            }
        }
        Self::with_only(client, features, all)
    }

    fn with_only(
        client: ClientKey,
        features: Vec<Feature>,
        keys: EvaluationKeys,
    ) -> Result<Self, Error> {
        let server = Server::new(&keys)?;
        let held = server.session().context().rlwe().meter().map_or(0, Meter::live);
        Ok(Simulation {
            client,
            server,
            features,
            before: AtomicU64::new(0),
            held,
            only: Some(keys),
        })
    }

    /// The keys that the server has, where it does not have every key ([`Simulation::limited_to`]).
    pub fn keys(&self) -> Option<&EvaluationKeys> {
        self.only.as_ref()
    }

    /// Predicts times by the figures that ship with this library from now on, whatever machine this
    /// is. A choice between ways that goes by such times is the same everywhere.
    pub fn use_reference_prices(&self) {
        let rlwe = self.server.session().context().rlwe();
        rlwe.set_prices(Profile::typical(Kernel::Avx512Ifma));
    }

    /// The server, which has every key or those that the simulation is limited to.
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

    /// [`Simulation::encrypt_integers`] of values that are declared to lie in `interval`.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_integers_within`].
    pub fn encrypt_integers_within(
        &self,
        values: &[i64],
        shape: &[usize],
        interval: Interval,
    ) -> Result<IntegerArray, Error> {
        self.client.encrypt_integers_within(values, shape, interval)
    }

    /// [`Simulation::encrypt`] for bits, which takes keys for them ([`Simulation::with_keys`]).
    ///
    /// # Errors
    /// As [`Server::bits`] and [`ClientKey::encrypt_bits`].
    pub fn encrypt_bits(&self, values: &[bool], shape: &[usize]) -> Result<BitArray, Error> {
        self.client.encrypt_bits(self.server.bits()?.plan(), values, shape)
    }

    /// [`Simulation::encrypt`] for points to be clustered, which takes keys for that
    /// ([`LookUps::clusters`]).
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_points`].
    pub fn encrypt_points(
        &self,
        look_ups: &LookUps,
        points: &[f64],
        start: &[f64],
    ) -> Result<Clustering, Error> {
        self.client.encrypt_points(look_ups, points, start)
    }

    /// [`Simulation::encrypt`] for points to be assigned to these clusters.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_new_points`], and [`Error::Argument`] when the clusters are not
    /// known.
    pub fn encrypt_new_points(
        &self,
        look_ups: &LookUps,
        clusters: &Clustering,
        points: &[f64],
    ) -> Result<Clustering, Error> {
        let known = |array: &EncryptedArray| {
            let values = self.values(array).ok_or_else(|| {
                Error::argument("simulate new points", "the clusters are not known without noise")
            })?;
            Ok(Zeroizing::new(values.iter().map(|z| z.re).collect()))
        };
        self.client.new_points_by(look_ups, clusters, points, known)
    }

    /// The centroids, row by row, and labels if there are any, but for noise; nothing where they
    /// are not known.
    pub fn clusters(&self, clusters: &Clustering) -> Option<(Vec<f64>, Option<Vec<usize>>)> {
        let known = |array: &EncryptedArray| {
            let values = self.values(array).ok_or(())?;
            Ok::<_, ()>(Zeroizing::new(values.iter().map(|z| z.re).collect()))
        };
        clusters.read(known).ok()
    }

    /// The elements of an array in row-major order, but for noise; nothing where they are not
    /// known.
    pub fn values(&self, array: &EncryptedArray) -> Option<Vec<Complex64>> {
        let session = Some(self.server.session()).filter(|session| array.is_of(session))?;
        let slots = array
            .expanded(session)
            .iter()
            .map(|c| c.known_values().map(<[Complex64]>::to_vec))
            .collect();
        let slots: Option<Vec<Vec<Complex64>>> = slots;
        slots.map(|slots| array.layout().gather(&slots))
    }

    /// The elements of an array of bits in row-major order; nothing where they are not known.
    pub fn bits(&self, array: &BitArray) -> Option<Vec<bool>> {
        let session = Some(self.server.session()).filter(|session| array.is_of(session))?;
        let slots: Option<Vec<Vec<bool>>> =
            array.expanded(session).iter().map(|c| c.known_bits()).collect();
        slots.map(|slots| array.layout().gather(&slots))
    }

    /// Forgets what was noted so far, such as what the encryption of arguments took. The memory of
    /// arrays that are there counts on.
    pub fn restart(&self) {
        self.before.store(self.server.bootstraps(), Ordering::Relaxed);
        self.server.session().context().rlwe().reset_tally();
    }

    /// What was noted since [`Simulation::restart`].
    pub fn report(&self) -> Report {
        let bootstraps = self.server.bootstraps() > self.before.load(Ordering::Relaxed);
        let rlwe = self.server.session().context().rlwe();
        let tally = rlwe.tally();
        let used = |feature: &&Feature| match feature.request {
            KeyRequest { bootstrapping: Some(_), .. } => bootstraps,
            KeyRequest { look_ups: Some(_), .. } => tally.count(LOOK_UP) > 0,
            // Bits take their keys whatever is done with them.
            _ => true,
        };
        let features: Vec<&Feature> = self.features.iter().filter(used).collect();
        let polynomials = rlwe.meter().map_or(0, Meter::peak).saturating_sub(self.held);
        let mut report = Report::new(rlwe, &tally, &features, polynomials, self.only.as_ref());
        if report.look_ups.is_some() || self.only.is_some() {
            report.peak_memory += self.server.table_key_bytes();
        }
        report
    }
}

/// What there is in `keys` beside rotations and products, one thing at a time, with keys of this
/// client without residues.
fn features_of(client: &ClientKey, keys: &EvaluationKeys) -> Result<Vec<Feature>, Error> {
    let (session, secret) = (client.session(), client.secret());
    let (rlwe, none) = (session.context().rlwe(), || KeyRequest::only([]));
    let mut features = Vec::new();
    if let Some(own) = keys.bootstrapping() {
        let plan = BootstrapPlan::new(Arc::clone(session.context()), own.literal().clone())?;
        let encapsulation = plan.encapsulation_keys(secret)?;
        let encapsulation =
            encapsulation.ok_or_else(|| Error::Internal("the plan has no sparse secret".into()))?;
        let literal = plan.literal().clone();
        let like = BootstrappingKeys::new(session, own.precision(), literal, encapsulation)?;
        let mut inner = hippocrene_rlwe::EvaluationKeys::empty(rlwe, client.fingerprint());
        inner.add_relinearisation(rlwe, secret)?;
        inner.add_conjugation(rlwe, secret)?;
        plan.add_keys(&mut inner, secret)?;
        let request = KeyRequest { bootstrapping: Some(like.request()), ..none() };
        let keys = EvaluationKeys::new(session.clone(), inner).with_bootstrapping(like);
        features.push(Feature { request, keys });
    }
    if let Some(own) = keys.look_ups() {
        let request = KeyRequest { look_ups: Some(own.request()), ..none() };
        let keys = match keys.session().context().rlwe().is_hollow() {
            // What takes time, the keys between slots and single numbers, is there.
            true => {
                let mut inner = hippocrene_rlwe::EvaluationKeys::empty(rlwe, client.fingerprint());
                inner.add_relinearisation(rlwe, secret)?;
                own.request().plan(session)?.add_keys(&mut inner, secret)?;
                EvaluationKeys::new(session.clone(), inner).with_look_ups(own.clone())
            }
            false => client.evaluation_keys(&request)?,
        };
        features.push(Feature { request, keys });
    }
    if let Some(own) = keys.bits() {
        let request = KeyRequest::bits(own.literal().clone());
        features.push(Feature { keys: client.evaluation_keys(&request)?, request });
    }
    Ok(features)
}
