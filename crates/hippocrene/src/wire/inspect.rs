//! Descriptions of files, from their bytes alone.

use hippocrene_arrays::{Bits, Error, Integers, Numbers, Residues, Settings, rotations_among};
use hippocrene_ring::automorphism::galois_element_of_conjugation;
use hippocrene_rlwe::{Fingerprint, Parameters};
use serde::Serialize;

use super::{
    FormatError, Kind, Limits,
    array::{ArrayHead, FileForm},
    bit_keys::BitKeysHead,
    bootstrapping::BootstrappingHead,
    clustering::{ClusteringHead, next_array},
    cursor::Cursor,
    gates::{self, GatesInspection, inspect_gates},
    header::Header,
    keys::{KeyContents, TransferHead, public_key_bytes},
    look_ups::LookUpHead,
    memory,
    program::{ProgramInspection, inspect_program},
    settings::{Security, read_settings},
    switching_keys::SEED_BYTES,
    trees::{self, TreesInspection, inspect_trees},
};
use crate::Preset;

/// An upper bound of the memory that a byte of a program's file takes when it is read, in bytes. A
/// place of a `Gather` takes the most: one byte becomes an optional integer.
const MEMORY_OF_PROGRAM_BYTE: u64 = 16;

/// The description of a file, from its own fields and from the preset with the same digest.
///
/// # Examples
/// ```
/// use hippocrene::{
///     ClientKey, KeyRequest, Preset, Stored,
///     wire::{ElementsInspection, Kind, inspect},
/// };
///
/// let client = ClientKey::generate(Preset::by_name("n12")?.settings()?)?;
/// let inspection = inspect(&client.encrypt(&[1.0, 2.0], &[2])?.to_bytes())?;
/// assert_eq!((inspection.kind, inspection.preset), (Kind::Array, Some("n12")));
/// let array = inspection.array.expect("the file holds an array");
/// assert_eq!((array.shape, array.ciphertexts), (vec![2], 1));
/// assert!(matches!(array.elements, ElementsInspection::Numbers { complex: false, .. }));
///
/// let keys = client.evaluation_keys(&KeyRequest::only([1]))?.to_bytes();
/// let keys = inspect(&keys)?.keys.expect("the file holds evaluation keys");
/// assert!(keys.relinearisation && keys.rotations == [1]);
/// # Ok::<_, hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// The kind of the file's contents.
    pub kind: Kind,
    /// The version of the format.
    pub version: u16,
    /// True if the file must be kept secret.
    pub secret: bool,
    /// Bytes of the file.
    pub bytes: u64,
    /// An approximate upper bound of the peak memory for loading the file, in bytes.
    ///
    /// It includes the file, the objects made from it and, for keys, the tables of their
    /// parameters. It may be many times `bytes`.
    pub peak_memory: u64,
    /// The digest of the file's parameters, in hexadecimal digits.
    pub parameters: String,
    /// The fingerprint of the secret key that the file belongs to, in hexadecimal digits.
    pub key: Option<String>,
    /// The preset that has this digest, if there is one.
    pub preset: Option<&'static str>,
    /// The ring degree `N`.
    pub ring_degree: usize,
    /// The parameters, if the file or a preset gives them.
    pub settings: Option<SettingsInspection>,
    /// The keys in a file of evaluation keys.
    pub keys: Option<KeysInspection>,
    /// The destination of a transfer key.
    pub transfer: Option<TransferInspection>,
    /// The description of an array.
    pub array: Option<ArrayInspection>,
    /// The description of a file of decision trees.
    pub trees: Option<TreesInspection>,
    /// The description of a file of single bits.
    pub gates: Option<GatesInspection>,
    /// The description of a program, or of the interface of one.
    pub program: Option<ProgramInspection>,
}

/// The destination of a transfer key. See [`Inspection`] for an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransferInspection {
    /// The digest of the second parameter set, in hexadecimal digits.
    pub parameters: String,
    /// The fingerprint of the second secret key, in hexadecimal digits.
    pub key: String,
}

