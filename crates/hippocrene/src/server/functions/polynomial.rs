//! Polynomials, element by element.

use std::borrow::Cow;

use hippocrene_ckks::circuits::{Basis, Polynomial};

use crate::server::Server;
use crate::{Argument, Array, EncryptedArray, Error, Form, Interval, Numbers};

pub(in crate::server) const OPERATION: &str = "evaluate a polynomial";

/// Polynomials of a larger degree are evaluated in the basis that they are given in.
const MAX_CONVERTED_DEGREE: usize = 1023;

/// The largest degree of a polynomial whose range is computed. It takes `NODES_FOR_EACH_DEGREE *
/// degree^2` additions.
const MAX_DEGREE_WITH_RANGE: usize = 1023;

/// Number of nodes for each degree at which the range of a polynomial is sampled; with 16, the
/// range is widened by 0.5 %.
const NODES_FOR_EACH_DEGREE: usize = 16;

/// Terms of a polynomial cancel each other if their sum of absolute values is this many times that
/// in Chebyshev's basis.
const MIN_CANCELLATION: f64 = 16.0;

/// Coefficients are rounded with an error at least this many times as small as that of products.
const COEFFICIENT_ROUNDING: f64 = 256.0;

impl Server {
    /// `p(a)`, element by element. Of numbers it is
    /// [`Polynomial::depth`](hippocrene_ckks::circuits::Polynomial::depth) multiplications deep, of
    /// integers as [`hippocrene_bgv::Evaluator::polynomial`] says. Where a Chebyshev polynomial is
    /// for an interval that does not hold all numbers up to the bound of `a`, it is a
    /// multiplication deeper if other values stand between the elements, such as slices and sums
    /// leave there: these are set to zero. A polynomial of numbers that takes more capacity than a
    /// bootstrap gives is computed in parts that are bootstrapped in between, each power once:
    /// their errors are taken as independent.
    ///
    /// # Errors
    /// [`Error::Capacity`] or [`Error::Budget`] when too few multiplications are left,
    /// [`Error::Argument`] when the bound of `a` exceeds the interval of a Chebyshev polynomial, or
    /// `a` is complex, and in a simulation when a value does not lie in that interval,
    /// [`Error::PlainModulusMismatch`] when the polynomial is one modulo another plaintext modulus.
    pub fn polynomial<F: Form>(&self, a: &Array<F>, p: &F::Polynomial) -> Result<Array<F>, Error> {
        let asked = self.form_of(&[a]);
        let (a, p) = F::within_domain(self, a, p)?;
        let (a, p) = (&*a, &*p);
        let bits = F::polynomial_depth(p) as f64 * self.form_of(&[a]).product_bits(self);
        if self.strands(a, bits) {
            let values = F::polynomial_in_parts(self, a, p).map_err(|e| e.during(OPERATION))?;
            if let Some(values) = values {
                let values = F::bounded_by(values, p, a).with_form(asked);
                return Ok(F::within(values, F::range(p, F::interval(a))));
            }
        }
        let evaluated = |p: &F::Polynomial, keeps_zeros: bool| {
            self.map(a, OPERATION, keeps_zeros, bits, |form, x| form.polynomial(self, x, p))
        };
        // Where there is no element, zeros stay: the constant is added to elements alone.
        let values = match F::apart_from_constant(p)? {
            Some((rest, constant)) if a.is_clean() && !a.layout().is_full() => {
                let values =
                    self.add_plain(&evaluated(&rest, true)?, F::plain(&vec![constant; a.size()]));
                values.map(|values| F::bounded_by(values, p, a)).map_err(|e| e.during(OPERATION))
            }
            Some(_) => evaluated(p, a.layout().is_full()),
            None => evaluated(p, true),
        };
        // The interval is that of the values that the polynomial was asked for.
        let values = values?.with_form(asked);
        Ok(F::within(values, F::range(p, F::interval(a))))
    }
}

