"""Encrypted arrays of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.advice import unset
from hippocrene.arrays.arithmetic import (
    FOR_BITS,
    ArithmeticArray,
    check_table,
    columns,
    stacked_entries,
)
from hippocrene.arrays.encrypted import Array, EncryptedArray
from hippocrene.arrays.look_ups import LookUpArray
from hippocrene.arrays.places import Axes
from hippocrene.errors import ArgumentError, MissingKeyError, ParameterError, named
from hippocrene.values.exact import Plain, fractions, is_exact_kind, root
from hippocrene.values.operands import divisors, finite, inverses, is_plain, real_numbers
from hippocrene.values.polynomials import Series, coefficients
from hippocrene.values.scalars import double

if TYPE_CHECKING:
    from typing_extensions import Self


class NumberArray(LookUpArray, holds=("numbers",)):
    """An encrypted array of real or complex numbers, which have a small error.

    `EncryptedArray` describes all kinds of array.
    """

    __slots__ = ()
    _refusals: ClassVar[Mapping[str, str | tuple[type[Exception], str]]] = {
        **ArithmeticArray._refusals,
        **dict.fromkeys(
            ("==", "!="),
            "encrypted numbers are never equal, for they have an error: {name} is not for them, is_close is",
        ),
        "// and %": "encrypted numbers have no // and no %: x.apply(lambda v: v // m, domain=(low, high)), where the "
        "keys have tables",
        "divisor": "divisors are plain: multiply by x.reciprocal(domain=(low, high)) of an encrypted x, which is "
        "looked up where the keys have tables",
    }
    _no_method = FOR_BITS
    _other_powers = (
        "; x.sqrt(domain=(0, high)) and x.reciprocal(domain=(low, high)) are looked up "
        "where the keys have tables"
    )
    _pow_modulus = "numbers have none"

    # Properties

    @property
    def precision_bits(self) -> float:
        """The precision in bits after the binary point, from an estimate of the error.

        It is ``-log2`` of the estimated standard deviation of the error. The largest error among
        thousands of values is four to sixteen times the standard deviation, which is two to four
        bits worse. Comparisons by polynomials (see `sign`) have an additional error that is not
        part of this estimate.

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
        return cast("float", self._unmoved().precision)

    @property
    def bound(self) -> float:
        """An upper bound of all absolute values.

        It is a worst case that follows from the interval declared at encryption.
        """
        return cast("float", self._unmoved().bound)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends ``(low, high)`` of the interval that contains all values.

        It is declared at encryption, and every operation propagates the worst case; see
        `with_interval`. For complex values, it contains both the real and the imaginary parts.
        """
        return cast("tuple[float, float]", self._unmoved().interval)

    @property
    def capacity_bits(self) -> float | None:
        """The number of bits of modulus that are left to compute with.

        A multiplication uses up the bits of the requested `precision`, and about 15 more. It is
        None for an array without a server whose parameters belong to no preset.
        """
        return self._described().capacity_bits

    def _summary(self) -> str:
        # A repr must not move the elements of a lazy view.
        alike = self._unmoved()
        bits = "?" if alike.capacity_bits is None else f"{alike.capacity_bits:.1f}"
        kind = ", complex" if self.is_complex else ""
        return f"{kind}, precision_bits={alike.precision_bits:.1f}, capacity_bits={bits}"

    def with_precision(self, bits: float) -> Self:
        """Return the array with another requested `precision`, in bits after the binary point.

        With a lower precision, every later product uses less of `capacity_bits`. A higher precision
        than the array already has does not reduce its error.
        """
        server = self._bound_server("with_precision")
        return server._wrap(
            server._raw.array_with_precision(self._elements(), double(bits, "a precision"))
        )

    def with_precision_bits(self, bits: float) -> Self:
        """Return the array with a declared `precision_bits`, for users who know its error better.

        The estimate assumes that nothing makes errors smaller. Iterations that correct themselves,
        such as Newton's, do make them smaller. Declare the precision after each step of such an
        iteration. Otherwise the estimated error grows until a bootstrap has no room for it and
        gives it up (see `precision_bits`).

        If the declaration is wrong, all later error estimates are wrong, results may be wrong, and
        `Client.decrypt_for_sharing` hides less. Errors in stray slots, between the elements, may be
        larger than declared. A multiplication then sets these slots to zero.
        """
        server = self._bound_server("with_precision_bits")
        return server._wrap(
            server._raw.with_precision_bits(self._elements(), double(bits, "a precision"))
        )

    def _plain(self, values: npt.ArrayLike, operation: str) -> npt.NDArray[Any]:
        return finite(values, operation)

    # Errors

    def _needs_digits(self, size: float, operation: str) -> bool:
        """Return True if factors rounded to doubles would miss the requested precision.

        `size` is the largest absolute value of the factors.
        """
        return _native.needs_digits(self._bound_server(operation)._raw, self._unmoved(), size)

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
        if not error or math.isnan(self.precision_bits):
            return self
        server = self._bound_server("with_precision_bits")
        bits = -0.5 * float(np.logaddexp2(-2 * self.precision_bits, 2 * math.log2(error)))
        return server._wrap(server._raw.with_precision_bits(self._elements(), bits))

    def _beside(self, other: Self | npt.NDArray[Any]) -> Self:
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

    def __truediv__(self, other: Plain) -> Self:
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
                server = self._bound_server("div")
                return server._wrap(
                    _native.divide(server._raw, self._elements(), cast("float", divisor.item()))
                )
            if self._needs_digits(float(np.max(abs(factors), initial=0.0)), "div"):
                return self._with(1 / fractions(divisor, "div"), "mul")
            return self._with(factors, "mul")

    def _times_matrix(
        self, values: npt.ArrayLike, multiply: Any, *, from_left: bool | None = None
    ) -> Self:
        plain: npt.NDArray[Any] = finite(values, "matmul", rounded=True)
        plain = plain if plain.dtype.kind == "c" else real_numbers(plain, "matmul")
        product = self._times_plain(plain, multiply, from_left=from_left)
        rounded = is_exact_kind(finite(values, "matmul"))
        return self._rounded(product, float(np.linalg.norm(plain))) if rounded else product

    def conj(self) -> Self:
        """Return the complex conjugates.

        Complex values need evaluation keys made with ``conjugation=True``. Real values are their
        own conjugates and are returned unchanged.
        """
        server = self._bound_server("conj")
        return server._wrap(server._raw.conjugate(self._elements()))

    @property
    def real(self) -> Self:
        """The real parts.

        For complex values this uses the conjugate (see `conj`) and one bit of capacity. Real values
        are returned unchanged.
        """
        return self._part(_native.real) if self._held.is_complex else self

    @property
    def imag(self) -> Self:
        """The imaginary parts.

        For complex values this uses the conjugate (see `conj`) and one bit of capacity. The
        imaginary parts of real values are 0.
        """
        return self._part(_native.imag) if self._held.is_complex else self * 0

    def _part(
        self, part: Callable[[_native.Server, _native.EncryptedArray], _native.EncryptedArray]
    ) -> Self:
        server = self._bound_server(part.__name__)
        return server._wrap(part(server._raw, self._elements()))

    def _times_i(self) -> Self:
        return self._part(_native.times_i)

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
        server = self._bound_server("polynomial")
        with named("polynomial", "evaluate a polynomial"):
            series, interval, error = coefficients(polynomial, self.interval)
            result = server._wrap(server._raw.polynomial(self._elements(), series, interval))
            return result._off_by(error)

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
        keys, capacity is restored on the way.

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
        server = self._bound_server("entries_of")
        with named("entries_of", "entries of a table", "evaluate a polynomial"):
            found = [server._raw.entries(self._elements(), one, bits) for one in columns(entries)]
        return stacked_entries([server._wrap(one) for one in found], entries)

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
        unset("mean", dtype, out)
        if (mask := self._mask(where, "mean")) is not None:
            if not mask.any(axis=tuple(self._axes(axis, "mean"))).all():
                raise ArgumentError(
                    "mean: there are means of no values, where the mask leaves none"
                )
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
        # Every element meets its mean, so that a lazy view is moved first, and only once.
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
        means = _native.broadcast_like(server._raw, total._elements(), array._elements(), factor)
        deviations: Any = array * factors[0] - halved(server._wrap(means), halvings)
        declared = _native.as_deviations(
            server._raw, deviations._elements(), abs(float(gain)) * array.bound
        )
        return server._wrap(declared), halvings

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
        unset("var", dtype, out, mean=mean, correction=correction, where=where)
        variance = self._squared_deviations(axis, ddof, keepdims=keepdims).real
        view = self._view
        count = math.prod(self.shape[index] for index in self._axes(axis, "var"))
        if view is not None and view.weights is not None:
            return variance
        values = self._elements() if view is None else view.source
        factor = count / (count - float(ddof))
        server = self._bound_server("var")
        return server._wrap(_native.as_variances(server._raw, variance._elements(), values, factor))

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
        unset("std", dtype, out, mean=mean, correction=correction, where=where)
        with named("std", "var"):
            variance = self.var(axis, ddof=ddof, keepdims=keepdims)
        try:
            with named("std", "sqrt"):
                return variance.sqrt()
        except (ArgumentError, MissingKeyError) as error:
            raise type(error)(
                f"{error}; var needs none of this: decrypt the variance, and take its root"
            ) from None


def halved(array: Array, times: int) -> Array:
    """Divide by ``2**times``, exactly.

    Each product divides by at most ``2**12``, since products with smaller numbers are rounded.
    """
    for first in range(0, times, 12):
        array = array * 2.0 ** -min(12, times - first)
    return array
