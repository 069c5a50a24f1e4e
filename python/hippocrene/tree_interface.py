"""The interface of private decision trees: what clients have to know of a server's trees, and how replies are read."""

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
from hippocrene.fitted_trees import as_compared, check_columns
from hippocrene.values import FilePath, file_path, reading

_Doubles = npt.NDArray[np.float64]
_OUTPUTS = ("class", "shares", "values", "scores")
_FORMAT = "hippocrene interface of decision trees, version 3"
# So many bytes of a file are looked at before all of it is read.
_START = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeInterface:
    """What a client has to know of a server's trees. It is public.

    The client maps the values of each feature to shares from 0 to 1, by which they are compared;
    values beyond the ends are taken for the nearest, which changes nothing at thresholds inside.
    """

    tables: str
    """Which tables trees are evaluated with: ``"lut11"``, ``"lut12"`` or ``"lut13"``."""

    knots: tuple[tuple[float, ...], ...] = field(repr=False)
    """For each feature the values that have the shares ``0, 1/k, .. 1``, which rise: between them it is linear."""

    outputs: Literal["class", "shares", "values", "scores"]
    """What a reply holds for a row: the number of a class; the shares of all classes but the first; values; or scores.

    Scores are the log odds of the second of two classes, or for each of several the logarithm of
    its share, up to a number that is the same for all.
    """

    classes: tuple[int | float | str | bool, ...] | None
    """The classes, in the order of their numbers."""

    row_type: Literal["float32", "float64"]
    """The type to which clients round rows, as the trees do before they compare them."""

    feature_names: tuple[str, ...] | None = None
    """The names of the features, if the trees know them."""

    scales: tuple[float, ...] | None = None
    """Of values and scores: what the numbers of a reply are multiplied by, for each output."""

    @property
    def digest(self) -> str:
        """What queries and replies name it by: those of another interface are refused."""
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
        """Return what rows of features are mapped to."""
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
        """Return what `save` writes."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TreeInterface:
        """Read what `to_json` returned."""
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
            if not all(_rises(knots) for knots in fields["knots"]):
                raise ValueError("two or more knots that rise are needed for each feature")
            for name in ("classes", "feature_names", "scales"):
                if fields[name] is not None:
                    fields[name] = tuple(_list(fields[name]))
            names, scales, of_values = (
                fields["feature_names"],
                fields["scales"],
                fields["outputs"] == "values",
            )
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
            interface._raw()  # There are such tables.
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
        """Write it to a file, as JSON, all or nothing."""
        _native.write_file(file_path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: FilePath) -> TreeInterface:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            with Path(name).open("rb") as file:
                data = file.read(_START)
                # What starts otherwise is no interface, however much of it there is.
                data += file.read() if data.lstrip().startswith(b"{") else b""
            try:
                text = data.decode()
            except UnicodeDecodeError as error:
                raise FormatError(f"this is no interface of decision trees: {error}") from None
            return cls.from_json(text)


def read(interface: TreeInterface, values: _Doubles) -> npt.NDArray[Any]:
    """Return what outputs say of each row."""
    if interface.classes is None:
        values = values * np.array(interface.scales)
        return values[:, 0] if values.shape[1] == 1 else values
    if interface.outputs == "class":
        numbers = np.rint(values[:, 0]).clip(0, len(interface.classes) - 1).astype(np.intp)
    else:
        numbers = np.argmax(shares_of(interface, values), axis=1)
    return _labels(interface.classes)[numbers]


def _labels(classes: tuple[int | float | str | bool, ...]) -> npt.NDArray[Any]:
    """Return classes as an array of the type that they have in common, or else of objects: they stay what they are."""
    unsigned = all(type(one) is int and 0 <= one < 2**64 for one in classes)
    labels = np.array(
        classes, dtype=np.uint64 if unsigned and max(map(int, classes)) >= 2**63 else None
    )
    same = zip(labels.tolist(), classes, strict=True)
    if all(type(label) is type(one) and label == one for label, one in same):
        return labels
    return np.array(classes, dtype=object)


def _rises(knots: tuple[float, ...]) -> bool:
    return (
        len(knots) >= 2
        and bool(np.all(np.diff(knots) > 0))
        and bool(np.isfinite([knots[0], knots[-1]]).all())
    )


def _list(value: object) -> list[Any]:
    """Return a list of JSON, and no text, which is a sequence too."""
    if not isinstance(value, list):
        raise TypeError(f"a list is needed where there is {value!r:.100}")
    return value


def _number(value: object) -> float:
    """Return a number of JSON, and no text, which ``float`` would read too."""
    if not isinstance(value, (int, float)):
        raise TypeError(f"a number is needed where there is {value!r:.100}")
    return float(value)


def _is_scale(scale: object) -> bool:
    return isinstance(scale, float) and 0 < scale < float("inf")


def check_interface(interface: TreeInterface) -> None:
    """Refuse what is no interface."""
    if not isinstance(interface, TreeInterface):
        raise TypeError(f"a TreeInterface is needed, not {type(interface).__name__}")


def shares_of(interface: TreeInterface, values: _Doubles) -> _Doubles:
    """Return the shares of all classes for each row, from outputs that are shares or scores."""
    if interface.outputs == "shares":
        return np.column_stack([1.0 - values.sum(axis=1), values])
    scores = values * np.array(interface.scales)
    if scores.shape[1] == 1:
        # Of two classes there is one score: that of the first is 0.
        scores = np.column_stack([np.zeros(len(scores)), scores])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return cast("_Doubles", odds / odds.sum(axis=1, keepdims=True))


def noisiest(outputs: str, classes: int) -> float:
    """Return how many times as far off as an output the result is that is farthest off, as standard deviations."""
    return math.sqrt(classes - 1) if outputs == "shares" else 1.0


def _scores(classes: int) -> int:
    """Return how many scores there are of so many classes: one for each, but one in all of two."""
    return 1 if classes == 2 else classes
