"""Lloyd's iterations of k-means as a function of encrypted arrays, to be compiled to a program.

An iteration has three parts:

- **Scores.** The score of a point `x` for a centroid `c` is ``x . c - |c|**2 / 2``. The nearest
  centroid has the highest score. One product gives all scores, and a plain matrix gives the
  differences of all pairs.
- **Memberships.** One comparison of all differences gives bits. The product of the bits of a
  cluster is the membership of the point: 1 for the nearest centroid and 0 for the others.
- **Steps.** A centroid `c` moves by ``r * sum_i m_i (x_i - c)``, with the memberships `m`. The
  factor `r` is a polynomial of the sum of the memberships (see `reciprocal`). An error of `r` only
  changes the length of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev

from hippocrene.compiling import compile  # noqa: A004
from hippocrene.errors import ArgumentError
from hippocrene.requirements import Bootstrapping
from hippocrene.specs import Spec

if TYPE_CHECKING:
    from hippocrene.program import Program

RADIUS = 2 / 3
"""The largest norm of points and of initial centroids. Differences of scores are then below 1."""

# A bound on the norms of centroids. A step is at most 2.12 radii long, and leads at most 2 % beyond
# a mean of points. The rest is for errors. Differences of scores are at most half of the square of
# the largest distance, which is 2.12 radii.
_CENTROID_BOUND = 1.12 * RADIUS

# A bound on the lengths of steps.
_STEP_BOUND = 2.2 * RADIUS

# Differences of scores that are told from 0. Points with a smaller one belong to both clusters in
# part. Chosen: in units of the radius, it is 1/14 for the squared distances.
_GAP = 1 / 64

# Requested precisions in bits after the binary point. Chosen: the centroids of 150 points in 3
# clusters then have an error with a standard deviation of about 2**-9 after an iteration.
_POINT_BITS = 18.0
_SCORE_BITS = 14.0
_MEMBER_BITS = 9.0
_SUM_BITS = 18.0
_RECIPROCAL_BITS = 8.0
_STEP_BITS = 14.0
# Comparisons are within 2**-8 of 0 or 1, half of the precision.
_COMPARISON_BITS = 7.0
# Declared precision of differences. An error of a centroid moves the border of its cluster, and is
# no error of the differences. So it does not count here.
_DIFFERENCE_BITS = 11.0
# With less precision, comparisons are refused, and with more there is less capacity.
_BOOTSTRAP_BITS = 10.5

# Makes the unit of the points larger, so that rounding moves no point out of the ball. Chosen, far
# above the rounding of a few operations on doubles.
_ROUNDING = 1 + 2.0**-40

# Clusters with less than this share of the mean size move only a part of the way.
_SMALL_CLUSTER_SHARE = 0.25
# Largest relative error of a reciprocal, for clusters that are not small. Chosen.
_MAX_STEP_ERROR = 1 / 50


def compile_lloyd(
    shape: tuple[int, int],
    n_clusters: int,
    max_iter: int,
    *,
    preset: str,
    max_memory: int | str | None,
) -> Program:
    """Compile Lloyd's algorithm for points of shape ``(n_samples, n_features)``."""
    samples, features = shape
    return compile(
        lloyd(n_clusters, max_iter),
        Spec((samples, n_clusters, features), (-RADIUS, RADIUS)),
        Spec((n_clusters, features), (-_CENTROID_BOUND, _CENTROID_BOUND)),
        preset=preset,
        precision=_POINT_BITS,
        bootstrapping=Bootstrapping(precision=_BOOTSTRAP_BITS),
        max_memory=max_memory,
    )


