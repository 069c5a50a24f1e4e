"""Elements of encrypted arrays picked, reordered and joined, as numpy does it with plain ones."""

from __future__ import annotations

import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from hippocrene.encrypted import Encrypted
from hippocrene.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import EllipsisType

    from hippocrene.array import EncryptedArray

    _Key = SupportsIndex | slice | EllipsisType | None | npt.ArrayLike

# Functions that move the elements of their first argument, those that split it, and those that join all of its members.
MOVES = (
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.fliplr,
    np.flipud,
    np.moveaxis,
    np.ravel,
    np.repeat,
    np.reshape,
    np.rot90,
    np.squeeze,
    np.swapaxes,
    np.take,
    np.tile,
    np.transpose,
)
SPLITS = (np.array_split, np.hsplit, np.split, np.vsplit)
JOINS = (np.column_stack, np.concatenate, np.dstack, np.hstack, np.stack, np.vstack)
# Functions that are methods, and what arrays are asked for.
METHODS = (np.mean, np.roll, np.sum)
PROPERTIES = (np.ndim, np.shape, np.size)


def _places(array: Encrypted, first: int = 0) -> npt.NDArray[np.int64]:
    """Return the places of the elements in row-major order, counted from `first` on."""
    return np.arange(first, first + array.size, dtype=np.int64).reshape(array.shape)


@contextmanager
def _shape_errors(operation: str) -> Iterator[None]:
    """Raise what numpy says of shapes in the block as `ShapeError`; an `IndexError` stays one."""
    try:
        yield
    except IndexError:
        raise
    except ValueError as error:
        raise ShapeError(f"{operation}: {error}") from None


class Moves(Encrypted):
    """What arrays have whose elements can be moved."""

    __slots__ = ()

    def _gather(self, places: npt.NDArray[np.int64], arrays: Sequence[Moves] = ()) -> EncryptedArray:
        """Return the elements at these places of the arrays, one after the other; of this one where none are named."""
        arrays = arrays or (self,)
        if any(array.bit_error is not None for array in arrays):
            raise TypeError("encrypted bits are not moved: encrypt them in the shape and order that they are wanted in")
        servers = [array._server for array in arrays if array._server is not None]
        server = servers[0] if servers else self._bound_server("moving elements")
        places = np.asarray(places, dtype=np.int64)
        if not places.size:
            raise ShapeError(f"an encrypted array of shape {places.shape} would have no elements")
        raw = [array._raw for array in arrays]
        return server._wrap(server._raw.gather(raw, places.shape, np.ascontiguousarray(places.ravel())))

    def __getitem__(self, key: _Key | tuple[_Key, ...]) -> EncryptedArray:
        """Pick elements, rows, columns and the like by what numpy takes: integers, slices, lists, masks and `None`.

        Slices with steps that are powers of two, rows and columns take no multiplication, nearly always; other picks
        take one, as a product with plain numbers does.
        """
        with _shape_errors("indexing"):
            places = np.asarray(_places(self)[cast("Any", key)])
        return self._gather(places)

    def __iter__(self) -> Iterator[EncryptedArray]:
        """Go through the first axis."""
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex]) -> EncryptedArray:
        """Give the array another shape, with its elements in row-major order; one axis may be -1: what is left.

        That takes a multiplication, except where axes of length 1 come or go, or all axes but the first are, and stay,
        of lengths that are powers of two.
        """
        with _shape_errors("reshape"):
            places = _places(self).reshape(cast("Any", shape[0] if len(shape) == 1 else shape))
        return self._gather(places)

    def ravel(self) -> EncryptedArray:
        """Return the elements in row-major order along one axis; see `reshape`."""
        return self.reshape(-1)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: object,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> object:
        """Compute numpy's functions that move elements, and those that are methods here."""
        first, *rest = args if args else (None,)
        if function in PROPERTIES and len(args) == 1 and not kwargs:
            return getattr(self, function.__name__)
        alone = isinstance(first, Moves) and not any(isinstance(x, Encrypted) for x in (*rest, *kwargs.values()))
        # numpy would write places where values are wanted.
        alone = alone and kwargs.get("out") is None and not (function is np.take and len(rest) > 2)
        if function in METHODS and alone:
            return getattr(first, function.__name__)(*rest, **kwargs)
        if function in (*MOVES, *SPLITS) and alone:
            with _shape_errors(f"numpy.{function.__name__}"):
                moved = function(_places(first), *rest, **kwargs)
            return first._gather(moved) if function in MOVES else [first._gather(part) for part in moved]
        if function in JOINS and args and not kwargs.keys() - {"axis"}:
            arrays = list(first)
            if not all(isinstance(array, Moves) for array in arrays):
                raise TypeError(f"numpy.{function.__name__} joins encrypted arrays with encrypted arrays only")
            starts = np.cumsum([0, *(array.size for array in arrays)]).tolist()
            places = [_places(array, start) for array, start in zip(arrays, starts, strict=False)]
            with _shape_errors(f"numpy.{function.__name__}"):
                joined = function(places, *rest, **kwargs)
            return self._gather(joined, arrays)
        if function is np.dot and len(args) == 2 and not kwargs:
            left, right = args
            zero = 0 in (np.ndim(left), np.ndim(right))
            return operator.mul(left, right) if zero else operator.matmul(left, right)
        raise TypeError(f"numpy.{function.__name__} takes no encrypted arrays: use their operators and methods")
