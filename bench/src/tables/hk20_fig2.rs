//! The table `hk20-fig2`: error bounds of interpolations of the sine, as in Fig. 2 of HK20.

use std::f64::consts::TAU;

use hippocrene_ckks::approximation::Cosine;

use super::Table;
use crate::{
    Result,
    plot::{Panel, Plot},
    report::Row,
    session::Session,
};

/// The table.
pub const TABLE: Table = Table {
    name: "hk20-fig2",
    about: "HK20 Fig. 2: log2 of the error bound of interpolations of sin(2 pi x) by degree, with \
            Algorithm 1's nodes within epsilon of the integers below 12, and with the Chebyshev \
            nodes of [-12, 12]. The bounds are for exact coefficients, as in the paper. The \
            paper's figure has curves, and no numbers that could be shown here",
    memory: "10 MB",
    time: "about half a minute",
    live: &[],
    plot: true,
    run,
};

/// The integers are those of absolute value below `K`.
const K: u32 = 12;
/// log2 of the distances from the integers. `2^-10` is that of the paper's tables. The others are
/// chosen.
const LOG2_EPSILONS: [f64; 3] = [-5.0, -10.0, -15.0];
const DEGREES: [usize; 13] = [30, 40, 50, 60, 70, 76, 86, 96, 106, 116, 119, 126, 136];
/// log2 of an error below all errors of the table.
const LOG2_LEAST: f64 = -320.0;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut curves = vec![("Chebyshev nodes".to_string(), Vec::new())];
    let mut rows = Vec::new();
    for degree in DEGREES {
        let bound = chebyshev_bound(degree).log2();
        curves[0].1.push((degree as f64, -bound));
        rows.push(Row::new(format!("degree {degree}: Chebyshev nodes"), bound, "bits"));
    }
    for log2_epsilon in LOG2_EPSILONS {
        let cosine = Cosine::new(K, log2_epsilon, 0, LOG2_LEAST)?;
        let mut curve = Vec::new();
        for degree in DEGREES {
            let bound = cosine.interpolate(degree)?.exact_error.log2();
            curve.push((degree as f64, -bound));
            let name = format!("degree {degree}: Algorithm 1, epsilon 2^{log2_epsilon}");
            rows.push(Row::new(name, bound, "bits"));
        }
        curves.push((format!("epsilon 2^{log2_epsilon}"), curve));
    }
    // The y-axis of plots starts at 0, so errors above 1 are left out.
    for (_, curve) in &mut curves {
        curve.retain(|(_, bits)| *bits >= 0.0);
    }
    session.plot = Plot {
        panels: vec![Panel {
            title: "HK20 Fig. 2: interpolations of the sine, K = 12".into(),
            x: "degree".into(),
            y: "-log2 of the error bound".into(),
            curves,
        }],
    };
    Ok(rows)
}

/// Returns a bound of the error of the polynomial that interpolates `sin(2 pi x)` at the `degree +
/// 1` Chebyshev nodes of `[-K, K]`. It is at most twice the sum of the absolute values of the
/// coefficients of the Chebyshev series that the polynomial leaves out.
///
/// The coefficients of odd index `j` are `2 J_j(2 pi K)` in absolute value, and the others are 0.
fn chebyshev_bound(degree: usize) -> f64 {
    let bessel = bessel(TAU * f64::from(K));
    let left_out = bessel.iter().enumerate().skip(degree + 1).filter(|(j, _)| j % 2 == 1);
    2.0 * left_out.map(|(_, value)| 2.0 * value.abs()).sum::<f64>()
}

/// The largest index of the Bessel functions. They are 0 in `f64` from there on.
const MAX_ORDER: usize = 300;

/// Returns the Bessel functions `J_0(x)` to `J_300(x)`, for `x` from 50 to 100.
///
/// Miller's recurrence `J_(j-1) = (2 j/x) J_j - J_(j+1)` is stable from the highest index down.
fn bessel(x: f64) -> Vec<f64> {
    let mut values = vec![0.0; MAX_ORDER + 2];
    values[MAX_ORDER] = 1e-200;
    for j in (1..=MAX_ORDER).rev() {
        values[j - 1] = 2.0 * j as f64 / x * values[j] - values[j + 1];
    }
    // J_0 + 2 J_2 + 2 J_4 + .. = 1.
    let sum = values[0] + 2.0 * values.iter().skip(2).step_by(2).sum::<f64>();
    values.iter().take(MAX_ORDER + 1).map(|value| value / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hippocrene_ckks::circuits::Polynomial;

    /// `cos(x sin t) = J_0 + 2 sum J_2k cos(2 k t)`, `sin(x sin t) = 2 sum J_(2k+1) sin((2k+1) t)`.
    #[test]
    fn bessel_functions_are_coefficients_of_waves() {
        for x in [60.0, 75.4, 100.0] {
            let bessel = bessel(x);
            for t in [0.1f64, 0.7, 1.3] {
                let terms = bessel.iter().enumerate().skip(1);
                let (mut cosine, mut sine) = (bessel[0], 0.0);
                terms.for_each(|(j, value)| match j % 2 {
                    0 => cosine += 2.0 * value * (j as f64 * t).cos(),
                    _ => sine += 2.0 * value * (j as f64 * t).sin(),
                });
                let turned = x * t.sin();
                assert!(
                    (cosine - turned.cos()).abs() < 1e-12 && (sine - turned.sin()).abs() < 1e-12
                );
            }
        }
    }

    /// Compares the bound with the largest error at many points, of a polynomial that the library
    /// interpolates at the same nodes.
    #[test]
    fn chebyshev_bounds_are_close_to_the_errors() {
        let k = f64::from(K);
        for degree in [90, 100] {
            let p = Polynomial::approximate(|x| (TAU * x).sin(), -k, k, degree).unwrap();
            let points = (0..=20_000).map(|i| k * (f64::from(i) / 1e4 - 1.0));
            let error = points.map(|x| (p.evaluate(x) - (TAU * x).sin()).abs()).fold(0.0, f64::max);
            let bound = chebyshev_bound(degree);
            assert!(error <= bound && bound < 8.0 * error, "{degree}: {error:e} {bound:e}");
        }
    }
}
