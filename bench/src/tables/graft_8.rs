//! The table `graft-8`: comparisons with their bootstraps, as in Table 8 of GRAFT.

use std::{borrow::Cow, cell::RefCell, sync::Arc};

use hippocrene_ckks::{
    Ciphertext, CkksError, Refresh, Scale,
    approximation::sign::CompositeSign,
    bootstrap::Bootstrapper,
    circuits::comparison::{SignLiteral, SignPlan},
};

use super::{
    Table,
    boot::Client,
    graft_7::closest,
    pairs::PAIRS,
    twins::{TWINS, Twin, steps},
};
use crate::{Result, machine, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-8",
    about: "GRAFT Table 8: signs of 2^15 real numbers with FHE16s, which bootstrap on the way. \
            Bootstraps are those of graft-4-boot, and grafted sets bootstrap only to the modulus \
            that the rest needs. Our code runs all sets. comp1 has g_3 four times and f_3 twice \
            (gap 2^-8), and comp2 has g_3 eight times and f_3 twice (gap 2^-16). Both start at \
            the full modulus for multiplications and end at the next bootstrap's. Three ways are \
            compared: f_3 after g_3 on the simple chain at its single scale; the same on the \
            paper's grafted set at the scales for the same precision, or a bit less (graft-7); \
            and, on the pair at words of 48 bits, the latter and the minimax composition with \
            the fewest bits. Shown: the median time of three runs, the number of bootstraps, and \
            the largest error outside the gap. The target is the paper's speed-up",
    memory: "10.3 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

/// A comparison of the paper: its name, the number of times that `g_3` is applied (followed by
/// `f_3` twice), log2 of the gap, and the speed-up.
const COMPARISONS: [(&str, usize, i32, f64); 2] = [("comp1", 4, -8, 1.24), ("comp2", 8, -16, 1.56)];
const PAIR: &str = "FHE16s";
/// The number of timed runs.
const RUNS: usize = 3;
/// log2 of the largest standard deviation that bootstraps may leave. Comparisons at one scale allow
/// for it.
const MAX_REFRESHED_LOG2: f64 = -20.0;

/// The figures of a comparison.
#[derive(Clone, Copy)]
struct Figures {
    time: f64,
    bootstraps: u64,
    precision: f64,
    left: f64,
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let pair = PAIRS.iter().find(|pair| pair.name == PAIR).ok_or("no such pair")?;
    let steps = steps(pair).ok_or("the pair has no bootstrap")?;
    let mut rows = Vec::new();
    let mut simple: Vec<(f64, Figures)> = Vec::new();
    for twin in TWINS {
        let plan = twin.plan(pair, steps)?;
        let (client, _) = Client::generate(&plan)?;
        let bootstrapper = client.bootstrapper(Arc::clone(&plan))?;
        for (i, (name, g, log2_gap, speed_up)) in COMPARISONS.into_iter().enumerate() {
            let gap = 2f64.powi(log2_gap);
            let composition = CompositeSign::iterated(3, g, 2, gap)?;
            let literal =
                SignLiteral { slots: client.context.max_slots(), bound: 1.0, gap, precision: 1.0 };
            let mut plans = Vec::new();
            match simple.get(i) {
                None => {
                    let refreshed = MAX_REFRESHED_LOG2.exp2();
                    let fixed = SignPlan::at_scale(
                        &client.context,
                        &composition,
                        pair.scale_bits,
                        refreshed,
                        literal,
                    )?;
                    plans.push(("", fixed));
                }
                Some((precision, _)) => {
                    let literal = SignLiteral { precision: *precision, ..literal };
                    plans.push(("", closest(&client.context, &composition, literal)?));
                    if twin == Twin::Ours {
                        plans.push((", minimax", SignPlan::new(&client.context, literal)?));
                    }
                }
            }
            for (kind, sign) in plans {
                let figures = measure(
                    session,
                    &client,
                    &bootstrapper,
                    &sign,
                    pair.scale_bits,
                    twin == Twin::Simple,
                )?;
                let row = |what: &str, unit, value: f64| {
                    Row::new(format!("{name}, {}{kind}: {what}", twin.name(pair)), value, unit)
                };
                let paper = |what: &str| match twin {
                    Twin::Simple => {
                        session.papers.find("graft-8", &format!("{name}, simple: {what}"))
                    }
                    Twin::Grafted => {
                        session.papers.find("graft-8", &format!("{name}, grafted: {what}"))
                    }
                    Twin::Ours => None,
                };
                let time = row("comparison", "s", figures.time).paper(paper("comparison"));
                let bootstraps =
                    row("bootstraps", "", figures.bootstraps as f64).paper(paper("bootstraps"));
                match simple.get(i).copied() {
                    Some((_, theirs)) => {
                        let target = Some(speed_up).filter(|_| twin == Twin::Ours);
                        let against = pair.paper_name("sim");
                        rows.push(time.against(&against, theirs.time).target(target));
                        rows.push(bootstraps.against(&against, theirs.bootstraps as f64));
                    }
                    None => {
                        rows.extend([time, bootstraps]);
                        simple.push((-sign.error().log2(), figures));
                    }
                }
                let more = |what: &str, value| {
                    Row::more_is_better(
                        format!("{name}, {}{kind}: {what}", twin.name(pair)),
                        value,
                        "bits",
                    )
                };
                rows.push(row("modulus taken", "bits", sign.bits()));
                rows.push(more("precision that is planned", -sign.error().log2()));
                rows.push(more("precision", figures.precision));
                rows.push(more("capacity left", figures.left));
            }
        }
    }
    if let Some(bytes) = machine::peak_memory() {
        rows.push(Row::new("peak memory", bytes as f64 / f64::from(1 << 30), "GiB"));
    }
    Ok(rows)
}

/// Measures the sign of positive and negative numbers between the gap and 1, starting from the
/// modulus that a bootstrap leaves. Bootstraps end at the full modulus, or at the modulus that the
/// rest needs.
fn measure(
    session: &mut Session,
    client: &Client,
    bootstrapper: &Bootstrapper,
    sign: &SignPlan,
    scale_bits: f64,
    whole: bool,
) -> Result<Figures> {
    let (context, literal) = (&client.context, sign.literal());
    let numbers: Vec<f64> = (0..literal.slots).map(|i| number(i, literal.gap)).collect();
    let scale = Scale::power_of_two(scale_bits as i32);
    let fresh = context.parameters().grafted_modulus(FRESH_BITS);
    let plaintext = context.encode((&numbers[..]).into(), literal.slots, scale, fresh)?;
    let a = context.encrypt(&client.secret, &plaintext)?.expand(context);
    let evaluator = bootstrapper.evaluator();
    let refresh: &dyn Refresh = if whole { &Whole(bootstrapper) } else { bootstrapper };
    let result: RefCell<Option<Ciphertext>> = RefCell::default();
    let mut before = 0;
    let time = session.time_slow(context.parameters().log_degree(), RUNS, &mut || {
        before = bootstrapper.bootstraps();
        result.replace(Some(evaluator.sign(&a, sign, refresh)?));
        Ok(())
    })?;
    let bootstraps = bootstrapper.bootstraps() - before;
    let y = result.into_inner().ok_or("a comparison has run")?;
    let got = context.decode_complex(&context.decrypt(&client.secret, &y)?)?;
    let errors = got.iter().zip(&numbers).map(|(g, x)| (g.re - x.signum()).abs());
    Ok(Figures {
        time,
        bootstraps,
        precision: -errors.fold(0.0, f64::max).log2(),
        left: y.capacity_bits(context),
    })
}

/// Bootstraps to the full modulus, as on the paper's simple chains.
struct Whole<'b>(&'b Bootstrapper);

