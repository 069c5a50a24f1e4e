//! Products of polynomials modulo `2^e`, by way of transforms modulo primes.
//!
//! With coefficients in `[-2^(e-1), 2^(e-1))`, those of a product in `Z[X]/(X^N + 1)` are sums of `N` products of two of them: at most
//! `N 2^(2e-2)` in absolute value, which the product of two polynomials whose coefficients are all `-2^(e-1)` reaches in its last
//! coefficient. So a sum of `d` products is known exactly from its residues modulo distinct primes with product `G` if
//!
//! `d N 2^(2e-2) < G/2`.
//!
//! The primes are just below `2^48`, where transforms are fastest, as many as allow for `d = 2`: one for up to about `2^15` (depending on
//! `N`), two up to `2^39`, three for all. Results do not depend on the choice. The residues of the sum become words modulo `2^e` by an exact
//! base conversion; to leave room for its rounding, `d` is counted for `(1 - 2^-32) G`.

use std::sync::Arc;

use num_bigint::BigUint;

use super::Words;
use crate::{
    Domain, Kernel, RingError,
    convert::BaseConverter,
    elementwise::{Elementwise, KeyLimb},
    ntt::{InverseFactor, NttPlan, check_degree},
    primes,
    scratch::{Scratch, ScratchPool},
};

/// The largest exponent.
const MAX_EXPONENT: u32 = 60;

/// Bits of the primes.
const PRIME_BITS: u32 = 48;

/// Three primes of 48 bits are enough for `N 2^(2e) <= 2^137`.
const MAX_PRIMES: usize = 3;

/// The most products that are summed before an inverse transform.
const MAX_TERMS: usize = 32;

/// The primes that the rings of all exponents share, and their scratch memory.
#[derive(Debug)]
pub(crate) struct EmulationPrimes {
    degree: usize,
    rings: Vec<(NttPlan, Elementwise)>,
    scratch: ScratchPool,
}

impl EmulationPrimes {
    /// As many as products modulo `2^exponent` need.
    ///
    /// # Errors
    /// When the exponent or the degree is not supported.
    pub(crate) fn new(exponent: u32, degree: usize, kernel: Kernel) -> Result<Self, RingError> {
        check_degree(degree)?;
        if !(1..=MAX_EXPONENT).contains(&exponent) {
            return Err(RingError::Exponent { exponent });
        }
        let primes = primes::ntt_primes(PRIME_BITS, degree, MAX_PRIMES, &[])?;
        let rings = primes[..primes_needed(&primes, exponent, degree)]
            .iter()
            .map(|&g| Ok((NttPlan::new(g, degree, kernel)?, Elementwise::new(g, kernel))))
            .collect::<Result<_, RingError>>()?;
        Ok(EmulationPrimes { degree, rings, scratch: ScratchPool::new(degree) })
    }

    /// The primes.
    fn moduli(&self) -> Vec<u64> {
        self.rings.iter().map(|(_, elementwise)| elementwise.modulus()).collect()
    }
}

/// How many products can be summed modulo `primes`: the largest `d` with `d N 2^(2e-1) <= (1 - 2^-32) G`.
fn most_terms(primes: &[u64], exponent: u32, degree: usize) -> usize {
    let product: BigUint = primes.iter().product();
    let room = &product - (&product >> 32u32);
    let terms = room / (BigUint::from(degree) << (2 * exponent - 1));
    usize::try_from(terms).unwrap_or(usize::MAX)
}

/// The least number of `primes` modulo which two products can be summed.
fn primes_needed(primes: &[u64], exponent: u32, degree: usize) -> usize {
    (1..primes.len()).find(|&k| most_terms(&primes[..k], exponent, degree) >= 2).unwrap_or(primes.len())
}

/// Products modulo one `2^e`.
#[derive(Debug, Clone)]
pub(crate) struct Products {
    words: Words,
    shared: Arc<EmulationPrimes>,
    /// How many of the primes are used.
    count: usize,
    /// How many products are summed before an inverse transform.
    terms: usize,
    /// From the primes to `2^e`, and the factors that its inputs take, in the inverse transforms.
    converter: BaseConverter,
    factors: Vec<InverseFactor>,
}

