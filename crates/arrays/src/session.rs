//! Sessions: settings made ready to compute with, for client and server alike.

use std::sync::Arc;

use hippocrene_bgv as bgv;
use hippocrene_ckks::Context;
use hippocrene_ring::Threads;

use crate::{Error, Settings, profile, room::Room};

/// The largest ring degree for which each thread computes on a ciphertext of its own.
///
/// The ciphertexts and keys of larger rings do not fit the caches of the CPU. One ciphertext for
/// each thread is then no faster than sharing out the limbs of one ciphertext among the threads. It
/// also needs scratch memory for each thread, several hundred megabytes for a bootstrap.
const MAX_DEGREE_OF_WHOLE_CIPHERTEXTS: usize = 1 << 15;

/// Settings and the contexts made from them. Cheap to clone; holds no secret.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{Preset, Session};
///
/// let session = Session::new(Preset::by_name("n13")?.settings()?, 1)?;
/// assert_eq!(session.slots(), 4096);
/// assert_eq!(session.try_each(3, |i| Ok(i * i))?, [0, 1, 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    settings: Arc<Settings>,
    context: Arc<Context>,
    integers: Option<Arc<bgv::Context>>,
    room: Room,
}

impl Session {
    /// Prepares `settings` for `threads` threads. With 0 or 1, only the calling thread computes.
    ///
    /// Key switches are planned with the profile of this machine, if there is one
    /// ([`profile::installed`]).
    ///
    /// # Errors
    /// [`Error::System`] if the threads cannot be started or the kernel named in
    /// `HIPPOCRENE_KERNEL` is not available, and those of [`profile::installed`].
    pub fn new(settings: Settings, threads: usize) -> Result<Self, Error> {
        let rlwe =
            hippocrene_rlwe::Context::new(settings.parameters().clone(), Threads::new(threads)?)?;
        Self::of(settings, rlwe)
    }

    /// Returns a session that computes without residues ([`crate::Simulation`]).
    ///
    /// # Errors
    /// As [`Session::new`], and as [`profile::for_predictions`].
    pub fn dry_run(settings: Settings) -> Result<Self, Error> {
        let rlwe =
            hippocrene_rlwe::Context::dry_run(settings.parameters().clone(), Threads::single())?;
        rlwe.set_cost_profile(profile::for_predictions()?);
        Self::of(settings, rlwe)
    }

    /// Returns a session that computes without residues and decides by
    /// [`hippocrene_rlwe::Profile::reference`]. It shares the tables of this one.
    pub(crate) fn dry_run_beside(&self) -> Self {
        let context = Arc::new(self.context.dry_run_beside());
        let beside = |integers: &Arc<bgv::Context>| {
            Arc::new(integers.dry_run_beside(Arc::clone(context.rlwe())))
        };
        // A cache would take from the memory of real ones, and results would depend on history.
        let room = Room::default();
        room.set_limit(0);
        let integers = self.integers.as_ref().map(beside);
        Session { settings: Arc::clone(&self.settings), context, integers, room }
    }

    fn of(settings: Settings, mut rlwe: hippocrene_rlwe::Context) -> Result<Self, Error> {
        if let Some(profile) = profile::installed()? {
            rlwe = rlwe.with_profile(profile);
        }
        Self::with_context(settings, rlwe)
    }

    /// Puts a session together.
    pub(crate) fn with_context(
        settings: Settings,
        rlwe: hippocrene_rlwe::Context,
    ) -> Result<Self, Error> {
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

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the CKKS context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns the context of integers if the settings have a plaintext modulus. It shares the RLWE
    /// context of the CKKS context.
    pub fn integers(&self) -> Option<&Arc<bgv::Context>> {
        self.integers.as_ref()
    }

    /// Returns [`Session::integers`], or an error in the name of `operation` if there is none.
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

    /// Returns the number of threads that the session computes on.
    pub(crate) fn threads(&self) -> usize {
        self.context.rlwe().threads().count()
    }

    /// Computes `f` for each of `count` ciphertexts and returns the results.
    ///
    /// Up to ring degree [`MAX_DEGREE_OF_WHOLE_CIPHERTEXTS`] the ciphertexts are shared out among
    /// the threads, as by [`Session::try_each`]. Beyond it they are computed one after the other,
    /// and the threads share the limbs of each.
    ///
    /// # Errors
    /// The first error of `f`.
    pub(crate) fn compute_each<T: Send>(
        &self,
        count: usize,
        f: impl Fn(usize) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        match self.context.rlwe().degree() <= MAX_DEGREE_OF_WHOLE_CIPHERTEXTS {
            true => self.try_each(count, f),
            false => (0..count).map(f).collect(),
        }
    }

    /// Computes `f` for each of `count` ciphertexts or parts of a file, shared out among the
    /// threads ([`hippocrene_rlwe::Context::try_each`]).
    ///
    /// # Errors
    /// The first error of `f`.
    pub fn try_each<T: Send>(
        &self,
        count: usize,
        f: impl Fn(usize) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        self.context.rlwe().try_each(count, f)
    }

    /// Returns the memory limit of the caches of this session.
    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Returns the number of slots of one ciphertext of numbers, half of the ring degree.
    /// Ciphertexts of integers have twice as many.
    pub fn slots(&self) -> usize {
        self.context.max_slots()
    }
}
