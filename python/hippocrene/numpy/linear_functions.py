"""numpy's functions that are linear in encrypted values, and choices by conditions.

They are sums of groups, fits, interpolation, and the like.
"""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from hippocrene.arrays.encrypted import Encrypted
from hippocrene.arrays.entries import choose, counts
from hippocrene.arrays.moves import check_size
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.numpy.products import mapped
from hippocrene.numpy.ufuncs import compute, refusal
from hippocrene.values.operands import numbers, real_numbers, to_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt


def _secret(x: object) -> bool:
    return isinstance(x, Encrypted)


# Sums of groups of elements


def _sums(a: Any, groups: Sequence[npt.NDArray[np.int64]], name: str) -> Any:
    """Sum the elements of each group, which is given by places along the last axis."""
    terms = max(1, *(len(group) for group in groups))
    check_size(name, [len(groups), terms])
    places, weights = np.zeros((2, len(groups), terms), dtype=np.int64)
    for group, place, weight in zip(groups, places, weights, strict=True):
        place[: len(group)], weight[: len(group)] = group, 1
    with named(name, "indexing", "numpy.einsum", "einsum"):
        return np.einsum("...gt,gt->...g", a[..., places], weights)


def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    if _secret(x):
        return counts(x, weights, minlength)
    if not _secret(weights):
        raise refusal("bincount")
    labels = to_array(x, "bincount")
    # numpy refuses invalid labels.
    lengths = np.bincount(labels, minlength=minlength)
    if labels.shape != weights.shape:
        raise ShapeError(f"bincount: {labels.size} labels for weights of shape {weights.shape}")
    order = np.argsort(labels, kind="stable")
    return _sums(weights, np.split(order, np.cumsum(lengths)[:-1]), "bincount")


