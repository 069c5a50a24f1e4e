//! The part of the array format that is specific to bits.

use hippocrene_arrays::{Bits, Interval, Session, Settings};
use hippocrene_ckks::{
    Scale,
    bits::{BitPacking, error_at},
};

use super::{
    FormatError, Kind,
    array::{CiphertextHead, FileForm},
    cursor::Cursor,
    numbers::{checked_scale, write_scale},
};

/// The flag of arrays of bits in complex slots.
const COMPLEX: u32 = 1;

impl CiphertextHead<Bits> {
    /// The estimate of [`BitCiphertext::error`] for this number of bits in a ciphertext.
    pub(super) fn error(&self, bits: usize, packing: BitPacking) -> f64 {
        error_at(self.own, self.noise(), bits / packing.bits(1))
    }
}

impl FileForm for Bits {
    const KIND: Kind = Kind::BitArray;
    const FLAGS: u32 = COMPLEX;
    const HAS_INTERVAL: bool = false;
    const OWN_BYTES: usize = 20;

    fn coefficients(&self) -> usize {
        2 / self.packing.bits(1)
    }

    fn flags(&self) -> u32 {
        if self.packing == BitPacking::Complex { COMPLEX } else { 0 }
    }

    fn field(&self) -> [u8; 8] {
        [0; 8]
    }

    fn of_field(flags: u32, field: [u8; 8]) -> Result<Self, FormatError> {
        let unused = u64::from_le_bytes(field);
        if unused != 0 {
            return Err(FormatError::field("the unused field of an array of bits", unused, "0"));
        }
        let packing = if flags == COMPLEX { BitPacking::Complex } else { BitPacking::Real };
        Ok(Bits { packing })
    }

    fn interval(&self) -> Option<Interval> {
        None
    }

    fn with_interval(self, _: Interval) -> Option<Self> {
        None
    }

    /// Checks that the error is below 1/2, so that bits can be told apart.
    fn check_settings(
        &self,
        settings: &Settings,
        ciphertexts: &[CiphertextHead<Self>],
    ) -> Result<(), FormatError> {
        let bits = self.packing.bits(settings.parameters().degree() / 2);
        let errors = ciphertexts.iter().map(|c| c.error(bits, self.packing));
        let error = errors.fold(0.0, f64::max);
        if error < 0.5 {
            return Ok(());
        }
        Err(FormatError::field("the error of bits", format!("{error:.3}"), "below 1/2"))
    }

    fn check_session(&self, _: &Session) -> Result<(), FormatError> {
        Ok(())
    }

    fn write_own(scale: &Scale, out: &mut Vec<u8>) {
        write_scale(out, *scale);
    }

    fn read_own(&self, cursor: &mut Cursor<'_>, _: bool) -> Result<Scale, FormatError> {
        let mantissa = cursor.u128()?;
        checked_scale(mantissa, cursor.i32()?)
    }
}
