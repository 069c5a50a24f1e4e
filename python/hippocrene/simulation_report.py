"""Reports of simulations for people: tables as text and HTML, and a figure."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hippocrene.simulation import Simulation

# Maximum number of operations that are listed by name.
_MOST_OPERATIONS = 8


def _size(count: float) -> str:
    """Return a number of bytes in a readable unit."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _time(seconds: float) -> str:
    """Return a time in a readable unit."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _result(result: object) -> str:
    """Return the type and the shape of a result, without its values."""
    if isinstance(result, np.ndarray):
        return f"array of shape {result.shape}"
    if isinstance(result, (tuple, list, dict)):
        return f"{type(result).__name__} of {len(result)}"
    return "not known" if result is None else type(result).__name__


def _facts(simulation: Simulation) -> list[tuple[str, str]]:
    """Return the rows above the table of operations."""
    at = "" if simulation.precision is None else f" at a precision of {simulation.precision:g} bits"
    modulus = "" if simulation.plain_modulus is None else f" modulo {simulation.plain_modulus}"
    left = [
        f"{bits:.1f} bits of {what}"
        for bits, what in (
            (simulation.precision_bits, "precision"),
            (simulation.capacity_bits, "capacity left"),
            (simulation.budget_bits, "noise budget left"),
        )
        if bits is not None
    ]
    kinds = {
        "relinearisation": simulation.relinearisation,
        f"{len(simulation.rotations)} rotations": bool(simulation.rotations),
        "conjugation": simulation.conjugation,
        "bootstrapping": simulation.bootstrapping is not None,
        f"tables {simulation.tables.tables if simulation.tables else ''}": simulation.tables
        is not None,
        "bits": simulation.bits,
    }
    keys = ", ".join(name for name, used in kinds.items() if used) or "none"
    facts = [
        ("parameters", f"{simulation.preset}, {simulation.scheme}{modulus}{at}"),
        ("time", f"{_time(simulation.seconds)} on one thread, as predicted"),
        ("memory", f"{_size(simulation.peak_memory)} at most"),
        ("keys", f"{keys}: {_size(simulation.key_bytes)}"),
        ("result", ", ".join([_result(simulation.result), *left])),
    ]
    if simulation.bootstraps:
        facts.append(("bootstraps", str(simulation.bootstraps)))
    if simulation.log2_failure_probability is not None:
        facts.append(
            (
                "failure",
                f"with a probability of 2^{simulation.log2_failure_probability:.1f} at most",
            )
        )
    return facts


def _operations(simulation: Simulation) -> list[tuple[str, str, str]]:
    """Return the operations with the longest times, and one row for all others.

    A row has a name, a count and a time.
    """
    all_of_them = list(simulation.operations.items())
    shown, others = all_of_them[:_MOST_OPERATIONS], all_of_them[_MOST_OPERATIONS:]
    rows = [(name, str(count), _time(seconds)) for name, (count, seconds) in shown]
    if others:
        count, seconds = (sum(known[i] for _, known in others) for i in (0, 1))
        rows.append((f"{len(others)} others", f"{count:.0f}", _time(seconds)))
    return rows


def described(simulation: Simulation) -> str:
    """Return a report as text."""
    facts = [f"  {name:<12}{value}" for name, value in _facts(simulation)]
    rows = [("operation", "count", "time"), *_operations(simulation)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    table = [f"  {a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
    return "\n".join(["Simulation", *facts, *(table if len(rows) > 1 else [])])


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def described_in_html(simulation: Simulation) -> str:
    """Return a report as HTML, with two tables."""
    rows = [("operation", "count", "time"), *_operations(simulation)]
    return f"<b>Simulation</b>{_html_table(_facts(simulation))}{_html_table(rows)}"


def drawn(simulation: Simulation) -> Any:
    """Return a figure with the time by operation and the capacity along the program."""
    try:
        figure = import_module("matplotlib.figure").Figure(figsize=(11, 4), layout="constrained")
    except ImportError as error:
        raise ImportError(
            "plot: matplotlib draws it, and is not installed. Install it: pip install matplotlib"
        ) from error
    times, capacity = figure.subplots(1, 2)
    operations = list(simulation.operations.items())[:_MOST_OPERATIONS]
    times.barh([name for name, _ in operations], [seconds for _, (_, seconds) in operations])
    times.invert_yaxis()
    times.set(title="Time by operation", xlabel="seconds on one thread")
    left = [bits for _, bits in simulation.capacities]
    capacity.step(range(1, len(left) + 1), left, where="mid", marker=".")
    what = "capacity" if simulation.plain_modulus is None else "noise budget"
    capacity.set(
        title=f"{what.capitalize()} along the program",
        xlabel="operation",
        ylabel=f"bits of {what}",
        ylim=(0, None),
    )
    if len(left) <= 24:
        capacity.set_xticks(
            range(1, len(left) + 1), [name for name, _ in simulation.capacities], rotation=90
        )
    return figure
