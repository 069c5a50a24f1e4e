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
    if not (array.dtype.kind in "biu" or _all_whole(array)):
        if array.dtype.kind == "f" and not isinstance(values, np.ndarray) and np.isnan(array).any():
            raise TypeError(f"{operation} takes integers here, and a value is missing (NaN)")
        raise TypeError(
            f"{operation} takes integers here, not values of type {array.dtype}: "
            f"these keys compute exactly on integers modulo {modulus}"
        )
    if array.dtype.kind == "O":
        # Python's integers are of any size.
        whole = [int(one) % modulus for one in array.flat]
        return np.array(whole, dtype=np.int64).reshape(array.shape)
    # A modulus of the array's own type would not fit the smaller types.
    wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
    return np.asarray(np.remainder(wide, wide.dtype.type(modulus)), dtype=np.int64, order="C")


def _all_whole(array: npt.NDArray[np.generic]) -> bool:
    """Tell whether an array of objects holds nothing but integers."""
    return array.dtype.kind == "O" and all(isinstance(one, (int, np.integer, np.bool_)) for one in array.flat)
