"""Runs programs dry and records what each takes: `python -m goldens.record` in `python/tests` writes the record anew.

A record has no measured figure. Seconds are counts of primitives times the prices of the reference
machine, so that they are the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import hippocrene
from goldens.programs import Program, programs
from hippocrene import EncryptedArray, HippocreneError
from hippocrene.simulation import _Asked, _run

RECORD = Path(__file__).with_name("record.json")


def plain(*shape: int) -> np.ndarray:
    """Return plain values in this shape, the same in every run."""
    return np.random.default_rng(1).uniform(-1, 1, shape)


def values(shape: tuple[int, ...], options: dict[str, Any]) -> np.ndarray:
    """Return the values of an argument: bits, integers or numbers, as the options of its program have it."""
    rng = np.random.default_rng(2)
    if str(options["preset"]).startswith("bits"):
        return rng.integers(0, 2, shape).astype(bool)
    if "plain_modulus" in options:
        return rng.integers(-100, 100, shape)
    return rng.uniform(-1, 1, shape)


def evaluated(program: Program, arguments: list[EncryptedArray]) -> Any:
    """Run the program on encrypted arrays."""
    names = dict(zip("xy", arguments, strict=False))
    operand = values(arguments[0].shape, program.options)
    result = eval(
        program.expression, {"np": np, "hp": hippocrene, "P": operand, "plain": plain, **names}
    )
    return result.compute() if hasattr(result, "compute") else result


def taken(program: Program) -> dict[str, Any]:
    """Return the cost of the program and the properties of its results, or the class of its error."""
    options = dict(program.options)
    results: list[EncryptedArray] = []

    def run(*arguments: EncryptedArray) -> Any:
        results.append(evaluated(program, list(arguments)))
        return results[-1]

    asked = _Asked(
        run,
        tuple(values(shape, options) for shape in program.shapes),
        options["preset"],
        options.get("precision"),
        options.get("scheme", "ckks"),
        options.get("plain_modulus"),
        None,
        1.0
        if "plain_modulus" not in options and not options["preset"].startswith("bits")
        else None,
        options.get("bootstrapping", False),
        options.get("tables", False),
        None,
    )
    try:
        simulation = _run(asked, at_reference=True)
    except (HippocreneError, NotImplementedError, TypeError) as error:
        return {"error": type(error).__name__}
    result = results[-1]
    raw = result._elements()
    return {
        "operations": {name: count for name, (count, _) in sorted(simulation.operations.items())},
        "seconds": rounded(simulation.seconds, 6),
        "rotations": {
            str(steps): rounded(bits, 3) for steps, bits in sorted(simulation.rotations.items())
        },
        "relinearisation": simulation.relinearisation,
        "conjugation": simulation.conjugation,
        "key_bytes": simulation.key_bytes,
        "peak_memory": simulation.peak_memory,
        "bootstraps": simulation.bootstraps,
        "shape": list(result.shape),
        "layout": raw.layout,
        "capacity_bits": rounded(
            raw.capacity_bits if raw.budget_bits is None else raw.budget_bits, 3
        ),
        "precision_bits": rounded(raw.precision_bits, 2),
    }


def rounded(number: float | None, digits: int) -> float | str | None:
    """Round a recorded figure. NaN becomes text, since JSON has no NaN."""
    if number is None:
        return None
    return round(number, digits) if math.isfinite(number) else str(number)


def main() -> None:
    """Write the record of all programs, or say which differ from it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare with the record, and write nothing"
    )
    arguments = parser.parse_args()
    everything = programs()
    with ProcessPoolExecutor(2) as pool:
        record = {
            one.name: found
            for one, found in zip(everything, pool.map(taken, everything), strict=True)
        }
    record = json.loads(json.dumps(record))
    if arguments.check:
        known = json.loads(RECORD.read_text())
        for name in sorted(known.keys() | record.keys()):
            if known.get(name) != record.get(name):
                print(name, *differences(known.get(name, {}), record.get(name, {})), sep="\n    ")
        return
    lines = (f"{json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(record.items()))
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(
        f"{len(record)} programs; {sum('error' in one for one in record.values())} of them end with an error"
    )


def differences(known: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Say which figures differ."""
    return [
        f"{key}: {known.get(key)} recorded, {found.get(key)} now"
        for key in sorted(known.keys() | found.keys())
        if known.get(key) != found.get(key)
    ]


if __name__ == "__main__":
    main()
