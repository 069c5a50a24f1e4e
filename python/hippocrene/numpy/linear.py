"""numpy's linear functions of encrypted arrays, whose factors are computed from plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hippocrene.arrays.advice import refusal
from hippocrene.arrays.registry import implements, implements_each
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.numpy.arguments import is_encrypted
from hippocrene.values.operands import fractions, real_numbers, to_array
from hippocrene.values.scalars import double


def mapped(
    name: str,
    function: Callable[[Any], Any],
    a: Any,
    axis: Any = -1,
    *,
    exact: bool = False,
    condition: float = 1.0,
) -> Any:
    """Apply a linear function of rows along an axis.

    Its factors are rounded to doubles unless they are `exact`. If they are solutions of equations,
    `condition` is the condition number, which multiplies the rounding error.
    """
    if not is_encrypted(a) or not a.ndim:
        raise TypeError(f"numpy.{name} is for an encrypted array of one axis or more")
    a._need_numbers(name)
    matrix = function(np.eye(a.shape[a._axis(axis, name)]))
    product = _times_rounded(np.moveaxis(a, axis, -1), matrix, exact=exact, condition=condition)
    return np.moveaxis(product, -1, axis)


def _times_rounded(a: Any, matrix: Any, *, exact: bool, condition: float = 1.0) -> Any:
    """Multiply by a matrix of computed doubles, whose rounding errors `mapped` describes."""
    return (
        a @ matrix
        if exact
        else a._rounded(a @ matrix, float(np.linalg.norm(matrix, axis=0).max()) * condition)
    )


@implements(np.gradient, several=True)
def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    if any(is_encrypted(x) for x in varargs):
        raise TypeError("numpy.gradient takes no encrypted distances")
    f._axes(axis, "gradient")
    axes = (
        range(f.ndim) if axis is None else [f._axis(one, "gradient") for one in np.atleast_1d(axis)]
    )
    if len(varargs) > 1 and len(varargs) != len(axes):
        raise TypeError(f"gradient: {len(varargs)} distances for {len(axes)} axes")
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    along = [
        _gradient_along(f, step, one, edge_order) for one, step in zip(axes, steps, strict=True)
    ]
    # numpy returns a tuple, and a list before version 2.
    several: Any = type(np.gradient(np.eye(2)))
    return along[0] if len(along) == 1 else several(along)


def _gradient_along(f: Any, distances: Any, axis: int, edge_order: Any) -> Any:
    of_any_kind = to_array(distances, "gradient")
    if of_any_kind.dtype.kind == "f" and not np.all(np.isfinite(of_any_kind)):
        raise ArgumentError("gradient: distances and places are finite numbers")
    floats = of_any_kind.dtype.kind == "f"
    step = (
        of_any_kind.astype(np.result_type(of_any_kind, np.float64))
        if floats
        else _places(of_any_kind, "gradient")
    )
    # Python compares integers with doubles exactly.
    exact = step.ndim == 0 and abs(np.frexp(step)[0]) == 0.5 and step.item() == of_any_kind.item()
    return mapped(
        "gradient",
        lambda u: np.gradient(u, step, axis=-1, edge_order=edge_order),
        f,
        axis,
        exact=exact,
    )


def _places(values: Any, operation: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return places as doubles with accurate differences. A single number is a distance.

    The first place is subtracted from integers before they are rounded.
    """
    doubles, places = real_numbers(values, operation), to_array(values, operation)
    if places.dtype.kind not in "iuO" or not (places.ndim and places.size):
        return doubles
    exactly = fractions(places, operation)
    return np.asarray(exactly - exactly.flat[0], dtype=np.float64)


@implements("trapezoid", "trapz", several=True)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    if not is_encrypted(y) or is_encrypted(x) or is_encrypted(dx) or not y.ndim:
        raise TypeError(
            "numpy.trapezoid is for an encrypted array of one axis or more at plain places"
        )
    y._need_numbers("trapezoid")
    length = y.shape[y._axis(axis, "trapezoid")]
    steps = (
        np.full(length - 1, double(dx, "a distance"))
        if x is None
        else np.diff(_places(x, "trapezoid"))
    )
    if steps.shape != (length - 1,):
        raise ShapeError(f"trapezoid: places of shape {np.shape(x)} for an axis of length {length}")
    weights = np.convolve(steps, [0.5, 0.5]) if length > 1 else np.zeros(1)
    # Python compares fractions, decimals and integers with doubles exactly.
    exact = x is None and bool(dx == double(dx, "a distance"))
    return _times_rounded(np.moveaxis(y, axis, -1), weights, exact=exact)


@implements(np.polyfit, several=True)
def _polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    if not is_encrypted(y) or is_encrypted(x) or is_encrypted(w):
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


@implements(np.linalg.solve, several=True)
def _solve(a: Any, b: Any) -> Any:
    if is_encrypted(a):
        raise refusal("linalg.solve")
    matrix = to_array(a, "linalg.solve")
    if matrix.ndim != 2 or b.ndim > 2:
        what = f"shapes {matrix.shape} and {b.shape}, where a plain matrix and a vector or a matrix are needed"
        raise ShapeError(f"linalg.solve: {what}")
    if matrix.shape != b.shape[:1] * 2:
        raise ShapeError(
            f"linalg.solve: shapes {matrix.shape} and {b.shape} do not fit. A square matrix is "
            "needed, with as many rows as the second array."
        )
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(f"linalg.solve: {error}") from None
    return mapped(
        "linalg.solve", lambda _: inverse.T, b, 0, condition=float(np.linalg.cond(matrix))
    )


def _interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any) -> Any:
    """Interpolate encrypted values, which are given at plain places, at other plain places."""
    fp._need_numbers("interp")
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
        raise ArgumentError("interp: the places of the values must increase")
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


@implements(np.interp, several=True)
def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if is_encrypted(fp) and not any(is_encrypted(one) for one in (x, xp, left, right)):
        return _interpolated(x, xp, fp, left, right, period)
    if not is_encrypted(x) or is_encrypted(xp) or is_encrypted(fp):
        raise TypeError(
            "numpy.interp takes encrypted places between plain ones, or encrypted values at plain places, not both"
        )
    x._need_numbers("interp")
    places, values = (real_numbers(points, "interp") for points in (xp, fp))
    with named("interp", "apply"):
        return x.apply(lambda v: np.interp(v, places, values, left, right, period))


@implements_each(np.fft.fft, np.fft.ifft, np.fft.rfft)
def fourier(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute a transform along one axis."""
    name = function.__name__

    def transform(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
        if name == "rfft" and a.is_complex:
            raise TypeError("numpy.fft.rfft is for real numbers: numpy.fft.fft is for complex ones")
        return mapped(f"fft.{name}", lambda units: function(units, n, norm=norm), a, axis)

    return transform


@implements_each(np.fft.fft2, np.fft.fftn, np.fft.ifft2, np.fft.ifftn)
def fourier_of_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a transform along several axes, in numpy's order.

    By default, the functions of two dimensions use the last two axes, and the others use all.
    """
    name = function.__name__
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
