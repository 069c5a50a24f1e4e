//! A common limit for the memory of all caches of the process.
//!
//! Caches reserve bytes of the budget before they store a value. If too few bytes are free, the
//! entries that have been unused for the longest time are dropped, whichever cache holds them. Only
//! entries that were not used since the new value was last requested are dropped. So values that
//! are used in turn and do not all fit do not evict one another.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// The default budget in bytes: 2 GiB. Chosen, as the memory that two servers could use before
/// there was a budget.
pub const DEFAULT_CACHE_BUDGET_BYTES: usize = 2 << 30;

static LIMIT_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_CACHE_BUDGET_BYTES);
static USED_BYTES: AtomicUsize = AtomicUsize::new(0);
static CLOCK: AtomicU64 = AtomicU64::new(0);
static CACHES: Mutex<Vec<Weak<dyn Evict>>> = Mutex::new(Vec::new());

/// A cache that can drop its entries. Callers must not hold the lock of a cache.
///
/// ```
/// use hippocrene_rlwe::budget::Evict;
/// use std::sync::Mutex;
///
/// /// A cache of one value, with its last use.
/// struct One(Mutex<Option<(u64, Vec<u8>)>>);
///
/// impl Evict for One {
///     fn oldest_use(&self) -> Option<u64> {
///         self.0.lock().unwrap().as_ref().map(|(used, _)| *used)
///     }
///     fn idle_bytes(&self, since: u64) -> usize {
///         let value = self.0.lock().unwrap();
///         value.as_ref().filter(|(used, _)| *used < since).map_or(0, |(_, bytes)| bytes.len())
///     }
///     fn evict_oldest(&self, since: u64) {
///         self.0.lock().unwrap().take_if(|(used, _)| *used < since);
///     }
/// }
///
/// let one = One(Mutex::new(Some((3, vec![0; 100]))));
/// assert_eq!((one.oldest_use(), one.idle_bytes(5)), (Some(3), 100));
/// one.evict_oldest(5);
/// assert_eq!(one.oldest_use(), None);
/// ```
pub trait Evict: Send + Sync {
    /// Returns the last use of the entry that has been unused for the longest time.
    fn oldest_use(&self) -> Option<u64>;

    /// Returns the bytes of the entries that were not used since `since`.
    fn idle_bytes(&self, since: u64) -> usize;

    /// Drops the entry that has been unused for the longest time, if its last use was before
    /// `since`.
    fn evict_oldest(&self, since: u64);
}

/// Bytes of the budget that are reserved until this is dropped.
///
/// ```
/// use hippocrene_rlwe::budget::{Reserved, now};
///
/// let reserved = Reserved::take(100, now()).unwrap();
/// assert_eq!(reserved.bytes(), 100);
/// assert!(Reserved::take(usize::MAX, now()).is_none());
/// ```
#[derive(Debug)]
pub struct Reserved(usize);

impl Reserved {
    /// Reserves `bytes` bytes, or returns `None` if the budget does not have them.
    ///
    /// Entries that no cache has used since `since` ([`now`]) are dropped as far as needed. Callers
    /// must not hold the lock of a cache.
    pub fn take(bytes: usize, since: u64) -> Option<Self> {
        loop {
            let with = |used: usize| {
                used.checked_add(bytes).filter(|sum| *sum <= LIMIT_BYTES.load(Relaxed))
            };
            if USED_BYTES.fetch_update(Relaxed, Relaxed, with).is_ok() {
                return Some(Reserved(bytes));
            }
            if available(since) < bytes || !evict_one(since) {
                return None;
            }
        }
    }

    /// Returns the number of reserved bytes.
    pub fn bytes(&self) -> usize {
        self.0
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        USED_BYTES.fetch_sub(self.0, Relaxed);
    }
}

/// Advances the logical clock by which caches order their uses, and returns its time.
pub fn now() -> u64 {
    CLOCK.fetch_add(1, Relaxed) + 1
}

/// Adds a cache to those that are asked to drop entries, for as long as the cache exists.
pub fn register(cache: Weak<dyn Evict>) {
    let mut caches = lock();
    caches.retain(|cache| cache.strong_count() > 0);
    caches.push(cache);
}

/// Sets the memory limit for all caches of the process together, in bytes. The default is 2 GiB.
///
/// The limit holds for the caches of existing servers too. Entries beyond it are dropped at once.
/// The expanded ciphertexts of fresh arrays are an exception: they are dropped with their arrays.
/// Results do not depend on the limit.
pub fn set_cache_budget(bytes: usize) {
    LIMIT_BYTES.store(bytes, Relaxed);
    while USED_BYTES.load(Relaxed) > LIMIT_BYTES.load(Relaxed) && evict_one(u64::MAX) {}
}

/// Returns the bytes that all caches of the process use, and their limit.
pub fn cache_budget() -> (usize, usize) {
    (USED_BYTES.load(Relaxed), LIMIT_BYTES.load(Relaxed))
}

/// Returns the bytes that can still be reserved if entries that no cache has used since `since` are
/// dropped.
pub fn available(since: u64) -> usize {
    let idle: usize = caches().iter().map(|cache| cache.idle_bytes(since)).sum();
    (LIMIT_BYTES.load(Relaxed) + idle).saturating_sub(USED_BYTES.load(Relaxed))
}

/// Drops the entry that has been unused for the longest time in any cache, if its last use was
/// before `since`. Returns whether there was such an entry.
fn evict_one(since: u64) -> bool {
    let used = caches().into_iter().filter_map(|cache| Some((cache.oldest_use()?, cache)));
    let Some((_, cache)) = used.filter(|(used, _)| *used < since).min_by_key(|(used, _)| *used)
    else {
        return false;
    };
    cache.evict_oldest(since);
    true
}

/// Returns the caches that exist. The lock of their list is released before they are called.
fn caches() -> Vec<Arc<dyn Evict>> {
    lock().iter().filter_map(Weak::upgrade).collect()
}

fn lock() -> MutexGuard<'static, Vec<Weak<dyn Evict>>> {
    CACHES.lock().unwrap_or_else(PoisonError::into_inner)
}
