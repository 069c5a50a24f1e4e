"""A Dask cluster on this machine: the same bytes as without one, though a worker is killed in the middle."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster
from sklearn.tree import DecisionTreeClassifier

from hippocrene import ArgumentError, EncryptedArray, Server
from hippocrene.distributed import Cluster
from hippocrene.models.trees import (
    PrivateDecisionTree,
    TreeClient,
    TreeKeys,
    TreeQuery,
    TreeReply,
    TreeServer,
)

pytestmark = pytest.mark.filterwarnings("ignore")
# Rows with the single feature of the tree.
SAMPLE = np.array([[0.0], [1.0]])


@pytest.fixture(scope="module")
def dask_client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as workers,
        DaskClient(workers) as client,
    ):
        yield client


def square(server: Server, x: EncryptedArray) -> EncryptedArray:
    loaded = server.load(x)
    return loaded * loaded


def square_unless_first(marker: Path, server: Server, x: EncryptedArray) -> EncryptedArray:
    """Kills the worker the first time that anyone calls it."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return square(server, x)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("killed")


def test_results_are_those_of_one_machine(dask_client, client, keys, tmp_path):
    values = [np.array([i, -1.5, 0.25 * i]) for i in range(6)]
    arrays = [client.encrypt(v, bound=8.0) for v in values]
    alone = Server(keys)
    expected = [square(alone, x).to_bytes() for x in arrays]
    seen = []
    with Cluster(dask_client, functools.partial(Server, keys)) as cluster:
        results = cluster.map(square, arrays, progress=lambda done, of: seen.append((done, of)))
        assert [y.to_bytes() for y in results] == expected
        assert seen == [(i + 1, 6) for i in range(6)]
        np.testing.assert_allclose(client.decrypt(results[3]), values[3] ** 2, atol=1e-5)

        # A worker is killed: the one that takes its place has the keys again.
        marker = tmp_path / "killed"
        results = cluster.map(functools.partial(square_unless_first, marker), arrays)
        assert marker.exists()
        assert [y.to_bytes() for y in results] == expected

        def fails(_: Server, number: int) -> int:
            return 1 // number

        with pytest.raises(ZeroDivisionError):
            cluster.map(fails, [1, 0, 2])
        assert cluster.map(square, []) == []
    cluster.close()
    with pytest.raises(ArgumentError, match="this cluster was closed"):
        cluster.map(square, arrays)


def noted(folder: Path, _: None, number: int) -> int:
    """Notes that it was called; the last one kills its worker, the first time."""
    calls = folder / f"call-{number}"
    first = not calls.exists()
    with calls.open("a") as notes:
        notes.write(".")
    if number == 9 and first:
        # Until all results are fetched.
        time.sleep(2)
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def prepared_in(folder: Path) -> None:
    (folder / f"prepared-{os.getpid()}").touch(exist_ok=False)


def test_a_worker_that_dies_costs_its_task(dask_client, tmp_path):
    with Cluster(dask_client, functools.partial(prepared_in, tmp_path)) as cluster:
        assert cluster.map(functools.partial(noted, tmp_path), range(10)) == [
            n * n for n in range(10)
        ]
    calls = {n: len((tmp_path / f"call-{n}").read_text()) for n in range(10)}
    assert calls == {**dict.fromkeys(range(9), 1), 9: 2}
    # Once on each of two workers, and on the one that took the place of one, if that was in time.
    assert len(list(tmp_path.glob("prepared-*"))) in {2, 3}


def tree_server(keys: TreeKeys, fitted: DecisionTreeClassifier, sample: np.ndarray) -> tuple:
    return PrivateDecisionTree.from_sklearn(fitted, sample, tables=keys.tables), TreeServer(keys)


def classify(prepared: tuple[PrivateDecisionTree, TreeServer], query: TreeQuery) -> TreeReply:
    model, server = prepared
    return model.evaluate(query, server)


def test_queries_to_trees_are_spread(dask_client):
    rows, known = np.array([[0.0], [0.2], [0.8], [1.0]]), np.array([0, 0, 1, 1])
    fitted = DecisionTreeClassifier(random_state=0).fit(rows, known)
    model = PrivateDecisionTree.from_sklearn(fitted, SAMPLE, tables="lut11")
    client = TreeClient.generate(model.interface)
    keys = client.evaluation_keys()
    queries = [client.encrypt_query(model.interface, row) for row in rows]
    with Cluster(dask_client, functools.partial(tree_server, keys, fitted, SAMPLE)) as cluster:
        replies = cluster.map(classify, queries)
    alone = tree_server(keys, fitted, SAMPLE)
    assert [reply.to_bytes() for reply in replies] == [
        classify(alone, query).to_bytes() for query in queries
    ]
    assert [client.decrypt(model.interface, reply)[0] for reply in replies] == known.tolist()


def test_what_is_no_cluster_is_refused(dask_client):
    def prepare() -> None:
        raise FileNotFoundError("evaluation.keys")

    with pytest.raises(FileNotFoundError, match=r"evaluation\.keys"):
        Cluster(dask_client, prepare)
    with pytest.raises(TypeError, match=r"distributed\.Client, not str"):
        Cluster("tcp://127.0.0.1:8786", list)
    with pytest.raises(TypeError, match="prepare is called"):
        Cluster(dask_client, 3)

    async def asynchronous() -> None:
        async with DaskClient(dask_client.scheduler.address, asynchronous=True) as awaited:
            Cluster(awaited, list)

    with pytest.raises(ArgumentError, match="asynchronous client must be awaited"):
        asyncio.run(asynchronous())


def generator(_: Server, x: EncryptedArray) -> object:
    return (one for one in [x])


def test_a_result_that_does_not_pickle_is_an_error(dask_client, client, keys):
    with Cluster(dask_client, functools.partial(Server, keys)) as cluster:
        with pytest.raises(TypeError, match="generator"):
            cluster.map(generator, [client.encrypt([1.0])])
        assert len(cluster.map(square, [client.encrypt([1.0])])) == 1


def plugins(dask_scheduler: object) -> list[str]:
    return [name for name in dask_scheduler.worker_plugins if name.startswith("hippocrene-")]  # type: ignore[attr-defined]


def there(path: Path) -> int:
    return path.stat().st_size


def first_of_prepared(prepared: int, item: int) -> tuple[int, int]:
    time.sleep(0.05)
    return prepared, item


def test_a_worker_that_cannot_prepare_says_why(tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(b"12345")
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as workers,
        DaskClient(workers) as dask_client,
    ):
        with Cluster(dask_client, functools.partial(there, path)) as cluster:
            assert cluster.map(first_of_prepared, [7]) == [(5, 7)]
            path.unlink()
            workers.scale(2)
            dask_client.wait_for_workers(2)
            with pytest.raises(FileNotFoundError, match="keys"):
                cluster.map(first_of_prepared, range(20))
        # Nobody is left with what could not be made anywhere.
        with pytest.raises(FileNotFoundError, match="keys"):
            Cluster(dask_client, functools.partial(there, path))
        assert dask_client.run_on_scheduler(plugins) == []
        # The error that left the context is told, not that there is no cluster any more.
        cluster = Cluster(dask_client, functools.partial(int, 3))
        with pytest.raises(ValueError, match="mine"):
            left_without_workers(cluster, dask_client)


def left_without_workers(cluster: Cluster[int], dask_client: DaskClient) -> None:
    with cluster:
        dask_client.close()
        raise ValueError("mine")
