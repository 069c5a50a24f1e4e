//! Long computations that can be stopped from outside, for example by a deadline or a signal.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use crate::RlweError;

/// The time between two calls of a stop condition.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A stop condition that holds for the computations of a thread.
struct Condition {
    /// Returns true if the computations have to stop.
    stop: Box<dyn FnMut() -> bool>,
    /// The time of the next call of `stop`.
    next: Instant,
    /// True once `stop` has returned true.
    stopped: bool,
}

thread_local! {
    /// The stop conditions of the thread, the outermost first.
    static CONDITIONS: RefCell<Vec<Condition>> = const { RefCell::new(Vec::new()) };
}

/// The conditions that are being evaluated. A condition may compute something itself: the thread
/// has no other conditions meanwhile. They are put back even if one of them panics.
struct Evaluated(Vec<Condition>);

impl Drop for Evaluated {
    fn drop(&mut self) {
        CONDITIONS.replace(std::mem::take(&mut self.0));
    }
}

/// Runs `work` under the stop condition `stop`.
///
/// While `work` runs, this thread calls `stop` about every 50 milliseconds. The calls take place
/// before:
///
/// - operations on ciphertexts, key switches and encodings of plaintexts;
/// - generating, preparing, reading or writing a key;
/// - pieces of files;
/// - groups of look-ups.
///
/// Once `stop` has returned true, all of these end with [`RlweError::Stopped`]. Work of other
/// threads on behalf of `work` ends after its current step.
///
/// If `work` calls this function itself, both conditions hold for the inner work, and the inner one
/// is called first.
///
/// ```
/// use std::time::{Duration, Instant};
/// let deadline = Instant::now() + Duration::from_secs(1);
/// let result = hippocrene_rlwe::stop::stoppable(move || Instant::now() > deadline, || 6 * 7);
/// assert_eq!(result, 42);
/// ```
pub fn stoppable<T>(stop: impl FnMut() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    /// Removes the conditions that were added after the first `.0` ones, even if `work` panics.
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _removed = CONDITIONS.with_borrow_mut(|all| all.split_off(self.0.min(all.len())));
        }
    }
    let condition =
        Condition { stop: Box::new(stop), next: Instant::now() + CHECK_INTERVAL, stopped: false };
    let _restore = Restore(CONDITIONS.with_borrow_mut(|all| {
        all.push(condition);
        all.len() - 1
    }));
    work()
}

/// Checks whether the current computation of this thread has to stop.
///
/// # Errors
/// Returns [`RlweError::Stopped`] if it has to stop.
pub fn check(operation: &'static str) -> Result<(), RlweError> {
    let all = CONDITIONS.take();
    if all.is_empty() {
        return Ok(());
    }
    let mut evaluated = Evaluated(all);
    let stops = |condition: &mut Condition| {
        if !condition.stopped && Instant::now() >= condition.next {
            condition.stopped = (condition.stop)();
            condition.next = Instant::now() + CHECK_INTERVAL;
        }
        condition.stopped
    };
    if evaluated.0.iter_mut().rev().any(stops) {
        Err(RlweError::Stopped { operation })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use super::*;

    #[test]
    fn work_stops_when_its_condition_says_so_and_not_before() {
        assert_eq!(wait(CHECK_INTERVAL), Ok(()));
        let mut calls = 0;
        let stop = move || {
            calls += 1;
            calls == 2
        };
        let (short, long, after) = stoppable(stop, || {
            (
                wait(CHECK_INTERVAL / 2),
                wait(20 * CHECK_INTERVAL),
                stoppable(|| false, || wait(CHECK_INTERVAL)),
            )
        });
        assert_eq!(short, Ok(()));
        assert_eq!(long, Err(RlweError::Stopped { operation: "wait" }));
        assert_eq!(
            after,
            Err(RlweError::Stopped { operation: "wait" }),
            "the inner work is part of the stopped work"
        );
        assert_eq!(wait(CHECK_INTERVAL), Ok(()));
    }

    #[test]
    fn a_condition_holds_for_all_of_its_work() {
        let stopped_by = |outer: bool, inner: bool| {
            let work = move || {
                let inside = stoppable(move || inner, || wait(2 * CHECK_INTERVAL));
                (inside.is_err(), wait(2 * CHECK_INTERVAL).is_err())
            };
            stoppable(move || outer, work)
        };
        assert_eq!(stopped_by(false, false), (false, false));
        assert_eq!(stopped_by(true, false), (true, true));
        assert_eq!(stopped_by(false, true), (true, false));
        // While a condition computes, it is not called. A condition that panics does not remove the
        // others.
        assert_eq!(
            stoppable(|| wait(2 * CHECK_INTERVAL).is_err(), || wait(3 * CHECK_INTERVAL)),
            Ok(())
        );
        let late = Rc::new(Cell::new(false));
        let stop = Rc::clone(&late);
        let work = move || {
            let panics = || stoppable(|| panic!("no answer"), || wait(2 * CHECK_INTERVAL));
            assert!(std::panic::catch_unwind(panics).is_err());
            late.set(true);
            wait(2 * CHECK_INTERVAL).is_err()
        };
        assert!(stoppable(move || stop.get(), work));
        assert_eq!(wait(CHECK_INTERVAL), Ok(()));
    }

    fn wait(time: Duration) -> Result<(), RlweError> {
        let start = Instant::now();
        while start.elapsed() < time {
            check("wait")?;
        }
        Ok(())
    }
}
