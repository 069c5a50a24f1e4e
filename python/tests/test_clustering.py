"""K-means: what is refused, and once at real parameters, which takes half a minute and several GiB of memory."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster

from hippocrene import ArgumentError, Client, FormatError, Server, ShapeError
from hippocrene.clustering import SECTORS, EncryptedClusters, EncryptedKMeans
from hippocrene.distributed import Cluster

pytestmark = pytest.mark.filterwarnings("ignore")

SERVER = """
import os, sys
from hippocrene import EvaluationKeys, Server
from hippocrene.clustering import EncryptedClusters, EncryptedKMeans

folder = sys.argv[1]

def killed(done, total):
    if done == 1:
        os._exit(7)

server = Server(EvaluationKeys.load(folder + "/evaluation.keys"), threads=2)
points = EncryptedClusters.load(folder + "/points")
EncryptedKMeans(2, max_iter=2, tables="lut11").fit(points, server, checkpoint=folder + "/checkpoint", progress=killed)
"""


def points_of_two_clusters():
    random = np.random.default_rng(3)
    labels = np.arange(24) % 2
    return random.normal(scale=0.3, size=(24, 2)) + np.array([[5.0, 0.0], [7.0, 2.0]])[labels], labels


def test_clusters_of_points_and_a_run_that_was_killed(tmp_path, capsys):
    client = Client.generate("n15")
    points, labels = points_of_two_clusters()
    model = EncryptedKMeans(2, max_iter=2, init=points[:2], tables="lut11")
    keys = model.evaluation_keys(client, points.shape)
    keys.save(tmp_path / "evaluation.keys")
    sent = model.encrypt(client, points)
    assert (sent.shape, sent.n_clusters, sent.iteration, sent.has_points) == ((24, 2), 2, 0, True)
    sent.save(tmp_path / "points")

    # Killed after the first iteration. This process goes on from there, and beside it from the start.
    ran = subprocess.run([sys.executable, "-c", SERVER, str(tmp_path)], check=False)
    assert ran.returncode == 7
    assert EncryptedClusters.load(tmp_path / "checkpoint").iteration == 1
    server = Server(keys, threads=2)
    resumed = EncryptedKMeans(2, max_iter=2).fit(sent, server, checkpoint=tmp_path / "checkpoint").clusters_
    assert EncryptedClusters.load(tmp_path / "checkpoint").to_bytes() == resumed.to_bytes()
    with pytest.raises(ArgumentError, match="no keys of look-up tables"):
        server.load(client.encrypt([1.0, 2.0])).sort()
    assert model.fit(sent, server, progress=True) is model
    assert resumed.to_bytes() == model.clusters_.to_bytes()
    assert capsys.readouterr().out.count("of 2 iterations") == 3
    assert len(model.seconds_) == 2
    assert tuple(model.seconds_[0]) == SECTORS

    # Points assigned by workers, here of this process, which share the keys; test_distributed.py kills workers.
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as workers,
        DaskClient(workers) as dask_client,
        Cluster(dask_client, lambda: server) as cluster,
    ):
        spread = EncryptedKMeans(2, max_iter=2).fit(sent, server, cluster=cluster)
    assert spread.clusters_.to_bytes() == resumed.to_bytes()
    assert all(time > 0 for time in spread.seconds_[1].values())

    read = EncryptedKMeans(2).decrypt(client, resumed)
    assert read.labels_ is not None
    # Points are nearer to their centroids by 40 deviations of the index, and those of centres are 0.002 of 20 runs.
    assert (read.labels_ == labels).all()
    assert read.n_iter_ == 2
    means = np.array([points[labels == j].mean(axis=0) for j in range(2)])
    assert np.max(abs(read.cluster_centers_ - means)) < 0.1

    # From points that the server chooses, here those that the client did, the other way round.
    chosen = EncryptedKMeans(2, max_iter=1, init=[1, 0]).fit(sent, server).clusters_
    assert (read.decrypt(client, chosen).labels_ == 1 - labels).all()
    with pytest.raises(ArgumentError, match="0 to 23 are needed"):
        EncryptedKMeans(2, init=[0, 24]).fit(sent, server)

    start = EncryptedKMeans(2).decrypt(client, sent)
    assert start.labels_ is None
    assert np.max(abs(start.cluster_centers_ - points[:2])) < 1e-3
    with pytest.raises(ArgumentError, match="no points in this"):
        model.fit(resumed, server)
    with pytest.raises(ArgumentError, match="but the keys are for 24 points"):
        model.fit(model.encrypt(client, points[:20]), server)
    with pytest.raises(ArgumentError, match="the checkpoint is of"):
        model.fit(model.encrypt(client, points[:20]), server, checkpoint=tmp_path / "checkpoint")
    assert pickle.loads(pickle.dumps(resumed)).to_bytes() == resumed.to_bytes()


def test_what_is_not_possible_is_refused(client, server):
    points, _ = points_of_two_clusters()
    model = EncryptedKMeans(2)
    for wrong, error, match in (
        (lambda: EncryptedKMeans(2, max_iter=0), ArgumentError, "at least one iteration"),
        (lambda: model.encrypt(client, points[0]), ShapeError, "two axes"),
        (lambda: EncryptedKMeans(1).encrypt(client, points), ArgumentError, "two clusters and as many points"),
        (lambda: EncryptedKMeans(30).encrypt(client, points), ArgumentError, "24 points in 30 clusters"),
        (lambda: EncryptedKMeans(2, init="best").encrypt(client, points), ArgumentError, "'best'"),
        (lambda: EncryptedKMeans(2, init=points[:3]).encrypt(client, points), ShapeError, "where \\(2, 2\\) is needed"),
        (lambda: EncryptedKMeans(2, init=[0, 24]).encrypt(client, points), ArgumentError, "of 24 points"),
        (lambda: EncryptedKMeans(2, init=[0, 1, 2]).encrypt(client, points), ShapeError, "init is 3 points"),
        (lambda: model.evaluation_keys(server, (3, 2)), TypeError, "made by Client"),
        (lambda: model.fit(points, server), TypeError, "EncryptedClusters, not ndarray"),
        (lambda: EncryptedClusters(client.encrypt(points).to_bytes()), FormatError, "points being clustered"),
        (lambda: EncryptedClusters(b"nothing"), FormatError, "header"),
    ):
        with pytest.raises(error, match=match):
            wrong()
