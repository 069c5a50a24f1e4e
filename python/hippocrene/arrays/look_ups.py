"""Functions of encrypted numbers by look-up tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.advice import unset
from hippocrene.arrays.arithmetic import check_function
from hippocrene.arrays.comparisons import ComparableArray
from hippocrene.arrays.places import Axes
from hippocrene.errors import DIFFERENCE, ArgumentError, ShapeError, named
from hippocrene.values.operands import real_numbers
from hippocrene.values.scalars import double, integer, whole

if TYPE_CHECKING:
    _Domain: TypeAlias = tuple[float, float] | None
    from typing_extensions import Self

    from hippocrene.arrays.encrypted import _Operand


class LookUpArray(ComparableArray):
    """The methods that use look-up tables.

    They need keys made with ``tables=True``, except where a method says otherwise.
    """

    __slots__ = ()

    def apply(
        self,
        function: Callable[[Any], Any] | npt.ArrayLike,
        *,
        domain: _Domain = None,
        look_ups: int | None = None,
        precise: bool = False,
    ) -> Self:
        """Apply any function, or take the entry of a table, for every value.

        This uses look-up tables. `function` takes and returns one number. It is
        evaluated on the `domain` ``(low, high)``, which must contain the interval of the array. By
        default, the domain is that interval (see `with_interval`).

        The error is about as large as if each value were wrong by a 500th of the width of the
        domain. It is smaller for smooth functions, and for smaller domains. `precision_bits` states
        the error at the point of the domain where it is largest. Beside a jump, that is about the
        height of the jump. If you know that the values stay away from that point, declare the
        precision with `with_precision_bits`.

        `look_ups`, from 1 to 4, is the largest number of look-ups for each value. The default is 3,
        and fewer are made if more do not help. For a function with jumps, such as rounding, use one
        look-up. Additional tables add part of the error beside a jump to values that lie a half, a
        quarter, an eighth and so on of the domain away from it, where the function may be flat. If
        the interval of the array is a single value, as for ``x * 0``, the result is exact and
        nothing is looked up.

        With `precise`, this uses two tables, and one of them holds the slopes of the function. The
        error is then about half the second derivative times the square of the error of a value. For
        smooth functions, this is a tenth of the usual error or less. Functions with jumps gain
        nothing. This also needs a product. The result has 28 bits of capacity less than
        `LookUps.capacity`, whose default leaves only a few, and at most the capacity of the array.

        `function` can also be a table: a sequence whose entries are at equal distances from ``low``
        to ``high`` of the `domain`, which is then required. A value between two entries gives the
        nearest one. The default is then one look-up, so that the error at the entries is small, for
        up to about 50 entries with ``"lut12"``. `precision_bits` states the error half-way between
        two entries, where it is largest. For more entries, such as samples of a smooth function,
        more look-ups may be better.
        """
        check_function(function)
        server = self._bound_server("apply")
        # A table of entries has jumps. Each additional look-up adds part of the error beside a
        # jump to values a half, a quarter and so on of the domain away from it.
        usual = 3 if callable(function) else 1
        count = usual if look_ups is None else whole(look_ups, "look_ups", 1, 4)
        of_one = function if callable(function) else _nearest(function, domain)
        with named("apply", "apply a function"):
            return server._wrap(
                server._raw.apply(
                    self._elements(), _checked(of_one), _domain(domain), count, bool(precise)
                )
            )

    def _named(self, name: str, domain: _Domain, precise: bool) -> Self:
        server = self._bound_server(name)
        with named(name, "apply a function"):
            return server._wrap(
                server._raw.apply_function(
                    self._elements(), name, _domain(domain), 3, bool(precise)
                )
            )

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

    def reciprocal(self, *, domain: tuple[float, float], precise: bool = False) -> Self:
        """Return ``1 / x`` of every value, for a domain on one side of 0.

        This evaluates a polynomial or uses look-up tables, as `sqrt` does. If neither has an error
        far below the largest result, it is refused.
        """
        return self._named("reciprocal", domain, precise)

    def log(self, *, domain: tuple[float, float], precise: bool = False) -> Self:
        """Return the natural logarithms, for a domain above 0.

        This evaluates a polynomial or uses look-up tables, as `sqrt` does.
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
        server = difference._bound_server("is_close")
        within = double(tolerance, "a tolerance")
        if within > difference.bound:
            return (difference - difference + 1).with_bound(1)
        with named("is_close", "apply a function", "compare with 0"):
            return server._wrap(server._raw.near_zero(difference._elements(), within))

    def sort(self, axis: SupportsIndex | None = -1, *, kind: str | None = None) -> Self:
        """Return the values in rising order along an axis, or all values if `axis` is None.

        With None, the result has one axis. Sorting takes 63 look-ups for 16 values, and about
        ``n * log2(n)**2 / 4`` for ``n`` values, whatever numpy's `kind` says. The standard
        deviation of the error of a value is at most a 40th of the bound.
        """
        _check_kind("sort", kind)
        return self._in_order("sort", axis)

    def max(self, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Self:
        """Return the largest values along one or several axes, or of all values.

        This takes ``n - 1`` look-ups to find the largest of ``n`` values.
        """
        unset("max", None, out)
        return self._of_axes("max", axis, keepdims)

    def min(self, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Self:
        """Return the smallest values along one or several axes, or of all values.

        This takes ``n - 1`` look-ups to find the smallest of ``n`` values.
        """
        unset("min", None, out)
        return self._of_axes("min", axis, keepdims)

    def argsort(self, axis: SupportsIndex | None = -1, *, kind: str | None = None) -> Self:
        """Return the indices that sort the values along an axis, or all values if `axis` is None.

        This takes ``n * (3 * n - 1) / 2`` look-ups for ``n`` values, if ``n`` is at least 2. Round
        the indices after decryption. `precision_bits` states their error, which grows with the number
        of values.

        Every index appears exactly once. Two values that differ by more than a gap are in order.
        Closer and equal values may be in either order, whatever `kind` says. The gap is seven
        standard deviations of the error in the difference of two values in look-ups. On ``"n15"``
        it is about a 340th of the `bound` of the array with the tables ``"lut12"``, a 260th with
        ``"lut11"`` and a 360th with ``"lut13"``. The errors of the values come on top.

        The number of values in a line is limited, since the tables must tell their ranks apart: to
        44 with ``"lut11"``, 82 with ``"lut12"`` and 109 with ``"lut13"``. More are refused.
        """
        _check_kind("argsort", kind)
        return self._in_order("argsort", axis)

    def median(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Return the medians along one or several axes, or of all values, as `quantile` of 0.5."""
        return self._of_axes("median", axis, keepdims)

    def quantile(
        self, q: npt.ArrayLike, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
    ) -> Self:
        """Return the quantiles `q`, from 0 to 1, along one or several axes, or of all values.

        `q` is a number or an array of plain numbers, which the server can see. As in numpy, the
        axes of `q` come first in the result.

        The values are sorted once for all quantiles (see `sort`). A quantile between two values is
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
        whole: float,
        axis: Axes,
        method: str,
        keepdims: bool,
    ) -> Self:
        if method != "linear":
            raise ArgumentError(
                f"{operation}: method is {method!r}: encrypted values have the linear one"
            )
        shares = real_numbers(q, operation)
        wrong = shares[~((shares >= 0) & (shares <= whole))]
        if not shares.size or wrong.size:
            have = wrong.flat[0] if wrong.size else "nothing"
            raise ArgumentError(
                f"{operation}: q holds {have}: numbers from 0 to {whole:g} are possible"
            )
        array, along, ones = self._joined(axis, operation)
        server = array._bound_server(operation)
        with named(operation, "quantile"):
            result = server._wrap(
                _native.quantile(
                    server._raw, array._elements(), (shares / whole).ravel().tolist(), along
                )
            )
        shape = shares.shape + (ones if keepdims else result.shape[1:])
        with named(operation, "reshape"):
            return result if result.shape == shape else result.reshape(shape)

    def top_k(self, k: int, axis: SupportsIndex | None = -1) -> Self:
        """Return the `k` largest values along an axis, or of all, in rising order.

        All values are sorted for this (see `sort`).
        """
        return self._counted(
            "top_k", integer(k, "top_k: k"), None if axis is None else self._axis(axis, "top_k")
        )

    def max_pool(self, size: int) -> Self:
        """Return the largest value of every window of an array with one or two axes.

        Windows have `size` values, or `size` by `size` values in an array of two axes. They lie
        side by side and must fill the array. A window of ``n`` values takes ``n - 1`` look-ups.
        """
        return self._counted("max_pool", integer(size, "max_pool: a size"))

    def argmin(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False
    ) -> Self:
        """Return the indices of the smallest values along an axis, or of the smallest of all.

        The index of the smallest of all values counts in row-major order. This takes ``2 * n - 3``
        look-ups for ``n`` values. Values that differ by at most a 20th of the bound may not be told
        apart. If several values are that close to the smallest, the result is the index of one of
        them.

        Round the indices after decryption. `precision_bits` states their error. For 32 values it is
        about 5 bits with ``"n15"`` and 4 with ``"n16"``, and one less whenever the number of values
        doubles. With 2 bits, one index in twenty is rounded to its neighbour, and with 1 bit, one
        in three. For more than 16 values, the bits of the index are repacked one by one, at the
        cost of a repacking each.

        More than 256 values are refused. Split them instead: with ``lines = x.reshape(-1, 256)``,
        the results of ``lines.argmin(axis=1)`` and ``lines.min(axis=1).argmin()`` together give the
        index.
        """
        unset("argmin", None, out)
        return self._in_order("argmin", axis, keepdims=keepdims)

    def argmax(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False
    ) -> Self:
        """Return the indices of the largest values; see `argmin`."""
        unset("argmax", None, out)
        return self._in_order("argmax", axis, keepdims=keepdims)

    def _in_order(
        self, operation: str, axis: SupportsIndex | None, *, keepdims: bool = False
    ) -> Self:
        server = self._bound_server(operation)
        along = None if axis is None else self._axis(axis, operation)
        result = server._wrap(server._raw.in_order(operation, self._elements(), along))
        with named(operation, "reshape"):
            return result.reshape(self._kept(along)) if keepdims else result

    def _of_axes(self, operation: str, axis: Axes, keepdims: bool) -> Self:
        array, along, ones = self._joined(axis, operation)
        result = array._in_order(operation, along)
        with named(operation, "reshape"):
            return result.reshape(ones) if keepdims else result

    def _joined(self, axis: Axes, operation: str) -> tuple[Self, int | None, tuple[int, ...]]:
        """Return the self with these axes joined to one, that axis, and the shape that keeps them.

        The axis is None if all axes are joined.
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

    def _kept(self, along: int | None) -> tuple[int, ...]:
        """Return the shape in which this axis, or every axis for None, has length 1."""
        shape = self.shape
        return tuple(1 if along in (None, i) else n for i, n in enumerate(shape))

    def _counted(self, operation: str, count: int, *arguments: int | None) -> Self:
        server = self._bound_server(operation)
        if count < 1:
            raise ArgumentError(f"{operation}: {count}, where 1 is the least that makes sense")
        # The extension module refuses counts above the number of values, whatever their size.
        return server._wrap(
            getattr(server._raw, operation)(self._elements(), min(count, 2**63 - 1), *arguments)
        )


def _checked(function: Callable[[float], Any]) -> Callable[[float], float]:
    return lambda x: double(function(x), "what the function returned")


def _domain(domain: _Domain) -> tuple[float, float] | None:
    if domain is None:
        return None
    several = isinstance(domain, (tuple, list)) or (isinstance(domain, np.ndarray) and domain.ndim)
    if not several or len(domain) != 2:
        raise TypeError(f"a domain is two numbers, (low, high), not {domain!r}")
    return double(domain[0], "an end of a domain"), double(domain[1], "an end of a domain")


def _check_kind(operation: str, kind: str | None) -> None:
    """Refuse unknown kinds of sorting. All kinds that numpy knows give the same result here."""
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise ArgumentError(f"{operation}: there is no kind {kind!r} of sorting")


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
            "apply: the entries of a table are for numbers of a domain: say domain=(low, high)"
        )
    low, steps = ends[0], entries.size - 1
    # The extension module refuses an empty domain. Here it must not divide by zero.
    width = ends[1] - low or 1.0
    return lambda x: float(entries[min(max(round((x - low) / width * steps), 0), steps)])
