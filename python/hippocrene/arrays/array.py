"""Encrypted arrays that behave like numpy arrays."""

from __future__ import annotations

import operator
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NoReturn,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    cast,
)

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.bits import Gates
from hippocrene.arrays.entries import TableEntries
from hippocrene.arrays.look_ups import TableFunctions
from hippocrene.arrays.moves import Moves, places_of, shape_errors
from hippocrene.arrays.reductions import Reductions
from hippocrene.errors import DIFFERENCE, ArgumentError, ShapeError, named
from hippocrene.files import FilePath, raw_bytes, reading
from hippocrene.numpy.functions import Functions
from hippocrene.numpy.products import dot, stacked
from hippocrene.numpy.ufuncs import unset
from hippocrene.values.booleans import plain_bits
from hippocrene.values.divisors import divisors, inverses
from hippocrene.values.exact import Plain, fractions, is_exact_kind
from hippocrene.values.integers import integers
from hippocrene.values.operands import Values, finite, is_plain, real_numbers, to_array, to_native
from hippocrene.values.polynomials import Series, coefficients, whole_coefficients
from hippocrene.values.scalars import declared_interval, double, double_or_none, integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    _Matrix: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.int64]
    _Multiply: TypeAlias = Callable[[_native.Server, _Matrix], _native.EncryptedArray]


