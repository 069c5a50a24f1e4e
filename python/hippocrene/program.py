"""Compiled programs and their interfaces."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.checkpoints import run_with_checkpoints
from hippocrene.encryption import encrypt
from hippocrene.errors import (
    ArgumentError,
    HippocreneError,
    ParameterMismatchError,
    ShapeError,
)
from hippocrene.files import FilePath, file_path
from hippocrene.html_tables import Cell, table
from hippocrene.keys import listed, scheme_text
from hippocrene.program_plot import drawn
from hippocrene.specs import Spec
from hippocrene.stored import Stored
from hippocrene.units import size_of, size_text

if TYPE_CHECKING:
    from hippocrene.models.model_interface import ModelInterface


# Smaller gaps of the placement of bootstraps are not printed (chosen).
_SMALL_GAP = 0.001


@dataclass(frozen=True)
class Step:
    """A step of a program.

    - `operation`: the name of the operation.
    - `inputs`: the values that it computes from. The inputs of the program are the first values,
      and the results of the steps follow in order.
    - `results`: the specifications of its results.
    - `seconds`: the predicted time on one thread of this machine.
    - `bootstraps`: the number of bootstraps.
    - `capacity_bits`: the capacity of the first result, or None if it does not hold numbers.
    - `precision_bits`: the precision of the first result, or None if it does not hold numbers. It
      states the estimated error, a standard deviation.
    - `error_bound`: the largest error of the first result (see `Program.error_bound`), infinity if
      it is unknown, or None if the result does not hold numbers.
    - `jumps`: True for a function that jumps, such as a comparison. Near a jump, its result may be
      anything between the values on both sides.
    - `rests_on_sample`: True for an interval that was seen in a sample and is not proved.
    """

    operation: str
    inputs: tuple[int, ...]
    results: tuple[Spec, ...]
    seconds: float
    bootstraps: int
    capacity_bits: float | None
    precision_bits: float | None
    error_bound: float | None
    jumps: bool
    rests_on_sample: bool


def _known_bound(bound: float | None, results: list[dict[str, Any]]) -> float | None:
    """Return the error bound of results, or infinity if JSON has none although they are numbers."""
    exact = all(spec["kind"] not in ("numbers", "complex") for spec in results)
    return math.inf if bound is None and not exact else bound


class _Described(Stored):
    """The base of programs and interfaces: their inputs, results and parameters."""

    __slots__ = ("__dict__",)
    _shown = ("preset",)

    @property
    def fingerprint(self) -> NoReturn:  # type: ignore[override]
        """Programs and interfaces belong to no secret key."""
        raise AttributeError(f"a {type(self).__name__} belongs to no secret key")

    @cached_property
    def _told(self) -> dict[str, Any]:
        """The properties, as the extension module describes them."""
        return cast("dict[str, Any]", json.loads(self._description()))

    def _description(self) -> str:
        raise NotImplementedError

    @property
    def inputs(self) -> dict[str, Spec]:
        """The specifications of the inputs, by their names."""
        return {name: Spec._of(told) for name, told in self._told["inputs"]}

    @property
    def parameters(self) -> dict[str, Spec]:
        """The specifications of the parameters, which the server provides, by their names."""
        return {name: Spec._of(told) for name, told in self._told["parameters"]}

    @property
    def preset(self) -> str:
        """The name of the preset."""
        return self._told["preset"] or f"of ring degree {self._told['ring_degree']}"

    @property
    def precision(self) -> float | None:
        """The requested precision in bits after the binary point, or None for integers."""
        exact = self._told["plain_modulus"] is not None
        return None if exact else cast("float", self._told["precision"])

    @property
    def scheme(self) -> str:
        """The scheme: ``"ckks"`` for numbers, ``"bgv"`` or ``"bfv"`` for integers."""
        return cast("str", self._told["scheme"])

    @property
    def keys(self) -> tuple[str, ...]:
        """The evaluation keys that the program uses, in words."""
        return tuple(self._told["keys"])

    def _structured(self, arrays: list[Any]) -> Any:
        """Return results in the structure that the function returned them in."""
        results = self._told["results"]
        if results == "single":
            return arrays[0]
        if "named" in results:
            return dict(zip(results["named"], arrays, strict=True))
        return tuple(arrays)


class Interface(_Described):
    """The part of a program that its client needs: no weights and no steps.

    `Program.interface` makes it. It names the inputs with their shapes and intervals, the
    parameters, and the evaluation keys that the program uses. That of a model also has `columns`,
    `column_intervals` and `classes`. The client uses it as in ``Client.generate(interface)``,
    ``client.evaluation_keys(interface)`` and ``client.encrypt(interface, values)``.
    """

    __slots__ = ()
    _raw: _native.Interface
    _kind = _native.Interface
    _factory = "Program.interface"

    def _description(self) -> str:
        return self._raw.describe()

    def _check_parameters(self, operation: str, key: _native.ClientKey | _native.PublicKey) -> None:
        """Check that a key has the parameters of the program."""

        def described(preset: str, scheme: str, plain_modulus: int | None) -> str:
            return f"{preset} ({scheme_text(scheme, plain_modulus)})"

        preset = key.preset or f"of ring degree {key.ring_degree}"
        have = described(preset, key.scheme, key.plain_modulus)
        need = described(self.preset, self.scheme, self._told["plain_modulus"])
        if have != need:
            raise ParameterMismatchError(
                f"{operation}: this key has the parameters {have}, and the program needs {need}. "
                "Make a client with Client.generate(interface)."
            )

    @property
    def _model(self) -> tuple[ModelInterface, str] | None:
        """The public description of the model, and the name of the result, if this is a model."""
        # Models import this module, since they compile themselves.
        from hippocrene.models.model_interface import ModelInterface

        notes = self._told["notes"]
        return ModelInterface.of_notes(**notes) if any(notes.values()) else None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns of a model, in order, or None if there are no names."""
        model, _ = self._model or (None, "")
        names = None if model is None else model.feature_names
        return None if names is None else tuple(names)

    @property
    def column_intervals(self) -> npt.NDArray[np.float64] | None:
        """The interval of each column of a model, or None for other programs.

        The shape is ``(columns, 2)``, and the units are those of the rows. The client refuses
        values outside of these intervals.
        """
        model, _ = self._model or (None, "")
        return None if model is None else model.input_intervals

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes or clusters of a model in the order of its scores, or None if there are none."""
        model, _ = self._model or (None, "")
        classes = None if model is None else model.classes
        return None if classes is None else tuple(classes)

    def _read(self, values: Any) -> Any:
        """Return the classes that decrypted scores of a model mean, or the values themselves."""
        model, result = self._model or (None, "")
        return values if model is None or result != "scores" else model.labels(values)

    def __str__(self) -> str:
        return "\n".join(["Interface", *(f"  {name} = {value}" for name, value in self._facts())])

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {spec}" for name, spec in self.inputs.items())
        return f"Interface({inputs}; preset={self.preset!r})"

    def _facts(self) -> list[tuple[str, Cell]]:
        facts: list[tuple[str, Cell]] = [(name, str(spec)) for name, spec in self.inputs.items()]
        if self.columns is not None and self.column_intervals is not None:
            columns = (
                f"{name} in [{low:.4g}, {high:.4g}]"
                for name, (low, high) in zip(self.columns, self.column_intervals, strict=True)
            )
            facts.append(("columns", ", ".join(columns)))
        if self.classes is not None:
            facts.append(("classes", ", ".join(map(str, self.classes))))
        return [*facts, ("preset", self.preset), ("keys", ", ".join(self.keys) or "none")]


class Program(_Described):
    """A program on encrypted arrays, which `compile` makes.

    It holds the operations with their plain operands, the decisions on how each is performed, and
    the predicted cost. `print` shows all of that. ``server.run(program, x)`` runs it, and `save`
    writes a file for the server. `interface` is the part for the client.

    Predicted seconds are those of one thread of this machine. ``hippocrene tune`` makes them more
    accurate.
    """

    __slots__ = ()
    _raw: _native.Program
    _kind = _native.Program
    _factory = "compile"

    @property
    def other_presets(self) -> dict[str, str]:
        """Why `compile` did not choose the other presets, by their names.

        It is empty for a program with a given preset, and for one that was read from a file.
        """
        return dict(self.__dict__.get("_others", {}))

    def _description(self) -> str:
        return self._raw.describe(False)

    def interface(self) -> Interface:
        """Return the part of the program that its client needs, without steps and weights."""
        return Interface(self._raw.interface())

    @property
    def _predicted(
        self,
    ) -> tuple[list[dict[str, Any]], list[int], list[dict[str, Any]], dict[str, Any]]:
        """The steps, the results as values and their specifications, and the cost."""
        steps, outputs, results, cost = self._told["program"]
        return steps, outputs, results, cost

    @property
    def _outputs(self) -> list[int]:
        """The values that are returned."""
        return self._predicted[1]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order, with their predicted costs."""
        return tuple(
            Step(
                **{
                    **step,
                    "inputs": tuple(step["inputs"]),
                    "results": tuple(Spec._of(told) for told in step["results"]),
                    "error_bound": _known_bound(step["error_bound"], step["results"][:1]),
                }
            )
            for step in self._predicted[0]
        )

    @property
    def seconds(self) -> float:
        """The predicted seconds of a run on one thread, after the first two.

        By then a server has cached the plain numbers that it encodes.
        """
        return cast("float", self._predicted[3]["seconds"])

    @property
    def first_seconds(self) -> float:
        """The predicted seconds of the first run on one thread."""
        return cast("float", self._predicted[3]["first_seconds"])

    @property
    def peak_memory(self) -> int:
        """The predicted peak of the server's memory in the first run, in bytes.

        It includes keys and arrays. While a server loads its keys, it needs about
        ``peak_memory + key_bytes``. Later runs take more for cached matrices, up to the
        `cache_memory` of the server.
        """
        return cast("int", self._predicted[3]["peak_memory"])

    @property
    def key_bytes(self) -> int:
        """The size of the evaluation keys as stored, in bytes."""
        return cast("int", self._predicted[3]["key_bytes"])

    @property
    def bootstraps(self) -> int:
        """The number of bootstraps."""
        return cast("int", self._predicted[3]["bootstraps"])

    @property
    def placement_gap(self) -> float | None:
        """The largest share of the time that the best placement of bootstraps may save.

        It is by the figures of the planner, and 0 if the search was exact. It is None if operations
        bootstrap as they do one by one, or in loops.
        """
        return cast("float | None", self._predicted[3]["placement_gap"])

    @property
    def log2_failure_probability(self) -> float | None:
        """log2 of a bound on the probability that any bootstrap fails, or None without any."""
        return cast("float | None", self._predicted[3]["log2_failure_probability"])

    @property
    def precision_bits(self) -> float | None:
        """The lowest precision of a result in bits after the binary point, or None for integers.

        It states the estimated error, a standard deviation.
        """
        return cast("float | None", self._predicted[3]["precision_bits"])

    @property
    def error_bound(self) -> float | None:
        """The largest error of a result, or None for integers and bits, which are exact.

        Each value of a result exceeds it with probability 2**-40 at most. It includes the errors of
        approximated functions, and assumes that they add up in the worst way. A value that depends
        on a comparison near its threshold, or on another jump, is an exception. If intervals rest
        on a sample, the bound holds for values within these intervals only. The bound is
        infinity for iterations that correct their own errors, such as Newton's, since estimates
        cannot follow them.
        """
        _, _, results, cost = self._predicted
        return _known_bound(cost["error_bound"], results)

    @property
    def _operands(self) -> dict[str, Spec]:
        """The inputs and the parameters, which are the first values of the program."""
        return {**self.inputs, **self.parameters}

    def _check_parameters(self, parameters: Mapping[str, npt.ArrayLike] | None) -> None:
        """Refuse other names of parameters than those that the program has."""
        if not isinstance(parameters, (Mapping, type(None))):
            raise TypeError(
                f"run: parameters are plain values by name, not {type(parameters).__name__}. Pass "
                "them as in parameters={name: values}."
            )
        given, specs = list(parameters or {}), self.parameters
        if set(given) == specs.keys():
            return
        have = f"the parameters {listed(given)} are given" if given else "no parameters are given"
        takes = f"takes {listed(list(specs))}" if specs else "has none"
        raise ArgumentError(
            f"run: {have}, and the program {takes}. Pass plain values by name, as in "
            "parameters={name: values}."
        )

    def _provided(
        self, server: Any, parameters: Mapping[str, npt.ArrayLike] | None
    ) -> list[EncryptedArray]:
        """Return the parameters in order, as arrays that a server makes of plain values."""
        self._check_parameters(parameters)
        given = dict(parameters or {})
        return [
            self._parameter(server, name, spec, given[name])
            for name, spec in self.parameters.items()
        ]

    def _parameter(
        self, server: Any, name: str, spec: Spec, values: npt.ArrayLike
    ) -> EncryptedArray:
        """Return a parameter as an array that a server makes of plain values."""
        what = f"run: the parameter {name}"
        key = server._raw.trivial_encryption()
        try:
            plain = np.asarray(values)
            if plain.shape != spec.shape:
                raise ShapeError(
                    f"{what} has shape {plain.shape}, and the program was compiled for {spec.shape}. "
                    "Pass values of that shape."
                )
            if spec.kind == "complex" and plain.dtype.kind in "iuf":
                plain = plain.astype(np.complex128)
            return encrypt(key, plain, spec.interval, None, self.precision, False)
        except ShapeError:
            raise
        except (HippocreneError, TypeError, ValueError) as error:
            # The advice in errors of encryption is for clients.
            wrong = str(error).removeprefix("encrypt: ").split(". ")[0].split("; ")[0]
            kind = type(error) if isinstance(error, (HippocreneError, TypeError)) else ArgumentError
            raise kind(
                f"{what}: {wrong.removesuffix('.')}. Pass {spec}, or compile the program for other "
                "values."
            ) from None

    def _run(
        self,
        server: Any,
        arrays: tuple[Any, ...],
        parameters: Mapping[str, npt.ArrayLike] | None,
        progress: Callable[[int], object] | None,
        checkpoint: FilePath | None,
        max_memory: int | str | None,
    ) -> Any:
        """Run on a server, as `Server.run` explains."""
        for array in arrays:
            if not isinstance(array, EncryptedArray):
                raise TypeError(
                    f"run: a program computes on encrypted arrays, not on {type(array).__name__}. "
                    "Encrypt values with client.encrypt(interface, values)."
                )
        self._check_count(len(arrays))
        self._check_memory(max_memory)
        if server.preset is not None and server.preset != self.preset:
            raise ParameterMismatchError(
                f"run: the program was compiled for the preset {self.preset!r}, and the keys of this "
                f"server are of {server.preset!r}. Make a client and keys for the interface of this "
                "program."
            )
        operands = [*arrays, *self._provided(server, parameters)]
        if checkpoint is None:
            loaded = [server.load(array)._elements() for array in operands]
            results = self._raw.run(server._raw, loaded, progress)
        else:
            self._raw.check_inputs(server._raw, [array._elements() for array in operands])
            path = Path(file_path(checkpoint))
            results = run_with_checkpoints(self, server, operands, path, progress)
        return self._structured([server._wrap(raw) for raw in results])

    def _check_count(self, count: int) -> None:
        """Refuse another number of inputs than the program takes."""
        if count != len(self.inputs):
            given = "1 input is" if count == 1 else f"{count} inputs are"
            raise ArgumentError(
                f"run: {given} given, and the program takes {len(self.inputs)}: "
                f"{', '.join(self.inputs)}."
            )

    def _check_memory(self, max_memory: int | str | None) -> None:
        """Refuse to run if more memory is predicted than the limit."""
        if max_memory is None:
            return
        limit = size_of(max_memory, "max_memory")
        if self.peak_memory > limit:
            raise ArgumentError(
                f"run: the program takes {size_text(self.peak_memory)} of memory, and "
                f"{size_text(limit)} is the limit. Compile it with this max_memory, or for fewer rows."
            )

    def __str__(self) -> str:
        several = "" if len(self.steps) == 1 else "s"
        told = [f"Program with {len(self.steps)} step{several} on the preset {self.preset!r}"]
        told += [f"  {name} = {value}" for name, value in self._facts()]
        others: dict[str, list[str]] = {}
        for preset, reason in self.other_presets.items():
            others.setdefault(reason, []).append(preset)
        told += [f"  not {', '.join(presets)}: {reason}" for reason, presets in others.items()]
        name = dict(enumerate(self._operands))
        rows = [("step", "from", "result", "capacity", "seconds")]
        value = len(name)
        for step in self.steps:
            results = range(value, value + len(step.results))
            label = ", ".join(f"%{i}" for i in results)
            value = results.stop
            sources = ", ".join(name.get(i, f"%{i}") for i in step.inputs)
            left = "" if step.capacity_bits is None else f"{step.capacity_bits:.0f} bits"
            mark = " (seen in the sample)" if step.rests_on_sample else ""
            plural = "" if step.bootstraps == 1 else "s"
            more = f", {step.bootstraps} bootstrap{plural}" if step.bootstraps else ""
            rows.append(
                (
                    f"{label} = {step.operation}",
                    sources,
                    f"{step.results[0]}{mark}",
                    left,
                    f"{step.seconds:.3f}{more}",
                )
            )
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "\n".join([*told, "", *(line.rstrip() for line in lines)])

    def __repr__(self) -> str:
        return (
            f"Program({len(self.steps)} steps, preset={self.preset!r}, seconds={self.seconds:.3f})"
        )

    def _facts(self) -> list[tuple[str, Cell]]:
        facts: list[tuple[str, Cell]] = [(name, str(spec)) for name, spec in self.inputs.items()]
        facts += [(name, f"{spec}, of the server") for name, spec in self.parameters.items()]
        facts.append(("seconds", f"{self.seconds:.3f}, the first run {self.first_seconds:.3f}"))
        gap = self.placement_gap or 0.0
        least = f"; no placement takes less than {100 * (1 - gap):.0f} % of the time"
        apart = least if gap > _SMALL_GAP else ""
        facts.append(("bootstraps", f"{self.bootstraps}{apart}"))
        if self.error_bound is not None:
            apart = ""
            if any(step.rests_on_sample for step in self.steps):
                apart += ", if values stay within the intervals seen in the sample"
            if any(step.jumps for step in self.steps):
                apart += ", except near the threshold of a comparison or another jump"
            bound = f"{self.error_bound:.2g}{apart}"
            facts.append(("error bound", "unknown" if math.isinf(self.error_bound) else bound))
        if self.log2_failure_probability is not None:
            facts.append(("failure probability", f"2**{self.log2_failure_probability:.0f}"))
        facts.append(("server memory", size_text(self.peak_memory)))
        keys = ", ".join(self.keys) or "none"
        facts.append(("evaluation keys", f"{size_text(self.key_bytes)}: {keys}"))
        return facts

    def plot(self, path: FilePath | None = None) -> str:
        """Return a picture of the program as SVG text, and write it to a file if there is a path.

        The picture has a row for each step, with the values that it uses, its predicted seconds and
        the capacity that is left. Bootstraps have a colour of their own. A notebook shows the
        picture of a program by itself.
        """
        picture = drawn(self)
        if path is not None:
            _native.write_file(file_path(path), picture.encode())
        return picture

    def _repr_html_(self) -> str:
        """Return the properties as an HTML table and the picture, for notebooks."""
        facts = table(type(self).__name__, [("preset", self.preset), *self._facts()])
        return f'{facts}<div style="overflow-x:auto">{drawn(self)}</div>'


