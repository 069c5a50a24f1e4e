"""Encrypted arrays that follow numpy."""

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
from hippocrene.bits import Gates, plain_bits
from hippocrene.divisors import divisors, inverses
from hippocrene.entries import TableEntries
from hippocrene.errors import DIFFERENCE, ArgumentError, ShapeError, named
from hippocrene.exact import Plain, fractions, is_exact_kind
from hippocrene.functions import Functions
from hippocrene.integers import integers
from hippocrene.look_ups import TableFunctions
from hippocrene.moves import Moves, places_of, shape_errors
from hippocrene.polynomials import Series, coefficients, whole_coefficients
from hippocrene.products import dot, stacked
from hippocrene.reductions import Reductions
from hippocrene.scalars import declared_interval, double, double_or_none, integer
from hippocrene.ufuncs import unset
from hippocrene.values import (
    FilePath,
    Values,
    finite,
    is_plain,
    raw_bytes,
    reading,
    real_numbers,
    to_array,
    to_native,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    _Matrix: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.int64]
    _Multiply: TypeAlias = Callable[[_native.Server, _Matrix], _native.EncryptedArray]


class EncryptedArray(Gates, TableFunctions, TableEntries, Moves, Reductions, Functions):
    """An array whose numbers only the client can read.

    It has the shape of the array that was encrypted, and computes as numpy does: ``+ - * ** @``,
    ``x[1:, 0]``, `sum`, `mean`, `dot`, `roll`, `reshape`, `numpy.concatenate`, `numpy.stack` and
    the like, polynomials and, approximately, ``> < >= <=``, `maximum`, `minimum`, `sign` and `abs`,
    with other encrypted arrays of the same key, plain arrays and numbers. Scales and rescaling are
    automatic, and follow from the `precision` asked for. Multiplications use some of
    `capacity_bits`; when too little is left, the next one raises `CapacityError`.

    An array of integers, which a client with a `plain_modulus` encrypts, computes in the same way
    exactly, modulo `plain_modulus`, with integers. Every operation uses some of `budget_bits`; one
    that would use them up raises `BudgetError`. What takes numbers that are no integers (`mean`,
    ``/``, `polynomial`, precision) it does not have.

    An array of bits, booleans that a client of a preset for bits encrypts, computes with ``& | ^
    ~``, ``==``, `nand`, `nor`, `xnor` and `select`, element by element, on arrays of one shape and
    on plain booleans. There is no limit of depth. docs/bits.md says how numbers of several bits are
    added and compared.

    `Client.encrypt` and `Server.load` make these; one read without a server computes after
    ``server.load(array)``.
    """

    __slots__ = ()

    def with_precision(self, bits: float) -> EncryptedArray:
        """Return the array with another `precision` asked for.

        With less precision every later product takes less of `capacity_bits`; more than the array
        has makes nothing more precise.
        """
        self._need_numbers("with_precision")
        server = self._bound_server("with_precision")
        return server._wrap(
            server._raw.array_with_precision(self._raw, double(bits, "a precision"))
        )

    # Comparison

    def __eq__(self, other: object) -> EncryptedArray:  # type: ignore[override]
        """Return 1 where encrypted integers are equal to others, and 0 elsewhere, encrypted.

        That takes ``ceil(log2(plain_modulus - 1))`` multiplications one after the other. Encrypted
        numbers are never equal, since they have an error. Encrypted bits are, or are not: a gate,
        `xnor`. What is neither array nor number, such as None or text, equals no encrypted array.
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
        """Return 1 where encrypted integers or bits differ from others, and 0 elsewhere, encrypted."""
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
            # Of more axes than numpy broadcasts.
            raise ShapeError(f"{operation}: {error}") from None
        if 0 in common:
            raise ShapeError(
                f"{operation}: an encrypted array of shape {common} would have no elements"
            )
        return common

    def _plain(
        self, values: npt.ArrayLike, operation: str, *, rounded: bool = False
    ) -> Values | npt.NDArray[Any]:
        """Return plain values as this array computes with them: numbers, or integers modulo its modulus.

        Numbers for matrices are doubles, to which integers are `rounded`.
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
        """Multiply by a plain vector or matrix; by a complex one as by its real and its imaginary part.

        Products along the last axis, or `from_left` along the first, are of elements that are
        picked where they stand.
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
        """Compute with another encrypted array, with plain numbers or with one number."""
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

    # Hidden from type checkers, which know that there is none.
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
        """Raise to an integer power ``n`` from 0 on, in ``ceil(log2(n))`` multiplications one after the other.

        As for numpy, ``2.0`` is as much of an integer as ``2``, and the power 0 is 1.
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
        """Say what stands for roots and negative powers."""
        if self.plain_modulus is not None:
            return ""
        return (
            "; x.sqrt(domain=(0, high)) and x.reciprocal(domain=(low, high)) are looked up "
            "where the keys have tables"
        )

    def conj(self) -> EncryptedArray:
        """Conjugate complex values; the evaluation keys must have been made with ``conjugation=True``.

        Real values and integers are their own conjugates.
        """
        server = self._bound_server("conj")
        if self.plain_modulus is not None:
            return self
        return server._wrap(server._raw.conjugate(self._raw))

    def conjugate(self) -> EncryptedArray:
        """Conjugate complex values; see `conj`."""
        return self.conj()

    @property
    def real(self) -> EncryptedArray:
        """The real parts of complex values, by `conj` and one bit of capacity; real values are all of theirs."""
        return self._part(_native.real) if self._held.is_complex else self

    @property
    def imag(self) -> EncryptedArray:
        """The imaginary parts of complex values, by `conj` and one bit of capacity; those of real values are 0."""
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
        """Compute what `numpy.dot` does.

        That is the inner product of vectors, the product of matrices, or of a matrix and a vector,
        and the product with a plain matrix or a number; of arrays of more axes, of their last axis
        and the last but one of the other.
        """
        unset("dot", None, out)
        return cast("EncryptedArray", dot(self, other))

    @property
    def T(self) -> EncryptedArray:  # noqa: N802
        """The array with its axes in reverse order; nothing is computed."""
        if self.bit_error is not None or self._picked is not None:
            return self.transpose()
        server = self._bound_server("transpose")
        return server._wrap(server._raw.transpose(self._raw))

    def roll(
        self,
        shift: SupportsIndex | Sequence[SupportsIndex],
        axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    ) -> EncryptedArray:
        """Move every value `shift` places on, in row-major order or along axes, as `numpy.roll` does."""
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
        """Return the sign of every value, 1 or -1, to within ``2**-precision`` (10 bits if nothing is said).

        That holds where the absolute value is `gap` or more (``bound / 256`` if nothing is said,
        and of values less precise than that takes up to ``bound / 32``); where it is less, the
        result is some number from -1 to 1, give or take the same. The array's own error comes on
        top. A tighter `bound` (see `with_bound`), a wider gap and less precision take less of
        `capacity_bits`; with bootstrapping keys, capacity is given back on the way.

        The values have to be real, and the evaluation keys made with ``conjugation=True`` or with
        bootstrapping.

        Where the keys have tables, signs, comparisons, `maximum`, `abs` and the like are looked up
        instead, one by one, if the values are not precise enough for the gap, as those that tables
        have made seldom are; or if there is no bootstrapping and the array has too little capacity
        left (or the keys no conjugation). The gap then is the tables', if none is said: about a
        118th of the bound with ``"lut12"``. A narrower one is refused.
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

        The result is within half of ``2**-precision`` (10 bits by default) of 1 where this exceeds
        `other` by `gap` or more, and of 0 where it does not exceed it. Where it exceeds it by less
        than the gap, the result is some number from 0 to 1. The default gap is a 127th of the sum
        of the bounds. With tables it is twice that of `sign`. So integers are compared exactly with
        ``gap=1``, if the result is rounded.

        With ``at_ties=1``, as ``>=`` has it, equal values give 1, and the gap is where this is the
        smaller one. With ``at_ties=0.5`` they give 1/2, the gap extends to both sides, and by
        default it is half as wide.

        Where the intervals of both say the answer, it is exact and costs nothing. If no difference
        is larger than what the error of the values hides, the comparison is refused. The rest is as
        for `sign`, of the difference.
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
        """Return 1 where this is less than `other`, and 0 where it is equal or greater: otherwise as `greater`."""
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

        With ``e = 2**-precision`` (10 bits if nothing is said), ``d`` the difference of two values
        and ``B`` the sum of the bounds, the result is off by ``e * (abs(d) + B / 2) / 2`` at most
        where ``abs(d)`` is `gap` or more (``B / 256`` if nothing is said), and by ``(1 + e / 2) *
        abs(d) + e * B / 4`` where it is less. The rest is as for `sign`, of the difference.
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
        """Return the smaller of this and `other`, value by value: off by no more than `maximum`."""
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
        """Return the values, and the nearer limit for those beyond: off by what `maximum` and `minimum` are, together.

        Plain limits outside of the `interval` of the array change nothing and cost nothing. Other
        plain limits are as deep as one of `maximum` and `minimum`, encrypted ones as deep as both.
        The `bound` of the result is a worst case, as always: `with_bound` says that it is that of
        the limits.
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
            # Where the least value is above the largest one, numpy takes the largest one.
            limits: list[npt.NDArray[Any]] = [finite(limit, "clip") for limit in (min, max)]
            if any(map(is_exact_kind, limits)):
                limits = [fractions(limit, "clip") for limit in limits]
            low, high = limits
            low = np.minimum(low, high)
            parts = [(self - limit).relu(gap=gap, precision=precision) for limit in (low, high)]
            return (parts[0] - parts[1])._with(low, "add")

    def _lies_within(self, low: object, high: object) -> bool:
        """Tell whether the interval shows that limits change neither a value nor the shape; None is no limit."""
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
        """Return every value that is positive, and 0 for the others: `maximum` with 0, and as precise."""
        return self._of_sign("relu", gap, precision)

    def abs(self, *, gap: float | None = None, precision: float | None = None) -> EncryptedArray:
        """Return the absolute values, as ``abs(x)`` does.

        With ``e = 2**-precision`` (10 bits if nothing is said), that of ``x`` is off by ``e *
        (abs(x) + bound / 2)`` at most where it is `gap` or more (``bound / 256`` if nothing is
        said), and by ``(2 + e) * abs(x) + e * bound / 2`` where it is less. The rest is as for
        `sign`.
        """
        return self._of_sign("abs", gap, precision)

    def __abs__(self) -> EncryptedArray:
        return self.abs()

    # Polynomials

    def polynomial(self, polynomial: Series) -> EncryptedArray:
        """Evaluate a polynomial at every value, in ``ceil(log2(degree + 1))`` multiplications one after the other.

        It is one of the classes of `numpy.polynomial`, a `numpy.poly1d`, what
        `hippocrene.approximate` returns, or a sequence of coefficients, that of the constant first.
        A Chebyshev or Legendre series explodes beyond its domain, so an array whose `bound` exceeds
        that is refused: choose it with room, and say with `with_bound` what is known of the values.
        A domain other than ``[-1, 1]`` costs one multiplication more.

        Of integers it is one with integer coefficients, and counts modulo `plain_modulus`.
        """
        server = self._bound_server("polynomial")
        with named("polynomial", "evaluate a polynomial"):
            if self.plain_modulus is not None:
                whole = whole_coefficients(polynomial, self.plain_modulus)
                return server._wrap(server._raw.integer_polynomial(self._raw, whole))
            series, interval, error = coefficients(polynomial, self.interval)
            return server._wrap(server._raw.polynomial(self._raw, series, interval))._off_by(error)

    def with_interval(self, interval: tuple[float, float]) -> EncryptedArray:
        """Return the array with the declaration that all values lie in ``(low, high)``.

        Use it if you know better than `interval`, which is that of the worst case. A declaration
        that holds all of the known interval replaces it. Any other is added knowledge: the values
        lie in both. Where it is wrong, results may be; `hippocrene.simulate` reports it. If the
        bound becomes tighter, stray slots, in which slices and sums along an axis leave other
        values, are set to zero, which takes a product.
        """
        return self._declared("with_interval", declared_interval(interval, None))

    def with_bound(self, bound: float) -> EncryptedArray:
        """Return the array with a declared bound: `with_interval` of ``(-bound, bound)``."""
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
        """Return the array with a declaration of its error, for who knows better than `precision_bits`.

        That estimate follows errors as if nothing made them smaller. Iterations that correct
        themselves (Newton's) do: say it after each step, or there is no room for the estimate in a
        bootstrap some day. Where it is wrong, so is what later operations say of their errors, and
        results may be; `Client.decrypt_for_sharing` hides less. Errors between elements may be
        larger: a multiplication sets what is there to zero then.
        """
        self._need_numbers("with_precision_bits")
        server = self._bound_server("with_precision_bits")
        return server._wrap(server._raw.with_precision_bits(self._raw, double(bits, "a precision")))

    # Files

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> EncryptedArray:
        """Read what `to_bytes` returned; the array has no server."""
        return cls(_native.EncryptedArray.from_bytes(raw_bytes(data)))

    @classmethod
    def load(cls, path: FilePath) -> EncryptedArray:
        """Read a file that `save` wrote; the array has no server."""
        with reading(path) as name:
            return cls(_native.EncryptedArray.load(name))

    def copy(self) -> EncryptedArray:
        """Return the array itself: nothing alters it."""
        return EncryptedArray(self._held, self._server)

    def __copy__(self) -> EncryptedArray:
        return self.copy()

    def __deepcopy__(self, memo: object) -> EncryptedArray:
        # Nothing alters an encrypted array or a server, so that both can be shared.
        return EncryptedArray(self._held, self._server)

    def __reduce__(self) -> tuple[object, ...]:
        return EncryptedArray.from_bytes, (self.to_bytes(),)
