//! How large errors are. They are those of the RLWE ciphertexts, `c0 + c1 s = t^{-1} [..]_t + e`;
//! the messages beside them are below `t/2`.
//!
//! Errors of sums are taken as wholly dependent, so that standard deviations add: a sum that comes
//! back to the same ciphertext in ways which nobody follows is not underestimated. What a key
//! switch or a modulus switch adds is independent of what was there.

use hippocrene_rlwe::Noise;

/// log2 of how many standard deviations errors are taken to reach: 11.3.
pub(crate) const TAIL: f64 = 3.5;

/// How many bits above the rounding of a modulus switch an error is taken for a product of two
/// errors.
pub(crate) const POWER: f64 = 2.0;

/// The standard deviation of a number that is uniform in `[-1/2, 1/2)`: `1/sqrt(12)`.
pub(crate) const FRACTION: f64 = 0.288_675_134_594_812_9;

/// The error of a sum of ciphertexts: of their errors, and of messages, which outgrow `t/2`.
pub(crate) fn sum_of_ciphertexts(a: Noise, b: Noise) -> Noise {
    let fraction = Noise::from_std(FRACTION);
    let at_least =
        |error: Noise| if error.log2_std() < fraction.log2_std() { fraction } else { error };
    sum(at_least(a), at_least(b))
}

/// The error of a sum, whatever the errors have to do with each other.
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

/// The error of an error times a polynomial whose coefficients are uniform modulo `t`.
pub(crate) fn times_message(error: Noise, degree: usize, t: u64) -> Noise {
    error.times_polynomial(degree, log2_message(t)).scaled(0.5)
}

/// The error of `t (a b)` with `t a = [x]_t + t e_a` and so on: `[x]_t e_b + [y]_t e_a + t e_a
/// e_b`, and what `[x]_t [y]_t` exceeds `t/2` by, over `t`. The third is most of it. `floor` is the
/// error of rounding.
pub(crate) fn product(a: Noise, b: Noise, floor: Noise, degree: usize, t: u64) -> Noise {
    let linear = sum(times_message(a, degree, t), times_message(b, degree, t));
    let both = a.times_polynomial(degree, b.log2_std()).scaled((t as f64).log2());
    let both = both.scaled(dependence(a, b, floor, degree, t));
    let carry =
        times_message(Noise::from_log2_std(log2_message(t)), degree, t).scaled(-(t as f64).log2());
    sum(sum(linear, both), carry)
}

/// log2 of how much larger a product of two errors may be than one of independent ones.
///
/// The error of rounding is `r0 + r1 s`: a square of it is twice as large as a product of
/// independent polynomials with normal coefficients, `sqrt(2)` times for `s^2` and for `r1^2` each.
/// An error that is larger is itself, in great part, a product of errors which no modulus switch
/// has made small since (on simple chains, where a step is too small to drop a prime), and the
/// `k`-th power of a polynomial with normal coefficients is `sqrt(k!)` times as large as a product
/// of independent ones: a product of a `j`-th and a `k`-th power `binomial(j + k, j)^(1/2)` times.
/// This holds for each of three polynomials in such an error, the rounding, the secret and a
/// plaintext. What is [`POWER`] bits above the floor is taken for a square; with every product an
/// error grows by `t floor sqrt(N)`. With the binary entropy `H`, `log2 binomial(j + k, j) < (j +
/// k) H(j/(j + k)) - 1`.
fn dependence(a: Noise, b: Noise, floor: Noise, degree: usize, t: u64) -> f64 {
    let step = floor.times_polynomial(degree, (t as f64).log2()).log2_std();
    let power = |error: Noise| {
        let excess = (error.log2_std() - floor.log2_std()).max(0.0);
        1.0 + (excess / POWER).min(1.0) + (excess - POWER).max(0.0) / step
    };
    let (j, k) = (power(a), power(b));
    let share = j / (j + k);
    let entropy = -share * share.log2() - (1.0 - share) * (1.0 - share).log2();
    1.0 + 1.5 * ((j + k) * entropy - 2.0)
}

/// The error of a ciphertext whose rows are exchanged, `conj(e(z))` at the roots of unity, as large
/// as it has to be taken for products.
///
/// In a product with `e(z)` itself all `|e(z)|^2` are positive and gather in one coefficient: `N`
/// times the product of the standard deviations, which no coefficient of any product exceeds
/// (Cauchy and Schwarz), where others are `sqrt(N)` times as large, and are taken up to [`TAIL`]
/// deviations. So is the square of a sum of both, or of a linear map with and without an exchange.
pub(crate) fn exchanged(error: Noise, degree: usize) -> Noise {
    error.scaled((0.5 * (degree as f64).log2() - TAIL).max(0.0))
}

