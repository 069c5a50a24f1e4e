from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np

import hippocrene


def test_long_calls_let_other_threads_run(client):
    """While evaluation keys are made in one thread, the others must go on."""
    done = threading.Event()

    def work():
        client.evaluation_keys()
        done.set()

    worker = threading.Thread(target=work)
    ticks, longest, last = 0, 0.0, time.perf_counter()
    worker.start()
    start = last
    while not done.is_set():
        time.sleep(0.001)
        now = time.perf_counter()
        longest, last, ticks = max(longest, now - last), now, ticks + 1
    worker.join()
    assert ticks > 10
    assert longest < 0.5 * (last - start)


def test_one_server_serves_many_threads(client, server):
    arrays = [np.linspace(-1, 1, 50) * k for k in range(6)]
    encrypted = [server.load(client.encrypt(array)) for array in arrays]
    results: dict[int, hippocrene.EncryptedArray] = {}

    def square(k):
        results[k] = encrypted[k] * encrypted[k]

    threads = [threading.Thread(target=square, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, array in enumerate(arrays):
        np.testing.assert_allclose(client.decrypt(results[k]), array * array, atol=1e-4)


def test_results_do_not_depend_on_key_memory(client, keys):
    encrypted = client.encrypt(np.linspace(-1, 1, 20))

    def compute(server):
        # Far down, where digits are coalesced.
        x = server.load(encrypted)
        for _ in range(5):
            x = x * x
        return x.to_bytes()

    without, plenty = hippocrene.Server(keys, key_memory=0), hippocrene.Server(keys)
    assert compute(without) == compute(plenty)
    assert without.key_memory == (0, 0)
    used, limit = plenty.key_memory
    assert 0 < used <= limit == 1 << 30


def test_results_do_not_depend_on_cache_memory(client, keys):
    encrypted = client.encrypt(np.linspace(-1, 1, 12).reshape(3, 4))
    matrix = np.arange(20.0).reshape(4, 5)
    without, plenty = hippocrene.Server(keys, cache_memory=0), hippocrene.Server(keys)
    assert (without.cache_memory, plenty.cache_memory) == ((0, 0), (0, 1 << 30))
    results = [(server.load(encrypted) @ matrix).to_bytes() for server in (without, plenty, plenty)]
    assert results[0] == results[1] == results[2]
    np.testing.assert_allclose(
        client.decrypt(hippocrene.EncryptedArray.from_bytes(results[2])),
        client.decrypt(encrypted) @ matrix,
        atol=1e-4,
    )
    used, _ = plenty.cache_memory
    assert without.cache_memory == (0, 0)
    assert used > len(encrypted.to_bytes())


def test_what_is_kept_of_an_array_goes_with_it(client, keys):
    server = hippocrene.Server(keys)
    x = server.load(client.encrypt([1.0, 2.0]))
    first = (x + x).to_bytes()
    used, _ = server.cache_memory
    assert used > 0
    assert (x + x).to_bytes() == first
    assert server.cache_memory[0] == used
    del x
    assert server.cache_memory[0] == 0


def test_more_threads_give_the_same_result(client, keys, server):
    encrypted = client.encrypt(np.arange(20.0))
    both = [s.load(encrypted) for s in (server, hippocrene.Server(keys, threads=2))]
    first, second = ((x * x).sum().to_bytes() for x in both)
    assert first == second


SMALL_STACK = """
import sys, threading
import numpy as np
import hippocrene

client = hippocrene.Client.generate("n13")
server = hippocrene.Server(client.evaluation_keys())
x = server.load(client.encrypt(np.arange(8.0) / 8))
results = []
threading.stack_size(256 << 10)
thread = threading.Thread(target=lambda: results.append((x * x) @ np.ones(8)))
thread.start()
thread.join()
sys.exit(0 if abs(client.decrypt(results[0]) - np.sum((np.arange(8.0) / 8) ** 2)) < 1e-4 else 1)
"""


def test_threads_need_little_stack():
    assert subprocess.run([sys.executable, "-c", SMALL_STACK]).returncode == 0
