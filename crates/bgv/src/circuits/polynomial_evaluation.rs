//! Polynomials of ciphertexts, as shallow as can be: baby steps and giant steps (Paterson and
//! Stockmeyer), with sums of products that are relinearised once.
//!
//! **Moduli.** Place `d` of a *chain* is the modulus at which `d` squarings of the argument end.
//! Power `n` is had at place `ceil(log2 n)`, and a polynomial of degree below `2^d` at place `d`:
//! it is split as `q x^m + r` with `m` a power of two below `2^d`, so that `q` and `x^m` are at
//! place `d - 1`; `r` is split in the same way, and the products of all such splits are added up
//! before they are relinearised. What is left in the end, a sum of few powers times constants,
//! costs `log2(t)` bits for its constants where a product costs `log2(t sqrt(N))`.
//!
//! **Factors.** A ciphertext of factor `g'` that holds `x^i` is one of factor `g` that holds `c
//! x^i` once it is multiplied by `c g/g'` modulo `t`. So every sum of powers times constants is had
//! at whatever factor is wanted, and with them every polynomial: those that are multiplied by `x^m`
//! at the factors that make all products of a sum agree. The factors of powers, and of places, are
//! known beforehand.
//!
//! **Limbs.** A sum of powers times constants is needed at a lower place than the powers stand: all
//! but as many limbs as the noise of the constants needs are left out ([`Evaluator::lowered`] says
//! why that is right), and only the sum is switched down.

use std::collections::{BTreeMap, BTreeSet};

use hippocrene_ring::arith::{centred, inv_mod, mul_mod, neg_mod, signed_mod};
use hippocrene_rlwe::{Modulus, Noise};

use super::{
    Polynomial,
    polynomial::trimmed,
    powers::{depth_of, split_power},
    products::ProductSum,
};
use crate::{BgvError, Ciphertext, Evaluator, Scheme, budget_bits, noise};

const OPERATION: &str = "evaluate a polynomial";

/// The memory that small powers may take, each of them at the modulus of the argument and once more
/// further down, in bytes.
const POWERS_MEMORY: usize = 4 << 30;

/// What a product of a sum costs, and what a modulus switch costs, of what relinearisation costs.
const PRODUCT_COST: f64 = 0.2;
const SWITCH_COST: f64 = 0.2;

impl Evaluator {
    /// `p(a)`, slot by slot; without slots, in the ring. For a degree `n` it is `ceil(log2(n + 1))`
    /// products deep, the last of which costs no more than constants do, or `ceil(log2 n)` where
    /// `n` is a power of two whose coefficient is a unit; it takes about `sqrt(2 n)`
    /// relinearisations.
    ///
    /// Its products are those of the evaluator's scheme. The powers that it holds take 4 GiB at
    /// most, or a few ciphertexts: of higher degrees it keeps fewer, and takes more products.
    ///
    /// # Errors
    /// When the plaintext moduli differ, the relinearisation key is missing, or
    /// [`BgvError::Budget`] when the noise would be too large.
    pub fn polynomial(&self, a: &Ciphertext, p: &Polynomial) -> Result<Ciphertext, BgvError> {
        self.check(a, OPERATION)?;
        self.context().check_plain_modulus(p.plain_modulus(), OPERATION)?;
        let t = p.plain_modulus();
        let coefficients = p.coefficients();
        let n = p.degree();
        if n == 0 {
            let zero = self.mul_integer(a, 0)?;
            return self.add_integer(&zero, centred(coefficients[0], t));
        }
        let a = match self.scheme() {
            Scheme::Bgv => self.reduce(a)?,
            Scheme::Bfv => {
                let to = self.modulus_after_scaled(a.modulus(), a.inner().noise().log2_std());
                self.brought(a, to)?.into_owned()
            }
        };
        let lead = inv_mod(coefficients[n], t).filter(|_| n.is_power_of_two());
        let (rest, depth) = match lead {
            Some(_) => (trimmed(&coefficients[..n]), depth_of(n as u64)),
            None => (coefficients, depth_of(n as u64 + 1)),
        };
        let power =
            2 * std::mem::size_of_val(a.inner().part(0).limb(0)) * 2 * a.modulus().limb_count();
        let baby = (1..=depth.max(1))
            .map(|k| 1 << k)
            .filter(|baby| *baby <= 8 || baby * power <= POWERS_MEMORY);
        let baby = baby.min_by(|&x, &y| cost(rest, depth, x).total_cmp(&cost(rest, depth, y)));
        let mut evaluation = Evaluation::new(self, a, depth, baby.unwrap_or(2))?;
        match lead {
            // A power whose factor is divided by the coefficient: it is multiplied by nothing.
            Some(inverse) => {
                let lead = evaluation.lowered(n as u64, depth)?.clone();
                let factor = mul_mod(lead.factor(), inverse, t);
                let mut out = evaluation.sum(rest, depth, factor, Some(lead))?;
                out.set_factor(factor);
                Ok(out)
            }
            None => evaluation.sum(rest, depth, 1, None),
        }
    }
}

