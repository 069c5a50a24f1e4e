"""Products and sums of an array with itself, however the array is named."""

import numpy as np
import pytest

import hippocrene as hp

VALUES = np.random.default_rng(5).uniform(-1, 1, 4096)
SELVES = {
    "x*x": lambda x, _: (x * x, VALUES**2),
    "x*x.copy()": lambda x, _: (x * x.copy(), VALUES**2),
    "x*load(x)": lambda x, server: (x * server.load(x.to_bytes()), VALUES**2),
    "x*x.with_precision": lambda x, _: (x * x.with_precision(12), VALUES**2),
    "x*(x+1)": lambda x, _: (x * (x + 1), VALUES * (VALUES + 1)),
    "x*(-x)": lambda x, _: (x * -x, -(VALUES**2)),
    "x+x": lambda x, _: (x + x, 2 * VALUES),
    "x+x.copy()": lambda x, _: (x + x.copy(), 2 * VALUES),
    "x+load(x)": lambda x, server: (x + server.load(x.to_bytes()), 2 * VALUES),
    "x+2*x": lambda x, _: (x + 2 * x, 3 * VALUES),
    "(x+y)+x": lambda x, _: ((x + x * 0.5) + x, 2.5 * VALUES),
}


@pytest.fixture(scope="module")
def parties():
    client = hp.Client.generate("n14")
    return client, hp.Server(client.evaluation_keys(rotations=[]))


@pytest.mark.parametrize("name", SELVES)
def test_the_stated_deviation_of_an_array_with_itself_is_at_least_the_measured_one(parties, name):
    client, server = parties
    errors, stated = [], 0.0
    for _ in range(4):
        result, truth = SELVES[name](server.load(client.encrypt(VALUES)), server)
        errors.append(client.decrypt(result) - truth)
        stated = 2.0**-result.precision_bits
    measured = np.std(errors)
    # 16,384 errors: their deviation is known to 2 %. Rounding of the truth to doubles is far below.
    assert measured < 1.03 * stated
    assert measured > stated / 4


def test_a_product_of_an_array_with_itself_costs_a_square():
    def counts(program):
        return hp.simulate(program, VALUES, preset="n14").operations

    square = counts(lambda x: x * x)
    assert counts(lambda x: x * x.copy()) == square
    assert counts(lambda x: x**2)["switch keys"] == square["switch keys"]

    def at_12_bits(x):
        y = x.with_precision(12)
        return y * y

    for mixed in (lambda x: x * x.with_precision(12), lambda x: x.with_precision(12) * x):
        assert counts(mixed) == counts(at_12_bits)


@pytest.mark.parametrize("combine", [lambda x, y: x * y, lambda x, y: x + y])
def test_the_lower_precision_counts_whichever_operand_has_it(parties, combine):
    client, server = parties
    x = server.load(client.encrypt(VALUES))
    y = x.with_precision(12)
    for result in (combine(x, y), combine(y, x)):
        assert result.precision == 12
    assert combine(x, x.copy()).precision == x.precision
    declared = server.load(client.encrypt(VALUES, bound=8)).with_bound(1)
    wide = server.load(declared.to_bytes()).with_bound(8)
    assert combine(declared, declared.copy()).bound <= 2.01
    assert combine(wide, declared).bound == combine(declared, wide).bound
