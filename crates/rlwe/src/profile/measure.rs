//! Measuring: a key switch in miniature, of which every step is timed by itself.

use std::time::{Duration, Instant};

use hippocrene_ring::{
    Domain, Kernel, Poly, ResidueRing, convert::BaseConverter, elementwise::KeyLimb, primes,
};

use super::{
    CACHE_MISSED, COSTS, Costs, DEGREES, LOG_DEGREES, LimbCosts, MemoryCosts, Profile, WordSize,
};
use crate::RlweError;

/// The shape of a key switch in miniature.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Limbs of the polynomial that is decomposed.
    limbs: usize,
    /// Digits.
    digits: usize,
    /// Limbs that they are extended to.
    targets: usize,
}

/// Whose polynomials stay in the cache up to ring degrees of `2^16` or so.
const SMALL: Shape = Shape { limbs: 8, digits: 4, targets: 4 };
/// Whose polynomials do not, from ring degrees of `2^15` or so on.
const LARGE: Shape = Shape { limbs: 24, digits: 8, targets: 16 };
/// How many digits the inner products have that are measured.
pub(super) const DIGITS: [usize; 2] = [SMALL.digits, LARGE.digits];
/// Components of the key in miniature, which digits take in turn.
const COMPONENTS: usize = 4;
/// Moduli that base conversions are measured from: a few and many.
const FEW: usize = 2;
const MANY: usize = 8;
/// How often everything is measured, one after the other, so that other work on the machine
/// disturbs a third of the samples of a figure and not all: medians are taken.
const PASSES: usize = 3;
/// How long one shape is run first at one ring degree and class in each pass, until its data are in
/// the cache as far as they fit, and then measured; how often at least.
const WARM: Duration = Duration::from_millis(10);
const TIME: Duration = Duration::from_millis(25);
const LEAST_ROUNDS: usize = 1;

/// Samples of the steps, of all passes.
#[derive(Default)]
struct Samples(Vec<[f64; STEPS]>);

/// The steps: inverse transforms; conversions from few limbs, from many, and from many to one;
/// forward transforms; inner products of one digit, of one with all components, and of all digits;
/// inverse transforms of sums; passes.
const STEPS: usize = 10;

impl Samples {
    /// The median of each step, in nanoseconds.
    fn medians(&self) -> [f64; STEPS] {
        std::array::from_fn(|step| median(self.0.iter().map(|sample| sample[step]).collect()))
    }

    /// The costs that fit samples of this shape.
    fn fit(&self, shape: Shape) -> LimbCosts {
        let [inverse, few, many, alone, forward, one, same, all, of_sum, pass] = self.medians();
        // Where a limb is converted to alone, all that the sources take is with it; where it is one
        // of many, its share.
        let share = 1.0 / shape.targets as f64;
        let source = ((alone - many) / (1.0 - share)).max(alone / 100.0) / MANY as f64;
        // Other work on the machine may have held up `alone`, which then says too much of the
        // sources.
        let without = |sources: usize, time: f64| {
            (sources, (time - share * sources as f64 * source).max(time / 100.0))
        };
        let (pair, target) = line([without(FEW, few), without(MANY, many)]);
        let (product, sum) = line([(1, one), (shape.digits, all)]);
        let (repeat, _) = line([(1, one), (COMPONENTS, same)]);
        LimbCosts::of(
            [forward, inverse, of_sum, source, pair, target, product, repeat, sum, pass]
                .map(rounded),
        )
    }
}

/// The median; NaN of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 { f64::NAN } else { (values[(n - 1) / 2] + values[n / 2]) / 2.0 }
}

/// To four digits: no time is known better.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Nanoseconds since the last lap.
struct Stopwatch(Instant);

impl Stopwatch {
    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        1e9 * now.duration_since(std::mem::replace(&mut self.0, now)).as_secs_f64()
    }
}

/// A key switch in miniature: the polynomial, its coefficients, the digits, and the sums. All limbs
/// use the same few moduli and components of a key, so that these do not count among what has to
/// come from memory.
struct Miniature<'a> {
    moduli: &'a Moduli,
    shape: Shape,
    few: BaseConverter,
    many: BaseConverter,
    /// To one target.
    one: BaseConverter,
    polynomial: Poly,
    coefficients: Poly,
    /// Digit after digit at all targets.
    extended: Poly,
    /// Two sums and a result for each target.
    sums: [Poly; 3],
}

