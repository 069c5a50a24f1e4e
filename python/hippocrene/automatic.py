"""The choice of a preset and a precision for a program by dry runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from hippocrene import _native
from hippocrene.errors import (
    ArgumentError,
    BudgetError,
    CapacityError,
    HippocreneError,
    MissingKeyError,
    ParameterError,
)
from hippocrene.units import size_text


class Run(Protocol):
    """The predicted cost of a run: a simulation or a program."""

    @property
    def seconds(self) -> float:
        """Seconds on one thread."""

    @property
    def peak_memory(self) -> int:
        """The peak of memory in bytes."""

    @property
    def key_bytes(self) -> int:
        """The size of the evaluation keys in bytes."""

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

        `bootstraps` is True if bootstraps are allowed. Functions have `extra` more bits of precision
        than by default.
        """


DOES_NOT_FIT = (ArgumentError, BudgetError, CapacityError, MissingKeyError, ParameterError)
"""The errors of a program that does not fit a preset."""


@dataclass(frozen=True)
class Goal:
    """The figure of a run that is to be as small as possible.

    - `cost`: the figure.
    - `worse`: how a run with a larger figure compares to the best one, as in "takes 2 times as long
      as". The place for the ratio is ``{}``.
    """

    cost: Callable[[Run], float]
    worse: str


LEAST_TIME = Goal(lambda run: run.seconds, "takes {} times as long as")
LEAST_KEYS = Goal(lambda run: run.key_bytes, "has {} times the keys of")


