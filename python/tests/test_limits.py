from __future__ import annotations

import struct
import time
import zlib

import numpy as np
import pytest

from hippocrene import ArgumentError, EvaluationKeys, FormatError, Limits, ParameterError, inspect

# The positions of the number of axes and of the shape in the file of an array.
AXES, SHAPE = 60, 88


def laid_out(data: bytes, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """Return the file of an array with another shape and other strides, and a checksum that is right."""
    (count,) = struct.unpack_from("<I", data, AXES)
    axes = b"".join(struct.pack("<QQ", *axis) for axis in zip(shape, strides, strict=True))
    head = data[:AXES] + struct.pack("<I", len(shape)) + data[AXES + 4 : SHAPE]
    file = bytearray(head + axes + data[SHAPE + 16 * count :])
    file[48:56] = struct.pack("<Q", len(file) - 56)
    file[12:16] = struct.pack("<I", zlib.crc32(bytes(file[:12]) + bytes(file[16:])))
    return bytes(file)


@pytest.fixture(scope="module")
def fresh(client):
    return client.encrypt(np.arange(8192.0) / 8192, bound=1).to_bytes()


@pytest.fixture(scope="module")
def crafted(fresh):
    """The elements of an array in reverse order of the bits of their numbers."""
    return laid_out(fresh, (2,) * 13, tuple(2**i for i in range(13)))


def test_a_crafted_layout_is_refused_before_it_makes_work(client, server, crafted, tmp_path):
    told = inspect(crafted)["array"]
    assert (told["packed"], told["work"]) == (False, 360)
    path = tmp_path / "crafted.enc"
    path.write_bytes(crafted)
    start = time.perf_counter()
    for source in (crafted, path, type(client.encrypt(0.0)).from_bytes(crafted)):
        with pytest.raises(
            FormatError, match="takes 360 products to move its elements, and the limits allow 64"
        ):
            server.load(source, limits=Limits(max_work=64))
    assert time.perf_counter() - start < 1
    # If the work is allowed, the values are right.
    values = client.decrypt(server.load(crafted, limits=Limits(max_work=360)))
    np.testing.assert_allclose(values.transpose().ravel(), np.arange(8192) / 8192, atol=1e-4)


def test_fresh_arrays_and_results_are_within_every_limit_of_work(client, server, fresh):
    none = Limits(max_work=0)
    assert inspect(fresh)["array"]["work"] == 0
    total = server.load(fresh, limits=none).reshape(64, 128).sum(axis=1)
    assert server.load(total, limits=none) is not None, "what this process computed is not limited"
    told = inspect(total.to_bytes())["array"]
    assert 0 < told["work"] <= 64
    again = server.load(total.to_bytes())
    np.testing.assert_allclose(
        client.decrypt(again), (np.arange(8192) / 8192).reshape(64, 128).sum(axis=1), atol=1e-3
    )


def test_work_is_limited_by_the_size_of_the_file(server, fresh):
    """A ciphertext of zeros takes hardly any bytes, and as much work as any other."""
    zeros = server.load(fresh) * np.zeros(8192)
    many = np.concatenate([zeros] * 32).to_bytes()
    told = inspect(many)
    assert told["array"]["ciphertexts"] == 32
    spread = laid_out(many, (512, 512), (1, 512))
    told = inspect(spread)
    default = 1024 + told["bytes"] // 16
    assert told["array"]["work"] > default
    with pytest.raises(FormatError, match=f"and the limits allow {default}\\."):
        server.load(spread)
    assert server.load(spread, limits=Limits(max_work=2**63)).shape == (512, 512)


def test_files_are_refused_by_their_header(client, server, fresh, tmp_path):
    keys = client.evaluation_keys(rotations=[]).to_bytes()
    for limits, words in (
        (Limits(max_bytes=1000), f"the file takes {len(keys)} bytes, and the limits allow 1000"),
        (
            Limits(presets=["n13", "n15"]),
            "the file is of the preset n14, and the limits allow n13, n15",
        ),
        (Limits(presets=[]), "and the limits allow none"),
        (
            Limits(kinds="array"),
            "the file is of the kind evaluation_keys, and the limits allow array",
        ),
    ):
        # All but the header is missing: that nothing else was read shows in the error.
        path = tmp_path / "cut"
        path.write_bytes(keys[:56])
        with pytest.raises(FormatError, match=words):
            EvaluationKeys.load(path, accept=limits)
        with pytest.raises(FormatError, match=words):
            EvaluationKeys.from_bytes(keys[:56], accept=limits)
    with pytest.raises(FormatError, match="of the preset n14, and the limits allow n13"):
        server.load(fresh, limits=Limits(presets=["n13"]))
    path.write_bytes(fresh[:56])
    with pytest.raises(
        FormatError,
        match=r"cut: load: the file is of the kind array, and the limits allow bit_array",
    ):
        server.load(path, limits=Limits(kinds=["bit_array"]))


def test_memory_is_limited_before_it_is_taken(client, server, fresh):
    keys = client.evaluation_keys(rotations=[]).to_bytes()
    for data, load in (
        (keys, lambda limits: EvaluationKeys.from_bytes(keys, accept=limits)),
        (fresh, lambda limits: server.load(fresh, limits=limits)),
    ):
        peak = inspect(data)["peak_memory"]
        assert peak > len(data)
        load(Limits(max_memory=peak))
        with pytest.raises(
            FormatError, match=f"takes {peak} bytes of memory, and the limits allow {peak - 1}"
        ):
            load(Limits(max_memory=peak - 1))


def test_what_is_within_limits_is_loaded(client, server, fresh):
    accept = Limits(max_bytes=2**30, max_memory=2**31, kinds=["evaluation_keys"], presets=["n14"])
    keys = EvaluationKeys.from_bytes(client.evaluation_keys(rotations=[]).to_bytes(), accept=accept)
    assert keys.fingerprint == client.fingerprint
    limits = Limits(
        max_bytes=2**30, max_work=0, kinds=["array", "integer_array"], presets=("n13", "n14")
    )
    assert (limits.kinds, limits.presets) == (("array", "integer_array"), ("n13", "n14"))
    np.testing.assert_allclose(
        client.decrypt(server.load(fresh, limits=limits))[:3], np.arange(3) / 8192, atol=1e-4
    )


def test_limits_that_make_no_sense_are_refused(server, fresh):
    with pytest.raises(ArgumentError, match=r'no kind of file "arrays".*integer_array'):
        Limits(kinds=["arrays"])
    with pytest.raises(ParameterError, match="presets: there is none named"):
        Limits(presets=["n99"])
    with pytest.raises(ArgumentError, match="limits: max_bytes is -1"):
        Limits(max_bytes=-1)
    with pytest.raises(TypeError, match="limits: max_work is an integer, not float"):
        Limits(max_work=0.5)
    with pytest.raises(TypeError, match=r"load: limits are hippocrene\.Limits, not int"):
        server.load(fresh, limits=5)
