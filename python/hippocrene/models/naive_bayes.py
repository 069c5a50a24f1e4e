"""Gaussian naive Bayes, whose scores are polynomials of degree 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hippocrene.errors import ArgumentError
from hippocrene.models.affine import Affine
from hippocrene.models.fitted import array_of


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """The squares of the results of an affine map, followed by the results themselves."""

    before: Affine | None
    """The affine map, or None for the identity, which needs no product."""

    def __call__(self, x: Any) -> tuple[Any, ...]:
        """Return squares and values of an encrypted or a plain array of rows, each as an array."""
        values = x if self.before is None else self.before(x)
        return values * values, values


def joint_log_likelihoods(classifier: Any, before: Affine) -> tuple[Squares, Affine]:
    """Return the joint log likelihoods of a fitted `GaussianNB` as an affine map of squares.

    `before` maps rows of values from -1 to 1 to the features that the classifier was fitted to.
    """
    if before.is_scaling:
        squares, features = Squares(None), before
    else:
        # The values whose squares are taken are scaled to the interval from -1 to 1 too.
        sizes = np.sum(np.abs(before.matrix), axis=0) + np.abs(before.shift)
        sizes[sizes == 0] = 1.0
        squares = Squares(before.then(Affine.scaling(1.0 / sizes)))
        features = Affine.scaling(sizes)
    factors, shift = np.diagonal(features.matrix), features.shift
    variances, priors = array_of(classifier, "var_"), array_of(classifier, "class_prior_")
    if not (np.all(variances > 0) and np.all(priors > 0)):
        raise ArgumentError(
            "from_sklearn: this GaussianNB has a variance or a prior probability of 0, and "
            "positive ones are needed. Fit it with a positive var_smoothing and positive priors."
        )
    weights, offsets = 0.5 / variances, shift - array_of(classifier, "theta_")
    constants = (
        np.log(priors)
        - 0.5 * np.sum(np.log(2.0 * np.pi * variances), axis=1)
        - np.sum(weights * offsets**2, axis=1)
    )
    of_squares, of_values = -weights * factors**2, -2.0 * weights * offsets * factors
    return squares, Affine(np.concatenate([of_squares.T, of_values.T]), constants)
