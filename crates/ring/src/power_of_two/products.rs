//! Products of polynomials modulo `2^e`, by transforms modulo primes.
//!
//! With coefficients in `[-2^(e-1), 2^(e-1))`, the coefficients of a product in `Z[X]/(X^N + 1)`
//! are sums of `N` products of two of them. They are at most `N 2^(2e-2)` in absolute value. (The
//! product of two polynomials whose coefficients are all `-2^(e-1)` reaches this bound in its last
//! coefficient.) So a sum of `d` products is known exactly from its residues modulo distinct primes
//! with product `G` if
//!
//! `d N 2^(2e-2) < G/2`.
//!
//! The primes are the cheapest choice that allows `d = 2`, in this order:
//!
//! - one prime just below `2^48`, where transforms are fastest (up to about `e = 15`, depending on
//!   `N`);
//! - one prime just below `2^61` (up to about `e = 21`), except for AVX2;
//! - two primes just below `2^48` (up to about `e = 39`);
//! - three primes just below `2^48` (for all `e`).
//!
//! Results do not depend on the choice. An exact base conversion turns the residues of the sum into
//! words modulo `2^e`. To leave room for its rounding, `d` is computed for `(1 - 2^-32) G`.

use std::{ops::RangeInclusive, sync::Arc};

use arrayvec::ArrayVec;
use num_bigint::BigUint;

use crate::{
    Domain, Kernel, RingError,
    convert::BaseConverter,
    elementwise::{Elementwise, KeyLimb, KeyRing, PairTerm},
    ntt::{InverseFactor, check_degree},
    odd::OddRing,
    primes,
    scratch::{Scratch, ScratchPool},
    words::Words,
};

/// The maximum number of primes. Three primes of 48 bits are enough for `N 2^(2e) <= 2^137`.
const MAX_PRIMES: usize = 3;

/// The maximum number of products that are summed before an inverse transform (chosen).
const MAX_TERMS: usize = 32;

/// Returns the possible sets of primes for one degree, the cheapest first.
fn prime_choices(degree: usize, kernel: Kernel) -> Result<Vec<Vec<u64>>, RingError> {
    let narrow = primes::ntt_primes(48, degree, MAX_PRIMES, &[])?;
    let mut prime_choices = vec![narrow[..1].to_vec(), narrow[..2].to_vec(), narrow];
    // AVX2 has fast transforms only below 2^50.
    if kernel != Kernel::Avx2 {
        prime_choices.insert(1, primes::ntt_primes(61, degree, 1, &[])?);
    }
    Ok(prime_choices)
}

/// Returns the first set of primes that suffices for an exponent.
fn cheapest_primes(prime_choices: &[Vec<u64>], exponent: u32, degree: usize) -> &[u64] {
    let allowed = |primes: &&Vec<u64>| max_terms(primes, exponent, degree) >= 2;
    prime_choices.iter().find(allowed).expect("three primes are enough for every exponent")
}

/// Returns the maximum number of products that can be summed modulo `primes`: the largest `d` with
/// `d N 2^(2e-1) <= (1 - 2^-32) G`.
fn max_terms(primes: &[u64], exponent: u32, degree: usize) -> usize {
    let product: BigUint = primes.iter().product();
    let bound = &product - (&product >> 32u32);
    let terms = bound / (BigUint::from(degree) << (2 * exponent - 1));
    usize::try_from(terms).unwrap_or(usize::MAX)
}

/// The transforms and the scratch memory that the rings of several exponents share.
#[derive(Debug)]
pub(crate) struct Emulation {
    degree: usize,
    kernel: Kernel,
    prime_choices: Vec<Vec<u64>>,
    rings: Vec<OddRing>,
    scratch: ScratchPool,
}

impl Emulation {
    /// Prepares products modulo `2^e` for all `e` in `exponents`.
    ///
    /// # Errors
    /// If an exponent or the degree is not supported.
    pub(crate) fn new(
        mut exponents: RangeInclusive<u32>,
        degree: usize,
        kernel: Kernel,
    ) -> Result<Self, RingError> {
        check_degree(degree)?;
        if let Some(exponent) =
            [*exponents.start(), *exponents.end()].into_iter().find(|e| !(1..=60).contains(e))
        {
            return Err(RingError::Exponent { exponent });
        }
        let scratch = ScratchPool::new(degree);
        let mut emulation = Emulation {
            degree,
            kernel,
            prime_choices: prime_choices(degree, kernel)?,
            rings: Vec::new(),
            scratch,
        };
        exponents.try_for_each(|exponent| emulation.prepare(exponent))?;
        Ok(emulation)
    }

