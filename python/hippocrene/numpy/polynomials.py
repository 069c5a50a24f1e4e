"""numpy's functions of polynomials and powers of encrypted values."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hippocrene.arrays.encrypted import Array
from hippocrene.arrays.registry import implements
from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.numpy.arguments import is_encrypted
from hippocrene.values.approximation import Approximation
from hippocrene.values.operands import integers, to_array
from hippocrene.values.polynomials import SERIES


def polyval(p: npt.ArrayLike, x: Array) -> Array:
    """Evaluate a polynomial at encrypted values, as `numpy.polyval` does.

    The coefficient of the highest power comes first.
    """
    if isinstance(p, (*SERIES, Approximation)):
        raise TypeError(
            f"polyval takes a sequence of coefficients: use x.polynomial for a {type(p).__name__}"
        )
    if not is_encrypted(x):
        raise TypeError(
            f"polyval takes an encrypted array, not {type(x).__name__}: numpy.polyval is of plain values"
        )
    modulus = x.plain_modulus
    values: npt.NDArray[Any] = (
        to_array(p, "polyval") if modulus is None else integers(p, "polyval", modulus)
    )
    return cast("Array", x.polynomial(values[::-1] if values.ndim else values))


@implements(np.polyval, several=True)
def _polyval(p: Any, x: Any) -> Any:
    if is_encrypted(p):
        raise TypeError(
            "numpy.polyval takes no encrypted coefficients: multiply them with plain powers, and sum"
        )
    return polyval(p, x)


@implements(np.vander)
def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    if x.ndim != 1:
        raise ShapeError(f"vander takes arrays of one axis, not shape {x.shape}")
    count = x.size if N is None else operator.index(N)
    if count < 2:
        raise ArgumentError(f"vander: {count} columns hold no encrypted power, and 2 or more do")
    powers = [np.ones(x.size, dtype=np.int64), x]
    for power in range(2, count):
        powers.append(np.multiply(powers[power // 2], powers[power - power // 2]))
    return np.stack(powers if increasing else powers[::-1], axis=-1)
