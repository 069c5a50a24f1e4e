"""The conversion of single values, such as options, to integers, doubles and text."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, SupportsFloat, SupportsIndex, cast

import numpy as np

from hippocrene.errors import ArgumentError


def check_type(value: object, kind: Any, need: str) -> None:
    """Raise a `TypeError` with the needed type if a value is not of this kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{need}, not {type(value).__name__}")


def text(value: object, what: str) -> str:
    """Return text, or raise a `TypeError` that names the value by `what`."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is text, not {type(value).__name__}")
    return value


def integer(value: object, what: str) -> int:
    """Return an integer, or raise a `TypeError` that names the value by `what`."""
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        raise TypeError(f"{what} is an integer, not {type(value).__name__}") from None


def double(value: object, what: str) -> float:
    """Return a number as a double, or raise a `TypeError` that names the value by `what`."""
    # `float` would read text in arrays without axes, and values under the mask of masked arrays.
    number = value.item() if type(value) is np.ndarray and not value.ndim else value
    try:
        if not isinstance(
            number, (str, bytes, bytearray, np.flexible, np.complexfloating, np.ma.MaskedArray)
        ):
            return float(cast("SupportsFloat", number))
    except TypeError:
        pass
    except ValueError:
        # A signaling NaN, which callers refuse like any other NaN.
        if isinstance(number, Decimal):
            return math.nan
    except OverflowError:
        raise OverflowError(f"{what} is too large for a double") from None
    raise TypeError(f"{what} is a number, not {type(value).__name__}")


def pair(value: Any, what: str) -> tuple[Any, Any]:
    """Return two values, or raise a `TypeError` that describes them by `what`."""
    several = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim)
    if not several or len(value) != 2:
        raise TypeError(f"{what}, not {value!r}")
    return value[0], value[1]


def declared_interval(interval: object, bound: object) -> tuple[float, float] | None:
    """Return the ends of a declared interval, or None if there is none.

    ``bound=b`` is short for ``(-b, b)``.
    """
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
    """Return the same as `double`, but None for None."""
    return None if value is None else double(value, what)


def whole(value: SupportsIndex, what: str, least: int, most: int) -> int:
    """Return an integer from `least` to `most`.

    Raise an `ArgumentError` that names the value by `what` for any other.
    """
    number = integer(value, what)
    if not least <= number <= most:
        raise ArgumentError(f"{what} is {number}: {least} to {most} are possible")
    return number


def thread_count(threads: SupportsIndex) -> int:
    """Return the number of threads. The extension module refuses numbers that are too large."""
    number = integer(threads, "threads")
    if not 1 <= number < 2**32:
        raise ArgumentError(f"threads is {number}: 1 to 1024 are possible")
    return number
