"""Loops of programs on encrypted arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.arrays.numbers import NumberArray
from hippocrene.errors import ArgumentError, CapacityError
from hippocrene.values.scalars import whole

_State = TypeVar("_State")
# Maximum number of rounds (chosen).
_MOST = 2**20
# Maximum number of rounds between two bootstraps of the state (chosen). More save little time.
_MOST_IN_BODY = 32


def repeat(step: Callable[[_State], _State], times: int, state: _State) -> _State:
    """Apply a function to a state several times: ``for _ in range(times): state = step(state)``.

    The state is an array, or a tuple or list of arrays. Plain arrays work too.

    In a program that needs bootstraps (see `compile`), the loop is one step. The file holds the
    operations of as many rounds as there is capacity for after a bootstrap of the state, and
    repeats these. Rounds that are left over follow as steps of their own. `step` is called once for
    each round that is recorded, with arrays without values. The state must keep the shape, the
    precision and the interval that it has before the loop. Declare an interval before the loop and
    at the end of `step`, as in ``x.with_interval((low, high))``. The error of the result counts as
    unknown, unless it is declared with `with_precision_bits`.

    Everywhere else this is a plain loop.

    >>> repeat(lambda x: x / 2, 3, 8.0)
    1.0
    """
    count = whole(times, "the number of rounds", 0, _MOST)
    arrays = _arrays(state)
    first = next((one for one in arrays if isinstance(one, EncryptedArray)), None)
    is_step = count > 0 and all(isinstance(one, NumberArray) for one in arrays)
    reserve = first.server._raw.loop_reserve if first is not None and is_step else None
    if first is None or reserve is None:
        for _ in range(count):
            state = _after(step, state)
        return state
    server = first.server
    before = [one._elements() for one in arrays]
    entered = server._raw.enter_loop(before)
    start: _State = _like(state, [server._wrap(one) for one in entered])
    body, rounds = _recorded_rounds(step, start, count, reserve)
    raw = [one._elements() for one in _arrays(body)]
    repeated = server._raw.repeat(before, entered, raw, count // rounds)
    result: _State = _like(state, [server._wrap(one) for one in repeated])
    for _ in range(count % rounds):
        result = _after(step, result)
    return result


def _recorded_rounds(
    step: Callable[[_State], _State], start: _State, count: int, reserve: float
) -> tuple[_State, int]:
    """Record as many rounds as the capacity is enough for, and return the state after them.

    `count` is the largest number of rounds. The state keeps `reserve` bits of capacity.
    """
    after = _after_recorded(step, start)
    rounds = 1
    used = _capacity(start) - _capacity(after)
    if used > 0 and _is_alike(start, after):
        while rounds < min(count, _MOST_IN_BODY) and _capacity(after) - used >= reserve:
            try:
                after = _after_recorded(step, after)
            except CapacityError:
                # A round that bootstraps on its way may need more than it uses.
                break
            rounds += 1
    return after, rounds


def _after(step: Callable[[_State], _State], state: _State) -> _State:
    """Return the state after a round, and check that it has as many arrays as before."""
    after = step(state)
    have, need = len(_arrays(after)), len(_arrays(state))
    if have != need:
        raise ArgumentError(f"repeat: a round returns {have} arrays, and the state has {need}")
    return after


def _after_recorded(step: Callable[[_State], _State], state: _State) -> _State:
    """Return the state after a round, and check that it holds encrypted numbers."""
    after = _after(step, state)
    if not all(isinstance(one, NumberArray) for one in _arrays(after)):
        kinds = ", ".join(type(one).__name__ for one in _arrays(after))
        raise ArgumentError(
            f"repeat: a round returns {kinds}, and the state holds encrypted numbers"
        )
    return after


def _is_alike(before: Any, after: Any) -> bool:
    """Return True if a round keeps shapes and precisions, and does not widen intervals."""
    pairs = zip(_arrays(before), _arrays(after), strict=True)
    return all(
        (a.shape, a.precision) == (b.shape, b.precision)
        and a.interval[0] <= b.interval[0] <= b.interval[1] <= a.interval[1]
        for a, b in pairs
    )


def _capacity(state: Any) -> float:
    """Return the smallest capacity of an array of a state, in bits."""
    return min(float(one.capacity_bits) for one in _arrays(state))


def _arrays(state: Any) -> list[Any]:
    return list(state) if isinstance(state, (tuple, list)) else [state]


def _like(state: Any, arrays: list[Any]) -> Any:
    """Return arrays in the structure of a state."""
    if hasattr(state, "_make"):  # a named tuple
        return state._make(arrays)
    return type(state)(arrays) if isinstance(state, (tuple, list)) else arrays[0]
