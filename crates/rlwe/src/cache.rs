//! A bounded cache of tables that are made on first use.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, PoisonError, RwLock},
};

/// The maximum number of tables in a cache.
///
/// A program goes through fewer pairs of moduli than this, and the tables of a full cache take tens
/// of megabytes at most. With a sprout there are millions of pairs of moduli, so a server must not
/// keep every table that it was ever asked for. Chosen.
const MAX_TABLES: usize = 1024;

/// Tables by key, made on first use.
///
/// A full cache drops all its tables. They are made again when they are needed.
#[derive(Debug)]
pub(crate) struct Cache<K, V>(RwLock<HashMap<K, Arc<V>>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Cache(RwLock::new(HashMap::new()))
    }
}

impl<K: Eq + Hash + Copy, V> Cache<K, V> {
    /// Returns the value of `key`, which `make` makes on first use.
    pub(crate) fn get_or_try_insert<E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(value) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(make()?);
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MAX_TABLES {
            tables.clear();
        }
        Ok(Arc::clone(tables.entry(key).or_insert(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_bounded_and_right() {
        let cache = Cache::<usize, usize>::default();
        for key in 0..3 * MAX_TABLES {
            assert_eq!(*cache.get_or_try_insert(key, || Ok::<_, ()>(key + 1)).unwrap(), key + 1);
            assert!(cache.0.read().unwrap().len() <= MAX_TABLES);
        }
        let last = 3 * MAX_TABLES - 1;
        assert_eq!(cache.get_or_try_insert(last, || Err(())).map(|v| *v), Ok(last + 1));
    }
}
