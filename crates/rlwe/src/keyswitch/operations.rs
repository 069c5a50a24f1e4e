//! Counts of the primitives of key switches, and their cost by a profile.

use std::ops::AddAssign;

use hippocrene_ring::{Kernel, ResidueRing};

use super::{
    double::{DoubleShape, LARGEST_PRIME},
    gadget::{DigitShape, Gadget},
};
use crate::{
    Context, LimbCosts, Modulus, Profile, RlweError, WordSize, modulus::MAX_UNITS_AND_SPECIALS,
    rings::Rings,
};

/// The primitives on limbs whose moduli are of one word size.
///
/// See [`Operations`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimbOperations {
    /// Forward transforms.
    pub forward: u64,
    /// Inverse transforms, except those of sums.
    pub inverse: u64,
    /// Inverse transforms of sums that were just computed.
    pub inverse_of_sums: u64,
    /// Base conversions: source limbs. A source limb counts only once for all target limbs that are
    /// converted at the same time.
    pub sources: u64,
    /// Base conversions: pairs of a source limb and a target limb. They have the word size of the
    /// target.
    pub pairs: u64,
    /// Base conversions: target limbs.
    pub targets: u64,
    /// Inner products with the key: pairs of the first component of a digit and a limb of the
    /// digit.
    pub products: u64,
    /// Inner products with the key: pairs of a further component of a digit and a limb of the
    /// digit.
    pub repeats: u64,
    /// Inner products with the key: limbs of the result.
    pub sums: u64,
    /// Passes over a limb that add and multiply.
    pub passes: u64,
}

impl LimbOperations {
    /// The time in nanoseconds, at these costs.
    fn nanoseconds(&self, costs: &LimbCosts) -> f64 {
        let LimbOperations {
            forward,
            inverse,
            inverse_of_sums,
            sources,
            pairs,
            targets,
            products,
            repeats,
            sums,
            passes,
        } = *self;
        [
            (forward, costs.forward),
            (inverse, costs.inverse),
            (inverse_of_sums, costs.inverse_of_sum),
            (sources, costs.source),
            (pairs, costs.pair),
            (targets, costs.target),
            (products, costs.product),
            (repeats, costs.repeat),
            (sums, costs.sum),
            (passes, costs.pass),
        ]
        .iter()
        .map(|(count, cost)| *count as f64 * cost)
        .sum()
    }
}

impl AddAssign for LimbOperations {
    fn add_assign(&mut self, other: Self) {
        self.forward += other.forward;
        self.inverse += other.inverse;
        self.inverse_of_sums += other.inverse_of_sums;
        self.sources += other.sources;
        self.pairs += other.pairs;
        self.targets += other.targets;
        self.products += other.products;
        self.repeats += other.repeats;
        self.sums += other.sums;
        self.passes += other.passes;
    }
}

/// The primitives of one key switch.
///
/// A limb modulo a power of two has no transforms of its own. A pass is counted in place of each
/// transform. Its products are counted as the primitives modulo primes that they consist of.
///
/// ```
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     Context, Parameters, ParametersLiteral, Profile, SecretDistribution, Sprout,
/// };
///
/// // Three primes for the units and one for the special modulus. These parameters are not secure.
/// let primes = primes::ntt_primes(48, 1 << 12, 4, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 12,
///     units: primes[1..].to_vec(),
///     specials: primes[..1].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 3,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let context = Context::new(parameters, Threads::single())?;
///
/// // With omega = 3 digits, l = 3 and k = 1, there are (omega + 2)(l + k) = 20 transforms.
/// let (modulus, gadget) = (context.parameters().top(), context.parameters().base_gadget());
/// let operations = context.key_switch_operations(modulus, gadget, modulus)?;
/// assert_eq!((operations.digits(), operations.transforms()), (3, 20));
/// assert!(operations.seconds(12, &Profile::reference()) < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operations {
    limbs: [LimbOperations; WordSize::ALL.len()],
    transforms: u64,
    digits: usize,
    pub(super) key_bytes: u64,
    sum_bytes: u64,
    /// Bytes of the coefficients of all digits with one limb, and of their extensions at one
    /// position.
    digit_bytes: u64,
    /// The bytes of these extensions that are read, written and read again, at all positions
    /// together.
    extended_bytes: u64,
    pub(super) polynomial_bytes: u64,
}

