"""K-means: errors, and one run at real parameters, in half a minute with several GiB of memory."""

from __future__ import annotations

import functools
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster
from sklearn.base import clone

import hippocrene as hp
from hippocrene import (
    ArgumentError,
    CapacityError,
    Client,
    EncodeError,
    EvaluationKeys,
    FormatError,
    MissingKeyError,
    ParameterError,
    Server,
    ShapeError,
)
from hippocrene.distributed import Cluster
from hippocrene.models.clustering import SECTORS, EncryptedClusters, EncryptedKMeans
from hippocrene.models.lloyd import frame, lloyd, reciprocal

# Tests that hold many gigabytes follow one another.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("large")]

SAVER = """
import sys
from hippocrene.models.clustering import EncryptedClusters

clusters = [EncryptedClusters.load(path) for path in sys.argv[1:3]]
print("begun", flush=True)
while True:
    for one in clusters:
        one.save(sys.argv[3])
"""


class KilledError(Exception):
    """Stops a run where a kill would."""


def killed(done: int, _: int) -> None:
    """Let one iteration be made, and no more."""
    if done == 1:
        raise KilledError


def served(path: Path) -> Server:
    """Make the server of a worker from a file of keys that all workers share."""
    return Server(EvaluationKeys.load(path))


def written_whole(folder: Path, *clusters: EncryptedClusters) -> None:
    """Kill processes that keep writing a file, and check that it is always one complete array."""
    paths = [folder / f"clusters-{i}" for i in range(len(clusters))]
    for one, path in zip(clusters, paths, strict=True):
        one.save(path)
    for _ in range(3):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVER, *paths, folder / "killed"], stdout=subprocess.PIPE
        )
        assert saver.stdout is not None
        assert saver.stdout.readline() == b"begun\n"
        time.sleep(0.2)
        saver.kill()
        assert saver.wait() == -signal.SIGKILL
        saver.stdout.close()
        assert EncryptedClusters.load(folder / "killed").to_bytes() in {
            one.to_bytes() for one in clusters
        }


def points_of_two_clusters():
    random = np.random.default_rng(3)
    labels = np.arange(24) % 2
    return random.normal(scale=0.3, size=(24, 2)) + np.array([[5.0, 0.0], [7.0, 2.0]])[
        labels
    ], labels


