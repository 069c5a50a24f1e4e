"""Sums, products, means and variances along axes of encrypted arrays."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.encrypted import Encrypted, part_of_arrays
from hippocrene.errors import ArgumentError, MissingKeyError, ParameterError, ShapeError, named
from hippocrene.numpy.ufuncs import unset
from hippocrene.values.exact import fractions, is_exact_kind, root
from hippocrene.values.operands import numbers, to_array
from hippocrene.values.scalars import double, integer

if TYPE_CHECKING:
    from hippocrene.arrays.array import EncryptedArray


@part_of_arrays
class Reductions(Encrypted):
    """The methods of encrypted arrays that reduce axes, as in numpy."""

    __slots__ = ()

    def sum(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: npt.ArrayLike = True,
    ) -> EncryptedArray:
        """Return the sum over one axis, several axes or all of them.

        With `keepdims`, summed axes stay with length 1. `where` is a plain mask that selects the
        values to sum, which takes one multiplication. `initial` is added to the sum.
        """
        unset("sum", dtype, out)
        if initial is not None:
            _check_initial("sum", initial)
            return cast("EncryptedArray", self.sum(axis, keepdims=keepdims, where=where) + initial)
        server = self._bound_server("sum")
        if (mask := self._mask(where, "sum")) is not None:
            with named("sum", "mul", "multiply by plain numbers"):
                return (cast("EncryptedArray", self) * mask.astype(np.int64)).sum(
                    axis, keepdims=keepdims
                )
        axes = self._axes(axis, "sum")
        picked = self._picked
        raw = picked.summed(server._for_now, axes) if picked is not None and axes else None
        if raw is None:
            raw = self._raw
            for along in [None] if len(axes) == self.ndim else axes[::-1]:
                raw = server._raw.sum(raw, along)
        for index in axes if keepdims else []:
            raw = server._raw.insert_axis(raw, index)
        return server._wrap(raw)

    def mean(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        where: npt.ArrayLike = True,
    ) -> EncryptedArray:
        """Return the mean over one axis, several axes or all of them.

        With `keepdims`, these axes stay with length 1. `where` is a plain mask that selects the
        values to average. Encrypted integers have no mean.
        """
        unset("mean", dtype, out)
        if self.plain_modulus is not None:
            raise TypeError(
                "encrypted integers have no mean: take the sum, and divide what is decrypted"
            )
        if (mask := self._mask(where, "mean")) is not None:
            if not mask.any(axis=tuple(self._axes(axis, "mean"))).all():
                raise ArgumentError(
                    "mean: there are means of no values, where the mask leaves none"
                )
            with named("mean", "average"):
                return cast(
                    "EncryptedArray",
                    weighted_mean(self, axis, mask.astype(np.int64), keepdims=keepdims),
                )
        with named("mean", "sum", "divide by a number"):
            if (shares := self._shares(self._axes(axis, "mean"))) is not None:
                total, count = shares[0].sum(axis, keepdims=keepdims), shares[1]
                return total / count
            total = self.sum(axis, keepdims=keepdims)
            return total / (self.size // total.size)

    def _shares(self, axes: list[int]) -> tuple[EncryptedArray, int] | None:
        """Return lazy windows scaled by a power of two over their size, and that power.

        The sum of the scaled windows, divided by the power of two, is their mean. The scaling is a
        factor of the products that sums of windows take anyway, so that it takes no further
        product. The factor is at least 1, since the error of a product does not shrink with a
        smaller factor. This returns None for arrays that are not windows. Sums of other elements
        leave stray slots, which a product after the sum sets to zero.
        """
        if (picked := self._picked) is None or not picked.windows or not axes:
            return None
        count = math.prod(self.shape[index] for index in axes)
        power = 1 << (count - 1).bit_length()
        server = self._bound_server("mean")
        if power == count or self._needs_digits(power / count, "mean"):
            return None
        products = picked.times(
            server._for_now, np.full((1,) * self.ndim, power / count), self.shape
        )
        return None if products is None else (server._wrap(products), power)

    def _centred(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None, ddof: float
    ) -> tuple[EncryptedArray, int]:
        """Return deviations from means and a number ``k``.

        The sums of their squares over ``2**k`` are the variances. The deviations are scaled to be
        about as large as the values, so that rounding counts no more than in any other product. The
        division by a power of two comes last and is exact. The sum is repeated along the axes
        before it is divided, so that the division also reduces the error of repeating it.
        """
        if self.plain_modulus is not None:
            raise TypeError(
                "encrypted integers have no variance: take sums of them and of their squares"
            )
        # Every element meets its mean, so that a lazy view is moved first, and only once.
        server = self._bound_server("var")
        array = server._wrap(self._raw)
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
        means = _native.broadcast_like(server._raw, total._raw, array._raw, factor)
        deviations: Any = array * factors[0] - halved(server._wrap(means), halvings)
        declared = _native.as_deviations(
            server._raw, deviations._raw, abs(float(gain)) * array.bound
        )
        return server._wrap(declared), halvings

    def var(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: None = None,
        out: None = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        mean: None = None,
        correction: None = None,
        where: None = None,
    ) -> EncryptedArray:
        """Return the variance over one axis, several axes or all of them.

        This takes two multiplications one after the other. Complex values are multiplied by their
        conjugates, and their variance is real.
        """
        unset("var", dtype, out, mean=mean, correction=correction, where=where)
        variance = self._squared_deviations(axis, ddof, keepdims=keepdims).real
        picked, count = (
            self._picked,
            math.prod(self.shape[index] for index in self._axes(axis, "var")),
        )
        if picked is not None and picked.weights is not None:
            return variance
        values, factor = (
            (self._raw if picked is None else picked.source),
            count / (count - float(ddof)),
        )
        server = self._bound_server("var")
        return server._wrap(_native.as_variances(server._raw, variance._raw, values, factor))

    def _squared_deviations(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
        ddof: float,
        *,
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return the variance before its imaginary part is removed.

        For complex values, the imaginary part is noise.
        """
        if (variance := self._variance_of_windows(axis, ddof, keepdims=keepdims)) is not None:
            return variance
        deviations, halvings = self._centred(axis, ddof)
        squares = deviations * (deviations.conj() if self._held.is_complex else deviations)
        return halved(squares.sum(axis, keepdims=keepdims), halvings)

    def _finer(self, count: int) -> EncryptedArray:
        """Return the array with more requested precision, for a sum of `count` products.

        The rounding errors of the sum are then about as large as that of one product was.
        """
        array = cast("EncryptedArray", self)
        try:
            return array.with_precision(array.precision + 0.5 * math.log2(count))
        except ParameterError:
            return array

    def _variance_of_windows(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None, ddof: float, *, keepdims: bool
    ) -> EncryptedArray | None:
        """Return the variance of windows as the mean of squares minus the square of the mean.

        Neither mean moves elements, which deviations of windows from their means would. This
        returns None for arrays that are not windows.
        """
        picked = self._picked
        if picked is None or not picked.is_alike(picked) or picked.is_complex:
            return None
        axes = self._axes(axis, "var")
        count = math.prod(self.shape[index] for index in axes)
        rest = count - double(ddof, "ddof")
        if not rest > 0 or self.plain_modulus is not None or self._needs_digits(1.0, "var"):
            return None
        ones: Any = np.ones((1,) * self.ndim)
        x = cast("EncryptedArray", self)
        squares = (x * x * (ones / rest)).sum(axis, keepdims=keepdims)
        mean = (x * (ones / math.sqrt(count * rest))).sum(axis, keepdims=keepdims)
        return cast("EncryptedArray", squares - mean * mean)

    def std(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: None = None,
        out: None = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        mean: None = None,
        correction: None = None,
        where: None = None,
    ) -> EncryptedArray:
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
                f"{error}; the variance is had without: take the root of what is decrypted"
            ) from None

    def prod(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: npt.ArrayLike = True,
    ) -> EncryptedArray:
        """Return the product over one axis, several axes or all of them.

        For ``n`` values, this takes ``ceil(log2(n))`` multiplications one after the other along
        each axis. `where` is a plain mask that selects the values to multiply, which takes one
        more. The product is multiplied by `initial`.
        """
        unset("prod", dtype, out)
        if initial is not None:
            _check_initial("prod", initial)
            return cast("EncryptedArray", self.prod(axis, keepdims=keepdims, where=where) * initial)
        array = cast("EncryptedArray", self)
        self._bound_server("prod")
        if (mask := self._mask(where, "prod")) is not None:
            with named("prod", "where"):
                array = cast("EncryptedArray", np.where(mask, cast("Any", self), 1))
        axes = self._axes(axis, "prod")
        with named("prod", "multiply", "indexing", "reshape"):
            for one in axes:
                left_over: EncryptedArray | None = None
                while array.shape[one] > 1:
                    half, odd = divmod(array.shape[one], 2)
                    if odd:
                        last = part_of(array, one, slice(2 * half, None))
                        left_over = last if left_over is None else left_over * last
                    array = part_of(array, one, slice(half)) * part_of(
                        array, one, slice(half, 2 * half)
                    )
                array = array if left_over is None else array * left_over
            kept = tuple(1 if i in axes else n for i, n in enumerate(self.shape))
            return array.reshape(
                kept if keepdims else tuple(n for i, n in enumerate(self.shape) if i not in axes)
            )

    def cumsum(
        self, axis: SupportsIndex | None = None, dtype: None = None, out: None = None
    ) -> EncryptedArray:
        """Return the cumulative sums along an axis, or of all values in row-major order.

        This takes one multiplication.
        """
        unset("cumsum", dtype, out)
        array = cast("EncryptedArray", self)
        if axis is None or self._is_of_one_value(axis, "cumsum"):
            return array.ravel().cumsum(0)
        index, server = self._axis(axis, "cumsum"), self._bound_server("cumsum")
        return server._wrap(_native.cumsum(server._raw, self._raw, index))

    def trace(
        self,
        offset: SupportsIndex = 0,
        axis1: SupportsIndex = 0,
        axis2: SupportsIndex = 1,
        dtype: None = None,
        out: None = None,
    ) -> EncryptedArray:
        """Return the sum of a diagonal, as `numpy.trace` does."""
        unset("trace", dtype, out)
        with named("trace", "diagonal", "sum"):
            return cast("EncryptedArray", self).diagonal(offset, axis1, axis2).sum(-1)

    def _mask(self, where: npt.ArrayLike, operation: str) -> npt.NDArray[np.bool_] | None:
        """Return a mask of this array's shape, or None if it is true everywhere."""
        if where is True:
            return None
        if isinstance(where, Encrypted):
            raise TypeError(f"{operation}: the mask is plain; of an encrypted one multiply by it")
        mask = to_array(where, operation)
        if mask.dtype != np.bool_:
            raise TypeError(f"{operation}: where= takes booleans, not values of type {mask.dtype}")
        try:
            mask = np.broadcast_to(mask, self.shape)
        except ValueError:
            what = f"a mask of shape {mask.shape} does not broadcast to {self.shape}"
            raise ShapeError(f"{operation}: {what}") from None
        return None if mask.all() else mask

    def _axes(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None, operation: str
    ) -> list[int]:
        """Return the axes as indices in ascending order."""
        # numpy sums and multiplies an array without axes along the axes 0 and -1 too. Its other
        # operations do not.
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


