"""Processes that are copied off one another, as multiprocessing and servers that fork do."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import hippocrene

client = server = None


def squares(values):
    array = server.load(client.encrypt(np.array(values)))
    return client.decrypt(array * array).tolist()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_servers_of_many_threads_go_on_in_copies_of_their_process():
    global client, server
    client = hippocrene.Client.generate("n13", threads=2)
    server = hippocrene.Server(client.evaluation_keys(rotations=[]), threads=2)
    assert np.allclose(squares([1.5, -2]), [2.25, 4], atol=1e-4)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        results = list(pool.map(squares, [[0.5, 1.0], [-0.5, 3.0]], timeout=60))
    assert np.allclose(results, [[0.25, 1], [0.25, 9]], atol=1e-4)
    assert np.allclose(squares([1.5, -2]), [2.25, 4], atol=1e-4)
