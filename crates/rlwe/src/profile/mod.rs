//! The costs of the operations of key switching on one machine (MG23 4.4), with which the planner
//! computes.

mod file;
mod measure;
mod typical;

use hippocrene_ring::Kernel;
use serde::{Deserialize, Serialize};

use crate::RlweError;

/// A class of moduli that kernels treat alike.
///
/// See [`Profile`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WordSize {
    /// Below `2^48`.
    Below48,
    /// From `2^48` on, below `2^50`.
    Below50,
    /// From `2^50` on, below `2^61`.
    Below61,
}

impl WordSize {
    /// All classes, the smallest first.
    pub const ALL: [WordSize; 3] = [WordSize::Below48, WordSize::Below50, WordSize::Below61];

    /// The class of the modulus `q < 2^61`.
    pub fn of(q: u64) -> Self {
        match q {
            _ if q < 1 << 48 => WordSize::Below48,
            _ if q < 1 << 50 => WordSize::Below50,
            _ => WordSize::Below61,
        }
    }

    /// The bits of the largest moduli of this class: 48, 50 or 61.
    pub fn bits(self) -> u32 {
        match self {
            WordSize::Below48 => 48,
            WordSize::Below50 => 50,
            WordSize::Below61 => 61,
        }
    }
}

/// The costs of operations on limbs of one ring degree and one class of moduli in a key switch, in
/// nanoseconds of one thread.
///
/// See [`Profile`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimbCosts {
    /// A forward transform.
    pub forward: f64,
    /// An inverse transform, from one limb to another.
    pub inverse: f64,
    /// An in-place inverse transform of a sum that was just computed.
    pub inverse_of_sum: f64,
    /// An exact base conversion: the cost for each source limb, whatever the number of targets that
    /// are converted at the same time.
    pub source: f64,
    /// An exact base conversion: the cost for each pair of a source limb and a target limb.
    pub pair: f64,
    /// An exact base conversion: the cost for each target limb, whatever the number of sources.
    pub target: f64,
    /// An inner product with a switching key that is in the cache: the cost for each digit.
    pub product: f64,
    /// An inner product with a switching key: the cost for each further component of the key that
    /// multiplies a digit.
    pub repeat: f64,
    /// An inner product with a switching key: the cost of both of its sums, whatever the number of
    /// digits.
    pub sum: f64,
    /// A pass over a limb that adds and multiplies.
    pub pass: f64,
}

/// The number of costs of one ring degree and class.
const COST_COUNT: usize = 10;

impl LimbCosts {
    /// The costs with their names, in the order of the fields.
    fn named(&self) -> [(&'static str, f64); COST_COUNT] {
        let LimbCosts {
            forward,
            inverse,
            inverse_of_sum,
            source,
            pair,
            target,
            product,
            repeat,
            sum,
            pass,
        } = *self;
        [
            ("forward", forward),
            ("inverse", inverse),
            ("inverse_of_sum", inverse_of_sum),
            ("source", source),
            ("pair", pair),
            ("target", target),
            ("product", product),
            ("repeat", repeat),
            ("sum", sum),
            ("pass", pass),
        ]
    }

    /// Builds costs from values in the order of the fields.
    const fn of(costs: [f64; COST_COUNT]) -> Self {
        let [forward, inverse, inverse_of_sum, source, pair, target, product, repeat, sum, pass] =
            costs;
        LimbCosts {
            forward,
            inverse,
            inverse_of_sum,
            source,
            pair,
            target,
            product,
            repeat,
            sum,
            pass,
        }
    }
}

/// The time of a program relative to the sum of the times of its primitives.
///
/// Chosen between figures that were measured on Zen 5 in November 2026: 1.2 to 1.5, with a median of
/// 1.25, for eight programs of `bench/programs.py` without bootstraps, and 1.0 for a bootstrap (the
/// bench table `simulate`).
const TIME_FACTOR_OF_PROGRAMS: f64 = 1.2;

/// The costs of operations on limbs of one ring degree and one class of moduli, depending on the
/// location of the polynomials.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Costs {
    /// The costs if all data of a key switch stay in the cache.
    cached: LimbCosts,
    /// The costs if the data are read from memory and written to it. At small ring degrees they
    /// stay in the cache all the same.
    memory: LimbCosts,
}

/// The costs by ring degree, from the smallest on, and by class.
type Table = [[Costs; WordSize::ALL.len()]; DEGREE_COUNT];

/// The fraction of [`MemoryCosts::cache_bytes`] that misses the cache, by definition of that
/// figure.
const CACHE_MISS_RATE: f64 = 0.25;

/// The costs of data that do not fit the cache.
///
/// See [`Profile`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCosts {
    /// The number of bytes of data of which a quarter misses the cache, if a computation goes
    /// through them again and again.
    pub cache_bytes: f64,
    /// The bytes of a key that are read from memory per nanosecond. This time is in addition to the
    /// time of inner products with a key in the cache.
    pub key_bytes_per_ns: f64,
}

