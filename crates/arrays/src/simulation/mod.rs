//! Simulation: the predicted cost and results of a program on encrypted arrays, without keys.

mod report;
mod trees;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hippocrene_ckks::{Values, bootstrap::BootstrapPlan};
use hippocrene_fhew::LOOK_UP_OPERATION;
use hippocrene_ring::MemoryMeter;
use hippocrene_rlwe::{PreparedEvaluationKeys, Profile};
use num_complex::Complex64;
use zeroize::Zeroizing;

use crate::{
    BitArray, Bootstrapping, BootstrappingKeys, ClientKey, Clustering, EncryptedArray, Encryption,
    Error, EvaluationKeys, IntegerArray, Interval, KMeansMethod, KeyRequest, Server, Session,
    Settings,
};

pub use report::{Purpose, Report, UsedKey};
pub use trees::TreeSimulation;

/// A simulation, in which the same code runs on arrays without residues and its cost is counted (a
/// dry run).
///
/// A simulation has a [`Server`] with every key that there can be. The arrays that it encrypts hold
/// no secret. Their values travel in the clear through every operation. You can look at them
/// ([`Simulation::values`]), and a declared bound that they exceed is detected.
///
/// Capacity, precision, bounds and errors are exactly those of the program that it simulates, with
/// one exception. If the program uses a rotation of the bootstrap at larger moduli too, the real
/// key is made for all moduli. The precision of bootstraps that rotate with it then differs by a
/// small part of a bit.
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
/// let client = ClientKey::generate(Preset::by_name("n14")?.settings()?)?;
/// let keys = client.evaluation_keys(&KeyRequest::for_simulation(&report))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Simulation {
    client: ClientKey,
    server: Server,
    /// The features other than rotations that the server has keys for.
    features: Vec<Feature>,
    /// The number of ciphertexts that the server had bootstrapped at the last restart.
    before: AtomicU64,
    /// Bytes of the polynomials of all these keys. Reports count the memory of the used keys
    /// instead.
    held: usize,
    /// The keys of the server, if it does not have every key.
    only: Option<EvaluationKeys>,
}

/// A request for one feature other than rotations, and the keys that come with it.
#[derive(Debug)]
struct Feature {
    request: KeyRequest,
    keys: EvaluationKeys,
}

