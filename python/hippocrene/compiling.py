"""The compilation of Python functions to programs on encrypted arrays."""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from hippocrene import _native
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.automatic import (
    DOES_NOT_FIT,
    LEAST_KEYS,
    LEAST_TIME,
    Goal,
    Need,
    candidates,
    chosen,
    most_throughput,
)
from hippocrene.client import checked_scheme
from hippocrene.errors import ArgumentError
from hippocrene.keys import listed
from hippocrene.program import Program
from hippocrene.requirements import Bootstrapping, to_native_bootstrapping
from hippocrene.server import Server
from hippocrene.specs import Spec
from hippocrene.units import size_of
from hippocrene.values.scalars import double_or_none, text

# The default limit of the memory of a server, in bytes.
_MEMORY = 2**34
# The smallest error that can be asked for. Decrypted doubles near 1 have an error of 1e-16.
_SMALLEST_ERROR = 1e-16


def compile(  # noqa: A001 - the name that users of jax and torch know
    function: Callable[..., Any],
    *specs: Spec,
    preset: str = "auto",
    precision: float | None = None,
    error: float | None = None,
    bootstrapping: bool | Bootstrapping | Literal["auto"] = "auto",
    scheme: Literal["ckks", "bgv", "bfv"] = "ckks",
    plain_modulus: int | None = None,
    max_memory: int | str | None = None,
    parameters: Mapping[str, Spec] | None = None,
    optimize: Literal["latency", "throughput", "keys"] = "latency",
) -> Program:
    """Compile a function of encrypted arrays to a program.

    `function` is called with an array for each specification (see `spec` and `spec_like`). These
    arrays have no values. The operations that it performs on them are recorded, with the plain
    values that they use. It returns one array, a tuple or list of arrays, or a dict of them. Every
    function that works on encrypted arrays can be compiled. Loops are unrolled.

    - `preset`: the name of the parameters, or ``"auto"`` for the preset that is predicted to be
      best within `max_memory`.
    - `optimize`: what is best. ``"latency"`` is the least time of a run. ``"throughput"`` is the
      most runs per second, if many clients send rows at once: each run then has a core of this
      machine, and all of them share `max_memory`. ``"keys"`` is the smallest evaluation keys.
      Rotations may then take several steps, which makes the program slower.
    - `precision`: the requested precision of inputs and operations in bits after the binary point.
      The default is that of the preset.
    - `error`: the largest error that results may have. It determines the lowest precision that is
      enough, and the errors of functions that were not given one.
    - `bootstrapping`: as for `Client.evaluation_keys`. With ``"auto"``, the program bootstraps if
      its depth needs it.
    - `scheme` and `plain_modulus` are as for `Client.generate`, for programs on integers.
    - `max_memory`: the limit for keys and arrays of the server, in bytes or as text such as
      ``"4 GB"``. The default is 16 GiB.
    - `parameters`: specifications of arrays that the server provides, by name. The function gets
      them by keyword. The server passes plain values to `Server.run`, and the program does not
      contain them. They take part in the computation as encrypted arrays do, which takes more time
      than with plain values. Their names, shapes and intervals are public in the interface, and
      their values are not. Results must depend on inputs of the client, since others would not be
      encrypted.

    The function is called again for every preset that is tried, and twice to find out whether it
    always performs the same operations. Functions whose results depend on random numbers or on
    anything that changes are refused.

    >>> import hippocrene as hp
    >>> program = hp.compile(lambda x: (x * x).sum(), hp.spec(100, bound=1), preset="n13")
    >>> print(*[step.operation for step in program.steps])
    lower mul sum
    """
    return compile_noted(
        function,
        *specs,
        preset=preset,
        precision=precision,
        error=error,
        bootstrapping=bootstrapping,
        scheme=scheme,
        plain_modulus=plain_modulus,
        max_memory=max_memory,
        parameters=parameters,
        optimize=optimize,
    )


