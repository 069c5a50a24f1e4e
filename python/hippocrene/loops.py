"""Loops of programs on encrypted arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.arrays.numbers import NumberArray
from hippocrene.errors import ArgumentError
from hippocrene.values.scalars import whole

_State = TypeVar("_State")
_MOST = 2**20


def repeat(step: Callable[[_State], _State], times: int, state: _State) -> _State:
    """Apply a function to a state several times: ``for _ in range(times): state = step(state)``.

    The state is an array, or a tuple or list of arrays. Plain arrays work too.

    In a program that needs bootstraps (see `compile`), the loop is one step. The file holds its
    operations once, and the decisions of every round. `step` is then called once, with arrays
    without values. Each round begins with a bootstrap of the state, so the state must keep the
    shape, the precision and the interval that it has before the loop. Declare an interval before
    the loop and at the end of `step`, as in ``x.with_interval((low, high))``. The error of the
    result counts as unknown, unless it is declared with `with_precision_bits`.

    Everywhere else this is a plain loop.

    >>> repeat(lambda x: x / 2, 3, 8.0)
    1.0
    """
    count = whole(times, "the number of rounds", 0, _MOST)
    arrays = _arrays(state)
    first = next((one for one in arrays if isinstance(one, EncryptedArray)), None)
    is_step = count > 0 and all(isinstance(one, NumberArray) for one in arrays)
    if first is None or not is_step or not first.server._raw.records_loops:
        for _ in range(count):
            state = step(state)
            _check_count(state, len(arrays))
        return state
    server = first.server
    before = [one._elements() for one in arrays]
    entered = server._raw.enter_loop(before)
    after = step(_like(state, [server._wrap(one) for one in entered]))
    _check_count(after, len(arrays))
    results = _arrays(after)
    if not all(isinstance(one, NumberArray) for one in results):
        kinds = ", ".join(type(one).__name__ for one in results)
        raise ArgumentError(
            f"repeat: a round returns {kinds}, and the state holds encrypted numbers"
        )
    raw = [one._elements() for one in results]
    repeated = server._raw.repeat(before, entered, raw, count)
    result: _State = _like(state, [server._wrap(one) for one in repeated])
    return result


def _arrays(state: Any) -> list[Any]:
    return list(state) if isinstance(state, (tuple, list)) else [state]


def _check_count(after: Any, count: int) -> None:
    """Refuse a state with another number of arrays than before."""
    have = len(_arrays(after))
    if have != count:
        raise ArgumentError(f"repeat: a round returns {have} arrays, and the state has {count}")


def _like(state: Any, arrays: list[Any]) -> Any:
    """Return arrays in the structure of a state."""
    if hasattr(state, "_make"):  # a named tuple
        return state._make(arrays)
    return type(state)(arrays) if isinstance(state, (tuple, list)) else arrays[0]
