//! The part of the array format that is specific to integers.

use hippocrene_arrays::{Interval, Residues, Session, Settings};
use hippocrene_bgv as bgv;
use hippocrene_ring::arith::inv_mod;
use hippocrene_rlwe::Parameters;

use super::{
    FormatError, Kind,
    array::{CiphertextHead, FileForm},
    cursor::Cursor,
};

const PLAIN_MODULUS: &str = "the plaintext modulus of an array";
const FACTOR: &str = "the factor of a ciphertext";

impl CiphertextHead<Residues> {
    /// The estimate of [`bgv::Ciphertext::budget_bits`].
    pub(super) fn budget_bits(&self, parameters: &Parameters, t: u64) -> f64 {
        bgv::budget_bits(parameters.log2(self.modulus), t, self.noise())
    }
}

impl FileForm for Residues {
    const KIND: Kind = Kind::IntegerArray;
    const FLAGS: u32 = 0;
    const HAS_INTERVAL: bool = true;
    const OWN_BYTES: usize = 8;

    fn coefficients(&self) -> usize {
        1
    }

    fn flags(&self) -> u32 {
        0
    }

    fn field(&self) -> [u8; 8] {
        self.plain_modulus.to_le_bytes()
    }

    fn of_field(_: u32, field: [u8; 8]) -> Result<Self, FormatError> {
        let t = u64::from_le_bytes(field);
        if !(2..1 << 61).contains(&t) {
            return Err(FormatError::field(PLAIN_MODULUS, t, "2 to 2^61 - 1"));
        }
        Ok(Residues::new(t))
    }

    fn interval(&self) -> Option<Interval> {
        self.interval
    }

    fn with_interval(self, interval: Interval) -> Option<Self> {
        self.determined(interval).map(|interval| Residues { interval: Some(interval), ..self })
    }

    fn check_settings(
        &self,
        settings: &Settings,
        ciphertexts: &[CiphertextHead<Self>],
    ) -> Result<(), FormatError> {
        let parameters = settings.parameters();
        let shared = ciphertexts
            .iter()
            .flat_map(|c| parameters.limb_moduli(c.modulus))
            .find(|q| inv_mod(q % self.plain_modulus, self.plain_modulus).is_none());
        match shared {
            Some(q) => {
                let need = format!("coprime to the factor {q} of a ciphertext's modulus");
                Err(FormatError::field(PLAIN_MODULUS, self.plain_modulus, need))
            }
            None => Ok(()),
        }
    }

    fn check_session(&self, session: &Session) -> Result<(), FormatError> {
        let need = match session.settings().integers() {
            Some(integers) if integers.plain_modulus == self.plain_modulus => return Ok(()),
            Some(integers) => format!("{}, that of the keys", integers.plain_modulus),
            None => "that of the keys, which are for numbers and have none".to_owned(),
        };
        Err(FormatError::field(PLAIN_MODULUS, self.plain_modulus, need))
    }

    fn write_own(factor: &u64, out: &mut Vec<u8>) {
        out.extend(factor.to_le_bytes());
    }

    fn read_own(&self, cursor: &mut Cursor<'_>, seeded: bool) -> Result<u64, FormatError> {
        let (factor, t) = (cursor.u64()?, self.plain_modulus);
        if seeded && factor != 1 {
            return Err(FormatError::field("the factor of a seeded ciphertext", factor, "1"));
        }
        if factor >= t || inv_mod(factor, t).is_none() {
            return Err(FormatError::field(FACTOR, factor, format!("a unit modulo {t} below it")));
        }
        Ok(factor)
    }
}
