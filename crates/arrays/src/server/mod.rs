//! The server computes on encrypted arrays. It holds no secret.
//!
//! Scales and rescaling are automatic. Every product is rescaled to the scale that its precision
//! needs, and operands of different moduli are brought to the smaller one. Shapes follow numpy's
//! rules. Arrays of numbers that lack capacity are bootstrapped if the server has keys for it.
//!
//! Operations are written once for both forms of arrays ([`Arithmetic`]). Each folder holds one
//! subject:
//!
//! - `schemes`: the primitives on single ciphertexts, of numbers and of integers;
//! - `functions`: functions of elements, such as arithmetic, comparisons and look-up tables;
//! - `linear`: linear maps with plain weights, and sums;
//! - `matmul`: products of matrices;
//! - `moves`: moves of elements between slots;
//! - `planner`: precision, capacity and bootstraps, and the prices by which candidates are
//!   compared.

mod bits;
mod clustering;
mod functions;
mod linear;
mod matmul;
mod moves;
mod planner;
mod schemes;

pub(crate) use functions::DEVIATIONS_OF_LARGEST_ERROR;
pub use functions::application::{Application, Prepared};
pub use functions::comparison::{Comparison, Ties};
pub use functions::pieces::SmoothFunction;
pub(crate) use planner::choose::{Decision, Log, locked};
pub(crate) use planner::policy::Policy;
pub(crate) use schemes::primitives::ResultUse;
pub use schemes::primitives::{
    Apart, Argument, Arithmetic, Capacity, Computed, Diagonals, Extent, LinearMaps, PlainNumbers,
    Polynomials, SharedErrors,
};

use std::{
    borrow::Borrow,
    sync::{Arc, Mutex},
};

use hippocrene_bgv as bgv;
use hippocrene_ckks::{Evaluator, Transfer};
use hippocrene_pegasus::{KMeans, Pegasus};
use hippocrene_ring::automorphism::{galois_element_of_conjugation, galois_element_of_rotation};
use hippocrene_rlwe::{Fingerprint, Modulus, PreparedEvaluationKeys, RlweError};

use crate::{
    Array, BitServer, Error, EvaluationKeys, KeyRequest, Layout, LookUpPlan, Session, Settings,
    SlotContents, clustering::slot_circuit::SlotCircuit, format_shape,
};
use linear::map_cache::AllMaps;
use planner::bootstrap::Bootstraps;
use planner::choose::{Candidate, Decisions, MARGIN_BITS};
use planner::plan_cache::PlanCache;
use planner::prices::Prices;

/// Maximum number of slots of a layout with few elements, which are several gigabytes of
/// ciphertexts.
const MAX_SLOTS_OF_SPARSE_LAYOUTS: usize = 1 << 24;

/// Maximum number of slots for each element of a layout with more than
/// [`MAX_SLOTS_OF_SPARSE_LAYOUTS`] slots.
const MAX_SLOTS_PER_ELEMENT: usize = 16;

/// The memory that a server uses itself, in bytes ([`Server::memory`]).
///
/// See [`Server`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerMemory {
    /// Evaluation keys, without the keys of look-up tables.
    pub keys: usize,
    /// Keys of look-up tables.
    pub tables: usize,
    /// Keys derived from the others for faster key switches. They count towards the budget of all
    /// caches ([`crate::set_cache_budget`]).
    pub derived_keys: usize,
    /// Cached full ciphertexts and cached encoded matrices. They count towards the same budget.
    pub caches: usize,
    /// Scratch memory of operations and the memory of dropped arrays, kept for the next operations.
    pub scratch: usize,
}

