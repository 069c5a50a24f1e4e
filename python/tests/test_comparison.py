"""Comparisons of encrypted numbers, which are approximate."""

from __future__ import annotations

import numpy as np
import pytest

from hippocrene import ArgumentError, Client, MissingKeyError, Server, simulate

PRECISION = 6
ERROR = 2.0**-PRECISION
GAP = 0.2
HOW = {"gap": GAP, "precision": PRECISION}


@pytest.fixture(scope="module")
def both():
    client = Client.generate("n15")
    return client, Server(client.evaluation_keys(rotations=[], conjugation=True), threads=2)


@pytest.fixture(scope="module")
def operands(both):
    """Numbers up to 1 that are not nearer to 0 than the gap, and others that are not nearer to them."""
    client, server = both
    x = np.concatenate([np.linspace(-1, -GAP, 20), np.linspace(GAP, 1, 20)])
    y = np.where(x > 0, x - 2 * GAP, x + 2 * GAP)
    return x, y, server.load(client.encrypt(x, bound=1)), server.load(client.encrypt(y, bound=1))


def off(result, expected):
    return np.max(np.abs(result - expected))


def test_functions_of_one(both, operands):
    client, _ = both
    x, _, a, _ = operands
    assert off(client.decrypt(a.sign(**HOW)), np.sign(x)) < ERROR
    assert off(client.decrypt(a.abs(**HOW)), np.abs(x)) < 1.5 * ERROR
    assert off(client.decrypt(a.relu(**HOW)), np.maximum(x, 0)) < 0.75 * ERROR


def test_functions_of_two(both, operands):
    client, _ = both
    x, y, a, b = operands
    assert off(client.decrypt(a.greater(b, **HOW)), x > y) < ERROR / 2
    assert off(client.decrypt(a.less(b, **HOW)), x < y) < ERROR / 2
    assert off(client.decrypt(a.maximum(b, **HOW)), np.maximum(x, y)) < 1.5 * ERROR
    assert off(client.decrypt(a.minimum(b, **HOW)), np.minimum(x, y)) < 1.5 * ERROR
    # With plain numbers.
    assert off(client.decrypt(a.maximum(0, **HOW)), np.maximum(x, 0)) < 0.75 * ERROR
    assert off(client.decrypt(a.minimum(y, **HOW)), np.minimum(x, y)) < 1.5 * ERROR


def test_operators_have_the_defaults(both, operands):
    client, _ = both
    x, y, a, b = operands
    half = 2.0**-11
    assert off(client.decrypt(a > b), x > y) < half
    assert off(client.decrypt(a < 0), x < 0) < half
    assert off(client.decrypt(y < a), y < x) < half
    assert off(client.decrypt(abs(a)), np.abs(x)) < 3 * half


def test_what_cannot_be_compared_is_refused(both, operands):
    client, server = both
    _, _, a, _ = operands
    with pytest.raises(ArgumentError, match="no order"):
        server.load(client.encrypt([1j])).sign()
    with pytest.raises(ArgumentError, match=r"^abs: .* \(x \* x\.conj\(\)\)\.real"):
        abs(server.load(client.encrypt([1j])))
    with pytest.raises(ArgumentError, match="1 to 40 bits"):
        a.sign(precision=50)
    with pytest.raises(ArgumentError, match="a gap of 2"):
        a.relu(gap=2)
    with pytest.raises(TypeError):
        a > "0"  # noqa: B015
    bare = Server(client.evaluation_keys(rotations=[]))
    with pytest.raises(MissingKeyError, match="conjugation=True"):
        bare.load(a).sign()


def test_gaps_are_wider_for_values_that_are_less_precise():
    values = np.linspace(-0.9, 0.9, 7)

    def bits_of(precision, gap=None):
        def program(x):
            return x.with_precision_bits(precision).sign(gap=gap)

        return simulate(program, values, preset="n15", bound=1.0).capacity_bits

    # Gaps of a 256th, a 128th, a 64th and a 32nd of the bound, and then none.
    precisions = (16, 15, 14, 13)
    gaps = [2.0**-k for k in (8, 7, 6, 5)]
    assert list(map(bits_of, precisions)) == list(map(bits_of, precisions, gaps))
    for precision, gap in ((12, None), (15, 2.0**-8)):
        with pytest.raises(ArgumentError, match=r"enough for a gap of .*: ask for that"):
            bits_of(precision, gap)
