//! Estimates of the errors of ciphertexts.
//!
//! All errors are those of RLWE ciphertexts, the `e` in `c0 + c1 s = t^{-1} [..]_t + e`. They do
//! not include the message, which is below `t/2`.
//!
//! The errors of the terms of a sum are treated as fully dependent, so their standard deviations
//! are added. Otherwise a sum that contains the same ciphertext several times would be
//! underestimated. The error that a key switch or a modulus switch adds is treated as independent
//! of the error that is already there.

use hippocrene_rlwe::Noise;

/// log2 of the number of standard deviations, 11.3, that is used as the largest value of an error.
pub(crate) const LOG2_TAIL_DEVIATIONS: f64 = 3.5;

/// Number of bits above the rounding error of a modulus switch at which an error is treated as a
/// product of two errors.
pub(crate) const PRODUCT_ERROR_BITS: f64 = 2.0;

/// The standard deviation of a number that is uniform in `[-1/2, 1/2)`: `1/sqrt(12)`.
pub(crate) const UNIFORM_FRACTION_STD: f64 = 0.288_675_134_594_812_9;

/// The error of a sum of ciphertexts. It contains the errors of both and the carry of their
/// messages, whose sum may exceed `t/2`.
pub(crate) fn sum_of_ciphertexts(a: Noise, b: Noise) -> Noise {
    let fraction = Noise::from_std(UNIFORM_FRACTION_STD);
    let at_least =
        |error: Noise| if error.log2_std() < fraction.log2_std() { fraction } else { error };
    sum(at_least(a), at_least(b))
}

/// The error of a sum of two errors that may depend on each other in any way.
pub(crate) fn sum(a: Noise, b: Noise) -> Noise {
    let (high, low) = if a.log2_std() >= b.log2_std() { (a, b) } else { (b, a) };
    if low == Noise::NONE {
        return high;
    }
    high.scaled((low.log2_std() - high.log2_std()).exp2().ln_1p() / std::f64::consts::LN_2)
}

/// log2 of the root mean square of coefficients that are uniform modulo `t`, centred: `t/sqrt(12)`.
pub(crate) fn log2_message(t: u64) -> f64 {
    (t as f64).log2() - 0.5 * 12f64.log2()
}

/// The error of the product of an error and a polynomial whose coefficients are uniform modulo `t`.
pub(crate) fn times_message(error: Noise, degree: usize, t: u64) -> Noise {
    error.times_polynomial(degree, log2_message(t)).scaled(0.5)
}

/// The error of the BGV product `t (a b)`, where `t a = [x]_t + t e_a` and `t b = [y]_t + t e_b`.
///
/// It is `[x]_t e_b + [y]_t e_a + t e_a e_b`, plus the carry of `[x]_t [y]_t` beyond `t/2`, divided
/// by `t`. The term `t e_a e_b` is the largest. `floor` is the rounding error of a modulus switch.
pub(crate) fn product(a: Noise, b: Noise, floor: Noise, degree: usize, t: u64) -> Noise {
    let linear = sum(times_message(a, degree, t), times_message(b, degree, t));
    let both = a.times_polynomial(degree, b.log2_std()).scaled((t as f64).log2());
    let both = both.scaled(dependence(a, b, floor, degree, t));
    let carry =
        times_message(Noise::from_log2_std(log2_message(t)), degree, t).scaled(-(t as f64).log2());
    sum(sum(linear, both), carry)
}

/// Upper bound on log2 of the ratio of a product of two errors to a product of independent errors.
///
/// The error of rounding is `r0 + r1 s`. Its square is twice as large as a product of independent
/// polynomials with normal coefficients: `sqrt(2)` times because of `s^2`, and `sqrt(2)` times
/// because of `r1^2`.
///
/// A larger error is itself mostly a product of errors. It occurs on simple chains, where a product
/// may grow by too few bits to drop a prime, so that no modulus switch has made the error small
/// again. The `k`-th power of a polynomial with normal coefficients is `sqrt(k!)` times as large as
/// a product of `k` independent ones. Therefore the product of a `j`-th and a `k`-th power is
/// `binomial(j + k, j)^(1/2)` times as large. This factor applies to each of three polynomials in
/// such an error: the rounding, the secret and a plaintext.
///
/// The exponents `j` and `k` are estimated from the sizes of the errors. An error that is
/// [`PRODUCT_ERROR_BITS`] bits above the floor counts as a square, and each further product
/// multiplies an error by `t floor sqrt(N)`. With the binary entropy `H`,
/// `log2 binomial(j + k, j) < (j + k) H(j/(j + k)) - 1`. The result is shifted so that two rounding
/// errors, `j = k = 1`, give 1 bit.
fn dependence(a: Noise, b: Noise, floor: Noise, degree: usize, t: u64) -> f64 {
    let growth = floor.times_polynomial(degree, (t as f64).log2()).log2_std();
    let exponent = |error: Noise| {
        let excess = (error.log2_std() - floor.log2_std()).max(0.0);
        1.0 + (excess / PRODUCT_ERROR_BITS).min(1.0)
            + (excess - PRODUCT_ERROR_BITS).max(0.0) / growth
    };
    let (j, k) = (exponent(a), exponent(b));
    let fraction = j / (j + k);
    let entropy = -fraction * fraction.log2() - (1.0 - fraction) * (1.0 - fraction).log2();
    1.0 + 1.5 * ((j + k) * entropy - 2.0)
}

