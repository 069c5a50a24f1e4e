//! The memory that a session may spend on caches to save time.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use hippocrene_rlwe::budget::{self, Reserved};

/// The default limit, in bytes.
const DEFAULT: usize = 1 << 30;

/// The number of bytes that the caches of a session use, and their limit.
///
/// The caches hold values that can be recomputed: full ciphertexts of fresh ones
/// ([`crate::Fresh`]), and encoded matrices.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    taken: AtomicUsize,
    limit: AtomicUsize,
    /// The time of the last refusal, by the clock that all caches share.
    refused: AtomicU64,
}

/// Reserved bytes, released when this is dropped.
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
    /// Reserves `bytes` of the limit and of the budget of the process, or returns `None` if either
    /// has no room.
    ///
    /// To make room in the budget of the process, caches drop entries that nobody used since the
    /// last refusal.
    pub fn take(&self, bytes: usize) -> Option<Place> {
        let place = self.take_since(bytes, self.0.refused.load(Relaxed));
        if place.is_none() {
            self.0.refused.store(budget::now(), Relaxed);
        }
        place
    }

    /// As [`Room::take`], but caches may drop the entries that nobody used since `since`.
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

    /// Sets the limit in bytes. Bytes beyond it that are reserved already stay reserved.
    pub fn set_limit(&self, bytes: usize) {
        self.0.limit.store(bytes, Relaxed);
    }

    /// Returns the number of reserved bytes and the limit.
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
