"""Processes that are copied off one another, as multiprocessing and servers that fork do, and signals to them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hippocrene
from hippocrene.values.operands import big_array

client = server = None


def squares(values):
    array = server.load(client.encrypt(np.array(values)))
    return client.decrypt(array * array).tolist()


def test_servers_of_many_threads_go_on_in_copies_of_their_process():
    global client, server
    client = hippocrene.Client.generate("n13", threads=2)
    server = hippocrene.Server(client.evaluation_keys(rotations=[]), threads=2)
    assert np.allclose(squares([1.5, -2]), [2.25, 4], atol=1e-4)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        results = list(pool.map(squares, [[0.5, 1.0], [-0.5, 3.0]], timeout=60))
    assert np.allclose(results, [[0.25, 1], [0.25, 9]], atol=1e-4)
    assert np.allclose(squares([1.5, -2]), [2.25, 4], atol=1e-4)


@pytest.fixture
def interrupts():
    """Set Python's own handler, which processes that were started in the background have not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("interrupts")
def test_long_computations_end_at_a_signal(threads):
    client = hippocrene.Client.generate("n14", threads=threads)
    server = hippocrene.Server(client.evaluation_keys(rotations=[1, 2, 4]), threads=threads)
    x = server.load(client.encrypt(np.linspace(-1, 1, client.slots)))

    def work():
        for _ in range(10):
            server.sum_of_products([(x, x)] * 400)

    for program in (work, lambda: client.evaluation_keys(rotations=range(1, 4000))):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        start = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            program()
        # It would take a minute.
        assert time.monotonic() - start < 20
    assert abs(client.decrypt((x * x).roll(-1))[0] - (1 - 2 / (client.slots - 1)) ** 2) < 1e-4


def test_a_signal_while_text_is_read_is_not_lost():
    class EndedError(Exception):
        pass

    def end(*_):
        raise EndedError

    text = np.array([str(k) for k in range(400_000)])
    before = signal.signal(signal.SIGALRM, end)
    try:
        for _ in range(30):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(EndedError):
                big_array(text, "encrypt")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


SERVICE = """
import signal, sys, threading
import numpy as np
import hippocrene

client = hippocrene.Client.generate("n13")
server = hippocrene.Server(client.evaluation_keys(rotations=[]))
x = server.load(client.encrypt(np.ones(client.slots)))
stopped = hippocrene.CancelToken()

def end(*_):
    stopped.cancel()
    sys.exit(7)

def work():
    with stopped:
        server.sum_of_products([(x, x)] * 20_000)

if "handler" in sys.argv:
    signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
try:
    if "thread" in sys.argv:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    else:
        work()
finally:
    print("cleaned up", (x + x).shape == x.shape, flush=True)
"""

TERMINATED = -signal.SIGTERM


def terminated(command):
    """Return the exit status and the output of a process that has work of a minute, and gets SIGTERM."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            start = time.monotonic()
            process.terminate()
            status = process.wait(timeout=20)
            assert time.monotonic() - start < 1
            return status, process.stdout.read()
        finally:
            process.kill()


@pytest.mark.parametrize("where", ["main", "thread"])
def test_services_end_at_sigterm(where):
    assert terminated([sys.executable, "-c", SERVICE, where]) == (TERMINATED, "")


@pytest.mark.parametrize("where", ["main", "thread"])
def test_services_clean_up_at_sigterm(where):
    assert terminated([sys.executable, "-c", SERVICE, where, "handler"]) == (7, "cleaned up True\n")


@pytest.mark.parametrize("module", [True, False])
def test_the_command_ends_at_sigterm(module, tmp_path):
    hippocrene_command = Path(sys.executable).with_name("hippocrene")
    command = [sys.executable, "-m", "hippocrene"] if module else [hippocrene_command]
    rotations = "--rotations=" + ",".join(map(str, range(1, 4000)))
    keygen = [*command, "keygen", "--preset", "n15", rotations, "--quiet", "--output", tmp_path]
    script = 'echo ready; exec "$@"'
    assert terminated(["sh", "-c", script, "sh", *keygen]) == (TERMINATED, "")
    assert not (tmp_path / "evaluation.keys").exists()
