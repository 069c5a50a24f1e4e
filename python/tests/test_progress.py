"""Progress bars and lines."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from hippocrene import ArgumentError
from hippocrene.progress import counted, shown


def test_lines_say_how_much_was_done_since(capsys):
    done, looked = [7], [0]

    def count() -> int:
        looked[0] += 1
        return done[0]

    with counted(count, "tables", "look-ups", None, every=0.01):
        done[0] = 9
        start = time.monotonic()
        while looked[0] < 4 and time.monotonic() < start + 60:
            time.sleep(0.01)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 2
    assert lines[-1].startswith("tables: 2 look-ups, ")

    with pytest.raises(ZeroDivisionError), counted(lambda: done[0], "tables", "look-ups", 3):
        done[0] //= 0
    assert capsys.readouterr().out.startswith("tables: 0 of 3 look-ups, ")


def test_progress_is_shown_or_told_or_neither(capsys):
    told: list[tuple[int, int]] = []
    for progress in (True, False, lambda done, of: told.append((done, of))):
        with shown(progress, "trees", "rows", 5) as show:
            show(2)
    assert capsys.readouterr().out.startswith("trees: 2 of 5 rows, ")
    assert told == [(2, 5)]


class Gone(io.StringIO):
    """Output that nobody reads any more."""

    def flush(self) -> None:
        raise BrokenPipeError("nobody reads this")


@pytest.mark.parametrize("output", [None, Gone()], ids=["none", "gone"])
def test_a_computation_goes_on_where_nothing_can_be_shown(monkeypatch, output):
    ended = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    monkeypatch.setattr(sys, "stdout", output)
    with (
        counted(lambda: 0, "tables", "look-ups", None, every=0.01),
        shown(True, "trees", "rows", 5) as show,
    ):
        show(2)
        time.sleep(0.05)
    assert ended == []


@pytest.mark.parametrize("every", [0, -1.0, float("nan"), float("inf"), 1e30])
def test_times_that_are_none_are_refused(server, every):
    with pytest.raises(
        ArgumentError, match=r"progress: every is .* a positive number of seconds is needed"
    ):
        server.progress(every=every)


def test_options_that_are_no_numbers_are_refused(server):
    with pytest.raises(TypeError, match="progress: every is a number, not str"):
        server.progress(every="a")
    with pytest.raises(TypeError, match="progress: total is an integer, not str"):
        server.progress("a")
