//! `hippocrene keygen`.

use super::bootstrapping::Bootstrap;
use crate::args::{Bootstrapped, Keygen, Scheme};
use crate::console::{Console, size};
use crate::error::CliError;
use hippocrene::{Bootstrapping, BootstrappingDescription, ClientKey, Integers, KeyRequest, Preset};
use serde::Serialize;
use std::fmt::{self, Display};
use std::fs;
use std::path::PathBuf;

/// What was made.
#[derive(Debug, Serialize)]
struct Made {
    preset: &'static str,
    key: String,
    files: Vec<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bootstrapping: Option<BootstrappingDescription>,
}

#[derive(Debug, Serialize)]
struct Written {
    holds: &'static str,
    path: PathBuf,
    bytes: u64,
}

impl Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {} ({})", self.key, self.preset)?;
        self.files.iter().try_for_each(|Written { holds, path, bytes }| {
            write!(f, "\n{}: {holds}, {}", path.display(), size(*bytes))
        })?;
        self.bootstrapping.as_ref().map_or(Ok(()), |described| write!(f, "\n{}", Bootstrap(described)))
    }
}

/// How integers are computed with, if they are.
fn integers(keygen: &Keygen, degree: usize) -> Result<Option<Integers>, CliError> {
    let scheme = match keygen.scheme {
        Scheme::Ckks if keygen.plain_modulus.is_some() => {
            let what = "a plain modulus is for integers: say --scheme bgv or --scheme bfv";
            return Err(CliError::Usage(what.to_owned()));
        }
        Scheme::Ckks => return Ok(None),
        _ if keygen.precision.is_some() => {
            let what = "a precision is for numbers: integers are exact";
            return Err(CliError::Usage(what.to_owned()));
        }
        Scheme::Bgv => hippocrene::Scheme::Bgv,
        Scheme::Bfv => hippocrene::Scheme::Bfv,
    };
    let plain_modulus = keygen.plain_modulus.unwrap_or_else(|| Integers::default_plain_modulus(degree));
    Ok(Some(Integers { scheme, plain_modulus }))
}

pub(super) fn run(keygen: &Keygen, threads: usize, console: &mut Console<'_>) -> Result<(), CliError> {
    let preset = Preset::by_name(&keygen.preset)?;
    let paths = ["client.key", "public.key", "evaluation.keys"].map(|name| keygen.output.join(name));
    if let Some(path) = paths.iter().find(|path| path.exists()).filter(|_| !keygen.force) {
        return Err(CliError::Usage(format!("{} exists already: say --force to replace it", path.display())));
    }
    fs::create_dir_all(&keygen.output).map_err(|source| CliError::io("make", &keygen.output, source))?;

    let mut settings = preset.settings()?;
    if let Some(precision) = keygen.precision {
        settings = settings.with_precision(precision)?;
    }
    if let Some(integers) = integers(keygen, settings.parameters().degree())? {
        settings = settings.with_integers(integers)?;
    }
    let client = console.step("make the secret key", || Ok(ClientKey::generate_with(settings, threads)?))?;
    let bootstrapping = keygen.bootstrapping.map(|arrays| Bootstrapping {
        complex: arrays == Bootstrapped::Complex,
        bound: keygen.bootstrapping_bound.unwrap_or(1.0),
        precision: keygen.bootstrapping_precision,
    });
    let described = bootstrapping.map(|how| how.describe(client.session())).transpose()?;
    let public = console.step("make the public key", || Ok(client.public_key()?))?;
    let rotations = keygen.rotations.clone().map_or_else(KeyRequest::default, KeyRequest::only);
    let request = KeyRequest { bootstrapping, ..rotations };
    let keys = console.step("make the evaluation keys", || Ok(client.evaluation_keys(&request)?))?;
    console.step("write the keys", || {
        client.save(&paths[0])?;
        public.save(&paths[1])?;
        Ok(keys.save(&paths[2])?)
    })?;

    let holds = ["the secret key, never to be given away", "encrypts", "computes"];
    let files = holds.into_iter().zip(paths).map(|(holds, path)| {
        let bytes = fs::metadata(&path).map_err(|source| CliError::io("read", &path, source))?.len();
        Ok(Written { holds, path, bytes })
    });
    let made = Made {
        preset: preset.name,
        key: client.fingerprint().to_string(),
        files: files.collect::<Result<_, CliError>>()?,
        bootstrapping: described,
    };
    console.result(&made, &made)
}
