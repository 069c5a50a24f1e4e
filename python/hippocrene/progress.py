"""How far something is that takes long: in a bar on a terminal, in lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def shown(
    progress: bool | Callable[[int, int], object], name: str, unit: str, total: int
) -> Iterator[Callable[[int], object]]:
    """Return what is told how many of `total` units are done.

    `progress` is called with that and `total`; or True, and it is shown: in a bar where rich is installed and there is
    a terminal, else in lines.
    """
    if callable(progress):
        yield lambda done: progress(done, total)
        return
    if not progress:
        yield lambda _: None
        return
    rich: Any = None
    if sys.stdout.isatty():
        try:
            import rich.progress as rich
        except ImportError:
            rich = None
    if rich is not None:
        with rich.Progress() as bar:
            task = bar.add_task(name, total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    start = time.monotonic()
    yield lambda done: print(f"{name}: {done} of {total} {unit}, {time.monotonic() - start:.1f} s", flush=True)
