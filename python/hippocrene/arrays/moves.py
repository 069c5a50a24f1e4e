"""Selecting, reordering and joining elements of encrypted arrays, as numpy does."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.encrypted import Encrypted, part_of_arrays
from hippocrene.arrays.view import View
from hippocrene.errors import ArgumentError, HippocreneError, ShapeError, named
from hippocrene.numpy.ufuncs import unset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import EllipsisType

    from hippocrene.arrays.array import EncryptedArray
    from hippocrene.server import Server

    _Key = SupportsIndex | slice | EllipsisType | None | npt.ArrayLike
    # The order of elements: with "C" the last axis runs fastest, with "F" the first one.
    _Order = Literal["C", "F"]

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


def places_of(array: Encrypted, first: int = 0) -> npt.NDArray[np.int64]:
    """Return the indices of the elements in row-major order, counted from `first` on."""
    return np.arange(first, first + array.size, dtype=np.int64).reshape(array.shape)


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


@contextmanager
def shape_errors(operation: str) -> Iterator[None]:
    """Convert numpy's errors about shapes and axes in the block to `ShapeError`.

    An `IndexError` for an index of an element stays an `IndexError`. All of these errors name the
    operation, and so do errors of moves and numpy's errors about types.
    """
    try:
        with named(operation, "move elements"):
            yield
    except HippocreneError:
        raise
    except IndexError as error:
        # numpy.exceptions.AxisError is both an IndexError and a ValueError.
        kind = ShapeError if isinstance(error, ValueError) else IndexError
        raise kind(f"{operation}: {error}") from None
    except ValueError as error:
        raise ShapeError(f"{operation}: {error}") from None
    except (TypeError, OverflowError) as error:
        if operation.rpartition(".")[2] in str(error):
            raise
        # Some of numpy's TypeErrors take other arguments than a message, so that their class cannot
        # be used here.
        raise (TypeError if isinstance(error, TypeError) else OverflowError)(
            f"{operation}: {error}"
        ) from None


@part_of_arrays
class Moves(Encrypted):
    """The methods of encrypted arrays that move elements."""

    __slots__ = ()

    def _mover(self, arrays: Sequence[Moves]) -> Server:
        """Return the server that moves elements of these arrays."""
        if len({array.bit_error is None for array in arrays}) > 1:
            raise TypeError("encrypted bits and encrypted numbers are not joined")
        if len({array.plain_modulus for array in arrays}) > 1:
            raise TypeError(
                "encrypted integers are not joined with encrypted numbers, or of another plain modulus"
            )
        servers = [array._server for array in arrays if array._server is not None]
        return servers[0] if servers else self._any_server("moving elements")

    def _gather(
        self, places: npt.NDArray[np.int64], arrays: Sequence[Moves] = (), *, operation: str = ""
    ) -> EncryptedArray:
        """Return the elements at these places of the arrays, one array after the other.

        Without `arrays`, they are elements of this one. If an `operation` is named, elements of one
        array become a lazy view, which is moved only where necessary.
        """
        arrays = arrays or (self,)
        server = self._mover(arrays)
        places = np.asarray(places, dtype=np.int64)
        if not places.size:
            raise ShapeError(
                f"move elements: an encrypted array of shape {places.shape} would have no elements"
            )
        check_size("move elements", places.shape)
        if (
            len(arrays) == 1
            and (before := arrays[0]._picked) is not None
            and (some := before.at(places)) is not None
        ):
            return server._wrap(some)
        flat = np.ascontiguousarray(places.ravel())
        raw = [array._raw for array in arrays]
        if operation and len(arrays) == 1 and self.bit_error is None and (places >= 0).all():
            most = _native.moving_products(server._raw, raw[0], places.shape, flat)
            if most:
                windows = operation == WINDOWS
                return self._picked_at(
                    server, raw[0], places, operation, windows=windows, most=most
                )
        return server._wrap(server._raw.gather(raw, places.shape, flat))

    def _picked_at(
        self,
        server: Server,
        source: _native.EncryptedArray,
        places: npt.NDArray[np.int64],
        operation: str,
        **how: Any,
    ) -> EncryptedArray:
        """Return a lazy view of the elements at these places."""
        precise = server._raw.has_own_precision
        return server._wrap(View(server._raw, source, places, operation, precise=precise, **how))

    def _in_place(self, operation: str) -> EncryptedArray:
        """Return the array as a lazy view of all its elements.

        Sums of its products with plain numbers are then computed as linear combinations.
        """
        if self.bit_error is not None or self._picked is not None:
            return cast("EncryptedArray", self)
        return self._picked_at(self._mover((self,)), self._raw, places_of(self), operation)

    def _moved(
        self, operation: str, move: Callable[[npt.NDArray[np.int64]], Any]
    ) -> EncryptedArray:
        """Return the elements in the order that `move` gives to a numpy array of their places."""
        with shape_errors(operation):
            return self._gather(np.asarray(move(places_of(self))), operation=operation)

    def __getitem__(self, key: _Key | tuple[_Key, ...]) -> EncryptedArray:
        """Select elements with integers, slices, lists, masks and `None`, as in numpy.

        Rows, columns, and slices whose steps are powers of two almost never take a multiplication.
        Other selections take one, like a product with plain numbers.

        For encrypted bits, rows, columns and such slices are a rotation, and other selections are a
        bootstrap. Both need keys for rotations, which must be requested. For example, ``x[3]`` and
        ``x[3:9]`` of an array with one axis need ``client.evaluation_keys(rotations=[3])``.
        `simulate` finds the rotations that a program needs.
        """
        few = places_at(self.shape, key)
        if few is not None:
            with shape_errors("indexing"):
                return self._gather(few, operation="indexing")
        return self._moved("indexing", lambda places: places[cast("Any", key)])

    def __iter__(self) -> Iterator[EncryptedArray]:
        """Iterate over the first axis."""
        return (self[i] for i in range(len(self)))

    def reshape(
        self, *shape: SupportsIndex | Sequence[SupportsIndex], order: _Order = "C"
    ) -> EncryptedArray:
        """Return the array with another shape, as `numpy.reshape` does.

        One length may be -1 and is then computed from the others. This needs a multiplication,
        except in two cases:

        - Only axes of length 1 are added or removed.
        - The lengths of all axes but the first are powers of two, before and after.

        With the `order` ``"F"``, here and in `ravel` and `flatten`, the first axis runs fastest.
        """
        wanted = cast("Any", shape[0] if len(shape) == 1 else shape)
        return self._reordered("reshape", wanted, order)

    def _reordered(self, operation: str, shape: Any, order: _Order) -> EncryptedArray:
        check_order(operation, order)
        return self._moved(operation, lambda places: places.reshape(shape, order=order))

    def ravel(self, order: _Order = "C") -> EncryptedArray:
        """Return the elements in row-major order along one axis; see `reshape`."""
        return self._reordered("ravel", -1, order)

    def flatten(self, order: _Order = "C") -> EncryptedArray:
        """Return the elements in row-major order along one axis; see `reshape`."""
        return self._reordered("flatten", -1, order)

    def packed(self) -> EncryptedArray:
        """Return the array with its elements side by side, in as few ciphertexts as possible.

        A fresh array has this layout. Sums and products along axes leave elements where they were
        computed, far apart. Packing a result before it is sent reduces its size to a fraction. This
        needs a multiplication, unless elements are side by side already.
        """
        server = self._mover((self,))
        return server._wrap(server._raw.packed(self._raw))

    def transpose(self, *axes: SupportsIndex | Sequence[SupportsIndex] | None) -> EncryptedArray:
        """Return the array with its axes in another order, by default in reverse order."""
        return self._moved("transpose", lambda places: places.transpose(*cast("Any", axes)))

    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> EncryptedArray:
        """Return the array with two axes exchanged."""
        return self._moved("swapaxes", lambda places: places.swapaxes(axis1, axis2))

    @property
    def mT(self) -> EncryptedArray:  # noqa: N802
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise ShapeError(f"mT is for arrays of two axes or more, not of shape {self.shape}")
        return self.swapaxes(-1, -2)

    def squeeze(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None
    ) -> EncryptedArray:
        """Return the array without axes of length 1."""
        return self._moved("squeeze", lambda places: places.squeeze(axis))

    def take(
        self,
        indices: npt.ArrayLike,
        axis: SupportsIndex | None = None,
        out: None = None,
        mode: Literal["raise", "wrap", "clip"] = "raise",
    ) -> EncryptedArray:
        """Return elements by their indices, as `numpy.take` does.

        Without an `axis`, the indices count all elements in row-major order.
        """
        unset("take", None, out)
        return self._moved(
            "take", lambda places: places.take(cast("Any", indices), axis, mode=mode)
        )

    def repeat(self, repeats: npt.ArrayLike, axis: SupportsIndex | None = None) -> EncryptedArray:
        """Repeat every element, as `numpy.repeat` does."""
        with shape_errors("repeat"):
            counts = np.asarray(repeats)
        if counts.dtype.kind in "iu" and counts.size:
            # Python's integers, since numpy's products and sums may overflow.
            check_size("repeat", (self.size // counts.size, sum(counts.ravel().tolist())))
        return self._moved("repeat", lambda places: places.repeat(cast("Any", repeats), axis))

    def diagonal(
        self, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1
    ) -> EncryptedArray:
        """Return a diagonal, as `numpy.diagonal` does."""
        return self._moved("diagonal", lambda places: places.diagonal(offset, axis1, axis2))

    def _placed(
        self,
        places: npt.NDArray[np.int64],
        arrays: Sequence[EncryptedArray],
        values: npt.NDArray[Any],
    ) -> EncryptedArray:
        """Return the elements at these places of the arrays, one array after the other.

        Where a place is -1, the result has the plain value instead.
        """
        holes = places < 0
        moved = self._gather(places, arrays)
        if moved.bit_error is not None:
            ones = np.where(holes, values, False).astype(np.bool_)
            return moved ^ ones if ones.any() else moved
        return moved._beside(np.where(holes, values, 0)) if np.any(values[holes] != 0) else moved
