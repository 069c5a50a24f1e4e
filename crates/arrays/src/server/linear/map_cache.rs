//! A cache of linear maps with their encoded diagonals.
//!
//! A map is cached when it is applied for the second time, because the same matrix then comes again
//! with the next array. A map that is applied only once is not worth the memory, nor the time to
//! write it there.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hippocrene_bgv as bgv;
use hippocrene_ckks::circuits::LinearTransform;
use hippocrene_rlwe::budget::{self, Evict};

use crate::{
    Arithmetic, Diagonals,
    room::{Place, Room},
};

/// The cached maps of a server, for arrays of numbers and for arrays of integers.
#[derive(Debug, Default)]
pub(crate) struct AllMaps {
    pub numbers: Maps<LinearTransform>,
    pub integers: Maps<bgv::LinearTransform>,
}

impl AllMaps {
    /// Forgets all maps that were applied.
    pub fn clear(&self) {
        self.numbers.clear();
        self.integers.clear();
    }
}

/// Maximum number of names that are remembered of maps that were applied and are not cached.
const MAX_NAMES: usize = 256;

/// A cache of linear maps, which are found by a hash of their diagonals.
#[derive(Debug)]
pub struct Maps<M>(Arc<Shared<M>>);

/// The part of a cache that the budget of all caches asks to free memory.
#[derive(Debug)]
struct Shared<M>(Mutex<Known<M>>);

#[derive(Debug)]
struct Known<M> {
    /// The cached maps, the last used one last.
    entries: Vec<Entry<M>>,
    /// The names of maps that were applied and are not cached, each with the time of its last
    /// application, in ascending order of time.
    applied: VecDeque<(Name, u64)>,
}

#[derive(Debug)]
struct Entry<M> {
    name: Name,
    map: Arc<M>,
    place: Place,
    /// The time of the last application, by the clock of all caches.
    used: u64,
}

/// The name of a map: a hash of all its diagonals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Name(blake3::Hash);

impl<M: Send + Sync + 'static> Default for Maps<M> {
    fn default() -> Self {
        let known = Known::<M> { entries: Vec::new(), applied: VecDeque::new() };
        let shared = Arc::new(Shared(Mutex::new(known)));
        let evict: Arc<dyn Evict> = Arc::clone(&shared) as _;
        budget::register(Arc::downgrade(&evict));
        Maps(shared)
    }
}

impl<M: Send + Sync> Evict for Shared<M> {
    fn oldest_use(&self) -> Option<u64> {
        self.lock().entries.first().map(|entry| entry.used)
    }

    fn idle_bytes(&self, since: u64) -> usize {
        self.lock().idle_bytes(since)
    }

    fn evict_oldest(&self, since: u64) {
        self.lock().evict_oldest(since);
    }
}

impl<M> Shared<M> {
    fn lock(&self) -> MutexGuard<'_, Known<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> Maps<M> {
    fn clear(&self) {
        let mut known = self.0.lock();
        known.entries.clear();
        known.applied.clear();
    }

    /// Returns the map of that name, if it is cached.
    pub(in crate::server) fn get(&self, name: Name) -> Option<Arc<M>> {
        self.0
            .lock()
            .entries
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| Arc::clone(&entry.map))
    }

    /// Returns true if a map of that name is to be cached when it is applied.
    ///
    /// The map has at most `bytes` bytes. It is cached if it was applied before, so recently that
    /// its name is still remembered, and if there is room for it. Maps that were not used since its
    /// last application count as room. Maps that come in turn, and do not all fit, therefore do not
    /// evict one another.
    pub(in crate::server) fn is_to_be_kept(&self, name: Name, bytes: usize, room: &Room) -> bool {
        let (before, unused) = {
            let known = self.0.lock();
            let Some(before) = known.last_time(name) else { return false };
            (before, known.idle_bytes(before))
        };
        let (taken, limit) = room.memory();
        bytes <= limit.saturating_sub(taken) + unused && bytes <= budget::available(before)
    }

    /// Caches a map that was just applied, with `bytes` bytes of encoded diagonals.
    ///
    /// Maps that were not used since its last application are evicted for it if needed. If there is
    /// still no room, or if `bytes` is 0, only its name is remembered.
    pub(in crate::server) fn keep(&self, name: Name, map: Arc<M>, bytes: usize, room: &Room) {
        let before = {
            let mut known = self.0.lock();
            let before = known.last_time(name).unwrap_or_else(|| known.last_use());
            known.entries.retain(|entry| entry.name != name);
            before
        };
        let mut place = None;
        // The lock of this cache must be free here: to make room, the budget of the process may ask
        // all caches, including this one, to drop entries.
        while bytes > 0 && bytes <= room.memory().1 {
            place = room.take_since(bytes, before);
            if place.is_some() || !self.0.lock().evict_oldest(before) {
                break;
            }
        }
        let mut known = self.0.lock();
        let used = budget::now();
        // Another thread may have cached the map meanwhile.
        known.entries.retain(|entry| entry.name != name);
        known.applied.retain(|(other, _)| *other != name);
        if let Some(place) = place {
            known.entries.push(Entry { name, map, place, used });
            return;
        }
        if known.applied.len() == MAX_NAMES {
            known.applied.pop_front();
        }
        known.applied.push_back((name, used));
    }
}

