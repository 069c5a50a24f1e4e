//! What the operations of key switching cost on one machine (MG23 4.4): the figures that the
//! planner reckons with.

mod file;
mod measure;
mod typical;

use hippocrene_ring::Kernel;
use serde::{Deserialize, Serialize};

use crate::RlweError;

/// The classes of moduli that kernels tell apart.
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
    /// All of them, the smallest first.
    pub const ALL: [WordSize; 3] = [WordSize::Below48, WordSize::Below50, WordSize::Below61];

    /// The class of the modulus `q < 2^61`.
    pub fn of(q: u64) -> Self {
        match q {
            _ if q < 1 << 48 => WordSize::Below48,
            _ if q < 1 << 50 => WordSize::Below50,
            _ => WordSize::Below61,
        }
    }

    /// Bits of its largest moduli: 48, 50 or 61.
    pub fn bits(self) -> u32 {
        match self {
            WordSize::Below48 => 48,
            WordSize::Below50 => 50,
            WordSize::Below61 => 61,
        }
    }
}

/// What operations on limbs of one ring degree and one class of moduli take one thread in a key
/// switch, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimbCosts {
    /// A forward transform.
    pub forward: f64,
    /// An inverse transform, from one limb to another.
    pub inverse: f64,
    /// The same in place, of sums that were just made.
    pub inverse_of_sum: f64,
    /// An exact base conversion: for each limb that is converted from, whatever it is converted to
    /// at once.
    pub source: f64,
    /// The same: for each limb that is converted to, for each limb that is converted from.
    pub pair: f64,
    /// The same: for each limb that is converted to, whatever it is converted from.
    pub target: f64,
    /// An inner product with a switching key that is in the cache: for each digit.
    pub product: f64,
    /// The same: for each further component of the key that a digit is multiplied by.
    pub repeat: f64,
    /// The same: for both of its sums, whatever the number of digits.
    pub sum: f64,
    /// A pass over a limb that adds and multiplies.
    pub pass: f64,
}

/// How many costs there are of one ring degree and one class.
const COSTS: usize = 10;

impl LimbCosts {
    /// The costs with their names, in the order of the fields.
    fn named(&self) -> [(&'static str, f64); COSTS] {
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

    /// From the costs in the order of the fields.
    const fn of(
        [forward, inverse, inverse_of_sum, source, pair, target, product, repeat, sum, pass]: [f64; COSTS],
    ) -> Self {
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

/// What operations on limbs of one ring degree and one class of moduli take, depending on where the
/// polynomials are.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Costs {
    /// When all data of a key switch stay in the cache.
    cached: LimbCosts,
    /// When they come from memory and go there, as far as the ring degree is large enough for that.
    memory: LimbCosts,
}

/// Costs by ring degree, from the least on, and class.
type Table = [[Costs; WordSize::ALL.len()]; DEGREES];

/// What part of [`MemoryCosts::cache_bytes`] is missed.
const CACHE_MISSED: f64 = 0.25;

/// What it costs that data do not fit into the cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCosts {
    /// Of so many bytes of data that a computation goes through again and again a quarter is not in
    /// the cache when it is wanted.
    pub cache_bytes: f64,
    /// Bytes of a key that are read per nanosecond from memory, over and above the time that its
    /// inner products take with a key in the cache.
    pub key_bytes_per_ns: f64,
}

/// What the operations of key switching cost on one machine with one kernel.
///
/// [`Profile::measure`] makes one on this machine; [`Profile::typical`] has figures for every
/// kernel that were measured on one machine. Where the planner's choice depends on a profile, the
/// results of key switches do not: they are the same up to noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "file::Stored", into = "file::Stored")]
pub struct Profile {
    kernel: Kernel,
    memory: MemoryCosts,
    limbs: Table,
}

/// log2 of the ring degrees that are measured.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = LEAST_LOG_DEGREE..=17;
const LEAST_LOG_DEGREE: u32 = 12;
const DEGREES: usize = 6;

impl Profile {
    /// From its parts.
    ///
    /// # Errors
    /// [`RlweError::Profile`] when a figure is not a positive number.
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

    /// The kernel that it was measured with.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// What reading keys from memory costs.
    pub fn memory(&self) -> MemoryCosts {
        self.memory
    }

    /// What operations on a limb cost in a computation whose data are not in the cache to a part
    /// `missed` in `[0, 1]`. Ring degrees below `2^12` are reckoned as fractions of `2^12`.
    pub fn limb(&self, log_degree: u32, size: WordSize, missed: f64) -> LimbCosts {
        let measured = log_degree.clamp(*LOG_DEGREES.start(), *LOG_DEGREES.end());
        let Costs { cached, memory } =
            &self.limbs[(measured - LEAST_LOG_DEGREE) as usize][size as usize];
        let scale = (f64::from(log_degree) - f64::from(measured)).exp2();
        let (cached, memory) = (cached.named(), memory.named());
        LimbCosts::of(std::array::from_fn(|i| {
            scale * ((1.0 - missed) * cached[i].1 + missed * memory[i].1)
        }))
    }

    /// [`Profile::limb`] in a key switch with so many digits. The digits at one position are
    /// transformed and then multiplied by the key. Where there are more of them than the four that
    /// costs in the cache were measured with, they leave the nearest cache in between: transforms
    /// and products then cost up to what they do from memory, which was measured with eight.
    pub fn limb_of_digits(
        &self,
        log_degree: u32,
        size: WordSize,
        missed: f64,
        digits: usize,
    ) -> LimbCosts {
        let [few, many] = measure::DIGITS.map(|count| count as f64);
        let crowded = ((digits as f64 - few) / (many - few)).clamp(0.0, 1.0);
        let LimbCosts { forward, product, repeat, sum, .. } =
            self.limb(log_degree, size, missed.max(crowded));
        LimbCosts { forward, product, repeat, sum, ..self.limb(log_degree, size, missed) }
    }

    /// What part of `bytes` of data that a computation goes through again and again is not in the
    /// cache when it is wanted: what is more than three quarters of [`MemoryCosts::cache_bytes`],
    /// where a quarter is missed. (What is used soon after it was made stays in the cache even
    /// then, and is not counted among what comes from memory.)
    pub fn missed(&self, bytes: u64) -> f64 {
        (1.0 - (1.0 - CACHE_MISSED) * self.memory.cache_bytes / bytes as f64).max(0.0)
    }
}
