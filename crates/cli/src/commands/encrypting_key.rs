//! Keys that encrypt files of numbers: secret keys and public keys.

use crate::arrays::{Array, Numbers};
use crate::error::CliError;
use hippocrene::wire::{self, FormatError, Kind};
use hippocrene::{
    BitArray, ClientKey, EncryptedArray, Encryption, Error, IntegerArray, Interval, Preset,
    PublicKey, Session, Stored, TrivialEncryption, Values,
};
use num_complex::Complex64;
use std::path::Path;
use std::sync::Arc;

/// A secret key or a public key, or none for arrays that everyone can read.
pub(super) enum Key {
    Client(Arc<ClientKey>),
    Public(Box<PublicKey>),
    Trivial(TrivialEncryption),
}

impl Key {
    pub(super) fn load(path: &Path, threads: usize) -> Result<Self, CliError> {
        let read = || {
            // The file may be a pipe, so it is read only once.
            let bytes = wire::read(path, &[Kind::PublicKey, Kind::SecretKey])?;
            match PublicKey::from_bytes(&bytes, threads) {
                Err(Error::Format(FormatError::Kind { .. })) => {
                    ClientKey::from_bytes(&bytes, threads).map(|key| Self::Client(Arc::new(key)))
                }
                key => key.map(|key| Self::Public(Box::new(key))),
            }
        };
        read().map_err(CliError::of(path))
    }

    pub(super) fn session(&self) -> &Session {
        match self {
            Self::Client(key) => key.session(),
            Self::Public(key) => key.session(),
            Self::Trivial(key) => key.session(),
        }
    }

    pub(super) fn encrypt(
        &self,
        numbers: &Numbers,
        how: &Encryption,
    ) -> Result<EncryptedArray, Error> {
        let encrypt = |values: Values<'_>| match self {
            Self::Client(key) => key.encrypt_with(values, numbers.shape(), how),
            Self::Public(key) => key.encrypt_with(values, numbers.shape(), how),
            Self::Trivial(key) => key.encrypt_with(values, numbers.shape(), how),
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

    pub(super) fn encrypt_integers(
        &self,
        array: &Array<i128>,
        plain_modulus: u64,
        how: (Option<Interval>, bool),
    ) -> Result<IntegerArray, Error> {
        let (interval, wrap) = how;
        let modulus = i128::from(plain_modulus);
        // Clamped values exceed every plain modulus, so they cause the error of values that do not
        // fit.
        let clamped = |value: i128| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let fitting =
            |value: &i128| if wrap { value.rem_euclid(modulus) as i64 } else { clamped(*value) };
        let values: Vec<i64> = array.values.iter().map(fitting).collect();
        match (self, interval) {
            (Self::Client(key), None) => key.encrypt_integers(&values, &array.shape),
            (Self::Public(key), None) => key.encrypt_integers(&values, &array.shape),
            (Self::Trivial(key), _) => key.encrypt_integers(&values, &array.shape, interval),
            (Self::Client(key), Some(all)) => {
                key.encrypt_integers_within(&values, &array.shape, all)
            }
            (Self::Public(key), Some(all)) => {
                key.encrypt_integers_within(&values, &array.shape, all)
            }
        }
    }

    pub(super) fn encrypt_bits(
        &self,
        preset: Preset,
        array: &Array<bool>,
    ) -> Result<BitArray, Error> {
        let literal = preset.bits()?;
        match self {
            Self::Client(key) => {
                key.encrypt_bits(&*key.bit_plan(literal)?, &array.values, &array.shape)
            }
            Self::Public(key) => {
                key.encrypt_bits(&*key.bit_plan(literal)?, &array.values, &array.shape)
            }
            Self::Trivial(_) => {
                let what = "programs have no parameters of bits";
                Err(Error::argument("provide a parameter", what))
            }
        }
    }
}
