//! The part of a program that its client needs.

use hippocrene_rlwe::Fingerprint;
use serde::{Deserialize, Serialize};

use super::{any::AnyArray, spec::Spec};
use crate::{BitLiteral, Bootstrapping, Error, KeyRequest, Report, Settings};

/// The use of [`Notes::fingerprint_of`] among all fingerprints.
const NOTES_CONTEXT: &str = "hippocrene 2026-11 notes of an interface";

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

/// Notes for the client of a program, as text that this crate does not read. Without any, a text is
/// empty.
///
/// The command line and Python read texts that are not empty as notes of a model
/// (`docs/reference/wire-format.md`).
///
/// The arrays that follow a text carry its fingerprint. So rows that were encoded for one model are
/// not taken for rows of another, nor are its results.
///
/// ```
/// use hippocrene::Notes;
///
/// let notes = Notes { inputs: "in metres".to_owned(), results: String::new() };
/// assert!(Notes::fingerprint_of(&notes.inputs).is_some());
/// assert!(Notes::fingerprint_of(&notes.results).is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    /// How to encode the inputs before they are encrypted, such as the intervals of columns.
    pub inputs: String,
    /// How to read the decrypted results, such as the classes of a model.
    pub results: String,
}

impl Notes {
    /// Returns the fingerprint of a text, or `None` if it is empty.
    pub fn fingerprint_of(text: &str) -> Option<Fingerprint> {
        (!text.is_empty()).then(|| Fingerprint::of(NOTES_CONTEXT, text.as_bytes()))
    }

    /// True if an array that follows the notes `have` may follow a text too. It may if it follows
    /// none, or if the text is empty.
    pub(super) fn may_follow(have: Option<Fingerprint>, text: &str) -> bool {
        match (have, Notes::fingerprint_of(text)) {
            (Some(have), Some(need)) => have == need,
            _ => true,
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
    notes: Notes,
}

impl InterfaceBody {
    pub(super) fn new(
        [inputs, parameters]: [Vec<Input>; 2],
        results: Results,
        report: &Report,
        notes: Notes,
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

    /// Notes for the client, which this crate does not read.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// True if the program computes on bits.
    pub fn has_bits(&self) -> bool {
        self.keys.bits
    }
}

/// The interface of a program: everything that a client needs, and no weights.
///
/// It has the settings, the specifications of inputs and results, and the keys that the program
/// uses. It also has [`Notes`] for the client, such as the classes of a model.
///
/// ```
/// use hippocrene::{
///     AnyArray, ClientKey, KeyRequest, Notes, Operation, Planning, Preset, Program, Recorder, Results, Server, Spec,
///     SpecKind,
/// };
///
/// let recorder = Recorder::new(Preset::by_name("n13")?.settings()?, &KeyRequest::only([]), None)?;
/// let rows = Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0)))?;
/// let x = recorder.input("x", rows, None)?;
/// let squares = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
/// let program = Program::of(&recorder, &squares, Results::Single, Notes::default(), Planning::Full)?;
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

    /// Notes for the client, which this crate does not read.
    pub fn notes(&self) -> &Notes {
        &self.body.notes
    }

    /// Returns an encrypted input of the program, whose elements were encoded as the notes say.
    pub fn noted_input(&self, array: AnyArray) -> AnyArray {
        array.with_notes(Notes::fingerprint_of(&self.notes().inputs))
    }

    /// Checks that an array that follows the notes `have` ([`AnyArray::notes`]) may be a result of
    /// this program, so that its own notes say how to read it.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is a result of another program.
    pub fn check_result(&self, have: Option<Fingerprint>) -> Result<(), Error> {
        if Notes::may_follow(have, &self.notes().results) {
            return Ok(());
        }
        let what = "this is no reply of the program of the interface. Pass the interface of the program \
                    that computed it.";
        Err(Error::argument("decrypt", what))
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
