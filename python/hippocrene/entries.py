"""Entries of plain tables at encrypted places."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hippocrene.bits import chosen
from hippocrene.encrypted import Encrypted, part_of_arrays
from hippocrene.errors import ArgumentError, ShapeError, named
from hippocrene.integers import integers
from hippocrene.scalars import double
from hippocrene.values import real_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hippocrene.array import EncryptedArray


@part_of_arrays
class TableEntries:
    """What encrypted arrays of places do with plain tables."""

    __slots__ = ()

    def entries_of(self, table: npt.ArrayLike, *, precision: float | None = None) -> EncryptedArray:
        """Return the entry of a table at the place that every value is: what ``table[x]`` would be.

        Values are integers from 0 to ``len(table) - 1``, give or take a little. It is one
        computation for all of them, by polynomials, and takes no keys but that of products. Rows of
        a table of several axes follow on the axes of the array, as `numpy.stack` puts them there:
        ``x.entries_of(numpy.eye(5, dtype=int))`` has a one where a value is, and zeros beside it.
        Every number of a row takes as long as a table of its own.

        Of numbers it takes 2 or 3 multiplications in a row for up to 4 entries, and 3 to 5 more
        than ``log2(2 * p)`` for `p` of them, 4096 at most; what that takes of `capacity_bits` is
        given back on the way where there are bootstrapping keys. An entry comes out within
        ``2**-precision``: where nothing is said, 12 bits below the difference of the largest and
        the smallest. A value that is off by ``e`` adds about ``4 * e**2`` times that difference (8
        where there are up to 4), and among the places stands some mean of entries. An array whose
        `bound` is more than 1/2 beyond the last place (1/8 in tables of up to 4) is refused. What
        is below ``-1/2`` comes out as what is as far above; in tables of up to 4 entries, below
        ``-1/8``, it may be anything.

        Of integers it is exact: a polynomial modulo `plain_modulus` of a degree less than there are
        entries. Values beyond the table come out as anything.
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
    """Take from one of several arrays or numbers at every encrypted place, as `numpy.choose` does."""
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
    """Count the encrypted places 0, 1, .. of so many bins, or add up weights there, as `numpy.bincount` does."""
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
