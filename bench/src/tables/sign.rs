//! The table `sign`: compositions of polynomials for the sign, minimax against iterated.

use hippocrene_ckks::approximation::sign::CompositeSign;

use super::Table;
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "sign",
    about: "depth, products of ciphertexts and precision of compositions for the sign where gap \
            <= |x| <= 1: the minimax composition of the smallest depth (LLNK22) against f_3 \
            after g_3 (CKK20), applied as often as needed. First at the precision of GRAFT's \
            comp1 and comp2 (4 and 8 times g_3, twice f_3)",
    memory: "10 MB",
    time: "a few seconds",
    live: &[],
    plot: false,
    run,
};

const ITERATED: &str = "f_3, g_3 (CKK20)";

fn run(_: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, g, log2_gap) in [("comp1, gap 2^-8", 4, -8), ("comp2, gap 2^-16", 8, -16)] {
        let iterated = CompositeSign::iterated(3, g, 2, 2f64.powi(log2_gap))?;
        compare(&mut rows, name, &iterated, iterated.error())?;
    }
    for (log2_gap, log2_error) in [(-6, -10), (-10, -15), (-15, -20), (-20, -20), (-20, -30)] {
        let name = format!("gap 2^{log2_gap}, error 2^{log2_error}");
        let error = 2f64.powi(log2_error);
        compare(&mut rows, &name, &least_iterated(2f64.powi(log2_gap), error)?, error)?;
    }
    Ok(rows)
}

/// Returns the shortest iteration within the error, and of equally short ones that with the
/// smallest error.
fn least_iterated(gap: f64, error: f64) -> Result<CompositeSign> {
    for count in 1..=40 {
        let all: Vec<CompositeSign> = (0..=count)
            .map(|g| CompositeSign::iterated(3, g, count - g, gap))
            .collect::<std::result::Result<_, _>>()?;
        if let Some(sign) = all.into_iter().min_by(|a, b| a.error().total_cmp(&b.error()))
            && sign.error() <= error
        {
            return Ok(sign);
        }
    }
    Err(format!("40 polynomials do not come within {error:e}").into())
}

fn compare(rows: &mut Vec<Row>, name: &str, iterated: &CompositeSign, error: f64) -> Result<()> {
    let minimax = CompositeSign::least(iterated.gap(), error)?;
    let degrees: Vec<String> = minimax.stages().iter().map(|p| p.degree().to_string()).collect();
    let name = format!("{name}, degrees {}", degrees.join(" "));
    let bits = |sign: &CompositeSign| -sign.error().log2();
    rows.extend([
        Row::new(format!("{name}: depth"), minimax.depth() as f64, "")
            .against(ITERATED, iterated.depth() as f64),
        Row::new(format!("{name}: products"), minimax.products() as f64, "")
            .against(ITERATED, iterated.products() as f64),
        Row::more_is_better(format!("{name}: precision"), bits(&minimax), "bits")
            .against(ITERATED, bits(iterated)),
    ]);
    Ok(())
}
