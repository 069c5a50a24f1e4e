//! `hippocrene keygen`.

use super::bootstrapping::Bootstrap;
use super::files::{Folder, ForeignFile, Written};
use super::look_ups::LookedUp;
use super::{check_apart, check_rotations};
use crate::args::{Keygen, Rotations, Scheme};
use crate::console::Console;
use crate::error::CliError;
use crate::streams;
use hippocrene::wire::{self, Kind};
use hippocrene::{
    Bootstrapping, BootstrappingDescription, ClientKey, Integers, Interface, KeyRequest, LookUps,
    LookUpsDescription, Preset, Program, Session, Stored,
};
use serde::Serialize;
use std::fmt::{self, Display};
use std::path::Path;

/// The result of `keygen`.
#[derive(Debug, Serialize)]
struct Made {
    preset: Option<&'static str>,
    key: String,
    files: Vec<Written>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    foreign_files: Vec<ForeignFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bootstrapping: Option<BootstrappingDescription>,
    #[serde(skip_serializing_if = "Option::is_none")]
    look_ups: Option<LookUpsDescription>,
}

impl Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {} ({})", self.key, self.preset.unwrap_or("no preset"))?;
        self.files.iter().try_for_each(|file| write!(f, "\n{file}"))?;
        self.foreign_files.iter().try_for_each(|file| write!(f, "\n{file}"))?;
        if let Some(described) = &self.bootstrapping {
            write!(f, "\n{}", Bootstrap(described))?;
        }
        self.look_ups.as_ref().map_or(Ok(()), |described| write!(f, "\n{}", LookedUp(described)))
    }
}

