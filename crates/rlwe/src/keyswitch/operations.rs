//! What a key switch does, counted, and what that takes by a profile.

use std::ops::AddAssign;

use hippocrene_ring::Kernel;

use super::{
    double::DoubleShape,
    gadget::{DigitShape, Gadget},
};
use crate::{
    Context, LimbCosts, Modulus, Profile, RlweError, WordSize, modulus::MAX_FACTORS, rings::Rings,
};

/// Operations on limbs whose moduli are of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimbOperations {
    /// Forward transforms.
    pub forward: u64,
    /// Inverse transforms, but for those of sums.
    pub inverse: u64,
    /// Inverse transforms of sums that were just made.
    pub inverse_of_sums: u64,
    /// Base conversions: limbs that are converted from, once for all limbs that they are converted
    /// to at once.
    pub sources: u64,
    /// Base conversions: pairs of a limb that is converted from and a limb that is converted to.
    /// They are counted with the latter.
    pub pairs: u64,
    /// Base conversions: limbs that are converted to.
    pub targets: u64,
    /// Inner products with the key: pairs of a component of the key and a limb of a digit, the
    /// first of each digit.
    pub products: u64,
    /// The same: the further ones, of digits that several components belong to.
    pub repeats: u64,
    /// Inner products with the key: limbs.
    pub sums: u64,
    /// Passes over a limb that add and multiply.
    pub passes: u64,
}

impl LimbOperations {
    /// Nanoseconds, at these costs.
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

/// The operations of one key switch.
///
/// Of a limb modulo a power of two the operations are counted that its products take modulo primes;
/// it has no transforms of its own, but a pass instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operations {
    limbs: [LimbOperations; WordSize::ALL.len()],
    transforms: u64,
    digits: usize,
    pub(super) key_bytes: u64,
    sum_bytes: u64,
    /// Bytes of the coefficients of all digits with one limb, and of what they are extended to at
    /// one position.
    digit_bytes: u64,
    /// Bytes of these that are read, written and read at all positions.
    extended_bytes: u64,
    pub(super) polynomial_bytes: u64,
}

impl Operations {
    /// Those on limbs whose moduli are of one class.
    pub fn of_size(&self, size: WordSize) -> LimbOperations {
        self.limbs[size as usize]
    }

    pub(super) fn of_size_mut(&mut self, size: WordSize) -> &mut LimbOperations {
        &mut self.limbs[size as usize]
    }

    /// All of them, whatever the class.
    pub fn total(&self) -> LimbOperations {
        let mut total = LimbOperations::default();
        self.limbs.iter().for_each(|limbs| total += *limbs);
        total
    }

    /// Transforms of limbs as [`Context::transforms`] counts them: one for each limb modulo a power
    /// of two, and none for its products.
    pub fn transforms(&self) -> u64 {
        self.transforms
    }

    /// How many digits there are, `omega`.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// Bytes of the key that are read.
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// Bytes of the sums of a double decomposition that are read, once for each run of limbs that
    /// they are converted to.
    pub fn sum_bytes(&self) -> u64 {
        self.sum_bytes
    }

    /// Bytes of the polynomials that it goes through: what is switched, its coefficients, the
    /// digits that are there at one time, what is divided away, and the result.
    pub fn polynomial_bytes(&self) -> u64 {
        self.polynomial_bytes
    }

    /// Seconds that they take one thread at ring degree `2^log_degree`: the sum of what each takes.
    /// As far as keys and polynomials do not fit into the cache together, that is more, and the
    /// time is added to read the key and the sums of a double decomposition from memory. So are
    /// digits with one limb each, as far as all of them at one position do not fit.
    pub fn seconds(&self, log_degree: u32, profile: &Profile) -> f64 {
        let missed = profile.missed(self.key_bytes + self.polynomial_bytes);
        let costs =
            WordSize::ALL.map(|size| profile.limb_of_digits(log_degree, size, missed, self.digits));
        let limbs: f64 =
            self.limbs.iter().zip(&costs).map(|(limbs, costs)| limbs.nanoseconds(costs)).sum();
        let read = missed * (self.key_bytes + self.sum_bytes) as f64
            + profile.missed(self.digit_bytes) * self.extended_bytes as f64;
        1e-9 * (limbs + read / profile.memory().key_bytes_per_ns)
    }
}

