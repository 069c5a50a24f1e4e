//! Encrypted arrays.

use crate::description::preset_named;
use crate::errors::detached;
use crate::files::{HeldBytes, PyLimits, limits, load, to_python};
use hippocrene::wire::{self, ElementsInspection, FileForm, Inspection};
use hippocrene::{
    AnyArray, AnyKind, Array, BitArray, Bits, CiphertextBody, Error, Fingerprint, GateArray,
    IntegerArray, Numbers, Recorder, Residues, Session, Stored as _,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// An encrypted array.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct EncryptedArray {
    state: State,
    /// The value of a program that is being recorded, with its recorder.
    value: Option<(Weak<Recorder>, usize)>,
}

/// The result of an operation.
pub(crate) type Computed = PyResult<EncryptedArray>;

enum State {
    /// Numbers, integers or bits, with the session that they belong to.
    Read { array: AnyArray, session: Session },
    /// Bits that are single ciphertexts.
    Gates { array: GateArray },
    /// Bytes with a correct checksum, and the properties that they declare. Their residues are read
    /// when a session is available.
    Bytes { bytes: HeldBytes, inspection: Box<Inspection> },
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

/// The content of arrays of bits that are single ciphertexts, as errors name it.
const SINGLE_BITS: &str = "single bits";

impl EncryptedArray {
    /// Holds an array, with the context that it is computed in.
    pub(crate) fn hold(array: impl Into<AnyArray>, session: &Session) -> Self {
        let state = State::Read { array: array.into(), session: session.clone() };
        EncryptedArray { state, value: None }
    }

    /// Holds the array that stands for a value of a program.
    pub(crate) fn of_value(array: AnyArray, recorder: &Arc<Recorder>, value: usize) -> Self {
        let held = Self::hold(array, recorder.server().session());
        EncryptedArray { value: Some((Arc::downgrade(recorder), value)), ..held }
    }

    /// The array and its session, which are known unless it was read from bytes.
    pub(crate) fn held(&self, operation: &'static str) -> Result<(&AnyArray, &Session), Error> {
        match &self.state {
            State::Read { array, session } => Ok((array, session)),
            _ => Err(Error::Argument { operation, what: "the array was read from bytes".into() }),
        }
    }

    /// The fingerprint of the notes that the elements follow, if they follow any.
    pub(crate) fn notes(&self) -> Option<Fingerprint> {
        match &self.state {
            State::Read { array, .. } => array.notes(),
            State::Bytes { inspection, .. } => {
                inspection.array.as_ref().and_then(|array| array.notes)
            }
            State::Gates { .. } => None,
        }
    }

    /// The value of the program that this recorder records.
    ///
    /// # Errors
    /// [`Error::Argument`] if the array is no value of that program.
    pub(crate) fn value_of(&self, recorder: &Arc<Recorder>) -> Result<usize, Error> {
        let own = Arc::as_ptr(recorder);
        match &self.value {
            Some((of, value)) if std::ptr::eq(of.as_ptr(), own) => Ok(*value),
            _ => {
                let what = "a program computes only from its arguments and from plain values, and \
                            this array is another one. Pass it to the program as an argument."
                    .into();
                Err(Error::Argument { operation: "record a program", what })
            }
        }
    }

    /// The array, read with `session` if it was not read before.
    pub(crate) fn any(&self, session: &Session) -> Result<Cow<'_, AnyArray>, Error> {
        // `check` compares the bytes with the limits when a server loads them for computing.
        let any = wire::Limits { max_work: Some(u64::MAX), ..wire::Limits::default() };
        match &self.state {
            State::Read { array, .. } => Ok(Cow::Borrowed(array)),
            State::Bytes { bytes, inspection } => Ok(Cow::Owned(match inspection.kind {
                wire::Kind::IntegerArray => {
                    IntegerArray::from_bytes_within(bytes, session, &any)?.into()
                }
                wire::Kind::BitArray => BitArray::from_bytes_within(bytes, session, &any)?.into(),
                _ => hippocrene::EncryptedArray::from_bytes_within(bytes, session, &any)?.into(),
            })),
            State::Gates { .. } => Err(self.refused(Numbers::HOLDS, "compute")),
        }
    }

