"""Measures twelve programs against the same functions on arrays that are computed one by one.

usage: python bench/programs.py [--predict] [--json FILE] [NAME ..]

It needs about 18 GB of memory and 30 minutes for all programs, mostly to make keys. Without the
chain (18 GB) and the training (13 GB), it needs 6 GB and 15 minutes. With `--predict`, it makes no
keys and takes predicted times, in two minutes. It runs on one core.

Both sides have the same precision. The preset of the single operations is the one in which they
are predicted to be fastest, among all presets that are large enough. That of a program is chosen
by `compile`. For each program this prints

- the seconds of the single operations and of the program, and their ratio (the median of pairs of
  runs that take turns),
- both numbers of bootstraps,
- the seconds that were predicted for the program, divided by the measured ones, for later runs and
  for the first one,
- the seconds of the first run, divided by those of a later one,
- the peak of memory and the size of keys, predicted and measured,
- the largest error that was seen, and the stated bound divided by it. It is the median error for
  programs whose results may be anything near a threshold,
- the seconds to compile with a given preset and with ``preset="auto"``.

The last lines are the geometric mean of the ratios, the lowest ratio, and the processor. Run
`hippocrene tune` before, so that predictions are those of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from processor import processor

import hippocrene as hp

# The number of pairs of runs, and the seconds after which no further pair starts (chosen).
PAIRS, LONG = 5, 120
# The factor by which the intervals of inputs and samples are widened (chosen).
MARGIN = 1.5
# The presets that are tried for single operations.
PRESETS = ("n12", "n13", "n14", "n15s", "n15", "n16s", "n16")
# The errors of presets that are too small.
DOES_NOT_FIT = (hp.ArgumentError, hp.CapacityError, hp.MissingKeyError, hp.ParameterError)
# Bytes for the caches of both servers, which have 2 GiB each at most. With the default budget of
# 2 GiB for the process, each side would drop cached data of the other.
CACHE_BYTES = 2**32


@dataclass(frozen=True)
class Case:
    """A function with example inputs.

    - `function`: the function of encrypted and of plain arrays.
    - `inputs`: the values of each input. They are also the public sample.
    - `precision`: the precision in bits of both sides.
    - `plain`: the function of plain arrays, if it is another one.
    - `jumps`: True if results near a threshold may be anything. The median error is then shown.
    """

    function: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    precision: float = 16
    plain: Callable[..., Any] | None = None
    jumps: bool = False

    @cached_property
    def specs(self) -> list[hp.Spec]:
        """The specifications of the inputs."""
        return [hp.spec_like(one, margin=MARGIN) for one in self.inputs]

    @cached_property
    def widest(self) -> tuple[float, float]:
        """The interval of all inputs. They are encrypted in it for single operations."""
        intervals = [one.interval for one in self.specs]
        return min(low for low, _ in intervals), max(high for _, high in intervals)

    def by_operations(self, *arrays: Any) -> tuple[Any, ...]:
        """Compute the function by single operations, on arrays that were encrypted as `widest`."""
        declared = [
            array if spec.interval == self.widest else bounded(array, spec.interval)
            for array, spec in zip(arrays, self.specs, strict=True)
        ]
        return tuple(one.compute() for one in several(self.function(*declared)))

    def expected(self) -> np.ndarray:
        """Return the exact results."""
        return flat((self.plain or self.function)(*self.inputs))


def several(results: Any) -> tuple[Any, ...]:
    """Return one or more results as a tuple."""
    return results if isinstance(results, tuple) else (results,)


def flat(results: Any) -> np.ndarray:
    """Return all results as one row of numbers."""
    return np.concatenate([np.ravel(one) for one in several(results)])


def is_encrypted(x: Any) -> bool:
    """Return True for an encrypted array, and False for a plain one."""
    return isinstance(x, hp.NumberArray)


def bounded(x: Any, interval: tuple[float, float]) -> Any:
    """Declare the interval of encrypted values."""
    return x.with_interval(interval) if is_encrypted(x) else x


def applied(function: Callable[..., Any], x: Any, error: float) -> Any:
    """Apply a function with a declared largest error to encrypted values."""
    return x.apply(function, error=error) if is_encrypted(x) else function(x)


def at_distance(x: Any, distance: float) -> AbstractContextManager[Any]:
    """Declare the smallest distance of encrypted values that are compared with each other."""
    return x.server.at_distance(distance) if is_encrypted(x) else contextlib.nullcontext()


def uniform(rng: np.random.Generator, shape: tuple[int, ...], bound: float = 1.0) -> np.ndarray:
    """Return uniform random numbers."""
    return rng.uniform(-bound, bound, shape)


def logistic_regression(rng: np.random.Generator) -> Case:
    """Return the probabilities of 512 rows with 30 features."""
    weights = uniform(rng, (30,), 0.5)
    return Case(lambda x: hp.sigmoid(x @ weights + 0.1), (uniform(rng, (512, 30)),))


def mlp(rng: np.random.Generator) -> Case:
    """Return a network with layers of 64, 32 and 10 neurons, of 64 rows."""
    first, second = rng.normal(size=(64, 32)) / 8, rng.normal(size=(32, 10)) / 5
    bias = uniform(rng, (32,), 0.1)
    return Case(lambda x: hp.relu(x @ first + bias) @ second, (rng.uniform(0, 1, (64, 64)),))


def cnn(rng: np.random.Generator) -> Case:
    """Return a convolution of images of 8 x 8, squares, sums of 2 x 2, and a dense layer."""
    kernels = rng.normal(size=(4, 3, 3)) / 3
    dense = rng.normal(size=(36, 10)) / 6

    def network(x: Any) -> Any:
        maps = []
        for kernel in kernels:
            y = sum(kernel[i, j] * x[:, i : i + 6, j : j + 6] for i in range(3) for j in range(3))
            y = y * y
            maps.append(
                (y[:, ::2, ::2] + y[:, 1::2, ::2] + y[:, ::2, 1::2] + y[:, 1::2, 1::2]).reshape(
                    -1, 9
                )
            )
        return np.concatenate(maps, axis=1) @ dense

    return Case(network, (rng.uniform(0, 1, (32, 8, 8)),))


def training(rng: np.random.Generator) -> Case:
    """Return the weights after five steps of logistic regression of 256 rows with 16 features.

    The stated bound grows with each step, since errors are assumed to add up in the worst way.
    Rows of up to 1/4 and a low rate keep it at 0.01.
    """
    x = uniform(rng, (256, 16), 1 / 4)
    y = (x @ uniform(rng, (16,)) > 0).astype(float)
    rate = 1 / 64

    def steps(x: Any, y: Any) -> Any:
        weights = rate * ((y - 0.5) @ x)
        for _ in range(4):
            weights = bounded(weights, (-1, 1))
            gap = hp.sigmoid(bounded(x @ weights, (-1, 1))) - y
            weights = weights - rate * (gap @ x)
        return weights

    return Case(steps, (x, y), precision=20)


def k_means_step(rng: np.random.Generator) -> Case:
    """Return the new centres of three clusters of 256 points: sums and counts of each."""
    centres = np.array([[-0.5, -0.5], [0.5, -0.25], [0.0, 0.5]])
    points = centres[rng.integers(0, 3, 256)] + uniform(rng, (256, 2), 0.2)

    def step(x: Any) -> Any:
        # Differences of squared distances are linear.
        first, second, third = (2 * (x @ c) - c @ c for c in centres)
        a, b, c = first > second, first > third, second > third
        members = (a * b, (1 - a) * c, (1 - b) * (1 - c))
        return tuple(m @ x for m in members) + tuple(m.sum() for m in members)

    # No point is near the border of two clusters, so that no result is near a jump.
    return Case(step, (points,), precision=14)


def correlation(rng: np.random.Generator) -> Case:
    """Return the covariances of 8 columns of 256 rows, and their variances."""

    def matrix(x: Any) -> Any:
        centred = x - x.mean(axis=0)
        return centred.T @ centred / 256

    return Case(matrix, (uniform(rng, (256, 8)),))


def filtered(rng: np.random.Generator) -> Case:
    """Return where a filtered signal of 2,048 samples exceeds a threshold."""
    taps = np.hanning(18)[1:-1] / 8.5

    def above(x: Any) -> Any:
        return np.convolve(x, taps, mode="valid") > 0.25

    return Case(above, (np.sin(np.arange(2048) / 9) + uniform(rng, (2048,), 0.3),), 14, jumps=True)


def chain(rng: np.random.Generator) -> Case:
    """Return the value after 60 steps of a recursion that uses a product each."""

    def recursion(x: Any) -> Any:
        y = x
        for _ in range(60):
            y = 0.5 * y * y + 0.25 * x
        return y

    return Case(recursion, (uniform(rng, (4096,), 0.9),), 14)


def attention(rng: np.random.Generator) -> Case:
    """Return an attention head: 16 tokens with 32 features.

    Exponentials and reciprocals have smaller errors than by default, since the last product adds up
    16 of them.
    """
    queries, keys, values = (rng.normal(size=(32, 16)) / 6 for _ in range(3))

    def head(x: Any) -> Any:
        scores = (x @ queries) @ (x @ keys).T / 4
        weights = applied(np.exp, bounded(scores, (-1.5, 1.5)), error=3e-4)
        totals = bounded(weights.sum(axis=1, keepdims=True), (8, 32))
        return (weights * applied(np.reciprocal, totals, error=3e-5)) @ (x @ values)

    return Case(head, (uniform(rng, (16, 32)),), precision=20)


def look_up(rng: np.random.Generator) -> Case:
    """Return the entries of a table with 64 rows at 256 encrypted places."""
    table = uniform(rng, (64,))
    places = rng.integers(0, 64, 256).astype(float)
    return Case(
        lambda x: x.with_interval((0, 63)).entries_of(table),
        (places,),
        14,
        plain=lambda x: table[x.astype(int)],
    )


def sort_and_quantile(rng: np.random.Generator) -> Case:
    """Return 16 values in order, and their quartiles."""

    def ordered(x: Any) -> Any:
        with at_distance(x, 0.125):
            return np.sort(x), np.quantile(x, [0.25, 0.75])

    return Case(ordered, (rng.permutation(np.linspace(-1, 1, 16)),))


def forest(rng: np.random.Generator) -> Case:
    """Return the mean of 8 trees of depth 3, of 64 rows with 8 features."""
    features, thresholds = rng.integers(0, 8, (8, 7)), uniform(rng, (8, 7), 0.5)
    leaves = uniform(rng, (8, 8))

    def mean(x: Any) -> Any:
        total = 0
        # Every node of every tree is compared at once.
        above = x[:, features.ravel()] > thresholds.ravel()
        for tree in range(8):
            right = [above[:, 7 * tree + node] for node in range(7)]
            level = list(leaves[tree])
            for first in (3, 1, 0):
                level = [
                    low + right[first + i] * (high - low)
                    for i, (low, high) in enumerate(zip(level[::2], level[1::2], strict=True))
                ]
            total = total + level[0]
        return total / 8

    return Case(mean, (uniform(rng, (64, 8)),), 14, jumps=True)


CASES: dict[str, Callable[[np.random.Generator], Case]] = {
    "logistic regression": logistic_regression,
    "MLP 64-32-10": mlp,
    "CNN on 8x8 images": cnn,
    "training 256x16": training,
    "k-means step": k_means_step,
    "correlation matrix": correlation,
    "FIR and threshold": filtered,
    "chain of depth 60": chain,
    "attention head 16x32": attention,
    "private look-up": look_up,
    "sort and quantile": sort_and_quantile,
    "forest of 8 trees": forest,
}


def by_hand(case: Case) -> hp.Simulation:
    """Return the predicted cost of single operations in their fastest preset."""
    fitting = []
    for preset in PRESETS:
        # Bootstraps take most of the time, so they are used where nothing else fits.
        for bootstrapping in (False, True):
            with contextlib.suppress(*DOES_NOT_FIT):
                fitting.append(
                    hp.simulate(
                        case.by_operations,
                        *case.inputs,
                        interval=case.widest,
                        preset=preset,
                        precision=case.precision,
                        bootstrapping=bootstrapping,
                    )
                )
                break
    return min(fitting, key=lambda one: one.seconds)


def compiled(case: Case, preset: str = "auto") -> tuple[hp.Program, float]:
    """Return the program, and the seconds that its compilation takes."""
    start = time.perf_counter()
    program = hp.compile(case.function, *case.specs, precision=case.precision, preset=preset)
    return program, time.perf_counter() - start


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one run, and its results."""
    start = time.perf_counter()
    results = run()
    return time.perf_counter() - start, results