def _histogram(*args: Any, **keywords: Any) -> Any:
    """Return the sums of the encrypted weights of plain values in each bin, and the bin edges."""
    asked = inspect.signature(np.histogram).bind(*args, **keywords)
    asked.apply_defaults()
    a, bins, ends, density, weights = (
        asked.arguments[name] for name in ("a", "bins", "range", "density", "weights")
    )
    if not _secret(weights) or any(_secret(one) for one in (a, bins, ends)):
        raise refusal("histogram")
    if density:
        raise TypeError(
            "numpy.histogram takes no density= of encrypted weights: divide the sums by that of all"
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


def reduceat(a: Any, indices: Any, axis: Any = 0) -> Any:
    """Sum slices along an axis, as `numpy.add.reduceat` does."""
    if not _secret(a) or _secret(indices):
        raise refusal("add.reduceat")
    index = a._axis(axis, "add.reduceat")
    length = a.shape[index]
    starts = to_array(indices, "add.reduceat")
    if starts.ndim != 1 or not starts.size:
        raise ShapeError(
            f"add.reduceat: indices of shape {starts.shape}, where one axis of one or more is needed"
        )
    # numpy refuses invalid indices.
    np.add.reduceat(np.zeros(length), starts)
    ends = [*starts[1:], length]
    groups = [
        np.arange(first, max(first + 1, end)) for first, end in zip(starts, ends, strict=True)
    ]
    return np.moveaxis(_sums(np.moveaxis(a, index, -1), groups, "add.reduceat"), -1, index)


def _cumulative_sum(x: Any, axis: Any = None, *, include_initial: bool = False) -> Any:
    if axis is None and x.ndim != 1:
        raise ShapeError(f"cumulative_sum: axis= says along which axis of shape {x.shape}")
    sums = x.cumsum(0 if axis is None else axis)
    if not include_initial:
        return sums
    index = x._axis(0 if axis is None else axis, "cumulative_sum")
    zeros = np.zeros([1 if i == index else n for i, n in enumerate(x.shape)], dtype=np.int64)
    return np.concatenate([zeros, sums], axis=index)


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    with named("ediff1d", "diff"):
        parts = [np.diff(ary.ravel())]
    if to_begin is not None:
        parts.insert(0, np.ravel(to_begin))
    if to_end is not None:
        parts.append(np.ravel(to_end))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


# Linear maps whose factors are computed from plain numbers


def _polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    if not _secret(y) or _secret(x) or _secret(w):
        raise TypeError("numpy.polyfit is for encrypted values at plain places")
    if full or cov:
        raise TypeError(
            "numpy.polyfit of encrypted values gives the coefficients alone: no full= and no cov="
        )
    if y.ndim not in (1, 2):
        raise ShapeError(f"polyfit takes values of one or two axes, not shape {y.shape}")
    places, weights = real_numbers(x, "polyfit"), None if w is None else real_numbers(w, "polyfit")
    # numpy refuses invalid arguments.
    coefficients = np.polyfit(places, np.eye(y.shape[0]), deg, rcond, w=weights)
    powers = np.vander(places, len(coefficients)) * (1 if weights is None else weights[:, None])
    condition = float(np.linalg.cond(powers / np.linalg.norm(powers, axis=0)))
    return mapped("polyfit", lambda _: coefficients.T, y, 0, condition=condition)


def _solve(a: Any, b: Any) -> Any:
    if _secret(a):
        raise refusal("linalg.solve")
    matrix = to_array(a, "linalg.solve")
    if matrix.ndim != 2 or b.ndim > 2:
        what = f"shapes {matrix.shape} and {b.shape}, where a plain matrix and a vector or a matrix are needed"
        raise ShapeError(f"linalg.solve: {what}")
    if matrix.shape != b.shape[:1] * 2:
        raise ShapeError(f"linalg.solve: shapes {matrix.shape} and {b.shape}")
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(f"linalg.solve: {error}") from None
    return mapped(
        "linalg.solve", lambda _: inverse.T, b, 0, condition=float(np.linalg.cond(matrix))
    )


def _fftn(name: str) -> Callable[..., Any]:
    """Return a transform along several axes, in numpy's order.

    By default, the functions of two dimensions use the last two axes, and the others use all.
    """
    of_one = getattr(np.fft, name.rstrip("2n"))
    of_two = name.endswith("2")

    def transform(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        if axes is None:
            axes = (-2, -1) if of_two else range(-(a.ndim if s is None else len(s)), 0)
        lengths = [None] * len(axes) if s is None else list(s)
        if len(lengths) != len(axes):
            raise ShapeError(f"fft.{name}: {len(lengths)} lengths for {len(axes)} axes")
        for n, axis in reversed(list(zip(lengths, axes, strict=True))):
            # -1 keeps the length of the axis.
            a = of_one(a, None if n == -1 else n, a._axis(axis, f"fft.{name}"), norm)
        return a

    return transform


def interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any) -> Any:
    """Interpolate encrypted values, which are given at plain places, at other plain places."""
    fp._refuse_integers("interp")
    at, places = (real_numbers(points, "interp") for points in (x, xp))
    if fp.ndim != 1 or places.shape != fp.shape:
        raise ShapeError(f"interp: places of shape {places.shape} for values of shape {fp.shape}")
    if np.isnan(at).any() or not np.isfinite(places).all():
        raise ArgumentError("interp: places are numbers, and those of values finite ones")
    sources = np.arange(fp.size)
    if period is not None:
        # Reduce the places by the period, and repeat the ends, as numpy does.
        length = abs(float(period))
        if not length > 0:
            raise ArgumentError(f"interp: a period is not {period}")
        at, places = at % length, places % length
        sources = np.argsort(places, kind="stable")
        places = places[sources]
        places = np.concatenate([places[-1:] - length, places, places[:1] + length])
        sources = np.concatenate([sources[-1:], sources, sources[:1]])
    elif (np.diff(places) < 0).any():
        raise ArgumentError("interp: the places of values do not increase")
    # The integer part gives the two neighbours, and the fraction gives their weights.
    where = np.interp(at, places, np.arange(places.size, dtype=np.float64))
    first = np.minimum(where.astype(np.int64), max(places.size - 2, 0))
    second = np.minimum(first + 1, places.size - 1)
    part = where - first
    weights = np.stack([1 - part, part], axis=-1)
    beyond = np.zeros(at.shape)
    if period is None:
        for value, outside in ((left, at < places[0]), (right, at > places[-1])):
            if value is not None:
                weights[outside] = 0
                beyond = np.where(outside, real_numbers(value, "interp"), beyond)
    with named("interp", "indexing", "numpy.einsum", "einsum"):
        between = fp[sources[np.stack([first, second], axis=-1)]]
        values = fp._rounded(np.einsum("...t,...t->...", between, weights), 1.0)
    return values + beyond if np.any(beyond) else values


# Choices by plain conditions


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions, choices = list(condlist), list(choicelist)
    if len(conditions) != len(choices) or not conditions:
        what = f"{len(conditions)} conditions and {len(choices)} choices: as many are needed, one at least"
        raise ShapeError(f"select: {what}")
    arrays = [x for x in (*conditions, *choices, default) if _secret(x)]
    with named("select", "where"):
        if any(_secret(c) for c in conditions) or arrays[0].bit_error is not None:
            # For bits, numpy's default of 0 means False.
            result = (
                False
                if arrays[0].bit_error is not None and isinstance(default, int) and default == 0
                else default
            )
            for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
                result = np.where(condition, choice, result)
            return result
        plain = [to_array(c, "select") for c in conditions]
        if any(c.dtype != np.bool_ for c in plain):
            raise TypeError("select: conditions are arrays of booleans")
        shape = np.broadcast_shapes(*(np.shape(x) for x in (*plain, *choices, default)))
        left, total = np.ones(shape, dtype=bool), None
        for condition, choice in [*zip(plain, choices, strict=True), (True, default)]:
            part = left & condition
            left = left & ~part
            # An empty part needs no product.
            if part.any() or (total is None and condition is True):
                term = (
                    np.where(part, choice, 0)
                    if _secret(choice)
                    else _masked(part, choice, arrays[0])
                )
                total = term if total is None else beside(total, term)
        return total if _secret(total) else total + arrays[0] * 0


def beside(x: Any, y: Any) -> Any:
    """Return the sum of two arrays. At each place, at least one of them must be 0."""
    if not _secret(x):
        return y._beside(x) if _secret(y) else x + y
    return x._beside(y)


def choosable(like: Any, plain: Any, operation: str) -> Any:
    """Return plain values to choose from beside an encrypted array.

    Numbers may be missing (NaN) at places where they are not chosen.
    """
    of_numbers = like.plain_modulus is None and like.bit_error is None
    return numbers(plain, operation) if of_numbers else like._plain(plain, operation)


def _masked(part: Any, plain: Any, like: Any) -> Any:
    values = choosable(like, plain, "select")
    return np.where(part, values.astype(object) if values.dtype.kind in "SU" else values, 0)


def _choose(a: Any, choices: Any, mode: Any = "raise") -> Any:
    if _secret(a):
        if mode != "raise":
            raise TypeError(
                "choose takes no mode= of encrypted places: those beyond the choices come out as anything"
            )
        return choose(a, choices)
    options, index = list(choices), to_array(a, "choose")
    if index.dtype.kind not in "iub":
        raise TypeError(f"choose takes integers, not values of type {index.dtype}")
    count = len(options)
    # numpy refuses invalid choices, and applies the mode.
    index = np.choose(index.astype(np.int64), np.arange(count).reshape(-1, 1), mode=mode).reshape(
        index.shape
    )
    with named("choose", "select"):
        return _select([index == i for i in range(count)], options, options[0])


def _extract(condition: Any, arr: Any) -> Any:
    if _secret(condition):
        raise TypeError(
            "numpy.extract takes no encrypted condition: how many elements there are would depend on it"
        )
    return np.compress(np.ravel(condition), np.ravel(arr))


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    if x.ndim != 1:
        raise ShapeError(f"vander takes arrays of one axis, not shape {x.shape}")
    count = x.size if N is None else operator.index(N)
    if count < 2:
        raise ArgumentError(
            f"vander: {count} columns of encrypted powers, where 2 or more have any"
        )
    powers = [np.ones(x.size, dtype=np.int64), x]
    for power in range(2, count):
        powers.append(
            compute(np.multiply, "__call__", (powers[power // 2], powers[power - power // 2]), {})
        )
    return np.stack(powers if increasing else powers[::-1], axis=-1)


ALONE: dict[Any, Callable[..., Any]] = {
    np.ediff1d: _ediff1d,
    np.vander: _vander,
    **{getattr(np.fft, name): _fftn(name) for name in ("fft2", "fftn", "ifft2", "ifftn")},
    # A function of the array standard, which numpy has since version 2.1.
    **{getattr(np, name): _cumulative_sum for name in ("cumulative_sum",) if hasattr(np, name)},
}
SEVERAL: dict[Any, Callable[..., Any]] = {
    np.bincount: _bincount,
    np.choose: _choose,
    np.extract: _extract,
    np.histogram: _histogram,
    np.linalg.solve: _solve,
    np.polyfit: _polyfit,
    np.select: _select,
}