/// A parameter set. See [`Inspection`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingsInspection {
    /// log2 of `PQ`, in bits.
    pub log2_pq: f64,
    /// The largest `log2(PQ)` that is secure, or `None` for a set of unknown security.
    pub security_limit: Option<u32>,
    /// The number of units.
    pub units: usize,
    /// The number of special primes.
    pub specials: usize,
    /// The gadget rank.
    pub gadget_rank: usize,
    /// The default precision of results, in bits after the binary point.
    pub precision: f64,
    /// log2 of the scale for that precision.
    pub scale_bits: f64,
    /// The scheme and modulus of integers, or `None` for keys of numbers.
    pub integers: Option<IntegersInspection>,
}

/// The scheme and modulus for integers. See [`Inspection`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IntegersInspection {
    /// The scheme of products: `bgv` or `bfv`.
    pub scheme: &'static str,
    /// The plaintext modulus.
    pub plain_modulus: u64,
}

/// The keys in a file of evaluation keys. See [`Inspection`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeysInspection {
    /// True if there is a relinearisation key.
    pub relinearisation: bool,
    /// The rotations, in slots to the left (negative: to the right), in ascending order.
    pub rotations: Vec<i64>,
    /// True if there is a key for complex conjugation.
    pub conjugation: bool,
    /// Galois elements of the other automorphisms with a key.
    pub other_elements: Vec<u32>,
    /// The bootstrap that the keys are for, if there is one.
    pub bootstrapping: Option<BootstrappingInspection>,
    /// The name of the look-up tables that the keys are for, if there are some.
    pub tables: Option<&'static str>,
    /// The description of the keys for bits, if there are some.
    pub bits: Option<BitsInspection>,
}

/// The keys for gates of bits. See [`Inspection`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BitsInspection {
    /// The number of bits that a ciphertext holds.
    pub capacity: usize,
    /// The Hamming weight of the sparse secret.
    pub sparse_weight: usize,
    /// log2 of the modulus of the keys to the sparse secret, in bits.
    pub sparse_log2_pq: f64,
    /// The largest such value that is secure, or `None` for insecure parameters.
    pub sparse_log2_pq_limit: Option<u32>,
}

/// The bootstrap that keys are for. See [`Inspection`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BootstrappingInspection {
    /// The precision, in bits after the binary point.
    pub precision: f64,
    /// The number of slots of a ciphertext that are bootstrapped.
    pub slots: usize,
    /// True if the errors of bootstraps are bootstrapped too, to reach this precision.
    pub iterated: bool,
    /// The bound on absolute values that the bootstrap is planned for.
    pub bound: f64,
    /// The Hamming weight of the sparse secret.
    pub sparse_weight: usize,
    /// log2 of the modulus of the keys to the sparse secret, in bits.
    pub sparse_log2_pq: f64,
    /// The largest such value that is secure, or `None` for insecure parameters.
    pub sparse_log2_pq_limit: Option<u32>,
}

/// An encrypted array. See [`Inspection`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArrayInspection {
    /// The shape.
    pub shape: Vec<usize>,
    /// The distance in slots between neighbouring elements along each axis.
    pub strides: Vec<usize>,
    /// True if these are the strides of a fresh array.
    ///
    /// Moving elements with other strides may take many more products.
    pub packed: bool,
    /// The number of slots of one ciphertext.
    pub slots: usize,
    /// True if the stray slots are zero.
    pub clean: bool,
    /// The number of ciphertexts.
    pub ciphertexts: usize,
    /// Bytes of memory for the ciphertexts during computations.
    ///
    /// It may be many times the size of the file.
    pub memory: u64,
    /// An approximate upper bound of the work to move the elements to the layout of a fresh array.
    ///
    /// The unit is one product with a plaintext. Operations on several arrays need this move. It is
    /// 0 if `packed`.
    pub work: u64,
    /// The number of ciphertexts that are stored with a seed.
    pub seeded: usize,
    /// The fewest limbs of a ciphertext's modulus.
    pub limbs: usize,
    /// log2 of the smallest modulus, in bits, if the parameters are known.
    pub modulus_bits: Option<f64>,
    /// The fingerprint of the notes that the elements follow, if they follow any.
    pub notes: Option<Fingerprint>,
    /// The elements.
    #[serde(flatten)]
    pub elements: ElementsInspection,
}

