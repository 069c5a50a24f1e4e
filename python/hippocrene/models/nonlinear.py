"""Nonlinear functions inside of models, on intervals that a public sample suggests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError
from hippocrene.numpy.activations import relu, sigmoid

_Doubles = npt.NDArray[np.float64]


def _log_two_cosh(value: Any) -> Any:
    """Return ``log(2 * cosh(value / 2))``."""
    return np.logaddexp(0.5 * value, -0.5 * value)


# Each function for plain arrays.
_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log_two_cosh": _log_two_cosh,
    "reciprocal": np.reciprocal,
    "relu": relu,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
}


@dataclass(frozen=True, slots=True)
class Nonlinear:
    """A function of one number that a model applies to every value of an array.

    - `name`: ``"exp"``, ``"log_two_cosh"`` (of half the value), ``"reciprocal"``, ``"relu"``,
      ``"sigmoid"`` or ``"tanh"``.
    - `interval`: the ends of the interval where the values are expected. An encrypted array has
      an interval that is proved from its inputs. The values are taken to lie in both intervals.
    - `error`: the largest error of ``"log_two_cosh"`` for an encrypted array that is precise
      enough. The other functions have the error of the method of `NumberArray` with their name.
    """

    name: str
    interval: tuple[float, float]
    error: float | None = None

    @classmethod
    def of_sample(
        cls, name: str, values: _Doubles, margin: float, error: float | None = None
    ) -> Nonlinear:
        """Return the function with the interval that the plain `values` of a sample suggest.

        The axes of `values` are rows and columns. See `widened` for `margin`.
        """
        low, high = widened(values, margin)
        ends = float(np.min(low)), float(np.max(high))
        # A sample with one value only does not tell how far other values are away.
        return cls(name, ends if ends[0] < ends[1] else (-math.inf, math.inf), error)

    def __call__(self, x: Any) -> Any:
        """Return the values of the function, for an encrypted or a plain array.

        Plain arrays are computed to double precision, and their interval is not checked.

        An `ArgumentError` is raised if the interval is too wide for polynomials of the encrypted
        array, if the array is not precise enough, or if a simulated value is outside of the
        interval.
        """
        if isinstance(x, np.ndarray):
            return _PLAIN[self.name](x)
        low, high = x.interval
        # A declaration of a wider interval would replace the proved one.
        if not self.interval[0] <= low <= high <= self.interval[1]:
            with _advising("Pass from_sklearn a larger margin, or a sample that covers such rows."):
                x = x.with_interval(self.interval)
        with _advising(
            "Pass from_sklearn a smaller margin, encrypt with a higher precision, or send scores "
            "instead of probabilities."
        ):
            return self._of_encrypted(x)

    def _of_encrypted(self, x: Any) -> Any:
        if self.name == "log_two_cosh":
            # An error below that of the array is refused.
            error = max(cast("float", self.error), 2.0**-x.precision_bits)
            # An even function on a symmetric domain takes half of the coefficients.
            return x.apply(_log_two_cosh, domain=(-x.bound, x.bound), error=error)
        if self.name == "reciprocal":
            return x.reciprocal(domain=x.interval)
        return getattr(x, self.name)()


@contextmanager
def _advising(advice: str) -> Iterator[None]:
    """Replace the advice in an `ArgumentError` of the block by what users of models can do."""
    try:
        yield
    except ArgumentError as error:
        problem = str(error).partition(". ")[0]
        raise ArgumentError(f"{problem}. {advice}") from error


def widened(values: _Doubles, margin: float) -> tuple[_Doubles, _Doubles]:
    """Return the interval of each column, widened by the factor `margin` about its centre.

    `values` has the shape ``(rows, columns)``, or ``(rows,)`` for one column. The result is the
    low ends and the high ends of the columns.
    """
    low, high = np.min(values, axis=0), np.max(values, axis=0)
    centre, half_width = 0.5 * low + 0.5 * high, margin * (0.5 * high - 0.5 * low)
    return centre - half_width, centre + half_width
