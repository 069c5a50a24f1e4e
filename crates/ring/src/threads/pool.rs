//! The threads that help a calling one.

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

/// For how long helpers look for more to do before they sleep, and the calling thread for their end
/// before it does. To be woken takes some 20 to 50 microseconds, what a limb takes: in a bootstrap
/// there is something to be shared out every few hundred.
const PATIENCE: Duration = Duration::from_micros(300);

/// The helpers of one process: a copy of it that `fork` makes has none of them, and starts its own
/// where it first needs any.
#[derive(Debug)]
pub(super) struct Pool {
    process: u32,
    helpers: Arc<ThreadPool>,
    awake: Arc<Awake>,
    /// How many helpers no caller has: what is shared out among those of another would wait until
    /// that one's work is done.
    free: AtomicUsize,
    /// Those of a process that was forked off this one.
    forked: OnceLock<Option<Box<Pool>>>,
}

/// What keeps helpers awake between two things to do.
#[derive(Debug)]
struct Awake {
    start: Instant,
    /// Until when, in nanoseconds from the start.
    until: AtomicU64,
    /// How many are.
    helpers: AtomicUsize,
}

thread_local! {
    /// Whether what this thread does was shared out.
    static SHARED: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread has shared something out whose end it has to see. While it waits for
    /// helpers to leave it, rayon may hand it what is for others, which would be done on top of
    /// what it holds.
    static SHARING: Cell<bool> = const { Cell::new(false) };
}

/// Whether what this thread does was shared out.
pub(super) fn is_shared() -> bool {
    SHARED.get()
}

/// Takes as many of those that are free as are wanted, and says how many these are. Each goes back
/// by itself ([`Back`]).
fn take(free: &AtomicUsize, wanted: usize) -> usize {
    // Within what is shared out there are none most often, which is seen without a write to what
    // all threads read.
    let less = |free: usize| (free > 0).then(|| free - free.min(wanted));
    let before = free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    before.map_or(0, |free| free.min(wanted))
}

/// Counts one more when it is dropped, also where work panics: a helper that is free again, or that
/// has ended.
struct Back<'a>(&'a AtomicUsize);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Something that is said of this thread until it is dropped.
struct Said {
    flag: &'static LocalKey<Cell<bool>>,
    before: bool,
}

impl Said {
    fn of(flag: &'static LocalKey<Cell<bool>>) -> Self {
        Said { flag, before: flag.replace(true) }
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        self.flag.set(self.before);
    }
}

impl Awake {
    fn prolong(&self) {
        let until = self.start.elapsed() + PATIENCE;
        self.until.store(until.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Looks for something to do until the time is over.
    fn stay(&self) {
        while !SHARING.get()
            && (self.start.elapsed().as_nanos() as u64) < self.until.load(Ordering::Relaxed)
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
        let awake =
            Awake { start: Instant::now(), until: AtomicU64::new(0), helpers: AtomicUsize::new(0) };
        let free = AtomicUsize::new(helpers.current_num_threads());
        Ok(Pool {
            process: process::id(),
            helpers,
            awake: Arc::new(awake),
            free,
            forked: OnceLock::new(),
        })
    }

    /// How many helpers there are.
    pub(super) fn helpers(&self) -> usize {
        self.helpers.current_num_threads()
    }

    /// That of this process; none where a forked one cannot start any helpers, and the calling
    /// thread has to do.
    fn of_process(&self) -> Option<&Pool> {
        if self.process == process::id() {
            return Some(self);
        }
        let start = || Pool::new(self.helpers()).ok().map(Box::new);
        self.forked.get_or_init(start).as_ref()?.of_process()
    }

    /// Calls `work` for each of the items, in this thread and in helpers that no other caller has:
    /// each takes the last one as long as there are any. This thread may be a helper itself: what
    /// it does for another is shared out further among those that are free then. It calls `wait`
    /// now and then while helpers are at their last items.
    pub(super) fn share<T: Send>(
        &self,
        items: impl ExactSizeIterator<Item = T> + DoubleEndedIterator + Send,
        work: impl Fn(T) + Sync,
        mut wait: impl FnMut(),
    ) {
        let wanted = items.len().saturating_sub(1).min(self.helpers());
        let Some(pool) = self.of_process().filter(|_| wanted > 0) else {
            return items.rev().for_each(work);
        };
        let count = take(&pool.free, wanted);
        if count == 0 {
            return items.rev().for_each(work);
        }
        let (items, ended) = (Mutex::new(items), AtomicUsize::new(0));
        let work_on = || {
            let _shared = Said::of(&SHARED);
            // The lock is not held while an item is worked on.
            let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next_back();
            while let Some(item) = next() {
                work(item);
            }
        };
        pool.rouse();
        let sharing = Said::of(&SHARING);
        pool.helpers.in_place_scope(|scope| {
            for _ in 0..count {
                scope.spawn(|_| {
                    // The helper is given back first: the next that is shared out may want it as
                    // soon as this has ended.
                    let _ended = Back(&ended);
                    let _back = Back(&pool.free);
                    // Whoever shared it out does it without this helper.
                    if !SHARING.get() {
                        work_on();
                    }
                });
            }
            work_on();
            let begun = Instant::now();
            while ended.load(Ordering::Acquire) < count {
                match begun.elapsed() < PATIENCE {
                    true => thread::yield_now(),
                    false => {
                        wait();
                        thread::sleep(PATIENCE / 3);
                    }
                }
            }
        });
        drop(sharing);
        pool.awake.prolong();
    }

    /// Wakes the helpers, if they sleep, and keeps them awake for a while.
    fn rouse(&self) {
        self.awake.prolong();
        let none = self.awake.helpers.compare_exchange(
            0,
            self.helpers(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if none.is_ok() {
            let awake = Arc::clone(&self.awake);
            self.helpers.spawn_broadcast(move |_| awake.stay());
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Those of another process are not here to be told that they are no longer needed, and may
        // have left locks behind.
        if self.process != process::id() {
            mem::forget(Arc::clone(&self.helpers));
        }
    }
}
