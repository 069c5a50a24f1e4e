//! Measures profiles. A miniature key switch is run, and each of its steps is timed.

use std::time::{Duration, Instant};

use hippocrene_ring::{
    Domain, Kernel, Poly, ResidueRing, convert::BaseConverter, elementwise::KeyLimb, primes,
};

use super::{
    CACHE_MISS_RATE, COST_COUNT, Costs, DEGREE_COUNT, LOG_DEGREES, LimbCosts, MemoryCosts, Profile,
    WordSize,
};
use crate::RlweError;

/// The shape of a miniature key switch.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The number of limbs of the polynomial that is decomposed.
    limbs: usize,
    /// The number of digits.
    digits: usize,
    /// The number of limbs to which digits are extended.
    targets: usize,
}

/// A shape whose polynomials stay in the cache up to ring degrees of about `2^16`.
const SMALL_SHAPE: Shape = Shape { limbs: 8, digits: 4, targets: 4 };
/// A shape whose polynomials do not stay in the cache from ring degrees of about `2^15` on.
const LARGE_SHAPE: Shape = Shape { limbs: 24, digits: 8, targets: 16 };
/// The numbers of digits of the measured inner products, for the small and the large shape.
pub(super) const MEASURED_DIGITS: [usize; 2] = [SMALL_SHAPE.digits, LARGE_SHAPE.digits];
/// The number of components of the miniature key. Digits use them in turn.
const KEY_COMPONENTS: usize = 4;
/// The small number of moduli from which base conversions are measured.
const FEW_SOURCES: usize = 2;
/// The large number of moduli from which base conversions are measured.
const MANY_SOURCES: usize = 8;
/// The number of passes over all measurements. Other work on the machine then disturbs only a third
/// of the samples of a figure, and the median is used. Chosen.
const PASSES: usize = 3;
/// The time for which a shape is run before its measurement in each pass, at one ring degree and
/// class. Its data are then in the cache as far as they fit. Chosen.
const WARM_UP_TIME: Duration = Duration::from_millis(10);
/// The time for which a shape is measured in each pass, at one ring degree and class. Chosen.
const MEASURING_TIME: Duration = Duration::from_millis(25);
/// The minimum number of rounds of each measurement. Chosen.
const MIN_ROUNDS: usize = 1;

/// The samples of all steps in all passes.
#[derive(Default)]
struct Samples(Vec<[f64; STEPS]>);

/// The number of steps of a miniature key switch:
///
/// - inverse transforms;
/// - conversions from few limbs, from many limbs, and from many limbs to one;
/// - forward transforms;
/// - inner products of one digit, of one digit with all components, and of all digits;
/// - inverse transforms of sums;
/// - passes.
const STEPS: usize = 10;

impl Samples {
    /// The median of each step, in nanoseconds.
    fn medians(&self) -> [f64; STEPS] {
        std::array::from_fn(|step| median(self.0.iter().map(|sample| sample[step]).collect()))
    }

    /// Fits the costs to the samples of this shape.
    fn fit(&self, shape: Shape) -> LimbCosts {
        let [inverse, few, many, alone, forward, one, same, all, of_sum, pass] = self.medians();
        // A conversion to a single limb includes the whole cost of the sources. One of several
        // targets includes a share of it.
        let source_share = 1.0 / shape.targets as f64;
        let source =
            ((alone - many) / (1.0 - source_share)).max(alone / 100.0) / MANY_SOURCES as f64;
        // If other work on the machine disturbed `alone`, the cost of the sources is too high. So
        // the rest is limited from below.
        let without = |sources: usize, time: f64| {
            (sources, (time - source_share * sources as f64 * source).max(time / 100.0))
        };
        let (pair, target) = line([without(FEW_SOURCES, few), without(MANY_SOURCES, many)]);
        let (product, sum) = line([(1, one), (shape.digits, all)]);
        let (repeat, _) = line([(1, one), (KEY_COMPONENTS, same)]);
        LimbCosts::of(
            [forward, inverse, of_sum, source, pair, target, product, repeat, sum, pass]
                .map(round_to_four_digits),
        )
    }
}

