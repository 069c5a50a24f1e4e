"""Runs tables of the benchmarks and writes their results as one HTML page.

usage: python bench/report.py [TABLE ...] [-o FILE] [--from JSON ...]

Each table runs as ``cargo run --release --manifest-path bench/Cargo.toml -- TABLE --json``. The page
has a table and a bar for each ratio, the machine, the commit, and the results as JSON. With
``--from``, it is made of files with such JSON instead. It needs no package beside Python's own.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# Tables of a few minutes in all (chosen).
TABLES = ("ops", "linear")
# Bars show ratios from 1/16 to 16, as their logarithms.
LOG2_RANGE = 4.0

STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; width: 100% }
th, td { padding: .25rem .6rem; border-top: 1px solid rgba(128,128,128,.35); text-align: left }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
svg { display: block }
.faster { fill: #3d84c6 } .slower { fill: #d07a3a }
"""


def measured(table: str) -> dict[str, Any]:
    """Run one table and return its report."""
    words = ["cargo", "run", "--release", "--manifest-path", "bench/Cargo.toml", "--target-dir"]
    words += ["target", "--", table, "--json"]
    run = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def commit() -> str:
    """Return the commit of the checkout, and whether files differ from it."""
    words = ["git", "describe", "--always", "--abbrev=12", "--dirty= (with changes)"]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, check=False, text=True)
    return run.stdout.strip() or "unknown"


def number(value: float | None) -> str:
    """Return a number with four digits, or nothing if there is none."""
    return "" if value is None or not math.isfinite(value) else f"{value:.4g}"


def bar(ratio: float | None) -> str:
    """Return a bar that shows a ratio as its logarithm, to the right of the middle if it is over 1."""
    if ratio is None or not ratio > 0 or not math.isfinite(ratio):
        return ""
    share = max(-1.0, min(1.0, math.log2(ratio) / LOG2_RANGE))
    kind = "faster" if share >= 0 else "slower"
    left, width = 60 + 60 * min(share, 0.0), 60 * abs(share)
    return (
        f'<svg width="120" height="12" role="img" aria-label="ratio {number(ratio)}">'
        f'<rect class="{kind}" x="{left:.1f}" y="2" width="{width:.1f}" height="8"/>'
        '<line x1="60" x2="60" y1="0" y2="12" stroke="currentColor"/></svg>'
    )


def row(line: Mapping[str, Any]) -> str:
    """Return one measurement as a row."""
    against, paper = line.get("against") or {}, line.get("paper") or {}
    met = {True: "yes", False: "no", None: ""}[line.get("met")]
    figure = f"{number(line.get('value'))} {line['unit']}".strip()
    cells = [
        (line["row"], ""),
        (figure, "number"),
        (against.get("name", ""), ""),
        (number(against.get("value")), "number"),
        (number(line.get("ratio")), "number"),
        (number(line.get("target")), "number"),
        (met, ""),
        (number(paper.get("value")), "number"),
    ]
    text = "".join(f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in cells)
    return f"<tr>{text}<td>{bar(line.get('ratio'))}</td></tr>"


def page(reports: Sequence[Mapping[str, Any]], revision: str, date: str) -> str:
    """Return the page of these reports."""
    titles = ("", "ours", "compared with", "theirs", "ratio", "target", "met", "paper", "")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>Hippocrene: benchmarks</title>',
        f"<style>{STYLE}</style></head><body><h1>Benchmarks of Hippocrene</h1>",
        f"<p>Commit {escape(revision)}, {escape(date)}. A ratio above 1 means that Hippocrene is"
        " better. Bars show ratios on a logarithmic scale from 1/16 to 16.</p>",
    ]
    for report in reports:
        machine = f"{report['cpu']}, kernel {report['kernel']}, {report['threads']} thread(s)"
        rows = "".join(map(row, report["rows"]))
        parts.append(f"<h2>{escape(report['table'])}</h2><p>{escape(machine)}</p>")
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    raw = json.dumps(list(reports), indent=1)
    parts.append("<h2>JSON</h2><details><summary>All figures</summary>")
    parts.append(f"<pre>{escape(raw)}</pre></details></body></html>")
    return "\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> None:
    """Measure the tables, or read them, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="default: ops linear")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench-report.html")
    parser.add_argument("--from", dest="sources", nargs="+", type=Path, metavar="JSON", default=[])
    asked = parser.parse_args(arguments)
    if asked.sources:
        reports = [json.loads(source.read_text()) for source in asked.sources]
    else:
        reports = [measured(table) for table in asked.tables or TABLES]
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    asked.output.write_text(page(reports, commit(), date), encoding="utf-8")
    print(asked.output)


if __name__ == "__main__":
    main(sys.argv[1:])
