"""numpy's functions that move, repeat and join elements of encrypted arrays."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from hippocrene.arrays.advice import refusal
from hippocrene.arrays.arithmetic import broadcast
from hippocrene.arrays.bits import BitArray
from hippocrene.arrays.places import check_order, check_size, places_of
from hippocrene.arrays.registry import implements, implements_each, name_of
from hippocrene.errors import ShapeError
from hippocrene.numpy.arguments import is_encrypted, mixed, operands
from hippocrene.values.operands import to_array

# Functions that move the elements of their first argument.
MOVES = (
    np.delete,
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.fliplr,
    np.flipud,
    np.moveaxis,
    np.rollaxis,
    np.rot90,
    np.squeeze,
    np.swapaxes,
    np.take_along_axis,
    np.transpose,
    np.fft.fftshift,
    np.fft.ifftshift,
    np.lib.stride_tricks.sliding_window_view,
    "matrix_transpose",
    "linalg.diagonal",
    "linalg.matrix_transpose",
)


@implements_each(*MOVES)
def moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """Move elements as numpy moves their places."""
    operation = f"numpy.{name_of(function)}"

    def move(a: Any, *rest: Any, **keywords: Any) -> Any:
        places = np.asarray(function(places_of(a), *rest, **keywords))
        return a._gather(places, operation=operation)

    return move


@implements_each(np.ravel, np.reshape)
def reordering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Move elements as numpy moves their places, in the orders that have a meaning here."""
    move, operation = moving(function), f"numpy.{name_of(function)}"

    def reorder(a: Any, *rest: Any, **keywords: Any) -> Any:
        arguments = inspect.signature(function).bind(a, *rest, **keywords).arguments
        check_order(operation, arguments.get("order"))
        return move(a, *rest, **keywords)

    return reorder


@implements_each(np.atleast_1d, np.atleast_2d, np.atleast_3d)
def adding_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add axes to one array."""

    def add_axes(a: Any, *others: Any) -> Any:
        if others:
            raise refusal(name_of(function), a)
        return moving(function)(a)

    return add_axes


@implements(np.take)
def _take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: str = "raise") -> Any:
    if out is not None:
        raise refusal("take", a)
    return moving(np.take)(a, indices, axis, mode=mode)


@implements_each(np.array_split, np.dsplit, np.hsplit, np.split, np.vsplit, "unstack")
def splitting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Split an array into several."""

    def split(a: Any, *rest: Any, **keywords: Any) -> Any:
        return [a._gather(part) for part in function(places_of(a), *rest, **keywords)]

    return split


@implements_each(
    np.column_stack, np.concatenate, np.dstack, np.hstack, np.stack, np.vstack, several=True
)
def joining(function: Callable[..., Any]) -> Callable[..., Any]:
    """Join the arrays of a list."""

    def join(arrays: Any, *rest: Any, casting: str = "same_kind", **keywords: Any) -> Any:
        # numpy.row_stack passes the default of casting= to numpy.vstack.
        if casting != "same_kind" or keywords.keys() - {"axis"}:
            raise refusal(name_of(function), arrays)
        return joined(function, list(arrays), *rest, **keywords)

    return join


for _method in ("copy", "repeat", "roll"):
    implements(getattr(np, _method))(_method)
implements(np.shape)(lambda a: a.shape)
implements(np.ndim)(lambda a: a.ndim)


@implements(np.size)
def _size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else np.size(places_of(a), axis)


def joined(function: Callable[..., Any], arrays: list[Any], *rest: Any, **keywords: Any) -> Any:
    """Join arrays as a function of numpy does.

    The function is applied twice: to the places of the encrypted elements, with -1 for each plain
    element, and to the plain values. In the arguments of `numpy.block`, lists are nested arrays. In
    those of other functions, they are plain operands.
    """
    encrypted: list[Any] = []

    def places_in(part: Any) -> Any:
        if isinstance(part, list) and (part is arrays or function is np.block):
            return [places_in(one) for one in part]
        if not is_encrypted(part):
            return np.full(np.shape(part), -1)
        encrypted.append(part)
        return places_of(part, sum(array.size for array in encrypted[:-1]))

    def values_in(part: Any) -> Any:
        if isinstance(part, list) and (part is arrays or function is np.block):
            return [values_in(one) for one in part]
        if is_encrypted(part):
            return np.zeros(part.shape, dtype=np.int64)
        return mixed(encrypted[0]._plain(part, function.__name__))

    try:
        places = function(places_in(arrays), *rest, **keywords)
    except ValueError as error:
        # numpy's error of an axis is an IndexError too.
        if isinstance(error, IndexError) or function is np.block:
            raise
        shapes = " and ".join(str(np.shape(part)) for part in arrays)
        need = (
            "They have to be equal."
            if function is np.stack
            else "They need equally many axes, and equal lengths but on the axis along which they are joined."
        )
        raise ShapeError(
            f"numpy.{function.__name__}: the arrays have the shapes {shapes}. {need}"
        ) from None
    return encrypted[0]._placed(places, encrypted, function(values_in(arrays), *rest, **keywords))


