"""The result of a simulation, and its reports for people as text and as HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import numpy as np

from hippocrene.errors import FormatError
from hippocrene.figures import side_by_side, slowest
from hippocrene.html_tables import Bar, Cell, capacity_cell, table
from hippocrene.requirements import Bootstrapping, LookUps
from hippocrene.units import size_text, time_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hippocrene._native import _KeyRequest

_KIND, _VERSION = "hippocrene simulation", 1


@dataclass(frozen=True, repr=False)
class Simulation:
    """The result of `simulate`: the predicted time, memory, keys and errors of a program."""

    result: Any
    """The result of the program, with plain arrays in place of encrypted ones.

    They are the values that decryption would give, without noise. Unknown values, such as those of
    integers, are None. Bits are booleans.
    """
    seconds: float
    """The time on one thread, with the keys that ``client.evaluation_keys(for_=simulation)`` makes.

    The prediction is for this machine, and more accurate after ``hippocrene tune``. The default keys
    of `Client.evaluation_keys` have rotations by powers of two only. Other rotations are then
    composed of several and take several times as long.
    """
    first_seconds: float
    """The time of the first run on a server, which also waits for new memory."""
    operations: Mapping[str, tuple[int, float]]
    """For each operation, its count and its total time in seconds, in order of decreasing time."""
    capacities: Sequence[tuple[str, float]]
    """Each operation on encrypted arrays in order, with the capacity in bits that its result has.

    For integers this is the noise budget. An operation that is made of several others has several
    entries with its name. Successive entries with the same name and the same capacity are merged.
    Gates of bits have no entries, and neither have lazy selections of elements.
    """
    peak_memory: int
    """The peak memory while the program runs, including the keys, in bytes.

    It excludes the preparation. While keys are read and a `Server` is made, memory holds the keys
    and the server's own form of the keys at once. This is about ``peak_memory + key_bytes``.
    """
    bootstraps: int
    """The number of bootstraps, including those of gates.

    Two ciphertexts of a real array share one.
    """
    log2_failure_probability: float | None
    """log2 of the probability that any bootstrap or look-up fails; None if none can fail.

    A failed one has a larger error than `precision_bits` states.
    """
    rotations: Mapping[int, float]
    """The rotations that need their own keys, each with the modulus of its key in bits."""
    relinearisation: bool
    """True if the program uses the relinearisation key, for products of encrypted arrays."""
    conjugation: bool
    """True if the program uses the key of complex conjugation."""
    key_bytes: int
    """The approximate size of the file of evaluation keys, in bytes."""
    precision_bits: float | None
    """The lowest precision of the results, in bits after the binary point; None for integers."""
    capacity_bits: float | None
    """The lowest capacity that is left in a result, in bits; None for integers."""
    budget_bits: float | None
    """The lowest noise budget that is left in a result, in bits; None for numbers."""
    bit_error: float | None
    """The largest difference between a slot and its bit; None if no result holds bits."""
    bootstrapping: Bootstrapping | None
    """The bootstrapping that needs keys, or None if no number is bootstrapped."""
    tables: LookUps | None
    """The tables that are used, with the capacity of results; None if there are no look-ups."""
    bits: bool
    """True if the keys of bits are used."""
    preset: str
    """The name of the parameters. `Client.evaluation_keys` needs a client with the same."""
    scheme: str
    """The scheme."""
    plain_modulus: int | None
    """The modulus of integers; None for numbers and bits."""
    precision: float | None
    """The requested precision, as in `Client.generate`; None for integers."""

    def __repr__(self) -> str:
        return text_report(_facts(self), self.operations)

    def _repr_html_(self) -> str:
        return html_report(_facts(self), self.operations)

    def plot(self) -> tuple[Axes, Axes]:
        """Draw the time by operation and the capacity along the program, side by side.

        The result is the two matplotlib axes. `hippocrene.plot` draws each of them by itself.
        matplotlib is not installed with this package (see there).
        """
        return side_by_side(self.operations, self.capacities, self.plain_modulus)

    def to_json(self) -> str:
        """Return everything except the result as JSON.

        A server can send it to the client, which makes keys with
        ``evaluation_keys(for_=simulation)``.
        """
        told = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "result"
        }
        told["rotations"] = [[steps, bits] for steps, bits in self.rotations.items()]
        told["operations"] = [[name, *known] for name, known in self.operations.items()]
        told["bootstrapping"] = None if self.bootstrapping is None else asdict(self.bootstrapping)
        told["tables"] = None if self.tables is None else asdict(self.tables)
        return json.dumps({"kind": _KIND, "version": _VERSION, **told})

    @classmethod
    def from_json(cls, text: str | bytes) -> Simulation:
        """Read a simulation from the JSON of `to_json`, with None as its result.

        Any other text raises a `FormatError`.
        """
        try:
            told = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"read a simulation: this is not JSON ({error})") from None
        if not isinstance(told, dict) or told.pop("kind", None) != _KIND:
            what = f"this is not a JSON object of the kind {_KIND!r}, as to_json returns it"
            raise FormatError(f"read a simulation: {what}")
        if (version := told.pop("version", None)) != _VERSION:
            what = f"its version is {version!r}, and this library reads version {_VERSION}"
            raise FormatError(f"read a simulation: {what}")
        kinds = get_type_hints(cls)
        del kinds["result"]
        for name, kind in kinds.items():
            if name not in told:
                raise FormatError(f"read a simulation: the field {name!r} is missing")
            try:
                told[name] = _read(told[name], kind)
            except TypeError:
                what = f"the field {name!r} has a wrong type"
                raise FormatError(f"read a simulation: {what}") from None
        if unknown := told.keys() - kinds.keys():
            what = f"the field {min(unknown)!r} is unknown"
            raise FormatError(f"read a simulation: {what}")
        return cls(result=None, **told)

    def _requested(self) -> _KeyRequest:
        """Return the keys that the program uses, as arguments of the extension module."""
        how = None if self.bootstrapping is None else self.bootstrapping._raw()
        tables = None if self.tables is None else self.tables._raw()
        return list(self.rotations), self.relinearisation, self.conjugation, how, tables, self.bits


def _read(value: Any, kind: Any) -> Any:
    """Convert a value of JSON to the type of a field. Other values raise a `TypeError`."""
    origin, parts = get_origin(kind), get_args(kind)
    if NoneType in parts:
        return None if value is None else _read(value, parts[0])
    if origin is tuple:
        return _row(value, parts)
    if origin is Sequence and isinstance(value, list):
        return tuple(_read(row, parts[0]) for row in value)
    if origin is Mapping and isinstance(value, list):
        # A row has the key and the value, or the key and the values of a tuple.
        several = get_args(parts[1])
        rows = [_row(row, (parts[0], *(several or parts[1:]))) for row in value]
        return {row[0]: row[1:] if several else row[1] for row in rows}
    if is_dataclass(kind) and isinstance(value, dict):
        kinds = get_type_hints(kind)
        if value.keys() == kinds.keys():
            own: Any = kind
            return own(**{name: _read(value[name], kinds[name]) for name in kinds})
    fits = origin is None and isinstance(value, (int, float) if kind is float else kind)
    large = isinstance(value, int) and abs(value) >= 2**63
    if fits and isinstance(value, bool) == (kind is bool) and not large:
        return value
    raise TypeError


def _row(row: Any, kinds: Sequence[Any]) -> tuple[Any, ...]:
    if not isinstance(row, list) or len(row) != len(kinds):
        raise TypeError
    return tuple(_read(value, kind) for value, kind in zip(row, kinds, strict=True))


def _result(result: object) -> str:
    """Return the type and the shape of a result, without its values."""
    if isinstance(result, np.ndarray):
        return f"array of shape {result.shape}"
    if isinstance(result, (tuple, list, dict)):
        return f"{type(result).__name__} of {len(result)}"
    return "not known" if result is None else type(result).__name__


def _facts(simulation: Simulation) -> list[tuple[str, Cell]]:
    """Return the rows above the table of operations."""
    at = "" if simulation.precision is None else f" at a precision of {simulation.precision:g} bits"
    modulus = "" if simulation.plain_modulus is None else f" modulo {simulation.plain_modulus}"
    precision = simulation.precision_bits
    precise = "" if precision is None else f", {precision:.1f} bits of precision"
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
    facts: list[tuple[str, Cell]] = [
        ("parameters", f"{simulation.preset}, {simulation.scheme}{modulus}{at}"),
        ("time", f"{time_text(simulation.seconds)} on one thread, as predicted"),
        ("memory", f"{size_text(simulation.peak_memory)} at most"),
        ("keys", f"{keys}: {size_text(simulation.key_bytes)}"),
        ("result", f"{_result(simulation.result)}{precise}"),
    ]
    for name, left in (
        ("capacity", simulation.capacity_bits),
        ("budget", simulation.budget_bits),
    ):
        if left is not None:
            facts.append((name, capacity_cell(left, simulation.preset)))
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


def text_report(
    facts: Sequence[tuple[str, Cell]], operations: Mapping[str, tuple[int, float]]
) -> str:
    """Return a report of a simulation as text, with its facts and a table of operations."""
    width = max(12, *(len(name) + 2 for name, _ in facts))
    told = [
        f"  {name:<{width}}{value if isinstance(value, str) else value.text}"
        for name, value in facts
    ]
    rows = [
        ("operation", "count", "time"),
        *((name, str(count), time_text(seconds)) for name, count, seconds in slowest(operations)),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [f"  {a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
    return "\n".join(["Simulation", *told, *(lines if len(rows) > 1 else [])])


def html_report(
    facts: Sequence[tuple[str, Cell]], operations: Mapping[str, tuple[int, float]]
) -> str:
    """Return a report of a simulation as HTML, with a table of facts and one of operations."""
    total = sum(seconds for _, seconds in operations.values())
    rows = [
        (name, str(count), time_text(seconds), Bar(f"{seconds / total:.0%}", seconds / total))
        for name, count, seconds in slowest(operations)
    ]
    header = ("operation", "count", "time", "share of the time")
    return table("Simulation", facts) + (table("Operations", rows, header) if rows else "")