def test_clusters_of_points_and_a_run_that_was_killed(tmp_path, capsys):
    client = Client.generate("n15")
    points, labels = points_of_two_clusters()
    model = EncryptedKMeans(2, max_iter=2, init=points[:2], tables="lut11")
    keys = model.evaluation_keys(client, points.shape)
    keys.save(tmp_path / "keys")
    server = Server(keys, threads=2)
    sent = model.encrypt(client, points)
    assert (sent.shape, sent.n_clusters, sent.iteration, sent.has_points) == ((24, 2), 2, 0, True)

    # Stopped after the first iteration; another run goes on from there, and one beside it from the
    # start.
    with pytest.raises(KilledError):
        EncryptedKMeans(2, max_iter=2).fit(
            sent, server, checkpoint=tmp_path / "checkpoint", progress=killed
        )
    first = EncryptedClusters.load(tmp_path / "checkpoint")
    assert first.iteration == 1
    resumed = (
        EncryptedKMeans(2, max_iter=2)
        .fit(sent, server, checkpoint=tmp_path / "checkpoint")
        .clusters_
    )
    assert EncryptedClusters.load(tmp_path / "checkpoint").to_bytes() == resumed.to_bytes()
    written_whole(tmp_path, first, resumed)
    with pytest.raises(MissingKeyError, match="no keys of look-up tables"):
        server.load(client.encrypt([1.0, 2.0])).sort()
    assert model.fit(sent, server, progress=True) is model
    assert resumed.to_bytes() == model.clusters_.to_bytes()
    assert capsys.readouterr().out.count("of 2 iterations") == 3
    assert len(model.seconds_) == 2
    assert tuple(model.seconds_[0]) == SECTORS

    # New points with the same keys. They are fewer than the clustered ones, and two of them are
    # farther out.
    new = np.array([[5.0, 0.0], [7.1, 2.1], [3.0, -2.0], [99.0, 0.0], [6.9, 1.7]])
    reader = EncryptedKMeans(2, tables="lut11")
    new_sent = reader.encrypt_new(client, new, resumed)

    # Points assigned by workers, which are processes of their own; test_distributed.py kills
    # workers.
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as workers,
        DaskClient(workers) as dask_client,
        Cluster(dask_client, functools.partial(served, tmp_path / "keys")) as cluster,
    ):
        spread = EncryptedKMeans(2, max_iter=1).fit(sent, server, cluster=cluster)
        elsewhere = model.predict(new_sent, cluster=cluster)
    assert elsewhere.to_bytes() == model.predict(new_sent, server).to_bytes()
    assert spread.clusters_.to_bytes() == first.to_bytes()
    assert all(time > 0 for time in spread.seconds_[0].values())

    read = EncryptedKMeans(2).decrypt(client, resumed)
    assert read.labels_ is not None
    # Points are nearer to their centroids by 40 deviations of the index, and those of centres are
    # 0.002 of 20 runs.
    assert (read.labels_ == labels).all()
    assert read.n_iter_ == 2
    means = np.array([points[labels == j].mean(axis=0) for j in range(2)])
    assert np.max(abs(read.cluster_centers_ - means)) < 0.1

    assert (new_sent.shape, new_sent.has_points, new_sent.iteration) == ((5, 2), True, 2)
    new_sent.save(tmp_path / "new")
    with pytest.raises(AttributeError, match="fit sets clusters_"):
        EncryptedKMeans(2).predict(new_sent, server)
    predicted = model.predict(EncryptedClusters.load(tmp_path / "new"), server)
    assert (predicted.shape, predicted.has_points) == ((5, 2), False)
    assert reader.decrypt(client, predicted).labels_.tolist() == [0, 1, 0, 1, 1]
    np.testing.assert_array_equal(reader.cluster_centers_, read.cluster_centers_)
    other = EncryptedKMeans(2)
    other.clusters_ = first
    for wrong, match in (
        (lambda: other.predict(new_sent, server), "the points were encrypted for other clusters"),
        (lambda: model.predict(sent, server), "the first operand has no new points"),
        (lambda: model.fit(new_sent, server), "these are new points. Use predict"),
        (
            lambda: reader.encrypt_new(client, points[[0] * 25], resumed),
            "1 to 24 points are possible at one time",
        ),
        (
            lambda: reader.encrypt_new(client, [[0.0, 0.0], [1e200, 0.0]], resumed),
            "point 1 lies so far out",
        ),
    ):
        with pytest.raises(ArgumentError, match=match):
            wrong()
    for shape in ((0, 2), (3, 3)):
        with pytest.raises(ShapeError, match=r"where \(samples, 2\) is needed"):
            reader.encrypt_new(client, np.zeros(shape), resumed)

    # From points that the server chooses, here those that the client did, the other way round.
    chosen = EncryptedKMeans(2, max_iter=1, init=[1, 0]).fit(sent, server).clusters_
    assert (read.decrypt(client, chosen).labels_ == 1 - labels).all()
    with pytest.raises(ArgumentError, match="0 to 23 are needed"):
        EncryptedKMeans(2, init=[0, 24]).fit(sent, server)

    start = EncryptedKMeans(2).decrypt(client, sent)
    assert start.labels_ is None
    assert np.max(abs(start.cluster_centers_ - points[:2])) < 1e-3
    with pytest.raises(ArgumentError, match="hold no points"):
        model.fit(resumed, server)
    with pytest.raises(ArgumentError, match="but the keys are for 24 points"):
        model.fit(model.encrypt(client, points[:20]), server)
    with pytest.raises(FileNotFoundError, match="no such folder for the checkpoint"):
        model.fit(sent, server, checkpoint=tmp_path / "nowhere" / "checkpoint")
    with pytest.raises(TypeError, match=r"hippocrene\.distributed\.Cluster, not str"):
        model.predict(new_sent, cluster="tcp://127.0.0.1:8786")
    with pytest.raises(TypeError, match="EvaluationKeys"):
        model.predict(new_sent)
    with pytest.raises(TypeError, match=r"hippocrene\.distributed\.Cluster, not str"):
        model.fit(sent, server, cluster="tcp://127.0.0.1:8786")
    with pytest.raises(
        ArgumentError, match=r"the checkpoint .*checkpoint belongs to EncryptedClusters\(shape="
    ):
        model.fit(model.encrypt(client, points[:20]), server, checkpoint=tmp_path / "checkpoint")
    # A checkpoint of another run is none of this one, though it is of as many points and clusters.
    for other in (model.encrypt(client, points + 1.0), model.encrypt(client, points)):
        with pytest.raises(
            ArgumentError, match="checkpoint belongs to other points, or to another encryption"
        ):
            model.fit(other, server, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ArgumentError, match=r"with other centroids than init=\[1, 0\]"):
        EncryptedKMeans(2, max_iter=2, init=[1, 0]).fit(
            sent, server, checkpoint=tmp_path / "checkpoint"
        )
    with pytest.raises(ArgumentError, match="has 2 iterations, more than max_iter=1"):
        EncryptedKMeans(2, max_iter=1).fit(sent, server, checkpoint=tmp_path / "checkpoint")
    sent.save(tmp_path / "sent")
    with pytest.raises(ArgumentError, match="is not a checkpoint of fit"):
        model.fit(sent, server, checkpoint=tmp_path / "sent")
    assert (
        EncryptedKMeans(2, max_iter=2)
        .fit(sent, server, checkpoint=tmp_path / "checkpoint")
        .seconds_
        == []
    )
    assert pickle.loads(pickle.dumps(resumed)).to_bytes() == resumed.to_bytes()


