//! Conversion of the library's errors to the exceptions of `hippocrene.errors`, which has a class
//! for every kind.

use crate::deadlines;
use hippocrene::{Preset, rlwe::RlweError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::{
    cell::RefCell,
    io::{self, ErrorKind},
    rc::Rc,
    sync::OnceLock,
    thread::{self, ThreadId},
};

/// Converts an error of the library to the exception of its kind.
pub(crate) fn to_py(py: Python<'_>, error: &hippocrene::Error) -> PyErr {
    let class = py
        .import("hippocrene.errors")
        .and_then(|module| module.getattr(error.kind()))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match (class, error) {
        // The arguments of `OSError`: the number, the message, and the file.
        (Ok(class), hippocrene::Error::Io { path, source }) => {
            PyErr::from_type(class, (number(source), words(source), path.clone()))
        }
        (Ok(class), error) => PyErr::from_type(class, in_python(error)),
        (Err(lookup), _) => lookup,
    }
}

/// The words of the library's errors that name its Rust interface, and the same in Python.
const IN_PYTHON: [(&str, &str); 29] = [
    (
        "lack the conjugation (they",
        "lack the conjugation (conjugation=True), which comparisons need, and moves between the \
         two rows of integers (they",
    ),
    (
        "(KeyRequest::for_simulation)",
        "with client.evaluation_keys(for_=hippocrene.simulate(program, ...))",
    ),
    (
        "Make evaluation keys with them (KeyRequest::bootstrapping).",
        "Pass bootstrapping=True to client.evaluation_keys, or to simulate for a simulation.",
    ),
    (
        "make keys with bootstraps, which operations then use by themselves \
         (KeyRequest::bootstrapping, for the presets",
        "pass bootstrapping=True to client.evaluation_keys and to simulate, so that operations \
         bootstrap by themselves (for the presets",
    ),
    (
        "Make evaluation keys with them (KeyRequest::look_ups), with a preset such as n15, or \
         approximate a function of single values by a polynomial (Polynomial::approximate).",
        "Pass tables=True to client.evaluation_keys, or to simulate for a simulation, with a \
         preset such as \"n15\". A function of single values can be a polynomial instead \
         (hippocrene.approximate).",
    ),
    (
        "Make evaluation keys with bootstraps (KeyRequest::bootstrapping), with a preset such as \
         n16, or with tables (KeyRequest::look_ups), with n15.",
        "Pass bootstrapping=True to client.evaluation_keys, or to simulate for a simulation, with a \
         preset such as \"n16\", or tables=True with \"n15\".",
    ),
    (
        "A comparison with a wider gap or a lower precision needs less",
        "A comparison with a wider gap or a lower precision needs less, such as x.greater(y, \
         gap=x.bound / 20, precision=8)",
    ),
    (
        "A polynomial of a lower degree needs less",
        "A polynomial of a lower degree needs less (hippocrene.approximate takes degree= or \
         error=)",
    ),
    (
        "Make evaluation keys with them (KeyRequest::bits).",
        "Make evaluation keys with a client of a preset for bits, such as \"bits14\".",
    ),
    (
        "Make evaluation keys with them (KMeansMethod::key_request).",
        "Make evaluation keys with EncryptedKMeans.evaluation_keys.",
    ),
    (
        "Make the keys for that (KMeansMethod::Slots).",
        "Make the keys for that with EncryptedKMeans.evaluation_keys and tables=None.",
    ),
    (
        "Encrypt the points for these (KMeansMethod::Tables).",
        "Make the keys and encrypt the points with the same tables= of EncryptedKMeans.",
    ),
    (
        "Encrypt the points for comparisons in slots (KMeansMethod::Slots).",
        "Make the keys and encrypt the points with the same tables= of EncryptedKMeans.",
    ),
    ("the real parts of x * conjugate(x)", "(x * x.conj()).real"),
    (
        "Declare it (Server::with_distance), or make evaluation keys with tables \
         (KeyRequest::look_ups).",
        "Declare it, as in `with x.server.at_distance(0.5): ...`. Outside of compiled programs, \
         tables=True in client.evaluation_keys helps too.",
    ),
    (
        "or make evaluation keys with look-up tables (KeyRequest::look_ups).",
        "or pass tables=True to client.evaluation_keys.",
    ),
    ("Allow a larger error, or a wider gap at jumps,", "Pass a larger error=, or gap= at jumps,"),
    (
        "declare a distance of the values (Server::with_distance)",
        "declare a distance of the values with x.server.at_distance",
    ),
    (
        "Declare a distance of the values (Server::with_distance)",
        "Declare a distance of the values with x.server.at_distance",
    ),
    (
        "Declare a larger distance of the values than",
        "Declare a larger distance with x.server.at_distance than",
    ),
    (
        "Leave such inputs out, or declare wider intervals.",
        "Leave such inputs out, or declare wider intervals. For a program from a sample, compile \
         with such inputs in the sample, or with a larger margin of spec_like.",
    ),
    (
        "pass such a domain, or declare such an interval (with_interval).",
        "pass such a domain=, declare such an interval (x.with_interval((low, high))), or take a \
         smaller margin of spec_like.",
    ),
    ("Pass it as the gap, or", "Pass it as gap=, or"),
    ("Declare a wider interval,", "Pass a wider interval= (or bound=),"),
    ("(Server::declare_interval)", "(x.with_interval((low, high)))"),
    ("Use Server::declare_interval, which", "Use x.with_interval on a server, which"),
    ("(with_interval)", "(x.with_interval((low, high)))"),
    ("(with_bound)", "(x.with_bound(bound))"),
    ("(Server::bootstrap)", "(server.bootstrap(x))"),
];

/// The message of an error in the terms of the Python package.
fn in_python(error: &hippocrene::Error) -> String {
    if let hippocrene::Error::ParameterMismatch(RlweError::ParameterMismatch {
        operation,
        have,
        need,
    }) = error
    {
        let [have, need] = [have, need].map(|digest| Preset::describe_digest(*digest));
        return format!(
            "{operation}: made with {have}, but {need} is needed. Use arrays and keys of one client."
        );
    }
    let words = error.to_string();
    IN_PYTHON.iter().fold(words, |words, (rust, python)| words.replace(rust, python))
}

/// The system's number of a file error, or the number for its kind if the error is not from the
/// system.
fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(match error.kind() {
        ErrorKind::NotFound => 2,
        ErrorKind::PermissionDenied => 13,
        ErrorKind::AlreadyExists => 17,
        ErrorKind::IsADirectory => 21,
        ErrorKind::InvalidInput => 22,
        _ => 5,
    })
}

