"""Tables as HTML, which notebooks show in place of a `repr`.

Colours are those of the page, or translucent grey, so that tables are readable on a light and on a
dark background. There are no scripts and no external files. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from hippocrene import _native

# A medium blue. Its contrast with white and with black is at least 3 to 1.
_FILLED = "#3d84c6"
_EMPTY = "rgba(128,128,128,.3)"
_LINE = "1px solid rgba(128,128,128,.3)"
# Jupyter aligns cells to the right and paints every other row. These styles replace both.
_TABLE = "border-collapse:collapse;margin:.3em 0;font-size:.95em;color:inherit"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit;padding:.2em .6em"
_ROW = "background:transparent"
_CELL = f"padding:.2em .6em;border:0;border-top:{_LINE};vertical-align:top"
_TEXT, _NUMBER = f"{_CELL};text-align:left", f"{_CELL};text-align:right"
_NAME = "font-weight:normal;opacity:.75;white-space:nowrap"


@dataclass(frozen=True)
class Bar:
    """A cell with a text and a bar. A share of the bar, from 0 to 1, is filled."""

    text: str
    share: float


Cell: TypeAlias = str | Bar


def capacity_cell(left: float | None, preset: str | None) -> Cell:
    """Return a cell with the capacity or the noise budget that is left.

    Its bar compares the bits with those of the modulus of fresh ciphertexts of the preset.
    """
    if left is None:
        return "unknown"
    text = f"{left:.1f} bits left"
    full = next((one.usable_bits for one in _native.presets() if one.name == preset), None)
    return text if full is None else Bar(f"{text} (the preset has {full:.0f})", left / full)


def table(title: str, rows: Sequence[Sequence[Cell]], header: Sequence[str] = ()) -> str:
    """Return a table as HTML.

    The first cell of each row names the row. If there is a `header`, it names the columns, and the
    columns between the first and the last one hold numbers.
    """
    styles = _styles(len(header))
    head = "".join(
        f'<th scope="col" style="{style};{_NAME}">{escape(name)}</th>'
        for name, style in zip(header, styles, strict=True)
    )
    head = f'<thead><tr style="{_ROW}">{head}</tr></thead>' if header else ""
    body = "".join(_row(row, styles or [_TEXT] * len(row)) for row in rows)
    caption = f'<caption style="{_CAPTION}">{escape(title)}</caption>'
    return f'<table style="{_TABLE}">{caption}{head}<tbody>{body}</tbody></table>'


def _styles(columns: int) -> list[str]:
    """Return the styles of columns that have names."""
    return [_TEXT if i in (0, columns - 1) else _NUMBER for i in range(columns)]


def _row(row: Sequence[Cell], styles: Sequence[str]) -> str:
    name = f'<th scope="row" style="{styles[0]};{_NAME}">{_cell(row[0])}</th>'
    data = "".join(
        f'<td style="{style}">{_cell(cell)}</td>'
        for cell, style in zip(row[1:], styles[1:], strict=True)
    )
    return f'<tr style="{_ROW}">{name}{data}</tr>'


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escape(cell)
    share = 100 * min(max(cell.share, 0.0), 1.0)
    filled = f'<div style="width:{share:.1f}%;height:100%;background:{_FILLED}"></div>'
    bar = (
        "display:inline-block;width:9em;height:.7em;margin-right:.6em;border-radius:.2em;"
        f"overflow:hidden;background:{_EMPTY}"
    )
    return f'<div style="{bar}">{filled}</div>{escape(cell.text)}'
