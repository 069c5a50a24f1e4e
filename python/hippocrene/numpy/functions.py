"""numpy's functions of encrypted arrays, implemented with the methods of arrays."""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hippocrene.arrays.bits import chosen
from hippocrene.arrays.encrypted import Encrypted
from hippocrene.arrays.moves import Moves, check_order, check_size, places_of, shape_errors
from hippocrene.arrays.reductions import part_of, weighted_mean
from hippocrene.errors import ArgumentError, KeyMismatchError, ShapeError, named
from hippocrene.numpy import covariance, linear_functions
from hippocrene.numpy.products import PRODUCTS
from hippocrene.numpy.ufuncs import compute, given, hint, operands, refusal, without_options
from hippocrene.values import polynomials
from hippocrene.values.exact import fractions
from hippocrene.values.operands import real_numbers, to_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Functions that move the elements of their first argument, functions that split it, and functions
# that join all arrays of a list.
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
    np.reshape,
    np.rollaxis,
    np.rot90,
    np.squeeze,
    np.swapaxes,
    np.take,
    np.take_along_axis,
    np.transpose,
    np.fft.fftshift,
    np.fft.ifftshift,
    np.lib.stride_tricks.sliding_window_view,
    *(
        getattr(np.linalg, name)
        for name in ("diagonal", "matrix_transpose")
        if hasattr(np.linalg, name)
    ),
    *(getattr(np, name) for name in ("matrix_transpose",) if hasattr(np, name)),
)
SPLITS = (
    np.array_split,
    np.dsplit,
    np.hsplit,
    np.split,
    np.vsplit,
    *(getattr(np, name) for name in ("unstack",) if hasattr(np, name)),
)
JOINS = (np.column_stack, np.concatenate, np.dstack, np.hstack, np.stack, np.vstack)
# Functions that are methods of arrays, with the names of the methods.
METHODS: dict[Any, str] = {
    np.repeat: "repeat",
    **{f: f.__name__ for f in (np.all, np.any)},
    **{
        f: f.__name__
        for f in (np.copy, np.cumsum, np.mean, np.prod, np.roll, np.std, np.sum, np.trace, np.var)
    },
    **{f: f.__name__ for f in (np.argmax, np.argmin, np.median, np.percentile, np.quantile)},
    **dict.fromkeys((np.amax, np.max), "max"),
    **dict.fromkeys((np.amin, np.min), "min"),
}
# Functions that sort.
IN_ORDER: dict[Any, Callable[..., Any]] = {
    np.argpartition: lambda a, *args, **options: _partition("argsort", a, *args, **options),
    np.argsort: lambda a, *args, **options: a.argsort(*args, **options),
    np.partition: lambda a, *args, **options: _partition("sort", a, *args, **options),
    np.sort: lambda a, *args, **options: a.sort(*args, **options),
}
# Methods that take a mask or an initial value, with the keywords for them.
TOTALS = {np.mean: ("where",), np.prod: ("initial", "where"), np.sum: ("initial", "where")}
# Functions that return a property of an array.
PROPERTIES = (np.imag, np.ndim, np.real, np.shape, np.size)


class Functions(Encrypted):
    """The methods that numpy calls when its functions get encrypted arrays."""

    __slots__ = ()

    # Hidden from type checkers, which would otherwise accept any plain array as an operand of
    # encrypted ones.
    if not TYPE_CHECKING:

        def __array_ufunc__(
            self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any
        ) -> object:
            """Compute those universal functions of numpy that are operators or methods here."""
            if ufunc is np.add and method == "reduceat" and not given(keywords).keys() - {"axis"}:
                with shape_errors("numpy.add.reduceat"):
                    return linear_functions.reduceat(*inputs, axis=keywords.get("axis", 0))
            return compute(ufunc, method, inputs, keywords)

        def __getattr__(self, name: str) -> object:
            """Raise an error with advice for a method that only numpy's arrays have."""
            instead = hint(name, self) if hasattr(np.ndarray, name) else None
            if instead is not None:
                raise AttributeError(f"encrypted arrays have no {name}: {instead}")
            # If a property raised an AttributeError, this raises it again.
            return super().__getattribute__(name)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: object,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> object:
        """Compute a function of numpy on encrypted arrays."""
        if not args:
            args, kwargs = _first_by_place(function, kwargs)
        module, name = function.__module__, function.__name__
        name = name if module == "numpy" else f"{module}.{name}".removeprefix("numpy.")
        if function in PROPERTIES and len(args) == 1 and not kwargs:
            return getattr(self, function.__name__)
        with shape_errors(f"numpy.{name}"):
            if function is np.size:
                return np.size(places_of(self), *args[1:], **kwargs)
            return _computed(name, function, args, kwargs)


