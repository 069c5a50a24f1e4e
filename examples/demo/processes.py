"""Runs the processes of a client and a server in turn, and prints their measurements."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def fresh_folder(names: Collection[str] = ("client", "server", "shared")) -> Path:
    """Return the folder named by the first argument, after removing the files of an earlier run.

    A folder that contains anything but `names` is not from an earlier run, and is refused.
    """
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        program = Path(sys.argv[0]).name
        sys.exit(f"usage: python {program} FOLDER (a new folder for the files of both sides)")
    folder = Path(sys.argv[1])
    if folder.exists():
        if not folder.is_dir() or {path.name for path in folder.iterdir()} - set(names):
            sys.exit(
                f"{folder} exists and is not from an earlier run: name another folder, or remove "
                "this one"
            )
        shutil.rmtree(folder)
    return folder


def run(program: Path, *arguments: str | Path) -> None:
    """Run a program as a process that can import this folder's modules, and exit if it fails."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, program, *arguments]
    status = subprocess.run(command, env=environment).returncode  # noqa: S603
    if status != 0:
        sys.exit(f"{program.name} failed with status {status}")


def exchange(here: Path, folder: Path) -> None:
    """Run the asking client, the server and the reading client in a folder with their files."""
    run(here / "client.py", "ask", folder / "client", folder / "shared")
    run(here / "server.py", folder / "server", folder / "shared")
    run(here / "client.py", "read", folder / "client", folder / "shared")


def play(here: Path, first: str, report: Callable[[Path], bool], complaint: str) -> None:
    """Run `first` and the processes of both sides, and report the results.

    Arguments after the folder on the command line are passed to `first`.
    """
    folder = fresh_folder()
    run(here / first, folder, *sys.argv[2:])
    exchange(here, folder)
    right = report(folder)
    print_measured(folder)
    if not right:
        sys.exit(complaint)


def size(count: float) -> str:
    """Format a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def measurements(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return what `steps.Steps.save` wrote for each process, with the name of the process."""
    client, shared = folder / "client", folder / "shared"
    files = [
        ("client", client / "ask.json"),
        ("server", shared / "server.json"),
        ("client", client / "read.json"),
    ]
    return [(process, json.loads(path.read_text())) for process, path in files]


def print_measured(folder: Path) -> None:
    """Print the times, peak memory and sizes of each process."""
    for process, measured in measurements(folder):
        print(f"{process}: {sum(measured['seconds'].values()):.2f} s", end="")
        print(f", peak memory {size(measured['peak_memory'])}")
        for name, seconds in measured["seconds"].items():
            print(f"  {name:<40}{seconds:8.2f} s")
        for name, count in measured["bytes"].items():
            print(f"  {name:<40}{size(count):>10}")
