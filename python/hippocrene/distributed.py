"""Computing on many machines: tasks on a Dask cluster.

It needs ``pip install distributed``. Every worker gets the evaluation keys once,
prepares a server from them, and keeps it for all later tasks. The results are, bit for bit, those
of a single machine, because evaluation uses no random numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from uuid import uuid4

try:
    from distributed import Client as DaskClient
    from distributed import WorkerPlugin, as_completed, get_worker
    from distributed.comm.core import CommClosedError
except ImportError as _missing:  # pragma: no cover
    raise ImportError(
        "hippocrene.distributed needs Dask's distributed: pip install distributed"
    ) from _missing

import numpy.typing as npt

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.checkpoints import kept, loaded
from hippocrene.errors import ArgumentError
from hippocrene.program import Program
from hippocrene.server import Server
from hippocrene.values.scalars import check_type

if TYPE_CHECKING:
    from distributed import Worker

# The share of the predicted time from which on a step begins a part (chosen).
_LONG_SHARE = 1 / 20

Prepared = TypeVar("Prepared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class _Preparation(WorkerPlugin):
    """The preparation that every worker runs when it joins, and its result there."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self.prepare = prepare
        self.prepared: object = None
        self.failure: Exception | None = None

    def setup(self, worker: Worker) -> None:  # noqa: ARG002
        try:
            self.prepared = self.prepare()
        except Exception as error:
            # The error reaches the caller who registers this. A worker that joins later still gets
            # tasks, and `_task` raises the error there.
            self.failure = error
            raise

    def __reduce__(self) -> tuple[object, ...]:
        return _Preparation, (self.prepare,)


def _task(name: str, function: Callable[[object, object], object], item: object) -> object:
    preparation = cast("_Preparation", get_worker().plugins[name])
    if preparation.failure is not None:
        raise preparation.failure
    return function(preparation.prepared, item)


def _held(value: Any) -> Any:
    return value


def _provided(name: str, program: Program, parameters: Mapping[str, npt.ArrayLike]) -> Any:
    """Make the arrays of the parameters of a program on a worker."""

    def run(server: Any, _: object) -> list[Any]:
        return [(array, None) for array in program._provided(_checked(server), parameters)]

    return _task(name, run, None)


def _checked(server: object) -> Server:
    """Return the server that a worker was prepared with, and refuse anything else."""
    check_type(server, Server, "run: the workers of this cluster have to be prepared with servers")
    return cast("Server", server)


def _part(
    name: str, program: Program, steps: list[int], places: list[int], *sources: list[Any]
) -> list[Any]:
    """Run a part of a program on a worker."""

    def run(prepared: object, _: object) -> list[Any]:
        server = _checked(prepared)
        values = [part[place] for part, place in zip(sources, places, strict=True)]
        raw = [loaded(server, *value) for value in values]
        return [kept(server, one) for one in program._raw.run_part(server._raw, steps, raw)]

    return cast("list[Any]", _task(name, run, None))


def parts(program: Program) -> list[list[int]]:
    """Divide the steps of a program into parts that can run on different machines.

    Each part begins with a step that takes a twentieth of the predicted time or more. Shorter steps
    belong to the last part that they use values of. So each part needs only parts before it.

    >>> import hippocrene as hp
    >>> program = hp.compile(lambda x: (x * x, x + 1), hp.spec(8, bound=1), preset="n13")
    >>> [[program.steps[i].operation for i in part] for part in parts(program)]
    [['lower', 'lower'], ['mul'], ['add_number']]
    """
    found: list[list[int]] = []
    # The part of each value.
    part_of = [0] * len(program._operands)
    for i, step in enumerate(program.steps):
        part = max((part_of[value] for value in step.inputs), default=0)
        is_long = step.seconds >= _LONG_SHARE * program.seconds
        if not found or (is_long and found[part]):
            part = len(found)
            found.append([])
        found[part].append(i)
        part_of += [part] * len(step.results)
    return found


