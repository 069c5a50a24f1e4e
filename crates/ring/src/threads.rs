//! How many threads a computation may use.

use std::{
    mem, process,
    sync::{Arc, OnceLock},
};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, prelude::*};

use crate::RingError;

/// A setting: one thread (nothing is started, nothing is allocated), or a pool that the limbs of a polynomial are shared out to.
#[derive(Debug, Clone, Default)]
pub struct Threads {
    pool: Option<Arc<Pool>>,
}

/// The threads of one process: a copy of it that `fork` makes has none of them, and starts its own where it first needs any.
#[derive(Debug)]
struct Pool {
    process: u32,
    threads: Arc<ThreadPool>,
    /// Those of a process that was forked off this one.
    forked: OnceLock<Option<Box<Pool>>>,
}

impl Pool {
    fn new(count: usize) -> Result<Self, ThreadPoolBuildError> {
        let threads = Arc::new(ThreadPoolBuilder::new().num_threads(count).build()?);
        Ok(Pool { process: process::id(), threads, forked: OnceLock::new() })
    }

    /// The threads of this process; none where a forked one cannot start any, and the calling thread has to do.
    fn threads(&self) -> Option<&ThreadPool> {
        if self.process == process::id() {
            return Some(&self.threads);
        }
        let start = || Pool::new(self.threads.current_num_threads()).ok().map(Box::new);
        self.forked.get_or_init(start).as_ref()?.threads()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Those of another process are not here to be told that they are no longer needed, and may have left locks behind.
        if self.process != process::id() {
            mem::forget(Arc::clone(&self.threads));
        }
    }
}

/// The most threads of a pool: more than that is a slip of the hand, which the operating system takes minutes to refuse.
const MAX_THREADS: usize = 1024;

impl Threads {
    /// The calling thread alone.
    pub fn single() -> Self {
        Threads::default()
    }

    /// A pool of `count` threads; one or zero is [`Threads::single`].
    ///
    /// # Errors
    /// [`RingError::Threads`] for more than 1024, or when the operating system refuses.
    pub fn new(count: usize) -> Result<Self, RingError> {
        if count <= 1 {
            return Ok(Threads::single());
        }
        if count > MAX_THREADS {
            let reason = format!("at most {MAX_THREADS} are possible");
            return Err(RingError::Threads { threads: count, reason });
        }
        let pool =
            Pool::new(count).map_err(|e| RingError::Threads { threads: count, reason: e.to_string() })?;
        Ok(Threads { pool: Some(Arc::new(pool)) })
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.threads.current_num_threads())
    }

    fn pool(&self) -> Option<&ThreadPool> {
        self.pool.as_ref()?.threads()
    }

    /// Calls `f(0), .., f(count - 1)`.
    pub fn for_each(&self, count: usize, f: impl Fn(usize) + Sync + Send) {
        match self.pool() {
            None => (0..count).for_each(f),
            Some(pool) => pool.install(|| (0..count).into_par_iter().for_each(f)),
        }
    }

    /// Calls `f(i, items[i])` for every item.
    pub fn for_each_mut<T: Send>(&self, items: &mut [T], f: impl Fn(usize, &mut T) + Sync + Send) {
        match self.pool() {
            None => items.iter_mut().enumerate().for_each(|(i, item)| f(i, item)),
            Some(pool) => pool.install(|| items.par_iter_mut().enumerate().for_each(|(i, item)| f(i, item))),
        }
    }

    /// Calls `f(i, chunk i)` for the chunks of `size` words of `data`; the last may be shorter.
    pub fn for_each_chunk(&self, data: &mut [u64], size: usize, f: impl Fn(usize, &mut [u64]) + Sync + Send) {
        match self.pool() {
            None => data.chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk)),
            Some(pool) => {
                pool.install(|| data.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk)));
            }
        }
    }

    /// Calls `f(i, chunk i of a, chunk i of b)` for the chunks of `size` words of two slices of one length; the last may be shorter.
    pub fn for_each_chunk_pair(
        &self,
        a: &mut [u64],
        b: &mut [u64],
        size: usize,
        f: impl Fn(usize, &mut [u64], &mut [u64]) + Sync + Send,
    ) {
        match self.pool() {
            None => {
                let pairs = a.chunks_mut(size).zip(b.chunks_mut(size));
                pairs.enumerate().for_each(|(i, (a, b))| f(i, a, b));
            }
            Some(pool) => pool.install(|| {
                let pairs = a.par_chunks_mut(size).zip(b.par_chunks_mut(size));
                pairs.enumerate().for_each(|(i, (a, b))| f(i, a, b));
            }),
        }
    }

    /// Calls `f(i, chunks i)` for the chunks of `size` words of three slices of one length; the last may be shorter.
    pub fn for_each_chunk_triple(
        &self,
        slices: [&mut [u64]; 3],
        size: usize,
        f: impl Fn(usize, [&mut [u64]; 3]) + Sync + Send,
    ) {
        let [a, b, c] = slices;
        match self.pool() {
            None => {
                let triples = a.chunks_mut(size).zip(b.chunks_mut(size)).zip(c.chunks_mut(size));
                triples.enumerate().for_each(|(i, ((a, b), c))| f(i, [a, b, c]));
            }
            Some(pool) => pool.install(|| {
                let pairs = a.par_chunks_mut(size).zip(b.par_chunks_mut(size));
                let triples = pairs.zip(c.par_chunks_mut(size));
                triples.enumerate().for_each(|(i, ((a, b), c))| f(i, [a, b, c]));
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let sum = std::sync::atomic::AtomicUsize::new(0);
            threads.for_each(10, |i| _ = sum.fetch_add(i, std::sync::atomic::Ordering::Relaxed));
            assert_eq!(sum.into_inner(), 45);
        }
    }
}
