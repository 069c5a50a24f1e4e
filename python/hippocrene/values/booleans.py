"""The conversion of plain booleans for encrypted arrays of bits."""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from hippocrene.values.operands import is_plain, to_array


def booleans(values: object, operation: str) -> npt.NDArray[np.bool_] | None:
    """Return `values` as a C-ordered array of booleans, or None if they are not booleans."""
    if not is_plain(values):
        return None
    array = to_array(cast("npt.ArrayLike", values), operation)
    # pandas also stores booleans in arrays of objects.
    objects = (
        array.dtype.kind == "O"
        and array.size
        and all(isinstance(one, (bool, np.bool_)) for one in array.flat)
    )
    return (
        np.asarray(array, dtype=np.bool_, order="C") if objects or array.dtype.kind == "b" else None
    )


def plain_bits(values: object, operation: str) -> npt.NDArray[np.bool_]:
    """Return `values` as an array of booleans."""
    plain = booleans(values, operation)
    if plain is not None:
        return plain
    have = type(values).__name__
    if is_plain(values):
        have = f"values of type {to_array(cast('npt.ArrayLike', values), operation).dtype}"
    raise TypeError(f"{operation} of encrypted bits takes booleans, not {have}")