def compile_noted(
    function: Callable[..., Any],
    *specs: Spec,
    notes: tuple[str, str] = ("", ""),
    preset: str,
    precision: float | None,
    error: float | None,
    bootstrapping: bool | Bootstrapping | Literal["auto"],
    scheme: Literal["ckks", "bgv", "bfv"] = "ckks",
    plain_modulus: int | None = None,
    max_memory: int | str | None,
    parameters: Mapping[str, Spec] | None = None,
    optimize: Literal["latency", "throughput", "keys"] = "latency",
) -> Program:
    """Compile a function as `compile` does, with notes for the client in the interface.

    `notes` are two texts: how to encode inputs, and how to read results.
    """
    if not callable(function):
        raise TypeError(f"compile: a function is compiled, not {type(function).__name__}")
    if not specs:
        raise TypeError(
            "compile: a program computes on at least one encrypted array. Pass its specification "
            "after the function, as in hippocrene.spec(shape, interval=..)."
        )
    provided = _checked_parameters(parameters)
    for one in (*specs, *provided.values()):
        if not isinstance(one, Spec):
            raise TypeError(
                f"compile: inputs and parameters are specifications, not {type(one).__name__}. "
                "Make them with hippocrene.spec(shape, interval=..) or hippocrene.spec_like(sample)."
            )
    if precision is not None and error is not None:
        raise TypeError("compile: an error determines the precision. Pass one of the two.")
    largest = double_or_none(error, "an error")
    if largest is not None and not largest > 0:
        raise ArgumentError(
            f"compile: the error is {largest:g}, and it must be above 0. Pass the largest error that "
            "results may have, such as error=0.01."
        )
    if largest is not None and largest < _SMALLEST_ERROR:
        raise ArgumentError(
            f"compile: an error of {largest:g} is below {_SMALLEST_ERROR:g}, the smallest that can "
            "be asked for. Pass precision= for numbers with more digits."
        )
    exact = checked_scheme(scheme, plain_modulus, precision)
    if exact[0] is not None:
        specs = tuple(replace(one, kind="integers", _sample=None) for one in specs)
        provided = {
            name: replace(one, kind="integers", _sample=None) for name, one in provided.items()
        }
        if largest is not None:
            raise TypeError("compile: integers are exact. Leave out the error.")
    name = text(preset, "a preset")
    most = _MEMORY if max_memory is None else size_of(max_memory, "max_memory")
    names = _names(function, len(specs), list(provided))
    _warn_of_mixed_samples({**dict(zip(names, specs, strict=True)), **provided})
    recording = _Recording(function, names, specs, provided, exact, notes)
    of_bits = any(one.kind == "bits" for one in specs)
    presets = candidates(of_bits) if name == "auto" else [name]
    if isinstance(bootstrapping, str) and bootstrapping != "auto":
        raise ArgumentError(
            f'compile: bootstrapping is True, False, "auto" or a Bootstrapping, not {bootstrapping!r}'
        )
    wanted = True if bootstrapping == "auto" else bootstrapping
    goal = _goal(optimize, most)

    def run(preset: str, bits: float | None, bootstraps: bool, extra: float) -> _Attempt:
        record = partial(recording.recorded, preset, bits, wanted if bootstraps else False, extra)
        finish = record(few_rotations=False)
        return _Attempt(preset, finish, finish(False), partial(record, few_rotations=True))

    def finished(attempt: _Attempt) -> _Attempt:
        planned = attempt.planned()
        return planned.with_few_keys(need) if goal is LEAST_KEYS else planned

    need = None
    if largest is not None:
        # Planning may lose half a bit of precision.
        spare = 0.5
        need = Need(
            spare - math.log2(largest),
            f"errors of at most {largest:g}",
            "Or allow a larger error.",
            in_errors=True,
            spare=spare,
        )
    attempt, others = chosen(
        "compile",
        run,
        presets,
        double_or_none(precision, "a precision"),
        need,
        most,
        bootstraps=bool(wanted),
        goal=goal,
        finished=finished,
        largest=_Attempt.largest,
        finds_keys=bool(wanted),
    )
    program = Program(attempt.program._raw)
    program.__dict__["_others"] = others
    return program