/// A polynomial in parts.
struct Parts<'c> {
    /// Polynomials of degree 1 or more, each with the power that it is multiplied by.
    products: Vec<(&'c [u64], u64)>,
    /// Larger powers, times constants.
    high: Vec<(u64, u64)>,
    /// What is left: the constant, and small powers times constants.
    low: &'c [u64],
}

/// Splits a polynomial of degree below `2^depth` whose parts of fewer than `baby` coefficients are
/// sums of powers times constants.
fn split(coefficients: &[u64], depth: u32, baby: usize) -> Parts<'_> {
    let (mut products, mut high, mut low) = (Vec::new(), Vec::new(), coefficients);
    let is_sum = |c: &[u64]| {
        c.len() <= baby && (1..c.len()).all(|i| c[i] == 0 || depth_of(i as u64) < depth)
            || c.len() == 1
    };
    while !is_sum(low) {
        let m = 1usize << (low.len() - 1).ilog2();
        match &low[m..] {
            [constant] => high.push((m as u64, *constant)),
            q => products.push((q, m as u64)),
        }
        low = trimmed(&low[..m]);
    }
    Parts { products, high, low }
}

/// The powers that are multiplied by constants in the last part.
fn small_powers(low: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    (1u64..).zip(&low[1..]).filter(|(_, c)| **c != 0).map(|(i, c)| (i, *c))
}

/// The cost of an evaluation, in relinearisations.
fn cost(coefficients: &[u64], depth: u32, baby: usize) -> f64 {
    fn visit(c: &[u64], depth: u32, baby: usize, powers: &mut BTreeSet<u64>) -> f64 {
        let parts = split(c, depth, baby);
        small_powers(parts.low).chain(parts.high).for_each(|(i, _)| need(i, powers));
        let relinearisation = if parts.products.is_empty() { 0.0 } else { 1.0 };
        let switch = if parts.low.len() > 1 { SWITCH_COST } else { 0.0 };
        let products = parts.products.into_iter().map(|(q, m)| {
            need(m, powers);
            PRODUCT_COST + visit(q, depth - 1, baby, powers)
        });
        products.sum::<f64>() + relinearisation + switch
    }
    fn need(n: u64, powers: &mut BTreeSet<u64>) {
        if n > 1 && powers.insert(n) {
            let (x, y) = split_power(n);
            need(x, powers);
            need(y, powers);
        }
    }
    let mut powers = BTreeSet::new();
    visit(coefficients, depth, baby, &mut powers) + powers.len() as f64 * (1.0 + PRODUCT_COST)
}

struct Evaluation<'a> {
    evaluator: &'a Evaluator,
    /// The modulus of each place.
    chain: Vec<Modulus>,
    /// Sums of powers times constants have fewer coefficients than this.
    baby: usize,
    /// The noise budget of the argument, for errors.
    have: f64,
    powers: BTreeMap<u64, Ciphertext>,
    /// Powers brought to the modulus of a place.
    lowered: BTreeMap<(u64, u32), Ciphertext>,
}

impl<'a> Evaluation<'a> {
    /// Follows `depth` squarings of `a`, as [`Evaluator::mul`] would have them, and checks that
    /// there is noise budget for them.
    fn new(
        evaluator: &'a Evaluator,
        a: Ciphertext,
        depth: u32,
        baby: usize,
    ) -> Result<Self, BgvError> {
        let context = evaluator.context();
        let t = context.plain_modulus();
        let have = a.budget_bits(context);
        let (mut modulus, mut error) = (a.modulus(), a.inner().noise());
        let mut chain = vec![modulus];
        for done in 1..=depth {
            let (product, to) = match evaluator.scheme() {
                Scheme::Bgv => {
                    let product = evaluator.product_noise(error, error);
                    (product, evaluator.modulus_after_product(modulus, product.log2_std()))
                }
                Scheme::Bfv => {
                    let product = evaluator.scaled_product_noise(modulus, error, None)?;
                    (product, evaluator.modulus_after_scaled(modulus, product.log2_std()))
                }
            };
            let scaled = product.scaled(context.log2(to) - context.log2(modulus));
            error = scaled.plus(context.rlwe().key_switch_noise(modulus, to)?);
            modulus = to;
            chain.push(modulus);
            let left = budget_bits(context.log2(modulus), t, error);
            if left <= 0.0 {
                // What is needed is said as if each of the products took as much as those up to
                // here: errors of a modulus that is too small mean nothing.
                let need = (have - left) * f64::from(depth) / f64::from(done);
                return Err(BgvError::Budget { operation: OPERATION, need, have });
            }
        }
        let powers = BTreeMap::from([(1, a)]);
        Ok(Evaluation { evaluator, chain, baby, have, powers, lowered: BTreeMap::new() })
    }

