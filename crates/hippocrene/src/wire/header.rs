//! The header that every file starts with.

use hippocrene_arrays::format::MAGIC;
use hippocrene_rlwe::Fingerprint;

use super::{FormatError, Kind, VERSION, cursor::Cursor};

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 56;

/// The position of the checksum in the header. It covers all other bytes of the file.
const CHECKSUM: std::ops::Range<usize> = 12..16;

/// The position of the length of the payload in the header.
const LENGTH: std::ops::Range<usize> = 48..56;

/// The fields of the header after the magic string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) version: u16,
    pub(super) kind: Kind,
    pub(super) parameters: Fingerprint,
    pub(super) key: Fingerprint,
    pub(super) payload: u64,
    checksum: u32,
}

impl Header {
    /// Reads the header at the start of `bytes`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let start = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(start) {
            return Err(FormatError::Magic { have: start.to_vec() });
        }
        let mut cursor = Cursor::new(bytes, "header");
        cursor.array::<{ MAGIC.len() }>()?;
        let version = cursor.u16()?;
        if version != VERSION {
            return Err(FormatError::Version { have: version });
        }
        let [number, flags] = cursor.array()?;
        let kind = Kind::ALL
            .into_iter()
            .find(|k| *k as u8 == number)
            .ok_or(FormatError::UnknownKind { have: number })?;
        if flags != kind.flags() {
            return Err(FormatError::field("the header's flags", flags, kind.flags().to_string()));
        }
        let checksum = cursor.u32()?;
        let parameters = Fingerprint::from_bytes(cursor.array()?);
        let key = Fingerprint::from_bytes(cursor.array()?);
        let payload = cursor.u64()?;
        Ok(Header { version, kind, parameters, key, payload, checksum })
    }

    /// Checks that the file is of the expected kind.
    pub(super) fn expect(&self, need: Kind) -> Result<(), FormatError> {
        self.expect_any(&[need])
    }

    /// Checks that the file is of one of the expected kinds.
    pub(super) fn expect_any(&self, need: &[Kind]) -> Result<(), FormatError> {
        match need.contains(&self.kind) {
            true => Ok(()),
            false => Err(FormatError::Kind { have: self.kind, need: need.to_vec() }),
        }
    }

    /// Bytes of the whole file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.payload.saturating_add(HEADER_BYTES as u64)
    }

    /// Checks that the header names no key.
    pub(super) fn expect_no_key(&self) -> Result<(), FormatError> {
        if *self.key.as_bytes() == [0; 16] {
            Ok(())
        } else {
            Err(FormatError::field("the key of settings", self.key, "all zeros"))
        }
    }

    /// Checks that a file of `have` bytes is as long as the header says.
    pub(super) fn check_length(&self, have: u64) -> Result<(), FormatError> {
        let need = self.file_bytes();
        match have.cmp(&need) {
            std::cmp::Ordering::Less => Err(FormatError::Truncated { what: "file", have, need }),
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(FormatError::Trailing { what: "file", have, need }),
        }
    }

    /// Reads the header of a whole file and checks length and checksum. The second value is the
    /// payload.
    pub(super) fn open(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let header = Header::read(bytes)?;
        header.check_length(bytes.len() as u64)?;
        let need = checksum(bytes);
        if header.checksum != need {
            return Err(FormatError::Checksum { have: header.checksum, need });
        }
        Ok((header, &bytes[HEADER_BYTES..]))
    }

    /// As [`Header::open`], and checks the kind.
    pub(super) fn open_as(bytes: &[u8], kind: Kind) -> Result<(Self, &[u8]), FormatError> {
        Header::read(bytes)?.expect(kind)?;
        Header::open(bytes)
    }
}

/// Appends a header to an empty buffer. [`finish`] completes it.
pub(super) fn begin(
    out: &mut Vec<u8>,
    kind: Kind,
    parameters: Fingerprint,
    key: Option<Fingerprint>,
    payload: u64,
) {
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend([kind as u8, kind.flags()]);
    out.extend([0; 4]);
    out.extend(parameters.as_bytes());
    out.extend(key.map_or([0; 16], |key| *key.as_bytes()));
    out.extend(payload.to_le_bytes());
    debug_assert_eq!(out.len(), HEADER_BYTES);
}

/// Writes the checksum into the header after the payload was written.
pub(super) fn finish(out: &mut [u8]) {
    debug_assert_eq!(out[LENGTH], (out.len() as u64 - HEADER_BYTES as u64).to_le_bytes());
    let checksum = checksum(out);
    out[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

/// CRC-32 (IEEE 802.3) of a file without the checksum itself.
fn checksum(file: &[u8]) -> u32 {
    let mut summed = Summed::default();
    summed.add(file);
    summed.hasher.finalize()
}

/// The running checksum of a file that is written piece by piece.
#[derive(Debug, Default)]
pub(super) struct Summed {
    hasher: crc32fast::Hasher,
    has_header: bool,
}

impl Summed {
    /// Adds the next piece. The first piece must contain the whole header.
    pub(super) fn add(&mut self, piece: &[u8]) {
        if self.has_header {
            return self.hasher.update(piece);
        }
        self.hasher.update(&piece[..CHECKSUM.start]);
        self.hasher.update(&piece[CHECKSUM.end..]);
        self.has_header = true;
    }

    /// The position of the checksum in the file, and its bytes.
    pub(super) fn checksum(self) -> (u64, [u8; 4]) {
        (CHECKSUM.start as u64, self.hasher.finalize().to_le_bytes())
    }
}
