"""The picture of a program as SVG, drawn without any other package.

There is a row for each input and each step. Curves on the left lead from the values that a step uses
to the step. Bars show its seconds, and a line shows the capacity that is left. Colours are those of
the page or translucent, so that the picture is readable on a light and on a dark background.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from hippocrene.units import time_text

# Sizes in pixels.
_ROW = 22
_TOP = 64
_CURVES = 130
_NAMES = 420
_BARS = 190
_LINE = 170
_MARGIN = 16
_WIDTH = 2 * _MARGIN + _CURVES + _NAMES + _BARS + _LINE
# A medium blue and a medium orange. Their contrast with white and with black is at least 3 to 1.
_STEP = "#3d84c6"
_BOOTSTRAP = "#c8702a"


@dataclass(frozen=True)
class _Row:
    """A row of the picture: an input, or a step with its results."""

    name: str
    result: str
    sources: tuple[int, ...]
    seconds: float | None = None
    capacity: float | None = None
    bootstraps: int = 0
    rests_on_sample: bool = False


def _rows(program: Any) -> list[_Row]:
    """Return the rows, with the rows that each one uses in place of values."""
    rows = [_Row(name, str(spec), ()) for name, spec in program._operands.items()]
    row_of = list(range(len(rows)))
    for step in program.steps:
        row_of += [len(rows)] * len(step.results)
        rows.append(
            _Row(
                step.operation,
                str(step.results[0]),
                tuple(dict.fromkeys(row_of[value] for value in step.inputs)),
                step.seconds,
                step.capacity_bits,
                step.bootstraps,
                step.rests_on_sample,
            )
        )
    return rows


def drawn(program: Any) -> str:
    """Return the picture of a `Program` as SVG text."""
    rows = _rows(program)
    height = _TOP + _ROW * len(rows) + _MARGIN
    title = f"{len(program.steps)} steps on {program.preset}, {time_text(program.seconds)}"
    more = f", {program.bootstraps} bootstraps" if program.bootstraps else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="12" fill="currentColor">',
        f"<title>{escape(title + more)}</title>",
        _text(_MARGIN, 22, title + more, bold=True),
        _text(_MARGIN + _CURVES, _TOP - 14, "operation and result"),
        _text(_MARGIN + _CURVES + _NAMES, _TOP - 14, "seconds"),
        _text(_MARGIN + _CURVES + _NAMES + _BARS, _TOP - 14, "bits of capacity left"),
    ]
    longest = max((row.seconds or 0.0 for row in rows), default=0.0)
    for i, row in enumerate(rows):
        parts += [_curve(source, i) for source in row.sources]
        parts += _described(i, row, longest)
    parts.append(_capacities(rows))
    return "\n".join([*parts, "</svg>\n"])


def _middle(row: int) -> float:
    return _TOP + _ROW * (row + 0.5)


def _text(x: float, y: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}"{weight}>{escape(text)}</text>'


def _curve(source: int, target: int) -> str:
    """Return a curve from one row to another one, wider for rows that are further apart."""
    x = _MARGIN + _CURVES - 14
    reach = x - min(_CURVES - 20, 10 + 8 * (target - source))
    top, bottom = _middle(source), _middle(target)
    return (
        f'<path d="M {x} {top:g} C {reach:g} {top:g}, {reach:g} {bottom:g}, {x} {bottom:g}" '
        'fill="none" stroke="currentColor" stroke-opacity=".35"/>'
    )


def _described(i: int, row: _Row, longest: float) -> list[str]:
    """Return the dot, the text and the bar of a row."""
    y, x = _middle(i), _MARGIN + _CURVES
    colour = _BOOTSTRAP if row.bootstraps else _STEP
    fill = "none" if row.rests_on_sample else colour
    mark = " (seen in the sample)" if row.rests_on_sample else ""
    parts = [
        f'<circle cx="{x - 14}" cy="{y:g}" r="4" fill="{fill}" stroke="{colour}"/>',
        _text(x, y + 4, f"{row.name}: {row.result}{mark}"),
    ]
    if row.seconds is not None:
        width = (_BARS - 80) * row.seconds / longest if longest else 0.0
        left = x + _NAMES
        parts += [
            f'<rect x="{left}" y="{y - 6:g}" width="{width:.1f}" height="12" fill="{colour}"/>',
            _text(left + width + 6, y + 4, time_text(row.seconds)),
        ]
    return parts


def _capacities(rows: list[_Row]) -> str:
    """Return the line of the capacities that are left, with the number at each row."""
    known = [(i, row.capacity) for i, row in enumerate(rows) if row.capacity is not None]
    most = max((capacity for _, capacity in known), default=1.0) or 1.0
    left, room = _MARGIN + _CURVES + _NAMES + _BARS, _LINE - 50
    points = [(left + room * capacity / most, _middle(i), capacity) for i, capacity in known]
    line = " ".join(f"{x:.1f},{y:g}" for x, y, _ in points)
    numbers = [_text(x + 6, y + 4, f"{capacity:.0f}") for x, y, capacity in points]
    path = f'<polyline points="{line}" fill="none" stroke="{_STEP}" stroke-width="2"/>'
    return "\n".join([path, *numbers])
