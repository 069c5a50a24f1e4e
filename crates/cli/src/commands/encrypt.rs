//! `hippocrene encrypt`.

use super::check_output;
use super::encrypting_key::Key;
use super::keygen::load_interface;
use super::model::Columns;
use super::plain_input::PlainInput;
use crate::args::Encrypt;
use crate::arrays::{Array, Column, Contents, Format, Numbers, Table};
use crate::console::{Console, size};
use crate::error::CliError;
use crate::streams;
use hippocrene::wire::{self, Kind};
use hippocrene::{AnyArray, Encryption, Fingerprint, Interval, Preset, Stored, format_shape};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// The result of encryption.
#[derive(Debug, Serialize)]
struct Encrypted<'a> {
    #[serde(serialize_with = "crate::json::path")]
    path: &'a Path,
    shape: &'a [usize],
    key: String,
    bytes: u64,
    /// The names of the columns, which the array does not hold.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    columns: &'a [String],
}

/// The bytes of an encrypted array, its shape, the names of its columns, its kind and its key.
type Made = (Vec<u8>, Vec<usize>, Vec<String>, Kind, Fingerprint);

/// Encrypts an input of a program.
fn for_program(
    encrypt: &Encrypt,
    path: &Path,
    table: &Table,
    key: &Key,
    console: &Console<'_>,
) -> Result<Made, CliError> {
    let interface = load_interface(path)?;
    let model = Columns::of(&interface, path)?;
    let (need, have) = (interface.settings(), key.session().settings());
    if need.parameters().digest() != have.parameters().digest() {
        return Err(CliError::Usage(format!(
            "{} has other parameters than the program {}. Make keys with hippocrene keygen --for \
             {}.",
            encrypt.key.display(),
            path.display(),
            path.display()
        )));
    }
    let input = match (interface.inputs(), &encrypt.input_name) {
        ([only], None) => only,
        (all, name) => {
            let found = all.iter().find(|input| Some(&input.name) == name.as_ref());
            let names: Vec<&str> = all.iter().map(|input| input.name.as_str()).collect();
            let missing = || format!("--as: the inputs of the program are {}", names.join(", "));
            found.ok_or_else(|| CliError::Usage(missing()))?
        }
    };
    let how = (&interface, model.as_ref());
    let plain = PlainInput::read(input, &encrypt.input, encrypt.format, table, how)?;
    let encrypted =
        console.step("encrypt", || plain.encrypt(input, &encrypt.input, &interface, key))?;
    let encrypted = interface.noted_input(encrypted);
    let (bytes, kind, owner) = match &encrypted {
        AnyArray::Numbers(array) => (array.to_bytes(), Kind::Array, array.key()),
        AnyArray::Integers(array) => (array.to_bytes(), Kind::IntegerArray, array.key()),
        AnyArray::Bits(array) => (array.to_bytes(), Kind::BitArray, array.key()),
    };
    Ok((bytes, input.spec.shape.clone(), Vec::new(), kind, owner))
}

pub(super) fn run(
    encrypt: &Encrypt,
    threads: usize,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let format = encrypt.format.map_or_else(|| Format::of(&encrypt.input), Ok)?;
    let table = encrypt.table.table();
    let is_table =
        !encrypt.table.columns.is_empty() || table.header.is_some() || table.index.is_some();
    if format == Format::Npy && is_table {
        let what = "--columns, --delimiter, --header and --index are for comma-separated values: \
                    this is .npy";
        return Err(CliError::Usage(what.to_owned()));
    }
    let by_name = table.columns.iter().flatten().find(|column| matches!(column, Column::Name(_)));
    if let (Some(false), Some(Column::Name(name))) = (table.header, by_name) {
        return Err(CliError::Usage(format!(
            "--columns: {name:?} is the name of a column, but with --no-header columns have no \
             names: give its place"
        )));
    }
    if let Some(bound) = encrypt.bound.filter(|bound| !(bound.is_finite() && *bound >= 0.0)) {
        return Err(CliError::Usage(format!("--bound: {bound} is not a finite number from 0")));
    }
    let interval = encrypt.interval.or(encrypt.bound.map(Interval::symmetric));
    check_output(&encrypt.output, &[&encrypt.key, &encrypt.input])?;
    let key = console.step("load the key", || Key::load(&encrypt.key, threads))?;
    if let Key::Client(_) = key {
        streams::warn_if_readable(&encrypt.key, console);
    }
    let input = &encrypt.input;
    let fail = CliError::of(input);
    let (bytes, shape, names, kind, owner) = if let Some(path) = &encrypt.program {
        for_program(encrypt, path, &table, &key, console)?
    } else if let Some(preset) = Preset::of_bits(key.session().settings()) {
        if interval.is_some() || encrypt.precision.is_some() || encrypt.wrap {
            let what = "--interval, --bound, --precision and --wrap are not for bits, which these \
                        keys encrypt";
            return Err(CliError::Usage(what.to_owned()));
        }
        let Contents { numbers: bits, names } = Array::<bool>::read(input, format, &table)?;
        let array = console.step("encrypt", || key.encrypt_bits(preset, &bits).map_err(fail))?;
        (array.to_bytes(), bits.shape, names, Kind::BitArray, array.key())
    } else if let Some(integers) = key.session().integers() {
        if encrypt.precision.is_some() {
            let what = "--precision is for numbers: these keys encrypt integers, which are exact";
            return Err(CliError::Usage(what.to_owned()));
        }
        let modulus = integers.plain_modulus();
        let Contents { numbers: integers, names } = Array::<i128>::read(input, format, &table)?;
        let how = (interval, encrypt.wrap);
        let array = console
            .step("encrypt", || key.encrypt_integers(&integers, modulus, how).map_err(fail))?;
        (array.to_bytes(), integers.shape, names, Kind::IntegerArray, array.key())
    } else {
        if encrypt.wrap {
            let what = "--wrap is for integers: these keys encrypt numbers";
            return Err(CliError::Usage(what.to_owned()));
        }
        let settings = key.session().settings();
        let precision = encrypt.precision.unwrap_or(settings.precision());
        // The precision is checked before the numbers are read, so that an error in it is reported
        // first.
        settings.scale_of(precision)?;
        let Contents { numbers, names } = Numbers::read(input, format, &table, precision)?;
        let how = Encryption { interval, precision: encrypt.precision };
        let array = console.step("encrypt", || key.encrypt(&numbers, &how).map_err(fail))?;
        (array.to_bytes(), numbers.shape().to_vec(), names, Kind::Array, array.key())
    };

    let path = encrypt.output.as_path();
    match streams::is_output(path) {
        true => console.write_data(&bytes)?,
        false => wire::save(path, &bytes, kind)?,
    }
    let bytes = bytes.len() as u64;
    let encrypted =
        Encrypted { path, shape: &shape, key: owner.to_string(), bytes, columns: &names };
    let mut words = format!(
        "{}: an encrypted array of shape {shape}, {}",
        path.display(),
        size(bytes),
        shape = format_shape(&shape)
    );
    if !names.is_empty() && !streams::is_input(input) {
        let _ = write!(
            words,
            "\nThe names in the header are not in it: decrypt --header-from {} writes them again.",
            input.display()
        );
    }
    console.result(&encrypted, words)
}
