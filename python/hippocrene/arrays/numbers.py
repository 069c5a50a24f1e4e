"""Encrypted arrays of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, SupportsFloat, SupportsIndex, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from hippocrene.arrays.advice import REMAINDERS, refuse_options
from hippocrene.arrays.arithmetic import (
    FOR_BITS,
    ArithmeticArray,
    check_function,
    check_table,
    columns,
    stacked_entries,
)
from hippocrene.arrays.encrypted import Array, EncryptedArray
from hippocrene.arrays.places import Axes
from hippocrene.errors import (
    DIFFERENCE,
    ArgumentError,
    MissingKeyError,
    ParameterError,
    ShapeError,
    UnsupportedError,
    named,
)
from hippocrene.html_tables import Cell, capacity_cell
from hippocrene.values.operands import (
    Plain,
    divisors,
    finite,
    fractions,
    inverses,
    is_exact_kind,
    is_plain,
    real_numbers,
    root,
)
from hippocrene.values.polynomials import Series, coefficients
from hippocrene.values.scalars import double, double_or_none, integer, pair, whole

if TYPE_CHECKING:
    from typing_extensions import Self

    from hippocrene import _native
    from hippocrene.arrays.encrypted import _Operand

    _Domain: TypeAlias = tuple[float, float] | None


class NumberArray(ArithmeticArray, holds=("numbers",)):
    """An encrypted array of real or complex numbers, which have a small error.

    `EncryptedArray` describes all kinds of array.
    """

    __slots__ = ()
    _refusals: ClassVar[Mapping[str, str]] = {
        **ArithmeticArray._refusals,
        **dict.fromkeys(
            ("==", "!="),
            "encrypted numbers have an error, so that {name} has no meaning: use "
            "x.is_close(y, tolerance=...). For categories 0, 1, and so on, use x.entries_of(table) with a "
            "table that is 1 for the wanted ones",
        ),
        **{
            name: f"encrypted numbers have no {{name}}: use x.apply(lambda v: {formula}, domain=(low, high))"
            for name, formula in REMAINDERS.items()
        },
        "divisor": "encrypted numbers can only divide numbers",
    }
    _no_method = FOR_BITS
    _pow_modulus = "numbers have none"
    _exponents = "exponents are plain, real and finite"

    # Properties

    @property
    def precision_bits(self) -> float:
        """The precision in bits after the binary point, from an estimate of the error.

        It is ``-log2`` of the estimated standard deviation of the error. The largest error among
        thousands of values is four to sixteen times the standard deviation, which is two to four
        bits worse. The largest error of a comparison outside of its gap counts as eight standard
        deviations.

        It is NaN if the error is unknown. Estimates assume that nothing makes errors smaller. In
        iterations that correct themselves, the estimated error can therefore exceed the values. A
        bootstrap gives up such an estimate. Comparisons, look-up tables and
        `Client.decrypt_for_sharing` then refuse the array, until `with_precision_bits` declares its
        precision.
        """
        return cast("float", self._described().precision_bits)

    @property
    def precision(self) -> float:
        """The requested precision of results computed from this array, in bits.

        Bits count after the binary point. Operations on arrays of different precision use the
        smaller one. `precision_bits` is the precision that the array really has.
        """
        return cast("float", self._described().precision)

    @property
    def bound(self) -> float:
        """An upper bound of all absolute values.

        It is a worst case that follows from the interval declared at encryption.
        """
        return cast("float", self._described().bound)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends ``(low, high)`` of the interval that contains all values.

        It is declared at encryption, and every operation propagates the worst case; see
        `with_interval`. For complex values, it contains both the real and the imaginary parts.
        """
        return cast("tuple[float, float]", self._described().interval)

    @property
    def capacity_bits(self) -> float | None:
        """The number of bits of modulus that are left to compute with.

        A multiplication uses up the bits of the requested `precision`, and about 15 more. It is
        None for an array without a server whose parameters belong to no preset.
        """
        return self._described().capacity_bits

    def _summary(self) -> str:
        alike = self._described()
        bits = "?" if alike.capacity_bits is None else f"{alike.capacity_bits:.1f}"
        kind = ", complex" if self.is_complex else ""
        return f"{kind}, precision_bits={alike.precision_bits:.1f}, capacity_bits={bits}"

    def _contents(self) -> str:
        return "complex numbers" if self.is_complex else "real numbers"

    def _facts(self) -> list[tuple[str, Cell]]:
        low, high = self.interval
        bits = self.precision_bits
        estimated = "unknown" if math.isnan(bits) else f"{bits:.1f} bits after the binary point"
        return [
            ("interval", f"[{low:g}, {high:g}]"),
            ("precision", f"{estimated} ({self.precision:g} requested)"),
            ("capacity", capacity_cell(self.capacity_bits, self._held.preset)),
        ]

    def with_precision(self, bits: float) -> Self:
        """Return the array with another requested `precision`, in bits after the binary point.

        With a lower precision, every later product uses less of `capacity_bits`. A higher precision
        than the array already has does not reduce its error.
        """
        wanted = double(bits, "a precision")
        return self._run("array_with_precision", wanted, operation="with_precision")

    def with_precision_bits(self, bits: float) -> Self:
        """Return the array with a declared `precision_bits` instead of the estimated one.

        Declare a precision if you know that the error is smaller than its estimate. The estimate
        assumes that no operation makes errors smaller, but each step of a method that corrects
        itself, such as Newton's, does. Declare the precision after each of these steps. Otherwise
        the estimated error grows until a bootstrap states that the error is unknown (see
        `precision_bits`).

        If the declaration is wrong, all later error estimates are wrong, results may be wrong, and
        `Client.decrypt_for_sharing` hides less. Errors in stray slots, between the elements, may be
        larger than declared. A multiplication then sets these slots to zero.
        """
        return self._run("with_precision_bits", double(bits, "a precision"))

    def _plain(self, values: npt.ArrayLike, operation: str) -> npt.NDArray[Any]:
        return finite(values, operation)

    # Errors

    def _needs_digits(self, size: float, operation: str) -> bool:
        """Return True if factors rounded to doubles would miss the requested precision.

        `size` is the largest absolute value of the factors.
        """
        return self._bound_server(operation)._raw.needs_digits(self._described(), size)

    def _rounded(self, product: Self, size: float) -> Self:
        """Return a product with rounded doubles, and add their rounding to its estimated error.

        `size` is the largest absolute value of the factors.
        """
        return (
            product._off_by(self.bound * size * 2.0**-53)
            if self._needs_digits(size, "mul")
            else product
        )

    def _off_by(self, error: float) -> Self:
        """Return the array with an additional error of at most `error` in its estimate."""
        # The elements of a lazy view are moved before their precision is read.
        if not error or math.isnan(self._elements().precision_bits or math.nan):
            return self
        bits = -0.5 * float(np.logaddexp2(-2 * self.precision_bits, 2 * math.log2(error)))
        return self._run("with_precision_bits", bits)

    def _add_disjoint(self, other: Self | npt.NDArray[Any]) -> Self:
        """Return the sum with an array that is 0 wherever this one is not.

        No element of the sum is larger than the elements of either array, so that its bound is the
        larger one of both.
        """
        total = self + other
        if total._view is not None:
            return total
        if isinstance(other, NumberArray):
            bound = max(self.bound, other.bound)
        elif isinstance(other, np.ndarray) and other.dtype.kind in "biufc":
            bound = max(self.bound, float(np.max(abs(other))))
        else:
            return total
        # Values in stray slots may exceed the bound of the elements.
        if bound < total.bound and not total._elements().has_strays:
            return total.with_bound(bound)
        return total

    def _finer(self, count: int) -> Self:
        """Return the array with more requested precision, for a sum of `count` products.

        The rounding errors of the sum are then about as large as that of one product was.
        """
        try:
            return self.with_precision(self.precision + 0.5 * math.log2(count))
        except ParameterError:
            return self

    # Arithmetic

    def __truediv__(self, other: Plain | EncryptedArray) -> Self:
        if isinstance(other, NumberArray):
            inverse = other._inverse()
            with named("div", "mul"):
                return self * inverse
        if isinstance(other, EncryptedArray):
            raise other._refused("divisor")
        if not is_plain(other):
            return NotImplemented
        divisor = divisors(other)
        with named("div", "mul"):
            if divisor.dtype.kind == "c":
                factors = inverses(divisor)
                return self._rounded(self._with(factors, "mul"), np.max(abs(factors), initial=0.0))
            if is_exact_kind(divisor):
                return self._with(1 / fractions(divisor, "div"), "mul")
            factors = inverses(divisor)
            if not divisor.ndim:
                return self._run("div_number", float(divisor), operation="div")
            if self._needs_digits(float(np.max(abs(factors), initial=0.0)), "div"):
                return self._with(1 / fractions(divisor, "div"), "mul")
            return self._with(factors, "mul")

    def __rtruediv__(self, other: Plain) -> Self:
        if not is_plain(other):
            return NotImplemented
        inverse = self._inverse()
        with named("div", "mul"):
            return inverse * other

    def _inverse(self) -> Self:
        """Return the reciprocals, for a division."""
        low, high = self.interval
        if self.is_complex or low <= 0 <= high:
            values = "is complex" if self.is_complex else f"lies in [{low:g}, {high:g}], with 0"
            raise UnsupportedError(
                f"div: the divisor {values}, and an interval on one side of 0 is needed. Declare one "
                "with x.with_interval((low, high)), multiply by x.reciprocal(domain=(low, high)), or "
                "take a smaller margin of spec_like."
            )
        with named("div", "reciprocal", "apply a function", "approximate a function"):
            return self.reciprocal()

    def __pow__(self, exponent: SupportsIndex | SupportsFloat, modulus: None = None) -> Self:
        """Raise every value to a power.

        Integer powers ``n >= 0`` take ``ceil(log2(n))`` multiplications one after the other. All
        other powers of real values are approximated (see `apply`). The interval of the values must
        lie from 0 on, above 0 for negative powers, or on one side of 0 for negative integers. As in
        numpy, ``2.0`` is the same as ``2``, and the power 0 is 1. An array of exponents has one for
        each element, and takes a product with a mask for each different one, up to 64.
        """
        power = _other_power(exponent)
        if power is None or modulus is not None:
            return super().__pow__(exponent, modulus)
        low, high = self.interval
        if low < 0 and not power.is_integer() and not self.is_complex:
            on = "above 0" if power < 0 else "from 0"
            raise ArgumentError(
                f"pow: x ** {power:g} is defined {on}, but not on all of [{low:g}, {high:g}]. If all "
                "values lie where it is defined, declare such an interval "
                "(x.with_interval((low, high))), or take a smaller margin of spec_like."
            )
        with named("pow", "sqrt", "div", "reciprocal", "apply"):
            if power == 0.5:
                return self.sqrt()
            if power.is_integer():
                return self._inverse() ** -int(power)
            return self.apply(np.errstate(all="ignore")(lambda v: np.float_power(v, power)))

    def __rpow__(self, base: SupportsFloat) -> Self:
        """Raise a plain number above 0 to every value, as in ``2 ** x``: see `exp`."""
        if not is_plain(base):
            return NotImplemented
        number = double(base, "pow: a base, one for all values,")
        if not 0 < number < math.inf:
            raise ArgumentError(
                f"pow: the base is {number:g}, and it must be above 0 and finite. Powers of encrypted "
                "exponents are real only then."
            )
        with named("pow", "mul", "exp"):
            return (self * math.log(number)).exp()

    def _times_matrix(
        self, values: npt.ArrayLike, multiply: Any, *, from_left: bool | None = None
    ) -> Self:
        plain: npt.NDArray[Any] = finite(values, "matmul")
        if not is_exact_kind(plain):
            return self._times_plain(plain, multiply, from_left=from_left)
        plain = finite(values, "matmul", rounded=True)
        plain = plain if plain.dtype.kind == "c" else real_numbers(plain, "matmul")
        product = self._times_plain(plain, multiply, from_left=from_left)
        return self._rounded(product, float(np.linalg.norm(plain)))

    def conj(self) -> Self:
        """Return the complex conjugates.

        Complex values need evaluation keys made with ``conjugation=True``. Real values are their
        own conjugates and are returned unchanged.
        """
        return self._run("conjugate", operation="conj")

    @property
    def real(self) -> Self:
        """The real parts.

        For complex values this uses the conjugate (see `conj`) and one bit of capacity. Real values
        are returned unchanged.
        """
        return self._run("real") if self._held.is_complex else self

    @property
    def imag(self) -> Self:
        """The imaginary parts.

        For complex values this uses the conjugate (see `conj`) and one bit of capacity. The
        imaginary parts of real values are 0.
        """
        return self._run("imag") if self._held.is_complex else self * 0

    def polynomial(self, polynomial: Series) -> Self:
        """Evaluate a polynomial at every value.

        This takes ``ceil(log2(degree + 1))`` multiplications one after the other. A domain other
        than ``[-1, 1]`` needs one more.

        `polynomial` can be an instance of a class of `numpy.polynomial`, a `numpy.poly1d`, a result
        of `hippocrene.approximate`, or a sequence of coefficients with the constant first. A
        Chebyshev or Legendre series grows very fast outside of its domain. It refuses an array
        whose `bound` exceeds the domain. Choose a domain that is large enough, or declare a smaller
        range with `with_bound`.
        """
        series, interval, error = coefficients(polynomial, self.interval)
        parts = ("evaluate a polynomial",)
        return self._run("polynomial", series, interval, parts=parts)._off_by(error)

    def entries_of(self, table: npt.ArrayLike, *, precision: float | None = None) -> Self:
        """Return the entries of a plain table at encrypted indices, as ``table[x]`` would.

        Values are integers from 0 to ``len(table) - 1``, with a small error. Polynomials compute
        all entries at once, and need only the keys for products. The array's interval must not go
        beyond the indices, or the operation raises an `ArgumentError`. Declare it when you encrypt,
        or with `with_interval`.

        If the table has several axes, those after the first follow the axes of the array. For
        example, ``x.entries_of(numpy.eye(5, dtype=int))`` has a one at the position of the value
        and zeros elsewhere. Every number of a row takes as long as a separate table.

        Up to 4 entries take 2 or 3 multiplications one after the other. A table of
        ``p`` entries, at most 4096, takes 3 to 5 more than ``log2(2 * p)``. With bootstrapping
        keys, capacity is restored on the way, or the table is looked up during a bootstrap.

        An entry is within ``2**-precision`` of the right one. The default `precision` is 12 bits
        below the difference of the largest and the smallest entry. A value with an error ``e`` adds
        an error of about ``3.3 * e**2`` times that difference, or ``8 * e**2`` times for up to 4
        entries. Between two indices, the result is some mean of entries.

        The interval may go 1/2 beyond the first and the last index, or 1/8 for up to 4 entries. If
        a declaration is wrong, a value below ``-1/2`` gives the result for its mirror image about
        ``-1/2``. With up to 4 entries, a value more than 1/8 beyond the indices may give any
        result.
        """
        bits = None if precision is None else double(precision, "a precision")
        entries = check_table(real_numbers(table, "entries_of"))
        parts = ("entries of a table", "evaluate a polynomial")
        how: dict[str, Any] = {"operation": "entries_of", "parts": parts}
        found = [self._run("entries", one, bits, **how) for one in columns(entries)]
        return stacked_entries(found, entries)

    # Means and variances

    def mean(
        self,
        axis: Axes = None,
        dtype: None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        where: npt.ArrayLike = True,
    ) -> Self:
        """Return the mean over one axis, several axes or all of them.

        With `keepdims`, these axes stay with length 1. `where` is a plain mask that selects the
        values to average.
        """
        refuse_options("mean", dtype, out)
        if (mask := self._mask(where, "mean")) is not None:
            if not mask.any(axis=tuple(self._axes(axis, "mean"))).all():
                raise ArgumentError("mean: the mask leaves no values for some of the means")
            with named("mean", "average"):
                return cast(
                    "Self",
                    cast("Any", np.average)(self, axis, mask.astype(np.int64), keepdims=keepdims),
                )
        with named("mean", "sum", "divide by a number"):
            if (shares := self._shares(self._axes(axis, "mean"))) is not None:
                total, count = shares[0].sum(axis, keepdims=keepdims), shares[1]
                return total / count
            total = self.sum(axis, keepdims=keepdims)
            return total / (self.size // total.size)

    def _shares(self, axes: list[int]) -> tuple[Self, int] | None:
        """Return lazy windows scaled by a power of two over their size, and that power.

        The sum of the scaled windows, divided by the power of two, is their mean. The scaling is a
        factor of the products that sums of windows take anyway, so that it takes no further
        product. The factor is at least 1, since the error of a product does not shrink with a
        smaller factor. This returns None for arrays that are not windows. Sums of other elements
        leave stray slots, which a product after the sum sets to zero.
        """
        if (view := self._view) is None or not view.windows or not axes:
            return None
        count = math.prod(self.shape[index] for index in axes)
        power = 1 << (count - 1).bit_length()
        server = self._bound_server("mean")
        if power == count or self._needs_digits(power / count, "mean"):
            return None
        products = view.times(server._for_now, np.full((1,) * self.ndim, power / count), self.shape)
        return None if products is None else (server._wrap(products), power)

    def _centred(self, axis: Axes, ddof: float) -> tuple[Self, int]:
        """Return deviations from means and a number ``k``.

        The sums of their squares over ``2**k`` are the variances. The deviations are scaled to be
        about as large as the values, so that rounding counts no more than in any other product. The
        division by a power of two comes last and is exact. The sum is repeated along the axes
        before it is divided, so that the division also reduces the error of repeating it.
        """
        # The deviations need the elements one by one. So the move of a lazy view is done here, once
        # for both the mean and the deviations.
        server = self._bound_server("var")
        array = server._wrap(self._elements())
        with named("var", "sum"):
            total = array.sum(axis, keepdims=True)
        count = self.size // total.size
        ddof = double(ddof, "ddof")
        if not count > ddof:
            raise ArgumentError(
                f"var: {count} values, less ddof={ddof:g}, leave nothing to divide by"
            )
        halvings = (count - 1).bit_length()
        gain = root(2**halvings / (count - Fraction(ddof)))
        digits = self._needs_digits(1.0, "var")
        factors: list[Any] = [
            factor if digits and factor != Fraction(float(factor)) else float(factor)
            for factor in (gain, gain * 2**halvings / count)
        ]
        inexact = not isinstance(factors[1], float)
        total, factor = (total * factors[1], 1.0) if inexact else (total, factors[1])
        means = server._raw.broadcast_like(total._elements(), array._elements(), factor)
        deviations: Any = array * factors[0] - halved(server._wrap(means), halvings)
        bound = abs(float(gain)) * array.bound
        return server._wrap(server._raw.as_deviations(deviations._elements(), bound)), halvings

    def var(
        self,
        axis: Axes = None,
        dtype: None = None,
        out: None = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        mean: None = None,
        correction: None = None,
        where: None = None,
    ) -> Self:
        """Return the variance over one axis, several axes or all of them.

        This takes two multiplications one after the other. Complex values are multiplied by their
        conjugates, and their variance is real.
        """
        refuse_options("var", dtype, out, mean=mean, correction=correction, where=where)
        variance = self._squared_deviations(axis, ddof, keepdims=keepdims).real
        view = self._view
        count = math.prod(self.shape[index] for index in self._axes(axis, "var"))
        if view is not None and view.weights is not None:
            return variance
        values = self._elements() if view is None else view.source
        factor = count / (count - float(ddof))
        return variance._run("as_variances", values, factor, operation="var")

    def _squared_deviations(self, axis: Axes, ddof: float, *, keepdims: bool = False) -> Self:
        """Return the variance before its imaginary part is removed.

        For complex values, the imaginary part is noise.
        """
        if (variance := self._variance_of_windows(axis, ddof, keepdims=keepdims)) is not None:
            return variance
        deviations, halvings = self._centred(axis, ddof)
        squares: Self = deviations * (deviations.conj() if self.is_complex else deviations)
        return halved(squares.sum(axis, keepdims=keepdims), halvings)

    def _variance_of_windows(self, axis: Axes, ddof: float, *, keepdims: bool) -> Self | None:
        """Return the variance of windows as the mean of squares minus the square of the mean.

        Neither mean moves elements, which deviations of windows from their means would. This
        returns None for arrays that are not windows.
        """
        view = self._view
        if view is None or not view.is_alike(view) or view.is_complex:
            return None
        axes = self._axes(axis, "var")
        count = math.prod(self.shape[index] for index in axes)
        rest = count - double(ddof, "ddof")
        if not rest > 0 or self._needs_digits(1.0, "var"):
            return None
        ones: Any = np.ones((1,) * self.ndim)
        squares: Self = (self * self * (ones / rest)).sum(axis, keepdims=keepdims)
        mean: Self = (self * (ones / math.sqrt(count * rest))).sum(axis, keepdims=keepdims)
        return squares - mean * mean

    def std(
        self,
        axis: Axes = None,
        dtype: None = None,
        out: None = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        mean: None = None,
        correction: None = None,
        where: None = None,
    ) -> Self:
        """Return the standard deviation, which is the `sqrt` of the variance.

        The error is relative to the largest possible deviation of values in the interval of the
        array, which is half its width. It is about a 10000th of that if there is enough capacity
        for a polynomial of degree 2047, as for fresh arrays with the preset ``"n15"``. A tighter
        interval reduces the error. Subtract what all columns have in common, scale columns to
        similar deviations, and declare the interval. With too little capacity for a polynomial, the
        keys must have tables.
        """
        refuse_options("std", dtype, out, mean=mean, correction=correction, where=where)
        with named("std", "var"):
            variance = self.var(axis, ddof=ddof, keepdims=keepdims)
        try:
            with named("std", "sqrt"):
                return variance.sqrt()
        except (ArgumentError, MissingKeyError) as error:
            raise type(error)(
                f"{str(error).rstrip('.')}. Or decrypt the variance, which needs no root, and take "
                "the root yourself."
            ) from None

    # Comparisons

    def _of_sign(
        self,
        operation: str,
        gap: float | None,
        precision: float | None,
        at_ties: float = 0.0,
        other: EncryptedArray | None = None,
    ) -> Self:
        """Compute an operation that is made of signs, of values or of differences from others."""
        server = self._bound_server(operation, other)
        gap, precision = double_or_none(gap, "a gap"), double_or_none(precision, "a precision")
        if gap is not None and not gap > 0:
            raise ArgumentError(
                f"{operation}: a gap of {gap:g}. Pass a positive number, the smallest difference that is told from 0."
            )
        with named(operation, "absolute value", "compare", "step", "sign", "relu", *DIFFERENCE):
            if other is None:
                raw = server._raw.of_sign(operation, self._elements(), gap, precision, at_ties)
            else:
                both = self._elements(), other._elements()
                raw = server._raw.of_difference(operation, *both, gap, precision, at_ties)
            return server._wrap(raw)

    def _compared(
        self,
        operation: str,
        other: _Operand,
        gap: float | None,
        precision: float | None,
        at_ties: float,
    ) -> Self:
        at_ties = double(at_ties, "at_ties")
        if isinstance(other, EncryptedArray):
            return self._of_sign(operation, gap, precision, at_ties, other)
        self._check_operand(other, operation)
        with named(operation, "positive", *DIFFERENCE):
            plain: Any = other
            difference = self if np.ndim(plain) == 0 and plain == 0 else self - plain
            difference = difference if operation == "greater" else -difference
            return difference._of_sign("positive", gap, precision, at_ties)

    def _check_operand(self, other: object, operation: str) -> None:
        """Refuse operands that are neither arrays nor numbers."""
        if not isinstance(other, EncryptedArray) and not is_plain(other):
            raise TypeError(
                f"{operation} takes encrypted arrays, plain arrays and numbers, not {type(other).__name__}"
            )

    def sign(self, *, gap: float | None = None, precision: float | None = None) -> Self:
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
        other: _Operand,
        *,
        gap: float | None = None,
        precision: float | None = None,
        at_ties: float = 0,
    ) -> Self:
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
        other: _Operand,
        *,
        gap: float | None = None,
        precision: float | None = None,
        at_ties: float = 0,
    ) -> Self:
        """Return 1 where this is less than `other`, and 0 where it is equal or greater.

        See `greater` for the error and the options.
        """
        return self._compared("less", other, gap, precision, at_ties)

    def __ge__(self, other: _Operand) -> Self:
        return self.greater(other, at_ties=1)

    def __le__(self, other: _Operand) -> Self:
        return self.less(other, at_ties=1)

    def __gt__(self, other: _Operand) -> Self:
        return self.greater(other)

    def __lt__(self, other: _Operand) -> Self:
        return self.less(other)

    def maximum(
        self, other: _Operand, *, gap: float | None = None, precision: float | None = None
    ) -> Self:
        """Return the larger of this and `other`, value by value.

        Let ``e = 2**-precision`` (10 bits by default), ``d`` be the difference of two values, and
        ``B`` be the sum of both bounds. The default `gap` is ``B / 256``. The largest error is

        - ``e * (abs(d) + B / 2) / 2`` where ``abs(d)`` is at least `gap`,
        - ``(1 + e / 2) * abs(d) + e * B / 4`` where it is less.

        Everything else is as for the `sign` of the difference.
        """
        if isinstance(other, EncryptedArray):
            return self._of_sign("maximum", gap, precision, other=other)
        self._check_operand(other, "maximum")
        with named("maximum", "relu", *DIFFERENCE):
            return (self - other).relu(gap=gap, precision=precision) + other

    def minimum(
        self, other: _Operand, *, gap: float | None = None, precision: float | None = None
    ) -> Self:
        """Return the smaller of this and `other`, value by value.

        The error is at most that of `maximum`.
        """
        if isinstance(other, EncryptedArray):
            return self._of_sign("minimum", gap, precision, other=other)
        self._check_operand(other, "minimum")
        with named("minimum", "relu", *DIFFERENCE):
            return other - (other - self).relu(gap=gap, precision=precision)

    def clip(
        self,
        min: _Operand | None = None,  # noqa: A002
        max: _Operand | None = None,  # noqa: A002
        out: None = None,
        *,
        gap: float | None = None,
        precision: float | None = None,
    ) -> Self:
        """Return the values limited to the range from `min` to `max`, as `numpy.clip` does.

        The error is at most the sum of the errors of `maximum` and `minimum`. Plain limits outside
        of the `interval` of the array change nothing and are free. Other plain limits need as much
        depth as one of `maximum` and `minimum`, and encrypted limits as much as both. The `bound`
        of the result is a worst case and can exceed the limits. Use `with_bound` to declare the
        bound that follows from the limits.
        """
        refuse_options("clip", None, out)
        if min is None and max is None:
            raise ArgumentError("clip: neither min nor max is given")
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

    def relu(self, *, gap: float | None = None, precision: float | None = None) -> Self:
        """Return every positive value, and 0 in place of the others.

        This is `maximum` with 0, and has the same error.
        """
        return self._of_sign("relu", gap, precision)

    def abs(self, *, gap: float | None = None, precision: float | None = None) -> Self:
        """Return the absolute values, as ``abs(x)`` does.

        Let ``e = 2**-precision`` (10 bits by default). The default `gap` is ``bound / 256``. The
        largest error is

        - ``e * (abs(x) + bound / 2)`` where ``abs(x)`` is at least `gap`,
        - ``(2 + e) * abs(x) + e * bound / 2`` where it is less.

        Everything else is as for `sign`.
        """
        return self._of_sign("abs", gap, precision)

    def __abs__(self) -> Self:
        return self.abs()

    # Functions and order.

    def apply(
        self,
        function: Callable[[Any], Any] | npt.ArrayLike,
        *,
        domain: _Domain = None,
        error: float | None = None,
        breaks: Sequence[float] | None = None,
        gap: float | None = None,
        look_ups: int | None = None,
        precise: bool = False,
    ) -> Self:
        """Apply any function, or take the entry of a table, for every value.

        `function` takes and returns one number. It is evaluated on the `domain` ``(low, high)``,
        which must contain the interval of the array. By default, the domain is that interval (see
        `with_interval`). If the interval is a single value, as for ``x * 0``, the result is exact
        and costs nothing.

        There are two ways. The second one is taken where the first one is not possible:

        - **Polynomials and comparisons** compute all values at once, in about a second. The largest
          error is `error`, by default a 1024th of the range of the function on the domain. Jumps and
          kinks are found from the values of the function, or you name them all with `breaks`. Each
          of them costs a comparison. A value that is nearer to a jump than `gap`, by default a 512th
          of the width of the domain, gets some number between the values on both sides. Kinks have
          no gap. Keys with ``bootstrapping=True`` restore the capacity that this uses.
        - **Look-up tables** take about 25 ms for each value, and need keys with ``tables=True``.

        With `look_ups`, `precise` or a table, look-up tables are always used. Their error is about
        as large as if each value were wrong by a 500th of the width of the domain. At a jump, that
        is about the height of the jump. `look_ups`, from 1 to 4, is the largest number of look-ups for
        each value. Fewer are made if more do not help. For a function with jumps, such as rounding,
        use one look-up. With more tables, part of the error near a jump also appears at values that
        lie a half, a quarter, an eighth and so on of the domain away from the jump.

        With `precise`, this uses two tables, and one of them holds the slopes of the function. The
        error is then about half the second derivative times the square of the error of a value. For
        smooth functions, this is a tenth of the usual error or less. Functions with jumps gain
        nothing. This also needs a product. The result has 28 bits of capacity less than
        `LookUps.capacity`, whose default leaves only a few, and at most the capacity of the array.

        `function` can also be a table: a sequence whose entries are at equal distances from ``low``
        to ``high`` of the `domain`, which is then required. A value between two entries gives the
        nearest one. The default is then one look-up, so that the error at the entries is small, for
        up to about 50 entries with ``"lut12"``. For more entries, such as samples of a smooth
        function, more look-ups may be better.

        The `precision` of the result is what its error needs, so that later operations on it use
        little capacity. `precision_bits` states its error, where it is largest. If you know that the
        values stay away from jumps, declare the precision with `with_precision_bits`.
        """
        check_function(function)
        if look_ups is None and not callable(function):
            look_ups = 1
        of_one = function if callable(function) else _nearest(function, domain)
        return self._run(
            "apply",
            lambda x: double(_value(of_one, x), "a value of the function"),
            _application(domain, error, breaks, gap, look_ups, precise),
            parts=("apply a function", "approximate a function"),
        )

    def _named(self, name: str, domain: _Domain, precise: bool) -> Self:
        how = _application(domain, precise=precise)
        parts = ("apply a function", "approximate a function")
        return self._run("apply_function", name, how, operation=name, parts=parts)

    def sigmoid(self, *, domain: _Domain = None, precise: bool = False) -> Self:
        """Return ``1 / (1 + exp(-x))`` of every value; see `apply`."""
        return self._named("sigmoid", domain, precise)

    def tanh(self, *, domain: _Domain = None, precise: bool = False) -> Self:
        """Return the hyperbolic tangents; see `apply`."""
        return self._named("tanh", domain, precise)

    def sqrt(self, *, domain: _Domain = None, precise: bool = False) -> Self:
        """Return the square roots of values that are known to be at least 0.

        Variances and sums of squares are known to be. For other values, first declare an interval
        with ``x.with_interval((0, high))``.

        If the array has enough capacity, this evaluates a polynomial of a degree up to 2047 and
        needs no look-up. Its error is about a fifth of the largest root divided by the degree.
        Otherwise this uses look-up tables as `apply` does, with a larger error.
        """
        return self._named("sqrt", domain, precise)

    def reciprocal(self, *, domain: _Domain = None, precise: bool = False) -> Self:
        """Return ``1 / x`` of every value, for a domain on one side of 0.

        The default domain is the interval of the array. ``y / x`` is ``y * x.reciprocal()``.

        This evaluates a polynomial or uses look-up tables, as `sqrt` does. If neither has an error
        far below the largest result, it is refused.
        """
        return self._named("reciprocal", domain, precise)

    def log(self, *, domain: _Domain = None, precise: bool = False) -> Self:
        """Return the natural logarithms, for a domain above 0.

        The default domain is the interval of the array. This evaluates a polynomial or uses look-up
        tables, as `sqrt` does.
        """
        return self._named("log", domain, precise)

    def exp(self, *, domain: _Domain = None, precise: bool = False) -> Self:
        """Return the exponentials; see `apply`."""
        return self._named("exp", domain, precise)

    def is_close(self, other: _Operand, *, tolerance: float) -> Self:
        """Return 1 where values differ from `other` by less than `tolerance`, and 0 elsewhere.

        This takes one look-up for each value. Within a gap around the tolerance, the result may be
        either. With the tables ``"lut12"``, the gap is about a 118th of the sum of both bounds and
        the tolerance. It is twice as large with ``"lut11"`` and about half as large with
        ``"lut13"``. A tolerance below the gap is refused, with an error that names the gap. If the
        tolerance is larger than the sum of both bounds, the results are 1 without a look-up.
        """
        self._check_operand(other, "is_close")
        with named("is_close", *DIFFERENCE):
            difference = self - other
        within = double(tolerance, "a tolerance")
        if within > difference.bound:
            return (difference - difference + 1).with_bound(1)
        parts = ("apply a function", "compare with 0")
        return difference._run("near_zero", within, operation="is_close", parts=parts)

    def sort(
        self, axis: SupportsIndex | None = -1, kind: str | None = None, *, stable: Any = None
    ) -> Self:
        """Return the values in rising order along an axis, or all values if `axis` is None.

        With None, the result has one axis. Equal values keep their order, whatever numpy's `kind`
        says. There are three ways to sort, and so to find extremes and quantiles:

        - **By look-up tables**, if the keys have them (``tables=True``). This takes 63 look-ups for
          16 values, and about ``n * log2(n)**2 / 4`` for ``n`` values. The standard deviation of the
          error of a value is at most a 40th of the bound.
        - **All pairs are compared** if you declare with `Server.at_distance` that values are equal
          or differ by at least some distance. A line may have 128 values on ``"n15"``, and 4,096 on
          ``"n16"`` or ``"n16s"``. The error is at most a 512th of the bound. Longer lines are sorted
          in the next way.
        - **Pairs are compared layer by layer** otherwise. Values may be as close as they like. This
          takes 10 layers for 16 values, where `max` takes 4. Each one has an error of about a
          1000th of the interval. ``"n16"`` is faster and more precise for this than ``"n15"``.

        The last two ways need keys with ``bootstrapping=True``, or enough capacity. `precision_bits`
        states the errors.
        """
        return self._sorted("sort", axis, kind, stable)

    def max(self, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Self:
        """Return the largest values along one or several axes, or of all values.

        This is done in one of the ways that `sort` lists. With tables, it takes ``n - 1`` look-ups
        for ``n`` values.
        """
        refuse_options("max", None, out)
        return self._of_axes("max", axis, keepdims)

    def min(self, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Self:
        """Return the smallest values along one or several axes, or of all values.

        This is done in one of the ways that `sort` lists. With tables, it takes ``n - 1`` look-ups
        for ``n`` values.
        """
        refuse_options("min", None, out)
        return self._of_axes("min", axis, keepdims)

    def argsort(
        self, axis: SupportsIndex | None = -1, kind: str | None = None, *, stable: Any = None
    ) -> Self:
        """Return the indices that sort the values along an axis, or all values if `axis` is None.

        Round the indices after decryption. `precision_bits` states their error, which grows with the
        number of values. Look-up tables are used, or all pairs are compared, as `sort` says. If pairs
        are compared, equal values are ordered by their indices. Without tables, declare a distance of
        the values with `Server.at_distance`.

        **With tables**, this takes ``n * (3 * n - 1) / 2`` look-ups for ``n`` values, if ``n`` is at
        least 2. Every index appears exactly once. Two values that differ by more than a gap are in
        order. Closer and equal values may be in either order, whatever `kind` says. The gap is seven
        standard deviations of the error in the difference of two values in look-ups. On ``"n15"``
        it is about a 340th of the `bound` of the array with the tables ``"lut12"``, a 260th with
        ``"lut11"`` and a 360th with ``"lut13"``. The errors of the values come on top.

        The number of values in a line is limited, since the tables must tell their ranks apart: to
        44 with ``"lut11"``, 82 with ``"lut12"`` and 109 with ``"lut13"``. More are refused.
        """
        return self._sorted("argsort", axis, kind, stable)

    def rank(self, axis: SupportsIndex | None = -1) -> Self:
        """Return the rank of each value along an axis, or among all values if `axis` is None.

        Ranks count from 0, as ``x.argsort().argsort()``, and equal values are ranked by their
        indices. With None, ranks are those among all values, in the shape of the array.

        All pairs are compared at once, as `sort` says. Look-up tables are not used. The error is at
        most a 32nd, and `precision_bits` states it with the noise. So round the ranks after
        decryption. Values that are closer than the gap and not equal have ranks anywhere between
        those that both orders give.
        """
        return self._in_order("rank", axis)

    def median(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Return the medians along one or several axes, or of all values, as `quantile` of 0.5."""
        return self._of_axes("median", axis, keepdims)

    def quantile(
        self, q: npt.ArrayLike, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
    ) -> Self:
        """Return the quantiles `q`, from 0 to 1, along one or several axes, or of all values.

        `q` is a number or an array of plain numbers, which the server can see. As in numpy, the
        axes of `q` come first in the result.

        The values are ordered once for all quantiles (see `sort`). A quantile between two values is
        interpolated linearly, with its position rounded to a 4096th of their distance.
        Interpolation uses up to 12 bits of the capacity of the sorted values, and one bit in the
        middle between two values. If several quantiles lie at different distances, it uses as much
        as a product with plain numbers.
        """
        return self._quantile("quantile", q, 1.0, axis, method, keepdims)

    def percentile(
        self, q: npt.ArrayLike, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
    ) -> Self:
        """Return the percentiles `q`, from 0 to 100, as `quantile` of ``q / 100``."""
        return self._quantile("percentile", q, 100.0, axis, method, keepdims)

    def _quantile(
        self,
        operation: str,
        q: npt.ArrayLike,
        most: float,
        axis: Axes,
        method: str,
        keepdims: bool,
    ) -> Self:
        if method != "linear":
            raise ArgumentError(
                f"{operation}: method is {method!r}: only 'linear' is supported for encrypted values"
            )
        shares = real_numbers(q, operation)
        wrong = shares[~((shares >= 0) & (shares <= most))]
        if not shares.size or wrong.size:
            have = wrong.flat[0] if wrong.size else "nothing"
            raise ArgumentError(
                f"{operation}: q holds {have}: numbers from 0 to {most:g} are possible"
            )
        array, along, ones = self._joined(axis, operation)
        wanted = (shares / most).ravel().tolist()
        result = array._run("quantile", wanted, along, operation=operation, parts=("quantile",))
        shape = shares.shape + (ones if keepdims else result.shape[1:])
        with named(operation, "reshape"):
            return result if result.shape == shape else result.reshape(shape)

    def top_k(self, k: int, axis: SupportsIndex | None = -1) -> Self:
        """Return the `k` largest values along an axis, or of all, in rising order.

        This is done in one of the ways that `sort` lists.
        """
        return self._counted(
            "top_k", integer(k, "top_k: k"), None if axis is None else self._axis(axis, "top_k")
        )

    def max_pool(self, size: int) -> Self:
        """Return the largest value of every window of an array with one or two axes.

        Windows have `size` values, or `size` by `size` values in an array of two axes. They lie
        side by side and must fill the array. With tables, a window of ``n`` values takes ``n - 1``
        look-ups.
        """
        return self._counted("max_pool", integer(size, "max_pool: a size"))

    def argmin(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False
    ) -> Self:
        """Return the indices of the smallest values along an axis, or of the smallest of all.

        The index of the smallest of all values counts in row-major order. Round the indices after
        decryption. `precision_bits` states their error. Look-up tables are used, or all pairs are
        compared, as `sort` says. If pairs are compared, the first of several equal values counts.
        Without tables, declare a distance of the values with `Server.at_distance`.

        **With tables**, this takes ``2 * n - 3`` look-ups for ``n`` values. Values that differ by at
        most a 20th of the bound may not be told apart. If several values are that close to the
        smallest, the result is the index of one of them. For 32 values the precision is
        about 5 bits with ``"n15"`` and 4 with ``"n16"``, and one less whenever the number of values
        doubles. With 2 bits, one index in twenty is rounded to its neighbour, and with 1 bit, one
        in three. For more than 16 values, the bits of the index are repacked one by one, at the
        cost of a repacking each.

        More than 256 values are refused. Split them instead: with ``lines = x.reshape(-1, 256)``,
        the results of ``lines.argmin(axis=1)`` and ``lines.min(axis=1).argmin()`` together give the
        index.
        """
        refuse_options("argmin", None, out)
        return self._in_order("argmin", axis, keepdims=keepdims)

    def argmax(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False
    ) -> Self:
        """Return the indices of the largest values; see `argmin`."""
        refuse_options("argmax", None, out)
        return self._in_order("argmax", axis, keepdims=keepdims)

    def _sorted(self, operation: str, axis: SupportsIndex | None, kind: Any, stable: Any) -> Self:
        """Sort. All kinds that numpy knows give the same result here, stable or not."""
        del stable
        if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
            raise ArgumentError(f"{operation}: there is no kind {kind!r} of sorting")
        return self._in_order(operation, axis)

    def _in_order(
        self, operation: str, axis: SupportsIndex | None, *, keepdims: bool = False
    ) -> Self:
        server = self._bound_server(operation)
        along = None if axis is None else self._axis(axis, operation)
        result = server._wrap(server._raw.in_order(operation, self._elements(), along))
        with named(operation, "reshape"):
            return result.reshape(self._shape_with_axis_kept(along)) if keepdims else result

    def _of_axes(self, operation: str, axis: Axes, keepdims: bool) -> Self:
        array, along, ones = self._joined(axis, operation)
        result = array._in_order(operation, along)
        with named(operation, "reshape"):
            return result.reshape(ones) if keepdims else result

    def _joined(self, axis: Axes, operation: str) -> tuple[Self, int | None, tuple[int, ...]]:
        """Join these axes to one.

        Return the array with the joined axis, the index of that axis, and the shape of `self` in
        which each of these axes has length 1. If all axes are joined, the array stays as it is and
        the index is None.
        """
        axes = self._axes(axis, operation)
        ones = tuple(1 if i in axes else n for i, n in enumerate(self.shape))
        if len(axes) == self.ndim:
            return self, None, ones
        if len(axes) == 1:
            return self, axes[0], ones
        others = [i for i in range(self.ndim) if i not in axes]
        lengths = [self.shape[i] for i in others]
        with named(operation, "transpose", "reshape"):
            return self.transpose(*others, *axes).reshape(*lengths, -1), len(lengths), ones

    def _shape_with_axis_kept(self, along: int | None) -> tuple[int, ...]:
        """Return the shape in which this axis, or every axis for None, has length 1."""
        shape = self.shape
        return tuple(1 if along in (None, i) else n for i, n in enumerate(shape))

    def _counted(self, operation: str, count: int, *arguments: int | None) -> Self:
        if count < 1:
            raise ArgumentError(f"{operation}: {count} is less than 1")
        # The extension module refuses counts above the number of values, whatever their size.
        return self._run(operation, min(count, 2**63 - 1), *arguments)


def halved(array: Array, times: int) -> Array:
    """Divide by ``2**times``, exactly.

    Each product divides by at most ``2**12``, since products with smaller numbers are rounded.
    """
    for first in range(0, times, 12):
        array = array * 2.0 ** -min(12, times - first)
    return array


def _domain(domain: _Domain) -> tuple[float, float] | None:
    if domain is None:
        return None
    low, high = pair(domain, "a domain is two numbers, (low, high)")
    return double(low, "an end of a domain"), double(high, "an end of a domain")


def _value(function: Callable[[Any], Any], x: float) -> Any:
    """Return a value of a function, or raise an `ArgumentError` where it is not defined."""
    try:
        return function(x)
    except (ArithmeticError, ValueError) as error:
        raise ArgumentError(
            f"apply: the function raises {type(error).__name__} ({error}) at {x}. Take a domain on which it is defined"
        ) from error


def _application(
    domain: _Domain,
    error: float | None = None,
    breaks: Sequence[float] | None = None,
    gap: float | None = None,
    look_ups: int | None = None,
    precise: bool = False,
) -> _native._Application:
    """Return the options of `NumberArray.apply` for the extension module."""
    if breaks is not None and not isinstance(breaks, (Sequence, np.ndarray)):
        raise TypeError(f"breaks are a list of numbers, not {type(breaks).__name__}")
    if gap is not None and not double(gap, "a gap") > 0:
        raise ArgumentError(f"apply: the gap is {gap}, and it must be above 0")
    return {
        "domain": _domain(domain),
        "error": None if error is None else double(error, "an error"),
        "breaks": None if breaks is None else [double(at, "a break") for at in breaks],
        "gap": None if gap is None else double(gap, "a gap"),
        "look_ups": None if look_ups is None else whole(look_ups, "look_ups", 1, 4),
        "precise": bool(precise),
    }


def _nearest(table: npt.ArrayLike, domain: _Domain) -> Callable[[float], float]:
    """Return a function that gives the nearest entry of a table over the domain.

    The entries are at equal distances.
    """
    entries, ends = real_numbers(table, "apply"), _domain(domain)
    if entries.ndim != 1 or entries.size < 2:
        raise ShapeError(
            f"apply: a table is a sequence of two numbers or more, not shape {entries.shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(entries))
    if wrong.size:
        raise ArgumentError(
            f"apply: entry {wrong[0]} of the table is {entries[wrong[0]]}: finite numbers are looked up"
        )
    if ends is None:
        raise ArgumentError(
            "apply: a table needs the domain of its entries: pass domain=(low, high)"
        )
    low, steps = ends[0], entries.size - 1
    # The extension module refuses an empty domain. Here it must not divide by zero.
    width = ends[1] - low or 1.0
    return lambda x: float(entries[min(max(round((x - low) / width * steps), 0), steps)])


def _other_power(exponent: object) -> float | None:
    """Return an exponent that is no integer from 0 on, or None for all others."""
    if isinstance(exponent, np.ndarray) and not exponent.ndim:
        exponent = exponent.item()
    if not isinstance(exponent, (int, float, np.integer, np.floating, Fraction, Decimal)):
        return None
    if exponent >= 0 and isinstance(exponent, (int, np.integer)):
        return None
    power = float(max(exponent, -(2.0**63)))
    is_other = math.isfinite(power) and (power < 0 or not power.is_integer())
    return power if is_other else None