def test_a_run_is_simulated():
    points, labels = points_of_two_clusters()
    model = EncryptedKMeans(2, max_iter=2, init=points[:2], tables="lut11")
    told = model.simulate(points)
    assert told.labels is not None
    assert (told.labels == labels).all()
    means = np.array([points[labels == j].mean(axis=0) for j in range(2)])
    assert np.max(abs(told.cluster_centers - means)) < 0.1
    # In each iteration one for each point, and one for each cluster's reciprocal.
    assert told.operations["look up"][0] == 2 * (24 + 2)
    assert told.peak_memory > told.key_bytes > 5e8
    assert 1 < told.seconds < 100
    with pytest.raises(ShapeError, match="points are the rows"):
        model.simulate([1.0, 2.0])
    # New points, with the keys of the others and without iterations.
    new = model.simulate_predict(points, [[5.0, 0.0], [7.1, 2.1], [99.0, 0.0]])
    assert new.labels.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(new.cluster_centers, told.cluster_centers)
    assert new.operations["look up"][0] == 3
    assert new.seconds < told.seconds / 2
    assert new.key_bytes > 5e8
    with pytest.raises(ShapeError, match=r"shape \(1, 3\), where \(samples, 2\) is needed"):
        model.simulate_predict(points, [[1.0, 2.0, 3.0]])


def test_clusters_in_slots_and_a_run_that_was_killed(tmp_path):
    client = Client.generate("n15")
    points, labels = points_of_two_clusters()
    model = EncryptedKMeans(2, max_iter=2, init=points[:2])
    keys = model.evaluation_keys(client, points.shape)
    keys.save(tmp_path / "keys")
    server = served(tmp_path / "keys")
    sent = model.encrypt(client, points)
    with pytest.raises(KilledError):
        model.fit(sent, server, checkpoint=tmp_path / "checkpoint", progress=killed)
    resumed = model.fit(sent, server, checkpoint=tmp_path / "checkpoint").clusters_
    assert resumed.to_bytes() == model.fit(sent, keys).clusters_.to_bytes()
    assert model.seconds_[0]["repacking"] == 0 < model.seconds_[0]["look-ups"]
    read = model.decrypt(client, resumed)
    assert (read.labels_ == labels).all()
    means = np.array([points[labels == j].mean(axis=0) for j in range(2)])
    assert np.max(abs(read.cluster_centers_ - means)) < 0.1
    new = model.encrypt_new(client, [[5.0, 0.0], [7.1, 2.1], [99.0, 0.0]], resumed)
    assert model.decrypt(client, model.predict(new, server)).labels_.tolist() == [0, 1, 1]
    assert read.n_iter_ == 2
    for_tables = EncryptedKMeans(2, init=points[:2], tables="lut11").encrypt(client, points)
    with pytest.raises(
        ArgumentError,
        match=r"encrypted for look-up tables, .* encrypt the points with the same tables=",
    ):
        model.fit(for_tables, server)


def test_a_run_in_slots_is_simulated():
    # Many points, so that look-ups of single values take longer on every machine.
    points, labels = (np.concatenate([part] * 4) for part in points_of_two_clusters())
    told = EncryptedKMeans(2, max_iter=2, init=[0, 1]).simulate(points)
    assert (told.labels == labels).all()
    means = np.array([points[labels == j].mean(axis=0) for j in range(2)])
    assert np.max(abs(told.cluster_centers - means)) < 0.1
    assert "look up" not in told.operations
    assert list(told.seconds_by_method) == ["slots", "lut12"]
    assert told.seconds == told.seconds_by_method["slots"]
    assert told.seconds < told.seconds_by_method["lut12"]
    assert "time with lut12" in told._repr_html_()
    # Small presets have no bootstraps, and no tables either.
    with pytest.raises(ParameterError):
        EncryptedKMeans(2).simulate(points, preset="n13")


