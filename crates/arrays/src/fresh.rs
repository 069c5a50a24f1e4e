//! Fresh ciphertexts with seeds, and a cache for the full ciphertexts that they expand to.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use hippocrene_rlwe as rlwe;

use crate::{Elements, Session, room::Place};

/// A fresh ciphertext as a client sends it: one part, and a seed for the other.
///
/// Operations need full ciphertexts, and expanding the seed takes longer than an addition. The full
/// ciphertext is therefore cached for the next operation and for all clones, until the last of them
/// is dropped. It is not cached if there is no room ([`crate::Server::set_cache_memory`]).
///
/// See [`Array`](crate::Array) for an example.
#[derive(Debug, Clone)]
pub struct Fresh<F: Elements> {
    seeded: F::Seeded,
    whole: Arc<OnceLock<Whole<F>>>,
}

/// A full ciphertext and the memory that is reserved for it.
#[derive(Debug)]
struct Whole<F: Elements> {
    ciphertext: F::Ciphertext,
    _place: Place,
}

impl<F: Elements> Fresh<F> {
    /// Returns a ciphertext as it was sent, not yet expanded.
    pub fn new(seeded: F::Seeded) -> Self {
        Fresh { seeded, whole: Arc::default() }
    }

    /// Returns the ciphertext with its seed.
    pub fn seeded(&self) -> &F::Seeded {
        &self.seeded
    }

    /// Returns the ciphertext with its seed for changes, and drops the cached full ciphertext.
    pub(crate) fn seeded_mut(&mut self) -> &mut F::Seeded {
        self.whole = Arc::default();
        &mut self.seeded
    }

    /// Returns the full ciphertext, and caches it if the session has room.
    pub(crate) fn expand(&self, session: &Session) -> Cow<'_, F::Ciphertext> {
        if let Some(whole) = self.whole.get() {
            return Cow::Borrowed(&whole.ciphertext);
        }
        let ciphertext = F::expand(session, &self.seeded);
        match session.room().take(bytes(F::inner(&ciphertext))) {
            Some(_place) => {
                Cow::Borrowed(&self.whole.get_or_init(|| Whole { ciphertext, _place }).ciphertext)
            }
            None => Cow::Owned(ciphertext),
        }
    }
}

/// Returns the number of bytes of the residues; 0 in simulations, which have none.
fn bytes(ciphertext: &rlwe::Ciphertext) -> usize {
    let limbs: usize =
        ciphertext.parts().iter().map(|part| part.limb_count() * part.degree()).sum();
    limbs * size_of::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CiphertextBody, ClientKey, Numbers, settings::tests::grafted};

    #[test]
    fn whole_ciphertexts_are_kept_while_there_is_room() {
        let client = ClientKey::generate(grafted(14, &[40; 5], &[48; 3])).unwrap();
        let session = client.session();
        let array = client.encrypt(&[1.0, 2.0], &[2]).unwrap();
        let CiphertextBody::Seeded(fresh) = &array.bodies()[0] else { panic!("it is fresh") };
        let taken = || session.room().memory().0;
        let address = |fresh: &Fresh<Numbers>| match fresh.expand(session) {
            Cow::Borrowed(kept) => Some(std::ptr::from_ref(kept)),
            Cow::Owned(_) => None,
        };
        let expanded = fresh.seeded().expand(session.context());

        let all = session.room().take(session.room().memory().1).unwrap();
        assert_eq!(address(fresh), None);
        drop(all);
        assert_eq!(taken(), 0);
        let kept = address(fresh);
        assert!(kept.is_some() && taken() == bytes(expanded.inner()) && taken() > 0);
        let mut copy = fresh.clone();
        assert_eq!((address(fresh), address(&copy)), (kept, kept));
        assert_eq!(fresh.expand(session).inner(), expanded.inner());

        copy.seeded_mut().set_bound(7.0);
        assert_eq!(copy.expand(session).bound(), 7.0);
        assert_eq!((address(fresh), fresh.expand(session).bound()), (kept, 2.0));
        assert_eq!(taken(), 2 * bytes(expanded.inner()));
        drop((copy, array));
        assert_eq!(taken(), 0);
    }
}
