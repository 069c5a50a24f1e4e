from __future__ import annotations

import pickle

import numpy as np
import pytest

import hippocrene
from hippocrene import EncryptedArray, KeyMismatchError, Server, TransferKey

ARRAY = np.array([[1.0, -2.5], [0.25, 3.0]])


@pytest.fixture(scope="module")
def second(client):
    return client.second_client(60)


@pytest.fixture(scope="module")
def transfer(client, second):
    return client.transfer_key(second)


def test_arrays_are_transferred_when_they_are_loaded(client, second, transfer, tmp_path):
    server = Server(second.evaluation_keys(rotations=[]), transfer=transfer, threads=2)
    encrypted = client.encrypt(ARRAY)
    encrypted.save(tmp_path / "array.enc")
    for source in (encrypted, encrypted.to_bytes(), tmp_path / "array.enc"):
        array = server.load(source)
        assert array.server is server
        np.testing.assert_allclose(second.decrypt(array), ARRAY, atol=1e-6)
        np.testing.assert_allclose(second.decrypt(array * array), ARRAY**2, atol=1e-6)
    own = server.load(second.encrypt(ARRAY))
    np.testing.assert_allclose(second.decrypt(own + server.load(encrypted)), 2 * ARRAY, atol=1e-6)
    with pytest.raises(hippocrene.ParameterMismatchError):
        client.decrypt(server.load(encrypted))


def test_keys_are_smaller_and_travel(client, second, transfer, tmp_path):
    small = second.evaluation_keys(rotations=[1])
    assert 2 * len(small.to_bytes()) < len(client.evaluation_keys(rotations=[1]).to_bytes())
    transfer.save(tmp_path / "transfer.key")
    for copy in (TransferKey.load(tmp_path / "transfer.key"), pickle.loads(pickle.dumps(transfer))):
        assert (copy.fingerprint, copy.second) == (client.fingerprint, second.fingerprint)
        assert copy.to_bytes() == transfer.to_bytes()
    assert client.fingerprint in repr(transfer)


def test_what_does_not_belong_together_is_refused(client, keys, second, transfer, stranger):
    with pytest.raises(KeyMismatchError):
        Server(keys, transfer=transfer)
    server = Server(second.evaluation_keys(rotations=[]), transfer=transfer)
    with pytest.raises(KeyMismatchError):
        server.load(stranger.encrypt(ARRAY))
    with pytest.raises(KeyMismatchError):
        Server(second.evaluation_keys(rotations=[])).load(client.encrypt(ARRAY))
    with pytest.raises(hippocrene.ParameterError):
        client.transfer_key(client)
    with pytest.raises(hippocrene.ArgumentError, match="are requested"):
        client.second_client(1e6)
    for wrong in (
        lambda: client.transfer_key(transfer),
        lambda: Server(keys, transfer=keys),
        lambda: TransferKey(client),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(hippocrene.FormatError):
        TransferKey.from_bytes(EncryptedArray.to_bytes(client.encrypt(ARRAY)))


@pytest.mark.parametrize("scheme", ["bgv", "bfv"])
def test_integers_are_transferred(scheme):
    client = hippocrene.Client.generate("n14", scheme=scheme)
    second = client.second_client(60)
    assert second.plain_modulus == client.plain_modulus
    keys = second.evaluation_keys(rotations=[1])
    assert 2 * len(keys.to_bytes()) < len(client.evaluation_keys(rotations=[1]).to_bytes())
    server = Server(keys, transfer=client.transfer_key(second))
    x = np.array([3, -2, 30000])
    encrypted = server.load(client.encrypt(x).to_bytes())
    assert encrypted.budget_bits >= 60
    assert second.noise_budget(encrypted) >= encrypted.budget_bits
    np.testing.assert_array_equal(
        second.decrypt(encrypted * encrypted + 1), (x.astype(object) ** 2 + 1) % 65537
    )


def test_bits_are_not_transferred():
    client = hippocrene.Client.generate("bits14")
    second = client.second_client(60)
    server = Server(second.evaluation_keys([]), transfer=client.transfer_key(second))
    np.testing.assert_allclose(second.decrypt(server.load(client.encrypt(ARRAY))), ARRAY, atol=1e-4)
    with pytest.raises(
        hippocrene.ArgumentError, match="load: encrypted bits cannot be transferred to a second key"
    ):
        server.load(client.encrypt([True, False]))


def test_keys_of_a_simulation_are_of_its_ring_degree():
    second = hippocrene.Client.generate("n13").second_client(40)
    for preset, fits in (("n13", True), ("n14", False)):
        simulation = hippocrene.simulate(lambda v: v.sum(), [1.0, 2.0], preset=preset)
        if fits:
            assert second.evaluation_keys(for_=simulation).rotations
            continue
        with pytest.raises(
            hippocrene.ArgumentError, match=r"preset 'n14' .* 'of ring degree 8192'"
        ):
            second.evaluation_keys(for_=simulation)
