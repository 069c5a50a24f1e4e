//! Limits on what is loaded, for who loads what strangers send.

use std::sync::OnceLock;

use hippocrene_rlwe::Fingerprint;

use super::{FormatError, Kind, header::Header};
use crate::{Error, Preset};

/// The work that a file of any size may take by default, in products with plaintexts.
const WORK_OF_ANY_FILE: u64 = 1024;

/// Bytes of a file for each further product that it may take by default. A ciphertext whose
/// residues are not mostly zeros has more bytes for each of its slots, and to move an element takes
/// at most one product: no array that a server computed from other values is refused.
const BYTES_PER_PRODUCT: u64 = 16;

/// What may be loaded.
///
/// Kind, parameters and length are checked against the header, before anything else is read.
/// Memory and work are checked against what stands before the residues, before there is memory for
/// any. By default only the work is limited, in proportion to the size of the file.
///
/// # Examples
/// ```
/// use hippocrene::{ClientKey, EvaluationKeys, KeyRequest, Preset, wire::Limits};
///
/// let client = ClientKey::generate(Preset::by_name("n12")?)?;
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
    /// The largest peak of memory while a file is loaded, in bytes, as [`Inspection::peak_memory`](super::Inspection::peak_memory)
    /// has it.
    pub max_memory: Option<u64>,
    /// The most work that the layout of an array may make, in products with plaintexts, as
    /// [`ArrayInspection::work`](super::ArrayInspection::work) has it. 0 takes only arrays whose
    /// elements stand as in fresh ones. The default is 1024, and one more for every 16 bytes of the
    /// file.
    pub max_work: Option<u64>,
    /// The kinds of files.
    pub kinds: Option<Vec<Kind>>,
    /// The digests of the parameters.
    pub parameters: Option<Vec<Fingerprint>>,
}

impl Limits {
    /// The same limits that take only the parameters of these presets.
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

    /// Checks what the header says.
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

    /// Checks how much memory is taken at the peak.
    pub(super) fn check_memory(&self, bytes: u64) -> Result<(), FormatError> {
        at_most(self.max_memory, bytes, "bytes of memory")
    }

    /// Checks the work of an array whose file has so many bytes.
    pub(super) fn check_work(&self, work: u64, bytes: u64) -> Result<(), FormatError> {
        let most = self.max_work.unwrap_or(WORK_OF_ANY_FILE + bytes / BYTES_PER_PRODUCT);
        at_most(Some(most), work, "products to move its elements")
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

/// The preset that has this digest. The digests of all are computed once.
fn preset_of(digest: &str) -> Option<&'static str> {
    static DIGESTS: OnceLock<Vec<(String, &'static str)>> = OnceLock::new();
    let digests = DIGESTS.get_or_init(|| {
        let parameters = crate::PRESETS.iter().map(|preset| (preset.parameters(), preset.name));
        parameters.filter_map(|(set, name)| Some((set.ok()?.digest().to_string(), name))).collect()
    });
    digests.iter().find(|(known, _)| known == digest).map(|(_, name)| *name)
}
