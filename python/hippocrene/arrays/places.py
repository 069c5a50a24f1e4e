"""Places of elements: their indices in row-major order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError, HippocreneError, ShapeError, named

# Axes along which an operation computes: one, several, or None for all.
Axes: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | None

WINDOWS = "numpy.lib.stride_tricks.sliding_window_view"

# The maximum number of elements of an array, as in the extension module.
_MOST = 2**32


def check_size(operation: str, lengths: Iterable[int]) -> None:
    """Refuse more elements than an array can have, before numpy allocates memory for them."""
    total = math.prod(map(int, lengths))
    if total > _MOST:
        raise ShapeError(f"{operation}: {total} elements, an array has up to 2^32")


def check_order(operation: str, order: str | None) -> None:
    """Refuse the orders "A" and "K", which depend on the memory layout of numpy's arrays.

    None means "C".
    """
    if order is not None and (not isinstance(order, str) or order not in ("C", "F", "c", "f")):
        raise ArgumentError(
            f"{operation}: order is {order!r}: encrypted arrays have no order in memory, their elements are counted "
            "in the orders 'C' and 'F'"
        )


def places_of(array: Any, first: int = 0) -> npt.NDArray[np.int64]:
    """Return the indices of the elements in row-major order, counted from `first` on."""
    shape: tuple[int, ...] = array.shape
    return np.arange(first, first + math.prod(shape), dtype=np.int64).reshape(shape)


def places_at(shape: tuple[int, ...], key: Any) -> npt.NDArray[np.int64] | None:
    """Return the entries of `places_of` at a key, without making all others.

    The key holds integers, slices, `None` and an ellipsis. For other keys, and those that do not
    fit, this returns None.
    """
    parts = key if isinstance(key, tuple) else (key,)
    kinds = (slice, int, np.integer, type(None), type(...))
    if not all(isinstance(part, kinds) and not isinstance(part, bool) for part in parts):
        return None
    free = len(shape) - sum(part is not None and part is not ... for part in parts)
    at = next((i for i, part in enumerate(parts) if part is ...), len(parts))
    if free < 0 or any(part is ... for part in parts[at + 1 :]):
        return None
    places, axes, stride = np.zeros((), dtype=np.int64), iter(shape), math.prod(shape)
    try:
        for part in (*parts[:at], *[slice(None)] * free, *parts[at + 1 :]):
            if part is None:
                places = places[..., np.newaxis]
                continue
            length = next(axes)
            stride //= length
            # Indexing a range checks bounds, and resolves negative indices and slices, as numpy
            # does.
            chosen = range(length)[part]
            if isinstance(chosen, range):
                places = places[..., np.newaxis] + stride * np.arange(
                    chosen.start, chosen.stop, chosen.step
                )
            else:
                places = places + stride * chosen
    except (IndexError, TypeError, ValueError):
        return None
    return np.asarray(places)


class shape_errors(named):  # noqa: N801
    """Converts numpy's errors about shapes and axes in the block to `ShapeError`.

    An `IndexError` for an index of an element stays an `IndexError`. All of these errors name the
    operation, and so do errors of moves and numpy's errors about types.
    """

    __slots__ = ()

    def __init__(self, operation: str) -> None:
        super().__init__(operation, "move elements")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        message = f"{self.operation}: {error}"
        if error is None or isinstance(error, HippocreneError):
            return
        # numpy.exceptions.AxisError is both an IndexError and a ValueError.
        if isinstance(error, ValueError):
            raise ShapeError(message) from None
        if isinstance(error, IndexError):
            raise IndexError(message) from None
        if self.operation.rpartition(".")[2] in str(error):
            return
        # Some of numpy's TypeErrors take other arguments than a message, so that their class cannot
        # be used here.
        for own in (TypeError, OverflowError):
            if isinstance(error, own):
                raise own(message) from None


def common_shape(operation: str, shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes broadcast to."""
    shapes = list(shapes)
    different = set(shapes) - {()}
    try:
        shape = different.pop() if len(different) == 1 else np.broadcast_shapes(*shapes)
    except ValueError:
        *others, last = map(str, shapes)
        widest = max(map(len, shapes))
        columns = list(
            zip(*((1,) * (widest - len(shape)) + shape for shape in shapes), strict=True)
        )
        axis = max(i for i, column in enumerate(columns) if len(set(column) - {1}) > 1)
        lengths = " and ".join(
            str(length) for length in dict.fromkeys(columns[axis]) if length != 1
        )
        raise ShapeError(
            f"{operation}: shapes {', '.join(others)} and {last} do not broadcast together: axis "
            f"{axis - widest} has {lengths} elements. Lengths have to be equal or 1, from the last "
            "axis on."
        ) from None
    except RuntimeError as error:
        # numpy raises RuntimeError for arrays with more axes than it can broadcast.
        raise ShapeError(f"{operation}: {error}") from None
    if 0 in shape:
        raise ShapeError(f"{operation}: an encrypted array of shape {shape} would have no elements")
    return shape
