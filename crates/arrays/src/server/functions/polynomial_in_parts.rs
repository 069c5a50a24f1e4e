//! Polynomials of numbers that need more capacity than a bootstrap restores.
//!
//! They are computed in parts, with bootstraps between the parts.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use hippocrene_ckks::circuits::{Basis, Polynomial};

use crate::server::Server;
use crate::{EncryptedArray, Error, Form, Numbers};

/// Maximum excess of a value over the bound of a bootstrap, in bits.
///
/// The bootstrap loses this number of bits after the binary point.
const BITS_BEYOND_BOUND: f64 = 2.0;

/// Evaluation of a polynomial in parts, by the method of Paterson and Stockmeyer.
///
/// A polynomial `p` is split into `q X^m + r` (or `q T_m + r`), with `m` a power of two. `q` and
/// `r` are split again, down to leaves. The cost is the number of bootstraps, as products are fast
/// in comparison. Each value that is multiplied more than once is therefore bootstrapped once for
/// all its products.
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
    /// The powers (or Chebyshev polynomials) computed so far, by degree.
    powers: BTreeMap<usize, Rc<EncryptedArray>>,
}

/// Evaluates `p(a)` in parts, with bootstraps between them.
///
/// `p` is a polynomial in powers, or a Chebyshev polynomial on the interval `[-1, 1]`. Returns
/// `None` if there is no level for a single product from one bootstrap to the next.
///
/// # Errors
/// When a value cannot be bootstrapped, and as [`Server::polynomial`].
pub(in crate::server) fn polynomial_in_parts(
    server: &Server,
    a: &EncryptedArray,
    p: &Polynomial,
) -> Result<Option<EncryptedArray>, Error> {
    let bits = server.form_of(&[a]).product_bits(server);
    let Some((reserve, most)) = server.bootstrap_reserve().zip(server.most_after_bootstrap())
    else {
        return Ok(None);
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
    let mut parts = Parts { server, chebyshev, bits, reserve, most, own, baby: 0, powers };
    let babies = (2..=p.degree().checked_ilog2().unwrap_or(0)).map(|k| 1 << k);
    let bootstraps = |baby: usize| parts.with_baby(baby).bootstraps(p);
    let costs = std::iter::once(0).chain(babies).map(|baby| Ok((bootstraps(baby)?, baby)));
    let costs = costs.collect::<Result<Vec<_>, Error>>()?;
    parts.baby = costs.into_iter().min().map_or(0, |(_, baby)| baby);
    if unit == 0.0 {
        return parts.evaluate(p, 0).map(Some);
    }
    let small = p.coefficients().iter().map(|c| c * (-unit).exp2()).collect();
    let value = parts.evaluate(&Polynomial::new(p.basis(), small)?, 1)?;
    server.mul_number(&value, unit.exp2()).map(Some)
}

/// The number of products of `bits` bits each that `capacity` allows beside `reserve`.
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
    /// `i` and `j` are the halves of `n`, so `T_(i - j)` is 1 or the argument.
    fn product(&mut self, n: usize) -> Result<EncryptedArray, Error> {
        let (i, j) = (n.div_ceil(2), n / 2);
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
            false => server.sub(&twice, &*self.power(1, 0)?)?,
        };
        power.set_bound(power.bound().min(1.0));
        Ok(power)
    }

    /// Evaluates `p` at the argument, with a result at this level.
    fn evaluate(&mut self, p: &Polynomial, level: usize) -> Result<EncryptedArray, Error> {
        let argument = Rc::clone(&self.powers[&1]);
        let value = if self.is_sum(p) {
            self.sum(p, level)?
        } else if self.level_of_leaf(p).is_some() {
            self.server.polynomial(&argument, p)?
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