impl Products {
    /// For an exponent up to the one that `shared` was made for.
    pub(crate) fn new(shared: Arc<EmulationPrimes>, exponent: u32, kernel: Kernel) -> Self {
        let moduli = shared.moduli();
        let count = primes_needed(&moduli, exponent, shared.degree);
        let moduli = &moduli[..count];
        let converter = BaseConverter::new(moduli, &[1 << exponent], kernel);
        let factors = (shared.rings.iter().take(count).enumerate())
            .map(|(i, (ntt, _))| ntt.inverse_factor(converter.input_factor(i)))
            .collect();
        Products {
            words: Words::new(exponent, kernel),
            count,
            terms: most_terms(moduli, exponent, shared.degree).min(MAX_TERMS),
            converter,
            factors,
            shared,
        }
    }

    /// The plans and the arithmetic of the primes in use.
    fn rings(&self) -> &[(NttPlan, Elementwise)] {
        &self.shared.rings[..self.count]
    }

    /// Wipes the scratch memory and gives it back.
    pub(crate) fn forget(&self) {
        self.shared.scratch.forget();
    }

    /// `out = a mod g`, with the coefficients of `a` centred, in `[0, g)`; `spare` is overwritten.
    fn embed(&self, elementwise: &Elementwise, out: &mut [u64], a: &[u64], spare: &mut [u64]) {
        let q = 1 << self.words.exponent();
        if q / 2 <= elementwise.modulus() {
            self.words.embed(out, a, elementwise.modulus());
        } else {
            self.words.reduce(spare, a);
            elementwise.reduce_centred(out, spare, q);
        }
    }

    /// Sums of products, `OUTPUTS` of them, of the transforms of `inputs`: `evaluate` computes them modulo one prime, in the evaluation
    /// domain. Limb `i OUTPUTS + j` of what is returned is sum `j` modulo prime `i`, ready for [`Products::finish`]; one more limb is free.
    fn sums<const INPUTS: usize, const OUTPUTS: usize>(
        &self,
        inputs: [&[u64]; INPUTS],
        evaluate: impl Fn(&Elementwise, [&[u64]; INPUTS], [&mut [u64]; OUTPUTS]),
    ) -> Scratch<'_> {
        let degree = self.shared.degree;
        let mut sums = self.shared.scratch.take(self.count * OUTPUTS + 1, Domain::Evaluation);
        let mut scratch = self.shared.scratch.take(INPUTS, Domain::Evaluation);
        let (sums_of_primes, spare) = sums.as_mut_slice().split_at_mut(self.count * OUTPUTS * degree);
        let sums_of_primes = sums_of_primes.chunks_exact_mut(OUTPUTS * degree);
        for (((ntt, elementwise), factor), sums) in self.rings().iter().zip(&self.factors).zip(sums_of_primes)
        {
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

    /// Sets `out` to sum `j` of `outputs` modulo `2^e`.
    fn finish(&self, out: &mut [u64], sums: &[u64], outputs: usize, j: usize) {
        let degree = self.shared.degree;
        let mut residues = [&[][..]; MAX_PRIMES];
        for (i, slot) in residues[..self.count].iter_mut().enumerate() {
            *slot = &sums[(i * outputs + j) * degree..][..degree];
        }
        self.converter.convert_exact(&mut [out], &residues[..self.count]);
    }

    /// Adds sum `j` of `outputs` modulo `2^e` to `acc`. `sums` has one limb more than there are sums, which is overwritten.
    fn finish_add(&self, acc: &mut [u64], sums: &mut [u64], outputs: usize, j: usize) {
        let (sums, spare) = sums.split_at_mut(self.count * outputs * self.shared.degree);
        self.finish(spare, sums, outputs, j);
        self.words.add_assign(acc, spare);
    }

    /// `out = a b`.
    pub(crate) fn mul(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        let sums = self.sums([a, b], |e, [a, b], [c]| e.mul(c, a, b));
        self.finish(out, sums.as_slice(), 1, 0);
    }

    /// `a = a b`.
    pub(crate) fn mul_assign(&self, a: &mut [u64], b: &[u64]) {
        let sums = self.sums([a, b], |e, [a, b], [c]| e.mul(c, a, b));
        self.finish(a, sums.as_slice(), 1, 0);
    }

    /// `acc = acc + a b`.
    pub(crate) fn mul_add_assign(&self, acc: &mut [u64], a: &[u64], b: &[u64]) {
        let mut sums = self.sums([a, b], |e, [a, b], [c]| e.mul(c, a, b));
        self.finish_add(acc, sums.as_mut_slice(), 1, 0);
    }

    /// `c0 = a0 b0`, `c1 = a0 b1 + a1 b0`, `c2 = a1 b1`.
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
        let sums = self.sums([a0, a1, b0, b1], |e, [a0, a1, b0, b1], [c0, c1, c2]| {
            e.tensor(c0, c1, c2, a0, a1, b0, b1);
        });
        for (j, c) in [c0, c1, c2].into_iter().enumerate() {
            self.finish(c, sums.as_slice(), 3, j);
        }
    }

