"""Entries of plain tables at encrypted indices."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hippocrene.arrays.bits import chosen
from hippocrene.arrays.encrypted import Encrypted, part_of_arrays
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.values.integers import integers
from hippocrene.values.operands import real_numbers
from hippocrene.values.scalars import double

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hippocrene.arrays.array import EncryptedArray


@part_of_arrays
class TableEntries:
    """The methods of encrypted arrays that use their values as indices into plain tables."""

    __slots__ = ()

    def entries_of(self, table: npt.ArrayLike, *, precision: float | None = None) -> EncryptedArray:
        """Return the entries of a plain table at encrypted indices, as ``table[x]`` would.

        Values are integers from 0 to ``len(table) - 1``, with a small error. Polynomials compute
        all entries at once, and need only the keys for products. The array's interval must not go
        beyond the indices, or the operation raises an `ArgumentError`. Declare it when you encrypt,
        or with `with_interval`.

        If the table has several axes, those after the first follow the axes of the array. For
        example, ``x.entries_of(numpy.eye(5, dtype=int))`` has a one at the position of the value
        and zeros elsewhere. Every number of a row takes as long as a separate table.

        **Numbers.** Up to 4 entries take 2 or 3 multiplications one after the other. A table of
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

        **Integers.** The result is exact, and entries count modulo `plain_modulus`. It is a
        polynomial with a degree below the number of entries. If a declaration is wrong, values
        beyond the table may give any result.
        """
        array = cast("EncryptedArray", self)
        modulus, name = array.plain_modulus, "entries_of"
        if array.bit_error is not None:
            raise TypeError("entries_of takes encrypted numbers and integers, not bits")
        if modulus is None:
            bits = None if precision is None else double(precision, "a precision")
            entries: Any = real_numbers(table, name)
        elif precision is not None:
            raise TypeError(
                "entries_of takes a precision for numbers only: entries of integers are exact"
            )
        else:
            entries = integers(table, name, modulus)
        if entries.ndim == 0 or entries.size == 0:
            raise ShapeError(
                f"entries_of: a table has one entry or more, not shape {entries.shape}"
            )
        server = array._bound_server(name)
        columns = np.ascontiguousarray(entries.reshape(len(entries), -1).T)
        with named(name, "entries of a table", "evaluate a polynomial"):
            if modulus is None:
                parts = [server._raw.entries(array._raw, column, bits) for column in columns]
            else:
                last = len(entries) - 1
                low, high = array.interval
                if low < 0 or high > last:
                    raise ArgumentError(
                        f"entries_of: integers from {low:.0f} to {high:.0f} are possible, and places are 0 to {last}. "
                        f"Encrypt with interval=(0, {last}), or declare x.with_interval((0, {last}))."
                    )
                parts = [server._raw.table(array._raw, column) for column in columns]
        found = [server._wrap(part) for part in parts]
        if entries.ndim == 1:
            return found[0]
        stacked = cast("EncryptedArray", np.stack(cast("Any", found), axis=-1))
        return stacked if entries.ndim == 2 else stacked.reshape(array.shape + entries.shape[1:])


def choose(a: Any, choices: Sequence[Any]) -> Any:
    """Return elements of several arrays or numbers by encrypted index, as `numpy.choose` does."""
    options = list(choices)
    if not options:
        raise ArgumentError("choose: there is nothing to choose from")
    if a.bit_error is not None:
        if len(options) == 2:
            with named("choose", "where"):
                return chosen(a, options[1], options[0])
        raise ArgumentError(f"choose: {len(options)} choices, and a bit chooses one of two")
    plain = not any(isinstance(option, Encrypted) for option in options)
    if plain and all(np.ndim(option) == 0 for option in options):
        return a.entries_of(np.array(options))
    ones = np.eye(len(options), dtype=np.int64)
    with named("choose", "entries_of", "mul", "multiply", "add"):
        terms = [a.entries_of(one) * option for one, option in zip(ones, options, strict=True)]
        return sum(terms[1:], terms[0])


def counts(x: Any, weights: Any, bins: Any) -> Any:
    """Count the values 0, 1, and so on, or add up their weights, as `numpy.bincount` does.

    The values are encrypted integers below `bins`, the number of results.
    """
    count = operator.index(bins)
    if count < 1:
        raise ArgumentError(
            f"bincount: how many bins encrypted places have is public: say minlength=, not {count}"
        )
    if x.ndim != 1 or (weights is not None and np.shape(weights) != x.shape):
        of_weights = "" if weights is None else f", weights of shape {np.shape(weights)}"
        raise ShapeError(
            f"bincount takes arrays of one axis, and weights for each place: shape {x.shape}{of_weights}"
        )
    with named("bincount", "entries_of", "numpy.stack", "multiply", "sum"):
        ones = x.entries_of(np.eye(count, dtype=np.int64))
        if weights is not None:
            column: Any = weights if isinstance(weights, Encrypted) else np.asarray(weights)
            ones = ones * column[:, None]
        return ones.sum(axis=0)