    /// The array of the form `F`, read with `session` if it was not read before.
    pub(crate) fn read<F: AnyKind>(&self, session: &Session) -> Result<Cow<'_, Array<F>>, Error> {
        let refused = || self.refused(F::HOLDS, "compute");
        match self.any(session)? {
            Cow::Borrowed(any) => F::of(any).map(Cow::Borrowed).ok_or_else(refused),
            Cow::Owned(any) => F::from_any(any).map(Cow::Owned).ok_or_else(refused),
        }
    }

    pub(crate) fn of_gates(array: GateArray) -> Self {
        EncryptedArray { state: State::Gates { array }, value: None }
    }

    /// The array of single bits.
    pub(crate) fn gates(&self, operation: &'static str) -> Result<&GateArray, Error> {
        if let State::Gates { array } = &self.state {
            Ok(array)
        } else {
            Err(self.refused(SINGLE_BITS, operation))
        }
    }

    /// The error of an array that holds something else than `need`.
    fn refused(&self, need: &'static str, operation: &'static str) -> Error {
        let have = self.holds();
        let what = format!("this array holds encrypted {have}, and {need} are needed");
        Error::Argument { operation, what }
    }

    /// True if it holds integers.
    pub(crate) fn is_integers(&self) -> bool {
        self.kind() == wire::Kind::IntegerArray
    }

    /// True if it holds bits.
    pub(crate) fn is_bits(&self) -> bool {
        matches!(self.kind(), wire::Kind::BitArray | wire::Kind::GateArray)
    }

    /// The kind of its files.
    fn kind(&self) -> wire::Kind {
        match &self.state {
            State::Read { array: AnyArray::Numbers(_), .. } => wire::Kind::Array,
            State::Read { array: AnyArray::Integers(_), .. } => wire::Kind::IntegerArray,
            State::Read { array: AnyArray::Bits(_), .. } => wire::Kind::BitArray,
            State::Gates { .. } => wire::Kind::GateArray,
            State::Bytes { inspection, .. } => inspection.kind,
        }
    }

    /// Makes an array from its bytes. If there are limits, it is an error to exceed them.
    fn of_bytes(bytes: HeldBytes, limits: Option<&wire::Limits>) -> Result<Self, Error> {
        let inspection = wire::inspect(&bytes)?;
        limits.map_or(Ok(()), |limits| limits.check(&inspection))?;
        if inspection.kind == wire::Kind::GateArray {
            return GateArray::from_bytes(&bytes, ()).map(Self::of_gates);
        }
        if inspection.array.is_none() {
            return Err(wire::FormatError::Kind { have: inspection.kind, need: arrays() }.into());
        }
        let state = State::Bytes { bytes, inspection: Box::new(inspection) };
        Ok(EncryptedArray { state, value: None })
    }

    /// The properties of the elements according to the bytes, if the array was not read.
    fn elements(&self) -> Option<&ElementsInspection> {
        match &self.state {
            State::Bytes { inspection, .. } => {
                inspection.array.as_ref().map(|array| &array.elements)
            }
            _ => None,
        }
    }

    /// A property of numbers: `read` from the array and its session, or `told` from the properties
    /// in the bytes. It is `None` for integers and bits.
    fn of_numbers<T>(
        &self,
        read: impl Fn(&hippocrene::EncryptedArray, &Session) -> T,
        told: impl Fn(&ElementsInspection) -> Option<T>,
    ) -> Option<T> {
        match &self.state {
            State::Read { array: AnyArray::Numbers(array), session } => Some(read(array, session)),
            _ => self.elements().and_then(told),
        }
    }
}

/// The kinds of files of arrays.
fn arrays() -> Vec<wire::Kind> {
    [&wire::Kind::ARRAYS[..], &[wire::Kind::GateArray]].concat()
}

/// The ring degree of the ciphertexts.
fn degree<F: FileForm>(array: &Array<F>) -> usize {
    array.form().coefficients() * array.layout().slots()
}

/// The name of the preset of the array.
fn preset_of<F: FileForm>(array: &Array<F>) -> Option<&'static str> {
    preset_named(array.parameters(), degree(array))
}

/// Bytes of memory that the ciphertexts take while they are computed with.
fn memory<F: FileForm>(array: &Array<F>) -> u64 {
    let limbs = |body: &CiphertextBody<F>| {
        let parts = match body {
            CiphertextBody::Full(ciphertext) => F::inner(ciphertext).parts().len(),
            CiphertextBody::Seeded(_) => 2,
        };
        parts * body.modulus().limb_count()
    };
    let limbs: usize = array.bodies().iter().map(limbs).sum();
    (limbs * degree(array) * size_of::<u64>()) as u64
}

