//! `hippocrene decrypt`.

use super::check_output;
use super::keygen::load_interface;
use super::model::{Classes, Meaning, class_bytes};
use crate::args::Decrypt;
use crate::arrays::{Array, Complex, Decimal, Format, Number, check_format, needs_digits};
use crate::console::{Console, count};
use crate::error::CliError;
use crate::streams;
use hippocrene::wire::{self, Inspection, Kind};
use hippocrene::{BitArray, ClientKey, EncryptedArray, IntegerArray, Preset, Stored, format_shape};
use serde::Serialize;
use std::path::Path;

/// The result of decryption. It contains the numbers only if they are not written elsewhere.
#[derive(Debug, Serialize)]
struct Decrypted<'a, T> {
    shape: &'a [usize],
    #[serde(flatten)]
    quality: Quality,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::json::some_path")]
    path: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [T]>,
}

/// The quality of the result.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Quality {
    Numbers { precision_bits: f64 },
    Integers { plain_modulus: u64, budget_bits: f64 },
    Bits { bit_error: f64 },
}

pub(super) fn run(
    decrypt: &Decrypt,
    threads: usize,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let output = decrypt.output.as_deref().filter(|path| !streams::is_output(path));
    let format = match (output, decrypt.format) {
        (_, Some(format)) => format,
        (Some(path), None) => Format::of(path)?,
        (None, None) => Format::Csv,
    };
    if let Some(path) = output {
        let header = decrypt.header_from.as_deref();
        let inputs: Vec<&Path> =
            [&*decrypt.key, &*decrypt.input].into_iter().chain(header).collect();
        check_output(path, &inputs)?;
    }
    let mut names =
        read_names(decrypt, format == Format::Csv && !(console.is_json() && output.is_none()))?;
    let client = console.step("load the key", || {
        ClientKey::load(&decrypt.key, threads).map_err(CliError::of(&decrypt.key))
    })?;
    streams::warn_if_readable(&decrypt.key, console);
    let bytes = streams::read_ours(&decrypt.input, &Kind::ARRAYS)?;
    let inspection = wire::inspect(&bytes).map_err(CliError::of(&decrypt.input))?;
    check_key(&inspection, decrypt, &client)?;
    let meaning = meaning(decrypt, &inspection)?;
    if names.is_empty() {
        names = meaning.header();
    }
    let job = Job { decrypt, client: &client, bytes: &bytes, output, format, names, meaning };
    match inspection.kind {
        Kind::BitArray => job.bits(console),
        Kind::IntegerArray => job.integers(console),
        _ => job.numbers(console),
    }
}

/// Reads the names of the columns from the file of `--header-from`, or none if there is no such
/// file.
fn read_names(decrypt: &Decrypt, writes_csv: bool) -> Result<Vec<String>, CliError> {
    match &decrypt.header_from {
        Some(_) if !writes_csv => Err(CliError::Usage(
            "--header-from is for comma-separated values, which have a header".to_owned(),
        )),
        Some(path) => decrypt.columns.table().read_names(path),
        None if decrypt.columns.is_empty() => Ok(Vec::new()),
        None => {
            let what =
                "--columns, --delimiter and --index are for the file that --header-from names";
            Err(CliError::Usage(what.to_owned()))
        }
    }
}

/// Returns the meaning of the values of an array, as the program of `--for` states it.
fn meaning(decrypt: &Decrypt, inspection: &Inspection) -> Result<Meaning, CliError> {
    let Some(path) = &decrypt.program else { return Ok(Meaning::Plain) };
    let interface = load_interface(path)?;
    let notes = inspection.array.as_ref().and_then(|array| array.notes);
    interface.check_result(notes).map_err(CliError::of(&decrypt.input))?;
    Meaning::of(&interface, path)
}

/// Checks that an array belongs to this client, before its parameters are used.
fn check_key(
    inspection: &Inspection,
    decrypt: &Decrypt,
    client: &ClientKey,
) -> Result<(), CliError> {
    let need = client.fingerprint().to_string();
    let Some(have) = inspection.key.as_ref().filter(|have| **have != need) else { return Ok(()) };
    let parameters = client.session().settings().parameters();
    let preset =
        Preset::by_digest(parameters.digest(), parameters.degree()).map(|preset| preset.name);
    let named = |key: &str, preset: Option<&str>| match preset {
        Some(preset) => format!("{key} (preset {preset})"),
        None => key.to_owned(),
    };
    Err(CliError::WrongKey {
        path: decrypt.input.clone(),
        key: decrypt.key.clone(),
        have: named(have, inspection.preset),
        need: named(&need, preset),
    })
}

