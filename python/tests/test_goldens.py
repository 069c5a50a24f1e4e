"""Some of the recorded dry runs; `python -m goldens.record --check` compares all of them."""

from __future__ import annotations

import json

import pytest
from goldens.programs import programs
from goldens.record import RECORD, taken

KNOWN = json.loads(RECORD.read_text())


def test_every_program_is_recorded_once():
    assert sorted(KNOWN) == sorted(program.name for program in programs())
    assert len(KNOWN) >= 500


@pytest.mark.parametrize("program", programs()[::30], ids=lambda program: program.name)
def test_dry_runs_take_what_is_recorded(program):
    assert json.loads(json.dumps(taken(program))) == KNOWN[program.name]