impl Context {
    /// The operations of a key switch of a polynomial modulo `from = Q` with `gadget` that ends
    /// modulo `to = Q'` as products do: in the evaluation domain in and out, both parts added to,
    /// and with coalesced or doubly decomposed keys that are there.
    ///
    /// # Errors
    /// As [`Context::decompose_with`], and when `to` does not divide `PQ_max`.
    pub fn key_switch_operations(
        &self,
        from: Modulus,
        gadget: Gadget,
        to: Modulus,
    ) -> Result<Operations, RlweError> {
        self.check_gadget(from, gadget)?;
        self.check_divisor(to)?;
        let mut count = Count::new(&self.rings, from, gadget);
        let dropped = count.extended.without(to);
        let shape = self.parameters().double_shape(from, gadget);
        for position in from.factors() {
            count.transform(from, position, |limbs| &mut limbs.inverse, 1);
        }
        count.add(from, 2, shape.is_some());
        match &shape {
            Some(shape) => {
                count.extend_double(shape);
                count.double(shape, to, dropped)?;
            }
            None => count.single(to, dropped),
        }
        count.operations.digits = count.digits.len();
        count.switch_memory(from, to, shape.as_ref());
        Ok(count.operations)
    }
}

/// A count under way.
pub(crate) struct Count<'a> {
    pub(super) rings: &'a Rings,
    /// `P'Q`.
    pub(super) extended: Modulus,
    pub(super) digits: Vec<Digit>,
    /// Whether the limbs that digits have themselves are multiples of the polynomial's.
    pub(super) scaled: bool,
    pub(super) operations: Operations,
}

/// A digit: what it is modulo, and how many components of the key there are for it, coalesced and
/// as they are.
pub(super) struct Digit {
    pub(super) factors: Modulus,
    pub(super) groups: u64,
    blocks: u64,
}

impl<'a> Count<'a> {
    pub(super) fn new(rings: &'a Rings, modulus: Modulus, gadget: Gadget) -> Self {
        let parameters = rings.parameters();
        let sizes: Vec<usize> =
            parameters.groups(gadget.group()).map(|blocks| blocks.len()).collect();
        let digit = |DigitShape { groups, factors }: DigitShape| {
            let blocks: usize = groups.iter().map(|group| sizes[*group]).sum();
            Digit { factors, groups: groups.len() as u64, blocks: blocks as u64 }
        };
        Count {
            rings,
            extended: modulus.lcm(gadget.specials()),
            digits: parameters
                .digit_shapes(modulus, gadget.group())
                .into_iter()
                .map(digit)
                .collect(),
            scaled: gadget.specials() != parameters.specials(),
            operations: Operations::default(),
        }
    }

    /// The polynomials that a key switch from modulo `from` to modulo `to` goes through.
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

    /// The operations on the limb of `modulus` at `position`.
    pub(crate) fn at(&mut self, modulus: Modulus, position: usize) -> &mut LimbOperations {
        let q = self.rings.parameters().limb_modulus(modulus, position);
        &mut self.operations.limbs[WordSize::of(q) as usize]
    }

    /// So many transforms of the limb of `modulus` at `position`.
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

    /// So many transforms of limbs of other moduli than those of the parameters, all of one class.
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

    /// So many exact conversions from the limbs of `from`, each to all that it is converted to at
    /// once.
    pub(crate) fn sources(&mut self, from: Modulus, times: usize) {
        from.factors().for_each(|position| self.at(from, position).sources += times as u64);
    }

    /// In how many runs so many limbs are worked on together, which take `scratch` limbs of scratch
    /// memory each.
    pub(crate) fn runs(&self, limbs: usize, scratch: usize) -> usize {
        limbs.div_ceil(self.rings.group_size(1, limbs, scratch))
    }

    /// How many digits have more than one limb: these are extended to runs of positions, the others
    /// to one position after the other.
    fn wide_digits(&self) -> usize {
        self.digits.iter().filter(|digit| digit.factors.limb_count() > 1).count()
    }