def predicted(plan: hp.Simulation, program: hp.Program) -> dict[str, Any]:
    """Return the predicted figures of both sides."""
    return {
        "operations": {
            "preset": plan.preset,
            "seconds": plan.seconds,
            "first_seconds": plan.first_seconds,
            "bootstraps": plan.bootstraps,
            "peak_memory": plan.peak_memory,
            "key_bytes": plan.key_bytes,
        },
        "program": {
            "preset": program.preset,
            "seconds": program.seconds,
            "first_seconds": program.first_seconds,
            "bootstraps": program.bootstraps,
            "peak_memory": program.peak_memory,
            "key_bytes": program.key_bytes,
            "error_bound": program.error_bound,
        },
        # Simulations do not predict runs with encoded matrices, but first runs.
        "ratio": plan.first_seconds / program.first_seconds,
    }


def operations_side(case: Case, plan: hp.Simulation) -> tuple[hp.Client, Callable[[], Any]]:
    """Make the keys of single operations, and return their client and a run of the function."""
    client = hp.Client.generate(plan.preset, precision=case.precision)
    server = hp.Server(client.evaluation_keys(for_=plan))
    arrays = [server.load(client.encrypt(one, interval=case.widest)) for one in case.inputs]
    return client, lambda: case.by_operations(*arrays)