/// The elements of an encrypted array. See [`Inspection`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ElementsInspection {
    /// Real or complex numbers.
    Numbers {
        /// True if the numbers are complex.
        complex: bool,
        /// log2 of the largest scale, in bits.
        scale_bits: f64,
        /// The smallest capacity of a ciphertext, in bits, if the parameters are known.
        capacity_bits: Option<f64>,
        /// The requested precision of results, in bits after the binary point.
        precision: f64,
        /// The smallest estimated precision of a ciphertext, in bits after the binary point. NaN if
        /// unknown.
        precision_bits: f64,
        /// The bound on the absolute values of the numbers.
        bound: f64,
        /// The ends of the interval that contains the numbers.
        interval: [f64; 2],
    },
    /// Integers.
    Integers {
        /// The plaintext modulus.
        plain_modulus: u64,
        /// The smallest estimated noise budget of a ciphertext, in bits, if the parameters are
        /// known.
        budget_bits: Option<f64>,
        /// The ends of the interval that contains the integers, or `None` if they may be any
        /// residue.
        interval: Option<[f64; 2]>,
    },
    /// Bits.
    Bits {
        /// The largest distance of a slot from its bit, below 1/2.
        bit_error: f64,
    },
}

/// Describes a file.
///
/// Header, checksum, settings and the sizes of all parts are checked. Residues are not checked,
/// since that takes the parameters.
///
/// # Errors
/// [`Error::Format`] when the bytes are not a whole file of this library.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Error> {
    let (header, payload) = Header::open(bytes)?;
    if matches!(
        header.kind,
        Kind::TreeSecretKey | Kind::TreeKeys | Kind::TreeQuery | Kind::TreeReply
    ) {
        let (trees, ring_degree) = inspect_trees(&header, payload)?;
        let loaded = trees::loaded_memory(&header, bytes.len() as u64)?;
        return Ok(Inspection {
            trees: Some(trees),
            ..Inspection::of_header(&header, bytes, ring_degree, loaded)
        });
    }
    if matches!(header.kind, Kind::GateSecretKey | Kind::GateKeys | Kind::GateArray) {
        let (gates, ring_degree) = inspect_gates(&header, payload)?;
        let loaded = gates::loaded_memory(&header, bytes.len() as u64)?;
        return Ok(Inspection {
            gates: Some(gates),
            ..Inspection::of_header(&header, bytes, ring_degree, loaded)
        });
    }
    let mut cursor = Cursor::new(payload, "settings");
    let own = match header.kind {
        kind if Kind::ARRAYS.contains(&kind) => None,
        Kind::Clustering => None,
        _ => Some(read_settings(&mut cursor, &header, Security::Waived)?),
    };
    let (mut keys, mut transfer, mut head, mut program) = (None, None, None, None);
    let mut loaded = own.as_ref().map_or(0, |settings| memory::of_session(settings.parameters()));
    match (header.kind, &own) {
        (Kind::EvaluationKeys, Some(settings)) => {
            let parameters = settings.parameters();
            let contents = KeyContents::read(&mut cursor, parameters)?;
            let (held, bytes) = inspect_keys(&contents, &mut cursor, parameters)?;
            keys = Some(held);
            loaded += bytes;
        }
        (Kind::TransferKey, Some(settings)) => {
            let TransferHead { parameters, key } =
                TransferHead::read(&mut cursor, settings.parameters())?;
            let parameters_of_first = settings.parameters();
            loaded += memory::of_switching_key(parameters_of_first, parameters_of_first.full());
            transfer = Some(TransferInspection {
                parameters: parameters.to_string(),
                key: key.to_string(),
            });
        }
        (Kind::PublicKey, Some(settings)) => {
            let parameters = settings.parameters();
            cursor.expect_left(public_key_bytes(parameters))?;
            loaded += memory::of_poly(parameters.degree(), parameters.top());
        }
        (Kind::SecretKey, Some(settings)) => {
            let parameters = settings.parameters();
            // The secret, and scratch memory of the same size.
            loaded += 2 * memory::of_poly(parameters.degree(), parameters.full());
            cursor.expect_left(SEED_BYTES as u64)?;
        }
        (Kind::Program | Kind::Interface, _) => {
            header.expect_no_key()?;
            loaded += MEMORY_OF_PROGRAM_BYTE * cursor.left();
            program = Some(inspect_program(header.kind, &mut cursor)?);
            cursor.expect_left(0)?;
        }
        (Kind::Array, _) => head = Some(Head::Numbers(ArrayHead::read(&mut cursor)?)),
        (Kind::IntegerArray, _) => head = Some(Head::Integers(ArrayHead::read(&mut cursor)?)),
        (Kind::BitArray, _) => head = Some(Head::Bits(ArrayHead::read(&mut cursor)?)),
        (Kind::Clustering, _) => {
            ClusteringHead::read(&mut cursor)?;
            // The second array holds the centroids, and gives the ring degree.
            next_array(&mut cursor)?;
            loaded = 8 * payload.len() as u64;
            let (inner, payload) = Header::open_as(next_array(&mut cursor)?, Kind::Array)?;
            if inner.parameters != header.parameters {
                let (have, need) = (inner.parameters, header.parameters);
                return Err(FormatError::Parameters { have, need }.into());
            }
            cursor = Cursor::new(payload, "array");
            head = Some(Head::Numbers(ArrayHead::read(&mut cursor)?));
        }
        _ => {
            header.expect_no_key()?;
            cursor.expect_left(0)?;
        }
    }
    let degree = match (&own, &head) {
        (Some(settings), _) => settings.parameters().degree(),
        (None, Some(head)) => head.degree(),
        (None, None) => return Err(FormatError::UnknownKind { have: header.kind as u8 }.into()),
    };
    if let Some(head) = head.as_ref().filter(|_| header.kind != Kind::Clustering) {
        loaded = head.loaded_memory();
    }
    let preset = preset_of(&header, degree)?;
    match &head {
        Some(Head::Numbers(head)) => check_array(head, preset.as_ref(), &mut cursor)?,
        Some(Head::Integers(head)) => check_array(head, preset.as_ref(), &mut cursor)?,
        Some(Head::Bits(head)) => check_array(head, preset.as_ref(), &mut cursor)?,
        None => {}
    }
    let name = preset.as_ref().map(|(name, _)| *name);
    let settings = own.or(preset.map(|(_, settings)| settings));
    let parameters = settings.as_ref().map(Settings::parameters);
    Ok(Inspection {
        preset: name,
        keys,
        transfer,
        program,
        array: head
            .filter(|_| header.kind != Kind::Clustering)
            .map(|head| head.describe(parameters)),
        settings: settings.as_ref().map(describe_settings),
        ..Inspection::of_header(&header, bytes, degree, loaded)
    })
}

