"""How far something is that takes long: in a bar on a terminal, in lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def shown(
    progress: bool | Callable[[int, int], object], name: str, unit: str, total: int
) -> Iterator[Callable[[int], object]]:
    """Return what is told how many of `total` units are done.

    `progress` is called with that and `total`; or True, and it is shown: in a bar where rich is
    installed and there is a terminal, else in lines.
    """
    if callable(progress):
        yield lambda done: progress(done, total)
        return
    if not progress:
        yield lambda _: None
        return
    rich = _rich()
    if rich is not None:
        with rich.Progress() as bar:
            task = bar.add_task(name, total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    start = time.monotonic()
    yield lambda done: _print(f"{name}: {done} of {total} {unit}, {time.monotonic() - start:.1f} s")


@contextmanager
def counted(
    count: Callable[[], int], name: str, unit: str, total: int | None, *, every: float | None = None
) -> Iterator[None]:
    """Show how far `count` gets from where it is, of `total` if that is known, until the block ends.

    It is looked at once in `every` seconds: if nothing is said, five times a second for a bar,
    where rich is installed and there is a terminal, and every ten seconds for lines elsewhere. What
    was done in all is a line at the end.
    """
    first, start, end = count(), time.monotonic(), threading.Event()
    rich = _rich()
    of = "" if total is None else f" of {total}"

    def line() -> None:
        _print(f"{name}: {count() - first}{of} {unit}, {time.monotonic() - start:.1f} s")

    def look() -> None:
        if rich is None:
            while not end.wait(10.0 if every is None else every):
                line()
            line()
            return
        with suppress(OSError), rich.Progress() as bar:
            task = bar.add_task(name, total=total)
            while not end.wait(0.2 if every is None else every):
                bar.update(task, completed=count() - first)
            bar.update(task, completed=count() - first)

    looker = threading.Thread(target=look, daemon=True)
    looker.start()
    try:
        yield
    finally:
        end.set()
        looker.join()


def _print(line: str) -> None:
    """Print a line, if it can be: a pipe that nobody reads or a full disk is no reason to end a computation."""
    with suppress(OSError):
        print(line, flush=True)


def _rich() -> Any:
    """Return what shows bars, where there is a terminal for them; a daemon has no standard output at all."""
    if sys.stdout is not None and sys.stdout.isatty():
        try:
            import rich.progress
        except ImportError:
            return None
        return rich.progress
    return None
