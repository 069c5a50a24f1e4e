//! What client and server have in common: settings made ready to compute with.

use std::sync::Arc;

use hippocrene_ckks::Context;
use hippocrene_ring::Threads;

use crate::{Error, Settings, profile};

/// Settings and the context made from them; cheap to clone. Nothing in it is secret.
#[derive(Debug, Clone)]
pub struct Session {
    settings: Arc<Settings>,
    context: Arc<Context>,
}

impl Session {
    /// Prepares `settings` for `threads` threads (1: only the calling one). Key switches are planned by the profile of this machine, if there is one
    /// ([`profile::installed`]).
    ///
    /// # Errors
    /// [`Error::System`] when threads or the kernel named in `HIPPOCRENE_KERNEL` cannot be had; those of [`profile::installed`].
    pub fn new(settings: Settings, threads: usize) -> Result<Self, Error> {
        let mut rlwe = hippocrene_rlwe::Context::new(settings.parameters().clone(), Threads::new(threads)?)?;
        if let Some(profile) = profile::installed()? {
            rlwe = rlwe.with_profile(profile);
        }
        let context = Context::of(Arc::new(rlwe))?;
        Ok(Session { settings: Arc::new(settings), context: Arc::new(context) })
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The CKKS context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Slots of one ciphertext: half of the ring degree.
    pub fn slots(&self) -> usize {
        self.context.max_slots()
    }
}
