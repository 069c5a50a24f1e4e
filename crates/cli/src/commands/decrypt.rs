//! `hippocrene decrypt`.

use super::check_output;
use crate::args::Decrypt;
use crate::arrays::{Array, Format, Number, check_format};
use crate::console::Console;
use crate::error::CliError;
use hippocrene::wire::{self, Kind};
use hippocrene::{BitArray, ClientKey, EncryptedArray, IntegerArray};
use serde::Serialize;
use std::fs;
use std::io::BufWriter;
use std::path::Path;

/// What was decrypted; the numbers themselves only where no file takes them.
#[derive(Debug, Serialize)]
struct Decrypted<'a, T> {
    shape: &'a [usize],
    #[serde(flatten)]
    quality: Quality,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [T]>,
}

/// How good it is.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Quality {
    Numbers { precision_bits: f64 },
    Integers { plain_modulus: u64, budget_bits: f64 },
    Bits { bit_error: f64 },
}

pub(super) fn run(decrypt: &Decrypt, threads: usize, console: &mut Console<'_>) -> Result<(), CliError> {
    let format = match (&decrypt.output, decrypt.format) {
        (_, Some(format)) => format,
        (Some(path), None) => Format::of(path)?,
        (None, None) => Format::Csv,
    };
    if let Some(path) = &decrypt.output {
        check_output(path, &[&decrypt.key, &decrypt.input])?;
    }
    let client = console.step("load the key", || {
        ClientKey::load(&decrypt.key, threads).map_err(CliError::of(&decrypt.key))
    })?;
    let kind = wire::read(&decrypt.input, &Kind::ARRAYS)
        .and_then(|bytes| wire::inspect(&bytes))
        .map_err(CliError::of(&decrypt.input))?
        .kind;
    match kind {
        Kind::BitArray => {
            let (array, quality) = bits(decrypt, &client, format, console)?;
            give(decrypt, &array, quality, format, console)
        }
        Kind::IntegerArray => {
            let (array, quality) = integers(decrypt, &client, format, console)?;
            give(decrypt, &array, quality, format, console)
        }
        _ => {
            let (array, quality) = numbers(decrypt, &client, format, console)?;
            give(decrypt, &array, quality, format, console)
        }
    }
}

/// Decrypts numbers.
fn numbers(
    decrypt: &Decrypt,
    client: &ClientKey,
    format: Format,
    console: &mut Console<'_>,
) -> Result<(Array, Quality), CliError> {
    let encrypted =
        EncryptedArray::load(&decrypt.input, client.session()).map_err(CliError::of(&decrypt.input))?;
    if decrypt.signed {
        return Err(CliError::Usage("--signed is for integers: numbers have their signs".to_owned()));
    }
    if encrypted.is_complex() {
        return Err(CliError::Usage(format!(
            "{} holds complex numbers, which neither format here can: read it from Rust or Python",
            decrypt.input.display()
        )));
    }
    check_shape(decrypt, encrypted.shape(), format, console)?;
    let hidden = match decrypt.for_sharing {
        Some(None) => Some(client.sharing_bits(&encrypted).map_err(CliError::of(&decrypt.input))?),
        said => said.flatten(),
    };
    let values = console.step("decrypt", || {
        Ok(match hidden {
            Some(bits) => client.decrypt_for_sharing(&encrypted, bits)?,
            None => client.decrypt(&encrypted)?,
        })
    })?;
    // The noise that makes a result safe to share is most of its error.
    let lost = hidden.map_or(0.0, |bits| f64::from(bits) + 2.0);
    let precision_bits = encrypted.precision_bits(client.session()) - lost;
    Ok((Array { shape: encrypted.shape().to_vec(), values }, Quality::Numbers { precision_bits }))
}

/// Decrypts integers.
fn integers(
    decrypt: &Decrypt,
    client: &ClientKey,
    format: Format,
    console: &mut Console<'_>,
) -> Result<(Array<i64>, Quality), CliError> {
    let encrypted =
        IntegerArray::load(&decrypt.input, client.session()).map_err(CliError::of(&decrypt.input))?;
    if decrypt.for_sharing.is_some() {
        let what = "--for-sharing is for numbers: integers are exact, and tell nothing of the error";
        return Err(CliError::Usage(what.to_owned()));
    }
    check_shape(decrypt, encrypted.shape(), format, console)?;
    let values = console.step("decrypt", || {
        Ok(match decrypt.signed {
            true => client.decrypt_signed_integers(&encrypted)?,
            false => client.decrypt_integers(&encrypted)?,
        })
    })?;
    let budget_bits = encrypted.budget_bits(client.session());
    let quality = Quality::Integers { plain_modulus: encrypted.plain_modulus(), budget_bits };
    Ok((Array { shape: encrypted.shape().to_vec(), values }, quality))
}

/// Decrypts bits, to 0 and 1.
fn bits(
    decrypt: &Decrypt,
    client: &ClientKey,
    format: Format,
    console: &mut Console<'_>,
) -> Result<(Array<i64>, Quality), CliError> {
    let encrypted = BitArray::load(&decrypt.input, client.session()).map_err(CliError::of(&decrypt.input))?;
    if decrypt.for_sharing.is_some() || decrypt.signed {
        let what = "--for-sharing and --signed are for numbers and integers: these are bits";
        return Err(CliError::Usage(what.to_owned()));
    }
    check_shape(decrypt, encrypted.shape(), format, console)?;
    let values = console.step("decrypt", || Ok(client.decrypt_bits(&encrypted)?))?;
    let values = values.into_iter().map(i64::from).collect();
    let quality = Quality::Bits { bit_error: encrypted.error() };
    Ok((Array { shape: encrypted.shape().to_vec(), values }, quality))
}

/// Checks that the numbers can go where they are to go.
fn check_shape(
    decrypt: &Decrypt,
    shape: &[usize],
    format: Format,
    console: &Console<'_>,
) -> Result<(), CliError> {
    if console.is_json() && decrypt.output.is_none() { Ok(()) } else { check_format(shape, format) }
}

/// Writes what was decrypted to where it is asked for.
fn give<T: Number>(
    decrypt: &Decrypt,
    array: &Array<T>,
    quality: Quality,
    format: Format,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let path = decrypt.output.as_deref();
    let mut decrypted = Decrypted { shape: &array.shape, quality, path, values: None };
    match path {
        Some(path) => {
            let file = fs::File::create(path).map_err(|source| CliError::io("write", path, source))?;
            array.write(&mut BufWriter::new(file), path, format)?;
            let words = format!("{}: numbers of shape {:?}", path.display(), array.shape);
            console.result(&decrypted, words)
        }
        None if console.is_json() => {
            decrypted.values = Some(&array.values);
            console.result(&decrypted, "")
        }
        None => array.write(&mut BufWriter::new(console.out()), Path::new("standard output"), format),
    }
}