/// A server: evaluation keys made ready to compute with.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, KeyRequest, Preset, Server};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let server = Server::new(client.evaluation_keys(&KeyRequest::only([1]))?)?; // holds no secret
/// let memory = server.memory();
/// assert!(memory.keys > 0 && memory.tables == 0);
///
/// let x = client.encrypt(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let sums = server.sum(&server.mul(&x, &x)?, Some(1))?; // of the squares in each row
/// let result = client.decrypt(&sums)?;
/// assert!((result[0] - 5.0).abs() < 1e-6 && (result[1] - 25.0).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Server {
    session: Session,
    evaluator: Evaluator,
    integers: Option<bgv::Evaluator>,
    key: Fingerprint,
    policy: Policy,
    /// The transfer from another key to this server's key, with the session of the arrays that it
    /// converts.
    transfer: Option<(Session, Transfer)>,
    bootstraps: Option<Arc<Bootstraps>>,
    /// Evaluates look-up tables.
    pegasus: Option<Pegasus>,
    bits: Option<BitServer>,
    /// Computes k-means by look-up tables.
    k_means: Option<KMeans>,
    /// The circuit of k-means in slots that was used last.
    slot_circuit: Arc<Mutex<Option<Arc<SlotCircuit>>>>,
    maps: Arc<AllMaps>,
    /// The server that performs dry runs to choose candidates, made when it is first needed. Only
    /// one decision uses it at a time.
    dry: Arc<Mutex<Option<Box<Server>>>>,
    /// The plans of operations that were decided before.
    plan_cache: Arc<PlanCache>,
    /// Prices that were measured before, by modulus.
    prices: Arc<Mutex<Vec<(Modulus, Prices)>>>,
    /// The source of the decisions on how operations are performed.
    decisions: Decisions,
}

impl Server {
    /// Makes a server from these keys.
    ///
    /// # Errors
    /// [`Error::ParameterMismatch`] if the keys do not belong to their session, and
    /// [`Error::MissingKey`] if a key of a bootstrap is missing.
    pub fn new(keys: impl Borrow<EvaluationKeys>) -> Result<Self, Error> {
        let keys = keys.borrow();
        Self::in_session(keys, keys.session().clone())
    }

    /// Makes a server from these keys that computes on `threads` threads, however the keys were
    /// loaded. With 0 or 1, only the calling thread computes.
    ///
    /// # Errors
    /// As [`Server::new`], and [`Error::System`] if the machine refuses the threads.
    pub fn with_threads(keys: &EvaluationKeys, threads: usize) -> Result<Self, Error> {
        let session = Session::new(keys.session().settings().clone(), threads)?;
        Self::in_session(keys, session)
    }

    fn in_session(keys: &EvaluationKeys, session: Session) -> Result<Self, Error> {
        let prepared = Arc::new(keys.inner().prepare(session.context().rlwe())?);
        Self::of_prepared(session, prepared, keys)
    }

    /// Makes a server from `keys`, given those of rotations and products in their prepared form.
    pub(crate) fn of_prepared(
        session: Session,
        prepared: Arc<PreparedEvaluationKeys>,
        keys: &EvaluationKeys,
    ) -> Result<Self, Error> {
        let evaluator = Evaluator::new(Arc::clone(session.context()), Arc::clone(&prepared));
        let integers =
            session.integers().zip(session.settings().integers()).map(|(context, how)| {
                bgv::Evaluator::new(Arc::clone(context), prepared).with_scheme(how.scheme)
            });
        let bootstraps = keys
            .bootstrapping()
            .map(|own| Bootstraps::new(&session, &evaluator, own).map(Arc::new));
        let bootstraps = bootstraps.transpose()?;
        let (mut pegasus, mut k_means) = (None, None);
        if let Some(own) = keys.look_ups() {
            let evaluator = evaluator.clone();
            match own.request().plan(&session)? {
                LookUpPlan::Functions(plan) => {
                    pegasus = Some(Pegasus::new(plan, evaluator, own.inner())?)
                }
                LookUpPlan::Clusters(plan) => {
                    k_means = Some(KMeans::new(plan, evaluator, own.inner())?)
                }
            }
        }
        let key = keys.key();
        let bits =
            keys.bits().map(|own| BitServer::new(session.clone(), evaluator.clone(), key, own));
        Ok(Server {
            session,
            evaluator,
            integers,
            key,
            policy: Policy::default(),
            transfer: None,
            bootstraps,
            pegasus,
            bits: bits.transpose()?,
            k_means,
            slot_circuit: Arc::default(),
            maps: Arc::default(),
            dry: Arc::default(),
            plan_cache: Arc::default(),
            prices: Arc::default(),
            decisions: Decisions::default(),
        })
    }

