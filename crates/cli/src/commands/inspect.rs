//! `hippocrene inspect`.

use super::model;
use crate::args::Inspect;
use crate::console::{Console, count, size};
use crate::error::CliError;
use crate::streams;
use hippocrene::wire::{
    self, ArrayInspection, BitsInspection, BootstrappingInspection, ElementsInspection,
    GatesInspection, Inspection, KeysInspection, ProgramInspection, SettingsInspection,
    TreesInspection,
};
use hippocrene::{Family, Preset, Results, format_shape};
use serde::Serialize;
use std::fmt::{self, Display};
use std::path::Path;

#[derive(Debug, Serialize)]
struct Inspected<'a> {
    files: Vec<One<'a>>,
}

/// One file.
#[derive(Debug, Serialize)]
struct One<'a> {
    #[serde(serialize_with = "crate::json::path")]
    path: &'a Path,
    #[serde(flatten)]
    is: Inspection,
}

impl<'a> One<'a> {
    fn of(path: &'a Path) -> Result<Self, CliError> {
        let bytes = streams::read_ours(path, &[])?;
        let is = wire::inspect(&bytes).map_err(CliError::of(path))?;
        Ok(Self { path, is })
    }
}

impl Display for Inspected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.iter().enumerate().try_for_each(|(i, one)| {
            let gap = if i == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{one}")
        })
    }
}

impl Display for One<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inspection { kind, bytes, key, secret, ring_degree, parameters, preset, .. } = &self.is;
        write!(f, "{}: {kind}, {}", self.path.display(), size(*bytes))?;
        write!(f, "\n  loading     needs up to {} of memory", size(self.is.peak_memory))?;
        if *secret {
            write!(f, "\n  SECRET      keep this file secret")?;
        }
        if let Some(key) = key {
            write!(f, "\n  key         {key}")?;
        }
        if let Some(second) = &self.is.transfer {
            write!(f, "\n  leads to    key {}", second.key)?;
        }
        if let Some(TreesInspection { tables, numbers, rows }) = &self.is.trees {
            write!(f, "\n  tables      {tables}, ring degree {ring_degree}")?;
            return match (numbers, rows) {
                (Some(numbers), Some(rows)) => {
                    write!(f, "\n  rows        {rows}, of {numbers} numbers")
                }
                _ => Ok(()),
            };
        }
        if let Some(GatesInspection { parameters, shape, fresh, bit_error }) = &self.is.gates {
            write!(f, "\n  gates       {parameters}, ring degree {ring_degree}")?;
            if let (Some(shape), Some(fresh)) = (shape, fresh) {
                let how = if *fresh { "as encrypted" } else { "one ciphertext for each bit" };
                write!(f, "\n  shape       {shape}, {how}", shape = format_shape(shape))?;
            }
            if let Some(bit_error) = bit_error {
                write_error(f, *bit_error)?;
            }
            return Ok(());
        }
        let name = preset.map_or_else(
            || format!("no preset, digest {parameters}"),
            |name| format!("preset {name}"),
        );
        write!(f, "\n  parameters  {name}, ring degree {ring_degree}")?;
        if let Some(SettingsInspection { log2_pq, security_limit, precision, integers, .. }) =
            &self.is.settings
        {
            let limit = security_limit.map_or_else(
                || "INSECURE".to_owned(),
                |limit| format!("128-bit security to {limit}"),
            );
            write!(f, "\n  modulus     log2 PQ = {log2_pq:.0} ({limit})")?;
            let is_of_bits = preset
                .and_then(|name| Preset::by_name(name).ok())
                .is_some_and(|preset| preset.family == Family::Bits);
            if self.is.array.is_none() && integers.is_none() && !is_of_bits {
                write!(f, "\n  precision   {precision:.1} bits after the binary point")?;
            }
            if let Some(integers) = integers {
                write!(
                    f,
                    "\n  integers    modulo {}, {}",
                    integers.plain_modulus, integers.scheme
                )?;
            }
        }
        if let Some(keys) = &self.is.keys {
            write_keys(f, keys)?;
        }
        if let Some(program) = &self.is.program {
            write_program(f, program)?;
        }
        self.is.array.as_ref().map_or(Ok(()), |array| write_array(f, array))
    }
}

fn write_program(f: &mut fmt::Formatter<'_>, program: &ProgramInspection) -> fmt::Result {
    let ProgramInspection { inputs, parameters, results, steps, cost, .. } = program;
    for (name, spec) in inputs {
        write!(f, "\n  input       {name}: {spec}")?;
    }
    for (name, spec) in parameters {
        write!(f, "\n  parameter   {name}: {spec}, of the server")?;
    }
    let results = match results {
        Results::Single => "one array".to_owned(),
        Results::Tuple(number) => count(*number, "array"),
        Results::Named(names) => names.join(", "),
    };
    write!(f, "\n  results     {results}")?;
    for (what, names) in model::described(&program.notes) {
        write!(f, "\n  {what:<12}{names}")?;
    }
    for (of, notes) in [("inputs", program.notes_of_inputs), ("results", program.notes_of_results)]
    {
        notes.map_or(Ok(()), |notes| write!(f, "\n  notes       {notes}, of the {of}"))?;
    }
    match (steps, cost) {
        (Some(steps), Some(cost)) => {
            let steps = count(*steps, "step");
            write!(f, "\n  steps       {steps}, {:.3} s on the reference machine", cost.seconds)
        }
        _ => Ok(()),
    }
}

