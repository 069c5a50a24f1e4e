"""Checks the files, functions and links that CONTRIBUTING.md names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
# The rows of the table "Where would I change ...?".
ROWS = [
    row.split(" | ")
    for row in re.findall(r"^\| (.*) \|$", PAGE, re.MULTILINE)
    if not row.startswith("question")
]
CODE = re.compile(r"`([^`\n]+)`")


def found(path: str) -> Path | None:
    """Return the file or folder, whose path may start in `crates` or in `python`."""
    places = [ROOT / start / path for start in ("", "crates", "python")]
    return next((place for place in places if place.exists()), None)


@pytest.mark.parametrize(
    "path",
    sorted({path for path in CODE.findall(PAGE) if re.fullmatch(r"[\w./-]+/[\w./-]+", path)}),
)
def test_every_path_exists(path):
    assert found(path)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", PAGE))))
def test_every_link_leads_to_a_page(link):
    assert (ROOT / link).is_file()


@pytest.mark.parametrize(("question", "answer"), ROWS, ids=lambda text: text[:40])
def test_answers_name_what_their_files_have(question, answer):
    paths = [found(path) for path in CODE.findall(answer) if "/" in path]
    assert paths, question
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.rs"))]
    texts = "".join(file.read_text() for file in files)
    names = [name for name in CODE.findall(answer) if "/" not in name and not name.endswith(".rs")]
    for name in names:
        assert re.search(rf"\b{name.split('::')[-1]}\b", texts), name


def test_there_are_a_dozen_questions():
    assert len(ROWS) >= 12
