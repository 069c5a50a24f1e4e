//! How improbable it is that a result is wrong at the last bit of the noise budget: the bounds of
//! `docs/reference/integers.md`, "Probability of a wrong last bit".

/// How many standard deviations an error reaches when the budget is used up, less 1/2 for what it
/// is rounded by.
const DEVIATIONS: f64 = 11.0;

/// Products of BGV are switched down to so many bits below the rounding.
const MARGIN: f64 = 4.0;

/// Keys are left out that a fraction `2^-20` of all keys are.
const KEYS: f64 = 20.0;

/// By how many times a square's standard deviation falls short of four times that of independent
/// factors, which is what decoupling costs.
const DECOUPLED: f64 = 2.0 * std::f64::consts::SQRT_2;

/// log2 of `2 N exp(-x^2/2)`: an error that is linear in what is random has a coefficient of `x`
/// standard deviations.
fn linear(log_n: f64, x: f64) -> f64 {
    1.0 + log_n - x * x / 2.0 / std::f64::consts::LN_2
}

/// `u` with `N/2 u exp(1 - u) = 2^-KEYS`: at no root of unity `|s|^2` is `u` times its mean, but
/// for so few keys.
fn largest(log_n: f64) -> f64 {
    let log2 = |u: f64| log_n - 1.0 + u.log2() + (1.0 - u) / std::f64::consts::LN_2;
    (100..).map(|i| f64::from(i) / 100.0).find(|u| log2(*u) <= -KEYS).unwrap()
}

/// log2 of `2 N min_f exp(-f x + f^2/(2 (1 - f^2 r^2)))`: a product of two errors that are linear
/// has a coefficient of `x` standard deviations.
fn bilinear(log_n: f64, x: f64) -> f64 {
    let r = largest(log_n) / (2.0 * log_n.exp2()).sqrt();
    let exponent = |f: f64| -f * x + f * f / (2.0 * (1.0 - f * f * r * r));
    let all = (1..).map(|i| f64::from(i) / 100.0).take_while(|f| f * r < 0.999);
    1.0 + log_n + all.map(exponent).fold(0.0, f64::min) / std::f64::consts::LN_2
}

/// Of the rounding and a product that was switched down to [`MARGIN`] bits below: the one reaches
/// all but `d` deviations, or the other `d`.
fn switched(log_n: f64, decoupled: f64) -> f64 {
    let split =
        |d: f64| linear(log_n, DEVIATIONS - d).max(bilinear(log_n, d * MARGIN.exp2() / decoupled));
    (1..200).map(|i| split(f64::from(i) / 20.0)).fold(f64::INFINITY, f64::min)
}

#[test]
fn bounds_are_those_that_are_written_down() {
    // log2 of the ring degree; linear errors; products and squares that were switched down;
    // products that were not, at 0, 1 and 2 bits of budget; squares that were not, at 2 and 3.
    let written = [
        (12.0, -74, [-55, -36], [-18, -60, -154], [-35, -98]),
        (13.0, -73, [-56, -38], [-24, -80, -204], [-46, -130]),
        (14.0, -72, [-57, -40], [-31, -103, -266], [-59, -169]),
        (15.0, -71, [-58, -42], [-38, -130, -344], [-74, -215]),
        (16.0, -70, [-58, -43], [-45, -160, -438], [-89, -270]),
    ];
    let rounded = |bits: f64| bits.round() as i32;
    for (log_n, of_linear, of_switched, products, squares) in written {
        assert_eq!(rounded(linear(log_n, DEVIATIONS)), of_linear, "{log_n}");
        assert_eq!([1.0, DECOUPLED].map(|d| rounded(switched(log_n, d))), of_switched, "{log_n}");
        let at = |budget: i32, decoupled: f64| {
            rounded(bilinear(log_n, DEVIATIONS * 2f64.powi(budget) / decoupled))
        };
        assert_eq!([0, 1, 2].map(|budget| at(budget, 1.0)), products, "{log_n}");
        assert_eq!([2, 3].map(|budget| at(budget, DECOUPLED)), squares, "{log_n}");
    }
}
