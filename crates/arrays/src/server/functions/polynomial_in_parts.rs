//! Polynomials of numbers that need more capacity than a bootstrap restores.
//!
//! They are computed in parts, with bootstraps between the parts.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use hippocrene_ckks::circuits::{Basis, Polynomial};

use crate::server::Server;
use crate::{Capacity, EncryptedArray, Error, Numbers};

/// Maximum excess of a value over the bound of a bootstrap, in bits.
///
/// The bootstrap loses this number of bits after the binary point.
const BITS_BEYOND_BOUND: f64 = 2.0;

/// The way to split a polynomial into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Into two parts, which are split again, down to leaves.
    Halves,
    /// Into parts of this number of coefficients, a power of two of at least 2.
    Blocks(usize),
}

/// Evaluation of a polynomial in parts, by the method of Paterson and Stockmeyer.
///
/// The cost is the number of bootstraps, as products are fast in comparison. Each value that is
/// multiplied more than once is therefore bootstrapped once for all its products.
///
/// With [`Split::Halves`], a polynomial `p` is split into `q X^m + r` (or `q T_m + r`), with `m` a
/// power of two. `q` and `r` are split again, down to leaves.
///
/// With [`Split::Blocks`], `p` is the sum of `p_j X^(j k)` (or `p_j T_(j k)`), where the blocks
/// `p_j` have degrees below `k`. Blocks are evaluated from the argument, and `X^k` is bootstrapped.
/// So the depth is about half that of `p`. A polynomial of degree 15 in blocks of 4 has depth 3
/// instead of 4, with one bootstrap.
///
/// The *level* of a value is the number of products that its capacity allows while keeping the
/// reserve for a bootstrap.
struct Parts<'s> {
    server: &'s Server,
    chebyshev: bool,
    /// The capacity of one product, and the reserve for a bootstrap, in bits.
    bits: f64,
    reserve: f64,
    /// The level after a bootstrap, and that of the argument.
    most: usize,
    own: usize,
    /// Leaves of degrees from 2 to below this are sums of bootstrapped powers.
    ///
    /// All other leaves are evaluated from the argument itself.
    baby: usize,
    /// The number of coefficients of a block, or 1 without blocks.
    ///
    /// Powers of multiples of it are products of such powers.
    block: usize,
    /// The powers (or Chebyshev polynomials) computed so far, by degree.
    powers: BTreeMap<usize, Rc<EncryptedArray>>,
}

/// Evaluates `p(a)` in parts, with bootstraps between them.
///
/// `p` is a polynomial in powers, or a Chebyshev polynomial on the interval `[-1, 1]`. Returns
/// `None` if there is no level for a single product from one bootstrap to the next, or none for a
/// product with a block.
///
/// # Errors
/// When a value cannot be bootstrapped, and as [`Server::polynomial`].
pub(in crate::server) fn polynomial_in_parts(
    server: &Server,
    a: &EncryptedArray,
    p: &Polynomial,
    split: Split,
) -> Result<Option<EncryptedArray>, Error> {
    let bits = server.form_of(&[a]).product_bits(server);
    let Some((reserve, most)) = server.bootstrap_reserve().zip(server.most_after_bootstrap())
    else {
        return Ok(None);
    };
    // Bits of a product are known to within a few. The server that decides sees whether the result
    // of blocks has enough capacity, so half a product may be missing for them here.
    let reserve = match split {
        Split::Halves => reserve,
        Split::Blocks(_) => reserve - 0.5 * bits,
    };
    let level = |capacity: f64| level(capacity, reserve, bits);
    let level_of = |a: &EncryptedArray| level(Numbers::capacity_bits(&server.session, a));
    let most = level(most);
    // Large values of the polynomial are computed divided by `2^unit`, so that they can be
    // bootstrapped.
    let unit = (p.bound(a.bound()).log2().ceil() - BITS_BEYOND_BOUND).max(0.0);
    if most == 0 || !unit.is_finite() {
        return Ok(None);
    }
    let a = match level_of(a) < most {
        true => Numbers::bootstrapped(server, a)?,
        false => a.clone(),
    };
    let own = level_of(&a);
    if own == 0 {
        return Ok(None);
    }
    let chebyshev = p.basis() != Basis::Monomial;
    let powers = BTreeMap::from([(1, Rc::new(a))]);
    let mut parts =
        Parts { server, chebyshev, bits, reserve, most, own, baby: 0, block: 1, powers };
    let level = usize::from(unit > 0.0);
    match split {
        Split::Halves => {
            let babies = (2..=p.degree().checked_ilog2().unwrap_or(0)).map(|k| 1 << k);
            let bootstraps = |baby: usize| parts.with_baby(baby).bootstraps(p);
            let costs = std::iter::once(0).chain(babies).map(|baby| Ok((bootstraps(baby)?, baby)));
            let costs = costs.collect::<Result<Vec<_>, Error>>()?;
            parts.baby = costs.into_iter().min().map_or(0, |(_, baby)| baby);
        }
        Split::Blocks(block) if own > level + block.ilog2() as usize && p.degree() >= block => {
            parts.block = block;
        }
        Split::Blocks(_) => return Ok(None),
    }
    if unit == 0.0 {
        return parts.evaluated(p, level).map(Some);
    }
    let small = p.coefficients().iter().map(|c| c * (-unit).exp2()).collect();
    let value = parts.evaluated(&Polynomial::new(p.basis(), small)?, level)?;
    server.mul_number(&value, unit.exp2()).map(Some)
}

