from __future__ import annotations

import errno
import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy as shallow_copy
from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hippocrene import (
    Client,
    EncryptedArray,
    EvaluationKeys,
    FileError,
    FormatError,
    PublicKey,
    SecretKeyWarning,
    SecretPickleError,
    Server,
    TransferKey,
    inspect,
)
from hippocrene.gates import GateClient
from hippocrene.models.clustering import EncryptedClusters
from hippocrene.models.tree_interface import TreeInterface
from hippocrene.models.trees import TreeClient, TreeKeys, TreeQuery, TreeReply

ARRAY = np.array([[1.0, -2.5], [0.25, 3.0]])


@pytest.fixture(scope="module")
def files(client):
    """Bytes of each kind of file, and the class that reads them."""
    return {
        Client: client.to_bytes(),
        PublicKey: client.public_key().to_bytes(),
        EvaluationKeys: client.evaluation_keys(rotations=[1]).to_bytes(),
        TransferKey: client.transfer_key(client.second_client(60)).to_bytes(),
        EncryptedArray: client.encrypt(ARRAY).to_bytes(),
    }


KINDS = [Client, PublicKey, EvaluationKeys, TransferKey, EncryptedArray]


def close(array):
    np.testing.assert_allclose(array, ARRAY, atol=1e-4)


def test_arrays_travel_as_bytes_files_and_pickles(client, server, tmp_path):
    encrypted = client.encrypt(ARRAY)
    encrypted.save(tmp_path / "array.enc")
    for copy in (
        EncryptedArray.from_bytes(encrypted.to_bytes()),
        EncryptedArray.load(tmp_path / "array.enc"),
        EncryptedArray.load(str(tmp_path / "array.enc")),
        EncryptedArray.load(os.fsencode(tmp_path / "array.enc")),
        pickle.loads(pickle.dumps(encrypted)),
        server.load(tmp_path / "array.enc"),
        server.load(str(tmp_path / "array.enc")),
        server.load(encrypted.to_bytes()),
        server.load(bytearray(encrypted.to_bytes())),
        server.load(memoryview(encrypted.to_bytes())),
    ):
        close(client.decrypt(copy))
    assert server.load(encrypted).server is server
    assert pickle.loads(pickle.dumps(server.load(encrypted))).server is None


def test_results_travel_too(client, server):
    result = server.load(client.encrypt(ARRAY)) * 2.0
    close(client.decrypt(EncryptedArray.from_bytes(result.to_bytes())) / 2.0)


def test_public_keys_encrypt(client, tmp_path):
    key = client.public_key()
    key.save(tmp_path / "public.key")
    for copy in (key, PublicKey.load(tmp_path / "public.key"), pickle.loads(pickle.dumps(key))):
        assert copy.fingerprint == client.fingerprint
        close(client.decrypt(copy.encrypt(ARRAY)))


def test_evaluation_keys_travel(client, keys, tmp_path):
    keys.save(tmp_path / "evaluation.keys")
    for copy in (
        EvaluationKeys.load(tmp_path / "evaluation.keys"),
        pickle.loads(pickle.dumps(keys)),
    ):
        assert copy.fingerprint == client.fingerprint
        total = Server(copy).load(client.encrypt(ARRAY)).sum(axis=0)
        np.testing.assert_allclose(client.decrypt(total), ARRAY.sum(axis=0), atol=1e-4)


def test_clients_are_saved_for_their_owner_only(client, tmp_path):
    path = tmp_path / "client.key"
    client.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    close(Client.load(path).decrypt(client.encrypt(ARRAY)))
    with pytest.raises(FileExistsError):
        client.save(path)


def test_clients_pickle_only_when_asked_to(client):
    with pytest.raises(SecretPickleError, match="allow_pickle"):
        pickle.dumps(client)
    with client.allow_pickle() as allowed:
        data = pickle.dumps(allowed)
    with pytest.raises(SecretPickleError):
        pickle.dumps(client)
    close(pickle.loads(data).decrypt(client.encrypt(ARRAY)))


def test_clients_pickle_only_where_asked_to(client, stranger):
    with client.allow_pickle(), ThreadPoolExecutor(1) as other:
        with pytest.raises(SecretPickleError):
            other.submit(pickle.dumps, client).result()
        with pytest.raises(SecretPickleError):
            pickle.dumps(stranger)
        with stranger.allow_pickle(), client.allow_pickle():
            pickle.dumps((client, stranger))
        pickle.dumps(client)


