"""Numbers of more precision than doubles have: `numpy.longdouble`, `decimal.Decimal`, mpmath's `mpf`, decimal text."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hippocrene import _native
from hippocrene.errors import EncodeError

if TYPE_CHECKING:
    import numpy.typing as npt

# What a number is exactly: mantissa and exponent of two, or decimal notation.
Exact: TypeAlias = tuple[int, int] | str

# A type of numbers that results are wanted in, or a function of mantissa and exponent of two.
Kind: TypeAlias = type | np.dtype[Any] | Callable[[tuple[int, int]], object]

# Bits of the mantissa of this machine's long double.
_LONG_BITS = np.finfo(np.longdouble).nmant + 1

# Enough digits for every number that comes out of a decryption.
_DECIMAL = Context(prec=1000)


def is_exact_kind(array: np.ndarray[Any, np.dtype[Any]]) -> bool:
    """Tell whether an array holds numbers that doubles may not hold."""
    return array.dtype.kind in "OUS" or (array.dtype.kind == "f" and array.dtype.itemsize > 8)


def exact(value: object, operation: str) -> Exact:
    """Return one number as what it is exactly; what is no real number is a `TypeError`."""
    if isinstance(value, (str, bytes)):
        return value.decode() if isinstance(value, bytes) else str(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return int(value), 0
    if isinstance(value, np.longdouble):
        if not np.isfinite(value):
            raise EncodeError(f"{operation}: {value} is not a finite number")
        mantissa, exponent = np.frexp(value)
        return int(np.ldexp(mantissa, _LONG_BITS)), int(exponent) - _LONG_BITS
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise EncodeError(f"{operation}: {value} is not a finite number")
        numerator, denominator = float(value).as_integer_ratio()
        return numerator, 1 - denominator.bit_length()
    if hasattr(value, "_mpf_"):  # mpmath's mpf
        negative, magnitude, exponent, _ = value._mpf_
        if exponent and not magnitude:
            raise EncodeError(f"{operation}: {value} is not a finite number")
        return -int(magnitude) if negative else int(magnitude), int(exponent)
    raise TypeError(f"{operation} takes numbers, not values of type {type(value).__name__}")


def to_native(array: np.ndarray[Any, np.dtype[Any]], operation: str) -> _native.BigArray:
    """Hand an array of such numbers to the extension module."""
    return _native.BigArray([exact(value, operation) for value in array.flat], array.shape)


def from_parts(parts: list[tuple[int, int]], shape: tuple[int, ...], kind: Kind, bits: float) -> npt.NDArray[Any]:
    """Return numbers, given by mantissa and exponent of two, as an array of this kind.

    `bits` of them after the binary point mean something: Decimals are rounded a few digits below that.
    """
    if kind is Decimal:
        unit = Decimal(1).scaleb(-max(0, math.ceil((bits + 4) * math.log10(2))))
        values: list[object] = [_decimal(*one).quantize(unit, context=_DECIMAL) for one in parts]
    elif isinstance(kind, type) and issubclass(kind, np.longdouble):
        return np.array([_longdouble(*one) for one in parts], dtype=np.longdouble).reshape(shape)
    elif callable(kind):
        make: Callable[[tuple[int, int]], object] = kind
        values = [make(one) for one in parts]
    else:
        raise TypeError(f"decrypt gives float, numpy.longdouble, decimal.Decimal or mpmath.mpf, not {kind!r}")
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out.reshape(shape)


def _decimal(mantissa: int, exponent: int) -> Decimal:
    if exponent >= 0:
        return _DECIMAL.create_decimal(mantissa << exponent)
    return _DECIMAL.divide(Decimal(mantissa), Decimal(1 << -exponent))


def _longdouble(mantissa: int, exponent: int) -> np.longdouble:
    surplus = max(0, mantissa.bit_length() - _LONG_BITS)
    # Half of the last bit that is kept, so that the shift rounds to nearest.
    kept = (mantissa + (1 << surplus >> 1)) >> surplus
    number: np.longdouble = np.ldexp(np.longdouble(kept), exponent + surplus)
    return number
