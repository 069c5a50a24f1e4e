//! The server: computes on encrypted arrays. It holds no secret.
//!
//! Scales and rescaling are automatic: every product is brought back to the scale that its
//! precision takes, and operands of different moduli are brought to the smaller one. What shapes
//! mean follows numpy. Where there are keys for it, arrays of numbers that lack capacity are
//! bootstrapped.
//!
//! Operations are written once for both [forms](Form) of arrays. Each folder holds one subject:
//!
//! - `schemes`: what an operation does to single ciphertexts, of numbers and of integers;
//! - `functions`: functions of elements, such as arithmetic, comparisons and look-up tables;
//! - `linear`: linear maps with plain weights, and sums;
//! - `matmul`: products of matrices;
//! - `moves`: moves of elements between slots;
//! - `planner`: what operations keep and give up, and the prices by which ways are compared.

mod bits;
mod clustering;
mod functions;
mod linear;
mod matmul;
mod moves;
mod planner;
mod schemes;

pub use functions::comparison::{Comparison, Ties};
pub(crate) use schemes::form::After;
pub use schemes::form::{Apart, Argument, Computed, Diagonals, Extent, Form};

use std::{
    borrow::Borrow,
    sync::{Arc, OnceLock},
};

use hippocrene_bgv as bgv;
use hippocrene_ckks::{Evaluator, Transfer};
use hippocrene_pegasus::{KMeans, Pegasus};
use hippocrene_rlwe::{Fingerprint, PreparedEvaluationKeys, RlweError};

use crate::{Array, BitServer, Error, EvaluationKeys, Layout, LookUpPlan, Session, SlotContents};
use functions::comparison::Plans;
use linear::map_cache::AllMaps;
use planner::bootstrap::Bootstraps;
use planner::policy::Policy;

/// A layout may take so many slots: some gigabytes of ciphertexts.
const MOST_SLOTS: usize = 1 << 24;

/// A layout that takes more may take so many for each element.
const MOST_APART: usize = 16;

/// Bytes of memory that a server takes by itself ([`Server::memory`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerMemory {
    /// Evaluation keys, without those of look-up tables.
    pub keys: usize,
    /// Keys of look-up tables.
    pub tables: usize,
    /// Keys derived from the others to compute faster, a part of the budget of all caches
    /// ([`crate::set_cache_budget`]).
    pub derived_keys: usize,
    /// What is kept of arrays and matrices, a part of that budget too.
    pub caches: usize,
    /// Memory that operations worked in, and that of arrays that are gone, kept for the next.
    pub scratch: usize,
}

/// Evaluation keys made ready to compute with.
#[derive(Debug, Clone)]
pub struct Server {
    session: Session,
    evaluator: Evaluator,
    integers: Option<bgv::Evaluator>,
    key: Fingerprint,
    policy: Policy,
    /// The way from another key to this one, with the session of the arrays that it is for.
    transfer: Option<(Session, Transfer)>,
    bootstraps: Option<Arc<Bootstraps>>,
    /// What tables are looked up with.
    pegasus: Option<Pegasus>,
    bits: Option<BitServer>,
    /// What makes clusters of points.
    k_means: Option<KMeans>,
    /// Of comparisons.
    plans: Arc<Plans>,
    maps: Arc<AllMaps>,
    /// The server of dry runs, once it has been needed.
    dry: Arc<OnceLock<Box<Server>>>,
}

impl Server {
    /// A server with these keys.
    ///
    /// # Errors
    /// [`Error::ParameterMismatch`] when the keys do not belong to their session,
    /// [`Error::MissingKey`] when one of a bootstrap's is missing.
    pub fn new(keys: impl Borrow<EvaluationKeys>) -> Result<Self, Error> {
        let keys = keys.borrow();
        Self::in_session(keys, keys.session().clone())
    }

    /// A server with these keys that computes on so many threads (0 and 1: only the calling one),
    /// whatever the keys were loaded with.
    ///
    /// # Errors
    /// As [`Server::new`], and [`Error::System`] when the machine refuses the threads.
    pub fn with_threads(keys: &EvaluationKeys, threads: usize) -> Result<Self, Error> {
        let session = Session::new(keys.session().settings().clone(), threads)?;
        Self::in_session(keys, session)
    }

    fn in_session(keys: &EvaluationKeys, session: Session) -> Result<Self, Error> {
        let prepared = Arc::new(keys.inner().prepare(session.context().rlwe())?);
        Self::of_prepared(session, prepared, keys)
    }

