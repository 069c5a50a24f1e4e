"""numpy's products of encrypted and plain arrays, and linear maps as products with matrices."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import string
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hippocrene import _native
from hippocrene.arrays.encrypted import Encrypted
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.numpy.einsum import einsum, widened
from hippocrene.numpy.ufuncs import compute, factors, operands
from hippocrene.values.exact import fractions
from hippocrene.values.operands import real_numbers, to_array
from hippocrene.values.scalars import double

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Maximum length for which an encrypted vector is correlated by a product with a matrix. Longer ones
# are convolved and reversed.
LONG = 1024
# Maximum number of products of encrypted numbers at a time. They fit into some gigabytes.
_MOST_PRODUCTS = 2**24


def _secret(x: object) -> bool:
    return isinstance(x, Encrypted)


def stacked(a: Any, b: Any) -> Any:
    """Compute `numpy.matmul` of stacks of matrices, whose last two axes are those of a matrix."""
    left, right = np.shape(a), np.shape(b)
    try:
        np.broadcast_shapes(left[:-2], right[:-2])
        fit = bool(left and right) and left[-1] == right[-2 if len(right) > 1 else -1]
    except ValueError:
        fit = False
    if not fit:
        raise ShapeError(f"matmul: there are no products of matrices of shapes {left} and {right}")
    rows, columns = ("...i" if len(left) > 1 else ""), ("k" if len(right) > 1 else "")
    other = "..." if columns else ""
    with named("matmul", "einsum"):
        return einsum(f"{rows}j,{other}j{columns}->...{rows[3:]}{columns}", a, b)


# Use numpy.multiply and numpy.matmul explicitly: with operators, pandas would compute if its own
# object came first.
def _times(a: Any, b: Any) -> Any:
    return compute(np.multiply, "__call__", (a, b), {})


def _matmul(a: Any, b: Any) -> Any:
    return compute(np.matmul, "__call__", (a, b), {})


def dot(a: Any, b: Any) -> Any:
    """Compute `numpy.dot`, also for a second array with more than two axes."""
    a, b = operands("dot", a, b)
    if 0 in (np.ndim(a), np.ndim(b)):
        return _times(a, b)
    if np.ndim(b) <= 2:
        return _matmul(a, b)
    if np.shape(a)[-1] != np.shape(b)[-2]:
        raise ShapeError(f"dot: shapes {np.shape(a)} and {np.shape(b)} do not go together")
    names = iter(string.ascii_letters)
    of_a, of_b = ("".join(itertools.islice(names, n)) for n in (np.ndim(a) - 1, np.ndim(b) - 2))
    common, last = itertools.islice(names, 2)
    return einsum(f"{of_a}{common},{of_b}{common}{last}->{of_a}{of_b}{last}", a, b)


def _inner(a: Any, b: Any) -> Any:
    a, b = factors("inner", a, b)
    if 0 in (a.ndim, b.ndim):
        return _times(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"inner: the last axes of shapes {a.shape} and {b.shape} differ")
    if a.ndim <= 2 and b.ndim <= 2:
        return _matmul(a, b.T)
    return _tensordot(a, b, ([-1], [-1]))


def _vdot(a: Any, b: Any) -> Any:
    a, b = factors("vdot", a, b)
    turned = a._held.is_complex if _secret(a) else np.iscomplexobj(a)
    a = np.conjugate(a) if turned else a
    if np.size(a) != np.size(b):
        raise ShapeError(f"vdot: shapes {np.shape(a)} and {np.shape(b)} are of different sizes")
    if np.shape(a) != np.shape(b):
        a, b = np.reshape(a, -1), np.reshape(b, -1)
    return _times(a, b).sum()


def _outer(a: Any, b: Any) -> Any:
    if not _secret(b):
        # This way the encrypted operand is repeated as a whole, which needs no product.
        return _outer(b, a).T
    a, b = factors("outer", a, b)
    return _times(a.reshape(-1, 1), b.reshape(1, -1))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = factors("tensordot", a, b)
    if np.ndim(axes) == 0:
        of_a, of_b = list(range(-operator.index(axes), 0)), list(range(operator.index(axes)))
    else:
        of_a, of_b = ([operator.index(i) for i in np.atleast_1d(one)] for one in axes)
    of_a, of_b = _axes_of(a, of_a), _axes_of(b, of_b)
    left = [i for i in range(np.ndim(a)) if i not in of_a]
    right = [i for i in range(np.ndim(b)) if i not in of_b]
    if [np.shape(a)[i] for i in of_a] != [np.shape(b)[i] for i in of_b]:
        raise ShapeError(
            f"tensordot: axes {of_a} of shape {np.shape(a)} and {of_b} of {np.shape(b)} do not match"
        )
    picked = any(_secret(x) and x._picked is not None for x in (a, b))
    # For one axis of two encrypted arrays, a product of matrices takes less time if the arrays have
    # more axes.
    joined = len(of_a) > 1 or (
        of_a and max(np.ndim(a), np.ndim(b)) > 2 and not (_secret(a) and _secret(b))
    )
    named_axes = np.ndim(a) + np.ndim(b) <= len(string.ascii_letters)
    if named_axes and (picked or joined):
        # `einsum` leaves the elements where they are. Merging axes by `reshape` would move them.
        labels = list(string.ascii_letters[: np.ndim(a) + np.ndim(b)])
        left_labels, right_labels = labels[: np.ndim(a)], labels[np.ndim(a) :]
        for i, j in zip(of_a, of_b, strict=True):
            right_labels[j] = left_labels[i]
        result = [left_labels[i] for i in left] + [right_labels[i] for i in right]
        with named("tensordot", "einsum"):
            return einsum(
                f"{''.join(left_labels)},{''.join(right_labels)}->{''.join(result)}", a, b
            )
    common = math.prod(np.shape(a)[i] for i in of_a)
    rows = np.reshape(np.transpose(a, left + of_a), (-1, common))
    columns = np.reshape(np.transpose(b, of_b + right), (common, -1))
    shape = tuple(np.shape(a)[i] for i in left) + tuple(np.shape(b)[i] for i in right)
    return np.reshape(_matmul(rows, columns), shape)


def _axes_of(x: Any, axes: list[int]) -> list[int]:
    """Return axes counted from the first one, and refuse axes that numpy would refuse."""
    have = np.ndim(x)
    for axis in axes:
        if not -have <= axis < have:
            raise ShapeError(f"tensordot: there is no axis {axis} in shape {np.shape(x)}")
    counted = [axis % have for axis in axes]
    if len(set(counted)) < len(counted):
        raise ShapeError(f"tensordot: axes {axes} name one axis of shape {np.shape(x)} twice")
    return counted


def _vectors(name: str, a: Any, v: Any) -> None:
    if np.ndim(a) != 1 or np.ndim(v) != 1:
        raise TypeError(
            f"numpy.{name} is for arrays of one axis, not of shapes {np.shape(a)} and {np.shape(v)}"
        )


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = (np.atleast_1d(x) for x in factors("convolve", a, v))
    _vectors("convolve", a, v)
    return _convolved(a, v, mode)


def _convolved(a: Any, v: Any, mode: str, *, mirrored: bool = False, turned: bool = False) -> Any:
    """Convolve two vectors.

    With `mirrored`, the mode "same" takes the middle as seen from the other end. With `turned`, an
    encrypted `v` is reversed.
    """
    encrypted, other = (a, v) if _secret(a) else (v, a)
    short, long = sorted((encrypted.size, len(other)))
    if not short:
        raise ValueError("convolve: a vector without elements")
    modes = {
        "full": (0, short + long - 1),
        "same": (short // 2 if mirrored else (short - 1) // 2, long),
        "valid": (short - 1, long - short + 1),
    }
    if mode not in modes:
        raise ArgumentError(f"convolve: mode {mode!r} is none of {', '.join(modes)}")
    first, length = modes[mode]
    if _secret(other):
        with named("convolve", "dot product"):
            return _convolved_windows(a, v, first, length, turned=turned)
    return encrypted._times_matrix(
        other,
        lambda server, kernel: _native.convolve_plain(
            server, encrypted._raw, kernel, first, length
        ),
    )


def _convolved_windows(a: Any, v: Any, first: int, length: int, *, turned: bool = False) -> Any:
    """Return `length` elements, starting with `first`, of the convolution of two encrypted vectors.

    They are the products of one vector with the windows of the other. With `turned`, `v` is given
    in reverse.
    """
    short, long = sorted((a, v), key=len)
    size = short.size
    if length << (size - 1).bit_length() > _MOST_PRODUCTS:
        raise ShapeError(
            f"convolve: {length} sums of {size} products each of encrypted numbers are too many"
        )
    # Windows beyond the ends are padded with zeros.
    within = first == size - 1 and length == long.size - first
    windows = np.lib.stride_tricks.sliding_window_view(
        long if within else np.pad(long, size - 1), size
    )
    start = 0 if within else first
    if turned and long is v:
        # Take the windows as seen from the other end.
        start = len(windows) - start - length
        return _matmul(windows[start : start + length], short)[::-1]
    return _matmul(windows[start : start + length], short if turned else short[::-1])


def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = factors("correlate", a, v)
    _vectors("correlate", a, v)
    if _secret(a) and _secret(v):
        with named("correlate", "convolve", "dot product"):
            v = v.conj() if v._held.is_complex else v
            return _convolved(a, v, mode, mirrored=a.size < v.size, turned=True)
    encrypted, plain = (a, v) if _secret(a) else (v, a)
    if encrypted.plain_modulus is None and plain.dtype.kind != "c":
        real_numbers(plain, "correlate")
    with named("correlate", "convolve", "dot product", "matrix product"):
        return _correlated(a, v, mode)


def _correlated(a: Any, v: Any, mode: str) -> Any:
    if _secret(a):
        # numpy exchanges the operands if the second one is longer, and reverses the result.
        return _convolved(a, np.conj(v)[::-1], mode, mirrored=a.size < len(v))
    v = v.conj() if v._held.is_complex else v
    plain: Any = v._plain(a, "correlate")
    if v.size > LONG:
        # A product with a matrix would need minutes and much memory, because every diagonal of
        # the matrix has a row of its own.
        return _convolved(v, plain[::-1], mode, mirrored=v.size <= len(plain))[::-1]
    units = np.eye(v.size, dtype=plain.dtype)
    return _matmul(v, np.array([np.correlate(plain, unit, cast("Any", mode)) for unit in units]))


def _kron(a: Any, b: Any) -> Any:
    a, b = factors("kron", a, b)
    axes = max(a.ndim, b.ndim)
    left, right = ((1,) * (axes - np.ndim(x)) + np.shape(x) for x in (a, b))
    wide = a.reshape([length for pair in zip(left, (1,) * axes, strict=True) for length in pair])
    other = b.reshape([length for pair in zip((1,) * axes, right, strict=True) for length in pair])
    return _times(wide, other).reshape([x * y for x, y in zip(left, right, strict=True)])


def _cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    a, b = factors("cross", a, b)
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    with named("cross", "numpy.moveaxis"):
        a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError(
            f"cross: vectors of {a.shape[-1]} and {b.shape[-1]} elements, where both have 3"
        )
    on, back = [1, 2, 0], [2, 0, 1]
    return np.moveaxis(
        _times(a[..., on], b[..., back]) - _times(a[..., back], b[..., on]), -1, axisc
    )


def _matrix_power(a: Any, n: Any) -> Any:
    exponent = operator.index(n)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"linalg.matrix_power: shape {a.shape} is not of square matrices")
    if not 1 <= exponent < 2**32:
        raise ArgumentError(
            f"linalg.matrix_power: exponents of encrypted matrices are from 1 on, below 2**32, not {exponent}"
        )
    half = a if exponent < 2 else _matrix_power(a, exponent // 2)
    square = half if exponent < 2 else _matmul(half, half)
    return _matmul(square, a) if exponent > 1 and exponent % 2 else square


def _linalg_outer(a: Any, b: Any) -> Any:
    if (np.ndim(a), np.ndim(b)) != (1, 1):
        raise ShapeError(
            f"linalg.outer: shapes {np.shape(a)} and {np.shape(b)}, where both have one axis"
        )
    return _outer(a, b)


def _linalg_trace(x: Any, *, offset: Any = 0) -> Any:
    return x.trace(offset, -2, -1)


def _vecdot(a: Any, b: Any, *, axis: int = -1) -> Any:
    return compute(np.vecdot, "__call__", (a, b), {"axis": axis})


# Linear maps: applying a function to the unit vectors gives its matrix.


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
    if not _secret(a) or not a.ndim:
        raise TypeError(f"numpy.{name} is for an encrypted array of one axis or more")
    a._refuse_integers(name)
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


def _fft(name: str) -> Callable[..., Any]:
    function = getattr(np.fft, name)

    def transform(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
        if _secret(a) and name == "rfft" and a._held.is_complex:
            raise TypeError("numpy.fft.rfft is for real numbers: numpy.fft.fft is for complex ones")
        return mapped(f"fft.{name}", lambda units: function(units, n, norm=norm), a, axis)

    return transform


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    if any(_secret(x) for x in varargs):
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


def _multi_dot(arrays: Sequence[Any]) -> Any:
    """Multiply matrices from left to right.

    Plain matrices are multiplied as doubles, if these are precise enough.
    """
    arrays = factors("multi_dot", *arrays)
    at = next(i for i, x in enumerate(arrays) if _secret(x))
    lengths, ahead = [np.shape(x)[-1] for x in arrays[:-1]], max(at - 1, 0)
    wide, error = widened(
        "multi_dot", arrays, math.prod(lengths[:ahead]), math.prod(lengths[ahead:])
    )
    if arrays[at].plain_modulus is None and all(_secret(x) or x.dtype.kind != "O" for x in wide):
        return functools.reduce(_matmul, wide)._off_by(error if ahead else 0.0)
    # Order the products so that every one has an encrypted factor.
    right = functools.reduce(_matmul, arrays[at:])
    return functools.reduce(lambda product, x: _matmul(x, product), reversed(arrays[:at]), right)


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    if not _secret(y) or _secret(x) or _secret(dx) or not y.ndim:
        raise TypeError(
            "numpy.trapezoid is for an encrypted array of one axis or more at plain places"
        )
    y._refuse_integers("trapezoid")
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


# Functions of the array standard, which numpy has since version 2.
LINALG: dict[str, Callable[..., Any]] = {
    "cross": lambda a, b, *, axis=-1: _cross(a, b, axis=axis),
    "matmul": _matmul,
    "outer": _linalg_outer,
    "tensordot": lambda a, b, *, axes=2: _tensordot(a, b, axes),
    "trace": _linalg_trace,
    "vecdot": _vecdot,
}
PRODUCTS: dict[Any, Callable[..., Any]] = {
    np.convolve: _convolve,
    np.correlate: _correlate,
    np.cross: _cross,
    np.dot: dot,
    np.einsum: einsum,
    np.gradient: _gradient,
    np.inner: _inner,
    np.kron: _kron,
    np.linalg.matrix_power: _matrix_power,
    np.linalg.multi_dot: _multi_dot,
    np.outer: _outer,
    np.tensordot: _tensordot,
    np.vdot: _vdot,
    **{getattr(np.fft, name): _fft(name) for name in ("fft", "ifft", "rfft")},
    **{getattr(np.linalg, name): f for name, f in LINALG.items() if hasattr(np.linalg, name)},
    # numpy before version 2 has `trapz`. Later versions have both names, or `trapezoid` only.
    **{getattr(np, name): _trapezoid for name in ("trapezoid", "trapz") if hasattr(np, name)},
}
