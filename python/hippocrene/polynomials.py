"""Polynomials at encrypted values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

from hippocrene.approximation import Approximation
from hippocrene.encrypted import Encrypted
from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.integers import integers
from hippocrene.values import real_numbers, to_array

if TYPE_CHECKING:
    from hippocrene.array import EncryptedArray

# The classes of numpy, of which poly1d has the coefficient of the highest power first.
SERIES = (Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial)
Series: TypeAlias = (
    Chebyshev | Hermite | HermiteE | Laguerre | Legendre | Polynomial | np.poly1d | Approximation | npt.ArrayLike
)

_Array = TypeVar("_Array", bound=np.ndarray[Any, Any])


def polyval(p: npt.ArrayLike, x: EncryptedArray) -> EncryptedArray:
    """Evaluate a polynomial at encrypted values as `numpy.polyval` does: the coefficient of the highest power first."""
    if isinstance(p, (*SERIES, Approximation)):
        raise TypeError(f"polyval takes coefficients: x.polynomial takes a {type(p).__name__}")
    if not isinstance(x, Encrypted):
        raise TypeError(f"polyval takes an encrypted array, not {type(x).__name__}: numpy.polyval is of plain values")
    modulus = x.plain_modulus
    coefficients: np.ndarray[Any, np.dtype[Any]] = (
        to_array(p, "polyval") if modulus is None else integers(p, "polyval", modulus)
    )
    return x.polynomial(coefficients[::-1] if coefficients.ndim else coefficients)


def whole_coefficients(polynomial: Series, modulus: int) -> npt.NDArray[np.int64]:
    """Return the coefficients of a polynomial of integers, that of the constant first."""
    if isinstance(polynomial, (*SERIES, Approximation)):
        raise TypeError(
            "polynomial takes integer coefficients here, or a numpy.poly1d of them: "
            f"a {type(polynomial).__name__} has doubles"
        )
    if isinstance(polynomial, np.poly1d):
        polynomial = polynomial.coeffs[::-1]
    return _line(integers(cast("npt.ArrayLike", polynomial), "polynomial", modulus))


def coefficients(polynomial: Series) -> tuple[npt.NDArray[np.float64], tuple[float, float] | None]:
    """Return coefficients of powers, that of the constant first, or of Chebyshev's polynomials and their interval."""
    if isinstance(polynomial, Approximation):
        polynomial = polynomial.series
    if isinstance(polynomial, SERIES):
        for what, (low, high) in (("domain", polynomial.domain), ("window", polynomial.window)):
            if not (np.isfinite([low, high]).all() and low != high):
                raise ArgumentError(f"polynomial: the {what} from {low} to {high} is no interval")
    if isinstance(polynomial, Legendre):
        # Right on its domain only, as Chebyshev's are, and so of the same bounded numbers there.
        polynomial = polynomial.convert(polynomial.domain, Chebyshev, polynomial.window)
    if isinstance(polynomial, Chebyshev):
        offset, slope = polynomial.mapparms()
        # As they are where nothing is to be computed.
        known = np.array_equal(polynomial.window, [-1, 1])
        ends = sorted(polynomial.domain if known else ((-1.0 - offset) / slope, (1.0 - offset) / slope))
        series = _line(_real(polynomial.coef))
        if slope < 0:
            series = series * (-1.0) ** np.arange(series.size)
        return series, (ends[0], ends[1])
    if isinstance(polynomial, SERIES):
        polynomial = polynomial.convert(domain=[-1, 1], kind=Polynomial, window=[-1, 1]).coef
    elif isinstance(polynomial, np.poly1d):
        polynomial = polynomial.coeffs[::-1]
    return _line(_real(cast("npt.ArrayLike", polynomial))), None


def _real(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    if to_array(values, "polynomial").dtype.kind == "c":
        raise TypeError(
            "polynomial takes real coefficients: with c the complex ones, that of the constant first, "
            "x.polynomial(c.real) + 1j * x.polynomial(c.imag)"
        )
    return real_numbers(values, "polynomial")


def _line(values: _Array) -> _Array:
    if values.ndim != 1:
        raise ShapeError(f"polynomial takes a sequence of coefficients, not shape {values.shape}")
    return values