/// Returns the median, or NaN without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 { f64::NAN } else { (values[(n - 1) / 2] + values[n / 2]) / 2.0 }
}

/// Rounds to four digits. No time is known more precisely.
fn round_to_four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Measures laps.
struct Stopwatch(Instant);

impl Stopwatch {
    /// Returns the nanoseconds since the last lap.
    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        1e9 * now.duration_since(std::mem::replace(&mut self.0, now)).as_secs_f64()
    }
}

/// A miniature key switch: the polynomial, its coefficients, the digits and the sums.
///
/// All limbs use the same few moduli and the same components of a key, so that these are never read
/// from memory.
struct Miniature<'a> {
    moduli: &'a Moduli,
    shape: Shape,
    few: BaseConverter,
    many: BaseConverter,
    /// Converts to one target.
    one: BaseConverter,
    polynomial: Poly,
    coefficients: Poly,
    /// All targets of the first digit, then those of the next, and so on.
    extended: Poly,
    /// For each target: two sums and a result.
    sums: [Poly; 3],
}

/// The moduli of one class, with their rings and keys.
struct Moduli {
    degree: usize,
    kernel: Kernel,
    sources: Vec<ResidueRing>,
    targets: Vec<ResidueRing>,
    /// For each target: the components of the key.
    key: Vec<KeyLimb>,
}

/// The number of target moduli. Limbs use them in turn.
const TARGET_MODULI: usize = 4;

impl Moduli {
    fn new(log_degree: u32, size: WordSize, kernel: Kernel) -> Result<Self, RlweError> {
        let degree = 1 << log_degree;
        // The moduli are in descending order. So residues modulo a later one are residues modulo an
        // earlier one.
        let moduli = primes::ntt_primes(size.bits(), degree, MANY_SOURCES + TARGET_MODULI, &[])?;
        let rings = |moduli: &[u64]| -> Result<Vec<ResidueRing>, RlweError> {
            Ok(moduli
                .iter()
                .map(|q| ResidueRing::prime(*q, degree, kernel))
                .collect::<Result<_, _>>()?)
        };
        let (sources, targets) = (rings(&moduli[..MANY_SOURCES])?, rings(&moduli[MANY_SOURCES..])?);
        let polynomial = residues(degree, 2);
        let component = (polynomial.limb(0), polynomial.limb(1));
        let prepare = |ring: &ResidueRing| KeyLimb::of_pairs(ring, &[component; KEY_COMPONENTS]);
        let mut key: Vec<KeyLimb> = targets.iter().map(prepare).collect();
        KeyLimb::gather(&mut key);
        Ok(Moduli { degree, kernel, sources, targets, key })
    }

    /// Returns the converter from the first `inputs` moduli to `outputs` limbs.
    fn converter(&self, inputs: usize, outputs: usize) -> BaseConverter {
        let from: Vec<u64> = self.sources[..inputs].iter().map(ResidueRing::modulus).collect();
        let to: Vec<u64> =
            self.targets.iter().cycle().take(outputs).map(ResidueRing::modulus).collect();
        BaseConverter::new(&from, &to, self.kernel)
    }
}

/// Returns a polynomial with residues below `2^40`, whatever the moduli are. Kernels are equally
/// fast for all residues.
fn residues(degree: usize, limbs: usize) -> Poly {
    let mut poly = Poly::zero(degree, limbs, Domain::Evaluation);
    for (x, i) in poly.as_mut_slice().iter_mut().zip(1u64..) {
        *x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    }
    poly
}

