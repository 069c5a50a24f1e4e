"""numpy's functions of encrypted arrays, made of what arrays have."""

from __future__ import annotations

import inspect
import math
import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hippocrene import _native, polynomials
from hippocrene.bits import booleans
from hippocrene.einsum import einsum
from hippocrene.encrypted import Encrypted
from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.moves import Moves, places_of, shape_errors
from hippocrene.reductions import part_of
from hippocrene.ufuncs import check_options, compute, given, refusal
from hippocrene.values import to_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hippocrene.array import EncryptedArray

# Those that move the elements of their first argument, those that split it, and those that join all of its members.
MOVES = (
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.delete,
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.fliplr,
    np.flipud,
    np.moveaxis,
    np.ravel,
    np.repeat,
    np.reshape,
    np.rollaxis,
    np.rot90,
    np.squeeze,
    np.swapaxes,
    np.take,
    np.tile,
    np.transpose,
)
SPLITS = (np.array_split, np.dsplit, np.hsplit, np.split, np.vsplit)
JOINS = (np.column_stack, np.concatenate, np.dstack, np.hstack, np.stack, np.vstack)
# Methods, and what they are called.
METHODS: dict[Any, str] = {
    **{f: f.__name__ for f in (np.copy, np.cumsum, np.mean, np.prod, np.roll, np.std, np.sum, np.trace, np.var)},
    **{f: f.__name__ for f in (np.argmax, np.argmin, np.median, np.percentile, np.quantile)},
    **dict.fromkeys((np.amax, np.max), "max"),
    **dict.fromkeys((np.amin, np.min), "min"),
}
# What arrays are asked for.
PROPERTIES = (np.imag, np.ndim, np.real, np.shape, np.size)


class Functions(Encrypted):
    """What numpy asks arrays for when its functions meet them."""

    __slots__ = ()

    # Hidden from type checkers, which would let plain arrays compute with encrypted ones as they do with their own.
    if not TYPE_CHECKING:

        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> object:
            """Compute numpy's universal functions that are operators and methods here."""
            return compute(ufunc, method, inputs, keywords)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: object,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> object:
        """Compute numpy's functions that move elements, and those that are made of what is here."""
        module, name = function.__module__, function.__name__
        name = name if module == "numpy" else f"{module}.{name}".removeprefix("numpy.")
        if function in PROPERTIES and len(args) == 1 and not kwargs:
            return getattr(self, function.__name__)
        with shape_errors(f"numpy.{name}"):
            return _computed(name, function, args, kwargs)


