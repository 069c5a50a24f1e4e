"""The base of encrypted arrays: metadata, moves of elements, and numpy's protocols."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Protocol,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    cast,
)

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.advice import (
    ELSEWHERE,
    INSTEAD_OF_PLAIN,
    check_options,
    given,
    hint,
    refusal,
    refuse_options,
)
from hippocrene.arrays.places import (
    WINDOWS,
    Axes,
    check_order,
    check_size,
    common_shape,
    places_at,
    places_of,
    shape_errors,
)
from hippocrene.arrays.registry import FUNCTIONS, first_by_place, name_of
from hippocrene.arrays.view import View
from hippocrene.errors import (
    ArgumentError,
    MissingServerError,
    ShapeError,
    UnsupportedError,
    named,
)
from hippocrene.files import FilePath, file_path, raw_bytes, reading
from hippocrene.html_tables import Cell, table
from hippocrene.stored import Forwarded
from hippocrene.units import size_text
from hippocrene.values.operands import is_plain
from hippocrene.values.scalars import integer

if TYPE_CHECKING:
    from typing_extensions import Self

    from hippocrene.values.operands import Plain

    _Key = SupportsIndex | slice | EllipsisType | None | npt.ArrayLike
    # The order of elements: with "C" the last axis runs fastest, with "F" the first one.
    _Order = Literal["C", "F"]
    # An operand that may be encrypted or plain.
    _Operand: TypeAlias = "EncryptedArray | npt.ArrayLike"

Array = TypeVar("Array", bound="EncryptedArray")
Array_co = TypeVar("Array_co", bound="EncryptedArray", covariant=True)


class ArrayServer(Protocol[Array_co]):
    """The part of a server that its arrays need."""

    @property
    def _raw(self) -> _native.Server: ...
    @property
    def _for_now(self) -> _native.Server | None: ...
    def _wrap(self, raw: _native.EncryptedArray | View) -> Array_co: ...


# The names of operators in errors. A kind of array that lacks an operator refuses it.
OPERATORS = {
    **dict.fromkeys(("__add__", "__radd__"), "add"),
    **dict.fromkeys(("__sub__", "__rsub__"), "sub"),
    **dict.fromkeys(("__mul__", "__rmul__"), "mul"),
    **dict.fromkeys(("__matmul__", "__rmatmul__"), "matmul"),
    **dict.fromkeys(("__floordiv__", "__rfloordiv__"), "//"),
    **dict.fromkeys(("__mod__", "__rmod__"), "%"),
    **dict.fromkeys(("__divmod__", "__rdivmod__"), "divmod"),
    **dict.fromkeys(("__and__", "__rand__"), "&"),
    **dict.fromkeys(("__or__", "__ror__"), "|"),
    **dict.fromkeys(("__xor__", "__rxor__"), "^"),
    **dict.fromkeys(("__gt__", "__ge__"), "greater"),
    **dict.fromkeys(("__lt__", "__le__"), "less"),
    "__eq__": "==",
    "__ne__": "!=",
    "__truediv__": "div",
    "__rtruediv__": "divisor",
    **dict.fromkeys(("__pow__", "__rpow__"), "pow"),
    "__neg__": "neg",
    "__pos__": "pos",
    "__abs__": "abs",
    "__invert__": "~",
}
# Maximum number of elements whose places are all made to index them. Chosen: it takes 2
# microseconds.
_FEW = 4096
# Operators and conversions of one operand.
UNARY = ("__neg__", "__pos__", "__abs__", "__invert__", "__bool__", "__float__", "__int__")


class EncryptedArray:
    """An array whose values only the client can read.

    `Client.encrypt` and `Server.load` make encrypted arrays. An array that was read without a
    server can compute after ``server.load(array)``.

    An encrypted array has the shape of the array that was encrypted, and follows numpy's rules. It
    computes with other encrypted arrays under the same key, with plain arrays and with numbers.
    There are three kinds of array, with a class each.

    - `NumberArray`: real or complex numbers, with a small error. They support ``+ - * ** @``,
      slices such as ``x[1:, 0]``, `sum`, `mean`, `dot`, `roll`, `reshape`, `numpy.concatenate`,
      `numpy.stack`, polynomials and more. ``> < >= <=``, `maximum`, `minimum`, `sign` and `abs` are
      approximations.
    - `IntegerArray`: integers, from a client with a `plain_modulus`. They compute exactly, modulo
      `plain_modulus`. They lack operations whose results are not integers, such as `mean` and
      ``/``. They have no precision, and their polynomials need integer coefficients.
    - `BitArray`: booleans, from a client with a preset for bits. They support ``& | ^ ~``, ``==``,
      `nand`, `nor`, `xnor` and `select`, element by element, with other arrays of bits and with
      plain booleans. Any number of gates can follow one another. docs/how-to/bits.md explains
      how to add and compare numbers of several bits.

    Scales and rescaling are automatic and follow from the requested `precision`. Multiplications of
    numbers use up `capacity_bits`. A multiplication that needs more than is left raises
    `CapacityError`. Every operation on integers uses up some of `budget_bits`, and one that needs
    more than is left raises `BudgetError`.
    """

    __slots__ = ("__weakref__", "_held", "_server")
    _held: _native.EncryptedArray | View
    _server: ArrayServer[Any] | None

    # A priority above pandas' own 4000 makes pandas leave `series + array` and similar operations
    # to the methods of this class.
    __pandas_priority__ = 5000

    # The class of each kind of elements.
    _kinds: ClassVar[dict[str, type[EncryptedArray]]] = {}
    # True if selections become lazy views where they must move elements.
    _selects_lazily: ClassVar[bool] = True
    # Why an operation is missing, by the name of the operation.
    _refusals: ClassVar[Mapping[str, str]] = {
        "__bool__": "an encrypted array is neither true nor false: only the client can read it. Use "
        "numpy.where(condition, a, b) to choose, and x.max(), x.min() and x.sort() instead of max, min and sorted",
        **dict.fromkeys(
            ("__float__", "__int__"),
            "an encrypted array cannot become a plain number: only Client.decrypt reads it. Compute with its "
            "methods, and put it into an array with numpy.stack or numpy.concatenate",
        ),
        "__round__": "encrypted values cannot be rounded: use Client.decrypt first",
        "__setitem__": "encrypted arrays never change: make a new one with numpy.where(mask, values, x) for a plain "
        "mask, or with numpy.concatenate",
        "__delitem__": "encrypted arrays never change: make a new one with numpy.delete",
    }
    # Why any other method or property of another kind is missing.
    _no_method: ClassVar[str]
    _no_property: ClassVar[str]

    def __init_subclass__(cls, holds: tuple[str, ...] = ()) -> None:
        """Register the class of a kind of elements."""
        for kind in holds:
            EncryptedArray._kinds[kind] = cls

    def __new__(
        cls, raw: _native.EncryptedArray | View, server: ArrayServer[Any] | None = None
    ) -> EncryptedArray:
        """Wrap an array of the extension module; users call `Client.encrypt` or `Server.load`."""
        if not isinstance(raw, (_native.EncryptedArray, View)):
            raise TypeError(
                "encrypted arrays are made by Client.encrypt, PublicKey.encrypt and Server.load"
            )
        array: EncryptedArray = super().__new__(EncryptedArray._kinds[raw.holds])
        array._held, array._server = raw, server
        return array

    def compute(self) -> Self:
        """Move the elements of a lazy view, and return them as an array of their own.

        Indexing, `reshape` and similar operations return a lazy view where they would have to move
        elements. An operation that needs the elements in their places moves them by itself. Any
        other array is returned as it is.
        """
        view = self._view
        return self if view is None else self._any_server("compute")._wrap(view.moved())

    def _elements(self) -> _native.EncryptedArray:
        """Return the array of the extension module. A lazy view is moved first, and only once."""
        if isinstance(self._held, View):
            self._held = self._held.moved()
        return self._held

    def _to_be_read(self) -> _native.EncryptedArray:
        """Return the array for clients and files to read.

        The elements of a lazy view are moved for this, and the view itself stays lazy.
        """
        view = self._view
        return self._elements() if view is None else view.to_be_read()

    @property
    def _view(self) -> View | None:
        """The lazy view, or None if this array is not one or has been moved."""
        return self._held if isinstance(self._held, View) else None

    def _described(self) -> _native.EncryptedArray:
        """Return an array with the same metadata, without moving the elements of a lazy view."""
        view = self._view
        return self._elements() if view is None else view.described()

    # Properties

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._held.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

    is_complex = Forwarded[bool]("True if the values may be complex.", "_held")

    fingerprint = Forwarded[str](
        """The identifier of the secret key that this array is encrypted under.

        The client, its other keys, and servers with those keys have the same fingerprint.
        """,
        "_held",
    )

    @property
    def plain_modulus(self) -> int | None:
        """The modulus of encrypted integers, or None for an array of numbers or bits."""
        return None

    @property
    def budget_bits(self) -> float | None:
        """The estimated noise budget of encrypted integers, or None for numbers and bits."""
        return None

    @property
    def bit_error(self) -> float | None:
        """The largest difference between a slot and its bit, or None for other kinds of array."""
        return None

    @property
    def server(self) -> Any:
        """The server that computes with this array, or None."""
        return self._server

    @property
    def _holds(self) -> str:
        """The kind of the elements."""
        return self._held.holds

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an encrypted array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        picked = "" if self._view is None else ", picked"
        return f"{type(self).__name__}(shape={self.shape}{self._summary()}{picked})"

    def _summary(self) -> str:
        """Return the part of the `repr` that differs between kinds."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return the properties as an HTML table, for notebooks. No elements are moved."""
        preset, memory = self._held.preset, self._described().memory
        rows: list[tuple[str, Cell]] = [("holds", self._contents()), ("shape", str(self.shape))]
        if preset is not None:
            rows.append(("preset", preset))
        rows += self._facts()
        if memory is not None:
            rows.append(("memory", size_text(memory)))
        rows.append(("fingerprint", self.fingerprint))
        if self._view is not None:
            rows.append(("lazy view", "the elements are selected, and not moved yet"))
        return table(type(self).__name__, rows)

    def _contents(self) -> str:
        """Return the kind of the elements in words."""
        return self._holds

    def _facts(self) -> list[tuple[str, Cell]]:
        """Return the rows of the HTML table that differ between kinds."""
        raise NotImplementedError

    # Refusals of operations that a kind of array lacks

    def _refused(self, name: str, usual: str = "") -> UnsupportedError:
        """Return the error about an operation or a property that this kind lacks."""
        reason = self._refusals.get(name) or usual or self._no_method
        return UnsupportedError(reason.format(name=name, modulus=self.plain_modulus))

    def _need_numbers(self, operation: str) -> None:
        if self._holds != "numbers":
            raise self._refused(operation)

    # Type checkers see the operators of all kinds, and accept any method. They must not infer that
    # numpy's operators accept encrypted arrays, as they accept sequences, buffers and `__array__`.
    if TYPE_CHECKING:

        def __array__(self, *operands: Any) -> int: ...

        __buffer__: None
        index: None

        def __getattr__(self, name: str) -> Any: ...
        def __bool__(self) -> NoReturn: ...
        def __pow__(
            self, exponent: SupportsIndex | SupportsFloat, modulus: None = None
        ) -> Self: ...
        def __neg__(self) -> Self: ...
        def __add__(self, other: EncryptedArray | Plain) -> Self: ...
        def __radd__(self, other: Plain) -> Self: ...
        def __matmul__(self, other: _Operand) -> Self: ...
        def __rmatmul__(self, other: npt.ArrayLike) -> Self: ...
        def __eq__(self, other: object) -> Self: ...  # type: ignore[override]

        __pos__ = __abs__ = __invert__ = __neg__
        __sub__ = __mul__ = __add__
        __rsub__ = __rmul__ = __truediv__ = __radd__
        __and__ = __or__ = __xor__ = __gt__ = __ge__ = __lt__ = __le__ = __matmul__
        __rand__ = __ror__ = __rxor__ = __rmatmul__
        __ne__ = __eq__  # type: ignore[assignment]

    else:

        def __getattr__(self, name: str) -> object:
            """Refuse an attribute of another kind of array, or one that only numpy's arrays have."""
            for kind in EncryptedArray._kinds.values():
                if (found := getattr(kind, name, None)) is not None:
                    usual = self._no_property if isinstance(found, property) else self._no_method
                    raise self._refused(name, usual)
            instead = ELSEWHERE.get(name) or hint(name, self)
            if instead is None and getattr(np, name, None) in FUNCTIONS:
                instead = f"use the function numpy.{name}"
            if instead is not None:
                raise UnsupportedError(f"encrypted arrays have no {name}: {instead}")
            # If a property raised an AttributeError, this raises it again.
            return super().__getattribute__(name)

        def __array_ufunc__(
            self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any
        ) -> object:
            """Compute a universal function of numpy."""
            return computed(ufunc, method, inputs, keywords)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: object,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> object:
        """Compute a function of numpy on encrypted arrays."""
        if not args:
            args, kwargs = first_by_place(function, kwargs)
        name = name_of(function)
        with shape_errors(f"numpy.{name}"):
            if function not in FUNCTIONS:
                raise refusal(name, *args, *kwargs.values(), never=True)
            return FUNCTIONS[function](name, args, kwargs)

    __hash__ = None  # type: ignore[assignment]

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                f"an encrypted array has no digits to format as {spec!r}: use Client.decrypt first"
            )
        return str(self)

    # Servers and operands

    def _bound_server(
        self, operation: str, other: EncryptedArray | None = None
    ) -> ArrayServer[Self]:
        """Return the server that computes with this array, and with `other` if there is one.

        A mix of kinds is refused.
        """
        if other is not None and other._holds != self._holds:
            if other.bit_error is not None:
                raise other._refused(operation)
            raise ArgumentError(
                f"{operation}: one array holds encrypted {other._holds}, the other one {self._holds}. "
                "Encrypt both with one client."
            )
        return self._any_server(operation, other)

    def _any_server(self, operation: str, other: EncryptedArray | None = None) -> ArrayServer[Self]:
        server = self._server or (other._server if other is not None else None)
        if server is None:
            raise MissingServerError(
                f"{operation} needs a server with evaluation keys, and this array has none: "
                "compute with server.load(array)"
            )
        return server

    def _run(
        self, method: str, *arguments: Any, operation: str = "", parts: tuple[str, ...] = ()
    ) -> Self:
        """Return the result of a method of the native server with the elements of this array.

        Errors call it `operation`, also where they name one of the `parts`.
        """
        server = self._bound_server(operation or method)
        with named(operation or method, *parts):
            return server._wrap(getattr(server._raw, method)(self._elements(), *arguments))

    def _plain(self, values: npt.ArrayLike, operation: str) -> npt.NDArray[Any]:
        """Convert plain values to the kind that this array computes with.

        The result holds numbers, integers modulo `plain_modulus`, or booleans.
        """
        raise NotImplementedError

    def _common_shape(self, shape: tuple[int, ...], operation: str) -> tuple[int, ...]:
        """Return the shape that this array and one of the given shape broadcast to."""
        return common_shape(operation, (self.shape, shape))

    def _axes(self, axis: Axes, operation: str) -> list[int]:
        """Return the axes as indices in ascending order."""
        # For an array without axes, `sum` and `prod` of numpy also accept the axes 0 and -1. Its
        # other functions refuse them.
        if axis is None or (
            operation in ("sum", "prod") and self._is_of_one_value(axis, operation)
        ):
            return list(range(self.ndim))
        axes = sorted(
            self._axis(one, operation) for one in (axis if isinstance(axis, tuple) else (axis,))
        )
        if len(set(axes)) < len(axes):
            raise ShapeError(f"{operation}: axes {axis} name one axis of shape {self.shape} twice")
        return axes

    def _is_of_one_value(self, axis: object, operation: str) -> bool:
        """Return True if there are no axes and `axis` is 0 or -1, which numpy allows."""
        return not self.ndim and not isinstance(axis, tuple) and _index(axis, operation) in (0, -1)

    def _axis(self, axis: SupportsIndex, operation: str) -> int:
        index = _index(axis, operation)
        if not -self.ndim <= index < self.ndim:
            raise ShapeError(
                f"{operation}: axis {index} is out of range for an array of shape {self.shape}"
            )
        return index % self.ndim

    # Complex numbers

    def conj(self) -> Self:
        """Return the complex conjugates. Real values are returned unchanged."""
        return self

    def conjugate(self) -> Self:
        """Return the complex conjugates; see `conj`."""
        return self.conj()

    @property
    def real(self) -> Self:
        """The real parts. Real values are returned unchanged."""
        return self

    # Moves of elements

    def _mover(self, arrays: Sequence[EncryptedArray]) -> ArrayServer[Self]:
        """Return the server that moves elements of these arrays."""
        if len(arrays) == 1 and arrays[0]._server is not None:
            return arrays[0]._server
        if len({array.bit_error is None for array in arrays}) > 1:
            raise TypeError("encrypted bits cannot be joined with encrypted numbers")
        if len({array.plain_modulus for array in arrays}) > 1:
            raise TypeError(
                "encrypted integers cannot be joined with encrypted numbers, or with integers of another plain modulus"
            )
        servers = [array._server for array in arrays if array._server is not None]
        return servers[0] if servers else self._any_server("moving elements")

    def _gather(
        self,
        places: npt.NDArray[np.int64],
        arrays: Sequence[EncryptedArray] = (),
        *,
        operation: str = "",
    ) -> Self:
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
            and (before := arrays[0]._view) is not None
            and (some := before.at(places)) is not None
        ):
            return server._wrap(some)
        flat = np.ascontiguousarray(places.ravel())
        raw = [array._elements() for array in arrays]
        if operation and len(arrays) == 1 and self._selects_lazily:
            moved, most = server._raw.pick(raw[0], places.shape, flat)
            if moved is not None:
                return server._wrap(moved)
            windows = operation == WINDOWS
            return self._view_of(server, raw[0], places, operation, windows=windows, most=most)
        return server._wrap(server._raw.gather(raw, places.shape, flat))

    def _view_of(
        self,
        server: ArrayServer[Self],
        source: _native.EncryptedArray,
        places: npt.NDArray[np.int64],
        operation: str,
        **how: Any,
    ) -> Self:
        """Return a lazy view of the elements at these places."""
        precise = server._raw.has_own_precision
        return server._wrap(View(server._raw, source, places, operation, precise=precise, **how))

    def _in_place(self, operation: str) -> Self:
        """Return the array as a lazy view of all its elements.

        Sums of its products with plain numbers are then computed as linear combinations.
        """
        if not self._selects_lazily or self._view is not None:
            return self
        return self._view_of(self._mover((self,)), self._elements(), places_of(self), operation)

    def _moved(self, operation: str, move: Callable[[npt.NDArray[np.int64]], Any]) -> Self:
        """Return the elements in the order that `move` gives to a numpy array of their places."""
        with shape_errors(operation):
            return self._gather(np.asarray(move(places_of(self))), operation=operation)

    def __getitem__(self, key: _Key | tuple[_Key, ...]) -> Self:
        """Select elements with integers, slices, lists, masks and `None`, as in numpy.

        Rows, columns, and slices whose steps are powers of two almost never take a multiplication.
        Other selections take one, like a product with plain numbers.

        For encrypted bits, rows, columns and such slices are a rotation, and other selections are a
        bootstrap. Both need keys for rotations, which must be requested. For example, ``x[3]`` and
        ``x[3:9]`` of an array with one axis need ``client.evaluation_keys(rotations=[3])``.
        `simulate` finds the rotations that a program needs.
        """
        if any(isinstance(one, EncryptedArray) for one in (key if type(key) is tuple else (key,))):
            raise UnsupportedError(
                "indexing: encrypted masks and indices cannot select elements, because the server does not know them. "
                "Multiply by a mask of zeros and ones, as in x * mask[:, None], or use numpy.where(mask, x, 0)."
            )
        with shape_errors("indexing"):
            places = places_at(self.shape, key) if self.size > _FEW else None
            places = places_of(self)[cast("Any", key)] if places is None else places
            return self._gather(places, operation="indexing")

    def __iter__(self) -> Iterator[EncryptedArray]:
        """Iterate over the first axis."""
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex], order: _Order = "C") -> Self:
        """Return the array with another shape, as `numpy.reshape` does.

        One length may be -1 and is then computed from the others. This needs a multiplication,
        except in two cases:

        - Only axes of length 1 are added or removed.
        - The lengths of all axes but the first are powers of two, before and after.

        With the `order` ``"F"``, here and in `ravel` and `flatten`, the first axis runs fastest.
        """
        wanted = cast("Any", shape[0] if len(shape) == 1 else shape)
        return self._reordered("reshape", wanted, order)

    def _reordered(self, operation: str, shape: Any, order: _Order) -> Self:
        check_order(operation, order)
        return self._moved(operation, lambda places: places.reshape(shape, order=order))

    def ravel(self, order: _Order = "C") -> Self:
        """Return the elements in row-major order along one axis; see `reshape`."""
        return self._reordered("ravel", -1, order)

    def flatten(self, order: _Order = "C") -> Self:
        """Return the elements in row-major order along one axis; see `reshape`."""
        return self._reordered("flatten", -1, order)

    def packed(self) -> Self:
        """Return the array with its elements side by side, in as few ciphertexts as possible.

        A fresh array has this layout. Sums and products along axes leave elements where they were
        computed, far apart. Packing a result before it is sent reduces its size to a fraction. This
        needs a multiplication, unless elements are side by side already.
        """
        server = self._mover((self,))
        return server._wrap(server._raw.packed(self._elements()))

    def transpose(self, *axes: SupportsIndex | Sequence[SupportsIndex] | None) -> Self:
        """Return the array with its axes in another order, by default in reverse order."""
        return self._moved("transpose", lambda places: places.transpose(*cast("Any", axes)))

    @property
    def T(self) -> Self:  # noqa: N802
        """The array with its axes in reverse order."""
        return self.transpose()

    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Self:
        """Return the array with two axes exchanged."""
        return self._moved("swapaxes", lambda places: places.swapaxes(axis1, axis2))

    @property
    def mT(self) -> Self:  # noqa: N802
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise ShapeError(f"mT is for arrays of two axes or more, not of shape {self.shape}")
        return self.swapaxes(-1, -2)

    def squeeze(self, axis: Axes = None) -> Self:
        """Return the array without axes of length 1."""
        return self._moved("squeeze", lambda places: places.squeeze(axis))

    def take(
        self,
        indices: npt.ArrayLike,
        axis: SupportsIndex | None = None,
        out: None = None,
        mode: Literal["raise", "wrap", "clip"] = "raise",
    ) -> Self:
        """Return elements by their indices, as `numpy.take` does.

        Without an `axis`, the indices count all elements in row-major order.
        """
        refuse_options("take", None, out)
        return self._moved(
            "take", lambda places: places.take(cast("Any", indices), axis, mode=mode)
        )

    def repeat(self, repeats: npt.ArrayLike, axis: SupportsIndex | None = None) -> Self:
        """Repeat every element, as `numpy.repeat` does."""
        with shape_errors("repeat"):
            counts = np.asarray(repeats)
        if counts.dtype.kind in "iu" and counts.size:
            # Python's integers, since numpy's products and sums may overflow.
            check_size("repeat", (self.size // counts.size, sum(counts.ravel().tolist())))
        return self._moved("repeat", lambda places: places.repeat(cast("Any", repeats), axis))

    def diagonal(
        self, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1
    ) -> Self:
        """Return a diagonal, as `numpy.diagonal` does."""
        return self._moved("diagonal", lambda places: places.diagonal(offset, axis1, axis2))

    def roll(
        self,
        shift: SupportsIndex | Sequence[SupportsIndex],
        axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    ) -> Self:
        """Move every value by `shift` places, as `numpy.roll` does.

        Without an `axis`, values move in row-major order.
        """
        server = self._any_server("roll")
        with shape_errors("roll"):
            pairs = np.broadcast(cast("Any", shift), 0 if axis is None else cast("Any", axis))
        if pairs.ndim > 1:
            raise ShapeError(
                f"roll: shifts and axes are numbers or sequences of them, not of shape {pairs.shape}"
            )
        places: dict[int, int] = {}
        for by, along in pairs:
            index = 0 if axis is None else self._axis(along, "roll")
            length = self.size if axis is None else self.shape[index]
            places[index] = (places.get(index, 0) + integer(by, "roll: a shift")) % length
        moved = {index: by for index, by in places.items() if by}
        if not moved:
            return self.copy()
        if len(moved) > 1 or not self._selects_lazily:
            with shape_errors("roll"):
                along = None if axis is None else tuple(moved)
                return self._gather(np.roll(places_of(self), tuple(moved.values()), along))
        ((index, by),) = moved.items()
        return server._wrap(server._raw.roll(self._elements(), by, None if axis is None else index))

    def _placed(
        self,
        places: npt.NDArray[np.int64],
        arrays: Sequence[EncryptedArray],
        values: npt.NDArray[Any],
    ) -> Self:
        """Return the elements at these places of the arrays, one array after the other.

        Where a place is -1, the result has the plain value instead.
        """
        holes = places < 0
        moved = self._gather(places, arrays)
        return moved._filled(holes, values) if np.any(values[holes] != 0) else moved

    def _filled(self, places: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> Self:
        """Return the array with plain values at these places, where it is 0."""
        raise NotImplementedError

    def _folded(
        self,
        axes: Sequence[int],
        combine: Callable[[Any, Any], Any],
        *,
        keepdims: bool,
        overlap: bool = False,
    ) -> Any:
        """Combine the first half of each axis with the second half, until one element is left.

        An odd element waits until the end. With `overlap`, the halves of an odd length overlap
        instead.
        """
        array: Any = self
        for axis in axes:
            waiting = None
            while (length := array.shape[axis]) > 1:
                half = length // 2
                if length % 2 and not overlap:
                    last = part_of(array, axis, slice(-1, None))
                    waiting = last if waiting is None else combine(waiting, last)
                first = part_of(array, axis, slice(length - half if overlap else half))
                array = combine(
                    first, part_of(array, axis, slice(half, length if overlap else 2 * half))
                )
            array = array if waiting is None else combine(array, waiting)
        kept = [1 if i in axes else n for i, n in enumerate(self.shape)]
        return array.reshape(kept if keepdims else [n for i, n in enumerate(kept) if i not in axes])

    # Files

    def to_bytes(self) -> bytes:
        """Return the array as bytes, in the format of `save`."""
        return self._to_be_read().to_bytes()

    def save(self, path: FilePath) -> None:
        """Write the array to a file."""
        self._to_be_read().save(file_path(path))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> EncryptedArray:
        """Read an array of any kind from the bytes of `to_bytes`. The array has no server."""
        return EncryptedArray(_native.EncryptedArray.from_bytes(raw_bytes(data)))

    @classmethod
    def load(cls, path: FilePath) -> EncryptedArray:
        """Read an array of any kind from a file that `save` wrote. The array has no server."""
        with reading(path) as name:
            return EncryptedArray(_native.EncryptedArray.load(name))

    def copy(self) -> Self:
        """Return an array with the same contents.

        No data is copied, since encrypted arrays never change.
        """
        return cast("Self", EncryptedArray(self._held, self._server))

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        return EncryptedArray.from_bytes, (self.to_bytes(),)


def _refusing(method: str) -> Callable[..., Any]:
    """Return a method that refuses an operator or a conversion."""
    name = OPERATORS.get(method, method)

    def refuse(self: EncryptedArray) -> NoReturn:
        raise self._refused(name)

    def refuse_all(self: EncryptedArray, *_: Any, **__: Any) -> NoReturn:
        raise self._refused(name)

    def refuse_operand(self: EncryptedArray, other: Any) -> Any:
        if isinstance(other, EncryptedArray) and name == "div":
            raise other._refused("divisor")
        if not isinstance(other, EncryptedArray) and not is_plain(other):
            # Python asks the other operand, and raises the usual error.
            return NotImplemented
        raise self._refused(name)

    if method in UNARY:
        return refuse
    return refuse_operand if method in OPERATORS and method != "__pow__" else refuse_all


def _refuse_plain(*_: Any, **__: Any) -> NoReturn:
    """Refuse the conversion to a plain array, with advice for the library that asks for it."""
    frame = sys._getframe(1)
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    instead = INSTEAD_OF_PLAIN.get(library, INSTEAD_OF_PLAIN[""])
    raise UnsupportedError(
        f"an encrypted array cannot become a plain one: only Client.decrypt reads it. {instead}"
    )


for _method in (*OPERATORS, *EncryptedArray._refusals):
    setattr(EncryptedArray, _method, _refusing(_method))
EncryptedArray.__array__ = _refuse_plain  # type: ignore[method-assign]


def _index(axis: object, operation: str) -> int:
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError(f"{operation}: an axis is an integer, not {type(axis).__name__}")
    return integer(axis, f"{operation}: an axis")


def part_of(array: Array, axis: int, part: slice) -> Array:
    """Return a slice along one axis."""
    return array[(slice(None),) * axis + (part,)]


def computed(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    """Compute a universal function of numpy, or one of its methods, with encrypted operands."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    keywords = given(keywords)
    if "out" in keywords:
        raise TypeError(
            f"numpy.{name} cannot write into an array: encrypted arrays never change. Use `total = total + x` instead "
            "of `total += x`, or let the total start from the number 0"
        )
    check_options(name, keywords, *inputs)
    for option in keywords if method != "reduce" else ():
        if option != "axis":
            raise TypeError(f"numpy.{name} takes no {option}= for encrypted arrays")
    implementation = FUNCTIONS.get(ufunc if method == "__call__" else getattr(ufunc, method))
    if implementation is not None:
        return implementation(name, inputs, keywords)
    if getattr(np, ufunc.__name__, None) is ufunc:
        raise refusal(name, *inputs, never=True)
    # A function that is not numpy's, such as scipy's.
    if method == "__call__" and ufunc.nin == 1 and ufunc.nout == 1:
        inputs[0]._need_numbers(name)
        with named(name, "apply"):
            return inputs[0].apply(ufunc, **keywords)
    raise TypeError(
        f"{name} takes no encrypted arrays: apply a function of one number with x.apply(function)"
    )