/// An interval that holds all values of a polynomial on an interval: of its values at Chebyshev
/// nodes, widened about its centre by what a polynomial of this degree can rise between so many
/// nodes. A polynomial of degree `d` that is at most 1 at `m > d` Chebyshev nodes is at most `1 /
/// cos(pi d / (2 m))` between them (Ehlich and Zeller 1964, Satz 1).
pub(in crate::server) fn range(p: &Polynomial, interval: Interval) -> Interval {
    let (degree, centre, half) =
        (p.degree(), 0.5 * (interval.low() + interval.high()), 0.5 * interval.width());
    if degree > MAX_DEGREE_WITH_RANGE || !half.is_finite() {
        return Interval::EVERYTHING;
    }
    let nodes = NODES_FOR_EACH_DEGREE * (degree + 1);
    let angle = |k: usize| std::f64::consts::PI * (k as f64 + 0.5) / nodes as f64;
    let values = (0..nodes).map(|k| p.evaluate(centre + half * angle(k).cos()));
    let Some(values) = Interval::of(values) else { return Interval::EVERYTHING };
    let rise = 1.0 / (std::f64::consts::PI * degree as f64 / (2.0 * nodes as f64)).cos();
    // Values are rounded too.
    let slack = 0.5 * values.width() * (rise - 1.0) + 1e-12 * values.bound();
    values + Interval::symmetric(slack)
}

/// A polynomial in powers of values beyond 1, or far below, as one of values up to 1, in a unit
/// `2^k`, where that is much more precise: where coefficients are so small beside the powers that
/// they are rounded with, or so large beside powers that are rounded, or terms cancel each other,
/// as those of Taylor series do. Of these it has Chebyshev's polynomials. Values beyond 1 have `k`
/// bits more then.
pub(in crate::server) fn of_unit<'a>(
    server: &Server,
    a: Cow<'a, EncryptedArray>,
    p: Cow<'a, Polynomial>,
) -> Result<Argument<'a, Numbers>, Error> {
    let (bound, degree, form) = (a.bound(), p.degree(), server.form_of(&[&*a]));
    let bits = bound.log2().ceil();
    let finer = form.precision + bits.max(0.0);
    let possible = bits != 0.0 && bits.is_finite() && degree <= MAX_CONVERTED_DEGREE;
    if !possible || server.session.settings().scale_of(finer).is_err() {
        return Ok((a, p));
    }
    let terms = p.coefficients().iter().enumerate();
    let steepness: f64 =
        terms.clone().map(|(i, c)| i as f64 * c.abs() * bound.powi(i as i32 - 1)).sum();
    // Of small values it is their powers that are rounded, each before its coefficient.
    let rounded: f64 = terms.clone().skip(2).map(|(_, c)| c.abs()).sum();
    if bits < 0.0 && rounded < MIN_CANCELLATION * steepness.max(1.0) {
        return Ok((a, p));
    }
    let powers: Vec<f64> = terms.map(|(i, c)| c * (bits * i as f64).exp2()).collect();
    if powers.iter().any(|c| !c.is_finite()) {
        return Ok((a, p));
    }
    let sum = |p: &Polynomial| p.coefficients().iter().map(|c| c.abs()).sum::<f64>();
    let powers = Polynomial::new(Basis::Monomial, powers)?;
    let series = match form.complex {
        true => None,
        false => Some(Polynomial::approximate(|x| powers.evaluate(x), -1.0, 1.0, degree)?),
    };
    let series = series.filter(|series| sum(&powers) > MIN_CANCELLATION * sum(series));
    if bits > 0.0
        && series.is_none()
        && bound.powi(degree as i32) < COEFFICIENT_ROUNDING * steepness.max(1.0)
    {
        return Ok((a, p));
    }
    let a = server.mul_number(&a, (-bits).exp2())?.with_precision(finer, &server.session)?;
    Ok((Cow::Owned(a), Cow::Owned(series.unwrap_or(powers))))
}

/// Values of an interval as values in `[-1, 1]`, with the polynomial on that; nothing where the
/// polynomial is such already.
pub(in crate::server) fn in_unit_interval<'a>(
    server: &Server,
    a: &'a EncryptedArray,
    p: &'a Polynomial,
) -> Result<Option<Argument<'a, Numbers>>, Error> {
    let Basis::Chebyshev { low, high } = p.basis() else { return Ok(None) };
    if (low, high) == (-1.0, 1.0) || p.degree() == 0 {
        return Ok(None);
    }
    let (factor, shift) = (2.0 / (high - low), -(low + high) / (high - low));
    let scaled = server.mul_number(a, factor)?;
    let mut values = match shift == 0.0 {
        true => scaled,
        false => server.add_plain(&scaled, Numbers::plain(&vec![shift; a.size()]))?,
    };
    // Bounds that exceed an interval by no more than roundings are those of it.
    values.set_bound(values.bound().min(1.0));
    let p = Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, p.coefficients().to_vec())?;
    Ok(Some((Cow::Owned(values), Cow::Owned(p))))
}