/// Moduli of one class, with what is computed modulo them.
struct Moduli {
    degree: usize,
    kernel: Kernel,
    sources: Vec<ResidueRing>,
    targets: Vec<ResidueRing>,
    /// For each target some components.
    key: Vec<KeyLimb>,
}

/// How many moduli are converted to; limbs take them in turn.
const RINGS: usize = 4;

impl Moduli {
    fn new(log_degree: u32, size: WordSize, kernel: Kernel) -> Result<Self, RlweError> {
        let degree = 1 << log_degree;
        // In descending order: residues modulo a later one are residues modulo an earlier one.
        let moduli = primes::ntt_primes(size.bits(), degree, MANY + RINGS, &[])?;
        let rings = |moduli: &[u64]| -> Result<Vec<ResidueRing>, RlweError> {
            Ok(moduli
                .iter()
                .map(|q| ResidueRing::prime(*q, degree, kernel))
                .collect::<Result<_, _>>()?)
        };
        let (sources, targets) = (rings(&moduli[..MANY])?, rings(&moduli[MANY..])?);
        let polynomial = residues(degree, 2);
        let component = (polynomial.limb(0), polynomial.limb(1));
        let prepare = |ring: &ResidueRing| KeyLimb::of_pairs(ring, &[component; COMPONENTS]);
        let mut key: Vec<KeyLimb> = targets.iter().map(prepare).collect();
        KeyLimb::gather(&mut key);
        Ok(Moduli { degree, kernel, sources, targets, key })
    }

    /// The conversion from the first `inputs` moduli to `outputs` limbs.
    fn converter(&self, inputs: usize, outputs: usize) -> BaseConverter {
        let from: Vec<u64> = self.sources[..inputs].iter().map(ResidueRing::modulus).collect();
        let to: Vec<u64> =
            self.targets.iter().cycle().take(outputs).map(ResidueRing::modulus).collect();
        BaseConverter::new(&from, &to, self.kernel)
    }
}

