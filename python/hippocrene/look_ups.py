"""Functions by look-up tables, and which keys they take."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from hippocrene import _native
from hippocrene.encrypted import part_of_arrays
from hippocrene.errors import DIFFERENCE, ArgumentError, ShapeError, named
from hippocrene.integers import integers
from hippocrene.scalars import double, integer, whole
from hippocrene.ufuncs import unset
from hippocrene.values import is_plain, real_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from hippocrene.array import EncryptedArray

# Functions of all integers are for plain moduli up to this: a polynomial of that degree has as many
# coefficients.
LARGEST_TABLE = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUps:
    """What a server is to be able to look up: see `Client.evaluation_keys`.

    - `tables`: ``"lut11"``, ``"lut12"`` (where nothing is said) or ``"lut13"``; each step up halves
      the errors and takes more than twice as long. Others are a `ParameterError` where keys are
      made.
    - `capacity`: the capacity of results in bits, where they are of values up to 1. Where nothing
      is said it is 30, for about one product; with bootstrapping too, and a preset that has room
      for it (from ``"n16s"`` on), more than a bootstrap takes, so that results can be bootstrapped.
      On ``"n15"`` it takes ``LookUps(capacity=73)`` for that, and is not enough for all functions
      and bounds.
    """

    tables: str = "lut12"
    capacity: float | None = None

    def _raw(self) -> tuple[str, float | None]:
        return str(self.tables), None if self.capacity is None else double(
            self.capacity, "a capacity"
        )


def wanted_tables(tables: bool | str | LookUps) -> tuple[str, float | None] | None:
    """Say it to the extension module; None for no tables."""
    if isinstance(tables, str):
        tables = LookUps(tables=tables)
    if isinstance(tables, LookUps):
        return tables._raw()
    if not isinstance(tables, bool):
        raise TypeError(f"tables is True, False, a name or LookUps, not {type(tables).__name__}")
    return LookUps()._raw() if tables else None


@part_of_arrays
class TableFunctions:
    """What encrypted arrays do by look-up tables: keys made with ``tables=True`` are needed."""

    __slots__ = ()

    def apply(
        self,
        function: Callable[[Any], Any] | npt.ArrayLike,
        *,
        domain: tuple[float, float] | None = None,
        look_ups: int | None = None,
        precise: bool = False,
    ) -> EncryptedArray:
        """Return any function, or the entry of a table, of every value.

        For numbers, this uses look-up tables. `function` takes and returns one number. It is asked
        for its values on the `domain` ``(low, high)``, which has to hold the interval of the array:
        from ``-bound`` to ``bound``, or what is known or declared of it (`with_interval`). That
        interval is the default. The smaller the domain, the smaller the error, which is about that
        of a value that is off by a 500th of its width, and less for smooth functions.
        `precision_bits` states it for the value of the domain where it is largest: beside a jump it
        is about the height of the jump. If the values are known to be elsewhere,
        `with_precision_bits` declares what is known. Up to `look_ups` tables are looked up for a
        value, 1 to 4 (the default is 3), as many as pay. A function with jumps, such as one that
        rounds, is best looked up once: more tables have a part of the error beside a jump where
        values lie half of the domain away from it, a quarter and so on, and the function may be
        flat there. If the interval of the array is one value, as of ``x * 0``, the result is exact
        and nothing is looked up.

        Where `precise`, two tables are, one of which has the slopes of the function, and the error
        is about half the second derivative times the square of what it was: for smooth functions a
        tenth or less. It is a product too, so that the result has 28 bits less of
        `LookUps.capacity`, of which the default leaves a few, and no more than the array. Functions
        with jumps gain nothing.

        Of integers it is exact: a polynomial through all values. `function` is called with the
        array of all integers modulo `plain_modulus` (of Python's, which do not overflow), or, where
        it raises or returns one value for all of that, with one after the other. Modulo 65537 the
        polynomial is of degree 65536 in general, 17 multiplications deep and of some 500 of them; a
        function that is a polynomial of low degree is computed as such. `domain`, `look_ups` and
        `precise` are for numbers.

        A sequence in place of a function is a table: of integers that for 0, 1, 2 and so on,
        `plain_modulus` of them, and of numbers those at equal distances from ``low`` to ``high`` of
        the `domain`, which has to be said; for values in between it is the nearest entry. Where
        nothing is said of `look_ups`, that is one look-up, so that the error is small at the places
        of up to some 50 entries (with ``"lut12"``). `precision_bits` states the error half-way
        between two entries, where it is largest. Of more entries, such as samples of a smooth
        function, more look-ups may be better.
        """
        array = cast("EncryptedArray", self)
        if not callable(function) and (not is_plain(function) or isinstance(function, Number)):
            raise TypeError(
                f"apply takes a function or a table of numbers, not {type(function).__name__}"
            )
        server, modulus = array._bound_server("apply"), array.plain_modulus
        if modulus is None:
            # More tables would each be off where one of them jumps, half of the domain, a quarter
            # and so on away from the ends of entries: where values may be.
            usual = 3 if callable(function) else 1
            count = usual if look_ups is None else whole(look_ups, "look_ups", 1, 4)
            of_one = function if callable(function) else _nearest(function, domain)
            with named("apply", "apply a function"):
                return server._wrap(
                    server._raw.apply(
                        array._raw, _checked(of_one), _domain(domain), count, bool(precise)
                    )
                )
        if domain is not None or precise:
            raise TypeError(
                "apply takes a domain for numbers only: a function of integers is of all of them, and exact"
            )
        if modulus > LARGEST_TABLE:
            raise ArgumentError(
                f"apply: a function of all {modulus} integers is a polynomial of about that degree, which is for plain "
                f"moduli up to {LARGEST_TABLE}; `polynomial` computes those of low degree"
            )
        table = integers(
            _of_all(function, modulus) if callable(function) else function, "apply", modulus
        )
        if table.shape != (modulus,):
            what = "the function returned" if callable(function) else "a table of"
            raise ShapeError(f"apply: {what} shape {table.shape} for the {modulus} integers")
        with named("apply", "evaluate a polynomial"):
            return server._wrap(server._raw.table(array._raw, table))

    def _named(
        self, name: str, domain: tuple[float, float] | None, precise: bool
    ) -> EncryptedArray:
        array = cast("EncryptedArray", self)
        array._refuse_integers(name)
        server = array._bound_server(name)
        with named(name, "apply a function"):
            return server._wrap(
                server._raw.apply_function(array._raw, name, _domain(domain), 3, bool(precise))
            )

    def sigmoid(
        self, *, domain: tuple[float, float] | None = None, precise: bool = False
    ) -> EncryptedArray:
        """Return ``1 / (1 + exp(-x))`` of every value, by `apply`."""
        return self._named("sigmoid", domain, precise)

    def tanh(
        self, *, domain: tuple[float, float] | None = None, precise: bool = False
    ) -> EncryptedArray:
        """Return the hyperbolic tangents, by `apply`."""
        return self._named("tanh", domain, precise)

    def sqrt(
        self, *, domain: tuple[float, float] | None = None, precise: bool = False
    ) -> EncryptedArray:
        """Return the square roots of values that are known to be 0 or larger, as variances and sums of squares are.

        If there is the capacity, this evaluates a polynomial of a degree up to 2047, whose error is
        about a fifth of the largest root divided by the degree, and takes no look-up. Otherwise it
        is `apply`, with a larger error. Values of any sign need a declaration first:
        ``x.with_interval((0, high))``.
        """
        return self._named("sqrt", domain, precise)

    def reciprocal(self, *, domain: tuple[float, float], precise: bool = False) -> EncryptedArray:
        """Return ``1 / x`` of every value in a domain on one side of 0: by a polynomial or by `apply`, as `sqrt`.

        If neither has an error far below the largest result, this is refused.
        """
        return self._named("reciprocal", domain, precise)

    def log(self, *, domain: tuple[float, float], precise: bool = False) -> EncryptedArray:
        """Return the natural logarithms in a domain above 0: by a polynomial or by `apply`, as `sqrt`."""
        return self._named("log", domain, precise)

    def exp(
        self, *, domain: tuple[float, float] | None = None, precise: bool = False
    ) -> EncryptedArray:
        """Return the exponentials, by `apply`."""
        return self._named("exp", domain, precise)

    def is_close(
        self, other: EncryptedArray | npt.ArrayLike, *, tolerance: float
    ) -> EncryptedArray:
        """Return 1 where values differ from those of `other` by less than `tolerance`, and 0 where they do by more.

        It takes one look-up for every value. Where the difference is nearer to the tolerance than a
        gap, it may be either: with the tables ``"lut12"`` that is about a 118th of the sum of both
        bounds and the tolerance, with ``"lut11"`` twice and with ``"lut13"`` about half as much.
        The tolerance has to be larger than it: a smaller one is refused, and the error has the gap.
        Where it is larger than the sum of both bounds, the results are 1 without a look-up.
        """
        cast("EncryptedArray", self)._check_operand(other, "is_close")
        with named("is_close", *DIFFERENCE):
            difference = cast("EncryptedArray", self) - other
        server = difference._bound_server("is_close")
        within = double(tolerance, "a tolerance")
        if within > difference.bound:
            return (difference - difference + 1).with_bound(1)
        with named("is_close", "apply a function", "compare with 0"):
            return server._wrap(server._raw.near_zero(difference._raw, within))

    def sort(self, axis: SupportsIndex | None = -1, *, kind: str | None = None) -> EncryptedArray:
        """Return the values in rising order along an axis, or all of them, as one axis, where it is None.

        It takes 63 look-ups for 16 values, and about ``n * log2(n)**2 / 4`` for ``n``, whatever the
        `kind` that numpy has. Every value is off by a 40th of the bound at most, as a standard
        deviation.
        """
        _check_kind("sort", kind)
        return self._in_order("sort", axis)

    def max(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return the largest values along an axis, several, or of all: ``n - 1`` look-ups for ``n``."""
        unset("max", None, out)
        return self._of_axes("max", axis, keepdims)

    def min(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return the smallest values along an axis, several, or of all: ``n - 1`` look-ups for ``n``."""
        unset("min", None, out)
        return self._of_axes("min", axis, keepdims)

    def argsort(
        self, axis: SupportsIndex | None = -1, *, kind: str | None = None
    ) -> EncryptedArray:
        """Return the places along an axis, or in all values, in rising order of what stands there.

        It takes ``n * (n + 1) / 2`` look-ups for ``n`` values, two at least. Round the places when
        they are decrypted: `precision_bits` says what they are off by, which is more the more
        values there are.

        Every place appears exactly once. Two values farther apart than a gap are in order; nearer
        ones may be in either order, and so may equal ones, whatever `kind` says. The gap is seven
        standard deviations of the difference of two indices of a table: with the tables ``"lut12"``
        about a 42nd of the `bound` of the array, with ``"lut11"`` twice and with ``"lut13"`` about
        half as much. The errors of the values come on top.

        Lines of more values than tables tell ranks of apart are refused: 44 with ``"lut11"`` are
        possible, 82 with ``"lut12"`` and 109 with ``"lut13"``.
        """
        _check_kind("argsort", kind)
        return self._in_order("argsort", axis)

    def median(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        *,
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return the medians along an axis, several, or of all values: as `quantile` of 0.5."""
        return self._of_axes("median", axis, keepdims)

    def quantile(
        self,
        q: npt.ArrayLike,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        *,
        method: str = "linear",
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return the quantiles of a share, or of an array of shares, 0 to 1, along an axis, several, or of all values.

        The values are sorted once for all of them (see `sort`). Where a quantile falls between two
        values, it is that on the straight line between them, to a 4096th of their distance. That
        takes up to 12 bits of the capacity of what is sorted, one in the middle, and as much as a
        product with plain numbers where several shares fall at different distances. Shares are
        plain: they are no secret. As for numpy, the axes of `q` come first.
        """
        return self._quantile("quantile", q, 1.0, axis, method, keepdims)

    def percentile(
        self,
        q: npt.ArrayLike,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        *,
        method: str = "linear",
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return the percentiles, 0 to 100, along axes or of all values: `quantile` of a 100th of `q`."""
        return self._quantile("percentile", q, 100.0, axis, method, keepdims)

    def _quantile(
        self,
        operation: str,
        q: npt.ArrayLike,
        whole: float,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
        method: str,
        keepdims: bool,
    ) -> EncryptedArray:
        cast("EncryptedArray", self)._refuse_integers(operation)
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
                _native.quantile(server._raw, array._raw, (shares / whole).ravel().tolist(), along)
            )
        shape = shares.shape + (ones if keepdims else result.shape[1:])
        with named(operation, "reshape"):
            return result if result.shape == shape else result.reshape(shape)

    def top_k(self, k: int, axis: SupportsIndex | None = -1) -> EncryptedArray:
        """Return the `k` largest values along an axis, or of all, in rising order: they are sorted for that."""
        return self._counted(
            "top_k",
            integer(k, "top_k: k"),
            None if axis is None else cast("EncryptedArray", self)._axis(axis, "top_k"),
        )

    def max_pool(self, size: int) -> EncryptedArray:
        """Return the largest value of every window of `size` values, or of `size` by `size` in an array of two axes.

        Windows lie side by side and fill the array. It takes a look-up less for each than there are
        values in a window.
        """
        return self._counted("max_pool", integer(size, "max_pool: a size"))

    def argmin(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False
    ) -> EncryptedArray:
        """Return the places of the smallest values along an axis, or of the smallest among all in row-major order.

        It takes ``2 * n - 3`` look-ups for ``n`` values. Values that are no more than a 20th of the
        bound apart may not be told apart: where several are that near to the smallest, the result
        is the place of one of them. Of more than 16 values the place is repacked bit by bit, which
        takes a repacking each. Round the places when they are decrypted: `precision_bits` says what
        they are off by. With ``"n15"`` it is about 5 of 32 values, with ``"n16"`` 4, and one less
        for each doubling: with 2, every twentieth place is rounded to one beside it, and with 1
        every third. More than 256 are refused: ``lines = x.reshape(-1, 256)``,
        ``lines.argmin(axis=1)`` and ``lines.min(axis=1).argmin()`` say it together.
        """
        unset("argmin", None, out)
        return self._in_order("argmin", axis, keepdims=keepdims)

    def argmax(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False
    ) -> EncryptedArray:
        """Return the places of the largest values: see `argmin`."""
        unset("argmax", None, out)
        return self._in_order("argmax", axis, keepdims=keepdims)

    def _in_order(
        self, operation: str, axis: SupportsIndex | None, *, keepdims: bool = False
    ) -> EncryptedArray:
        array = cast("EncryptedArray", self)
        array._refuse_integers(operation)
        server, along = (
            array._bound_server(operation),
            None if axis is None else array._axis(axis, operation),
        )
        result = server._wrap(server._raw.in_order(operation, array._raw, along))
        with named(operation, "reshape"):
            return result.reshape(array._kept(along)) if keepdims else result

    def _of_axes(
        self, operation: str, axis: SupportsIndex | tuple[SupportsIndex, ...] | None, keepdims: bool
    ) -> EncryptedArray:
        if cast("EncryptedArray", self).bit_error is not None:
            return cast("EncryptedArray", self)._halved(
                operation, "or" if operation == "max" else "and", axis, keepdims=keepdims
            )
        array, along, ones = self._joined(axis, operation)
        result = array._in_order(operation, along)
        with named(operation, "reshape"):
            return result.reshape(ones) if keepdims else result

    def _joined(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None, operation: str
    ) -> tuple[EncryptedArray, int | None, tuple[int, ...]]:
        """Return the array with these axes as one, which that is (None: all are), and the shape that keeps them."""
        array = cast("EncryptedArray", self)
        axes = array._axes(axis, operation)
        ones = tuple(1 if i in axes else n for i, n in enumerate(array.shape))
        if len(axes) == array.ndim:
            return array, None, ones
        if len(axes) == 1:
            return array, axes[0], ones
        others = [i for i in range(array.ndim) if i not in axes]
        lengths = [array.shape[i] for i in others]
        with named(operation, "transpose", "reshape"):
            return array.transpose(*others, *axes).reshape(*lengths, -1), len(lengths), ones

    def _kept(self, along: int | None) -> tuple[int, ...]:
        """Return the shape in which one axis, or all of them, have length 1."""
        shape = cast("EncryptedArray", self).shape
        return tuple(1 if along in (None, i) else n for i, n in enumerate(shape))

    def _counted(self, operation: str, count: int, *arguments: int | None) -> EncryptedArray:
        array = cast("EncryptedArray", self)
        array._refuse_integers(operation)
        server = array._bound_server(operation)
        if count < 1:
            raise ArgumentError(f"{operation}: {count}, where 1 is the least that makes sense")
        # More than there are values in any array is refused as that.
        return server._wrap(
            getattr(server._raw, operation)(array._raw, min(count, 2**63 - 1), *arguments)
        )


def _checked(function: Callable[[float], Any]) -> Callable[[float], float]:
    return lambda x: double(function(x), "what the function returned")


def _domain(domain: tuple[float, float] | None) -> tuple[float, float] | None:
    if domain is None:
        return None
    several = isinstance(domain, (tuple, list)) or (isinstance(domain, np.ndarray) and domain.ndim)
    if not several or len(domain) != 2:
        raise TypeError(f"a domain is two numbers, (low, high), not {domain!r}")
    return double(domain[0], "an end of a domain"), double(domain[1], "an end of a domain")


def _check_kind(operation: str, kind: str | None) -> None:
    """Refuse what is no way to sort for numpy: those that are give one and the same here."""
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise ArgumentError(f"{operation}: there is no kind {kind!r} of sorting")


def _of_all(function: Callable[[Any], Any], modulus: int) -> Any:
    """Return what a function makes of all integers modulo a number, of an array of them or of one after the other."""
    try:
        # Of Python's integers: those of numpy overflow in `v**4`, without a word.
        values = function(np.arange(modulus).astype(object))
    except Exception:
        # Such as of conditions, which arrays are none; what is wrong with each integer too is
        # raised below.
        values = None
    # One value for all of them may be what it made of the array as a whole, such as `len(str(v))`.
    return [function(x) for x in range(modulus)] if np.ndim(values) == 0 else values


def _nearest(table: npt.ArrayLike, domain: tuple[float, float] | None) -> Callable[[float], float]:
    """Return the function that is the nearest of entries at equal distances over the domain."""
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
    # What is no domain is refused where it is looked up.
    width = ends[1] - low or 1.0
    return lambda x: float(entries[min(max(round((x - low) / width * steps), 0), steps)])