    fn place(&self, depth: u32) -> Modulus {
        self.chain[depth as usize]
    }

    /// The polynomial of degree below `2^depth` at the modulus of place `depth`, of the factor
    /// `factor`, and added to `start` which is there and of that factor if it is given.
    fn sum(
        &mut self,
        coefficients: &[u64],
        depth: u32,
        factor: u64,
        start: Option<Ciphertext>,
    ) -> Result<Ciphertext, BgvError> {
        let (context, t) = (self.evaluator.context(), self.evaluator.context().plain_modulus());
        let parts = split(coefficients, depth, self.baby);
        let mut out = start;
        if !parts.products.is_empty() {
            let from = self.place(depth - 1);
            // -Q g_q g_x is to be the factor that is wanted, or g_q g_x.
            let wanted = match self.evaluator.scheme() {
                Scheme::Bgv => ratio(factor, context.product_factor(from, 1), t),
                Scheme::Bfv => factor,
            };
            let mut sum = ProductSum::new(self.evaluator, from);
            for (q, m) in parts.products {
                let factor = ratio(wanted, self.lowered(m, depth - 1)?.factor(), t);
                let q = self.sum(q, depth - 1, factor, None)?;
                sum.add(&q, self.lowered(m, depth - 1)?)?;
            }
            let products = sum.relinearise(self.place(depth), self.have)?;
            self.add(&mut out, products)?;
        }
        for (m, constant) in parts.high {
            let multiple = self.multiples(&[(m, constant)], depth - 1, depth, factor)?;
            self.add(&mut out, multiple)?;
        }
        let small: Vec<(u64, u64)> = small_powers(parts.low).collect();
        if !small.is_empty() {
            let place = depth_of(self.baby as u64 - 1).min(depth - 1);
            let multiples = self.multiples(&small, place, depth, factor)?;
            self.add(&mut out, multiples)?;
        }
        let Some(mut out) = out else {
            let what = "a polynomial of degree 0 is no ciphertext".into();
            return Err(BgvError::Argument { operation: OPERATION, what });
        };
        self.add_constant(&mut out, parts.low[0], factor)?;
        self.evaluator.check_budget(&out, self.have, OPERATION)?;
        Ok(out)
    }

    /// Adds ciphertexts of one modulus and factor.
    fn add(&self, sum: &mut Option<Ciphertext>, term: Ciphertext) -> Result<(), BgvError> {
        match sum {
            None => *sum = Some(term),
            Some(sum) => {
                self.evaluator.context().rlwe().add_assign(sum.inner_mut(), term.inner())?
            }
        }
        Ok(())
    }

    /// Adds an integer to what has the factor `factor`.
    fn add_constant(&self, a: &mut Ciphertext, constant: u64, factor: u64) -> Result<(), BgvError> {
        let (context, t) = (self.evaluator.context(), self.evaluator.context().plain_modulus());
        let modulus = context.residue(a.modulus());
        // t^(-1) [-Q g c]_t modulo each limb, to which t is coprime.
        let scaled = centred(mul_mod(neg_mod(modulus, t), mul_mod(factor, constant, t), t), t);
        let residue = |q: u64| mul_mod(signed_mod(scaled, q), inv_mod(t % q, q).unwrap_or(0), q);
        Ok(context.rlwe().add_constant_assign(a.inner_mut(), residue)?)
    }