impl Operations {
    /// The primitives on limbs whose moduli are of one word size.
    pub fn of_size(&self, size: WordSize) -> LimbOperations {
        self.limbs[size as usize]
    }

    pub(super) fn of_size_mut(&mut self, size: WordSize) -> &mut LimbOperations {
        &mut self.limbs[size as usize]
    }

    /// The primitives of all word sizes.
    pub fn total(&self) -> LimbOperations {
        let mut total = LimbOperations::default();
        self.limbs.iter().for_each(|limbs| total += *limbs);
        total
    }

    /// The number of transforms of limbs, as [`Context::transforms`] counts them: one for each limb
    /// modulo a power of two, and none for its products.
    pub fn transforms(&self) -> u64 {
        self.transforms
    }

    /// The number of digits, `omega`.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// The bytes of the key that are read from memory.
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// The bytes of the sums of a double decomposition that are read. Sums are read once for each
    /// run of target limbs.
    pub fn sum_bytes(&self) -> u64 {
        self.sum_bytes
    }

    /// The bytes of the polynomials that are read or written: the operand, its coefficients, the
    /// digits in memory at one time, the remainder of the modulus switch, and the result.
    pub fn polynomial_bytes(&self) -> u64 {
        self.polynomial_bytes
    }

    /// The seconds that one thread needs for the primitives at ring degree `2^log_degree`, as the
    /// sum of their costs.
    ///
    /// The part of keys and polynomials that does not fit into the cache makes primitives slower.
    /// It also adds the time to read the key and the sums of a double decomposition from memory.
    /// The same holds for digits with one limb, if all of them at one position do not fit.
    pub fn seconds(&self, log_degree: u32, profile: &Profile) -> f64 {
        let missed = profile.missed_fraction(self.key_bytes + self.polynomial_bytes);
        let sizes = WordSize::ALL.iter().zip(&self.limbs);
        let sizes = sizes.filter(|(_, limbs)| **limbs != LimbOperations::default());
        let costs = |size| profile.limb_of_digits(log_degree, size, missed, self.digits);
        let limbs: f64 = sizes.map(|(size, limbs)| limbs.nanoseconds(&costs(*size))).sum();
        let read = missed * (self.key_bytes + self.sum_bytes) as f64
            + profile.missed_fraction(self.digit_bytes) * self.extended_bytes as f64;
        1e-9 * (limbs + read / profile.memory().key_bytes_per_ns)
    }
}

impl Context {
    /// Counts the primitives of a key switch of a polynomial modulo `from = Q` with `gadget` that
    /// ends modulo `to = Q'`.
    ///
    /// The key switch is that of a product: operand and result are in the evaluation domain, a
    /// polynomial is added to both parts, and the keys are already coalesced or doubly decomposed.
    ///
    /// # Errors
    /// Returns the errors of [`Context::decompose_with`], and an error if `to` does not divide
    /// `PQ_max`.
    pub fn key_switch_operations(
        &self,
        from: Modulus,
        gadget: Gadget,
        to: Modulus,
    ) -> Result<Operations, RlweError> {
        self.check_gadget(from, gadget)?;
        self.check_divisor(to)?;
        let mut count = Count::plain(&self.rings, self.profile().kernel());
        count.begin(from, gadget);
        count.inverse(from, 1);
        count.switch(to, &SwitchOperands::of_product());
        Ok(count.operations)
    }
}

/// A count of primitives in progress.
pub(crate) struct Count<'a> {
    pub(super) rings: &'a Rings,
    /// The kernel of the profile that prices the primitives. Some counts depend on the kernel.
    pub(super) kernel: Kernel,
    /// The modulus of the polynomial.
    pub(super) modulus: Modulus,
    /// The modulus `P'Q`.
    pub(super) extended: Modulus,
    pub(super) digits: Vec<Digit>,
    /// True if the own limbs of digits are multiples of the limbs of the polynomial.
    pub(super) scaled: bool,
    /// The sizes of the double decomposition, if that is the method.
    pub(super) shape: Option<DoubleShape>,
    pub(super) operations: Operations,
}