implements(np.block, several=True)(lambda arrays: joined(np.block, arrays))


@implements(np.compress, several=True)
def _compress(condition: Any, a: Any, axis: Any = None) -> Any:
    if is_encrypted(condition):
        raise TypeError(
            "numpy.compress takes no encrypted condition: the number of elements would depend on it"
        )
    return a._gather(np.compress(to_array(condition, "compress"), places_of(a), axis))


@implements(np.append, several=True)
def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    arrays = [arr, values]
    if axis is None:
        arrays, axis = [x.ravel() for x in operands("append", *arrays)], 0
    return joined(np.concatenate, arrays, axis=axis)


@implements(np.insert, several=True)
def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if is_encrypted(values) or not is_encrypted(arr):
        raise refusal("insert")
    plain = mixed(arr._plain(values, "insert"))
    places = np.insert(places_of(arr), obj, np.full(plain.shape, -1), axis)
    zeros = np.zeros(arr.shape, dtype=plain.dtype)
    return arr._placed(places, [arr], np.insert(zeros, obj, plain, axis))


def _lengths(lengths: Any) -> list[int]:
    """Return non-negative integers as a list, or an empty list if others are among them.

    numpy refuses the others.
    """
    several = np.asarray(lengths, dtype=object).ravel().tolist()
    return several if all(isinstance(n, (int, np.integer)) and n >= 0 for n in several) else []


@implements(np.resize)
def _resize(a: Any, new_shape: Any) -> Any:
    check_size("numpy.resize", _lengths(new_shape))
    return a._gather(np.resize(places_of(a), new_shape))


@implements(np.tile)
def _tile(A: Any, reps: Any) -> Any:  # noqa: N803
    check_size("numpy.tile", [A.size, *_lengths(reps)])
    return A._gather(np.tile(places_of(A), reps))


@implements(np.pad)
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
    nothing = False if isinstance(array, BitArray) else 0
    plain = mixed(array._plain(keywords.pop("constant_values", nothing), "pad"))
    places = np.pad(places_of(array), pad_width, constant_values=-1)
    zeros = np.zeros(array.shape, dtype=plain.dtype)
    return array._placed(
        places, [array], np.pad(zeros, pad_width, constant_values=plain, **keywords)
    )


@implements(np.diag)
def _diag(v: Any, k: int = 0) -> Any:
    if v.ndim not in (1, 2):
        raise ShapeError(f"diag takes arrays of one or two axes, not shape {v.shape}")
    if v.ndim == 2:
        return v.diagonal(k)
    check_size("diag", [v.size + abs(operator.index(k))] * 2)
    places = np.diag(places_of(v) + 1, k) - 1
    return v._placed(places, [v], np.zeros(places.shape, dtype=np.int64))


@implements_each(np.tril, np.triu)
def triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    """Set the elements of one triangle to zero."""

    def masked(m: Any, k: int = 0) -> Any:
        mask = function(np.ones(m.shape[-2:] if m.ndim > 1 else m.shape * 2, dtype=np.bool_), k)
        return m & mask if isinstance(m, BitArray) else m * mask.astype(np.int64)

    return masked


@implements(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any) -> Any:
    target = (operator.index(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if array._common_shape(target, "broadcast_to") != target:
        raise ShapeError(f"broadcast_to: shape {array.shape} does not broadcast to {target}")
    check_size("broadcast_to", target)
    if isinstance(array, BitArray):
        return array._as_wide(target, "broadcast_to")
    server = array._bound_server("broadcast_to")
    return server._wrap(broadcast(server, array._elements(), target))
