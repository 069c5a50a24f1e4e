"""Lazy views: selected elements of an array, which are moved only when this becomes necessary."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from hippocrene.errors import BudgetError, CapacityError, MissingKeyError, named
from hippocrene.stored import Forwarded
from hippocrene.values.operands import to_native

if TYPE_CHECKING:
    from hippocrene import _native

    _Places = npt.NDArray[np.int64]
    _Weights = npt.NDArray[np.float64] | npt.NDArray[np.int64] | npt.NDArray[np.complex128]

# Cost of sums of moved elements, in products with plain numbers. The sums need some rotations, and
# a rotation takes as long as four products.
_SUMS = 52


@dataclass(eq=False, repr=False)
class View:
    """A lazy view: the elements of `source` at `places`, each times one of the `weights` if any.

    Sums of these elements are linear combinations of the elements of `source`, and are computed as
    such. Windows of an image times a kernel need one product for each element of the kernel. The
    sum of a selection needs one product with zeros and ones.

    `server` moves the elements if that becomes necessary, and errors name `operation` then. It also
    computes sums, unless the caller has a server with another precision. `precise` tells that such
    a precision was requested when the elements were selected.

    The elements are moved if that makes sums of them cheaper. They are also moved when sums are
    needed for the second time. Windows are not moved then, because the array of all windows would
    be many times as large.
    """

    server: _native.Server
    source: _native.EncryptedArray
    places: _Places
    operation: str
    weights: _Weights | None = None
    _: KW_ONLY
    precise: bool
    # True for windows.
    windows: bool = False
    # The number of products for moving the elements, or None if these are all in their order.
    most: int | None = None
    # True after the first sum or product.
    _used: bool = field(default=False, init=False)
    # The moved elements: for later operations, and for reading only.
    _moved: _native.EncryptedArray | None = field(default=None, init=False)
    _read: _native.EncryptedArray | None = field(default=None, init=False)
    # Results of dry runs: of the moved elements, and of the products with the weights.
    _dry: _native.EncryptedArray | None = field(default=None, init=False)
    _unmoved: _native.EncryptedArray | None = field(default=None, init=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""
        return self.places.shape

    fingerprint = Forwarded[str]("The fingerprint of the source.", "source")
    plain_modulus = Forwarded["int | None"]("The plaintext modulus of the source.", "source")
    holds = Forwarded[str]("The kind of the elements.", "source")
    preset = Forwarded["str | None"]("The name of the preset of the source.", "source")

    @property
    def is_complex(self) -> bool:
        """True if these elements may be complex."""
        return self.source.is_complex or (
            self.weights is not None and self.weights.dtype.kind == "c"
        )

    def described(self) -> _native.EncryptedArray:
        """Return an array with the precision and the capacity of the moved elements.

        A dry run computes it, without moving the elements. If they cannot be moved because keys or
        capacity are missing, it describes them before the move.
        """
        moved = self._read if self._moved is None else self._moved
        if moved is not None:
            return moved
        if self._dry is None:
            server, source = self.server.dry_run(self.source)
            try:
                self._dry = self._with(server, self.places, self.weights, source)._move()
            except (BudgetError, CapacityError, MissingKeyError):
                self._dry = self.unmoved()
        return self._dry

    def unmoved(self) -> _native.EncryptedArray:
        """Return an array with the precision, bound and capacity of the elements before they move.

        It is the source, or a dry run of the products with the weights.
        """
        if self._unmoved is None:
            self._unmoved = self._without_moving()
        return self._unmoved

    def _without_moving(self) -> _native.EncryptedArray:
        if self.weights is None and not self.precise:
            return self.source
        server, source = self.server.dry_run(self.source)
        if self.weights is None:
            # An operation with the server applies the requested precision.
            return server.negate(source)
        weights: npt.NDArray[Any] = np.resize(self.weights, self.source.shape)
        if self.plain_modulus is None:
            weights = np.full(self.source.shape, np.max(np.abs(self.weights)))
        return server.mul_plain(source, weights)

    def _strides_moved(self) -> list[int] | None:
        """Return the strides in slots of the moved elements, or None if they are not moved."""
        if self.windows or self.most is None:
            return None
        lengths = [1 << (length - 1).bit_length() for length in self.shape[:0:-1]]
        return list(itertools.accumulate(lengths, operator.mul, initial=1))[: len(self.shape)][::-1]

    def _are_to_be_moved(self) -> bool:
        """Return True if the elements are moved now or were moved before.

        That is so if they are needed for the second time and are not windows.
        """
        before, self._used = self._used, not self.windows
        return before or self._moved is not None

    def moved(self) -> _native.EncryptedArray:
        """Move the elements to places of their own, and multiply them by the weights."""
        if self._moved is None:
            self._moved = self._move() if self._read is None else self._read
        return self._moved

    def to_be_read(self) -> _native.EncryptedArray:
        """Return the moved elements for reading only: later operations use the view as before."""
        if self._moved is not None:
            return self._moved
        if self._read is None:
            self._read = self._move()
        return self._read

    def _move(self) -> _native.EncryptedArray:
        if self.weights is None:
            return self._gathered()
        weights = np.array(np.broadcast_to(self.weights, self.shape), order="C")
        entries = (cast("Any", np.broadcast_to(self.places, self.shape)), cast("_Weights", weights))
        # Use one linear map for moving and multiplying, if it needs no more products than moving.
        if self.most is not None and not self.windows:
            raw = self._sums(
                self.operation, self.server, entries, 0, self.most + 1, self._strides_moved()
            )
            if raw is not None:
                return raw
        try:
            raw = self._gathered()
            if raw.shape != self.shape:
                raw = self.server.broadcast_to(raw, self.shape)
            return self.server.mul_plain(raw, to_native(cast("Any", weights), "mul"))
        except (BudgetError, CapacityError):
            # There is capacity for one product, or the elements would not have been selected
            # lazily.
            raw = self._sums(self.operation, self.server, entries, 0, None, None)
            if raw is None:
                raise
            return raw

    def _gathered(self) -> _native.EncryptedArray:
        # Move broadcast elements only once.
        strides = zip(self.places.strides, self.shape, strict=True)
        once = self.places[
            tuple(
                slice(1) if stride == 0 and length > 1 else slice(None)
                for stride, length in strides
            )
        ]
        with named(self.operation, "move elements"):
            return self.server.gather([self.source], once.shape, np.ascontiguousarray(once.ravel()))

    def at(self, places: _Places) -> View | None:
        """Return a view of the elements at these places, counted in row-major order.

        Return None if the elements should be moved first. That is so if there are zeros among the
        places, or if these are not windows, since two moves may need fewer rotations than a
        combined one.
        """
        if not self.windows or (places < 0).any():
            return None
        weights = self.weights
        if weights is not None:
            weights = cast("_Weights", np.broadcast_to(weights, self.shape).reshape(-1)[places])
        return self._with(self.server, self.places.reshape(-1)[places], weights)

    def of(
        self, server: _native.Server | None, source: _native.EncryptedArray
    ) -> View | _native.EncryptedArray:
        """Return the elements of another array at the same places.

        They are moved at once if the other array has no capacity left for a later move.
        """
        server = server or self.server
        flat = np.ascontiguousarray(self.places.ravel())
        with named(self.operation, "move elements"):
            moved, _ = server.pick(source, self.places.shape, flat)
        return self._with(server, self.places, None, source) if moved is None else moved

    def is_alike(self, other: object) -> bool:
        """Return True if both are windows of arrays of the same shape at the same places.

        There must be at least as many elements as in the source.
        """
        return (
            isinstance(other, View)
            and self.windows
            and other.windows
            and self.places.size >= math.prod(self.source.shape)
            and self.weights is None
            and other.weights is None
            and self.source.shape == other.source.shape
            and (self.places is other.places or np.array_equal(self.places, other.places))
        )

    def is_transposed(self, other: object) -> bool:
        """Return True if these are the elements of `other` with the axes in reverse order."""
        return (
            isinstance(other, View)
            and self.source is other.source
            and self.weights is None
            and other.weights is None
            and np.array_equal(self.places, other.places.T)
        )

    def times(
        self, server: _native.Server | None, values: npt.NDArray[Any], shape: tuple[int, ...]
    ) -> View | None:
        """Return a view of the products with plain values, which are broadcast to `shape`.

        Return None if the products should be computed at once.
        """
        if (
            self.weights is not None
            or values.ndim == 0
            or not _are_weights(values)
            or self._are_to_be_moved()
        ):
            return None
        # A copy, because the caller may change the array before it is used.
        return self._with(server or self.server, np.broadcast_to(self.places, shape), values.copy())

    def _with(
        self,
        server: _native.Server,
        places: _Places,
        weights: _Weights | None,
        source: _native.EncryptedArray | None = None,
    ) -> View:
        return View(
            server,
            source or self.source,
            places,
            self.operation,
            weights,
            precise=self.precise,
            windows=self.windows,
            most=self.most,
        )

    def summed(
        self, server: _native.Server | None, axes: Sequence[int]
    ) -> _native.EncryptedArray | None:
        """Return the sums along these axes, or None if the elements should be moved."""
        kept = [axis for axis in range(len(self.shape)) if axis not in axes]
        weights: npt.NDArray[Any] | None = self.weights
        if weights is None:
            weights = np.ones((), dtype=np.float64 if self.plain_modulus is None else np.int64)
        else:
            server = None
        places, factors = (
            cast("Any", np.broadcast_to(one, self.shape).transpose(*kept, *axes))
            for one in (self.places, weights)
        )
        strides = self._strides_moved()
        wished = strides and [strides[axis] for axis in kept]
        return self._combined("sum", server, (places, factors), len(axes), _SUMS, wished)

    def times_matrix(
        self, server: _native.Server | None, matrix: _Weights, *, from_left: bool = False
    ) -> _native.EncryptedArray | None:
        """Return the product with a plain vector or matrix along the last axis.

        With `from_left`, it is the product from the left along the first axis. Return None if the
        elements should be moved, or if the shapes do not fit.
        """
        axis = 0 if from_left else -1
        if (
            not self.shape
            or not matrix.shape
            or self.weights is not None
            or not _are_weights(matrix)
        ):
            return None
        if self.shape[axis] != (matrix.shape[-1] if from_left else len(matrix)):
            return None
        places = np.moveaxis(self.places, 0, -1) if from_left else self.places
        columns = matrix if from_left else matrix.T
        if columns.ndim == 2 and from_left:
            # Shape (rows, .., k) from the left, and (.., columns, k) from the right.
            columns = columns.reshape(len(columns), *(1,) * (places.ndim - 1), -1)
        elif columns.ndim == 2:
            places = places[..., np.newaxis, :]
        places, columns = np.broadcast_arrays(places, columns)
        # A matrix has as many diagonals as rows and columns together.
        work = _SUMS + sum(matrix.shape)
        wished = self._strides_moved()
        if wished and matrix.ndim == 1:
            del wished[axis]
        return self._combined(
            "matrix product", server, (places, cast("_Weights", columns)), 1, work, wished
        )

    def _combined(
        self,
        operation: str,
        server: _native.Server | None,
        entries: tuple[_Places, _Weights],
        axes: int,
        products: int,
        strides: list[int] | None,
    ) -> _native.EncryptedArray | None:
        """Return the sums along the last axes, or None if moving the elements first is cheaper.

        `products` is the cost of sums of moved elements. The sums get the given strides, if that
        does not need much more work.
        """
        if self._are_to_be_moved():
            return None
        most = None if self.most is None else self.most + products
        return self._sums(operation, server or self.server, entries, axes, most, strides)

    def _sums(
        self,
        operation: str,
        server: _native.Server,
        entries: tuple[_Places, _Weights],
        axes: int,
        most: int | None,
        strides: list[int] | None,
    ) -> _native.EncryptedArray | None:
        """Return the sums along the last axes, if they need fewer than `most` products, or None."""
        places, weights = entries

        def combined(part: npt.NDArray[Any]) -> _native.EncryptedArray | None:
            return server.linear_combinations(self.source, (places, part), axes, most, strides)

        with named(operation, "linear combinations", "add up"):
            if weights.dtype.kind != "c":
                return combined(weights)
            # Both get the same layout, which does not depend on the weights.
            real, imaginary = combined(weights.real), combined(weights.imag)
            if real is None or imaginary is None:
                return None
            return server.add(real, server.times_i(imaginary))


def _are_weights(values: npt.NDArray[Any]) -> bool:
    """Return True if linear combinations can use these values as weights."""
    return values.dtype in (np.float64, np.int64, np.complex128) and bool(np.isfinite(values).all())
