"""Computing on many machines: batches spread over a Dask cluster, with ``pip install 'hippocrene[distributed]'``.

Every worker gets the evaluation keys once, makes what computes of them, and keeps it for all the
tasks to come. What comes back is, bit for bit, what one machine would have computed: evaluation
draws no random numbers.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from uuid import uuid4

try:
    from distributed import Client as DaskClient
    from distributed import WorkerPlugin, as_completed, get_worker
    from distributed.comm.core import CommClosedError
except ImportError as _missing:  # pragma: no cover
    raise ImportError(
        "hippocrene.distributed needs Dask's distributed: pip install 'hippocrene[distributed]'"
    ) from _missing

from hippocrene.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from distributed import Worker

Prepared = TypeVar("Prepared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class _Preparation(WorkerPlugin):
    """What every worker does when it joins, and what has come of it there."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self.prepare = prepare
        self.prepared: object = None
        self.failure: Exception | None = None

    def setup(self, worker: Worker) -> None:  # noqa: ARG002
        try:
            self.prepared = self.prepare()
        except Exception as error:
            # Who registers this hears of it now. A worker that joins later is given tasks all the
            # same.
            self.failure = error
            raise

    def __reduce__(self) -> tuple[object, ...]:
        return _Preparation, (self.prepare,)


def _task(name: str, function: Callable[[object, object], object], item: object) -> object:
    preparation = cast("_Preparation", get_worker().plugins[name])
    if preparation.failure is not None:
        raise preparation.failure
    return function(preparation.prepared, item)


class Cluster(Generic[Prepared]):
    """A Dask cluster whose workers compute with one client's evaluation keys.

    `prepare` makes what computes, once on every worker, those included that join later or take the
    place of one that died: ``Cluster(dask_client, functools.partial(Server, keys))`` sends the keys
    along, and ``Cluster(dask_client, lambda: Server(EvaluationKeys.load(path)))`` reads them where
    the workers share files.

    Use it as a context manager, or call `close`, for workers to let go of the keys.
    """

    def __init__(self, client: DaskClient, prepare: Callable[[], Prepared]) -> None:
        if not isinstance(client, DaskClient):
            raise TypeError(
                f"a cluster is reached by a distributed.Client, not {type(client).__name__}"
            )
        if client.asynchronous:
            raise ArgumentError(
                "Cluster waits for what it asks of Dask, and an asynchronous client's answers are awaited: "
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
            # The scheduler keeps it for workers to come, and workers whose own went well hold what
            # they prepared.
            self.close()
            raise

    def map(
        self,
        function: Callable[[Prepared, Item], Result],
        items: Iterable[Item],
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> list[Result]:
        """Return ``function(prepared, item)`` for every item, in order, each a task of its own.

        Items and results travel pickled: encrypted arrays do, as the bytes that files hold. Every
        result is fetched as soon as it is there, so that a worker that dies costs the tasks that it
        was at, which others do again. An error of one task is raised here; the others are then
        given up.

        `progress` is called with how many tasks are done, and of how many, after each.
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
            # With results of its own, `as_completed` waits for ever for one that a worker cannot
            # send.
            for done, future in enumerate(as_completed(futures), start=1):
                results[places.pop(future)] = future.result()
                # No worker has to keep it, or to make it again.
                future.release()
                if progress is not None:
                    progress(done, len(futures))
        finally:
            self._client.cancel(list(places))
        return results

    def close(self) -> None:
        """Have workers let go of what they prepared, if they hold it. The Dask cluster goes on."""
        if self._closed:
            return
        self._closed = True
        if self._client.status == "running":
            # Of a cluster that has gone nobody holds anything.
            with suppress(CommClosedError):
                self._client.unregister_worker_plugin(self._name)

    def __enter__(self) -> Cluster[Prepared]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
