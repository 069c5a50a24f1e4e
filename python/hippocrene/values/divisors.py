"""Plain divisors of encrypted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hippocrene.errors import EncodeError
from hippocrene.values.operands import Values, check_finite, numbers

if TYPE_CHECKING:
    from hippocrene.values.exact import Plain


def divisors(values: Plain) -> Values:
    """Return `values` as `numbers` does, after refusing text and zero.

    Text is a `TypeError`, and zero is a `ZeroDivisionError`.
    """
    divisor = numbers(cast("Any", values), "div")
    if divisor.dtype.kind in "US":
        raise TypeError(
            "an encrypted array is divided by numbers, not by text: decimal.Decimal reads it"
        )
    if not np.all(divisor):
        raise ZeroDivisionError("division of an encrypted array by zero")
    return divisor


def inverses(divisor: Values) -> Values:
    """Return the inverses of nonzero numbers.

    An inverse that is too large for a double is an `EncodeError`.
    """
    check_finite(divisor, "div")
    with np.errstate(all="ignore"):
        ones_over = 1.0 / divisor
    large = ~np.isfinite(ones_over)
    if np.any(large):
        raise EncodeError(f"div: one over {divisor[large][0]} is too large for a double")
    return ones_over
