//! Deadlines and cancel tokens, which end work in any thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use pyo3::{exceptions::PyOverflowError, prelude::*, sync::PyOnceLock, types::PyTuple};

/// A deadline or a cancel token. The context variable `limits` holds those of `with` blocks.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Limit(Arc<Kind>);

pub(crate) enum Kind {
    Deadline { end: Instant, seconds: f64 },
    Token { cancelled: AtomicBool },
}

/// The bound method `get` of the context variable.
static GET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The context variable `limits`: the limits of the running context, the outermost first.
pub(crate) fn context_variable<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let default = [("default", PyTuple::empty(py))];
    let options = pyo3::types::IntoPyDict::into_py_dict(default, py)?;
    let variable =
        py.import("contextvars")?.getattr("ContextVar")?.call(("limits",), Some(&options))?;
    GET.get_or_try_init(py, || Ok::<_, PyErr>(variable.getattr("get")?.unbind()))?;
    Ok(variable)
}

/// The limits of the running context, the outermost first.
pub(crate) fn current(py: Python<'_>) -> PyResult<Vec<Arc<Kind>>> {
    let Some(get) = GET.get(py) else { return Ok(Vec::new()) };
    let limits = get.bind(py).call0()?.cast_into::<PyTuple>()?;
    limits.iter().map(|limit| Ok(Arc::clone(&limit.cast::<Limit>()?.get().0))).collect()
}

/// The outermost limit that was reached, if any.
pub(crate) fn reached(limits: &[Arc<Kind>]) -> Option<&Kind> {
    limits.iter().map(|limit| &**limit).find(|limit| limit.is_reached())
}

impl Kind {
    fn is_reached(&self) -> bool {
        match self {
            Kind::Deadline { end, .. } => Instant::now() >= *end,
            Kind::Token { cancelled } => cancelled.load(Relaxed),
        }
    }

    /// The exception for work that this limit ended.
    pub(crate) fn exception(&self, py: Python<'_>) -> PyErr {
        let (name, words) = match self {
            Kind::Deadline { seconds, .. } => {
                let words = format!(
                    "deadline: the work takes more than {seconds} s. Allow more time, or ask for \
                     less work."
                );
                ("DeadlineExceeded", words)
            }
            Kind::Token { .. } => {
                ("Cancelled", "cancel: the work was cancelled by its CancelToken.".into())
            }
        };
        let class = py.import("hippocrene.errors").and_then(|module| module.getattr(name));
        match class.and_then(|class| class.call1((words,))) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

#[pymethods]
impl Limit {
    /// A deadline after this number of seconds.
    #[staticmethod]
    fn after(seconds: f64) -> PyResult<Self> {
        let wait = Duration::try_from_secs_f64(seconds).ok();
        let end = wait.and_then(|wait| Instant::now().checked_add(wait));
        let end = end.ok_or_else(|| PyOverflowError::new_err("a deadline is too far off"))?;
        Ok(Limit(Arc::new(Kind::Deadline { end, seconds })))
    }

    /// A token that was not cancelled yet.
    #[staticmethod]
    fn token() -> Self {
        Limit(Arc::new(Kind::Token { cancelled: AtomicBool::new(false) }))
    }

    /// Cancels a token, which ends its work. It does not change a deadline.
    fn cancel(&self) {
        if let Kind::Token { cancelled } = &*self.0 {
            cancelled.store(true, Relaxed);
        }
    }

    /// True if the deadline has passed or the token was cancelled.
    #[getter]
    fn reached(&self) -> bool {
        self.0.is_reached()
    }
}