def test_nothing_printed_holds_the_secret(client, keys, server):
    for thing in (client, keys, server, client.public_key()):
        assert client.fingerprint in repr(thing)
        assert len(repr(thing)) < 120


@pytest.mark.parametrize("wanted", KINDS)
def test_files_of_another_kind_are_refused(files, wanted):
    for kind, data in files.items():
        if kind is not wanted:
            with pytest.raises(FormatError):
                wanted.from_bytes(data)


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_files_are_refused(files, kind):
    data = files[kind]
    for length in [*range(200), len(data) // 2, len(data) - 1]:
        if length < len(data):
            with pytest.raises(FormatError):
                kind.from_bytes(data[:length])
    with pytest.raises(FormatError):
        kind.from_bytes(data + b"\0")


def test_errors_of_files_name_them(client, server, tmp_path):
    path = tmp_path / "of-whom.enc"
    kinds = (*KINDS, EncryptedClusters, TreeClient, TreeInterface, TreeKeys, TreeQuery, TreeReply)
    for data in (b"", b"PK", b"text that is no file of this package, and longer than a header"):
        path.write_bytes(data)
        for load in (*(kind.load for kind in kinds), inspect, server.load):
            with pytest.raises(FormatError, match=r"of-whom\.enc: "):
                load(path)
        with pytest.raises(
            FormatError, match="the data ends" if not data else "not a Hippocrene file"
        ):
            inspect(path)
    path.write_bytes(client.encrypt(ARRAY).to_bytes())
    with pytest.raises(FormatError, match=r"of-whom\.enc: the file holds an encrypted array"):
        PublicKey.load(path)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_altered_files_are_refused(files, kind, data):
    altered = bytearray(files[kind])
    place = data.draw(st.integers(0, 199) | st.integers(0, len(altered) - 1)) % len(altered)
    altered[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(FormatError):
        kind.from_bytes(bytes(altered))


def test_names_of_files_are_whatever_python_takes(client, keys, tmp_path):
    encrypted = client.encrypt(ARRAY)
    for number, save in enumerate(
        (encrypted.save, keys.save, client.public_key().save, client.save)
    ):
        save(os.fsencode(tmp_path / f"{number}"))
        assert (tmp_path / f"{number}").exists()
    assert Client.load(os.fsencode(tmp_path / "3")).fingerprint == client.fingerprint
    with pytest.raises(TypeError, match="PathLike"):
        encrypted.save(1)
    encrypted.save(tmp_path / ("n" * 255))
    close(client.decrypt(EncryptedArray.load(tmp_path / ("n" * 255))))


def test_links_that_lead_nowhere_yet_are_followed(client, tmp_path, clusters):
    for file in (client.encrypt(ARRAY), clusters):
        target, link = (
            tmp_path / f"{type(file).__name__}.new",
            tmp_path / f"{type(file).__name__}.link",
        )
        link.symlink_to(target)
        file.save(link)
        assert link.is_symlink()
        assert target.read_bytes() == file.to_bytes()
    assert len(list(tmp_path.iterdir())) == 4, "no temporary file is left"


def test_nothing_is_saved_over_a_secret_key(client, tmp_path, clusters):
    path = tmp_path / "client.key"
    client.save(path)
    before = path.read_bytes()
    encrypted = client.encrypt(ARRAY)
    for other in (
        client.public_key(),
        encrypted,
        EncryptedArray.from_bytes(encrypted.to_bytes()),
        clusters,
    ):
        with pytest.raises(FileError, match="secret key"):
            other.save(path)
    assert path.read_bytes() == before


def test_pipes_are_written_to_and_not_replaced(client, tmp_path, clusters):
    for file in (client.encrypt(ARRAY), clusters):
        path = tmp_path / type(file).__name__
        os.mkfifo(path)
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(path.read_bytes)
            file.save(path)
            assert read.result() == file.to_bytes()
        assert stat.S_ISFIFO(path.stat().st_mode)


def test_servers_are_neither_pickled_nor_copied(server):
    for way in (pickle.dumps, shallow_copy, deepcopy):
        with pytest.raises(TypeError, match="send its EvaluationKeys"):
            way(server)


@pytest.mark.parametrize(
    ("name", "number"), [("a" * 300, errno.ENAMETOOLONG), ("a\0b", errno.EINVAL)]
)
def test_names_that_no_file_has(client, server, tmp_path, name, number, clusters):
    interface = TreeInterface(
        tables="lut12", knots=((0.0, 1.0),), outputs="values", row_type="float32", classes=None
    )
    path = tmp_path / name
    savers = (
        client,
        client.encrypt(ARRAY),
        client.public_key(),
        TreeClient.generate("lut11"),
        interface,
        clusters,
    )
    loaders = (
        Client,
        EncryptedArray,
        PublicKey,
        EvaluationKeys,
        TreeClient,
        TreeInterface,
        EncryptedClusters,
    )
    uses = [*(one.save for one in savers), *(one.load for one in loaders), inspect, server.load]
    for use in uses:
        with pytest.raises(FileError) as caught:
            use(path)
        assert (caught.value.errno, caught.value.filename) == (number, str(path))


def test_what_is_in_a_file_is_no_name_and_in_no_error(client, tmp_path):
    key = client.to_bytes()
    trees = TreeClient.generate("lut11").to_bytes()
    for use in (Client.load, PublicKey.load, TreeClient.load, client.save):
        for secret in (key, trees):
            with pytest.raises(TypeError, match=r"not the name of one: from_bytes reads them$"):
                use(secret)
    with pytest.raises(FileError) as caught:
        Client.load(str(tmp_path) + "\0" * 100_000)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_secret_keys_that_others_can_read_are_warned_of(client, tmp_path, mode):
    for secret, load in (
        (client, Client.load),
        (TreeClient.generate("lut11"), TreeClient.load),
        (GateClient.generate(), GateClient.load),
    ):
        path = tmp_path / type(secret).__name__
        secret.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert load(path).fingerprint == secret.fingerprint, (
            "and no warning, which would be an error"
        )
        path.chmod(mode)
        with pytest.warns(
            SecretKeyWarning, match=rf"{path}: .*\(mode {mode:o}\)\. Run: chmod 600 {path}$"
        ) as told:
            assert load(path).fingerprint == secret.fingerprint
        assert told[0].filename == __file__
    client.public_key().save(tmp_path / "public.key")
    (tmp_path / "public.key").chmod(mode)
    PublicKey.load(tmp_path / "public.key")


# Saves keys once, as soon as it is told where.
SAVE = """
import sys
from hippocrene import EvaluationKeys
keys = EvaluationKeys.load(sys.argv[1])
print("ready", flush=True)
keys.save(input())
"""


def writes_in(process, folder):
    """Return whether a process has a file open in a folder."""
    links = Path(f"/proc/{process}/fd")
    try:
        return any(str(link.readlink()).startswith(f"{folder}/") for link in links.iterdir())
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
def test_a_killed_save_leaves_nothing_behind(keys, tmp_path):
    folder, source = tmp_path / "folder", tmp_path / "source"
    folder.mkdir()
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system has no files without a name")
    keys.save(source)
    before, path = b"what was there before", folder / "keys"
    for _ in range(10):
        path.write_bytes(before)
        command = [sys.executable, "-c", SAVE, str(source)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout.readline() == "ready\n"
            child.stdin.write(f"{path}\n")
            child.stdin.flush()
            while child.poll() is None and not writes_in(child.pid, folder):
                pass
            child.send_signal(signal.SIGKILL)
            child.wait()
        assert [one.name for one in folder.iterdir()] == ["keys"], "nothing is left beside the file"
        if child.returncode == -signal.SIGKILL and path.read_bytes() == before:
            break
    else:
        pytest.fail("no save was killed while it wrote")
    keys.save(path)
    assert path.read_bytes() == source.read_bytes()


def test_arrays_share_the_bytes_that_they_are_read_from(client):
    data = client.encrypt(ARRAY).to_bytes()
    assert EncryptedArray.from_bytes(data).to_bytes() is data


def turns_during(work):
    """Return how often another thread runs while `work` does, and what `work` returns."""
    started, done, turns = threading.Event(), threading.Event(), 0

    def count():
        nonlocal turns
        started.set()
        while not done.is_set():
            time.sleep(0.0005)
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    started.wait()
    before = turns
    try:
        result = work()
        during = turns - before
    finally:
        done.set()
        thread.join()
    return during, result


def test_other_threads_run_while_bytes_are_written_and_read(client, server):
    array = server.load(client.encrypt(np.ones((200, client.slots))))
    written, data = turns_during(array.to_bytes)
    read, _ = turns_during(partial(EncryptedArray.from_bytes, bytearray(data)))
    assert len(data) > 10**8
    # Each copy takes about 0.1 s. If it held the interpreter lock, another thread would only run
    # before and after it.
    assert written > 5
    assert read > 5
    assert EncryptedArray.from_bytes(data).shape == array.shape
