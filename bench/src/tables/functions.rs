//! The table `functions`: functions of all values at once, with every candidate.

use std::cell::RefCell;

use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Encryption, Interval, KeyRequest, Preset, Server,
    Simulation, SmoothFunction,
};

use super::Table;
use crate::{Result, machine, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "functions",
    about: "functions of all values at once, real arrays. First arrays with all of their capacity, \
            by polynomials and comparisons. Then arrays with just enough capacity for a bootstrap: \
            as the server decides, so that the result can be bootstrapped again, and with a \
            polynomial after a bootstrap that uses up the capacity. Both include the bootstrap and \
            are compared with a bootstrap of the same array. Shown: time as predicted with the \
            prices of this run and as measured, and the largest error outside of the gaps of jumps",
    memory: "9 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

/// A function with its domain, its jumps and the bits of its error.
struct Case {
    name: &'static str,
    f: fn(f64) -> f64,
    domain: (f64, f64),
    jumps: &'static [f64],
    /// The error is `2^-bits` times the range of the function.
    bits: i32,
}

const fn case(
    name: &'static str,
    f: fn(f64) -> f64,
    domain: (f64, f64),
    jumps: &'static [f64],
    bits: i32,
) -> Case {
    Case { name, f, domain, jumps, bits }
}

const SIGMOID: Case = case("sigmoid", |x| 1.0 / (1.0 + (-x).exp()), (-8.0, 8.0), &[], 10);

/// Functions of arrays with all of their capacity.
const CASES: [Case; 9] = [
    SIGMOID,
    case("gelu", gelu, (-8.0, 8.0), &[], 10),
    case("exp", f64::exp, (-4.0, 4.0), &[], 10),
    case("sqrt", f64::sqrt, (0.125, 4.0), &[], 10),
    case("1/x", f64::recip, (0.25, 4.0), &[], 10),
    case("relu", |x| x.max(0.0), (-8.0, 8.0), &[], 8),
    case("sign", f64::signum, (-8.0, 8.0), &[0.0], 8),
    case("floor", f64::floor, (-1.5, 2.5), &[-1.0, 0.0, 1.0, 2.0], 8),
    case("discount", |x| if x > 5.0 { 0.1 * x } else { 0.0 }, (0.0, 8.0), &[5.0], 8),
];

/// The number of smooth functions at the start of [`CASES`].
const SMOOTH: usize = 5;

/// The gap of jumps as a share of the width of the domain.
const GAP: f64 = 1.0 / 256.0;

/// The number of timed runs.
const RUNS: usize = 2;

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let (n15, n16s) = (Setup::new("n15")?, Setup::new("n16s")?);
    for count in [1 << 8, 1 << 12, 1 << 15] {
        for case in CASES.iter().take(if count == 1 << 8 { CASES.len() } else { SMOOTH }) {
            rows.extend(n15.fresh(session, case, count)?);
        }
    }
    for case in &CASES[..SMOOTH] {
        rows.extend(Row::or_refusal(&n15.name_of(case), n15.exhausted(session, case))?);
    }
    let precise = Case { bits: 20, ..SIGMOID };
    rows.extend(Row::or_refusal(&n16s.name_of(&precise), n16s.exhausted(session, &precise))?);
    if let Some(bytes) = machine::peak_memory() {
        rows.push(Row::new("peak memory", bytes as f64 / f64::from(1 << 30), "GiB"));
    }
    Ok(rows)
}

struct Setup {
    preset: Preset,
    client: ClientKey,
    server: Server,
    simulation: Simulation,
}

impl Setup {
    fn new(preset: &str) -> Result<Self> {
        let preset = Preset::by_name(preset)?;
        let bootstrapping = Some(Bootstrapping::default());
        let request = KeyRequest { powers_of_two: false, bootstrapping, ..KeyRequest::default() };
        let client = ClientKey::generate(preset.settings()?)?;
        let server = Server::with_threads(&client.evaluation_keys(&request)?, 1)?;
        let simulation = Simulation::with_keys(preset.settings()?, &request)?;
        Ok(Setup { preset, client, server, simulation })
    }

    /// Returns the rows of an array with all of its capacity.
    fn fresh(&self, session: &mut Session, case: &Case, count: usize) -> Result<Vec<Row>> {
        let values = case.values(count);
        let [a, dry] = self.arrays(case, &values)?;
        let name = format!("{}, {}, {count} values", self.preset.name, case.name);
        let apply = |server: &Server, a: &EncryptedArray| {
            Ok(server.apply_smooth(a, &case.function()?, case.gap())?)
        };
        let (predicted, measured, error) = self.timed(session, case, &values, [&a, &dry], apply)?;
        Ok(vec![
            Row::new(name.clone(), measured, "s").against("predicted", predicted),
            error_row(&name, error),
        ])
    }

