//! `hippocrene encrypt`.

use super::check_output;
use crate::args::Encrypt;
use crate::arrays::{Array, Format, Header, Numbers, Table};
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
    #[serde(serialize_with = "crate::json::path")]
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
        let read = || {
            // Once: it may be a pipe.
            let bytes = wire::read(path, &[Kind::PublicKey, Kind::SecretKey])?;
            match PublicKey::from_bytes(&bytes, threads) {
                Err(Error::Format(FormatError::Kind { .. })) => {
                    ClientKey::from_bytes(&bytes, threads).map(Self::Client)
                }
                key => key.map(Self::Public),
            }
        };
        read().map_err(CliError::of(path))
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
            Numbers::Exact(array) => encrypt(Values::Big(&array.values)),
            Numbers::Complex(array) => {
                let values = array.values.iter().map(|[re, im]| Complex64::new(*re, *im));
                encrypt(Values::Complex(&values.collect::<Vec<_>>()))
            }
        }
    }

    fn encrypt_integers(&self, array: &Array<i128>, plain_modulus: u64) -> Result<IntegerArray, Error> {
        let modulus = i128::from(plain_modulus);
        let residues: Vec<i64> = array.values.iter().map(|value| value.rem_euclid(modulus) as i64).collect();
        match self {
            Self::Client(key) => key.encrypt_integers(&residues, &array.shape),
            Self::Public(key) => key.encrypt_integers(&residues, &array.shape),
        }
    }

    fn encrypt_bits(&self, preset: Preset, array: &Array<bool>) -> Result<BitArray, Error> {
        let literal = preset.bits()?;
        match self {
            Self::Client(key) => key.encrypt_bits(&*key.bit_plan(literal)?, &array.values, &array.shape),
            Self::Public(key) => key.encrypt_bits(&*key.bit_plan(literal)?, &array.values, &array.shape),
        }
    }
}

pub(super) fn run(encrypt: &Encrypt, threads: usize, console: &mut Console<'_>) -> Result<(), CliError> {
    let format = encrypt.format.map_or_else(|| Format::of(&encrypt.input), Ok)?;
    let is_table = encrypt.columns.is_some() || encrypt.delimiter.is_some() || encrypt.header != Header::Auto;
    if format == Format::Npy && is_table {
        let what = "--columns, --delimiter and --header are for comma-separated values: this is .npy";
        return Err(CliError::Usage(what.to_owned()));
    }
    if let Some(bound) = encrypt.bound.filter(|bound| !(bound.is_finite() && *bound >= 0.0)) {
        return Err(CliError::Usage(format!("--bound: {bound} is not a finite number from 0")));
    }
    check_output(&encrypt.output, &[&encrypt.key, &encrypt.input])?;
    let key = console.step("load the key", || Key::load(&encrypt.key, threads))?;
    if let Key::Client(_) = key {
        streams::warn_if_readable(&encrypt.key, console);
    }
    let (header, delimiter, columns) = (encrypt.header, encrypt.delimiter, encrypt.columns.clone());
    let (input, table) = (&encrypt.input, Table { header, delimiter, columns });
    let fail = CliError::of(input);
    let (bytes, shape, kind, owner) = if let Some(preset) = key.session().bit_preset() {
        if encrypt.bound.is_some() || encrypt.precision.is_some() {
            let what = "bound and precision are for numbers: these keys encrypt bits";
            return Err(CliError::Usage(what.to_owned()));
        }
        let bits = Array::<bool>::read(input, format, &table)?;
        let array = console.step("encrypt", || key.encrypt_bits(preset, &bits).map_err(fail))?;
        (array.to_bytes(), bits.shape, Kind::BitArray, array.key())
    } else if let Some(integers) = key.session().integers() {
        if encrypt.bound.is_some() || encrypt.precision.is_some() {
            let what = "bound and precision are for numbers: these keys encrypt integers, which are exact";
            return Err(CliError::Usage(what.to_owned()));
        }
        let (modulus, integers) = (integers.plain_modulus(), Array::<i128>::read(input, format, &table)?);
        let array = console.step("encrypt", || key.encrypt_integers(&integers, modulus).map_err(fail))?;
        (array.to_bytes(), integers.shape, Kind::IntegerArray, array.key())
    } else {
        let settings = key.session().settings();
        let precision = encrypt.precision.unwrap_or(settings.precision());
        // Before the numbers are read: they are not what is wrong.
        settings.scale_of(precision)?;
        let numbers = Numbers::read(input, format, &table, precision)?;
        let how = Encryption { bound: encrypt.bound, precision: encrypt.precision };
        let array = console.step("encrypt", || key.encrypt(&numbers, &how).map_err(fail))?;
        (array.to_bytes(), numbers.shape().to_vec(), Kind::Array, array.key())
    };

    let path = encrypt.output.as_path();
    match streams::is_output(path) {
        true => console.give(&bytes)?,
        false => wire::save(path, &bytes, kind)?,
    }
    let bytes = bytes.len() as u64;
    let encrypted = Encrypted { path, shape: &shape, key: owner.to_string(), bytes };
    let words =
        format!("{}: an encrypted array of shape {:?}, {}", path.display(), encrypted.shape, size(bytes));
    console.result(&encrypted, words)
}
