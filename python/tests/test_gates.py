"""Gates of single bits, as numpy computes them."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hippocrene
from hippocrene.gates import GateClient, GateKeys, GateServer

X = np.array([[True, False, True], [False, False, True]])
Y = np.array([True, True, False])


@pytest.fixture(scope="module")
def client():
    return GateClient.generate()


@pytest.fixture(scope="module")
def server(client):
    return GateServer(client.evaluation_keys())


@pytest.fixture(scope="module")
def both(client, server):
    return server.load(client.encrypt(X)), server.load(client.encrypt(Y))


@pytest.mark.parametrize(
    "compute",
    [
        lambda a, b: a & b,
        lambda a, b: a | b,
        lambda a, b: a ^ b,
        lambda a, b: ~(a & ~b),
        lambda a, b: a == b,
        lambda a, b: a != b[::-1],
        lambda a, b: np.logical_or(a, b),
        lambda a, _b: a[:, ::-1] ^ a[0],
        lambda a, b: a.T.reshape(2, 3) | b,
        lambda a, b: np.concatenate([a, np.roll(a, 1, axis=1)]) & b,
        lambda _a, b: np.pad(np.stack([b, ~b]), 1),
        lambda a, _b: a.ravel()[[4, 2, 0]],
        lambda a, _b: a.all(),
        lambda a, _b: a.any(axis=0),
        lambda a, _b: a & Y,
        lambda _a, b: X | b,
        lambda _a, b: b ^ True,
    ],
)
def test_arrays_compute_as_numpy_does(client, both, compute):
    result = client.decrypt(compute(*both))
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result, compute(X, Y))


def test_several_gates_and_multiplexers(client, server, both):
    a, b = both
    before = server.rotations
    total, carry = server.gates(("xor", "majority"), a, a[::-1], server.load(client.encrypt(X & Y)))
    assert server.rotations - before == 12
    np.testing.assert_array_equal(client.decrypt(total), X ^ X[::-1] ^ (X & Y))
    np.testing.assert_array_equal(client.decrypt(carry), X.astype(int) + X[::-1] + (X & Y) >= 2)
    before = server.rotations
    np.testing.assert_array_equal(client.decrypt(a.select(b, ~b)), np.where(X, Y, ~Y))
    assert server.rotations - before == 12
    np.testing.assert_array_equal(client.decrypt(b.select(a, X[::-1])), np.where(Y, X, X[::-1]))
    for plain in (a & Y, a.T[1:], np.roll(a, 2), ~a):
        assert plain.server is server
    assert server.rotations - before == 18


@pytest.mark.parametrize(
    ("compute", "rotations"),
    [
        (lambda a, b: np.where(Y, a, b), 0),
        (lambda a, b: np.where(True, a[0], b), 0),
        (lambda a, _b: np.where(~X, X[0], a), 0),
        (lambda a, b: np.select([X, Y], [a, True], b), 0),
        (lambda _a, b: np.choose([1, 0, 1], [b, ~b]), 0),
        (lambda a, b: np.where(a, b, b[::-1]), 12),
        (lambda a, b: np.choose(a, [b, b[::-1]]), 12),
        (lambda a, b: np.where(a, X[1], b), 6),
        (lambda a, b: np.where(b, a, X), 6),
        (lambda a, _b: np.where(a, X, Y), 0),
        (lambda a, b: a > b, 6),
        (lambda a, _b: a >= Y, 0),
        (lambda a, b: np.less(a, b) | (a >= Y), 12),
        (lambda a, b: a * b, 6),
        (lambda a, b: np.maximum(a, b) ^ np.minimum(a[0], True), 12),
        (lambda a, _b: a.any(), 5),
        (lambda a, _b: a.max(axis=1), 4),
        (lambda a, _b: np.min(a, axis=0), 3),
        (lambda a, _b: np.bitwise_and.reduce(a, axis=1), 4),
        (lambda a, _b: np.logical_or.reduce(a, axis=None, keepdims=True), 5),
        (lambda a, _b: np.logical_xor.reduce(a, axis=1), 4),
    ],
)
def test_picks_cost_nothing_and_gates_no_more_than_they_have_to(
    client, server, both, compute, rotations
):
    before = server.rotations
    result = client.decrypt(compute(*both))
    assert server.rotations - before == rotations
    np.testing.assert_array_equal(result, compute(X, Y))


def test_gates_broadcast_and_take_plain_bits(client, server, both):
    a, b = both
    total, carry = server.gates(("xor", "majority"), a, b, False)
    np.testing.assert_array_equal(client.decrypt(total), X ^ Y)
    np.testing.assert_array_equal(client.decrypt(carry), X & Y)
    (either,) = server.gates(["or"], X[:, :, None], b[0])
    np.testing.assert_array_equal(client.decrypt(either), X[:, :, None] | Y[0])


def test_fresh_bits_are_laid_out_where_they_are_needed(client, server):
    """A bit takes 26 bits in a file and 8 KB to compute with: an array that is read takes no more than its file."""
    values = np.arange(10**6) % 7 == 0
    array = server.load(client.encrypt(values).to_bytes())
    part = array[5000:5010]
    np.testing.assert_array_equal(
        client.decrypt(part ^ array[::100000]), values[5000:5010] ^ values[::100000]
    )
    assert len(array.to_bytes()) < 4e6


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 255), st.integers(0, 255))
def test_numbers_are_compared_bit_by_bit(client, server, x, y):
    a, b = (server.load(client.encrypt(z >> np.arange(8) & 1 == 1)) for z in (x, y))
    greater = a[0] & ~b[0]
    for i, j in zip(a[1:], b[1:], strict=True):
        (greater,) = server.gates(["majority"], i, ~j, greater)
    assert client.decrypt(greater) == (x > y)
    assert client.decrypt((a == b).all()) == (x == y)


def test_files(client, both, tmp_path):
    client.save(tmp_path / "secret")
    client.evaluation_keys(threads=2).save(tmp_path / "keys")
    client.encrypt(X).save(tmp_path / "x")
    again = GateServer(GateKeys.load(tmp_path / "keys"), threads=2)
    result = again.load(tmp_path / "x") ^ again.load(both[1].to_bytes())
    result.save(tmp_path / "y")
    reader = GateClient.load(tmp_path / "secret")
    np.testing.assert_array_equal(
        reader.decrypt(hippocrene.EncryptedArray.load(tmp_path / "y")), X ^ Y
    )
    np.testing.assert_array_equal(reader.decrypt(pickle.loads(pickle.dumps(result))), X ^ Y)
    assert (
        pickle.loads(pickle.dumps(GateKeys.load(tmp_path / "keys"))).fingerprint
        == client.fingerprint
    )
    told = hippocrene.inspect(tmp_path / "y")
    assert told["gates"] == {
        "parameters": "gates10",
        "shape": [2, 3],
        "fresh": False,
        "bit_error": pytest.approx(result.bit_error),
    }
    assert 0 < both[0].bit_error < result.bit_error < 0.5
    assert again.key_memory > 1e7
    assert copy.copy(again) is again
    with pytest.raises(hippocrene.FileError):
        client.save(tmp_path / "secret")
    with pytest.raises(hippocrene.SecretPickleError):
        pickle.dumps(client)
    with pytest.raises(TypeError, match="send its GateKeys"):
        pickle.dumps(again)
    with pytest.raises(hippocrene.FormatError):
        GateKeys.load(tmp_path / "x")
    for one in (client, GateKeys.load(tmp_path / "keys"), again):
        assert client.fingerprint in repr(one)


def test_mistakes_are_named(client, server, both):
    a, b = both
    other = hippocrene.Client.generate("n12")
    numbers = hippocrene.Server(other.evaluation_keys(rotations=[]))
    for kind, words, wrong in [
        (TypeError, "booleans", lambda: client.encrypt([0, 1])),
        (TypeError, "booleans", lambda: a & 1),
        (TypeError, "not for encrypted bits", lambda: a + b),
        (TypeError, "add is not for encrypted bits", lambda: sum(a)),
        (TypeError, "> takes encrypted bits or booleans", lambda: a > 1),
        (TypeError, "a gate of it and the result", lambda: np.logical_or.reduce(a, initial=True)),
        (TypeError, "several names", lambda: server.gates("and", a, b)),
        (TypeError, "EncryptedArrays of bits, one at least", lambda: server.gates(["and"], X, X)),
        (TypeError, "gates of encrypted bits takes booleans", lambda: server.gates(["and"], a, 3)),
        (
            hippocrene.ShapeError,
            "gates: .* do not broadcast",
            lambda: server.gates(["and"], a, a.T),
        ),
        (hippocrene.ShapeError, "where: .* do not broadcast", lambda: np.where(a, b, a.T)),
        (hippocrene.ShapeError, r"shape \(0,\) has no elements", lambda: client.encrypt([])),
        (hippocrene.ArgumentError, "a bit chooses one of two", lambda: np.choose(b, [a, a, a])),
        (TypeError, "where of encrypted bits takes booleans", lambda: np.where(Y, a, 0.5)),
        (hippocrene.ArgumentError, "there is no gate", lambda: server.gates(["foo"], a, a)),
        (
            hippocrene.ArgumentError,
            "majority needs three",
            lambda: server.gates(["majority"], a, a),
        ),
        (hippocrene.ShapeError, "do not broadcast", lambda: a & a.T),
        (hippocrene.ShapeError, "no elements", lambda: a[:0]),
        (
            hippocrene.ArgumentError,
            "encrypted numbers, and single",
            lambda: server.load(other.encrypt([1.0])),
        ),
        (
            hippocrene.KeyMismatchError,
            "load: encr",
            lambda: server.load(GateClient.generate().encrypt(X)),
        ),
        (hippocrene.KeyMismatchError, "decrypt", lambda: GateClient.generate().decrypt(a)),
        (
            hippocrene.ArgumentError,
            "single bits are needed",
            lambda: client.decrypt(other.encrypt([1.0])),
        ),
        (
            hippocrene.ArgumentError,
            r"decrypt: .* single bits\. The GateClient",
            lambda: other.decrypt(a),
        ),
        (hippocrene.ArgumentError, "load: .* A GateServer computes", lambda: numbers.load(a)),
        (
            hippocrene.MissingServerError,
            "server.load",
            lambda: client.encrypt(X) & b[0] & client.encrypt(X)[0],
        ),
        (TypeError, "GateKeys", lambda: GateServer(5)),
        (TypeError, "GateClient.generate", lambda: GateClient(5)),
        (TypeError, "GateClient.evaluation_keys", lambda: GateKeys(5)),
        (TypeError, "EncryptedArray is decrypted", lambda: client.decrypt(X)),
    ]:
        with pytest.raises(kind, match=words):
            wrong()
