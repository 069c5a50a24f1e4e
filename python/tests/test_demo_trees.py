from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TREES = Path(__file__).parents[2] / "examples/trees/trees.py"


def test_rows_are_classified_as_in_plaintext(tmp_path):
    folder = tmp_path / "run"
    result = subprocess.run([sys.executable, TREES, folder], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for line in ("accuracy, encrypted", "accuracy, scikit-learn", "rows that agree", "peak memory"):
        assert line in result.stdout
    assert {path.name for path in (folder / "server").iterdir()} == {"tree.pickle"}
    shared = {path.name for path in (folder / "shared").iterdir()}
    assert shared == {"interface.json", "evaluation.keys", "query", "reply", "server.json"}
    secret = (folder / "client/client.key").read_bytes()
    assert all(secret[-64:] not in path.read_bytes() for path in (folder / "shared").iterdir())
