//! One limit for the memory of all caches of the process.
//!
//! Caches take bytes from the budget before they keep something. Where too few are left, what was
//! not used for the longest time is dropped from any cache, but only if it was not used since the
//! new value was last wanted: values that are used in turn and are too many do not drive one
//! another out.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// The budget where nothing else is said (chosen: what two servers could take before there was a
/// budget).
pub const DEFAULT_CACHE_BUDGET: usize = 2 << 30;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_CACHE_BUDGET);
static USED: AtomicUsize = AtomicUsize::new(0);
static CLOCK: AtomicU64 = AtomicU64::new(0);
static CACHES: Mutex<Vec<Weak<dyn Evict>>> = Mutex::new(Vec::new());

/// A cache that can drop what it holds. Nobody calls it while holding a lock of a cache.
pub trait Evict: Send + Sync {
    /// When its entry was used that was not used for the longest time.
    fn oldest_use(&self) -> Option<u64>;

    /// Bytes of its entries that were not used since `since`.
    fn idle_bytes(&self, since: u64) -> usize;

    /// Drops the entry that was not used for the longest time, if that was before `since`.
    fn evict_oldest(&self, since: u64);
}

/// Bytes of the budget, until this is dropped.
#[derive(Debug)]
pub struct Reserved(usize);

impl Reserved {
    /// So many bytes, if there are as many, or would be without what no cache used since `since`
    /// ([`now`]). That is dropped as far as needed. Callers hold no lock of a cache.
    pub fn take(bytes: usize, since: u64) -> Option<Self> {
        loop {
            let with =
                |used: usize| used.checked_add(bytes).filter(|sum| *sum <= LIMIT.load(Relaxed));
            if USED.fetch_update(Relaxed, Relaxed, with).is_ok() {
                return Some(Reserved(bytes));
            }
            if available(since) < bytes || !evict_one(since) {
                return None;
            }
        }
    }

    /// How many bytes these are.
    pub fn bytes(&self) -> usize {
        self.0
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        USED.fetch_sub(self.0, Relaxed);
    }
}

/// The next time of the clock that caches note uses by.
pub fn now() -> u64 {
    CLOCK.fetch_add(1, Relaxed) + 1
}

/// Lets a cache be asked to drop what it holds, for as long as it exists.
pub fn register(cache: Weak<dyn Evict>) {
    let mut caches = lock();
    caches.retain(|cache| cache.strong_count() > 0);
    caches.push(cache);
}

/// Sets how many bytes all caches of the process may take together, those of servers that exist
/// already too; 2 GiB where nothing is said. What is more is dropped at once, except for the whole
/// ciphertexts of fresh arrays, which go with their arrays. Results do not depend on it.
pub fn set_cache_budget(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
    while USED.load(Relaxed) > LIMIT.load(Relaxed) && evict_one(u64::MAX) {}
}

/// How many bytes all caches of the process take together, and how many they may.
pub fn cache_budget() -> (usize, usize) {
    (USED.load(Relaxed), LIMIT.load(Relaxed))
}

/// Bytes that are left, with those of what no cache used since `since`.
pub fn available(since: u64) -> usize {
    let idle: usize = caches().iter().map(|cache| cache.idle_bytes(since)).sum();
    (LIMIT.load(Relaxed) + idle).saturating_sub(USED.load(Relaxed))
}

/// Drops what no cache used for the longest time, if that was before `since`. Returns whether there
/// was such.
fn evict_one(since: u64) -> bool {
    let used = caches().into_iter().filter_map(|cache| Some((cache.oldest_use()?, cache)));
    let Some((_, cache)) = used.filter(|(used, _)| *used < since).min_by_key(|(used, _)| *used)
    else {
        return false;
    };
    cache.evict_oldest(since);
    true
}

/// The caches that exist, without the lock of their list.
fn caches() -> Vec<Arc<dyn Evict>> {
    lock().iter().filter_map(Weak::upgrade).collect()
}

fn lock() -> MutexGuard<'static, Vec<Weak<dyn Evict>>> {
    CACHES.lock().unwrap_or_else(PoisonError::into_inner)
}
