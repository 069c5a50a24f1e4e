"""BGV and BFV on the same arrays: by servers of either scheme, in one process and in several."""

from __future__ import annotations

import operator
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hippocrene

T = 65537
PLAIN = {"*": operator.mul, "+": operator.add, "-": operator.sub}

# A server that shares files only: of another scheme than the keys say.
PROCESS = """
import sys
from pathlib import Path
import hippocrene

folder, scheme = Path(sys.argv[1]), sys.argv[2]
server = hippocrene.Server(hippocrene.EvaluationKeys.load(folder / "keys")).with_scheme(scheme)
assert server.scheme == scheme
x, y = (server.load(folder / name) for name in ("square", "y"))
product = x * y + x
product.save(folder / "product")
print(x.budget_bits, product.budget_bits)
"""


@pytest.fixture(scope="module", params=["bgv", "bfv"])
def client(request) -> hippocrene.Client:
    return hippocrene.Client.generate("n13", scheme=request.param)


@pytest.fixture(scope="module")
def keys(client) -> hippocrene.EvaluationKeys:
    return client.evaluation_keys(rotations=[])


@pytest.fixture(scope="module")
def server(keys) -> hippocrene.Server:
    return hippocrene.Server(keys)


@pytest.fixture(scope="module")
def other(server) -> hippocrene.Server:
    """The server of the scheme that the keys do not say."""
    return server.with_scheme("bfv" if server.scheme == "bgv" else "bgv")


def test_servers_say_their_scheme(client, server, other):
    assert {server.scheme, other.scheme} == {"bgv", "bfv"}
    assert (server.scheme, other.with_scheme(server.scheme).scheme) == (
        client.scheme,
        client.scheme,
    )
    assert f"scheme={other.scheme!r}" in repr(other)
    assert (other.fingerprint, other.plain_modulus, other.rotations) == (
        server.fingerprint,
        T,
        server.rotations,
    )


def test_products_are_those_of_the_scheme(client, secret, server, other):
    """To the last bit: ciphertexts differ by scheme, and those of one scheme do not."""
    x = secret([3, -2])
    one, two = x * x, other.load(x) * other.load(x)
    assert one.to_bytes() != two.to_bytes()
    assert (x * x).to_bytes() == one.to_bytes()
    assert (other.with_scheme(server.scheme).load(x) ** 2).to_bytes() == one.to_bytes()
    for product in (one, two):
        assert client.decrypt(product, signed=True).tolist() == [9, 4]


def test_the_budget_stays_where_the_scheme_changes(client, secret, other):
    square = secret([7, -1]) ** 2
    moved = other.load(square)
    assert moved.budget_bits == square.budget_bits
    assert client.noise_budget(moved) == client.noise_budget(square) > square.budget_bits
    assert moved.to_bytes() == square.to_bytes()


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("*+-s")), min_size=1, max_size=5), st.data()
)
def test_programs_of_both_schemes_are_exact(client, server, other, steps, data):
    values = st.lists(st.integers(-(2**40), 2**40), min_size=3, max_size=3)
    x, y = (np.array(data.draw(values), dtype=object) for _ in range(2))
    a, b = client.encrypt(x, wrap=True), client.encrypt(y, wrap=True)
    for first, step in steps:
        on = server if first else other
        left, right = on.load(a), on.load(b)
        try:
            a = (
                on.sum_of_products([(left, right), (right, right)])
                if step == "s"
                else PLAIN[step](left, right)
            )
        except hippocrene.BudgetError:
            break
        x = (x * y + y * y if step == "s" else PLAIN[step](x, y)) % T
        assert client.decrypt(a).tolist() == (x % T).tolist()
        assert a.budget_bits <= client.noise_budget(a)


def test_servers_of_both_schemes_share_files_only(client, keys, secret, server, other, tmp_path):
    square = secret([5, -6]) * secret([5, -6])
    square.save(tmp_path / "square")
    client.encrypt([2, 3]).save(tmp_path / "y")
    keys.save(tmp_path / "keys")
    run = [sys.executable, "-c", PROCESS, str(tmp_path), other.scheme]
    told = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    loaded, left = map(float, told.split())
    product = server.load(tmp_path / "product")
    assert (loaded, left) == (square.budget_bits, product.budget_bits)
    assert product.budget_bits <= client.noise_budget(product)
    assert client.decrypt(product, signed=True).tolist() == [75, 144]
    assert client.decrypt(product * product).tolist() == [75**2, 144**2]


def test_programs_are_simulated_with_the_scheme_that_they_choose():
    def both(x):
        return x * x, x.server.with_scheme("bfv").load(x) * x

    bgv, bfv = (
        hippocrene.simulate(lambda x, i=i: both(x)[i], [1], preset="n13", scheme="bgv")
        for i in range(2)
    )
    alone = hippocrene.simulate(lambda x: x * x, [1], preset="n13", scheme="bfv")
    assert bfv.budget_bits == alone.budget_bits != bgv.budget_bits


def test_there_is_no_other_scheme(server):
    with pytest.raises(
        hippocrene.ParameterError, match='no scheme "ckks" for integers; there are bgv and bfv'
    ):
        server.with_scheme("ckks")
    numbers = hippocrene.Server(hippocrene.Client.generate("n12").evaluation_keys(rotations=[]))
    with pytest.raises(hippocrene.ArgumentError, match="have no plaintext modulus"):
        numbers.with_scheme("bgv")