    /// The name of the rows of an array that has just enough capacity for a bootstrap.
    fn name_of(&self, case: &Case) -> String {
        format!("{}, {}, no capacity", self.preset.name, case.name)
    }

    /// Returns the rows of an array that has just enough capacity for a bootstrap.
    fn exhausted(&self, session: &mut Session, case: &Case) -> Result<Vec<Row>> {
        let values = case.values(self.server.session().slots());
        let arrays = self.arrays(case, &values)?;
        let reserve = self.server.bootstrap_reserve().ok_or("there are bootstrapping keys")?;
        let low = |server: &Server, a| server.bootstrap_to(a, Some(reserve + 1.0));
        let a = low(&self.server, &arrays[0])?;
        let dry = low(self.simulation.server(), &arrays[1])?;
        let name = self.name_of(case);
        let function = case.function()?;
        let bootstrap = session.time_slow(self.preset.log_degree, RUNS, &mut || {
            self.server.bootstrap(&a)?;
            Ok(())
        })?;
        let decided =
            |server: &Server, a: &EncryptedArray| Ok(server.apply_smooth(a, &function, None)?);
        let after = |server: &Server, a: &EncryptedArray| {
            let fresh = server.bootstrap(a)?;
            Ok(server.finishing().apply_smooth(&fresh, &function, None)?)
        };
        let mut rows = Vec::new();
        let (predicted, measured, error) =
            self.timed(session, case, &values, [&a, &dry], decided)?;
        let row = Row::new(format!("{name}, as decided"), measured, "s");
        rows.push(row.against("a bootstrap", bootstrap).target(Some(1.0 / 1.3)));
        rows.push(Row::new(format!("{name}, as decided: predicted"), predicted, "s"));
        rows.push(error_row(&name, error));
        let (_, measured, error) = self.timed(session, case, &values, [&a, &dry], after)?;
        let name = format!("{name}, a bootstrap and a polynomial");
        rows.push(Row::new(name.clone(), measured, "s").against("a bootstrap", bootstrap));
        rows.push(error_row(&name, error));
        Ok(rows)
    }

    /// Returns the encrypted values, and those of the simulation.
    fn arrays(&self, case: &Case, values: &[f64]) -> Result<[EncryptedArray; 2]> {
        let how = Encryption {
            interval: Interval::new(case.domain.0, case.domain.1),
            ..Encryption::default()
        };
        let shape = [values.len()];
        Ok([
            self.client.encrypt_with(values.into(), &shape, &how)?,
            self.simulation.encrypt(values.into(), &shape, &how)?,
        ])
    }

    /// Returns the predicted and the measured seconds of `apply`, and the largest error.
    fn timed(
        &self,
        session: &mut Session,
        case: &Case,
        values: &[f64],
        [a, dry]: [&EncryptedArray; 2],
        apply: impl Fn(&Server, &EncryptedArray) -> Result<EncryptedArray>,
    ) -> Result<(f64, f64, f64)> {
        let seconds = || self.simulation.report().seconds;
        let before = seconds();
        apply(self.simulation.server(), dry)?;
        let predicted = seconds() - before;
        let found: RefCell<Option<EncryptedArray>> = RefCell::default();
        let bits = a.precision_bits(self.server.session());
        let measured = session.time_slow(self.preset.log_degree, RUNS, &mut || {
            // An array remembers its bootstraps, and this copy has none yet.
            let fresh = self.server.declare_precision(a, bits)?;
            found.replace(Some(apply(&self.server, &fresh)?));
            Ok(())
        })?;
        let found = found.into_inner().ok_or("the function has been applied")?;
        let got = self.client.decrypt(&found)?;
        let gap = case.gap().unwrap_or(0.0);
        let outside = |x: f64| case.jumps.iter().all(|jump| (x - jump).abs() >= gap);
        let errors = values.iter().zip(&got).filter(|(x, _)| outside(**x));
        let error = errors.map(|(x, y)| (y - (case.f)(*x)).abs()).fold(0.0, f64::max);
        Ok((predicted, measured, error))
    }
}

fn error_row(name: &str, error: f64) -> Row {
    Row::new(format!("{name}: largest error"), error.log2(), "log2")
}

impl Case {
    /// Returns values that fill the domain evenly.
    fn values(&self, count: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        (0..count).map(|i| low + (high - low) * (i as f64 + 0.5) / count as f64).collect()
    }

    fn function(&self) -> Result<SmoothFunction> {
        let values = self.values(1 << 10).into_iter().map(self.f);
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
        let error = (high - low) * f64::from(-self.bits).exp2();
        Ok(SmoothFunction::new(self.f, self.domain, Some(error), None)?)
    }

    /// Returns the gap of jumps, if there are any.
    fn gap(&self) -> Option<f64> {
        (!self.jumps.is_empty()).then_some(GAP * (self.domain.1 - self.domain.0))
    }
}
