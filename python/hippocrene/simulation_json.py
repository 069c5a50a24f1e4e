"""The JSON format of simulations, without their results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hippocrene.errors import FormatError
from hippocrene.requirements import Bootstrapping, LookUps

if TYPE_CHECKING:
    from collections.abc import Callable

KIND = "hippocrene simulation"
VERSION = 1


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _rows(*checks: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a check of a list of rows. A row has one value for each of the checks."""

    def check(rows: object) -> bool:
        return isinstance(rows, list) and all(
            isinstance(row, list)
            and len(row) == len(checks)
            and all(check(value) for check, value in zip(checks, row, strict=True))
            for row in rows
        )

    return check


def _object(**checks: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a check of an object with exactly these fields."""

    def check(value: object) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() == checks.keys()
            and all(check(value[name]) for name, check in checks.items())
        )

    return check


def _or_none(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_step(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


_FIELDS: dict[str, Callable[[object], bool]] = {
    "seconds": _is_number,
    "operations": _rows(_is_text, _is_count, _is_number),
    "capacities": _rows(_is_text, _is_number),
    "peak_memory": _is_count,
    "bootstraps": _is_count,
    "log2_failure_probability": _or_none(_is_number),
    "rotations": _rows(_is_step, _is_number),
    "relinearisation": _is_bool,
    "conjugation": _is_bool,
    "key_bytes": _is_count,
    "precision_bits": _or_none(_is_number),
    "capacity_bits": _or_none(_is_number),
    "budget_bits": _or_none(_is_number),
    "bit_error": _or_none(_is_number),
    "bootstrapping": _or_none(
        _object(
            complex=_is_bool,
            bound=_is_number,
            precision=_or_none(_is_number),
            slots=_or_none(_is_count),
        )
    ),
    "tables": _or_none(_object(tables=_is_text, capacity=_or_none(_is_number))),
    "bits": _is_bool,
    "preset": _is_text,
    "scheme": _is_text,
    "plain_modulus": _or_none(_is_count),
    "precision": _or_none(_is_number),
}


def read(text: str | bytes) -> dict[str, Any]:
    """Return the fields of a simulation, without its result."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"read a simulation: this is no JSON ({error})") from None
    if not isinstance(told, dict) or told.pop("kind", None) != KIND:
        raise FormatError(
            f"read a simulation: this is no JSON object of the kind {KIND!r}, as to_json returns it"
        )
    if (version := told.pop("version", None)) != VERSION:
        raise FormatError(
            f"read a simulation: its version is {version!r}, and this library reads version {VERSION}"
        )
    for name, check in _FIELDS.items():
        if name not in told:
            raise FormatError(f"read a simulation: the field {name!r} is missing")
        if not check(told[name]):
            raise FormatError(f"read a simulation: the field {name!r} does not hold what it should")
    if unknown := told.keys() - _FIELDS.keys():
        raise FormatError(
            f"read a simulation: there is a field {min(unknown)!r}, which is not known"
        )
    told["operations"] = {name: (count, seconds) for name, count, seconds in told["operations"]}
    told["capacities"] = tuple((name, bits) for name, bits in told["capacities"])
    told["rotations"] = dict(told["rotations"])
    if told["bootstrapping"] is not None:
        told["bootstrapping"] = Bootstrapping(**told["bootstrapping"])
    if told["tables"] is not None:
        told["tables"] = LookUps(**told["tables"])
    return told