def most_throughput(max_memory: int, cores: int) -> Goal:
    """Return the goal of the most runs per second on a machine.

    Each run has a core of its own, and all runs share the memory.
    """

    def seconds(run: Run) -> float:
        at_once = max(min(cores, max_memory // max(run.peak_memory, 1)), 1)
        return run.seconds / at_once

    return Goal(seconds, "takes {} times as long for each of many runs as")


class _LimitedByFunctionsError(Exception):
    """Neither a higher precision nor more precise functions make results more precise.

    `most` is the largest precision that was reached, in bits.
    """

    def __init__(self, wrong: str, most: float) -> None:
        super().__init__(wrong)
        self.most = most


# Further presets are tried while each makes functions more precise by this number of bits (chosen).
_CLEAR_GAIN = 0.25
# Runs whose figures differ by a smaller factor are about equally good (chosen).
_CLOSE_RATIO = 1.005
# Words of the advice that is about keys and presets.
_OF_KEYS = re.compile(r"bootstrap|keys|preset", re.IGNORECASE)
# A run with more than this multiple of the memory limit is not completed, since that hardly changes
# its memory (chosen).
_CLEARLY_TOO_LARGE = 1.5
# The default precision of `Client.generate` and `simulate`, in bits.
_DEFAULT_PRECISION = 32.0
# Maximum number of precisions that are tried to find the least one.
_TRIES = 12
# Minimum number of bits of a step that shows whether a higher precision has an effect. The precision
# of results varies by a bit for other reasons.
_CLEAR_STEP = 3.0
# A step has an effect if results gain this share of it. The rest may need more precise functions.
_LEAST_EFFECT = 1 / 8
# The number of bits that a step adds to those that results lack.
_SPARE_BITS = 0.25
# Maximum number of bits that functions have in addition to their default, as in
# crates/arrays/src/server/planner/policy.rs.
_MOST_EXTRA_BITS = 30.0


@dataclass(frozen=True)
class Need:
    """The precision that results need.

    - `precision`: the lowest precision in bits after the binary point.
    - `goal`: the request, as errors name it.
    - `remedy`: how to ask for less, as a sentence.
    - `in_errors`: True if the precision is that of a largest error. Functions without an error of
      their own may then be made more precise.
    - `spare`: the number of bits of `precision` that are kept for planning and not asked for.
    """

    precision: float
    goal: str
    remedy: str
    in_errors: bool
    spare: float = 0.0

    def missed(self, most: float) -> str:
        """Say that results have this precision at most."""
        if self.in_errors:
            # Rounded up, so that as large an error can be asked for.
            return f"its results have errors of up to {1.005 * 2.0 ** (self.spare - most):.3g}"
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
    goal: Goal = LEAST_TIME,
    finished: Callable[[_R], _R] = lambda run: run,
    largest: Callable[[_R], float] | None = None,
    finds_keys: bool = False,
) -> tuple[_R, dict[str, str]]:
    """Return the run that is best for the goal among those that fit the memory.

    The other presets are returned with the reasons against them.

    `operation` is named in errors. If there is a `need`, the run uses the least precision that
    fulfils it.
    `finished` completes the run of a preset before it is compared, and `largest` returns the number
    of elements of its largest array. If it `finds_keys`, a program gets the keys that it needs, as
    far as a preset has them.
    """
    degrees = {preset.name: preset.ring_degree for preset in _native.presets()}
    fits: list[_R] = []
    too_large: list[_R] = []
    refused: list[tuple[str, HippocreneError]] = []
    limits: list[tuple[float, HippocreneError]] = []
    enough = math.inf
    too_slow: list[str] = []
    for preset in presets:
        if degrees.get(preset, 0) > enough:
            # Without bootstraps, a larger ring does the same operations, and each takes longer.
            too_slow.append(preset)
            continue
        try:
            simulation = _fit(run, preset, precision, need, bootstraps)
            # A preset that fits makes a much larger one uninteresting.
            is_hopeless = simulation.peak_memory > _CLEARLY_TOO_LARGE * max_memory
            if not (fits and is_hopeless and goal is not LEAST_KEYS):
                simulation = finished(simulation)
        except _LimitedByFunctionsError as limit:
            refused.append((preset, ArgumentError(f"{operation}: {limit}")))
            limits.append((limit.most, refused[-1][1]))
            if not fits and len(limits) > 1 and limit.most < limits[-2][0] + _CLEAR_GAIN:
                # A larger preset has not made the functions more precise.
                break
            continue
        except DOES_NOT_FIT as error:
            refused.append((preset, error))
            if not fits and type(error) is ArgumentError and _is_for_all_presets(refused):
                break
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
        best = min(fits, key=goal.cost)
        # The first sentence says what is wrong, and advice would not help here.
        others = {preset: str(error).split(". ")[0] for preset, error in refused}
        for one in too_large:
            others[one.preset] = (
                f"{size_text(one.peak_memory)} of memory, and {memory} is the limit"
            )
        for preset in too_slow:
            others[preset] = f"larger than {best.preset}, and {best.preset} is large enough"
        for one in fits:
            ratio = goal.cost(one) / max(goal.cost(best), 1e-9)
            is_close = ratio < _CLOSE_RATIO
            worse = "about as good as" if is_close else goal.worse.format(f"{ratio:.3g}")
            others[one.preset] = f"{worse} {best.preset}"
        return best, {
            name: others[name] for name in presets if name in others and name != best.preset
        }
    needed, less = ("", "") if need is None else (f" with {need.goal}", f" {need.remedy}")
    if too_large:
        least = min(too_large, key=lambda simulation: simulation.peak_memory)
        which = (
            f"the preset {presets[0]!r} does not give" if len(presets) == 1 else "no preset gives"
        )
        raise ParameterError(
            f"{operation}: {which} the program{needed} within {memory} of memory. The nearest miss is "
            f"{least.preset!r}, which takes {size_text(least.peak_memory)}. Allow as much with max_memory, or "
            f"compute on smaller arrays.{less}"
        )
    if limits:
        raise max(limits, key=lambda limit: limit[0])[1]
    preset, reason = refused[-1]
    if isinstance(reason, MissingKeyError) and not finds_keys:
        # No preset can replace keys.
        raise reason
    if isinstance(reason, (CapacityError, MissingKeyError)) and need is None and len(presets) == 1:
        wrong, *advice = str(reason).removesuffix(".").split(". ")
        if isinstance(reason, MissingKeyError):
            # The keys of another way are missing, which programs do not take.
            operation = wrong.split(":")[0]
            wrong = f"{operation}: polynomials for it need more capacity or precision than there is"
        # The rest of the advice is about keys, which programs get as they need them.
        kept = (f" {one}." for one in advice if not _OF_KEYS.search(one))
        raise CapacityError(
            f'{wrong}, on the preset {preset!r}. Use preset="auto", a larger preset or a lower '
            f"precision.{''.join(kept)}"
        ) from reason
    if _is_for_all_presets(refused) or (len(refused) == 1 and need is None):
        raise reason
    tried = "the preset does not fit" if len(presets) == 1 else "no preset fits"
    raise ParameterError(
        f"{operation}: {tried} the program{needed}. The nearest miss is {preset!r}: {reason}"
    ) from reason


def _is_for_all_presets(refused: Sequence[tuple[str, HippocreneError]]) -> bool:
    """Return True if the last two presets fail for the same reason, so no preset is at fault."""
    return len({str(error) for _, error in refused[-2:]}) < len(refused[-2:])


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
        return _Search(lambda bits, extra: run(preset, bits, bootstraps, extra), need).result()

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


# A precision in bits, and the number of bits that functions have in addition to their default.
_Place = tuple[float, float]


class _Search(Generic[_R]):
    """The search for the least precision at which results fulfil a need.

    The precision is raised first. Functions become more precise where a higher precision has no
    effect or needs too much capacity.
    """

    def __init__(self, run: Callable[[float, float], _R], need: Need) -> None:
        """Prepare the search. `run` takes both numbers of a place."""
        self.run, self.need = run, need
        # The number of the place that is raised, and those that had no effect since the last
        # success.
        self.raised = 0
        self.useless: set[int] = set()
        self.best: _R | None = None
        # The most precise place before the need was fulfilled, and the precision of its results.
        self.last: tuple[_Place, float] | None = None
        self.problem: HippocreneError | None = None
        # The largest precision that was too low for a comparison or a function.
        self.too_low = -math.inf
        self.tried: set[_Place] = set()

    def result(self) -> _R:
        """Return the best run, or raise the error that says why there is none."""
        # Results lose a few bits of the requested precision, about equally many at every precision.
        here: _Place | None = (math.ceil(self.need.precision) + 2.0, 0.0)
        while here is not None and here not in self.tried and len(self.tried) < _TRIES:
            self.tried.add(here)
            here = self._after(here)
        if self.best is not None:
            return self.best
        if self.last is None:
            # Every run gives results or an error.
            raise cast("HippocreneError", self.problem)
        most = self.last[1]
        if isinstance(self.problem, CapacityError):
            raise CapacityError(self.need.missed(most))
        raise _LimitedByFunctionsError(
            f"there is no program with {self.need.goal}: {self.need.missed(most)}, since functions, "
            "comparisons and the rounding to doubles have errors of their own. A higher precision "
            "does not make these smaller. Ask functions and comparisons for smaller errors. "
            f"{self.need.remedy}",
            most,
        )

    def _after(self, here: _Place) -> _Place | None:
        """Run at a place, and return the next place to try."""
        least = self.need.precision
        try:
            run = self.run(*here)
        except CapacityError as error:
            self.problem = error
            if self.best is not None:
                return None
            if self.last is not None:
                return self._other_number()
            # A lower precision needs less capacity.
            lower = math.floor(max(math.ceil(least) - 2.0, 0.5 * (self.too_low + here[0])))
            if lower > self.too_low and (lower, 0.0) not in self.tried:
                return lower, 0.0
            # More precise bootstraps allow comparisons with more of them.
            return (_DEFAULT_PRECISION, 0.0) if self.too_low > -math.inf else None
        except ArgumentError as error:
            # Comparisons and functions need some precision of their own.
            self.too_low = max(self.too_low, here[0])
            self.problem = error
            return (here[0] + 4, here[1]) if self.best is None else None
        found = run.precision_bits
        if found is None:
            self.best = run
            return None
        if found >= least:
            self.best, self.last = run, (here, found)
            return here[0] - math.floor(found - least), here[1]
        if self.best is not None:
            return None
        step = here[self.raised] - self.last[0][self.raised] if self.last else 0.0
        if self.last is None or found - self.last[1] >= _LEAST_EFFECT * step:
            self.last = here, found
            self.useless.clear()
            return self._raised(0.0)
        # Sums of steps are rounded.
        return self._other_number() if step > _CLEAR_STEP - 0.01 else self._raised(_CLEAR_STEP)

    def _other_number(self) -> _Place | None:
        """Return the next place with the other number raised, or None if that is in vain too."""
        self.useless.add(self.raised)
        numbers = (0, 1) if self.need.in_errors else (0,)
        self.raised = next((one for one in numbers if one not in self.useless), -1)
        return self._raised(_CLEAR_STEP) if self.raised >= 0 else None

    def _raised(self, at_least: float) -> _Place | None:
        """Return the most precise place, raised by the bits that its results lack."""
        if self.last is None:
            return None
        (bits, extra), found = self.last
        # Results are a little less precise than each of their parts.
        step = max(self.need.precision - found + _SPARE_BITS, at_least)
        if self.raised == 0:
            return bits + math.ceil(step), extra
        return bits, min(extra + step, _MOST_EXTRA_BITS)