    /// A server with `keys`, of which those of rotations and products are `prepared`.
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
            plans: Arc::default(),
            maps: Arc::default(),
            dry: Arc::default(),
        })
    }

    /// Sets how many bytes of memory, beside the keys, may go to what is derived from them to
    /// switch keys faster (LAKS), within the budget of the process ([`crate::set_cache_budget`]); 1
    /// GiB where nothing is said. It holds for all servers that share this one's [`Session`].
    /// Results do not depend on it.
    pub fn set_key_memory(&self, bytes: usize) {
        self.session.context().rlwe().set_key_memory(bytes);
    }

    /// How many bytes of memory what is derived from keys takes, and how many it may.
    pub fn key_memory(&self) -> (usize, usize) {
        self.session.context().rlwe().key_memory()
    }

    /// Sets how many bytes of memory, beside the keys, may go to what is kept of arrays and
    /// matrices to compute faster when they come again: the whole ciphertexts of fresh arrays, half
    /// of each of which was a seed, and encoded matrices, and maps such as those that move
    /// elements; 1 GiB where nothing is said, and within the budget of the process
    /// ([`crate::set_cache_budget`]). It holds for all servers that share this one's [`Session`].
    /// Matrices that are kept are dropped; the ciphertexts of an array are kept until it is
    /// dropped. Results do not depend on it.
    pub fn set_cache_memory(&self, bytes: usize) {
        self.session.room().set_limit(bytes);
        self.maps.clear();
    }

    /// How many bytes of memory what is kept of arrays and matrices takes, and how many it may.
    pub fn cache_memory(&self) -> (usize, usize) {
        self.session.room().memory()
    }

    /// The memory that this server takes by itself; arrays come on top of it.
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

    /// Settings and context.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The evaluator of single ciphertexts of numbers.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The fingerprint of the key whose arrays it computes on.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The evaluator of single ciphertexts of integers, where the settings have a plaintext
    /// modulus.
    pub fn integer_evaluator(&self) -> Option<&bgv::Evaluator> {
        self.integers.as_ref()
    }

    /// What computes on arrays of bits.
    ///
    /// # Errors
    /// [`Error::NoKeys`] when there are no keys for them.
    pub fn bits(&self) -> Result<&BitServer, Error> {
        self.bits.as_ref().ok_or_else(|| {
            let what = "this server has no keys of bits: make evaluation keys with them (KeyRequest::bits; in Python, those of a client of a preset of bits)";
            Error::NoKeys { operation: "compute on bits", what }
        })
    }

    fn check<F: Form>(&self, a: &Array<F>, operation: &'static str) -> Result<(), Error> {
        self.session.context().rlwe().check_digest(a.parameters(), operation)?;
        if a.key() != self.key {
            return Err(RlweError::KeyMismatch { operation, have: a.key(), need: self.key }.into());
        }
        self.check_slots::<F>(a.layout(), operation)?;
        a.form().check(self, operation)
    }

    /// Checks a layout to move elements to: that it is of as many slots as ciphertexts have, and
    /// does not take more than 2^24 slots, and 16 for each element, which would be gigabytes of
    /// ciphertexts for few elements.
    fn check_layout<F: Form>(&self, layout: &Layout, operation: &'static str) -> Result<(), Error> {
        self.check_slots::<F>(layout, operation)?;
        let (have, most) = (layout.last() + 1, MOST_SLOTS.max(MOST_APART * layout.size()));
        if have <= most {
            return Ok(());
        }
        let what = format!(
            "shape {:?} with strides {:?} takes {have} slots: {most} are the most for so few elements",
            layout.shape(),
            layout.strides()
        );
        Err(Error::shape(operation, what))
    }

    /// Checks that a layout is of as many slots as ciphertexts have.
    fn check_slots<F: Form>(&self, layout: &Layout, operation: &'static str) -> Result<(), Error> {
        let (have, need) = (layout.slots(), F::slots(&self.session));
        if have == need {
            return Ok(());
        }
        Err(Error::shape(
            operation,
            format!("the layout is of {have} slots, ciphertexts have {need}"),
        ))
    }

    /// Applies `f`, which does the same in every slot or rotates, to every ciphertext of `a`; the
    /// layout stays. `bits` is about the capacity that it takes.
    fn map<F: Form>(
        &self,
        a: &Array<F>,
        operation: &'static str,
        keeps_zeros: bool,
        bits: f64,
        f: impl Fn(&F, &F::Ciphertext) -> Result<F::Ciphertext, Error> + Sync,
    ) -> Result<Array<F>, Error> {
        self.with_capacity([a], bits, |[a]| self.map_as_it_is(a, operation, keeps_zeros, &f))
    }

    /// [`Server::map`] of an array with whatever capacity it has.
    fn map_as_it_is<F: Form>(
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

    /// Applies `f`, which does the same in every slot, to the ciphertexts of two arrays, pair by
    /// pair. They are broadcast to one shape, and stand where the first one's elements do that has
    /// this shape. `clean` says whether slots without an element are zero in the result, from
    /// whether they are in the operands, and `bits` about the capacity that it takes.
    fn zip<F: Form>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        operation: &'static str,
        slots: impl Fn(SlotContents, SlotContents) -> SlotContents,
        bits: f64,
        f: impl Fn(&F, &F::Ciphertext, &F::Ciphertext) -> Result<F::Ciphertext, Error> + Sync,
    ) -> Result<Array<F>, Error> {
        self.check_two(a, b, operation)?;
        let form = self.form_of(&[a, b]);
        let (a, b) = self.broadcast_first(a, b, bits, operation)?;
        self.with_capacity([&*a, &*b], bits, |[a, b]| {
            let (a, b) = self.broadcast(a, b, operation)?;
            let (left, right) = (a.expanded(&self.session), b.expanded(&self.session));
            let out = self.session.compute_each(left.len(), |i| f(&form, &left[i], &right[i]));
            let out = out.map_err(|e| e.during(operation))?;
            let slots = slots(a.slot_contents(), b.slot_contents());
            Ok(Array::from_ciphertexts(a.layout().clone(), form.clone(), slots, out))
        })
    }

    /// The form of what this server computes from these arrays.
    fn form_of<F: Form>(&self, arrays: &[&Array<F>]) -> F {
        let first = arrays[0].form().clone();
        arrays[1..].iter().fold(first, |form, a| form.join(a.form())).computed_by(self)
    }
}