impl<M> Known<M> {
    /// Returns the number of bytes of the maps that were not applied since `since`.
    fn idle_bytes(&self, since: u64) -> usize {
        let idle = self.entries.iter().filter(|entry| entry.used < since);
        idle.map(|entry| entry.place.bytes()).sum()
    }

    /// Drops the map that was not applied for the longest time, if that was before `since`.
    ///
    /// Returns true if a map was dropped.
    fn evict_oldest(&mut self, since: u64) -> bool {
        let is_idle = self.entries.first().is_some_and(|entry| entry.used < since);
        if is_idle {
            self.entries.remove(0);
        }
        is_idle
    }

    /// Returns the time of the last application of any map.
    fn last_use(&self) -> u64 {
        let kept = self.entries.last().map_or(0, |entry| entry.used);
        kept.max(self.applied.back().map_or(0, |(_, used)| *used))
    }

    /// Returns the time of the last application of the map of that name, if it is known.
    fn last_time(&self, name: Name) -> Option<u64> {
        let kept = self.entries.iter().map(|entry| (entry.name, entry.used));
        kept.chain(self.applied.iter().copied())
            .find(|(other, _)| *other == name)
            .map(|(_, used)| used)
    }
}

impl Name {
    /// Returns the name of the map with these diagonals.
    pub(in crate::server) fn of<F: Arithmetic>(diagonals: &Diagonals<F>) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut bytes = Vec::new();
        for (diagonal, entries) in diagonals {
            hasher.update(&(*diagonal as u64).to_le_bytes());
            hasher.update(&(entries.len() as u64).to_le_bytes());
            bytes.clear();
            bytes.extend(entries.iter().map(|(slot, number)| entry_bytes::<F>(*slot, *number)));
            hasher.update(bytes.as_flattened());
        }
        Name(hasher.finalize())
    }
}

fn entry_bytes<F: Arithmetic>(slot: u32, number: F::Number) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&slot.to_le_bytes());
    bytes[4..].copy_from_slice(&F::bytes(number));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Numbers, Residues};

    #[test]
    fn names_tell_maps_apart() {
        let of = |diagonals: &[(usize, &[(u32, f64)])]| {
            Name::of::<Numbers>(
                &diagonals.iter().map(|(r, entries)| (*r, entries.to_vec())).collect(),
            )
        };
        let all = [
            of(&[]),
            of(&[(0, &[])]),
            of(&[(0, &[(0, 1.0)])]),
            of(&[(1, &[(0, 1.0)])]),
            of(&[(0, &[(1, 1.0)])]),
            of(&[(0, &[(0, -1.0)])]),
            of(&[(0, &[(0, 1.0), (1, 1.0)])]),
            of(&[(0, &[(0, 1.0)]), (1, &[(1, 1.0)])]),
        ];
        for (i, name) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| other == name), Some(i));
        }
        assert_eq!(all[2], of(&[(0, &[(0, 1.0)])]));
        let integers = |x: i64| Name::of::<Residues>(&[(0, vec![(0, x)])].into());
        assert_ne!(integers(1), integers(-1));
    }

    #[test]
    fn what_comes_again_is_kept_while_there_is_room() {
        let (maps, room) = (Maps::default(), Room::default());
        room.set_limit(10);
        let name = |i: usize| Name::of::<Numbers>(&[(0, vec![(0, i as f64)])].into());
        // Applies a map of 4 bytes as a server does. Returns true if it was cached before.
        let apply = |i: usize| {
            let kept = maps.get(name(i)).is_some();
            let bytes = if kept || maps.is_to_be_kept(name(i), 4, &room) { 4 } else { 0 };
            maps.keep(name(i), Arc::new(i), bytes, &room);
            kept
        };
        assert_eq!([0, 1, 2].map(apply), [false; 3]);
        assert_eq!(room.memory().0, 0, "what came once is not kept");
        assert_eq!([0, 1, 2].map(apply), [false; 3]);
        // Three maps in turn, with room for two of them.
        for _ in 0..3 {
            assert_eq!([0, 1, 2].map(apply), [true, true, false]);
        }
        assert_eq!(room.memory().0, 8);
        // A map that comes again replaces one that does not.
        assert_eq!([2, 1, 2, 2].map(apply), [false, true, true, true]);
        assert_eq!([0, 1, 2].map(|i| maps.get(name(i)).is_some()), [false, true, true]);
        // A map that is larger than the limit is not cached.
        assert!(!maps.is_to_be_kept(name(0), 11, &room));
        room.set_limit(0);
        maps.keep(name(1), Arc::new(1), 4, &room);
        assert!(maps.get(name(1)).is_none());
    }

    #[test]
    fn names_of_what_is_not_kept_are_remembered() {
        let (maps, room) = (Maps::default(), Room::default());
        let name = |i: usize| Name::of::<Numbers>(&[(0, vec![(0, i as f64)])].into());
        let comes_again = |i: usize| maps.is_to_be_kept(name(i), 1, &room);
        (0..=MAX_NAMES).for_each(|i| maps.keep(name(i), Arc::new(i), 0, &room));
        assert_eq!([0, 1, MAX_NAMES, MAX_NAMES + 1].map(comes_again), [false, true, true, false]);
    }
}
