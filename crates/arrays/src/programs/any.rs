//! Encrypted arrays of any kind of elements.

use hippocrene_rlwe::Fingerprint;

use crate::{
    Array, BitArray, Bits, Elements, EncryptedArray, Error, IntegerArray, Numbers, Padding,
    Residues, SlotContents,
};

/// An encrypted array of numbers, integers or bits.
///
/// ```
/// use hippocrene::{AnyArray, AnyKind, ClientKey, Numbers, Preset, Residues};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let any = AnyArray::from(client.encrypt(&[1.0, 2.0], &[2])?);
/// assert_eq!((any.shape(), any.holds()), (&[2][..], "numbers"));
/// assert!(Numbers::of(&any).is_some() && Residues::of(&any).is_none());
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum AnyArray {
    /// Real or complex numbers.
    Numbers(EncryptedArray),
    /// Integers.
    Integers(IntegerArray),
    /// Bits.
    Bits(BitArray),
}

/// A kind of elements that an [`AnyArray`] can hold.
pub trait AnyKind: Elements {
    /// The name of the elements in errors.
    const HOLDS: &'static str;

    /// Returns the array if it holds elements of this kind.
    fn of(any: &AnyArray) -> Option<&Array<Self>>;

    /// Returns the array if it holds elements of this kind.
    fn from_any(any: AnyArray) -> Option<Array<Self>>;

    /// Wraps an array.
    fn into_any(array: Array<Self>) -> AnyArray;
}

macro_rules! any_kind {
    ($kind:ty, $variant:ident, $holds:literal) => {
        impl AnyKind for $kind {
            const HOLDS: &'static str = $holds;

            fn of(any: &AnyArray) -> Option<&Array<Self>> {
                if let AnyArray::$variant(array) = any { Some(array) } else { None }
            }

            fn from_any(any: AnyArray) -> Option<Array<Self>> {
                if let AnyArray::$variant(array) = any { Some(array) } else { None }
            }

            fn into_any(array: Array<Self>) -> AnyArray {
                AnyArray::$variant(array)
            }
        }
    };
}

any_kind!(Numbers, Numbers, "numbers");
any_kind!(Residues, Integers, "integers");
any_kind!(Bits, Bits, "bits");

impl<F: AnyKind> From<Array<F>> for AnyArray {
    fn from(array: Array<F>) -> Self {
        F::into_any(array)
    }
}

/// Evaluates an expression for the array of any kind.
macro_rules! each_kind {
    ($any:expr, $array:ident => $computed:expr) => {
        match $any {
            AnyArray::Numbers($array) => $computed,
            AnyArray::Integers($array) => $computed,
            AnyArray::Bits($array) => $computed,
        }
    };
}
pub(crate) use each_kind;

impl AnyArray {
    /// The name of the elements in errors.
    pub fn holds(&self) -> &'static str {
        match self {
            AnyArray::Numbers(_) => Numbers::HOLDS,
            AnyArray::Integers(_) => Residues::HOLDS,
            AnyArray::Bits(_) => Bits::HOLDS,
        }
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        each_kind!(self, array => array.shape())
    }

    /// The period with which the slots of each ciphertext repeat, if they do, and whether slots
    /// without an element are zero. Files do not store it.
    pub fn slot_period(&self) -> Option<(usize, bool)> {
        match each_kind!(self, array => array.slot_contents()) {
            SlotContents::Repeats { period, padding } => Some((period, padding == Padding::Zero)),
            _ => None,
        }
    }

    /// Declares that the slots of each ciphertext repeat with this period, as
    /// [`AnyArray::slot_period`] said of the same array.
    ///
    /// # Errors
    /// [`Error::Argument`] if the period is not a power of two up to the number of slots.
    pub fn with_slot_period(self, period: usize, has_zeros: bool) -> Result<Self, Error> {
        let slots = each_kind!(&self, array => array.layout().slots());
        if !period.is_power_of_two() || period > slots {
            let what = format!("a period of {period} in {slots} slots is not possible");
            return Err(Error::argument("declare a period", what));
        }
        let contents = SlotContents::repeating(Some(period), has_zeros);
        Ok(each_kind!(self, array => array.with_slot_contents(contents).into()))
    }

    /// Returns the fingerprint of the notes that the elements follow ([`Array::notes`]).
    pub fn notes(&self) -> Option<Fingerprint> {
        each_kind!(self, array => array.notes())
    }

    /// Returns the same array, whose elements follow the notes with this fingerprint.
    pub fn with_notes(self, notes: Option<Fingerprint>) -> Self {
        each_kind!(self, array => array.with_notes(notes).into())
    }

    /// The key that the array is encrypted under.
    pub fn key(&self) -> Fingerprint {
        each_kind!(self, array => array.key())
    }
}
