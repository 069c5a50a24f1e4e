"""The choice of a preset and a precision for a program by dry runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hippocrene import _native
from hippocrene.errors import (
    ArgumentError,
    BudgetError,
    CapacityError,
    HippocreneError,
    MissingKeyError,
    ParameterError,
)
from hippocrene.units import size_text, time_text


class Run(Protocol):
    """The predicted cost of a run: a simulation or a program."""

    @property
    def seconds(self) -> float:
        """Seconds on one thread."""

    @property
    def peak_memory(self) -> int:
        """The peak of memory in bytes."""

    @property
    def bootstraps(self) -> int:
        """The number of bootstraps."""

    @property
    def precision_bits(self) -> float | None:
        """The lowest precision of a result in bits, or None for exact results."""

    @property
    def preset(self) -> str:
        """The name of the preset."""


_R = TypeVar("_R", bound=Run)
_Result = TypeVar("_Result", covariant=True)


class _Dry(Protocol[_Result]):
    """Runs a program without values."""

    def __call__(
        self, preset: str, precision: float | None, bootstraps: bool, extra: float, /
    ) -> _Result:
        """Run with a preset and a precision in bits.

        `bootstraps` is True if bootstraps are allowed, and `extra` is the number of bits by which
        functions are more precise than by default.
        """


class _LimitedByFunctionsError(Exception):
    """Neither a higher precision nor more precise functions make results more precise."""


# Maximum number of precisions that are tried to find the least one.
_TRIES = 12
# A step of so many bits tells whether a higher precision has an effect. The precision of results
# varies by a bit for other reasons.
_CLEAR_STEP = 3.0
# A step has an effect if results gain this share of it. The rest may need a step in the other way.
_LEAST_EFFECT = 1 / 8
# The number of bits that a step adds to those that results lack.
_SPARE_BITS = 0.25


@dataclass(frozen=True)
class Need:
    """The precision that results need.

    - `precision`: the lowest precision in bits after the binary point.
    - `goal`: what was asked for, in errors.
    - `remedy`: how to ask for less, as a sentence.
    - `in_errors`: True if the precision is that of a largest error. Functions without an error of
      their own may then be made more precise.
    """

    precision: float
    goal: str
    remedy: str
    in_errors: bool

    def missed(self, most: float) -> str:
        """Say that results have this precision at most."""
        if self.in_errors:
            return f"its results have errors of up to {2.0**-most:.2g}"
        return (
            f"its results have {most:.1f} bits of precision at most, and {self.precision:.1f} are "
            "needed"
        )


def candidates(of_bits: bool) -> list[str]:
    """Return the names of the presets for a program, in order of their ring degrees."""
    family = re.compile(r"bits\d+" if of_bits else r"n\d+s?")
    return [preset.name for preset in _native.presets() if family.fullmatch(preset.name)]


def chosen(
    operation: str,
    run: _Dry[_R],
    presets: Sequence[str],
    precision: float | None,
    need: Need | None,
    max_memory: int,
    *,
    bootstraps: bool,
    finished: Callable[[_R], _R] = lambda run: run,
    largest: Callable[[_R], float] | None = None,
) -> tuple[_R, dict[str, str]]:
    """Return the run with the least predicted time among those that fit the memory.

    The other presets that were tried are returned with the reasons against them.

    `operation` is named in errors. If there is a `need`, the run uses the least precision that
    fulfils it.
    `finished` completes the run of a preset before it is compared, and `largest` returns the number
    of elements of its largest array.
    """
    degrees = {preset.name: preset.ring_degree for preset in _native.presets()}
    fits: list[_R] = []
    too_large: list[_R] = []
    refused: list[tuple[str, HippocreneError]] = []
    limits: list[HippocreneError] = []
    enough = math.inf
    for preset in presets:
        if degrees.get(preset, 0) > enough:
            # Without bootstraps, a larger ring does the same operations, and each takes longer.
            break
        try:
            simulation = finished(_fit(run, preset, precision, need, bootstraps))
        except _LimitedByFunctionsError as limit:
            refused.append((preset, ArgumentError(f"{operation}: {limit}")))
            limits.append(refused[-1][1])
            continue
        except (
            ArgumentError,
            BudgetError,
            CapacityError,
            MissingKeyError,
            ParameterError,
        ) as error:
            refused.append((preset, error))
            continue
        (fits if simulation.peak_memory <= max_memory else too_large).append(simulation)
        if fits and simulation.bootstraps == 0:
            # The next ring degree may still hold all elements in fewer ciphertexts. A ciphertext
            # holds half as many elements as the ring degree.
            degree = degrees.get(preset, 0)
            fits_one = largest is not None and largest(simulation) <= degree // 2
            enough = min(enough, degree if fits_one else 2 * degree)
    memory = size_text(max_memory)
    if fits:
        best = min(fits, key=lambda run: run.seconds)
        # The first sentence says what is wrong, and advice would not help here.
        others = {preset: str(error).split(". ")[0] for preset, error in refused}
        for one in too_large:
            others[one.preset] = (
                f"{size_text(one.peak_memory)} of memory, and {memory} is the limit"
            )
        for one in fits:
            others[one.preset] = f"{time_text(one.seconds)}, and {best.preset} takes less"
        return best, {
            name: others[name] for name in presets if name in others and name != best.preset
        }
    needed, less = ("", "") if need is None else (f" with {need.goal}", f" {need.remedy}")
    if too_large:
        least = min(too_large, key=lambda simulation: simulation.peak_memory)
        raise ParameterError(
            f"{operation}: no preset gives the program{needed} within {memory} of memory. The nearest miss is "
            f"{least.preset!r}, which takes {size_text(least.peak_memory)}. Allow as much with max_memory, or "
            f"compute on smaller arrays.{less}"
        )
    if limits:
        # No preset makes these functions more precise.
        raise limits[-1]
    preset, reason = refused[-1]
    for _, refusal in refused:
        if isinstance(refusal, MissingKeyError):
            # No preset can replace keys.
            raise refusal
    if len({str(error) for _, error in refused}) == 1 and (len(refused) > 1 or need is None):
        # All presets fail for the same reason, so the preset is not at fault.
        raise reason
    tried = "the preset does not fit" if len(presets) == 1 else "no preset fits"
    raise ParameterError(
        f"{operation}: {tried} the program{needed}. The nearest miss is {preset!r}: {reason}"
    ) from reason


def _fit(
    run: _Dry[_R],
    preset: str,
    precision: float | None,
    need: Need | None,
    bootstraps: bool,
) -> _R:
    """Run with one preset, without bootstraps if possible, because they take most of the time."""

    def precise(bootstraps: bool) -> _R:
        if need is None:
            return run(preset, precision, bootstraps, 0.0)
        return _precise(lambda bits, extra: run(preset, bits, bootstraps, extra), need)

    if not bootstraps:
        return precise(False)
    try:
        return precise(False)
    except (CapacityError, MissingKeyError) as lacking:
        try:
            return precise(True)
        except ParameterError:
            # There is no bootstrap with this preset.
            raise lacking from None


def _precise(run: Callable[[float, float], _R], need: Need) -> _R:
    """Run at the least precision that fulfils the need.

    `run` takes a precision in bits, and the number of bits by which functions are more precise than
    by default. The precision is raised first. Functions become more precise where that has no
    effect or needs too much capacity.
    """
    least = need.precision
    # Results lose a few bits of the requested precision, about equally many at every precision.
    here = (float(math.ceil(least) + 2), 0.0)
    ways = [0, 1] if need.in_errors else [0]
    # The way that is tried, and those that had no effect since the last success.
    way, useless = 0, set[int]()
    best: _R | None = None
    last: tuple[tuple[float, float], float] | None = None
    tried: set[tuple[float, float]] = set()
    problem: HippocreneError | None = None
    while here not in tried and len(tried) < _TRIES:
        tried.add(here)
        is_useless = False
        try:
            simulation = run(*here)
        except CapacityError as error:
            problem = error
            if best is not None:
                break
            if last is None:
                # A lower precision needs less capacity.
                here = (float(math.ceil(least) - 2), 0.0)
                continue
            is_useless = True
        except ArgumentError as error:
            # Comparisons and functions need some precision of their own.
            problem = error
            if best is not None:
                break
            here = (here[0] + 4, here[1])
            continue
        else:
            found = simulation.precision_bits
            if found is None:
                return simulation
            if found >= least:
                best, last = simulation, (here, found)
                here = (here[0] - math.floor(found - least), here[1])
                continue
            if best is not None:
                break
            step = here[way] - last[0][way] if last is not None else 0.0
            if last is None or found - last[1] >= _LEAST_EFFECT * step:
                last, step = (here, found), 0.0
                useless.clear()
            is_useless = step > _CLEAR_STEP - 0.01
        if is_useless:
            useless.add(way)
            others = [other for other in ways if other not in useless]
            if not others:
                break
            way = others[0]
        (bits, extra), found = last
        # Results are a little less precise than each of their parts.
        step = max(least - found + _SPARE_BITS, _CLEAR_STEP if here != last[0] else 0.0)
        here = (bits + math.ceil(step), extra) if way == 0 else (bits, extra + step)
    if best is not None:
        return best
    if last is None and problem is not None:
        raise problem
    if isinstance(problem, CapacityError):
        most = -math.inf if last is None else last[1]
        raise CapacityError(need.missed(most))
    raise _LimitedByFunctionsError(
        f"there is no program with {need.goal}, because functions and comparisons in it have "
        "errors of their own, which a higher precision does not make smaller. Ask each of them for "
        f"a smaller error. {need.remedy}"
    )