def program_side(case: Case, program: hp.Program, folder: Path) -> hp.Client:
    """Write the program, its keys and its encrypted inputs to a folder, and return the client."""
    interface = program.interface()
    client = hp.Client.generate(interface)
    client.evaluation_keys(interface).save(folder / "keys")
    program.save(folder / "program")
    for i, one in enumerate(several(client.encrypt(interface, *case.inputs))):
        one.save(folder / f"input{i}")
    return client


def loaded(folder: Path) -> Callable[[], Any]:
    """Read what `program_side` wrote, and return a run of the program."""
    server = hp.Server(hp.EvaluationKeys.load(folder / "keys"))
    program = hp.Program.load(folder / "program")
    arrays = [server.load(folder / f"input{i}") for i in range(len(program.inputs))]
    return lambda: several(server.run(program, *arrays))


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


def restart_peak() -> None:
    """Let `peak_memory` start again from the present memory."""
    Path("/proc/self/clear_refs").write_text("5")


def print_memory(folder: Path) -> None:
    """Print the peak of memory of one run of a program, without that of the imports.

    The prediction leaves out the preparation of the server, and so does this.
    """
    restart_peak()
    imports = peak_memory()
    run = loaded(folder)
    restart_peak()
    run()
    print(peak_memory() - imports)