    /// The sum of these powers times constants, from what they are at place `place`, at the modulus
    /// of place `depth` and of the factor `factor`.
    fn multiples(
        &mut self,
        terms: &[(u64, u64)],
        place: u32,
        depth: u32,
        factor: u64,
    ) -> Result<Ciphertext, BgvError> {
        let (e, t) = (self.evaluator, self.evaluator.context().plain_modulus());
        let (context, rlwe) = (e.context(), e.context().rlwe());
        let (base, to) = (self.place(place), self.place(depth));
        let mut expected = Noise::NONE;
        for (n, _) in terms {
            let power = self.lowered(*n, place)?.inner().noise();
            expected = expected.plus(power.scaled(noise::log2_message(t)));
        }
        // The least modulus modulo which the noise, switched down, is that of rounding.
        let need = context.log2(to) + (expected.log2_std() - e.floor().log2_std()).max(0.0);
        let from = context.divisor_at_least(base, need);
        let mut sum = Ciphertext::empty(context);
        let mut error = Noise::NONE;
        for (i, (n, constant)) in terms.iter().enumerate() {
            let power = self.at(*n, place);
            let held = context.dropped_factor(power.factor(), base, from);
            let multiplier = centred(ratio(mul_mod(factor, *constant, t), held, t), t);
            if i == 0 {
                rlwe.reduce_modulus_into(sum.inner_mut(), power.inner(), from)?;
                rlwe.mul_constant_assign(sum.inner_mut(), |q| signed_mod(multiplier, q))?;
            } else {
                rlwe.add_multiple_assign(sum.inner_mut(), power.inner(), |q| {
                    signed_mod(multiplier, q)
                })?;
            }
            error =
                error.plus(noise::grown(power.inner().noise(), multiplier.unsigned_abs() as f64));
        }
        sum.inner_mut().set_noise(error);
        sum.set_factor(factor);
        if from == to {
            return Ok(sum);
        }
        let mut out = Ciphertext::empty(context);
        rlwe.switch_ciphertext_into(out.inner_mut(), sum.inner(), to)?;
        out.set_factor(factor);
        Ok(out)
    }

    /// Power `n` at the modulus of a place.
    fn lowered(&mut self, n: u64, place: u32) -> Result<&Ciphertext, BgvError> {
        self.evaluator.make_power(&mut self.powers, n)?;
        let (power, to) = (&self.powers[&n], self.place(place));
        if power.modulus() != to && !self.lowered.contains_key(&(n, place)) {
            let lowered = self.evaluator.lowered(power, to, OPERATION)?.into_owned();
            self.lowered.insert((n, place), lowered);
        }
        Ok(self.at(n, place))
    }

    /// What [`Evaluation::lowered`] has made.
    fn at(&self, n: u64, place: u32) -> &Ciphertext {
        self.lowered.get(&(n, place)).unwrap_or_else(|| &self.powers[&n])
    }
}

/// `x/y` modulo `t`, for a unit `y`: factors are units, and so are moduli.
fn ratio(x: u64, y: u64, t: u64) -> u64 {
    mul_mod(x, inv_mod(y, t).unwrap_or(0), t)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits add up to the polynomial, and keep below the depth they are given.
    #[test]
    fn parts_are_the_whole_and_no_deeper() {
        const T: u64 = 97;
        fn value(c: &[u64], depth: u32, baby: usize, x: u64) -> u64 {
            let power = |n: u64| hippocrene_ring::arith::pow_mod(x, n, T);
            let parts = split(c, depth, baby);
            let mut sum = parts.low[0];
            for (n, c) in small_powers(parts.low).chain(parts.high) {
                assert!(depth_of(n) < depth);
                sum += mul_mod(c, power(n), T);
            }
            for (q, m) in parts.products {
                assert!(depth_of(m) < depth && q.len() > 1);
                sum += mul_mod(value(q, depth - 1, baby, x), power(m), T);
            }
            sum % T
        }
        for n in 1..70usize {
            for sparse in [1, 2, 5] {
                let c: Vec<u64> = (0..=n as u64)
                    .map(|i| (i * i + 3) % T * u64::from(i % sparse == n as u64 % sparse))
                    .collect();
                let c = trimmed(&c);
                let depth = depth_of(c.len() as u64);
                for baby in [2, 4, 8, 64] {
                    let expected = c.iter().rev().fold(0, |sum, c| (sum * 5 + c) % T);
                    assert_eq!(value(c, depth, baby, 5), expected, "{n} {sparse} {baby}");
                }
            }
        }
    }

    #[test]
    fn relinearisations_are_about_the_root_of_twice_the_degree() {
        for log in [4u32, 8, 12] {
            let c = vec![1; 1 << log];
            let least = (1..=log).map(|k| cost(&c, log, 1 << k)).fold(f64::INFINITY, f64::min);
            assert!(least < 2.0 * f64::from(1 << (log + 1)).sqrt(), "{log}: {least}");
        }
    }
}
