"""Measures how much a call through Python adds to the time of the native call.

usage: python bench/python_overhead.py

It needs the package but no keys, and about ten seconds, since the arrays of a dry run hold no
residues. For each expression it prints the median time of its native call, and the median time of
everything else, in microseconds. For the latter, the native call returns its first result again,
because its own time varies by more than the rest takes in all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hippocrene

# The time for the repetitions of an expression, in seconds (chosen).
LONG = 0.5

# Expressions of two arrays and a plain matrix, each with the native method that computes it.
EXPRESSIONS = {
    "x + y": "add",
    "x * y": "mul",
    "x * 2.5": "mul_number",
    "x + w": "add_plain",
    "-x": "negate",
    "x.sum()": "sum",
    "x.T": "transpose",
    "x[3:9]": "pick",
    "x @ y": "dot",
    "w @ x": "rmatmul_plain",
    "x > 0": "of_sign",
    "np.multiply(x, y)": "mul",
    "np.dot(x, y)": "dot",
    "np.sum(x, axis=0)": "sum",
}


class Replaying:
    """A native server with one method that returns its first result again."""

    def __init__(self, server: Any, method: str) -> None:
        self._server, self._own, self._result = server, getattr(server, method), None
        self._arguments: tuple[Any, ...] = ()
        setattr(self, method, self._replay)

    def _replay(self, *arguments: Any) -> Any:
        if self._result is None:
            self._arguments, self._result = arguments, self._own(*arguments)
        return self._result

    def native(self) -> object:
        """Call the native method."""
        return self._own(*self._arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)


def median(call: Callable[[], object]) -> float:
    """Return the median time of a call in microseconds."""
    times, end = [], time.perf_counter() + LONG
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter_ns()
        result = call()
        times.append(time.perf_counter_ns() - start)
        # Dropping the result takes time too.
        del result
    return statistics.median(times) / 1000


def measured(x: Any, y: Any, w: Any) -> None:
    """Print a row for each expression."""
    native = x.server._own
    print(f"{'expression':20}{'native':>10}{'the rest':>10}")
    for name, method in EXPRESSIONS.items():
        server = x.server._own = Replaying(native, method)
        compute = eval(f"lambda: {name}", {"np": np, "x": x, "y": y, "w": w})
        compute()
        print(f"{name:20}{median(server.native):10.1f}{median(compute):10.1f}")
    x.server._own = native


def main() -> None:
    """Measure in a dry run that has enough capacity for a comparison."""
    rng = np.random.default_rng(1)
    values = rng.uniform(-1, 1, (16, 16))

    def program(x: Any, y: Any) -> Any:
        measured(x, y, rng.normal(size=x.shape))
        return x

    hippocrene.simulate(program, values, values, preset="n15", precision=20)


if __name__ == "__main__":
    main()