def memory_of_run(folder: Path) -> int:
    """Return the peak of memory of one run of a program, measured in a process of its own."""
    command = [sys.executable, __file__, "--memory", str(folder)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measured(case: Case, plan: hp.Simulation, program: hp.Program) -> dict[str, Any]:
    """Return the measured figures of both sides."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program_client = program_side(case, program, folder)
        key_bytes = (folder / "keys").stat().st_size
        peak = memory_of_run(folder)
        run_program = loaded(folder)
    operations_client, run_operations = operations_side(case, plan)

    first_operations, operations_results = timed(run_operations)
    first_program, program_results = timed(run_program)
    times: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(times) < PAIRS and (not times or time.perf_counter() - start < LONG):
        times.append((timed(run_operations)[0], timed(run_program)[0]))

    def error(client: hp.Client, results: Any) -> float:
        errors = np.abs(flat(client.decrypt(results)) - case.expected())
        return float(np.median(errors) if case.jumps else errors.max())

    operations, programs = zip(*times, strict=True)
    return {
        "operations": {
            "seconds": statistics.median(operations),
            "first_seconds": first_operations,
            "error": error(operations_client, operations_results),
        },
        "program": {
            "seconds": statistics.median(programs),
            "first_seconds": first_program,
            "error": error(program_client, program_results),
            "peak_memory": peak,
            "key_bytes": key_bytes,
        },
        "ratio": statistics.median(one / other for one, other in times),
        "pairs": len(times),
    }


def figures(name: str, *, predict: bool) -> dict[str, Any]:
    """Return and print the figures of a program."""
    case = CASES[name](np.random.default_rng(5))
    plan = by_hand(case)
    program, seconds = compiled(case)
    result = {"predicted": predicted(plan, program), "compile_seconds": {"auto": seconds}}
    if not predict:
        result["compile_seconds"]["given"] = compiled(case, program.preset)[1]
        result["measured"] = measured(case, plan, program)
    print(text_of(name, result), flush=True)
    return result


def text_of(name: str, result: dict[str, Any]) -> str:
    """Return the figures of a program as text."""
    plan = result["predicted"]
    one, other = plan["operations"], plan["program"]
    found = result.get("measured", plan)
    auto = result["compile_seconds"]["auto"]
    lines = [
        f"{name:20} {one['preset']:>4} {found['operations']['seconds']:7.3f} s  "
        f"{other['preset']:>4} {found['program']['seconds']:7.3f} s  ratio {found['ratio']:5.2f}  "
        f"bootstraps {one['bootstraps']} {other['bootstraps']}  "
        f"bound {other['error_bound']:.1e}  compiled in {auto:.1f} s"
    ]
    if "measured" in result:
        run = found["program"]
        firsts = [side["first_seconds"] / side["seconds"] for side in (found["operations"], run)]
        lines += [
            f"  predicted / measured {other['seconds'] / run['seconds']:.2f}, "
            f"of the first run {other['first_seconds'] / run['first_seconds']:.2f}, "
            f"predicted ratio {plan['ratio']:.2f}, "
            f"first / later run {firsts[0]:.1f} {firsts[1]:.1f}, {found['pairs']} pairs",
            f"  memory {megabytes(other['peak_memory'])} predicted, "
            f"{megabytes(run['peak_memory'])} measured; "
            f"keys {megabytes(other['key_bytes'])} predicted, "
            f"{megabytes(run['key_bytes'])} measured",
            f"  error {run['error']:.1e}, bound / error "
            f"{other['error_bound'] / run['error']:.0f}; "
            f"compiled with a given preset in {result['compile_seconds']['given']:.1f} s",
        ]
    return "\n".join(lines)


def megabytes(count: int) -> str:
    """Return a number of bytes as text."""
    return f"{count / 1e6:.0f} MB"


def main() -> None:
    """Measure the named programs, or all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--predict", action="store_true", help="make no keys")
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    parser.add_argument("--memory", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(CASES)}")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    hp.set_cache_budget(CACHE_BYTES)
    if arguments.memory:
        print_memory(arguments.memory)
        return
    programs = {name: figures(name, predict=arguments.predict) for name in arguments.names or CASES}
    ratios = [one.get("measured", one["predicted"])["ratio"] for one in programs.values()]
    mean, lowest = statistics.geometric_mean(ratios), min(ratios)
    print(f"geometric mean of ratios {mean:.2f}, lowest {lowest:.2f}; {processor()}")
    if arguments.json:
        all_figures = {"machine": processor(), "geometric_mean": mean, "programs": programs}
        Path(arguments.json).write_text(json.dumps(all_figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
