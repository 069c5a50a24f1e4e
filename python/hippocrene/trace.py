"""The trace of a simulated program: its operations on encrypted arrays, with remaining capacity."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from hippocrene import _native

if TYPE_CHECKING:
    from hippocrene.arrays.view import View

# The steps of the current simulation.
_steps: ContextVar[list[tuple[str, float]] | None] = ContextVar("_steps", default=None)


@contextmanager
def tracing() -> Iterator[list[tuple[str, float]]]:
    """Collect the steps of the program that is simulated within a ``with`` block."""
    steps: list[tuple[str, float]] = []
    token = _steps.set(steps)
    try:
        yield steps
    finally:
        _steps.reset(token)


def note(result: _native.EncryptedArray | View) -> None:
    """Record a result with the operation that the program called, unless the result is lazy."""
    steps = _steps.get()
    if steps is None or not isinstance(result, _native.EncryptedArray):
        return
    left = result.capacity_bits if result.plain_modulus is None else result.budget_bits
    if left is None:  # Encrypted bits have neither.
        return
    step = (_operation(), left)
    if not steps or steps[-1] != step:
        steps.append(step)


def _operation() -> str:
    """Return the name of the operation that the program called.

    It is the outermost running function of this package, or the function of numpy that the program
    called.
    """
    frame, name = sys._getframe(2), ""
    while True:
        code, module = frame.f_code.co_name, str(frame.f_globals.get("__name__", ""))
        if not module.startswith("hippocrene.") or module == "hippocrene.simulation":
            return name
        if code == "__array_function__":
            name = str(frame.f_locals["function"].__name__)
        elif code == "__array_ufunc__":
            name = str(frame.f_locals["ufunc"].__name__)
        elif not code.startswith("<"):
            name = _OPERATORS.get(code, code.strip("_"))
        if frame.f_back is None:
            return name
        frame = frame.f_back


# numpy's names of operators.
_OPERATORS = {
    "__radd__": "add",
    "__sub__": "subtract",
    "__rsub__": "subtract",
    "__mul__": "multiply",
    "__rmul__": "multiply",
    "__truediv__": "divide",
    "__rmatmul__": "matmul",
    "__pow__": "power",
    "__neg__": "negative",
    "__abs__": "absolute",
    "__gt__": "greater",
    "__lt__": "less",
}
