"""Write a folder for each side, with points for the client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from data import add_options, load
from settings import CLUSTERS, SEED


def main() -> None:
    """Give the client points (by default 150 flowers of four measurements each)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder for all files")
    parser.add_argument(
        "--clusters",
        type=int,
        default=CLUSTERS,
        help=f"the number of clusters (default: {CLUSTERS})",
    )
    parser.add_argument(
        "--points", type=int, default=150, help="the maximum number of points (default: 150)"
    )
    add_options(parser, "every column is a coordinate")
    options = parser.parse_args()
    points = load(options, classified=False).rows
    if options.csv is not None or options.data != "iris":
        # The features have different units.
        spread = points.std(axis=0)
        points = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if len(points) > options.points:
        points = np.random.default_rng(SEED).permutation(points)[: options.points]
    if not 2 <= options.clusters <= len(points):
        sys.exit(
            f"{options.clusters} clusters of {len(points)} points: from 2 to the number of points "
            "are possible"
        )
    for side in ("client", "server", "shared"):
        (options.folder / side).mkdir(parents=True)
    np.savez(options.folder / "client" / "points.npz", points=points, clusters=options.clusters)


if __name__ == "__main__":
    main()
