"""Plain values as operands of encrypted arrays."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Number, Real
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from hippocrene.errors import EncodeError, ShapeError
from hippocrene.values import exact
from hippocrene.values.advice import advised, unencoded
from hippocrene.values.exact import is_exact_kind

if TYPE_CHECKING:
    from hippocrene import _native

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
    some lists of large integers to doubles: beside fractions, and from 2**63 on beside negative
    numbers. Such lists become arrays of objects instead.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{operation} takes no masked arrays: say what stands for the masked values with .filled()"
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(f"{operation}: {error}") from None
    if array.dtype.kind == "f" and isinstance(values, (list, tuple, range)):
        large = abs(array) >= 2**53
        objects = np.asarray(values, dtype=object) if large.any() else array
        return (
            objects if any(isinstance(one, (int, np.integer)) for one in objects[large]) else array
        )
    return array


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
    if array.dtype.kind == "c":
        return np.require(array, np.complex128, ["C", "A"])
    if array.dtype.kind in "iu" and not (rounded or _are_doubles(array)):
        return cast("Values", array.astype(object))
    return np.require(array, np.float64, ["C", "A"])


def check_finite(
    array: npt.NDArray[Any],
    operation: str,
    done: str = "computed with",
    missing: str = "numpy.nan_to_num has others for NaN",
) -> None:
    """Refuse missing or infinite values, and name the place of the first one."""
    if array.dtype.kind not in "fc" or np.isfinite(array).all():
        return
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    value, at = array[place], f" at {exact.where(place)}" if place else ""
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
    return exact.to_native(array, operation) if is_exact_kind(array) else array


def divisors(values: exact.Plain) -> Values:
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