    /// Returns the primes for an exponent.
    fn cheapest_primes(&self, exponent: u32) -> &[u64] {
        cheapest_primes(&self.prime_choices, exponent, self.degree)
    }

    /// Makes the rings of an exponent's primes that do not exist yet.
    fn prepare(&mut self, exponent: u32) -> Result<(), RingError> {
        for g in self.cheapest_primes(exponent).to_vec() {
            if self.rings.iter().all(|ring| ring.elementwise.modulus() != g) {
                self.rings.push(OddRing::new(&[g], self.degree, self.kernel)?);
            }
        }
        Ok(())
    }
}

/// Products modulo one `2^e`.
#[derive(Debug, Clone)]
pub(crate) struct Products {
    words: Words,
    shared: Arc<Emulation>,
    /// The primes, and the indices of their rings in `shared`.
    primes: Vec<u64>,
    rings: Vec<usize>,
    /// The maximum number of products that are summed before an inverse transform.
    terms: usize,
    /// The conversion from the primes to `2^e`, and its input factors, which the inverse transforms
    /// multiply by.
    converter: BaseConverter,
    factors: Vec<InverseFactor>,
}

impl Products {
    /// Makes the products of one of the exponents that `shared` was made for.
    pub(crate) fn new(shared: Arc<Emulation>, exponent: u32) -> Self {
        let primes = shared.cheapest_primes(exponent);
        let converter = BaseConverter::new(primes, &[1 << exponent], shared.kernel);
        let number =
            |g: &u64| shared.rings.iter().position(|ring| ring.elementwise.modulus() == *g);
        let rings: Vec<usize> = primes.iter().filter_map(number).collect();
        assert_eq!(rings.len(), primes.len(), "the exponent is among those of the emulation");
        let factor = |(i, ring): (usize, &usize)| {
            shared.rings[*ring].ntt.inverse_factor(converter.input_factor(i))
        };
        let factors = rings.iter().enumerate().map(factor).collect();
        let terms = max_terms(primes, exponent, shared.degree).min(MAX_TERMS);
        Products {
            words: Words::new(exponent, shared.kernel),
            primes: primes.to_vec(),
            rings,
            terms,
            converter,
            factors,
            shared,
        }
    }

    /// Returns the rings in use, each with the factor of its inverse transforms.
    fn rings(&self) -> impl Iterator<Item = (&OddRing, &InverseFactor)> {
        self.rings.iter().map(|&ring| &self.shared.rings[ring]).zip(&self.factors)
    }

    /// Wipes and frees the scratch memory.
    pub(crate) fn wipe_scratch(&self) {
        self.shared.scratch.wipe_scratch();
    }

    /// Sets `out = a mod g` in `[0, g)` for the centred coefficients of `a`, and overwrites
    /// `spare`.
    fn embed(&self, elementwise: &Elementwise, out: &mut [u64], a: &[u64], spare: &mut [u64]) {
        let q = self.words.modulus();
        if q / 2 <= elementwise.modulus() {
            self.words.embed(out, a, elementwise.modulus());
        } else {
            self.words.reduce(spare, a);
            elementwise.reduce_centred(out, spare, q);
        }
    }

