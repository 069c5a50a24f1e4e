"""numpy's sums, means, covariances, counts and sorted values of encrypted arrays."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hippocrene.arrays.advice import refusal
from hippocrene.arrays.encrypted import part_of
from hippocrene.arrays.numbers import NumberArray, halved
from hippocrene.arrays.places import check_size
from hippocrene.arrays.registry import implements, implements_each
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.numpy.arguments import is_encrypted
from hippocrene.values.operands import (
    fractions,
    is_exact_kind,
    numbers,
    real_numbers,
    root,
    to_array,
)
from hippocrene.values.scalars import double

# Functions that are methods.
for _function, _method in {
    **dict.fromkeys((np.amax, np.max), "max"),
    **dict.fromkeys((np.amin, np.min), "min"),
    **{
        f: f.__name__
        for f in (
            *(np.all, np.any, np.argmax, np.argmin, np.argsort, np.cumsum, np.median, np.sort),
            *(np.percentile, np.quantile, np.std, np.trace, np.var),
        )
    },
}.items():
    implements(_function)(_method)
implements(np.mean, options=("where",))("mean")
implements(np.sum, options=("initial", "where"))("sum")
implements(np.prod, options=("initial", "where"))("prod")
implements(np.real)(lambda x: x.real)
implements(np.imag)(lambda x: x.imag)
implements(np.iscomplexobj)(lambda x: x.is_complex)
implements(np.isrealobj)(lambda x: not x.is_complex)


@implements_each(np.partition, np.argpartition)
def partitioning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Sort, which also puts every element where a partition needs it."""
    name = function.__name__.replace("partition", "sort")

    def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Any:
        # numpy refuses invalid places and axes.
        np.partition(np.zeros(a.shape), kth, axis=axis, kind=kind)
        with named(function.__name__, name):
            return getattr(a, name)(axis)

    return partition


@implements(np.ptp)
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    with named("ptp", "max", "min"):
        return a.max(axis, keepdims=keepdims) - a.min(axis, keepdims=keepdims)


@implements(np.diff, several=True)
def _diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    if not is_encrypted(a):
        raise refusal("diff")
    index, times = a._axis(axis, "diff"), operator.index(n)
    if times < 0:
        raise ArgumentError(f"diff: differences are taken 0 times or more, not {times}")
    parts = [one for one in (_end(prepend, a, index), a, _end(append, a, index)) if one is not None]
    if times and len(parts) > 1:
        a = np.concatenate(parts, axis=index)
    if times >= a.shape[index]:
        raise ShapeError(
            f"diff: {times} times along an axis of length {a.shape[index]} would leave no elements"
        )
    for _ in range(times):
        a = part_of(a, index, slice(1, None)) - part_of(a, index, slice(-1))
    return a


def _end(values: Any, a: Any, axis: int) -> Any:
    """Return the array that `diff` joins to an array. A number becomes an array of length 1."""
    if values is None or (is_encrypted(values) and values.ndim):
        return values
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    return np.broadcast_to(values, shape) if np.ndim(values) == 0 else values


@implements(np.average)
def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    mean = weighted_mean(a, axis, weights, keepdims=keepdims)
    if not returned:
        return mean
    return mean, cast("Any", np.average)(
        np.ones(a.shape), axis, weights, returned=True, keepdims=keepdims
    )[1]


