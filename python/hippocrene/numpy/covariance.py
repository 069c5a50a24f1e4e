"""numpy's covariances of encrypted variables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hippocrene.arrays.encrypted import Encrypted
from hippocrene.arrays.reductions import halved, weighted_mean
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.numpy.ufuncs import refusal
from hippocrene.values.exact import fractions, root
from hippocrene.values.operands import real_numbers, to_array
from hippocrene.values.scalars import double


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    """Estimate covariances as `numpy.cov` does, with plain weights."""
    for one in (m, y):
        if np.ndim(one) > 2:
            raise ShapeError(f"cov takes arrays of one or two axes, not shape {np.shape(one)}")
    if y is not None:
        m, rowvar = np.concatenate([_variables(one, rowvar=rowvar) for one in (m, y)]), True
    if not isinstance(m, Encrypted) or any(
        isinstance(one, Encrypted) for one in (fweights, aweights)
    ):
        raise refusal("cov")
    array: Any = m
    single, along = array.ndim < 2 or array.shape[0 if rowvar else 1] == 1, 1 if rowvar else 0
    ddof = (0 if bias else 1) if ddof is None else ddof
    with named("cov", "var"):
        if fweights is not None or aweights is not None:
            array, along = (array.reshape(1, -1), 1) if single else (array, along)
            deviations, halvings = (
                _weighted_deviations(array, along, ddof, fweights, aweights),
                None,
            )
        elif single:
            return array._squared_deviations(None, ddof)
        else:
            deviations, halvings = array._centred(along, ddof)
    finer = deviations if halvings is not None else deviations._finer(array.shape[along])
    other = finer.conj() if array._held.is_complex else finer
    products = (finer * other).sum() if single else finer @ other.T if along else finer.T @ other
    return (
        products.with_precision(deviations.precision)
        if halvings is None
        else halved(products, halvings)
    )


def _variables(values: Any, *, rowvar: bool) -> Any:
    """Return variables as rows."""
    values = values if isinstance(values, Encrypted) else real_numbers(values, "cov")
    if values.ndim < 2:
        return values.reshape(1, -1)
    return values if rowvar else values.T


def _weighted_deviations(m: Any, axis: int, ddof: float, fweights: Any, aweights: Any) -> Any:
    """Return deviations from weighted means, times square roots of normalized weights.

    The weights are divided by the divisor of `numpy.cov`.
    """
    if m.plain_modulus is not None:
        raise TypeError(
            "encrypted integers have no variance: take sums of them and of their squares"
        )
    count = m.shape[axis]
    counts, sizes = (
        _weights(name, one, count) for name, one in (("fweights", fweights), ("aweights", aweights))
    )
    if any(one.denominator != 1 for one in counts):
        raise TypeError("cov: fweights are integers")
    weights = counts * sizes
    total, less = Fraction(weights.sum()), Fraction(double(ddof, "ddof"))
    if total and aweights is not None:
        less *= (weights * sizes).sum() / total
    if not total > less:
        raise ArgumentError(
            f"cov: weights that sum to {float(total):g}, less {float(less):g}, leave nothing to divide by"
        )
    roots: Any = np.array([root(weight / (total - less)) for weight in weights])
    if not m._needs_digits(1.0, "cov"):
        weights, roots = weights.astype(np.float64), roots.astype(np.float64)
    return (m - weighted_mean(m, axis, weights, keepdims=True)) * (
        roots if axis else roots[:, np.newaxis]
    )


def _weights(name: str, given: Any, count: int) -> Any:
    if given is None:
        return np.full(count, Fraction(1))
    weights = fractions(to_array(given, f"cov: {name}"), f"cov: {name}")
    if weights.shape != (count,):
        raise ShapeError(f"cov: {name} of shape {weights.shape} for {count} observations")
    if any(one < 0 for one in weights):
        raise ArgumentError(f"cov: {name} are numbers from 0 on")
    return weights
