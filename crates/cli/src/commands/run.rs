//! `hippocrene run`.

use super::check_output;
use super::encrypting_key::Key;
use super::model::{Columns, Meaning, class_bytes};
use super::plain_input::PlainInput;
use super::program::load;
use crate::args::Run;
use crate::arrays::{Array, Complex, Decimal, Format, check_format};
use crate::console::{Console, count, size};
use crate::error::CliError;
use crate::streams;
use hippocrene::wire::{self, Kind};
use hippocrene::{
    AnyArray, BitArray, ClientKey, EncryptedArray, EvaluationKeys, Fingerprint, Input,
    IntegerArray, Interface, Program, Results, Server, Session, Spec, SpecKind, Stored,
    TrivialEncryption,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The result of a run.
#[derive(Debug, Serialize)]
struct Ran<'a> {
    results: Vec<WrittenResult<'a>>,
    seconds: f64,
}

/// A result that was written to a file.
#[derive(Debug, Serialize)]
struct WrittenResult<'a> {
    name: String,
    #[serde(serialize_with = "crate::json::path")]
    path: &'a Path,
    bytes: u64,
}

pub(super) fn run(run: &Run, threads: usize, console: &mut Console<'_>) -> Result<(), CliError> {
    let program = load(&run.program)?;
    let inputs = program.interface().inputs();
    if run.inputs.len() != inputs.len() {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        return Err(CliError::Usage(format!(
            "{} takes {}: {}. {} given.",
            run.program.display(),
            count(inputs.len(), "input"),
            names.join(", "),
            if run.inputs.len() == 1 {
                "1 is".to_owned()
            } else {
                format!("{} are", run.inputs.len())
            }
        )));
    }
    let names = names_of(program.interface().results());
    let prints = run.keys.is_none() && run.output.is_empty() && names.len() == 1;
    if run.output.len() != names.len() && !prints {
        return Err(CliError::Usage(format!(
            "--output: {} has {}: {}. Give --output FILE for each of them, in this order.",
            run.program.display(),
            count(names.len(), "result"),
            names.join(", ")
        )));
    }
    let parameters = parameters(run, program.interface())?;
    for (i, output) in run.output.iter().enumerate() {
        if run.output[..i].contains(output) {
            return Err(CliError::Usage(format!(
                "--output: {} is given for two results. Choose another name for one of them.",
                output.display()
            )));
        }
        let mut read = vec![&*run.program];
        read.extend(run.inputs.iter().chain(&run.keys).map(PathBuf::as_path));
        read.extend(parameters.iter().map(|parameter| parameter.path.as_path()));
        check_output(output, &read)?;
    }
    match &run.keys {
        Some(keys) => serve(run, &program, &names, &parameters, (keys, threads), console),
        None => try_out(run, &program, &names, &parameters, threads, console),
    }
}

/// The values of a parameter, which the server provides.
struct Parameter<'a> {
    input: &'a Input,
    path: PathBuf,
    plain: PlainInput,
}

impl Parameter<'_> {
    /// Makes an array of the values that computes with arrays of this key.
    fn provided(
        &self,
        interface: &Interface,
        session: &Session,
        key: Fingerprint,
    ) -> Result<AnyArray, CliError> {
        let key = Key::Trivial(TrivialEncryption::new(session.clone(), key));
        self.plain.encrypt(self.input, &self.path, interface, &key)
    }
}

/// Reads the parameters of a program from their files, in its order.
///
/// # Errors
/// [`CliError::Usage`] if other parameters are given than the program has.
fn parameters<'a>(run: &Run, interface: &'a Interface) -> Result<Vec<Parameter<'a>>, CliError> {
    let expected = interface.parameters();
    let names: Vec<&str> = expected.iter().map(|own| own.name.as_str()).collect();
    let mut given = BTreeMap::new();
    for pair in &run.parameter {
        let Some((name, path)) = pair.split_once('=') else {
            let what = format!("--parameter: {pair} is not NAME=FILE, as in weights=weights.csv");
            return Err(CliError::Usage(what));
        };
        if !names.contains(&name) || given.insert(name, PathBuf::from(path)).is_some() {
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(CliError::Usage(format!(
                "--parameter: {name} is unknown or given twice. The parameters of the program: {has}"
            )));
        }
    }
    let table = run.table.table();
    let read = |input: &'a Input| {
        let path = given.remove(input.name.as_str()).ok_or_else(|| {
            let name = &input.name;
            CliError::Usage(format!(
                "--parameter: the program has the parameter {name}, {}. Give --parameter \
                 {name}=FILE.",
                input.spec
            ))
        })?;
        let plain = PlainInput::read(input, &path, None, &table, (interface, None))?;
        Ok(Parameter { input, path, plain })
    };
    expected.iter().map(read).collect()
}

