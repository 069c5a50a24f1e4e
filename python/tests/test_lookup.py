from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOOKUP = Path(__file__).parents[2] / "examples/lookup/lookup.py"


def test_the_record_that_was_asked_for_is_found(tmp_path):
    folder = tmp_path / "run"
    result = subprocess.run([sys.executable, LOOKUP, folder], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = (
        "records in the table    30000",
        "records of the code     1",
        "price in cents",
        "peak memory",
    )
    assert all(line in result.stdout for line in lines)
    secret = (folder / "client/client.key").read_bytes()
    answers = {f"answer-{i}.enc" for i in range(4)}
    shared = {path.name for path in (folder / "shared").iterdir()}
    assert shared == {"evaluation.keys", "code.enc", "server.json"} | answers
    assert all(secret[-64:] not in path.read_bytes() for path in (folder / "shared").iterdir())


def test_no_folder_is_removed_but_its_own(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    result = subprocess.run([sys.executable, LOOKUP, tmp_path], capture_output=True, text=True)
    assert result.returncode != 0
    assert "name another folder" in result.stderr
    assert (tmp_path / "thesis.txt").exists()
    result = subprocess.run([sys.executable, LOOKUP], capture_output=True, text=True)
    assert result.stderr.startswith("usage")
