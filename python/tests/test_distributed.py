"""A Dask cluster on this machine: the same bytes as without one, though a worker is killed in the middle."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster
from sklearn.tree import DecisionTreeClassifier

import hippocrene
from hippocrene import ArgumentError, EncryptedArray, Server
from hippocrene.distributed import Cluster, parts
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


def test_parameters_of_programs_reach_the_workers(dask_client: DaskClient) -> None:
    program = hippocrene.compile(
        lambda x, weights: x * weights,
        hippocrene.spec(4, bound=1),
        parameters={"weights": hippocrene.spec(4, bound=2)},
        preset="n13",
    )
    interface = program.interface()
    client = hippocrene.Client.generate(interface)
    keys = client.evaluation_keys(interface)
    x, weights = client.encrypt(interface, np.ones(4)), np.array([2, -1, 0.5, 0])
    with Cluster(dask_client, functools.partial(Server, keys)) as cluster:
        result = cluster.run(program, x, parameters={"weights": weights})
        with pytest.raises(hippocrene.ArgumentError, match="no parameters are given"):
            cluster.run(program, x)
    np.testing.assert_allclose(client.decrypt(result), weights, atol=program.error_bound)


def test_programs_run_in_parts_with_the_same_bytes(dask_client: DaskClient) -> None:
    weights = np.linspace(-1, 1, 64).reshape(8, 8) / 8

    def branches(x: Any, y: Any) -> Any:
        left, right = x @ weights, np.tanh(y @ weights)
        return left * right, right.sum()

    rows = np.linspace(-1, 1, 64).reshape(8, 8)
    program = hippocrene.compile(
        branches, *(hippocrene.spec((8, 8), bound=1) for _ in range(2)), preset="n14"
    )
    interface = program.interface()
    client = hippocrene.Client.generate(interface)
    keys = client.evaluation_keys(interface)
    inputs = client.encrypt(interface, rows, rows.T)
    alone = Server(keys).run(program, *inputs)
    done: list[tuple[int, int]] = []
    with Cluster(dask_client, functools.partial(Server, keys)) as cluster:
        results = cluster.run(program, *inputs, progress=lambda *told: done.append(told))
        with pytest.raises(
            hippocrene.ArgumentError, match="1 input is given, and the program takes 2"
        ):
            cluster.run(program, inputs[0])
        with pytest.raises(hippocrene.ShapeError, match="the input x is"):
            cluster.run(program, client.encrypt(np.ones(3), bound=1), inputs[1])
    count = len(parts(program))
    assert count >= 3
    assert done == [(i + 1, count) for i in range(count)]
    assert [one.to_bytes() for one in results] == [one.to_bytes() for one in alone]
    for result, expected in zip(results, branches(rows, rows.T), strict=True):
        np.testing.assert_allclose(client.decrypt(result), expected, atol=program.error_bound)


def test_a_killed_worker_costs_its_parts_only() -> None:
    def deep(x: Any) -> Any:
        for _ in range(4):
            x = np.tanh(x) * 0.5 + x * x * 0.25
        return x

    program = hippocrene.compile(deep, hippocrene.spec(64, bound=1), preset="n15", precision=14)
    interface = program.interface()
    client = hippocrene.Client.generate(interface)
    keys = client.evaluation_keys(interface)
    x = client.encrypt(interface, np.linspace(-1, 1, 64))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as workers,
        DaskClient(workers) as client_of_dask,
        Cluster(client_of_dask, functools.partial(Server, keys)) as cluster,
    ):
        processes = client_of_dask.run(os.getpid)

        def kill_one(done: int, _: int) -> None:
            if done == 3:
                os.kill(next(iter(processes.values())), signal.SIGKILL)

        result = cluster.run(program, x, progress=kill_one)
        assert set(client_of_dask.run(os.getpid).values()) != set(processes.values())
    assert np.abs(client.decrypt(result) - deep(np.linspace(-1, 1, 64))).max() < 0.01