impl<'a> Miniature<'a> {
    fn new(moduli: &'a Moduli, shape: Shape) -> Self {
        let Shape { limbs, digits, targets } = shape;
        let degree = moduli.degree;
        Miniature {
            moduli,
            shape,
            few: moduli.converter(FEW_SOURCES, targets),
            many: moduli.converter(MANY_SOURCES, targets),
            one: moduli.converter(MANY_SOURCES, 1),
            polynomial: residues(degree, limbs),
            coefficients: Poly::zero(degree, limbs, Domain::Coefficient),
            extended: Poly::zero(degree, digits * targets, Domain::Evaluation),
            sums: [0; 3].map(|_| Poly::zero(degree, targets, Domain::Evaluation)),
        }
    }

    /// Runs the key switch once and returns the nanoseconds of each step for one limb.
    fn run(&mut self) -> [f64; STEPS] {
        let Moduli { degree, sources, targets: rings, key, .. } = self.moduli;
        let (degree, Shape { limbs, digits, targets }) = (*degree, self.shape);
        let (coefficients, extended) = (&mut self.coefficients, &mut self.extended);
        let mut stopwatch = Stopwatch(Instant::now());
        for (k, limb) in coefficients.limbs_mut().enumerate() {
            let ring = &sources[k % MANY_SOURCES];
            ring.inverse_scaled_into(limb, self.polynomial.limb(k), &ring.inverse_factor(1));
        }
        let inverse = stopwatch.lap();

        let [mut from_few, mut from_many, mut to_one] = [0.0; 3];
        for (d, digit) in extended.as_mut_slice().chunks_exact_mut(targets * degree).enumerate() {
            // The first limb of a digit is a multiple of MANY_SOURCES, so that the moduli match.
            let first = d * MANY_SOURCES % limbs;
            let inputs: [&[u64]; MANY_SOURCES] =
                std::array::from_fn(|k| coefficients.limb(first + k));
            let mut outputs: Vec<&mut [u64]> = digit.chunks_exact_mut(degree).collect();
            self.one.convert_exact(&mut outputs[..1], &inputs);
            to_one += stopwatch.lap();
            self.many.convert_exact(&mut outputs, &inputs);
            from_many += stopwatch.lap();
            self.few.convert_exact(&mut outputs, &inputs[..FEW_SOURCES]);
            from_few += stopwatch.lap();
        }

        // At each target the digits are transformed right before their products, so that these find
        // them in the cache.
        let [mut forward, mut of_one, mut of_same, mut of_all, mut of_sums] = [0.0; 5];
        let [sums0, sums1, results] = &mut self.sums;
        for (i, (sum0, sum1)) in sums0.limbs_mut().zip(sums1.limbs_mut()).enumerate() {
            let (ring, key) = (&rings[i % TARGET_MODULI], &key[i % TARGET_MODULI]);
            (0..digits).for_each(|d| ring.forward_lazy(extended.limb_mut(d * targets + i)));
            forward += stopwatch.lap();
            let pairs: [(usize, &[u64]); LARGE_SHAPE.digits] = std::array::from_fn(|d| {
                (d % KEY_COMPONENTS, extended.limb(d % digits * targets + i))
            });
            ring.inner_product(sum0, sum1, &pairs[..1], key);
            of_one += stopwatch.lap();
            let same: [(usize, &[u64]); KEY_COMPONENTS] = std::array::from_fn(|d| (d, pairs[0].1));
            // This uses another key, which is not in the nearest cache.
            let other = (i + TARGET_MODULI / 2) % TARGET_MODULI;
            rings[other].inner_product(sum0, sum1, &same, &self.moduli.key[other]);
            of_same += stopwatch.lap();
            ring.inner_product(sum0, sum1, &pairs[..digits], key);
            of_all += stopwatch.lap();
            for sum in [&mut *sum0, &mut *sum1] {
                ring.inverse_scaled(sum, &ring.inverse_factor(1));
            }
            of_sums += stopwatch.lap();
        }
        for (i, result) in results.limbs_mut().enumerate() {
            let ring = &rings[i % TARGET_MODULI];
            ring.sub_from_mul_scalar_assign(result, sums0.limb(i), &ring.scalar(3));
        }
        let pass = stopwatch.lap();
        let (limbs, targets) = (limbs as f64, targets as f64);
        let extensions = digits as f64 * targets;
        [
            inverse / limbs,
            from_few / extensions,
            from_many / extensions,
            to_one / digits as f64,
            forward / extensions,
            of_one / targets,
            of_same / targets,
            of_all / targets,
            of_sums / (2.0 * targets),
            pass / targets,
        ]
    }

