"""K-means on encrypted points, by a client and a server that share only the files of one folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from settings import ITERATIONS, SEED
from sklearn.cluster import KMeans

from hippocrene.clustering import EncryptedKMeans

HERE = Path(__file__).parent
# Running processes and printing their measurements is shared with that example.
sys.path.append(str(HERE.parent / "demo"))

from processes import play  # noqa: E402

# The share of points that must be in the same cluster as in plaintext. Points that are nearly as
# close to another centroid may differ.
MIN_EQUAL_SHARE = 0.9


def report(folder: Path) -> bool:
    """Print the results, and return True if enough points are in scikit-learn's clusters."""
    asked, ours = (
        np.load(folder / "client" / "points.npz"),
        np.load(folder / "client" / "clusters.npz"),
    )
    points, clusters = asked["points"], int(asked["clusters"])
    start = EncryptedKMeans(clusters, random_state=SEED).start(points)
    # One iteration is an assignment and a move of the centroids. The labels are those before the
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
    distance = np.abs(ours["centers"] - plain.cluster_centers_).max()
    print(f"centroids differ by     {distance:.3f} at most")
    # For points that a user chose, no share is required.
    return bool(same.mean() >= MIN_EQUAL_SHARE) or len(sys.argv) > 2


if __name__ == "__main__":
    play(HERE, "points.py", report, "the encrypted clusters disagree with the plaintext ones")
