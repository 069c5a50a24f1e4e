"""Deadlines and cancel tokens, which end running work in any thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX

from hippocrene import _native
from hippocrene.errors import ArgumentError
from hippocrene.values.scalars import double


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End the work of a ``with`` block that takes longer than `seconds`.

    After that time, operations of this package raise `DeadlineExceeded`, and so do those that are
    running. Running operations notice it within about a tenth of a second. Servers, keys and arrays
    stay unchanged. The deadline applies to this thread or task. In nested blocks, the earliest
    deadline counts.
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
    """A token that ends work from another thread or from a signal handler.

    After a call of `cancel`, operations of this package within ``with token:`` raise `Cancelled`.
    Running operations notice it within about a tenth of a second. Servers, keys and arrays stay
    unchanged. Several threads may use one token at a time, and more than once. A cancelled token
    stays cancelled.
    """

    __slots__ = ("_limit",)

    def __init__(self) -> None:
        """Make a token that is not cancelled."""
        self._limit = _native.Limit.token()

    def cancel(self) -> None:
        """End the work within this token. Any thread may call this, more than once."""
        self._limit.cancel()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._limit.reached

    def __enter__(self) -> CancelToken:
        _native.limits.set((*_native.limits.get(), self._limit))
        return self

    def __exit__(self, *_: object) -> None:
        limits = list(_native.limits.get())
        del limits[len(limits) - 1 - limits[::-1].index(self._limit)]
        _native.limits.set(tuple(limits))

    def __repr__(self) -> str:
        return f"CancelToken(cancelled={self.cancelled})"