/// The input and the output of a decryption.
struct Job<'a> {
    decrypt: &'a Decrypt,
    client: &'a ClientKey,
    /// The bytes of the array's file.
    bytes: &'a [u8],
    /// The file for the numbers. `None` means standard output.
    output: Option<&'a Path>,
    format: Format,
    /// The names of the columns. Without names, no header is written.
    names: Vec<String>,
    meaning: Meaning,
}

impl Job<'_> {
    /// Adds the array's path to an error of the library.
    fn fail(&self) -> impl FnOnce(hippocrene::Error) -> CliError {
        CliError::of(&self.decrypt.input)
    }

    /// Decrypts numbers.
    fn numbers(&self, console: &mut Console<'_>) -> Result<(), CliError> {
        let client = self.client;
        let encrypted =
            EncryptedArray::from_bytes(self.bytes, client.session()).map_err(self.fail())?;
        if self.decrypt.signed {
            return Err(CliError::Usage(
                "--signed is for integers: numbers have their signs".to_owned(),
            ));
        }
        self.check_shape(encrypted.shape(), console)?;
        if let Some(classes) = self.meaning.classes() {
            return self.give_classes(classes, &encrypted, console);
        }
        if encrypted.is_complex() {
            return self.complex(&encrypted, console);
        }
        let bits = encrypted.precision_bits(client.session());
        let in_text = self.format == Format::Csv && !self.prints_json(console);
        if self.decrypt.for_sharing.is_none() && in_text && needs_digits(&[encrypted.bound()], bits)
        {
            let values = console.step("decrypt", || Ok(client.decrypt_big(&encrypted)?))?;
            let values = values.iter().map(|value| Decimal::of(value, bits)).collect();
            return self.give_decimals(encrypted.shape(), values, bits, console);
        }
        let hidden = match self.decrypt.for_sharing {
            Some(None) => Some(client.sharing_bits(&encrypted).map_err(self.fail())?),
            given => given.flatten(),
        };
        let values = console.step("decrypt", || {
            Ok(match hidden {
                Some(bits) => client.decrypt_for_sharing(&encrypted, bits).map_err(self.fail())?,
                None => client.decrypt(&encrypted)?,
            })
        })?;
        // The noise that makes a result safe to share dominates its error.
        let lost = hidden.map_or(0.0, |bits| f64::from(bits) + 2.0);
        let precision_bits = bits - lost;
        if in_text {
            let values =
                values.iter().map(|value| Decimal::of_double(*value, precision_bits)).collect();
            return self.give_decimals(encrypted.shape(), values, precision_bits, console);
        }
        let array = Array { shape: encrypted.shape().to_vec(), values };
        self.write_numbers(&array, Quality::Numbers { precision_bits }, console)
    }

    /// Decrypts scores, and writes the class of each row.
    fn give_classes(
        &self,
        classes: &Classes,
        encrypted: &EncryptedArray,
        console: &mut Console<'_>,
    ) -> Result<(), CliError> {
        if !self.prints_json(console) {
            classes.check_format(self.format)?;
        }
        let values = console.step("decrypt", || Ok(self.client.decrypt(encrypted)?))?;
        let found = classes.of_scores(&Array { shape: encrypted.shape().to_vec(), values })?;
        let precision_bits = encrypted.precision_bits(self.client.session());
        let quality = Quality::Numbers { precision_bits };
        if self.prints_json(console) {
            let (shape, values) = (&found.shape[..], Some(&found.values[..]));
            return console.result(&Decrypted { shape, quality, path: None, values }, "");
        }
        self.give_bytes(&found.shape, &class_bytes(&found, self.format)?, quality, console)
    }

    /// Writes numbers as text.
    fn give_decimals(
        &self,
        shape: &[usize],
        values: Vec<Decimal>,
        precision_bits: f64,
        console: &mut Console<'_>,
    ) -> Result<(), CliError> {
        let bytes = Array { shape: shape.to_vec(), values }.to_csv(&self.names)?;
        self.give_bytes(shape, &bytes, Quality::Numbers { precision_bits }, console)
    }

    /// Decrypts complex numbers.
    fn complex(
        &self,
        encrypted: &EncryptedArray,
        console: &mut Console<'_>,
    ) -> Result<(), CliError> {
        let path = self.decrypt.input.display();
        if self.decrypt.for_sharing.is_some() {
            let what = format!("--for-sharing is for real numbers: those of {path} are complex");
            return Err(CliError::Usage(what));
        }
        if self.format == Format::Csv && !self.prints_json(console) {
            return Err(CliError::Usage(format!(
                "{path} holds complex numbers, which comma-separated values do not: write them as \
                 .npy"
            )));
        }
        let values = console.step("decrypt", || Ok(self.client.decrypt_complex(encrypted)?))?;
        let values = values.into_iter().map(|value| [value.re, value.im]).collect();
        let precision_bits = encrypted.precision_bits(self.client.session());
        let array: Array<Complex> = Array { shape: encrypted.shape().to_vec(), values };
        self.write_numbers(&array, Quality::Numbers { precision_bits }, console)
    }

    /// Decrypts integers.
    fn integers(&self, console: &mut Console<'_>) -> Result<(), CliError> {
        let client = self.client;
        let encrypted =
            IntegerArray::from_bytes(self.bytes, client.session()).map_err(self.fail())?;
        if self.decrypt.for_sharing.is_some() {
            let what =
                "--for-sharing is for numbers: integers are exact and do not reveal the error";
            return Err(CliError::Usage(what.to_owned()));
        }
        self.check_shape(encrypted.shape(), console)?;
        let values = console.step("decrypt", || {
            Ok(match self.decrypt.signed {
                true => client.decrypt_signed_integers(&encrypted)?,
                false => client.decrypt_integers(&encrypted)?,
            })
        })?;
        let budget_bits = encrypted.budget_bits(client.session());
        let quality = Quality::Integers { plain_modulus: encrypted.plain_modulus(), budget_bits };
        self.write_numbers(&Array { shape: encrypted.shape().to_vec(), values }, quality, console)
    }

    /// Decrypts bits: to booleans in `.npy`, and to 0 and 1 in text.
    fn bits(&self, console: &mut Console<'_>) -> Result<(), CliError> {
        let client = self.client;
        let encrypted = BitArray::from_bytes(self.bytes, client.session()).map_err(self.fail())?;
        if self.decrypt.for_sharing.is_some() || self.decrypt.signed {
            let what = "--for-sharing and --signed are for numbers and integers: these are bits";
            return Err(CliError::Usage(what.to_owned()));
        }
        self.check_shape(encrypted.shape(), console)?;
        let values = console.step("decrypt", || Ok(client.decrypt_bits(&encrypted)?))?;
        let (shape, quality) =
            (encrypted.shape().to_vec(), Quality::Bits { bit_error: encrypted.error() });
        if self.format == Format::Npy && !self.prints_json(console) {
            return self.write_numbers(&Array { shape, values }, quality, console);
        }
        let values: Vec<i64> = values.into_iter().map(i64::from).collect();
        self.write_numbers(&Array { shape, values }, quality, console)
    }

    /// True if the numbers are printed in a JSON object.
    fn prints_json(&self, console: &Console<'_>) -> bool {
        console.is_json() && self.output.is_none()
    }

    /// Checks that the numbers and their names fit the output format.
    fn check_shape(&self, shape: &[usize], console: &Console<'_>) -> Result<(), CliError> {
        if self.prints_json(console) {
            return Ok(());
        }
        check_format(shape, self.format)?;
        let (names, columns) = (self.names.len(), shape.get(1).copied().unwrap_or(1));
        match &self.decrypt.header_from {
            Some(path) if names != columns => Err(CliError::Usage(format!(
                "--header-from: {} names {}, and the array of shape {shape} has {}. If the array \
                 comes from this file, give the same --columns or --index as to encrypt.",
                path.display(),
                count(names, "column"),
                count(columns, "column"),
                shape = format_shape(shape)
            ))),
            None if names > 0 && (shape.len() != 2 || names != columns) => {
                Err(CliError::Usage(format!(
                    "--for: the array has the shape {}, and the model has {names} classes. Give the \
                     program that computed the array, or leave out --for.",
                    format_shape(shape)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Writes the numbers to the requested output.
    fn write_numbers<T: Number>(
        &self,
        array: &Array<T>,
        quality: Quality,
        console: &mut Console<'_>,
    ) -> Result<(), CliError> {
        if self.prints_json(console) {
            let (shape, values) = (&array.shape[..], Some(&array.values[..]));
            return console.result(&Decrypted { shape, quality, path: None, values }, "");
        }
        self.give_bytes(&array.shape, &array.to_bytes(self.format, &self.names)?, quality, console)
    }

    /// Writes the bytes of a file to the requested output.
    fn give_bytes(
        &self,
        shape: &[usize],
        bytes: &[u8],
        quality: Quality,
        console: &mut Console<'_>,
    ) -> Result<(), CliError> {
        let Some(path) = self.output else { return console.write_data(bytes) };
        wire::write(path, bytes)?;
        let words = format!(
            "{}: the decrypted array of shape {shape}",
            path.display(),
            shape = format_shape(shape)
        );
        console.result(&Decrypted::<f64> { shape, quality, path: Some(path), values: None }, words)
    }
}
