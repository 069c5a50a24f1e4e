//! Linear maps that were applied twice, kept with their encoded diagonals: the same matrix comes again with the next array. What comes once is not worth the memory, and the time
//! to write it there.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hippocrene_bgv as bgv;
use hippocrene_ckks::circuits::LinearTransform;

use crate::{
    Diagonals, Form,
    room::{Place, Room},
};

/// The maps of a server, by the elements of the arrays that they are for.
#[derive(Debug, Default)]
pub(crate) struct AllMaps {
    pub numbers: Maps<LinearTransform>,
    pub integers: Maps<bgv::LinearTransform>,
}

impl AllMaps {
    /// Drops all of them.
    pub fn clear(&self) {
        self.numbers.lock().entries.clear();
        self.integers.lock().entries.clear();
    }
}

/// So many names of maps that were applied are remembered.
const REMEMBERED: usize = 256;

/// Linear maps by what is in them.
#[derive(Debug)]
pub struct Maps<M>(Mutex<Known<M>>);

#[derive(Debug)]
struct Known<M> {
    /// What is kept, the last used last.
    entries: Vec<Entry<M>>,
    /// What was applied and is not kept, the last one last.
    applied: VecDeque<Name>,
}

#[derive(Debug)]
struct Entry<M> {
    name: Name,
    map: Arc<M>,
    _place: Place,
}

/// A hash of all diagonals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Name(blake3::Hash);

impl<M> Default for Maps<M> {
    fn default() -> Self {
        Maps(Mutex::new(Known { entries: Vec::new(), applied: VecDeque::new() }))
    }
}

impl<M> Maps<M> {
    /// The map of that name, if it is kept.
    pub(super) fn get(&self, name: Name) -> Option<Arc<M>> {
        self.lock().entries.iter().find(|entry| entry.name == name).map(|entry| Arc::clone(&entry.map))
    }

    /// Whether a map of that name was applied, not long ago.
    pub(super) fn was_applied(&self, name: Name) -> bool {
        self.lock().applied.contains(&name)
    }

    /// Keeps a map that was just applied, of which `bytes` bytes are encoded, or its name where there are none. Those that were not used for the longest time make room for it; where that does not do, it is
    /// not kept.
    pub(super) fn keep(&self, name: Name, map: Arc<M>, bytes: usize, room: &Room) {
        let Known { entries, applied } = &mut *self.lock();
        entries.retain(|entry| entry.name != name);
        applied.retain(|other| *other != name);
        while bytes > 0 && bytes <= room.memory().1 {
            if let Some(_place) = room.take(bytes) {
                entries.push(Entry { name, map, _place });
                return;
            }
            if entries.is_empty() {
                break;
            }
            entries.remove(0);
        }
        if applied.len() == REMEMBERED {
            applied.pop_front();
        }
        applied.push_back(name);
    }

    fn lock(&self) -> MutexGuard<'_, Known<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Name {
    /// The name of the map with these diagonals.
    pub(super) fn of<F: Form>(diagonals: &Diagonals<F>) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut bytes = Vec::new();
        for (diagonal, entries) in diagonals {
            bytes.clear();
            bytes.extend((*diagonal as u64).to_le_bytes());
            bytes.extend((entries.len() as u64).to_le_bytes());
            for (slot, number) in entries {
                bytes.extend(slot.to_le_bytes());
                bytes.extend(F::bytes(*number));
            }
            hasher.update(&bytes);
        }
        Name(hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Numbers, Residues};

    #[test]
    fn names_tell_maps_apart() {
        let of = |diagonals: &[(usize, &[(u32, f64)])]| {
            Name::of::<Numbers>(&diagonals.iter().map(|(r, entries)| (*r, entries.to_vec())).collect())
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
    fn what_was_used_last_is_kept() {
        let (maps, room) = (Maps::default(), Room::default());
        room.set_limit(10);
        let names = [0.0, 1.0, 2.0].map(|x| Name::of::<Numbers>(&[(0, vec![(0, x)])].into()));
        let keep = |i: usize, bytes| maps.keep(names[i], Arc::new(i), bytes, &room);
        let kept = || names.map(|name| maps.get(name).is_some());
        keep(0, 4);
        keep(1, 4);
        keep(0, 5);
        assert_eq!((kept(), room.memory().0), ([true, true, false], 9));
        keep(2, 5);
        assert_eq!((kept(), room.memory().0), ([true, false, true], 10));
        keep(1, 11);
        assert_eq!((kept(), room.memory().0), ([true, false, true], 10));
        keep(1, 10);
        assert_eq!((kept(), room.memory().0), ([false, true, false], 10));
        keep(1, 0);
        assert_eq!((kept(), room.memory().0), ([false; 3], 0));
    }

    #[test]
    fn names_of_what_is_not_kept_are_remembered() {
        let (maps, room) = (Maps::default(), Room::default());
        room.set_limit(10);
        let name = |i: usize| Name::of::<Numbers>(&[(0, vec![(0, i as f64)])].into());
        let keep = |i: usize, bytes| maps.keep(name(i), Arc::new(i), bytes, &room);
        let applied = |i: usize| maps.was_applied(name(i));
        keep(0, 0);
        keep(1, 11);
        assert_eq!([0, 1, 2].map(applied), [true, true, false]);
        keep(0, 5);
        assert!(!applied(0) && maps.get(name(0)).is_some());
        (2..REMEMBERED + 2).for_each(|i| keep(i, 0));
        assert_eq!([1, 2, REMEMBERED + 1].map(applied), [false, true, true]);
    }
}