/// The scheme and modulus of integers, or `None` for keys of numbers.
fn integers(keygen: &Keygen, degree: usize) -> Result<Option<Integers>, CliError> {
    let scheme = match keygen.scheme {
        Scheme::Ckks if keygen.plain_modulus.is_some() => {
            let what = "a plain modulus is for integers: use --scheme bgv or --scheme bfv";
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
    let plain_modulus =
        keygen.plain_modulus.unwrap_or_else(|| Integers::default_plain_modulus(degree));
    Ok(Some(Integers { scheme, plain_modulus }))
}

/// Loads the interface of a program, from its file or from that of the program.
pub(super) fn load_interface(path: &Path) -> Result<Interface, CliError> {
    let bytes = streams::read_ours(path, &[Kind::Interface, Kind::Program])?;
    let read = match wire::inspect(&bytes).map_err(CliError::of(path))?.kind {
        Kind::Program => Program::from_bytes(&bytes, ()).map(|program| program.interface().clone()),
        _ => Interface::from_bytes(&bytes, ()),
    };
    read.map_err(CliError::of(path))
}

/// The name of the preset of a key.
fn preset_of(client: &ClientKey) -> Option<&'static str> {
    let parameters = client.session().settings().parameters();
    Preset::by_digest(parameters.digest(), parameters.degree()).map(|preset| preset.name)
}

/// Makes a secret key as the arguments request.
fn generate(
    keygen: &Keygen,
    interface: Option<&Interface>,
    threads: usize,
    console: &Console<'_>,
) -> Result<ClientKey, CliError> {
    if let Some(interface) = interface {
        let settings = interface.settings().clone();
        return console
            .step("make the secret key", || Ok(ClientKey::generate_with(settings, threads)?));
    }
    let preset = Preset::by_name(&keygen.preset)?;
    let mut settings = preset.settings()?;
    if Preset::of_bits(&settings).is_some()
        && (keygen.precision.is_some() || keygen.scheme != Scheme::Ckks)
    {
        let what = format!(
            "--precision is for numbers, and --scheme for integers: keys of the preset {} encrypt \
             bits",
            preset.name
        );
        return Err(CliError::Usage(what));
    }
    if let Some(precision) = keygen.precision {
        settings = settings.with_precision(precision)?;
    }
    let degree = settings.parameters().degree();
    if let Some(integers) = integers(keygen, degree)? {
        settings = settings.with_integers(integers)?;
        Integers::check_slots(integers.plain_modulus, degree)
            .map_err(|e| CliError::Usage(e.to_string()))?;
    }
    console.step("make the secret key", || Ok(ClientKey::generate_with(settings, threads)?))
}

/// The evaluation keys that the arguments request.
fn request(keygen: &Keygen, session: &Session) -> Result<KeyRequest, CliError> {
    let rotations = Rotations::together(keygen.rotations.as_deref());
    check_rotations(rotations.as_deref(), session)?;
    let bootstrapping = keygen.bootstrapping.then(|| Bootstrapping {
        slots: keygen.bootstrapping_slots,
        bound: keygen.bootstrapping_bound.unwrap_or(1.0),
        precision: keygen.bootstrapping_precision,
    });
    let mut look_ups = keygen.tables.as_deref().map(LookUps::by_name).transpose()?;
    if let (Some(look_ups), Some(capacity)) = (&mut look_ups, keygen.tables_capacity) {
        look_ups.capacity = Some(capacity);
    }
    if session.settings().integers().is_some() && (bootstrapping.is_some() || look_ups.is_some()) {
        let what =
            "--bootstrapping and --tables are for numbers: keys for integers cannot use them";
        return Err(CliError::Usage(what.to_owned()));
    }
    let bits = Preset::of_bits(session.settings()).map(|preset| preset.bits()).transpose()?;
    // Keys for gates of bits include their own rotations.
    let none = if bits.is_some() { KeyRequest::only([]) } else { KeyRequest::default() };
    let rotations = rotations.map_or(none, KeyRequest::only);
    Ok(KeyRequest { conjugation: keygen.conjugation, bootstrapping, look_ups, bits, ..rotations })
}

pub(super) fn run(
    keygen: &Keygen,
    threads: usize,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    const NAMES: [&str; 3] = ["client.key", "public.key", "evaluation.keys"];
    let names = if keygen.from.is_some() { &NAMES[1..] } else { &NAMES };
    for name in names {
        check_apart(&keygen.output.join(name), keygen.from.as_deref().as_slice())?;
    }
    let folder = Folder::new(&keygen.output, names, keygen.force)?;
    let interface = keygen.program.as_deref().map(load_interface).transpose()?;
    let (client, preset) = match &keygen.from {
        Some(path) => {
            let load = || ClientKey::load(path, threads).map_err(CliError::of(path));
            let client = console.step("load the secret key", load)?;
            streams::warn_if_readable(path, console);
            let preset = preset_of(&client);
            (client, preset)
        }
        None => {
            let client = generate(keygen, interface.as_ref(), threads, console)?;
            let preset = preset_of(&client);
            (client, preset)
        }
    };
    let request = match &interface {
        Some(interface) => interface.key_request(),
        None => request(keygen, client.session())?,
    };
    let described = request.bootstrapping.map(|how| how.describe(client.session())).transpose()?;
    let public = console.step("make the public key", || Ok(client.public_key()?))?;
    let keys =
        console.step("make the evaluation keys", || Ok(client.evaluation_keys(&request)?))?;
    let files = console.step("write the keys", || {
        let mut staged = vec![
            ("encrypts", public.stage(folder.path(NAMES[1]))?),
            ("computes", keys.stage(folder.path(NAMES[2]))?),
        ];
        if keygen.from.is_none() {
            // The secret is written last. If the command is stopped while the large files are
            // written, no temporary file holds the secret.
            let secret = client.stage(folder.path(NAMES[0]))?;
            staged.insert(0, ("the secret key, not to be shared", secret));
        }
        folder.place(staged)
    })?;
    let key = client.fingerprint().to_string();
    // The description of the keys, which includes the chosen capacity if no option gave it.
    let looked_up =
        keys.look_ups().map(|own| own.request().describe(client.session())).transpose()?;
    let foreign_files = folder.foreign_files(names, &key);
    let made =
        Made { preset, key, files, foreign_files, bootstrapping: described, look_ups: looked_up };
    console.result(&made, &made)
}