def interface_of(source: object) -> Interface | None:
    """Return the interface that an argument is or has, or None for any other argument."""
    if isinstance(source, Program):
        return source.interface()
    return source if isinstance(source, Interface) else None


def encrypted_inputs(
    interface: Interface, values: tuple[Any, ...], encrypt: Callable[..., EncryptedArray]
) -> Any:
    """Encrypt the inputs of a program, one array or a tuple of several."""
    specs = interface.inputs
    if len(values) != len(specs):
        given = "1 input is" if len(values) == 1 else f"{len(values)} inputs are"
        raise ArgumentError(
            f"encrypt: {given} given, and the program takes {len(specs)}: {', '.join(specs)}."
        )
    model, _ = interface._model or (None, "")
    plain = values if model is None else (model.encode(values[0]),)

    def encrypted(name: str, spec: Spec, value: Any) -> EncryptedArray:
        precision = None if spec.kind == "bits" else interface.precision
        checked = spec._checked(value, f"encrypt: the input {name}")
        try:
            fresh = encrypt(checked, spec.interval, precision=precision)
            if model is None:
                return fresh
            return EncryptedArray(interface._raw.noted_input(fresh._elements()))
        except ArgumentError as error:
            wrong = str(error).split(". ")[0]
            if "outside the interval" not in wrong:
                raise
            # An interface already determines the interval.
            raise ArgumentError(
                f"{wrong}, for which the program was compiled. Leave such values out, or ask for a "
                "program for a wider interval."
            ) from None

    arrays = tuple(
        encrypted(name, spec, value)
        for (name, spec), value in zip(specs.items(), plain, strict=True)
    )
    return arrays[0] if len(arrays) == 1 else arrays
