from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples/demo/demo.py"


def test_the_demo_scores_every_row_as_the_plaintext_model_does(tmp_path):
    folder = tmp_path / "run"
    result = subprocess.run([sys.executable, DEMO, folder], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "114 of 114" in result.stdout
    for line in (
        "accuracy, encrypted",
        "accuracy, plaintext",
        "largest error",
        "peak memory",
        "evaluation keys",
    ):
        assert line in result.stdout
    assert "\x1b" not in result.stdout, "plain lines where there is no terminal"
    secret = (folder / "client/client.key").read_bytes()
    shared = {path.name for path in (folder / "shared").iterdir()}
    assert shared == {"evaluation.keys", "rows.enc", "probabilities.enc", "server.json"}
    assert all(secret[-64:] not in path.read_bytes() for path in (folder / "shared").iterdir())


def test_the_demo_removes_no_folder_but_its_own(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "thesis.txt").write_text("years of work")
    result = subprocess.run([sys.executable, DEMO, tmp_path], capture_output=True, text=True)
    assert result.returncode != 0
    assert "name another folder" in result.stderr
    assert (tmp_path / "thesis.txt").exists()


def test_the_demo_says_what_it_needs():
    result = subprocess.run([sys.executable, DEMO], capture_output=True, text=True)
    assert result.returncode != 0
    assert result.stderr.startswith("usage")


def test_steps_show_a_bar_on_a_terminal():
    program = (
        "import time; from steps import Steps\n"
        "with Steps('client', 1) as s:\n"
        " with s.step('work'): time.sleep(0.5)"
    )
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    subprocess.run(
        [sys.executable, "-c", program],
        stdout=follower,
        cwd=DEMO.parent,
        env=environment,
        check=True,
    )
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert "━" in shown
    assert "client: work: 0.5" in shown
