"""Single values, as options are: integers, doubles and text, and what is none of them is named."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from decimal import Decimal
from typing import SupportsFloat, SupportsIndex, cast

import numpy as np

from hippocrene.errors import ArgumentError


def text(value: object, what: str) -> str:
    """Return text; `what` it is stands in the `TypeError` for what is none."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is text, not {type(value).__name__}")
    return value


def integer(value: object, what: str) -> int:
    """Return an integer; `what` it is stands in the `TypeError` for what is none."""
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        raise TypeError(f"{what} is an integer, not {type(value).__name__}") from None


def double(value: object, what: str) -> float:
    """Return a number as a double; `what` it is stands in the `TypeError` for what is none."""
    # numpy reads text in arrays of no axes, and what masked ones have under the mask.
    number = value.item() if type(value) is np.ndarray and not value.ndim else value
    try:
        if not isinstance(
            number, (str, bytes, bytearray, np.flexible, np.complexfloating, np.ma.MaskedArray)
        ):
            return float(cast("SupportsFloat", number))
    except TypeError:
        pass
    except ValueError:
        # Of a signaling NaN, which is refused as any other is.
        if isinstance(number, Decimal):
            return math.nan
    except OverflowError:
        raise OverflowError(f"{what} is too large for a double") from None
    raise TypeError(f"{what} is a number, not {type(value).__name__}")


def declared_interval(interval: object, bound: object) -> tuple[float, float] | None:
    """Return the ends of a declared interval, of which ``bound=b`` is short for ``(-b, b)``; None if there is none."""
    if interval is None:
        if bound is None:
            return None
        size = double(bound, "a bound")
        if not 0 <= size < math.inf:
            raise ArgumentError(f"a bound of {size:g}: a finite number from 0 is needed")
        return 0.0 - size, size
    if bound is not None:
        raise TypeError("bound=b is short for interval=(-b, b): pass one of them")
    ends = tuple(interval) if isinstance(interval, Iterable) else ()
    if len(ends) != 2:
        raise TypeError(f"an interval is a pair (low, high), not {interval!r}")
    low, high = (double(end, "an end of an interval") for end in ends)
    if not -math.inf < low <= high < math.inf:
        raise ArgumentError(
            f"an interval of ({low:g}, {high:g}): two finite numbers are needed, the lower one first"
        )
    return low, high


def double_or_none(value: object, what: str) -> float | None:
    """Return what `double` does, and None as it is."""
    return None if value is None else double(value, what)


def whole(value: SupportsIndex, what: str, least: int, most: int) -> int:
    """Return an integer from `least` to `most`; `what` it is stands in the `ArgumentError` for any other."""
    number = integer(value, what)
    if not least <= number <= most:
        raise ArgumentError(f"{what} is {number}: {least} to {most} are possible")
    return number


def thread_count(threads: SupportsIndex) -> int:
    """Return how many threads there are to be; what no machine has is for the extension module to refuse."""
    number = integer(threads, "threads")
    if not 1 <= number < 2**32:
        raise ArgumentError(f"threads is {number}: 1 to 1024 are possible")
    return number
