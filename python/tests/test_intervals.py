"""Intervals of arrays: declared, checked at encryption, propagated by operations, stored in files."""

from __future__ import annotations

import numpy as np
import pytest

import hippocrene
from hippocrene import ArgumentError, Client, EncryptedArray, Server

X = np.array([[2.0, 5.0, 3.5], [4.0, 2.25, 2.0]])
Y = np.array([[-1.0, 0.5, 0.25], [0.0, -0.75, 1.0]])
KERNEL = np.array([1.0, -2.0, 0.5])
MATRIX = np.array([[1.0, -1.0], [0.0, 2.0], [0.5, 0.25]])

# A name, the operation, and the interval that follows from [2, 5] and [-1, 1].
OPERATIONS = {
    "add": (lambda x, y: x + y, (1, 6)),
    "twice": (lambda x, _: x + x, (4, 10)),
    "sub": (lambda x, y: x - y, (1, 6)),
    "negate": (lambda x, _: -x, (-5, -2)),
    "multiply": (lambda x, y: x * y, (-5, 5)),
    "square": (lambda x, _: x * x, (4, 25)),
    "square_of_both_signs": (lambda _, y: y * y, (0, 1)),
    "power": (lambda _, y: y**3, (-1, 1)),
    "even_power": (lambda x, _: x**4, (16, 625)),
    "add_number": (lambda x, _: x - 10, (-8, -5)),
    "multiply_by_a_number": (lambda x, _: x * -0.3, (-1.5, -0.6)),
    "divide": (lambda x, _: x / 3, (2 / 3, 5 / 3)),
    "add_plain": (lambda x, _: x + Y, (1, 6)),
    "multiply_plain": (lambda x, _: x * Y, (-5, 5)),
    "sum": (lambda x, _: x.sum(), (12, 30)),
    "sum_along_an_axis": (lambda x, _: x.sum(axis=0), (4, 10)),
    "mean": (lambda x, _: x.mean(axis=1), (2, 5)),
    "cumsum": (lambda x, _: np.cumsum(x, axis=1), (2, 15)),
    "transpose": (lambda x, _: x.T, (2, 5)),
    "row": (lambda x, _: x[1], (2, 5)),
    "reversed": (lambda x, _: x[:, ::-1], (2, 5)),
    "roll": (lambda x, _: np.roll(x, 1, axis=1), (2, 5)),
    "broadcast": (lambda x, _: np.broadcast_to(x[0], (4, 3)), (2, 5)),
    "concatenate": (lambda x, y: np.concatenate([x, y]), (-1, 5)),
    "padding": (lambda x, _: np.pad(x, 1), (0, 5)),
    "matrix_product": (lambda x, _: x @ MATRIX, (-0.5 + 1.5 - 0.5 - 1.0, 7.5 + 2.0)),
    "dot": (lambda x, _: x @ KERNEL, (2 - 10 + 1, 5 - 4 + 2.5)),
    "encrypted_product": (lambda x, y: x @ y.T, (-15, 15)),
    "convolve": (lambda x, _: np.convolve(x[0], KERNEL), (-10, 7.5)),
    "polynomial": (
        lambda x, _: x.polynomial([1.0, 0.0, 1.0]) if isinstance(x, EncryptedArray) else x**2 + 1,
        (5, 26),
    ),
}


@pytest.fixture(scope="module")
def arrays(client, server):
    loaded = (
        server.load(client.encrypt(X, interval=(2, 5))),
        server.load(client.encrypt(Y, interval=(-1, 1))),
    )
    assert [array.interval for array in loaded] == [(2, 5), (-1, 1)]
    return loaded


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_propagate_intervals(client, arrays, name):
    operation, (low, high) = OPERATIONS[name]
    result, truth = operation(*arrays), np.asarray(operation(X, Y))
    decrypted = client.decrypt(result)
    np.testing.assert_allclose(decrypted, truth, atol=1e-3)
    have = result.interval
    # Every value lies in it, and it is no wider than the operation makes it (a matrix product may
    # be).
    assert have[0] - 1e-6 <= truth.min()
    assert truth.max() <= have[1] + 1e-6
    slack = {"polynomial": 0.3, "matrix_product": 5.0}.get(name, 1e-6)
    assert low - slack <= have[0]
    assert have[1] <= high + slack
    assert max(-have[0], have[1]) <= result.bound * (1 + 1e-9)


