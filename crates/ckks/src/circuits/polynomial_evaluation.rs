//! Polynomials of ciphertexts, with the fewest levels: baby steps and giant steps (Paterson and Stockmeyer), in the Chebyshev basis as
//! HK20 does. Every product's scale is chosen beforehand, so that all sums meet exactly.

use std::collections::{BTreeMap, BTreeSet};

use hippocrene_rlwe::Modulus;

use super::{Basis, Polynomial};
use crate::{Ciphertext, CkksError, Evaluator, Scale};

const OPERATION: &str = "evaluate a polynomial";

impl Evaluator {
    /// `p(a)`, slot by slot, [`Polynomial::depth`] primes below the modulus of `a` and exactly at the scale that `scales` gives for the
    /// modulus it ends at.
    ///
    /// # Errors
    /// [`CkksError::Capacity`] when too few primes are left; [`CkksError::Argument`] when the bound of `a` exceeds the interval of a
    /// Chebyshev polynomial, outside of which its values explode.
    pub fn polynomial(
        &self,
        a: &Ciphertext,
        p: &Polynomial,
        scales: &dyn Fn(Modulus) -> Scale,
    ) -> Result<Ciphertext, CkksError> {
        let levels = a.modulus().limb_count() - 1;
        if levels < p.depth() {
            let per_level = self.context().parameters().log2(a.modulus()) / (levels + 1) as f64;
            let bits = |depth: usize| depth as f64 * per_level;
            return Err(CkksError::Capacity {
                operation: OPERATION,
                need: bits(p.depth()),
                have: bits(levels),
            });
        }
        if let Basis::Chebyshev { low, high } = p.basis() {
            let reach = low.abs().max(high.abs());
            if a.bound() > reach * (1.0 + 1e-9) {
                return Err(CkksError::Argument {
                    operation: OPERATION,
                    what: format!("values up to {} do not lie in the interval [{low}, {high}]", a.bound()),
                });
            }
        }
        if p.degree() == 0 {
            let zero = self.mul_integer(a, 0)?;
            return self.add_number(&zero, p.coefficients()[0]);
        }
        let bound = p.bound(a.bound());
        let argument = self.argument(a, p, scales)?;
        let mut moduli = vec![argument.modulus()];
        for _ in 0..depth_of(p.degree() + 1) {
            let next = self.rescaled_modulus(moduli[moduli.len() - 1], OPERATION)?;
            moduli.push(next);
        }
        let chebyshev = matches!(p.basis(), Basis::Chebyshev { .. });
        let depth = moduli.len() - 1;
        let baby = (0..=depth)
            .map(|k| 1 << k)
            .min_by_key(|&baby| products(p.coefficients(), depth, baby, chebyshev))
            .unwrap_or(1);
        let scale = scales(moduli[depth]);
        let powers = BTreeMap::from([(1, argument)]);
        let mut evaluation = Evaluation { evaluator: self, chebyshev, baby, moduli, powers };
        let mut out = match evaluation.evaluate(p.coefficients(), depth, scale)? {
            Value::Encrypted(out) => out,
            Value::Constant(_) => unreachable!("a polynomial of degree 1 or more is not constant"),
        };
        out.set_bound(bound.min(out.bound()));
        Ok(out)
    }

    /// The argument that the basis is of: for a Chebyshev interval, taken to `[-1, 1]`.
    fn argument(
        &self,
        a: &Ciphertext,
        p: &Polynomial,
        scales: &dyn Fn(Modulus) -> Scale,
    ) -> Result<Ciphertext, CkksError> {
        let mut argument = match p.affine() {
            None => a.clone(),
            Some((factor, shift)) => {
                let to = self.rescaled_modulus(a.modulus(), OPERATION)?;
                let scale = self.multiplied(scales(to), a.modulus(), to).over(a.scale());
                let scaled = self.rescale(&self.mul_number(a, factor, scale)?)?;
                if shift == 0.0 { scaled } else { self.add_number(&scaled, shift)? }
            }
        };
        if matches!(p.basis(), Basis::Chebyshev { .. }) {
            argument.set_bound(1.0);
        }
        Ok(argument)
    }
}