/// The costs of the operations of key switching on one machine with one kernel.
///
/// [`Profile::measure`] measures this machine. [`Profile::typical`] has figures for every kernel
/// that were measured on one machine. The planner's choice depends on the profile. The results of
/// key switches do not, except for their noise.
///
/// ```
/// use hippocrene_ring::Kernel;
/// use hippocrene_rlwe::{Profile, WordSize};
///
/// let profile = Profile::typical(Kernel::Portable);
/// let costs = profile.limb(15, WordSize::of(1 << 47), 0.0);
/// assert!(costs.forward > costs.pass);
/// assert_eq!(profile.missed_fraction(1), 0.0);
/// assert!(profile.memory().cache_bytes > 0.0);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "file::Stored", into = "file::Stored")]
pub struct Profile {
    kernel: Kernel,
    memory: MemoryCosts,
    limbs: Table,
}

/// log2 of the ring degrees that are measured.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = MIN_LOG_DEGREE..=17;
const MIN_LOG_DEGREE: u32 = 12;
const DEGREE_COUNT: usize = 6;

impl Profile {
    /// Builds a profile from its parts.
    ///
    /// # Errors
    /// Returns [`RlweError::Profile`] if a figure is not a positive number.
    fn new(kernel: Kernel, memory: MemoryCosts, limbs: Table) -> Result<Self, RlweError> {
        let check = |what: &dyn Fn() -> String, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(RlweError::Profile {
                what: format!("{} is {value}; a finite number above 0 is needed", what()),
            }),
        };
        check(&|| "cache_bytes".into(), memory.cache_bytes)?;
        check(&|| "key_bytes_per_ns".into(), memory.key_bytes_per_ns)?;
        for (log_degree, costs) in LOG_DEGREES.zip(&limbs) {
            for (size, costs) in WordSize::ALL.iter().zip(costs) {
                for (which, costs) in [("cached", costs.cached), ("memory", costs.memory)] {
                    let bits = size.bits();
                    let place = |name| {
                        format!("{which}.{name} of log_degree {log_degree}, modulus_bits {bits}")
                    };
                    costs
                        .named()
                        .iter()
                        .try_for_each(|(name, cost)| check(&|| place(name), *cost))?;
                }
            }
        }
        Ok(Profile { kernel, memory, limbs })
    }

    /// The kernel with which the profile was measured.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The costs of data that do not fit the cache.
    pub fn memory(&self) -> MemoryCosts {
        self.memory
    }

    /// The profile for the times of whole programs, in which all costs of limbs are larger.
    ///
    /// Primitives are measured on data that were just computed. Between the operations of a program
    /// there are more copies, and more data that left the cache. Bootstraps have little of both, so
    /// their predicted time is too long by about this factor.
    pub fn for_programs(self) -> Profile {
        self.scaled(|_, _| [TIME_FACTOR_OF_PROGRAMS; COST_COUNT])
    }

    /// The costs of operations on a limb in a computation of whose data the fraction `missed`, in
    /// `[0, 1]`, misses the cache.
    ///
    /// Ring degrees below `2^12` have the costs of `2^12`, scaled by the degree.
    pub fn limb(&self, log_degree: u32, size: WordSize, missed: f64) -> LimbCosts {
        let measured = log_degree.clamp(*LOG_DEGREES.start(), *LOG_DEGREES.end());
        let Costs { cached, memory } =
            &self.limbs[(measured - MIN_LOG_DEGREE) as usize][size as usize];
        let scale = (f64::from(log_degree) - f64::from(measured)).exp2();
        let (cached, memory) = (cached.named(), memory.named());
        LimbCosts::of(std::array::from_fn(|i| {
            scale * ((1.0 - missed) * cached[i].1 + missed * memory[i].1)
        }))
    }

    /// The costs of [`Profile::limb`] in a key switch with `digits` digits.
    ///
    /// The digits at one position are transformed and then multiplied by the key. The costs in the
    /// cache were measured with four digits. More digits leave the nearest cache in between.
    /// Transforms and products then cost up to as much as from memory, which was measured with
    /// eight digits.
    pub fn limb_of_digits(
        &self,
        log_degree: u32,
        size: WordSize,
        missed: f64,
        digits: usize,
    ) -> LimbCosts {
        let [few, many] = measure::MEASURED_DIGITS.map(|count| count as f64);
        let beyond_cache = ((digits as f64 - few) / (many - few)).clamp(0.0, 1.0);
        let LimbCosts { forward, product, repeat, sum, .. } =
            self.limb(log_degree, size, missed.max(beyond_cache));
        LimbCosts { forward, product, repeat, sum, ..self.limb(log_degree, size, missed) }
    }

    /// The fraction of `bytes` bytes of data that misses the cache, if a computation goes through
    /// them again and again.
    ///
    /// It is the excess over three quarters of [`MemoryCosts::cache_bytes`], so that a quarter is
    /// missed at `cache_bytes`. Data that are used soon after they were computed stay in the cache
    /// in any case. They do not count among these bytes.
    pub fn missed_fraction(&self, bytes: u64) -> f64 {
        (1.0 - (1.0 - CACHE_MISS_RATE) * self.memory.cache_bytes / bytes as f64).max(0.0)
    }
}
