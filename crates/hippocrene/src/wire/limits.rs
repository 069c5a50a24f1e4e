//! Limits for loading files from untrusted senders.

use std::sync::OnceLock;

use hippocrene_arrays::Error;
use hippocrene_rlwe::Fingerprint;

use super::{FormatError, Kind, header::Header};
use crate::Preset;

/// The default work limit of an empty file, in products with plaintexts.
const WORK_OF_ANY_FILE: u64 = 1024;

/// The default number of bytes of a file for each additional product.
///
/// Moving an element takes at most one product, and a ciphertext has more bytes than this for each
/// slot unless most of its residues are zero. So no array that a server computed from other values
/// is refused.
const BYTES_PER_PRODUCT: u64 = 16;

/// Limits on files to be loaded.
///
/// Kind, parameters and length are checked against the header, before anything else is read. Memory
/// and work are computed from the fields before the residues, and checked before memory for
/// residues is allocated. By default only the work is limited, in proportion to the size of the
/// file.
///
/// # Examples
/// ```
/// use hippocrene::{ClientKey, EvaluationKeys, KeyRequest, Preset, Stored, wire::Limits};
///
/// let client = ClientKey::generate(Preset::by_name("n12")?.settings()?)?;
/// let bytes = client.evaluation_keys(&KeyRequest::only(vec![]))?.to_bytes();
/// let ours = Limits { max_bytes: Some(1 << 20), ..Limits::default() }.with_presets(&["n12"])?;
/// assert!(EvaluationKeys::from_bytes_within(&bytes, 1, &ours).is_ok());
/// let others = Limits::default().with_presets(&["n13"])?;
/// let error = EvaluationKeys::from_bytes_within(&bytes, 1, &others).unwrap_err();
/// assert!(error.to_string().starts_with("load: the file is of the preset n12, and the limits "));
/// # Ok::<_, hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// The largest file, in bytes.
    pub max_bytes: Option<u64>,
    /// The largest peak memory while a file is loaded, in bytes.
    ///
    /// It is compared with [`Inspection::peak_memory`](super::Inspection::peak_memory).
    pub max_memory: Option<u64>,
    /// The most work to move the elements of an array, in products with plaintexts.
    ///
    /// It is compared with [`ArrayInspection::work`](super::ArrayInspection::work). With 0, only
    /// arrays with the layout of fresh arrays are accepted. The default is 1024, plus one for every
    /// 16 bytes of the file.
    pub max_work: Option<u64>,
    /// The accepted kinds of files, or `None` for all.
    pub kinds: Option<Vec<Kind>>,
    /// The accepted digests of parameters, or `None` for all.
    pub parameters: Option<Vec<Fingerprint>>,
}

impl Limits {
    /// Returns the same limits, which accept only the parameters of these presets.
    ///
    /// # Errors
    /// [`Error::Parameters`] when there is no such preset.
    pub fn with_presets(mut self, names: &[impl AsRef<str>]) -> Result<Self, Error> {
        let digest = |name: &str| Ok(Preset::by_name(name)?.parameters()?.digest());
        let digests =
            names.iter().map(|name| digest(name.as_ref())).collect::<Result<_, Error>>()?;
        self.parameters = Some(digests);
        Ok(self)
    }

    /// Checks kind, size and parameters from the header.
    pub(super) fn check_header(&self, header: &Header) -> Result<(), FormatError> {
        self.check_start(header.kind, header.file_bytes(), &header.parameters.to_string())
    }

    pub(super) fn check_start(
        &self,
        kind: Kind,
        bytes: u64,
        parameters: &str,
    ) -> Result<(), FormatError> {
        if let Some(kinds) = &self.kinds
            && !kinds.contains(&kind)
        {
            let allowed: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
            return Err(beyond(format!("is of the kind {}", kind.name()), some_of(&allowed)));
        }
        if let Some(allowed) = &self.parameters
            && !allowed.iter().any(|digest| digest.to_string() == parameters)
        {
            let name =
                |digest: &str| preset_of(digest).map_or_else(|| digest.to_owned(), str::to_owned);
            let have = match preset_of(parameters) {
                Some(preset) => format!("is of the preset {preset}"),
                None => format!("has the parameters {parameters}"),
            };
            let allowed: Vec<_> = allowed.iter().map(|digest| name(&digest.to_string())).collect();
            return Err(beyond(have, some_of(&allowed)));
        }
        at_most(self.max_bytes, bytes, "bytes")
    }

    /// Checks the peak memory.
    pub(super) fn check_memory(&self, bytes: u64) -> Result<(), FormatError> {
        at_most(self.max_memory, bytes, "bytes of memory")
    }

    /// Checks the work to move the elements of an array in a file of `bytes` bytes.
    pub(super) fn check_work(&self, work: u64, bytes: u64) -> Result<(), FormatError> {
        let limit = self.max_work.unwrap_or(WORK_OF_ANY_FILE + bytes / BYTES_PER_PRODUCT);
        at_most(Some(limit), work, "products to move its elements")
    }
}

fn at_most(most: Option<u64>, have: u64, what: &str) -> Result<(), FormatError> {
    match most {
        Some(most) if have > most => Err(beyond(format!("takes {have} {what}"), most.to_string())),
        _ => Ok(()),
    }
}

fn beyond(have: String, allowed: String) -> FormatError {
    FormatError::Limit { have, allowed }
}

fn some_of(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The preset with this digest. The digests of all presets are computed once.
fn preset_of(digest: &str) -> Option<&'static str> {
    static DIGESTS: OnceLock<Vec<(String, &'static str)>> = OnceLock::new();
    let digests = DIGESTS.get_or_init(|| {
        let parameters = crate::PRESETS.iter().map(|preset| (preset.parameters(), preset.name));
        parameters.filter_map(|(set, name)| Some((set.ok()?.digest().to_string(), name))).collect()
    });
    digests.iter().find(|(known, _)| known == digest).map(|(_, name)| *name)
}