impl Refresh for Whole<'_> {
    fn refresh<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        need: f64,
        _useful: f64,
        operation: &'static str,
    ) -> std::result::Result<Cow<'a, Ciphertext>, CkksError> {
        self.0.refresh(a, need, f64::INFINITY, operation)
    }

    /// Leaves out the bit for inexact bounds of values, because the chain has exactly the primes
    /// that the bootstrap uses.
    fn reserve(&self) -> f64 {
        self.0.reserve() - 1.0
    }

    fn max_capacity(&self) -> f64 {
        self.0.max_capacity()
    }
}

/// The bits of base, slots to coefficients and multiplications of FHE16s.
const FRESH_BITS: f64 = 58.0 + 126.0 + 378.0;

/// Returns a number of either sign whose magnitude takes all orders between the gap and 1.
fn number(i: usize, gap: f64) -> f64 {
    let size = gap.powf((i as f64 * 0.754_877_666).fract());
    if i.is_multiple_of(2) { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_respect_the_gap() {
        let all: Vec<f64> = (0..1000).map(|i| number(i, 1e-3)).collect();
        assert!(all.iter().all(|x| (1e-3..=1.0).contains(&x.abs())));
        assert!(all.iter().any(|x| x.abs() < 2e-3) && all.iter().any(|x| *x < -0.5));
    }
}