def lloyd(n_clusters: int, max_iter: int) -> Callable[[Any, Any], Any]:
    """Return Lloyd's algorithm as a function of encrypted `points` and the centroids to `start`.

    The points have the shape ``(n_samples, n_clusters, n_features)``: each point is repeated for
    every cluster, so that the server need not copy them. The start has the shape
    ``(n_clusters, n_features)``. Norms are at most `RADIUS`. There are at least two clusters.

    The function returns the centroids after `max_iter` iterations, in the same units.
    """
    own = np.eye(n_clusters)
    # Column (j, p) is the score of cluster j minus that of another one.
    pairs = [own[j] - own[j - p] for j in range(n_clusters) for p in range(1, n_clusters)]
    differences = np.array(pairs).T

    def fit(points: Any, start: Any) -> Any:
        shape, count = points.shape, points.shape[0]
        # Memberships count in units of a power of two, since a division by it is exact.
        unit = 1 << (count - 1).bit_length()
        inverse = reciprocal(n_clusters, count / unit)
        rows = points.with_precision(_SCORE_BITS)

        def moved(centres: Any, refresh: Callable[[Any], Any]) -> Any:
            centres = refresh(centres).with_precision(_POINT_BITS)
            near = centres.with_precision(_SCORE_BITS)
            scores = ((rows - 0.5 * near) * near).sum(axis=2)
            ahead = (scores @ differences).reshape(count, n_clusters, n_clusters - 1)
            ahead = ahead.with_interval((-1, 1)).with_precision_bits(_DIFFERENCE_BITS)
            ahead = ahead.with_precision(_MEMBER_BITS)
            bits = ahead.greater(0, gap=_GAP, precision=_COMPARISON_BITS, at_ties=0.5)
            won = refresh(bits.prod(axis=2, keepdims=True))
            members = _repeated(won, shape) * (1 / unit)
            factors = members.sum(axis=0).with_precision(_RECIPROCAL_BITS).polynomial(inverse)
            steps = (members.with_precision(_SUM_BITS) * (points - centres)).sum(axis=0)
            factors, steps = (one.with_precision(_STEP_BITS) for one in (factors, steps))
            after = centres + (factors * steps).with_interval((-_STEP_BOUND, _STEP_BOUND))
            return after.with_interval((-_CENTROID_BOUND, _CENTROID_BOUND))

        centres = moved(start, lambda array: array)
        for _ in range(1, max_iter):
            centres = moved(centres, _refreshed)
        return centres

    return fit


def _repeated(array: Any, shape: tuple[int, ...]) -> Any:
    """Return `numpy.broadcast_to` of an encrypted array, whose type numpy does not know."""
    return np.broadcast_to(array, shape)


def _refreshed(array: Any) -> Any:
    """Bootstrap an array if the program has bootstraps.

    Operations bootstrap each of their operands where they lack capacity. Here, one bootstrap serves
    all operations that use the array.
    """
    server = array.server
    return server.bootstrap(array) if server.bootstrapping else array


def frame(
    points: npt.NDArray[np.float64], start: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], float]:
    """Return the mean of the points and the unit in which the largest norm is `RADIUS`.

    Points and initial centroids, less the mean and divided by the unit, have norms of at most
    `RADIUS`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        middle = points.mean(axis=0)
        away = np.concatenate([points, start]) - middle
        # Squares of very large or very small numbers would overflow or underflow.
        largest = float(np.abs(away).max()) or 1.0
        norm = float(np.linalg.norm(away / largest, axis=1).max()) or 1.0
        unit = largest * norm / RADIUS * _ROUNDING
    if not np.isfinite(unit):
        raise ArgumentError(
            "k-means: the points are too large, so that their distances exceed the largest double. "
            "Measure them in a larger unit."
        )
    return middle, unit


def reciprocal(n_clusters: int, whole: float) -> Chebyshev:
    """Return a polynomial near the reciprocal of `s`, the size of a cluster.

    The size of all clusters together is `whole`. The product of `s` and the polynomial rises from 0
    for an empty cluster to about 1. It is ``1 - T(z(s)) / T(z(0))``. Here `T` is a Chebyshev
    polynomial, and `z` maps the interval from the size of a small cluster to `whole` to
    ``[-1, 1]``. Among the polynomials of this degree and value at 0, `T` is the smallest there.
    """
    small = _SMALL_CLUSTER_SHARE / n_clusters
    at_zero = (1 + small) / (1 - small)
    degree = 2
    while np.cosh(degree * np.arccosh(at_zero)) < 1 / _MAX_STEP_ERROR:
        degree *= 2
    rest = Chebyshev.basis(degree, domain=[small, 1])

    def of_share(share: Any) -> Any:
        return (1 - rest(share) / rest(0.0)) / share

    # Memberships are products of bits, each with an error of 2**-8 at most.
    margin = n_clusters * 2.0 ** -(_COMPARISON_BITS + 1)
    domain = np.array([-margin, 1 + margin])
    of_shares = Chebyshev.interpolate(of_share, degree - 1, domain)
    return Chebyshev(np.asarray(of_shares.coef, np.float64) / whole, domain=whole * domain)
