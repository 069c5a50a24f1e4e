"""The page of benchmark results, made of one report."""

from __future__ import annotations

import importlib.util
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "bench" / "report.py"

REPORT: dict[str, Any] = {
    "table": "ops",
    "cpu": "A <fast> CPU",
    "kernel": "portable",
    "threads": 1,
    "rows": [
        {
            "row": "add",
            "value": 0.125,
            "unit": "ms",
            "against": {"name": "Lattigo", "value": 0.5, "source": "this run"},
            "ratio": 4.0,
            "paper": None,
            "target": 2.0,
            "met": True,
        },
        {
            "row": "closes </pre>",
            "value": 3.0,
            "unit": "s",
            "against": {"name": "SEAL", "value": 1.5, "source": "this run"},
            "ratio": 0.5,
            "paper": {"name": "GRAFT", "value": 7.0, "source": "Table 4"},
            "target": None,
            "met": None,
        },
        {
            "row": "the wheel is missing",
            "value": None,
            "unit": "",
            "against": None,
            "ratio": None,
            "paper": None,
            "target": None,
            "met": None,
        },
    ],
}


class Page(HTMLParser):
    """The cells, the widths of the bars, and the text of the last preformatted element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.bars: list[tuple[str, float]] = []
        self.raw = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "td":
            self.cells.append("")
        if tag == "rect":
            self.bars.append((found["class"] or "", float(found["width"] or 0)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.cells[-1] += data
        if "pre" in self.open:
            self.raw += data


def page(*reports: dict[str, Any]) -> Page:
    found = importlib.util.spec_from_file_location("bench_report", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return Page(module.page(reports, "abc123", "today"))


def test_the_page_shows_the_figures_of_the_report():
    shown = page(REPORT)
    assert shown.cells[:8] == ["add", "0.125 ms", "Lattigo", "0.5", "4", "2", "yes", ""]
    assert shown.cells[9:17] == ["closes </pre>", "3 s", "SEAL", "1.5", "0.5", "", "", "7"]
    assert shown.cells[18:26] == ["the wheel is missing", *[""] * 7]


def test_bars_are_logarithms_of_the_ratios():
    # A ratio of 16 is a bar of 60 pixels.
    assert page(REPORT).bars == [("faster", 30.0), ("slower", 15.0)]


def test_the_page_holds_the_report_as_json():
    assert json.loads(page(REPORT, REPORT).raw) == [REPORT, REPORT]
