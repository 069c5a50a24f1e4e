"""Specifications of encrypted arrays that do not exist yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.values.operands import booleans, check_finite, naming_columns, numbers
from hippocrene.values.scalars import declared_interval, double, whole

if TYPE_CHECKING:
    _Kind = Literal["numbers", "complex", "integers", "bits"]

_KINDS = ("numbers", "complex", "integers", "bits")
_LONGEST = 2**40


@dataclass(frozen=True)
class Spec:
    """All that a program knows about an array before it runs.

    - `shape`: the length of each axis.
    - `interval`: the interval ``(low, high)`` that contains all values. It is None for bits, and
      for integers that may be any residue.
    - `kind`: the elements: ``"numbers"``, ``"complex"``, ``"integers"`` or ``"bits"``.

    `spec` and `spec_like` make specifications.
    """

    shape: tuple[int, ...]
    interval: tuple[float, float] | None = None
    kind: _Kind = "numbers"
    # Public values that the array may hold, and the factor by which intervals of values that are
    # computed from them are widened.
    _sample: npt.NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    _margin: float | None = field(default=None, repr=False, compare=False)

    @classmethod
    def _of(cls, told: dict[str, Any]) -> Spec:
        """Read a specification that the extension module describes."""
        ends = told["interval"]
        return cls(tuple(told["shape"]), None if ends is None else tuple(ends), told["kind"])

    def _checked(self, values: npt.ArrayLike, operand: str) -> npt.ArrayLike:
        """Return plain values of this shape, or raise an error about the `operand`."""
        shape = np.shape(values)
        if shape == self.shape:
            return values
        what = f"{operand} has shape {shape}, and the program was compiled for {self.shape}."
        if len(shape) == len(self.shape) and shape[1:] == self.shape[1:]:
            rows = self.shape[0]
            if shape[0] > rows:
                raise ShapeError(f"{what} Encrypt and run batches of {rows} rows.")
            raise ShapeError(
                f"{what} Fill up to {rows} rows, for example with copies of the last one, or compile for {shape[0]}."
            )
        raise ShapeError(f"{what} Pass values of that shape, or compile for the other one.")

    def __str__(self) -> str:
        of = "complex numbers" if self.kind == "complex" else self.kind
        what = f"{' x '.join(map(str, self.shape))} {of}" if self.shape else f"one {of[:-1]}"
        where = "" if self.interval is None else f" in [{self.interval[0]:g}, {self.interval[1]:g}]"
        return f"{what}{where}"


def spec(
    shape: SupportsIndex | Sequence[SupportsIndex],
    *,
    interval: tuple[float, float] | None = None,
    bound: float | None = None,
    kind: _Kind = "numbers",
) -> Spec:
    """Specify an encrypted array for `compile` by its shape and the interval of its values.

    `interval` is ``(low, high)``, and ``bound=b`` is short for ``(-b, b)``. Numbers need one of
    them. `kind` is ``"numbers"``, ``"complex"``, ``"integers"`` or ``"bits"``.

    >>> print(spec((100, 30), interval=(0, 1)))
    100 x 30 numbers in [0, 1]
    """
    if kind not in _KINDS:
        raise ArgumentError(f"spec: there is no kind {kind!r}. The kinds are {', '.join(_KINDS)}.")
    axes = (shape,) if isinstance(shape, SupportsIndex) else tuple(shape)
    lengths = tuple(whole(axis, "the length of an axis", 1, _LONGEST) for axis in axes)
    ends = declared_interval(interval, bound)
    if ends is None and kind in ("numbers", "complex"):
        raise ArgumentError(
            "spec: numbers need the interval of their values. Pass interval=(low, high), or use "
            "spec_like(sample) with public values like the encrypted ones."
        )
    if ends is not None and kind == "bits":
        raise ArgumentError("spec: bits have no interval. Leave it out.")
    return Spec(lengths, ends, kind)


def spec_like(sample: npt.ArrayLike, *, margin: float = 2) -> Spec:
    """Specify an encrypted array by a public sample: values like those that will be encrypted.

    The array has the shape of the sample. Its interval is that of the sample, widened by the factor
    `margin` about its centre. `Client.encrypt` refuses values outside of it.

    Intervals inside of the program are the smaller of two: the interval that follows from the
    inputs whatever their values are, and the interval that the sample leads to, widened by the same
    factor. Smaller intervals make functions and comparisons faster and more precise. A printed
    program marks the intervals that rest on the sample. Values outside of these make results wrong.
    `Client.decrypt` refuses results that are far off, and cannot notice others. So take a sample
    that covers what can occur, or a larger margin.

    This needs a sample for every input. The samples are not stored in the program.

    >>> print(spec_like([[0.0, 1.0], [2.0, 4.0]]))
    2 x 2 numbers in [-2, 6]
    """
    factor = double(margin, "a margin")
    if not factor >= 1:
        raise ArgumentError(f"spec_like: the margin is {factor:g}, and it must be at least 1")
    kind = np.asarray(sample).dtype.kind
    if kind not in "biufcO":
        raise TypeError(
            "spec_like: a sample holds numbers, and this one holds text or dates. Encode "
            "categories as numbers, or leave these columns out."
        )
    bits = booleans(sample, "spec_like")
    if bits is not None:
        return Spec(bits.shape, None, "bits")
    with naming_columns(sample):
        values = numbers(sample, "spec_like", rounded=True)
        check_finite(values, "spec_like", "in a sample", "replace missing values")
    array = np.asarray(values)
    if array.size == 0:
        raise ArgumentError("spec_like: the sample is empty. Pass at least one value.")
    if np.iscomplexobj(array):
        bound = factor * float(np.abs(array).max())
        return Spec(array.shape, (-bound, bound), "complex")
    try:
        sampled: npt.NDArray[np.float64] = np.ascontiguousarray(array, np.float64)
    except ValueError as error:
        raise TypeError(
            f"spec_like: a sample holds numbers, and this one does not ({error}). Encode "
            "categories as numbers, or leave these columns out."
        ) from None
    low, high = float(sampled.min()), float(sampled.max())
    half = 0.5 * factor * (high - low)
    middle = 0.5 * low + 0.5 * high
    # A sample of one value still needs an interval.
    half = half or 0.5 * factor * max(1.0, abs(middle))
    return Spec(array.shape, (middle - half, middle + half), "numbers", sampled, factor)
