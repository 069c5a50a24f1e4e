//! How large errors are. They are those of the RLWE ciphertexts, `c0 + c1 s = t^{-1} [..]_t + e`; the messages beside them are below `t/2`.
//!
//! Errors of sums are taken as wholly dependent, so that standard deviations add: a sum that comes back to the same ciphertext in ways which nobody follows is not
//! underestimated. Products of polynomials are taken as those of independent coefficients, times `sqrt(2)`, which a square has.

use hippocrene_rlwe::Noise;

/// log2 of how many standard deviations errors are taken to reach: 11.3.
pub(crate) const TAIL: f64 = 3.5;

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

/// The error of `t (a b)` with `t a = [x]_t + t e_a` and so on: `[x]_t e_b + [y]_t e_a + t e_a e_b`, and what `[x]_t [y]_t` exceeds `t/2` by, over `t`.
pub(crate) fn product(a: Noise, b: Noise, degree: usize, t: u64) -> Noise {
    let linear = sum(times_message(a, degree, t), times_message(b, degree, t));
    let both = a.times_polynomial(degree, b.log2_std()).scaled((t as f64).log2() + 0.5);
    let carry = times_message(Noise::from_log2_std(log2_message(t)), degree, t).scaled(-(t as f64).log2());
    sum(sum(linear, both), carry)
}
