"""The interface of private decision trees: the facts that a client needs about the trees."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import FormatError, ShapeError
from hippocrene.files import FilePath, file_path, reading
from hippocrene.models.fitted_trees import as_compared, check_columns

_Doubles = npt.NDArray[np.float64]
_OUTPUTS = ("class", "shares", "values", "scores")
_FORMAT = "hippocrene interface of decision trees, version 3"
# Number of bytes that are checked before the whole file is read.
_START = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeInterface:
    """The facts about a server's trees that a client needs. They are public.

    The client maps the values of each feature to shares from 0 to 1, and the trees compare these.
    Values beyond the ends are replaced by the nearest end. This does not change any comparison with
    a threshold inside the range.
    """

    tables: str
    """The tables that trees are evaluated with: ``"lut11"``, ``"lut12"`` or ``"lut13"``."""

    knots: tuple[tuple[float, ...], ...] = field(repr=False)
    """For each feature, the increasing values that have the shares ``0, 1/k, .. 1``.

    The map is linear between them.
    """

    outputs: Literal["class", "shares", "values", "scores"]
    """The kind of result that a reply holds for a row.

    It is the number of a class, the shares of all classes but the first, values, or scores. With
    two classes, the score is the log odds of the second one. With more classes, each has a score:
    the logarithm of its share, up to a number that is the same for all classes.
    """

    classes: tuple[int | float | str | bool, ...] | None
    """The classes, in the order of their numbers."""

    row_type: Literal["float32", "float64"]
    """The type for rounding rows. The trees do this too before they compare rows."""

    feature_names: tuple[str, ...] | None = None
    """The names of the features, if the trees have any."""

    scales: tuple[float, ...] | None = None
    """The factor for each output of a reply, for values and scores only."""

    @property
    def digest(self) -> str:
        """The digest that identifies this interface in queries and replies.

        Queries and replies of another interface are refused.
        """
        return self._raw().digest

    def _raw(self) -> _native.TreeInterface:
        told = {
            name: getattr(self, name)
            for name in ("classes", "feature_names", "outputs", "row_type", "scales")
        }
        return _native.TreeInterface(
            self.tables, self.knots, json.dumps(told, separators=(",", ":"))
        )

    @property
    def low(self) -> tuple[float, ...]:
        """The least value of each feature."""
        return tuple(knots[0] for knots in self.knots)

    @property
    def high(self) -> tuple[float, ...]:
        """The largest value of each feature."""
        return tuple(knots[-1] for knots in self.knots)

    def shares(self, rows: npt.ArrayLike) -> _Doubles:
        """Return the shares from 0 to 1 that rows of features are mapped to."""
        columns = zip(self._rows(rows, "shares").T, self.knots, strict=True)
        return np.column_stack(
            [np.interp(x, knots, np.linspace(0, 1, len(knots))) for x, knots in columns]
        )

    def _rows(self, rows: npt.ArrayLike, operation: str) -> _Doubles:
        check_columns(rows, self.feature_names, operation)
        values = np.atleast_2d(as_compared(rows, self.row_type, operation))
        if values.ndim != 2 or values.shape[1] != len(self.knots):
            raise ShapeError(
                f"{operation}: rows of {len(self.knots)} features are needed, not {values.shape}"
            )
        return values

    def to_json(self) -> str:
        """Return the text that `save` writes."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TreeInterface:
        """Read the text that `to_json` returned."""
        try:
            fields = json.loads(text)
            if not isinstance(fields, dict):
                raise ValueError("it is no JSON object")
            form = fields.pop("format", None)
            if form != _FORMAT:
                raise ValueError(f"its format is {form!r:.100}, {_FORMAT!r} is needed")
            missing = sorted({own.name for own in fields_of(cls)} - fields.keys())
            if missing:
                raise ValueError(f"it lacks {', '.join(missing)}")
            fields["knots"] = tuple(
                tuple(_number(x) for x in _list(knots)) for knots in _list(fields["knots"])
            )
            if not isinstance(fields["tables"], str) or fields["outputs"] not in _OUTPUTS:
                raise ValueError("unknown tables or outputs")
            if fields["row_type"] not in ("float32", "float64"):
                raise ValueError("the row_type is not float32 or float64")
            if not all(_is_increasing(knots) for knots in fields["knots"]):
                raise ValueError("two or more knots that rise are needed for each feature")
            for name in ("classes", "feature_names", "scales"):
                if fields[name] is not None:
                    fields[name] = tuple(_list(fields[name]))
            names = fields["feature_names"]
            scales = fields["scales"]
            of_values = fields["outputs"] == "values"
            if (fields["classes"] is None) != of_values or fields["classes"] == ():
                raise ValueError("classes and outputs do not go together")
            if not all(isinstance(own, (bool, int, float, str)) for own in fields["classes"] or ()):
                raise ValueError("classes are numbers, texts or booleans")
            scaled = of_values or fields["outputs"] == "scores"
            if (scales is not None) != scaled or not all(
                _is_scale(scale) for scale in scales or ()
            ):
                raise ValueError(
                    "positive scales are needed where outputs are values or scores, and there alone"
                )
            if scaled and not of_values and len(scales) != _scores(len(fields["classes"])):
                raise ValueError("a scale is needed for each score")
            if names is not None and not (
                len(names) == len(fields["knots"]) and all(isinstance(n, str) for n in names)
            ):
                raise ValueError("a name is needed for each feature, or none at all")
            interface = cls(**fields)
            interface._raw()  # Refuses unknown tables.
            return interface
        except (
            AttributeError,
            KeyError,
            OverflowError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            raise FormatError(f"this is no interface of decision trees: {error!s:.300}") from error

    def save(self, path: FilePath) -> None:
        """Write a file of JSON, either completely or not at all."""
        _native.write_file(file_path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: FilePath) -> TreeInterface:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            with Path(name).open("rb") as file:
                data = file.read(_START)
                # A file that starts otherwise is no interface. The rest of it may be large, so do
                # not read it.
                data += file.read() if data.lstrip().startswith(b"{") else b""
            try:
                text = data.decode()
            except UnicodeDecodeError as error:
                raise FormatError(f"this is no interface of decision trees: {error}") from None
            return cls.from_json(text)


def read(interface: TreeInterface, values: _Doubles) -> npt.NDArray[Any]:
    """Return the result for each row of outputs: its class or its values."""
    if interface.classes is None:
        values = values * np.array(interface.scales)
        return values[:, 0] if values.shape[1] == 1 else values
    if interface.outputs == "class":
        numbers = np.rint(values[:, 0]).clip(0, len(interface.classes) - 1).astype(np.intp)
    else:
        numbers = np.argmax(shares_of(interface, values), axis=1)
    return _labels(interface.classes)[numbers]


def _labels(classes: tuple[int | float | str | bool, ...]) -> npt.NDArray[Any]:
    """Return classes as an array of their common type.

    If they have no common type that keeps every value, return an array of objects.
    """
    unsigned = all(type(one) is int and 0 <= one < 2**64 for one in classes)
    labels = np.array(
        classes, dtype=np.uint64 if unsigned and max(map(int, classes)) >= 2**63 else None
    )
    same = zip(labels.tolist(), classes, strict=True)
    if all(type(label) is type(one) and label == one for label, one in same):
        return labels
    return np.array(classes, dtype=object)


def _is_increasing(knots: tuple[float, ...]) -> bool:
    return (
        len(knots) >= 2
        and bool(np.all(np.diff(knots) > 0))
        and bool(np.isfinite([knots[0], knots[-1]]).all())
    )


def _list(value: object) -> list[Any]:
    """Return a list of JSON. Text is refused, although it is a sequence too."""
    if not isinstance(value, list):
        raise TypeError(f"a list is needed where there is {value!r:.100}")
    return value


def _number(value: object) -> float:
    """Return a number of JSON. Text is refused, although ``float`` would read it."""
    if not isinstance(value, (int, float)):
        raise TypeError(f"a number is needed where there is {value!r:.100}")
    return float(value)


def _is_scale(scale: object) -> bool:
    return isinstance(scale, float) and 0 < scale < float("inf")


def shares_of(interface: TreeInterface, values: _Doubles) -> _Doubles:
    """Return the shares of all classes for each row, from outputs that are shares or scores."""
    if interface.outputs == "shares":
        return np.column_stack([1.0 - values.sum(axis=1), values])
    scores = values * np.array(interface.scales)
    if scores.shape[1] == 1:
        # With two classes there is one score, and that of the first class is 0.
        scores = np.column_stack([np.zeros(len(scores)), scores])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return cast("_Doubles", odds / odds.sum(axis=1, keepdims=True))


def largest_deviation_factor(outputs: str, classes: int) -> float:
    """Return the largest deviation of a result, as a multiple of the deviation of an output."""
    return math.sqrt(classes - 1) if outputs == "shares" else 1.0


def _scores(classes: int) -> int:
    """Return the number of scores: one for each class, but a single one for two classes."""
    return 1 if classes == 2 else classes