def test_what_is_not_possible_is_refused(client, server):
    points, _ = points_of_two_clusters()
    model = EncryptedKMeans(2)
    for wrong, error, match in (
        (lambda: EncryptedKMeans(2, max_iter=0), ArgumentError, "at least one iteration"),
        (
            lambda: EncryptedKMeans(2, max_iter=2.5),
            TypeError,
            "k-means: max_iter is an integer, not float",
        ),
        (lambda: model.encrypt(client, points[0]), ShapeError, "two axes"),
        (
            lambda: EncryptedKMeans(1).encrypt(client, points),
            ArgumentError,
            "in 1 clusters: at least 2 clusters",
        ),
        (
            lambda: model.encrypt(client, points[:1]),
            ArgumentError,
            "1 points cannot form n_clusters=2 clusters",
        ),
        (
            lambda: model.evaluation_keys(client, (1, 2)),
            ArgumentError,
            "1 points of dimension 2 in 2 clusters",
        ),
        (
            lambda: model.encrypt(client, [[1.0, 2.0], [3.0, np.nan]]),
            ArgumentError,
            "nan in row 1, column 1",
        ),
        (
            lambda: EncryptedKMeans(2, init=[[0.0, np.inf], [0, 1]]).encrypt(client, points),
            ArgumentError,
            "init hold inf",
        ),
        (lambda: EncryptedKMeans(2).clusters_, AttributeError, "fit sets clusters_"),
        (lambda: EncryptedKMeans(2).labels_, AttributeError, "decrypt sets labels_"),
        (
            lambda: EncryptedKMeans(2).set_params(k=3),
            ArgumentError,
            "no parameter 'k'; there are n_clusters",
        ),
        (
            lambda: EncryptedKMeans(2).set_params(max_iter=0),
            ArgumentError,
            "at least one iteration",
        ),
        (
            lambda: EncryptedKMeans(30).encrypt(client, points),
            ArgumentError,
            "24 points cannot form n_clusters=30 clusters",
        ),
        (lambda: EncryptedKMeans(2, init="best").encrypt(client, points), ArgumentError, "'best'"),
        (
            lambda: EncryptedKMeans(2, init=[[1j, 0], [0, 1]]).start(points),
            TypeError,
            "k-means: init takes doubles",
        ),
        (
            lambda: EncryptedKMeans(2, init=[["a", "b"]] * 2).start(points),
            TypeError,
            "k-means: init takes doubles",
        ),
        (
            lambda: EncryptedKMeans(2, init=None).start(points),
            TypeError,
            "k-means: init takes doubles",
        ),
        (
            lambda: EncryptedKMeans(2, init=[[1.0, 0.0], [0.0]]).start(points),
            ShapeError,
            "k-means: init",
        ),
        (
            lambda: EncryptedKMeans(2, init=[[10**400, 0], [0, 1]]).start(points),
            EncodeError,
            "k-means: init",
        ),
        (
            lambda: EncryptedKMeans(2, init=np.ma.array([0, 1], mask=[1, 0])).start(points),
            TypeError,
            "k-means: init takes no masked arrays",
        ),
        (
            lambda: EncryptedKMeans(2, random_state=-1).start(points),
            ArgumentError,
            "k-means: random_state is -1",
        ),
        (
            lambda: EncryptedKMeans(2, random_state="a").start(points),
            TypeError,
            "k-means: random_state is 'a'",
        ),
        (
            lambda: EncryptedKMeans(2, tables=3).simulate(points),
            TypeError,
            "tables is text, not int",
        ),
        (
            lambda: model.evaluation_keys(client, 3),
            TypeError,
            r"a shape is \(samples, features\), not int",
        ),
        (
            lambda: model.evaluation_keys(client, (3, 2.0)),
            TypeError,
            "a length of a shape is an integer, not float",
        ),
        (
            lambda: EncryptedKMeans(2, init=points[:3]).encrypt(client, points),
            ShapeError,
            "where \\(2, 2\\) is needed",
        ),
        (
            lambda: EncryptedKMeans(2, init=[0, 24]).encrypt(client, points),
            ArgumentError,
            "the points have the indices 0 to 23",
        ),
        (
            lambda: EncryptedKMeans(2, init=[0, 1, 2]).encrypt(client, points),
            ShapeError,
            "init names 3 points",
        ),
        (lambda: model.evaluation_keys(server, (3, 2)), TypeError, "made by Client"),
        (
            lambda: model.evaluation_keys(client, (3,)),
            ShapeError,
            r"shape \(3,\), not \(samples, features\)",
        ),
        (lambda: model.evaluation_keys(client, (-3, 2)), ShapeError, r"shape \(-3, 2\)"),
        (lambda: model.encrypt(client, points * 1j), TypeError, "k-means"),
        (lambda: model.encrypt(client, [["one", "two"]] * 3), TypeError, "k-means"),
        (lambda: model.fit(points, server), TypeError, "EncryptedClusters, not ndarray"),
        (
            lambda: EncryptedClusters(client.encrypt(points).to_bytes()),
            FormatError,
            "points being clustered",
        ),
        (lambda: EncryptedClusters(b"nothing"), FormatError, "not a Hippocrene file"),
    ):
        with pytest.raises(error, match=match):
            wrong()


