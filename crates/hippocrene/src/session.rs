//! What client and server have in common: settings made ready to compute with.

use std::sync::Arc;

use hippocrene_ckks::Context;
use hippocrene_ring::Threads;

use crate::{Error, Settings};

/// Settings and the context made from them; cheap to clone. Nothing in it is secret.
#[derive(Debug, Clone)]
pub struct Session {
    settings: Arc<Settings>,
    context: Arc<Context>,
}

impl Session {
    /// Prepares `settings` for `threads` threads (1: only the calling one).
    ///
    /// # Errors
    /// [`Error::System`] when threads or the kernel named in `HIPPOCRENE_KERNEL` cannot be had.
    pub fn new(settings: Settings, threads: usize) -> Result<Self, Error> {
        let context = Context::new(settings.parameters().clone(), Threads::new(threads)?)?;
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
