//! A cache of large values, bounded by their bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::in_progress::InProgress;

/// The default limit in bytes. Chosen.
const DEFAULT_LIMIT_BYTES: usize = 1 << 30;

/// A cache of large values by key, for example the encoded diagonals of a linear map by modulus.
///
/// Each value is made on first use. If all values together exceed a limit, those that have been
/// unused for the longest time are dropped. The limit is 1 GiB by default.
///
/// ```
/// use hippocrene_rlwe::SizedCache;
///
/// let cache = SizedCache::<u32, Vec<u8>>::default();
/// let make = || Ok::<_, ()>(vec![0; 100]);
/// let value = cache.get_or_try_insert(7, Vec::len, make).unwrap();
/// assert_eq!((value.len(), cache.memory().0), (100, 100));
/// ```
#[derive(Debug)]
pub struct SizedCache<K, V> {
    entries: Mutex<Entries<K, V>>,
    in_progress: InProgress<K>,
}

#[derive(Debug)]
struct Entries<K, V> {
    /// Keys, values and their bytes. The value used last is at the end.
    values: Vec<(K, Arc<V>, usize)>,
    limit: usize,
}

impl<K, V> Default for SizedCache<K, V> {
    fn default() -> Self {
        let entries = Mutex::new(Entries { values: Vec::new(), limit: DEFAULT_LIMIT_BYTES });
        SizedCache { entries, in_progress: InProgress::default() }
    }
}

impl<K: PartialEq + Copy, V> SizedCache<K, V> {
    /// Returns the value of `key`.
    ///
    /// `make` makes it if it is not in the cache and no other thread is making it. `bytes` returns
    /// its size in bytes.
    ///
    /// # Errors
    /// Returns the errors of `make`.
    pub fn get_or_try_insert<E>(
        &self,
        key: K,
        bytes: impl FnOnce(&V) -> usize,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(cached) = self.lock().get(key) {
            return Ok(cached);
        }
        let _started = self.in_progress.begin(key);
        if let Some(cached) = self.lock().get(key) {
            return Ok(cached);
        }
        let value = Arc::new(make()?);
        let bytes = bytes(&value);
        let mut entries = self.lock();
        if let Some(cached) = entries.get(key) {
            return Ok(cached);
        }
        entries.values.push((key, Arc::clone(&value), bytes));
        entries.make_room();
        Ok(value)
    }

    /// Sets the limit in bytes. The value that was used last stays even if it exceeds the limit,
    /// unless the limit is 0.
    pub fn set_memory(&self, bytes: usize) {
        let mut entries = self.lock();
        entries.limit = bytes;
        entries.make_room();
    }

    /// Returns the bytes in use, and the limit in bytes.
    pub fn memory(&self) -> (usize, usize) {
        let entries = self.lock();
        (entries.bytes(), entries.limit)
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K, V>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: PartialEq, V> Entries<K, V> {
    /// Returns the value of `key` and marks it as the one used last.
    fn get(&mut self, key: K) -> Option<Arc<V>> {
        let i = self.values.iter().position(|(cached, ..)| *cached == key)?;
        self.values[i..].rotate_left(1);
        self.values.last().map(|(_, value, _)| Arc::clone(value))
    }
}

impl<K, V> Entries<K, V> {
    fn bytes(&self) -> usize {
        self.values.iter().map(|(.., bytes)| bytes).sum()
    }

    fn make_room(&mut self) {
        let min_entries = usize::from(self.limit > 0);
        while self.values.len() > min_entries && self.bytes() > self.limit {
            self.values.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_used_last_stay() {
        let cache = SizedCache::<u32, u32>::default();
        let get =
            |key: u32| cache.get_or_try_insert(key, |_| 10, || Ok::<_, ()>(key * key)).map(|v| *v);
        assert_eq!([get(1), get(2), get(3)], [Ok(1), Ok(4), Ok(9)]);
        assert_eq!(cache.memory(), (30, DEFAULT_LIMIT_BYTES));
        assert_eq!(get(1), Ok(1));
        cache.set_memory(20);
        // The value of 2 has been unused for the longest time. Those of 3 and 1 are not made again.
        let there = |key| cache.get_or_try_insert(key, |_| 10, || Err(())).is_ok();
        assert_eq!([there(2), there(3), there(1)], [false, true, true]);
        cache.set_memory(1);
        assert_eq!((there(3), there(1), cache.memory()), (false, true, (10, 1)));
        cache.set_memory(0);
        assert_eq!((there(1), cache.memory()), (false, (0, 0)));
        assert_eq!((get(1), cache.memory()), (Ok(1), (0, 0)));
    }
}
