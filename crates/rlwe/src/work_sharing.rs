//! Runs independent pieces of work on several threads.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use hippocrene_ring::Threads;

use crate::{Context, stop};

impl Context {
    /// Returns the results of `f(0), .., f(count - 1)`, or the error of the first call that fails.
    ///
    /// The calls, for example one for each ciphertext of an array, are distributed among the
    /// threads. The results are the same as without threads. Threads that have no call left help
    /// with the limbs of the others. If the calling thread has to stop ([`stop::stoppable`]), so do
    /// the others.
    ///
    /// # Errors
    /// Returns the errors of `f`.
    pub fn try_each<T: Send, E: Send>(
        &self,
        count: usize,
        f: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        if Threads::is_distributed() || self.threads().count() == 1 {
            return (0..count).map(f).collect();
        }
        let (failed, stopped) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
        let calling = thread::current().id();
        let stops = || stopped.fetch_or(stop::check("share work").is_err(), Relaxed);
        let piece = |i: usize| {
            // All pieces before this one have begun.
            if failed.load(Relaxed) {
                return None;
            }
            let result = match thread::current().id() == calling {
                true => {
                    let result = f(i);
                    if result.is_err() {
                        stops();
                    }
                    result
                }
                false => {
                    let stopped = Arc::clone(&stopped);
                    stop::stoppable(move || stopped.load(Relaxed), || f(i))
                }
            };
            failed.fetch_or(result.is_err(), Relaxed);
            Some(result)
        };
        let all = self.threads().map_with_wait(count, piece, || {
            stops();
        });
        all.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        sync::Barrier,
        time::{Duration, Instant},
    };

    use super::*;
    use hippocrene_ring::primes;

    use crate::{Parameters, ParametersLiteral, RlweError, SecretDistribution, Sprout};

    fn context(threads: usize) -> Context {
        let primes = primes::ntt_primes(30, 1 << 10, 2, &[]).unwrap();
        let literal = ParametersLiteral {
            log_degree: 10,
            units: primes[1..].to_vec(),
            specials: primes[..1].to_vec(),
            sprout: Sprout::default(),
            gadget_rank: 1,
            secret: SecretDistribution::Ternary,
        };
        let parameters = Parameters::new_insecure(literal).unwrap();
        Context::new(parameters, Threads::new(threads).unwrap()).unwrap()
    }

    #[test]
    fn results_and_errors_are_those_of_one_thread() {
        for threads in [1, 2, 3] {
            let context = context(threads);
            for count in 0..10 {
                assert_eq!(context.try_each(count, Ok::<_, ()>), Ok((0..count).collect()));
            }
            let odd_fail = |i: usize| if i.is_multiple_of(2) { Ok(i) } else { Err(i) };
            assert_eq!(context.try_each(100, odd_fail), Err(1));
        }
    }

    #[test]
    fn the_calling_thread_asks_while_it_waits_for_others() {
        let (context, calling) = (context(2), thread::current().id());
        let both = Barrier::new(2);
        let work = |_| -> Result<(), RlweError> {
            both.wait();
            let begin = Instant::now();
            while thread::current().id() != calling && begin.elapsed() < Duration::from_secs(30) {
                stop::check("wait")?;
            }
            Ok(())
        };
        let stopped = stop::stoppable(|| true, || context.try_each(2, work));
        assert_eq!(stopped.unwrap_err(), RlweError::Stopped { operation: "wait" });
    }

    #[test]
    fn whoever_shares_stops_when_the_calling_thread_is_told_to() {
        let (context, both) = (context(2), Barrier::new(2));
        let wait = |_| -> Result<(), RlweError> {
            both.wait();
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_secs(30) {
                stop::check("wait")?;
            }
            Ok(())
        };
        let told = Cell::new(false);
        let stopped = stop::stoppable(move || !told.replace(true), || context.try_each(2, wait));
        assert_eq!(stopped.unwrap_err(), RlweError::Stopped { operation: "wait" });
    }
}
