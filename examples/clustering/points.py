"""Lays out a folder for each side, with points for the client: petals and sepals of Iris."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris


def main(folder: Path) -> None:
    """Give the client 150 flowers of four measurements each; the server has nothing of its own."""
    for side in ("client", "server", "shared"):
        (folder / side).mkdir(parents=True)
    np.save(folder / "client" / "points.npy", load_iris().data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