impl Inspection {
    /// Fills the fields that the header gives. Loading takes `loaded` bytes of memory besides the
    /// file.
    fn of_header(header: &Header, bytes: &[u8], ring_degree: usize, loaded: u64) -> Self {
        Inspection {
            kind: header.kind,
            version: header.version,
            secret: header.kind.is_secret(),
            bytes: bytes.len() as u64,
            peak_memory: loaded.saturating_add(bytes.len() as u64),
            parameters: header.parameters.to_string(),
            key: (!Kind::WITHOUT_KEY.contains(&header.kind)).then(|| header.key.to_string()),
            preset: None,
            ring_degree,
            settings: None,
            keys: None,
            transfer: None,
            array: None,
            trees: None,
            gates: None,
            program: None,
        }
    }
}

/// The head of an array file, for each type of elements.
enum Head {
    Numbers(ArrayHead<Numbers>),
    Integers(ArrayHead<Residues>),
    Bits(ArrayHead<Bits>),
}

impl Head {
    fn degree(&self) -> usize {
        match self {
            Head::Numbers(head) => head.degree(),
            Head::Integers(head) => head.degree(),
            Head::Bits(head) => head.degree(),
        }
    }

    fn loaded_memory(&self) -> u64 {
        match self {
            Head::Numbers(head) => head.loaded_memory(),
            Head::Integers(head) => head.loaded_memory(),
            Head::Bits(head) => head.loaded_memory(),
        }
    }

