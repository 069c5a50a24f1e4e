from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import hippocrene

DEMO = Path(__file__).parents[2] / "examples/demo/demo.py"
MODELS = ("patients", "digits")
ROWS = 20

pytestmark = pytest.mark.xdist_group("large")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, DEMO, *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, str]:
    """The folder and the output of the demonstration, on fewer rows."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    result = run(folder, "--rows", str(ROWS))
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


@pytest.mark.parametrize(("name", "error"), [("patients", 1e-8), ("digits", 0.05)])
def test_every_row_is_classified_as_by_scikit_learn(demo, name, error):
    folder = demo[0] / name
    truth, answer = np.load(folder / "truth.npz"), np.load(folder / "client/answer.npz")
    bound = hippocrene.Program.load(folder / "server/model.program").error_bound
    certain = truth["margins"] > 2 * bound
    assert answer["classes"].shape == (ROWS,)
    assert certain.sum() >= 0.5 * ROWS
    np.testing.assert_array_equal(answer["classes"][certain], truth["predicted"][certain])
    assert np.mean(answer["classes"] == truth["classes"]) >= 0.85
    np.testing.assert_allclose(answer["scores"], truth["scores"], rtol=0, atol=min(bound, error))


def test_plans_and_measurements_are_printed(demo):
    output = demo[1]
    assert output.count("steps on the preset") == output.count("rows that agree") == 2
    for line in (
        "rows too close to tell",
        "accuracy, encrypted",
        "accuracy, scikit-learn",
        "largest error of a score",
        "predicted time",
        "peak memory",
        "evaluation keys",
    ):
        assert line in output
    assert "\x1b" not in output, "plain lines where there is no terminal"


@pytest.mark.parametrize("name", MODELS)
def test_the_secret_key_stays_with_the_client_and_the_weights_with_the_server(demo, name):
    folder = demo[0] / name
    files = {
        side: {path.name for path in (folder / side).iterdir()} for side in ("server", "shared")
    }
    assert files == {
        "server": {"model.program"},
        "shared": {"model.interface", "evaluation.keys", "rows.enc", "reply.enc", "server.json"},
    }
    secret = (folder / "client/client.key").read_bytes()
    shared = [path.read_bytes() for path in (folder / "shared").iterdir()]
    assert all(secret[-64:] not in data for data in shared)
    with pytest.raises(hippocrene.FormatError):
        hippocrene.Program.load(folder / "shared/model.interface")


class Page(HTMLParser):
    """Collects the tags and the text of a page, and checks that tags are closed in order."""

    VOID = ("meta", "br", "path", "circle", "rect")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href"} & {name for name, _ in attrs}, "other files"
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):  # noqa: ARG002
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())


def test_the_report_shows_the_results_as_tables_and_pictures(demo):
    text = (demo[0] / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert "url(" not in text
    # A table of results, and for each model a plan and two confusion tables.
    assert page.tags.count("table") == 1 + 2 * 3
    # A plot of scores, and drawings of digits.
    assert page.tags.count("svg") == 1 + ROWS
    assert page.tags.count("circle") == 2 * ROWS
    classes = np.load(demo[0] / "digits/truth.npz")["predicted"]
    drawn = [one for one in page.texts if re.fullmatch(r"\d \| \d", one)]
    assert sorted(drawn) == sorted(f"{one} | {one}" for one in classes)
    for name in ("accuracy, encrypted", "predicted time", "size of reply", "malignant"):
        assert name in page.texts


def test_the_demo_removes_no_folder_but_its_own(tmp_path):
    (tmp_path / "patients").mkdir()
    (tmp_path / "thesis.txt").write_text("years of work")
    result = run(tmp_path)
    assert result.returncode != 0
    assert "name another folder" in result.stderr
    assert (tmp_path / "thesis.txt").exists()


def test_the_demo_states_its_arguments(tmp_path):
    result = run()
    assert result.returncode != 0
    assert result.stderr.startswith("usage")
    result = run(tmp_path / "run", "--rows", "3")
    assert result.returncode != 0
    assert "--rows 10 or more" in result.stderr


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
