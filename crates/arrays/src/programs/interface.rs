//! The part of a program that its client needs.

use serde::{Deserialize, Serialize};

use super::spec::Spec;
use crate::{BitLiteral, Bootstrapping, Error, KeyRequest, Report, Settings};

/// A named input or parameter of a program.
///
/// See [`Interface`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The name, as of a parameter of the recorded function.
    pub name: String,
    /// The array that the program takes.
    pub spec: Spec,
}

/// The results of a program, as its function returned them.
///
/// See [`Interface`] for an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Results {
    /// A single array.
    Single,
    /// A tuple of arrays.
    Tuple(usize),
    /// Arrays by name.
    Named(Vec<String>),
}

impl Results {
    /// The number of arrays.
    pub fn count(&self) -> usize {
        match self {
            Results::Single => 1,
            Results::Tuple(count) => *count,
            Results::Named(names) => names.len(),
        }
    }
}

/// The keys that a program uses, without the parameters of the bootstrap of bits, which follow from
/// the preset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Keys {
    relinearisation: bool,
    rotations: Vec<i64>,
    conjugation: bool,
    bootstrapping: Option<Bootstrapping>,
    bits: bool,
}

/// The stored part of an [`Interface`], without its settings.
///
/// See [`Interface`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterfaceBody {
    inputs: Vec<Input>,
    parameters: Vec<Input>,
    results: Results,
    keys: Keys,
    notes: String,
}

impl InterfaceBody {
    pub(super) fn new(
        [inputs, parameters]: [Vec<Input>; 2],
        results: Results,
        report: &Report,
        notes: String,
    ) -> Self {
        let KeyRequest { relinearisation, rotations, conjugation, bootstrapping, bits, .. } =
            KeyRequest::for_simulation(report);
        let bits = bits.is_some();
        let keys = Keys { relinearisation, rotations, conjugation, bootstrapping, bits };
        InterfaceBody { inputs, parameters, results, keys, notes }
    }

    /// The inputs of the program, which the client encrypts.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The parameters of the program, which the server provides ([`crate::TrivialEncryption`]).
    pub fn parameters(&self) -> &[Input] {
        &self.parameters
    }

    /// The inputs and the parameters in the order in which the program takes them.
    pub(super) fn operands(&self) -> impl Iterator<Item = &Input> {
        self.inputs.iter().chain(&self.parameters)
    }

    /// The results of the program.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// True if the program computes on bits.
    pub fn has_bits(&self) -> bool {
        self.keys.bits
    }
}

/// The interface of a program: everything that a client needs, and no weights.
///
/// It has the settings, the specifications of inputs and results, and the keys that the program
/// uses. It also has notes for the client, such as the classes of a model, which this library does
/// not read.
///
/// ```
/// use hippocrene::{
///     AnyArray, ClientKey, KeyRequest, Operation, Planning, Preset, Program, Recorder, Results, Server, Spec,
///     SpecKind,
/// };
///
/// let recorder = Recorder::new(Preset::by_name("n13")?.settings()?, &KeyRequest::only([]), None)?;
/// let rows = Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0)))?;
/// let x = recorder.input("x", rows, None)?;
/// let squares = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
/// let program = Program::of(&recorder, &squares, Results::Single, String::new(), Planning::Full)?;
/// let interface = program.interface();
/// assert_eq!(interface.inputs()[0].spec.shape, [4]);
///
/// let client = ClientKey::generate(interface.settings().clone())?;
/// let keys = client.evaluation_keys(&interface.key_request())?; // these keys and no others
/// let values = client.encrypt_with((&[0.5; 4][..]).into(), &[4], &interface.inputs()[0].spec.encryption())?;
/// let reply = program.run(&Server::new(keys)?, vec![AnyArray::from(values)], |_| true)?;
/// assert_eq!(reply.len(), 1);
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Interface {
    settings: Settings,
    bits: Option<BitLiteral>,
    body: InterfaceBody,
}

impl Interface {
    /// Puts an interface together. `bits` are the parameters of bits, if the program computes on
    /// them.
    ///
    /// # Errors
    /// [`Error::Argument`] if the parameters of bits are missing.
    pub fn new(
        settings: Settings,
        bits: Option<BitLiteral>,
        body: InterfaceBody,
    ) -> Result<Self, Error> {
        if body.keys.bits && bits.is_none() {
            let what = "the program computes on bits, and its parameters are not for bits";
            return Err(Error::argument("load an interface", what));
        }
        let mut names: Vec<&str> = body.operands().map(|own| own.name.as_str()).collect();
        names.sort_unstable();
        if let Some(same) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let what = format!("two inputs or parameters have the name {}", same[0]);
            return Err(Error::argument("load an interface", what));
        }
        for Input { spec, .. } in body.operands() {
            Spec::new(spec.kind, spec.shape.clone(), spec.interval)?;
        }
        Ok(Interface { settings, bits: bits.filter(|_| body.keys.bits), body })
    }

    /// The settings of the client key.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The stored part.
    pub fn body(&self) -> &InterfaceBody {
        &self.body
    }

    /// The inputs of the program, which the client encrypts.
    pub fn inputs(&self) -> &[Input] {
        &self.body.inputs
    }

    /// The parameters of the program, which the server provides ([`crate::TrivialEncryption`]).
    pub fn parameters(&self) -> &[Input] {
        &self.body.parameters
    }

    /// The results of the program.
    pub fn results(&self) -> &Results {
        &self.body.results
    }

    /// Text for the client, which this library does not read.
    pub fn notes(&self) -> &str {
        &self.body.notes
    }

    /// Requests the evaluation keys that the program uses, and no others.
    pub fn key_request(&self) -> KeyRequest {
        let Keys { relinearisation, conjugation, bootstrapping, .. } = self.body.keys;
        KeyRequest {
            relinearisation,
            conjugation,
            bootstrapping,
            bits: self.bits.clone(),
            ..KeyRequest::only(self.body.keys.rotations.clone())
        }
    }

    /// The keys that the program uses, in words.
    pub fn key_names(&self) -> Vec<String> {
        let Keys { relinearisation, ref rotations, conjugation, bootstrapping, bits } =
            self.body.keys;
        let named = |has: bool, name: &str| has.then(|| name.to_owned());
        let rotations = match &rotations[..] {
            [] => None,
            [one] => Some(format!("the rotation by {one}")),
            all => Some(format!("{} rotations", all.len())),
        };
        [
            named(relinearisation, "relinearisation"),
            rotations,
            named(conjugation, "conjugation"),
            named(bootstrapping.is_some(), "bootstrapping"),
            named(bits, "bits"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
