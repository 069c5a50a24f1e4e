//! The helper threads of a calling thread.

use std::{
    cell::Cell,
    mem, process,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, LocalKey},
    time::{Duration, Instant},
};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield};

/// The time for which helpers look for work before they sleep, and for which the calling thread
/// waits actively for their end.
///
/// Waking a thread takes some 20 to 50 microseconds, which is the time of one limb. A bootstrap
/// distributes work every few hundred microseconds.
const SPIN_TIME: Duration = Duration::from_micros(300);

/// The helpers of one process. A process made by `fork` has no copy of them, and starts its own
/// helpers when it first needs them.
#[derive(Debug)]
pub(super) struct Pool {
    process: u32,
    helpers: Arc<ThreadPool>,
    awake: Arc<Awake>,
    /// The number of helpers that work for no caller. Work given to another caller's helpers would
    /// wait until that caller's work is done.
    free_helpers: AtomicUsize,
    /// The pool of a process that was forked off this one.
    forked: OnceLock<Option<Box<Pool>>>,
}

/// The state that keeps helpers awake between two pieces of work.
#[derive(Debug)]
struct Awake {
    start: Instant,
    /// The end of the time to stay awake, in nanoseconds from `start`.
    awake_until_ns: AtomicU64,
    /// The number of helpers that are awake.
    helpers: AtomicUsize,
}

thread_local! {
    /// True if the present work of this thread was distributed.
    static IS_DISTRIBUTED: Cell<bool> = const { Cell::new(false) };
    /// True if this thread has distributed work and must wait for its end. While it waits for its
    /// helpers to finish, rayon may give it work of other callers, which would run on top of the
    /// state that it holds.
    static IS_WAITING: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if the present work of this thread was distributed.
pub(super) fn is_distributed() -> bool {
    IS_DISTRIBUTED.get()
}

/// Claims up to `wanted` free helpers, and returns their number. Each helper returns by itself
/// ([`IncrementOnDrop`]).
fn claim(free_helpers: &AtomicUsize, wanted: usize) -> usize {
    // Within distributed work there usually are no free helpers. This is detected without a write
    // to memory that all threads read.
    let remaining =
        |free_helpers: usize| (free_helpers > 0).then(|| free_helpers - free_helpers.min(wanted));
    let before = free_helpers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, remaining);
    before.map_or(0, |free_helpers| free_helpers.min(wanted))
}

/// Increments a counter when it is dropped, also after a panic. It counts free helpers, and helpers
/// that have finished.
struct IncrementOnDrop<'a>(&'a AtomicUsize);

impl Drop for IncrementOnDrop<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Sets a flag of this thread until it is dropped.
struct FlagGuard {
    flag: &'static LocalKey<Cell<bool>>,
    before: bool,
}

impl FlagGuard {
    fn of(flag: &'static LocalKey<Cell<bool>>) -> Self {
        FlagGuard { flag, before: flag.replace(true) }
    }
}

impl Drop for FlagGuard {
    fn drop(&mut self) {
        self.flag.set(self.before);
    }
}

impl Awake {
    fn prolong(&self) {
        let until = self.start.elapsed() + SPIN_TIME;
        self.awake_until_ns.store(until.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Looks for work until the time is over.
    fn look_for_work(&self) {
        while !IS_WAITING.get()
            && (self.start.elapsed().as_nanos() as u64)
                < self.awake_until_ns.load(Ordering::Relaxed)
        {
            if rayon::yield_now() != Some(Yield::Executed) {
                thread::yield_now();
            }
        }
        self.helpers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub(super) fn new(helpers: usize) -> Result<Self, ThreadPoolBuildError> {
        let helpers = Arc::new(ThreadPoolBuilder::new().num_threads(helpers).build()?);
        let awake = Awake {
            start: Instant::now(),
            awake_until_ns: AtomicU64::new(0),
            helpers: AtomicUsize::new(0),
        };
        let free_helpers = AtomicUsize::new(helpers.current_num_threads());
        Ok(Pool {
            process: process::id(),
            helpers,
            awake: Arc::new(awake),
            free_helpers,
            forked: OnceLock::new(),
        })
    }

    /// Returns the number of helpers.
    pub(super) fn helpers(&self) -> usize {
        self.helpers.current_num_threads()
    }

    /// Returns the pool of this process.
    ///
    /// It returns `None` if a forked process cannot start helpers. Then the calling thread does all
    /// work.
    fn of_process(&self) -> Option<&Pool> {
        if self.process == process::id() {
            return Some(self);
        }
        let start = || Pool::new(self.helpers()).ok().map(Box::new);
        self.forked.get_or_init(start).as_ref()?.of_process()
    }

    /// Calls `work` for each of the items, in this thread and in helpers that no other caller uses.
    ///
    /// Each thread takes the last item as long as there is one. This thread may be a helper itself:
    /// its work is then distributed further among the helpers that are free. It calls `wait` now
    /// and then while helpers finish their last items.
    pub(super) fn distribute<T: Send>(
        &self,
        items: impl ExactSizeIterator<Item = T> + DoubleEndedIterator + Send,
        work: impl Fn(T) + Sync,
        mut wait: impl FnMut(),
    ) {
        let wanted = items.len().saturating_sub(1).min(self.helpers());
        let Some(pool) = self.of_process().filter(|_| wanted > 0) else {
            return items.rev().for_each(work);
        };
        let count = claim(&pool.free_helpers, wanted);
        if count == 0 {
            return items.rev().for_each(work);
        }
        let (items, ended) = (Mutex::new(items), AtomicUsize::new(0));
        let work_on = || {
            let _distributed = FlagGuard::of(&IS_DISTRIBUTED);
            // The lock is not held during the work on an item.
            let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next_back();
            while let Some(item) = next() {
                work(item);
            }
        };
        pool.wake_helpers();
        let waiting = FlagGuard::of(&IS_WAITING);
        pool.helpers.in_place_scope(|scope| {
            for _ in 0..count {
                scope.spawn(|_| {
                    // The helper is returned first, because the next distributed work may want it
                    // as soon as this work has ended.
                    let _ended = IncrementOnDrop(&ended);
                    let _free_again = IncrementOnDrop(&pool.free_helpers);
                    // If this helper waits for its own work, others do the items without it.
                    if !IS_WAITING.get() {
                        work_on();
                    }
                });
            }
            work_on();
            let waiting_since = Instant::now();
            while ended.load(Ordering::Acquire) < count {
                match waiting_since.elapsed() < SPIN_TIME {
                    true => thread::yield_now(),
                    false => {
                        wait();
                        thread::sleep(SPIN_TIME / 3);
                    }
                }
            }
        });
        drop(waiting);
        pool.awake.prolong();
    }

    /// Wakes the helpers if they sleep, and keeps them awake for a while.
    fn wake_helpers(&self) {
        self.awake.prolong();
        let none = self.awake.helpers.compare_exchange(
            0,
            self.helpers(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if none.is_ok() {
            let awake = Arc::clone(&self.awake);
            self.helpers.spawn_broadcast(move |_| awake.look_for_work());
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The helpers of another process are not here to be stopped, and may have left locks
        // behind.
        if self.process != process::id() {
            mem::forget(Arc::clone(&self.helpers));
        }
    }
}
