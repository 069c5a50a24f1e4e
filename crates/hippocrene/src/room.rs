//! The memory that is spent to save time.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use hippocrene_rlwe::budget::{self, Reserved};

/// The bytes there are room for where nothing else is said.
const DEFAULT: usize = 1 << 30;

/// How many bytes what could be made again takes in a session, and how many it may: whole
/// ciphertexts of fresh ones ([`crate::Fresh`]), and encoded matrices.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    taken: AtomicUsize,
    limit: AtomicUsize,
    /// When bytes were last refused, by the clock of all caches.
    refused: AtomicU64,
}

/// Bytes that are taken, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    room: Room,
    reserved: Reserved,
}

impl Default for Room {
    fn default() -> Self {
        let (taken, limit, refused) =
            (AtomicUsize::new(0), AtomicUsize::new(DEFAULT), AtomicU64::new(0));
        Room(Arc::new(Bytes { taken, limit, refused }))
    }
}

impl Room {
    /// So many bytes, if there are as many, here and in the budget of the process. There, what no
    /// cache used since bytes were last refused makes room.
    pub fn take(&self, bytes: usize) -> Option<Place> {
        let place = self.take_since(bytes, self.0.refused.load(Relaxed));
        if place.is_none() {
            self.0.refused.store(budget::now(), Relaxed);
        }
        place
    }

    /// [`Room::take`], where what no cache used since `since` makes room.
    pub fn take_since(&self, bytes: usize, since: u64) -> Option<Place> {
        let limit = self.0.limit.load(Relaxed);
        let with = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= limit);
        self.0.taken.fetch_update(Relaxed, Relaxed, with).ok()?;
        match Reserved::take(bytes, since) {
            Some(reserved) => Some(Place { room: self.clone(), reserved }),
            None => {
                self.0.taken.fetch_sub(bytes, Relaxed);
                None
            }
        }
    }

    /// Sets how many bytes may be taken. What takes more already keeps it.
    pub fn set_limit(&self, bytes: usize) {
        self.0.limit.store(bytes, Relaxed);
    }

    /// How many bytes are taken, and how many may be.
    pub fn memory(&self) -> (usize, usize) {
        (self.0.taken.load(Relaxed), self.0.limit.load(Relaxed))
    }
}

impl Place {
    pub fn bytes(&self) -> usize {
        self.reserved.bytes()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.0.taken.fetch_sub(self.bytes(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back() {
        let room = Room::default();
        room.set_limit(10);
        let (four, six) = (room.take(4).unwrap(), room.take(6).unwrap());
        assert!(room.take(1).is_none() && room.take(usize::MAX).is_none());
        assert_eq!(room.memory(), (10, 10));
        drop(four);
        assert!(room.take(5).is_none() && room.take(4).is_some());
        room.set_limit(5);
        assert!(room.take(0).is_none());
        drop(six);
        assert_eq!(room.memory(), (0, 5));
        assert!(room.take(5).is_some());
    }
}
