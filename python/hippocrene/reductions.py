"""Sums, products and what is made of them, along axes of encrypted arrays."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.encrypted import Encrypted, part_of_arrays
from hippocrene.errors import ArgumentError, MissingKeyError, ParameterError, ShapeError, named
from hippocrene.exact import fractions, is_exact_kind, root
from hippocrene.scalars import double, integer
from hippocrene.ufuncs import unset
from hippocrene.values import numbers, to_array

if TYPE_CHECKING:
    from hippocrene.array import EncryptedArray


@part_of_arrays
class Reductions(Encrypted):
    """What arrays have of numpy's sums along axes."""

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
        """Sum over one axis, over several, or over all of them; with `keepdims` they stay, with length 1.

        A plain mask says `where` values are summed, in one multiplication, and `initial` is added.
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
        """Average over one axis, over several, or over all of them; with `keepdims` they stay, with length 1.

        A plain mask says `where` values are averaged.
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
        """Return windows over the number of elements along these axes, times a power of two, and that power.

        Their sum is one of products with 1 where nothing is said, so that others take no more. They
        are not below 1, for what products are off by does not become smaller with them. None for
        what are no windows: sums of other elements leave some between them, and a product after
        that takes these away.
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
        """Return deviations from means and a number ``k``; sums of their squares over ``2**k`` are variances.

        They are about as large as the values themselves, so that rounding weighs no more than in
        any other product, and the division by a power of two, which comes last, is exact. The sum
        is repeated before it is divided: what that adds to its error becomes smaller with it.
        """
        if self.plain_modulus is not None:
            raise TypeError(
                "encrypted integers have no variance: take sums of them and of their squares"
            )
        # Moved before they are summed, for all of them meet their sums.
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
        """Return the variance over one axis, over several, or over all of them, in two multiplications.

        Complex values are multiplied by their conjugates, and the variance is real.
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
        """Return the variance as it comes of a product: of complex values, with an imaginary part that is noise."""
        if (variance := self._variance_of_windows(axis, ddof, keepdims=keepdims)) is not None:
            return variance
        deviations, halvings = self._centred(axis, ddof)
        squares = deviations * (deviations.conj() if self._held.is_complex else deviations)
        return halved(squares.sum(axis, keepdims=keepdims), halvings)

    def _finer(self, count: int) -> EncryptedArray:
        """Return the array such that so many roundings of products with it, added up, are about as large as one was."""
        array = cast("EncryptedArray", self)
        try:
            return array.with_precision(array.precision + 0.5 * math.log2(count))
        except ParameterError:
            return array

    def _variance_of_windows(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None, ddof: float, *, keepdims: bool
    ) -> EncryptedArray | None:
        """Return the mean of squares less the square of the mean, both of which take no moves; None of others.

        Windows less their means would have to stand one by one.
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
        """Return the standard deviation: the square root of the variance, by `sqrt`.

        The error is a share of the largest deviation that values in the interval of the array can
        have, half of its width: about a 10000th where there is capacity for a polynomial of degree
        2047, as for fresh arrays on ``"n15"``. The tighter the interval, the better: subtract what
        is common to all columns, scale columns to similar deviations, and declare the interval.
        With too little capacity for a polynomial it takes keys with tables.
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
        """Multiply the ``n`` values along one axis, several, or all, in ``ceil(log2(n))`` multiplications for each.

        A plain mask says `where` values are multiplied, in one multiplication more, and the product
        times `initial`.
        """
        unset("prod", dtype, out)
        if initial is not None:
            _check_initial("prod", initial)
            return cast("EncryptedArray", self.prod(axis, keepdims=keepdims, where=where) * initial)
        array = cast("EncryptedArray", self)
        # Bits are refused before anything is computed.
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
        """Return sums of all values up to each, along one axis or of all in row-major order, in one multiplication."""
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
        """Sum a diagonal, as `numpy.trace` does."""
        unset("trace", dtype, out)
        with named("trace", "diagonal", "sum"):
            return cast("EncryptedArray", self).diagonal(offset, axis1, axis2).sum(-1)

    def _mask(self, where: npt.ArrayLike, operation: str) -> npt.NDArray[np.bool_] | None:
        """Return where a mask is true, as long along each axis as this array; None where it is everywhere."""
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
        """Return the axes that are meant, in ascending order."""
        # numpy sums and multiplies a single value along an axis that it has not, and does nothing
        # else so.
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
        """Tell whether there are no axes, and this is the one that numpy takes all the same."""
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
    """Divide by ``2**times``, exactly: by at most ``2**12`` at once, as products with larger ones are rounded."""
    for first in range(0, times, 12):
        array = array * 2.0 ** -min(12, times - first)
    return array


def part_of(array: EncryptedArray, axis: int, part: slice) -> EncryptedArray:
    """Return a slice along one axis."""
    return array[(slice(None),) * axis + (part,)]


def weighted_mean(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """Average with plain weights, as `numpy.average` does."""
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
            # Products with one vector, whose bound is that of the sum of its numbers.
            means = a @ rows[0] if last else rows[0] @ a
            return np.expand_dims(means, axes) if keepdims else means
    return (a * shares).sum(axis, keepdims=keepdims)
