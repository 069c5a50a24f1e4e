"""Measures 60 operations with real keys, or compares two versions of the package by them.

usage: python bench/times.py --record times.json
       python bench/times.py --compare OLD_PYTHON NEW_PYTHON

It needs 6 GB of memory, and about 3 minutes for one version. Each interpreter has a version of the
package installed. The interpreters take turns (ABAB ..), pinned to one core. For each operation it
prints the median ratio new/old with its 95 % interval by the bootstrap method. The programs are
those of `python/tests/goldens`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))

from goldens.programs import BFV, BGV, N14, N15, N15_BOOTSTRAPS, N15_TABLES, Program, programs

# The number of measured programs for each kind of keys, 60 in all (chosen).
COUNTS = ((N14, 24), (N15, 16), (BGV, 7), (BFV, 5), (N15_BOOTSTRAPS, 5), (N15_TABLES, 3))
# The predicted seconds above which a program is not measured (chosen).
LONGEST = 1.5
# The number of runs of a program in one turn, and the number of turns of each version (chosen).
RUNS, TURNS = 3, 5


def chosen() -> list[Program]:
    """Return the measured programs, spread evenly over those of each kind of keys."""
    record = json.loads(
        (Path(__file__).resolve().parents[1] / "python/tests/goldens/record.json").read_text()
    )
    known = [one for one in programs() if 0 < record[one.name].get("seconds", 0) < LONGEST]
    result = []
    for options, count in COUNTS:
        alike = [one for one in known if one.options == options]
        result += [alike[i * len(alike) // count] for i in range(count)]
    return result


def measured() -> dict[str, float]:
    """Return the seconds of each program: the shortest of some runs, after one to fill the caches."""
    from goldens.record import evaluated, values

    import hippocrene

    times: dict[str, float] = {}
    keys: tuple[str, object, object] = ("", None, None)
    for one in chosen():
        name = json.dumps(one.options)
        if keys[0] != name:
            options = dict(one.options)
            features = {
                key: options.pop(key) for key in ("bootstrapping", "tables") if key in options
            }
            client = hippocrene.Client.generate(**options)
            rotations = {} if features or "plain_modulus" in options else {"conjugation": True}
            keys = (
                name,
                client,
                hippocrene.Server(client.evaluation_keys(**features, **rotations)),
            )
        _, client, server = keys
        bound = {} if "plain_modulus" in one.options else {"bound": 1.0}
        arguments = [
            server.load(client.encrypt(values(shape, one.options), **bound)) for shape in one.shapes
        ]
        evaluated(one, arguments)
        spent = []
        for _ in range(RUNS):
            start = time.perf_counter()
            evaluated(one, arguments)
            spent.append(time.perf_counter() - start)
        times[one.name] = min(spent)
    return times


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median, by resampling the ratios."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(1000))
    return medians[25], medians[974]


def compare(old: str, new: str) -> None:
    """Print the ratio of the new to the old version for each program."""
    taken: dict[str, list[list[float]]] = {}
    for _ in range(TURNS):
        for place, interpreter in enumerate((old, new)):
            out = subprocess.run(
                [interpreter, __file__, "--record", "-"], check=True, capture_output=True, text=True
            )
            for name, seconds in json.loads(out.stdout)["seconds"].items():
                taken.setdefault(name, [[], []])[place].append(seconds)
    slower = 0
    for name, (before, after) in taken.items():
        ratios = [y / x for x, y in zip(before, after, strict=True)]
        low, high = interval(ratios)
        slower += high >= 1.05
        print(
            f"{statistics.median(ratios):6.3f} [{low:5.3f}, {high:5.3f}] {1e3 * min(before):9.2f} ms  {name}"
        )
    print(f"{slower} of {len(taken)} may be more than 5 % slower; {machine()}")


def machine() -> str:
    """Return the model of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def main() -> None:
    """Record one version, or compare two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--record", metavar="FILE", help="measure this interpreter's package; - for the output"
    )
    parser.add_argument("--compare", nargs=2, metavar="PYTHON")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.compare:
        compare(*arguments.compare)
        return
    text = json.dumps({"machine": machine(), "seconds": measured()}, indent=1)
    if arguments.record in (None, "-"):
        print(text)
    else:
        Path(arguments.record).write_text(text + "\n")


if __name__ == "__main__":
    main()
