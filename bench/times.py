"""Measures 60 operations with real keys, or compares two versions of the package by them.

usage: python bench/times.py --record times.json
       python bench/times.py --compare OLD_PYTHON NEW_PYTHON

It needs 6 GB of memory for one version and 8 GB for two, and about 3 and 10 minutes. Each
interpreter has a version of the package installed. The two take turns at every operation (ABAB ..),
pinned to one core, so that a machine whose speed drifts affects both alike. For each operation the
comparison prints the median ratio new/old with its 95 % interval by the bootstrap method. The
programs are those of `python/tests/goldens`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))

from goldens.programs import BFV, BGV, N14, N15, N15_BOOTSTRAPS, N15_TABLES, Program, programs
from processor import processor

# The number of measured programs for each kind of keys, 60 in all (chosen).
COUNTS = ((N14, 24), (N15, 16), (BGV, 7), (BFV, 5), (N15_BOOTSTRAPS, 5), (N15_TABLES, 3))
# The predicted seconds above which a program is not measured (chosen).
LONGEST = 1.5
# The number of runs of a program (a record has the shortest run), and the number of turns of each
# version in a comparison. Both are chosen.
RUNS, TURNS = 3, 15


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


def ready() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each program with a function that runs it once, after a run that fills the caches."""
    from goldens.record import evaluated, values

    import hippocrene

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
        yield one.name, functools.partial(evaluated, one, arguments)


def timed(run: Callable[[], None]) -> float:
    """Return the seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured() -> dict[str, float]:
    """Return the seconds of each program: the shortest of some runs."""
    return {name: min(timed(run) for _ in range(RUNS)) for name, run in ready()}


def serve() -> None:
    """Print the name of each program, and then its seconds for each line of the input.

    The line `next` goes on to the next program.
    """
    for name, run in ready():
        print(name, flush=True)
        while sys.stdin.readline().strip() != "next":
            print(timed(run), flush=True)


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median, by resampling the ratios."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(1000))
    return medians[25], medians[974]


def compare(old: str, new: str) -> None:
    """Print the ratio of the new to the old version for each program."""
    versions = [
        subprocess.Popen(
            [interpreter, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for interpreter in (old, new)
    ]

    def asked(version: subprocess.Popen[str], line: str) -> str:
        version.stdin.write(line + "\n")
        return version.stdout.readline().strip()

    names = [version.stdout.readline().strip() for version in versions]
    slower = count = 0
    while all(names):
        assert names[0] == names[1]
        taken = [[float(asked(version, "run")) for version in versions] for _ in range(TURNS)]
        ratios = [after / before for before, after in taken]
        low, high = interval(ratios)
        slower += high >= 1.05
        count += 1
        before = 1e3 * min(before for before, _ in taken)
        print(
            f"{statistics.median(ratios):6.3f} [{low:5.3f}, {high:5.3f}] {before:9.2f} ms  {names[0]}",
            flush=True,
        )
        names = [asked(version, "next") for version in versions]
    print(f"{slower} of {count} may be more than 5 % slower; {processor()}")


def main() -> None:
    """Record one version, or compare two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--record", metavar="FILE", help="measure this interpreter's package; - for the output"
    )
    parser.add_argument("--compare", nargs=2, metavar="PYTHON")
    parser.add_argument("--serve", action="store_true", help="measure when asked, for a comparison")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.compare:
        compare(*arguments.compare)
        return
    if arguments.serve:
        serve()
        return
    text = json.dumps({"machine": processor(), "seconds": measured()}, indent=1)
    if arguments.record in (None, "-"):
        print(text)
    else:
        Path(arguments.record).write_text(text + "\n")


if __name__ == "__main__":
    main()
