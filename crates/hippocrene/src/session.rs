//! What client and server have in common: settings made ready to compute with.

use std::sync::Arc;

use hippocrene_bgv as bgv;
use hippocrene_ckks::Context;
use hippocrene_ring::Threads;

use crate::{Error, Settings, profile, room::Room};

/// The largest ring degree of which several ciphertexts are computed with at once. The ciphertexts
/// and keys of larger ones are read from memory, not from a cache, by as many threads at a time as
/// there are: that is no faster than to share out the limbs, and takes the scratch memory of each,
/// which for a bootstrap is some hundred megabytes.
const MOST_WHOLE: usize = 1 << 15;

/// Settings and the context made from them; cheap to clone. Nothing in it is secret.
#[derive(Debug, Clone)]
pub struct Session {
    settings: Arc<Settings>,
    context: Arc<Context>,
    integers: Option<Arc<bgv::Context>>,
    room: Room,
}

impl Session {
    /// Prepares `settings` for `threads` threads (0 and 1: only the calling one). Key switches are
    /// planned by the profile of this machine, if there is one ([`profile::installed`]).
    ///
    /// # Errors
    /// [`Error::System`] when threads or the kernel named in `HIPPOCRENE_KERNEL` cannot be had;
    /// those of [`profile::installed`].
    pub fn new(settings: Settings, threads: usize) -> Result<Self, Error> {
        let rlwe =
            hippocrene_rlwe::Context::new(settings.parameters().clone(), Threads::new(threads)?)?;
        Self::of(settings, rlwe)
    }

    /// A session that computes without residues ([`crate::Simulation`]).
    pub(crate) fn hollow(settings: Settings) -> Result<Self, Error> {
        let rlwe =
            hippocrene_rlwe::Context::hollow(settings.parameters().clone(), Threads::single())?;
        rlwe.set_prices(profile::for_predictions()?);
        Self::of(settings, rlwe)
    }

    fn of(settings: Settings, mut rlwe: hippocrene_rlwe::Context) -> Result<Self, Error> {
        if let Some(profile) = profile::installed()? {
            rlwe = rlwe.with_profile(profile);
        }
        let rlwe = Arc::new(rlwe);
        let context = Context::of(Arc::clone(&rlwe))?;
        let integers = match settings.integers() {
            Some(integers) => Some(Arc::new(bgv::Context::new(rlwe, integers.plain_modulus)?)),
            None => None,
        };
        Ok(Session {
            settings: Arc::new(settings),
            context: Arc::new(context),
            integers,
            room: Room::default(),
        })
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The CKKS context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The context of integers, on the RLWE context of the other, where the settings have a
    /// plaintext modulus.
    pub fn integers(&self) -> Option<&Arc<bgv::Context>> {
        self.integers.as_ref()
    }

    /// [`Session::integers`] for an operation that needs it.
    pub(crate) fn need_integers(
        &self,
        operation: &'static str,
    ) -> Result<&Arc<bgv::Context>, Error> {
        self.integers.as_ref().ok_or_else(|| {
            let what =
                "these keys compute on numbers; integers take settings with a plaintext modulus";
            Error::argument(operation, what)
        })
    }

    /// How many threads it computes on.
    pub(crate) fn threads(&self) -> usize {
        self.context.rlwe().threads().count()
    }

    /// What `f` computes for each of `count` ciphertexts, as [`Session::try_each`], or beyond the
    /// ring degree [`MOST_WHOLE`] one after the other, of each of which the limbs are shared out.
    ///
    /// # Errors
    /// Those of `f`.
    pub(crate) fn compute_each<T: Send>(
        &self,
        count: usize,
        f: impl Fn(usize) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        match self.context.rlwe().degree() <= MOST_WHOLE {
            true => self.try_each(count, f),
            false => (0..count).map(f).collect(),
        }
    }

    /// What `f` makes of each of `count` ciphertexts or parts of a file, shared out among the
    /// threads ([`hippocrene_rlwe::Context::try_each`]).
    ///
    /// # Errors
    /// Those of `f`.
    pub(crate) fn try_each<T: Send>(
        &self,
        count: usize,
        f: impl Fn(usize) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        self.context.rlwe().try_each(count, f)
    }

    /// The room for what could be made again.
    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Slots of one ciphertext of numbers: half of the ring degree. Ciphertexts of integers have
    /// twice as many.
    pub fn slots(&self) -> usize {
        self.context.max_slots()
    }
}