    /// Runs the key switch until the time of a pass has elapsed.
    fn measure(&mut self, samples: &mut Samples) {
        let start = Instant::now();
        self.run();
        while start.elapsed() < WARM_UP_TIME {
            self.run();
        }
        let (before, start) = (samples.0.len(), Instant::now());
        while samples.0.len() < before + MIN_ROUNDS || start.elapsed() < MEASURING_TIME {
            samples.0.push(self.run());
        }
    }
}

/// Returns the slope of the line through two points, and its height at 0.
///
/// Times are never negative. So slope and height are at least a hundredth of the height of the
/// first point.
fn line([(x0, y0), (x1, y1)]: [(usize, f64); 2]) -> (f64, f64) {
    let slope = ((y1 - y0) / (x1 - x0) as f64).max(y0 / 100.0);
    (slope, (y0 - slope * x0 as f64).max(y0 / 100.0))
}

/// The log2 of the ring degree for measurements of memory. Several limbs of this degree fit the
/// second-level cache.
const MEMORY_LOG_DEGREE: u32 = 13;
/// Twice the log2 of the bytes of data that are read again and again: from 2 MiB, which fit the
/// cache, to 64 MiB, which do not.
const HALF_OCTAVES: std::ops::RangeInclusive<u32> = 42..=52;
/// The number of components of the key in one inner product.
const COMPONENTS_PER_PRODUCT: usize = 8;
/// The bytes of a key that fits no cache. There are third-level caches of more than 100 MiB.
const UNCACHED_KEY_BYTES: usize = 1 << 28;

/// Measures the costs of data that are not in the cache.
fn measure_memory(kernel: Kernel) -> Result<MemoryCosts, RlweError> {
    let degree = 1usize << MEMORY_LOG_DEGREE;
    let q = primes::ntt_primes(WordSize::Below48.bits(), degree, 1, &[])?[0];
    let ring = ResidueRing::prime(q, degree, kernel)?;
    let sizes: Vec<usize> = HALF_OCTAVES.map(|k| (f64::from(k) / 2.0).exp2() as usize).collect();
    let [smallest, largest] = [sizes[0], sizes[sizes.len() - 1]];

    // Transforms from one polynomial to another, of growing size, until they take longer.
    let from = residues(degree, largest / (16 * degree));
    let mut to = Poly::zero(degree, from.limb_count(), Domain::Coefficient);
    let factor = ring.inverse_factor(1);
    let mut transform = |bytes: usize| {
        let count = bytes / (16 * degree);
        repeated(|| {
            for (out, limb) in to.limbs_mut().zip(from.limbs()).take(count) {
                ring.inverse_scaled_into(out, limb, &factor);
            }
        }) / count as f64
    };
    let times: Vec<f64> = sizes.iter().map(|bytes| transform(*bytes)).collect();
    let (cached, missed) =
        (times.iter().copied().fold(f64::INFINITY, f64::min), times[times.len() - 1]);
    // The largest size at which no more than a quarter is missed. Other work on the machine makes a
    // measurement slower, never faster.
    let limit = cached + CACHE_MISS_RATE * (missed - cached).max(cached / 10.0);
    let cache_bytes = sizes[times.iter().rposition(|time| *time <= limit).unwrap_or(0)] as f64;

    // Inner products with a key that is read from the cache, and with one that is read from memory.
    let key_components = [(from.limb(0), from.limb(1)); COMPONENTS_PER_PRODUCT];
    let component = ring.key_bytes(degree);
    let mut key = vec![
        KeyLimb::of_pairs(&ring, &key_components);
        UNCACHED_KEY_BYTES / component / COMPONENTS_PER_PRODUCT
    ];
    KeyLimb::gather(&mut key);
    let pairs: [(usize, &[u64]); COMPONENTS_PER_PRODUCT] =
        std::array::from_fn(|d| (d, from.limb(0)));
    let (sum0, sum1) = to.as_mut_slice()[..2 * degree].split_at_mut(degree);
    let mut read = |bytes: usize| {
        let count = (bytes / component / COMPONENTS_PER_PRODUCT).max(1);
        repeated(|| {
            for key in &key[..count] {
                ring.inner_product(sum0, sum1, &pairs, key);
            }
        }) / (count * COMPONENTS_PER_PRODUCT * component) as f64
    };
    let (cached, missed) = (read(smallest), read(UNCACHED_KEY_BYTES));
    // A slow kernel can read the key ahead, so that memory makes no difference. The difference is
    // then limited from below.
    let difference = (missed - cached).max(cached / 100.0);
    Ok(MemoryCosts { cache_bytes, key_bytes_per_ns: round_to_four_digits(1.0 / difference) })
}

