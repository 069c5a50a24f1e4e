"""Polynomials that approximate functions, with their errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev

from hippocrene import _native
from hippocrene.errors import ArgumentError
from hippocrene.values.scalars import double, pair, whole

if TYPE_CHECKING:
    from hippocrene.arrays.encrypted import EncryptedArray

# The largest degree of an approximation, as in the extension module.
MOST = 255


# Maximum number of values that are searched for a jump. Chosen: they take some megabytes.
_MOST_KNOWN = 2**16

_Array = TypeVar("_Array", bound="EncryptedArray")


@dataclass(frozen=True, slots=True, eq=False)
class Approximation:
    """A polynomial that approximates a function on a domain; see `approximate`.

    Call it with plain values to evaluate it, as a polynomial of `numpy.polynomial`. Call it with an
    encrypted array for its `polynomial`, which also accepts it as an argument.

    - `series`: the polynomial, as a numpy Chebyshev series.
    - `error`: the largest difference from the function on the domain. It is certain or an estimate,
      as `approximate` explains.
    """

    series: Chebyshev
    error: float

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """The coefficients of the Chebyshev polynomials on the domain, with the constant first."""
        return np.array(self.series.coef)

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return int(self.series.degree())

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the interval on which the polynomial approximates the function."""
        return float(self.series.domain[0]), float(self.series.domain[1])

    @overload
    def __call__(self, x: _Array) -> _Array: ...
    @overload
    def __call__(self, x: npt.ArrayLike) -> Any: ...
    def __call__(self, x: Any) -> Any:
        """Evaluate the polynomial at every value of a plain or an encrypted array."""
        if hasattr(x, "polynomial"):
            return x.polynomial(self)
        return self.series(np.asarray(x))

    def __repr__(self) -> str:
        low, high = self.domain
        return f"Approximation(degree={self.degree}, domain=({low:g}, {high:g}), error={self.error:.3g})"


def approximate(
    function: Callable[[Any], Any],
    *,
    domain: tuple[float, float],
    degree: int | None = None,
    error: float | None = None,
    derivative: tuple[int, float] | None = None,
) -> Approximation:
    """Return the polynomial that is closest to a function on a domain, and its largest error.

    Give either the `degree`, up to 255, or the `error`. With `error`, the result has the lowest
    degree whose largest error is at most `error`. Among all polynomials of its degree, the result
    has the smallest largest error (Remez' algorithm). `function` takes and returns one number. If
    it is even or odd about the middle of the domain, the polynomial is too.

    A finite number of values does not bound the error between them. If you know a bound of the
    absolute values of a derivative, pass ``derivative=(order, bound)``, and the stated error is
    certain. The order 1 stands for a Lipschitz constant. Otherwise, the error is estimated from the
    decrease of the function's Chebyshev coefficients. This holds for functions whose variation
    shows in a few thousand of their values. Coefficients are doubles, so that errors below about
    ``2**-44`` of the largest value cannot be reached.

    A function that jumps, such as ``numpy.sign``, is refused, since no polynomial comes close to it.
    Use comparisons such as ``x > y`` and `NumberArray.sign` instead. An error that is larger than
    the range of the function is refused too.

    For an encrypted array, the noise of the computation comes on top. `precision_bits` of the
    result states that noise, and not the error of the polynomial.
    """
    if not callable(function):
        raise TypeError(f"approximate takes a function, not {type(function).__name__}")
    if (degree is None) == (error is None):
        raise ArgumentError("approximate: pass either a degree or an error")
    ends = pair(domain, "a domain is two numbers, (low, high)")
    what = "derivative is an order and a bound, (order, bound)"
    steep = None if derivative is None else pair(derivative, what)
    low, high = (double(end, "an end of a domain") for end in ends)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(
            f"approximate: the domain from {low:g} to {high:g} is not an interval. Pass two finite "
            "numbers, the lower one first."
        )
    values: dict[float, float] = {}

    def value(x: float) -> float:
        y = double(function(x), "a value of the function")
        if len(values) < _MOST_KNOWN:
            values[x] = y
        if not math.isfinite(y):
            end = f", which starts above {x:g}" if x == low else ""
            raise ArgumentError(
                f"approximate: the function is {y} at {x:g}. Take a domain on which it is finite{end}."
            )
        return y

    try:
        coefficients, found = _native.approximate(
            value,
            (low, high),
            None if degree is None else whole(degree, "degree", 0, MOST),
            0.0 if error is None else double(error, "an error"),
            None
            if steep is None
            else (whole(steep[0], "order", 1, 64), double(steep[1], "a bound")),
        )
    except ArgumentError as refused:
        if "come within" in str(refused):
            _refuse_useless(value, values, 0.0)
        raise
    _refuse_useless(value, values, found)
    return Approximation(Chebyshev(coefficients, domain=[low, high]), found)


def _refuse_useless(
    value: Callable[[float], float], values: dict[float, float], error: float
) -> None:
    """Raise an `ArgumentError` if the function has a jump, or varies by less than the `error`.

    The largest difference between neighbours among the known `values` is halved, until no double
    lies between them. The difference at a jump does not become smaller.
    """
    points = sorted(values)
    if len(points) < 2:
        return
    left, right = max(
        itertools.pairwise(points), key=lambda ends: abs(values[ends[1]] - values[ends[0]])
    )
    before, after = values[left], values[right]
    start = abs(after - before)
    while left < (middle := (left + right) / 2) < right:
        at = value(middle)
        if abs(at - before) >= abs(after - at):
            right, after = middle, at
        else:
            left, before = middle, at
    jump = abs(after - before)
    # Rounding makes small differences that are not jumps.
    rounding = 1e-6 * max(map(abs, values.values()))
    if jump > max(start, error, rounding) / 4:
        raise ArgumentError(
            f"approximate: the function jumps by {jump:g} at {right + 0.0:g}, and every polynomial has an "
            f"error of {jump / 2:g} or more there. Use comparisons, such as x > y and x.sign(), or "
            "x.apply(function)."
        )
    spread = max(values.values()) - min(values.values())
    if error > max(spread, rounding):
        raise ArgumentError(
            f"approximate: the error of {error:.3g} is larger than {spread:.3g}, by which the function "
            "varies on the domain. Take a higher degree or a smaller domain."
        )
