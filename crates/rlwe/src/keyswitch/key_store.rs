//! A store for keys in other forms, made on first use and kept while there is memory for them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use hippocrene_ring::elementwise::KeyLimb;

use super::{
    components::Components,
    gadget::{Gadget, Method},
};
use crate::{
    budget::{self, Evict, Reserved},
    in_progress::InProgress,
};

/// The default limit, in bytes, of coalesced and doubly decomposed keys.
pub const DEFAULT_KEY_MEMORY_BYTES: usize = 1 << 30;

/// A switching key in another form.
///
/// It is either a coalesced key or a key that is decomposed a second time ([`super::double`]). A
/// coalesced key has the components of each group of blocks added up (LAKS' `Expand`). It has all
/// positions of its modulus except [`crate::Modulus::TWO`], the last, where products have another
/// form.
#[derive(Debug)]
pub(crate) struct ExpandedKey {
    pub(crate) limbs: Vec<KeyLimb>,
    /// The groups that have components.
    pub(crate) components: Components,
}

/// The identity of a switching key. All clones of a key share it.
pub(crate) type Identity = Arc<()>;

/// The keys of a context in other forms, within a limit in bytes. The least recently used ones are
/// dropped first.
#[derive(Debug)]
pub(crate) struct KeyStore {
    store: Arc<Mutex<Store>>,
    in_progress: InProgress<Id>,
}

#[derive(Debug)]
struct Store {
    limit: usize,
    used: usize,
    /// Entries by the address of the identity and the shape. While there is a weak reference, no
    /// other identity has this address.
    entries: HashMap<Id, Entry>,
    /// The time of the last unsuccessful request for each key that there was no memory for.
    missed: HashMap<Id, u64>,
}

/// The maximum number of keys whose last unsuccessful request is remembered. Chosen; any number
/// above that of the keys in use works.
const MAX_MISSED_KEYS: usize = 1 << 12;

/// The address of an identity, and the group and method of a gadget. The other form of a key
/// depends on nothing else.
type Id = (usize, usize, Method);

#[derive(Debug)]
struct Entry {
    owner: Weak<()>,
    key: Arc<ExpandedKey>,
    reservation: Reserved,
    /// The time of the last use, by the clock of all caches.
    last_use: u64,
}

impl Default for KeyStore {
    fn default() -> Self {
        let (entries, missed) = (HashMap::new(), HashMap::new());
        let store = Arc::new(Mutex::new(Store {
            limit: DEFAULT_KEY_MEMORY_BYTES,
            used: 0,
            entries,
            missed,
        }));
        let evict: Arc<dyn Evict> = Arc::clone(&store) as _;
        budget::register(Arc::downgrade(&evict));
        KeyStore { store, in_progress: InProgress::default() }
    }
}

impl KeyStore {
    /// Sets the limit in bytes. Keys beyond it are dropped at once.
    pub(crate) fn set_limit(&self, bytes: usize) {
        let mut store = self.lock();
        store.limit = bytes;
        store.make_room(0);
    }

    /// The bytes in use, and the limit.
    pub(crate) fn memory(&self) -> (usize, usize) {
        let store = self.lock();
        (store.used, store.limit)
    }

    /// Returns the form of the key with this identity that `gadget` needs. It has `bytes` bytes. It
    /// is the stored form, or a new one if there is memory for it.
    pub(crate) fn get_or_insert(
        &self,
        identity: &Identity,
        gadget: Gadget,
        bytes: usize,
        make: impl FnOnce() -> ExpandedKey,
    ) -> Option<Arc<ExpandedKey>> {
        let id = (Arc::as_ptr(identity) as usize, gadget.group(), gadget.method());
        {
            let mut store = self.lock();
            if let Some(stored) = store.get(id) {
                return Some(stored);
            }
            if bytes > store.limit {
                return None;
            }
        }
        let _started = self.in_progress.begin(id);
        let since = {
            let mut store = self.lock();
            if let Some(stored) = store.get(id) {
                return Some(stored);
            }
            let since = store.admits(id, bytes)?;
            store.make_room(bytes);
            since
        };
        let Some(reservation) = Reserved::take(bytes, since) else {
            self.lock().miss(id);
            return None;
        };
        // The lock is not held here, so that other threads can continue.
        let expanded = Arc::new(make());
        let mut store = self.lock();
        store.remove(&id);
        store.make_room(bytes);
        if bytes > store.limit {
            // The limit was lowered meanwhile.
            return Some(expanded);
        }
        let (owner, last_use) = (Arc::downgrade(identity), budget::now());
        store.used += bytes;
        store
            .entries
            .insert(id, Entry { owner, key: Arc::clone(&expanded), reservation, last_use });
        Some(expanded)
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Evict for Mutex<Store> {
    fn oldest_use(&self) -> Option<u64> {
        lock(self).entries.values().map(|entry| entry.last_use).min()
    }

    fn idle_bytes(&self, since: u64) -> usize {
        lock(self).idle_bytes(since)
    }

    fn evict_oldest(&self, since: u64) {
        let mut store = lock(self);
        let oldest = store.oldest().filter(|id| store.entries[id].last_use < since);
        if let Some(id) = oldest {
            store.remove(&id);
        }
    }
}

impl Store {
    fn get(&mut self, id: Id) -> Option<Arc<ExpandedKey>> {
        let entry = self.entries.get_mut(&id)?;
        entry.last_use = budget::now();
        Some(Arc::clone(&entry.key))
    }

    fn remove(&mut self, id: &Id) {
        if let Some(entry) = self.entries.remove(id) {
            self.used -= entry.reservation.bytes();
        }
    }

    /// Returns a time such that entries that have not been used since then may be dropped for `id`,
    /// or `None` if `id` must not be stored.
    ///
    /// An entry may be dropped for `id` if it has not been used since the last request for `id`.
    /// Without this rule, keys that are used in turn and exceed the limit would evict one another,
    /// and each use would make its key again. With it, some of them stay.
    fn admits(&mut self, id: Id, bytes: usize) -> Option<u64> {
        self.drop_gone();
        let since = self.missed.remove(&id).unwrap_or(0);
        if self.used - self.idle_bytes(since) + bytes <= self.limit {
            return Some(since);
        }
        self.miss(id);
        None
    }

    /// Records that there was no memory for `id`.
    fn miss(&mut self, id: Id) {
        if self.missed.len() == MAX_MISSED_KEYS {
            self.missed.clear();
        }
        self.missed.insert(id, budget::now());
    }

    /// The bytes of the entries that were not used since `since`.
    fn idle_bytes(&self, since: u64) -> usize {
        self.entries.values().filter(|e| e.last_use < since).map(|e| e.reservation.bytes()).sum()
    }

    /// The entry that has been unused for the longest time.
    fn oldest(&self) -> Option<Id> {
        self.entries.iter().min_by_key(|(_, e)| e.last_use).map(|(id, _)| *id)
    }

    /// Drops the entries of keys that no longer exist.
    fn drop_gone(&mut self) {
        let gone: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, e)| e.owner.strong_count() == 0)
            .map(|(id, _)| *id)
            .collect();
        gone.iter().for_each(|id| self.remove(id));
    }

    /// Drops entries until `bytes` more bytes fit. Entries of keys that no longer exist are dropped
    /// first, then the least recently used ones.
    fn make_room(&mut self, bytes: usize) {
        self.drop_gone();
        while self.used + bytes > self.limit {
            let Some(id) = self.oldest() else { return };
            self.remove(&id);
        }
    }
}
