//! The latest results of slow searches, for the whole process.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// Maximum number of results that are kept for each kind of search (chosen). One has at most about
/// a hundred kilobytes.
const MAX_KEPT: usize = 64;

/// Results of a search that depends on nothing but its key. The latest ones are kept.
pub(super) struct Latest<K, V>(Mutex<VecDeque<(K, V)>>);

impl<K: PartialEq, V: Clone> Latest<K, V> {
    pub(super) const fn new() -> Self {
        Latest(Mutex::new(VecDeque::new()))
    }

    /// Returns the result for a key. Calls `search` only if it is not among the latest ones.
    pub(super) fn get_or_search(&self, key: K, search: impl FnOnce() -> V) -> V {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = kept();
            let known = kept.iter().position(|(known, _)| *known == key);
            if let Some(hit) = known.and_then(|place| kept.remove(place)) {
                let found = hit.1.clone();
                kept.push_front(hit);
                return found;
            }
        }
        // Other threads may search meanwhile.
        let found = search();
        let mut kept = kept();
        kept.truncate(MAX_KEPT - 1);
        kept.push_front((key, found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_results_are_kept() {
        let latest = Latest::new();
        let searched = |key: usize| {
            let mut is_searched = false;
            let found = latest.get_or_search(key, || {
                is_searched = true;
                key * key
            });
            assert_eq!(found, key * key);
            is_searched
        };
        assert!((0..MAX_KEPT).all(searched));
        assert!(!(0..MAX_KEPT).any(searched));
        // The one that was not used for the longest time makes room.
        assert!(!searched(0) && searched(MAX_KEPT) && !searched(MAX_KEPT) && !searched(0));
        assert!(searched(1));
    }
}
