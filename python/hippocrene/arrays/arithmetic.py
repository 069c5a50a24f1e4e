"""Arithmetic of encrypted arrays of numbers and of integers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    cast,
)

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.advice import refusal, refuse_options
from hippocrene.arrays.encrypted import Array, ArrayServer, EncryptedArray
from hippocrene.arrays.places import Axes
from hippocrene.arrays.view import View
from hippocrene.errors import DIFFERENCE, ArgumentError, ShapeError, named
from hippocrene.values.operands import Plain, is_exact_kind, is_plain, to_array, to_native
from hippocrene.values.scalars import declared_interval

if TYPE_CHECKING:
    from typing_extensions import Self

    from hippocrene.arrays.encrypted import _Operand

    _Matrix: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.int64]
    _Multiply: TypeAlias = Callable[[_native.Server, _Matrix], _native.EncryptedArray]


def broadcast(
    server: ArrayServer[Any], raw: _native.EncryptedArray, shape: tuple[int, ...]
) -> _native.EncryptedArray:
    """Repeat elements to a shape, unless the array already has it."""
    return raw if raw.shape == shape else server._raw.broadcast_to(raw, shape)


# Maximum number of different exponents of one array (chosen).
_MOST_EXPONENTS = 64
# Why arrays lack the operations of bits.
FOR_BITS = "{name} is for encrypted bits: booleans, encrypted with a preset for bits"


class ArithmeticArray(EncryptedArray):
    """The operations that arrays of numbers and of integers share."""

    __slots__ = ()
    _refusals: ClassVar[Mapping[str, str]] = {
        **EncryptedArray._refusals,
        **dict.fromkeys(("gates", "nand", "nor", "parity", "select", "where", "xnor"), FOR_BITS),
        **{
            name: f"{FOR_BITS}; for conditions that are 0 or 1, use {formula}"
            for name, formula in {
                "&": "a * b",
                "|": "a + b - a * b",
                "^": "a + b - 2 * a * b",
                "~": "1 - a",
                "all": "a.prod()",
                "any": "1 - (1 - a).prod()",
            }.items()
        },
    }
    _pow_modulus: ClassVar[str]
    _exponents: ClassVar[str]

    def _elements_beside(
        self, server: _native.Server, other: EncryptedArray
    ) -> _native.EncryptedArray:
        """Return `_elements` for a computation together with `other`.

        If this is a lazy transpose of the lazy view `other`, one move of elements serves both.
        """
        if isinstance(self._held, View) and self._held.is_transposed(other._held):
            return server.transpose(other._elements())
        return self._elements()

    def _elementwise(
        self,
        server: ArrayServer[Self],
        compute: Callable[..., _native.EncryptedArray],
        *others: Self,
    ) -> Self:
        """Compute element by element, with other arrays if there are any.

        If the operands are the same windows of several arrays, this computes with those arrays
        instead, since they are smaller.
        """
        views = [array._view for array in (self, *others)]
        first = views[0]
        if first is not None and all(first.is_alike(view) for view in views):
            source = compute(*(view.source for view in views if view is not None))
            return server._wrap(first.of(server._for_now, source))
        return server._wrap(compute(self._elements(), *(array._elements() for array in others)))

    # Arithmetic

    def _with(self, other: object, operation: Literal["add", "sub", "mul"]) -> Self:
        """Add, subtract or multiply with another encrypted array or with plain values."""
        if isinstance(other, EncryptedArray):
            server = self._bound_server(operation, other)
            return self._elementwise(server, getattr(server._raw, operation), cast("Self", other))
        if not is_plain(other):
            return cast("Self", NotImplemented)
        if operation == "mul" and isinstance(other, np.matrix):
            raise TypeError(
                "* of a numpy.matrix is a product of matrices: use @, or convert it with numpy.asarray"
            )
        values = self._plain(cast("npt.ArrayLike", other), operation)
        shape = self._common_shape(values.shape, operation)
        server = self._bound_server(operation)
        view = self._view if operation == "mul" else None
        if view and (products := view.times(server._for_now, values, shape)):
            return server._wrap(products)
        raw = broadcast(server, self._elements(), shape)
        if operation == "sub":
            with named("sub", *DIFFERENCE):
                return (
                    -((-self)._with(values, "add"))
                    if is_exact_kind(values)
                    else self._with(-values, "add")
                )
        if operation == "mul" and values.ndim == 0 and values.dtype.kind == "c" and not values.real:
            return self._with(values.imag, "mul")._run("times_i")
        if values.ndim == 0 and operation == "mul" and is_exact_kind(values):
            number = cast("_native.BigArray", to_native(values, operation))
            return server._wrap(server._raw.mul_exact_number(raw, number))
        if values.ndim == 0 and values.dtype.kind in "fi" and not is_exact_kind(values):
            with_number = server._raw.add_number if operation == "add" else server._raw.mul_number
            return server._wrap(with_number(raw, cast("float", values.item())))
        with_plain = server._raw.add_plain if operation == "add" else server._raw.mul_plain
        if values.shape != shape:
            values = np.array(np.broadcast_to(values, shape), order="C")
        return server._wrap(with_plain(raw, to_native(values, operation)))

    def __add__(self, other: EncryptedArray | Plain) -> Self:
        return self._with(other, "add")

    __radd__ = __add__

    def __sub__(self, other: EncryptedArray | Plain) -> Self:
        return self._with(other, "sub")

    def __rsub__(self, other: Plain) -> Self:
        with named("sub", *DIFFERENCE):
            return (-self)._with(other, "add")

    def __mul__(self, other: EncryptedArray | Plain) -> Self:
        return self._with(other, "mul")

    __rmul__ = __mul__

    def __neg__(self) -> Self:
        server = self._bound_server("neg")
        return self._elementwise(server, server._raw.negate)

    def __pos__(self) -> Self:
        return self

    def __pow__(self, exponent: SupportsIndex | SupportsFloat, modulus: None = None) -> Self:
        """Raise every value to an integer power ``n >= 0``.

        This takes ``ceil(log2(n))`` multiplications one after the other. As in numpy, the exponent
        ``2.0`` is the same as ``2``, and the power 0 is 1. Exponents of ``2**32`` and above, and
        negative ones, raise an `ArgumentError`. An array of exponents has one for each element,
        and takes a product with a mask for each different one, up to 64.
        """
        if modulus is not None:
            own = self._pow_modulus.format(modulus=self.plain_modulus)
            raise TypeError(f"pow takes no modulus for encrypted arrays: {own}")
        if isinstance(exponent, np.ndarray) and not exponent.ndim:
            exponent = exponent.item()
        if isinstance(exponent, (float, np.floating)) and float(exponent).is_integer():
            exponent = int(exponent)
        if isinstance(exponent, EncryptedArray):
            raise refusal("power", self, exponent)
        try:
            n = operator.index(cast("SupportsIndex", exponent))
        except TypeError:
            if not is_plain(exponent):
                return NotImplemented
            exponents = to_array(cast("npt.ArrayLike", exponent), "pow")
            if exponents.ndim and exponents.dtype.kind in "biuf" and np.isfinite(exponents).all():
                return self._to_powers(exponents)
            raise TypeError(f"pow: {self._exponents}") from None
        if n == 0:
            return self * 0 + 1
        if not 1 <= n < 2**32:
            raise ArgumentError(
                f"encrypted arrays can be raised to 0 and the powers 1, 2, 3, ... below 2**32, not {n}"
            )
        server = self._bound_server("pow")
        return self._elementwise(server, lambda x: server._raw.pow(x, n))

    def _to_powers(self, exponents: npt.NDArray[Any]) -> Self:
        """Raise every element to an exponent of its own, by a mask for each different exponent."""
        shape = self._common_shape(exponents.shape, "pow")
        different = np.unique(exponents)
        if not 1 <= len(different) <= _MOST_EXPONENTS:
            raise ArgumentError(
                f"pow: there are {len(different)} different exponents, and 1 to {_MOST_EXPONENTS} are supported. "
                "Raise parts of the array one after the other, and join them with numpy.concatenate."
            )
        powers: list[Self] = [self**n for n in different.tolist()]
        if len(powers) == 1:
            server = self._bound_server("pow")
            return server._wrap(broadcast(server, powers[0]._elements(), shape))
        masks = (np.broadcast_to(exponents == n, shape).astype(np.int64) for n in different)
        parts = [power._with(mask, "mul") for power, mask in zip(powers, masks, strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = total._add_disjoint(part)
        return total

    @property
    def imag(self) -> Self:
        """The imaginary parts, which are 0 for real values."""
        return self * 0

    def _add_disjoint(self, other: Self | npt.NDArray[Any]) -> Self:
        """Return the sum with an array that is 0 wherever this one is not."""
        return self + other

    def _filled(self, places: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> Self:
        return self._add_disjoint(np.where(places, values, 0))

    # Matrices

    def _times_matrix(
        self, values: npt.ArrayLike, multiply: _Multiply, *, from_left: bool | None = None
    ) -> Self:
        """Multiply by a plain vector or matrix.

        `from_left` is True for a product along the first axis and False for one along the last
        axis. In both cases a lazy view multiplies without moving its elements, where it can. Other
        products pass None, and move them.
        """
        return self._times_plain(self._plain(values, "matmul"), multiply, from_left=from_left)

    def _times_plain(
        self, plain: npt.NDArray[Any], multiply: _Multiply, *, from_left: bool | None
    ) -> Self:
        if not plain.size:
            raise ShapeError(f"matmul: a plain array of shape {plain.shape} has no elements")
        server = self._bound_server("matmul")
        view = None if from_left is None else self._view
        raw = view and view.times_matrix(server._for_now, plain, from_left=bool(from_left))
        if raw is None and plain.dtype.kind == "c":
            real, imaginary = (
                server._wrap(multiply(server._raw, part.copy()))
                for part in (plain.real, plain.imag)
            )
            return real + imaginary._run("times_i")
        return server._wrap(multiply(server._raw, plain) if raw is None else raw)

    def __matmul__(self, other: _Operand) -> Self:
        if isinstance(other, EncryptedArray):
            if max(self.ndim, other.ndim) > 2:
                return cast("Self", stacked(self, other))
            server = self._bound_server("matmul", other)
            return server._wrap(
                server._raw.dot(self._elements_beside(server._raw, other), other._elements())
            )
        if not is_plain(other):
            return NotImplemented
        plain = to_array(other, "matmul")
        if plain.ndim > 2:
            return cast("Self", stacked(self, plain))

        def multiply(server: _native.Server, matrix: _Matrix) -> _native.EncryptedArray:
            if matrix.ndim == 0:
                raise ShapeError(
                    "matmul: the shapes are of a number and an array. Multiply by a number with *."
                )
            return (server.dot_plain if matrix.ndim == 1 else server.matmul_plain)(
                self._elements(), matrix
            )

        return self._times_matrix(other, multiply, from_left=False)

    def __rmatmul__(self, other: npt.ArrayLike) -> Self:
        if not is_plain(other):
            return NotImplemented
        plain = to_array(other, "matmul")
        if max(self.ndim, plain.ndim) > 2:
            return cast("Self", stacked(plain, self))

        def multiply(server: _native.Server, matrix: _Matrix) -> _native.EncryptedArray:
            if 0 in (matrix.ndim, self.ndim):
                raise ShapeError(
                    "matmul: the shapes are of a number and an array. Multiply by a number with *."
                )
            if matrix.ndim == 1:
                return server.dot_plain(server.transpose(self._elements()), matrix)
            return server.rmatmul_plain(matrix, self._elements())

        return self._times_matrix(other, multiply, from_left=True)

    def dot(self, other: _Operand, out: None = None) -> Self:
        """Return the dot product, as `numpy.dot` does.

        This is the inner product of two vectors, the product of two matrices or of a matrix and a
        vector, or the product with a plain matrix or a number. For arrays with more axes, it sums
        over the last axis of this array and the second-to-last axis of the other.
        """
        refuse_options("dot", None, out)
        return cast("Self", np.dot(cast("Any", self), cast("Any", other)))

    @property
    def T(self) -> Self:  # noqa: N802
        """The array with its axes in reverse order. This computes nothing."""
        if self._view is not None:
            return self.transpose()
        return self._run("transpose")

    # Sums and products along axes

    def sum(
        self,
        axis: Axes = None,
        dtype: None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: npt.ArrayLike = True,
    ) -> Self:
        """Return the sum over one axis, several axes or all of them.

        With `keepdims`, summed axes stay with length 1. `where` is a plain mask that selects the
        values to sum, which takes one multiplication. `initial` is added to the sum.
        """
        refuse_options("sum", dtype, out)
        if initial is not None:
            _check_initial("sum", initial)
            return cast("Self", self.sum(axis, keepdims=keepdims, where=where) + initial)
        server = self._bound_server("sum")
        if (mask := self._mask(where, "sum")) is not None:
            with named("sum", "mul", "multiply by plain numbers"):
                return (self * mask.astype(np.int64)).sum(axis, keepdims=keepdims)
        axes = self._axes(axis, "sum")
        view = self._view
        raw = view.summed(server._for_now, axes) if view is not None and axes else None
        if raw is None:
            raw = self._elements()
            for along in [None] if len(axes) == self.ndim else axes[::-1]:
                raw = server._raw.sum(raw, along)
        for index in axes if keepdims else []:
            raw = server._raw.insert_axis(raw, index)
        return server._wrap(raw)

    def prod(
        self,
        axis: Axes = None,
        dtype: None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: npt.ArrayLike = True,
    ) -> Self:
        """Return the product over one axis, several axes or all of them.

        For ``n`` values, this takes ``ceil(log2(n))`` multiplications one after the other along
        each axis. `where` is a plain mask that selects the values to multiply, which takes one
        more. The product is multiplied by `initial`.
        """
        refuse_options("prod", dtype, out)
        if initial is not None:
            _check_initial("prod", initial)
            return cast("Self", self.prod(axis, keepdims=keepdims, where=where) * initial)
        array = self
        self._bound_server("prod")
        if (mask := self._mask(where, "prod")) is not None:
            with named("prod", "where"):
                array = cast("Self", np.where(mask, cast("Any", self), 1))
        axes = self._axes(axis, "prod")
        with named("prod", "multiply", "indexing", "reshape"):
            return cast("Self", array._folded(axes, operator.mul, keepdims=keepdims))

    def cumsum(
        self, axis: SupportsIndex | None = None, dtype: None = None, out: None = None
    ) -> Self:
        """Return the cumulative sums along an axis, or of all values in row-major order.

        This takes one multiplication.
        """
        refuse_options("cumsum", dtype, out)
        if axis is None or self._is_of_one_value(axis, "cumsum"):
            with named("cumsum", "ravel"):
                return self.ravel().cumsum(0)
        return self._run("cumsum", self._axis(axis, "cumsum"))

    def trace(
        self,
        offset: SupportsIndex = 0,
        axis1: SupportsIndex = 0,
        axis2: SupportsIndex = 1,
        dtype: None = None,
        out: None = None,
    ) -> Self:
        """Return the sum of a diagonal, as `numpy.trace` does."""
        refuse_options("trace", dtype, out)
        with named("trace", "diagonal", "sum"):
            return self.diagonal(offset, axis1, axis2).sum(-1)

    def _mask(self, where: npt.ArrayLike, operation: str) -> npt.NDArray[np.bool_] | None:
        """Return a mask of this array's shape, or None if it is true everywhere."""
        if where is True:
            return None
        if isinstance(where, EncryptedArray):
            raise TypeError(
                f"{operation}: the mask must be plain. Multiply by an encrypted mask instead"
            )
        mask = to_array(where, operation)
        if mask.dtype != np.bool_:
            raise TypeError(f"{operation}: where= takes booleans, not values of type {mask.dtype}")
        try:
            mask = np.broadcast_to(mask, self.shape)
        except ValueError:
            what = f"a mask of shape {mask.shape} does not broadcast to {self.shape}"
            raise ShapeError(f"{operation}: {what}") from None
        return None if mask.all() else mask

    # Declarations

    def with_interval(self, interval: tuple[float, float]) -> Self:
        """Return the array with a declaration that all values lie between ``low`` and ``high``.

        Use this if you know more than `interval`, which is a worst case. A declared interval that
        contains the whole known interval replaces it. Any other declaration is additional
        knowledge, and the values are taken to lie in both. If the two intervals have no value in
        common, this raises an `ArgumentError`.

        If a declaration is wrong, results may be wrong; `hippocrene.simulate` reports it for
        numbers. Slices and sums along an axis leave other values in stray slots, which hold no
        element. If the bound becomes tighter, these slots are set to zero, which costs a product.
        """
        return self._declared("with_interval", declared_interval(interval, None))

    def with_bound(self, bound: float) -> Self:
        """Return the array with the declared interval ``(-bound, bound)``; see `with_interval`."""
        return self._declared("with_bound", declared_interval(None, bound))

    def _declared(self, operation: str, interval: tuple[float, float] | None) -> Self:
        if interval is None:
            raise TypeError(f"{operation}: an interval is a pair (low, high), not None")
        parts = ("declare an interval",)
        return self._run("with_interval", *interval, operation=operation, parts=parts)


