"""The conversion of plain integers for encrypted arrays of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import ArgumentError
from hippocrene.values.advice import advised, unencoded
from hippocrene.values.exact import where
from hippocrene.values.operands import to_array
from hippocrene.values.scalars import integer, text

if TYPE_CHECKING:
    from collections.abc import Iterator


def plain_modulus(preset: str, *, least: int) -> int:
    """Return the smallest possible `plain_modulus` for `Client.generate` that is at least `least`.

    Choose `least` larger than every result. It is ``2 * b + 1`` if results are from ``-b`` to ``b``
    and are decrypted with ``decrypt(.., signed=True)``. The modulus is a prime that is 1 modulo
    twice the ring degree of the preset, and is none of the moduli of its ciphertexts.
    """
    whole = integer(least, "least")
    if not 0 <= whole < 2**61:
        raise ArgumentError(f"plain_modulus: from {whole} on: 0 to 2**61 - 1 are supported")
    return _native.plain_modulus_from(text(preset, "a preset"), whole)


def integers(values: npt.ArrayLike, operation: str, modulus: int) -> npt.NDArray[np.int64]:
    """Return `values` modulo `modulus` as a C-ordered array.

    Values that are no integers are a `TypeError`, and values that do not form an array are a
    `ShapeError`.
    """
    array = to_array(values, operation)
    if array.size == 0 and not isinstance(values, np.ndarray):
        # numpy makes an empty list an array of floats.
        array = array.astype(np.int64)
    other = next(_others(array), None)
    if not (array.dtype.kind in "biu" or (array.dtype.kind == "O" and other is None)):
        place, kind = other or (None, str(array.dtype))
        if (missing := _missing(array)) is not None:
            at = f", {where(missing)}" if missing else ""
            raise TypeError(
                f"{operation} takes integers here, and a value is missing (NaN{at}): "
                "encrypt another, such as 0, and a mask of ones and zeros beside it"
            )
        found = f"values of type {kind}" + (f" ({where(place)})" if place else "")
        exactly = f"these keys compute exactly on integers modulo {modulus}"
        message = f"{operation} takes integers here, not {found}: {exactly}"
        raise TypeError(advised(message, unencoded(array) if place is None else array[place]))
    if array.dtype.kind == "O":
        # Python's integers have any size.
        whole = [int(one) % modulus for one in array.flat]
        return np.array(whole, dtype=np.int64).reshape(array.shape)
    # The modulus may not fit the array's own type, if that is a smaller one.
    wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
    return np.asarray(np.remainder(wide, wide.dtype.type(modulus)), dtype=np.int64, order="C")


def without_wrapping(
    values: npt.ArrayLike, residues: npt.NDArray[np.int64], modulus: int
) -> npt.NDArray[np.int64]:
    """Return `values` as signed integers, and refuse those that would wrap around.

    `residues` are the values modulo `modulus`.
    """
    array, half = to_array(values, "encrypt"), (modulus - 1) // 2
    if not array.size:
        return residues
    if int(array.min()) >= -half and int(array.max()) < modulus:
        return np.where(np.asarray(array < 0, dtype=bool), residues - modulus, residues).astype(
            np.int64, order="C"
        )
    # The error does not show the value, because values are secret.
    raise ArgumentError(
        f"encrypt: a value lies outside [{-half}, {modulus - 1}] and would wrap around modulo "
        f"{modulus}. Generate the client with a larger plain_modulus (hippocrene.plain_modulus finds "
        "one), or pass wrap=True if you mean residues."
    )


def _missing(array: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """Return the place of the first NaN, or None."""
    if array.dtype.kind not in "fcO":
        return None
    # Only NaN is not equal to itself. The comparison of pandas' NA has no truth value, so check
    # types.
    wrong = [
        i
        for i, one in enumerate(array.flat)
        if isinstance(one, (float, complex, np.inexact)) and one != one
    ]
    return tuple(int(i) for i in np.unravel_index(wrong[0], array.shape)) if wrong else None


def _others(array: npt.NDArray[Any]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the place and the type of everything in an array of objects that is no integer.

    Yield nothing for arrays of other types.
    """
    if array.dtype.kind == "O":
        for place, one in np.ndenumerate(array):
            if not isinstance(one, (int, np.integer, np.bool_)):
                yield place, type(one).__name__
