"""Checkpoints: the values of a run of a program in a file, from which the run can go on."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.errors import (
    ArgumentError,
    FileError,
    FormatError,
    KeyMismatchError,
    file_errors,
)

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

    @property
    def _raw(self) -> _native.Server:
        """The server of the extension module."""

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
    # The step that computes each value.
    made = [-1] * len(inputs)
    for i, step in enumerate(program.steps):
        made += [i] * len(step.results)

    def needed(done: int) -> set[int]:
        """Return the values that are computed by the first steps and used after them."""
        return {
            v for v, i in enumerate(made) if i < done and (last.get(v, -1) >= done or v in outputs)
        }

    done, values = _read(path, digest, server, needed, len(program.steps))
    if not done:
        values = {i: server.load(array)._elements() for i, array in enumerate(inputs)}
    written = time.monotonic()
    for i in range(done, len(program.steps)):
        used, computed = program._raw.part([i])
        arrays = [values[value] for value in used]
        results = program._raw.run_part(server._raw, [i], arrays)
        values.update(zip(computed, results, strict=True))
        values = {value: values[value] for value in needed(i + 1)}
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


def kept(
    server: _Server, raw: _native.EncryptedArray
) -> tuple[EncryptedArray, tuple[int, bool] | None]:
    """Return a value with what its file does not store: the period of its slots."""
    return server._wrap(raw), server._raw.slot_period(raw)


def loaded(
    server: _Server, array: EncryptedArray, period: tuple[int, bool] | None
) -> _native.EncryptedArray:
    """Return a value that was kept."""
    raw = server.load(array)._elements()
    return raw if period is None else server._raw.with_slot_period(raw, *period)


def _write(
    path: Path, digest: str, server: _Server, done: int, values: dict[int, _native.EncryptedArray]
) -> None:
    """Write a checkpoint, either completely or not at all."""
    arrays = {value: kept(server, raw) for value, raw in values.items()}
    periods = {str(value): period for value, (_, period) in arrays.items()}
    state = {"version": _VERSION, "digest": digest, "steps": done, "values": periods}
    with file_errors(), tempfile.TemporaryDirectory(dir=path.parent, prefix=path.name) as folder:
        partial = Path(folder) / "checkpoint"
        with zipfile.ZipFile(partial, "w") as file:
            file.writestr(_STATE, json.dumps(state))
            for value, (array, _) in arrays.items():
                file.writestr(str(value), array.to_bytes())
        partial.replace(path)


def _read(
    path: Path, digest: str, server: _Server, needed: Callable[[int], set[int]], steps: int
) -> tuple[int, dict[int, _native.EncryptedArray]]:
    """Return the number of steps that are done, and the values of a checkpoint.

    Without a file, no steps are done. `needed` returns the values that are used after some steps.
    """
    with file_errors():
        if not path.exists():
            # The first checkpoint could not be written.
            path.parent.stat()
            return 0, {}
        size = path.stat().st_size
    try:
        with file_errors(), zipfile.ZipFile(path) as file:
            if any(
                one.compress_type != zipfile.ZIP_STORED or one.file_size > size
                for one in file.infolist()
            ):
                raise ValueError("the entries are compressed")
            state = json.loads(file.read(_STATE))
            version, own, done = state["version"], state["digest"], int(state["steps"])
            if version == _VERSION and own == digest:
                periods = {int(value): period for value, period in state["values"].items()}
                if not 0 < done < steps or periods.keys() != needed(done):
                    raise ValueError("the values are not those of the step")
                return done, {
                    value: loaded(server, EncryptedArray.from_bytes(file.read(str(value))), period)
                    for value, period in periods.items()
                }
    except (FileError, KeyMismatchError):
        raise
    except Exception as error:
        # A damaged archive raises errors of many modules.
        raise FormatError(
            f"run: {path} is no checkpoint, or is damaged. Remove it to start again, or name another "
            "file."
        ) from error
    if version != _VERSION:
        raise FormatError(
            f"run: the checkpoint {path} is of version {version}, and this version of the package "
            f"reads version {_VERSION}. Remove it to start again."
        )
    raise ArgumentError(
        f"run: the checkpoint {path} is of another program or of other inputs. Remove it to start "
        "again, or name another file."
    )
