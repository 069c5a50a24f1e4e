//! Polynomials of ciphertexts at the least depth, by baby steps and giant steps (Paterson and
//! Stockmeyer), with sums of products that are relinearised once.
//!
//! **Moduli.** The *chain* lists one modulus for each depth. Its modulus `d` is the one at which
//! `d` squarings of the argument end. Power `n` is available at depth `ceil(log2 n)`, and a
//! polynomial of degree below `2^d` at depth `d`. Such a polynomial is split as `q x^m + r`, where
//! `m` is a power of two below `2^d`, so that `q` and `x^m` have depth `d - 1`. Then `r` is split
//! in the same way. The products of all splits are added up before they are relinearised. The
//! remainder is a sum of a few powers times constants. It costs `log2(t)` bits for its constants,
//! while a product costs `log2(t sqrt(N))` bits.
//!
//! **Factors.** If a ciphertext of factor `g'` holds `x^i`, multiplying it by `c g/g'` modulo `t`
//! gives a ciphertext of factor `g` that holds `c x^i`. Every sum of powers times constants can
//! therefore be computed with any factor, and so can every polynomial. The polynomials that are
//! multiplied by `x^m` get the factors that make all products of a sum agree. The factors of the
//! powers, and of products at each depth, are known in advance.
//!
//! **Limbs.** A sum of powers times constants is needed at a smaller modulus than that of its
//! powers. Only as many limbs are kept as the noise of the constants needs ([`Evaluator::lowered`]
//! explains why this is right). Only the sum is switched down.

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

/// Maximum memory of the small powers in bytes (chosen). Each power counts twice: at the modulus of
/// the argument and at a smaller one.
const MAX_POWERS_BYTES: usize = 4 << 30;

/// Estimated cost of one product of a sum, in relinearisations.
const PRODUCT_COST_IN_RELINEARISATIONS: f64 = 0.2;

/// Estimated cost of one modulus switch, in relinearisations.
const SWITCH_COST_IN_RELINEARISATIONS: f64 = 0.2;

impl Evaluator {
    /// Evaluates `p(a)`, slot by slot. If `t` gives no slots, it evaluates `p` in the ring.
    ///
    /// For a degree `n` the depth is `ceil(log2(n + 1))` products, and the last one costs no more
    /// noise budget than constants do. If `n` is a power of two whose coefficient is a unit, the
    /// depth is `ceil(log2 n)` products. About `sqrt(2 n)` relinearisations are needed.
    ///
    /// The products use the scheme of the evaluator. The powers that are held take at most 4 GiB,
    /// or a few ciphertexts if that is more. For high degrees fewer powers are held, and more
    /// products are computed.
    ///
    /// # Errors
    /// Returns an error if the plaintext moduli differ or the relinearisation key is missing, and
    /// [`BgvError::Budget`] if the noise would be too large.
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
                self.at_modulus(a, to)?.into_owned()
            }
        };
        let lead = inv_mod(coefficients[n], t).filter(|_| n.is_power_of_two());
        let (rest, depth) = match lead {
            Some(_) => (trimmed(&coefficients[..n]), depth_of(n as u64)),
            None => (coefficients, depth_of(n as u64 + 1)),
        };
        let power_bytes =
            2 * std::mem::size_of_val(a.inner().part(0).limb(0)) * 2 * a.modulus().limb_count();
        let baby = (1..=depth.max(1))
            .map(|k| 1 << k)
            .filter(|baby| *baby <= 8 || baby * power_bytes <= MAX_POWERS_BYTES);
        let baby = baby.min_by(|&x, &y| cost(rest, depth, x).total_cmp(&cost(rest, depth, y)));
        let mut evaluation = Evaluation::new(self, a, depth, baby.unwrap_or(2))?;
        match lead {
            // The power's factor is divided by the coefficient instead of multiplying the
            // ciphertext.
            Some(inverse) => {
                let lead = evaluation.make_power_at(n as u64, depth)?.clone();
                let factor = mul_mod(lead.factor(), inverse, t);
                let mut out = evaluation.evaluate(rest, depth, factor, Some(lead))?;
                out.set_factor(factor);
                Ok(out)
            }
            None => evaluation.evaluate(rest, depth, 1, None),
        }
    }
}