def _index(axis: object, operation: str) -> int:
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError(f"{operation}: an axis is an integer, not {type(axis).__name__}")
    return integer(axis, f"{operation}: an axis")


def _check_initial(operation: str, initial: object) -> None:
    shape = np.shape(cast("Any", initial))
    if shape:
        raise ShapeError(f"{operation}: initial= is one number, not an array of shape {shape}")


def halved(array: EncryptedArray, times: int) -> EncryptedArray:
    """Divide by ``2**times``, exactly.

    Each product divides by at most ``2**12``, since products with smaller numbers are rounded.
    """
    for first in range(0, times, 12):
        array = array * 2.0 ** -min(12, times - first)
    return array


def part_of(array: EncryptedArray, axis: int, part: slice) -> EncryptedArray:
    """Return a slice along one axis."""
    return array[(slice(None),) * axis + (part,)]


def weighted_mean(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """Return the average with plain weights, as `numpy.average` does."""
    if weights is None or a.plain_modulus is not None:
        with named("average", "mean"):
            return a.mean(axis, keepdims=keepdims)
    if np.iscomplexobj(weights):
        raise TypeError("average takes real weights, not complex ones")
    given: Any = numbers(weights, "average")
    given = fractions(given, "average") if is_exact_kind(given) else given
    plain = given.astype(np.float64)
    if plain.shape != a.shape:
        if (
            plain.ndim != 1
            or axis is None
            or isinstance(axis, tuple)
            or plain.size != a.shape[a._axis(axis, "average")]
        ):
            raise ShapeError(
                f"average: weights of shape {plain.shape} for axis {axis} of shape {a.shape}"
            )
        given = given.reshape((-1,) + (1,) * (a.ndim - 1 - a._axis(axis, "average")))
    plain, axes = (
        np.broadcast_to(given.astype(np.float64), a.shape),
        tuple(a._axes(axis, "average")),
    )
    total: Any = plain.sum(axis=axes, keepdims=True)
    shares: Any = plain / total if np.all(total) else None
    if shares is None or a._needs_digits(np.max(abs(shares)), "average"):
        exactly = np.broadcast_to(fractions(given, "average"), a.shape)
        total = exactly.sum(axis=axes, keepdims=True)
        if not np.all(total):
            raise ZeroDivisionError("average: weights sum to zero")
        shares = exactly / total
    last = axes == (a.ndim - 1,)
    if (last or (a.ndim, axes) == (2, (0,))) and shares.dtype == np.float64:
        rows = np.moveaxis(shares, axes[0], -1).reshape(-1, a.shape[axes[0]])
        if np.all(rows == rows[0]):
            # A product with one vector has a tighter bound than a product followed by a sum, namely
            # that of the sum of the weights.
            means = a @ rows[0] if last else rows[0] @ a
            return np.expand_dims(means, axes) if keepdims else means
    return (a * shares).sum(axis, keepdims=keepdims)
