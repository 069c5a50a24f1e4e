"""An encrypted question to a table: runs a client and a server that share only the files of one folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# Progress, times and sizes are shown by the same steps as there.
DEMO = HERE.parent / "demo"


def run(program: str, *arguments: str | Path) -> None:
    """Run one of the programs beside this file as a process of its own, and stop when it fails."""
    environment = {**os.environ, "PYTHONPATH": str(DEMO)}
    status = subprocess.run([sys.executable, HERE / program, *arguments], env=environment).returncode  # noqa: S603
    if status != 0:
        sys.exit(f"{program} failed with status {status}")


def size(count: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def report(folder: Path) -> bool:
    """Print what came out, and return whether it is the record that was asked for."""
    client, shared = folder / "client", folder / "shared"
    truth, answer = np.load(client / "truth.npz"), np.load(client / "answer.npz")
    right = answer["found"] == 1 and np.array_equal(answer["record"], truth["record"])

    print()
    print(f"records in the table    {truth['records']}")
    print(f"records of the code     {answer['found']}")
    for name, got, wanted in zip(truth["names"], answer["record"], truth["record"], strict=True):
        print(f"{name:<24}{got} (in the table: {wanted})")
    parts = {"client": client / "ask.json", "server": shared / "server.json", "client ": client / "read.json"}
    for process, path in parts.items():
        measured = json.loads(path.read_text())
        print(f"{process.strip()}: {sum(measured['seconds'].values()):.2f} s", end="")
        print(f", peak memory {size(measured['peak_memory'])}")
        for name, seconds in measured["seconds"].items():
            print(f"  {name:<40}{seconds:8.2f} s")
        for name, count in measured["bytes"].items():
            print(f"  {name:<40}{size(count):>10}")
    return bool(right)


def main() -> None:
    """Make a table, ask, find, read, report."""
    if len(sys.argv) != 2:
        sys.exit("usage: python lookup.py FOLDER, where FOLDER is made, and takes what the two sides write")
    folder = Path(sys.argv[1])
    if folder.exists():
        if not folder.is_dir() or {path.name for path in folder.iterdir()} - {"client", "server", "shared"}:
            sys.exit(f"{folder} exists and is not from an earlier run: name another folder")
        shutil.rmtree(folder)
    run("table.py", folder)
    run("client.py", "ask", folder / "client", folder / "shared")
    run("server.py", folder / "server", folder / "shared")
    run("client.py", "read", folder / "client", folder / "shared")
    if not report(folder):
        sys.exit("the answer is not the record that was asked for")


if __name__ == "__main__":
    main()