def _checked_parameters(parameters: Mapping[str, Spec] | None) -> dict[str, Spec]:
    """Return the parameters by name."""
    if not isinstance(parameters, (Mapping, type(None))):
        raise TypeError(
            f"compile: parameters are specifications by name, not {type(parameters).__name__}. Pass "
            "them as in parameters={name: spec}."
        )
    given = (parameters or {}).items()
    return {text(name, "the name of a parameter"): one for name, one in given}


def _warn_of_mixed_samples(specs: Mapping[str, Spec]) -> None:
    """Warn if some inputs have samples and others have none, since no sample is used then."""
    without = [name for name, one in specs.items() if one._sample is None]
    if 0 < len(without) < len(specs):
        warnings.warn(
            f"compile: there is no sample for {listed(without)}. So intervals inside of the program "
            "rest on no sample at all. Make every specification with hippocrene.spec_like(sample), with "
            "a sample of real numbers.",
            stacklevel=4,
        )


def _goal(optimize: str, max_memory: int) -> Goal:
    """Return the figure that `optimize` names."""
    goals = {
        "latency": LEAST_TIME,
        "throughput": most_throughput(max_memory, os.cpu_count() or 1),
        "keys": LEAST_KEYS,
    }
    goal = goals.get(text(optimize, "optimize"))
    if goal is None:
        raise ArgumentError(
            f"compile: optimize is one of {', '.join(goals)}, not {optimize!r}. Choose one of them."
        )
    return goal


class _ReferenceProgram(Program):
    """A program with the times of the reference machine, so that choices are the same everywhere."""

    __slots__ = ()

    def _description(self) -> str:
        return self._raw.describe(True)


@dataclass(frozen=True)
class _Attempt:
    """A program that was recorded with some preset.

    `finish` makes the program of the recorded steps, planned as a whole if its argument is True.
    `with_few_rotations` records the same steps for a server with few rotation keys, and returns
    such a function.
    """

    preset: str
    finish: Callable[[bool], Program]
    program: Program
    with_few_rotations: Callable[[], Callable[[bool], Program]]

    def with_few_keys(self, need: Need | None) -> _Attempt:
        """Return this program, or one with smaller keys that is as precise as needed."""
        try:
            finish = self.with_few_rotations()
            few = replace(self, finish=finish, program=finish(True))
        except DOES_NOT_FIT:
            # Rotations of several steps have larger errors.
            return self
        is_precise = need is None or (few.precision_bits or 0.0) >= need.precision - 0.5
        is_smaller = few.key_bytes < self.key_bytes and few.peak_memory <= self.peak_memory
        return few if is_precise and is_smaller else self

    def planned(self) -> _Attempt:
        """Return the same program, planned as a whole."""
        return replace(self, program=self.finish(True))

    def largest(self) -> int:
        """Return the number of elements of the largest array."""
        steps = (spec for step in self.program.steps for spec in step.results)
        specs = (*self.program._operands.values(), *steps)
        return max(math.prod(spec.shape) for spec in specs)

    @property
    def seconds(self) -> float:
        """Seconds on one thread of the reference machine."""
        return self.program.seconds

    @property
    def peak_memory(self) -> int:
        """The peak of memory in bytes."""
        return self.program.peak_memory

    @property
    def key_bytes(self) -> int:
        """The size of the evaluation keys in bytes."""
        return self.program.key_bytes

    @property
    def bootstraps(self) -> int:
        """The number of bootstraps."""
        return self.program.bootstraps

    @property
    def precision_bits(self) -> float | None:
        """The negative binary logarithm of the error bound, or None for exact results."""
        bound = self.program.error_bound
        if bound == math.inf:
            raise ArgumentError(
                "compile: the error of the results is unknown, since an iteration corrects its own "
                "errors. Pass precision= instead of error=, or declare errors with "
                "with_precision_bits."
            )
        return None if bound is None else -math.log2(bound)


