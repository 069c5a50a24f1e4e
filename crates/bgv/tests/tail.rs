//! Bounds on the probability that a result is wrong at the last bit of the noise budget. They are
//! those of `docs/reference/integers.md`, "Probability of a wrong result".

/// Number of standard deviations that an error reaches when the budget is used up, minus 1/2 for
/// its rounding.
const MAX_DEVIATIONS: f64 = 11.0;

/// Number of bits below rounding that BGV products are switched down to.
const MARGIN_BITS: f64 = 4.0;

/// A fraction of `2^-20` of all keys is left out. This is log2 of its inverse.
const EXCLUDED_KEYS_LOG2: f64 = 20.0;

/// Ratio between four times the standard deviation of independent factors and that of a square. It
/// is the cost of decoupling.
const DECOUPLING_FACTOR: f64 = 2.0 * std::f64::consts::SQRT_2;

/// Returns log2 of `2 N exp(-x^2/2)`. It bounds the probability that an error which is linear in
/// random values has a coefficient of `x` standard deviations.
fn linear(log_n: f64, x: f64) -> f64 {
    1.0 + log_n - x * x / 2.0 / std::f64::consts::LN_2
}

/// Returns `u` with `N/2 u exp(1 - u) = 2^-EXCLUDED_KEYS_LOG2`. Except for this fraction of keys,
/// `|s|^2` is below `u` times its mean at every root of unity.
fn largest(log_n: f64) -> f64 {
    let log2 = |u: f64| log_n - 1.0 + u.log2() + (1.0 - u) / std::f64::consts::LN_2;
    (100..).map(|i| f64::from(i) / 100.0).find(|u| log2(*u) <= -EXCLUDED_KEYS_LOG2).unwrap()
}

/// Returns log2 of `2 N min_f exp(-f x + f^2/(2 (1 - f^2 r^2)))`. It bounds the probability that a
/// product of two linear errors has a coefficient of `x` standard deviations.
fn bilinear(log_n: f64, x: f64) -> f64 {
    let r = largest(log_n) / (2.0 * log_n.exp2()).sqrt();
    let exponent = |f: f64| -f * x + f * f / (2.0 * (1.0 - f * f * r * r));
    let all = (1..).map(|i| f64::from(i) / 100.0).take_while(|f| f * r < 0.999);
    1.0 + log_n + all.map(exponent).fold(0.0, f64::min) / std::f64::consts::LN_2
}

/// Returns the bound for the sum of a rounding error and a product that was switched down to
/// [`MARGIN_BITS`] bits below it. Either the rounding error exceeds all but `d` of the deviations,
/// or the product exceeds `d` of them.
fn switched(log_n: f64, decoupled: f64) -> f64 {
    let split = |d: f64| {
        linear(log_n, MAX_DEVIATIONS - d).max(bilinear(log_n, d * MARGIN_BITS.exp2() / decoupled))
    };
    (1..200).map(|i| split(f64::from(i) / 20.0)).fold(f64::INFINITY, f64::min)
}

#[test]
fn bounds_are_those_of_the_documentation() {
    // The columns are log2 of the ring degree, linear errors, products and squares that were
    // switched down, products that were not (with 0, 1 and 2 bits of budget), and squares that were
    // not (with 2 and 3 bits).
    let written = [
        (12.0, -74, [-55, -36], [-18, -60, -154], [-35, -98]),
        (13.0, -73, [-56, -38], [-24, -80, -204], [-46, -130]),
        (14.0, -72, [-57, -40], [-31, -103, -266], [-59, -169]),
        (15.0, -71, [-58, -42], [-38, -130, -344], [-74, -215]),
        (16.0, -70, [-58, -43], [-45, -160, -438], [-89, -270]),
    ];
    let rounded = |bits: f64| bits.round() as i32;
    for (log_n, of_linear, of_switched, products, squares) in written {
        assert_eq!(rounded(linear(log_n, MAX_DEVIATIONS)), of_linear, "{log_n}");
        assert_eq!(
            [1.0, DECOUPLING_FACTOR].map(|d| rounded(switched(log_n, d))),
            of_switched,
            "{log_n}"
        );
        let at = |budget: i32, decoupled: f64| {
            rounded(bilinear(log_n, MAX_DEVIATIONS * 2f64.powi(budget) / decoupled))
        };
        assert_eq!([0, 1, 2].map(|budget| at(budget, 1.0)), products, "{log_n}");
        assert_eq!([2, 3].map(|budget| at(budget, DECOUPLING_FACTOR)), squares, "{log_n}");
    }
}