class Cluster(Generic[Prepared]):
    """A Dask cluster whose workers compute with one client's evaluation keys.

    `prepare` makes the server, once on every worker, including workers that join later or replace
    one that died. ``Cluster(dask_client, functools.partial(Server, keys))`` sends the keys to the
    workers. ``Cluster(dask_client, lambda: Server(EvaluationKeys.load(path)))`` reads them there,
    if the workers share files.

    Use it as a context manager, or call `close`, so that the workers release the keys.
    """

    def __init__(self, client: DaskClient, prepare: Callable[[], Prepared]) -> None:
        check_type(client, DaskClient, "a cluster is reached by a distributed.Client")
        if client.asynchronous:
            raise ArgumentError(
                "Cluster waits for Dask, and the results of an asynchronous client must be awaited: "
                "take one without asynchronous=True, in a thread of its own (asyncio.to_thread)"
            )
        if not callable(prepare):
            raise TypeError(
                f"prepare is called on every worker; {type(prepare).__name__} cannot be"
            )
        self._client, self._closed = client, False
        self._name = f"hippocrene-{uuid4()}"
        try:
            client.register_plugin(_Preparation(prepare), name=self._name)
        except BaseException:
            # The scheduler would keep the plugin for later workers, and some workers may have
            # prepared their servers already.
            self.close()
            raise

    def map(
        self,
        function: Callable[[Prepared, Item], Result],
        items: Iterable[Item],
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> list[Result]:
        """Return ``function(prepared, item)`` for every item, in order, with one task for each.

        Items and results are sent pickled. Encrypted arrays are pickled as the bytes of their
        files. Every result is fetched as soon as it is ready. If a worker dies, only its unfinished
        tasks are lost, and other workers repeat them. An error of one task is raised here, and the
        other tasks are cancelled.

        After each task, `progress` is called with the number of finished tasks and the total.
        """
        if self._closed:
            raise ArgumentError(
                "map: this cluster was closed, and its workers hold no keys any more"
            )
        futures = [
            self._client.submit(_task, self._name, function, item, pure=False) for item in items
        ]
        results: list[Any] = [None] * len(futures)
        places = {future: place for place, future in enumerate(futures)}
        try:
            # Do not use `as_completed` with `with_results`: it waits for ever for a result that a
            # worker cannot send.
            for done, future in enumerate(as_completed(futures), start=1):
                results[places.pop(future)] = future.result()
                # Without this, a worker would keep the result, or another would compute it again.
                future.release()
                if progress is not None:
                    progress(done, len(futures))
        finally:
            self._client.cancel(list(places))
        return results

    def run(
        self,
        program: Program,
        *inputs: EncryptedArray,
        parameters: Mapping[str, npt.ArrayLike] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Any:
        """Run a compiled program on encrypted inputs, as `Server.run` does.

        The workers must be prepared with servers. The stored plan is divided into parts, each of
        which begins with a long step (see `parts`). Parts that do not depend on each other run at
        the same time. The residues of the results are those of one server. If a worker dies, other
        workers repeat only the parts that it held.

        After each part, `progress` is called with the number of finished parts and the total.
        """
        check_type(program, Program, "run: a Program is run, as compile and Program.load return it")
        for array in inputs:
            check_type(array, EncryptedArray, "run: a program computes on encrypted arrays")
        program._check_count(len(inputs))
        if self._closed:
            raise ArgumentError(
                "run: this cluster was closed, and its workers hold no keys any more"
            )
        submit = functools.partial(self._client.submit, pure=False)
        # Each value, as a future and a place in its result. The scheduler can compute lost inputs
        # again, since they are part of their tasks.
        sources: dict[int, tuple[Any, int]] = {
            i: (submit(_held, [(array, None)]), 0) for i, array in enumerate(inputs)
        }
        stored = submit(_held, program)
        program._check_parameters(parameters)
        provided = submit(_provided, self._name, stored, dict(parameters or {}))
        sources.update({len(inputs) + i: (provided, i) for i in range(len(program.parameters))})
        futures = []
        for steps in parts(program):
            used, computed = program._raw.part(steps)
            places = [sources[value][1] for value in used]
            arrays = [sources[value][0] for value in used]
            done = submit(_part, self._name, stored, steps, places, *arrays)
            sources.update({value: (done, place) for place, value in enumerate(computed)})
            futures.append(done)
        try:
            for count, future in enumerate(as_completed(futures), start=1):
                if future.status == "error":
                    future.result()
                if progress is not None:
                    progress(count, len(futures))
            results = [sources[value] for value in program._outputs]
            return program._structured([future.result()[place][0] for future, place in results])
        finally:
            self._client.cancel([*futures, stored, *(future for future, _ in sources.values())])

    def close(self) -> None:
        """Release the prepared servers on all workers. The Dask cluster goes on running."""
        if self._closed:
            return
        self._closed = True
        if self._client.status == "running":
            # The workers of a cluster that is gone hold no keys.
            with suppress(CommClosedError):
                self._client.unregister_worker_plugin(self._name)

    def __enter__(self) -> Cluster[Prepared]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
