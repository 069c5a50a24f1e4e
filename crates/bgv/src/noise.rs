//! How large errors are. They are those of the RLWE ciphertexts, `c0 + c1 s = t^{-1} [..]_t + e`; the messages beside them are below `t/2`.
//!
//! Errors of sums are taken as wholly dependent, so that standard deviations add: a sum that comes back to the same ciphertext in ways which nobody follows is not
//! underestimated. What a key switch or a modulus switch adds is independent of what was there.

use hippocrene_rlwe::Noise;

/// log2 of how many standard deviations errors are taken to reach: 11.3.
pub(crate) const TAIL: f64 = 3.5;

/// How many bits above the rounding of a modulus switch an error is taken for a product of two errors.
pub(crate) const POWER: f64 = 2.0;

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

/// The error of `t (a b)` with `t a = [x]_t + t e_a` and so on: `[x]_t e_b + [y]_t e_a + t e_a e_b`, and what `[x]_t [y]_t` exceeds `t/2` by, over `t`. The third is most of it. `floor` is
/// the error of rounding.
pub(crate) fn product(a: Noise, b: Noise, floor: Noise, degree: usize, t: u64) -> Noise {
    let linear = sum(times_message(a, degree, t), times_message(b, degree, t));
    let both = a.times_polynomial(degree, b.log2_std()).scaled((t as f64).log2());
    let both = both.scaled(dependence(a, b, floor, degree, t));
    let carry = times_message(Noise::from_log2_std(log2_message(t)), degree, t).scaled(-(t as f64).log2());
    sum(sum(linear, both), carry)
}

/// log2 of how much larger a product of two errors may be than one of independent ones.
///
/// The error of rounding is `r0 + r1 s`: a square of it is twice as large as a product of independent polynomials with normal coefficients, `sqrt(2)` times for `s^2` and for `r1^2` each. An error that
/// is larger is itself, in great part, a product of errors which no modulus switch has made small since (on simple chains, where a step is too small to drop a prime), and the `k`-th power of
/// a polynomial with normal coefficients is `sqrt(k!)` times as large as a product of independent ones: a product of a `j`-th and a `k`-th power `binomial(j + k, j)^(1/2)` times. This holds for each
/// of three polynomials in such an error, the rounding, the secret and a plaintext. What is [`POWER`] bits above the floor is taken for a square; with every product an error
/// grows by `t floor sqrt(N)`. With the binary entropy `H`, `log2 binomial(j + k, j) < (j + k) H(j/(j + k)) - 1`.
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