/// The error of a ciphertext whose rows are exchanged, as an upper bound that is safe for later
/// products.
///
/// At the roots of unity the exchanged error is `conj(e(z))`. In its product with `e(z)` all values
/// `|e(z)|^2` are positive and add up in one coefficient. That coefficient is `N` times the product
/// of the standard deviations, the most that any product can reach (Cauchy and Schwarz). The
/// coefficients of other products are `sqrt(N)` times the product of the standard deviations, and
/// up to `2^LOG2_TAIL_DEVIATIONS` deviations are allowed for them. The same bound covers the square
/// of a sum of a ciphertext and its exchange, and of a linear map with and without an exchange.
pub(crate) fn exchanged(error: Noise, degree: usize) -> Noise {
    error.scaled((0.5 * (degree as f64).log2() - LOG2_TAIL_DEVIATIONS).max(0.0))
}

/// The error of a ciphertext times a plain polynomial with the given coefficients, including the
/// carry of the message beyond `t/2`.
///
/// The error of a fresh ciphertext, or of rounding, is independent of the polynomial and grows by
/// its Euclidean norm. A larger error may contain the polynomial as a factor already. If it is `k`
/// such norms above the `floor`, it contains the polynomial at most `k` times. For a polynomial
/// whose values at the roots of unity look like those of normal coefficients, the `k`-th power is
/// `sqrt(k!)` times as large as the `k`-th power of its norm. The next product is then
/// `sqrt(k + 1)` times as large. No product grows by more than the sum of the absolute values of
/// the coefficients.
pub(crate) fn times_plain(error: Noise, coefficients: &[i64], floor: Noise) -> Noise {
    let (mut squares, mut sum) = (0.0, 0.0);
    for c in coefficients {
        let c = *c as f64;
        squares += c * c;
        sum += c.abs();
    }
    let norm = squares.sqrt();
    let before = (error.log2_std() - floor.log2_std()).max(0.0) / norm.log2().max(1.0);
    grown(error, sum.min(norm * (before + 1.0).sqrt()))
}

/// The error of a ciphertext multiplied by a number, or by a polynomial of Euclidean norm `norm`
/// that is independent of the error. It includes the carry of the message beyond `t/2`.
pub(crate) fn grown(error: Noise, norm: f64) -> Noise {
    match norm {
        0.0 => Noise::NONE,
        1.0 => error,
        _ => sum(error, Noise::from_std(UNIFORM_FRACTION_STD)).scaled(norm.log2()),
    }
}

/// The sources of the error of a BFV product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledProduct {
    /// The errors of the factors modulo `Q`.
    pub(crate) factors: [Noise; 2],
    /// The rounding error of the switch of one factor to `R`, times `Q/R`.
    pub(crate) switched: Noise,
    /// The size of `(c0 + c1 s)/Q` over the integers for a ciphertext that is uniform modulo `Q`.
    /// Its variance is `(1 + |s|^2)/12`, the same as that of rounding.
    pub(crate) quotient: Noise,
    /// The rounding error of a ciphertext of three parts.
    pub(crate) rounding: Noise,
    pub(crate) degree: usize,
    pub(crate) t: u64,
    /// log2 of `Q`.
    pub(crate) modulus_bits: f64,
}

/// The error of the BFV product `(t/R) A B` over the integers.
///
/// The factors are `A = (Q/t) u + e` and `B = (R/t) u' + e'`, where `u = t A/Q` is the message plus
/// `t` times a quotient. The error is `u e' Q/R + u' e + (t/R) e e'`, plus the rounding at the end.
/// The error of each factor includes the fraction, less than 1/2, by which `Q m/t` differs from an
/// integer.
pub(crate) fn scaled_product(of: ScaledProduct) -> Noise {
    let ScaledProduct { factors: [a, b], switched, quotient, rounding, degree, t, modulus_bits } =
        of;
    let fraction = Noise::from_std(UNIFORM_FRACTION_STD);
    let [a, b] = [a, b].map(|error| error.plus(fraction));
    let t = (t as f64).log2();
    let spread = |error: Noise| spread(error, quotient, degree);
    let linear = sum(spread(a), spread(b)).plus(switched.scaled(0.5));
    let linear = linear.times_polynomial(degree, t + quotient.log2_std());
    let both = spread(a).times_polynomial(degree, spread(b).log2_std()).scaled(t - modulus_bits);
    sum(linear, both).plus(rounding).plus(fraction)
}

/// An upper bound on an error that will be multiplied by a quotient `u`, which has the secret as a
/// factor.
///
/// There are three cases. `floor` is the rounding error of a modulus switch.
///
/// - An error below `floor` is a sum of errors of fresh ciphertexts. It is independent of the
///   secret, because products and key switches end in a rounding.
/// - The part of an error up to `floor` comes from rounding and has the secret as a factor. This
///   makes the product `sqrt(2)` times as large as if they were independent.
/// - The part above `floor` is a product itself and may have `u` or the secret as a factor any
///   number of times. Its product is at most the error times the largest value of `u` at a root of
///   unity.
///
/// A value of `u` is a product of two complex normal values, one of `s` and one of a uniform
/// polynomial. It exceeds `r` times their root mean square with probability `sqrt(pi r) exp(-2r)`.
/// That is below `1/(30 N)` for `2 r = ln N + 4` or a little more.
fn spread(error: Noise, floor: Noise, degree: usize) -> Noise {
    let above = error.log2_std() - floor.log2_std();
    if above < 0.0 {
        return error;
    }
    let excess = floor.scaled(0.5 * ((2.0 * above).exp2() - 1.0).log2());
    floor.scaled(0.5).plus(excess.scaled((0.5 * (degree as f64).ln() + 2.0).log2()))
}
