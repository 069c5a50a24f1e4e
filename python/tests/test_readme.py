from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (
    README,
    *(
        ROOT / "docs" / page
        for page in (
            "approximation.md",
            "arrays.md",
            "bits.md",
            "entries.md",
            "integers.md",
            "python.md",
            "simulation.md",
            "trees.md",
        )
    ),
)
EXAMPLES = [
    pytest.param(page, example, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, example in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    )
]


def test_the_readme_starts_with_the_two_commands():
    first = README.read_text().split("```")[1]
    assert re.findall(r"^make \w+", first, re.MULTILINE) == ["make demo", "make test"]


@pytest.mark.parametrize(("page", "example"), EXAMPLES)
def test_examples_run(page, example):
    exec(compile(example, str(page), "exec"), {})


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
