"""Runs the notebooks of the documentation, which compare their results with plaintext ones."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = (
    "first-steps",
    "statistics",
    "trees-and-clusters",
    "integers-and-voting",
    "bits",
    "bootstrapping",
)
# Maximum size of a notebook with its outputs, in bytes. Chosen, so that the repository stays small.
MAX_BYTES = 300_000


def cells(name: str, kind: str) -> list[dict]:
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text())
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


@pytest.fixture(autouse=True)
def _plots_without_a_screen():
    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    yield
    pyplot.close("all")
    matplotlib.use(before)


def test_every_notebook_is_tested():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_cells_run_in_order(name):
    namespace: dict = {}
    for number, cell in enumerate(cells(name, "code"), start=1):
        code = compile("".join(cell["source"]), f"{name}.ipynb, code cell {number}", "exec")
        exec(code, namespace)


@pytest.mark.parametrize("name", NAMES)
def test_the_last_cell_asserts(name):
    assert "\nassert " in "\n" + "".join(cells(name, "code")[-1]["source"])


@pytest.mark.parametrize("name", NAMES)
def test_the_saved_outputs_are_complete_and_small(name):
    assert (FOLDER / f"{name}.ipynb").stat().st_size < MAX_BYTES
    code = cells(name, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = [kind for cell in code for output in cell["outputs"] for kind in output.get("data", {})]
    assert "image/png" in kinds
    assert "text/html" in kinds
    assert not [output for cell in code for output in cell["outputs"] if output.get("ename")]
