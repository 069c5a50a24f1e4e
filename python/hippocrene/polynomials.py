"""Polynomials at encrypted values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from hippocrene.array import EncryptedArray


def polyval(p: npt.ArrayLike, x: EncryptedArray) -> EncryptedArray:
    """Evaluate a polynomial at encrypted values as `numpy.polyval` does: the coefficient of the highest power first."""
    coefficients: np.ndarray[Any, np.dtype[Any]] = np.asarray(p)
    return x.polynomial(coefficients[::-1])
