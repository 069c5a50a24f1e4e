"""Polynomials of encrypted values."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.values.approximation import Approximation
from hippocrene.values.operands import fractions, integers, real_numbers, to_array

if TYPE_CHECKING:
    pass

# numpy's classes of polynomials. A poly1d has the coefficient of the highest power first.
_OTHERS = (Hermite, HermiteE, Laguerre, Polynomial)
SERIES = (Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial)
Series: TypeAlias = (
    Chebyshev
    | Hermite
    | HermiteE
    | Laguerre
    | Legendre
    | Polynomial
    | np.poly1d
    | Approximation
    | npt.ArrayLike
)

_Array = TypeVar("_Array", bound=np.ndarray[Any, Any])


def whole_coefficients(polynomial: Series, modulus: int) -> npt.NDArray[np.int64]:
    """Return the coefficients of a polynomial of integers, with the constant first."""
    if isinstance(polynomial, Polynomial) and _is_whole(polynomial):
        polynomial = polynomial.coef.astype(np.int64)
    if isinstance(polynomial, (*SERIES, Approximation)):
        raise TypeError(
            "polynomial takes integer coefficients here, or a numpy.poly1d of them: "
            f"a {type(polynomial).__name__} has doubles"
        )
    if isinstance(polynomial, np.poly1d):
        polynomial = polynomial.coeffs[::-1]
    return _checked_coefficients(integers(_coefficients(polynomial), "polynomial", modulus))


def _is_whole(polynomial: Polynomial) -> bool:
    """Return True for a polynomial in powers of its argument with integer coefficients."""
    values = polynomial.coef
    if values.dtype.kind != "f" or (polynomial.domain != polynomial.window).any():
        return False
    return bool((values == np.rint(values)).all() and np.abs(values).max(initial=0) < 2**63)


def coefficients(
    polynomial: Series, interval: tuple[float, float]
) -> tuple[npt.NDArray[np.float64], tuple[float, float] | None, float]:
    """Return the coefficients of a polynomial, an interval, and a bound of the rounding error.

    The coefficients are of powers, with the constant first and None for the interval, or of
    Chebyshev polynomials on the interval.

    The error is the largest one at values in `interval` that comes from rounding coefficients and
    ends to doubles. Let ``bound`` be the largest absolute value in `interval` and ``e[k]`` the
    rounding errors of the coefficients. For powers, the error is ``sum(e[k] * bound**k)``. For
    Chebyshev polynomials with coefficients ``c[k]`` it is ``sum(e[k])``. The slope of these
    polynomials is at most ``k**2``. An error ``e`` of the ends of an interval from ``a`` to ``b``
    therefore adds ``2 * e / (b - a) * sum(k**2 * abs(c[k]))``.
    """
    bound = max(-interval[0], interval[1])
    if isinstance(polynomial, Approximation):
        polynomial = polynomial.series
    if isinstance(polynomial, SERIES):
        for what, (low, high) in (("domain", polynomial.domain), ("window", polynomial.window)):
            if not (np.isfinite([low, high]).all() and low != high):
                raise ArgumentError(
                    f"polynomial: the {what} from {low} to {high} is not an interval"
                )
    if isinstance(polynomial, Legendre):
        # Legendre polynomials, like Chebyshev's, are at most 1 on the domain and grow fast outside
        # of it.
        polynomial = polynomial.convert(polynomial.domain, Chebyshev, polynomial.window)
    elif isinstance(polynomial, _OTHERS) and (polynomial.domain != polynomial.window).any():
        # `fit` returns such polynomials: powers of the argument mapped to the window. As powers of
        # x, large terms would cancel each other.
        own = sorted(polynomial.domain.tolist())
        if own[0] <= interval[0] and interval[1] <= own[1]:
            domain = polynomial.domain
        elif interval[0] < interval[1]:
            domain = np.array(interval)
        else:
            domain = np.array([-1.0, 1.0]) * (bound or 1.0)
        polynomial = polynomial.convert(domain=domain, kind=Chebyshev, window=[-1, 1])
    if isinstance(polynomial, Chebyshev):
        (start, end), (low, high) = (
            map(Fraction, ends.tolist()) for ends in (polynomial.domain, polynomial.window)
        )
        slope = (end - start) / (high - low)
        exactly = sorted(start + (side - low) * slope for side in (-1, 1))
        try:
            first, last = map(float, exactly)
        except OverflowError:
            raise ArgumentError("polynomial: the ends of the interval are beyond 2**1024") from None
        series, error = _rounded(polynomial.coef, 1.0)
        if slope < 0:
            series = series * (-1.0) ** np.arange(series.size)
        moved = max(abs(Fraction(first) - exactly[0]), abs(Fraction(last) - exactly[1])) / (
            exactly[1] - exactly[0]
        )
        steepness = sum(k**2 * abs(c) for k, c in enumerate(series.tolist()))
        return series, (first, last), error + 2.0 * float(moved) * steepness
    if isinstance(polynomial, SERIES):
        polynomial = polynomial.convert(domain=[-1, 1], kind=Polynomial, window=[-1, 1]).coef
    elif isinstance(polynomial, np.poly1d):
        polynomial = polynomial.coeffs[::-1]
    series, error = _rounded(_coefficients(polynomial), bound)
    return series, None, error


def _rounded(values: npt.ArrayLike, bound: float) -> tuple[npt.NDArray[np.float64], float]:
    """Return coefficients as doubles, and the error of this rounding at values up to `bound`."""
    given = _checked_coefficients(to_array(values, "polynomial"))
    if given.dtype.kind == "c":
        raise TypeError(
            "polynomial takes real coefficients: with c the complex ones, that of the constant first, "
            "x.polynomial(c.real) + 1j * x.polynomial(c.imag)"
        )
    doubles = real_numbers(given, "polynomial")
    if given.dtype.kind not in "iuO":
        return doubles, 0.0
    off = abs(fractions(given, "polynomial") - fractions(doubles, "polynomial"))
    error = sum(one * Fraction(bound) ** power for power, one in enumerate(off) if one)
    # The extension module refuses an error this large.
    return doubles, float(min(error, 2**1023))


def _coefficients(polynomial: Any) -> Any:
    if callable(polynomial) and not isinstance(polynomial, np.poly1d):
        raise TypeError(
            "polynomial takes coefficients: hippocrene.approximate(function, domain=(low, high), degree=...) makes them"
        )
    return polynomial


def _checked_coefficients(values: _Array) -> _Array:
    if values.ndim != 1:
        raise ShapeError(f"polynomial takes a sequence of coefficients, not shape {values.shape}")
    return values
