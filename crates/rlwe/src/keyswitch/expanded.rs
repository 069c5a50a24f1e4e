//! Keys in other forms than they come in, made on first use and kept as long as there is room.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use hippocrene_ring::elementwise::{Elementwise, KeyLimb};

use super::gadget::{Gadget, Method};
use crate::{
    Context, Modulus, PreparedSwitchingKey,
    budget::{self, Evict, Reserved},
    making::Making,
};

/// The bytes that coalesced and doubly decomposed keys may take where nothing else is said.
pub const DEFAULT_KEY_MEMORY: usize = 1 << 30;

/// A switching key in another form: with the components of each group of blocks added up (LAKS'
/// `Expand`), at all positions of its modulus but [`Modulus::TWO`], which is the last and where
/// products are of another form; or decomposed a second time ([`super::double`]).
#[derive(Debug)]
pub(crate) struct ExpandedKey {
    pub(crate) limbs: Vec<KeyLimb>,
    /// Of which groups there are components.
    pub(crate) components: Components,
}

/// Of which blocks, or groups of blocks, a key has components: bit `i` for number `i`. They stand
/// in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Components(u128);

impl Components {
    /// Those that share a factor with `modulus`, of these products of blocks.
    pub(crate) fn of(modulus: Modulus, products: impl Iterator<Item = Modulus>) -> Self {
        let there = products.enumerate().filter(|(_, product)| !product.gcd(modulus).is_one());
        Components(there.fold(0, |bits, (i, _)| bits | 1 << i))
    }

    /// How many there are.
    pub(crate) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Where the component of number `i` stands, if there is one.
    pub(crate) fn index(self, i: usize) -> Option<usize> {
        let below = self.0 & ((1 << i) - 1);
        (self.0 >> i & 1 == 1).then_some(below.count_ones() as usize)
    }
}

impl ExpandedKey {
    fn new(context: &Context, key: &PreparedSwitchingKey, group: usize) -> Self {
        let there =
            |blocks: Range<usize>| blocks.filter_map(|b| key.components().index(b)).collect();
        let groups: Vec<Vec<usize>> = context.parameters().groups(group).map(there).collect();
        let groups: Vec<&[usize]> =
            groups.iter().map(Vec::as_slice).filter(|group| !group.is_empty()).collect();
        let limbs: Vec<(&Elementwise, &KeyLimb)> = expanded_modulus(key.modulus())
            .factors()
            .map(|position| {
                (context.ring_at(key.modulus(), position).elementwise(), key.limb(position))
            })
            .collect();
        let limbs = KeyLimb::coalesce(&limbs, &groups, context.threads());
        ExpandedKey { limbs, components: expanded_components(context, key.modulus(), group) }
    }
}

/// Bytes of a key modulo `key` with the coalesced components of a gadget.
pub(super) fn bytes(context: &Context, key: Modulus, gadget: Gadget) -> usize {
    let limb = |p: usize| context.ring_at(key, p).elementwise().key_bytes(context.degree());
    expanded_components(context, key, gadget.group()).count()
        * expanded_modulus(key).factors().map(limb).sum::<usize>()
}

/// The positions of an expanded key that is modulo `key`.
fn expanded_modulus(key: Modulus) -> Modulus {
    key.words().lcm(Modulus::of_sprout(key.odd(), 0))
}

fn expanded_components(context: &Context, key: Modulus, group: usize) -> Components {
    let parameters = context.parameters();
    Components::of(key, parameters.groups(group).map(|blocks| parameters.product_of_blocks(blocks)))
}

/// What tells switching keys apart: those with the same one are the same key.
pub(crate) type Identity = Arc<()>;

/// The keys in other forms of a context.
#[derive(Debug)]
pub(crate) struct KeyStore {
    store: Arc<Mutex<Store>>,
    making: Making<Id>,
}

#[derive(Debug)]
struct Store {
    limit: usize,
    used: usize,
    /// By the address of the identity and the shape. While there is a weak reference, no other
    /// identity has its address.
    entries: HashMap<Id, Entry>,
    /// When the store was last asked for what it had no room for.
    missed: HashMap<Id, u64>,
}

/// So many keys that there was no room for are remembered at most.
const MOST_MISSED: usize = 1 << 12;

/// The address of an identity, and of a gadget what its keys depend on: group and method.
type Id = (usize, usize, Method);

#[derive(Debug)]
struct Entry {
    owner: Weak<()>,
    key: Arc<ExpandedKey>,
    place: Reserved,
    /// By the clock of all caches.
    last_use: u64,
}

impl Default for KeyStore {
    fn default() -> Self {
        let (entries, missed) = (HashMap::new(), HashMap::new());
        let store =
            Arc::new(Mutex::new(Store { limit: DEFAULT_KEY_MEMORY, used: 0, entries, missed }));
        let evict: Arc<dyn Evict> = Arc::clone(&store) as _;
        budget::register(Arc::downgrade(&evict));
        KeyStore { store, making: Making::default() }
    }
}

