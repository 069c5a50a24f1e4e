//! Polynomials, element by element.

use std::borrow::Cow;

use hippocrene_ckks::circuits::{Basis, Polynomial};

use crate::server::{
    Server,
    functions::polynomial_in_parts::Split,
    planner::choose::{Candidate, MARGIN_BITS_OF_UNKNOWN_GROWTH},
};
use crate::{Argument, Arithmetic, Array, EncryptedArray, Error, Interval, Numbers, PlainNumbers};

pub(in crate::server) const OPERATION: &str = "evaluate a polynomial";

/// Maximum degree of a polynomial in powers that may be converted to another unit or basis.
const MAX_CONVERTED_DEGREE: usize = 1023;

/// Maximum degree of a polynomial whose range is computed.
///
/// The computation costs `NODES_FOR_EACH_DEGREE * degree^2` additions.
const MAX_DEGREE_WITH_RANGE: usize = 1023;

/// Number of nodes for each degree at which the range of a polynomial is sampled.
///
/// With 16, the range is widened by 0.5 %.
const NODES_FOR_EACH_DEGREE: usize = 16;

/// Minimum ratio of the terms of a polynomial to those of its Chebyshev series for a conversion.
///
/// Both are measured as sums of absolute coefficients. Above this ratio, the terms in powers cancel
/// each other and the Chebyshev series is used. The same ratio decides for small values whether the
/// rounding of powers dominates.
const MIN_CANCELLATION: f64 = 16.0;

/// Minimum factor between the rounding error of products and the smaller one of coefficients.
const COEFFICIENT_ROUNDING: f64 = 256.0;

/// A way to evaluate a polynomial that needs more capacity than its argument has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolynomialWay {
    /// As another polynomial, of the sines that a bootstrap of the argument computes.
    Sines,
    /// In parts, with bootstraps between them.
    Parts(Split),
}

/// The ways with bootstraps, by the names of the candidates. Larger blocks need more capacity than
/// the bootstraps of any preset restore.
const WAYS: [(PolynomialWay, &str); 6] = [
    (PolynomialWay::Sines, "a polynomial of sines from a bootstrap"),
    (PolynomialWay::Parts(Split::Halves), "halves with bootstraps"),
    (PolynomialWay::Parts(Split::Blocks(2)), "blocks of 2 with bootstraps"),
    (PolynomialWay::Parts(Split::Blocks(4)), "blocks of 4 with bootstraps"),
    (PolynomialWay::Parts(Split::Blocks(8)), "blocks of 8 with bootstraps"),
    (PolynomialWay::Parts(Split::Blocks(16)), "blocks of 16 with bootstraps"),
];

impl Server {
    /// Evaluates the polynomial `p` at every element.
    ///
    /// For numbers it is [`Polynomial::depth`](hippocrene_ckks::circuits::Polynomial::depth)
    /// multiplications deep. For integers the depth is that of
    /// [`hippocrene_bgv::Evaluator::polynomial`].
    ///
    /// A Chebyshev polynomial grows fast outside of its interval. If that interval does not hold
    /// all numbers up to the bound of `a`, stray slots are set to zero first. Slices and sums leave
    /// such slots. This costs one more multiplication.
    ///
    /// A polynomial of numbers may need more capacity than a bootstrap restores. It is then
    /// computed as a polynomial of the sines from a bootstrap, or in parts with bootstraps between
    /// them ([`Split`]). The way that needs the fewest bootstraps is taken. Each power is
    /// bootstrapped once. The errors of the parts are taken as independent.
    ///
    /// # Errors
    /// [`Error::Capacity`] or [`Error::Budget`] when too few multiplications are left.
    /// [`Error::PlainModulusMismatch`] when the polynomial has another plaintext modulus. For a
    /// Chebyshev polynomial [`Error::Argument`] when the interval of `a` exceeds that of the
    /// polynomial, when `a` is complex, and in a simulation when a value does not lie in the
    /// interval.
    pub fn polynomial<F: Arithmetic>(
        &self,
        a: &Array<F>,
        p: &F::Polynomial,
    ) -> Result<Array<F>, Error> {
        self.polynomial_by(a, p, &WAYS)
    }

    /// Evaluates a part of a polynomial, which is not split further.
    ///
    /// # Errors
    /// As [`Server::polynomial`].
    pub(in crate::server) fn polynomial_in_one_circuit<F: Arithmetic>(
        &self,
        a: &Array<F>,
        p: &F::Polynomial,
    ) -> Result<Array<F>, Error> {
        self.polynomial_by(a, p, &[])
    }

