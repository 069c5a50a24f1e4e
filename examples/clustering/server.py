"""The server clusters points that it cannot read.

It has the files that the client shared, and no secret key.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from settings import ITERATIONS
from steps import Steps

import hippocrene
from hippocrene.clustering import EncryptedClusters, EncryptedKMeans


def cluster(own: Path, shared: Path) -> None:
    """Iterate. A run that was killed continues from the checkpoint."""
    with Steps("server", 3) as steps:
        with steps.step("load the evaluation keys"):
            keys = hippocrene.EvaluationKeys.load(shared / "evaluation.keys")
            server = hippocrene.Server(keys, threads=os.cpu_count() or 1)
        with steps.step(f"{ITERATIONS} iterations"):
            points = EncryptedClusters.load(shared / "points")
            model = EncryptedKMeans(points.n_clusters, max_iter=ITERATIONS)
            model.fit(points, server, checkpoint=own / "checkpoint", progress=True)
        with steps.step("write the encrypted clusters"):
            model.clusters_.save(shared / "clusters")
        for part in model.seconds_[0]:
            total = sum(seconds[part] for seconds in model.seconds_)
            # In slots, nothing is extracted or repacked.
            if total > 0:
                print(f"server: of the iterations, {part}: {total:.2f} s")
        steps.wrote("encrypted clusters", shared / "clusters")
        steps.save(shared / "server.json")


if __name__ == "__main__":
    cluster(Path(sys.argv[1]), Path(sys.argv[2]))
