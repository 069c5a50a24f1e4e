"""Measures twelve programs against the same functions on arrays that are computed one by one.

usage: python bench/programs.py [--predict] [NAME ..]

It needs 12 GB of memory and about 25 minutes for all programs. With `--predict`, it makes no keys
and takes predicted times, in about three minutes. It runs on one core.

Both sides have the same precision. The preset of the single operations is the one in which they
are predicted to be fastest, among all presets that are large enough. That of a program is chosen
by `compile`. For each program this prints

- the seconds of the single operations and of the program, and their ratio (the median of pairs of
  runs that take turns),
- both numbers of bootstraps,
- the seconds that were predicted for the program, divided by the measured ones,
- the seconds of the first run, divided by those of a later one,
- the peak of memory and the size of keys, predicted and measured,
- the largest error that was seen, and the stated bound divided by it,
- the seconds to compile with a given preset and with ``preset="auto"``.

Run `hippocrene tune` before, so that predictions are those of this machine.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hippocrene as hp

RNG = np.random.default_rng(5)
# The number of pairs of runs, unless they take too long, and the seconds for all of them (chosen).
PAIRS, LONG = 5, 120


@dataclass(frozen=True)
class Case:
    """A function with example inputs.

    - `function`: the function of encrypted and of plain arrays.
    - `inputs`: the values of each input. They are also the public sample.
    - `precision`: the precision in bits of both sides.
    - `presets`: the presets that are tried for single operations.
    - `plain`: the function of plain arrays, if it is another one.
    - `jumps`: True if results near a threshold may be anything, so that errors are not compared.
    """

    function: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    precision: float = 16
    presets: tuple[str, ...] = ("n12", "n13", "n14", "n15s", "n15", "n16s", "n16")
    plain: Callable[..., Any] | None = None
    jumps: bool = False
    margin: float = field(default=1.5)

    def specs(self) -> list[hp.Spec]:
        """Return the specifications of the inputs."""
        return [hp.spec_like(one, margin=self.margin) for one in self.inputs]

    def expected(self) -> np.ndarray:
        """Return the exact results."""
        return flat((self.plain or self.function)(*self.inputs))


def flat(results: Any) -> np.ndarray:
    """Return all results as one row of numbers."""
    several = results if isinstance(results, tuple) else (results,)
    return np.concatenate([np.ravel(one) for one in several])


def bounded(x: Any, bound: float) -> Any:
    """Declare the bound of encrypted values."""
    return x.with_bound(bound) if isinstance(x, hp.NumberArray) else x


def scaled(shape: tuple[int, ...], bound: float = 1.0) -> np.ndarray:
    """Return uniform random numbers."""
    return RNG.uniform(-bound, bound, shape)


def logistic_regression() -> Case:
    """Return the probabilities of 512 rows with 30 features."""
    weights = scaled((30,), 0.5)
    return Case(lambda x: hp.sigmoid(x @ weights + 0.1), (scaled((512, 30)),))


def mlp() -> Case:
    """Return a network with layers of 64, 32 and 10 neurons, of 64 rows."""
    first, second = RNG.normal(size=(64, 32)) / 8, RNG.normal(size=(32, 10)) / 5
    bias = scaled((32,), 0.1)
    return Case(lambda x: hp.relu(x @ first + bias) @ second, (RNG.uniform(0, 1, (64, 64)),))


def cnn() -> Case:
    """Return a convolution of images of 8 x 8, squares, sums of 2 x 2, and a dense layer."""
    kernels = RNG.normal(size=(4, 3, 3)) / 3
    dense = RNG.normal(size=(36, 10)) / 6

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

    return Case(network, (RNG.uniform(0, 1, (32, 8, 8)),))


def training() -> Case:
    """Return the weights after five steps of logistic regression of 256 rows with 16 features."""
    x = scaled((256, 16))
    y = (x @ scaled((16,)) > 0).astype(float)

    def steps(x: Any, y: Any) -> Any:
        weights = (0.5 - y) @ x * (-1 / 64)
        for _ in range(4):
            weights = bounded(weights, 2.5)
            gap = hp.sigmoid(bounded(x @ weights, 8)) - y
            weights = weights - (1 / 64) * (gap @ x)
        return weights

    return Case(steps, (x, y), precision=14)


def k_means_step() -> Case:
    """Return the new centres of three clusters of 256 points: sums and counts of each."""
    centres = np.array([[-0.5, -0.5], [0.5, -0.25], [0.0, 0.5]])
    points = centres[RNG.integers(0, 3, 256)] + scaled((256, 2), 0.2)

    def step(x: Any) -> Any:
        # Differences of squared distances are linear.
        first, second, third = (2 * (x @ c) - c @ c for c in centres)
        a, b, c = first > second, first > third, second > third
        members = (a * b, (1 - a) * c, (1 - b) * (1 - c))
        return tuple(m @ x for m in members) + tuple(m.sum() for m in members)

    return Case(step, (points,), precision=14, jumps=True)


def correlation() -> Case:
    """Return the covariances of 8 columns of 256 rows, and their variances."""

    def matrix(x: Any) -> Any:
        centred = x - x.mean(axis=0)
        return centred.T @ centred / 256

    return Case(matrix, (scaled((256, 8)),))


def filtered() -> Case:
    """Return where a filtered signal of 2,048 samples exceeds a threshold."""
    taps = np.hanning(18)[1:-1] / 8.5

    def above(x: Any) -> Any:
        return np.convolve(x, taps, mode="valid") > 0.25

    return Case(above, (np.sin(np.arange(2048) / 9) + scaled((2048,), 0.3),), 14, jumps=True)


def chain() -> Case:
    """Return the value after 60 steps of a recursion that uses a product each."""

    def recursion(x: Any) -> Any:
        y = x
        for _ in range(60):
            y = 0.5 * y * y + 0.25 * x
        return y

    return Case(recursion, (scaled((4096,), 0.9),), 14)


def attention() -> Case:
    """Return an attention head: 16 tokens with 32 features."""
    queries, keys, values = (RNG.normal(size=(32, 16)) / 6 for _ in range(3))

    def head(x: Any) -> Any:
        scores = (x @ queries) @ (x @ keys).T / 4
        weights = np.exp(scores)
        totals = weights.sum(axis=1, keepdims=True)
        inverse = totals.reciprocal(domain=(4, 64)) if hasattr(totals, "reciprocal") else 1 / totals
        return (weights * inverse) @ (x @ values)

    return Case(head, (scaled((16, 32)),), 16)


def look_up() -> Case:
    """Return the entries of a table with 64 rows at 256 encrypted places."""
    table = scaled((64,))
    places = RNG.integers(0, 64, 256).astype(float)
    return Case(
        lambda x: x.with_interval((0, 63)).entries_of(table),
        (places,),
        14,
        plain=lambda x: table[x.astype(int)],
    )


def sort_and_quantile() -> Case:
    """Return 16 values in order, and their quartiles."""

    def ordered(x: Any) -> Any:
        return np.sort(x), np.quantile(x, [0.25, 0.75])

    return Case(ordered, (RNG.permutation(np.linspace(-1, 1, 16)),), 14, jumps=True)


def forest() -> Case:
    """Return the mean of 8 trees of depth 3, of 64 rows with 8 features."""
    features, thresholds = RNG.integers(0, 8, (8, 7)), scaled((8, 7), 0.5)
    leaves = scaled((8, 8))

    def mean(x: Any) -> Any:
        total = 0
        # Every node of every tree is compared at once.
        above = x[:, features.ravel()] > thresholds.ravel()
        for tree in range(8):
            right = [above[:, 7 * tree + node] for node in range(7)]
            level = [leaf for leaf in leaves[tree]]
            for first in (3, 1, 0):
                level = [
                    low + right[first + i] * (high - low)
                    for i, (low, high) in enumerate(zip(level[::2], level[1::2]))
                ]
            total = total + level[0]
        return total / 8

    return Case(mean, (scaled((64, 8)),), 14, jumps=True)


CASES: dict[str, Callable[[], Case]] = {
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


def by_hand(case: Case) -> tuple[str, bool, hp.Simulation] | None:
    """Return the preset in which single operations are fastest, if they bootstrap, and their cost."""
    best = None
    intervals = [one.interval for one in case.specs()]
    widest = min(low for low, _ in intervals), max(high for _, high in intervals)

    def declared(*arrays: Any) -> Any:
        each = zip(arrays, intervals, strict=True)
        return case.function(*(array.with_interval(own) for array, own in each))

    for preset in case.presets:
        for bootstrapping in (False, True):
            try:
                found = hp.simulate(
                    declared,
                    *case.inputs,
                    interval=widest,
                    preset=preset,
                    precision=case.precision,
                    bootstrapping=bootstrapping,
                )
            except (hp.CapacityError, hp.MissingKeyError, hp.ParameterError, hp.ArgumentError) as e:
                if os.environ.get("WHY"):
                    print("   ", preset, bootstrapping, str(e)[:150])
                continue
            if best is None or found.seconds < best[2].seconds:
                best = preset, bootstrapping, found
            break
    return best


def predicted(name: str, case: Case) -> None:
    """Print predicted times."""
    found = by_hand(case)
    start = time.perf_counter()
    program = hp.compile(case.function, *case.specs(), precision=case.precision)
    seconds = time.perf_counter() - start
    eager = found[2].seconds if found else math.nan
    boots = found[2].bootstraps if found else -1
    preset = found[0] if found else "-"
    if os.environ.get("WHY"):
        print(program)
    print(
        f"{name:22} {eager:8.3f} s {preset:5} {program.seconds:8.3f} s {program.preset:5} "
        f"{eager / program.seconds:6.2f}  bootstraps {boots} {program.bootstraps}  compile {seconds:5.1f} s",
        flush=True,
    )


def main() -> None:
    """Measure the named programs, or all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--predict", action="store_true", help="make no keys")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name in arguments.names or CASES:
        predicted(name, CASES[name]())


if __name__ == "__main__":
    main()
