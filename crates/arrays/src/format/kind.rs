//! The kinds of files, and the version of their format.

use serde::Serialize;

/// The version of the format that this library writes and reads.
pub const VERSION: u16 = 1;

/// The first bytes of every file.
///
/// Like those of PNG, they reveal a transfer that treated the file as text.
pub const MAGIC: [u8; 8] = *b"\x89HPCR\r\n\x1a";

/// The position of the kind and the flags in a file, which is the same in every version.
pub const KIND_AND_FLAGS: std::ops::Range<usize> = 10..12;

/// The bit of the header's flags that marks a file as secret.
const SECRET: u8 = 1;

/// True if the start of a file says that it must be kept secret.
///
/// Its kind or its flag says so. This holds for any version of the format, and whatever else is
/// wrong with the file.
pub fn says_secret(start: &[u8]) -> bool {
    let secret = |kind: u8| Kind::ALL.into_iter().any(|k| k as u8 == kind && k.is_secret());
    match start.get(KIND_AND_FLAGS) {
        Some(&[kind, flags]) => start.starts_with(&MAGIC) && (flags & SECRET != 0 || secret(kind)),
        _ => false,
    }
}

/// The kind of a file's contents.
///
/// See [`Kind::name`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A parameter set with its scale.
    Settings = 1,
    /// The secret key of a client.
    SecretKey = 2,
    /// A public key.
    PublicKey = 3,
    /// The keys of a server.
    EvaluationKeys = 4,
    /// An encrypted array of numbers.
    Array = 5,
    /// The key that converts arrays to a second secret key.
    TransferKey = 6,
    /// An encrypted array of integers.
    IntegerArray = 7,
    /// An encrypted array of bits.
    BitArray = 8,
    /// The secret key of a client of decision trees.
    TreeSecretKey = 9,
    /// The keys of a server of decision trees.
    TreeKeys = 10,
    /// A query to decision trees.
    TreeQuery = 14,
    /// A reply of decision trees.
    TreeReply = 15,
    /// Points that are being clustered.
    Clustering = 16,
    /// The secret key of a client of single bits.
    GateSecretKey = 17,
    /// The keys of a server of single bits.
    GateKeys = 18,
    /// An encrypted array of single bits.
    GateArray = 19,
    /// A program on encrypted arrays.
    Program = 20,
    /// The part of a program that its client needs.
    Interface = 21,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 18] = [
        Kind::Settings,
        Kind::SecretKey,
        Kind::PublicKey,
        Kind::EvaluationKeys,
        Kind::Array,
        Kind::TransferKey,
        Kind::IntegerArray,
        Kind::BitArray,
        Kind::TreeSecretKey,
        Kind::TreeKeys,
        Kind::TreeQuery,
        Kind::TreeReply,
        Kind::Clustering,
        Kind::GateSecretKey,
        Kind::GateKeys,
        Kind::GateArray,
        Kind::Program,
        Kind::Interface,
    ];

    /// The kinds of files that belong to no secret key.
    pub const WITHOUT_KEY: [Kind; 3] = [Kind::Settings, Kind::Program, Kind::Interface];

    /// The kinds of encrypted arrays of numbers, integers and bits.
    pub const ARRAYS: [Kind; 3] = [Kind::Array, Kind::IntegerArray, Kind::BitArray];

    /// True if files of this kind must be kept secret.
    pub fn is_secret(self) -> bool {
        matches!(self, Kind::SecretKey | Kind::TreeSecretKey | Kind::GateSecretKey)
    }

    /// The name of the kind, as `inspect` prints it.
    ///
    /// # Examples
    /// ```
    /// use hippocrene::wire::Kind;
    ///
    /// assert_eq!(Kind::IntegerArray.name(), "integer_array");
    /// assert_eq!(Kind::by_name("array"), Some(Kind::Array));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Kind::Settings => "settings",
            Kind::SecretKey => "secret_key",
            Kind::PublicKey => "public_key",
            Kind::EvaluationKeys => "evaluation_keys",
            Kind::Array => "array",
            Kind::TransferKey => "transfer_key",
            Kind::IntegerArray => "integer_array",
            Kind::BitArray => "bit_array",
            Kind::TreeSecretKey => "tree_secret_key",
            Kind::TreeKeys => "tree_keys",
            Kind::TreeQuery => "tree_query",
            Kind::TreeReply => "tree_reply",
            Kind::Clustering => "clustering",
            Kind::GateSecretKey => "gate_secret_key",
            Kind::GateKeys => "gate_keys",
            Kind::GateArray => "gate_array",
            Kind::Program => "program",
            Kind::Interface => "interface",
        }
    }

    /// The kind of this name, if there is one.
    pub fn by_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the flags of the header of files of this kind.
    pub fn flags(self) -> u8 {
        if self.is_secret() { SECRET } else { 0 }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Settings => "settings",
            Kind::SecretKey => "a secret key",
            Kind::PublicKey => "a public key",
            Kind::EvaluationKeys => "evaluation keys",
            Kind::Array => "an encrypted array of numbers",
            Kind::TransferKey => "a transfer key",
            Kind::IntegerArray => "an encrypted array of integers",
            Kind::BitArray => "an encrypted array of bits",
            Kind::TreeSecretKey => "a secret key for decision trees",
            Kind::TreeKeys => "keys of a server of decision trees",
            Kind::TreeQuery => "a query to decision trees",
            Kind::TreeReply => "a reply of decision trees",
            Kind::Clustering => "points being clustered",
            Kind::GateSecretKey => "a secret key for single bits",
            Kind::GateKeys => "keys of a server of single bits",
            Kind::GateArray => "an encrypted array of single bits",
            Kind::Program => "a program",
            Kind::Interface => "the interface of a program",
        })
    }
}
