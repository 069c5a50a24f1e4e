"""Properties of arrays, keys and files that a service for several clients needs."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import hippocrene
from hippocrene import (
    Client,
    EncryptedArray,
    EvaluationKeys,
    FileError,
    FormatError,
    OutOfIntervalError,
    Server,
    inspect,
    simulate,
)

COMMAND = Path(sys.executable).with_name("hippocrene")


@pytest.fixture(scope="module")
def integers() -> Client:
    return Client.generate("n13", scheme="bfv", plain_modulus=65537)


def test_arrays_find_their_servers_by_tenant_and_fingerprint(client, server, stranger):
    other = Server(stranger.evaluation_keys(rotations=[]))
    servers = {("alice", server.fingerprint): server, ("bob", other.fingerprint): other}
    for tenant, owner in (("alice", client), ("bob", stranger)):
        public = owner.public_key()
        data = public.encrypt([1.0, 2.0]).to_bytes()
        array = EncryptedArray.from_bytes(data)
        assert array.fingerprint == owner.fingerprint == public.fingerprint == inspect(data)["key"]
        result = servers[tenant, array.fingerprint].load(array) + 1
        assert result.fingerprint == owner.fingerprint
        np.testing.assert_allclose(owner.decrypt(result), [2.0, 3.0], atol=1e-4)


def test_keys_of_another_tenant_replace_nothing(client, server):
    """A fingerprint proves nothing: keys that name one can come from anyone who knows it."""
    own = client.evaluation_keys(rotations=[1]).to_bytes()
    position = own.index(bytes.fromhex(client.fingerprint))
    # A stranger's file with the fingerprint of the client, and a checksum to match.
    forged = bytearray(Client.generate(client.preset).evaluation_keys(rotations=[]).to_bytes())
    forged[position : position + 16] = bytes.fromhex(client.fingerprint)
    forged[12:16] = zlib.crc32(forged[:12] + forged[16:]).to_bytes(4, "little")
    keys = EvaluationKeys.from_bytes(bytes(forged))
    assert keys.fingerprint == client.fingerprint
    servers = {("alice", client.fingerprint): server}
    servers["mallory", keys.fingerprint] = Server(keys)
    array = EncryptedArray.from_bytes(client.encrypt([1.0, 2.0]).to_bytes())
    result = servers["alice", array.fingerprint].load(array)
    np.testing.assert_allclose(client.decrypt(result * result), [1.0, 4.0], atol=1e-4)
    wrong = servers["mallory", array.fingerprint].load(array)
    with pytest.raises(OutOfIntervalError, match="or the server computed wrongly"):
        client.decrypt(wrong * wrong)


@pytest.mark.parametrize("preset", ["bits14", "n13"])
def test_arrays_of_bits_and_integers_have_fingerprints(integers, preset):
    owner = Client.generate(preset) if preset == "bits14" else integers
    array = owner.encrypt([True, False])
    assert (
        array.fingerprint
        == EncryptedArray.from_bytes(array.to_bytes()).fingerprint
        == owner.fingerprint
    )


def test_inspection_is_the_commands(client, integers, tmp_path):
    x = client.encrypt(np.ones((2, 3)), precision=30)
    things = {
        "client": client,
        "public": client.public_key(),
        "keys": client.evaluation_keys(rotations=[1, -2], conjugation=True),
        "transfer": client.transfer_key(client.second_client(60)),
        "numbers": x,
        "integers": integers.encrypt([1, 2]),
        "settings": integers,
    }
    for name, thing in things.items():
        path = tmp_path / name
        thing.save(path)
        out = subprocess.run(
            [COMMAND, "inspect", path, "--json"], capture_output=True, text=True, check=True
        ).stdout
        (printed,) = json.loads(out)["files"]
        assert printed.pop("path") == str(path)
        data = thing.to_bytes()
        for source in (path, str(path), data, bytearray(data), memoryview(data)):
            assert inspect(source) == printed
    told = inspect(x.to_bytes())
    assert (told["kind"], told["secret"], told["preset"], told["ring_degree"]) == (
        "array",
        False,
        "n14",
        2**14,
    )
    assert told["array"]["shape"] == [2, 3]
    assert told["array"]["precision"] == x.precision
    assert told["array"]["capacity_bits"] == pytest.approx(x.capacity_bits, abs=1)
    assert inspect(things["keys"].to_bytes())["keys"]["rotations"] == [-2, 1]
    assert inspect(integers.to_bytes())["settings"]["integers"] == {
        "scheme": "bfv",
        "plain_modulus": 65537,
    }
    assert inspect(integers.to_bytes())["secret"]


def test_what_is_no_file_of_this_package_is_not_inspected(client, tmp_path):
    data = client.encrypt([1.0]).to_bytes()
    for wrong in (b"", b"nonsense" * 20, data[:-1], data + b"\0"):
        with pytest.raises(FormatError):
            inspect(wrong)
    with pytest.raises(FileError, match="nothing"):
        inspect(tmp_path / "nothing")
    for wrong in (client, 3, None, ["path"]):
        with pytest.raises(TypeError, match="bytes are needed"):
            inspect(wrong)


def test_keys_and_servers_say_what_they_can_do(client, integers):
    keys = client.evaluation_keys(rotations=[5, -3, 1], conjugation=True)
    exact = integers.evaluation_keys(rotations=[])
    for owner, own in ((client, keys), (integers, exact)):
        for thing in (own, EvaluationKeys.from_bytes(own.to_bytes()), Server(own)):
            assert thing.fingerprint == owner.fingerprint
            assert thing.scheme == owner.scheme
            assert thing.plain_modulus == owner.plain_modulus
            assert thing.preset == owner.preset
            assert (
                thing.ring_degree
                == owner.ring_degree
                == 2 * (client.slots if owner is client else 2**12)
            )
            assert thing.precision == owner.precision
            assert list(thing.rotations) == ([-3, 1, 5] if own is keys else [])
            assert thing.conjugation == (own is keys)
            assert not thing.bootstrapping
            assert thing.tables is None
            assert not thing.bits
            assert thing.preset in repr(thing)
    assert list(client.evaluation_keys().rotations) == [-256, -16, -1, *(2**k for k in range(13))]


def test_keys_of_bits_say_so():
    gates = Client.generate("bits14").evaluation_keys()
    assert (gates.bits, gates.bootstrapping, gates.preset) == (True, False, "bits14")


def test_servers_of_simulations_say_what_they_can_do():
    def program(x):
        server = x.server
        assert (server.scheme, server.preset, server.ring_degree) == ("ckks", "n13", 2**13)
        assert server.conjugation
        assert set(server.rotations) == set(range(1 - 2**11, 2**11 + 1))
        assert (server.bootstrapping, server.tables, server.bits) == (False, None, False)
        return x.roll(1)

    simulate(program, np.ones(8), preset="n13")


def test_keys_are_made_for_simulations_of_the_same_parameters(client, integers):
    def squares(x):
        return (x * x).sum()

    for keywords, words in (
        (
            {"preset": "n15"},
            "preset 'n15' and scheme 'ckks', this client with preset 'n14' and scheme 'ckks'",
        ),
        (
            {"scheme": "bgv"},
            "scheme 'bgv' modulo 65537, this client with preset 'n14' and scheme 'ckks'",
        ),
    ):
        with pytest.raises(hippocrene.ArgumentError, match=words):
            client.evaluation_keys(for_=simulate(squares, np.arange(4), **keywords))
    for keywords, words in (
        (
            {"scheme": "bgv"},
            "scheme 'bgv' modulo 65537, this client with preset 'n13' and scheme 'bfv' modulo 65537",
        ),
        ({"scheme": "bfv", "plain_modulus": 786433}, "modulo 786433, this client .* modulo 65537"),
    ):
        with pytest.raises(hippocrene.ArgumentError, match=words):
            integers.evaluation_keys(for_=simulate(squares, np.arange(4), preset="n13", **keywords))
    keys = integers.evaluation_keys(
        for_=simulate(squares, np.arange(4), preset="n13", scheme="bfv")
    )
    assert keys.rotations
    # The second key of a client is for what needs less capacity, with the same rotations.
    simulation = simulate(squares, np.arange(4))
    assert (
        client.second_client(60).evaluation_keys(for_=simulation).rotations
        == client.evaluation_keys(for_=simulation).rotations
    )


@pytest.mark.parametrize("kind", [hippocrene.LookUps, hippocrene.Bootstrapping])
def test_help_says_what_is_asked_for(kind):
    for field in dataclasses.fields(kind):
        assert f"- `{field.name}`: " in kind.__doc__


def test_help_says_how_servers_are_made():
    for argument in ("keys", "threads", "key_memory", "cache_memory", "transfer"):
        assert f"`{argument}`" in Server.__init__.__doc__
