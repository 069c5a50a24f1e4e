"""numpy's products of encrypted and plain arrays."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import string
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from hippocrene.arrays.numbers import NumberArray
from hippocrene.arrays.registry import implements
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.numpy.arguments import factors, is_encrypted, operands
from hippocrene.numpy.einsum import widened
from hippocrene.values.operands import real_numbers

# Maximum length for which an encrypted vector is correlated by a product with a matrix. Longer ones
# are convolved and reversed.
LONG = 1024
# Maximum number of products of encrypted numbers at a time. They fit into some gigabytes.
_MOST_PRODUCTS = 2**24


@implements(np.dot, several=True)
def _dot(a: Any, b: Any) -> Any:
    a, b = operands("dot", a, b)
    if 0 in (a.ndim, b.ndim):
        return a * b
    if b.ndim <= 2:
        return a @ b
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"dot: shapes {a.shape} and {b.shape} do not fit: the last axis of the first has "
            f"{a.shape[-1]} elements, and the second-to-last of the second {b.shape[-2]}. They have "
            "to be equal."
        )
    names = iter(string.ascii_letters)
    of_a, of_b = ("".join(itertools.islice(names, n)) for n in (a.ndim - 1, b.ndim - 2))
    common, last = itertools.islice(names, 2)
    return np.einsum(f"{of_a}{common},{of_b}{common}{last}->{of_a}{of_b}{last}", a, b)


@implements(np.inner, several=True)
def _inner(a: Any, b: Any) -> Any:
    a, b = factors("inner", a, b)
    if 0 in (a.ndim, b.ndim):
        return np.multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"inner: the last axes of shapes {a.shape} and {b.shape} have {a.shape[-1]} and "
            f"{b.shape[-1]} elements. They have to be equal."
        )
    if a.ndim <= 2 and b.ndim <= 2:
        return np.matmul(a, b.T)
    return _tensordot(a, b, ([-1], [-1]))


@implements(np.vdot, several=True)
def _vdot(a: Any, b: Any) -> Any:
    a, b = factors("vdot", a, b)
    turned = a._held.is_complex if is_encrypted(a) else np.iscomplexobj(a)
    a = np.conjugate(a) if turned else a
    if a.size != b.size:
        raise ShapeError(f"vdot: shapes {a.shape} and {b.shape} are of different sizes")
    if a.shape != b.shape:
        a, b = np.reshape(a, -1), np.reshape(b, -1)
    return np.multiply(a, b).sum()


@implements(np.outer, several=True)
def _outer(a: Any, b: Any) -> Any:
    if not is_encrypted(b):
        # This way the encrypted operand is repeated as a whole, which needs no product.
        return _outer(b, a).T
    a, b = factors("outer", a, b)
    return np.multiply(a.reshape(-1, 1), b.reshape(1, -1))


@implements(np.tensordot, "linalg.tensordot", several=True)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = factors("tensordot", a, b)
    if np.ndim(axes) == 0:
        of_a, of_b = list(range(-operator.index(axes), 0)), list(range(operator.index(axes)))
    else:
        of_a, of_b = ([operator.index(i) for i in np.atleast_1d(one)] for one in axes)
    of_a, of_b = _axes_of(a, of_a), _axes_of(b, of_b)
    left = [i for i in range(a.ndim) if i not in of_a]
    right = [i for i in range(b.ndim) if i not in of_b]
    if [a.shape[i] for i in of_a] != [b.shape[i] for i in of_b]:
        raise ShapeError(
            f"tensordot: axes {of_a} of shape {a.shape} and {of_b} of {b.shape} do not match. They "
            "need equal lengths: choose them with axes=."
        )
    lazy = any(is_encrypted(x) and x._view is not None for x in (a, b))
    # For one axis of two encrypted arrays, a product of matrices takes less time if the arrays have
    # more axes.
    joined = len(of_a) > 1 or (
        of_a and max(a.ndim, b.ndim) > 2 and not (is_encrypted(a) and is_encrypted(b))
    )
    named_axes = a.ndim + b.ndim <= len(string.ascii_letters)
    if named_axes and (lazy or joined):
        # `einsum` leaves the elements where they are. Merging axes by `reshape` would move them.
        labels = list(string.ascii_letters[: a.ndim + b.ndim])
        left_labels, right_labels = labels[: a.ndim], labels[a.ndim :]
        for i, j in zip(of_a, of_b, strict=True):
            right_labels[j] = left_labels[i]
        result = [left_labels[i] for i in left] + [right_labels[i] for i in right]
        with named("tensordot", "einsum", "numpy.einsum"):
            return np.einsum(
                f"{''.join(left_labels)},{''.join(right_labels)}->{''.join(result)}", a, b
            )
    common = math.prod(a.shape[i] for i in of_a)
    rows = np.reshape(np.transpose(a, left + of_a), (-1, common))
    columns = np.reshape(np.transpose(b, of_b + right), (common, -1))
    shape = tuple(a.shape[i] for i in left) + tuple(b.shape[i] for i in right)
    return np.reshape(np.matmul(rows, columns), shape)


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
    if a.ndim != 1 or v.ndim != 1:
        raise TypeError(
            f"numpy.{name} is for arrays of one axis, not of shapes {a.shape} and {v.shape}"
        )


@implements(np.convolve, several=True)
def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = (np.atleast_1d(x) for x in factors("convolve", a, v))
    _vectors("convolve", a, v)
    return _convolved(a, v, mode)


def _convolved(a: Any, v: Any, mode: str, *, mirrored: bool = False, turned: bool = False) -> Any:
    """Convolve two vectors.

    With `mirrored`, the mode "same" takes the middle as seen from the other end. With `turned`, an
    encrypted `v` is reversed.
    """
    encrypted, other = (a, v) if is_encrypted(a) else (v, a)
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
    if is_encrypted(other):
        with named("convolve", "dot product"):
            return _convolved_windows(a, v, first, length, turned=turned)
    return encrypted._times_matrix(
        other,
        lambda server, kernel: server.convolve_plain(encrypted._elements(), kernel, first, length),
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
        return np.matmul(windows[start : start + length], short)[::-1]
    return np.matmul(windows[start : start + length], short if turned else short[::-1])


@implements(np.correlate, several=True)
def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = factors("correlate", a, v)
    _vectors("correlate", a, v)
    if is_encrypted(a) and is_encrypted(v):
        with named("correlate", "convolve", "dot product"):
            v = v.conj() if v._held.is_complex else v
            return _convolved(a, v, mode, mirrored=a.size < v.size, turned=True)
    encrypted, plain = (a, v) if is_encrypted(a) else (v, a)
    if isinstance(encrypted, NumberArray) and plain.dtype.kind != "c":
        real_numbers(plain, "correlate")
    with named("correlate", "convolve", "dot product", "matrix product"):
        return _correlated(a, v, mode)


def _correlated(a: Any, v: Any, mode: str) -> Any:
    if is_encrypted(a):
        # numpy exchanges the operands if the second one is longer, and reverses the result.
        return _convolved(a, np.conj(v)[::-1], mode, mirrored=a.size < len(v))
    v = v.conj() if v._held.is_complex else v
    plain: Any = v._plain(a, "correlate")
    if v.size > LONG:
        # A product with a matrix would need minutes and much memory, because every diagonal of
        # the matrix has a row of its own.
        return _convolved(v, plain[::-1], mode, mirrored=v.size <= len(plain))[::-1]
    units = np.eye(v.size, dtype=plain.dtype)
    return np.matmul(v, np.array([np.correlate(plain, unit, cast("Any", mode)) for unit in units]))


@implements(np.kron, several=True)
def _kron(a: Any, b: Any) -> Any:
    a, b = factors("kron", a, b)
    axes = max(a.ndim, b.ndim)
    left, right = ((1,) * (axes - np.ndim(x)) + np.shape(x) for x in (a, b))
    wide = a.reshape([length for pair in zip(left, (1,) * axes, strict=True) for length in pair])
    other = b.reshape([length for pair in zip((1,) * axes, right, strict=True) for length in pair])
    return np.multiply(wide, other).reshape([x * y for x, y in zip(left, right, strict=True)])


@implements(np.cross, "linalg.cross", several=True)
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
        np.multiply(a[..., on], b[..., back]) - np.multiply(a[..., back], b[..., on]), -1, axisc
    )


@implements(np.linalg.matrix_power)
def _matrix_power(a: Any, n: Any) -> Any:
    exponent = operator.index(n)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"linalg.matrix_power: shape {a.shape} is not of square matrices")
    if not 1 <= exponent < 2**32:
        raise ArgumentError(
            f"linalg.matrix_power: exponents of encrypted matrices are from 1 on, below 2**32, not {exponent}"
        )
    half = a if exponent < 2 else _matrix_power(a, exponent // 2)
    square = half if exponent < 2 else np.matmul(half, half)
    return np.matmul(square, a) if exponent > 1 and exponent % 2 else square


@implements("linalg.outer", several=True)
def _linalg_outer(a: Any, b: Any) -> Any:
    a, b = factors("outer", a, b)
    if (a.ndim, b.ndim) != (1, 1):
        raise ShapeError(f"linalg.outer: shapes {a.shape} and {b.shape}, where both have one axis")
    return _outer(a, b)


@implements(np.linalg.multi_dot, several=True)
def multi_dot(arrays: Sequence[Any]) -> Any:
    """Multiply matrices from left to right.

    Plain matrices are multiplied as doubles, if these are precise enough.
    """
    arrays = factors("multi_dot", *arrays)
    at = next(i for i, x in enumerate(arrays) if is_encrypted(x))
    lengths, ahead = [np.shape(x)[-1] for x in arrays[:-1]], max(at - 1, 0)
    wide, error = widened(
        "multi_dot", arrays, math.prod(lengths[:ahead]), math.prod(lengths[ahead:])
    )
    if isinstance(arrays[at], NumberArray) and all(
        is_encrypted(x) or x.dtype.kind != "O" for x in wide
    ):
        return functools.reduce(np.matmul, wide)._off_by(error if ahead else 0.0)
    # Order the products so that every one has an encrypted factor.
    right = functools.reduce(np.matmul, arrays[at:])
    return functools.reduce(lambda product, x: np.matmul(x, product), reversed(arrays[:at]), right)


implements("linalg.matmul", several=True)(lambda a, b: np.matmul(a, b))
implements("linalg.trace")(lambda x, *, offset=0: x.trace(offset, -2, -1))