def weighted_mean(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """Return the average with plain weights, as `numpy.average` does."""
    if weights is None or not isinstance(a, NumberArray):
        with named("average", "mean"):
            return a.mean(axis, keepdims=keepdims)
    if np.iscomplexobj(weights):
        raise TypeError("average takes real weights, not complex ones")
    given: Any = numbers(weights, "average")
    given = fractions(given, "average") if is_exact_kind(given) else given
    plain = given.astype(np.float64)
    if plain.shape != a.shape:
        if (
            plain.ndim != 1
            or axis is None
            or isinstance(axis, tuple)
            or plain.size != a.shape[a._axis(axis, "average")]
        ):
            raise ShapeError(
                f"average: weights of shape {plain.shape} for axis {axis} of shape {a.shape}"
            )
        given = given.reshape((-1,) + (1,) * (a.ndim - 1 - a._axis(axis, "average")))
    plain = np.broadcast_to(given.astype(np.float64), a.shape)
    axes = tuple(a._axes(axis, "average"))
    total: Any = plain.sum(axis=axes, keepdims=True)
    shares: Any = plain / total if np.all(total) else None
    if shares is None or a._needs_digits(np.max(abs(shares)), "average"):
        exactly = np.broadcast_to(fractions(given, "average"), a.shape)
        total = exactly.sum(axis=axes, keepdims=True)
        if not np.all(total):
            raise ZeroDivisionError("average: weights sum to zero")
        shares = exactly / total
    last = axes == (a.ndim - 1,)
    if (last or (a.ndim, axes) == (2, (0,))) and shares.dtype == np.float64:
        rows = np.moveaxis(shares, axes[0], -1).reshape(-1, a.shape[axes[0]])
        if np.all(rows == rows[0]):
            # A product with one vector has a tighter bound than a product followed by a sum, namely
            # that of the sum of the weights.
            means = a @ rows[0] if last else rows[0] @ a
            return np.expand_dims(means, axes) if keepdims else means
    return (a * shares).sum(axis, keepdims=keepdims)


@implements(np.cov, several=True)
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
    if not is_encrypted(m) or any(is_encrypted(one) for one in (fweights, aweights)):
        raise refusal("cov")
    array: Any = m
    array._need_numbers("cov")
    single, along = array.ndim < 2 or array.shape[0 if rowvar else 1] == 1, 1 if rowvar else 0
    ddof = (0 if bias else 1) if ddof is None else ddof
    with named("cov", "var"):
        if fweights is not None or aweights is not None:
            array, along = (array.reshape(1, -1), 1) if single else (array, along)
            deviations = _weighted_deviations(array, along, ddof, fweights, aweights)
            halvings = None
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
    values = values if is_encrypted(values) else real_numbers(values, "cov")
    if values.ndim < 2:
        return values.reshape(1, -1)
    return values if rowvar else values.T


def _weighted_deviations(m: Any, axis: int, ddof: float, fweights: Any, aweights: Any) -> Any:
    """Return deviations from weighted means, times square roots of normalized weights.

    The weights are divided by the divisor of `numpy.cov`.
    """
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


def _sums(a: Any, groups: Sequence[npt.NDArray[np.int64]], name: str) -> Any:
    """Sum the elements of each group, which is given by places along the last axis."""
    terms = max(1, *(len(group) for group in groups))
    check_size(name, [len(groups), terms])
    places, weights = np.zeros((2, len(groups), terms), dtype=np.int64)
    for group, place, weight in zip(groups, places, weights, strict=True):
        place[: len(group)], weight[: len(group)] = group, 1
    with named(name, "indexing", "numpy.einsum", "einsum"):
        return np.einsum("...gt,gt->...g", a[..., places], weights)


@implements(np.bincount, several=True)
def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    if is_encrypted(x):
        return _counts(x, weights, minlength)
    if not is_encrypted(weights):
        raise refusal("bincount")
    labels = to_array(x, "bincount")
    # numpy refuses invalid labels.
    lengths = np.bincount(labels, minlength=minlength)
    if labels.shape != weights.shape:
        raise ShapeError(f"bincount: {labels.size} labels for weights of shape {weights.shape}")
    order = np.argsort(labels, kind="stable")
    return _sums(weights, np.split(order, np.cumsum(lengths)[:-1]), "bincount")


def _counts(x: Any, weights: Any, bins: Any) -> Any:
    """Count the values 0, 1, and so on, or add up their weights, as `numpy.bincount` does.

    The values are encrypted integers below `bins`, the number of results.
    """
    count = operator.index(bins)
    if count < 1:
        raise ArgumentError(
            f"bincount: the number of bins is public: pass it as minlength, 1 or more, not {count}"
        )
    if x.ndim != 1 or (weights is not None and np.shape(weights) != x.shape):
        of_weights = "" if weights is None else f", weights of shape {np.shape(weights)}"
        raise ShapeError(
            f"bincount: the values have the shape {x.shape}{of_weights}. Values with one axis are "
            "needed, and weights of the same shape."
        )
    with named("bincount", "entries_of", "numpy.stack", "multiply", "sum"):
        ones = x.entries_of(np.eye(count, dtype=np.int64))
        if weights is not None:
            column: Any = weights if is_encrypted(weights) else np.asarray(weights)
            ones = ones * column[:, None]
        return ones.sum(axis=0)


@implements(np.histogram, several=True)
def histogram(*args: Any, **keywords: Any) -> Any:
    """Return the sums of the encrypted weights of plain values in each bin, and the bin edges."""
    asked = inspect.signature(np.histogram).bind(*args, **keywords)
    asked.apply_defaults()
    a, bins, ends, density, weights = (
        asked.arguments[name] for name in ("a", "bins", "range", "density", "weights")
    )
    if not is_encrypted(weights) or any(is_encrypted(one) for one in (a, bins, ends)):
        raise refusal("histogram")
    if density:
        raise TypeError(
            "numpy.histogram takes no density= for encrypted weights. Decrypt the sums, and divide them "
            "by their total and by the widths of the bins."
        )
    values = to_array(a, "histogram")
    if values.shape != weights.shape:
        raise ShapeError(
            f"histogram: values of shape {values.shape} for weights of shape {weights.shape}"
        )
    edges = np.histogram_bin_edges(values, bins, ends)
    count = len(edges) - 1
    # The last bin includes its upper edge. Values beyond the edges get the extra bin `count`.
    bin_of = np.where(
        values == edges[-1], count - 1, np.searchsorted(edges, values, side="right") - 1
    ).ravel()
    bin_of[(bin_of < 0) | (bin_of > count)] = count
    lengths, order = np.bincount(bin_of, minlength=count + 1), np.argsort(bin_of, kind="stable")
    return _sums(
        weights.ravel(), np.split(order, np.cumsum(lengths)[:-1])[:count], "histogram"
    ), edges


@implements(np.add.reduceat, several=True)
def reduceat(a: Any, indices: Any, axis: Any = 0) -> Any:
    """Sum slices along an axis, as `numpy.add.reduceat` does."""
    if not is_encrypted(a) or is_encrypted(indices):
        raise refusal("add.reduceat")
    index = a._axis(axis, "add.reduceat")
    length = a.shape[index]
    starts = to_array(indices, "add.reduceat")
    if starts.ndim != 1 or not starts.size:
        raise ShapeError(
            f"add.reduceat: the indices have the shape {starts.shape}. One axis with at least one "
            "element is needed."
        )
    # numpy refuses invalid indices.
    np.add.reduceat(np.zeros(length), starts)
    ends = [*starts[1:], length]
    groups = [
        np.arange(first, max(first + 1, end)) for first, end in zip(starts, ends, strict=True)
    ]
    return np.moveaxis(_sums(np.moveaxis(a, index, -1), groups, "add.reduceat"), -1, index)


@implements("cumulative_sum")
def _cumulative_sum(x: Any, axis: Any = None, *, include_initial: bool = False) -> Any:
    if axis is None and x.ndim != 1:
        raise ShapeError(f"cumulative_sum: axis= is needed for an array of shape {x.shape}")
    sums = x.cumsum(0 if axis is None else axis)
    if not include_initial:
        return sums
    index = x._axis(0 if axis is None else axis, "cumulative_sum")
    zeros = np.zeros([1 if i == index else n for i, n in enumerate(x.shape)], dtype=np.int64)
    return np.concatenate([zeros, sums], axis=index)


@implements(np.ediff1d)
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    with named("ediff1d", "diff"):
        parts = [np.diff(ary.ravel())]
    if to_begin is not None:
        parts.insert(0, np.ravel(to_begin))
    if to_end is not None:
        parts.append(np.ravel(to_end))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