/// A polynomial with residues below `2^40`, whatever the moduli; no kernel can tell these from
/// others.
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
            few: moduli.converter(FEW, targets),
            many: moduli.converter(MANY, targets),
            one: moduli.converter(MANY, 1),
            polynomial: residues(degree, limbs),
            coefficients: Poly::zero(degree, limbs, Domain::Coefficient),
            extended: Poly::zero(degree, digits * targets, Domain::Evaluation),
            sums: [0; 3].map(|_| Poly::zero(degree, targets, Domain::Evaluation)),
        }
    }

    /// Runs it once: what each step took, in nanoseconds for one limb.
    fn run(&mut self) -> [f64; STEPS] {
        let Moduli { degree, sources, targets: rings, key, .. } = self.moduli;
        let (degree, Shape { limbs, digits, targets }) = (*degree, self.shape);
        let (coefficients, extended) = (&mut self.coefficients, &mut self.extended);
        let mut stopwatch = Stopwatch(Instant::now());
        for (k, limb) in coefficients.limbs_mut().enumerate() {
            let ring = &sources[k % MANY];
            ring.inverse_scaled_into(limb, self.polynomial.limb(k), &ring.inverse_factor(1));
        }
        let inverse = stopwatch.lap();

        let [mut from_few, mut from_many, mut to_one] = [0.0; 3];
        for (d, digit) in extended.as_mut_slice().chunks_exact_mut(targets * degree).enumerate() {
            // Digits begin at limbs that a multiple of MANY divides, so that moduli fit.
            let first = d * MANY % limbs;
            let inputs: [&[u64]; MANY] = std::array::from_fn(|k| coefficients.limb(first + k));
            let mut outputs: Vec<&mut [u64]> = digit.chunks_exact_mut(degree).collect();
            self.one.convert_exact(&mut outputs[..1], &inputs);
            to_one += stopwatch.lap();
            self.many.convert_exact(&mut outputs, &inputs);
            from_many += stopwatch.lap();
            self.few.convert_exact(&mut outputs, &inputs[..FEW]);
            from_few += stopwatch.lap();
        }

        // At each target the digits are transformed right before their products, which find them in
        // the cache.
        let [mut forward, mut of_one, mut of_same, mut of_all, mut of_sums] = [0.0; 5];
        let [sums0, sums1, results] = &mut self.sums;
        for (i, (sum0, sum1)) in sums0.limbs_mut().zip(sums1.limbs_mut()).enumerate() {
            let (ring, key) = (&rings[i % RINGS], &key[i % RINGS]);
            (0..digits).for_each(|d| ring.forward_lazy(extended.limb_mut(d * targets + i)));
            forward += stopwatch.lap();
            let pairs: [(usize, &[u64]); LARGE.digits] =
                std::array::from_fn(|d| (d % COMPONENTS, extended.limb(d % digits * targets + i)));
            ring.inner_product(sum0, sum1, &pairs[..1], key);
            of_one += stopwatch.lap();
            let same: [(usize, &[u64]); COMPONENTS] = std::array::from_fn(|d| (d, pairs[0].1));
            // With another key, of which nothing is in the nearest cache.
            let other = (i + RINGS / 2) % RINGS;
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
            let ring = &rings[i % RINGS];
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

    /// Runs it until the time of a pass is up.
    fn measure(&mut self, samples: &mut Samples) {
        let start = Instant::now();
        self.run();
        while start.elapsed() < WARM {
            self.run();
        }
        let (before, start) = (samples.0.len(), Instant::now());
        while samples.0.len() < before + LEAST_ROUNDS || start.elapsed() < TIME {
            samples.0.push(self.run());
        }
    }
}

/// The slope of the line through two points, and its height at 0. What times give is never less
/// than nothing: a height below a hundredth of the first point is taken for that, and so the slope.
fn line([(x0, y0), (x1, y1)]: [(usize, f64); 2]) -> (f64, f64) {
    let slope = ((y1 - y0) / (x1 - x0) as f64).max(y0 / 100.0);
    (slope, (y0 - slope * x0 as f64).max(y0 / 100.0))
}

/// log2 of the ring degree at which memory is measured: several limbs fit into the second-level
/// cache.
const MEMORY_LOG_DEGREE: u32 = 13;
/// Twice log2 of the bytes of data gone through again and again: from 2 MiB, which are in the
/// cache, to 64 MiB, which are not.
const HALF_OCTAVES: std::ops::RangeInclusive<u32> = 42..=52;
/// Components of the key in one inner product.
const SHARE: usize = 8;
/// Bytes of a key that is in no cache: there are third-level caches of more than 100 MiB.
const UNCACHED_KEY: usize = 1 << 28;

/// What it costs that data are not in the cache.
fn measure_memory(kernel: Kernel) -> Result<MemoryCosts, RlweError> {
    let degree = 1usize << MEMORY_LOG_DEGREE;
    let q = primes::ntt_primes(WordSize::Below48.bits(), degree, 1, &[])?[0];
    let ring = ResidueRing::prime(q, degree, kernel)?;
    let sizes: Vec<usize> = HALF_OCTAVES.map(|k| (f64::from(k) / 2.0).exp2() as usize).collect();
    let [least, most] = [sizes[0], sizes[sizes.len() - 1]];

    // Transforms from one polynomial to another, until they take longer.
    let from = residues(degree, most / (16 * degree));
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
    // The last size at which no more is missed: other work on the machine makes a measurement
    // slower, never faster.
    let limit = cached + CACHE_MISSED * (missed - cached).max(cached / 10.0);
    let cache_bytes = sizes[times.iter().rposition(|time| *time <= limit).unwrap_or(0)] as f64;

    // Inner products with a key that is read from the cache, and from memory.
    let share = [(from.limb(0), from.limb(1)); SHARE];
    let component = ring.key_bytes(degree);
    let mut key = vec![KeyLimb::of_pairs(&ring, &share); UNCACHED_KEY / component / SHARE];
    KeyLimb::gather(&mut key);
    let pairs: [(usize, &[u64]); SHARE] = std::array::from_fn(|d| (d, from.limb(0)));
    let (sum0, sum1) = to.as_mut_slice()[..2 * degree].split_at_mut(degree);
    let mut read = |bytes: usize| {
        let count = (bytes / component / SHARE).max(1);
        repeated(|| {
            for key in &key[..count] {
                ring.inner_product(sum0, sum1, &pairs, key);
            }
        }) / (count * SHARE * component) as f64
    };
    let (cached, missed) = (read(least), read(UNCACHED_KEY));
    // A slow kernel has the key read ahead of it, so that it makes no difference: no more than
    // this, then.
    let more = (missed - cached).max(cached / 100.0);
    Ok(MemoryCosts { cache_bytes, key_bytes_per_ns: rounded(1.0 / more) })
}

/// Nanoseconds that `work` takes when it is done again and again: the median.
fn repeated(mut work: impl FnMut()) -> f64 {
    work();
    let (mut samples, start) = (Vec::new(), Instant::now());
    while samples.len() < LEAST_ROUNDS || start.elapsed() < TIME {
        let mut stopwatch = Stopwatch(Instant::now());
        work();
        samples.push(stopwatch.lap());
    }
    median(samples)
}

impl Profile {
    /// Measures what operations cost on this machine with `kernel`, with one thread: in each of
    /// three passes every ring degree and class of moduli for five hundredths of a second or one
    /// round, and a key of 256 MiB that is read, which takes some seconds in all. After each of the
    /// steps, `progress` is told how many are done, and of how many.
    ///
    /// # Errors
    /// [`RlweError::Ring`] when this CPU cannot run the kernel.
    pub fn measure(
        kernel: Kernel,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Profile, RlweError> {
        let steps = PASSES * (1 + DEGREES * WordSize::ALL.len());
        let mut done = 0;
        let mut step = || {
            done += 1;
            progress(done, steps);
        };
        let mut memory = Vec::new();
        let mut samples: [[[Samples; 2]; WordSize::ALL.len()]; DEGREES] = Default::default();
        for _ in 0..PASSES {
            memory.push(measure_memory(kernel)?);
            step();
            for (log_degree, samples) in LOG_DEGREES.zip(&mut samples) {
                for (size, samples) in WordSize::ALL.into_iter().zip(samples) {
                    let moduli = Moduli::new(log_degree, size, kernel)?;
                    for (shape, samples) in [SMALL, LARGE].into_iter().zip(samples) {
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
            cached: cached.fit(SMALL),
            memory: memory.fit(LARGE),
        };
        Profile::new(kernel, memory, samples.map(|sizes| sizes.map(costs)))
    }
}

/// log2 of the ring degrees that are measured when there is little time: polynomials of the first
/// stay in the cache, and those of the second do not.
const QUICK_LOG_DEGREES: [u32; 2] = [13, 15];

/// The costs that are scaled together, by their places among the fields of [`LimbCosts`]:
/// transforms, base conversions, inner products and passes. Sums of several costs are steadier than
/// each is.
const GROUPS: [&[usize]; 4] = [&[0, 1, 2], &[3, 4, 5], &[6, 7, 8], &[9]];

/// No figure is scaled by more than this or less than its inverse: what is beyond has not been
/// measured but disturbed.
const LARGEST_QUICK_FACTOR: f64 = 20.0;

impl Profile {
    /// Measures this machine with `kernel` in about a second, with one thread: moduli below `2^48`
    /// at two ring degrees, once each. All other figures are those of [`Profile::typical`], scaled
    /// as these differ from theirs. [`Profile::measure`] is more precise, and takes several times
    /// as long.
    ///
    /// # Errors
    /// [`RlweError::Ring`] when this CPU cannot run the kernel.
    pub fn measure_quickly(kernel: Kernel) -> Result<Profile, RlweError> {
        let (typical, size) = (Profile::typical(kernel), WordSize::Below48);
        let mut factors = [[[1.0; COSTS]; 2]; QUICK_LOG_DEGREES.len()];
        for (log_degree, factors) in QUICK_LOG_DEGREES.into_iter().zip(&mut factors) {
            let moduli = Moduli::new(log_degree, size, kernel)?;
            for (place, shape) in [SMALL, LARGE].into_iter().enumerate() {
                let mut samples = Samples::default();
                Miniature::new(&moduli, shape).measure(&mut samples);
                let measured = samples.fit(shape).named();
                let usual = typical.limb(log_degree, size, place as f64).named();
                for group in GROUPS {
                    let sum = |costs: &[(&str, f64); COSTS]| {
                        group.iter().map(|i| costs[*i].1).sum::<f64>()
                    };
                    let factor = sum(&measured) / sum(&usual);
                    let factor = factor.clamp(1.0 / LARGEST_QUICK_FACTOR, LARGEST_QUICK_FACTOR);
                    group.iter().for_each(|i| factors[place][*i] = factor);
                }
            }
        }
        let [low, high] = QUICK_LOG_DEGREES.map(f64::from);
        let scaled = typical.scaled(|log_degree, from_memory| {
            // Between both ring degrees, and no further.
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
    fn costs_are_positive_where_other_work_disturbs_a_step() {
        for disturbed in 0..STEPS {
            for shape in [SMALL, LARGE] {
                let mut sample = [1000.0; STEPS];
                sample[disturbed] = 1e6;
                for (name, cost) in Samples(vec![sample]).fit(shape).named() {
                    assert!(cost > 0.0, "{name} is {cost} with step {disturbed} disturbed");
                }
            }
        }
    }
}
