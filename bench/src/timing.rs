//! Timing of several pieces of work in turn, so that drift of the clock frequency affects all of
//! them equally.

use std::time::{Duration, Instant};

use crate::Result;

/// A piece of work. An error ends the run.
pub type Work<'a> = &'a mut dyn FnMut() -> Result<()>;

/// The time limits of a group of measurements.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// The duration of one sample. Short work is repeated to fill it.
    pub slice: Duration,
    /// The total time of all samples of all pieces of work. It may be exceeded to take
    /// `min_samples` samples of each.
    pub total: Duration,
    /// The minimum number of samples of each piece of work.
    pub min_samples: usize,
}

impl Budget {
    /// The budget of the tables: samples of 5 ms, 0.8 s in all, and at least 7 samples. These
    /// values are chosen.
    pub const TABLE: Budget = Budget {
        slice: Duration::from_millis(5),
        total: Duration::from_millis(800),
        min_samples: 7,
    };
}

/// Samples of one piece of work, in seconds per repetition.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds one sample.
    pub fn push(&mut self, seconds: f64) {
        self.0.push(seconds);
    }

    /// The median in seconds. It is the mean of the middle two for an even count, and NaN without
    /// samples.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        if n == 0 { f64::NAN } else { (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0 }
    }

    /// The slowest sample divided by the fastest.
    pub fn spread(&self) -> f64 {
        let samples = || self.0.iter().copied();
        samples().fold(0.0, f64::max) / samples().fold(f64::INFINITY, f64::min)
    }
}

/// Warms up `work` for about one slice, and returns the number of repetitions that fill a slice.
///
/// # Errors
/// As the work.
pub fn warm_up(work: Work, slice: Duration) -> Result<u32> {
    work()?;
    let (start, mut runs) = (Instant::now(), 0u32);
    while runs == 0 || start.elapsed() < slice {
        work()?;
        runs += 1;
    }
    let each = start.elapsed().as_secs_f64() / f64::from(runs);
    Ok((slice.as_secs_f64() / each).ceil().clamp(1.0, 1e9) as u32)
}

/// Returns the seconds per repetition, over `repetitions` in a row.
///
/// # Errors
/// As the work.
pub fn sample(work: Work, repetitions: u32) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..repetitions {
        work()?;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(repetitions))
}

/// Times each piece of work until the budget is used up. Each round takes one sample of each in
/// turn and then calls `between`.
///
/// A sample begins with one run that does not count. It loads the work's data into the cache, as
/// for peers that run in a loop.
///
/// # Errors
/// As the work.
pub fn interleave(
    works: &mut [Work],
    budget: Budget,
    mut between: impl FnMut() -> Result<()>,
) -> Result<Vec<Samples>> {
    let repetitions: Vec<u32> =
        works.iter_mut().map(|work| warm_up(*work, budget.slice)).collect::<Result<_>>()?;
    let mut samples = vec![Samples::default(); works.len()];
    let (start, mut rounds) = (Instant::now(), 0);
    while rounds < budget.min_samples || start.elapsed() < budget.total {
        for ((work, &repetitions), samples) in works.iter_mut().zip(&repetitions).zip(&mut samples)
        {
            work()?;
            samples.push(sample(*work, repetitions)?);
        }
        between()?;
        rounds += 1;
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Budget = Budget {
        slice: Duration::from_micros(200),
        total: Duration::from_millis(4),
        min_samples: 3,
    };

    fn spin(n: u64) -> Result<()> {
        let mut x = std::hint::black_box(n);
        for _ in 0..n {
            x = std::hint::black_box(x.wrapping_mul(x | 1));
        }
        Ok(())
    }

    #[test]
    fn medians() {
        let median = |list: &[f64]| Samples(list.to_vec()).median();
        assert_eq!(median(&[5.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
        assert!(median(&[]).is_nan());
        assert_eq!(Samples(vec![3.0, 2.0, 5.0]).spread(), 2.5);
    }

    #[test]
    fn longer_work_takes_longer_and_all_get_as_many_samples() {
        let mut rounds = 0;
        let mut count = || {
            rounds += 1;
            Ok(())
        };
        let mut works: [Work; 2] = [&mut || spin(1000), &mut || spin(20_000)];
        let samples = interleave(&mut works, QUICK, &mut count).unwrap();
        assert!(rounds >= 3);
        assert!(samples.iter().all(|s| s.0.len() == rounds));
        assert!(samples[1].median() > 4.0 * samples[0].median());
    }

    #[test]
    fn slow_work_gets_the_minimum_of_samples() {
        let mut work = || {
            std::thread::sleep(Duration::from_millis(3));
            Ok(())
        };
        let samples = interleave(&mut [&mut work], QUICK, || Ok(())).unwrap();
        assert!(samples[0].0.len() >= 3 && samples[0].median() >= 0.003);
    }

    #[test]
    fn an_error_ends_the_run() {
        let mut runs = 0;
        let mut work = || {
            runs += 1;
            if runs == 3 { Err("out of levels".into()) } else { Ok(()) }
        };
        let error = interleave(&mut [&mut work], QUICK, || Ok(())).unwrap_err();
        assert_eq!((error.to_string().as_str(), runs), ("out of levels", 3));
    }
}