/// An error times a plain polynomial with these coefficients, with the message that outgrows `t/2`.
///
/// That of a fresh ciphertext, or of rounding, is independent of the polynomial, and grows by its
/// Euclidean norm. A larger one may have it as a factor already, `k` times at most where it is `k`
/// such norms above the `floor`: the `k`-th power of a polynomial whose values at the roots of
/// unity are as those of normal coefficients is `sqrt(k!)` times as large as the `k`-th power of
/// its norm, so that this product is `sqrt(k + 1)` times as large. No product is larger than by the
/// sum of the absolute values of the coefficients.
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

/// An error multiplied by a number, or by a polynomial of Euclidean norm `norm` that it has nothing
/// to do with, with the message that outgrows `t/2`.
pub(crate) fn grown(error: Noise, norm: f64) -> Noise {
    match norm {
        0.0 => Noise::NONE,
        1.0 => error,
        _ => sum(error, Noise::from_std(FRACTION)).scaled(norm.log2()),
    }
}

/// What the error of a product in the manner of BFV comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledProduct {
    /// The errors of the factors modulo `Q`.
    pub(crate) factors: [Noise; 2],
    /// The rounding of the switch of one to `R`, times `Q/R`.
    pub(crate) switched: Noise,
    /// `(c0 + c1 s)/Q` over the integers, of a ciphertext that is uniform modulo `Q`: of variance
    /// `(1 + |s|^2)/12`, as that of rounding.
    pub(crate) quotient: Noise,
    /// The rounding of three parts.
    pub(crate) rounding: Noise,
    pub(crate) degree: usize,
    pub(crate) t: u64,
    /// log2 of `Q`.
    pub(crate) modulus_bits: f64,
}

/// The error of `(t/R) A B` with `A = (Q/t) u + e`, `B = (R/t) u' + e'` over the integers, where `u
/// = t A/Q` is the message and `t` times a quotient: `u e' Q/R + u' e + (t/R) e e'`, and the
/// rounding at the end. To the errors of the factors `X/t` belongs, less than 1/2, by which `Q m/t`
/// differs from an integer.
pub(crate) fn scaled_product(of: ScaledProduct) -> Noise {
    let ScaledProduct { factors: [a, b], switched, quotient, rounding, degree, t, modulus_bits } =
        of;
    let fraction = Noise::from_std(FRACTION);
    let [a, b] = [a, b].map(|error| error.plus(fraction));
    let t = (t as f64).log2();
    let spread = |error: Noise| spread(error, quotient, degree);
    let linear = sum(spread(a), spread(b)).plus(switched.scaled(0.5));
    let linear = linear.times_polynomial(degree, t + quotient.log2_std());
    let both = spread(a).times_polynomial(degree, spread(b).log2_std()).scaled(t - modulus_bits);
    sum(linear, both).plus(rounding).plus(fraction)
}

/// An error as large as it has to be taken to be multiplied by a quotient `u`, which has the secret
/// as a factor.
///
/// What is smaller than `floor`, the rounding of a modulus switch, is a sum of errors of fresh
/// ciphertexts, which the secret is no factor of: products and key switches end in a rounding. What
/// is of rounding, up to `floor`, has the secret as a factor, which makes the product `sqrt(2)`
/// times as large as if they were independent. What exceeds it is a product itself and may have `u`
/// or the secret as a factor any number of times. Then all that can be said is that the product is
/// no larger than the error times the largest value of `u` at a root of unity. A value is a product
/// of two complex normal ones, of `s` and of a uniform polynomial, and exceeds `r` times their root
/// mean square with probability `sqrt(pi r) exp(-2r)`: that is below `1/(30 N)` for `2 r = ln N +
/// 4` or a little more.
fn spread(error: Noise, floor: Noise, degree: usize) -> Noise {
    let above = error.log2_std() - floor.log2_std();
    if above < 0.0 {
        return error;
    }
    let excess = floor.scaled(0.5 * ((2.0 * above).exp2() - 1.0).log2());
    floor.scaled(0.5).plus(excess.scaled((0.5 * (degree as f64).ln() + 2.0).log2()))
}