impl KeyStore {
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
            self.used -= entry.place.bytes();
        }
    }

    /// Since when what has to go for `bytes` of `id` must not have been used, if they are to be
    /// taken: where there is room, or where what has to go was not used since the store was last
    /// asked for `id`. So what is used in turn and is more than there is room for does not drive
    /// itself out, to be made again each time: some of it stays.
    fn admits(&mut self, id: Id, bytes: usize) -> Option<u64> {
        self.drop_gone();
        let since = self.missed.remove(&id).unwrap_or(0);
        if self.used - self.idle_bytes(since) + bytes <= self.limit {
            return Some(since);
        }
        self.miss(id);
        None
    }

    /// Notes that there was no room for `id`.
    fn miss(&mut self, id: Id) {
        if self.missed.len() == MOST_MISSED {
            self.missed.clear();
        }
        self.missed.insert(id, budget::now());
    }

    fn idle_bytes(&self, since: u64) -> usize {
        self.entries.values().filter(|e| e.last_use < since).map(|e| e.place.bytes()).sum()
    }

    /// What was not used for the longest time.
    fn oldest(&self) -> Option<Id> {
        self.entries.iter().min_by_key(|(_, e)| e.last_use).map(|(id, _)| *id)
    }

    /// Drops what belongs to keys that are gone.
    fn drop_gone(&mut self) {
        let gone: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, e)| e.owner.strong_count() == 0)
            .map(|(id, _)| *id)
            .collect();
        gone.iter().for_each(|id| self.remove(id));
    }

    /// Makes room for `bytes`: drops what belongs to keys that are gone, then what was not used for
    /// the longest time.
    fn make_room(&mut self, bytes: usize) {
        self.drop_gone();
        while self.used + bytes > self.limit {
            let Some(id) = self.oldest() else { return };
            self.remove(&id);
        }
    }
}

impl Context {
    /// Sets how many bytes coalesced and doubly decomposed keys of this context may take, within
    /// the budget of the process ([`crate::set_cache_budget`]), beside the keys themselves; what is
    /// more is dropped at once, the least recently used first. Where there is no room, a key in
    /// another form takes the place of such as were not used since it was last wanted; until then
    /// it is done without. With 0 none are kept, sums of components are taken in every key switch,
    /// and the single decomposition stands in for the double one. Results do not depend on it.
    pub fn set_key_memory(&self, bytes: usize) {
        let mut store = self.expanded.lock();
        store.limit = bytes;
        store.make_room(0);
    }

    /// How many bytes coalesced and doubly decomposed keys take, and how many they may.
    pub fn key_memory(&self) -> (usize, usize) {
        let store = self.expanded.lock();
        (store.used, store.limit)
    }

    /// `key` with the coalesced components of a gadget, if there is room for it.
    pub(crate) fn expanded_key(
        &self,
        key: &PreparedSwitchingKey,
        gadget: Gadget,
    ) -> Option<Arc<ExpandedKey>> {
        let bytes = bytes(self, key.modulus(), gadget);
        let gadget = gadget.with_method(Method::Single);
        self.kept_key(key, gadget, bytes, || ExpandedKey::new(self, key, gadget.group()))
    }

    /// The form of `key` that a gadget wants, of so many bytes: kept from before, or made if there
    /// is room for it.
    pub(crate) fn kept_key(
        &self,
        key: &PreparedSwitchingKey,
        gadget: Gadget,
        bytes: usize,
        make: impl FnOnce() -> ExpandedKey,
    ) -> Option<Arc<ExpandedKey>> {
        if self.is_hollow() {
            return None;
        }
        let id = (Arc::as_ptr(key.identity()) as usize, gadget.group(), gadget.method());
        {
            let mut store = self.expanded.lock();
            if let Some(known) = store.get(id) {
                return Some(known);
            }
            if bytes > store.limit {
                return None;
            }
        }
        let _making = self.expanded.making.begin(id);
        let since = {
            let mut store = self.expanded.lock();
            if let Some(made) = store.get(id) {
                return Some(made);
            }
            let since = store.admits(id, bytes)?;
            store.make_room(bytes);
            since
        };
        let Some(place) = Reserved::take(bytes, since) else {
            self.expanded.lock().miss(id);
            return None;
        };
        // Without the lock: others go on.
        let expanded = Arc::new(make());
        let mut store = self.expanded.lock();
        store.remove(&id);
        store.make_room(bytes);
        if bytes > store.limit {
            // The limit was lowered meanwhile.
            return Some(expanded);
        }
        let (owner, last_use) = (Arc::downgrade(key.identity()), budget::now());
        store.used += bytes;
        store.entries.insert(id, Entry { owner, key: Arc::clone(&expanded), place, last_use });
        Some(expanded)
    }
}