/// The names of the results.
fn names_of(results: &Results) -> Vec<String> {
    match results {
        Results::Single => vec!["result".to_owned()],
        Results::Tuple(length) => (1..=*length).map(|i| format!("result {i}")).collect(),
        Results::Named(names) => names.clone(),
    }
}

/// Runs the program and shows its progress.
fn performed(
    program: &Program,
    server: &Server,
    inputs: Vec<AnyArray>,
    console: &Console<'_>,
) -> Result<(Vec<AnyArray>, f64), CliError> {
    let (start, total) = (Instant::now(), program.steps().len());
    let results = console.counted("run", |report| {
        Ok(program.run(server, inputs, |done| {
            report(done, total);
            true
        })?)
    })?;
    Ok((results, start.elapsed().as_secs_f64()))
}

/// Runs the program on encrypted inputs, as a server does.
fn serve(
    run: &Run,
    program: &Program,
    names: &[String],
    parameters: &[Parameter<'_>],
    (keys, threads): (&Path, usize),
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    // Keys may have gigabytes, so wrong inputs are found first.
    let session = Session::new(program.interface().settings().clone(), threads)?;
    let inputs = run.inputs.iter().map(|path| read_array(path, &session));
    let mut inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let Some(key) = inputs.first().map(AnyArray::key) else {
        return Err(CliError::Usage("a program computes on at least one input".to_owned()));
    };
    for parameter in parameters {
        inputs.push(parameter.provided(program.interface(), &session, key)?);
    }
    program.check_inputs(&inputs)?;
    let load = || EvaluationKeys::load(keys, threads).map_err(CliError::of(keys));
    let keys = console.step("load the keys", load)?;
    let server = console.step("prepare the keys", || Ok(Server::new(keys)?))?;
    let (results, seconds) = performed(program, &server, inputs, console)?;
    let files = results.iter().map(|result| match result {
        AnyArray::Numbers(array) => (array.to_bytes(), Kind::Array),
        AnyArray::Integers(array) => (array.to_bytes(), Kind::IntegerArray),
        AnyArray::Bits(array) => (array.to_bytes(), Kind::BitArray),
    });
    let mut written = Vec::new();
    for ((path, name), (bytes, kind)) in run.output.iter().zip(names).zip(files) {
        match streams::is_output(path) {
            true => console.write_data(&bytes)?,
            false => wire::save(path, &bytes, kind)?,
        }
        written.push(WrittenResult { name: name.clone(), path, bytes: bytes.len() as u64 });
    }
    give(Ran { results: written, seconds }, "encrypted", console)
}

/// Prints the names and the sizes of the results.
fn give(ran: Ran<'_>, how: &str, console: &mut Console<'_>) -> Result<(), CliError> {
    let line = |one: &WrittenResult<'_>| {
        format!("{}: the {how} {}, {}", one.path.display(), one.name, size(one.bytes))
    };
    let words: Vec<String> = ran.results.iter().map(line).collect();
    console.result(&ran, words.join("\n"))
}

/// Reads an encrypted array of any kind.
fn read_array(path: &Path, session: &Session) -> Result<AnyArray, CliError> {
    let bytes = streams::read_ours(path, &Kind::ARRAYS)?;
    let array = match wire::inspect(&bytes).map_err(CliError::of(path))?.kind {
        Kind::BitArray => BitArray::from_bytes(&bytes, session).map(AnyArray::from),
        Kind::IntegerArray => IntegerArray::from_bytes(&bytes, session).map(AnyArray::from),
        _ => EncryptedArray::from_bytes(&bytes, session).map(AnyArray::from),
    };
    array.map_err(CliError::of(path))
}