def test_defaults_tell_the_magnitude_and_one_sign(client):
    for values, interval in (
        ([0.25, 3.0], (0, 4)),
        ([-0.25, -3.0], (-4, 0)),
        ([-0.25, 3.0], (-4, 4)),
        ([0.0, 0.0], (0, 1)),
        ([1 + 2j], (-4, 4)),
    ):
        array = client.encrypt(values)
        assert array.interval == interval
        assert array.bound == max(np.abs(interval))


def test_declarations(client, server):
    x = server.load(client.encrypt([0.5, 3.0]))
    assert client.encrypt([0.5, 3.0], bound=10).interval == (-10, 10)
    assert x.with_interval((-100, 100)).interval == (-100, 100)  # hides what was known
    assert x.with_interval((-1, 3)).interval == (0, 3)  # added knowledge
    assert x.with_bound(3).interval == (0, 3)
    for wrong, words in {
        (5, 6): "values from 0 to 4 are known, and none of them lies from 5 to 6",
        (2, 1): "two finite numbers are needed, the lower one first",
        (0, np.inf): "two finite numbers are needed",
    }.items():
        with pytest.raises(ArgumentError, match=words):
            x.with_interval(wrong)
    with pytest.raises(
        ArgumentError, match=r"encrypt: the value.* lies outside the interval from 0 to 2\."
    ):
        client.encrypt([0.5, 3.0], interval=(0, 2))
    with pytest.raises(TypeError, match="pass one of them"):
        client.encrypt([0.5], interval=(0, 1), bound=1)
    with pytest.raises(TypeError, match="a pair"):
        client.encrypt([0.5], interval=3)
    with pytest.raises(ArgumentError, match="not symmetric"):
        server.load(client.encrypt([1j])).with_interval((0, 1))


def test_simulations_report_false_declarations():
    for declare in (lambda x: x.with_interval((0, 2)), lambda x: (x - 1).with_bound(1)):
        with pytest.raises(ArgumentError, match=r"a value of .* does not lie from"):
            hippocrene.simulate(declare, np.array([0.5, 3.0]), preset="n13")
        hippocrene.simulate(declare, np.array([0.5, 2.0]), preset="n13")


def test_files_keep_intervals(client, server):
    x = server.load(client.encrypt([0.5, 3.0], interval=(0, 3)))
    for array in (x, x * x):
        read = EncryptedArray.from_bytes(array.to_bytes())
        assert read.interval == server.load(read).interval == array.interval


def test_integers_do_not_wrap_around_unasked():
    client = Client.generate("n13", scheme="bgv", plain_modulus=65537)
    server = Server(client.evaluation_keys(rotations=[]))
    assert client.decrypt(client.encrypt([65536, -32768])).tolist() == [65536, 32769]
    for value in (65537, -32769, 70000, 2**63, -(2**70)):
        with pytest.raises(
            ArgumentError, match=r"outside \[-32768, 65536\] and would wrap around modulo 65537"
        ):
            client.encrypt([1, value])
        assert client.decrypt(client.encrypt([1, value], wrap=True)).tolist() == [1, value % 65537]
    with pytest.raises(TypeError, match="wrap is for integers"):
        Client.generate("n13").encrypt([1.0], wrap=True)

    x = server.load(client.encrypt([3, 7], interval=(0, 10)))
    assert x.interval == (0, 10)
    assert (x - 5).interval == (-5, 5)
    assert (x * x + x).interval == (0, 110)
    assert (x * 10000).interval == (0, 65536)  # any residue: products wrap around
    assert EncryptedArray.from_bytes((x - 5).to_bytes()).interval == (-5, 5)
    with pytest.raises(ArgumentError, match="wrap around modulo 65537"):
        x.with_interval((-1, 65536))
    with pytest.raises(ArgumentError, match="outside the interval"):
        client.encrypt([3, 11], interval=(0, 10))