/// The message of a file error without its number, which is reported separately.
fn words(error: &io::Error) -> String {
    let words = error.to_string();
    let number =
        error.raw_os_error().map(|number| format!(" (os error {number})")).unwrap_or_default();
    words.strip_suffix(&number).unwrap_or(&words).to_owned()
}

/// Does `work` with the interpreter lock released.
///
/// If a limit of this context is reached ([`deadlines`]), it returns the limit's exception. In the
/// main thread, it also returns an exception of a signal handler, such as `KeyboardInterrupt`.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, hippocrene::Error> + Send,
) -> PyResult<T> {
    let limits = deadlines::current(py)?;
    let is_main = MAIN.get() == Some(&thread::current().id());
    if limits.is_empty() && !is_main {
        return py.detach(work).map_err(|error| to_py(py, &error));
    }
    if let Some(limit) = deadlines::reached(&limits) {
        return Err(limit.exception(py));
    }
    let asked = limits.clone();
    let (result, raised) = py.detach(|| {
        let raised = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&raised);
        let stops = move || {
            if deadlines::reached(&asked).is_some() {
                return true;
            }
            let raised = match is_main {
                true => Python::try_attach(|py| py.check_signals().err()).flatten(),
                false => None,
            };
            let stop = raised.is_some();
            slot.replace(raised);
            stop
        };
        let result = hippocrene::stoppable(stops, work);
        (result, raised.take())
    });
    if let Some(raised) = raised {
        return Err(raised);
    }
    // Work that failed with another error keeps that error, even if a limit was reached.
    match (result, deadlines::reached(&limits)) {
        (Ok(_) | Err(hippocrene::Error::Stopped(_)), Some(limit)) => Err(limit.exception(py)),
        (result, _) => result.map_err(|error| to_py(py, &error)),
    }
}

/// The thread in which Python calls signal handlers, if that thread imports this module.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Stores the thread that imports the module.
pub(crate) fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    if threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?) {
        MAIN.get_or_init(|| thread::current().id());
    }
    Ok(())
}

/// The name of every kind of error of the library.
#[pyfunction]
pub(crate) fn error_kinds() -> Vec<&'static str> {
    hippocrene::Error::KINDS.to_vec()
}
