//! Specifications of encrypted arrays that do not exist yet.

use serde::{Deserialize, Serialize};

use super::any::{AnyArray, each_kind};
use crate::{EncryptedArray, Encryption, Error, Interval, format_shape};

const OPERATION: &str = "run a program";

/// Maximum number of elements of an array. Chosen: it is far beyond the memory of any server.
const MAX_ELEMENTS: usize = 1 << 40;

/// The kind of the elements of an array.
///
/// See [`Spec`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SpecKind {
    /// Real numbers.
    Numbers,
    /// Complex numbers.
    Complex,
    /// Integers.
    Integers,
    /// Bits.
    Bits,
}

/// All that is known about an array before its values are: the kind of its elements, its shape and
/// the interval of its elements.
///
/// ```
/// use hippocrene::{Spec, SpecKind};
///
/// let rows = Spec::new(SpecKind::Numbers, vec![100, 30], Some((-1.0, 1.0)))?;
/// assert_eq!(rows.to_string(), "100 x 30 numbers in [-1, 1]");
/// assert!(Spec::new(SpecKind::Bits, vec![8], Some((0.0, 1.0))).is_err());
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The kind of the elements.
    pub kind: SpecKind,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The ends of the interval of the elements. It is `None` for bits, and for integers that may
    /// be any residue.
    pub interval: Option<(f64, f64)>,
}

impl Spec {
    /// Makes a specification.
    ///
    /// # Errors
    /// [`Error::Argument`] if the interval is not finite, if numbers have none, or if bits have one.
    pub fn new(
        kind: SpecKind,
        shape: Vec<usize>,
        interval: Option<(f64, f64)>,
    ) -> Result<Self, Error> {
        const OPERATION: &str = "spec";
        let size = shape.iter().try_fold(1usize, |size, length| size.checked_mul(*length));
        if size.is_none_or(|size| size == 0 || size > MAX_ELEMENTS) {
            let what = format!(
                "an array of shape {} does not have 1 to 2^40 elements",
                format_shape(&shape)
            );
            return Err(Error::argument(OPERATION, what));
        }
        if let Some((low, high)) = interval {
            Interval::finite(low, high)?;
        }
        match (kind, interval) {
            (SpecKind::Numbers | SpecKind::Complex, None) => {
                Err(Error::argument(OPERATION, "numbers need the interval of their values"))
            }
            (SpecKind::Bits, Some(_)) => Err(Error::argument(OPERATION, "bits have no interval")),
            _ => Ok(Spec { kind, shape, interval }),
        }
    }

    /// The options for encrypting an array of this specification.
    pub fn encryption(&self) -> Encryption {
        let interval = self.interval.and_then(|(low, high)| Interval::new(low, high));
        Encryption { interval, ..Encryption::default() }
    }

    /// The specification that an array fulfils.
    pub(super) fn of(array: &AnyArray) -> Self {
        let shape = each_kind!(array, array => array.shape().to_vec());
        let ends = |interval: Interval| (interval.low(), interval.high());
        let (kind, interval) = match array {
            AnyArray::Numbers(array) => return Spec::of_numbers(array),
            AnyArray::Integers(array) => (SpecKind::Integers, array.form().interval.map(ends)),
            AnyArray::Bits(_) => (SpecKind::Bits, None),
        };
        Spec { kind, shape, interval }
    }

    /// The specification that an array of numbers fulfils.
    pub(super) fn of_numbers(array: &EncryptedArray) -> Self {
        let kind = if array.is_complex() { SpecKind::Complex } else { SpecKind::Numbers };
        let (shape, interval) = (array.shape().to_vec(), array.interval());
        Spec { kind, shape, interval: Some((interval.low(), interval.high())) }
    }

    /// Checks that an array of numbers has the precision that a program was compiled for.
    ///
    /// # Errors
    /// [`Error::Argument`] if it does not.
    pub(super) fn check_precision(
        &self,
        array: &AnyArray,
        name: &str,
        need: f64,
    ) -> Result<(), Error> {
        let AnyArray::Numbers(array) = array else { return Ok(()) };
        if array.precision() == need {
            return Ok(());
        }
        let what = format!(
            "the input {name} has a precision of {} bits, and the program was compiled for {need} \
             bits. Encrypt it with the interface of this program.",
            array.precision()
        );
        Err(Error::argument(OPERATION, what))
    }

    /// Checks that an array fulfils this specification.
    ///
    /// # Errors
    /// [`Error::Shape`] if its shape differs, and [`Error::Argument`] if its kind differs or its
    /// elements may lie outside of the interval. `name` is the name of the array.
    pub(super) fn check(&self, array: &AnyArray, name: &str) -> Result<(), Error> {
        let have = Spec::of(array);
        if have.shape != self.shape {
            let batches = match (&have.shape[..], &self.shape[..]) {
                ([rows, a @ ..], [most, b @ ..]) if a == b && rows > most => {
                    format!("Run the program on batches of {most} rows.")
                }
                _ => "Encrypt it with the interface of this program.".to_owned(),
            };
            let what = format!(
                "the input {name} is {have}, and the program was compiled for {self}. {batches}"
            );
            return Err(Error::Shape { operation: OPERATION, what });
        }
        let is_covered = match (have.interval, self.interval) {
            (_, None) => true,
            (Some((low, high)), Some((least, most))) => least <= low && high <= most,
            (None, Some(_)) => false,
        };
        if have.kind != self.kind || !is_covered {
            let what = format!(
                "the input {name} is {have}, and the program was compiled for {self}. Encrypt it \
                 with the interface of this program."
            );
            return Err(Error::argument(OPERATION, what));
        }
        Ok(())
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lengths: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        let kind = match self.kind {
            SpecKind::Numbers => "numbers",
            SpecKind::Complex => "complex numbers",
            SpecKind::Integers => "integers",
            SpecKind::Bits => "bits",
        };
        match &lengths[..] {
            [] => write!(f, "one {}", kind.trim_end_matches('s'))?,
            _ => write!(f, "{} {kind}", lengths.join(" x "))?,
        }
        match self.interval {
            Some((low, high)) => write!(f, " in [{low}, {high}]"),
            None => Ok(()),
        }
    }
}