def _first_by_place(
    function: Callable[..., Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Return the first argument, given by its name, as a positional one, and the other keywords."""
    try:
        name = next(iter(inspect.signature(function).parameters))
    except ValueError:
        # For functions in C, numpy knows no signature.
        return (), kwargs
    return ((kwargs[name],) if name in kwargs else ()), {
        key: x for key, x in kwargs.items() if key != name
    }


def _computed(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> object:
    first, *rest = args if args else (None,)
    if function in JOINS and kwargs.get("casting") == "same_kind":
        # "same_kind" is the default. numpy.row_stack passes it explicitly to numpy.vstack.
        kwargs = {key: value for key, value in kwargs.items() if key != "casting"}
    if function in TOTALS:
        # These keywords are supported here.
        masks = {key: kwargs[key] for key in TOTALS[function] if key in kwargs}
        others = without_options(name, {key: x for key, x in kwargs.items() if key not in masks})
        kwargs = others | given(masks)
    elif function is not np.where:
        kwargs = without_options(name, kwargs)
    if function in JOINS and args and not kwargs.keys() - {"axis"}:
        return _joined(function, list(first), *rest, **kwargs)
    if function in SEVERAL:
        return _called(name, SEVERAL[function], *args, **kwargs)
    # Other encrypted arguments are refused, because numpy would use places in them as values.
    alone = isinstance(first, Moves) and not any(
        isinstance(x, Encrypted) for x in (*rest, *kwargs.values())
    )
    alone = (
        alone
        and not (function is np.take and len(rest) > 2)
        and not (function in AT_LEAST and rest)
    )
    if not alone:
        raise refusal(name, *args, *kwargs.values())
    if function in METHODS:
        return _called(name, getattr(first, METHODS[function]), *rest, **given(kwargs))
    if function in IN_ORDER:
        # Here an axis of None is meaningful. Sorting is always stable where that makes a
        # difference, so `stable` can be ignored.
        options = {
            k: v for k, v in kwargs.items() if k == "axis" or (v is not None and k != "stable")
        }
        return _called(name, IN_ORDER[function], first, *rest, **options)
    if function in (np.ravel, np.reshape):
        check_order(
            f"numpy.{name}",
            inspect.signature(function).bind(*args, **kwargs).arguments.get("order"),
        )
    if function in MOVES:
        places = np.asarray(function(places_of(first), *rest, **kwargs))
        return first._gather(places, operation=f"numpy.{name}")
    if function in SPLITS:
        return [first._gather(part) for part in function(places_of(first), *rest, **kwargs)]
    if function in ALONE:
        return _called(name, ALONE[function], first, *rest, **given(kwargs))
    raise refusal(name, first)


AT_LEAST = (np.atleast_1d, np.atleast_2d, np.atleast_3d)


def _called(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the implementation of a function of numpy, and name that function in errors."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"numpy.{name} of encrypted arrays: {error}") from None
    return function(*args, **kwargs)


def _secret(x: object) -> bool:
    return isinstance(x, Encrypted)


# Joining arrays, with plain ones among them


def _joined(function: Callable[..., Any], arrays: list[Any], *rest: Any, **keywords: Any) -> Any:
    """Join arrays as a function of numpy does.

    The function is applied to the places of encrypted elements, with -1 for plain elements, and to
    the plain values.
    """
    encrypted = [array for array in arrays if isinstance(array, Moves)]
    like = cast("Any", encrypted[0])
    places, values, start = [], [], 0
    for array in arrays:
        if isinstance(array, Moves):
            places.append(places_of(array, start))
            values.append(np.zeros(array.shape, dtype=np.int64))
            start += array.size
        else:
            values.append(_mixed(like._plain(array, function.__name__)))
            places.append(np.full(values[-1].shape, -1))
    return like._placed(
        function(places, *rest, **keywords), encrypted, function(values, *rest, **keywords)
    )


def _mixed(plain: Any) -> Any:
    """Return plain values that numpy can join with zeros. Text has to become objects."""
    return plain.astype(object) if plain.dtype.kind in "SU" else plain


def _block(arrays: Any) -> Any:
    """Join nested lists of arrays, in the same way as `_joined`."""
    encrypted: list[Any] = []

    def places(part: Any) -> Any:
        if isinstance(part, list):
            return [places(one) for one in part]
        if not isinstance(part, Moves):
            return np.full(np.shape(part), -1)
        encrypted.append(part)
        return places_of(part, sum(array.size for array in encrypted[:-1]))

    def values(part: Any) -> Any:
        if isinstance(part, list):
            return [values(one) for one in part]
        return (
            np.zeros(part.shape, dtype=np.int64)
            if isinstance(part, Moves)
            else _mixed(encrypted[0]._plain(part, "block"))
        )

    where = np.block(places(arrays))
    return encrypted[0]._placed(where, encrypted, np.block(values(arrays)))


def _compress(condition: Any, a: Any, axis: Any = None) -> Any:
    if _secret(condition):
        raise TypeError(
            "numpy.compress takes no encrypted condition: how many elements there are would depend on it"
        )
    return a._gather(np.compress(to_array(condition, "compress"), places_of(a), axis))


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    arrays = [arr, values]
    if axis is None:
        arrays, axis = [x.ravel() for x in operands("append", *arrays)], 0
    return _joined(np.concatenate, arrays, axis=axis)


def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if _secret(values) or not _secret(arr):
        raise refusal("insert")
    plain = _mixed(arr._plain(values, "insert"))
    places = np.insert(places_of(arr), obj, np.full(plain.shape, -1), axis)
    zeros = np.zeros(arr.shape, dtype=plain.dtype)
    return arr._placed(places, [arr], np.insert(zeros, obj, plain, axis))


def _lengths(lengths: Any) -> list[int]:
    """Return non-negative integers as a list, or an empty list if others are among them.

    numpy refuses the others.
    """
    several = np.asarray(lengths, dtype=object).ravel().tolist()
    return several if all(isinstance(n, (int, np.integer)) and n >= 0 for n in several) else []


def _resize(a: Any, new_shape: Any) -> Any:
    check_size("numpy.resize", _lengths(new_shape))
    return a._gather(np.resize(places_of(a), new_shape))


def _tile(A: Any, reps: Any) -> Any:  # noqa: N803
    check_size("numpy.tile", [A.size, *_lengths(reps)])
    return A._gather(np.tile(places_of(A), reps))


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **keywords: Any) -> Any:
    if _lengths(pad_width):
        around = np.broadcast_to(np.asarray(pad_width, dtype=object), (array.ndim, 2)).sum(axis=1)
        check_size(
            "numpy.pad", [length + more for length, more in zip(array.shape, around, strict=True)]
        )
    if (
        mode in ("edge", "reflect", "symmetric", "wrap")
        and keywords.get("reflect_type", "even") == "even"
    ):
        return array._gather(np.pad(places_of(array), pad_width, mode, **keywords))
    if mode != "constant":
        raise TypeError(
            f"numpy.pad of encrypted arrays is with constants, edge, even reflect, symmetric or wrap, not {mode}"
        )
    nothing = 0 if array.bit_error is None else False
    plain = _mixed(array._plain(keywords.pop("constant_values", nothing), "pad"))
    places = np.pad(places_of(array), pad_width, constant_values=-1)
    zeros = np.zeros(array.shape, dtype=plain.dtype)
    return array._placed(
        places, [array], np.pad(zeros, pad_width, constant_values=plain, **keywords)
    )


def _where(condition: Any, *both: Any) -> Any:
    """Choose from two arrays by a condition.

    A plain condition costs a product with a mask of zeros and ones for each encrypted array. An
    encrypted condition, which holds zeros and ones, costs one product of encrypted arrays.
    """
    if len(both) != 2:
        raise refusal("where")
    arrays = [x for x in (condition, *both) if _secret(x)]
    if any(array.bit_error is not None for array in arrays):
        return chosen(condition, *both)
    need, *others = (array.fingerprint for array in arrays)
    for have in others:
        if have != need:
            raise KeyMismatchError(f"where: encrypted under key {have}, but key {need} is needed")
    x, y = (
        one if _secret(one) else linear_functions.choosable(arrays[0], one, "where") for one in both
    )
    mask = condition if _secret(condition) else to_array(condition, "where").astype(bool)
    shapes = [np.shape(one) for one in (mask, x, y)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            "where: shapes {}, {} and {} do not broadcast together".format(*shapes)
        ) from None
    if 0 in shape:
        raise ShapeError(f"where: an encrypted array of shape {shape} would have no elements")
    with named("where", "multiply by plain numbers", "multiply", "subtract", "add", "mul", "sub"):
        if _secret(condition):
            return y + mask * (x - y if _secret(x) or _secret(y) else _difference(condition, x, y))
        parts = [
            x * part.astype(np.int64) if _secret(x) else np.where(part, _mixed(x), 0)
            for x, part in ((x, mask), (y, ~mask))
        ]
        return linear_functions.beside(*parts)


# Functions of one encrypted array


def _partition(name: str, a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> Any:
    """Sort, which also puts every element where a partition needs it."""
    # numpy refuses invalid places and axes.
    np.partition(np.zeros(a.shape), kth, axis=axis, kind=cast("Any", kind))
    with named(name.replace("sort", "partition"), name):
        return getattr(a, name)(axis)


def _diag(v: Any, k: int = 0) -> Any:
    if v.ndim not in (1, 2):
        raise ShapeError(f"diag takes arrays of one or two axes, not shape {v.shape}")
    if v.ndim == 2:
        return v.diagonal(k)
    check_size("diag", [v.size + abs(operator.index(k))] * 2)
    places = np.diag(places_of(v) + 1, k) - 1
    return v._placed(places, [v], np.zeros(places.shape, dtype=np.int64))


def _diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    if not _secret(a):
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
    if values is None or (_secret(values) and values.ndim):
        return values
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    return np.broadcast_to(values, shape) if np.ndim(values) == 0 else values


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    mean = weighted_mean(a, axis, weights, keepdims=keepdims)
    if not returned:
        return mean
    return mean, cast("Any", np.average)(
        np.ones(a.shape), axis, weights, returned=True, keepdims=keepdims
    )[1]


def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    with named("ptp", "max", "min"):
        return a.max(axis, keepdims=keepdims) - a.min(axis, keepdims=keepdims)


def _triangle(function: Callable[..., Any], m: Any, k: int = 0) -> Any:
    mask = function(np.ones(m.shape[-2:] if m.ndim > 1 else m.shape * 2, dtype=np.bool_), k)
    return m * mask.astype(np.int64) if m.bit_error is None else m & mask


def _difference(condition: Any, x: Any, y: Any) -> Any:
    """Return `x - y` for plain arrays, precisely enough for the product with the condition.

    The difference of integers is exact.
    """
    if all(one.dtype.kind in "biu" for one in (x, y)):
        return x.astype(object) - y.astype(object)
    if condition.plain_modulus is None and not all(one.dtype.kind in "biufc" for one in (x, y)):
        return fractions(x, "where") - fractions(y, "where")
    if condition.plain_modulus is None and all(one.dtype.kind in "biuf" for one in (x, y)):
        size = float(max(np.max(abs(one.astype(np.float64))) for one in (x, y)))
        if condition._needs_digits(size, "where"):
            return fractions(x, "where") - fractions(y, "where")
        x, y = (one.astype(np.result_type(one, np.float64)) for one in (x, y))
    return x - y


def _broadcast_to(array: Any, shape: Any) -> Any:
    target = (operator.index(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if array._common_shape(target, "broadcast_to") != target:
        raise ShapeError(f"broadcast_to: shape {array.shape} does not broadcast to {target}")
    check_size("broadcast_to", target)
    if array.bit_error is not None:
        return array._as_wide(target, "broadcast_to")
    server = array._bound_server("broadcast_to")
    return server._wrap(server._broadcast(array._raw, target))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    if not _secret(a):
        raise TypeError(
            "numpy.clip of plain values takes plain limits: x.maximum and x.minimum are of encrypted ones"
        )
    return a.clip(a_min if min is None else min, a_max if max is None else max)


def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if _secret(fp) and not any(_secret(one) for one in (x, xp, left, right)):
        return linear_functions.interpolated(x, xp, fp, left, right, period)
    if not _secret(x) or _secret(xp) or _secret(fp):
        raise TypeError(
            "numpy.interp takes encrypted places between plain ones, or encrypted values at plain places, not both"
        )
    x._refuse_integers("interp")
    places, values = (real_numbers(points, "interp") for points in (xp, fp))
    with named("interp", "apply"):
        return x.apply(lambda v: np.interp(v, places, values, left, right, period))


def _polyval(p: Any, x: Any) -> Any:
    if _secret(p):
        raise TypeError(
            "numpy.polyval takes no encrypted coefficients: multiply them with plain powers, and sum"
        )
    return polynomials.polyval(p, x)


ALONE: dict[Any, Callable[..., Any]] = {
    **linear_functions.ALONE,
    np.average: _average,
    np.iscomplexobj: lambda x: x.is_complex,
    np.isrealobj: lambda x: not x.is_complex,
    np.broadcast_to: _broadcast_to,
    np.diag: _diag,
    np.pad: _pad,
    np.ptp: _ptp,
    np.resize: _resize,
    np.tile: _tile,
    np.tril: lambda m, k=0: _triangle(np.tril, m, k),
    np.triu: lambda m, k=0: _triangle(np.triu, m, k),
}
SEVERAL: dict[Any, Callable[..., Any]] = {
    **linear_functions.SEVERAL,
    **PRODUCTS,
    np.append: _append,
    np.block: _block,
    np.compress: _compress,
    np.clip: _clip,
    np.cov: covariance.cov,
    np.diff: _diff,
    np.insert: _insert,
    np.interp: _interp,
    np.polyval: _polyval,
    np.where: _where,
}