/// `ceil(log2 n)`.
fn depth_of(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

/// Of which two powers a power is the product, the depth being `ceil(log2 n)`. For Chebyshev polynomials they are neighbours, so
/// that `T_{a-b}` is `T_0` or `T_1`.
fn split_power(n: usize, chebyshev: bool) -> (usize, usize) {
    if chebyshev || n.is_power_of_two() {
        (n.div_ceil(2), n / 2)
    } else {
        (1 << n.ilog2(), n - (1 << n.ilog2()))
    }
}

/// `p = q X^m + r` (or `q T_m + r`) with `m` the largest power of two up to the degree.
fn split(coefficients: &[f64], chebyshev: bool) -> (usize, Vec<f64>, Vec<f64>) {
    let degree = coefficients.len() - 1;
    let m = 1 << degree.ilog2();
    let mut r = coefficients[..m].to_vec();
    let mut q = coefficients[m..].to_vec();
    if chebyshev {
        // c T_{m+j} = c (2 T_m T_j - T_{m-j}).
        for j in 1..q.len() {
            r[m - j] -= q[j];
            q[j] *= 2.0;
        }
    }
    trim(&mut r);
    (m, q, r)
}

fn trim(coefficients: &mut Vec<f64>) {
    while coefficients.len() > 1 && coefficients.last() == Some(&0.0) {
        coefficients.pop();
    }
}

/// Whether a sum of powers times numbers can be had `depth` deep.
fn is_leaf(coefficients: &[f64], depth: usize, baby: usize) -> bool {
    coefficients.len() <= baby.max(2)
        && (1..coefficients.len()).all(|i| coefficients[i] == 0.0 || depth_of(i) < depth)
}

/// How many products of ciphertexts an evaluation takes.
fn products(coefficients: &[f64], depth: usize, baby: usize, chebyshev: bool) -> usize {
    fn visit(c: &[f64], depth: usize, baby: usize, chebyshev: bool, powers: &mut BTreeSet<usize>) -> usize {
        if is_leaf(c, depth, baby) {
            (1..c.len()).filter(|&i| c[i] != 0.0).for_each(|i| need(i, chebyshev, powers));
            return 0;
        }
        let (m, q, r) = split(c, chebyshev);
        need(m, chebyshev, powers);
        usize::from(q.len() > 1)
            + visit(&q, depth - 1, baby, chebyshev, powers)
            + visit(&r, depth, baby, chebyshev, powers)
    }
    fn need(n: usize, chebyshev: bool, powers: &mut BTreeSet<usize>) {
        if n > 1 && powers.insert(n) {
            let (a, b) = split_power(n, chebyshev);
            need(a, chebyshev, powers);
            need(b, chebyshev, powers);
        }
    }
    let mut powers = BTreeSet::new();
    visit(coefficients, depth, baby, chebyshev, &mut powers) + powers.len()
}

enum Value {
    Constant(f64),
    Encrypted(Ciphertext),
}

struct Evaluation<'a> {
    evaluator: &'a Evaluator,
    chebyshev: bool,
    /// Leaves have fewer coefficients than this.
    baby: usize,
    /// The modulus after so many rescales.
    moduli: Vec<Modulus>,
    /// The powers (or Chebyshev polynomials) of the argument that were needed.
    powers: BTreeMap<usize, Ciphertext>,
}

impl Evaluation<'_> {
    /// The polynomial at modulus `moduli[depth]` and exactly at `scale`.
    fn evaluate(&mut self, coefficients: &[f64], depth: usize, scale: Scale) -> Result<Value, CkksError> {
        if coefficients.len() == 1 {
            return Ok(Value::Constant(coefficients[0]));
        }
        if is_leaf(coefficients, depth, self.baby) {
            return self.leaf(coefficients, depth, scale).map(Value::Encrypted);
        }
        let (m, q, r) = split(coefficients, self.chebyshev);
        self.power(m)?;
        let e = self.evaluator;
        let power = e.reduce_modulus(&self.powers[&m], self.moduli[depth - 1])?;
        let factor_scale = self.raised(scale, depth).over(power.scale());
        let mut product = match self.evaluate(&q, depth - 1, factor_scale)? {
            Value::Encrypted(q) => e.mul_rescale(&q, &power)?,
            Value::Constant(q) => e.rescale(&e.mul_number(&power, q, factor_scale)?)?,
        };
        product.set_meta(scale, product.slots(), product.bound());
        match self.evaluate(&r, depth, scale)? {
            Value::Encrypted(r) => e.add_assign(&mut product, &r)?,
            Value::Constant(0.0) => {}
            Value::Constant(r) => product = e.add_number(&product, r)?,
        }
        Ok(Value::Encrypted(product))
    }

    /// A sum of powers times numbers, rescaled once.
    fn leaf(&mut self, coefficients: &[f64], depth: usize, scale: Scale) -> Result<Ciphertext, CkksError> {
        let e = self.evaluator;
        let raised = self.raised(scale, depth);
        let mut sum: Option<Ciphertext> = None;
        for (i, &c) in coefficients.iter().enumerate().skip(1).filter(|(_, c)| **c != 0.0) {
            self.power(i)?;
            let power = e.reduce_modulus(&self.powers[&i], self.moduli[depth - 1])?;
            let mut term = e.mul_number(&power, c, raised.over(power.scale()))?;
            term.set_meta(raised, term.slots(), term.bound());
            match &mut sum {
                None => sum = Some(term),
                Some(sum) => e.add_assign(sum, &term)?,
            }
        }
        let sum = sum.expect("a leaf has a coefficient that is not 0 beside the constant");
        let sum = if coefficients[0] == 0.0 { sum } else { e.add_number(&sum, coefficients[0])? };
        let mut out = e.rescale(&sum)?;
        out.set_meta(scale, out.slots(), out.bound());
        Ok(out)
    }

    /// The scale at `moduli[depth - 1]` that rescales to `scale`.
    fn raised(&self, scale: Scale, depth: usize) -> Scale {
        self.evaluator.multiplied(scale, self.moduli[depth - 1], self.moduli[depth])
    }

    /// Makes sure that power `n` is there.
    fn power(&mut self, n: usize) -> Result<(), CkksError> {
        if self.powers.contains_key(&n) {
            return Ok(());
        }
        let (a, b) = split_power(n, self.chebyshev);
        self.power(a)?;
        self.power(b)?;
        let e = self.evaluator;
        let mut power = if a == b {
            e.square_rescale(&self.powers[&a])?
        } else {
            let (x, y) = e.align(&self.powers[&a], &self.powers[&b])?;
            e.mul_rescale(&x, &y)?
        };
        if self.chebyshev {
            power = e.mul_integer(&power, 2)?;
            power = if a == b {
                e.add_number(&power, -1.0)?
            } else {
                let (mut left, right) = e.align(&power, &self.powers[&1])?;
                e.sub_assign(&mut left, &right)?;
                left
            };
            power.set_bound(1.0);
        }
        self.powers.insert(n, power);
        Ok(())
    }
}