    /// Sets the limit, in bytes, for keys derived from the evaluation keys for faster key switches
    /// (LAKS).
    ///
    /// The evaluation keys themselves do not count. The default is 1 GiB, within the budget of the
    /// process ([`crate::set_cache_budget`]). The limit holds for all servers that share this one's
    /// [`Session`]. Results do not depend on it.
    pub fn set_key_memory(&self, bytes: usize) {
        self.session.context().rlwe().set_key_memory(bytes);
    }

    /// Returns the number of bytes that derived keys use, and their limit.
    pub fn key_memory(&self) -> (usize, usize) {
        self.session.context().rlwe().key_memory()
    }

    /// Sets the limit, in bytes, for cached ciphertexts and matrices, which save time when the same
    /// operands come again.
    ///
    /// The cache holds the full ciphertexts that fresh arrays expand to, encoded matrices, and
    /// linear maps such as those that move elements. Keys do not count. The default is 1 GiB,
    /// within the budget of the process ([`crate::set_cache_budget`]). The limit holds for all
    /// servers that share this one's [`Session`].
    ///
    /// A call drops the cached matrices and maps of this server. The full ciphertexts of an array
    /// stay until the array is dropped. Results do not depend on the limit.
    pub fn set_cache_memory(&self, bytes: usize) {
        self.session.room().set_limit(bytes);
        self.forget_maps();
    }

    /// Forgets the matrices and maps that were applied before.
    pub(crate) fn forget_maps(&self) {
        self.maps.clear();
    }

    /// Returns the number of bytes that cached ciphertexts and matrices use, and their limit.
    pub fn cache_memory(&self) -> (usize, usize) {
        self.session.room().memory()
    }

    /// Returns the memory that this server uses itself. Arrays come on top of it.
    pub fn memory(&self) -> ServerMemory {
        let rlwe = self.session.context().rlwe();
        let own = [
            self.evaluator.keys().bytes(),
            self.bootstraps.as_ref().map_or(0, |bootstraps| bootstraps.key_bytes),
            self.transfer.as_ref().map_or(0, |(_, transfer)| transfer.key_bytes()),
            self.bits.as_ref().map_or(0, BitServer::key_bytes),
        ];
        ServerMemory {
            keys: own.iter().sum(),
            tables: self.table_key_bytes(),
            derived_keys: rlwe.key_memory().0,
            caches: self.session.room().memory().0,
            scratch: rlwe.scratch_memory() + rlwe.spare_memory(),
        }
    }

    /// Returns the session: settings and contexts.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the evaluator of single ciphertexts of numbers.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// Returns the fingerprint of the key whose arrays this server computes on.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Returns the evaluator of single ciphertexts of integers, if the settings have a plaintext
    /// modulus.
    pub fn integer_evaluator(&self) -> Option<&bgv::Evaluator> {
        self.integers.as_ref()
    }

    /// Returns the server of arrays of bits.
    ///
    /// # Errors
    /// [`Error::NoKeys`] if there are no keys of bits.
    pub fn bits(&self) -> Result<&BitServer, Error> {
        self.bits.as_ref().ok_or_else(|| {
            let what = "this server has no keys of bits. Make evaluation keys with them \
                        (KeyRequest::bits).";
            Error::NoKeys { operation: "compute on bits", what: what.into() }
        })
    }