    /// Computes `OUTPUTS` sums of products of the transforms of `inputs`.
    ///
    /// `evaluate` computes them modulo one prime, in the evaluation domain. Limb `i OUTPUTS + j` of
    /// the result is sum `j` modulo prime `i`, ready for [`Products::finish`]. One more limb is
    /// free.
    fn sums_of_products<const INPUTS: usize, const OUTPUTS: usize>(
        &self,
        inputs: [&[u64]; INPUTS],
        evaluate: impl Fn(&Elementwise, [&[u64]; INPUTS], [&mut [u64]; OUTPUTS]),
    ) -> Scratch<'_> {
        let degree = self.shared.degree;
        let mut sums = self.shared.scratch.take(self.rings.len() * OUTPUTS + 1, Domain::Evaluation);
        let mut scratch = self.shared.scratch.take(INPUTS, Domain::Evaluation);
        let (sums_of_primes, spare) =
            sums.as_mut_slice().split_at_mut(self.rings.len() * OUTPUTS * degree);
        let sums_of_primes = sums_of_primes.chunks_exact_mut(OUTPUTS * degree);
        for ((OddRing { ntt, elementwise, .. }, factor), sums) in self.rings().zip(sums_of_primes) {
            for (x, a) in scratch.as_mut_slice().chunks_exact_mut(degree).zip(inputs) {
                self.embed(elementwise, x, a, spare);
                ntt.forward(x);
            }
            let (mut inputs, mut outputs) = (scratch.limbs(), sums.chunks_exact_mut(degree));
            let transformed = std::array::from_fn(|_| inputs.next().unwrap_or_default());
            let products = std::array::from_fn(|_| outputs.next().unwrap_or_default());
            evaluate(elementwise, transformed, products);
            for sum in sums.chunks_exact_mut(degree) {
                ntt.inverse_scaled(sum, factor);
            }
        }
        sums
    }

    /// Sets `out` to sum `j` of `outputs` sums, modulo `2^e`.
    fn finish(&self, out: &mut [u64], sums: &[u64], outputs: usize, j: usize) {
        let degree = self.shared.degree;
        let mut residues = [&[][..]; MAX_PRIMES];
        for (i, slot) in residues[..self.rings.len()].iter_mut().enumerate() {
            *slot = &sums[(i * outputs + j) * degree..][..degree];
        }
        self.converter.convert_exact(&mut [out], &residues[..self.rings.len()]);
    }

    /// Adds sum `j` of `outputs` sums to `acc`, modulo `2^e`.
    ///
    /// `sums` has one limb more than there are sums, which is overwritten.
    fn finish_add(&self, acc: &mut [u64], sums: &mut [u64], outputs: usize, j: usize) {
        let (sums, spare) = sums.split_at_mut(self.rings.len() * outputs * self.shared.degree);
        self.finish(spare, sums, outputs, j);
        self.words.add_assign(acc, spare);
    }

    /// Stores the two sums modulo `2^e` in `accs` if they are the first, and adds them otherwise.
    ///
    /// `sums` has the same shape as in [`Products::finish_add`].
    fn finish_pair(&self, accs: [&mut [u64]; 2], sums: &mut [u64], are_first: bool) {
        for (j, acc) in accs.into_iter().enumerate() {
            match are_first {
                true => self.finish(acc, sums, 2, j),
                false => self.finish_add(acc, sums, 2, j),
            }
        }
    }

    /// Sets `out = a b`.
    pub(crate) fn mul(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        let sums = self.sums_of_products([a, b], |e, [a, b], [c]| e.mul(c, a, b));
        self.finish(out, sums.as_slice(), 1, 0);
    }

    /// Sets `a = a b`.
    pub(crate) fn mul_assign(&self, a: &mut [u64], b: &[u64]) {
        let sums = self.sums_of_products([a, b], |e, [a, b], [c]| e.mul(c, a, b));
        self.finish(a, sums.as_slice(), 1, 0);
    }

    /// Sets `acc = acc + a b`.
    pub(crate) fn mul_add_assign(&self, acc: &mut [u64], a: &[u64], b: &[u64]) {
        let mut sums = self.sums_of_products([a, b], |e, [a, b], [c]| e.mul(c, a, b));
        self.finish_add(acc, sums.as_mut_slice(), 1, 0);
    }

    /// Sets `c0 = a0 b0`, `c1 = a0 b1 + a1 b0`, `c2 = a1 b1`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn tensor(
        &self,
        c0: &mut [u64],
        c1: &mut [u64],
        c2: &mut [u64],
        a0: &[u64],
        a1: &[u64],
        b0: &[u64],
        b1: &[u64],
    ) {
        let sums = self.sums_of_products([a0, a1, b0, b1], |e, [a0, a1, b0, b1], [c0, c1, c2]| {
            e.tensor(c0, c1, c2, a0, a1, b0, b1);
        });
        for (j, c) in [c0, c1, c2].into_iter().enumerate() {
            self.finish(c, sums.as_slice(), 3, j);
        }
    }

    /// Sets `c0 = a0^2`, `c1 = 2 a0 a1`, `c2 = a1^2`.
    pub(crate) fn square(
        &self,
        c0: &mut [u64],
        c1: &mut [u64],
        c2: &mut [u64],
        a0: &[u64],
        a1: &[u64],
    ) {
        let sums = self
            .sums_of_products([a0, a1], |e, [a0, a1], [c0, c1, c2]| e.square(c0, c1, c2, a0, a1));
        for (j, c) in [c0, c1, c2].into_iter().enumerate() {
            self.finish(c, sums.as_slice(), 3, j);
        }
    }

    /// Sets `acc0 = sum x y0` and `acc1 = sum x y1` over the terms `(x, [y0, y1])`, all in the form
    /// of [`Products::lift`].
    pub(crate) fn sum_products(&self, acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]) {
        self.sum_pairs(acc0, acc1, terms, Elementwise::sum_products);
    }

    /// Computes [`Products::sum_products`] for `x` that hold each repeated value of a limb only
    /// once.
    pub(crate) fn sum_repeated_products(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        terms: &[PairTerm<'_>],
    ) {
        self.sum_pairs(acc0, acc1, terms, Elementwise::sum_repeated_products);
    }

    /// Computes sums of products with pairs. `sum` computes them modulo one prime.
    fn sum_pairs(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        terms: &[PairTerm<'_>],
        sum: impl Fn(&Elementwise, &mut [u64], &mut [u64], &[PairTerm<'_>]),
    ) {
        self.sum_lifted([acc0, acc1], terms.iter(), |part, elementwise, [sum0, sum1], terms| {
            let limb = |lifted| self.lifted_limb(lifted, part);
            let of_part: ArrayVec<PairTerm, MAX_TERMS> =
                terms.iter().map(|(x, pair)| (limb(x), pair.map(limb))).collect();
            sum(elementwise, sum0, sum1, &of_part);
        });
    }

    /// Returns the shape of a key whose pairs `(b_d, a_d)` are transformed for
    /// [`Products::inner_product`].
    ///
    /// The digits modulo one prime are stored after those modulo another.
    pub(crate) fn key_shape(&self, digits: usize, length: usize) -> KeyLimb {
        let first = &self.shared.rings[self.rings[0]].elementwise;
        first.key_shape(digits, length).in_parts(self.rings.len())
    }

    /// See [`KeyRing::write_key_digit`].
    pub(crate) fn write_key_digit(&self, out: &mut [u8], place: [usize; 2], b: &[u64], a: &[u64]) {
        let mut scratch = self.shared.scratch.take(3, Domain::Coefficient);
        let (x, spare) = scratch.as_mut_slice().split_at_mut(2 * self.shared.degree);
        let (transformed_b, transformed_a) = x.split_at_mut(self.shared.degree);
        let part_bytes = out.len() / self.rings.len();
        for ((OddRing { ntt, elementwise, .. }, _), out) in
            self.rings().zip(out.chunks_exact_mut(part_bytes))
        {
            for (x, poly) in [(&mut *transformed_b, b), (&mut *transformed_a, a)] {
                self.embed(elementwise, x, poly, spare);
                ntt.forward(x);
            }
            elementwise.write_key_digit(out, place, transformed_b, transformed_a);
        }
    }

    /// Returns limb `i` of the output of [`Products::lift`], or of the shorter form in which values
    /// repeat.
    fn lifted_limb<'a>(&self, lifted: &'a [u64], i: usize) -> &'a [u64] {
        let words = lifted.len() / self.rings.len();
        assert_eq!(
            words * self.rings.len(),
            lifted.len(),
            "lifted polynomials must have a limb for each prime"
        );
        &lifted[i * words..][..words]
    }

    /// Returns the primes. [`Products::lift`] writes a limb for each of them.
    pub(crate) fn primes(&self) -> &[u64] {
        &self.primes
    }

    /// Returns the primes that `kernel` would compute products modulo.
    pub(crate) fn primes_by(&self, kernel: Kernel) -> Vec<u64> {
        let (degree, exponent) = (self.shared.degree, self.words.modulus().ilog2());
        if kernel == self.shared.kernel {
            return self.primes.clone();
        }
        let prime_choices =
            prime_choices(degree, kernel).expect("the rings of this degree were made");
        cheapest_primes(&prime_choices, exponent, degree).to_vec()
    }

    /// Returns the bytes of each digit of a key, modulo all primes.
    pub(crate) fn key_bytes(&self, length: usize) -> usize {
        self.rings().map(|(ring, _)| ring.elementwise.key_bytes(length)).sum()
    }

    /// Sets `out` to the transforms of `a` modulo the primes, each reduced.
    pub(crate) fn lift(&self, out: &mut [u64], a: &[u64]) {
        let degree = self.shared.degree;
        assert_eq!(
            out.len(),
            self.rings.len() * degree,
            "lifted polynomials must have a limb for each prime"
        );
        let mut spare = self.shared.scratch.take(1, Domain::Coefficient);
        for ((OddRing { ntt, elementwise, .. }, _), out) in
            self.rings().zip(out.chunks_exact_mut(degree))
        {
            self.embed(elementwise, out, a, spare.limb_mut(0));
            ntt.forward(out);
        }
    }

    /// Sets `acc0 = sum x b_d` and `acc1 = sum x a_d` over the pairs `(d, x)` of `digits`.
    pub(crate) fn inner_product(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
    ) {
        let words = self.rings.len() * self.shared.degree;
        let mut scratch =
            self.shared.scratch.take(self.rings.len() * digits.len(), Domain::Evaluation);
        for (out, (_, digit)) in scratch.as_mut_slice().chunks_exact_mut(words).zip(digits) {
            self.lift(out, digit);
        }
        let lifted = scratch.as_slice().chunks_exact(words).zip(digits).map(|(x, (d, _))| (*d, x));
        self.inner_product_of(acc0, acc1, lifted, key);
    }

    /// Computes [`Products::inner_product`] of digits in the form of [`Products::lift`].
    pub(crate) fn inner_product_lifted(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
    ) {
        self.inner_product_of(acc0, acc1, digits.iter().copied(), key);
    }

    fn inner_product_of<'a>(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: impl Iterator<Item = (usize, &'a [u64])>,
        key: &KeyLimb,
    ) {
        assert_eq!(
            key.parts(),
            self.rings.len(),
            "a switching key must be used in the ring that prepared it"
        );
        self.sum_lifted([acc0, acc1], digits, |part, elementwise, [sum0, sum1], digits| {
            let of_part: ArrayVec<(usize, &[u64]), MAX_TERMS> = digits
                .iter()
                .map(|(d, x)| (key.digit_of_part(part, *d), self.lifted_limb(x, part)))
                .collect();
            elementwise.inner_product(sum0, sum1, &of_part, key);
        });
    }

    /// Computes two sums of products of polynomials in the form of [`Products::lift`].
    ///
    /// It sums as many terms at a time as the primes allow. `evaluate` computes the sums of some
    /// terms modulo the prime with the given index.
    fn sum_lifted<T>(
        &self,
        [acc0, acc1]: [&mut [u64]; 2],
        mut terms: impl Iterator<Item = T>,
        evaluate: impl Fn(usize, &Elementwise, [&mut [u64]; 2], &[T]),
    ) {
        let degree = self.shared.degree;
        let mut sums = self.shared.scratch.take(2 * self.rings.len() + 1, Domain::Evaluation);
        for number in 0.. {
            let some: ArrayVec<T, MAX_TERMS> = terms.by_ref().take(self.terms).collect();
            if some.is_empty() {
                if number == 0 {
                    acc0.fill(0);
                    acc1.fill(0);
                }
                return;
            }
            let sums_of_primes = sums.as_mut_slice().chunks_exact_mut(2 * degree);
            for (part, ((ring, factor), sums)) in self.rings().zip(sums_of_primes).enumerate() {
                let OddRing { ntt, elementwise, .. } = ring;
                let (sum0, sum1) = sums.split_at_mut(degree);
                evaluate(part, elementwise, [&mut *sum0, &mut *sum1], &some);
                ntt.inverse_scaled(sum0, factor);
                ntt.inverse_scaled(sum1, factor);
            }
            self.finish_pair([&mut *acc0, &mut *acc1], sums.as_mut_slice(), number == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The primes satisfy the bound of the module's documentation.
    #[test]
    fn enough_primes_for_every_exponent_and_degree() {
        for log in 4..=17 {
            let degree = 1 << log;
            let emulation = Emulation::new(1..=60, degree, Kernel::Portable).unwrap();
            for exponent in 1..=60 {
                let primes = emulation.cheapest_primes(exponent);
                let terms = max_terms(primes, exponent, degree);
                assert!(terms >= 2);
                let sum =
                    (terms.min(MAX_TERMS) as f64).log2() + f64::from(log + 2 * exponent) - 2.0;
                let bound: f64 = primes.iter().map(|&g| (g as f64).log2()).sum::<f64>() - 1.0;
                assert!(sum < bound, "N = 2^{log}, e = {exponent}");
            }
        }
    }
}
