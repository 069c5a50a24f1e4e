"""numpy's functions that choose between arrays, at least one of them encrypted."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippocrene.arrays.advice import refusal
from hippocrene.arrays.bits import BitArray, require_bits
from hippocrene.arrays.numbers import NumberArray
from hippocrene.arrays.places import common_shape
from hippocrene.arrays.registry import implements
from hippocrene.errors import ArgumentError, KeyMismatchError, ShapeError, named
from hippocrene.numpy.arguments import is_encrypted, mixed
from hippocrene.numpy.moves import joined
from hippocrene.values.operands import fractions, numbers, plain_bits, to_array


@implements(np.where, several=True)
def where(condition: Any, *both: Any) -> Any:
    """Choose from two arrays by a condition.

    A plain condition costs a product with a mask of zeros and ones for each encrypted array. An
    encrypted condition, which holds zeros and ones, costs one product of encrypted arrays.
    """
    if len(both) != 2:
        raise refusal("where")
    arrays = [x for x in (condition, *both) if is_encrypted(x)]
    if any(isinstance(array, BitArray) for array in arrays):
        return _chosen_bits(condition, *both)
    need, *others = (array.fingerprint for array in arrays)
    for have in others:
        if have != need:
            raise KeyMismatchError(f"where: encrypted under key {have}, but key {need} is needed")
    x, y = (one if is_encrypted(one) else _choosable(arrays[0], one, "where") for one in both)
    mask = condition if is_encrypted(condition) else to_array(condition, "where").astype(bool)
    common_shape("where", [np.shape(one) for one in (mask, x, y)])
    with named("where", "multiply by plain numbers", "multiply", "subtract", "add", "mul", "sub"):
        if is_encrypted(condition):
            return y + mask * (
                x - y if is_encrypted(x) or is_encrypted(y) else _difference(condition, x, y)
            )
        parts = [
            x * part.astype(np.int64) if is_encrypted(x) else np.where(part, mixed(x), 0)
            for x, part in ((x, mask), (y, ~mask))
        ]
        return _add_disjoint(*parts)


def _difference(condition: Any, x: Any, y: Any) -> Any:
    """Return `x - y` for plain arrays, precisely enough for the product with the condition.

    The difference of integers is exact.
    """
    if all(one.dtype.kind in "biu" for one in (x, y)):
        return x.astype(object) - y.astype(object)
    if isinstance(condition, NumberArray) and not all(one.dtype.kind in "biufc" for one in (x, y)):
        return fractions(x, "where") - fractions(y, "where")
    if isinstance(condition, NumberArray) and all(one.dtype.kind in "biuf" for one in (x, y)):
        size = float(max(np.max(abs(one.astype(np.float64))) for one in (x, y)))
        if condition._needs_digits(size, "where"):
            return fractions(x, "where") - fractions(y, "where")
        x, y = (one.astype(np.result_type(one, np.float64)) for one in (x, y))
    return x - y


def _chosen_bits(condition: Any, where: Any, otherwise: Any) -> Any:
    """Select bits by a condition, for `numpy.where`.

    With a plain condition, the result consists of the single bits that the condition selects, and
    no gate is needed. Packed bits still need gates.
    """
    both: list[Any] = [
        one if is_encrypted(one) else plain_bits(one, "where")
        for one in (condition, where, otherwise)
    ]
    mask, ones, zeros = both
    shape = common_shape("where", [one.shape for one in (mask, ones, zeros)])
    with named("where", "select", "&", "^", "and", "xor", "move elements"):
        if is_encrypted(mask):
            return mask.select(ones, zeros)._as_wide(shape, "where")
        mask = np.broadcast_to(mask, shape)
        arrays: list[Any] = [
            require_bits(one, "where") for one in (ones, zeros) if is_encrypted(one)
        ]
        if (only := ones if mask.all() else zeros if not mask.any() else None) is not None:
            return (only if is_encrypted(only) else arrays[0]._constants(only))._as_wide(
                shape, "where"
            )
        if arrays[0]._holds == "bits":
            return zeros ^ (mask & (ones ^ zeros))
        return joined(lambda both: np.where(mask, *both), [ones, zeros])


@implements(np.select, several=True)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions, choices = list(condlist), list(choicelist)
    if len(conditions) != len(choices) or not conditions:
        what = f"{len(conditions)} conditions and {len(choices)} choices: equal numbers, at least 1, are needed"
        raise ShapeError(f"select: {what}")
    arrays = [x for x in (*conditions, *choices, default) if is_encrypted(x)]
    with named("select", "where"):
        if any(is_encrypted(c) for c in conditions) or isinstance(arrays[0], BitArray):
            # For bits, numpy's default of 0 means False.
            result = (
                False
                if isinstance(arrays[0], BitArray) and isinstance(default, int) and default == 0
                else default
            )
            for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
                result = np.where(condition, choice, result)
            return result
        plain = [to_array(c, "select") for c in conditions]
        if any(c.dtype != np.bool_ for c in plain):
            raise TypeError("select: conditions are arrays of booleans")
        shape = np.broadcast_shapes(*(np.shape(x) for x in (*plain, *choices, default)))
        left, total = np.ones(shape, dtype=bool), None
        for condition, choice in [*zip(plain, choices, strict=True), (True, default)]:
            part = left & condition
            left = left & ~part
            # An empty part needs no product.
            if part.any() or (total is None and condition is True):
                term = (
                    np.where(part, choice, 0)
                    if is_encrypted(choice)
                    else _masked(part, choice, arrays[0])
                )
                total = term if total is None else _add_disjoint(total, term)
        return total if is_encrypted(total) else total + arrays[0] * 0


def _add_disjoint(x: Any, y: Any) -> Any:
    """Return the sum of two arrays. At each place, at least one of them must be 0."""
    if not is_encrypted(x):
        return y._add_disjoint(x) if is_encrypted(y) else x + y
    return x._add_disjoint(y)


def _choosable(like: Any, plain: Any, operation: str) -> Any:
    """Return plain values that are chosen from together with an encrypted array.

    Numbers may be missing (NaN) at places where they are not chosen.
    """
    if isinstance(like, NumberArray):
        return numbers(plain, operation)
    return like._plain(plain, operation)


def _masked(part: Any, plain: Any, like: Any) -> Any:
    values = _choosable(like, plain, "select")
    return np.where(part, mixed(values), 0)


@implements(np.choose, several=True)
def _choose(a: Any, choices: Any, mode: Any = "raise") -> Any:
    if is_encrypted(a):
        if mode != "raise":
            raise TypeError(
                "choose takes no mode= for encrypted places: a place beyond the choices may give any result"
            )
        return _at_encrypted(a, list(choices))
    options, index = list(choices), to_array(a, "choose")
    if index.dtype.kind not in "iub":
        raise TypeError(f"choose takes integers, not values of type {index.dtype}")
    count = len(options)
    # numpy refuses invalid choices, and applies the mode.
    index = np.choose(index.astype(np.int64), np.arange(count).reshape(-1, 1), mode=mode).reshape(
        index.shape
    )
    with named("choose", "select"):
        return _select([index == i for i in range(count)], options, options[0])


def _at_encrypted(a: Any, options: list[Any]) -> Any:
    """Return elements of several arrays or numbers by encrypted index, as `numpy.choose` does."""
    if not options:
        raise ArgumentError("choose: there is nothing to choose from")
    if isinstance(a, BitArray):
        if len(options) == 2:
            with named("choose", "where"):
                return _chosen_bits(a, options[1], options[0])
        raise ArgumentError(f"choose: {len(options)} choices, and a bit chooses one of two")
    plain = not any(is_encrypted(option) for option in options)
    if plain and all(np.ndim(option) == 0 for option in options):
        return a.entries_of(np.array(options))
    ones = np.eye(len(options), dtype=np.int64)
    with named("choose", "entries_of", "mul", "multiply", "add"):
        terms = [a.entries_of(one) * option for one, option in zip(ones, options, strict=True)]
        return sum(terms[1:], terms[0])


@implements(np.extract, several=True)
def _extract(condition: Any, arr: Any) -> Any:
    if is_encrypted(condition):
        raise TypeError(
            "numpy.extract takes no encrypted condition: the number of elements would depend on it"
        )
    return np.compress(np.ravel(condition), np.ravel(arr))


@implements(np.clip, several=True)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    if not is_encrypted(a):
        raise TypeError(
            "numpy.clip of plain values takes plain limits: x.maximum and x.minimum are of encrypted ones"
        )
    return a.clip(a_min if min is None else min, a_max if max is None else max)
