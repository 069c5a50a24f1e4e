//! Long computations that can be stopped from outside, by a deadline or a signal.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use crate::RlweError;

/// How often it is asked whether to stop.
pub const EVERY: Duration = Duration::from_millis(50);

/// What the computations of a thread ask.
struct Question {
    stop: Box<dyn FnMut() -> bool>,
    next: Instant,
    stopped: bool,
}

thread_local! {
    /// The outermost first.
    static QUESTIONS: RefCell<Vec<Question>> = const { RefCell::new(Vec::new()) };
}

/// Questions that are asked, which may compute themselves: no others are there meanwhile. They are
/// put back also where one panics.
struct Asked(Vec<Question>);

impl Drop for Asked {
    fn drop(&mut self) {
        QUESTIONS.replace(std::mem::take(&mut self.0));
    }
}

/// Does `work`, which this thread then asks `stop` about every 50 milliseconds or so: before
/// operations on ciphertexts, key switches, encodings of plaintexts, keys that are generated,
/// prepared, read or written, pieces of files, and groups of look-ups. Once `stop` has said so, all
/// of these end with [`RlweError::Stopped`]. What other threads do of `work` ends with the step it
/// is in.
///
/// Where `work` calls this itself, both questions are asked in what is done there, the inner one
/// first.
///
/// ```
/// use std::time::{Duration, Instant};
/// let deadline = Instant::now() + Duration::from_secs(1);
/// let result = hippocrene_rlwe::stop::stoppable(move || Instant::now() > deadline, || 6 * 7);
/// assert_eq!(result, 42);
/// ```
pub fn stoppable<T>(stop: impl FnMut() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    /// Takes away what was not asked before, also where `work` panics.
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            let _gone = QUESTIONS.with_borrow_mut(|all| all.split_off(self.0.min(all.len())));
        }
    }
    let question = Question { stop: Box::new(stop), next: Instant::now() + EVERY, stopped: false };
    let _before = Before(QUESTIONS.with_borrow_mut(|all| {
        all.push(question);
        all.len() - 1
    }));
    work()
}

/// Where a computation can be stopped.
///
/// # Errors
/// [`RlweError::Stopped`] when it is to stop.
pub fn check(operation: &'static str) -> Result<(), RlweError> {
    let all = QUESTIONS.take();
    if all.is_empty() {
        return Ok(());
    }
    let mut asked = Asked(all);
    let stops = |question: &mut Question| {
        if !question.stopped && Instant::now() >= question.next {
            question.stopped = (question.stop)();
            question.next = Instant::now() + EVERY;
        }
        question.stopped
    };
    if asked.0.iter_mut().rev().any(stops) { Err(RlweError::Stopped { operation }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use super::*;

    #[test]
    fn work_stops_when_it_is_told_to_and_not_before() {
        assert_eq!(wait(EVERY), Ok(()));
        let mut asked = 0;
        let stop = move || {
            asked += 1;
            asked == 2
        };
        let (short, long, after) = stoppable(stop, || {
            (wait(EVERY / 2), wait(20 * EVERY), stoppable(|| false, || wait(EVERY)))
        });
        assert_eq!(short, Ok(()));
        assert_eq!(long, Err(RlweError::Stopped { operation: "wait" }));
        assert_eq!(
            after,
            Err(RlweError::Stopped { operation: "wait" }),
            "it is in what was told to stop"
        );
        assert_eq!(wait(EVERY), Ok(()));
    }

    #[test]
    fn questions_stand_for_all_of_their_work() {
        let asked_of_both = |outer: bool, inner: bool| {
            let work = move || {
                let inside = stoppable(move || inner, || wait(2 * EVERY));
                (inside.is_err(), wait(2 * EVERY).is_err())
            };
            stoppable(move || outer, work)
        };
        assert_eq!(asked_of_both(false, false), (false, false));
        assert_eq!(asked_of_both(true, false), (true, true));
        assert_eq!(asked_of_both(false, true), (true, false));
        // A question that computes is not asked about that, and one that panics takes no other with
        // it.
        assert_eq!(stoppable(|| wait(2 * EVERY).is_err(), || wait(3 * EVERY)), Ok(()));
        let late = Rc::new(Cell::new(false));
        let stop = Rc::clone(&late);
        let work = move || {
            let panics = || stoppable(|| panic!("no answer"), || wait(2 * EVERY));
            assert!(std::panic::catch_unwind(panics).is_err());
            late.set(true);
            wait(2 * EVERY).is_err()
        };
        assert!(stoppable(move || stop.get(), work));
        assert_eq!(wait(EVERY), Ok(()));
    }

    fn wait(time: Duration) -> Result<(), RlweError> {
        let start = Instant::now();
        while start.elapsed() < time {
            check("wait")?;
        }
        Ok(())
    }
}
