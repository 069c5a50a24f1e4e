"""The display of the progress of long computations: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def shown(
    progress: bool | Callable[[int, int], object], name: str, unit: str, total: int
) -> Iterator[Callable[[int], object]]:
    """Yield a function to be called with the number of finished units, out of `total`.

    If `progress` is a function, it is called with this number and `total`. If it is True, the
    progress is shown in a bar if rich is installed and there is a terminal, otherwise in lines.
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
    """Show the increase of `count` until the block ends, out of `total` if that is known.

    `count` is called every `every` seconds. The default is 0.2 seconds for a bar, which is shown if
    rich is installed and there is a terminal, and 10 seconds for lines. With lines, the last line
    shows the total at the end.
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
    """Print a line, and ignore errors of the output.

    A closed pipe or a full disk is no reason to end a computation.
    """
    with suppress(OSError):
        print(line, flush=True)


def _rich() -> Any:
    """Return the module that shows bars, or None without rich or a terminal.

    A daemon has no standard output at all.
    """
    if sys.stdout is not None and sys.stdout.isatty():
        try:
            import rich.progress
        except ImportError:
            return None
        return rich.progress
    return None