    /// So many exact conversions from the limbs of `from` to the limb of `modulus` at `position`,
    /// which are transformed: those that are no more than an addition are part of the transform
    /// with vectors of 512 bits, and a pass with other kernels. [`Count::sources`] are counted
    /// beside where there are several limbs, and here where there is one.
    pub(crate) fn convert_to_transform(
        &mut self,
        from: Modulus,
        modulus: Modulus,
        position: usize,
        times: u64,
    ) {
        let (parameters, kernel) = (self.rings.parameters(), self.rings.kernel());
        let most = 2 * parameters.limb_modulus(modulus, position);
        let first =
            from.factors().next().filter(|_| from.limb_count() == 1 && position != Modulus::TWO);
        let is_addition = first.is_some_and(|first| parameters.limb_modulus(from, first) <= most);
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

    /// So many exact conversions from the limbs of `from` to the limb of `modulus` at `position`.
    pub(super) fn convert(&mut self, from: Modulus, modulus: Modulus, position: usize, times: u64) {
        let limbs = self.at(modulus, position);
        limbs.pairs += times * from.limb_count() as u64;
        limbs.targets += times;
    }

    /// What is added to a key switch in the evaluation domain, to so many parts: modulo primes it
    /// goes with the inner products of single decompositions.
    pub(super) fn add(&mut self, from: Modulus, parts: u64, double: bool) {
        for position in from.factors().filter(|position| double || *position >= MAX_FACTORS) {
            self.at(from, position).passes += parts;
        }
    }

    /// The single decomposition, after the coefficients.
    fn single(&mut self, to: Modulus, dropped: Modulus) {
        for position in self.extended.factors() {
            self.product(position);
        }
        for position in dropped.factors() {
            self.transform(dropped, position, |limbs| &mut limbs.inverse_of_sums, 2);
        }
        self.runs_of_single(to, dropped, true);
        for position in to.factors() {
            self.finish(to, position, dropped, false);
        }
    }

    /// What the single decomposition reads at the beginning of each run of positions: the digits,
    /// if they are not extended yet, and what is divided away.
    pub(super) fn runs_of_single(&mut self, to: Modulus, dropped: Modulus, extends: bool) {
        let wide = if extends { self.wide_digits() } else { 0 };
        let [away, kept] = [dropped, to].map(|modulus| self.runs(modulus.limb_count(), wide));
        if extends {
            self.extend_runs(away + kept);
        }
        if dropped.limb_count() > 1 {
            self.sources(dropped, 2 * kept);
        }
    }

    /// The digits of several limbs are extended to so many runs of positions.
    pub(super) fn extend_runs(&mut self, runs: usize) {
        let digits = std::mem::take(&mut self.digits);
        for digit in digits.iter().filter(|digit| digit.factors.limb_count() > 1) {
            self.sources(digit.factors, runs);
        }
        self.digits = digits;
    }

    /// The digits extended to the shared basis of a double decomposition.
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

    /// The double decomposition, after the digits were extended.
    pub(super) fn double(
        &mut self,
        shape: &DoubleShape,
        to: Modulus,
        dropped: Modulus,
    ) -> Result<(), RlweError> {
        let rings = self.rings;
        let key_bytes = rings.shared(1)?[0].elementwise().key_bytes(rings.degree());
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
        let [away, kept] = [dropped, to].map(|modulus| {
            shape.run_count(modulus, self.rings.group_size(1, modulus.limb_count(), 1))
        });
        let read = 2 * primes * (away + kept) as u64;
        self.of_size(WordSize::Below48).sources += read;
        self.operations.sum_bytes += 8 * rings.degree() as u64 * read;
        self.sources(dropped, 2 * kept);
        for position in dropped.factors() {
            self.sums(position, primes);
            self.at(dropped, position).passes += 2;
        }
        for position in to.factors() {
            if self.extended.contains(position) {
                self.sums(position, primes);
                self.at(to, position).passes += 2;
                if position >= MAX_FACTORS || dropped.is_one() {
                    self.transform(to, position, |limbs| &mut limbs.forward, 2);
                }
            }
            self.finish(to, position, dropped, true);
        }
        Ok(())
    }

    /// Both sums, converted from the shared basis to a position of `P'Q`.
    fn sums(&mut self, position: usize, primes: u64) {
        let limbs = self.at(self.extended, position);
        limbs.pairs += 2 * primes;
        limbs.targets += 2;
    }

    /// The digits extended to a position of `P'Q`, and their inner product with the key there.
    fn product(&mut self, position: usize) {
        self.extend(position);
        self.inner_product(position);
    }

    /// The digits extended to a position of `P'Q`.
    pub(super) fn extend(&mut self, position: usize) {
        let extended = self.extended;
        let limbs = 8 * (self.rings.degree() * (self.digits.len() - self.wide_digits())) as u64;
        self.operations.digit_bytes = 2 * limbs;
        self.operations.extended_bytes += 3 * limbs;
        let digits = std::mem::take(&mut self.digits);
        for digit in &digits {
            match digit.factors.contains(position) {
                // Modulo a prime it goes with the inner product.
                true => {
                    self.at(extended, position).passes +=
                        u64::from(self.scaled && position >= MAX_FACTORS)
                }
                false => {
                    self.convert_to_transform(digit.factors, extended, position, 1);
                    self.transform(extended, position, |limbs| &mut limbs.forward, 1);
                }
            }
        }
        self.digits = digits;
    }

    /// The inner product of the digits with a key at a position of `P'Q`.
    pub(super) fn inner_product(&mut self, position: usize) {
        let (rings, extended) = (self.rings, self.extended);
        let full = rings.parameters().full();
        let digits = std::mem::take(&mut self.digits);
        let components: u64 = match position {
            Modulus::TWO => digits.iter().map(|digit| digit.blocks).sum(),
            _ => digits.iter().map(|digit| digit.groups).sum(),
        };
        let elementwise = rings.at(full, position).elementwise();
        for i in 0..elementwise.lifted_limbs() {
            let limbs =
                &mut self.operations.limbs[WordSize::of(elementwise.lifted_modulus(i)) as usize];
            limbs.products += digits.len() as u64;
            limbs.repeats += components - digits.len() as u64;
            limbs.sums += 1;
            if position == Modulus::TWO {
                // Digits are embedded and transformed; the two sums are transformed back and
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
        self.operations.key_bytes += components * elementwise.key_bytes(rings.degree()) as u64;
        if !full.agrees(extended, position) {
            // Both sums are reduced, and copied.
            self.at(extended, position).passes += 4;
        }
        self.digits = digits;
    }

    /// The end of the modulus switch, at a position of `Q'`, for both parts; after a double
    /// decomposition, what is subtracted is worked on before it is transformed.
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

    /// What operations take, in bytes that are read from memory in that time.
    fn bytes(operations: Operations) -> f64 {
        let profile = Profile::typical(Kernel::Avx512Ifma);
        1e9 * profile.memory().key_bytes_per_ns * operations.seconds(14, &profile)
    }

    #[test]
    fn what_is_missed_is_read_from_memory() {
        let cache = Profile::typical(Kernel::Avx512Ifma).memory().cache_bytes as u64;
        let none = Operations::default();
        let is = |taken: f64, bytes: f64| (taken / bytes - 1.0).abs() < 1e-9;
        // A key of one cache and polynomials of two: three quarters are missed.
        let key = Operations { key_bytes: cache, polynomial_bytes: 2 * cache, ..none };
        assert!(is(bytes(key), 0.75 * cache as f64));
        // Sums are read as the key is.
        assert!(is(bytes(Operations { sum_bytes: 3 * cache, ..key }), 3.0 * cache as f64));
        // Digits are missed by what they take themselves.
        let digits = Operations { digit_bytes: 3 * cache, extended_bytes: 8 * cache, ..none };
        assert!(is(bytes(digits), 6.0 * cache as f64));
        assert_eq!(bytes(Operations { digit_bytes: cache / 2, ..digits }), 0.0);
    }
}
