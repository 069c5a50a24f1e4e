"""Some of the recorded dry runs; `python -m goldens.record --check` compares all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from goldens.programs import programs
from goldens.record import RECORD, taken

KNOWN = json.loads(RECORD.read_text())

# The kernel of the machine that wrote the record. In memory, keys are smaller for it than for other
# kernels.
KERNEL_OF_RECORD = "avx512ifma"


@pytest.fixture(scope="module")
def kernel() -> str:
    """Return the name of the kernel of this machine."""
    command = [sys.executable, "-m", "hippocrene", "plan", "n12", "--json"]
    plan = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(plan)["kernel"]


def comparable(record: dict[str, Any], kernel: str) -> dict[str, Any]:
    """Return the figures that should be the same with this kernel."""
    same = kernel == KERNEL_OF_RECORD
    return {key: value for key, value in record.items() if same or key != "peak_memory"}


def test_every_program_is_recorded_once():
    assert sorted(KNOWN) == sorted(program.name for program in programs())
    assert len(KNOWN) >= 500


@pytest.mark.parametrize("program", programs()[::30], ids=lambda program: program.name)
def test_dry_runs_take_what_is_recorded(program, kernel):
    found = json.loads(json.dumps(taken(program)))
    assert comparable(found, kernel) == comparable(KNOWN[program.name], kernel)