/// Runs the program on plain inputs with keys that are made for this run only.
fn try_out(
    run: &Run,
    program: &Program,
    names: &[String],
    parameters: &[Parameter<'_>],
    threads: usize,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let interface = program.interface();
    let model = Columns::of(interface, &run.program)?;
    let meaning = Meaning::of(interface, &run.program)?;
    let places = places(run, program)?;
    if let Some(classes) = meaning.classes() {
        places.iter().try_for_each(|(_, format)| classes.check_format(*format))?;
    }
    let table = run.table.table();
    let plain = interface.inputs().iter().zip(&run.inputs);
    let how = (interface, model.as_ref());
    let plain = plain.map(|(input, path)| PlainInput::read(input, path, None, &table, how));
    let plain = plain.collect::<Result<Vec<_>, _>>()?;
    let client = console.step("make the secret key", || {
        Ok(Arc::new(ClientKey::generate_with(interface.settings().clone(), threads)?))
    })?;
    let keys = console.step("make the evaluation keys", || {
        Ok(client.evaluation_keys(&interface.key_request())?)
    })?;
    let server = console.step("prepare the keys", || Ok(Server::new(keys)?))?;
    let key = Key::Client(Arc::clone(&client));
    let encrypted = console.step("encrypt", || {
        let inputs = interface.inputs().iter().zip(&run.inputs).zip(plain);
        let inputs = inputs.map(|((input, path), plain)| {
            Ok(interface.noted_input(plain.encrypt(input, path, interface, &key)?))
        });
        let (session, owner) = (server.session(), client.fingerprint());
        let provided = parameters.iter().map(|one| one.provided(interface, session, owner));
        inputs.chain(provided).collect()
    })?;
    let (results, seconds) = performed(program, &server, encrypted, console)?;
    let files = results.iter().zip(&places);
    let files = files
        .map(|(result, (_, format))| plain_bytes(result, &client, *format, (run.signed, &meaning)));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let mut written = Vec::new();
    for (((path, _), name), bytes) in places.iter().zip(names).zip(&files) {
        match streams::is_output(path) {
            true => console.write_data(bytes)?,
            false => wire::write(path, bytes)?,
        }
        written.push(WrittenResult { name: name.clone(), path, bytes: bytes.len() as u64 });
    }
    match run.output.is_empty() {
        true => Ok(()),
        false => give(Ran { results: written, seconds }, "decrypted", console),
    }
}

/// Returns the path and the format of each plain result. The default is standard output.
///
/// # Errors
/// [`CliError::Usage`] if a format cannot hold its result.
fn places<'a>(run: &'a Run, program: &Program) -> Result<Vec<(&'a Path, Format)>, CliError> {
    let paths = match run.output.is_empty() {
        true => vec![Path::new("-")],
        false => run.output.iter().map(PathBuf::as_path).collect(),
    };
    let place = |(path, spec): (&'a Path, &Spec)| {
        let format = if streams::is_output(path) { Format::Csv } else { Format::of(path)? };
        check_format(&spec.shape, format)?;
        if spec.kind == SpecKind::Complex && format == Format::Csv {
            let what = "a result holds complex numbers, which comma-separated values do not: give \
                        --output FILE.npy";
            return Err(CliError::Usage(what.to_owned()));
        }
        Ok((path, format))
    };
    paths.into_iter().zip(program.results()).map(place).collect()
}

/// Decrypts a result, and formats it as a file in a format that can hold it.
fn plain_bytes(
    result: &AnyArray,
    client: &ClientKey,
    format: Format,
    (is_signed, meaning): (bool, &Meaning),
) -> Result<Vec<u8>, CliError> {
    match result {
        AnyArray::Numbers(array) if array.is_complex() => {
            let values = client.decrypt_complex(array)?;
            let values = values.into_iter().map(|value| [value.re, value.im]).collect();
            let array: Array<Complex> = Array { shape: array.shape().to_vec(), values };
            array.to_bytes(format, &[])
        }
        AnyArray::Numbers(array) => {
            let (shape, values) = (array.shape().to_vec(), client.decrypt(array)?);
            let bits = array.precision_bits(client.session());
            let array = Array { shape, values };
            if let Some(classes) = meaning.classes() {
                return class_bytes(&classes.of_scores(&array)?, format);
            }
            let Array { shape, values } = array;
            match format {
                Format::Npy => Array { shape, values }.to_bytes(format, &[]),
                Format::Csv => {
                    let values =
                        values.iter().map(|value| Decimal::of_double(*value, bits)).collect();
                    Array { shape, values }.to_csv(&meaning.header())
                }
            }
        }
        AnyArray::Integers(array) => {
            let shape = array.shape().to_vec();
            match is_signed {
                true => Array { shape, values: client.decrypt_signed_integers(array)? }
                    .to_bytes(format, &[]),
                false => {
                    Array { shape, values: client.decrypt_integers(array)? }.to_bytes(format, &[])
                }
            }
        }
        AnyArray::Bits(array) => {
            let (shape, values) = (array.shape().to_vec(), client.decrypt_bits(array)?);
            match format {
                Format::Npy => Array { shape, values }.to_bytes(format, &[]),
                Format::Csv => {
                    let values: Vec<i64> = values.into_iter().map(i64::from).collect();
                    Array { shape, values }.to_bytes(format, &[])
                }
            }
        }
    }
}
