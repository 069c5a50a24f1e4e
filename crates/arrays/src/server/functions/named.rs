//! Approximations of named functions, which take up to several seconds to find.

use hippocrene_ckks::CkksError;
use hippocrene_pegasus::Function;

use super::{
    latest::Latest,
    pieces::{Accuracy, SmoothFunction, Speed},
};

/// The function and the options of an approximation.
#[derive(Debug, Clone, PartialEq)]
struct Sought {
    function: Function,
    domain: (f64, f64),
    accuracy: Accuracy,
    breaks: Option<Vec<f64>>,
}

static FOUND: Latest<Sought, Result<SmoothFunction, CkksError>> = Latest::new();

/// Approximates a named function as [`SmoothFunction::new`] does.
///
/// # Errors
/// As [`SmoothFunction::new`].
pub(super) fn approximated(
    function: Function,
    domain: (f64, f64),
    accuracy: Accuracy,
    breaks: Option<&[f64]>,
) -> Result<SmoothFunction, CkksError> {
    let sought = Sought { function, domain, accuracy, breaks: breaks.map(<[f64]>::to_vec) };
    FOUND.get_or_search(sought, || {
        SmoothFunction::of(|x| function.value(x), Speed::Fast, domain, accuracy, breaks)
    })
}
