"""Deadlines and cancel tokens, which end running work in any thread."""

from __future__ import annotations

from contextlib import contextmanager
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING

from hippocrene import _native
from hippocrene.errors import ArgumentError
from hippocrene.scalars import double

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End the work of a ``with`` block that takes longer than `seconds`.

    Operations of this package that begin, run or end later raise `DeadlineExceeded`. Running ones
    notice it within about a tenth of a second. Servers, keys and arrays stay as they were. The
    deadline holds in this thread or task. Where blocks are nested, the earliest deadline counts.
    """
    seconds = double(seconds, "a deadline")
    if not 0 <= seconds <= TIMEOUT_MAX:
        raise ArgumentError(
            f"deadline: {seconds:g} s are no time to wait. Give 0 to {TIMEOUT_MAX:g} seconds."
        )
    token = _native.limits.set((*_native.limits.get(), _native.Limit.after(seconds)))
    try:
        yield
    finally:
        _native.limits.reset(token)


class CancelToken:
    """Ends work from another thread or from a signal handler.

    Operations of this package within ``with token:`` raise `Cancelled` once `cancel` was called.
    Running ones notice it within about a tenth of a second. Servers, keys and arrays stay as they
    were. One token may be used by several threads at a time, and more than once. It stays
    cancelled.
    """

    __slots__ = ("_limit",)

    def __init__(self) -> None:
        """Make a token that is not cancelled."""
        self._limit = _native.Limit.token()

    def cancel(self) -> None:
        """End the work within this token. It may be called from any thread, and more than once."""
        self._limit.cancel()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._limit.reached

    def __enter__(self) -> CancelToken:
        _native.limits.set((*_native.limits.get(), self._limit))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        limits = list(_native.limits.get())
        del limits[len(limits) - 1 - limits[::-1].index(self._limit)]
        _native.limits.set(tuple(limits))

    def __repr__(self) -> str:
        return f"CancelToken(cancelled={self.cancelled})"
