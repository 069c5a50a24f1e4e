"""The rows that examples are run on: sets by name, and files of a user's own."""

from __future__ import annotations

import argparse
import importlib
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def data(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES / "demo")
    monkeypatch.syspath_prepend(EXAMPLES / "clustering")
    yield importlib.import_module("data")
    for name in ("data", "settings"):
        sys.modules.pop(name, None)


def run(monkeypatch, program: str, *arguments: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", [program, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / program), run_name="__main__")


def test_rows_of_a_users_own(tmp_path, monkeypatch, data):  # noqa: ARG001
    rows = np.random.default_rng(0).normal(size=(40, 3))
    lines = [",".join(map(str, row)) + (",yes" if row[0] > 0 else ",no") for row in rows]
    (tmp_path / "rows.csv").write_text("a,b,c,class\n" + "\n".join(lines) + "\n")
    folder = tmp_path / "trees"
    run(monkeypatch, "trees/train.py", folder, "--csv", tmp_path / "rows.csv", "--depth", "2")
    assert set(np.load(folder / "client" / "truth.npz")["classes"]) == {"yes", "no"}
    assert np.load(folder / "client" / "rows.npy").shape == (8, 3)

    (tmp_path / "points.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    folder, asked = (
        tmp_path / "points",
        ["--csv", tmp_path / "points.csv", "--clusters", "4", "--points", "30"],
    )
    run(monkeypatch, "clustering/points.py", folder, *asked)
    with np.load(folder / "client" / "points.npz") as written:
        assert (written["points"].shape, int(written["clusters"])) == ((30, 3), 4)
    with pytest.raises(SystemExit, match="50 clusters of 40 points"):
        run(
            monkeypatch,
            "clustering/points.py",
            folder,
            "--csv",
            tmp_path / "points.csv",
            "--clusters",
            "50",
        )


def test_sets_by_name(data):
    shapes = {
        "iris": (150, 4),
        "wine": (178, 13),
        "breast-cancer": (569, 30),
        "digits": (1797, 64),
        "housing": (506, 13),
        "spambase": (4601, 57),
    }
    for name, shape in shapes.items():
        rows, classes = data.load(argparse.Namespace(csv=None, data=name), classified=True)
        assert (rows.shape, classes.shape) == (shape, shape[:1])
    assert shapes.keys() == {*data.BUNDLED, *data.GENERATED}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1,2\n3\n4,5\n6,7\n", "row 2 must have as many numbers"),
        ("1,2\n3,nan\n4,5\n6,7\n", "row 2 must have as many numbers"),
        ("a,b\n1,2\n3,x\n4,5\n6,7\n", "row 3 must have as many numbers"),
        ("a,b\n", "has 0 rows"),
        ("", "has 0 rows"),
        ("1,2\n", "has 1 rows of 2 numbers"),
    ],
)
def test_files_that_are_no_rows(tmp_path, data, text, what):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(SystemExit, match=what):
        data.read(tmp_path / "rows.csv", classified=False)


def test_a_file_that_is_not_there(tmp_path, data):
    with pytest.raises(SystemExit, match=r"none\.csv cannot be read"):
        data.read(tmp_path / "none.csv", classified=True)
