"""K-means on encrypted points: runs a client and a server that share only the files of one folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from settings import ITERATIONS, SEED
from sklearn.cluster import KMeans

from hippocrene.clustering import EncryptedKMeans

HERE = Path(__file__).parent
# Processes are run, and what they measured is shown, as there.
sys.path.append(str(HERE.parent / "demo"))

from processes import play  # noqa: E402

# The share of points that has to be where plaintext puts them; those about as near to two centroids
# may not be.
LEAST = 0.9


def report(folder: Path) -> bool:
    """Print what came out, and return whether enough points are in the clusters that scikit-learn puts them in."""
    asked, ours = (
        np.load(folder / "client" / "points.npz"),
        np.load(folder / "client" / "clusters.npz"),
    )
    points, clusters = asked["points"], int(asked["clusters"])
    start = EncryptedKMeans(clusters, random_state=SEED).start(points)
    # One iteration is one assignment and one move of the centroids; labels are those of before the
    # last move.
    plain = KMeans(
        clusters, init=start, n_init=1, max_iter=ITERATIONS, tol=0.0, algorithm="lloyd"
    ).fit(points)
    same = ours["labels"] == plain.labels_
    nearest = ((points[:, None] - ours["centers"]) ** 2).sum(axis=2).argmin(axis=1)
    inertia = [
        ((points - centers[labels]) ** 2).sum()
        for centers, labels in ((ours["centers"], nearest), (plain.cluster_centers_, plain.labels_))
    ]

    print()
    print(f"points in the cluster that scikit-learn puts them in  {same.sum()} of {same.size}")
    print(f"inertia, encrypted      {inertia[0]:.2f}")
    print(f"inertia, scikit-learn   {inertia[1]:.2f}")
    print(
        f"centroids differ by     {np.abs(ours['centers'] - plain.cluster_centers_).max():.3f} at most"
    )
    # Of points that somebody chose, nothing is known before.
    return bool(same.mean() >= LEAST) or len(sys.argv) > 2


if __name__ == "__main__":
    play(HERE, "points.py", report, "the encrypted clusters disagree with the plaintext ones")
