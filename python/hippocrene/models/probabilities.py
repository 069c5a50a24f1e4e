"""The probabilities of classes, from the scores of a classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hippocrene.models.affine import Affine
from hippocrene.models.nonlinear import Nonlinear, widened

_Doubles = npt.NDArray[np.float64]

# The error of the last logarithm of a softmax. Chosen: all logarithms together then add at most
# 2**-10 to the error of a probability, as much as the sigmoid after them.
_ERROR_OF_LAST_LOGARITHM = 2.0**-9

# The inputs of the last affine map of a classifier. Their columns belong side by side.
Parts: TypeAlias = Sequence[Any]
# A function from these inputs to probabilities of shape ``(rows, classes)``.
Probabilities: TypeAlias = Callable[[Parts], Any]


@dataclass(frozen=True, slots=True)
class Shares:
    """Scores that are the probabilities of the classes themselves."""

    scores: Affine

    def __call__(self, parts: Parts) -> Any:
        """Return the probabilities of all classes, of shape ``(rows, classes)``."""
        return self.scores(*parts)


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """The probabilities of two classes: sigmoids of the score and of its negative.

    `scores` has a column for each class.
    """

    scores: Affine
    sigmoid: Nonlinear

    @classmethod
    def of_sample(cls, scores: Affine, parts: Sequence[_Doubles], margin: float) -> Sigmoid:
        """Return the sigmoids with the interval that the plain `parts` of a sample suggest."""
        return cls(scores, Nonlinear.of_sample("sigmoid", scores(*parts), margin))

    def __call__(self, parts: Parts) -> Any:
        """Return the probabilities of all classes, of shape ``(rows, classes)``."""
        return self.sigmoid(self.scores(*parts))


@dataclass(frozen=True, slots=True)
class Softmax:
    """The softmax of three scores or more, as sigmoids.

    The probability of a class is the sigmoid of minus ``log(sum(exp(d)))``, where `d` are the
    differences of the other scores from its own. The sum is made by adding two terms at a time:
    ``log(exp(a) + exp(b))`` is ``(a + b) / 2 + log(2 * cosh((a - b) / 2))``. All these functions
    have slopes of at most 1. So errors do not grow, however far the scores are apart. Exponentials
    and their reciprocals would need the scores to be close together.

    With ``k`` classes, there are ``k - 2`` of these logarithms, and ``ceil(log2(k - 1))`` of them
    follow one another. Each of those has twice the error of the one before, so that they have about
    the same part in the error of a probability.
    """

    differences: tuple[Affine, ...]
    logarithms: tuple[Nonlinear, ...]
    sigmoid: Nonlinear

    @classmethod
    def of_sample(cls, scores: Affine, parts: Sequence[_Doubles], margin: float) -> Softmax:
        """Return the softmax with the intervals that the plain `parts` of a sample suggest.

        `scores` has a column for each class.
        """
        count = scores.matrix.shape[1]
        ones = np.eye(count)
        # In the map of each step, column `j` is the score of class `j + step` less that of `j`.
        differences = tuple(
            scores.then(Affine(np.roll(ones, -step, axis=1) - ones, np.zeros(count)))
            for step in range(1, count)
        )
        logarithms = []
        rounds = (count - 2).bit_length()

        def combine(a: Any, b: Any, number: int) -> Any:
            error = _ERROR_OF_LAST_LOGARITHM * 2.0 ** (number + 1 - rounds)
            logarithms.append(Nonlinear.of_sample("log_two_cosh", a - b, margin, error))
            return 0.5 * (a + b) + logarithms[-1](a - b)

        total = _folded([difference(*parts) for difference in differences], combine)
        sigmoid = Nonlinear.of_sample("sigmoid", -total, margin)
        return cls(differences, tuple(logarithms), sigmoid)

    def __call__(self, parts: Parts) -> Any:
        """Return the probabilities of all classes, of shape ``(rows, classes)``."""
        logarithms = iter(self.logarithms)
        terms = [difference(*parts) for difference in self.differences]
        total = _folded(terms, lambda a, b, _: 0.5 * (a + b) + next(logarithms)(a - b))
        return self.sigmoid(-total)


@dataclass(frozen=True, slots=True)
class OneVersusRest:
    """Sigmoids of three scores or more, divided by their sum."""

    scores: Affine
    sigmoid: Nonlinear
    reciprocal: Nonlinear

    @classmethod
    def of_sample(cls, scores: Affine, parts: Sequence[_Doubles], margin: float) -> OneVersusRest:
        """Return the function with the intervals that the plain `parts` of a sample suggest.

        `scores` has a column for each class.
        """
        sigmoid = Nonlinear.of_sample("sigmoid", scores(*parts), margin)
        totals = np.sum(sigmoid(scores(*parts)), axis=1)
        # The logarithm of the sum is widened, since the sum is positive. Rounding may make it 0.
        low, high = widened(np.log(totals.clip(np.finfo(np.float64).tiny)), margin)
        reciprocal = Nonlinear("reciprocal", (math.exp(float(low)), math.exp(float(high))))
        return cls(scores, sigmoid, reciprocal)

    def __call__(self, parts: Parts) -> Any:
        """Return the probabilities of all classes, of shape ``(rows, classes)``."""
        shares = self.sigmoid(self.scores(*parts))
        count = shares.shape[1]
        # Every column of this product holds the sum, so that no element moves.
        return shares * self.reciprocal(shares @ np.ones((count, count)))


def class_columns(scores: Affine) -> Affine:
    """Return scores with a column for each class, from those of a classifier of two classes.

    If `scores` has one result for a row, the columns are its negative and itself. If it has two,
    the columns are the differences of each from the other.
    """
    columns = scores.column_wise()
    count = columns.matrix.shape[1]
    signs = [[-1.0, 1.0]] if count == 1 else [[1.0, -1.0], [-1.0, 1.0]]
    return columns.then(Affine(np.array(signs), np.zeros(2)))


def _folded(terms: list[Any], combine: Callable[[Any, Any, int], Any]) -> Any:
    """Combine the terms pair by pair in rounds, until one is left.

    `combine` takes two terms and the number of the round, from 0 on. An odd term waits for the next
    round.
    """
    for number in range((len(terms) - 1).bit_length()):
        pairs = zip(terms[::2], terms[1::2], strict=False)
        waiting = terms[-1:] if len(terms) % 2 else []
        terms = [combine(a, b, number) for a, b in pairs] + waiting
    return terms[0]