/// Returns the blocks `p_j` of `p`, which have `block` coefficients at most. `p` is the sum of `p_j
/// X^(j block)`, or of `p_j T_(j block)` if it is a Chebyshev polynomial.
fn blocks(p: &Polynomial, block: usize) -> Result<Vec<Polynomial>, Error> {
    let mut rest = p.coefficients().to_vec();
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let first = (rest.len() - 1) / block * block;
        let mut own = rest.split_off(first);
        if p.basis() != Basis::Monomial && first > 0 {
            // T_(first + i) = 2 T_first T_i - T_(first - i).
            for (i, c) in own.iter_mut().enumerate().skip(1) {
                rest[first - i] -= *c;
                *c *= 2.0;
            }
        }
        blocks.push(Polynomial::new(p.basis(), own)?);
    }
    blocks.reverse();
    Ok(blocks)
}

/// The number of products of `bits` bits each that `capacity` allows if `reserve` bits must be
/// left.
fn level(capacity: f64, reserve: f64, bits: f64) -> usize {
    ((capacity - reserve) / bits).max(0.0) as usize
}

/// Number of bootstraps for `q X^m + r` at `level`, if the result itself is not bootstrapped.
///
/// `q` and `r` hold the numbers for these parts at each level. Returns `None` if the result has to
/// be bootstrapped.
fn unaided(q: &[usize], r: &[usize], level: usize) -> Option<usize> {
    Some(q.get(level + 1)? + r.get(level)?)
}

