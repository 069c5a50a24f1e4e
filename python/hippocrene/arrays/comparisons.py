"""Approximate comparisons of encrypted numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from hippocrene.arrays.advice import unset
from hippocrene.arrays.arithmetic import ArithmeticArray
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.errors import DIFFERENCE, ArgumentError, named
from hippocrene.values.exact import fractions, is_exact_kind
from hippocrene.values.operands import finite, is_plain
from hippocrene.values.scalars import double, double_or_none

if TYPE_CHECKING:
    from typing_extensions import Self

    from hippocrene.arrays.encrypted import _Operand


class ComparableArray(ArithmeticArray):
    """Signs, comparisons, maxima and functions made of them."""

    __slots__ = ()

    def _of_sign(
        self,
        operation: Literal["sign", "relu", "abs", "positive"],
        gap: float | None,
        precision: float | None,
        *more: float,
    ) -> Self:
        server = self._bound_server(operation)
        gap, precision = double_or_none(gap, "a gap"), double_or_none(precision, "a precision")
        with named(operation, "absolute value"):
            return server._wrap(
                getattr(server._raw, operation)(self._elements(), gap, precision, *more)
            )

    def _of_difference(
        self,
        other: EncryptedArray,
        operation: Literal["greater", "less", "maximum", "minimum"],
        gap: float | None,
        precision: float | None,
        *more: float,
    ) -> Self:
        server = self._bound_server(operation, other)
        gap, precision = double_or_none(gap, "a gap"), double_or_none(precision, "a precision")
        with named(operation, "step", "sign", "relu", *DIFFERENCE):
            return server._wrap(
                getattr(server._raw, operation)(
                    self._elements(), other._elements(), gap, precision, *more
                )
            )

    def _compared(
        self,
        operation: Literal["greater", "less"],
        other: _Operand,
        gap: float | None,
        precision: float | None,
        at_ties: float,
    ) -> Self:
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
            return self._of_difference(other, "maximum", gap, precision)
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
            return self._of_difference(other, "minimum", gap, precision)
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
        unset("clip", None, out)
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