    fn describe(&self, parameters: Option<&Parameters>) -> ArrayInspection {
        let least = |bits: &mut dyn Iterator<Item = f64>| bits.fold(f64::INFINITY, f64::min);
        match self {
            Head::Numbers(head) => {
                let all = &head.ciphertexts;
                let bound = all.iter().map(|c| c.own.bound).fold(0.0, f64::max);
                let interval = head.form.interval_within(bound);
                let elements = ElementsInspection::Numbers {
                    complex: head.form.complex,
                    scale_bits: all
                        .iter()
                        .map(|c| c.own.scale.log2())
                        .fold(f64::NEG_INFINITY, f64::max),
                    capacity_bits: parameters
                        .map(|p| least(&mut all.iter().map(|c| c.capacity_bits(p)))),
                    precision: head.form.precision,
                    precision_bits: match head.form.error_known {
                        true => {
                            least(&mut all.iter().map(|c| c.precision_bits(head.layout.slots())))
                        }
                        false => f64::NAN,
                    },
                    bound,
                    interval: [interval.low(), interval.high()],
                };
                describe_array(head, parameters, elements)
            }
            Head::Integers(head) => {
                let (all, plain_modulus) = (&head.ciphertexts, head.form.plain_modulus);
                let budget = |p| least(&mut all.iter().map(|c| c.budget_bits(p, plain_modulus)));
                let budget_bits = parameters.map(budget);
                let interval = head.form.interval.map(|interval| [interval.low(), interval.high()]);
                let elements =
                    ElementsInspection::Integers { plain_modulus, budget_bits, interval };
                describe_array(head, parameters, elements)
            }
            Head::Bits(head) => {
                let (slots, packing) = (head.layout.slots(), head.form.packing);
                let errors = head.ciphertexts.iter().map(|c| c.error(slots, packing));
                let bit_error = errors.fold(0.0, f64::max);
                describe_array(head, parameters, ElementsInspection::Bits { bit_error })
            }
        }
    }
}

