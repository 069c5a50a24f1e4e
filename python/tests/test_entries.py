"""Entries of plain tables at encrypted places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hippocrene
from hippocrene import ArgumentError, CapacityError, Client, Server, ShapeError

PLACES = np.array([[3, 0, 1], [2, 2, 4]])
TABLE = np.array([1.5, -20.0, 0.0, 7.25, 3.0])


@pytest.fixture(scope="module", params=["bgv", "bfv"])
def exact(request):
    client = Client.generate("n14", scheme=request.param, plain_modulus=65537)
    return client, Server(client.evaluation_keys())


@pytest.fixture(scope="module")
def places(client, server):
    return server.load(client.encrypt(PLACES, interval=(0, 4)))


def close(client, got, expected, within):
    assert got.shape == np.shape(expected)
    assert np.abs(client.decrypt(got) - expected).max() <= within


@settings(max_examples=10, deadline=None)
@given(
    count=st.sampled_from([2, 3, 4, 5, 9, 16]),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 99),
)
def test_entries_are_those_of_the_table(client, server, count, shape, seed):
    random = np.random.default_rng(seed)
    places = random.integers(0, count, size=shape)
    table = random.uniform(-100, 100, size=count)
    # Computed places have a small error.
    x = server.load(
        client.encrypt(
            places + random.uniform(-1e-4, 1e-4, size=shape), interval=(-0.1, count - 0.9)
        )
    )
    found = x.entries_of(table)
    close(client, found, table[places], np.abs(table).max() * 2**-12)
    assert np.abs(table).max() <= found.bound <= np.abs(table).max() + 0.1
    if count <= 5:
        # Slices leave other values between the elements, which take a product.
        close(
            client,
            x[..., ::2].entries_of(table),
            table[places][..., ::2],
            np.abs(table).max() * 2**-12,
        )


def test_places_are_off_by_their_square(client, server):
    off = server.load(client.encrypt(np.arange(5) + 0.02, interval=(0, 4.5)))
    found = client.decrypt(off.entries_of(TABLE, precision=12)) - TABLE
    assert np.abs(found).max() < 3.4 * 0.02**2 * 27.25 + 2**-12


def test_rows_of_tables(client, places):
    close(client, places.entries_of(np.eye(5)), np.eye(5)[PLACES], 2**-12)
    table = np.arange(20.0).reshape(5, 2, 2)
    close(client, places.entries_of(table.tolist()), table[PLACES], 19 * 2**-11)


def test_tables_of_one_entry_and_of_equal_ones(client, server, places):
    close(client, places.entries_of(np.full(5, 3.25)), np.full(PLACES.shape, 3.25), 2**-10)
    close(
        client, server.load(client.encrypt([0.0], interval=(0, 0))).entries_of([2.5]), [2.5], 2**-10
    )
    close(client, places.entries_of(np.zeros(5)), np.zeros(PLACES.shape), 2**-11)


def test_choices(client, server, places):
    plain = [2.0, 3.0, 5.0, 7.0, 11.0]
    close(client, np.choose(places, plain), np.choose(PLACES, plain), 0.01)
    x = np.arange(6.0).reshape(2, 3)
    options = [x, -x, np.ones(3), 4.0, 10 * x]
    secret = [server.load(client.encrypt(x)), *options[1:]]
    close(client, np.choose(places, secret), np.choose(PLACES, options), 0.05)


def test_encrypted_labels(client, server):
    labels, weights = np.array([0, 2, 2, 1, 0, 2]), np.arange(6.0)
    x = server.load(client.encrypt(labels, interval=(0, 2)))
    close(client, np.bincount(x, minlength=4 - 1), np.bincount(labels), 0.01)
    close(client, np.bincount(x, weights, minlength=3), np.bincount(labels, weights), 0.05)
    secret = server.load(client.encrypt(weights))
    close(client, np.bincount(x, secret, minlength=3), np.bincount(labels, weights), 0.05)


def test_integers_are_exact(exact):
    client, server = exact
    random = np.random.default_rng(1)
    places, table = random.integers(0, 40, size=(7, 9)), random.integers(-(10**6), 10**6, size=40)
    x = server.load(client.encrypt(places, interval=(0, 39)))
    assert (client.decrypt(x.entries_of(table)) == table[places] % 65537).all()
    few = server.load(client.encrypt(places % 3, interval=(0, 2)))
    assert (
        client.decrypt(few.entries_of(np.eye(3, dtype=int))) == np.eye(3, dtype=int)[places % 3]
    ).all()
    assert (
        client.decrypt(np.bincount(few[0], minlength=3)) == np.bincount(places[0] % 3, minlength=3)
    ).all()
    assert (client.decrypt(np.choose(few, [5, 6, 8])) == np.choose(places % 3, [5, 6, 8])).all()
    with pytest.raises(TypeError, match="precision for numbers only"):
        x.entries_of(table, precision=3)
    with pytest.raises(TypeError, match="takes integers here"):
        x.entries_of([0.5])


def test_what_is_no_table_is_refused(places):
    for table in ([], 3.0, np.zeros((0, 2))):
        with pytest.raises(ShapeError, match="one entry or more"):
            places.entries_of(table)
    with pytest.raises(ArgumentError, match="entry 1 is NaN"):
        places.entries_of([1, np.nan, 2, 3, 4])
    with pytest.raises(
        ArgumentError,
        match="entries_of: values from 0 to 4 are possible, and places are integers from 0 to 3",
    ):
        places.entries_of([1, 2, 3, 4])
    with pytest.raises(TypeError, match="doubles"):
        places.entries_of(["a"] * 5)
    with pytest.raises(ArgumentError, match="precision"):
        places.entries_of(TABLE, precision=50)
    with pytest.raises(CapacityError, match="entries_of needs"):
        (places * places * places * places).with_bound(256).entries_of(np.arange(257))
    with pytest.raises(ArgumentError, match="minlength"):
        np.bincount(places[0])
    with pytest.raises(ShapeError, match=r"shape \(2, 3\)"):
        np.bincount(places, minlength=5)
    with pytest.raises(ArgumentError, match="nothing to choose"):
        np.choose(places, [])
    with pytest.raises(TypeError, match="mode"):
        np.choose(places, [1, 2, 3, 4, 5], mode="clip")
    with pytest.raises(TypeError, match=r"x\.entries_of\(table\) instead of table\[x\]"):
        TABLE[places]
    with pytest.raises(TypeError, match=r"x\.entries_of\(table\)"):
        np.take(TABLE, places)


def test_simulations_know_places():
    def program(x):
        return x.entries_of(TABLE)

    report = hippocrene.simulate(program, PLACES)
    assert not report.rotations
    np.testing.assert_allclose(report.result, TABLE[PLACES], atol=1e-2)
    with pytest.raises(
        ArgumentError, match="values from -1 to 0 are possible, and places are integers from 0 to 4"
    ):
        hippocrene.simulate(program, -np.ones(3))


def test_simulations_refuse_places_that_are_no_integers():
    for program in (
        lambda x: x.entries_of(TABLE[:4]),
        lambda x: np.bincount(x, minlength=4),
        lambda x: x.entries_of(np.eye(4)),
    ):
        with pytest.raises(ArgumentError, match=r"a value of 0\.5 is no integer, .*as integers"):
            hippocrene.simulate(program, [1, 0.5, 3], interval=(0, 3))
    near = hippocrene.simulate(lambda x: x.entries_of(TABLE[:4]), [1.01, 2], interval=(0, 3))
    assert np.abs(near.result - TABLE[1:3]).max() < 0.1


def test_codes_below_zero_are_not_counted(client, server):
    """As pandas writes missing categories."""
    codes = np.array([0, 1, -1, 2, 1, -1])
    for declared in ({}, {"bound": 2}, {"interval": (-1, 2)}):
        x = server.load(client.encrypt(codes, **declared))
        with pytest.raises(
            ArgumentError,
            match=r"bincount: values from -[12] to 2 are possible.* places are integers",
        ):
            np.bincount(x, minlength=3)
    with pytest.raises(ArgumentError, match="outside the interval from 0 to 2"):
        client.encrypt(codes, interval=(0, 2))


def test_integers_beyond_the_table_are_refused():
    client = hippocrene.Client.generate("n13", scheme="bgv", plain_modulus=65537)
    server = hippocrene.Server(client.evaluation_keys())
    codes = np.array([0, 1, -1, 2, 1, -1])
    with pytest.raises(
        ArgumentError,
        match="bincount: integers from -32768 to 32768 are possible, and places are 0 to 2",
    ):
        np.bincount(server.load(client.encrypt(codes)), minlength=3)
    known = server.load(client.encrypt(codes % 3, interval=(0, 2)))
    assert (
        client.decrypt(np.bincount(known, minlength=3)).tolist() == np.bincount(codes % 3).tolist()
    )
    assert client.decrypt((known - 1).with_interval((-1, 1)) + 1).tolist() == (codes % 3).tolist()