impl Parts<'_> {
    fn with_baby(&self, baby: usize) -> Self {
        Parts { baby, powers: self.powers.clone(), ..*self }
    }

    /// Estimates the number of bootstraps for `p`, including those of powers.
    fn bootstraps(&self, p: &Polynomial) -> Result<usize, Error> {
        let mut powers = BTreeSet::new();
        let costs = self.costs(p, &mut powers)?;
        Ok(costs[0] + powers.len())
    }

    /// Numbers of bootstraps that compute `p` at each level from 0 on.
    ///
    /// Bootstraps of powers are not counted. The degrees of the needed powers are collected in
    /// `powers`.
    fn costs(&self, p: &Polynomial, powers: &mut BTreeSet<usize>) -> Result<Vec<usize>, Error> {
        if let Some(level) = self.level_of_leaf(p) {
            if self.is_sum(p) {
                let terms = p.coefficients().iter().enumerate().filter(|(_, c)| **c != 0.0);
                terms.for_each(|(i, _)| self.need(i, powers));
            }
            return Ok((0..=self.most).map(|wanted| usize::from(level < wanted)).collect());
        }
        let (m, q, r) = p.split()?;
        self.need(m, powers);
        let [q, r] = [self.costs(&q, powers)?, self.costs(&r, powers)?];
        let bootstrapped = 1 + unaided(&q, &r, 0).unwrap_or(0);
        let at_level =
            |level| unaided(&q, &r, level).map_or(bootstrapped, |cost| cost.min(bootstrapped));
        Ok((0..=self.most).map(at_level).collect())
    }

    /// The level of `p` if it is computed as a leaf, or `None` if it cannot be one.
    fn level_of_leaf(&self, p: &Polynomial) -> Option<usize> {
        match p.degree() {
            0 => Some(self.most),
            _ if self.is_sum(p) => Some(self.most - 1),
            _ => self.own.checked_sub(p.depth()),
        }
    }

    /// Returns true if `p` is a leaf computed as a sum of powers.
    fn is_sum(&self, p: &Polynomial) -> bool {
        p.degree() > 1 && p.degree() < self.baby
    }

    /// Collects the degree of a power, and those of the powers that it is the product of.
    fn need(&self, n: usize, powers: &mut BTreeSet<usize>) {
        if n > 1 && powers.insert(n) {
            [n.div_ceil(2), n / 2].into_iter().for_each(|half| self.need(half, powers));
        }
    }

    /// Returns the value, bootstrapped if its level is below `wanted`.
    ///
    /// A `wanted` above the level after a bootstrap counts as that level.
    fn at_level(&self, a: Rc<EncryptedArray>, wanted: usize) -> Result<Rc<EncryptedArray>, Error> {
        let capacity = Numbers::capacity_bits(&self.server.session, &a);
        match level(capacity, self.reserve, self.bits) < wanted.min(self.most) {
            true => Ok(Rc::new(Numbers::bootstrapped(self.server, &a)?)),
            false => Ok(a),
        }
    }

    /// Returns the power or Chebyshev polynomial of degree `n >= 1` of the argument, at this level.
    fn power(&mut self, n: usize, level: usize) -> Result<Rc<EncryptedArray>, Error> {
        let power = match self.powers.get(&n) {
            Some(power) => Rc::clone(power),
            None => Rc::new(self.product(n)?),
        };
        let power = self.at_level(power, level)?;
        self.powers.insert(n, Rc::clone(&power));
        Ok(power)
    }

    /// Computes `X^n` as `X^i X^j`, or `T_n` as `2 T_i T_j - T_(i - j)`.
    ///
    /// `i` and `j` are the halves of `n`, in multiples of a block if `n` is more than one.
    /// `T_(i - j)` is 1, the argument, or that of one block.
    fn product(&mut self, n: usize) -> Result<EncryptedArray, Error> {
        let unit = if n > self.block { self.block } else { 1 };
        let (i, j) = ((n / unit).div_ceil(2) * unit, n / unit / 2 * unit);
        let (x, y) = (self.power(i, 1)?, self.power(j, 1)?);
        let server = self.server;
        let product = match i == j {
            true => server.square(&x)?,
            false => server.mul(&x, &y)?,
        };
        if !self.chebyshev {
            return Ok(product);
        }
        let twice = server.mul_number(&product, 2.0)?;
        let mut power = match i == j {
            true => server.add_number(&twice, -1.0)?,
            false => server.sub(&twice, &*self.power(i - j, 0)?)?,
        };
        power.set_bound(power.bound().min(1.0));
        Ok(power)
    }

    /// Evaluates `p` at the argument, with a result at this level, by the chosen split.
    fn evaluated(&mut self, p: &Polynomial, level: usize) -> Result<EncryptedArray, Error> {
        if self.block > 1 { self.sum_of_blocks(p, level) } else { self.evaluate(p, level) }
    }

    /// Evaluates `p` by blocks, with a result at this level.
    fn sum_of_blocks(&mut self, p: &Polynomial, level: usize) -> Result<EncryptedArray, Error> {
        let argument = Rc::clone(&self.powers[&1]);
        let mut polynomials = blocks(p, self.block)?;
        // This power is a factor of all the others, so it is the one that is bootstrapped. It
        // shares the products of lower powers with the blocks.
        let mut power = vec![0.0; self.block];
        power.push(1.0);
        polynomials.push(Polynomial::new(p.basis(), power)?);
        let mut values = self.server.polynomials_at_once(&argument, &polynomials)?;
        if let Some(power) = values.pop() {
            self.powers.insert(self.block, Rc::new(power));
        }
        self.power(self.block, self.most)?;
        let mut values = values.into_iter();
        let none = || Error::Internal("a polynomial without coefficients".into());
        let mut sum = values.next().ok_or_else(none)?;
        for (j, (value, p)) in (1..).zip(values.zip(&polynomials[1..])) {
            let term = match p.coefficients() {
                [0.0] => continue,
                [c] => self.server.mul_number(&*self.power(j * self.block, level + 1)?, *c)?,
                _ => self.server.mul(&value, &*self.power(j * self.block, level + 1)?)?,
            };
            sum = self.server.add(&sum, &term)?;
        }
        sum.set_bound(p.bound(argument.bound()).min(sum.bound()));
        Ok(sum)
    }

    /// Evaluates `p` at the argument, with a result at this level.
    fn evaluate(&mut self, p: &Polynomial, level: usize) -> Result<EncryptedArray, Error> {
        let argument = Rc::clone(&self.powers[&1]);
        let value = if self.is_sum(p) {
            self.sum(p, level)?
        } else if self.level_of_leaf(p).is_some() {
            self.server.polynomial_in_one_circuit(&argument, p)?
        } else {
            let (m, q, r) = p.split()?;
            let costs = |p: &Polynomial| self.costs(p, &mut BTreeSet::new());
            let (of_q, of_r) = (costs(&q)?, costs(&r)?);
            let unaided = |level| unaided(&of_q, &of_r, level);
            // The result is computed at level 0 and bootstrapped, if that needs fewer bootstraps.
            let level = match (unaided(level), unaided(0)) {
                (Some(cost), Some(at_first)) if cost <= at_first + 1 => level,
                _ => 0,
            };
            let power = self.power(m, level + 1)?;
            let product = match q.degree() {
                0 => self.server.mul_number(&power, q.coefficients()[0])?,
                _ => self.server.mul(&self.evaluate(&q, level + 1)?, &power)?,
            };
            match r.degree() {
                0 => self.server.add_number(&product, r.coefficients()[0])?,
                _ => self.server.add(&product, &self.evaluate(&r, level)?)?,
            }
        };
        let mut value = self.at_level(Rc::new(value), level)?;
        let bound = p.bound(argument.bound());
        if bound < value.bound() {
            Rc::make_mut(&mut value).set_bound(bound);
        }
        Ok(Rc::unwrap_or_clone(value))
    }

    /// Evaluates a leaf as a sum of powers times its nonzero coefficients, the highest power first.
    fn sum(&mut self, p: &Polynomial, level: usize) -> Result<EncryptedArray, Error> {
        let coefficients = p.coefficients();
        let mut sum = self
            .server
            .mul_number(&*self.power(p.degree(), level + 1)?, coefficients[p.degree()])?;
        for (i, c) in (1..p.degree()).map(|i| (i, coefficients[i])).filter(|(_, c)| *c != 0.0) {
            let term = self.server.mul_number(&*self.power(i, level + 1)?, c)?;
            sum = self.server.add(&sum, &term)?;
        }
        self.server.add_number(&sum, coefficients[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_polynomial_is_the_sum_of_its_blocks(
            coefficients in prop::collection::vec(-1.0..1.0f64, 1..70),
            log2_block in 1u32..6,
            chebyshev: bool,
            x in -1.0..1.0f64,
        ) {
            let block = 1 << log2_block;
            let basis = match chebyshev {
                true => Basis::Chebyshev { low: -1.0, high: 1.0 },
                false => Basis::Monomial,
            };
            let p = Polynomial::new(basis, coefficients).unwrap();
            let blocks = blocks(&p, block).unwrap();
            let power = |n: usize| match chebyshev {
                true => (n as f64 * x.acos()).cos(),
                false => x.powi(n as i32),
            };
            let terms = blocks.iter().enumerate().map(|(j, p)| p.evaluate(x) * power(j * block));
            prop_assert!((terms.sum::<f64>() - p.evaluate(x)).abs() < 1e-10);
            prop_assert!(blocks.iter().all(|p| p.degree() < block));
        }
    }
}
