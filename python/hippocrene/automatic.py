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


class _LimitedByFunctionsError(Exception):
    """A higher precision does not make results more precise, whatever the preset is."""


# Maximum number of precisions that are tried to find the least one.
_TRIES = 8


@dataclass(frozen=True)
class Need:
    """The precision that results need.

    - `precision`: the lowest precision in bits after the binary point.
    - `goal`: what was asked for, in errors.
    - `remedy`: how to ask for less, as a sentence.
    """

    precision: float
    goal: str
    remedy: str


def candidates(of_bits: bool) -> list[str]:
    """Return the names of the presets for a program, in order of their ring degrees."""
    family = re.compile(r"bits\d+" if of_bits else r"n\d+s?")
    return [preset.name for preset in _native.presets() if family.fullmatch(preset.name)]


def chosen(
    operation: str,
    run: Callable[[str, float | None, bool], _R],
    presets: Sequence[str],
    precision: float | None,
    need: Need | None,
    max_memory: int,
    *,
    bootstraps: bool,
    finished: Callable[[_R], _R] = lambda run: run,
) -> tuple[_R, dict[str, str]]:
    """Return the run with the least predicted time among those that fit the memory.

    The other presets that were tried are returned with the reasons against them.

    `operation` is named in errors. `run` runs the program with a preset, a precision, and True if
    bootstraps are allowed. If there is a `need`, the run uses the least precision that fulfils it.
    `finished` completes the run of a preset before it is compared.
    """
    degrees = {preset.name: preset.ring_degree for preset in _native.presets()}
    fits: list[_R] = []
    too_large: list[_R] = []
    refused: list[tuple[str, HippocreneError]] = []
    enough = math.inf
    for preset in presets:
        if degrees.get(preset, 0) > enough:
            # Without bootstraps, a larger ring does the same operations, and each takes longer.
            break
        try:
            simulation = finished(_fit(run, preset, precision, need, bootstraps))
        except _LimitedByFunctionsError as limit:
            raise ArgumentError(f"{operation}: {limit}") from None
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
            # The next ring degree may still hold all elements in fewer ciphertexts.
            enough = min(enough, 2 * degrees.get(preset, 0))
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
    run: Callable[[str, float | None, bool], _R],
    preset: str,
    precision: float | None,
    need: Need | None,
    bootstraps: bool,
) -> _R:
    """Run with one preset, without bootstraps if possible, because they take most of the time."""
    if not bootstraps:
        return _precise(lambda bits: run(preset, bits, False), precision, need)
    try:
        return _precise(lambda bits: run(preset, bits, False), precision, need)
    except (CapacityError, MissingKeyError) as lacking:
        try:
            return _precise(lambda bits: run(preset, bits, True), precision, need)
        except ParameterError:
            # There is no bootstrap with this preset.
            raise lacking from None


def _precise(run: Callable[[float | None], _R], precision: float | None, need: Need | None) -> _R:
    """Run at this precision, or at the least one that fulfils the need."""
    if need is None:
        return run(precision)
    min_precision = need.precision
    # Results lose a few bits of the requested precision, about equally many at every precision.
    bits = float(math.ceil(min_precision) + 2)
    best: _R | None = None
    most: float | None = None
    last: tuple[float, float] | None = None
    tried: set[float] = set()
    while bits not in tried and len(tried) < _TRIES:
        tried.add(bits)
        try:
            simulation = run(bits)
        except CapacityError:
            if best is not None or most is not None or bits <= min_precision - 2:
                break
            bits -= 1
            continue
        except ArgumentError:
            # Comparisons and functions need some precision of their own.
            if best is not None:
                break
            if len(tried) == _TRIES:
                raise
            bits += 4
            continue
        found = simulation.precision_bits
        if found is None:
            return simulation
        most = found if most is None else max(most, found)
        if last is not None and found < min_precision:
            more = bits - last[0]
            if more > 1 and found - last[1] < more / 4:
                raise _LimitedByFunctionsError(
                    f"there is no program with {need.goal}, because functions and comparisons in "
                    "it have errors of their own, which a higher precision does not make smaller. "
                    f"Ask each of them for a smaller error. {need.remedy}"
                )
        last = bits, found
        if found >= min_precision:
            best = simulation
            bits -= math.floor(found - min_precision)
        elif best is not None:
            break
        else:
            bits += math.ceil(min_precision - found)
    if best is not None:
        return best
    if most is None:
        return run(bits)
    raise CapacityError(
        f"its results have {most:.1f} bits of precision at most, and {min_precision:.1f} are needed"
    )
