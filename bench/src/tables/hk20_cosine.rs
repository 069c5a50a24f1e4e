//! The tables `hk20-3` and `hk20-4`: degrees, depths and products of the polynomials for the sine,
//! as in Tables 3 and 4 of HK20.

use hippocrene_ckks::{
    approximation::{Coefficients, Cosine, CosineInterpolation, Smoothness, interpolate_to},
    circuits::Polynomial,
};

use super::Table;
use crate::{Result, report::Row, session::Session};

/// The table of degrees.
pub const DEGREES: Table = Table {
    name: "hk20-3",
    about: "HK20 Table 3: the smallest degree with the same error bound of sin(2 pi x) as a \
            given degree without doublings, and the depth, for x within 2^-10 of an integer \
            below 12. First with exact coefficients, as in the paper. Then with coefficients \
            that can be computed with: they are f64, and at most twice as large as those of the \
            cosine itself. The sum of the absolute values of the exact coefficients is shown in \
            bits, since it multiplies the noise",
    memory: "10 MB",
    time: "about half a minute",
    live: &[],
    plot: false,
    run: degrees,
};

/// The table of products.
pub const PRODUCTS: Table = Table {
    name: "hk20-4",
    about: "HK20 Table 4: degree, products of ciphertexts (by our baby and giant steps) and \
            depth of sin(2 pi x) for x within 2^-10 of an integer below 12, at the error bound \
            of degree 74 without doublings. Coefficients are exact, or such that they can be \
            computed with, or interpolated on the whole interval. Our depth includes the level \
            of products with coefficients. If a degree leaves no spare level (30 with two \
            doublings), the most deeply multiplied sum of powers has fewer powers. This takes \
            one more product than in the paper, whose baby and giant steps use another level for \
            coefficients",
    memory: "10 MB",
    time: "a few seconds",
    live: &[],
    plot: false,
    run: products,
};

const K: u32 = 12;
const LOG2_EPSILON: f64 = -10.0;

/// Errors below this need coefficients with more bits than `f64` has.
const F64: f64 = 1e-14;

/// Returns the degree, and the products and the depth with this number of doublings.
fn costs(polynomial: &Polynomial, doublings: u32) -> (f64, f64, f64) {
    let degree = polynomial.degree();
    let depth = (degree + 1).next_power_of_two().trailing_zeros() + doublings;
    (degree as f64, (polynomial.products() + doublings as usize) as f64, f64::from(depth))
}

fn least(cosine: &Cosine, error: f64, coefficients: Coefficients) -> Result<CosineInterpolation> {
    cosine
        .least_degree(error, coefficients)
        .map_err(|reached| format!("an error of {error:e} is not reached, only {reached:e}").into())
}

fn cosines(most: u32, log2_least: f64) -> Result<Vec<Cosine>> {
    (0..=most).map(|doublings| Ok(Cosine::new(K, LOG2_EPSILON, doublings, log2_least)?)).collect()
}

fn degrees(session: &mut Session) -> Result<Vec<Row>> {
    let cosines = cosines(3, -150.0)?;
    let mut rows = Vec::new();
    for base in (76..=136).step_by(10) {
        let level = cosines[0].interpolate(base)?.exact_error;
        rows.push(Row::new(format!("degree {base}: error bound"), level.log2(), "bits"));
        for (doublings, cosine) in (0..).zip(&cosines) {
            let name = format!("as degree {base}, {doublings} doublings");
            let exact = least(cosine, level, Coefficients::Exact)?;
            let (degree, _, depth) = costs(&exact.polynomial, doublings);
            let mut row = |what: &str, value: f64| {
                let name = format!("{name}: {what}");
                let paper = session.papers.find("hk20-3", &name);
                rows.push(Row::new(name, value, "").paper(paper));
            };
            row("degree", degree);
            row("depth", depth);
            rows.push(Row::new(
                format!("{name}: coefficients"),
                exact.coefficient_sum.log2(),
                "bits",
            ));
            if level < F64 {
                continue;
            }
            let name = format!("{name}, to compute with");
            match cosine.least_degree(level, Coefficients::Rounded) {
                Ok(rounded) => {
                    let (degree, _, depth) = costs(&rounded.polynomial, doublings);
                    rows.push(Row::new(format!("{name}: degree"), degree, ""));
                    rows.push(Row::new(format!("{name}: depth"), depth, ""));
                }
                Err(reached) => {
                    rows.push(Row::new(
                        format!("{name}: error bound within reach"),
                        reached.log2(),
                        "bits",
                    ));
                }
            }
        }
    }
    Ok(rows)
}

fn products(session: &mut Session) -> Result<Vec<Row>> {
    let cosines = cosines(3, -40.0)?;
    let level = cosines[0].interpolate(74)?.exact_error;
    let mut rows = vec![Row::new("degree 74: error bound", level.log2(), "bits")];
    let mut add = |name: &str, polynomial: &Polynomial, doublings: u32| {
        let (degree, products, depth) = costs(polynomial, doublings);
        for (what, value) in [("degree", degree), ("products", products), ("depth", depth)] {
            let name = format!("{name}: {what}");
            let paper = session.papers.find("hk20-4", &name);
            rows.push(Row::new(name, value, "").paper(paper));
        }
    };
    for (doublings, cosine) in (0..).zip(&cosines) {
        let name = format!("{doublings} doublings");
        add(&name, &least(cosine, level, Coefficients::Exact)?.polynomial, doublings);
        let name = format!("{name}, to compute with");
        add(&name, &least(cosine, level, Coefficients::Rounded)?.polynomial, doublings);
    }
    // The derivative of order 64 is at most (2 pi)^64.
    let smoothness = Smoothness::Derivative { order: 64, bound: std::f64::consts::TAU.powi(64) };
    let sine = |x: f64| (std::f64::consts::TAU * x).sin();
    let k = f64::from(K);
    add(
        &format!("on all of [-{K}, {K}]"),
        &interpolate_to(sine, -k, k, level, smoothness)?.polynomial,
        0,
    );
    Ok(rows)
}
