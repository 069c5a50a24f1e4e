"""Linear models of scikit-learn, and k-means, whose scores are linear too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hippocrene.errors import ArgumentError
from hippocrene.models.affine import Affine
from hippocrene.models.fitted import array_of, name_of


def linear_scores(classifier: Any) -> Affine:
    """Return the decision function of a linear classifier.

    It has one score for each row if there are two classes, and otherwise one for each class.
    """
    coefficients = np.atleast_2d(array_of(classifier, "coef_"))
    needed = 1 if len(classifier.classes_) == 2 else len(classifier.classes_)
    if len(coefficients) != needed:
        raise ArgumentError(
            f"from_sklearn: coef_ of {name_of(classifier)} has {len(coefficients)} rows, and "
            f"{needed} are needed for {len(classifier.classes_)} classes. Fit it to one target."
        )
    shift = np.broadcast_to(array_of(classifier, "intercept_").reshape(-1), (needed,))
    if needed == 1:
        return Affine(coefficients[0], shift[0])
    return Affine(coefficients.T, shift)


def linear_predictions(regressor: Any, axes: int) -> Affine:
    """Return the predictions of a linear regressor, which have one or two axes.

    With one axis, there is one number for each row. With two axes, there is one for each target.
    The shift is the prediction for a row of zeros. It need not be `intercept_`, because models such
    as `PLSRegression` subtract the means of the columns first.
    """
    coefficients = np.atleast_2d(array_of(regressor, "coef_"))
    zeros = np.zeros((1, coefficients.shape[1]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A model that was fitted to named columns warns about rows without names.
        warnings.simplefilter("ignore")
        try:
            shift = np.asarray(regressor.predict(zeros), dtype=np.float64).reshape(-1)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"from_sklearn: predict of {name_of(regressor)} fails for a row of zeros: {error}. "
                "Fit a model of one of the supported classes instead."
            ) from None
    if shift.shape != (len(coefficients),) or not np.all(np.isfinite(shift)):
        raise ArgumentError(
            f"from_sklearn: {name_of(regressor)} predicts {shift} for a row of zeros, and "
            f"{len(coefficients)} finite numbers are needed, one for each row of coef_. Fit a model "
            "of one of the supported classes instead."
        )
    return Affine(coefficients[0], shift[0]) if axes == 1 else Affine(coefficients.T, shift)


def cluster_scores(clusters: Any) -> Affine:
    """Return a score for each cluster of k-means. The nearest centre has the largest score.

    A score is minus half of the squared distance to a centre, plus half of the squared length of
    the row. That length is the same for all clusters. Without it, the scores are linear.
    """
    centres = array_of(clusters, "cluster_centers_")
    return Affine(centres.T, -0.5 * np.sum(centres**2, axis=1))