def test_points_of_any_size_have_a_start():
    points, _ = points_of_two_clusters()
    random = EncryptedKMeans(3, random_state=1)
    start = random.start(points)
    for scale in (2.0**1000, 2.0**-1000):
        np.testing.assert_array_equal(random.start(points * scale), start * scale)
    simulated = EncryptedKMeans(2, max_iter=1, tables="lut11").simulate(points.astype(object))
    assert simulated.labels is not None


def test_it_is_cloned_as_estimators_are():
    model = EncryptedKMeans(3, max_iter=7, init=[0, 1, 2], random_state=4, tables="lut13")
    copy = clone(model)
    assert copy is not model
    assert (
        copy.get_params()
        == model.get_params()
        == {
            "n_clusters": 3,
            "max_iter": 7,
            "init": [0, 1, 2],
            "random_state": 4,
            "tables": "lut13",
        }
    )
    assert model.set_params(max_iter=2, init="random") is model
    assert (model.max_iter, model.init, model.n_clusters) == (2, "random", 3)
    assert not hasattr(model, "labels_")


def test_a_scale_that_leaves_nothing_of_the_points_is_told():
    client = Client.generate("n15")
    points, _ = points_of_two_clusters()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EncryptedKMeans(2, init=points[:2]).encrypt(client, points)
        EncryptedKMeans(2, random_state=1).encrypt(client, points)
    far = [[5.0, 0.0], [500.0, 500.0]]
    with pytest.warns(UserWarning, match="for a centroid of init, and .* for the median point"):
        EncryptedKMeans(3, init=[*points[:2], far[1]]).encrypt(client, points)
    with pytest.warns(UserWarning, match=r"about \d\d% of the points .* That is .*, for a point"):
        EncryptedKMeans(3, init=[0, 1, 23]).encrypt(client, np.vstack([points[:-1], far[1:]]))
    with pytest.warns(
        UserWarning, match="Choose centroids nearer to the points and farther from each other"
    ):
        EncryptedKMeans(2, init=[points[0], points[0] + 1e-3]).encrypt(client, points)


def test_near_clusters_are_warned_of_without_tables() -> None:
    rows = np.array([[-0.1, 0.0], [-0.12, 0.0], [0.1, 0.0], [0.12, 0.0], [0.0, 1.0], [0.0, -1.0]])
    near = EncryptedKMeans(2, init=rows[[0, 2]], max_iter=1)
    with pytest.warns(
        UserWarning, match=r"two initial centroids are 0\.2 apart, and clusters nearer"
    ):
        near.simulate(rows)
    far = EncryptedKMeans(2, init=rows[[4, 5]], max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far.simulate(rows)


def lloyd_of_numpy(points, centres, iterations):
    """Return the centroids and the nearest of them for each point, without encryption."""
    for _ in range(iterations):
        labels = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        means = [points[labels == j].mean(axis=0) for j in range(len(centres))]
        centres = np.array(means)
    return centres, ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


def clusters_apart(samples, features, clusters):
    """Return points around corners of a cube that are far from the borders of clusters."""
    random = np.random.default_rng(clusters)
    corners = [[(j >> axis) % 2 for axis in range(3)] for j in range(clusters)]
    middles = np.array(corners) * 4.0
    if features == 1:
        middles = np.arange(clusters)[:, None] * 3.0
    middles = np.pad(middles, ((0, 0), (0, max(0, features - middles.shape[1]))))[:, :features]
    return middles[np.arange(samples) % clusters] + random.uniform(-0.5, 0.5, (samples, features))


@pytest.mark.parametrize(
    ("samples", "features", "clusters"), [(20, 1, 2), (150, 4, 3), (90, 3, 4), (60, 5, 6)]
)
def test_a_program_computes_the_centroids_of_lloyds_algorithm(samples, features, clusters):
    points = clusters_apart(samples, features, clusters)
    model = EncryptedKMeans(clusters, max_iter=2, init=list(range(clusters)))
    inputs = model.encode(points)
    function = lloyd(clusters, 2)
    result = hp.simulate(
        function,
        *inputs,
        bound=0.75,
        preset="n15",
        precision=18,
        bootstrapping=hp.Bootstrapping(precision=10.5),
    ).result
    read = model.decode(points, result)
    centres, labels = lloyd_of_numpy(points, points[:clusters], 2)
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1).max()
    assert np.abs(read.cluster_centers_ - centres).max() < 0.01 * radius
    assert (read.labels_ == labels).all()
    assert read.n_iter_ == 2


