"""Plain operands: numbers of all types, exact numbers, integers and booleans.

Exact numbers have more precision than doubles: `numpy.longdouble`, `decimal.Decimal`, mpmath's
`mpf`, and decimal text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Number, Real
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import ArgumentError, EncodeError, ShapeError
from hippocrene.values.advice import advised, unencoded
from hippocrene.values.scalars import integer, text

Values: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.complex128]


def is_plain(values: object) -> bool:
    """Return True if numpy can convert a value to numbers.

    It may be a number, a sequence, or an object that numpy can convert to an array.
    """
    if isinstance(values, (str, bytes, np.flexible)):
        return False
    known = isinstance(values, (Number, list, tuple, range))
    return (
        known
        or hasattr(type(values), "__array__")
        or hasattr(values, "_mpf_")
        or _is_buffer(values)
    )


def _is_buffer(values: object) -> bool:
    try:
        memoryview(cast("bytes", values))
    except TypeError:
        return False
    return True


def to_array(values: npt.ArrayLike, operation: str) -> npt.NDArray[Any]:
    """Return `values` as numpy converts them.

    Masked arrays are a `TypeError`, and rows of unequal length are a `ShapeError`. numpy converts
    some lists of large integers to doubles: lists that also hold fractions, and lists that hold
    both negative numbers and numbers from 2**63 on. Such lists become arrays of objects instead.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{operation} takes no masked arrays: fill in the masked values by .filled()"
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise ShapeError(
            f"{operation}: the values form no array, since rows differ in length{_uneven(values)}. "
            "Pad them to one length, or take one row at a time."
        ) from None
    if array.dtype.kind == "f" and isinstance(values, (list, tuple, range)):
        large = abs(array) >= 2**53
        objects = np.asarray(values, dtype=object) if large.any() else array
        return (
            objects if any(isinstance(one, (int, np.integer)) for one in objects[large]) else array
        )
    return array


def _uneven(values: object) -> str:
    """Return the first row whose length differs from that of row 0, in brackets, or ""."""
    rows = values if isinstance(values, (list, tuple)) else ()
    lengths = [len(row) if isinstance(row, Sized) else None for row in rows]
    at = next((at for at, length in enumerate(lengths) if length != lengths[0]), None)
    if at is None:
        return ""
    first, other = (
        "is one number" if length is None else f"has the length {length}"
        for length in (lengths[0], lengths[at])
    )
    return f" (row 0 {first}, and row {at} {other})"


@contextmanager
def naming_columns(values: object) -> Iterator[None]:
    """Add the names of columns to errors in the block, if the values are a data frame."""
    try:
        yield
    except (TypeError, ArgumentError, EncodeError) as error:
        place = re.search(r"\brow \d+, column (\d+)", str(error))
        columns = list(getattr(values, "columns", ()))
        if place is None or int(place[1]) >= len(columns):
            raise
        name = f"{place[0]} ({columns[int(place[1])]!r})"
        raise type(error)(str(error).replace(place[0], name, 1)) from None


def numbers(values: npt.ArrayLike, operation: str, *, rounded: bool = False) -> Values:
    """Return `values` as a C-ordered array of doubles, complex doubles or exact numbers.

    `exact` describes the latter. Integers that doubles cannot hold are exact numbers, unless
    `rounded` is True. Values that are no numbers are a `TypeError`, and values that do not form an
    array are a `ShapeError`.
    """
    try:
        if isinstance(values, Fraction) and float(values) == values:
            values = float(values)
        array = to_array(values, operation)
        if array.dtype.kind == "O":
            array = _doubles(array, rounded=rounded)
    except OverflowError:
        raise EncodeError(
            f"{operation}: a number of this size, 2**1024 or more, is no double"
        ) from None
    if is_exact_kind(array):
        # Signaling NaNs are refused here, because any other operation with them would raise.
        objects = array.ravel().tolist() if array.dtype.kind == "O" else ()
        if any(isinstance(one, Decimal) and one.is_snan() for one in objects):
            raise EncodeError(f"{operation}: sNaN is not a finite number")
        return array
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16:
        rounded_by = ": .astype(complex) rounds them to doubles" if array.dtype.kind == "c" else ""
        message = f"{operation} takes numbers, not values of type {array.dtype}{rounded_by}"
        raise TypeError(advised(message, array.dtype))
    if array.dtype.kind in "iu" and not (rounded or _are_doubles(array)):
        return cast("Values", array.astype(object))
    wanted = np.complex128 if array.dtype.kind == "c" else np.float64
    if array.dtype == wanted and array.flags.carray:
        return array
    return cast("Values", np.require(array, wanted, ["C", "A"]))