def test_bounds_are_those_of_intervals(client, server):
    years = server.load(client.encrypt([2001.0, 2012, 2019], interval=(2000, 2024)))
    centred = years - 2012
    assert (centred.interval, centred.bound) == ((-12, 12), 12)
    # A slice keeps the bound of the elements that are still in other slots.
    pairs = server.load(client.encrypt([[1.0, 100.0], [2.0, 100.0]], interval=(0, 100)))
    assert (pairs[:, 0] - 50).bound >= 50


OFFSET = np.array([2001.0, 2023, 2012, 2005, 2019])
OTHERS = np.array([2011.0, 2003, 2012, 2024, 2000])


@pytest.mark.parametrize(
    "compare",
    [
        lambda x, y: x > y,
        lambda x, _: x > 2011,
        lambda x, _: x <= 2004,
        np.maximum,
        np.minimum,
        lambda x, _: np.maximum(x, 2010),
        lambda x, _: np.abs(x - 2012),
    ],
)
def test_values_far_from_zero_are_compared(compare):
    def program(x, y):
        result = compare(x, y)
        assert result.precision_bits > 8
        return result

    keys = {"rotations": [], "conjugation": True}
    simulation = hippocrene.simulate(
        program, OFFSET, OTHERS, preset="n15", interval=(2000, 2024), keys=keys
    )
    truth = compare(OFFSET, OTHERS).astype(float)
    np.testing.assert_allclose(simulation.result, truth, atol=0.02)


@pytest.mark.parametrize(
    "order", [np.sort, np.max, np.median, lambda x: np.quantile(x, 0.25), np.argsort, np.argmax]
)
def test_values_far_from_zero_are_ordered(order):
    simulation = hippocrene.simulate(
        order, OFFSET, preset="n15", interval=(2000, 2024), tables="lut11"
    )
    np.testing.assert_allclose(simulation.result, order(OFFSET), atol=0.5)
    assert simulation.precision_bits > 1


def test_simulations_have_the_interval_of_the_real_arrays():
    client = Client.generate("n13", precision=16)
    keys = client.evaluation_keys(rotations=[])
    values, interval = [3.0, 5.0], (1, 100)
    real = Server(keys).load(client.encrypt(values, interval=interval)) ** 2
    simulation = hippocrene.simulate(lambda x: x**2, values, keys=keys, interval=interval)
    assert simulation.capacity_bits == real.capacity_bits
    assert simulation.precision_bits == real.precision_bits


def test_bounds_of_integers_are_those_of_intervals():
    client = Client.generate("n13", scheme="bgv", plain_modulus=65537)
    assert client.encrypt([5], bound=300).bound == 300
    assert client.encrypt([5]).bound == 65536


def test_encryptions_that_are_all_error_are_refused(client):
    with pytest.raises(ArgumentError, match=r"at a precision of 0\.0 bits the error"):
        client.public_key().encrypt([1.0, 2.0], precision=0)


def test_gaps_that_no_value_exceeds_are_refused():
    with pytest.raises(ArgumentError, match="greater: the gap is 5, and no value"):
        hippocrene.simulate(lambda x: x.greater(0, gap=5), [0.5, -0.5], preset="n15", bound=0.5)


def test_entries_at_a_known_place_are_exact():
    simulation = hippocrene.simulate(
        lambda x: (x * 0 + 1).entries_of([5, 6, 7]), [1.0, 2.0], preset="n13"
    )
    assert simulation.bootstraps == 0
    np.testing.assert_allclose(simulation.result, [6, 6], atol=1e-9)


def test_automatic_presets_pass_over_those_that_lack_keys():
    simulation = hippocrene.simulate(np.sqrt, np.linspace(0, 1, 8), preset="auto")
    np.testing.assert_allclose(simulation.result, np.sqrt(np.linspace(0, 1, 8)), atol=0.05)
