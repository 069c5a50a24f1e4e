//! Approximations against the functions that they stand for: the stated errors hold, and are not much larger than what is seen.

use std::f64::consts::TAU;

use hippocrene_ckks::{
    approximation::{ModularReduction, Smoothness, interpolate, interpolate_to},
    circuits::Basis,
};

/// The largest difference at so many points between both ends.
fn largest(f: impl Fn(f64) -> f64, g: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let at = |i: i32| low + (high - low) * f64::from(i) / 4999.0;
    (0..5000).map(|i| (f(at(i)) - g(at(i))).abs()).fold(0.0, f64::max)
}

#[test]
fn stated_errors_hold_and_are_tight() {
    type Case = (&'static str, fn(f64) -> f64, f64, f64, usize, Smoothness);
    let cases: [Case; 6] = [
        ("sin", f64::sin, -3.0, 3.0, 9, Smoothness::Derivative { order: 20, bound: 1.0 }),
        ("exp", f64::exp, -1.0, 2.0, 12, Smoothness::Derivative { order: 16, bound: 7.39 }),
        ("|x|", f64::abs, -1.0, 1.0, 20, Smoothness::Derivative { order: 1, bound: 1.0 }),
        ("relu", |x| x.max(0.0), -2.0, 3.0, 31, Smoothness::Derivative { order: 1, bound: 1.0 }),
        // Poles at +-i, on the ellipse of parameter 1 + sqrt(2); on that of 2 it is at most 1 / (1 - (3/4)^2).
        (
            "1/(1+x^2)",
            |x| 1.0 / (1.0 + x * x),
            -1.0,
            1.0,
            24,
            Smoothness::Analytic { rho: 2.0, bound: 16.0 / 7.0 },
        ),
        ("line", |x| 3.0 * x - 1.0, 0.0, 5.0, 1, Smoothness::Derivative { order: 2, bound: 0.0 }),
    ];
    for (name, f, low, high, degree, smoothness) in cases {
        let have = interpolate(f, low, high, degree, smoothness).unwrap();
        assert_eq!(have.polynomial.degree(), degree, "{name}");
        let seen = largest(f, |x| have.polynomial.evaluate(x), low, high);
        assert!(seen <= have.error, "{name}: {seen:e} {:e}", have.error);
        assert!(have.error < 1.25 * seen + 1e-12, "{name}: {seen:e} {:e}", have.error);
        let again = interpolate_to(f, low, high, have.error, smoothness).unwrap();
        assert!(again.polynomial.degree() <= degree && again.error <= have.error, "{name}");
        if again.polynomial.degree() > 0 {
            let lower = interpolate(f, low, high, again.polynomial.degree() - 1, smoothness).unwrap();
            assert!(lower.error > have.error, "{name}");
        }
    }
}

#[test]
fn what_cannot_be_approximated_is_named() {
    let one = Smoothness::Derivative { order: 1, bound: 1.0 };
    assert!(interpolate(f64::ln, -1.0, 1.0, 4, one).unwrap_err().to_string().contains("NaN"));
    assert!(interpolate(f64::sin, 1.0, 1.0, 4, one).is_err());
    for bad in [
        Smoothness::Derivative { order: 0, bound: 1.0 },
        Smoothness::Derivative { order: 2, bound: f64::NAN },
        Smoothness::Analytic { rho: 1.0, bound: 1.0 },
        Smoothness::Analytic { rho: 2.0, bound: -1.0 },
    ] {
        assert!(
            interpolate(f64::sin, -1.0, 1.0, 4, bad).unwrap_err().to_string().contains("orders are 1 to 64")
        );
    }
    let error = interpolate_to(f64::abs, -1.0, 1.0, 1e-9, one).unwrap_err().to_string();
    assert!(error.starts_with("interpolate a function: degrees up to 255 come within"), "{error}");
}

/// The result at many points of every interval, ends included, is within the stated error of `x - round(x)`, and that error is not idle.
fn check(k: u32, log2_epsilon: f64, log2_error: f64, doublings: u32, arcsine: usize) -> ModularReduction {
    let what = format!("k {k}, epsilon 2^{log2_epsilon}, error 2^{log2_error}, {doublings}, {arcsine}");
    let reduction = ModularReduction::new(k, log2_epsilon, log2_error, doublings, arcsine).expect(&what);
    let epsilon = log2_epsilon.exp2();
    let mut seen = 0f64;
    for i in 1 - i64::from(k)..i64::from(k) {
        for s in -50..=50 {
            // The integer and the rest separately: the sum has fewer bits.
            let x = i as f64 + epsilon * f64::from(s) / 50.0;
            seen = seen.max((reduction.apply(x) - (x - i as f64)).abs());
        }
    }
    let bound = reduction.log2_error().exp2();
    assert!(reduction.log2_error() <= log2_error, "{what}");
    assert!(seen <= bound + 1e-14, "{what}: {seen:e} {bound:e}");
    assert!(seen > bound / 8.0 || bound < 1e-12, "{what}: {seen:e} {bound:e}");
    let Basis::Chebyshev { low, high } = reduction.cosine().basis() else { panic!("{what}") };
    assert_eq!((low, high), (-reduction.reach(), reduction.reach()));
    assert!(reduction.reach() >= f64::from(k) - 1.0 + epsilon);
    assert_eq!(reduction.doublings(), doublings);
    assert_eq!(reduction.arcsine().map_or(0, |p| p.degree()), arcsine);
    if let Some(p) = reduction.arcsine() {
        assert!(p.basis() == Basis::Monomial && p.coefficients().iter().step_by(2).all(|c| *c == 0.0));
        assert!((p.coefficients()[1] - 1.0 / TAU).abs() < 0.05);
    }
    let depth = (reduction.cosine().degree() as f64 + 1.0).log2().ceil() as u32
        + doublings
        + reduction.arcsine().map_or(0, |p| (p.degree() as f64 + 1.0).log2().ceil() as u32);
    assert_eq!(reduction.depth(), depth);
    reduction
}

#[test]
fn reductions_modulo_1() {
    for (k, log2_epsilon, log2_error, doublings, arcsine) in [
        (1, -4.0, -9.0, 0, 0),
        (1, -2.5, -12.0, 1, 9),
        (3, -6.0, -15.0, 0, 0),
        (12, -10.0, -26.0, 2, 0),
        (12, -10.0, -30.0, 3, 3),
        (16, -5.0, -34.0, 3, 7),
        (16, -8.5, -35.0, 2, 3),
        (17, -7.0, -45.0, 3, 7),
        (24, -8.0, -36.0, 4, 5),
    ] {
        check(k, log2_epsilon, log2_error, doublings, arcsine);
    }
}

/// With an arcsine, and errors near the end of what coefficients of 53 bits allow; the least degree is what it says.
#[test]
fn degrees_are_least() {
    let degree = |log2_error: f64| check(12, -10.0, log2_error, 2, 7).cosine().degree();
    let degrees: Vec<usize> = [-20.0, -30.0, -40.0, -48.0].map(degree).to_vec();
    assert!(degrees.windows(2).all(|w| w[0] < w[1]), "{degrees:?}");
    assert!(degrees[3] < 52, "{degrees:?}");
}

#[test]
fn reductions_that_cannot_be_are_named() {
    let message = |k, e, error, r, a| ModularReduction::new(k, e, error, r, a).unwrap_err().to_string();
    assert!(
        message(12, -10.0, -30.0, 2, 0)
            .contains("an arcsine of degree 0 comes within 2^-27.28, not within 2^-30")
    );
    assert!(message(12, -10.0, -80.0, 2, 7).contains("an arcsine of degree 7"));
    assert!(message(12, -30.0, -70.0, 2, 0).contains("coefficients of 53 bits come within 2^-5"));
    assert!(message(12, -10.0, -30.0, 2, 4).contains("0 or odd"));
    assert!(message(12, -10.0, 1.0, 2, 3).contains("below 1"));
    assert!(message(0, -10.0, -20.0, 2, 0).contains("k is 1 to 512"));
    assert!(message(2, -2.0, -5.0, 2, 3).contains("needs values below 1"));
}
