"""Arguments of numpy's functions: which are encrypted, and plain ones as operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.arrays.integers import IntegerArray
from hippocrene.errors import ShapeError
from hippocrene.values.operands import to_array


def is_encrypted(x: object) -> bool:
    """Return True for an encrypted array."""
    return isinstance(x, EncryptedArray)


def operands(name: str, *both: Any) -> tuple[Any, ...]:
    """Return plain operands as arrays. If the others are integers, they keep large integers."""
    like: Any = next(x for x in both if is_encrypted(x))
    exact = isinstance(like, IntegerArray)
    return tuple(
        x if is_encrypted(x) else like._plain(x, name) if exact else to_array(x, name) for x in both
    )


def factors(name: str, *arrays: Any) -> tuple[Any, ...]:
    """Return factors as `operands` does. A plain array without elements is a `ShapeError`."""
    both = operands(name, *arrays)
    if any(not np.size(one) for one in both):
        raise ShapeError(
            f"{name}: shapes {', '.join(str(np.shape(one)) for one in both)}, one of no elements"
        )
    return both


def mixed(plain: Any) -> Any:
    """Return plain values that numpy can join with zeros. Text has to become objects."""
    return plain.astype(object) if plain.dtype.kind in "SU" else plain