def check_finite(
    array: npt.NDArray[Any],
    operation: str,
    done: str = "computed with",
    missing: str = "numpy.nan_to_num replaces NaN",
) -> None:
    """Refuse missing or infinite values, and name the place of the first one."""
    if array.dtype.kind not in "fc" or np.isfinite(array).all():
        return
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    value, at = array[place], f" at {where(place)}" if place else ""
    instead = f"; {missing}" if np.isnan(value) else ""
    raise EncodeError(f"{operation}: {value}{at}: only finite numbers can be {done}{instead}")


def finite(values: npt.ArrayLike, operation: str, *, rounded: bool = False) -> Values:
    """Return `values` as `numbers` does. Missing or infinite values are an `EncodeError`."""
    array = numbers(values, operation, rounded=rounded)
    check_finite(array, operation)
    return array


def _doubles(objects: npt.NDArray[np.object_], *, rounded: bool) -> npt.NDArray[Any]:
    """Return objects as doubles or complex doubles if that is exact or if `rounded` is True.

    Otherwise, return them unchanged.
    """
    kinds, wide = (int, float, complex, np.bool_, np.number), (np.longdouble, np.clongdouble)
    if any(not isinstance(one, kinds) or isinstance(one, wide) for one in objects.flat):
        return objects
    # Python compares its own integers with doubles exactly.
    own = [one.item() if isinstance(one, np.generic) else one for one in objects.flat]
    doubles = objects.astype(
        np.complex128 if any(isinstance(one, complex) for one in own) else np.float64
    )
    return doubles if rounded or doubles.ravel().tolist() == own else objects


def _are_doubles(integers: npt.NDArray[Any]) -> bool:
    """Return True if doubles hold these integers exactly."""
    if integers.dtype.itemsize < 8:
        return True
    wide = integers[(integers > 2**53) | (integers < -(2**53))]
    return all(int(float(number)) == number for number in wide.tolist())


def real_numbers(values: npt.ArrayLike, operation: str) -> npt.NDArray[np.float64]:
    """Return `values` as a C-ordered array of doubles, or raise a `TypeError`."""
    array = numbers(values, operation, rounded=True)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise TypeError(
            advised(
                f"{operation} takes doubles, not values of type {array.dtype}", unencoded(array)
            )
        )
    return cast("npt.NDArray[np.float64]", array)


def rows_of_doubles(values: npt.ArrayLike, operation: str) -> npt.NDArray[np.float64]:
    """Return `values` as `real_numbers` does, and accept real numbers in arrays of objects.

    Data frames may have such arrays.
    """
    array = to_array(values, operation)
    if array.dtype.kind == "O":
        wrong = [one for one in array.flat if not isinstance(one, (Real, np.bool_))]
        if wrong:
            kind = type(wrong[0]).__name__
            raise TypeError(
                advised(f"{operation} takes doubles, not values of type {kind}", wrong[0])
            )
        try:
            array = array.astype(np.float64)
        except OverflowError:
            raise EncodeError(
                f"{operation}: a number of this size, 2**1024 or more, is no double"
            ) from None
    return real_numbers(array, operation)


def to_native(
    array: Values | npt.NDArray[np.int64], operation: str
) -> Values | npt.NDArray[np.int64] | _native.BigArray:
    """Convert a result of `numbers` or `integers` for the extension module."""
    return big_array(array, operation) if is_exact_kind(array) else array


