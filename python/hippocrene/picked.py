"""Elements of an array that are picked, and moved only where they are needed one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import named
from hippocrene.values import to_native

if TYPE_CHECKING:
    from collections.abc import Sequence

    _Places = npt.NDArray[np.int64]
    _Weights = npt.NDArray[np.float64] | npt.NDArray[np.int64]

# What sums of moved elements take, in products with plain numbers: some rotations, which take as long as four each.
_SUMS = 52


class Picked:
    """The elements of `source` at `places`, each times one of the `weights` if there are any.

    Sums of them are linear combinations of the elements of `source`, and computed as such: windows of an image times a
    kernel by as many products as the kernel has elements, the sum of a selection by one product with zeros and ones.
    `server` is what moves them after all, in the name of `operation`, and what sums them where no other precision is
    asked for then; one of `precise` was asked for when they were picked.

    There is no array of windows, which would be many times as large. Other elements are moved where sums of them take
    more than that, `most` products, and where sums of them are needed for the second time.
    """

    __slots__ = (
        "_alike",
        "_before",
        "_most",
        "_moved",
        "operation",
        "places",
        "precise",
        "server",
        "source",
        "weights",
    )

    def __init__(
        self,
        server: _native.Server,
        source: _native.EncryptedArray,
        places: _Places,
        operation: str,
        weights: _Weights | None = None,
        *,
        precise: bool,
        most: int | None = None,
    ) -> None:
        """Pick elements."""
        self.server = server
        self.source = source
        self.places = places
        self.operation = operation
        self.weights = weights
        self.precise = precise
        self._most = most
        self._before = False
        self._alike: _native.EncryptedArray | None = None
        self._moved: _native.EncryptedArray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""
        return self.places.shape

    @property
    def fingerprint(self) -> str:
        """That of the source."""
        return self.source.fingerprint

    @property
    def plain_modulus(self) -> int | None:
        """That of the source."""
        return self.source.plain_modulus

    @property
    def bit_error(self) -> None:
        """Nothing: bits are moved at once."""

    @property
    def is_complex(self) -> bool:
        """Whether elements of the source may be complex."""
        return self.source.is_complex

    @property
    def alike(self) -> _native.EncryptedArray:
        """An array with the precision, the bound and the capacity that these elements have before they are moved."""
        if self._alike is None:
            self._alike = self._make_alike()
        return self._alike

    def _make_alike(self) -> _native.EncryptedArray:
        if self.weights is None:
            # To compute with another precision asked for is to ask for it.
            return self.server.negate(self.source) if self.precise else self.source
        weights: npt.NDArray[Any] = np.resize(self.weights, self.source.shape)
        if self.plain_modulus is None:
            weights = np.full(self.source.shape, np.max(np.abs(self.weights)))
        return self.server.mul_plain(self.source, weights)

    @property
    def _are_windows(self) -> bool:
        return self._most is None

    def _are_to_be_moved(self) -> bool:
        """Tell whether the elements are moved, or are to be: they have been needed before, and are not windows."""
        before, self._before = self._before, not self._are_windows
        return before or self._moved is not None

    def moved(self) -> _native.EncryptedArray:
        """Move the elements to places of their own, and multiply them."""
        if self._moved is None:
            self._moved = self._move()
        return self._moved

    def _move(self) -> _native.EncryptedArray:
        # What is broadcast is moved once.
        strides = zip(self.places.strides, self.shape, strict=True)
        once = self.places[tuple(slice(1) if stride == 0 and length > 1 else slice(None) for stride, length in strides)]
        with named(self.operation, "move elements"):
            raw = self.server.gather([self.source], once.shape, np.ascontiguousarray(once.ravel()))
        if self.weights is None:
            return raw
        if raw.shape != self.shape:
            raw = self.server.broadcast_to(raw, self.shape)
        weights = np.array(np.broadcast_to(self.weights, self.shape), order="C")
        return self.server.mul_plain(raw, to_native(cast("Any", weights), "mul"))

    def at(self, places: _Places) -> Picked | None:
        """Return those at these places of all of them in row-major order; None where they are to be moved first.

        That is so where there are zeros among them, and of elements that are not of windows: two moves may be over
        fewer distances than one that does for both.
        """
        if not self._are_windows or (places < 0).any():
            return None
        weights = self.weights
        if weights is not None:
            weights = cast("_Weights", np.broadcast_to(weights, self.shape).reshape(-1)[places])
        places = self.places.reshape(-1)[places]
        return Picked(self.server, self.source, places, self.operation, weights, precise=self.precise)

    def times(self, server: _native.Server | None, values: npt.NDArray[Any], shape: tuple[int, ...]) -> Picked | None:
        """Return the products with plain values, broadcast to a shape; None where they are to be computed at once."""
        if self.weights is not None or values.ndim == 0 or values.dtype.kind not in "fi" or values.dtype.itemsize != 8:
            return None
        if not np.isfinite(values).all() or self._are_to_be_moved():
            return None
        places = np.broadcast_to(self.places, shape)
        server, weights = server or self.server, cast("_Weights", values)
        return Picked(server, self.source, places, self.operation, weights, precise=self.precise, most=self._most)

    def summed(self, server: _native.Server | None, axes: Sequence[int]) -> _native.EncryptedArray | None:
        """Return the sums along these axes; None where the elements are to be moved."""
        kept = [axis for axis in range(len(self.shape)) if axis not in axes]
        weights: npt.NDArray[Any] | None = self.weights
        if weights is None:
            weights = np.ones((), dtype=np.float64 if self.plain_modulus is None else np.int64)
        else:
            server = None
        places, factors = (
            cast("Any", np.broadcast_to(one, self.shape).transpose(*kept, *axes)) for one in (self.places, weights)
        )
        return self._combined("sum", server, places, factors, len(axes), _SUMS)

    def times_matrix(
        self, server: _native.Server | None, matrix: _Weights, *, from_left: bool = False
    ) -> _native.EncryptedArray | None:
        """Return the product with a plain vector or matrix along the last axis, or from the left along the first.

        None where the elements are to be moved, or shapes do not fit.
        """
        axis = 0 if from_left else -1
        if self.weights is not None or self.shape[axis] != (matrix.shape[-1] if from_left else len(matrix)):
            return None
        places = np.moveaxis(self.places, 0, -1) if from_left else self.places
        columns = matrix if from_left else matrix.T
        if columns.ndim == 2 and from_left:
            # (rows, .., k), and from the right (.., columns, k).
            columns = columns.reshape(len(columns), *(1,) * (places.ndim - 1), -1)
        elif columns.ndim == 2:
            places = places[..., np.newaxis, :]
        places, columns = np.broadcast_arrays(places, columns)
        # A matrix has as many diagonals as rows and columns together.
        diagonals = sum(matrix.shape)
        return self._combined("matrix product", server, places, cast("_Weights", columns), 1, _SUMS + diagonals)

    def _combined(
        self,
        operation: str,
        server: _native.Server | None,
        places: _Places,
        weights: _Weights,
        axes: int,
        products: int,
    ) -> _native.EncryptedArray | None:
        """Return the sums along the last axes, where they take no more than those of moved elements: `products`."""
        if self._are_to_be_moved():
            return None
        most = None if self._most is None else self._most + products
        server = server or self.server
        with named(operation, "linear combinations", "add up"):
            return _native.linear_combinations(server, self.source, places, weights, axes, most)
