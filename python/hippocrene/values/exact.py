"""Numbers with more precision than doubles.

They are `numpy.longdouble`, `decimal.Decimal`, mpmath's `mpf`, and decimal text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import ArgumentError, EncodeError
from hippocrene.values.advice import advised

# Plain values that encrypted arrays compute with.
Plain: TypeAlias = npt.ArrayLike | Decimal | Fraction

# An exact number: a mantissa and an exponent of two, or decimal notation.
Exact: TypeAlias = tuple[int, int] | str

# A type of numbers for results, or a function of a mantissa and an exponent of two.
Kind: TypeAlias = type | np.dtype[Any] | str | Callable[[tuple[int, int]], object]

# Types that are made from the doubles, or pairs of them, of the ordinary decryption.
_OF_DOUBLES = tuple(
    np.dtype(name) for name in ("float64", "float32", "float16", "complex128", "complex64")
)
_LONG = np.dtype(np.longdouble)

# Modules whose functions and types do not accept one pair of a mantissa and an exponent.
_NO_FUNCTIONS = ("builtins", "fractions", "numpy")

# Bits of the mantissa of this machine's long double.
_LONG_BITS = np.finfo(np.longdouble).nmant + 1

# Precision of rounded fractions in bits. Chosen below the 512 bits that the extension module
# supports.
_FRACTION_BITS = 500

# Maximum number of binary or decimal places of a number that is made into a fraction. The extension
# module has no numbers with larger exponents.
_MOST_PLACES = 2**16

# Enough digits for every number that a decryption returns.
_DECIMAL = Context(prec=1000)


def root(x: Fraction) -> Fraction:
    """Return the square root of a non-negative number, to 512 bits after the binary point."""
    return Fraction(math.isqrt((x.numerator << 1024) // x.denominator), 1 << 512)


def is_exact_kind(array: np.ndarray[Any, np.dtype[Any]]) -> bool:
    """Return True if an array holds numbers that doubles may not hold."""
    return array.dtype.kind in "OUS" or (array.dtype.kind == "f" and array.dtype.itemsize > 8)


def exact(value: object, operation: str) -> Exact:
    """Return one number exactly. A value that is no real number is a `TypeError`."""
    if isinstance(value, (str, bytes)):
        return value.decode("ascii", "backslashreplace") if isinstance(value, bytes) else str(value)
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
    if isinstance(value, Fraction):
        places = _FRACTION_BITS + value.denominator.bit_length() - abs(value.numerator).bit_length()
        return round(value * Fraction(2) ** places), -places
    if hasattr(value, "_mpf_"):  # mpmath's mpf
        negative, magnitude, exponent, _ = value._mpf_
        if exponent and not magnitude:
            raise EncodeError(f"{operation}: {value} is not a finite number")
        return -int(magnitude) if negative else int(magnitude), int(exponent)
    raise TypeError(
        advised(f"{operation} takes numbers, not values of type {type(value).__name__}", value)
    )


def fractions(array: np.ndarray[Any, np.dtype[Any]], operation: str) -> npt.NDArray[np.object_]:
    """Return numbers as fractions of the same value. Text is a `TypeError`."""
    out = np.empty(array.shape, dtype=object)
    for place, value in np.ndenumerate(array):
        out[place] = value if isinstance(value, Fraction) else _fraction(value, operation)
    return out


def _fraction(value: object, operation: str) -> Fraction:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise EncodeError(f"{operation}: {value} is not a finite number")
        sign, digits, places = value.as_tuple()
        mantissa, exponent, base = int("".join(map(str, digits))), int(places), 10
        mantissa = -mantissa if sign else mantissa
    else:
        parts = exact(value, operation)
        if isinstance(parts, str):
            raise TypeError(f"{operation} takes numbers, not text: decimal.Decimal reads it")
        (mantissa, exponent), base = parts, 2
    if mantissa and abs(exponent) > _MOST_PLACES:
        raise EncodeError(
            f"{operation}: a number of so many places, {base}**{exponent}, is not computed with"
        )
    return mantissa * Fraction(base) ** (exponent if mantissa else 0)


def to_native(array: np.ndarray[Any, np.dtype[Any]], operation: str) -> _native.BigArray:
    """Convert an array of such numbers for the extension module.

    Errors name the place of the element.
    """
    try:
        # `array.flat` would lose an exception that a signal handler raises while text is made.
        return _native.BigArray(
            [exact(value, operation) for value in array.ravel().tolist()], array.shape
        )
    except (TypeError, ArgumentError, EncodeError):
        for place, value in np.ndenumerate(array):
            try:
                _native.BigArray([exact(value, operation)], ())
            except (TypeError, ArgumentError, EncodeError) as error:
                raise type(error)(_placed(str(error), place, value)) from None
        raise


def _placed(message: str, place: tuple[int, ...], value: object) -> str:
    """Return an error message with the place of the value before the advice on the value."""
    advice = advised("", value)
    at = f" ({where(place)})" if place else ""
    return f"{message.removesuffix(advice)}{at}{advice}"


def where(place: tuple[int, ...]) -> str:
    """Return the name of the place of an element, counted as in numpy."""
    if len(place) == 2:
        return f"row {place[0]}, column {place[1]}"
    return f"position {place[0] if len(place) == 1 else place}"


def decrypted(key: _native.ClientKey, raw: _native.EncryptedArray, dtype: Any) -> npt.NDArray[Any]:
    """Decrypt numbers to a type, after refusing types that are not possible."""
    kind = wanted_kind(dtype)
    if raw.is_complex and not (kind is None or (isinstance(kind, np.dtype) and kind.kind == "c")):
        raise TypeError(
            f"decrypt: this array is complex, and {dtype!r} is not: complex numbers are decrypted to complex doubles, "
            "and have their parts as .real and .imag"
        )
    if kind is None:
        return key.decrypt(raw)
    if isinstance(kind, np.dtype) and kind.newbyteorder("=") in _OF_DOUBLES:
        return key.decrypt(raw).astype(kind, copy=False)
    return from_parts(key.decrypt_exact(raw), raw.shape, kind, _known(raw.precision_bits))


def _known(bits: float | None) -> float:
    """Return a precision, or 0 if none is known."""
    return 0.0 if bits is None or math.isnan(bits) else bits


def is_type(dtype: Any, wanted: type[np.generic]) -> bool:
    """Return True if a `dtype` is None or names this type of numpy."""
    try:
        return dtype is None or np.dtype(dtype) == wanted
    except (TypeError, ValueError, SyntaxError):
        return False


def wanted_kind(dtype: Any) -> Kind | None:
    """Return the kind of numbers that a `dtype` names, or raise a `TypeError`."""
    if dtype is None or dtype is Decimal:
        return dtype
    of_numpy = isinstance(dtype, (np.dtype, str)) or (
        isinstance(dtype, type) and issubclass(dtype, np.generic)
    )
    if of_numpy or dtype is float or dtype is complex:
        try:
            named: np.dtype[Any] = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):
            pass
        else:
            if named.newbyteorder("=") in (*_OF_DOUBLES, _LONG):
                return named
    elif (
        callable(dtype)
        and (getattr(dtype, "__module__", None) or "builtins").split(".")[0] not in _NO_FUNCTIONS
    ):
        return cast("Kind", dtype)
    raise TypeError(
        f"decrypt gives float, complex, numpy's floats and complex numbers, decimal.Decimal, mpmath.mpf or what a "
        f"function makes of a pair (mantissa, exponent of two), not {dtype!r}: round and convert what it returns"
    )


def from_parts(
    parts: list[tuple[int, int]], shape: tuple[int, ...], kind: Kind, bits: float
) -> npt.NDArray[Any]:
    """Return numbers as an array of one of the kinds of `wanted_kind`.

    The numbers are given by mantissas and exponents of two, and have `bits` significant bits after
    the binary point. Decimals are rounded a few digits below that.
    """
    if kind is Decimal:
        unit = Decimal(1).scaleb(-max(0, math.ceil((bits + 4) * math.log10(2))))
        values: list[object] = [_decimal(*one).quantize(unit, context=_DECIMAL) for one in parts]
    elif isinstance(kind, np.dtype) or kind is np.longdouble:
        return np.array([_longdouble(*one) for one in parts], dtype=kind).reshape(shape)
    else:
        make = cast("Callable[[tuple[int, int]], object]", kind)
        values = [make(one) for one in parts]
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out.reshape(shape)


def _decimal(mantissa: int, exponent: int) -> Decimal:
    if exponent >= 0:
        return _DECIMAL.create_decimal(mantissa << exponent)
    return _DECIMAL.divide(Decimal(mantissa), Decimal(1 << -exponent))


def _longdouble(mantissa: int, exponent: int) -> np.longdouble:
    surplus = max(0, mantissa.bit_length() - _LONG_BITS)
    # Add half of the last bit that is kept, so that the shift rounds to nearest.
    kept = (mantissa + (1 << surplus >> 1)) >> surplus
    number: np.longdouble = np.ldexp(np.longdouble(kept), exponent + surplus)
    return number
