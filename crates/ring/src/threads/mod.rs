//! The number of threads that a computation may use.

mod pool;

use std::sync::Arc;

use crate::RingError;
use pool::Pool;

/// The threads of a computation: the calling thread alone, or the calling thread with helpers.
///
/// Helpers share the limbs of a polynomial with the calling thread. A single thread starts and
/// allocates nothing.
///
/// ```
/// use hippocrene_ring::Threads;
///
/// let threads = Threads::new(2)?;
/// assert_eq!(threads.map(4, |i| i * i), [0, 1, 4, 9]);
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Threads {
    pool: Option<Arc<Pool>>,
}

/// The maximum number of threads of a pool (chosen).
///
/// A larger number is a mistake, which the operating system would take minutes to refuse.
const MAX_THREADS: usize = 1024;

impl Threads {
    /// Uses the calling thread alone.
    pub fn single() -> Self {
        Threads::default()
    }

    /// Uses the calling thread and `count - 1` helpers. A count of one or zero gives
    /// [`Threads::single`].
    ///
    /// # Errors
    /// [`RingError::Threads`] for more than 1024 threads, or if the operating system refuses.
    pub fn new(count: usize) -> Result<Self, RingError> {
        if count <= 1 {
            return Ok(Threads::single());
        }
        if count > MAX_THREADS {
            let reason = format!("at most {MAX_THREADS} are possible");
            return Err(RingError::Threads { threads: count, reason });
        }
        let pool = Pool::new(count - 1)
            .map_err(|e| RingError::Threads { threads: count, reason: e.to_string() })?;
        Ok(Threads { pool: Some(Arc::new(pool)) })
    }

    /// Returns the number of threads.
    pub fn count(&self) -> usize {
        1 + self.pool.as_ref().map_or(0, |pool| pool.helpers())
    }

    /// Calls `work` for each of the items.
    ///
    /// Several threads begin with the last item, because limbs modulo a power of two come last and
    /// take longest.
    fn distribute<T: Send>(
        &self,
        items: impl ExactSizeIterator<Item = T> + DoubleEndedIterator + Send,
        work: impl Fn(T) + Sync,
    ) {
        match &self.pool {
            None => items.for_each(work),
            Some(pool) => pool.distribute(items, work, || ()),
        }
    }

    /// Calls `f(0), .., f(count - 1)`.
    pub fn for_each(&self, count: usize, f: impl Fn(usize) + Sync) {
        self.distribute(0..count, f);
    }

    /// Returns the results of `f(0), .., f(count - 1)`. The calls begin in this order.
    pub fn map<T: Send>(&self, count: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        self.map_with_wait(count, f, || ())
    }

    /// The same as [`Threads::map`], but the calling thread also calls `wait` several times per
    /// millisecond while other threads finish the last calls.
    pub fn map_with_wait<T: Send>(
        &self,
        count: usize,
        f: impl Fn(usize) -> T + Sync,
        wait: impl FnMut(),
    ) -> Vec<T> {
        let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let (items, make) = (results.iter_mut().enumerate().rev(), |(i, results): (_, &mut _)| {
            *results = Some(f(i))
        });
        match &self.pool {
            None => items.rev().for_each(make),
            Some(pool) => pool.distribute(items, make, wait),
        }
        results.into_iter().flatten().collect()
    }

    /// Returns true if the present work of this thread was distributed among threads.
    pub fn is_distributed() -> bool {
        pool::is_distributed()
    }

    /// Calls `f(i, items[i])` for every item.
    pub fn for_each_mut<T: Send>(&self, items: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
        self.distribute(items.iter_mut().enumerate(), |(i, item)| f(i, item));
    }

    /// Calls `f(i, chunk i)` for the chunks of `size` words of `data`. The last chunk may be
    /// shorter.
    pub fn for_each_chunk(
        &self,
        data: &mut [u64],
        size: usize,
        f: impl Fn(usize, &mut [u64]) + Sync,
    ) {
        self.distribute(data.chunks_mut(size).enumerate(), |(i, chunk)| f(i, chunk));
    }

    /// Calls `f(i, chunk i of a, chunk i of b)` for the chunks of `size` words of two slices of the
    /// same length. The last chunks may be shorter.
    pub fn for_each_chunk_pair(
        &self,
        a: &mut [u64],
        b: &mut [u64],
        size: usize,
        f: impl Fn(usize, &mut [u64], &mut [u64]) + Sync,
    ) {
        let pairs = a.chunks_mut(size).zip(b.chunks_mut(size));
        self.distribute(pairs.enumerate(), |(i, (a, b))| f(i, a, b));
    }

