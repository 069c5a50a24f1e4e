//! `hippocrene plan` of a program.

use crate::console::{Console, count, size};
use crate::error::CliError;
use crate::streams;
use hippocrene::wire::Kind;
use hippocrene::{Cost, Input, Preset, Program, Spec, StepReport, Stored, profile};
use serde::Serialize;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// The plan of a program.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    #[serde(serialize_with = "crate::json::path")]
    path: &'a Path,
    preset: Option<&'static str>,
    /// The names and the specifications of the inputs.
    inputs: Vec<(&'a str, &'a Spec)>,
    /// The same of the parameters, which the server provides.
    parameters: Vec<(&'a str, &'a Spec)>,
    /// The evaluation keys that it uses.
    keys: Vec<String>,
    /// The file of the profile that was used, or `None` for typical figures.
    profile: Option<PathBuf>,
    #[serde(flatten)]
    cost: Cost,
    /// The values that are returned. The inputs are the first values, and the results of the steps
    /// follow in order.
    outputs: &'a [usize],
    steps: Vec<StepReport>,
}

impl Printed<'_> {
    /// The name of a value.
    fn name(&self, value: usize) -> String {
        let mut operands = self.inputs.iter().chain(&self.parameters);
        operands.nth(value).map_or(format!("%{value}"), |(name, _)| (*name).to_owned())
    }
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { seconds, first_seconds, peak_memory, key_bytes, bootstraps, .. } = self.cost;
        let by = match &self.profile {
            Some(path) => path.display().to_string(),
            None => "typical figures (hippocrene tune measures this machine)".to_owned(),
        };
        write!(f, "{}: a program of {}", self.path.display(), count(self.steps.len(), "step"))?;
        write!(f, "\n  preset      {}", self.preset.unwrap_or("none"))?;
        for (name, spec) in &self.inputs {
            write!(f, "\n  input       {name}: {spec}")?;
        }
        for (name, spec) in &self.parameters {
            write!(f, "\n  parameter   {name}: {spec}, of the server")?;
        }
        write!(
            f,
            "\n  time        {seconds:.3} s on one thread, the first run {first_seconds:.3} s, by {by}"
        )?;
        write!(f, "\n  bootstraps  {bootstraps}")?;
        if let Some(error) = self.cost.error_bound {
            match error.is_finite() {
                true => write!(f, "\n  error       {error:.2e} at most")?,
                false => f.write_str("\n  error       unknown")?,
            }
            if self.steps.iter().any(|step| step.jumps) {
                f.write_str(", except near the threshold of a comparison or another jump")?;
            }
        }
        write!(f, "\n  memory      {}", size(peak_memory as u64))?;
        let keys = if self.keys.is_empty() { "none".to_owned() } else { self.keys.join(", ") };
        write!(f, "\n  keys        {keys}, {}", size(key_bytes as u64))?;
        let mut rows = vec![["step", "from", "result", "capacity", "seconds"].map(str::to_owned)];
        let mut value = self.inputs.len() + self.parameters.len();
        for step in &self.steps {
            let results: Vec<String> =
                (value..value + step.results.len()).map(|value| self.name(value)).collect();
            value += step.results.len();
            let from: Vec<String> = step.inputs.iter().map(|value| self.name(*value)).collect();
            let result = step.results.first().map_or(String::new(), Spec::to_string);
            let mark = if step.rests_on_sample { " (seen in the sample)" } else { "" };
            let capacity =
                step.capacity_bits.map_or(String::new(), |bits| format!("{bits:.0} bits"));
            let also = match step.bootstraps {
                0 => String::new(),
                more => format!(", {}", count(more as usize, "bootstrap")),
            };
            rows.push([
                format!("{} = {}", results.join(", "), step.operation),
                from.join(", "),
                format!("{result}{mark}"),
                capacity,
                format!("{:.3}{also}", step.seconds),
            ]);
        }
        f.write_str("\n")?;
        write_columns(f, &rows)
    }
}

/// Writes rows with columns of equal widths, two spaces apart.
fn write_columns<const COUNT: usize>(
    f: &mut fmt::Formatter<'_>,
    rows: &[[String; COUNT]],
) -> fmt::Result {
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: [usize; COUNT] = std::array::from_fn(width);
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        write!(f, "\n{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// Loads a program.
pub(super) fn load(path: &Path) -> Result<Program, CliError> {
    let bytes = streams::read_ours(path, &[Kind::Program])?;
    Program::from_bytes(&bytes, ()).map_err(CliError::of(path))
}

/// Prints the plan of a program, with the predicted cost on this machine.
pub(super) fn plan(path: &Path, console: &mut Console<'_>) -> Result<(), CliError> {
    let program = load(path)?;
    let (steps, cost) = console.step("predict the cost", || Ok(program.predict()?))?;
    let interface = program.interface();
    let parameters = interface.settings().parameters();
    fn named(all: &[Input]) -> Vec<(&str, &Spec)> {
        all.iter().map(|own| (own.name.as_str(), &own.spec)).collect()
    }
    let printed = Printed {
        path,
        preset: Preset::by_digest(parameters.digest(), parameters.degree())
            .map(|preset| preset.name),
        inputs: named(interface.inputs()),
        parameters: named(interface.parameters()),
        keys: interface.key_names(),
        profile: profile::installed()?.and_then(|_| profile::path()),
        cost,
        outputs: program.outputs(),
        steps,
    };
    console.result(&printed, &printed)
}