fn written<F: FileForm>(array: &Array<F>) -> Result<Vec<u8>, Error> {
    array.check_stored()?;
    array.to_bytes_or_stop()
}

#[pymethods]
impl EncryptedArray {
    /// The value of a program that is being recorded, by its number.
    #[getter(value)]
    fn value_number(&self) -> Option<usize> {
        self.value.as_ref().map(|(_, value)| *value)
    }

    #[staticmethod]
    #[pyo3(signature = (data, limits=None))]
    fn from_bytes(py: Python<'_>, data: PyBackedBytes, limits: Option<PyLimits>) -> PyResult<Self> {
        detached(py, || {
            let limits = limits.map(|limits| self::limits(Some(limits))).transpose()?;
            Self::of_bytes(HeldBytes::Python(data), limits.as_ref())
        })
    }

    #[staticmethod]
    #[pyo3(signature = (path, limits=None))]
    fn load(py: Python<'_>, path: PathBuf, limits: Option<PyLimits>) -> PyResult<Self> {
        let checked = limits.is_some();
        let limits = detached(py, || self::limits(limits))?;
        load(py, &path, &arrays(), &limits, |bytes| {
            Self::of_bytes(HeldBytes::Read(std::mem::take(bytes)), checked.then_some(&limits))
        })
    }

    /// Checks bytes against limits. An array that was read with a session is not checked.
    fn check(&self, py: Python<'_>, limits: Option<PyLimits>) -> PyResult<()> {
        detached(py, || match &self.state {
            State::Bytes { inspection, .. } => Ok(self::limits(limits)?.check(inspection)?),
            _ => Ok(()),
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match &self.state {
            State::Read { array, .. } => {
                each_kind!(array, array => to_python(py, || written(array)))
            }
            State::Gates { array } => to_python(py, || Ok(array.to_bytes())),
            State::Bytes { bytes: HeldBytes::Python(bytes), .. } => {
                Ok(bytes.into_pyobject(py)?.cast_into()?)
            }
            State::Bytes { bytes, .. } => to_python(py, || Ok(&bytes[..])),
        }
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || match &self.state {
            State::Read { array, .. } => each_kind!(array, array => array.save(&path)),
            State::Gates { array } => array.save(&path),
            State::Bytes { bytes, inspection } => wire::save(&path, bytes, inspection.kind),
        })
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let shape = match &self.state {
            State::Read { array, .. } => each_kind!(array, array => array.shape()),
            State::Gates { array } => array.shape(),
            State::Bytes { inspection, .. } => {
                inspection.array.as_ref().map_or(&[][..], |array| &array.shape)
            }
        };
        PyTuple::new(py, shape)
    }

    /// The stride of each axis in slots, and the number of ciphertexts. It is `None` if the array
    /// was not read yet.
    #[getter]
    fn layout(&self) -> Option<(Vec<usize>, usize)> {
        let layout = match &self.state {
            State::Read { array, .. } => each_kind!(array, array => array.layout()),
            State::Gates { .. } | State::Bytes { .. } => return None,
        };
        Some((layout.strides().to_vec(), layout.ciphertexts()))
    }

    /// The content of the elements, as errors name it.
    #[getter]
    fn holds(&self) -> &'static str {
        match self.kind() {
            wire::Kind::IntegerArray => Residues::HOLDS,
            wire::Kind::BitArray => Bits::HOLDS,
            wire::Kind::GateArray => SINGLE_BITS,
            _ => Numbers::HOLDS,
        }
    }

    #[getter]
    fn is_complex(&self) -> bool {
        let told = |elements: &ElementsInspection| match elements {
            ElementsInspection::Numbers { complex, .. } => Some(*complex),
            ElementsInspection::Integers { .. } | ElementsInspection::Bits { .. } => None,
        };
        self.of_numbers(|array, _| array.is_complex(), told).unwrap_or(false)
    }

    #[getter]
    fn fingerprint(&self) -> String {
        match &self.state {
            State::Read { array, .. } => array.key().to_string(),
            State::Gates { array } => array.key().to_string(),
            State::Bytes { inspection, .. } => inspection.key.clone().unwrap_or_default(),
        }
    }