def _names(function: Callable[..., Any], count: int, provided: list[str]) -> list[str]:
    """Return the names of the inputs, which are those of the parameters of the function."""
    try:
        signature = inspect.signature(function)
        bound = signature.bind(*range(count), **dict.fromkeys(provided))
    except ValueError:
        # Some functions of extension modules have no signature.
        return [f"x{i}" for i in range(count)]
    except TypeError as error:
        also = f" and the parameters {', '.join(provided)}" if provided else ""
        raise TypeError(
            f"compile: the function does not take {count} arrays{also}: {error}"
        ) from None
    names: list[str] = []
    for parameter, value in bound.arguments.items():
        kind = signature.parameters[parameter].kind
        by_name = parameter in provided and kind is not inspect.Parameter.POSITIONAL_ONLY
        if by_name or kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if isinstance(value, tuple):
            names += [f"{parameter}{i}" for i in range(len(value))]
        else:
            names.append(parameter)
    return names


@dataclass(frozen=True)
class _Recording:
    """The function to record, and its inputs."""

    function: Callable[..., Any]
    names: list[str]
    specs: tuple[Spec, ...]
    parameters: dict[str, Spec]
    exact: tuple[str | None, int | None]
    # The notes for the client on the inputs and on the results.
    notes: tuple[str, str]

    def recorded(
        self,
        preset: str,
        precision: float | None,
        bootstrapping: bool | Bootstrapping,
        extra_function_bits: float,
        *,
        few_rotations: bool,
    ) -> Callable[[bool], Program]:
        """Record the function with this preset, and return the `finish` of an `_Attempt`.

        The default errors of functions are smaller by `extra_function_bits`. The server has every
        rotation, or only a few that others are composed of.
        """
        all_specs = (*self.specs, *self.parameters.values())
        of_bits = any(one.kind == "bits" for one in self.specs)
        how = to_native_bootstrapping(bootstrapping)
        samples = all(one._sample is not None for one in all_specs)
        margins = [one._margin for one in all_specs if one._margin is not None]
        margin = max(margins) if samples and margins else None
        recorder = _native.Recorder(
            preset,
            precision,
            *self.exact,
            how,
            of_bits,
            margin,
            extra_function_bits,
            few_rotations,
        )
        server = Server._of(recorder.server(), recorder.describe(), is_simulated=True)

        def added(name: str, one: Spec, is_parameter: bool) -> EncryptedArray:
            sample = one._sample if margin is not None else None
            raw = recorder.input(
                name, one.kind, list(one.shape), one.interval, sample, is_parameter
            )
            return EncryptedArray(raw, server)

        arrays = [added(*one, False) for one in zip(self.names, self.specs, strict=True)]
        own = {name: added(name, one, True) for name, one in self.parameters.items()}
        with server._standing_in():
            outputs, single, named = _outputs(self.function(*arrays, **own))
            # Operations that were recorded are not recorded again, so that the second call returns
            # the same arrays.
            again, *_ = _outputs(self.function(*arrays, **own))
        if [one.value for one in outputs] != [one.value for one in again]:
            raise ArgumentError(
                "compile: a second call of the function did something else. A program always does the same, so "
                "take random numbers, clocks and counters out of the function, and pass what they return as plain "
                "values."
            )

        def finish(planned: bool) -> Program:
            return _ReferenceProgram(recorder.finish(outputs, single, named, self.notes, planned))

        return finish


def _outputs(returned: Any) -> tuple[list[_native.EncryptedArray], bool, list[str] | None]:
    """Return the arrays of a result, whether it is a single one, and the names of a dict."""
    if isinstance(returned, EncryptedArray):
        return [returned._elements()], True, None
    if isinstance(returned, Mapping):
        names = [text(name, "the name of a result") for name in returned]
        return _several(list(returned.values())), False, names
    if isinstance(returned, (tuple, list)):
        return _several(list(returned)), False, None
    raise TypeError(_wrong(returned))


def _several(results: list[Any]) -> list[_native.EncryptedArray]:
    for one in results:
        if not isinstance(one, EncryptedArray):
            raise TypeError(_wrong(one))
    return [one._elements() for one in results]


def _wrong(returned: Any) -> str:
    return (
        f"compile: the function returned {type(returned).__name__}. A program returns an encrypted array, a tuple or "
        "list of them, or a dict of them."
    )
