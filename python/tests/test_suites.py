"""Statements of the repository about its own tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CRATES = [path.parent for path in sorted((Path(__file__).parents[2] / "crates").glob("*/tests"))]


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_every_file_of_tests_is_compiled(crate):
    """A file that no program names would never run."""
    programs = set(
        re.findall(
            r"""^\[\[test\]\]\nname = "(\w+)"$""", (crate / "Cargo.toml").read_text(), re.MULTILINE
        )
    )
    modules = set(re.findall(r"^mod (\w+);$", (crate / "tests/suite.rs").read_text(), re.MULTILINE))
    files = {path.stem for path in (crate / "tests").glob("*.rs")}
    assert "suite" in programs
    assert files <= programs | modules