class EncryptedArray(Gates, TableFunctions, TableEntries, Moves, Reductions, Functions):
    """An array whose values only the client can read.

    `Client.encrypt` and `Server.load` make encrypted arrays. An array that was read without a
    server can compute after ``server.load(array)``.

    An encrypted array has the shape of the array that was encrypted, and follows numpy's rules. It
    computes with other encrypted arrays under the same key, with plain arrays and with numbers.
    There are three kinds of array.

    - Numbers: real or complex, with a small error. They support ``+ - * ** @``, slices such as
      ``x[1:, 0]``, `sum`, `mean`, `dot`, `roll`, `reshape`, `numpy.concatenate`, `numpy.stack`,
      polynomials and more. ``> < >= <=``, `maximum`, `minimum`, `sign` and `abs` are
      approximations.
    - Integers, from a client with a `plain_modulus`: they compute exactly, modulo `plain_modulus`.
      They lack operations whose results are not integers, such as `mean` and ``/``. They have no
      precision, and their polynomials need integer coefficients.
    - Bits, which are booleans from a client with a preset for bits: they support ``& | ^ ~``,
      ``==``, `nand`, `nor`, `xnor` and `select`, element by element, with other arrays of bits and
      with plain booleans. Any number of gates can follow one another. docs/bits.md explains how to
      add and compare numbers of several bits.

    Scales and rescaling are automatic and follow from the requested `precision`. Multiplications of
    numbers use up `capacity_bits`. A multiplication that needs more than is left raises
    `CapacityError`. Every operation on integers uses up some of `budget_bits`, and one that needs
    more than is left raises `BudgetError`.
    """

    __slots__ = ()

    def with_precision(self, bits: float) -> EncryptedArray:
        """Return the array with another requested `precision`, in bits after the binary point.

        With a lower precision, every later product uses less of `capacity_bits`. A higher precision
        than the array already has does not reduce its error.
        """
        self._need_numbers("with_precision")
        server = self._bound_server("with_precision")
        return server._wrap(
            server._raw.array_with_precision(self._raw, double(bits, "a precision"))
        )

    # Comparison

    def __eq__(self, other: object) -> EncryptedArray:  # type: ignore[override]
        """Return 1 where encrypted integers are equal to others, and 0 elsewhere, encrypted.

        This takes ``ceil(log2(plain_modulus - 1))`` multiplications one after the other. For
        encrypted bits this is the gate `xnor`. Encrypted numbers have an error and are never equal,
        so that they raise a `TypeError`; `is_close` compares them. Objects that are neither arrays
        nor numbers, such as None or text, are not equal to any encrypted array.
        """
        if self.bit_error is not None:
            return self._gate("xnor", other, "==")
        if not isinstance(other, EncryptedArray) and not is_plain(other):
            return cast("EncryptedArray", NotImplemented)
        if self.plain_modulus is None:
            raise TypeError(
                "encrypted numbers are never equal, for they have an error: == is not for them, is_close is"
            )
        server = self._bound_server("==", other if isinstance(other, EncryptedArray) else None)
        with named("==", "test for zero", *DIFFERENCE):
            return server._wrap(server._raw.is_zero(self._with(other, "sub")._raw))

    def __ne__(self, other: object) -> EncryptedArray:  # type: ignore[override]
        """Return 1 where encrypted integers or bits differ from others, and 0 elsewhere.

        The result is encrypted; see `__eq__`.
        """
        if self.bit_error is not None:
            return self._gate("xor", other, "!=")
        with named("!=", "=="):
            equal = self.__eq__(other)
        return equal if equal is NotImplemented else 1 - equal

    # Arithmetic

    def _common_shape(self, shape: tuple[int, ...], operation: str) -> tuple[int, ...]:
        try:
            common = np.broadcast_shapes(self.shape, shape)
        except ValueError:
            raise ShapeError(
                f"{operation}: shapes {self.shape} and {shape} do not broadcast together"
            ) from None
        except RuntimeError as error:
            # numpy raises RuntimeError for arrays with more axes than it can broadcast.
            raise ShapeError(f"{operation}: {error}") from None
        if 0 in common:
            raise ShapeError(
                f"{operation}: an encrypted array of shape {common} would have no elements"
            )
        return common

    def _plain(
        self, values: npt.ArrayLike, operation: str, *, rounded: bool = False
    ) -> Values | npt.NDArray[Any]:
        """Convert plain values to the kind that this array computes with.

        The result holds numbers, integers modulo `plain_modulus`, or booleans. Matrices need
        doubles: with `rounded`, integers are rounded to doubles.
        """
        if self.plain_modulus is not None:
            return integers(values, operation, self.plain_modulus)
        return (
            finite(values, operation, rounded=rounded)
            if self.bit_error is None
            else plain_bits(values, operation)
        )

    def _times_matrix(
        self, values: npt.ArrayLike, multiply: _Multiply, *, from_left: bool | None = None
    ) -> EncryptedArray:
        """Multiply by a plain vector or matrix.

        A complex matrix is multiplied as its real and its imaginary part. `from_left` is True for a
        product along the first axis and False for one along the last axis. In both cases a lazy
        view multiplies without moving its elements, where it can. Other products pass None, and
        move them.
        """
        plain = self._plain(values, "matmul", rounded=True)
        if not plain.size:
            raise ShapeError(f"matmul: a plain array of shape {plain.shape} has no elements")
        server = self._bound_server("matmul")
        if plain.dtype.kind != "c" and self.plain_modulus is None:
            plain = real_numbers(plain, "matmul")
        picked = None if from_left is None else self._picked
        raw = picked and picked.times_matrix(
            server._for_now, cast("Any", plain), from_left=bool(from_left)
        )
        if raw is not None or plain.dtype.kind != "c":
            product = server._wrap(
                multiply(server._raw, cast("_Matrix", plain)) if raw is None else raw
            )
            rounded = self.plain_modulus is None and is_exact_kind(finite(values, "matmul"))
            return self._rounded(product, float(np.linalg.norm(plain))) if rounded else product
        real, imaginary = (
            server._wrap(multiply(server._raw, part.copy())) for part in (plain.real, plain.imag)
        )
        return real + imaginary._times_i()

    def _with(self, other: object, operation: Literal["add", "sub", "mul"]) -> EncryptedArray:
        """Add, subtract or multiply with another encrypted array or with plain values."""
        if self.bit_error is not None:
            return self._product_of_bits(other, operation)
        if isinstance(other, EncryptedArray):
            server = self._bound_server(operation, other)
            return server._computed(getattr(server._raw, operation), self, other)
        if not is_plain(other):
            return cast("EncryptedArray", NotImplemented)
        if operation == "mul" and isinstance(other, np.matrix):
            raise TypeError(
                "* of a numpy.matrix is a product of matrices: say @, or * of a numpy.asarray of it"
            )
        values = self._plain(cast("npt.ArrayLike", other), operation)
        shape = self._common_shape(values.shape, operation)
        server = self._bound_server(operation)
        picked = self._picked if operation == "mul" else None
        if picked and (products := picked.times(server._for_now, values, shape)):
            return server._wrap(products)
        raw = server._broadcast(self._raw, shape)
        if operation == "sub":
            with named("sub", *DIFFERENCE):
                return (
                    -((-self)._with(values, "add"))
                    if is_exact_kind(values)
                    else self._with(-values, "add")
                )
        if operation == "mul" and values.ndim == 0 and values.dtype.kind == "c" and not values.real:
            return self._with(values.imag, "mul")._times_i()
        if values.ndim == 0 and operation == "mul" and is_exact_kind(values):
            number = cast("_native.BigArray", to_native(values, operation))
            return server._wrap(_native.multiply(server._raw, raw, number))
        if values.ndim == 0 and values.dtype.kind in "fi" and not is_exact_kind(values):
            with_number = server._raw.add_number if operation == "add" else server._raw.mul_number
            return server._wrap(with_number(raw, cast("float", values.item())))
        with_plain = server._raw.add_plain if operation == "add" else server._raw.mul_plain
        values = cast(
            "Values | npt.NDArray[np.int64]", np.array(np.broadcast_to(values, shape), order="C")
        )
        return server._wrap(with_plain(raw, to_native(values, operation)))

    def __add__(self, other: EncryptedArray | Plain) -> EncryptedArray:
        return self._with(other, "add")

    def __radd__(self, other: Plain) -> EncryptedArray:
        return self._with(other, "add")

    def __sub__(self, other: EncryptedArray | Plain) -> EncryptedArray:
        return self._with(other, "sub")

    def __rsub__(self, other: Plain) -> EncryptedArray:
        with named("sub", *DIFFERENCE):
            return (-self)._with(other, "add")

    def __mul__(self, other: EncryptedArray | Plain) -> EncryptedArray:
        return self._with(other, "mul")

    def __rmul__(self, other: Plain) -> EncryptedArray:
        return self._with(other, "mul")

    def __truediv__(self, other: Plain) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            other._refuse_division()
        if not is_plain(other):
            return NotImplemented
        if self.plain_modulus is not None:
            raise TypeError(
                f"encrypted integers are not divided: multiply by pow(divisor, -1, {self.plain_modulus}), the inverse"
            )
        divisor = divisors(other)
        with named("div", "mul"):
            if divisor.dtype.kind == "c":
                factors = inverses(divisor)
                return self._rounded(self._with(factors, "mul"), np.max(abs(factors), initial=0.0))
            if is_exact_kind(divisor):
                return self._with(1 / fractions(divisor, "div"), "mul")
            factors = inverses(divisor)
            if not divisor.ndim:
                server = self._bound_server("div")
                return server._wrap(
                    _native.divide(server._raw, self._raw, cast("float", divisor.item()))
                )
            if self._needs_digits(float(np.max(abs(factors), initial=0.0)), "div"):
                return self._with(1 / fractions(divisor, "div"), "mul")
            return self._with(factors, "mul")

    # Hidden from type checkers, so that they report a division by an encrypted array.
    if not TYPE_CHECKING:

        def __rtruediv__(self, other: object) -> NoReturn:
            if is_plain(other):
                self._refuse_division()
            return NotImplemented

    def __neg__(self) -> EncryptedArray:
        server = self._bound_server("neg")
        return server._computed(server._raw.negate, self)

    def __pos__(self) -> EncryptedArray:
        return self

    def __pow__(
        self, exponent: SupportsIndex | SupportsFloat, modulus: None = None
    ) -> EncryptedArray:
        """Raise every value to an integer power ``n >= 0``.

        This takes ``ceil(log2(n))`` multiplications one after the other. As in numpy, the exponent
        ``2.0`` is the same as ``2``, and the power 0 is 1. Exponents of ``2**32`` and above, and
        negative ones, raise an `ArgumentError`.
        """
        if modulus is not None:
            own = (
                f"these integers are modulo {self.plain_modulus}"
                if self.plain_modulus
                else "numbers have none"
            )
            raise TypeError(f"pow takes no modulus for encrypted arrays: {own}")
        if isinstance(exponent, (float, np.floating)) and float(exponent).is_integer():
            exponent = int(exponent)
        try:
            n = operator.index(cast("SupportsIndex", exponent))
        except TypeError:
            if not is_plain(exponent):
                return NotImplemented
            raise TypeError(
                f"pow: exponents are integers from 0 on, one for all values{self._looked_up()}"
            ) from None
        if n == 0:
            return self * 0 + 1
        if not 1 <= n < 2**32:
            instead = self._looked_up() if n < 0 else ""
            raise ArgumentError(
                f"encrypted arrays can be raised to 0 and the powers 1, 2, 3, ... below 2**32, not {n}{instead}"
            )
        server = self._bound_server("pow")
        return server._computed(lambda x: server._raw.pow(x, n), self)

    def _looked_up(self) -> str:
        """Return a hint for error messages: the methods for roots and negative powers."""
        if self.plain_modulus is not None:
            return ""
        return (
            "; x.sqrt(domain=(0, high)) and x.reciprocal(domain=(low, high)) are looked up "
            "where the keys have tables"
        )

    def conj(self) -> EncryptedArray:
        """Return the complex conjugates.

        Complex values need evaluation keys made with ``conjugation=True``. Real values and integers
        are their own conjugates and are returned unchanged.
        """
        server = self._bound_server("conj")
        if self.plain_modulus is not None:
            return self
        return server._wrap(server._raw.conjugate(self._raw))

    def conjugate(self) -> EncryptedArray:
        """Return the complex conjugates; see `conj`."""
        return self.conj()

    @property
    def real(self) -> EncryptedArray:
        """The real parts.

        For complex values this uses the conjugate (see `conj`) and one bit of capacity. Real values
        are returned unchanged.
        """
        return self._part(_native.real) if self._held.is_complex else self

    @property
    def imag(self) -> EncryptedArray:
        """The imaginary parts.

        For complex values this uses the conjugate (see `conj`) and one bit of capacity. The
        imaginary parts of real values are 0.
        """
        return self._part(_native.imag) if self._held.is_complex else self * 0

    def _part(
        self, part: Callable[[_native.Server, _native.EncryptedArray], _native.EncryptedArray]
    ) -> EncryptedArray:
        server = self._bound_server(part.__name__)
        return server._wrap(part(server._raw, self._raw))

    def _times_i(self) -> EncryptedArray:
        return self._part(_native.times_i)

    # Matrices

    def __matmul__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            if max(self.ndim, other.ndim) > 2:
                return cast("EncryptedArray", stacked(self, other))
            server = self._bound_server("matmul", other)
            return server._wrap(server._raw.dot(self._raw_beside(server._raw, other), other._raw))
        if not is_plain(other):
            return NotImplemented
        plain = to_array(other, "matmul")
        if plain.ndim > 2:
            return cast("EncryptedArray", stacked(self, plain))

        def multiply(server: _native.Server, matrix: _Matrix) -> _native.EncryptedArray:
            if matrix.ndim == 0:
                raise ShapeError("matmul takes vectors and matrices, not numbers")
            return (server.dot_plain if matrix.ndim == 1 else server.matmul_plain)(
                self._raw, matrix
            )

        return self._times_matrix(other, multiply, from_left=False)

    def __rmatmul__(self, other: npt.ArrayLike) -> EncryptedArray:
        if not is_plain(other):
            return NotImplemented
        plain = to_array(other, "matmul")
        if max(self.ndim, plain.ndim) > 2:
            return cast("EncryptedArray", stacked(plain, self))

        def multiply(server: _native.Server, matrix: _Matrix) -> _native.EncryptedArray:
            if 0 in (matrix.ndim, self.ndim):
                raise ShapeError("matmul takes vectors and matrices, not numbers")
            if matrix.ndim == 1:
                return server.dot_plain(server.transpose(self._raw), matrix)
            return server.rmatmul_plain(matrix, self._raw)

        return self._times_matrix(other, multiply, from_left=True)

    def dot(self, other: EncryptedArray | npt.ArrayLike, out: None = None) -> EncryptedArray:
        """Return the dot product, as `numpy.dot` does.

        This is the inner product of two vectors, the product of two matrices or of a matrix and a
        vector, or the product with a plain matrix or a number. For arrays with more axes, it sums
        over the last axis of this array and the second-to-last axis of the other.
        """
        unset("dot", None, out)
        return cast("EncryptedArray", dot(self, other))

    @property
    def T(self) -> EncryptedArray:  # noqa: N802
        """The array with its axes in reverse order. This computes nothing."""
        if self.bit_error is not None or self._picked is not None:
            return self.transpose()
        server = self._bound_server("transpose")
        return server._wrap(server._raw.transpose(self._raw))

    def roll(
        self,
        shift: SupportsIndex | Sequence[SupportsIndex],
        axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    ) -> EncryptedArray:
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
        if len(moved) > 1 or self.bit_error is not None:
            with shape_errors("roll"):
                along = None if axis is None else tuple(moved)
                return self._gather(np.roll(places_of(self), tuple(moved.values()), along))
        ((index, by),) = moved.items()
        return server._wrap(server._raw.roll(self._raw, by, None if axis is None else index))

    # Comparisons

    def _of_sign(
        self,
        operation: Literal["sign", "relu", "abs", "positive"],
        gap: float | None,
        precision: float | None,
        *more: float,
    ) -> EncryptedArray:
        self._refuse_integers(operation)
        server = self._bound_server(operation)
        gap, precision = double_or_none(gap, "a gap"), double_or_none(precision, "a precision")
        with named(operation, "absolute value"):
            return server._wrap(getattr(server._raw, operation)(self._raw, gap, precision, *more))

    def _of_difference(
        self,
        other: EncryptedArray,
        operation: Literal["greater", "less", "maximum", "minimum"],
        gap: float | None,
        precision: float | None,
        *more: float,
    ) -> EncryptedArray:
        self._refuse_integers(operation)
        server = self._bound_server(operation, other)
        gap, precision = double_or_none(gap, "a gap"), double_or_none(precision, "a precision")
        with named(operation, "step", "sign", "relu", *DIFFERENCE):
            return server._wrap(
                getattr(server._raw, operation)(self._raw, other._raw, gap, precision, *more)
            )

    def _compared(
        self,
        operation: Literal["greater", "less"],
        other: EncryptedArray | npt.ArrayLike,
        gap: float | None,
        precision: float | None,
        at_ties: float,
    ) -> EncryptedArray:
        at_ties = double(at_ties, "at_ties")
        if at_ties not in (0.0, 0.5, 1.0):
            raise ArgumentError(
                f"{operation}: at_ties is {at_ties:g}: equal values give 0, 0.5 or 1"
            )
        if isinstance(other, EncryptedArray):
            return self._of_difference(other, operation, gap, precision, at_ties)
        self._check_operand(other, operation)
        with named(operation, "positive", *DIFFERENCE):
            difference = self - other if operation == "greater" else other - self
            return difference._of_sign("positive", gap, precision, at_ties)

    def sign(self, *, gap: float | None = None, precision: float | None = None) -> EncryptedArray:
        """Return the sign of every value, which is approximately 1 or -1.

        The result is within ``2**-precision`` of the sign where the absolute value is at least
        `gap`. The default `precision` is 10 bits. The default `gap` is ``bound / 256``. For values
        that are too imprecise for that gap, the default is 2, 4 or 8 times as wide, up to
        ``bound / 32``. Where the absolute value is below `gap`, the result is some number from -1
        to 1, again to within ``2**-precision``. The error of the array itself comes on top.

        A tighter `bound` (see `with_bound`), a wider gap and a lower precision use less of
        `capacity_bits`. With bootstrapping keys, capacity is restored between the steps.

        The values must be real. The evaluation keys must have been made with ``conjugation=True``
        or with bootstrapping.

        If the keys have tables, signs, comparisons, `maximum`, `abs` and similar functions can use
        look-up tables instead, with one look-up for each value. They do so in these cases:

        - The values are not precise enough for the gap. Results of look-up tables seldom are.
        - One step needs more capacity than a bootstrap restores.
        - There are no bootstrapping keys, and the array has too little capacity left or the keys
          lack conjugation.

        The default gap is then that of the tables, about a 118th of the bound with ``"lut12"``. A
        narrower gap is refused.
        """
        return self._of_sign("sign", gap, precision)

    def greater(
        self,
        other: EncryptedArray | npt.ArrayLike,
        *,
        gap: float | None = None,
        precision: float | None = None,
        at_ties: float = 0,
    ) -> EncryptedArray:
        """Return 1 where this exceeds `other`, and 0 where it is equal or less, as ``>`` does.

        The result is approximate. Let ``e = 2**-precision`` (10 bits by default) and ``d`` be the
        difference of two values. The result is within ``e / 2`` of 1 where ``d >= gap``, and of 0
        where ``d <= 0``. Where ``0 < d < gap``, it is some number from 0 to 1. The default gap is a
        127th of the sum of both bounds. With tables, it is twice the gap of `sign`. Integers held
        as numbers are compared exactly with ``gap=1``, if the result is rounded.

        With ``at_ties=1``, as for ``>=``, equal values give 1, and the results between 0 and 1
        occur where ``-gap < d < 0``. With ``at_ties=0.5``, equal values give 1/2. The gap then
        extends to both sides, and is half as wide by default.

        If the intervals of both operands already decide the answer, the result is exact and free.
        If the errors of the values could hide every possible difference, the comparison is refused.
        Everything else is as for the `sign` of the difference.
        """
        return self._compared("greater", other, gap, precision, at_ties)

    def less(
        self,
        other: EncryptedArray | npt.ArrayLike,
        *,
        gap: float | None = None,
        precision: float | None = None,
        at_ties: float = 0,
    ) -> EncryptedArray:
        """Return 1 where this is less than `other`, and 0 where it is equal or greater.

        See `greater` for the error and the options.
        """
        return self._compared("less", other, gap, precision, at_ties)

    def __ge__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return (
            self.greater(other, at_ties=1) if self.bit_error is None else self._ordered(">=", other)
        )

    def __le__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self.less(other, at_ties=1) if self.bit_error is None else self._ordered("<=", other)

    def __gt__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self.greater(other) if self.bit_error is None else self._ordered(">", other)

    def __lt__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self.less(other) if self.bit_error is None else self._ordered("<", other)

    def maximum(
        self,
        other: EncryptedArray | npt.ArrayLike,
        *,
        gap: float | None = None,
        precision: float | None = None,
    ) -> EncryptedArray:
        """Return the larger of this and `other`, value by value.

        Let ``e = 2**-precision`` (10 bits by default), ``d`` be the difference of two values, and
        ``B`` be the sum of both bounds. The default `gap` is ``B / 256``. The largest error is

        - ``e * (abs(d) + B / 2) / 2`` where ``abs(d)`` is at least `gap`,
        - ``(1 + e / 2) * abs(d) + e * B / 4`` where it is less.

        Everything else is as for the `sign` of the difference. For encrypted bits this is the gate
        ``or``.
        """
        if self.bit_error is not None:
            return self._gate("or", other, "maximum")
        if isinstance(other, EncryptedArray):
            return self._of_difference(other, "maximum", gap, precision)
        self._check_operand(other, "maximum")
        with named("maximum", "relu", *DIFFERENCE):
            return (self - other).relu(gap=gap, precision=precision) + other

    def minimum(
        self,
        other: EncryptedArray | npt.ArrayLike,
        *,
        gap: float | None = None,
        precision: float | None = None,
    ) -> EncryptedArray:
        """Return the smaller of this and `other`, value by value.

        The error is at most that of `maximum`. For encrypted bits this is the gate ``and``.
        """
        if self.bit_error is not None:
            return self._gate("and", other, "minimum")
        if isinstance(other, EncryptedArray):
            return self._of_difference(other, "minimum", gap, precision)
        self._check_operand(other, "minimum")
        with named("minimum", "relu", *DIFFERENCE):
            return other - (other - self).relu(gap=gap, precision=precision)

    def clip(
        self,
        min: EncryptedArray | npt.ArrayLike | None = None,  # noqa: A002
        max: EncryptedArray | npt.ArrayLike | None = None,  # noqa: A002
        out: None = None,
        *,
        gap: float | None = None,
        precision: float | None = None,
    ) -> EncryptedArray:
        """Return the values limited to the range from `min` to `max`, as `numpy.clip` does.

        The error is at most the sum of the errors of `maximum` and `minimum`. Plain limits outside
        of the `interval` of the array change nothing and are free. Other plain limits need as much
        depth as one of `maximum` and `minimum`, and encrypted limits as much as both. The `bound`
        of the result is a worst case and can exceed the limits. Use `with_bound` to declare the
        bound that follows from the limits.
        """
        unset("clip", None, out)
        if min is None and max is None:
            raise ArgumentError("clip: neither the least value nor the largest one is said")
        self._refuse_integers("clip")
        with named("clip", "maximum", "minimum", "relu", *DIFFERENCE):
            if self._lies_within(min, max):
                return self.copy()
            if (
                min is None
                or max is None
                or isinstance(min, EncryptedArray)
                or isinstance(max, EncryptedArray)
            ):
                above = self if min is None else self.maximum(min, gap=gap, precision=precision)
                return above if max is None else above.minimum(max, gap=gap, precision=precision)
            # Where `min` is above `max`, numpy returns `max`.
            limits: list[npt.NDArray[Any]] = [finite(limit, "clip") for limit in (min, max)]
            if any(map(is_exact_kind, limits)):
                limits = [fractions(limit, "clip") for limit in limits]
            low, high = limits
            low = np.minimum(low, high)
            parts = [(self - limit).relu(gap=gap, precision=precision) for limit in (low, high)]
            return (parts[0] - parts[1])._with(low, "add")

    def _lies_within(self, low: object, high: object) -> bool:
        """Return True if the interval shows that clipping changes neither a value nor the shape.

        A limit of None is no limit.
        """
        for limit, sign in ((low, 1), (high, -1)):
            if limit is None:
                continue
            if isinstance(limit, EncryptedArray) or self._held.is_complex:
                return False
            values = finite(cast("npt.ArrayLike", limit), "clip")
            if (
                values.dtype.kind not in "biuf"
                or self._common_shape(values.shape, "clip") != self.shape
            ):
                return False
            if np.any(values > self.interval[0] if sign > 0 else values < self.interval[1]):
                return False
        return True

    def relu(self, *, gap: float | None = None, precision: float | None = None) -> EncryptedArray:
        """Return every positive value, and 0 in place of the others.

        This is `maximum` with 0, and has the same error.
        """
        return self._of_sign("relu", gap, precision)

    def abs(self, *, gap: float | None = None, precision: float | None = None) -> EncryptedArray:
        """Return the absolute values, as ``abs(x)`` does.

        Let ``e = 2**-precision`` (10 bits by default). The default `gap` is ``bound / 256``. The
        largest error is

        - ``e * (abs(x) + bound / 2)`` where ``abs(x)`` is at least `gap`,
        - ``(2 + e) * abs(x) + e * bound / 2`` where it is less.

        Everything else is as for `sign`.
        """
        return self._of_sign("abs", gap, precision)

    def __abs__(self) -> EncryptedArray:
        return self.abs()

    # Polynomials

    def polynomial(self, polynomial: Series) -> EncryptedArray:
        """Evaluate a polynomial at every value.

        This takes ``ceil(log2(degree + 1))`` multiplications one after the other. A domain other
        than ``[-1, 1]`` needs one more.

        `polynomial` can be an instance of a class of `numpy.polynomial`, a `numpy.poly1d`, a result
        of `hippocrene.approximate`, or a sequence of coefficients with the constant first. A
        Chebyshev or Legendre series grows very fast outside of its domain. It refuses an array
        whose `bound` exceeds the domain. Choose a domain that is large enough, or declare a smaller
        range with `with_bound`.

        For encrypted integers, the coefficients must be integers, and the result is exact modulo
        `plain_modulus`.
        """
        server = self._bound_server("polynomial")
        with named("polynomial", "evaluate a polynomial"):
            if self.plain_modulus is not None:
                whole = whole_coefficients(polynomial, self.plain_modulus)
                return server._wrap(server._raw.integer_polynomial(self._raw, whole))
            series, interval, error = coefficients(polynomial, self.interval)
            return server._wrap(server._raw.polynomial(self._raw, series, interval))._off_by(error)

    def with_interval(self, interval: tuple[float, float]) -> EncryptedArray:
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

    def with_bound(self, bound: float) -> EncryptedArray:
        """Return the array with the declared interval ``(-bound, bound)``; see `with_interval`."""
        return self._declared("with_bound", declared_interval(None, bound))

    def _declared(self, operation: str, interval: tuple[float, float] | None) -> EncryptedArray:
        if self.bit_error is not None:
            self._need_numbers(operation)
        if interval is None:
            raise TypeError(f"{operation}: an interval is a pair (low, high), not None")
        server = self._bound_server(operation)
        with named(operation, "declare an interval"):
            return server._wrap(server._raw.with_interval(self._raw, *interval))

    def with_precision_bits(self, bits: float) -> EncryptedArray:
        """Return the array with a declared `precision_bits`, for users who know its error better.

        The estimate assumes that nothing makes errors smaller. Iterations that correct themselves,
        such as Newton's, do make them smaller. Declare the precision after each step of such an
        iteration. Otherwise the estimated error grows until a bootstrap has no room for it and
        gives it up (see `precision_bits`).

        If the declaration is wrong, all later error estimates are wrong, results may be wrong, and
        `Client.decrypt_for_sharing` hides less. Errors in stray slots, between the elements, may be
        larger than declared. A multiplication then sets these slots to zero.
        """
        self._need_numbers("with_precision_bits")
        server = self._bound_server("with_precision_bits")
        return server._wrap(server._raw.with_precision_bits(self._raw, double(bits, "a precision")))

    # Files

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> EncryptedArray:
        """Read an array from the bytes that `to_bytes` returned. The array has no server."""
        return cls(_native.EncryptedArray.from_bytes(raw_bytes(data)))

    @classmethod
    def load(cls, path: FilePath) -> EncryptedArray:
        """Read an array from a file that `save` wrote. The array has no server."""
        with reading(path) as name:
            return cls(_native.EncryptedArray.load(name))

    def copy(self) -> EncryptedArray:
        """Return an array with the same contents.

        No data is copied, since encrypted arrays never change.
        """
        return EncryptedArray(self._held, self._server)

    def __copy__(self) -> EncryptedArray:
        return self.copy()

    def __deepcopy__(self, memo: object) -> EncryptedArray:
        return EncryptedArray(self._held, self._server)

    def __reduce__(self) -> tuple[object, ...]:
        return EncryptedArray.from_bytes, (self.to_bytes(),)
