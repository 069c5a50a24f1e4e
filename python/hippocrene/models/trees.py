"""Private decision trees, which a server evaluates on rows that it cannot read.

The server publishes a `TreeInterface`. The client sends `TreeKeys` once, and then a `TreeQuery` for
each batch of rows. It gets a `TreeReply` back. The trees stay on the server. The rows and the
results stay with the client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.html_tables import Cell
from hippocrene.models.fitted_trees import (
    Comparing,
    as_compared,
    check_columns,
    check_inside,
    deviations,
    feature_names,
    knots_of,
    parts,
    placed,
    row_type,
    scales_of,
)
from hippocrene.models.tree_interface import (
    TreeInterface,
    largest_deviation_factor,
    read,
    shares_of,
)
from hippocrene.progress import shown
from hippocrene.simulation_report import html_report, text_report
from hippocrene.stored import Forwarded, Local, Stored, StoredSecret
from hippocrene.units import size_text, time_text
from hippocrene.values.scalars import check_type, text, thread_count

_Doubles = npt.NDArray[np.float64]


class TreeKeys(Stored):
    """The keys that a server needs to evaluate trees for a client. They contain no secret.

    Their size is 76 MB with the tables ``"lut11"``, and twice as much with each larger set of tables.
    """

    __slots__ = ()
    _raw: _native.TreeKeys
    _kind = _native.TreeKeys
    _factory = "TreeClient.evaluation_keys"
    _shown = ("tables", "fingerprint")

    tables = Forwarded[str]("The name of the tables that the keys are for.")


class TreeQuery(Stored):
    """Encrypted rows of features: about 100 bytes, and 8 or 9 for each feature of each row."""

    __slots__ = ()
    _raw: _native.TreeQuery
    _kind = _native.TreeQuery
    _factory = "TreeClient.encrypt_query"
    _shown = ("shape",)

    shape = Forwarded[tuple[int, int]]("The number of rows, and the number of features per row.")

    interface = Forwarded[str]("The digest of the interface that it was made for.")


class TreeReply(Stored):
    """The encrypted results of the trees for the rows of a query: 1 to 3 KB for each number."""

    __slots__ = ()
    _raw: _native.TreeReply
    _kind = _native.TreeReply
    _factory = "PrivateDecisionTree.evaluate"
    _shown = ("shape",)

    shape = Forwarded[tuple[int, int]]("The number of rows, and the number of results per row.")

    interface = Forwarded[str]("The digest of the interface that the query was made for.")


class TreeClient(StoredSecret):
    """The secret key of a client: it encrypts queries and decrypts replies."""

    __slots__ = ()
    _raw: _native.TreeClient
    _kind = _native.TreeClient
    _factory = "TreeClient.generate"
    _shown = ("tables", "fingerprint")

    @classmethod
    def generate(cls, tables: str | TreeInterface = "lut12") -> TreeClient:
        """Make a new secret key for these tables, or for the tables of an interface."""
        name = tables.tables if isinstance(tables, TreeInterface) else tables
        check_type(name, str, "keys are made for the name of tables or a TreeInterface")
        return cls(_native.TreeClient.generate(name))

    tables = Forwarded[str]("The name of the tables that it is for.")

    def evaluation_keys(self) -> TreeKeys:
        """Make the keys that a server needs to evaluate trees for this client."""
        return TreeKeys(self._raw.evaluation_keys())

    def encrypt_query(self, interface: TreeInterface, rows: npt.ArrayLike) -> TreeQuery:
        """Encrypt rows of features, or one row."""
        check_type(interface, TreeInterface, "a TreeInterface is needed")
        if interface.tables != self.tables:
            raise ArgumentError(
                f"encrypt a query: the trees are for the tables {interface.tables!r}, the key is for {self.tables!r}"
            )
        values = interface._rows(rows, "encrypt a query")
        return TreeQuery(self._raw.encrypt(interface._raw(), values.ravel().tolist()))

    def decrypt(self, interface: TreeInterface, reply: TreeReply) -> npt.NDArray[Any]:
        """Return the result of the trees for each row: a class, or the values of a regression.

        `interface` must be the one that the query was made with. A reply that was made for another
        interface is refused.
        """
        return read(interface, self._outputs(interface, reply))

    def decrypt_shares(self, interface: TreeInterface, reply: TreeReply) -> _Doubles:
        """Return the shares of the classes for each row, like `predict_proba`.

        The model must be a forest or a gradient boosting that classifies.
        """
        check_type(interface, TreeInterface, "a TreeInterface is needed")
        if interface.outputs not in {"shares", "scores"}:
            raise ArgumentError(
                "decrypt shares: only a forest or a gradient boosting that classifies returns shares of classes"
            )
        return shares_of(interface, self._outputs(interface, reply))

    def _outputs(self, interface: TreeInterface, reply: TreeReply) -> _Doubles:
        check_type(interface, TreeInterface, "a TreeInterface is needed")
        check_type(reply, TreeReply, "decrypt takes a TreeReply")
        outputs = np.array(self._raw.decrypt(interface._raw(), reply._raw)).reshape(reply.shape)
        counts = {"class": 1, "shares": len(interface.classes or ()) - 1}
        need = counts.get(interface.outputs, len(interface.scales or ()))
        if reply.shape[1] != need:
            raise ShapeError(
                f"decrypt: the reply has {reply.shape[1]} numbers for a row, not {need}"
            )
        return outputs


class TreeServer(Local):
    """The keys of one client, prepared for evaluating trees with the given number of threads."""

    __slots__ = ("_raw",)
    _instead = "send its TreeKeys, and make one of them there"

    def __init__(self, keys: TreeKeys, *, threads: int = 1) -> None:
        """Prepare the keys, which needs about three times their size in memory."""
        check_type(keys, TreeKeys, "a server of trees is made from TreeKeys")
        self._raw = _native.TreeServer(keys._raw, thread_count(threads))

    tables = Forwarded[str]("The name of the tables that its keys are for.")

    def __repr__(self) -> str:
        return f"TreeServer(tables={self.tables!r})"


@dataclass(frozen=True, repr=False)
class TreeSimulation:
    """The result of `PrivateDecisionTree.simulate`."""

    result: npt.NDArray[Any]
    """The result for each row, as `TreeClient.decrypt` returns it, but without noise."""
    seconds: float
    """The time that one thread of the server needs, in seconds, as predicted for this machine."""
    operations: Mapping[str, tuple[int, float]]
    """For each operation, its count and its total seconds, in descending order of the seconds."""
    key_memory: int
    """The memory of the server's keys, in bytes."""
    key_bytes: int
    """The approximate size of the file of the server's keys, in bytes."""
    query_bytes: int
    """The size of the query, in bytes."""
    reply_bytes: int
    """The size of the reply, in bytes."""

    def _facts(self) -> list[tuple[str, Cell]]:
        """Return the rows above the table of operations."""
        return [
            ("time", f"{time_text(self.seconds)} on one thread, as predicted"),
            ("memory of keys", size_text(self.key_memory)),
            ("keys", size_text(self.key_bytes)),
            ("query", size_text(self.query_bytes)),
            ("reply", size_text(self.reply_bytes)),
        ]

    def __repr__(self) -> str:
        return text_report(self._facts(), self.operations)

    def _repr_html_(self) -> str:
        """Return the figures as HTML tables, for notebooks."""
        return html_report(self._facts(), self.operations)


