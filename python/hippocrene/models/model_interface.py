"""The public description of a model on encrypted rows, which clients need."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError, FormatError
from hippocrene.models.nonlinear import widened
from hippocrene.values.operands import real_numbers, rows_of_doubles, to_array

if TYPE_CHECKING:
    from typing_extensions import Self

_Doubles = npt.NDArray[np.float64]


# Encoded values may exceed 1 by this much, from rounding. Chosen, far above the rounding of a few
# operations on doubles.
_ROUNDING = 2.0**-40

# The fields on how to encode rows. The others are on how to read results.
_OF_INPUTS = ("feature_names", "centres", "half_widths")


@dataclass(frozen=True, slots=True)
class ModelInterface:
    """The public description of a `Model`: how to encode rows, and how to read scores.

    It holds no weights. The server sends ``model.interface()``, which is a dict, for example as
    JSON. The client reads it with ``ModelInterface(**description)``.

    >>> interface = ModelInterface("classifier", ["age"], [40.0], [60.0], ["no", "yes"])
    >>> interface.encode([[25.0], [70.0]]).tolist()
    [[-0.25], [0.5]]
    >>> interface.labels([-1.5, 0.25]).tolist()
    ['no', 'yes']
    """

    kind: str
    """``"classifier"``, ``"regressor"``, ``"transformer"`` or ``"clusters"``."""
    feature_names: Sequence[str] | None
    """The names of the columns of rows in their order, or None if they have no names."""
    centres: Sequence[float]
    """The centre of the interval of each column, in the units of the rows."""
    half_widths: Sequence[float]
    """Half of the width of the interval of each column, in the units of the rows."""
    classes: Sequence[Any] | None
    """The class of each score, the numbers of clusters from 0 on, or None for other models."""

    @property
    def input_intervals(self) -> _Doubles:
        """The low and the high end of the interval of each column, of shape ``(features, 2)``."""
        centres, half_widths = np.array(self.centres), np.array(self.half_widths)
        return np.stack([centres - half_widths, centres + half_widths], axis=1)

    def encode(self, rows: Any) -> _Doubles:
        """Return plain rows with each column mapped from its interval to -1 to 1.

        `rows` is an array or a data frame of shape ``(rows, features)``. The columns of a data
        frame are found by their names. The result has the same shape. Encrypt it with the interval
        ``(-1, 1)``.

        A `TypeError` names columns that do not hold numbers. An `ArgumentError` is raised if the
        columns are not those of the model, or if a value is missing or outside of its interval.
        """
        count = len(self.centres)
        values, found = read_rows(rows, self.feature_names, "encode")
        if self.feature_names is None and found is not None:
            warnings.warn(
                "encode: the rows have names of columns, and the model was converted without. The "
                "columns are taken in their order. Convert the model with like= a data frame to "
                "find them by their names.",
                stacklevel=2,
            )
        if values.shape[1] != count:
            raise ArgumentError(
                f"encode: the rows have {values.shape[1]} columns, and {count} are needed. Pass "
                "the columns that the model was fitted to."
            )
        encoded: _Doubles = (values - np.array(self.centres)) / np.array(self.half_widths)
        beyond = np.argwhere(np.abs(encoded) > 1.0 + _ROUNDING)
        if len(beyond):
            row, column = beyond[0].tolist()
            low, high = self.input_intervals[column].tolist()
            raise ArgumentError(
                f"encode: {column_name(self.feature_names, column)} of row {row} is "
                f"{values[row, column]:g}, outside of its interval from {low:g} to {high:g}. "
                "Convert the model with a larger margin, or with a sample that covers such rows."
            )
        return np.clip(encoded, -1.0, 1.0)

    def labels(self, scores: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each row from decrypted scores, as scikit-learn's `predict` does.

        `scores` has the shape ``(rows,)``, where a positive score means the second of two classes,
        or ``(rows, classes)``, where the largest score wins. Probabilities of shape
        ``(rows, classes)`` are scores too. The result has the shape ``(rows,)``. For clusters, it
        holds their numbers.

        An `ArgumentError` is raised for other shapes, and for models without classes.
        """
        values = self._scores(scores, "labels")
        best = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return np.asarray(np.array(self.classes)[best])

    def margins(self, scores: npt.ArrayLike) -> _Doubles:
        """Return how far the best score of each row is from the second best one.

        `scores` is as for `labels`. If there is one score for a row, its margin is its absolute
        value. The result has the shape ``(rows,)``, and the unit of the scores. If all errors of
        the scores are below half of the margin, the label is certain.

        An `ArgumentError` is raised for other shapes, and for models without classes.
        """
        values = self._scores(scores, "margins")
        if values.ndim == 1:
            return np.abs(values)
        if values.shape[1] == 1:
            return np.full(len(values), np.inf)
        ordered = np.sort(values, axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])

    def _scores(self, scores: npt.ArrayLike, operation: str) -> _Doubles:
        if self.classes is None:
            raise ArgumentError(
                f"{operation}: this model is of the kind {self.kind!r}, and only classifiers and "
                "clusters have labels. Use the decrypted results as they are."
            )
        values, count = real_numbers(scores, operation), len(self.classes)
        of_two = values.ndim == 1 and count == 2
        if not of_two and (values.ndim != 2 or values.shape[1] != count):
            either = "(rows,) or " if count == 2 else ""
            raise ArgumentError(
                f"{operation}: the scores have the shape {values.shape}, and {either}(rows, "
                f"{count}) is needed. Pass the decrypted result of scores or predict_proba."
            )
        return values

    def as_notes(self, result: str) -> tuple[str, str]:
        """Return the notes of an interface: how to encode rows, and how to read a result."""
        told = self.as_dict()
        inputs = {name: told[name] for name in _OF_INPUTS}
        results = {name: told[name] for name in told if name not in _OF_INPUTS}
        return json.dumps(inputs), json.dumps({**results, "result": result})

    @classmethod
    def of_notes(cls, inputs: str, results: str) -> tuple[Self, str]:
        """Read the notes of an interface, and return the description and the name of the result.

        A `FormatError` is raised if they are not those of a model.
        """
        try:
            told = {**json.loads(inputs), **json.loads(results)}
            result = told.pop("result")
            interface = cls(**told)
            interface._check()
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(f"the notes of this interface describe no model: {error}") from None
        return interface, result

    def _check(self) -> None:
        """Raise a `ValueError` unless every column has a finite interval."""
        numbers = np.array([self.centres, self.half_widths], dtype=np.float64)
        names = self.feature_names
        is_named = names is None or len(names) == len(self.centres)
        if not (is_named and np.isfinite(numbers).all() and (numbers[1] > 0).all()):
            raise ValueError("columns without intervals")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that JSON can hold."""
        return asdict(self)


def column_intervals(sample: _Doubles, margin: float) -> tuple[_Doubles, _Doubles]:
    """Return the centre and half of the width of the interval of each column of a sample.

    `sample` has the shape ``(rows, features)``, and both results have the shape ``(features,)``.
    The interval of the values is widened by the factor `margin` about its centre. A column with a
    single value `v` gets the interval from ``v - abs(v)`` to ``v + abs(v)`` before it is widened,
    or from -1 to 1 if `v` is 0.
    """
    low, high = widened(sample, margin)
    centres = 0.5 * low + 0.5 * high
    sizes = np.where(centres == 0, 1.0, np.abs(centres))
    return centres, np.where(high > low, 0.5 * high - 0.5 * low, margin * sizes)


def column_name(names: Sequence[str] | None, column: int) -> str:
    """Return words for a column, with its name if it has one, and otherwise its number."""
    return f"column {column}" if names is None else f"column {names[column]!r}"


def read_rows(
    rows: Any, names: Sequence[str] | None, operation: str
) -> tuple[_Doubles, Sequence[str] | None]:
    """Return plain rows as doubles of shape ``(rows, features)``, and the names of the columns.

    `names` are the columns of the model if they have names. A data frame is brought into their
    order. If they have none, the names are those of the data frame, provided that all are text.

    Errors name the `operation`. See `ModelInterface.encode` for their kinds.
    """
    labels = getattr(rows, "columns", None)
    if labels is not None and all(isinstance(label, str) for label in labels):
        names = _ordered([str(label) for label in labels], names, operation)
        columns = [to_array(rows[name], operation) for name in names]
        height = len(rows)
    else:
        if isinstance(rows, (str, os.PathLike)):
            raise TypeError(
                f"{operation}: the rows are an array or a data frame, not the name of a file. Read "
                "the file first, for example with pandas.read_csv."
            )
        array = to_array(rows, operation)
        if array.ndim != 2:
            raise ArgumentError(
                f"{operation}: the rows have the shape {array.shape}, and (rows, features) is "
                "needed. Pass an array or a data frame with two axes."
            )
        if names is not None and array.shape[1] != len(names):
            raise ArgumentError(
                f"{operation}: the rows have {array.shape[1]} columns, and {len(names)} are "
                "needed. Pass the columns that the model was fitted to."
            )
        columns, height = list(array.T), len(array)
    if not columns or not height:
        raise ArgumentError(
            f"{operation}: there are {height} rows of {len(columns)} columns, and at least one row "
            "and one column are needed. Pass rows with values."
        )
    values = _numbers(columns, names, operation)
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ArgumentError(
            f"{operation}: {column_name(names, column)} of row {row} is {values[row, column]}, and "
            "finite numbers are needed. Impute missing values, or leave out such rows."
        )
    return values, names


def _ordered(have: list[str], names: Sequence[str] | None, operation: str) -> list[str]:
    """Return the names of the columns to read, in the order of the model."""
    wanted = have if names is None else list(names)
    missing = [name for name in wanted if name not in have]
    extra = [name for name in have if name not in wanted]
    repeated = sorted({name for name in have if have.count(name) > 1})
    for problem, found in (
        ("are missing", missing),
        ("are not columns of the model", extra),
        ("occur several times", repeated),
    ):
        if found:
            raise ArgumentError(
                f"{operation}: the columns {_listed(found)} {problem}. Pass each column that the "
                "model was fitted to once, in any order."
            )
    return wanted


def _numbers(
    columns: list[npt.NDArray[Any]], names: Sequence[str] | None, operation: str
) -> _Doubles:
    """Return the columns as an array of doubles, and refuse columns that hold no numbers."""
    found, wrong = [], []
    for index, column in enumerate(columns):
        try:
            found.append(rows_of_doubles(column, operation))
        except TypeError:
            wrong.append(column_name(names, index).removeprefix("column ") + _first_text(column))
    if wrong:
        raise TypeError(
            f"{operation}: the columns {', '.join(wrong)} do not hold real numbers, and only those "
            "can be encrypted. Encode categories as numbers, or fit the model without them."
        )
    return np.stack(found, axis=1)


def _first_text(column: npt.NDArray[Any]) -> str:
    """Return words for the first text of a column, or nothing if it holds none."""
    texts = ((row, value) for row, value in enumerate(column.tolist()) if isinstance(value, str))
    return next((f" ({value!r} in row {row})" for row, value in texts), "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
