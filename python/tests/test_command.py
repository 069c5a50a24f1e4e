from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hippocrene

COMMAND = Path(sys.executable).with_name("hippocrene")
ROWS = np.array([[1.0, -2.5, 3.25], [0.5, 4.0, -1.0]])


def run(*arguments, status=0):
    result = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == status, result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with keys, and numbers in both formats."""
    folder = tmp_path_factory.mktemp("command")
    run("keygen", "--preset", "n13", "-o", folder / "keys", "--rotations", "1,-2")
    np.save(folder / "rows.npy", ROWS)
    lines = [",".join(map(str, row)) for row in ROWS]
    (folder / "rows.csv").write_text("\n".join(["age,pressure,rate", *lines, ""]))
    return folder


@pytest.mark.parametrize(
    "command", [[COMMAND], [sys.executable, "-m", "hippocrene"]], ids=["command", "module"]
)
def test_a_closed_standard_output_is_an_error(folder, command):
    run(
        "encrypt",
        "-k",
        folder / "keys" / "client.key",
        folder / "rows.csv",
        "-o",
        folder / "closed.enc",
    )
    decrypt = ["decrypt", "-k", folder / "keys" / "client.key", folder / "closed.enc"]
    # The shell closes it.
    closed = ["sh", "-c", '"$@" >&-', "sh", *command, *decrypt]
    result = subprocess.run(list(map(str, closed)), capture_output=True, text=True)
    assert result.returncode == 3, result.stderr
    assert "standard output" in result.stderr
    result = subprocess.run(list(map(str, [*command, *decrypt])), stdout=subprocess.DEVNULL)
    assert result.returncode == 0


def test_the_command_and_the_module_are_one():
    as_module = subprocess.run(
        [sys.executable, "-m", "hippocrene", "presets", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert as_module.stdout == run("presets", "--json").stdout
    assert run("--version").stdout == f"hippocrene {hippocrene.__version__}\n"


def test_presets_are_those_of_the_package():
    listed = json.loads(run("presets", "--json").stdout)["presets"]
    names = [preset.name for preset in hippocrene.presets()]
    assert [preset["name"] for preset in listed] == names
    words = run("presets").stdout
    assert all(name in words for name in names)


@pytest.mark.parametrize("key", ["client.key", "public.key"])
@pytest.mark.parametrize("source", ["rows.csv", "rows.npy"])
@pytest.mark.parametrize("target", ["out.csv", "out.npy", None])
def test_numbers_go_in_and_come_out(folder, tmp_path, key, source, target):
    run("encrypt", "-k", folder / "keys" / key, folder / source, "-o", tmp_path / "rows.enc")
    if target is None:
        out = run(
            "decrypt", "-k", folder / "keys/client.key", tmp_path / "rows.enc"
        ).stdout.splitlines()
        result = np.loadtxt(out, delimiter=",")
    else:
        path = tmp_path / target
        run("decrypt", "-k", folder / "keys/client.key", tmp_path / "rows.enc", "-o", path)
        result = np.load(path) if target.endswith("npy") else np.loadtxt(path, delimiter=",")
    np.testing.assert_allclose(result, ROWS, atol=1e-4)


def test_files_of_pandas_go_in_and_come_out(folder, tmp_path):
    key = folder / "keys/client.key"
    frame = pandas.DataFrame(ROWS, columns=["age", "blood pressure", "rate"])
    source, target = tmp_path / "frame.csv", tmp_path / "out.csv"
    encrypt = ["encrypt", "-k", key, source, "-o", tmp_path / "frame.enc"]
    decrypt = ["decrypt", "-k", key, tmp_path / "frame.enc", "--header-from", source, "-o", target]
    frame.to_csv(source)
    assert "the first column looks like a row index" in run(*encrypt, status=4).stderr
    run(*encrypt, "--index")
    run(*decrypt, "--index")
    pandas.testing.assert_frame_equal(pandas.read_csv(target), frame, atol=1e-3)
    run(*encrypt, "--no-index")
    assert "(2, 4)" in run("inspect", tmp_path / "frame.enc").stdout
    frame.to_csv(source, index=False)
    assert "decrypt --header-from" in run(*encrypt).stdout
    run(*decrypt)
    pandas.testing.assert_frame_equal(pandas.read_csv(target), frame, atol=1e-3)
    # Columns without names have numbers in pandas.
    pandas.DataFrame(ROWS).to_csv(source, index=False)
    assert "line 1 (0, 1, 2) may be a header or values" in run(*encrypt, status=4).stderr
    run(*encrypt, "--header")
    assert "(2, 3)" in run("inspect", tmp_path / "frame.enc").stdout
    frame.assign(day="2020-01-31").to_csv(source, index=False)
    error = run(*encrypt, status=4).stderr
    assert 'line 2, column 4: "2020-01-31"' in error
    assert "days since a first day" in error


def test_files_are_those_of_the_package(folder, tmp_path):
    client = hippocrene.Client.load(folder / "keys/client.key")
    server = hippocrene.Server(hippocrene.EvaluationKeys.load(folder / "keys/evaluation.keys"))
    run(
        "encrypt",
        "-k",
        folder / "keys/public.key",
        folder / "rows.csv",
        "-o",
        tmp_path / "rows.enc",
    )
    result = server.load(tmp_path / "rows.enc") * 2.0
    np.testing.assert_allclose(client.decrypt(result), 2.0 * ROWS, atol=1e-4)
    result.save(tmp_path / "result.enc")
    decrypt = [
        "decrypt",
        "-k",
        folder / "keys/client.key",
        tmp_path / "result.enc",
        "-o",
        tmp_path / "r.npy",
    ]
    run(*decrypt, "--for-sharing=20")
    np.testing.assert_allclose(np.load(tmp_path / "r.npy"), 2.0 * ROWS, atol=1e-1)
    assert "precision" in run(*decrypt, "--for-sharing=40", status=1).stderr


def test_inspect_tells_what_a_file_is(folder, tmp_path):
    client = hippocrene.Client.load(folder / "keys/client.key")
    path = tmp_path / "rows.enc"
    client.encrypt(ROWS).save(path)
    files = [folder / "keys" / name for name in ("client.key", "public.key", "evaluation.keys")] + [
        path
    ]
    described = json.loads(run("inspect", *files, "--json").stdout)["files"]
    assert [one["kind"] for one in described] == [
        "secret_key",
        "public_key",
        "evaluation_keys",
        "array",
    ]
    for one, file in zip(described, files, strict=True):
        assert one["key"] == client.fingerprint
        assert one["bytes"] == file.stat().st_size
        assert one["preset"] == "n13"
    array = client.encrypt(ROWS)
    assert described[2]["keys"]["rotations"] == [-2, 1]
    assert described[3]["array"]["shape"] == [2, 3]
    assert described[3]["array"]["capacity_bits"] == pytest.approx(array.capacity_bits, abs=1)
    assert described[3]["array"]["precision_bits"] == pytest.approx(array.precision_bits, abs=1)
    words = run("inspect", path).stdout
    assert "encrypted array" in words
    assert client.fingerprint in words


def test_keys_are_never_replaced_unless_told_to(folder, tmp_path):
    before = (folder / "keys/client.key").read_bytes()
    assert "--force" in run("keygen", "-o", folder / "keys", status=2).stderr
    assert (folder / "keys/client.key").read_bytes() == before
    run("keygen", "-p", "n13", "--rotations=1", "-o", tmp_path / "keys")
    first = (tmp_path / "keys/client.key").read_bytes()
    run("keygen", "-p", "n13", "--rotations=1", "-o", tmp_path / "keys", "--force")
    assert (tmp_path / "keys/client.key").read_bytes() != first
    assert stat.S_IMODE((tmp_path / "keys/client.key").stat().st_mode) == 0o600


def test_errors_have_a_kind_and_a_status(folder, tmp_path):
    def error(status, *arguments):
        return json.loads(run(*arguments, "--json", status=status).stderr)["error"]

    key = folder / "keys/client.key"
    assert error(2, "keygen", "-p", "n1", "-o", tmp_path / "k")["kind"] == "ParameterError"
    assert error(2, "encrypt")["kind"] == "UsageError"
    assert (
        error(2, "encrypt", "-k", key, folder / "keys", "-o", tmp_path / "x")["kind"]
        == "UsageError"
    )
    assert (
        error(3, "encrypt", "-k", key, tmp_path / "none.csv", "-o", tmp_path / "x")["kind"]
        == "FileError"
    )
    assert error(
        4, "encrypt", "-k", folder / "rows.csv", folder / "rows.csv", "-o", tmp_path / "x"
    )["kind"] == ("FormatError")
    assert error(4, "decrypt", "-k", key, folder / "rows.csv")["kind"] == "FormatError"
    assert error(4, "inspect", folder / "rows.csv")["kind"] == "FormatError"
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3,x\n")
    bad = error(4, "encrypt", "-k", key, tmp_path / "bad.csv", "-o", tmp_path / "x")
    assert bad["kind"] == "DataError"
    assert "line 3, column 2" in bad["message"]
    stranger = hippocrene.Client.generate("n13").encrypt(ROWS)
    stranger.save(tmp_path / "theirs.enc")
    assert error(1, "decrypt", "-k", key, tmp_path / "theirs.enc")["kind"] == "KeyMismatchError"
    assert not (tmp_path / "x").exists()


def test_a_model_runs_on_a_table(tmp_path):
    data = load_wine(as_frame=True)
    classes = np.array(["barolo", "grignolino", "barbera"])[data.target]
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, classes)
    program = hippocrene.models.from_sklearn(fitted, like=data.data).compile(len(classes))
    program.save(tmp_path / "wine.program")
    program.interface().save(tmp_path / "wine.interface")
    # Another order of columns, and further ones.
    table = data.data[data.data.columns[::-1]].assign(name=classes)
    table.to_csv(tmp_path / "wine.csv", index=False)

    keys, interface = tmp_path / "keys", tmp_path / "wine.interface"
    run("keygen", "--for", interface, "-o", keys)
    client = ("-k", keys / "client.key", "--for", interface)
    run("encrypt", *client, tmp_path / "wine.csv", "-o", tmp_path / "wine.enc")
    server = ("-k", keys / "evaluation.keys", "-o", tmp_path / "reply.enc")
    run("run", tmp_path / "wine.program", tmp_path / "wine.enc", *server)
    found = run("decrypt", *client, tmp_path / "reply.enc").stdout.split()
    assert found == ["class", *fitted.predict(data.data)]
    assert run("run", tmp_path / "wine.program", tmp_path / "wine.csv").stdout.split() == found
