"""Steps of a process, with their times and the peak memory.

A terminal shows a progress bar, and other outputs plain lines.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Steps:
    """Runs named steps, shows their progress, and records their times."""

    def __init__(self, process: str, count: int) -> None:
        self.process = process
        self.seconds: dict[str, float] = {}
        self.bytes: dict[str, int] = {}
        self.console = Console(stderr=False)
        self.progress = Progress(
            TextColumn("{task.description:<44}"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.progress.add_task(process, total=count)

    def __enter__(self) -> Steps:
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show and time one step."""
        self.progress.update(self.task, description=f"{self.process}: {name}")
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        self.progress.advance(self.task)
        self.console.print(f"{self.process}: {name}: {self.seconds[name]:.2f} s", highlight=False)
        sys.stdout.flush()

    def wrote(self, what: str, path: Path) -> None:
        """Record the size of a written file."""
        self.bytes[what] = path.stat().st_size

    def save(self, path: Path) -> None:
        """Write the measurements, with this process's peak memory."""
        # Linux counts in KiB, macOS in bytes.
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        path.write_text(
            json.dumps({"seconds": self.seconds, "bytes": self.bytes, "peak_memory": peak})
        )
