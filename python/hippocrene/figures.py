"""Figures of simulations, drawn by matplotlib from the figures in a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hippocrene.units import time_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Maximum number of operations that are listed by name. Chosen: a report then fits a screen.
_LISTED_OPERATIONS = 8
# Height of new figures, in inches.
_HEIGHT = 4.2
# Maximum number of operations along a program that are named. Chosen: their names are readable.
_NAMED_OPERATIONS = 30


def pyplot_or_error() -> Any:
    """Return matplotlib's pyplot."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plot: matplotlib is not installed. Run: pip install matplotlib"
        ) from error
    return pyplot


def axes_or_new(ax: Axes | None, width: float) -> Axes:
    """Return the axes `ax`, or those of a new figure of the given width in inches."""
    pyplot = pyplot_or_error()
    axes: Axes = ax or pyplot.subplots(figsize=(width, _HEIGHT), layout="constrained")[1]
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return axes


def slowest(operations: Mapping[str, tuple[int, float]]) -> list[tuple[str, int, float]]:
    """Return the operations that take longest, and one row for all others.

    `operations` is in order of decreasing time. A row has a name, a count and a time in seconds.
    """
    rows = [(name, count, seconds) for name, (count, seconds) in operations.items()]
    shown, others = rows[:_LISTED_OPERATIONS], rows[_LISTED_OPERATIONS:]
    if others:
        count, seconds = sum(row[1] for row in others), sum(row[2] for row in others)
        shown.append((f"{len(others)} others", count, seconds))
    return shown


def draw_times(operations: Mapping[str, tuple[int, float]], ax: Axes | None = None) -> Axes:
    """Draw the time of each operation as a bar, for `hippocrene.plot.time_by_operation`."""
    ax = axes_or_new(ax, 6.4)
    rows = slowest(operations)
    # The bar for all others is grey.
    colours = ["C0" if name in operations else "0.6" for name, _, _ in rows]
    bars = ax.barh([row[0] for row in rows], [row[2] for row in rows], color=colours)
    texts = [f"{time_text(seconds)} ({count}x)" for _, count, seconds in rows]
    ax.bar_label(bars, texts, padding=3)
    total = time_text(sum(seconds for _, _, seconds in rows))
    ax.set(title=f"Time by operation ({total} in all)", xlabel="time on one thread")
    ax.xaxis.set_major_formatter(lambda seconds, _: time_text(seconds))
    ax.grid(axis="x", alpha=0.3)
    # Room for the texts beside the bars.
    ax.margins(x=0.35)
    ax.invert_yaxis()
    return ax


def draw_capacities(
    capacities: Sequence[tuple[str, float]], plain_modulus: int | None, ax: Axes | None = None
) -> Axes:
    """Draw the capacity after each operation, for `hippocrene.plot.capacity`."""
    ax = axes_or_new(ax, 8.0)
    names = [name for name, _ in capacities]
    left = [bits for _, bits in capacities]
    what = "capacity" if plain_modulus is None else "noise budget"
    edges = np.arange(len(left) + 1) + 0.5
    ax.stairs(left, edges, fill=True, alpha=0.35, color="C0")
    ax.stairs(left, edges, color="C0", linewidth=1.5)
    if len(left) <= _NAMED_OPERATIONS:
        ax.set_xticks(
            range(1, len(left) + 1), names, rotation=45, ha="right", rotation_mode="anchor"
        )
    ax.set(
        title=f"{what.capitalize()} along the program",
        xlabel="operation",
        ylabel=f"{what} that is left, in bits",
    )
    ax.margins(x=0)
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", alpha=0.3)
    return ax


def side_by_side(
    operations: Mapping[str, tuple[int, float]],
    capacities: Sequence[tuple[str, float]],
    plain_modulus: int | None,
) -> tuple[Axes, Axes]:
    """Draw times and capacities into one figure, for `Simulation.plot`."""
    _, (left, right) = pyplot_or_error().subplots(1, 2, figsize=(12, _HEIGHT), layout="constrained")
    return draw_times(operations, left), draw_capacities(capacities, plain_modulus, right)
