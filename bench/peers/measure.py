"""Shared parts of the measuring programs: medians, inputs, the check of results, and the output."""

import json
import random
import statistics
import sys
import time
from collections.abc import Callable


def median_ms(work: Callable[[], object], seconds: float = 0.6, least: int = 5) -> float:
    """Returns the median time of `work` in ms, over `seconds` and at least `least` runs.

    One run to warm up is not counted.
    """
    work()
    samples: list[float] = []
    start = time.perf_counter()
    while len(samples) < least or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        work()
        samples.append(1e3 * (time.perf_counter() - before))
    return statistics.median(samples)


def inputs(slots: int) -> tuple[list[float], list[float]]:
    """Returns two vectors of values in [-1, 1], the same in every run."""
    source = random.Random(1)
    return tuple([source.uniform(-1, 1) for _ in range(slots)] for _ in range(2))


def check(what: str, got: list[float], wanted: list[float], error: float = 1e-4) -> None:
    """Ends the program if a result is wrong, since its time would be meaningless."""
    worst = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
    if not worst <= error:
        raise SystemExit(f"{what} is wrong: largest error {worst:.3g}, allowed {error:.3g}")


def report(peer: str, entries: list[dict]) -> None:
    """Prints the measurements as one JSON object."""
    version = ".".join(map(str, sys.version_info[:3]))
    json.dump({"peer": peer, "runtime": f"Python {version}", "shapes": entries}, sys.stdout)
    print()