def _computed(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    first, *rest = args if args else (None,)
    if function is not np.where:
        check_options(name, given(kwargs))
    if function in JOINS and args and not kwargs.keys() - {"axis"}:
        return _joined(function, list(first), *rest, **kwargs)
    if function in SEVERAL:
        return _called(name, SEVERAL[function], *args, **kwargs)
    # numpy would write places where values are wanted.
    alone = isinstance(first, Moves) and not any(isinstance(x, Encrypted) for x in (*rest, *kwargs.values()))
    alone = alone and not (function is np.take and len(rest) > 2) and not (function in AT_LEAST and rest)
    if not alone:
        raise refusal(name)
    if function in METHODS:
        return _called(name, getattr(first, METHODS[function]), *rest, **given(kwargs))
    if function in (np.argsort, np.sort):
        # An axis of None says something.
        options = {k: v for k, v in kwargs.items() if k == "axis" or v is not None}
        return _called(name, getattr(first, name), *rest, **options)
    if function in MOVES:
        return first._gather(np.asarray(function(places_of(first), *rest, **kwargs)))
    if function in SPLITS:
        return [first._gather(part) for part in function(places_of(first), *rest, **kwargs)]
    if function in ALONE:
        return _called(name, ALONE[function], first, *rest, **given(kwargs))
    raise refusal(name)


# Of more elements than these an encrypted vector is convolved and turned, rather than multiplied with a matrix.
LONG = 1024
AT_LEAST = (np.atleast_1d, np.atleast_2d, np.atleast_3d)


def _called(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what stands for a function of numpy, whose name is in the error where there are too many arguments."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"numpy.{name} of encrypted arrays: {error}") from None
    return function(*args, **kwargs)


def _secret(x: object) -> bool:
    return isinstance(x, Encrypted)


# Arrays joined, with plain ones among them


def _joined(function: Callable[..., Any], arrays: list[Any], *rest: Any, **keywords: Any) -> Any:
    """Join arrays as a function of numpy does: places of encrypted elements, and -1 where plain ones are."""
    encrypted = [array for array in arrays if isinstance(array, Moves)]
    like = cast("Any", encrypted[0])
    places, values, start = [], [], 0
    for array in arrays:
        if isinstance(array, Moves):
            places.append(places_of(array, start))
            values.append(np.zeros(array.shape, dtype=np.int64))
            start += array.size
        else:
            plain = like._plain(array, function.__name__)
            values.append(plain.astype(object) if plain.dtype.kind in "SU" else plain)
            places.append(np.full(values[-1].shape, -1))
    return like._placed(function(places, *rest, **keywords), encrypted, function(values, *rest, **keywords))


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    arrays = [arr, values]
    if axis is None:
        arrays, axis = [x.ravel() for x in _operands("append", *arrays)], 0
    return _joined(np.concatenate, arrays, axis=axis)


def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if _secret(values) or not _secret(arr):
        raise refusal("insert")
    plain = arr._plain(values, "insert")
    places = np.insert(places_of(arr), obj, np.full(plain.shape, -1), axis)
    zeros = np.zeros(arr.shape, dtype=plain.dtype)
    return arr._placed(places, [arr], np.insert(zeros, obj, plain, axis))


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **keywords: Any) -> Any:
    if mode in ("edge", "reflect", "symmetric", "wrap") and keywords.get("reflect_type", "even") == "even":
        return array._gather(np.pad(places_of(array), pad_width, mode, **keywords))
    if mode != "constant":
        raise TypeError(
            f"numpy.pad of encrypted arrays is with constants, edge, even reflect, symmetric or wrap, not {mode}"
        )
    plain = array._plain(keywords.pop("constant_values", 0), "pad")
    places = np.pad(places_of(array), pad_width, constant_values=-1)
    zeros = np.zeros(array.shape, dtype=plain.dtype)
    return array._placed(places, [array], np.pad(zeros, pad_width, constant_values=plain, **keywords))


def _where(condition: Any, *both: Any) -> Any:
    """Pick from one or the other: times a mask of zeros and ones, and plus the other times what it lacks.

    By an encrypted condition, zeros and ones, it is one product.
    """
    if len(both) != 2:
        raise refusal("where")
    arrays = [x for x in (condition, *both) if _secret(x)]
    if any(array.bit_error is not None for array in arrays):
        mask, x, y = (one if _secret(one) else _plain_bits(one) for one in (condition, *both))
        return y ^ (mask & (x ^ y))
    x, y = (one if _secret(one) else arrays[0]._plain(one, "where") for one in both)
    if _secret(condition):
        return y + condition * (x - y)
    mask = np.asarray(condition, dtype=bool)
    parts = [
        x * part.astype(np.int64) if _secret(x) else np.where(part, x.astype(object) if x.dtype.kind in "SU" else x, 0)
        for x, part in ((x, mask), (y, ~mask))
    ]
    return parts[0] + parts[1]


def _plain_bits(values: Any) -> Any:
    plain = booleans(values, "where")
    if plain is None:
        raise TypeError(f"numpy.where of encrypted bits takes booleans, not {type(values).__name__}")
    return plain


# Products


def _operands(name: str, *both: Any) -> tuple[Any, ...]:
    """Return plain operands as arrays: of integers of any size where the encrypted one is of integers."""
    like = next(x for x in both if _secret(x))
    exact = like.plain_modulus is not None
    return tuple(x if _secret(x) else like._plain(x, name) if exact else to_array(x, name) for x in both)


# As numpy.multiply and numpy.matmul, which pandas would compute where its own objects come first.
def _times(a: Any, b: Any) -> Any:
    return compute(np.multiply, "__call__", (a, b), {})


def _matmul(a: Any, b: Any) -> Any:
    return compute(np.matmul, "__call__", (a, b), {})


def _dot(a: Any, b: Any) -> Any:
    return _times(a, b) if 0 in (np.ndim(a), np.ndim(b)) else _matmul(a, b)


def _inner(a: Any, b: Any) -> Any:
    a, b = _operands("inner", a, b)
    return _times(a, b) if 0 in (a.ndim, b.ndim) else _matmul(a, b.T)


def _vdot(a: Any, b: Any) -> Any:
    a, b = _operands("vdot", a, b)
    turned = a._raw.is_complex if _secret(a) else np.iscomplexobj(a)
    a = np.conjugate(a) if turned else a
    if np.shape(a) != np.shape(b):
        raise ShapeError(f"vdot: shapes {np.shape(a)} and {np.shape(b)} differ")
    return _times(a, b).sum()


def _outer(a: Any, b: Any) -> Any:
    if not _secret(b):
        # The copies of the encrypted one stand one after the other, which takes no product.
        return _outer(b, a).T
    a, b = _operands("outer", a, b)
    return _times(a.reshape(-1, 1), b.reshape(1, -1))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = _operands("tensordot", a, b)
    if np.ndim(axes) == 0:
        of_a, of_b = list(range(np.ndim(a) - operator.index(axes), np.ndim(a))), list(range(operator.index(axes)))
    else:
        of_a, of_b = ([operator.index(i) for i in np.atleast_1d(one)] for one in axes)
    of_a, of_b = [i % np.ndim(a) for i in of_a], [i % np.ndim(b) for i in of_b]
    left = [i for i in range(np.ndim(a)) if i not in of_a]
    right = [i for i in range(np.ndim(b)) if i not in of_b]
    if [np.shape(a)[i] for i in of_a] != [np.shape(b)[i] for i in of_b]:
        raise ShapeError(f"tensordot: axes {of_a} of shape {np.shape(a)} and {of_b} of {np.shape(b)} do not match")
    common = math.prod(np.shape(a)[i] for i in of_a)
    rows = np.reshape(np.transpose(a, left + of_a), (-1, common))
    columns = np.reshape(np.transpose(b, of_b + right), (common, -1))
    shape = tuple(np.shape(a)[i] for i in left) + tuple(np.shape(b)[i] for i in right)
    return np.reshape(_matmul(rows, columns), shape)


def _vectors(name: str, a: Any, v: Any) -> None:
    if (_secret(a) and _secret(v)) or np.ndim(a) != 1 or np.ndim(v) != 1:
        raise TypeError(f"numpy.{name} is for an encrypted array of one axis and a plain one")


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    _vectors("convolve", a, v)
    encrypted, other = (a, v) if _secret(a) else (v, a)
    short, long = sorted((encrypted.size, len(other)))
    if not short:
        raise ValueError("convolve: a vector without elements")
    modes = {
        "full": (0, short + long - 1),
        "same": ((short - 1) // 2, long),
        "valid": (short - 1, long - short + 1),
    }
    if mode not in modes:
        raise ArgumentError(f"convolve: mode {mode!r} is none of {', '.join(modes)}")
    first, length = modes[mode]
    return encrypted._times_matrix(
        other, lambda server, kernel: _native.convolve_plain(server, encrypted._raw, kernel, first, length)
    )


def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    _vectors("correlate", a, v)
    a, v = _operands("correlate", a, v)
    if _secret(a):
        return _convolve(a, np.conj(v)[::-1], mode)
    v = v.conj() if v._raw.is_complex else v
    plain: Any = v._plain(a, "correlate")
    if v.size > LONG:
        return _correlate_long(plain, v, mode)
    units = np.eye(v.size, dtype=np.int64)
    return _matmul(v, np.array([np.correlate(plain, unit, cast("Any", mode)) for unit in units]))


def _correlate_long(a: Any, v: EncryptedArray, mode: str) -> Any:
    """Return the sums of plain ``a[n + k]`` times ``v[n]`` for a long encrypted `v`: a convolution, backwards.

    As one product with a matrix, in which every other diagonal has a row of its own, it takes minutes and memory.
    """
    short, long = sorted((len(a), v.size))
    # Where numpy's result starts in the full one where the first operand is the longer, and how long it is.
    modes = {
        "full": (0, short + long - 1),
        "same": (short - 1 - short // 2, long),
        "valid": (short - 1, long - short + 1),
    }
    if mode not in modes:
        raise ArgumentError(f"correlate: mode {mode!r} is none of {', '.join(modes)}")
    start, length = modes[mode]
    # numpy exchanges the operands where it is the shorter, and turns the result.
    first = start if len(a) < v.size else short + long - 1 - start - length
    sums = v._times_matrix(
        a[::-1].copy(), lambda server, kernel: _native.convolve_plain(server, v._raw, kernel, first, length)
    )
    return sums[::-1]


# Functions of one encrypted array


def _diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    index, times = a._axis(axis), operator.index(n)
    if times < 0:
        raise ArgumentError(f"diff: differences are taken 0 times or more, not {times}")
    for _ in range(times):
        a = part_of(a, index, slice(1, None)) - part_of(a, index, slice(-1))
    return a


def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.max(axis, keepdims=keepdims) - a.min(axis, keepdims=keepdims)


def _triangle(function: Callable[..., Any], m: Any, k: int = 0) -> Any:
    return m * function(np.ones(m.shape[-2:] if m.ndim > 1 else m.shape * 2, dtype=np.int64), k)


def _average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return a.mean(axis, keepdims=keepdims)
    plain = np.asarray(weights, dtype=np.float64)
    if plain.shape != a.shape:
        if plain.ndim != 1 or axis is None or isinstance(axis, tuple) or plain.size != a.shape[a._axis(axis)]:
            raise ShapeError(f"average: weights of shape {plain.shape} for axis {axis} of shape {a.shape}")
        plain = plain.reshape((-1,) + (1,) * (a.ndim - 1 - a._axis(axis)))
    plain = np.broadcast_to(plain, a.shape)
    total = plain.sum(axis=tuple(a._axes(axis)), keepdims=True)
    if not np.all(total):
        raise ZeroDivisionError("average: weights sum to zero")
    return (a * (plain / total)).sum(axis, keepdims=keepdims)


def _cov(m: Any, *, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    ddof = (0 if bias else 1) if ddof is None else ddof
    if m.ndim > 2:
        raise ShapeError(f"cov takes arrays of one or two axes, not shape {m.shape}")
    if m.ndim < 2 or m.shape[0 if rowvar else 1] == 1:
        return m.var(ddof=ddof)
    deviations = m._centred(1 if rowvar else 0, ddof)
    rows, columns = (deviations, deviations.T) if rowvar else (deviations.T, deviations)
    return rows @ (columns.conj() if m._raw.is_complex else columns)


def _broadcast_to(array: Any, shape: Any) -> Any:
    target = (operator.index(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if array._common_shape(target, "broadcast_to") != target:
        raise ShapeError(f"broadcast_to: shape {array.shape} does not broadcast to {target}")
    server = array._bound_server("broadcast_to")
    return server._wrap(server._broadcast(array._raw, target))


def _polyval(p: Any, x: Any) -> Any:
    if _secret(p):
        raise TypeError("numpy.polyval takes no encrypted coefficients: multiply them with plain powers, and sum")
    return polynomials.polyval(p, x)


ALONE: dict[Any, Callable[..., Any]] = {
    np.average: _average,
    np.broadcast_to: _broadcast_to,
    np.cov: _cov,
    np.diff: _diff,
    np.pad: _pad,
    np.ptp: _ptp,
    np.tril: lambda m, k=0: _triangle(np.tril, m, k),
    np.triu: lambda m, k=0: _triangle(np.triu, m, k),
}
SEVERAL: dict[Any, Callable[..., Any]] = {
    np.append: _append,
    np.convolve: _convolve,
    np.correlate: _correlate,
    np.dot: _dot,
    np.einsum: einsum,
    np.inner: _inner,
    np.insert: _insert,
    np.outer: _outer,
    np.polyval: _polyval,
    np.tensordot: _tensordot,
    np.vdot: _vdot,
    np.where: _where,
}
