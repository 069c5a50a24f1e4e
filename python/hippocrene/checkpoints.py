"""Checkpoints: the values of a run of a program in a file, from which the run can go on."""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.errors import ArgumentError, FormatError, file_errors

if TYPE_CHECKING:
    from hippocrene import _native


class _Program(Protocol):
    """The parts of a program that a run needs."""

    @property
    def _raw(self) -> _native.Program:
        """The program of the extension module."""

    @property
    def _outputs(self) -> list[int]:
        """The values that are returned."""

    @property
    def steps(self) -> tuple[Any, ...]:
        """The steps in order."""

    def to_bytes(self) -> bytes:
        """Return the bytes of its file."""


class _Server(Protocol):
    """The parts of a server that a run needs."""

    _raw: _native.Server

    def load(self, array: EncryptedArray, /) -> EncryptedArray:
        """Load an array."""

    def _wrap(self, raw: _native.EncryptedArray, /) -> EncryptedArray:
        """Return an array of this server."""


# The shortest time between two checkpoints, in seconds (chosen). Writing one takes much less.
SECONDS = 10.0
_STATE = "state.json"
_VERSION = 1


def run_with_checkpoints(
    program: _Program,
    server: _Server,
    inputs: list[EncryptedArray],
    path: Path,
    progress: Callable[[int], object] | None,
) -> list[_native.EncryptedArray]:
    """Run a program step by step, and keep the values that later steps use in a file.

    If there is such a file of the same program and inputs, the run goes on from there. The file is
    removed when the run is done.
    """
    digest = _digest(program, inputs)
    outputs = program._outputs
    last = {value: i for i, step in enumerate(program.steps) for value in step.inputs}
    done, values = _read(path, digest, server, len(program.steps))
    if not done:
        values = {i: server.load(array)._elements() for i, array in enumerate(inputs)}
    written = time.monotonic()
    for i in range(done, len(program.steps)):
        used, computed = program._raw.part([i])
        arrays = [values[value] for value in used]
        results = program._raw.run_part(server._raw, [i], arrays)
        values.update(zip(computed, results, strict=True))
        values = {v: one for v, one in values.items() if last.get(v, -1) > i or v in outputs}
        if progress is not None:
            progress(i + 1)
        if time.monotonic() - written >= SECONDS and i + 1 < len(program.steps):
            _write(path, digest, server, i + 1, values)
            written = time.monotonic()
    with file_errors():
        path.unlink(missing_ok=True)
    return [values[value] for value in outputs]


def _digest(program: _Program, inputs: list[EncryptedArray]) -> str:
    """Return a number that identifies a program with its inputs."""
    digest = hashlib.sha256(program.to_bytes())
    for array in inputs:
        digest.update(hashlib.sha256(array.to_bytes()).digest())
    return digest.hexdigest()


def _write(
    path: Path, digest: str, server: _Server, done: int, values: dict[int, _native.EncryptedArray]
) -> None:
    """Write a checkpoint, either completely or not at all."""
    state = {"version": _VERSION, "digest": digest, "steps": done, "values": sorted(values)}
    partial = path.with_name(f"{path.name}.part")
    with file_errors():
        with zipfile.ZipFile(partial, "w") as file:
            file.writestr(_STATE, json.dumps(state))
            for value, array in values.items():
                file.writestr(str(value), server._wrap(array).to_bytes())
        partial.replace(path)


def _read(
    path: Path, digest: str, server: _Server, steps: int
) -> tuple[int, dict[int, _native.EncryptedArray]]:
    """Return the number of steps that are done, and the values of a checkpoint.

    Without a file, no steps are done.
    """
    if not path.exists():
        return 0, {}
    try:
        with file_errors(), zipfile.ZipFile(path) as file:
            state: dict[str, Any] = json.loads(file.read(_STATE))
            if state["version"] != _VERSION:
                raise FormatError(
                    f"run: the checkpoint {path} is of version {state['version']}, and this version "
                    f"of the package reads version {_VERSION}. Remove it to start again."
                )
            if state["digest"] != digest:
                raise ArgumentError(
                    f"run: the checkpoint {path} is of another program or of other inputs. Remove it "
                    "to start again, or name another file."
                )
            done = int(state["steps"])
            arrays = {int(v): EncryptedArray.from_bytes(file.read(str(v))) for v in state["values"]}
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, NotImplementedError) as error:
        if isinstance(error, (ArgumentError, FormatError)) and str(error).startswith("run:"):
            raise
        raise FormatError(
            f"run: {path} is no checkpoint, or is damaged. Remove it to start again, or name another "
            "file."
        ) from error
    if not 0 < done < steps:
        raise FormatError(f"run: the checkpoint {path} has {done} of {steps} steps. Remove it.")
    return done, {value: server.load(array)._elements() for value, array in arrays.items()}
