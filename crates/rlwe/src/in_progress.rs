//! Values that a thread is computing now, so that other threads wait for them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hippocrene_ring::Threads;

/// The keys of the values that threads are computing now. They compute outside of any lock.
#[derive(Debug)]
pub(crate) struct InProgress<K> {
    tasks: Mutex<Vec<Task<K>>>,
    ended: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Task<K> {
    key: K,
    /// True if the task is itself one piece of a larger task. It then needs only idle threads,
    /// which do nothing else meanwhile.
    is_piece: bool,
}

/// Marks a value as in progress until it is dropped.
pub(crate) struct Started<'a, K: PartialEq + Copy> {
    all: &'a InProgress<K>,
    task: Task<K>,
}

impl<K> Default for InProgress<K> {
    fn default() -> Self {
        InProgress { tasks: Mutex::default(), ended: Condvar::new() }
    }
}

impl<K: PartialEq + Copy> InProgress<K> {
    /// Starts to compute the value of `key`. If another thread computes it already, waits until
    /// that one has ended and returns `None`: the value may exist now.
    ///
    /// A thread that works on a piece of a larger task does not wait for a thread that distributes
    /// its own work. The two might wait for each other. It computes the value a second time
    /// instead.
    pub(crate) fn begin(&self, key: K) -> Option<Started<'_, K>> {
        let task = Task { key, is_piece: Threads::is_distributed() };
        let must_wait = |tasks: &mut Vec<Task<K>>| {
            tasks.iter().any(|other| other.key == key && (other.is_piece || !task.is_piece))
        };
        let mut tasks = self.lock();
        if must_wait(&mut tasks) {
            drop(self.ended.wait_while(tasks, must_wait));
            return None;
        }
        tasks.push(task);
        Some(Started { all: self, task })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Task<K>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: PartialEq + Copy> Drop for Started<'_, K> {
    fn drop(&mut self) {
        let mut tasks = self.all.lock();
        if let Some(i) = tasks.iter().position(|task| *task == self.task) {
            tasks.swap_remove(i);
        }
        drop(tasks);
        self.all.ended.notify_all();
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
    fn a_value_in_progress_is_waited_for() {
        let (in_progress, computed, begin) =
            (InProgress::default(), AtomicUsize::new(0), Barrier::new(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    begin.wait();
                    if let Some(_made) = in_progress.begin(7) {
                        thread::sleep(Duration::from_millis(20));
                        computed.fetch_add(1, Relaxed);
                    }
                    assert!(computed.load(Relaxed) > 0);
                });
            }
        });
        // A thread that began after the others had ended makes the value again.
        assert!((1..4).contains(&computed.into_inner()));
        let (first, other) = (in_progress.begin(1), in_progress.begin(2));
        assert!(first.is_some() && other.is_some());
        drop((first, other));
        assert!(in_progress.begin(1).is_some());
    }

    #[test]
    fn shares_of_a_task_do_not_wait() {
        let (in_progress, threads) = (InProgress::default(), Threads::new(2).unwrap());
        let computed = in_progress.begin(1);
        // Both work on pieces of a task of the calling thread. They wait neither for that thread
        // nor for each other.
        let begun = threads.map(2, |i| in_progress.begin(1).or(in_progress.begin(2 + i)).is_some());
        assert_eq!(begun, [true; 2]);
        drop(computed);
        assert!(in_progress.lock().is_empty());
    }
}