def test_a_program_of_k_means_runs_on_encrypted_points(tmp_path):
    points, labels = points_of_two_clusters()
    model = EncryptedKMeans(2, max_iter=1, init=points[:2])
    program = model.compile(points.shape)
    assert program.bootstraps == 0
    assert list(program.inputs) == ["points", "start"]
    program.save(tmp_path / "program")
    interface = program.interface()
    client = Client.generate(interface)
    server = Server(client.evaluation_keys(interface))
    sent = client.encrypt(interface, *model.encode(points))
    reply = server.run(hp.Program.load(tmp_path / "program"), *sent)
    read = model.decode(points, client.decrypt(reply))
    centres, _ = lloyd_of_numpy(points, points[:2], 1)
    assert np.abs(read.cluster_centers_ - centres).max() < 0.03
    assert (read.labels_ == labels).all()


def test_steps_of_empty_clusters_are_short():
    for clusters in (2, 3, 6):
        inverse = reciprocal(clusters, 0.75)
        sizes = np.linspace(1 / (4 * clusters), 1, 50) * 0.75
        assert np.abs(sizes * inverse(sizes) - 1).max() <= 0.02
        small = np.linspace(0, 0.75 / (4 * clusters), 50)
        assert (small * inverse(small)).min() >= 0
        assert (small * inverse(small)).max() <= 1.02


def test_inputs_of_a_program_lie_in_a_ball():
    points, _ = points_of_two_clusters()
    for factor in (1.0, 1e-300, 1e300):
        encoded, start = EncryptedKMeans(2, init=[0, 1]).encode(points * factor)
        norms = np.linalg.norm(encoded[:, 0], axis=1)
        assert norms.max() <= 2 / 3
        assert norms.max() > 0.66
        np.testing.assert_array_equal(encoded[:2, 1], start)
    assert frame(np.ones((3, 2)), np.ones((2, 2)))[1] > 0


def test_programs_of_k_means_refuse_wrong_arguments():
    points, _ = points_of_two_clusters()
    model = EncryptedKMeans(2, init=[0, 1])
    for wrong, error, match in (
        (lambda: EncryptedKMeans(1).compile((9, 2)), ArgumentError, "n_clusters is 1"),
        (lambda: model.compile((1, 2)), ArgumentError, "there are 1 points with 2 features"),
        (lambda: model.compile((9, 0)), ArgumentError, "with 0 features"),
        (lambda: model.compile(9), TypeError, r"a shape is \(samples, features\)"),
        (lambda: model.compile((9, 2), preset="n13"), CapacityError, "greater needs"),
        (
            lambda: EncryptedKMeans(2, tables="lut12").compile((9, 2)),
            ArgumentError,
            "has no look-up tables",
        ),
        (lambda: model.encode([[np.nan, 1.0], [0.0, 1.0]]), ArgumentError, "nan in row 0"),
        (
            lambda: model.encode([[1.7e308, 0.0], [-1.7e308, 0.0]]),
            ArgumentError,
            "in a larger unit",
        ),
        (
            lambda: EncryptedKMeans(30).encode(points),
            ArgumentError,
            "24 points cannot form n_clusters=30",
        ),
        (lambda: model.decode(points, np.zeros((3, 2))), ShapeError, r"\(2, 2\) is needed"),
        (
            lambda: model.decode(points, np.full((2, 2), np.nan)),
            ArgumentError,
            "the results of a program hold nan in centroid 0, column 0",
        ),
    ):
        with pytest.raises(error, match=match):
            wrong()
