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


def test_comparisons_follow_numpy_at_ties():
    values, limits = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])

    def program(x, y):
        return [
            x > y,
            x >= y,
            x < 2,
            x <= 2,
            np.less(x, 2),
            np.greater_equal(limits, x),
            x.less(2, at_ties=0.5),
        ]

    results = simulate(program, values, limits, preset="n15", bound=4).result
    expected = [
        values > 2,
        values >= 2,
        values < 2,
        values <= 2,
        values < 2,
        values <= 2,
        [1, 0.5, 0],
    ]
    for result, truth in zip(results, expected, strict=True):
        assert off(result, np.asarray(truth, float)) < 2.0**-11
    with pytest.raises(
        ArgumentError, match=r"^less: at_ties is 0\.25: equal values give 0, 0\.5 or 1"
    ):
        simulate(lambda x: x.less(2, at_ties=0.25), values, preset="n15", bound=4)


def test_counts_of_integers_are_those_of_numpy():
    ages = np.random.default_rng(5).integers(0, 101, 400)
    ages[:20] = 25
    for gap in (None, 1):

        def program(x, gap=gap):
            return [x.greater(25, gap=gap).sum(), x.greater(25, gap=gap, at_ties=1).sum()]

        results = simulate(program, ages, preset="n15", bound=100).result
        assert [round(float(count)) for count in results] == [np.sum(ages > 25), np.sum(ages >= 25)]


def test_answers_that_follow_from_intervals_cost_nothing(both):
    client, server = both
    values = np.array([0.5, 1.25, 1.75])
    x = server.load(client.encrypt(values, interval=(0, 2)))
    for result, truth in (
        (np.clip(x, -100, 100), values),
        (np.clip(x, None, 2), values),
        (abs(x), values),
        (x.maximum(0), values),
        (np.minimum(x, 3), values),
        (x > 3, [0, 0, 0]),
        (x >= 0, [1, 1, 1]),
        (np.sign(x + 1), [1, 1, 1]),
        (x * 0 > 0, [0, 0, 0]),
        (np.where(x < 5, x, 7), values),
    ):
        assert off(client.decrypt(result), np.asarray(truth)) < 1e-3
    for result in (np.clip(x, -1, 2), x > 3, abs(x), x >= 0):
        assert result.capacity_bits > x.capacity_bits - 1


def test_values_below_their_noise_are_not_compared():
    def program(x):
        return (x * 1e-6).with_precision_bits(14) > 0

    with pytest.raises(
        ArgumentError, match=r"^greater: no value exceeds 1\.0e-6, but only .*Scale the values up"
    ):
        simulate(program, [1.0, -0.5], preset="n15", bound=1)


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
    for precision, gap in ((12, None), (12, 2.0**-8)):
        with pytest.raises(ArgumentError, match=r"enough for a gap of .*: ask for that"):
            bits_of(precision, gap)