    /// `c0 = a0^2`, `c1 = 2 a0 a1`, `c2 = a1^2`.
    pub(crate) fn square(&self, c0: &mut [u64], c1: &mut [u64], c2: &mut [u64], a0: &[u64], a1: &[u64]) {
        let sums = self.sums([a0, a1], |e, [a0, a1], [c0, c1, c2]| e.square(c0, c1, c2, a0, a1));
        for (j, c) in [c0, c1, c2].into_iter().enumerate() {
            self.finish(c, sums.as_slice(), 3, j);
        }
    }

    /// The pairs `(b_d, a_d)`, transformed, for [`Products::inner_product`]. In the key, the digits modulo one prime come after those modulo another.
    pub(crate) fn prepare_key(&self, pairs: &[(&[u64], &[u64])]) -> KeyLimb {
        let degree = self.shared.degree;
        let mut spare = vec![0; degree];
        let parts = self
            .rings()
            .iter()
            .map(|(ntt, elementwise)| {
                let mut transform = |a: &[u64]| {
                    let mut x = vec![0; degree];
                    self.embed(elementwise, &mut x, a, &mut spare);
                    ntt.forward(&mut x);
                    x
                };
                let pairs: Vec<_> = pairs.iter().map(|(b, a)| (transform(b), transform(a))).collect();
                let pairs: Vec<(&[u64], &[u64])> = pairs.iter().map(|(b, a)| (&b[..], &a[..])).collect();
                elementwise.prepare_key(&pairs)
            })
            .collect();
        KeyLimb::of_parts(parts)
    }

    /// `acc0 = sum x b_d` and `acc1 = sum x a_d` over the pairs `(d, x)` of `digits`.
    pub(crate) fn inner_product(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
    ) {
        let degree = self.shared.degree;
        assert_eq!(key.parts(), self.count, "a switching key is used in the ring that prepared it");
        if digits.is_empty() {
            acc0.fill(0);
            acc1.fill(0);
        }
        for (number, digits) in digits.chunks(self.terms).enumerate() {
            let mut sums = self.shared.scratch.take(2 * self.count + 1, Domain::Evaluation);
            let mut scratch = self.shared.scratch.take(digits.len(), Domain::Evaluation);
            let (sums_of_primes, spare) = sums.as_mut_slice().split_at_mut(2 * self.count * degree);
            let sums_of_primes = sums_of_primes.chunks_exact_mut(2 * degree);
            for (part, ((ntt, elementwise), sums)) in self.rings().iter().zip(sums_of_primes).enumerate() {
                for (x, (_, digit)) in scratch.as_mut_slice().chunks_exact_mut(degree).zip(digits) {
                    self.embed(elementwise, x, digit, spare);
                    ntt.forward_lazy(x);
                }
                let mut transformed = [(0, &[][..]); MAX_TERMS];
                for ((slot, x), (d, _)) in transformed.iter_mut().zip(scratch.limbs()).zip(digits) {
                    *slot = (key.digit_of_part(part, *d), x);
                }
                let (sum0, sum1) = sums.split_at_mut(degree);
                elementwise.inner_product(sum0, sum1, &transformed[..digits.len()], key);
                ntt.inverse_scaled(sum0, &self.factors[part]);
                ntt.inverse_scaled(sum1, &self.factors[part]);
            }
            for (j, acc) in [&mut *acc0, &mut *acc1].into_iter().enumerate() {
                if number == 0 {
                    self.finish(acc, sums.as_slice(), 2, j);
                } else {
                    self.finish_add(acc, sums.as_mut_slice(), 2, j);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound of the module's documentation, in logarithms.
    #[test]
    fn enough_primes_for_every_exponent_and_degree() {
        for log in 4..=17 {
            let degree = 1 << log;
            let primes = primes::ntt_primes(PRIME_BITS, degree, MAX_PRIMES, &[]).unwrap();
            for exponent in 1..=MAX_EXPONENT {
                let count = primes_needed(&primes, exponent, degree);
                let terms = most_terms(&primes[..count], exponent, degree);
                assert!(terms >= 2);
                let sum = (terms.min(MAX_TERMS) as f64).log2() + f64::from(log + 2 * exponent) - 2.0;
                let room: f64 = primes[..count].iter().map(|&g| (g as f64).log2()).sum::<f64>() - 1.0;
                assert!(sum < room, "N = 2^{log}, e = {exponent}");
            }
        }
    }
}
