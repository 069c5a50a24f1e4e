"""K-means on encrypted points, on a server that can read neither the points nor the clusters."""

from __future__ import annotations

import errno
import functools
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.client import Client
from hippocrene.errors import (
    ArgumentError,
    CapacityError,
    FileError,
    ParameterError,
    ShapeError,
    file_errors,
)
from hippocrene.files import FilePath, file_path, raw_bytes, reading
from hippocrene.html_tables import Cell, table
from hippocrene.keys import EvaluationKeys
from hippocrene.models.lloyd import compile_lloyd, frame
from hippocrene.progress import shown
from hippocrene.server import Server
from hippocrene.simulation_report import html_report, text_report
from hippocrene.stored import Forwarded
from hippocrene.units import size_text, time_text
from hippocrene.values.operands import rows_of_doubles, to_array
from hippocrene.values.scalars import check_type, integer, text

if TYPE_CHECKING:
    from hippocrene.distributed import Cluster
    from hippocrene.program import Program

SECTORS = ("distance", "extraction", "look-ups", "repacking", "centroids")
"""The parts of an iteration whose times `EncryptedKMeans.seconds_` holds.

In slots, comparisons count as look-ups, and nothing is extracted or repacked.
"""


class EncryptedClusters:
    """Encrypted centroids and labels, with or without the points.

    Client and server exchange them, for example as files. `EncryptedKMeans.encrypt` makes one with
    the points, and `EncryptedKMeans.fit` makes the result. `EncryptedKMeans.encrypt_new` makes one
    with new points, and `EncryptedKMeans.predict` returns one with their labels.
    """

    __slots__ = ("_raw",)

    def __init__(self, data: bytes | bytearray | memoryview | _native.Clusters) -> None:
        """Read the bytes that `to_bytes` returned."""
        read = _native.Clusters.from_bytes
        self._raw = data if isinstance(data, _native.Clusters) else read(raw_bytes(data))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of points, or of assigned new points, and their dimension."""
        return self._raw.sizes[:2]

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self._raw.sizes[2]

    iteration = Forwarded[int]("The number of iterations that were made.")
    has_points = Forwarded[bool]("True if the points are included.")

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        return self._raw.to_bytes()

    def save(self, path: FilePath) -> None:
        """Write a file, either completely or not at all."""
        self._raw.save(file_path(path))

    @classmethod
    def load(cls, path: FilePath) -> EncryptedClusters:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            return cls(_native.Clusters.load(name))

    def __reduce__(self) -> tuple[object, ...]:
        return EncryptedClusters, (self.to_bytes(),)

    def _repr_html_(self) -> str:
        """Return the properties as an HTML table, for notebooks."""
        rows = [
            ("shape", str(self.shape)),
            ("clusters", str(self.n_clusters)),
            ("iterations", str(self.iteration)),
            ("points", "included" if self.has_points else "not included"),
        ]
        return table(type(self).__name__, rows)

    def __repr__(self) -> str:
        return f"EncryptedClusters(shape={self.shape}, n_clusters={self.n_clusters}, iteration={self.iteration})"


@dataclass(frozen=True, repr=False)
class KMeansSimulation:
    """The result of `EncryptedKMeans.simulate` or `EncryptedKMeans.simulate_predict`."""

    cluster_centers: npt.NDArray[np.float64] | None
    """The centroids without noise, or None if they are not known."""
    labels: npt.NDArray[np.int64] | None
    """The number of the centroid that was nearest to each point in the last iteration."""
    seconds: float
    """The predicted time for all iterations on one thread of this machine, in seconds."""
    seconds_by_method: Mapping[str, float]
    """The predicted time by method: ``"slots"`` and the name of the tables, as far as the preset
    has room for them."""
    operations: Mapping[str, tuple[int, float]]
    """For each operation, its count and its total seconds, in descending order of the seconds."""
    peak_memory: int
    """The peak memory in bytes, including the keys."""
    key_bytes: int
    """The approximate size of the file of the evaluation keys, in bytes."""

    def _facts(self) -> list[tuple[str, Cell]]:
        """Return the rows above the table of operations."""
        return [
            ("time", f"{time_text(self.seconds)} on one thread, as predicted"),
            *(
                (f"time with {name}", time_text(seconds))
                for name, seconds in self.seconds_by_method.items()
            ),
            ("memory", f"{size_text(self.peak_memory)} at most"),
            ("keys", size_text(self.key_bytes)),
        ]

    def __repr__(self) -> str:
        return text_report(self._facts(), self.operations)

    def _repr_html_(self) -> str:
        """Return the figures as HTML tables, for notebooks."""
        return html_report(self._facts(), self.operations)


class EncryptedKMeans:
    """K-means clustering of encrypted points by Lloyd's algorithm, named as in scikit-learn.

    The client makes keys for points of one shape (`evaluation_keys`). It encrypts the points
    together with the centroids to start from (`encrypt`), and reads the result (`decrypt`). The
    server computes (`fit`). The two only have to exchange files:

    - client: ``model.evaluation_keys(client, X.shape).save(..)`` and ``model.encrypt(client,
      X).save(..)``;
    - server: ``model.fit(EncryptedClusters.load(..),
      Server(EvaluationKeys.load(..))).clusters_.save(..)``;
    - client: ``model.decrypt(client, EncryptedClusters.load(..))``, then ``labels_`` and
      ``cluster_centers_``.

    New points are assigned to the fitted clusters in the same way and with the same keys, by
    `encrypt_new`, `predict` and `decrypt`.

    `fit` always makes `max_iter` iterations, because the server cannot see whether anything
    changes. `init` chooses the centroids to start from:

    - ``"k-means++"`` or ``"random"``: the client chooses them from its points with `random_state`.
    - An array of centroids: the client encrypts these.
    - A list of indices of points, such as ``[0, 17, 42]``: these points are the centroids. The
      server can also make this start.

    By default, the server compares the distances of all points at once, with bootstraps. This
    needs a preset with bootstraps, such as ``"n15"``. A point whose squared distances to two
    centroids differ by less than a 15th of the squared radius of all points belongs to both in
    part, and its label is the nearer one.

    With `tables`, which are those of `LookUps`, the server looks up one point after the other. This
    takes less time for about ten points, and many times as long for hundreds (see `simulate`).
    Points near the border then belong to one centroid only. With ``"lut13"`` instead of
    ``"lut12"``, fewer of them are assigned to the wrong centroid, but it needs more than twice the
    time. The preset ``"n15"`` is large enough for both.

    An initial centroid far outside the points, or a point far from all others, makes the other
    distances too small to be distinguished. `encrypt` warns in this case.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        max_iter: int = 5,
        init: str | npt.ArrayLike = "k-means++",
        random_state: int | None = None,
        tables: str | None = None,
    ) -> None:
        self.n_clusters = _at_least_one(n_clusters, "n_clusters", "cluster")
        self.max_iter = _at_least_one(max_iter, "max_iter", "iteration")
        self.init = init
        self.random_state = random_state
        self.tables = tables
        self.clusters_: EncryptedClusters
        self.seconds_: list[dict[str, float]] = []
        self.cluster_centers_: npt.NDArray[np.float64]
        self.labels_: npt.NDArray[np.int64] | None
        self.n_iter_: int

    def __getattr__(self, name: str) -> Any:
        made_by = {
            "clusters_": "fit",
            "cluster_centers_": "decrypt",
            "labels_": "decrypt",
            "n_iter_": "decrypt",
        }
        if name in made_by:
            raise AttributeError(
                f"k-means: {made_by[name]} sets {name}, and has not been called yet"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor by name, as scikit-learn's estimators do.

        ``sklearn.clone`` copies an estimator with this method.
        """
        del deep
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> EncryptedKMeans:
        """Change parameters of the constructor."""
        unknown = [name for name in params if name not in _PARAMETERS]
        if unknown:
            raise ArgumentError(
                f"k-means: there is no parameter {unknown[0]!r}; there are {', '.join(_PARAMETERS)}"
            )
        new = EncryptedKMeans(**{**self.get_params(), **params})
        for name in params:
            setattr(self, name, getattr(new, name))
        return self

    # The client

    def evaluation_keys(self, client: Client, shape: tuple[int, int]) -> EvaluationKeys:
        """Make the keys for points of shape ``(n_samples, n_features)``.

        They need about 0.6 GB with the preset ``"n15"``, and 1 GB with tables.
        """
        check_type(client, Client, "keys are made by Client")
        return EvaluationKeys(client._raw.clustering_keys(self._tables(), self._sizes(shape)))

    def start(self, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Choose the initial centroids according to `init` and `random_state`.

        `encrypt` calls this and encrypts the centroids with the points.
        """
        try:
            random = np.random.default_rng(self.random_state)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ArgumentError
            raise kind(f"k-means: random_state is {self.random_state!r}: {error}") from None
        chosen = self._chosen()
        if chosen is not None:
            if not all(0 <= i < len(points) for i in chosen):
                raise ArgumentError(
                    f"k-means: init is {chosen}, and the points have the indices 0 to {len(points) - 1}"
                )
            return points[chosen]
        if not isinstance(self.init, str):
            start = rows_of_doubles(self.init, "k-means: init")
            if start.shape != (self.n_clusters, points.shape[1]):
                need = (self.n_clusters, points.shape[1])
                raise ShapeError(f"k-means: init of shape {start.shape}, where {need} is needed")
            _check_finite(start, "init", "centroid")
            return start
        if self.init not in ("k-means++", "random"):
            raise ArgumentError(
                f'k-means: init is {self.init!r}: "k-means++", "random", centroids and points are possible'
            )
        if len(points) < self.n_clusters:
            raise ArgumentError(
                f"k-means: {len(points)} points cannot form n_clusters={self.n_clusters} clusters. Every cluster needs "
                "a point."
            )
        if self.init == "random":
            return points[random.choice(len(points), self.n_clusters, replace=False)]
        # k-means++ chooses each next centroid with a probability proportional to the squared
        # distance to the nearest one so far. The points are scaled by a power of two, so that the
        # squares of any doubles are in range.
        chosen = [int(random.integers(len(points)))]
        units = np.ldexp(points, -int(np.frexp(points)[1].max()) - 1)
        while len(chosen) < self.n_clusters:
            gaps = ((units[:, None, :] - units[chosen][None]) ** 2).sum(axis=2).min(axis=1)
            total = gaps.sum()
            share = gaps / total if total > 0 else None
            chosen.append(int(random.choice(len(points), p=share)))
        return points[chosen]

    def encrypt(self, client: Client, points: npt.ArrayLike) -> EncryptedClusters:
        """Encrypt points, one in each row, together with the initial centroids.

        The number of points is public. A `UserWarning` is issued if more than a 20th of the points
        is expected to be assigned to a wrong centroid in the first iteration. Without tables, it is
        also issued if two initial centroids are so near to each other that clusters are blended.
        The errors of distances are proportional to the square of the largest distance of a point or
        a centroid from the middle.
        """
        check_type(client, Client, "points are encrypted by Client")
        rows = self._rows(points)
        sizes = self._sizes(rows.shape)
        start = self.start(rows)
        tables, values = self._tables(), (rows.ravel().tolist(), start.ravel().tolist())
        _warn_of_errors(rows, start, client._raw.nearest_deviation(tables, sizes))
        if self.tables is None:
            _warn_of_near_clusters(start, rows, stacklevel=3)
        return EncryptedClusters(_native.Clusters.encrypt(client._raw, tables, sizes, *values))

    def decrypt(self, client: Client, clusters: EncryptedClusters) -> EncryptedKMeans:
        """Decrypt a result into `cluster_centers_`, `n_iter_` and `labels_`.

        `labels_` is None before the first iteration. Otherwise it gives the centroid that was
        nearest to each point in the last iteration, before the centroids moved. For new points (see
        `predict`) it gives the nearest of the fitted centroids.
        """
        check_type(client, Client, "clusters are read by Client")
        check_type(clusters, EncryptedClusters, "clusters to decrypt are EncryptedClusters")
        centres, labels = clusters._raw.decrypt(client._raw)
        self.cluster_centers_ = np.array(centres).reshape(clusters.n_clusters, clusters.shape[1])
        self.labels_ = None if labels is None else np.array(labels, dtype=np.int64)
        self.n_iter_ = clusters.iteration
        return self

    def encrypt_new(
        self, client: Client, points: npt.ArrayLike, clusters: EncryptedClusters
    ) -> EncryptedClusters:
        """Encrypt new points, one in each row, so that `predict` can assign them to `clusters`.

        `clusters` is a result of `fit`. One call encrypts at least one new point, and at most as
        many as were clustered. Encrypt more of them in several calls. New points use the
        coordinates of the clustered points, which the client reads from `clusters` together with
        the centroids. A new point that is farther from the middle than all clustered points is
        moved straight towards its nearest centroid until it is not. Its nearest centroid stays the
        same.
        """
        check_type(client, Client, "points are encrypted by Client")
        check_type(clusters, EncryptedClusters, "clusters of new points are EncryptedClusters")
        rows = self._rows(points)
        if rows.shape[1:] != clusters.shape[1:] or not len(rows):
            raise ShapeError(
                f"k-means: new points of shape {rows.shape}, where (samples, {clusters.shape[1]}) is needed"
            )
        values = rows.ravel().tolist()
        return EncryptedClusters(clusters._raw.encrypt_new(client._raw, self._tables(), values))

    def simulate(self, points: npt.ArrayLike, *, preset: str = "n15") -> KMeansSimulation:
        """Predict the cost of `fit` on these points and its result, without any keys.

        It warns of near clusters as `encrypt` does.
        """
        return self._simulated(self._rows(points), None, preset)

    def simulate_predict(
        self, points: npt.ArrayLike, new: npt.ArrayLike, *, preset: str = "n15"
    ) -> KMeansSimulation:
        """Predict the cost of `predict` for new points after `fit` on `points`, and the new labels.

        The keys are those of `fit`, which `predict` needs. `seconds` and `operations` count
        `predict` alone.
        """
        rows, more = self._rows(points), self._rows(new)
        if more.shape[1] != rows.shape[1]:
            raise ShapeError(
                f"k-means: new points of shape {more.shape}, where (samples, {rows.shape[1]}) is needed"
            )
        return self._simulated(rows, more, preset)

    def _simulated(
        self, rows: npt.NDArray[np.float64], new: npt.NDArray[np.float64] | None, preset: str
    ) -> KMeansSimulation:
        start = self.start(rows)
        tables = self._tables()
        if self.tables is None:
            _warn_of_near_clusters(start, rows, stacklevel=4)

        def simulated(
            tables: str | None,
        ) -> tuple[
            tuple[list[float], list[int] | None] | None,
            _native.SimulationReport,
        ]:
            return _native.simulate_clustering(
                text(preset, "k-means: a preset"),
                tables,
                self._sizes(rows.shape),
                rows.ravel().tolist(),
                start.ravel().tolist(),
                self.max_iter,
                None if new is None else new.ravel().tolist(),
            )

        found, report = simulated(tables)
        by_method = {tables or _SLOTS: report.seconds}
        other = None if tables else _TABLES
        # A preset may have room for one method only.
        with suppress(ArgumentError, CapacityError, ParameterError):
            by_method[other or _SLOTS] = simulated(other)[1].seconds
        centres, labels = (None, None) if found is None else found
        return KMeansSimulation(
            cluster_centers=None if centres is None else np.array(centres).reshape(start.shape),
            labels=None if labels is None else np.array(labels, dtype=np.int64),
            seconds=report.seconds,
            seconds_by_method=by_method,
            operations={name: (count, seconds) for name, count, seconds in report.operations},
            peak_memory=report.peak_memory,
            key_bytes=report.key_bytes,
        )

    # Programs

    def compile(
        self, shape: tuple[int, int], *, preset: str = "n15", max_memory: int | str | None = None
    ) -> Program:
        """Compile `max_iter` iterations on points of this shape to a program (see `Program`).

        The program takes the two arrays of `encode`, and returns the centroids for `decode`:

        - client: ``client.encrypt(interface, *model.encode(X))``,
        - server: ``server.run(program, points, start)``,
        - client: ``model.decode(X, client.decrypt(reply))``.

        It compares distances as `fit` does without tables. One iteration of points in one
        ciphertext needs no bootstraps, and is several times as fast as `fit`. Several iterations,
        and points that take several ciphertexts, are slower than `fit`. ``program.first_seconds``
        and `simulate` predict both times. `preset` and `max_memory` are as for `hippocrene.compile`.
        """
        samples, features, clusters = self._sizes(shape)
        if self.tables is not None:
            raise ArgumentError(
                f"compile: a program of k-means has no look-up tables, and tables={self.tables!r}. "
                "Leave out the tables, or use fit."
            )
        if clusters < 2:
            raise ArgumentError(
                "compile: n_clusters is 1, and at least 2 are needed. The centre of one cluster is "
                "the mean of the points."
            )
        if samples < clusters or features < 1:
            raise ArgumentError(
                f"compile: there are {samples} points with {features} features, and {clusters} "
                "clusters need at least one point each, with at least one feature. Pass the shape "
                "of the points."
            )
        return compile_lloyd(
            (samples, features), clusters, self.max_iter, preset=preset, max_memory=max_memory
        )

    def encode(
        self, points: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the two inputs of a program that `compile` made: points and initial centroids.

        Both are relative to the mean of the points, in a unit that makes the largest norm 2/3. Each
        point is repeated for every cluster. It warns of near clusters as `encrypt` does.
        """
        rows = self._rows(points)
        start = self.start(rows)
        middle, unit = frame(rows, start)
        _warn_of_near_clusters(start, rows, stacklevel=3)
        return np.repeat(((rows - middle) / unit)[:, None], len(start), axis=1), (
            start - middle
        ) / unit

    def decode(self, points: npt.ArrayLike, centres: npt.ArrayLike) -> EncryptedKMeans:
        """Read the decrypted result of a program into `cluster_centers_`, `n_iter_` and `labels_`.

        `points` are those that `encode` was given. `labels_` gives the nearest of the final
        centroids for each point, as in scikit-learn.
        """
        rows = self._rows(points)
        start = self.start(rows)
        found = rows_of_doubles(centres, "k-means: the result of a program")
        if found.shape != start.shape:
            raise ShapeError(
                f"k-means: the result of the program has shape {found.shape}, and {start.shape} is "
                "needed. Pass client.decrypt(reply), and the points that were encrypted."
            )
        _check_finite(found, "the results of a program", "centroid")
        middle, unit = frame(rows, start)
        others = (rows - middle) / unit
        self.labels_ = np.argmax(others @ found.T - (found**2).sum(axis=1) / 2, axis=1)
        self.cluster_centers_ = found * unit + middle
        self.n_iter_ = self.max_iter
        return self

    # The server

    def fit(
        self,
        points: EncryptedClusters,
        keys: Server | EvaluationKeys,
        *,
        cluster: Cluster[Server] | None = None,
        checkpoint: FilePath | None = None,
        progress: bool | Callable[[int, int], object] = False,
    ) -> EncryptedKMeans:
        """Make `max_iter` iterations on encrypted points, and store the result in `clusters_`.

        `points` is a result of `encrypt`.

        If `checkpoint` is given, it is written after each iteration. If the file exists already,
        the run continues from it, and ends with the same bytes as an uninterrupted run. The
        checkpoint must belong to these points and this start, and must not have more iterations
        than `max_iter`. Any other checkpoint is refused.

        `progress=True` shows the progress in a bar if rich is installed and there is a terminal,
        otherwise in lines. A function is called with the number of finished iterations and the
        total. `seconds_` holds the times of the parts of every iteration of this call.

        If `init` is a list of indices, these points are the start, whatever `encrypt` included.

        With a `cluster` (see `hippocrene.distributed`), whose workers have a `Server` with the same
        keys, the workers assign points to clusters, and this process does the rest. A task is the
        points of one ciphertext. The result is the same, bit for bit. `seconds_` then holds the
        total times of all machines.
        """
        check_type(points, EncryptedClusters, "points to cluster are EncryptedClusters")
        server = Server(keys) if isinstance(keys, EvaluationKeys) else keys
        check_type(server, Server, "k-means computes with EvaluationKeys or Server")
        if not points.has_points:
            raise ArgumentError(
                "k-means: these clusters hold no points. Pass the result of EncryptedKMeans.encrypt."
            )
        if points._raw.origin is not None:
            raise ArgumentError(
                "k-means: these are new points. Use predict, which assigns them to clusters."
            )
        if points.n_clusters != self.n_clusters:
            raise ArgumentError(
                f"k-means: these points are for {points.n_clusters} clusters, and n_clusters={self.n_clusters}"
            )
        if cluster is not None and not hasattr(cluster, "map"):
            raise TypeError(
                f"points are spread over a hippocrene.distributed.Cluster, not {type(cluster).__name__}"
            )
        state = points
        path = None if checkpoint is None else Path(file_path(checkpoint))
        with file_errors():
            if path is not None and not path.parent.is_dir():
                # Checked here because the first iteration may take long.
                raise FileError(
                    errno.ENOENT, "there is no such folder for the checkpoint", str(path.parent)
                )
            goes_on = path is not None and path.exists()
        if path is not None and goes_on:
            state = EncryptedClusters.load(path)
            self._check_checkpoint(path, state, points, server)
        else:
            chosen = self._chosen()
            if chosen is not None:
                state = EncryptedClusters(points._raw.start(server._raw, chosen))
        self.seconds_ = []
        blocks = None if cluster is None else points._raw.blocks(server._raw)
        with shown(progress, "k-means", "iterations", self.max_iter) as show:
            show(min(state.iteration, self.max_iter))
            while state.iteration < self.max_iter:
                if cluster is None or blocks is None:
                    raw, seconds = points._raw.cluster(server._raw, state._raw)
                else:
                    items = [(block, i, state) for i, block in enumerate(blocks)]
                    parts = cluster.map(_assign, items)
                    assigned = [part for part, _ in parts]
                    raw, seconds = points._raw.update(server._raw, assigned, state._raw)
                    seconds = [
                        sum(times)
                        for times in zip(seconds, *(times for _, times in parts), strict=True)
                    ]
                state = EncryptedClusters(raw)
                if path is not None:
                    state.save(path)
                self.seconds_.append(dict(zip(SECTORS, seconds, strict=True)))
                show(state.iteration)
        self.clusters_ = state
        return self

    def predict(
        self,
        points: EncryptedClusters,
        keys: Server | EvaluationKeys | None = None,
        *,
        cluster: Cluster[Server] | None = None,
    ) -> EncryptedClusters:
        """Assign the new points that `encrypt_new` returned to the nearest centroids.

        These are the centroids of `clusters_`. The labels are encrypted, and the client reads them
        with `decrypt`. They are computed as in an iteration of `fit`, with the same accuracy and the
        same keys. Points that were encrypted for other clusters than `clusters_` are refused. A
        model that only predicts is given its clusters with
        ``model.clusters_ = EncryptedClusters.load(..)``.

        With a `cluster` (see `hippocrene.distributed`), whose workers have a `Server` with these
        keys, one worker does the work, and `keys` is not needed. The points of one call of
        `encrypt_new` are one task.
        """
        check_type(points, EncryptedClusters, "points to assign are EncryptedClusters")
        if cluster is not None:
            if not hasattr(cluster, "map"):
                raise TypeError(
                    f"points are spread over a hippocrene.distributed.Cluster, not {type(cluster).__name__}"
                )
            return cluster.map(functools.partial(_predicted, self.clusters_), [points])[0]
        server = Server(keys) if isinstance(keys, EvaluationKeys) else keys
        check_type(server, Server, "k-means computes with EvaluationKeys or Server")
        return _predicted(self.clusters_, cast("Server", server), points)

    def _check_checkpoint(
        self, path: Path, state: EncryptedClusters, points: EncryptedClusters, server: Server
    ) -> None:
        """Check that a run of this kind on these points wrote the checkpoint."""
        remedy = "remove it, or pass another path"
        if (state.shape, state.n_clusters) != (points.shape, points.n_clusters):
            raise ArgumentError(
                f"k-means: the checkpoint {path} belongs to {state!r}, and the points are {points!r}: {remedy}"
            )
        if state._raw.origin is None:
            raise ArgumentError(
                f"k-means: {path} is not a checkpoint of fit, but an array from a client: {remedy}"
            )
        of_points, start = points._raw.as_origin(server._raw, self._chosen())
        if state._raw.origin[0] != of_points:
            raise ArgumentError(
                f"k-means: the checkpoint {path} belongs to other points, or to another encryption of these: {remedy}"
            )
        if state._raw.origin[1] != start:
            raise ArgumentError(
                f"k-means: the checkpoint {path} belongs to a run with other centroids than init={self.init!r}: "
                f"{remedy}"
            )
        if state.iteration > self.max_iter:
            raise ArgumentError(
                f"k-means: the checkpoint {path} has {state.iteration} iterations, more than max_iter={self.max_iter}: "
                f"{remedy}"
            )

    def _tables(self) -> str | None:
        return None if self.tables is None else text(self.tables, "k-means: tables")

    def _rows(self, points: npt.ArrayLike) -> npt.NDArray[np.float64]:
        rows = rows_of_doubles(points, "k-means")
        if rows.ndim != 2:
            raise ShapeError(
                f"k-means: points are the rows of an array of two axes, not of shape {rows.shape}"
            )
        _check_finite(rows, "points", "row")
        return rows

    def _chosen(self) -> list[int] | None:
        """Return the indices of points if `init` is a list of indices, otherwise None."""
        if isinstance(self.init, str):
            return None
        init = to_array(self.init, "k-means: init")
        if init.ndim != 1 or init.dtype.kind not in "iu":
            return None
        if len(init) != self.n_clusters:
            raise ShapeError(
                f"k-means: init names {len(init)} points, and n_clusters={self.n_clusters} are needed"
            )
        if init.size and init.min() < 0:
            raise ArgumentError(
                f"k-means: init is {init.tolist()}, and indices of points start at 0"
            )
        return [int(i) for i in init]

    def _sizes(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        check_type(shape, Iterable, "k-means: a shape is (samples, features)")
        if isinstance(shape, np.ndarray) and shape.ndim != 1:
            raise TypeError(
                "k-means: these are points, and their shape is needed. Pass the shape, as in X.shape."
            )
        lengths = tuple(integer(length, "k-means: a length of a shape") for length in shape)
        if len(lengths) != 2 or min(lengths) < 0 or max(*lengths, self.n_clusters) >= 2**63:
            raise ShapeError(
                f"k-means: {self.n_clusters} clusters of points of shape {lengths}, not (samples, features)"
            )
        return *lengths, self.n_clusters

    def __repr__(self) -> str:
        return f"EncryptedKMeans(n_clusters={self.n_clusters}, max_iter={self.max_iter}, tables={self.tables!r})"


_PARAMETERS = ("n_clusters", "max_iter", "init", "random_state", "tables")

_SLOTS = "slots"
"""The name of k-means by comparisons in slots."""

_TABLES = "lut12"
"""The tables that a simulation compares with comparisons in slots."""

_MOST_WRONG = 0.05
"""The expected share of wrongly assigned points above which `EncryptedKMeans.encrypt` warns."""

_BLENDED = 0.27
"""The distance of clusters, as a share of the radius, below which their squared distances from a
point at one of them differ by less than the gap of comparisons in slots, 1/14."""


def _at_least_one(value: object, name: str, what: str) -> int:
    number = integer(value, f"k-means: {name}")
    if number < 1:
        raise ArgumentError(f"k-means: {name} is {value}, at least one {what} is made")
    return number


def _check_finite(rows: npt.NDArray[np.float64], name: str, what: str) -> None:
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, column = wrong[0]
        raise ArgumentError(
            f"k-means: {name} hold {rows[row, column]} in {what} {row}, column {column}: finite numbers are needed"
        )


def _warn_of_errors(
    points: npt.NDArray[np.float64], start: npt.NDArray[np.float64], deviation: float
) -> None:
    """Warn if many points are expected to be assigned to a wrong centroid.

    The standard deviation of the error of squared distances is `deviation` squared radii.
    """
    middle = points.mean(axis=0)
    away, starts_away = (np.sqrt(((rows - middle) ** 2).sum(axis=1)) for rows in (points, start))
    radius = max(float(away.max()), float(starts_away.max()))
    # Squared distances from the middle, without the term that all centroids share. This makes
    # them as exact as their differences.
    others, centroids = points - middle, start - middle
    distances = np.sort((centroids**2).sum(axis=1) - 2.0 * others @ centroids.T, axis=1)
    gaps = distances[:, 1] - distances[:, 0]
    off = deviation * radius**2
    if off == 0:
        return
    wrong = float(np.mean([0.5 * math.erfc(gap / off / math.sqrt(2)) for gap in gaps.tolist()]))
    if wrong > _MOST_WRONG:
        farthest = "centroid of init" if starts_away.max() > away.max() else "point"
        warnings.warn(
            f"k-means: about {wrong:.0%} of the points are expected to be assigned to a wrong centroid at first. "
            f"Squared distances have an error of {off:.3g} (standard deviation), and the two nearest differ by "
            f"{np.median(gaps):.3g} (median). The error grows with the square of the largest distance from the middle. "
            f"That is {radius:.3g}, for a {farthest}, and {np.median(away):.3g} for the median point. Choose centroids "
            "nearer to the points and farther from each other, remove outliers, or use tables with more bits.",
            UserWarning,
            stacklevel=3,
        )


def _warn_of_near_clusters(
    start: npt.NDArray[np.float64], points: npt.NDArray[np.float64], *, stacklevel: int
) -> None:
    """Warn if points count for two clusters because their initial centroids are near each other."""
    if len(start) < 2:
        return
    middle = points.mean(axis=0)
    radius = float(np.sqrt(((np.concatenate([points, start]) - middle) ** 2).sum(axis=1)).max())
    apart = ((start[:, None, :] - start[None]) ** 2).sum(axis=2)
    nearest = math.sqrt(float(apart[~np.eye(len(start), dtype=bool)].min()))
    if nearest < _BLENDED * radius:
        warnings.warn(
            f"k-means: two initial centroids are {nearest:.3g} apart, and clusters nearer than {_BLENDED:g} of the "
            f"largest distance from the middle ({radius:.3g}) are blended. Choose centroids farther from each other, "
            'remove outliers, or use tables="lut12".',
            UserWarning,
            stacklevel=stacklevel,
        )


def _predicted(
    clusters: EncryptedClusters, server: Server, points: EncryptedClusters
) -> EncryptedClusters:
    """Assign new points. A worker calls this."""
    return EncryptedClusters(clusters._raw.assign_new(server._raw, points._raw))


def _assign(
    server: Server, item: tuple[bytes, int, EncryptedClusters]
) -> tuple[bytes, list[float]]:
    """Do a worker's part of an iteration.

    `item` holds the points of one ciphertext, the index of the ciphertext and the current clusters.
    """
    points, block, clusters = item
    return clusters._raw.assign_block(server._raw, points, block)