impl Simulation {
    /// Makes a simulation with these settings.
    ///
    /// Times are predicted by [`crate::profile::for_predictions`].
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Self::with_keys(settings, &KeyRequest::only([]))
    }

    /// Makes a simulation whose server has the keys for `bootstrapping`.
    ///
    /// It bootstraps when asked to and where capacity runs out.
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

    /// Makes a simulation whose server has the features of `request`: bootstraps, tables and bits.
    ///
    /// It has every rotation and conjugation, whatever the request says about them.
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
        // The keys of each feature are made separately. Tables get the capacity that they have
        // together with bootstraps.
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
        let wanted = request
            .look_ups
            .map(|wanted| wanted.with_default_capacity(&session, reserve))
            .transpose()?;
        let look_ups = wanted.map(|wanted| KeyRequest { look_ups: Some(wanted), ..none() });
        let bits = request.bits.clone().map(KeyRequest::bits);
        let others = [look_ups, bits].into_iter().flatten().map(make);
        let features = bootstrapping.into_iter().map(Ok).chain(others);
        let features = features.collect::<Result<Vec<Feature>, Error>>()?;
        let all = match &features[..] {
            [one] => one.keys.clone(),
            _ => client.evaluation_keys(&KeyRequest {
                // The precision was determined above.
                bootstrapping: request
                    .bootstrapping
                    .map(|wanted| Bootstrapping { precision, ..wanted }),
                look_ups: wanted,
                bits: request.bits.clone(),
                ..none()
            })?,
        };
        let keys = match &features[..] {
            [] => PreparedEvaluationKeys::all_for_dry_run(rlwe, client.fingerprint())?,
            _ => PreparedEvaluationKeys::all_for_dry_run_beside(rlwe, all.inner())?,
        };
        let server = Server::of_prepared(session.clone(), Arc::new(keys), &all)?;
        drop(all);
        let held = session.context().rlwe().meter().map_or(0, MemoryMeter::live);
        Ok(Simulation { client, server, features, before: AtomicU64::new(0), held, only: None })
    }

    /// Makes a session without residues, and a client in it.
    fn parties(settings: Settings) -> Result<(Session, ClientKey), Error> {
        let session = Session::dry_run(settings)?;
        let client = ClientKey::in_session(session.clone())?;
        Ok((session, client))
    }

    /// Makes a simulation whose server has the keys of `request` and no others.
    ///
    /// It chooses the same candidates as a server with these keys, and returns the same errors.
    /// Memory and sizes are those of all these keys, used or not.
    ///
    /// # Errors
    /// As [`Simulation::new`] and [`ClientKey::evaluation_keys`].
    pub fn limited_to(settings: Settings, request: &KeyRequest) -> Result<Self, Error> {
        let (_, client) = Self::parties(settings)?;
        let keys = client.evaluation_keys(request)?;
        let features = features_of(&client, &keys)?;
        Self::with_only(client, features, keys)
    }

    /// Makes a simulation whose server has the same kinds of keys as `keys`, as
    /// [`Simulation::limited_to`] does.
    ///
    /// The residues of the keys are not read.
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
        let held = server.session().context().rlwe().meter().map_or(0, MemoryMeter::live);
        Ok(Simulation {
            client,
            server,
            features,
            before: AtomicU64::new(0),
            held,
            only: Some(keys),
        })
    }

    /// The keys of the server, if it does not have every key ([`Simulation::limited_to`]).
    pub fn keys(&self) -> Option<&EvaluationKeys> {
        self.only.as_ref()
    }

    /// From now on predicts times by the figures that ship with this library, for AVX-512 IFMA.
    ///
    /// Choices between candidates that depend on such times are then the same on every machine.
    pub fn use_reference_prices(&self) {
        let rlwe = self.server.session().context().rlwe();
        rlwe.set_cost_profile(Profile::reference());
    }

    /// The server, which has every key, or those that the simulation is limited to.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Makes an array like those that a client encrypts, without residues.
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

    /// Makes an array of integers, as [`Simulation::encrypt`] does for numbers.
    ///
    /// Their values are not followed.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_integers`].
    pub fn encrypt_integers(&self, values: &[i64], shape: &[usize]) -> Result<IntegerArray, Error> {
        self.client.encrypt_integers(values, shape)
    }

    /// Makes an array of integers that are declared to lie in `interval`, as
    /// [`Simulation::encrypt_integers`] does.
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

    /// Makes an array of bits, which needs keys for them ([`Simulation::with_keys`]).
    ///
    /// # Errors
    /// As [`Server::bits`] and [`ClientKey::encrypt_bits`].
    pub fn encrypt_bits(&self, values: &[bool], shape: &[usize]) -> Result<BitArray, Error> {
        self.client.encrypt_bits(self.server.bits()?.plan(), values, shape)
    }

    /// Makes arrays of points to be clustered, which needs keys for that
    /// ([`KMeansMethod::key_request`]).
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_points`].
    pub fn encrypt_points(
        &self,
        method: impl Into<KMeansMethod>,
        points: &[f64],
        start: &[f64],
    ) -> Result<Clustering, Error> {
        self.client.encrypt_points(method, points, start)
    }

    /// Makes arrays of points to be assigned to these clusters.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_new_points`], and [`Error::Argument`] when the clusters are not
    /// known.
    pub fn encrypt_new_points(
        &self,
        method: impl Into<KMeansMethod>,
        clusters: &Clustering,
        points: &[f64],
    ) -> Result<Clustering, Error> {
        let known = |array: &EncryptedArray| {
            let values = self.values(array).ok_or_else(|| {
                Error::argument("simulate new points", "the clusters are not known without noise")
            })?;
            Ok(Zeroizing::new(values.iter().map(|z| z.re).collect()))
        };
        self.client.new_points_by(method.into(), clusters, points, known)
    }

    /// The centroids, row by row, and the labels if there are any, without noise.
    ///
    /// Returns `None` where they are not known.
    pub fn clusters(&self, clusters: &Clustering) -> Option<(Vec<f64>, Option<Vec<usize>>)> {
        let known = |array: &EncryptedArray| {
            let values = self.values(array).ok_or(())?;
            Ok::<_, ()>(Zeroizing::new(values.iter().map(|z| z.re).collect()))
        };
        clusters.read(known).ok()
    }

    /// The elements of an array in row-major order, without noise; `None` where they are not known.
    pub fn values(&self, array: &EncryptedArray) -> Option<Vec<Complex64>> {
        let session = Some(self.server.session()).filter(|session| array.is_of(session))?;
        let slots = array
            .expanded(session)
            .iter()
            .map(|c| c.tracked_values().map(<[Complex64]>::to_vec))
            .collect();
        let slots: Option<Vec<Vec<Complex64>>> = slots;
        slots.map(|slots| array.layout().gather(&slots))
    }

    /// The elements of an array of bits in row-major order; `None` where they are not known.
    pub fn bits(&self, array: &BitArray) -> Option<Vec<bool>> {
        let session = Some(self.server.session()).filter(|session| array.is_of(session))?;
        let slots: Option<Vec<Vec<bool>>> =
            array.expanded(session).iter().map(|c| c.known_bits()).collect();
        slots.map(|slots| array.layout().gather(&slots))
    }

    /// Forgets the operations counted so far, such as the encryption of arguments.
    ///
    /// The memory of existing arrays still counts.
    pub fn restart(&self) {
        self.before.store(self.server.bootstraps(), Ordering::Relaxed);
        self.server.session().context().rlwe().reset_tally();
    }

    /// Reports on the operations since the last [`Simulation::restart`].
    pub fn report(&self) -> Report {
        let bootstraps = self.server.bootstraps() > self.before.load(Ordering::Relaxed);
        let rlwe = self.server.session().context().rlwe();
        let tally = rlwe.tally();
        let used = |feature: &&Feature| match feature.request {
            KeyRequest { bootstrapping: Some(_), .. } => bootstraps,
            KeyRequest { look_ups: Some(_), .. } => tally.count(LOOK_UP_OPERATION) > 0,
            // The keys of bits count even if no gate is computed.
            _ => true,
        };
        let features: Vec<&Feature> = self.features.iter().filter(used).collect();
        let polynomials = rlwe.meter().map_or(0, MemoryMeter::peak).saturating_sub(self.held);
        let mut report = Report::new(rlwe, &tally, &features, polynomials, self.only.as_ref());
        if report.look_ups.is_some() || self.only.is_some() {
            report.peak_memory += self.server.table_key_bytes();
        }
        report
    }
}

/// The features in `keys` other than rotations and products.
///
/// Each gets keys of this client without residues.
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
        let keys = match keys.session().context().rlwe().is_dry_run() {
            // The keys between slots and single numbers, which take time to make, exist already.
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
