//! Long computations that can be stopped from outside, by a deadline or a signal.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use crate::RlweError;

/// How often it is asked whether to stop.
const EVERY: Duration = Duration::from_millis(50);

/// What the computations of a thread ask.
struct Question {
    stop: Box<dyn FnMut() -> bool>,
    next: Instant,
    stopped: bool,
}

thread_local! {
    static QUESTION: RefCell<Option<Question>> = const { RefCell::new(None) };
}

/// Does `work`, which this thread then asks `stop` about every 50 milliseconds or so: before key switches, encodings of plaintexts, keys that are generated, and groups of look-ups. Once
/// `stop` has said so, all of these end with [`RlweError::Stopped`]. What other threads do of `work` ends with the step it is in.
///
/// ```
/// use std::time::{Duration, Instant};
/// let deadline = Instant::now() + Duration::from_secs(1);
/// let result = hippocrene_rlwe::stop::stoppable(move || Instant::now() > deadline, || 6 * 7);
/// assert_eq!(result, 42);
/// ```
pub fn stoppable<T>(stop: impl FnMut() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    /// Puts back what was asked before, also where `work` panics.
    struct Before(Option<Question>);
    impl Drop for Before {
        fn drop(&mut self) {
            QUESTION.replace(self.0.take());
        }
    }
    let question = Question { stop: Box::new(stop), next: Instant::now() + EVERY, stopped: false };
    let _before = Before(QUESTION.replace(Some(question)));
    work()
}

/// Where a computation can be stopped.
///
/// # Errors
/// [`RlweError::Stopped`] when it is to stop.
pub fn check(operation: &'static str) -> Result<(), RlweError> {
    // Taken out while it is asked, which may compute itself.
    let Some(mut question) = QUESTION.take() else { return Ok(()) };
    if !question.stopped && Instant::now() >= question.next {
        question.stopped = (question.stop)();
        question.next = Instant::now() + EVERY;
    }
    let stopped = question.stopped;
    QUESTION.replace(Some(question));
    if stopped { Err(RlweError::Stopped { operation }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_when_it_is_told_to_and_not_before() {
        let wait = |time: Duration| {
            let start = Instant::now();
            while start.elapsed() < time {
                check("wait")?;
            }
            Ok(())
        };
        assert_eq!(wait(EVERY), Ok(()));
        let mut asked = 0;
        let stop = move || {
            asked += 1;
            asked == 2
        };
        let (short, long, after) =
            stoppable(stop, || (wait(EVERY / 2), wait(20 * EVERY), stoppable(|| false, || wait(EVERY))));
        assert_eq!(short, Ok(()));
        assert_eq!(long, Err(RlweError::Stopped { operation: "wait" }));
        assert_eq!(after, Ok(()));
        assert_eq!(wait(EVERY), Ok(()));
    }
}
