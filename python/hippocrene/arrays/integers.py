"""Encrypted arrays of integers modulo a plain modulus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from hippocrene.arrays.advice import REMAINDERS
from hippocrene.arrays.arithmetic import (
    ArithmeticArray,
    check_function,
    check_table,
    columns,
    stacked_entries,
)
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.errors import DIFFERENCE, ArgumentError, ShapeError, named
from hippocrene.html_tables import Cell, capacity_cell
from hippocrene.values.operands import integers, is_plain
from hippocrene.values.polynomials import Series, whole_coefficients

if TYPE_CHECKING:
    from typing_extensions import Self

# The largest plain modulus for functions of all integers. Such a function is a polynomial with one
# coefficient for each integer.
LARGEST_TABLE = 2**24


class IntegerArray(ArithmeticArray, holds=("integers",)):
    """An encrypted array of integers, which computes exactly modulo `plain_modulus`.

    `EncryptedArray` describes all kinds of array.
    """

    __slots__ = ()
    _refusals: ClassVar[Mapping[str, str]] = {
        **ArithmeticArray._refusals,
        **dict.fromkeys(
            ("cov", "std", "var"),
            "encrypted integers have no variance: decrypt the sums of the values and of their squares",
        ),
        "mean": "encrypted integers have no mean: decrypt the sum, and divide it",
        "div": "encrypted integers cannot be divided: multiply by the inverse, pow(divisor, -1, {modulus})",
        "divisor": "encrypted integers cannot be divisors: use x.apply with a function that returns their inverses",
        **{
            name: f"encrypted integers have no {{name}}: use x.apply(lambda v: {formula})"
            for name, formula in REMAINDERS.items()
        },
    }
    _no_method = (
        "{name} is for encrypted numbers: integers modulo {modulus} have no order and no fractions. "
        "Use == and !=, or apply with any function"
    )
    _no_property = (
        "encrypted integers are exact and have no {name}: budget_bits states their noise budget"
    )
    _pow_modulus = "these integers are modulo {modulus}"
    _exponents = "exponents are plain integers from 0 on"

    # Properties

    @property
    def plain_modulus(self) -> int:
        """The modulus that these integers compute with."""
        return cast("int", self._held.plain_modulus)

    @property
    def budget_bits(self) -> float | None:
        """The estimated noise budget, in bits.

        The noise may still grow by this many bits, and results stay exact until then. It is None
        for an array without a server whose parameters belong to no preset.
        """
        return self._described().budget_bits

    @property
    def bound(self) -> float:
        """An upper bound of all absolute values, which follows from the interval."""
        return max(abs(end) for end in self.interval)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends ``(low, high)`` of the interval that contains all values.

        It is declared at encryption, and every operation propagates the worst case; see
        `with_interval`. Integers that may have any value modulo ``t`` lie in ``[0, t - 1]``.
        """
        return self._described().interval or (0.0, float(self.plain_modulus - 1))

    def _summary(self) -> str:
        left = self._described().budget_bits
        bits = "?" if left is None else f"{left:.1f}"
        return f", plain_modulus={self.plain_modulus}, budget_bits={bits}"

    def _contents(self) -> str:
        return f"integers modulo {self.plain_modulus}"

    def _facts(self) -> list[tuple[str, Cell]]:
        low, high = self.interval
        return [
            ("interval", f"[{low:.0f}, {high:.0f}]"),
            ("noise budget", capacity_cell(self.budget_bits, self._held.preset)),
        ]

    def _plain(self, values: npt.ArrayLike, operation: str) -> npt.NDArray[Any]:
        return integers(values, operation, self.plain_modulus)

    # Functions of integers

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        """Return 1 where integers are equal to others, and 0 elsewhere, encrypted.

        This takes ``ceil(log2(plain_modulus - 1))`` multiplications one after the other. Objects
        that are neither arrays nor numbers, such as None or text, are not equal to any encrypted
        array.
        """
        if not isinstance(other, EncryptedArray) and not is_plain(other):
            return cast("Self", NotImplemented)
        server = self._bound_server("==", other if isinstance(other, EncryptedArray) else None)
        with named("==", "test for zero", *DIFFERENCE):
            return server._wrap(server._raw.is_zero(self._with(other, "sub")._elements()))

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        """Return 1 where integers differ from others, and 0 elsewhere; see `__eq__`."""
        with named("!=", "=="):
            equal = self.__eq__(other)
        return equal if equal is NotImplemented else 1 - equal

    def polynomial(self, polynomial: Series) -> Self:
        """Evaluate a polynomial with integer coefficients at every value, modulo `plain_modulus`.

        This takes ``ceil(log2(degree + 1))`` multiplications one after the other. `polynomial` can
        be a `numpy.poly1d` or a sequence of coefficients with the constant first.
        """
        whole = whole_coefficients(polynomial, self.plain_modulus)
        how: Any = {"operation": "polynomial", "parts": ("evaluate a polynomial",)}
        return self._run("integer_polynomial", whole, **how)

    def apply(self, function: Callable[[Any], Any] | npt.ArrayLike, **of_numbers: object) -> Self:
        """Apply any function, or take the entry of a table, for every value. The result is exact.

        The function is evaluated at all integers modulo `plain_modulus`, and a polynomial through
        these values is computed. `function` is first called with one array of all integers, as
        Python integers, which do not overflow. If that raises an error or returns a single value,
        it is called for each integer instead. Modulo 65537, the polynomial has degree 65536 in
        general, and needs about 500 multiplications, 17 of them one after the other. If the
        function is a polynomial of low degree, it takes fewer. Plain moduli above ``2**24`` raise
        an `ArgumentError`.

        `function` can also be a table: a sequence of the `plain_modulus` results for 0, 1, 2 and so
        on. The options of `NumberArray.apply` are refused.
        """
        check_function(function)
        modulus = self.plain_modulus
        if of_numbers:
            raise TypeError(
                f"apply takes {next(iter(of_numbers))}= for numbers only: for integers, the result is exact at all of "
                "them"
            )
        if modulus > LARGEST_TABLE:
            raise ArgumentError(
                f"apply: a function of all {modulus} integers is a polynomial of about that degree, and plain moduli "
                f"up to {LARGEST_TABLE} are supported. Use `polynomial` for a polynomial of low degree."
            )
        table = integers(
            _of_all(function, modulus) if callable(function) else function, "apply", modulus
        )
        if table.shape != (modulus,):
            what = "the function returned" if callable(function) else "a table of"
            raise ShapeError(f"apply: {what} shape {table.shape} for the {modulus} integers")
        return self._run("table", table, operation="apply", parts=("evaluate a polynomial",))

    def entries_of(self, table: npt.ArrayLike, **of_numbers: object) -> Self:
        """Return the entries of a plain table at encrypted indices, as ``table[x]`` would.

        Values are integers from 0 to ``len(table) - 1``. The array's interval must not go beyond
        the indices, or the operation raises an `ArgumentError`. Declare it when you encrypt, or
        with `with_interval`. If the declaration is wrong, values beyond the table may give any
        result.

        The result is exact, and entries count modulo `plain_modulus`. It is a polynomial with a
        degree below the number of entries. If the table has several axes, those after the first
        follow the axes of the array.
        """
        if of_numbers:
            raise TypeError(
                "entries_of takes a precision for numbers only: entries of integers are exact"
            )
        entries = check_table(integers(table, "entries_of", self.plain_modulus))
        last = len(entries) - 1
        low, high = self.interval
        if low < 0 or high > last:
            raise ArgumentError(
                f"entries_of: integers from {low:.0f} to {high:.0f} are possible, and places are 0 to {last}. "
                f"Encrypt with interval=(0, {last}), or declare x.with_interval((0, {last}))."
            )
        how: Any = {"operation": "entries_of", "parts": ("evaluate a polynomial",)}
        found = [self._run("table", column, **how) for column in columns(entries)]
        return stacked_entries(found, entries)


def _of_all(function: Callable[[Any], Any], modulus: int) -> Any:
    """Return the function's values at all integers below the modulus.

    It is called with an array of them all or, if that fails, with one after the other.
    """
    try:
        # Python's integers, since numpy's overflow silently in `v**4`.
        values = function(np.arange(modulus).astype(object))
    except Exception:
        # For example, arrays are not conditions of `if`. Errors that single integers cause are
        # raised below.
        values = None
    # A single value may be a property of the whole array, such as `len(str(v))`.
    return [function(x) for x in range(modulus)] if np.ndim(values) == 0 else values