def _check_initial(operation: str, initial: object) -> None:
    shape = np.shape(cast("Any", initial))
    if shape:
        raise ShapeError(f"{operation}: initial= is one number, not an array of shape {shape}")


def stacked(a: Any, b: Any) -> Any:
    """Compute `numpy.matmul` of stacks of matrices, whose last two axes are those of a matrix."""
    left, right = np.shape(a), np.shape(b)
    try:
        np.broadcast_shapes(left[:-2], right[:-2])
        fit = bool(left and right) and left[-1] == right[-2 if len(right) > 1 else -1]
    except ValueError:
        fit = False
    if not fit:
        raise ShapeError(
            f"matmul: shapes {left} and {right} do not fit. The last axis of the first has to be as "
            "long as the second-to-last axis of the second, and the axes before have to broadcast."
        )
    rows, columns = ("...i" if len(left) > 1 else ""), ("k" if len(right) > 1 else "")
    other = "..." if columns else ""
    with named("matmul", "einsum", "numpy.einsum"):
        return np.einsum(f"{rows}j,{other}j{columns}->...{rows[3:]}{columns}", a, b)


def check_table(entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Refuse a table without entries."""
    if entries.ndim == 0 or entries.size == 0:
        raise ShapeError(f"entries_of: a table has one entry or more, not shape {entries.shape}")
    return entries


def columns(entries: npt.NDArray[Any]) -> Iterable[npt.NDArray[Any]]:
    """Return the columns of a table, whose first axis counts the entries."""
    return np.ascontiguousarray(entries.reshape(len(entries), -1).T)


def stacked_entries(found: list[Array], entries: npt.NDArray[Any]) -> Array:
    """Join the results of all columns of a table of one or more axes."""
    if entries.ndim == 1:
        return found[0]
    stacked = cast("Array", np.stack(cast("Any", found), axis=-1))
    shape = found[0].shape + entries.shape[1:]
    return stacked if stacked.shape == shape else stacked.reshape(shape)


def check_function(function: Any) -> None:
    """Refuse an argument of `apply` that is neither a function nor a table."""
    if not callable(function) and (not is_plain(function) or isinstance(function, Number)):
        raise TypeError(
            f"apply takes a function or a table of numbers, not {type(function).__name__}"
        )
