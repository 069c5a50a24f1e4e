"""Errors about files that cannot be read or written, or that hold something else."""

from __future__ import annotations

import base64
import errno
import os
import pickle
import signal
import threading
import time
import tracemalloc

import pytest

import hippocrene
from hippocrene import FileError, HippocreneError
from hippocrene.models.clustering import EncryptedClusters
from hippocrene.models.tree_interface import TreeInterface


def test_errors_of_files_are_pythons_and_this_packages(client, tmp_path, clusters):
    interface = TreeInterface(
        tables="lut12", knots=((0.0, 1.0),), outputs="values", row_type="float32", classes=None
    )
    missing = tmp_path / "missing"
    for use in (
        lambda: hippocrene.Client.load(missing),
        lambda: hippocrene.EncryptedArray.load(missing),
        lambda: hippocrene.inspect(missing),
        lambda: TreeInterface.load(missing),
        lambda: EncryptedClusters.load(missing),
        lambda: client.save(missing / "client.key"),
        lambda: interface.save(missing / "interface.json"),
        lambda: clusters.save(missing / "clusters"),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            use()
        error = caught.value
        assert isinstance(error, FileError)
        assert isinstance(error, HippocreneError)
        assert type(error).__name__ == "FileError"
        assert error.errno == errno.ENOENT
        assert str(error).startswith("[Errno 2] No such file or directory: ")
        assert str(missing) in error.filename
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy)) == (type(error), str(error))


def test_other_errors_of_files(client, tmp_path):
    path = tmp_path / "client.key"
    client.save(path)
    for use in (lambda: client.save(path), lambda: client.encrypt([1.0]).save(path)):
        with pytest.raises(FileExistsError) as caught:
            use()
        assert isinstance(caught.value, FileError)
        assert caught.value.errno == errno.EEXIST
    with pytest.raises(FileError) as caught:
        hippocrene.EncryptedArray.load(tmp_path)
    assert isinstance(caught.value, IsADirectoryError)
    plain = FileError(errno.EIO, "what", "where")
    assert (type(plain), str(plain)) == (FileError, "[Errno 5] what: 'where'")
    assert str(FileError("words alone")) == "words alone"


def test_interfaces_of_trees_that_are_no_text(tmp_path):
    path = tmp_path / "interface.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(
        hippocrene.FormatError, match=r"interface\.json: this is no interface of decision trees"
    ):
        TreeInterface.load(path)


@pytest.mark.parametrize("load", [EncryptedClusters.load, TreeInterface.load])
def test_what_is_no_file_of_this_package_is_not_read(tmp_path, load):
    path = tmp_path / "zeros"
    with path.open("wb") as file:
        file.truncate(1 << 28)
    tracemalloc.start()
    try:
        with pytest.raises(
            hippocrene.FormatError, match=r"zeros: this is (not a Hippocrene file|no interface)"
        ):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("opened", [False, True])
def test_signals_end_the_wait_for_what_a_pipe_says(tmp_path, opened):
    def late(*_: object) -> None:
        raise TimeoutError("late")

    path = tmp_path / "pipe"
    os.mkfifo(path)
    ended = threading.Event()

    def write() -> None:
        # Should the wait not end, it does after a minute.
        if opened or not ended.wait(60):
            with path.open("wb"):
                ended.wait(60)

    writer = threading.Thread(target=write)
    writer.start()
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match=r"^late$"):
            hippocrene.EncryptedArray.load(path)
        assert time.monotonic() < start + 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        ended.set()
        writer.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_files_are_read_from_pipes(client, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for load, data in (
        (hippocrene.EncryptedArray.load, client.encrypt([0.5]).to_bytes()),
        (hippocrene.Client.load, client.to_bytes()),
    ):
        writer = threading.Thread(target=path.write_bytes, args=[data])
        writer.start()
        assert load(path).to_bytes() == data
        writer.join()


@pytest.mark.parametrize("text", ["", '{"version": 1', '{"version": 1, "kernel": "portable"}'])
def test_a_bad_tuning_profile_says_what_it_is(tmp_path, monkeypatch, text):
    path = tmp_path / "profile.json"
    path.write_text(text)
    monkeypatch.setenv("HIPPOCRENE_PROFILE", str(path))
    with pytest.raises(hippocrene.FormatError) as caught:
        hippocrene.Client.generate("n13")
    for words in (f"tuning profile {path}", "`hippocrene tune` makes a new one"):
        assert words in str(caught.value)


def test_a_missing_tuning_profile_says_what_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HIPPOCRENE_PROFILE", str(tmp_path / "none.json"))
    with pytest.raises(
        FileNotFoundError, match=r"the tuning profile cannot be read: .*`hippocrene tune`"
    ) as caught:
        hippocrene.Client.generate("n13")
    assert caught.value.filename == str(tmp_path / "none.json")


def test_what_a_file_holds_is_in_no_error_as_text_either(client):
    data = client.to_bytes()
    base64_text = base64.b64encode(data).decode()
    for text in (
        data.decode("latin1"),
        os.fsdecode(data),
        data.hex(),
        data.hex().upper(),
        base64_text,
        str(data),
    ):
        for read in (hippocrene.Client.load, hippocrene.inspect, hippocrene.EncryptedArray.load):
            with pytest.raises(TypeError, match="from_bytes") as caught:
                read(text)
            assert text[30:50] not in str(caught.value)