/// Checks the length of an array's file, and its head against its preset if it has one.
fn check_array<F: FileForm>(
    head: &ArrayHead<F>,
    preset: Option<&(&'static str, Settings)>,
    cursor: &mut Cursor<'_>,
) -> Result<(), FormatError> {
    if let Some((_, settings)) = preset {
        head.check(settings)?;
    }
    head.check_length(cursor)
}

/// The preset of this digest, with its settings.
fn preset_of(header: &Header, degree: usize) -> Result<Option<(&'static str, Settings)>, Error> {
    let preset = Preset::by_digest(header.parameters, degree);
    preset.map(|preset| Ok((preset.name, preset.settings()?))).transpose()
}

fn describe_settings(settings: &Settings) -> SettingsInspection {
    let parameters = settings.parameters();
    SettingsInspection {
        log2_pq: parameters.log2(parameters.full()),
        security_limit: parameters.security().map(|limit| limit.log2_pq),
        units: parameters.unit_count(),
        specials: parameters.specials().limb_count(),
        gadget_rank: parameters.literal().gadget_rank,
        precision: settings.precision(),
        scale_bits: settings.scale().log2(),
        integers: settings.integers().map(|Integers { scheme, plain_modulus }| {
            IntegersInspection { scheme: scheme.name(), plain_modulus }
        }),
    }
}

fn describe_bootstrapping(head: &BootstrappingHead) -> BootstrappingInspection {
    let BootstrappingHead { precision, literal, sparse_parameters, .. } = head;
    BootstrappingInspection {
        precision: *precision,
        slots: literal.slots,
        iterated: literal.precision.is_some(),
        bound: literal.bound,
        sparse_weight: literal.sparse_weight.unwrap_or(0),
        sparse_log2_pq: sparse_parameters.log2(sparse_parameters.full()),
        sparse_log2_pq_limit: sparse_parameters.security().map(|limit| limit.log2_pq),
    }
}

/// Describes a file of evaluation keys, from the keys on, with the bytes of memory that they take.
///
/// All fields are checked, and no residues are read.
pub(super) fn inspect_keys(
    contents: &KeyContents,
    cursor: &mut Cursor<'_>,
    parameters: &Parameters,
) -> Result<(KeysInspection, u64), FormatError> {
    let mut keys = describe_keys(contents, parameters.degree());
    let mut memory = contents.memory(parameters);
    if contents.has_more() {
        cursor.take(contents.keys_bytes(parameters) as usize)?;
    }
    if contents.look_ups {
        let head = LookUpHead::read(cursor, parameters)?;
        let bytes = head.body_bytes(parameters);
        cursor.expect(bytes, contents.follows_look_ups())?;
        cursor.take(bytes as usize)?;
        memory += head.memory(parameters);
        keys.tables = Some(head.request.tables);
    }
    if contents.bootstrapping {
        let head = BootstrappingHead::read(cursor, parameters, contents.bits)?;
        cursor.take(head.keys_bytes(parameters) as usize)?;
        memory += head.memory(parameters);
        keys.bootstrapping = Some(describe_bootstrapping(&head));
    }
    if contents.bits {
        let head = BitKeysHead::read(cursor, parameters)?;
        memory += head.memory(parameters);
        let BitKeysHead { literal, sparse_parameters, .. } = head;
        keys.bits = Some(BitsInspection {
            capacity: literal.packing.bits(parameters.degree() / 2),
            sparse_weight: literal.sparse_weight,
            sparse_log2_pq: sparse_parameters.log2(sparse_parameters.full()),
            sparse_log2_pq_limit: sparse_parameters.security().map(|limit| limit.log2_pq),
        });
    }
    Ok((keys, memory))
}

fn describe_keys(contents: &KeyContents, degree: usize) -> KeysInspection {
    let elements = contents.galois.iter().map(|(element, _)| *element as usize);
    let (rotations, mut others) = rotations_among(degree, elements);
    let conjugation = others.remove(&galois_element_of_conjugation(degree));
    KeysInspection {
        relinearisation: contents.relinearisation.is_some(),
        rotations,
        conjugation,
        other_elements: others.into_iter().map(|element| element as u32).collect(),
        bootstrapping: None,
        tables: None,
        bits: None,
    }
}

fn describe_array<F: FileForm>(
    head: &ArrayHead<F>,
    parameters: Option<&Parameters>,
    elements: ElementsInspection,
) -> ArrayInspection {
    let all = &head.ciphertexts;
    let bits = |p: &Parameters| all.iter().map(|c| p.log2(c.modulus)).fold(f64::INFINITY, f64::min);
    ArrayInspection {
        shape: head.layout.shape().to_vec(),
        strides: head.layout.strides().to_vec(),
        packed: head.layout.is_packed(),
        slots: head.layout.slots(),
        clean: head.clean,
        ciphertexts: all.len(),
        memory: head.memory(),
        work: head.layout.moving_work(),
        seeded: all.iter().filter(|c| c.is_seeded()).count(),
        limbs: all.iter().map(|c| c.modulus.limb_count()).min().unwrap_or(0),
        modulus_bits: parameters.map(bits),
        notes: head.notes,
        elements,
    }
}

impl Limits {
    /// Checks a file by its description ([`inspect`](super::inspect())).
    ///
    /// # Errors
    /// [`FormatError::Limit`] when the file exceeds the limits.
    pub fn check(&self, file: &Inspection) -> Result<(), FormatError> {
        self.check_start(file.kind, file.bytes, &file.parameters)?;
        self.check_memory(file.peak_memory)?;
        let work = file.array.as_ref().map_or(0, |array| array.work);
        self.check_work(work, file.bytes)
    }

    /// Checks the bytes of a file by their description.
    pub(super) fn check_bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.check(&inspect(bytes)?)?)
    }
}
