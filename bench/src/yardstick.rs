//! The yardstick: forward transforms of the crate `tfhe-ntt`, which can be timed on any machine.
//!
//! `peer's time here = peer's time there * (yardstick here / yardstick there)`.

use std::{collections::BTreeMap, time::Duration};

use aligned_vec::{AVec, avec};
use serde::{Serialize, Serializer, ser::SerializeMap};
use tfhe_ntt::prime64::Plan;

use crate::{
    Result,
    figures::Reference,
    number::{round_to, significant},
    timing::{self, Samples},
};

/// The ring degrees at which the yardstick is timed, as `log2 N`.
const SIZES: std::ops::RangeInclusive<u32> = 14..=16;

/// Times `tfhe-ntt` at intervals during a run.
pub struct Clock {
    sizes: BTreeMap<u32, Size>,
}

struct Size {
    plan: Plan,
    data: AVec<u64>,
    repetitions: u32,
    samples: Samples,
}

impl Clock {
    /// Prepares the transforms for a prime just below 2^50 and takes their first samples.
    ///
    /// # Errors
    /// When there is no such prime.
    pub fn new() -> Result<Self> {
        let mut sizes = BTreeMap::new();
        for log_n in SIZES {
            let degree = 1usize << log_n;
            let q = hippocrene_ring::primes::ntt_primes(50, degree, 1, &[])?[0];
            let plan = Plan::try_new(degree, q)
                .ok_or_else(|| format!("tfhe-ntt has no plan for q = {q}, N = {degree}"))?;
            let mut data: AVec<u64> = avec![0; degree];
            data.iter_mut().zip(1u64..).for_each(|(x, i)| *x = i * i % q);
            let mut work = || {
                plan.fwd(&mut data);
                Ok(())
            };
            let repetitions = timing::warm_up(&mut work, Duration::from_millis(4))?;
            sizes.insert(log_n, Size { plan, data, repetitions, samples: Samples::default() });
        }
        let mut clock = Clock { sizes };
        for log_n in SIZES {
            for _ in 0..5 {
                clock.tick(log_n)?;
            }
        }
        Ok(clock)
    }

    /// Takes one sample at the timed degree nearest to `2^log_n`.
    ///
    /// A sample lasts about 4 ms, after a few transforms that warm the cache.
    ///
    /// # Errors
    /// None that occur here.
    pub fn tick(&mut self, log_n: u32) -> Result<()> {
        if let Some(size) = self.sizes.get_mut(&nearest(log_n)) {
            let mut work = || {
                size.plan.fwd(&mut size.data);
                Ok(())
            };
            timing::sample(&mut work, 4)?;
            size.samples.push(timing::sample(&mut work, size.repetitions)?);
        }
        Ok(())
    }

    /// Returns the median times so far, with those of the reference machine.
    pub fn read(&self, reference: &Reference) -> Yardstick {
        let here =
            self.sizes.iter().map(|(&log_n, size)| (log_n, 1e6 * size.samples.median())).collect();
        Yardstick { reference: reference.clone(), here }
    }
}

fn nearest(log_n: u32) -> u32 {
    log_n.clamp(*SIZES.start(), *SIZES.end())
}

/// The yardstick's times on this machine and on the reference machine.
#[derive(Debug, Clone)]
pub struct Yardstick {
    reference: Reference,
    /// The microseconds by `log2 N`.
    here: BTreeMap<u32, f64>,
}

impl Yardstick {
    /// The time of work at ring degree `2^log_n` on this machine, divided by that on the reference
    /// machine.
    pub fn factor(&self, log_n: u32) -> f64 {
        let at = nearest(log_n);
        let of = |times: &BTreeMap<u32, f64>| times.get(&at).copied().unwrap_or(f64::NAN);
        of(&self.here) / of(&self.reference.reference)
    }

    /// The yardstick as one line of text.
    pub fn in_words(&self) -> String {
        let sizes: Vec<String> = self
            .here
            .iter()
            .map(|(&log_n, &us)| {
                format!(
                    "2^{log_n} {} us ({} x there)",
                    significant(us, 3),
                    significant(self.factor(log_n), 3)
                )
            })
            .collect();
        format!("{}, {}: {}", self.reference.name, self.reference.transform, sizes.join(", "))
    }
}

impl Serialize for Yardstick {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let by_degree = |value: &dyn Fn(u32) -> f64| -> BTreeMap<String, f64> {
            self.here
                .keys()
                .map(|&log_n| (format!("2^{log_n}"), round_to(value(log_n), 4)))
                .collect()
        };
        let there = &self.reference.reference;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.reference.name)?;
        map.serialize_entry("transform", &self.reference.transform)?;
        map.serialize_entry("unit", &self.reference.unit)?;
        map.serialize_entry("here", &by_degree(&|log_n| self.here[&log_n]))?;
        map.serialize_entry(
            "reference",
            &by_degree(&|log_n| there.get(&log_n).copied().unwrap_or(f64::NAN)),
        )?;
        map.serialize_entry("factor", &by_degree(&|log_n| self.factor(log_n)))?;
        map.end()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a yardstick that is two, three and four times as slow as the reference at N = 2^14,
    /// 2^15 and 2^16.
    pub fn slow_machine() -> Yardstick {
        let reference = crate::figures::Peers::load().unwrap().yardstick;
        let here = reference
            .reference
            .iter()
            .map(|(&log_n, us)| (log_n, us * f64::from(log_n - 12)))
            .collect();
        Yardstick { reference, here }
    }

    #[test]
    fn the_factor_is_here_over_there_at_the_nearest_degree() {
        let yardstick = slow_machine();
        for (log_n, factor) in [(12, 2.0), (14, 2.0), (15, 3.0), (16, 4.0), (17, 4.0)] {
            assert!((yardstick.factor(log_n) - factor).abs() < 1e-12);
        }
        let json = serde_json::to_value(&yardstick).unwrap();
        assert_eq!(json["here"]["2^14"], 67.2);
        assert_eq!(json["reference"]["2^16"], 135.0);
        assert_eq!(json["factor"]["2^15"], 3.0);
        assert!(yardstick.in_words().contains("2^16 540 us (4.00 x there)"));
    }

    #[test]
    fn the_clock_reads_every_degree() {
        let mut clock = Clock::new().unwrap();
        for log_n in SIZES {
            clock.tick(log_n).unwrap();
        }
        let read = clock.read(&crate::figures::Peers::load().unwrap().yardstick);
        assert!(read.here.keys().copied().eq(SIZES));
        assert!(read.here.values().all(|us| us.is_finite() && *us > 0.0));
    }
}