/// A digit with the numbers of components of keys that belong to it.
pub(super) struct Digit {
    /// The modulus of the digit.
    pub(super) factors: Modulus,
    /// The number of components of the coalesced key that the digit is multiplied by.
    pub(super) groups: u64,
    /// The number of components of the base key that the digit is multiplied by.
    blocks: u64,
}

/// The operands of a key switch, as far as its primitives depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SwitchOperands {
    /// The number of products that compute the polynomial that was decomposed.
    pub(super) original: u64,
    /// The number of products that compute the polynomial in the evaluation domain that is added
    /// to each part, if there is one.
    pub(super) evaluation: [Option<u64>; 2],
    /// The number of parts that a polynomial in coefficients is added to.
    pub(super) coefficients: u64,
    /// True if the digits were extended at once, by their method.
    pub(super) is_extended: bool,
    /// True if the result goes through an automorphism.
    pub(super) has_automorphism: bool,
}

impl SwitchOperands {
    /// The operands of a product: a polynomial is added to both parts.
    fn of_product() -> Self {
        SwitchOperands {
            original: 0,
            evaluation: [Some(0); 2],
            coefficients: 0,
            is_extended: false,
            has_automorphism: false,
        }
    }
}

impl Count<'_> {
    /// Begins the count of an operation with `gadget` at `modulus`, and drops the count so far.
    pub(super) fn begin(&mut self, modulus: Modulus, gadget: Gadget) {
        let parameters = self.rings.parameters();
        let sizes: Vec<usize> =
            parameters.groups(gadget.group()).map(|blocks| blocks.len()).collect();
        let digit = |DigitShape { groups, factors }: DigitShape| {
            let blocks: usize = groups.iter().map(|group| sizes[*group]).sum();
            Digit { factors, groups: groups.len() as u64, blocks: blocks as u64 }
        };
        let shapes = parameters.digit_shapes(modulus, gadget.group()).into_iter();
        self.modulus = modulus;
        self.extended = modulus.lcm(gadget.specials());
        self.digits = shapes.map(digit).collect();
        self.scaled = gadget.specials() != parameters.specials();
        self.shape = parameters.double_shape(modulus, gadget);
        self.operations = Operations::default();
    }

    /// Counts a key switch of a decomposed polynomial that ends modulo `to`.
    pub(super) fn switch(&mut self, to: Modulus, operands: &SwitchOperands) {
        let (from, dropped) = (self.modulus, self.extended.without(to));
        let shape = self.shape.take();
        for products in operands.evaluation.into_iter().flatten() {
            self.products(from, products);
        }
        self.add(from, operands.evaluation.iter().flatten().count() as u64, shape.is_some());
        self.passes(from, operands.coefficients);
        match &shape {
            Some(shape) => {
                if !operands.is_extended {
                    self.extend_double(shape);
                }
                self.double(shape, to, dropped);
            }
            None => {
                self.products(from, operands.original);
                for position in self.extended.factors() {
                    if !operands.is_extended {
                        self.extend(position);
                    }
                    self.inner_product(position);
                }
                for position in dropped.factors() {
                    self.transform(dropped, position, |limbs| &mut limbs.inverse_of_sums, 2);
                }
                self.runs_of_single(to, dropped, !operands.is_extended);
                to.factors().for_each(|position| self.finish(to, position, dropped, false));
            }
        }
        if operands.has_automorphism {
            self.passes(to, 4);
        }
        self.switch_memory(from, to, shape.as_ref());
        self.operations.digits = self.digits.len();
    }

    /// Counts the memory of the polynomials of a key switch from modulo `from` to modulo `to`.
    pub(super) fn switch_memory(
        &mut self,
        from: Modulus,
        to: Modulus,
        shape: Option<&DoubleShape>,
    ) {
        let (rings, digits) = (self.rings, self.digits.len());
        let scratch = match shape {
            Some(shape) => {
                digits * rings.group_size(1, shape.primes, digits)
                    + 2 * shape.groups.len() * shape.primes
            }
            None => {
                // Digits with one limb are extended to one position after the other.
                let wide = self.wide_digits();
                let positions = rings.group_size(1, to.limb_count(), wide);
                (wide + 2) * positions + digits - wide
            }
        };
        let dropped = self.extended.without(to);
        let limbs = 4 * from.limb_count() + 2 * (dropped.limb_count() + to.limb_count()) + scratch;
        self.operations.polynomial_bytes = (8 * rings.degree() * limbs) as u64;
    }

    /// The primitives on limbs with the word size of the limb of `modulus` at `position`.
    pub(crate) fn at(&mut self, modulus: Modulus, position: usize) -> &mut LimbOperations {
        let q = self.rings.parameters().limb_modulus(modulus, position);
        &mut self.operations.limbs[WordSize::of(q) as usize]
    }

    /// Counts `times` transforms of the limb of `modulus` at `position`.
    pub(super) fn transform(
        &mut self,
        modulus: Modulus,
        position: usize,
        direction: fn(&mut LimbOperations) -> &mut u64,
        times: u64,
    ) {
        self.operations.transforms += times;
        let limbs = self.at(modulus, position);
        match position {
            Modulus::TWO => limbs.passes += times,
            _ => *direction(limbs) += times,
        }
    }

    /// Counts transforms of limbs that are modulo primes outside the parameters, of one word size.
    pub(crate) fn transforms_of_size(
        &mut self,
        size: WordSize,
        forward: u64,
        inverse_of_sums: u64,
    ) {
        self.operations.transforms += forward + inverse_of_sums;
        let limbs = self.operations.of_size_mut(size);
        limbs.forward += forward;
        limbs.inverse_of_sums += inverse_of_sums;
    }

    /// Counts the source limbs of `times` exact conversions from `from`.
    pub(crate) fn sources(&mut self, from: Modulus, times: usize) {
        from.factors().for_each(|position| self.at(from, position).sources += times as u64);
    }

    /// The number of groups in which `limbs` limbs are processed, if each needs `scratch` limbs of
    /// scratch memory.
    pub(crate) fn runs(&self, limbs: usize, scratch: usize) -> usize {
        limbs.div_ceil(self.rings.group_size(1, limbs, scratch))
    }

    /// The number of digits with more than one limb. They are extended to groups of positions, the
    /// others to one position after the other.
    fn wide_digits(&self) -> usize {
        self.digits.iter().filter(|digit| digit.factors.limb_count() > 1).count()
    }

    /// Counts `times` exact conversions from the limbs of `from` to the limb of `modulus` at
    /// `position`, which is transformed after that.
    ///
    /// Some conversions from one limb are only an addition. With vectors of 512 bits these are part
    /// of the transform. With other kernels they are a pass. The source is counted here if it has
    /// one limb, and by [`Count::sources`] otherwise.
    pub(crate) fn convert_to_transform(
        &mut self,
        from: Modulus,
        modulus: Modulus,
        position: usize,
        times: u64,
    ) {
        let (parameters, kernel) = (self.rings.parameters(), self.kernel);
        let max_source = 2 * parameters.limb_modulus(modulus, position);
        let first =
            from.factors().next().filter(|_| from.limb_count() == 1 && position != Modulus::TWO);
        let is_addition =
            first.is_some_and(|first| parameters.limb_modulus(from, first) <= max_source);
        match (is_addition, kernel) {
            (true, Kernel::Avx512 | Kernel::Avx512Ifma) => (),
            (true, _) => self.at(modulus, position).passes += times,
            (false, _) => {
                self.convert(from, modulus, position, times);
                if from.limb_count() == 1 {
                    self.sources(from, times as usize);
                }
            }
        }
    }

    /// Counts `times` exact conversions from the limbs of `from` to the limb of `modulus` at
    /// `position`.
    pub(super) fn convert(&mut self, from: Modulus, modulus: Modulus, position: usize, times: u64) {
        let limbs = self.at(modulus, position);
        limbs.pairs += times * from.limb_count() as u64;
        limbs.targets += times;
    }

    /// Counts the additions of a polynomial in the evaluation domain to `parts` of the two
    /// polynomials of a key switch's result, as one pass over each limb.
    ///
    /// The inner products of a single decomposition add it modulo primes at no cost, so only the
    /// limbs of the sprout are counted then.
    pub(super) fn add(&mut self, from: Modulus, parts: u64, double: bool) {
        for position in
            from.factors().filter(|position| double || *position >= MAX_UNITS_AND_SPECIALS)
        {
            self.at(from, position).passes += parts;
        }
    }

    /// Counts the source limbs that a single decomposition reads for each group of positions: those
    /// of the digits, if they are not extended yet, and those of the remainder.
    fn runs_of_single(&mut self, to: Modulus, dropped: Modulus, extends: bool) {
        let wide = if extends { self.wide_digits() } else { 0 };
        let [dropped_runs, result_runs] =
            [dropped, to].map(|modulus| self.runs(modulus.limb_count(), wide));
        if extends {
            self.extend_runs(dropped_runs + result_runs);
        }
        if dropped.limb_count() > 1 {
            self.sources(dropped, 2 * result_runs);
        }
    }

    /// Counts the source limbs of digits with several limbs, for `runs` groups of positions.
    pub(super) fn extend_runs(&mut self, runs: usize) {
        let digits = std::mem::take(&mut self.digits);
        for digit in digits.iter().filter(|digit| digit.factors.limb_count() > 1) {
            self.sources(digit.factors, runs);
        }
        self.digits = digits;
    }

    /// Counts the extension of the digits to the shared basis of a double decomposition.
    pub(super) fn extend_double(&mut self, shape: &DoubleShape) {
        let (primes, digits) = (shape.primes as u64, self.digits.len() as u64);
        let inputs: u64 = self.digits.iter().map(|digit| digit.factors.limb_count() as u64).sum();
        let runs = self.runs(shape.primes, self.digits.len());
        let all = self.digits.iter().fold(Modulus::ONE, |all, digit| all.lcm(digit.factors));
        self.sources(all, runs);
        self.operations.transforms += digits * primes;
        let limbs = self.of_size(WordSize::Below48);
        limbs.forward += digits * primes;
        limbs.pairs += inputs * primes;
        limbs.targets += digits * primes;
    }

    /// Counts a double decomposition after the digits are extended.
    fn double(&mut self, shape: &DoubleShape, to: Modulus, dropped: Modulus) {
        let rings = self.rings;
        let key_bytes =
            ResidueRing::key_bytes_of_kernel(self.kernel, LARGEST_PRIME, rings.degree());
        let (primes, groups) = (shape.primes as u64, shape.groups.len() as u64);
        let digits = self.digits.len() as u64;
        let components: u64 = self.digits.iter().map(|digit| digit.groups).sum();
        self.operations.transforms += 2 * groups * primes;
        let limbs = self.of_size(WordSize::Below48);
        limbs.inverse_of_sums += 2 * groups * primes;
        limbs.products += digits * groups * primes;
        limbs.repeats += (components - digits) * groups * primes;
        limbs.sums += groups * primes;
        self.operations.key_bytes += components * groups * primes * key_bytes as u64;
        let [dropped_runs, result_runs] = [dropped, to].map(|modulus| {
            shape.run_count(modulus, self.rings.group_size(1, modulus.limb_count(), 1))
        });
        let read = 2 * primes * (dropped_runs + result_runs) as u64;
        self.of_size(WordSize::Below48).sources += read;
        self.operations.sum_bytes += 8 * rings.degree() as u64 * read;
        self.sources(dropped, 2 * result_runs);
        for position in dropped.factors() {
            self.sums(position, primes);
            self.at(dropped, position).passes += 2;
        }
        for position in to.factors() {
            if self.extended.contains(position) {
                self.sums(position, primes);
                self.at(to, position).passes += 2;
                if position >= MAX_UNITS_AND_SPECIALS || dropped.is_one() {
                    self.transform(to, position, |limbs| &mut limbs.forward, 2);
                }
            }
            self.finish(to, position, dropped, true);
        }
    }

    /// Counts the conversion of both sums from the shared basis to a position of `P'Q`.
    fn sums(&mut self, position: usize, primes: u64) {
        let limbs = self.at(self.extended, position);
        limbs.pairs += 2 * primes;
        limbs.targets += 2;
    }

    /// Counts the extension of the digits to a position of `P'Q`.
    pub(super) fn extend(&mut self, position: usize) {
        let extended = self.extended;
        let limbs = 8 * (self.rings.degree() * (self.digits.len() - self.wide_digits())) as u64;
        self.operations.digit_bytes = 2 * limbs;
        self.operations.extended_bytes += 3 * limbs;
        let digits = std::mem::take(&mut self.digits);
        for digit in &digits {
            match digit.factors.contains(position) {
                // Modulo a prime, this is part of the inner product.
                true => {
                    self.at(extended, position).passes +=
                        u64::from(self.scaled && position >= MAX_UNITS_AND_SPECIALS)
                }
                false => {
                    self.convert_to_transform(digit.factors, extended, position, 1);
                    self.transform(extended, position, |limbs| &mut limbs.forward, 1);
                }
            }
        }
        self.digits = digits;
    }

    /// Counts the inner product of the digits with a key at a position of `P'Q`.
    pub(super) fn inner_product(&mut self, position: usize) {
        let (rings, extended) = (self.rings, self.extended);
        let full = rings.parameters().full();
        let digits = std::mem::take(&mut self.digits);
        let components: u64 = match position {
            Modulus::TWO => digits.iter().map(|digit| digit.blocks).sum(),
            _ => digits.iter().map(|digit| digit.groups).sum(),
        };
        let mut key_bytes = 0;
        for q in rings.product_moduli(full, position, self.kernel) {
            key_bytes += ResidueRing::key_bytes_of_kernel(self.kernel, q, rings.degree()) as u64;
            let limbs = &mut self.operations.limbs[WordSize::of(q) as usize];
            limbs.products += digits.len() as u64;
            limbs.repeats += components - digits.len() as u64;
            limbs.sums += 1;
            if position == Modulus::TWO {
                // Digits are embedded and transformed. The two sums are transformed back and
                // converted.
                limbs.passes += digits.len() as u64;
                limbs.forward += digits.len() as u64;
                limbs.inverse_of_sums += 2;
                limbs.sources += 2;
                limbs.pairs += 2;
            }
        }
        if position == Modulus::TWO {
            self.at(extended, position).targets += 2;
        }
        self.operations.key_bytes += components * key_bytes;
        if !full.agrees(extended, position) {
            // Both sums are reduced, and copied.
            self.at(extended, position).passes += 4;
        }
        self.digits = digits;
    }

    /// Counts the end of the modulus switch of both parts at a position of `Q'`. After a double
    /// decomposition, more is added to the remainder before it is transformed.
    pub(super) fn finish(&mut self, to: Modulus, position: usize, dropped: Modulus, double: bool) {
        if !dropped.is_one() {
            match double {
                true => self.convert(dropped, to, position, 2),
                false => self.convert_to_transform(dropped, to, position, 2),
            }
            self.transform(to, position, |limbs| &mut limbs.forward, 2);
        }
        self.at(to, position).passes += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cost of operations as the number of bytes that are read from memory in the same time.
    fn bytes(operations: Operations) -> f64 {
        let profile = Profile::typical(Kernel::Avx512Ifma);
        1e9 * profile.memory().key_bytes_per_ns * operations.seconds(14, &profile)
    }

    #[test]
    fn cache_misses_cost_reads_from_memory() {
        let cache = Profile::typical(Kernel::Avx512Ifma).memory().cache_bytes as u64;
        let none = Operations::default();
        let is = |actual: f64, bytes: f64| (actual / bytes - 1.0).abs() < 1e-9;
        // A key of one cache and polynomials of two: three quarters are missed.
        let key = Operations { key_bytes: cache, polynomial_bytes: 2 * cache, ..none };
        assert!(is(bytes(key), 0.75 * cache as f64));
        // Sums are read in the same way as the key.
        assert!(is(bytes(Operations { sum_bytes: 3 * cache, ..key }), 3.0 * cache as f64));
        // Digits miss the cache if they do not fit themselves.
        let digits = Operations { digit_bytes: 3 * cache, extended_bytes: 8 * cache, ..none };
        assert!(is(bytes(digits), 6.0 * cache as f64));
        assert_eq!(bytes(Operations { digit_bytes: cache / 2, ..digits }), 0.0);
    }
}