    /// Calls `f(i, chunks i)` for the chunks of `size` words of three slices of the same length.
    /// The last chunks may be shorter.
    pub fn for_each_chunk_triple(
        &self,
        slices: [&mut [u64]; 3],
        size: usize,
        f: impl Fn(usize, [&mut [u64]; 3]) + Sync,
    ) {
        let [a, b, c] = slices;
        let triples = a.chunks_mut(size).zip(b.chunks_mut(size)).zip(c.chunks_mut(size));
        self.distribute(triples.enumerate(), |(i, ((a, b), c))| f(i, [a, b, c]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicUsize, Ordering},
        thread,
        time::Duration,
    };

    #[test]
    fn absurd_numbers_are_refused_at_once() {
        let refused = Threads::new(MAX_THREADS + 1);
        assert!(matches!(refused, Err(RingError::Threads { threads: 1025, .. })));
        assert!(matches!(Threads::new(usize::MAX), Err(RingError::Threads { .. })));
    }

    #[test]
    fn every_chunk_is_visited_once() {
        for threads in [Threads::single(), Threads::new(3).unwrap()] {
            let (mut a, mut b) = (vec![0; 40], vec![0; 40]);
            threads.for_each_chunk(&mut a, 8, |i, chunk| chunk.fill(i as u64));
            assert!(a.iter().enumerate().all(|(k, &x)| x == k as u64 / 8));
            threads.for_each_chunk_pair(&mut a, &mut b, 8, |i, a, b| b[0] = a[0] + i as u64);
            assert_eq!(b[32], 8);
            let mut items = [(); 9].map(|()| 1);
            threads.for_each_mut(&mut items, |i, item| *item += i);
            assert_eq!(items, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
            let sum = AtomicUsize::new(0);
            threads.for_each(10, |i| _ = sum.fetch_add(i, Ordering::Relaxed));
            assert_eq!(sum.into_inner(), 45);
            assert_eq!(threads.map(9, |i| i * i), [0, 1, 4, 9, 16, 25, 36, 49, 64]);
            assert!(!Threads::is_distributed());
            assert_eq!(threads.map(2, |_| Threads::is_distributed()), [threads.count() > 1; 2]);
        }
    }

    /// A caller does not wait for helpers that are busy with long work of another caller.
    #[test]
    fn callers_do_not_wait_for_one_another() {
        let (threads, done) = (Threads::new(2).unwrap(), AtomicUsize::new(0));
        let both = std::sync::Barrier::new(3);
        thread::scope(|scope| {
            scope.spawn(|| {
                // The helper and this thread work until the other caller has finished, or else for
                // long.
                threads.for_each(2, |_| {
                    both.wait();
                    for _ in 0..3000 {
                        if done.load(Ordering::Relaxed) > 0 {
                            return;
                        }
                        thread::sleep(Duration::from_millis(10));
                    }
                    panic!("the other caller waits");
                });
            });
            both.wait();
            let begun = std::sync::Mutex::new(Vec::new());
            assert_eq!(threads.map(3, |i| (begun.lock().unwrap().push(i), i).1), [0, 1, 2]);
            assert_eq!(begun.into_inner().unwrap(), [0, 1, 2]);
            done.store(1, Ordering::Relaxed);
        });
    }

    /// Free helpers help other helpers.
    #[test]
    fn helpers_help_helpers() {
        let threads = Threads::new(4).unwrap();
        let (all, begun) = (std::sync::Barrier::new(4), std::sync::Barrier::new(2));
        // Two items occupy one helper. When both have begun, each of them occupies one of the two
        // helpers that are left.
        let inner = |i: usize| {
            begun.wait();
            threads.map(2, |k| (all.wait(), (i, k, Threads::is_distributed())).1)
        };
        assert_eq!(threads.map(2, inner), [0, 1].map(|i| vec![(i, 0, true), (i, 1, true)]),);
        assert!(!Threads::is_distributed());
    }

    /// Callers share helpers at the same time, also within distributed work, and panics reach the
    /// caller.
    #[test]
    fn threads_share_with_whoever_calls() {
        let threads = Threads::new(3).unwrap();
        let sum = |threads: &Threads, count: usize| {
            let sum = AtomicUsize::new(0);
            threads.for_each(count, |i| {
                threads.for_each(i, |k| _ = sum.fetch_add(k + 1, Ordering::Relaxed));
            });
            sum.into_inner()
        };
        let expected: usize = (0..40).map(|i| i * (i + 1) / 2).sum();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| assert_eq!(sum(&threads, 40), expected)));
            }
        });
        for bad in [0, 39] {
            let panics = || threads.for_each(40, |i| assert_ne!(i, bad));
            assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        }
        assert_eq!(sum(&threads, 40), expected);
        // Sleeping helpers are woken.
        thread::sleep(Duration::from_millis(5));
        assert_eq!(sum(&threads, 40), expected);
    }
}