    /// Checks that these settings have the parameters of this server.
    ///
    /// # Errors
    /// [`Error::ParameterMismatch`] if they do not.
    pub(crate) fn check_settings(
        &self,
        settings: &Settings,
        operation: &'static str,
    ) -> Result<(), Error> {
        let rlwe = self.session.context().rlwe();
        let digest = match rlwe.is_dry_run() {
            true => settings.parameters().clone().for_dry_run().digest(),
            false => settings.parameters().digest(),
        };
        Ok(rlwe.check_digest(digest, operation)?)
    }

    /// Returns the keys of a request that this server lacks, one text for each kind. Rotations must
    /// have keys of their own.
    pub(crate) fn lacks(&self, request: &KeyRequest) -> Vec<String> {
        let rlwe = self.session.context().rlwe();
        let (keys, top, degree) = (self.evaluator.keys(), rlwe.parameters().top(), rlwe.degree());
        let rotates =
            |steps: &i64| keys.has_galois(galois_element_of_rotation(degree, *steps), top);
        let rotations: Vec<String> = request
            .rotations
            .iter()
            .filter(|steps| !rotates(steps))
            .map(ToString::to_string)
            .collect();
        let conjugates = keys.has_galois(galois_element_of_conjugation(degree), top);
        let bootstraps = request.bootstrapping.is_none_or(|wanted| {
            self.bootstraps.as_ref().is_some_and(|own| own.request().serves(&wanted))
        });
        let named = |lacks: bool, name: &str| lacks.then(|| name.to_owned());
        [
            named(request.relinearisation && !keys.has_relinearisation(), "relinearisation"),
            (!rotations.is_empty()).then(|| format!("rotations by {}", rotations.join(", "))),
            named(request.conjugation && !conjugates, "conjugation"),
            named(!bootstraps, "bootstrapping"),
            named(request.bits.is_some() && self.bits.is_none(), "bits"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn check<F: Arithmetic>(&self, a: &Array<F>, operation: &'static str) -> Result<(), Error> {
        self.session.context().rlwe().check_digest(a.parameters(), operation)?;
        if a.key() != self.key {
            return Err(RlweError::KeyMismatch { operation, have: a.key(), need: self.key }.into());
        }
        self.check_slots::<F>(a.layout(), operation)?;
        a.form().check(self, operation)
    }

    /// Checks a layout that elements are moved to.
    ///
    /// Its number of slots must be that of the ciphertexts. It may take up to 2^24 slots or 16 for
    /// each element, whichever is more. Otherwise a few elements could take gigabytes of
    /// ciphertexts.
    fn check_layout<F: Arithmetic>(
        &self,
        layout: &Layout,
        operation: &'static str,
    ) -> Result<(), Error> {
        self.check_slots::<F>(layout, operation)?;
        let (have, most) = (
            layout.last() + 1,
            MAX_SLOTS_OF_SPARSE_LAYOUTS.max(MAX_SLOTS_PER_ELEMENT * layout.size()),
        );
        if have <= most {
            return Ok(());
        }
        let what = format!(
            "shape {} with strides {:?} takes {have} slots: {most} are the most for so few \
             elements",
            format_shape(layout.shape()),
            layout.strides()
        );
        Err(Error::shape(operation, what))
    }

    /// Checks that a layout has the number of slots that ciphertexts have.
    fn check_slots<F: Arithmetic>(
        &self,
        layout: &Layout,
        operation: &'static str,
    ) -> Result<(), Error> {
        let (have, need) = (layout.slots(), F::slots(&self.session));
        if have == need {
            return Ok(());
        }
        Err(Error::shape(
            operation,
            format!("the layout is of {have} slots, ciphertexts have {need}"),
        ))
    }

    /// Applies `f` to every ciphertext of `a` and keeps the layout.
    ///
    /// `f` acts on every slot alike, or rotates, on the server that it is given. `most_bits` is a
    /// bound of the capacity that it uses.
    fn map<F: Arithmetic>(
        &self,
        a: &Array<F>,
        operation: &'static str,
        keeps_zeros: bool,
        most_bits: f64,
        f: impl Fn(&Server, &F, &F::Ciphertext) -> Result<F::Ciphertext, Error> + Sync,
    ) -> Result<Array<F>, Error> {
        let each = Candidate::new("each ciphertext", |server, [a]| {
            server.map_as_it_is(a, operation, keeps_zeros, |form, x| f(server, form, x))
        });
        self.perform(operation, [a], most_bits, &[each])
    }

    /// As [`Server::map`], but without a bootstrap if the array lacks capacity.
    fn map_as_it_is<F: Arithmetic>(
        &self,
        a: &Array<F>,
        operation: &'static str,
        keeps_zeros: bool,
        f: impl Fn(&F, &F::Ciphertext) -> Result<F::Ciphertext, Error> + Sync,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        let form = self.form_of(&[a]);
        let inputs = a.expanded(&self.session);
        let out = self.session.compute_each(inputs.len(), |i| f(&form, &inputs[i]));
        let out = out.map_err(|e| e.during(operation))?;
        let slots = a.slot_contents().after(keeps_zeros);
        Ok(Array::from_ciphertexts(a.layout().clone(), form, slots, out))
    }

    /// Applies `f`, which acts on every slot alike, to pairs of ciphertexts of two arrays.
    ///
    /// Both are broadcast to one shape first. The result has the layout of the first operand that
    /// has this shape already. `slots` computes the contents of slots without an element from those
    /// of the operands. `most_bits` is a bound of the capacity that `f` uses.
    fn zip<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        operation: &'static str,
        slots: impl Fn(SlotContents, SlotContents) -> SlotContents,
        most_bits: f64,
        f: impl Fn(&Server, &F, &F::Ciphertext, &F::Ciphertext) -> Result<F::Ciphertext, Error> + Sync,
    ) -> Result<Array<F>, Error> {
        self.check_two(a, b, operation)?;
        let pairs = |server: &Server, [a, b]: [&Array<F>; 2]| {
            server.zip_as_they_are(a, b, operation, &slots, |form, x, y| f(server, form, x, y))
        };
        if a.layout() == b.layout() {
            return self.perform(operation, [a, b], most_bits, &[Candidate::new("pairs", pairs)]);
        }
        let copies = Candidate::new("copies, then pairs", |server: &Server, [a, b]| {
            let (a, b) = server.broadcast(a, b, operation)?;
            server.perform(operation, [&*a, &*b], most_bits, &[Candidate::new("pairs", pairs)])
        });
        let most_bits = most_bits + self.form_of(&[a, b]).product_bits(self) + MARGIN_BITS;
        self.perform(operation, [a, b], most_bits, &[copies])
    }

    /// As [`Server::zip`], for two arrays of one layout, and without a bootstrap if capacity is
    /// missing.
    fn zip_as_they_are<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        operation: &'static str,
        slots: impl Fn(SlotContents, SlotContents) -> SlotContents,
        f: impl Fn(&F, &F::Ciphertext, &F::Ciphertext) -> Computed<F> + Sync,
    ) -> Result<Array<F>, Error> {
        let form = self.form_of(&[a, b]);
        let (left, right) = (a.expanded(&self.session), b.expanded(&self.session));
        let out = self.session.compute_each(left.len(), |i| f(&form, &left[i], &right[i]));
        let out = out.map_err(|e| e.during(operation))?;
        let slots = slots(a.slot_contents(), b.slot_contents());
        Ok(Array::from_ciphertexts(a.layout().clone(), form, slots, out))
    }

    /// Returns the form of results that this server computes from these arrays.
    fn form_of<F: Arithmetic>(&self, arrays: &[&Array<F>]) -> F {
        let first = arrays[0].form().clone();
        arrays[1..].iter().fold(first, |form, a| form.join(a.form())).computed_by(self)
    }
}
