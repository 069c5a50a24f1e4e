from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


def test_the_readme_starts_with_the_two_commands():
    first = README.read_text().split("```")[1]
    assert re.findall(r"^make \w+", first, re.MULTILINE) == ["make demo", "make test"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example):
    exec(compile(example, str(README), "exec"), {})


def test_there_is_an_example():
    assert len(EXAMPLES) >= 1