    /// As [`Server::polynomial`], in one circuit or by one of these ways.
    fn polynomial_by<F: Arithmetic>(
        &self,
        a: &Array<F>,
        p: &F::Polynomial,
        ways: &[(PolynomialWay, &'static str)],
    ) -> Result<Array<F>, Error> {
        let asked = self.form_of(&[a]);
        let (a, p) = F::within_domain(self, a, p)?;
        let (a, p) = (&*a, &*p);
        let bits = F::polynomial_depth(p) as f64 * self.form_of(&[a]).product_bits(self);
        let circuit = Candidate::new("one circuit", |server: &Server, [a]: [_; 1]| {
            let values = server.polynomials_at_once(a, std::slice::from_ref(p))?.pop();
            values.ok_or_else(|| Error::Internal("a polynomial has no value".into()))
        });
        let with_bootstraps = |&(way, name): &(PolynomialWay, &'static str)| {
            let run = move |server: &Server, [a]: [&Array<F>; 1]| {
                let values =
                    F::polynomial_by(server, a, p, way).map_err(|error| error.during(OPERATION))?;
                let none =
                    || Error::argument(OPERATION, "a bootstrap leaves no capacity for a product");
                Ok(F::bounded_by(values.ok_or_else(none)?, p, a))
            };
            Candidate::new(name, run).otherwise(1)
        };
        let candidates: Vec<_> =
            std::iter::once(circuit).chain(ways.iter().map(with_bootstraps)).collect();
        let most_bits = bits + MARGIN_BITS_OF_UNKNOWN_GROWTH;
        let values = self.perform(OPERATION, [a], most_bits, &candidates)?;
        // The converted argument may have a higher precision. The result has the requested form,
        // with the range of the polynomial as its interval.
        Ok(F::with_known_interval(values.with_form(asked), F::range(p, F::interval(a))))
    }

    /// Evaluates polynomials at every element of `a`, without bootstraps. They share the powers of
    /// `a`.
    pub(in crate::server) fn polynomials_at_once<F: Arithmetic>(
        &self,
        a: &Array<F>,
        polynomials: &[F::Polynomial],
    ) -> Result<Vec<Array<F>>, Error> {
        self.check(a, OPERATION)?;
        let (form, is_full) = (self.form_of(&[a]), a.layout().is_full());
        // Zeros in slots without an element must stay zero. There, constants are added to the
        // elements alone.
        let separated = a.is_clean() && !is_full;
        let (mut rests, mut constants) = (Vec::new(), Vec::new());
        for p in polynomials {
            let apart = F::without_constant(p)?;
            let keeps_zeros = is_full || separated || apart.is_none();
            let (rest, constant) = match apart.filter(|_| separated) {
                Some((rest, constant)) => (rest, Some(constant)),
                None => (p.clone(), None),
            };
            rests.push(rest);
            constants.push((constant, a.slot_contents().after(keeps_zeros)));
        }
        let inputs = a.expanded(&self.session);
        let mut values = vec![Vec::with_capacity(inputs.len()); polynomials.len()];
        let each = |i: usize| form.polynomials(self, &inputs[i], &rests);
        let results = self.session.compute_each(inputs.len(), each);
        for results in results.map_err(|e| e.during(OPERATION))? {
            values.iter_mut().zip(results).for_each(|(values, result)| values.push(result));
        }
        let mut arrays = Vec::with_capacity(polynomials.len());
        for ((values, p), (constant, slots)) in values.into_iter().zip(polynomials).zip(constants) {
            let array = Array::from_ciphertexts(a.layout().clone(), form.clone(), slots, values);
            arrays.push(match constant {
                Some(constant) => {
                    let values = self.add_plain(&array, F::plain(&vec![constant; a.size()]));
                    F::bounded_by(values.map_err(|e| e.during(OPERATION))?, p, a)
                }
                None => array,
            });
        }
        Ok(arrays)
    }
}

/// Returns an interval that holds all values of a polynomial on `interval`.
///
/// The polynomial is sampled at Chebyshev nodes. The range of the samples is widened about its
/// centre by the largest rise between two nodes. A polynomial of degree `d` that is at most 1 at
/// `m > d` Chebyshev nodes is at most `1 / cos(pi d / (2 m))` between them (Ehlich and Zeller 1964,
/// Satz 1).
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
    // The second term covers the rounding of the samples.
    let slack = 0.5 * values.width() * (rise - 1.0) + 1e-12 * values.bound();
    values + Interval::symmetric(slack)
}

/// Converts a polynomial in powers to the argument `a / 2^k`, where that is much more precise.
///
/// `2^k` is the bound of `a`, rounded up to a power of two, so the new argument is at most 1. The
/// conversion pays off in three cases:
///
/// * The coefficients of large powers are so small that the rounding of the coefficients dominates.
/// * The coefficients of small powers are so large that the rounding of the powers dominates.
/// * The terms cancel each other, as those of Taylor series do. The result is then a Chebyshev
///   series.
///
/// If `k` is positive, the precision of the new argument is `k` bits higher. If the conversion does
/// not pay off, `a` and `p` are returned unchanged.
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
    // For small values the powers are rounded, each before it is multiplied by its coefficient.
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

/// Maps a Chebyshev polynomial and its argument to the interval `[-1, 1]`.
///
/// Returns `None` if the polynomial is in powers, constant, or on `[-1, 1]` already.
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
    // A bound that exceeds 1 does so only by rounding.
    values.set_bound(values.bound().min(1.0));
    let p = Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, p.coefficients().to_vec())?;
    Ok(Some((Cow::Owned(values), Cow::Owned(p))))
}
