"""Polynomials that stand for other functions, with their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.polynomial import Chebyshev

from hippocrene import _native
from hippocrene.encrypted import Encrypted
from hippocrene.errors import ArgumentError
from hippocrene.scalars import double, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from hippocrene.array import EncryptedArray

# The largest degree.
MOST = 255


@dataclass(frozen=True, slots=True, eq=False)
class Approximation:
    """A polynomial that stands for a function on a domain: see `approximate`.

    Called, it is evaluated at plain values as a class of `numpy.polynomial` is, and at those of an
    encrypted array as `EncryptedArray.polynomial` does, which takes it too.

    - `series`: the polynomial, as numpy has it.
    - `error`: how far it is from the function at most.
    """

    series: Chebyshev
    error: float

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """The coefficients of Chebyshev's polynomials of the domain, that of the constant first."""
        return np.array(self.series.coef)

    @property
    def degree(self) -> int:
        """The degree."""
        return int(self.series.degree())

    @property
    def domain(self) -> tuple[float, float]:
        """Where it stands for the function."""
        return float(self.series.domain[0]), float(self.series.domain[1])

    @overload
    def __call__(self, x: EncryptedArray) -> EncryptedArray: ...
    @overload
    def __call__(self, x: npt.ArrayLike) -> Any: ...
    def __call__(self, x: Any) -> Any:
        """Evaluate it at every value of a plain or an encrypted array."""
        if isinstance(x, Encrypted):
            return cast("EncryptedArray", x).polynomial(self)
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
    """Return the polynomial that is nearest to a function on a domain, and how far it is from it at most.

    It is of `degree`, up to 255, or of the least degree whose error is at most `error`: one of the
    two is said. Of all polynomials of its degree it is the one whose largest error is least
    (Remez). `function` takes and returns one number. Where it is even or odd about the middle of
    the domain, so is the polynomial.

    Finitely many values bound no error. Where it is known that the absolute values of a derivative
    are bounded, ``derivative=(order, bound)`` says so, order 1 being a Lipschitz constant, and the
    error is certain. Where it is not said, the error is taken from how fast the coefficients of the
    function's own Chebyshev series fall, which holds for functions that are no wilder than a few
    thousand of their values show. Coefficients are doubles: errors below about ``2**-44`` of the
    largest value are out of reach.

    At an encrypted array, the noise of the computation comes on top, which `precision_bits` tells;
    the error of the polynomial is not in it.
    """
    if not callable(function):
        raise TypeError(f"approximate takes a function, not {type(function).__name__}")
    if (degree is None) == (error is None):
        raise ArgumentError("approximate: either the degree or the error is said")
    ends = _pair(domain, "a domain is two numbers, (low, high)")
    steep = (
        None
        if derivative is None
        else _pair(derivative, "derivative is an order and a bound, (order, bound)")
    )
    low, high = (double(end, "an end of a domain") for end in ends)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(
            f"approximate: the domain from {low:g} to {high:g} is no interval: it is two numbers, the lower one first"
        )
    coefficients, found = _native.approximate(
        lambda x: double(function(x), "what the function returned"),
        (low, high),
        None if degree is None else whole(degree, "degree", 0, MOST),
        0.0 if error is None else double(error, "an error"),
        None if steep is None else (whole(steep[0], "order", 1, 64), double(steep[1], "a bound")),
    )
    return Approximation(Chebyshev(coefficients, domain=[low, high]), found)


def _pair(pair: Any, what: str) -> tuple[Any, Any]:
    several = isinstance(pair, (tuple, list)) or (isinstance(pair, np.ndarray) and pair.ndim)
    if not several or len(pair) != 2 or not all(isinstance(x, Number) for x in pair):
        raise TypeError(f"{what}, not {pair!r}")
    return pair[0], pair[1]