class PrivateDecisionTree(Local):
    """A decision tree or a forest that a server evaluates on encrypted rows."""

    __slots__ = ("_interface", "_raw")
    _instead = "pickle the trees that it was made from, and call from_sklearn there, with the same sample or ranges"

    def __init__(self, raw: _native.TreeModel, interface: TreeInterface) -> None:
        """Wrap an object of the extension module; use `from_sklearn` instead."""
        if not isinstance(raw, _native.TreeModel):
            raise TypeError("private decision trees are made by PrivateDecisionTree.from_sklearn")
        self._raw, self._interface = raw, interface

    @classmethod
    def from_sklearn(
        cls,
        model: Any,
        sample: npt.ArrayLike | None = None,
        *,
        ranges: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        tables: str = "lut12",
        deviation: float | npt.ArrayLike | None = None,
        clamp: bool = False,
    ) -> PrivateDecisionTree:
        """Convert a fitted tree, forest or gradient boosting of scikit-learn.

        A classifier must have one target. Either a `sample` or `ranges` give the values of the
        features:

        - `sample` are rows like those that the trees were fitted to, or like those of the clients.
          **The extremes and quantiles of its features become public**: 65 values of each feature,
          or all values if there are no more. If values of the training data must not become public,
          give other rows. The sample reveals nothing about the trees.
        - `ranges` are the least and the largest value of each feature, ``(low, high)``.

        The results are those of scikit-learn, except for one comparison in 10**10:

        - With a `sample`, this holds for its rows. If all its values of a feature are integers, or
          decimal numbers with the same few digits after the point, it also holds for all other such
          numbers. Any other value may be compared wrongly if it is next to a threshold.
        - With `ranges`, this holds for all values of float32, and evaluation takes several times as
          long. If all thresholds of a feature are integers or half-way between two, it holds for
          integers only.

        Rows are rounded to float32 before they are compared, as in scikit-learn. Histogram-based
        boosting compares doubles instead. If the values on either side of a threshold are too near
        to each other for the tables, the model is refused.

        `clamp` tells whether a threshold may lie outside the sample or the ranges. Clients replace
        values beyond the ends by the nearest end. Such a split would therefore send every row to
        the same side, and is refused by default. ``True`` allows it, which is right if the rows of
        clients never leave the ranges.

        `tables` are ``"lut11"``, ``"lut12"`` or ``"lut13"``. With each larger set of tables, a
        look-up takes more than twice as long and fewer look-ups are needed, and the keys are twice
        as large.

        `deviation` is the largest allowed standard deviation of the errors of results. The default
        depends on the model:

        - Shares of the classes of a forest: 1/256.
        - Regression: a 1000th of the range of the results.
        - Scores and values of a gradient boosting: a 1000th of the largest range of a tree times
          the number of trees.
        - Large forests that cannot reach these: the least deviation that they can reach.

        `PrivateDecisionTree.deviation` is the deviation that was reached. With several targets,
        each has its own range and may have its own deviation, as in ``[0.1, 20.0]``. A given
        deviation that is not possible is refused. The classes of a single tree are exact.

        If the trees were fitted to a data frame, the names of its columns become public too. Rows
        and samples that are data frames then need the same columns in the same order.
        """
        check_type(clamp, bool, "from_sklearn: clamp is True or False")
        trees, outputs, classes = parts(model)
        if (sample is None) == (ranges is None):
            raise TypeError(
                "from_sklearn: pass either a sample or ranges. A sample is rows with values of the "
                "features, and ranges are the least and the largest value of each feature."
            )
        features = int(model.n_features_in_)
        names, kind = feature_names(model), row_type(model)
        rows = None
        if sample is not None:
            check_columns(sample, names, "from_sklearn")
            rows = as_compared(sample, kind, "from_sklearn")
        knots = knots_of(rows, ranges, features)
        scales, wanted = None, None
        if outputs == "class" and deviation is not None:
            raise TypeError("the classes of a single tree are exact: they take no deviation")
        if outputs == "shares":
            largest = 1 / 256 if deviation is None else deviations(deviation, 1)[0]
            wanted = float(largest / largest_deviation_factor(outputs, len(classes or ())))
        elif outputs != "class":
            spans, units = scales_of(trees)
            scales = tuple(units.tolist())
            trees = [replace(tree, values=tree.values / units) for tree in trees]
            each = spans / 1000 if deviation is None else deviations(deviation, len(scales))
            # There is one deviation for all outputs. The outputs are divided by powers of two, so
            # that all are equally large and the scales reveal nothing more about them.
            wanted = float(np.min(each / units))
        interface = TreeInterface(
            tables=text(tables, "from_sklearn: tables"),
            knots=knots,
            outputs=outputs,
            classes=classes,
            row_type=kind,
            feature_names=names,
            scales=scales,
        )
        raw = interface._raw()
        widths = tuple(raw.resolution(digits) for digits in range(1, raw.digits + 1))
        how = Comparing(knots, kind, widths, raw.margin, names)
        if not clamp:
            check_inside(trees, how)
        told = placed(trees, rows, how)
        if told.unresolved is not None:
            larger = "R" if tables == "lut13" else "Use larger tables, or r"
            other = "ound the feature before fitting." if ranges is None else "educe its range."
            raise ArgumentError(f"from_sklearn: {told.unresolved} {larger}{other}")
        nodes = [tree.lists(digits) for tree, digits in zip(told.trees, told.digits, strict=True)]
        made = cls(_native.TreeModel(raw, nodes, wanted, outputs == "class", clamp), interface)
        if deviation is not None and wanted is not None and made._raw.deviation > wanted:
            possible = np.array2string(
                np.asarray(made.deviation), formatter={"float_kind": "{:.4g}".format}
            )
            raise ArgumentError(
                f"from_sklearn: a deviation of {deviation} is not possible. The least is {possible}."
            )
        return made

    @property
    def interface(self) -> TreeInterface:
        """The interface that clients need, which is public."""
        return self._interface

    look_ups = Forwarded[tuple[int, int]](
        "The number of look-ups per row, for comparisons and for subtrees."
    )

    @property
    def deviation(self) -> float | _Doubles:
        """The standard deviation of the errors of results, for each target if there are several.

        For the shares of a forest's classes, it is the largest one. This is the deviation of the
        first class, whose share is 1 minus all others.
        """
        interface = self.interface
        each = self._raw.deviation * np.array(interface.scales or (1.0,))
        each *= largest_deviation_factor(interface.outputs, len(interface.classes or ()))
        return float(each[0]) if len(each) == 1 else each

    log2_failure_probability = Forwarded[float](
        "log2 of the probability that a row reaches a wrong leaf, errors of its features aside."
    )

    def simulate(self, rows: npt.ArrayLike) -> TreeSimulation:
        """Predict the cost of evaluating the trees on these rows, and the results.

        No keys are needed.
        """
        values = self.interface._rows(rows, "simulate")
        seconds, operations, sizes, outputs = self._raw.simulate(values.ravel().tolist())
        key_memory, key_bytes, query_bytes, reply_bytes = sizes
        return TreeSimulation(
            result=read(self.interface, np.array(outputs).reshape(len(values), -1)),
            seconds=seconds,
            operations={name: (count, time) for name, count, time in operations},
            key_memory=key_memory,
            key_bytes=key_bytes,
            query_bytes=query_bytes,
            reply_bytes=reply_bytes,
        )

    def evaluate(
        self,
        query: TreeQuery,
        server: TreeServer,
        *,
        progress: bool | Callable[[int, int], object] = False,
    ) -> TreeReply:
        """Evaluate the trees on each row of the query.

        A query that was made for another interface than that of this model is refused.

        `progress=True` shows the progress in a bar if rich is installed and there is a terminal,
        otherwise in lines. A function is called with the number of finished rows and the total.
        """
        if not isinstance(query, TreeQuery) or not isinstance(server, TreeServer):
            raise TypeError(
                f"evaluate takes a TreeQuery and a TreeServer, not {type(query).__name__} and {type(server).__name__}"
            )
        with shown(progress, "trees", "rows", query.shape[0]) as show:
            return TreeReply(server._raw.evaluate(self._raw, query._raw, show))

    def __repr__(self) -> str:
        return (
            f"PrivateDecisionTree(features={len(self.interface.knots)}, look_ups={self.look_ups})"
        )
