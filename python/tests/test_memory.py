"""The memory of servers: reported figures, the budget of all caches, and released memory."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import hippocrene
from hippocrene import ArgumentError, Server, cache_budget, set_cache_budget

SERVERS_THAT_GO = """
import gc
from pathlib import Path
import numpy as np
import hippocrene

def resident():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024

def compute():
    servers = []
    for _ in range(4):
        client = hippocrene.Client.generate("n14")
        server = hippocrene.Server(client.evaluation_keys(rotations=[-1]))
        x = server.load(client.encrypt(np.linspace(-1, 1, client.slots)))
        servers.append((client, server, x, (x * x).roll(1), x * x * x))
    return resident()

before = resident()
for _ in range(2):
    there = compute()
    gc.collect()
    print(there - before, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_memory_of_servers_that_are_gone_is_given_back():
    ran = subprocess.run(
        [sys.executable, "-c", SERVERS_THAT_GO], capture_output=True, text=True, check=True
    )
    for line in ran.stdout.splitlines():
        there, left = (float(mebibytes) for mebibytes in line.split())
        assert there > 150
        assert left < 0.5 * there


@pytest.fixture(scope="module")
def keys(client):
    return client.evaluation_keys(rotations=[])


@pytest.fixture
def budget():
    """Drop the caches of other tests, and return the rest, which belongs to their arrays."""
    limit = cache_budget()[1]
    set_cache_budget(0)
    before = cache_budget()[0]
    set_cache_budget(limit)
    yield before
    set_cache_budget(limit)


# An upper bound of the cached bytes of one fresh array.
ARRAY = 3 << 20


def powers(server, encrypted):
    """Compute far down, where keys are derived."""
    x = server.load(encrypted)
    for _ in range(5):
        x = x * x
    return x.to_bytes()


def cached(*servers):
    return sum(server.memory.derived_keys + server.memory.caches for server in servers)


def test_servers_say_what_memory_they_take(client, keys):
    server = Server(keys)
    memory = server.memory
    assert 0.5 * len(keys.to_bytes()) < memory.keys < 4 * len(keys.to_bytes())
    assert (memory.tables, memory.derived_keys, memory.caches) == (0, 0, 0)
    powers(server, client.encrypt(np.linspace(-1, 1, 20)).to_bytes())
    after = server.memory
    assert after.keys == memory.keys
    assert after.derived_keys == server.key_memory[0] > 0
    assert after.scratch > 0
    assert after.total == after.keys + after.derived_keys + after.caches + after.scratch
    assert "keys=" in repr(after)


def test_servers_stay_within_one_budget_together(client, keys, budget):
    encrypted = client.encrypt(np.linspace(-1, 1, 20)).to_bytes()
    one = Server(keys)
    result = powers(one, encrypted)
    each = cached(one)
    assert cache_budget()[0] == budget + each
    limit = budget + each + each // 2
    set_cache_budget(limit)
    servers, results, most = [Server(keys) for _ in range(3)], [], []

    def work(server):
        for _ in range(4):
            results.append(powers(server, encrypted))
            most.append(cache_budget()[0])

    threads = [threading.Thread(target=work, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [result] * 12
    assert len(most) == 12
    assert max(most) <= limit
    assert cached(one, *servers) == cache_budget()[0] - budget > 0


def test_servers_that_rest_make_room_for_those_that_work(client, keys, budget):
    encrypted = client.encrypt(np.linspace(-1, 1, 20)).to_bytes()
    resting, working = Server(keys), Server(keys)
    result = powers(resting, encrypted)
    each = cached(resting)
    limit = budget + each + ARRAY
    set_cache_budget(limit)
    for _ in range(4):
        assert powers(working, encrypted) == result
    assert cached(working) > 0
    assert cached(resting) < each
    assert cache_budget() == (budget + cached(resting, working), limit)
    set_cache_budget(0)
    assert cached(working) == 0
    assert powers(working, encrypted) == result
    assert cached(working) == 0


def test_servers_that_are_gone_leave_the_budget(client, keys, budget):
    powers(Server(keys), client.encrypt(np.linspace(-1, 1, 20)).to_bytes())
    assert cache_budget()[0] == budget


@pytest.mark.parametrize("limit", [-1, 2**63])
def test_budgets_that_cannot_be_are_refused(limit):
    with pytest.raises(ArgumentError, match="set_cache_budget: limit"):
        set_cache_budget(limit)
    assert hippocrene.cache_budget()[1] != limit


def test_the_budget_is_2_gibibytes_at_first():
    script = "import hippocrene; print(*hippocrene.cache_budget())"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["0", str(2 << 30)]
