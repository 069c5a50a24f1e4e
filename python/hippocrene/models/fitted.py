"""Fitted estimators of scikit-learn, read without importing scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError

_Doubles = npt.NDArray[np.float64]


def name_of(estimator: Any) -> str:
    """Return the name of the class of an estimator, also if the class itself is given."""
    return (estimator if isinstance(estimator, type) else type(estimator)).__name__


def is_a(estimator: Any, name: str) -> bool:
    """Return True if the class of an estimator, or a class that it inherits from, has this name."""
    return any(kind.__name__ == name for kind in type(estimator).__mro__)


def steps_of(model: Any) -> list[Any]:
    """Return the estimators that a model applies one after the other.

    These are the steps of a pipeline, with those of pipelines in it and without steps that pass
    everything through. Any other model is its own single step.
    """
    if not is_a(model, "Pipeline"):
        return [model]
    inner = [step for _, step in model.steps if not passes_through(step)]
    return [one for step in inner for one in steps_of(step)]


def passes_through(step: Any) -> bool:
    """Return True if a step of a pipeline or of a `ColumnTransformer` changes nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator that is not fitted."""
    if hasattr(estimator, "fit") and not _is_fitted(estimator):
        raise ArgumentError(
            f"from_sklearn: this {name_of(estimator)} is not fitted, and a fitted model is needed. "
            "Call its method fit first."
        )


def _is_fitted(estimator: Any) -> bool:
    """Return True if an estimator says that it is fitted, or has attributes that end with "_"."""
    says = getattr(estimator, "__sklearn_is_fitted__", None)
    if says is not None:
        return bool(says())
    return any(name.endswith("_") and not name.startswith("_") for name in vars(estimator))


def array_of(estimator: Any, attribute: str, index: int | None = None) -> _Doubles:
    """Return a fitted attribute as an array of finite doubles. Sparse matrices become dense.

    With an `index`, the attribute is a list, and one array of it is returned.
    """
    found = getattr(estimator, attribute)
    values = dense(found if index is None else found[index]).astype(np.float64)
    wrong = values[~np.isfinite(values)]
    if wrong.size:
        raise ArgumentError(
            f"from_sklearn: {attribute} of {name_of(estimator)} holds {wrong[0]}, and finite "
            "numbers are needed. Fit the model again, for example with scaled features."
        )
    return values


def dense(values: Any) -> npt.NDArray[Any]:
    """Return an array, a data frame or a sparse matrix of scipy as an array of numpy."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)
