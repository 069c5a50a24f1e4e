"""The client encrypts points for the server and reads the clusters.

The secret key stays in the client's folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from settings import ITERATIONS, PRESET, SEED
from steps import Steps

import hippocrene
from hippocrene.clustering import EncryptedClusters, EncryptedKMeans


def ask(own: Path, shared: Path) -> None:
    """Make keys, and write evaluation keys and encrypted points for the server."""
    with np.load(own / "points.npz") as asked:
        points, clusters = asked["points"], int(asked["clusters"])
    model = EncryptedKMeans(clusters, max_iter=ITERATIONS, random_state=SEED)
    with Steps("client", 3) as steps:
        with steps.step("make the secret key"):
            client = hippocrene.Client.generate(PRESET)
            client.save(own / "client.key")
        with steps.step("make and write the evaluation keys"):
            model.evaluation_keys(client, points.shape).save(shared / "evaluation.keys")
        with steps.step(f"encrypt {points.shape[0]} points of {points.shape[1]} numbers"):
            model.encrypt(client, points).save(shared / "points")
        steps.wrote("evaluation keys", shared / "evaluation.keys")
        steps.wrote("encrypted points", shared / "points")
        steps.save(own / "ask.json")


def read(own: Path, shared: Path) -> None:
    """Decrypt centroids and labels."""
    with Steps("client", 1) as steps:
        with steps.step("decrypt centroids and labels"):
            client = hippocrene.Client.load(own / "client.key")
            clusters = EncryptedClusters.load(shared / "clusters")
            read = EncryptedKMeans(clusters.n_clusters).decrypt(client, clusters)
        np.savez(own / "clusters.npz", labels=read.labels_, centers=read.cluster_centers_)
        steps.save(own / "read.json")


if __name__ == "__main__":
    {"ask": ask, "read": read}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