/// Returns the median of the nanoseconds of `work`, which is repeated.
fn repeated(mut work: impl FnMut()) -> f64 {
    work();
    let (mut samples, start) = (Vec::new(), Instant::now());
    while samples.len() < MIN_ROUNDS || start.elapsed() < MEASURING_TIME {
        let mut stopwatch = Stopwatch(Instant::now());
        work();
        samples.push(stopwatch.lap());
    }
    median(samples)
}

impl Profile {
    /// Measures the costs of operations on this machine with `kernel` and one thread.
    ///
    /// There are three passes. Each one measures every ring degree and class of moduli for 0.05
    /// seconds or one round, and reads a key of 256 MiB. All of this takes some seconds. After each
    /// step, `progress` is called with the number of completed steps and the number of all steps.
    ///
    /// # Errors
    /// Returns [`RlweError::Ring`] if this CPU cannot run the kernel.
    pub fn measure(
        kernel: Kernel,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Profile, RlweError> {
        let steps = PASSES * (1 + DEGREE_COUNT * WordSize::ALL.len());
        let mut done = 0;
        let mut step = || {
            done += 1;
            progress(done, steps);
        };
        let mut memory = Vec::new();
        let mut samples: [[[Samples; 2]; WordSize::ALL.len()]; DEGREE_COUNT] = Default::default();
        for _ in 0..PASSES {
            memory.push(measure_memory(kernel)?);
            step();
            for (log_degree, samples) in LOG_DEGREES.zip(&mut samples) {
                for (size, samples) in WordSize::ALL.into_iter().zip(samples) {
                    let moduli = Moduli::new(log_degree, size, kernel)?;
                    for (shape, samples) in [SMALL_SHAPE, LARGE_SHAPE].into_iter().zip(samples) {
                        Miniature::new(&moduli, shape).measure(samples);
                    }
                    step();
                }
            }
        }
        let of = |figure: fn(&MemoryCosts) -> f64| median(memory.iter().map(figure).collect());
        let memory = MemoryCosts {
            cache_bytes: of(|costs| costs.cache_bytes),
            key_bytes_per_ns: of(|costs| costs.key_bytes_per_ns),
        };
        let costs = |[cached, memory]: [Samples; 2]| Costs {
            cached: cached.fit(SMALL_SHAPE),
            memory: memory.fit(LARGE_SHAPE),
        };
        Profile::new(kernel, memory, samples.map(|sizes| sizes.map(costs)))
    }
}

/// The log2 of the ring degrees of a quick measurement. Polynomials of the first degree stay in the
/// cache, and those of the second do not.
const QUICK_LOG_DEGREES: [u32; 2] = [13, 15];

/// The costs that are scaled together, by their indices among the fields of [`LimbCosts`]:
/// transforms, base conversions, inner products and passes. Sums of several costs are more stable
/// than each single one.
const COST_GROUPS: [&[usize]; 4] = [&[0, 1, 2], &[3, 4, 5], &[6, 7, 8], &[9]];

/// The number of passes of a quick measurement. The median is used, so that other work on the
/// machine may disturb one pass. Chosen.
const QUICK_PASSES: usize = 3;

/// The maximum factor by which a quick measurement scales a figure. Its inverse is the minimum.
/// Larger factors come from disturbed measurements. Chosen.
const MAX_QUICK_FACTOR: f64 = 20.0;

impl Profile {
    /// Measures this machine with `kernel` and one thread in about a second.
    ///
    /// Only moduli below `2^48` are measured, at two ring degrees. All other figures are those of
    /// [`Profile::typical`], scaled by the ratios of the measured figures to the typical ones.
    /// [`Profile::measure`] is more precise, but takes several times as long.
    ///
    /// # Errors
    /// Returns [`RlweError::Ring`] if this CPU cannot run the kernel.
    pub fn measure_quickly(kernel: Kernel) -> Result<Profile, RlweError> {
        let (typical, size) = (Profile::typical(kernel), WordSize::Below48);
        let mut found: [[[Vec<f64>; COST_GROUPS.len()]; 2]; QUICK_LOG_DEGREES.len()] =
            Default::default();
        let passes = (0..QUICK_PASSES).flat_map(|_| QUICK_LOG_DEGREES.into_iter().enumerate());
        for (i, log_degree) in passes {
            let moduli = Moduli::new(log_degree, size, kernel)?;
            for (place, shape) in [SMALL_SHAPE, LARGE_SHAPE].into_iter().enumerate() {
                let mut samples = Samples::default();
                Miniature::new(&moduli, shape).measure(&mut samples);
                let measured = samples.fit(shape).named();
                let typical_costs = typical.limb(log_degree, size, place as f64).named();
                for (group, found) in COST_GROUPS.into_iter().zip(&mut found[i][place]) {
                    let sum = |costs: &[(&str, f64); COST_COUNT]| {
                        group.iter().map(|i| costs[*i].1).sum::<f64>()
                    };
                    found.push(sum(&measured) / sum(&typical_costs));
                }
            }
        }
        let factors = found.map(|places| {
            places.map(|groups| {
                let mut factors = [1.0; COST_COUNT];
                for (group, found) in COST_GROUPS.into_iter().zip(groups) {
                    let factor = median(found).clamp(1.0 / MAX_QUICK_FACTOR, MAX_QUICK_FACTOR);
                    group.iter().for_each(|i| factors[*i] = factor);
                }
                factors
            })
        });
        let [low, high] = QUICK_LOG_DEGREES.map(f64::from);
        let scaled = typical.scaled(|log_degree, from_memory| {
            // Factors are interpolated between both ring degrees and constant outside.
            let part = ((f64::from(log_degree) - low) / (high - low)).clamp(0.0, 1.0);
            let [first, second] = factors.map(|factors| factors[usize::from(from_memory)]);
            std::array::from_fn(|i| first[i].powf(1.0 - part) * second[i].powf(part))
        });
        Profile::new(kernel, scaled.memory, scaled.limbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_positive_if_other_work_disturbs_a_step() {
        for disturbed in 0..STEPS {
            for shape in [SMALL_SHAPE, LARGE_SHAPE] {
                let mut sample = [1000.0; STEPS];
                sample[disturbed] = 1e6;
                for (name, cost) in Samples(vec![sample]).fit(shape).named() {
                    assert!(cost > 0.0, "{name} is {cost} with step {disturbed} disturbed");
                }
            }
        }
    }
}
