"""Bootstrapping once at real parameters. This needs a minute and several GiB of memory."""

from __future__ import annotations

import numpy as np
import pytest

import hippocrene
from hippocrene import (
    ArgumentError,
    Bootstrapping,
    Client,
    EvaluationKeys,
    MissingKeyError,
    Server,
    simulate,
)

pytestmark = pytest.mark.xdist_group("large")


def test_servers_bootstrap_where_capacity_lacks(tmp_path):
    client = Client.generate("n16s", precision=24)
    said = client.describe_bootstrapping(Bootstrapping(precision=24))
    assert (said.precision, said.bound, said.log2_failure_probability) == (24, 1, None)
    values = np.linspace(-1, 1, client.slots)
    # Deeper than the modulus: 1 - 1.5 x^2, over and over.
    depth = int(said.capacity_after / 30)

    def fresh(x):
        return x.server.bootstrap(x)

    def deep(x):
        for _ in range(depth):
            x = (1 - 1.5 * x**2).with_bound(1)
        return x

    simulation = simulate(
        lambda x: deep(fresh(x)),
        values,
        preset="n16s",
        precision=24,
        bootstrapping=Bootstrapping(precision=24),
    )
    keys = client.evaluation_keys(for_=simulation)
    keys.save(tmp_path / "evaluation.keys")
    assert 0.9 < (tmp_path / "evaluation.keys").stat().st_size / said.key_bytes < 1.1
    del keys
    server = Server(EvaluationKeys.load(tmp_path / "evaluation.keys"), threads=2)

    assert (server.bootstrapping, server.tables, server.bits) == (True, None, False)
    assert len(server.rotations) > 10
    x = fresh(server.load(client.encrypt(values)))
    assert server.bootstraps == 1
    assert abs(x.capacity_bits - said.capacity_after) < 4
    assert x.precision_bits > 23
    assert np.std(client.decrypt(x) - values) < 2**-23

    x, values = deep(x), simulation.result
    assert server.bootstraps == simulation.bootstraps > 1
    assert x.capacity_bits == simulation.capacity_bits
    assert abs(x.precision_bits - simulation.precision_bits) < 0.1
    assert np.std(client.decrypt(x) - values) < 2**-10

    turned = server.bootstrap(server.load(client.encrypt(1j * np.ones(3))))
    assert np.abs(client.decrypt(turned) - 1j).max() < 2**-20
    with pytest.raises(ArgumentError, match="with_bound"):
        server.bootstrap(server.load(client.encrypt(np.ones(3), bound=2.0**20)))


def test_arrays_of_few_elements_take_fewer_keys_and_less_time():
    client = Client.generate("n15", precision=14)
    few = Bootstrapping(slots=32)
    said, of_all = client.describe_bootstrapping(few), client.describe_bootstrapping()
    assert (said.slots, of_all.slots, of_all.iterations) == (32, client.slots, 1)
    assert said.key_bytes < 0.7 * of_all.key_bytes
    server = Server(client.evaluation_keys([1, 2, 4, 8, 16], bootstrapping=few), threads=2)
    values = np.linspace(-1, 1, 20)
    x = server.load(client.encrypt(values))
    factors = np.resize([0.99, -0.98], 20)
    for _ in range(25):
        x, values = x * factors, values * factors
    assert server.bootstraps > 0
    assert np.std(client.decrypt(x) - values) < 2**-8
    assert abs(client.decrypt(x.sum()) - values.sum()) < 0.1
    with pytest.raises(
        ArgumentError,
        match="the array takes 33 slots, and the bootstrapping keys are for the first 32",
    ):
        server.bootstrap(server.load(client.encrypt(np.zeros(33))))


def test_more_precision_than_one_bootstrap_has_takes_several():
    client = Client.generate("n16s", precision=50)
    said = client.describe_bootstrapping(Bootstrapping(precision=50))
    assert (said.precision, said.iterations) == (50, 2)
    assert said.capacity_after > said.capacity_needed + 100
    server = Server(
        client.evaluation_keys(rotations=[], bootstrapping=Bootstrapping(precision=50)), threads=2
    )
    values = np.linspace(-1, 1, client.slots)
    x = server.load(client.encrypt(values))

    def error(x):
        return float(np.log2(np.std(client.decrypt(x, dtype=np.longdouble) - values)))

    assert abs(-error(x) - x.precision_bits) < np.log2(1.5)
    x = server.bootstrap(x)
    assert server.bootstraps == 2
    assert x.capacity_bits > said.capacity_after - 4
    assert x.precision_bits > 50
    assert abs(-error(x) - x.precision_bits) < 1