/// A polynomial that is split into parts.
struct Parts<'c> {
    /// Polynomials of degree 1 or more, each with the exponent of the power that it is multiplied
    /// by.
    products: Vec<(&'c [u64], u64)>,
    /// The exponents of larger powers, each with the constant that it is multiplied by.
    high: Vec<(u64, u64)>,
    /// The remainder: the constant, and small powers times constants.
    low: &'c [u64],
}

/// Splits a polynomial of degree below `2^depth`. The parts of at most `baby` coefficients are sums
/// of powers times constants.
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

/// The exponents of the powers in the remainder, each with its constant.
fn small_powers(low: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    (1u64..).zip(&low[1..]).filter(|(_, c)| **c != 0).map(|(i, c)| (i, *c))
}

/// The cost of an evaluation, in relinearisations.
fn cost(coefficients: &[u64], depth: u32, baby: usize) -> f64 {
    fn visit(c: &[u64], depth: u32, baby: usize, powers: &mut BTreeSet<u64>) -> f64 {
        let parts = split(c, depth, baby);
        small_powers(parts.low).chain(parts.high).for_each(|(i, _)| need(i, powers));
        let relinearisation = if parts.products.is_empty() { 0.0 } else { 1.0 };
        let switch = if parts.low.len() > 1 { SWITCH_COST_IN_RELINEARISATIONS } else { 0.0 };
        let products = parts.products.into_iter().map(|(q, m)| {
            need(m, powers);
            PRODUCT_COST_IN_RELINEARISATIONS + visit(q, depth - 1, baby, powers)
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
    visit(coefficients, depth, baby, &mut powers)
        + powers.len() as f64 * (1.0 + PRODUCT_COST_IN_RELINEARISATIONS)
}

struct Evaluation<'a> {
    evaluator: &'a Evaluator,
    /// The modulus for each depth.
    chain: Vec<Modulus>,
    /// The maximum number of coefficients of a sum of powers times constants.
    baby: usize,
    /// The noise budget of the argument in bits, for errors.
    have: f64,
    powers: BTreeMap<u64, Ciphertext>,
    /// Powers that were brought to a smaller modulus, by exponent and depth.
    lowered: BTreeMap<(u64, u32), Ciphertext>,
}

impl<'a> Evaluation<'a> {
    /// Follows the noise of `depth` squarings of `a`, as computed by [`Evaluator::mul`], and checks
    /// that there is noise budget for them.
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
                // The budget that all products need is estimated from those so far, as if each
                // needed the same. The rest cannot be computed: noise estimates mean nothing after
                // the budget is used up.
                let need = (have - left) * f64::from(depth) / f64::from(done);
                return Err(BgvError::Budget { operation: OPERATION, need, have });
            }
        }
        let powers = BTreeMap::from([(1, a)]);
        Ok(Evaluation { evaluator, chain, baby, have, powers, lowered: BTreeMap::new() })
    }

    fn modulus_at(&self, depth: u32) -> Modulus {
        self.chain[depth as usize]
    }

    /// Evaluates a polynomial of degree below `2^depth` at the modulus of `depth`, with the factor
    /// `factor`. If `start` is given, it must have that modulus and factor, and the polynomial is
    /// added to it.
    fn evaluate(
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
            let from = self.modulus_at(depth - 1);
            // For BGV, -Q g_q g_x must be the requested factor. For BFV, g_q g_x must be.
            let product_factor = match self.evaluator.scheme() {
                Scheme::Bgv => ratio(factor, context.product_factor(from, 1), t),
                Scheme::Bfv => factor,
            };
            let mut sum = ProductSum::new(self.evaluator, from);
            for (q, m) in parts.products {
                let factor = ratio(product_factor, self.make_power_at(m, depth - 1)?.factor(), t);
                let q = self.evaluate(q, depth - 1, factor, None)?;
                sum.add(&q, self.make_power_at(m, depth - 1)?)?;
            }
            let products = sum.relinearise(self.modulus_at(depth), self.have)?;
            self.add(&mut out, products)?;
        }
        for (m, constant) in parts.high {
            let multiple = self.sum_of_multiples(&[(m, constant)], depth - 1, depth, factor)?;
            self.add(&mut out, multiple)?;
        }
        let small: Vec<(u64, u64)> = small_powers(parts.low).collect();
        if !small.is_empty() {
            let power_depth = depth_of(self.baby as u64 - 1).min(depth - 1);
            let multiples = self.sum_of_multiples(&small, power_depth, depth, factor)?;
            self.add(&mut out, multiples)?;
        }
        let Some(mut out) = out else {
            let what = "a polynomial of degree 0 has no ciphertext".into();
            return Err(BgvError::Argument { operation: OPERATION, what });
        };
        self.add_constant(&mut out, parts.low[0], factor)?;
        self.evaluator.check_budget(&out, self.have, OPERATION)?;
        Ok(out)
    }

    /// Adds two ciphertexts of the same modulus and factor.
    fn add(&self, sum: &mut Option<Ciphertext>, term: Ciphertext) -> Result<(), BgvError> {
        match sum {
            None => *sum = Some(term),
            Some(sum) => {
                self.evaluator.context().rlwe().add_assign(sum.inner_mut(), term.inner())?
            }
        }
        Ok(())
    }

    /// Adds an integer to a ciphertext of the factor `factor`.
    fn add_constant(&self, a: &mut Ciphertext, constant: u64, factor: u64) -> Result<(), BgvError> {
        let (context, t) = (self.evaluator.context(), self.evaluator.context().plain_modulus());
        let modulus = context.residue(a.modulus());
        // This is t^(-1) [-Q g c]_t modulo each limb. t is coprime to every limb.
        let scaled = centred(mul_mod(neg_mod(modulus, t), mul_mod(factor, constant, t), t), t);
        let residue = |q: u64| mul_mod(signed_mod(scaled, q), inv_mod(t % q, q).unwrap_or(0), q);
        Ok(context.rlwe().add_constant_assign(a.inner_mut(), residue)?)
    }

    /// Returns the sum of powers times constants, at the modulus of `depth` and with the factor
    /// `factor`. The powers are used at the modulus of `power_depth`.
    fn sum_of_multiples(
        &mut self,
        terms: &[(u64, u64)],
        power_depth: u32,
        depth: u32,
        factor: u64,
    ) -> Result<Ciphertext, BgvError> {
        let (e, t) = (self.evaluator, self.evaluator.context().plain_modulus());
        let (context, rlwe) = (e.context(), e.context().rlwe());
        let (base, to) = (self.modulus_at(power_depth), self.modulus_at(depth));
        let mut expected = Noise::NONE;
        for (n, _) in terms {
            let power = self.make_power_at(*n, power_depth)?.inner().noise();
            expected = expected.plus(power.scaled(noise::log2_message(t)));
        }
        // The smallest modulus whose noise becomes that of rounding after the switch.
        let need = context.log2(to) + (expected.log2_std() - e.floor().log2_std()).max(0.0);
        let from = context.divisor_at_least(base, need);
        let mut sum = Ciphertext::empty(context);
        let mut error = Noise::NONE;
        for (i, (n, constant)) in terms.iter().enumerate() {
            let power = self.power_at(*n, power_depth);
            let power_factor = context.dropped_factor(power.factor(), base, from);
            let multiplier = centred(ratio(mul_mod(factor, *constant, t), power_factor, t), t);
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

    /// Computes the power `n`, brings it to the modulus of `depth`, and returns it.
    fn make_power_at(&mut self, n: u64, depth: u32) -> Result<&Ciphertext, BgvError> {
        self.evaluator.make_power(&mut self.powers, n)?;
        let (power, to) = (&self.powers[&n], self.modulus_at(depth));
        if power.modulus() != to && !self.lowered.contains_key(&(n, depth)) {
            let lowered = self.evaluator.lowered(power, to, OPERATION)?.into_owned();
            self.lowered.insert((n, depth), lowered);
        }
        Ok(self.power_at(n, depth))
    }

    /// Returns a power that [`Evaluation::make_power_at`] has computed.
    fn power_at(&self, n: u64, depth: u32) -> &Ciphertext {
        self.lowered.get(&(n, depth)).unwrap_or_else(|| &self.powers[&n])
    }
}

/// Returns `x/y` modulo `t`, for a unit `y`. Factors and moduli are units.
fn ratio(x: u64, y: u64, t: u64) -> u64 {
    mul_mod(x, inv_mod(y, t).unwrap_or(0), t)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts add up to the polynomial, and none is deeper than allowed.
    #[test]
    fn parts_add_up_and_keep_the_depth() {
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
