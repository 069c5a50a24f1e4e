from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CLUSTERING = Path(__file__).parents[2] / "examples/clustering/clustering.py"


def test_points_are_clustered_as_in_plaintext(tmp_path):
    folder = tmp_path / "run"
    result = subprocess.run([sys.executable, CLUSTERING, folder], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for line in ("points in the cluster", "inertia, encrypted", "3 of 3 iterations", "peak memory"):
        assert line in result.stdout
    assert {path.name for path in (folder / "server").iterdir()} == {"checkpoint"}
    shared = {path.name for path in (folder / "shared").iterdir()}
    assert shared == {"evaluation.keys", "points", "clusters", "server.json"}
    secret = (folder / "client/client.key").read_bytes()
    assert all(secret[-64:] not in path.read_bytes() for path in (folder / "shared").iterdir())