fn write_keys(f: &mut fmt::Formatter<'_>, keys: &KeysInspection) -> fmt::Result {
    let list = |steps: &[i64]| steps.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    write!(
        f,
        "\n  rotations   {}",
        if keys.rotations.is_empty() { "none".to_owned() } else { list(&keys.rotations) }
    )?;
    let others = [(keys.relinearisation, "relinearisation"), (keys.conjugation, "conjugation")];
    let held: Vec<_> = others.into_iter().filter_map(|(held, name)| held.then_some(name)).collect();
    write!(
        f,
        "\n  other keys  {}",
        if held.is_empty() { "none".to_owned() } else { held.join(", ") }
    )?;
    if let Some(tables) = keys.tables {
        write!(f, "\n  looks up    any function of real numbers in tables {tables}")?;
    }
    if let Some(BitsInspection { capacity, sparse_weight, sparse_log2_pq, sparse_log2_pq_limit }) =
        keys.bits
    {
        write!(f, "\n  gates       of bits, {capacity} in a ciphertext")?;
        write_sparse(f, sparse_weight, sparse_log2_pq, sparse_log2_pq_limit)?;
    }
    let Some(BootstrappingInspection {
        precision,
        slots,
        iterated,
        bound,
        sparse_weight,
        sparse_log2_pq,
        sparse_log2_pq_limit,
    }) = keys.bootstrapping
    else {
        return Ok(());
    };
    write!(
        f,
        "\n  bootstraps  arrays of values up to {bound} in {slots} slots: {precision:.1} \
         bits after the binary point{}",
        if iterated { ", iterated" } else { "" }
    )?;
    write_sparse(f, sparse_weight, sparse_log2_pq, sparse_log2_pq_limit)
}

fn write_sparse(
    f: &mut fmt::Formatter<'_>,
    weight: usize,
    log2_pq: f64,
    limit: Option<u32>,
) -> fmt::Result {
    let limit =
        limit.map_or_else(|| "INSECURE".to_owned(), |limit| format!("128-bit security to {limit}"));
    write!(f, "\n              under a secret of weight {weight}, log2 PQ = {log2_pq:.0} ({limit})")
}

fn write_array(f: &mut fmt::Formatter<'_>, array: &ArrayInspection) -> fmt::Result {
    let what = match &array.elements {
        ElementsInspection::Numbers { complex: true, .. } => "complex".to_owned(),
        ElementsInspection::Numbers { complex: false, .. } => "real".to_owned(),
        ElementsInspection::Integers { plain_modulus, .. } => {
            format!("integers modulo {plain_modulus}")
        }
        ElementsInspection::Bits { .. } => "bits".to_owned(),
    };
    write!(
        f,
        "\n  shape       {}, {what}, in {}",
        format_shape(&array.shape),
        count(array.ciphertexts, "ciphertext")
    )?;
    if !array.packed {
        write!(f, "\n  strides     {:?}, which are not those of a fresh array", array.strides)?;
        write!(
            f,
            "\n  work        up to {} to move elements to the layout of a fresh array",
            count(array.work as usize, "product")
        )?;
    }
    if let Some(notes) = array.notes {
        write!(f, "\n  notes       {notes}")?;
    }
    write!(f, "\n  computing   needs {} of memory for the ciphertexts", size(array.memory))?;
    let (left, bits) = match array.elements {
        ElementsInspection::Numbers {
            precision_bits, precision, capacity_bits, interval, ..
        } => {
            write_interval(f, interval)?;
            match precision_bits.is_nan() {
                true => write!(f, "\n  precision   not known ({precision:.1} bits requested)")?,
                false => write!(
                    f,
                    "\n  precision   {precision_bits:.1} bits after the binary point \
                     ({precision:.1} requested)"
                )?,
            }
            ("capacity", capacity_bits)
        }
        ElementsInspection::Integers { budget_bits, interval, .. } => {
            interval.map_or(Ok(()), |interval| write_interval(f, interval))?;
            ("budget", budget_bits)
        }
        ElementsInspection::Bits { bit_error } => {
            return write_error(f, bit_error);
        }
    };
    match bits {
        Some(bits) => write!(f, "\n  {left:<11} {bits:.1} bits"),
        None => write!(f, "\n  {left:<11} unknown, since the parameters are not those of a preset"),
    }
}

/// Writes the interval of the values, which everybody can see.
fn write_interval(f: &mut fmt::Formatter<'_>, [low, high]: [f64; 2]) -> fmt::Result {
    write!(f, "\n  interval    from {low} to {high}, which everybody can see")
}

/// Writes the largest distance of a slot from its bit.
fn write_error(f: &mut fmt::Formatter<'_>, bit_error: f64) -> fmt::Result {
    write!(f, "\n  error       {bit_error:.2e} at most (bits are correct below 0.5)")
}

pub(super) fn run(inspect: &Inspect, console: &mut Console<'_>) -> Result<(), CliError> {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    for path in &inspect.files {
        match One::of(path) {
            Ok(one) => files.push(one),
            Err(error) => errors.push(error),
        }
    }
    if !files.is_empty() {
        let inspected = Inspected { files };
        console.result(&inspected, &inspected)?;
    }
    if errors.len() > 1 {
        return Err(CliError::Several(errors));
    }
    errors.pop().map_or(Ok(()), Err)
}