def test_less_capacity_takes_less_time():
    said = Client.generate("n16s").describe_bootstrapping()
    assert repr(said).endswith(", log2_failure_probability=None)")

    def bootstrapped(capacity):
        def program(x):
            return x.server.bootstrap(x, capacity=capacity)

        return simulate(program, np.linspace(-1, 1, 100), preset="n16s", bootstrapping=True)

    full = bootstrapped(None)
    assert full.capacity_bits >= said.capacity_after - 4

    def seconds_of(simulation):
        # Matrices are encoded once for each capacity, for moduli that have more or less to encode.
        return simulation.seconds - simulation.operations["encode"][1]

    seconds = [seconds_of(full)]
    assert bootstrapped(said.capacity_needed).seconds < 0.85 * full.seconds
    for capacity in (said.capacity_after - 8, 300, said.capacity_needed, np.float64(100), 64):
        less = bootstrapped(capacity)
        assert capacity <= less.capacity_bits < capacity + 40
        assert less.precision_bits > full.precision_bits - 0.5
        assert less.bootstraps == 1
        seconds.append(seconds_of(less))
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] < 0.8 * seconds[0]
    for wrong, words in (
        (said.capacity_after + 1, "bootstraps with these keys restore at most"),
        (0, "a positive number is possible, up to"),
        (float("nan"), "NaN bits of capacity"),
    ):
        with pytest.raises(ArgumentError, match=words):
            bootstrapped(wrong)
    with pytest.raises(TypeError):
        bootstrapped("300")


def test_what_is_not_possible_is_refused(client, server):
    with pytest.raises(
        hippocrene.ParameterError,
        match=r"at the ring degree.*presets n15s, n15, n16s, n16, n17s and n17",
    ):
        client.evaluation_keys(bootstrapping=True)
    for asked in ((), (True,)):
        with pytest.raises(hippocrene.ParameterError, match=r"at the ring degree.*n16s"):
            client.describe_bootstrapping(*asked)
    with pytest.raises(ArgumentError, match="there is nothing to describe"):
        client.describe_bootstrapping(False)
    with pytest.raises(ArgumentError, match="bootstrapping can only be used for numbers"):
        Client.generate("n12", scheme="bgv", plain_modulus=65537).describe_bootstrapping()
    array = server.load(client.encrypt([1.0]))
    with pytest.raises(MissingKeyError, match="no bootstrapping keys"):
        server.bootstrap(array)
    assert server.bootstraps == 0
    for wrong in (
        lambda: client.evaluation_keys(bootstrapping=1),
        lambda: client.describe_bootstrapping(1),
        lambda: server.bootstrap([1.0]),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ArgumentError, match="24 slots: a power of two up to"):
        client.describe_bootstrapping(Bootstrapping(slots=24))
    with pytest.raises(ArgumentError, match="a bound of -1"):
        client.describe_bootstrapping(Bootstrapping(bound=-1))


def test_last_operations_may_use_up_all_capacity():
    """A polynomial right after a bootstrap, which leaves too little for another one."""
    polynomial = hippocrene.approximate(np.tanh, domain=(-1, 1), degree=15)
    values = np.linspace(-1, 1, 64)

    def kept(x):
        return polynomial(x.server.bootstrap(x))

    def last(x):
        y = x.server.bootstrap(x)
        with x.server.finishing():
            return polynomial(y)

    by_default, finished = (
        hippocrene.simulate(
            program, values, preset="n15", precision=14, bound=1, bootstrapping=True
        )
        for program in (kept, last)
    )
    needed = hippocrene.Client.generate("n15", precision=14).describe_bootstrapping(True)
    # One before the polynomial, and one of a power within it.
    assert by_default.bootstraps == 2
    assert by_default.capacity_bits >= needed.capacity_needed
    assert finished.bootstraps == 1
    assert 0 < finished.capacity_bits < needed.capacity_needed
    np.testing.assert_allclose(finished.result, np.tanh(values), atol=polynomial.error + 1e-9)


def test_finishing_keeps_the_precision_that_was_asked_for():
    precisions = []

    def program(x):
        with x.server.at_precision(12), x.server.finishing():
            precisions.append((x * x).precision)
        with x.server.finishing(), x.server.at_precision(12):
            precisions.append((x * x).precision)
        precisions.append((x * x).precision)
        return x

    hippocrene.simulate(program, np.ones(4), preset="n15", precision=20, bootstrapping=True)
    assert precisions == [12, 12, 20]


def test_two_ciphertexts_share_a_bootstrap():
    def seconds(count):
        values = np.zeros(count)
        simulation = simulate(
            lambda x: x.server.bootstrap(x), values, bound=1, preset="n15", bootstrapping=True
        )
        assert simulation.bootstraps == -(-count // 2**15)
        return simulation.seconds

    one, two, three = (seconds(count * 2**14) for count in (1, 2, 3))
    assert one < two < 1.5 * one
    assert two < three < one + two


def test_tables_of_one_array_share_a_bootstrap():
    indices = np.arange(100) % 4

    def one_hot(x):
        low = x.server.bootstrap(x, capacity=140)
        return low.entries_of(np.eye(4))

    simulation = simulate(one_hot, indices, interval=(0, 3), preset="n16s", bootstrapping=True)
    assert simulation.bootstraps == 2
    assert np.abs(simulation.result - np.eye(4)[indices]).max() < 2**-10