def divisors(values: Plain) -> Values:
    """Return `values` as `numbers` does, after refusing text and zero.

    Text is a `TypeError`, and zero is a `ZeroDivisionError`.
    """
    divisor = numbers(cast("Any", values), "div")
    if divisor.dtype.kind in "US":
        raise TypeError(
            "an encrypted array is divided by numbers, not by text: convert it with decimal.Decimal"
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


# Exact numbers

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
            raise TypeError(f"{operation} takes numbers, not text: convert it with decimal.Decimal")
        (mantissa, exponent), base = parts, 2
    if mantissa and abs(exponent) > _MOST_PLACES:
        raise EncodeError(
            f"{operation}: a number with the factor {base}**{exponent} has too many places "
            f"({_MOST_PLACES} are the most)"
        )
    return mantissa * Fraction(base) ** (exponent if mantissa else 0)


def big_array(array: np.ndarray[Any, np.dtype[Any]], operation: str) -> _native.BigArray:
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
                message = f"{operation}: {str(error).removeprefix('read a number: ')}"
                if not isinstance(error, ArgumentError):
                    message = str(error)
                raise type(error)(_placed(message, place, value)) from None
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
    return from_parts(key.decrypt_exact(raw), raw.shape, kind, _known_or_zero(raw.precision_bits))


def _known_or_zero(bits: float | None) -> float:
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
        f"decrypt gives float, complex, numpy's floats and complex numbers, decimal.Decimal, mpmath.mpf or the "
        f"results of a function of a pair (mantissa, exponent of two), not {dtype!r}. Round and convert the result."
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


# Integers


def plain_modulus(preset: str, *, least: int) -> int:
    """Return the smallest possible `plain_modulus` for `Client.generate` that is at least `least`.

    Choose `least` larger than every result. It is ``2 * b + 1`` if results are from ``-b`` to ``b``
    and are decrypted with ``decrypt(.., signed=True)``. The modulus is a prime that is 1 modulo
    twice the ring degree of the preset, and is none of the moduli of its ciphertexts.
    """
    whole = integer(least, "least")
    if not 0 <= whole < 2**61:
        raise ArgumentError(f"plain_modulus: from {whole} on: 0 to 2**61 - 1 are supported")
    return _native.plain_modulus_from(text(preset, "a preset"), whole)


def integers(values: npt.ArrayLike, operation: str, modulus: int) -> npt.NDArray[np.int64]:
    """Return `values` modulo `modulus` as a C-ordered array.

    Values that are no integers are a `TypeError`, and values that do not form an array are a
    `ShapeError`.
    """
    array = to_array(values, operation)
    if array.size == 0 and not isinstance(values, np.ndarray):
        # numpy makes an empty list an array of floats.
        array = array.astype(np.int64)
    other = next(_non_integers(array), None)
    if not (array.dtype.kind in "biu" or (array.dtype.kind == "O" and other is None)):
        place, kind = other or (None, str(array.dtype))
        if (missing := _missing(array)) is not None:
            at = f", {where(missing)}" if missing else ""
            raise TypeError(
                f"{operation} takes integers here, and a value is missing (NaN{at}): "
                "replace it, for example by 0, and also encrypt a mask of ones and zeros"
            )
        found = f"values of type {kind}" + (f" ({where(place)})" if place else "")
        message = (
            f"{operation} takes integers here, not {found}: these keys compute exactly on integers "
            f"modulo {modulus}"
        )
        if array.dtype.kind == "f":
            message += '. Convert the values with .astype(int), or use the scheme "ckks".'
        raise TypeError(advised(message, unencoded(array) if place is None else array[place]))
    if array.dtype.kind == "O":
        # Python's integers have any size.
        whole = [int(one) % modulus for one in array.flat]
        return np.array(whole, dtype=np.int64).reshape(array.shape)
    # The modulus may not fit the array's own type, if that is a smaller one.
    wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
    return np.asarray(np.remainder(wide, wide.dtype.type(modulus)), dtype=np.int64, order="C")


def without_wrapping(
    values: npt.ArrayLike, residues: npt.NDArray[np.int64], modulus: int
) -> npt.NDArray[np.int64]:
    """Return `values` as signed integers, and refuse those that would wrap around.

    `residues` are the values modulo `modulus`.
    """
    array, half = to_array(values, "encrypt"), (modulus - 1) // 2
    if not array.size:
        return residues
    if int(array.min()) >= -half and int(array.max()) < modulus:
        return np.where(np.asarray(array < 0, dtype=bool), residues - modulus, residues).astype(
            np.int64, order="C"
        )
    # The error does not show the value, because values are secret.
    outside = np.argwhere((array < -half) | (array >= modulus))[0]
    at = f" at {where(tuple(outside.tolist()))}" if array.ndim else ""
    raise ArgumentError(
        f"encrypt: the value{at} lies outside [{-half}, {modulus - 1}] and would wrap around modulo "
        f"{modulus}. Generate the client with a larger plain_modulus (hippocrene.plain_modulus finds "
        "one), or pass wrap=True if you mean residues."
    )


def _missing(array: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """Return the place of the first NaN, or None."""
    if array.dtype.kind not in "fcO":
        return None
    # Only NaN is not equal to itself. The comparison of pandas' NA has no truth value, so check
    # types.
    wrong = [
        i
        for i, one in enumerate(array.flat)
        if isinstance(one, (float, complex, np.inexact)) and one != one
    ]
    return tuple(int(i) for i in np.unravel_index(wrong[0], array.shape)) if wrong else None


def _non_integers(array: npt.NDArray[Any]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the place and the type of everything in an array of objects that is no integer.

    Yield nothing for arrays of other types.
    """
    if array.dtype.kind == "O":
        for place, one in np.ndenumerate(array):
            if not isinstance(one, (int, np.integer, np.bool_)):
                yield place, type(one).__name__
