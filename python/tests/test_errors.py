from __future__ import annotations

import operator

import numpy as np
import pytest

import hippocrene
from hippocrene import (
    ArgumentError,
    CapacityError,
    EncodeError,
    HippocreneError,
    KeyMismatchError,
    MissingKeyError,
    MissingServerError,
    ParameterError,
    ShapeError,
    _native,
    errors,
)


def test_every_kind_of_the_rust_library_has_its_exception():
    kinds = _native.error_kinds()
    assert len(kinds) == len(set(kinds)) > 5
    for kind in kinds:
        assert issubclass(getattr(errors, kind), HippocreneError)
    raised_in_python = {"HippocreneError", "MissingServerError", "SecretPickleError"}
    declared = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert declared == set(kinds) | raised_in_python
    assert declared <= set(hippocrene.__all__)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(client, server, bad):
    with pytest.raises(EncodeError, match="2"):
        client.encrypt([1.0, 2.0, bad])
    with pytest.raises(EncodeError):
        server.load(client.encrypt([1.0, 2.0])) + np.array([1.0, bad])
    with pytest.raises(EncodeError):
        server.load(client.encrypt([1.0, 2.0])) * np.array([bad, 1.0])
    for compute in (operator.add, operator.mul):
        with pytest.raises((ArgumentError, EncodeError), match="finite"):
            compute(server.load(client.encrypt([1.0, 2.0])), bad)


def test_values_too_large(client):
    with pytest.raises(EncodeError, match="e300"):
        client.encrypt([1e300])


def test_bounds_tell_only_the_magnitude_or_what_was_declared(client):
    assert client.encrypt([0.1, -5.0]).bound == 8.0
    assert client.encrypt([0.1]).bound == 1.0
    assert client.encrypt([0.1, -5.0], bound=100.0).bound == 100.0
    assert client.public_key().encrypt([0.1], bound=0.5).bound == 0.5
    with pytest.raises(EncodeError, match=r"5\.0 exceeds the declared bound 4\.0"):
        client.encrypt([0.1, -5.0], bound=4.0)
    with pytest.raises(ArgumentError):
        client.encrypt([0.0], bound=np.inf)


def test_shapes_that_do_not_fit(client, server):
    encrypted = server.load(client.encrypt(np.ones((2, 3))))
    with pytest.raises(ShapeError, match=r"2, 3"):
        encrypted + np.ones(4)
    with pytest.raises(ShapeError, match=r"2, 3"):
        encrypted + server.load(client.encrypt(np.ones((3, 2))))
    with pytest.raises(ShapeError, match=r"2, 3"):
        encrypted @ np.ones((2, 3))
    with pytest.raises(ShapeError, match="axis 2"):
        encrypted.sum(axis=2)


def test_missing_rotation_keys(client):
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    encrypted = server.load(client.encrypt([1.0, 2.0, 3.0]))
    client.decrypt(encrypted * encrypted)
    with pytest.raises(MissingKeyError, match="rotat"):
        encrypted.sum()


def test_mismatched_keys(client, server, stranger):
    theirs = stranger.encrypt([1.0])
    with pytest.raises(KeyMismatchError, match=stranger.fingerprint):
        client.decrypt(theirs)
    with pytest.raises(KeyMismatchError, match=stranger.fingerprint):
        server.load(theirs)
    with pytest.raises(KeyMismatchError):
        server.load(client.encrypt([1.0])) + theirs


def test_exhausted_capacity(client, server):
    encrypted = server.load(client.encrypt([0.5, 1.0]))
    products = 0
    while encrypted.capacity_bits > 40:
        encrypted = encrypted * encrypted
        products += 1
    assert products >= 5
    with pytest.raises(CapacityError, match="bits"):
        encrypted * encrypted
    np.testing.assert_allclose(client.decrypt(encrypted), [0.0, 1.0], atol=1e-4)


def test_a_polynomial_too_deep_for_the_capacity(client, server):
    with pytest.raises(CapacityError):
        server.load(client.encrypt([0.5])).polynomial([0.0] * 5000 + [1.0])


@pytest.mark.parametrize("preset", ["n1", "", "N14", "n14 "])
def test_presets_that_do_not_exist(preset):
    with pytest.raises(ParameterError, match="n14"):
        hippocrene.Client.generate(preset)


def test_sharing_costs_precision_and_never_all_of_it(client):
    array = np.array([1.0, -2.0, 3.0])
    encrypted = client.encrypt(array)
    shared = client.decrypt_for_sharing(encrypted, bits=12)
    error = np.abs(shared - array).max()
    assert 2.0 ** -(encrypted.precision_bits - 9) < error < 2.0 ** -(encrypted.precision_bits - 16)
    with pytest.raises(ArgumentError, match="precision"):
        client.decrypt_for_sharing(encrypted, bits=45)


def test_computing_without_a_server(client):
    encrypted = client.encrypt([1.0, 2.0])
    for compute in (
        lambda: encrypted + 1,
        lambda: encrypted * encrypted,
        lambda: -encrypted,
        lambda: encrypted.sum(),
        lambda: encrypted @ np.ones(2),
        lambda: np.ones((2, 2)) @ encrypted,
        lambda: encrypted.roll(1),
        lambda: encrypted.polynomial([1.0, 1.0]),
    ):
        with pytest.raises(MissingServerError, match=r"server\.load"):
            compute()
