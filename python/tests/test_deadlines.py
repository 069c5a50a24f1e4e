"""Deadlines and cancel tokens, in every thread, and what comes after them."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hippocrene
from hippocrene import (
    ArgumentError,
    Cancelled,
    CancelToken,
    DeadlineExceeded,
    HippocreneError,
    deadline,
)


@pytest.fixture(scope="module")
def x(client, server):
    return server.load(client.encrypt(np.linspace(-1, 1, client.slots)))


def short_operations(x):
    """Operations of milliseconds, one after the other, for half a minute if nothing ends them."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        x + x


def long_sum(x):
    """One call of half a minute."""
    x.server.sum_of_products([(x, x)] * 20_000)


def many_keys(x):
    """One call of a minute."""
    hippocrene.Client.generate(x.server.preset).evaluation_keys(rotations=range(1, 4000))


def here(work):
    work()


def elsewhere(work):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


@pytest.mark.parametrize("work", [short_operations, long_sum, many_keys])
@pytest.mark.parametrize("run", [here, elsewhere])
def test_work_ends_at_its_deadline(client, x, work, run):
    def within():
        with deadline(0.2):
            work(x)

    start = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"0\.2 s") as raised:
        run(within)
    assert 0.2 <= time.monotonic() - start < 2
    assert isinstance(raised.value, TimeoutError)
    assert isinstance(raised.value, HippocreneError)
    assert client.decrypt(x * x)[0] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("work", [short_operations, long_sum, many_keys])
@pytest.mark.parametrize("run", [here, elsewhere])
def test_another_thread_cancels_work(client, x, work, run):
    token = CancelToken()

    def within():
        with token:
            work(x)

    timer = threading.Timer(0.2, token.cancel)
    start = time.monotonic()
    timer.start()
    with pytest.raises(Cancelled):
        run(within)
    assert time.monotonic() - start < 2
    assert token.cancelled
    with token, pytest.raises(Cancelled):
        x + x
    assert client.decrypt(x * x)[0] == pytest.approx(1, abs=1e-4)


def test_helping_threads_end_too(client, keys):
    server = hippocrene.Server(keys, threads=3)
    many = server.load(client.encrypt(np.linspace(-1, 1, 12 * client.slots)))
    start = time.monotonic()
    with pytest.raises(DeadlineExceeded), deadline(0.2):
        server.sum_of_products([(many, many)] * 5000)
    assert time.monotonic() - start < 2
    assert client.decrypt(many * many)[0] == pytest.approx(1, abs=1e-4)


def test_one_token_ends_the_work_of_several_threads_and_of_no_others(client, x):
    token, ended = CancelToken(), []

    def within():
        try:
            with token:
                short_operations(x)
        except Cancelled:
            ended.append(True)

    threads = [threading.Thread(target=within) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert client.decrypt(x + x)[0] == pytest.approx(-2, abs=1e-4)
    token.cancel()
    for thread in threads:
        thread.join(5)
    assert ended == [True] * 3
    assert client.decrypt(x + x)[0] == pytest.approx(-2, abs=1e-4)


def test_the_earliest_deadline_counts(client, x):
    with deadline(30):
        with pytest.raises(DeadlineExceeded, match=r"0\.1 s"), deadline(0.1):
            short_operations(x)
        assert client.decrypt(x + x)[0] == pytest.approx(-2, abs=1e-4)
    with pytest.raises(DeadlineExceeded, match=r"0\.1 s"), deadline(0.1), deadline(30):
        short_operations(x)
    with pytest.raises(DeadlineExceeded), CancelToken(), deadline(0.1):
        short_operations(x)
    outer, inner = CancelToken(), CancelToken()
    with outer, inner, outer:
        inner.cancel()
        with pytest.raises(Cancelled):
            x + x
    with outer:
        x + x


def test_deadlines_of_no_time_end_what_begins(client, x):
    with deadline(0), pytest.raises(DeadlineExceeded):
        x + x
    with deadline(0), pytest.raises(DeadlineExceeded):
        client.encrypt([1.0])
    x + x


def test_tasks_take_deadlines_to_their_threads(client, x):
    async def request():
        with deadline(0.1):
            await asyncio.to_thread(short_operations, x)

    async def both():
        quick = asyncio.to_thread(lambda: client.decrypt(x + x)[0])
        return await asyncio.gather(request(), quick, return_exceptions=True)

    ended, result = asyncio.run(both())
    assert isinstance(ended, DeadlineExceeded)
    assert result == pytest.approx(-2, abs=1e-4)


@pytest.mark.parametrize("seconds", [-1, np.nan, np.inf, 1e300])
def test_times_that_cannot_be_waited_for_are_refused(seconds):
    with pytest.raises(ArgumentError, match="deadline"), deadline(seconds):
        pass


def test_deadlines_are_numbers():
    with pytest.raises(TypeError, match="a deadline is a number"), deadline("1"):
        pass
