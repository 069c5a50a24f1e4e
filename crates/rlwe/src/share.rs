//! Pieces of work shared out whole.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use hippocrene_ring::Threads;

use crate::{Context, Parameters, stop};

impl Context {
    /// What `f(0), .., f(count - 1)` return, such as those of the ciphertexts of an array; or the error of the first that fails. They are shared out among the threads where that is faster than to do one after
    /// the other, of each of which the limbs are shared out, and have the same results. Where the calling thread is told to stop ([`stop::stoppable`]), so are the others.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn try_each<T: Send, E: Send>(
        &self,
        count: usize,
        f: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        if Threads::are_shared() || !is_faster_whole(self.threads().count(), count, self.parameters()) {
            return (0..count).map(f).collect();
        }
        let (failed, stopped) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
        let calling = thread::current().id();
        let stops = || stopped.fetch_or(stop::check("share work").is_err(), Relaxed);
        let piece = |i: usize| {
            // All before it have begun.
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
        let all = self.threads().map_waiting(count, piece, || {
            stops();
        });
        all.into_iter().flatten().collect()
    }
}

/// Whether `count` pieces of work are done sooner by `threads` threads if they are shared out whole than one by one, of each of which the limbs are. Limbs are few, and threads wait for one another several times
/// in a key switch: that makes it faster by about the power 0.6 of the number of threads, and no more than the square root of the number of limbs (`hippocrene-bench threads`).
fn is_faster_whole(threads: usize, count: usize, parameters: &Parameters) -> bool {
    let each = count.div_ceil(threads).max(1);
    let limbs = parameters.full().limb_count() as f64;
    threads > 1 && count as f64 / each as f64 >= (threads as f64).powf(0.6).min(limbs.sqrt())
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

    use crate::{ParametersLiteral, RlweError, SecretDistribution, Sprout};

    fn parameters(limbs: usize) -> Parameters {
        let primes = primes::ntt_primes(30, 1 << 10, limbs, &[]).unwrap();
        let literal = ParametersLiteral {
            log_degree: 10,
            units: primes[1..].to_vec(),
            specials: primes[..1].to_vec(),
            sprout: Sprout::default(),
            gadget_rank: limbs - 1,
            secret: SecretDistribution::Ternary,
        };
        Parameters::new_insecure(literal).unwrap()
    }

    fn context(threads: usize) -> Context {
        Context::new(parameters(2), Threads::new(threads).unwrap()).unwrap()
    }

    #[test]
    fn whole_pieces_are_shared_out_where_that_is_faster() {
        let (few, many) = (parameters(9), parameters(30));
        let shared = |threads: usize, parameters: &Parameters| {
            (0..=8).filter(|count| is_faster_whole(threads, *count, parameters)).collect::<Vec<_>>()
        };
        assert_eq!([shared(1, &few), shared(1, &many)], [[], []]);
        assert_eq!([shared(2, &few), shared(2, &many)], [[2, 4, 5, 6, 7, 8]; 2]);
        assert_eq!([shared(4, &few), shared(4, &many)], [[3, 4, 5, 6, 7, 8]; 2]);
        assert_eq!(shared(16, &few), [3, 4, 5, 6, 7, 8]);
        assert_eq!(shared(16, &many), [6, 7, 8]);
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
