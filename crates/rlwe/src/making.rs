//! What is being made, which other threads that need it wait for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hippocrene_ring::Threads;

/// Names of what threads are making now, outside of any lock.
#[derive(Debug)]
pub(crate) struct Making<K> {
    makers: Mutex<Vec<Maker<K>>>,
    ended: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Maker<K> {
    key: K,
    /// Whether what this one does was shared out, so that it needs no other threads than helpers
    /// that were free, which do nothing else meanwhile.
    alone: bool,
}

/// Says that something is being made, until it is dropped.
pub(crate) struct Made<'a, K: PartialEq + Copy> {
    making: &'a Making<K>,
    maker: Maker<K>,
}

impl<K> Default for Making<K> {
    fn default() -> Self {
        Making { makers: Mutex::default(), ended: Condvar::new() }
    }
}

impl<K: PartialEq + Copy> Making<K> {
    /// Begins to make what `key` names; or waits until another thread has made it or failed, and
    /// returns nothing: it may be there now.
    ///
    /// A thread among which work is shared out does not wait for one that shares out what it makes,
    /// and that it may be one of those to be waited for by itself: it makes the same again.
    pub(crate) fn begin(&self, key: K) -> Option<Made<'_, K>> {
        let maker = Maker { key, alone: Threads::are_shared() };
        let is_made = |makers: &mut Vec<Maker<K>>| {
            makers.iter().any(|other| other.key == key && (other.alone || !maker.alone))
        };
        let mut makers = self.lock();
        if is_made(&mut makers) {
            drop(self.ended.wait_while(makers, is_made));
            return None;
        }
        makers.push(maker);
        Some(Made { making: self, maker })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Maker<K>>> {
        self.makers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: PartialEq + Copy> Drop for Made<'_, K> {
    fn drop(&mut self) {
        let mut makers = self.making.lock();
        if let Some(i) = makers.iter().position(|maker| *maker == self.maker) {
            makers.swap_remove(i);
        }
        drop(makers);
        self.making.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering::Relaxed},
        },
        thread,
        time::Duration,
    };

    use super::*;

    #[test]
    fn what_is_made_is_waited_for() {
        let (making, made, begin) = (Making::default(), AtomicUsize::new(0), Barrier::new(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    begin.wait();
                    if let Some(_made) = making.begin(7) {
                        thread::sleep(Duration::from_millis(20));
                        made.fetch_add(1, Relaxed);
                    }
                    assert!(made.load(Relaxed) > 0);
                });
            }
        });
        // One that began when the others were through makes it again.
        assert!((1..4).contains(&made.into_inner()));
        let (first, other) = (making.begin(1), making.begin(2));
        assert!(first.is_some() && other.is_some());
        drop((first, other));
        assert!(making.begin(1).is_some());
    }

    #[test]
    fn who_may_be_needed_does_not_wait() {
        let (making, threads) = (Making::default(), Threads::new(2).unwrap());
        let made = making.begin(1);
        // Both share what the calling thread shares out, and wait for it no more than for one
        // another.
        let begun = threads.map(2, |i| making.begin(1).or(making.begin(2 + i)).is_some());
        assert_eq!(begun, [true; 2]);
        drop(made);
        assert!(making.lock().is_empty());
    }
}
