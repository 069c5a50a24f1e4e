//! `hippocrene keygen`.

use super::bootstrapping::Bootstrap;
use crate::args::{Bootstrapped, Keygen, Scheme};
use crate::console::{Console, size};
use crate::error::CliError;
use hippocrene::{Bootstrapping, BootstrappingDescription, ClientKey, Family, Integers, KeyRequest, Preset};
use serde::Serialize;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};

/// What was made.
#[derive(Debug, Serialize)]
struct Made {
    preset: &'static str,
    key: String,
    files: Vec<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bootstrapping: Option<BootstrappingDescription>,
}

/// A file that was written.
#[derive(Debug, Serialize)]
pub(super) struct Written {
    holds: &'static str,
    path: PathBuf,
    bytes: u64,
}

impl Written {
    /// The file at `path`, which is there.
    pub(super) fn new(holds: &'static str, path: PathBuf) -> Result<Self, CliError> {
        let bytes = fs::metadata(&path).map_err(|source| CliError::io("read", &path, source))?.len();
        Ok(Written { holds, path, bytes })
    }
}

impl Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { holds, path, bytes } = self;
        write!(f, "{}: {holds}, {}", path.display(), size(*bytes))
    }
}

/// The paths of these files in a folder, which is made where there is none.
pub(super) fn paths<const COUNT: usize>(
    folder: &Path,
    names: [&str; COUNT],
    force: bool,
) -> Result<[PathBuf; COUNT], CliError> {
    let paths = names.map(|name| folder.join(name));
    if let Some(path) = paths.iter().find(|path| path.exists()).filter(|_| !force) {
        return Err(CliError::Usage(format!("{} exists already: say --force to replace it", path.display())));
    }
    fs::create_dir_all(folder).map_err(|source| CliError::io("make", folder, source))?;
    Ok(paths)
}

impl Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {} ({})", self.key, self.preset)?;
        self.files.iter().try_for_each(|file| write!(f, "\n{file}"))?;
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
    let paths = paths(&keygen.output, ["client.key", "public.key", "evaluation.keys"], keygen.force)?;

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
        slots: keygen.bootstrapping_slots,
        bound: keygen.bootstrapping_bound.unwrap_or(1.0),
        precision: keygen.bootstrapping_precision,
    });
    let described = bootstrapping.map(|how| how.describe(client.session())).transpose()?;
    let public = console.step("make the public key", || Ok(client.public_key()?))?;
    let bits = (preset.family == Family::Bits).then(|| preset.bits()).transpose()?;
    // Gates of bits take rotations of their own.
    let none = if bits.is_some() { KeyRequest::only([]) } else { KeyRequest::default() };
    let rotations = keygen.rotations.clone().map_or(none, KeyRequest::only);
    let request = KeyRequest { bootstrapping, bits, ..rotations };
    let keys = console.step("make the evaluation keys", || Ok(client.evaluation_keys(&request)?))?;
    console.step("write the keys", || {
        client.save(&paths[0])?;
        public.save(&paths[1])?;
        Ok(keys.save(&paths[2])?)
    })?;

    let holds = ["the secret key, never to be given away", "encrypts", "computes"];
    let files = holds.into_iter().zip(paths).map(|(holds, path)| Written::new(holds, path));
    let made = Made {
        preset: preset.name,
        key: client.fingerprint().to_string(),
        files: files.collect::<Result<_, CliError>>()?,
        bootstrapping: described,
    };
    console.result(&made, &made)
}