    /// The name of the preset. It is `None` for other parameters and for single bits.
    #[getter]
    fn preset(&self) -> Option<&'static str> {
        match &self.state {
            State::Read { array, .. } => each_kind!(array, array => preset_of(array)),
            State::Gates { .. } => None,
            State::Bytes { inspection, .. } => inspection.preset,
        }
    }

    /// Bytes of memory that the ciphertexts take while they are computed with. It is `None` for
    /// single bits.
    #[getter]
    fn memory(&self) -> Option<u64> {
        match &self.state {
            State::Read { array, .. } => Some(each_kind!(array, array => memory(array))),
            State::Gates { .. } => None,
            State::Bytes { inspection, .. } => inspection.array.as_ref().map(|array| array.memory),
        }
    }

    /// The largest distance of a slot from its bit, or `None` for other arrays than bits.
    #[getter]
    fn bit_error(&self) -> Option<f64> {
        match (&self.state, self.elements()) {
            (State::Read { array: AnyArray::Bits(array), .. }, _) => Some(array.error()),
            (State::Gates { array }, _) => Some(array.error()),
            (_, Some(ElementsInspection::Bits { bit_error })) => Some(*bit_error),
            _ => None,
        }
    }

    /// True if there may be stray slots: slots with something other than an element, a copy of one,
    /// or 0.
    #[getter]
    fn has_strays(&self) -> bool {
        match &self.state {
            State::Read { array: AnyArray::Numbers(array), .. } => array.has_strays(),
            _ => true,
        }
    }

    /// This and the following properties are `None` for integers and bits.
    #[getter]
    fn bound(&self) -> Option<f64> {
        let told = |elements: &ElementsInspection| match elements {
            ElementsInspection::Numbers { bound, .. } => Some(*bound),
            ElementsInspection::Integers { .. } | ElementsInspection::Bits { .. } => None,
        };
        self.of_numbers(|array, _| array.bound(), told)
    }

    /// The ends of the interval of the elements. It is `None` for bits, and for integers that may
    /// be any residue.
    #[getter]
    fn interval(&self) -> Option<(f64, f64)> {
        let ends = |interval: hippocrene::Interval| (interval.low(), interval.high());
        match &self.state {
            State::Read { array: AnyArray::Numbers(array), .. } => Some(ends(array.interval())),
            State::Read { array: AnyArray::Integers(array), .. } => array.form().interval.map(ends),
            _ => match self.elements()? {
                ElementsInspection::Numbers { interval: [low, high], .. } => Some((*low, *high)),
                ElementsInspection::Integers { interval, .. } => {
                    interval.map(|[low, high]| (low, high))
                }
                ElementsInspection::Bits { .. } => None,
            },
        }
    }

    #[getter]
    fn precision(&self) -> Option<f64> {
        let told = |elements: &ElementsInspection| match elements {
            ElementsInspection::Numbers { precision, .. } => Some(*precision),
            ElementsInspection::Integers { .. } | ElementsInspection::Bits { .. } => None,
        };
        self.of_numbers(|array, _| array.precision(), told)
    }

    #[getter]
    fn precision_bits(&self) -> Option<f64> {
        let told = |elements: &ElementsInspection| match elements {
            ElementsInspection::Numbers { precision_bits, .. } => Some(*precision_bits),
            ElementsInspection::Integers { .. } | ElementsInspection::Bits { .. } => None,
        };
        self.of_numbers(|array, session| array.precision_bits(session), told)
    }

    /// It is also `None` for bytes whose parameters are not those of a preset.
    #[getter]
    fn capacity_bits(&self) -> Option<f64> {
        let told = |elements: &ElementsInspection| match elements {
            ElementsInspection::Numbers { capacity_bits, .. } => *capacity_bits,
            ElementsInspection::Integers { .. } | ElementsInspection::Bits { .. } => None,
        };
        self.of_numbers(|array, session| array.capacity_bits(session), told)
    }

    /// `None` for numbers and bits.
    #[getter]
    fn plain_modulus(&self) -> Option<u64> {
        match (&self.state, self.elements()) {
            (State::Read { array: AnyArray::Integers(array), .. }, _) => {
                Some(array.plain_modulus())
            }
            (_, Some(ElementsInspection::Integers { plain_modulus, .. })) => Some(*plain_modulus),
            _ => None,
        }
    }

    /// `None` for numbers and bits, and for bytes whose parameters are not those of a preset.
    #[getter]
    fn budget_bits(&self) -> Option<f64> {
        match (&self.state, self.elements()) {
            (State::Read { array: AnyArray::Integers(array), session }, _) => {
                Some(array.budget_bits(session))
            }
            (_, Some(ElementsInspection::Integers { budget_bits, .. })) => *budget_bits,
            _ => None,
        }
    }
}
