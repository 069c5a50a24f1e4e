//! `hippocrene decrypt`.

use super::check_output;
use crate::args::Decrypt;
use crate::arrays::{Array, Format};
use crate::console::Console;
use crate::error::CliError;
use hippocrene::{ClientKey, EncryptedArray};
use serde::Serialize;
use std::fs;
use std::io::BufWriter;
use std::path::Path;

/// What was decrypted; the numbers themselves only where no file takes them.
#[derive(Debug, Serialize)]
struct Decrypted<'a> {
    shape: &'a [usize],
    precision_bits: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [f64]>,
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
    let encrypted =
        EncryptedArray::load(&decrypt.input, client.session()).map_err(CliError::of(&decrypt.input))?;
    if encrypted.is_complex() {
        return Err(CliError::Usage(format!(
            "{} holds complex numbers, which neither format here can: read it from Rust or Python",
            decrypt.input.display()
        )));
    }
    if !console.is_json() || decrypt.output.is_some() {
        Array::check_format(encrypted.shape(), format)?;
    }
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
    let array = Array { shape: encrypted.shape().to_vec(), values };
    // The noise that makes a result safe to share is most of its error.
    let lost = hidden.map_or(0.0, |bits| f64::from(bits) + 2.0);
    let mut decrypted = Decrypted {
        shape: &array.shape,
        precision_bits: encrypted.precision_bits(client.session()) - lost,
        path: decrypt.output.as_deref(),
        values: None,
    };
    match &decrypt.output {
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
