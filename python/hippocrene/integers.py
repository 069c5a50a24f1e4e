"""Plain integers on their way to encrypted ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hippocrene.values import to_array


def integers(values: npt.ArrayLike, operation: str, modulus: int) -> npt.NDArray[np.int64]:
    """Return `values` modulo `modulus` as a C-ordered array.

    What is not integers is a `TypeError`, what is no array of them a `ShapeError`.
    """
    array = to_array(values, operation)
    if array.size == 0 and not isinstance(values, np.ndarray):
        # An empty list is of no type; numpy takes it for one of floats.
        array = array.astype(np.int64)
    whole = array.dtype.kind in "biu" or (array.dtype.kind == "O" and all(isinstance(v, int) for v in array.flat))
    if not whole:
        raise TypeError(
            f"{operation} takes integers here, not values of type {array.dtype}: "
            f"these keys compute exactly on integers modulo {modulus}"
        )
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    # A modulus of the array's own type would not fit the smaller types; Python's integers are of any size.
    wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64) if array.dtype.kind != "O" else array
    residues = np.remainder(wide, wide.dtype.type(modulus) if wide.dtype.kind != "O" else modulus)
    return np.asarray(residues, dtype=np.int64, order="C")
