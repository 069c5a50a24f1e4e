//! Files of programs and of their interfaces.
//!
//! They hold settings, the length of the rest, and the rest as CBOR (RFC 8949), which names every
//! field. There is no code in them. A reader takes memory in proportion to the file only.

use ciborium::de::Error as CborError;
use hippocrene_arrays::{
    Cost, Error, Interface, InterfaceBody, Notes, Program, ProgramBody, Results, Settings, Spec,
};
use hippocrene_rlwe::Fingerprint;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    FormatError, Kind, Stored,
    cursor::Cursor,
    settings::{settings_bytes, write_settings},
    stored::{Input, Output},
};
use crate::Preset;

/// The description of a file of a program, or of the interface of one.
///
/// # Examples
/// ```
/// use hippocrene::{
///     KeyRequest, Notes, Operation, Planning, Preset, Program, Recorder, Results, Spec, SpecKind, Stored,
///     wire::inspect,
/// };
///
/// let recorder = Recorder::new(Preset::by_name("n13")?.settings()?, &KeyRequest::only([]), None)?;
/// let rows = Spec::new(SpecKind::Numbers, vec![4], Some((-1.0, 1.0)))?;
/// let x = recorder.input("x", rows, None)?;
/// let squares = recorder.perform(recorder.server(), Operation::Mul, &[x, x])?;
/// let program = Program::of(&recorder, &squares, Results::Single, Notes::default(), Planning::Full)?;
/// let described = inspect(&program.to_bytes())?.program.expect("the file holds a program");
/// assert_eq!((described.steps, described.inputs[0].0.as_str()), (Some(2), "x"));
/// # Ok::<_, hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgramInspection {
    /// The names and the specifications of the inputs.
    pub inputs: Vec<(String, Spec)>,
    /// The names and the specifications of the parameters, which the server provides.
    pub parameters: Vec<(String, Spec)>,
    /// The results.
    pub results: Results,
    /// The notes for the client.
    pub notes: Notes,
    /// The fingerprint of the notes that the inputs follow, if there are any.
    pub notes_of_inputs: Option<Fingerprint>,
    /// The fingerprint of the notes that the results follow, if there are any.
    pub notes_of_results: Option<Fingerprint>,
    /// The number of steps. It is `None` for an interface.
    pub steps: Option<usize>,
    /// The predicted cost. It is `None` for an interface.
    pub cost: Option<Cost>,
}

/// Appends settings, and a value as CBOR after its length.
fn write<E>(
    out: &mut Output<'_, E>,
    kind: Kind,
    settings: &Settings,
    body: &impl Serialize,
) -> Result<(), E> {
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail. Only functions by look-up tables have no stored form, and a
    // recorder refuses the keys for them.
    let written = ciborium::into_writer(body, &mut bytes);
    debug_assert!(written.is_ok(), "{written:?}");
    let length = settings_bytes(settings) as u64 + 8 + bytes.len() as u64;
    let head = out.begin(kind, settings.parameters().digest(), None, length);
    write_settings(head, settings);
    head.extend((bytes.len() as u64).to_le_bytes());
    head.extend(bytes);
    out.pass_on()
}

/// Reads a value as CBOR after its length.
fn read<T: DeserializeOwned>(
    cursor: &mut Cursor<'_>,
    what: &'static str,
) -> Result<T, FormatError> {
    cursor.enter(what);
    let length = cursor.u64()?;
    if length > cursor.left() {
        return Err(FormatError::Truncated { what, have: cursor.left(), need: length });
    }
    let mut bytes = cursor.take(length as usize)?;
    let value = ciborium::from_reader(&mut bytes).map_err(|error| {
        let wrong = match error {
            CborError::Io(_) => "CBOR that ends too early".to_owned(),
            CborError::Syntax(place) => format!("CBOR that is wrong at byte {place}"),
            CborError::Semantic(_, wrong) => format!("CBOR with {wrong}"),
            CborError::RecursionLimitExceeded => "CBOR that is nested too deeply".to_owned(),
        };
        FormatError::field(what, wrong, "the fields that the wire format names")
    })?;
    match bytes.len() {
        0 => Ok(value),
        more => Err(FormatError::field(what, format!("{more} further bytes"), "none")),
    }
}

/// The parameters of bits that these settings have, if they are those of a preset for bits.
fn bits(settings: &Settings, has_bits: bool) -> Result<Option<crate::BitLiteral>, Error> {
    let preset = Preset::of_bits(settings).filter(|_| has_bits);
    preset.map(|preset| preset.bits()).transpose()
}

/// Describes the rest of a file of a program or of an interface.
pub(super) fn inspect_program(
    kind: Kind,
    cursor: &mut Cursor<'_>,
) -> Result<ProgramInspection, FormatError> {
    let (interface, steps, cost) = match kind {
        Kind::Program => {
            let body: ProgramBody = read(cursor, "a program")?;
            (body.interface().clone(), Some(body.steps().len()), Some(body.cost()))
        }
        _ => (read(cursor, "an interface")?, None, None),
    };
    let named =
        |all: &[crate::Input]| all.iter().map(|own| (own.name.clone(), own.spec.clone())).collect();
    let (inputs, parameters) = (named(interface.inputs()), named(interface.parameters()));
    let notes = interface.notes();
    Ok(ProgramInspection {
        inputs,
        parameters,
        results: interface.results().clone(),
        notes: notes.clone(),
        notes_of_inputs: Notes::fingerprint_of(&notes.inputs),
        notes_of_results: Notes::fingerprint_of(&notes.results),
        steps,
        cost,
    })
}

impl Stored for Program {
    const KIND: Kind = Kind::Program;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        write(out, Self::KIND, self.interface().settings(), self.body())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        input.header.expect_no_key()?;
        let settings = input.settings()?;
        let body: ProgramBody = read(&mut input.cursor, "a program")?;
        let bits = bits(&settings, body.interface().has_bits())?;
        Program::from_body(settings, bits, body)
    }
}

impl Stored for Interface {
    const KIND: Kind = Kind::Interface;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        write(out, Self::KIND, self.settings(), self.body())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        input.header.expect_no_key()?;
        let settings = input.settings()?;
        let body: InterfaceBody = read(&mut input.cursor, "an interface")?;
        let bits = bits(&settings, body.has_bits())?;
        Interface::new(settings, bits, body)
    }
}
