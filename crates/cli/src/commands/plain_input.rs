//! Plain inputs of programs: files of numbers with the shape and the interval that a program takes.

use super::encrypting_key::Key;
use super::model::Columns;
use crate::arrays::{Array, Contents, Format, Numbers, Table};
use crate::error::CliError;
use hippocrene::{AnyArray, Encryption, Input, Interface, Interval, Preset, SpecKind};
use std::path::Path;

/// The values of an input.
pub(super) enum PlainInput {
    Numbers(Numbers),
    Integers(Array<i128>),
    Bits(Array<bool>),
}

impl PlainInput {
    /// Reads the values of an input or a parameter from a file, with the shape that the program
    /// takes. `model` encodes rows of a model.
    pub(super) fn read(
        input: &Input,
        path: &Path,
        format: Option<Format>,
        table: &Table,
        (interface, model): (&Interface, Option<&Columns>),
    ) -> Result<Self, CliError> {
        let format = format.map_or_else(|| Format::of(path), Ok)?;
        let (shape, need) = (input.spec.shape.clone(), &input.spec);
        let fits = |have: &[usize]| {
            // A file of comma-separated values always has two axes.
            let is_column = have.len() == 2 && have[1] == 1 && have[..1] == shape[..];
            let is_row = have.len() == 2 && have[0] == 1 && have[1..] == shape[..];
            match have == &shape[..] || format == Format::Csv && (is_column || is_row) {
                true => Ok(()),
                false => Err(CliError::Data {
                    path: path.to_owned(),
                    reason: format!(
                        "these are numbers of shape {}, and the program takes {need} as {}{}",
                        hippocrene::format_shape(have),
                        input.name,
                        advice_on_rows(have, &shape)
                    ),
                }),
            }
        };
        Ok(match input.spec.kind {
            SpecKind::Integers => {
                let Contents { mut numbers, .. } = Array::<i128>::read(path, format, table)?;
                fits(&numbers.shape)?;
                check_interval(numbers.values.iter().map(|value| *value as f64), input, path)?;
                numbers.shape = shape;
                PlainInput::Integers(numbers)
            }
            SpecKind::Bits => {
                let Contents { mut numbers, .. } = Array::<bool>::read(path, format, table)?;
                fits(&numbers.shape)?;
                numbers.shape = shape;
                PlainInput::Bits(numbers)
            }
            SpecKind::Numbers | SpecKind::Complex => {
                let precision = interface.settings().precision();
                let mut numbers = match model {
                    Some(model) => Numbers::Real(model.encode(path, format, table)?),
                    None => Numbers::read(path, format, table, precision)?.numbers,
                };
                fits(numbers.shape())?;
                if let Numbers::Real(array) = &numbers {
                    check_interval(array.values.iter().copied(), input, path)?;
                }
                numbers.set_shape(shape);
                PlainInput::Numbers(numbers)
            }
        })
    }

    /// Encrypts the values with the interval of the input and the precision of the program.
    pub(super) fn encrypt(
        &self,
        input: &Input,
        path: &Path,
        interface: &Interface,
        key: &Key,
    ) -> Result<AnyArray, CliError> {
        let fail = CliError::of(path);
        let settings = key.session().settings();
        match self {
            PlainInput::Numbers(numbers) => {
                let precision = Some(interface.settings().precision());
                let how = Encryption { precision, ..input.spec.encryption() };
                key.encrypt(numbers, &how).map(AnyArray::from).map_err(fail)
            }
            PlainInput::Integers(array) => {
                let interval = input.spec.interval.and_then(|(low, high)| Interval::new(low, high));
                let modulus = settings.integers().map_or(0, |integers| integers.plain_modulus);
                let how = (interval, false);
                key.encrypt_integers(array, modulus, how).map(AnyArray::from).map_err(fail)
            }
            PlainInput::Bits(array) => {
                let missing = || CliError::Usage("these parameters are not for bits".to_owned());
                let preset = Preset::of_bits(settings).ok_or_else(missing)?;
                key.encrypt_bits(preset, array).map(AnyArray::from).map_err(fail)
            }
        }
    }
}

/// Returns advice if only the number of rows differs from the one that the program takes.
fn advice_on_rows(have: &[usize], need: &[usize]) -> String {
    match (have, need) {
        ([rows, a @ ..], [most, b @ ..]) if a == b && rows < most => format!(
            ". Fill up to {most} rows, for example with copies of the last one, or use a program \
             for {rows} rows."
        ),
        ([rows, a @ ..], [most, b @ ..]) if a == b && rows > most => {
            format!(". Run the program on batches of {most} rows.")
        }
        _ => String::new(),
    }
}

/// Checks that all values of an input lie in the interval that the program was compiled for.
fn check_interval(
    mut values: impl Iterator<Item = f64>,
    input: &Input,
    path: &Path,
) -> Result<(), CliError> {
    let Some((low, high)) = input.spec.interval else { return Ok(()) };
    match values.find(|value| !(low..=high).contains(value)) {
        Some(value) => Err(CliError::Data {
            path: path.to_owned(),
            reason: format!(
                "{value} is outside of [{low}, {high}], the interval of {} that the program was \
                 compiled for",
                input.name
            ),
        }),
        None => Ok(()),
    }
}
