"""Lays out a folder for each side, with points for the client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from data import add_options, load
from settings import CLUSTERS, SEED


def main() -> None:
    """Give the client points, 150 flowers of four measurements each if nothing is said; the server has nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where all is written")
    parser.add_argument(
        "--clusters", type=int, default=CLUSTERS, help=f"how many clusters (default: {CLUSTERS})"
    )
    parser.add_argument(
        "--points", type=int, default=150, help="how many points at most (default: 150)"
    )
    add_options(parser, "every column is a coordinate")
    options = parser.parse_args()
    points = load(options, classified=False).rows
    if options.csv is not None or options.data != "iris":
        # Features have units of their own.
        spread = points.std(axis=0)
        points = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if len(points) > options.points:
        points = np.random.default_rng(SEED).permutation(points)[: options.points]
    if not 2 <= options.clusters <= len(points):
        sys.exit(
            f"{options.clusters} clusters of {len(points)} points: 2 are the least, and as many as points the most"
        )
    for side in ("client", "server", "shared"):
        (options.folder / side).mkdir(parents=True)
    np.savez(options.folder / "client" / "points.npz", points=points, clusters=options.clusters)


if __name__ == "__main__":
    main()
