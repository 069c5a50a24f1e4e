"""Logistic regression on encrypted rows: runs a client and a server that share only the files of one folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.polynomial import Chebyshev

HERE = Path(__file__).parent


def run(program: str, *arguments: str | Path) -> None:
    """Run one of the programs beside this file as a process of its own, and stop when it fails."""
    status = subprocess.run([sys.executable, HERE / program, *arguments]).returncode  # noqa: S603
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
    """Print what came out, and return whether every row was scored as the plaintext model scores it."""
    client, shared = folder / "client", folder / "shared"
    truth = np.load(client / "truth.npz")
    model = np.load(folder / "server" / "model.npz")
    ours = np.load(client / "probabilities.npy")
    scores = np.load(client / "rows.npy") @ model["weights"] + model["bias"]
    polynomial = Chebyshev(model["sigmoid"], domain=model["domain"])(scores)
    diagnoses, plaintext = truth["diagnoses"], truth["probabilities"]
    same = (ours > 0.5) == (plaintext > 0.5)

    print()
    print(f"accuracy, encrypted     {np.mean((ours > 0.5) == diagnoses):.4f}")
    print(f"accuracy, plaintext     {np.mean((plaintext > 0.5) == diagnoses):.4f}")
    print(f"rows that agree         {same.sum()} of {same.size}")
    print(f"largest error           {np.abs(ours - plaintext).max():.1e} against the plaintext model")
    print(f"  of the encryption     {np.abs(ours - polynomial).max():.1e} against the same polynomial in plaintext")
    parts = {"client": client / "ask.json", "server": shared / "server.json", "client ": client / "read.json"}
    for process, path in parts.items():
        measured = json.loads(path.read_text())
        print(f"{process.strip()}: {sum(measured['seconds'].values()):.2f} s", end="")
        print(f", peak memory {size(measured['peak_memory'])}")
        for name, seconds in measured["seconds"].items():
            print(f"  {name:<40}{seconds:8.2f} s")
        for name, count in measured["bytes"].items():
            print(f"  {name:<40}{size(count):>10}")
    return bool(same.all())


def main() -> None:
    """Train, ask, score, read, report."""
    if len(sys.argv) != 2:
        sys.exit("usage: python demo.py FOLDER, where FOLDER is made, and takes what the two sides write")
    folder = Path(sys.argv[1])
    if folder.exists():
        if not folder.is_dir() or {path.name for path in folder.iterdir()} - {"client", "server", "shared"}:
            sys.exit(f"{folder} exists and is not from an earlier run: name another folder")
        shutil.rmtree(folder)
    run("train.py", folder)
    run("client.py", "ask", folder / "client", folder / "shared")
    run("server.py", folder / "server", folder / "shared")
    run("client.py", "read", folder / "client", folder / "shared")
    if not report(folder):
        sys.exit("the encrypted model disagrees with the plaintext one")


if __name__ == "__main__":
    main()
