//! `hippocrene encrypt`.

use super::check_output;
use crate::args::Encrypt;
use crate::arrays::{Array, Format, Numbers, Table};
use crate::console::{Console, size};
use crate::error::CliError;
use crate::streams;
use hippocrene::wire::{self, FormatError, Kind};
use hippocrene::{
    BitArray, ClientKey, EncryptedArray, Encryption, Error, IntegerArray, Preset, PublicKey, Session, Values,
};
use num_complex::Complex64;
use serde::Serialize;
use std::path::Path;

/// What was encrypted.
#[derive(Debug, Serialize)]
struct Encrypted<'a> {
    path: &'a Path,
    shape: &'a [usize],
    key: String,
    bytes: u64,
}

/// Either key that encrypts.
enum Key {
    Client(ClientKey),
    Public(PublicKey),
}

impl Key {
    fn load(path: &Path, threads: usize) -> Result<Self, CliError> {
        match PublicKey::load(path, threads) {
            Ok(key) => Ok(Self::Public(key)),
            Err(Error::Format(FormatError::Kind { .. })) => {
                ClientKey::load(path, threads).map(Self::Client).map_err(CliError::of(path))
            }
            Err(error) => Err(CliError::of(path)(error)),
        }
    }

    fn session(&self) -> &Session {
        match self {
            Self::Client(key) => key.session(),
            Self::Public(key) => key.session(),
        }
    }

    fn encrypt(&self, numbers: &Numbers, how: &Encryption) -> Result<EncryptedArray, Error> {
        let encrypt = |values: Values<'_>| match self {
            Self::Client(key) => key.encrypt_with(values, numbers.shape(), how),
            Self::Public(key) => key.encrypt_with(values, numbers.shape(), how),
        };
        match numbers {
            Numbers::Real(array) => encrypt(Values::Real(&array.values)),
            Numbers::Complex(array) => {
                let values = array.values.iter().map(|[re, im]| Complex64::new(*re, *im));
                encrypt(Values::Complex(&values.collect::<Vec<_>>()))
            }
        }
    }

    fn encrypt_integers(&self, array: &Array<i64>) -> Result<IntegerArray, Error> {
        match self {
            Self::Client(key) => key.encrypt_integers(&array.values, &array.shape),
            Self::Public(key) => key.encrypt_integers(&array.values, &array.shape),
        }
    }

    fn encrypt_bits(&self, preset: Preset, array: &Array<i64>) -> Result<BitArray, Error> {
        let (literal, bits) = (preset.bits()?, array.values.iter().map(|bit| *bit == 1).collect::<Vec<_>>());
        match self {
            Self::Client(key) => key.encrypt_bits(&*key.bit_plan(literal)?, &bits, &array.shape),
            Self::Public(key) => key.encrypt_bits(&*key.bit_plan(literal)?, &bits, &array.shape),
        }
    }
}

pub(super) fn run(encrypt: &Encrypt, threads: usize, console: &mut Console<'_>) -> Result<(), CliError> {
    let format = encrypt.format.map_or_else(|| Format::of(&encrypt.input), Ok)?;
    if format == Format::Npy && (encrypt.columns.is_some() || encrypt.delimiter.is_some()) {
        let what = "--columns and --delimiter are for comma-separated values: this is .npy";
        return Err(CliError::Usage(what.to_owned()));
    }
    check_output(&encrypt.output, &[&encrypt.key, &encrypt.input])?;
    let key = console.step("load the key", || Key::load(&encrypt.key, threads))?;
    let (header, delimiter, columns) = (encrypt.header, encrypt.delimiter, encrypt.columns.clone());
    let numbers = Numbers::read(&encrypt.input, format, &Table { header, delimiter, columns })?;
    let fail = CliError::of(&encrypt.input);
    let (bytes, kind, owner) = if let Some(preset) = key.session().bit_preset() {
        if encrypt.bound.is_some() || encrypt.precision.is_some() {
            let what = "bound and precision are for numbers: these keys encrypt bits";
            return Err(CliError::Usage(what.to_owned()));
        }
        let bits = numbers.real(&encrypt.input)?.bits(&encrypt.input)?;
        let array = console.step("encrypt", || key.encrypt_bits(preset, &bits).map_err(fail))?;
        (array.to_bytes(), Kind::BitArray, array.key())
    } else if key.session().integers().is_some() {
        if encrypt.bound.is_some() || encrypt.precision.is_some() {
            let what = "bound and precision are for numbers: these keys encrypt integers, which are exact";
            return Err(CliError::Usage(what.to_owned()));
        }
        let integers = numbers.real(&encrypt.input)?.integers(&encrypt.input)?;
        let array = console.step("encrypt", || key.encrypt_integers(&integers).map_err(fail))?;
        (array.to_bytes(), Kind::IntegerArray, array.key())
    } else {
        let how = Encryption { bound: encrypt.bound, precision: encrypt.precision };
        let array = console.step("encrypt", || key.encrypt(&numbers, &how).map_err(fail))?;
        (array.to_bytes(), Kind::Array, array.key())
    };

    let path = encrypt.output.as_path();
    match streams::is_output(path) {
        true => console.give(&bytes)?,
        false => wire::save(path, &bytes, kind)?,
    }
    let bytes = bytes.len() as u64;
    let encrypted = Encrypted { path, shape: numbers.shape(), key: owner.to_string(), bytes };
    let words =
        format!("{}: an encrypted array of shape {:?}, {}", path.display(), encrypted.shape, size(bytes));
    console.result(&encrypted, words)
}
