"""Private decision trees: a client asks a server's trees about rows that the server cannot read.

The server publishes a `TreeInterface`; the client sends `TreeKeys` once, and then a `TreeQuery` for
rows, for which it gets a `TreeReply`. The trees stay with the server, and the rows and what the
trees say of them with the client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import ArgumentError, SecretPickleError, ShapeError
from hippocrene.fitted_trees import (
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
from hippocrene.local import Local
from hippocrene.progress import shown
from hippocrene.scalars import text, thread_count
from hippocrene.stored import Stored
from hippocrene.tree_interface import TreeInterface, check_interface, noisiest, read, shares_of
from hippocrene.values import FilePath, path_of_secret, raw_bytes, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Doubles = npt.NDArray[np.float64]


class TreeKeys(Stored[_native.TreeKeys]):
    """What a server needs to evaluate trees for a client. There is no secret in it.

    It takes 76 MB with the tables ``"lut11"``, and twice as much with each step up.
    """

    __slots__ = ()
    _kind = _native.TreeKeys
    _made_by = "TreeClient.evaluation_keys"

    @property
    def tables(self) -> str:
        """The tables that they are for."""
        return self._raw.tables

    @property
    def fingerprint(self) -> str:
        """Which secret key they belong to."""
        return self._raw.fingerprint

    def __repr__(self) -> str:
        return f"TreeKeys(tables={self.tables!r}, fingerprint={self.fingerprint!r})"


class TreeQuery(Stored[_native.TreeQuery]):
    """Encrypted rows of features: some 100 bytes, and 8 or 9 for each feature of each row."""

    __slots__ = ()
    _kind = _native.TreeQuery
    _made_by = "TreeClient.encrypt_query"

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and features in a row."""
        return self._raw.shape

    @property
    def interface(self) -> str:
        """The digest of the interface that it was made for."""
        return self._raw.interface

    def __repr__(self) -> str:
        return f"TreeQuery(shape={self.shape})"


class TreeReply(Stored[_native.TreeReply]):
    """What trees say of the rows of a query, encrypted: 1 to 3 KB for each number."""

    __slots__ = ()
    _kind = _native.TreeReply
    _made_by = "PrivateDecisionTree.evaluate"

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and numbers for a row."""
        return self._raw.shape

    @property
    def interface(self) -> str:
        """The digest of the interface that it was made for, which its query names."""
        return self._raw.interface

    def __repr__(self) -> str:
        return f"TreeReply(shape={self.shape})"


class TreeClient:
    """The secret key of a client: it encrypts queries and decrypts replies."""

    __slots__ = ("_raw",)

    def __init__(self, raw: _native.TreeClient) -> None:
        """Wrap what the extension module made; `generate`, `load` and `from_bytes` are the ways in."""
        if not isinstance(raw, _native.TreeClient):
            raise TypeError(
                "clients of trees are made by TreeClient.generate, .load and .from_bytes"
            )
        self._raw = raw

    @classmethod
    def generate(cls, tables: str | TreeInterface = "lut12") -> TreeClient:
        """Make a fresh secret key for these tables, or for those of an interface."""
        name = tables.tables if isinstance(tables, TreeInterface) else tables
        if not isinstance(name, str):
            raise TypeError(
                f"keys are made for the name of tables or a TreeInterface, not {type(name).__name__}"
            )
        return cls(_native.TreeClient.generate(name))

    @property
    def tables(self) -> str:
        """The tables that it is for."""
        return self._raw.tables

    @property
    def fingerprint(self) -> str:
        """The public name of the key."""
        return self._raw.fingerprint

    def evaluation_keys(self) -> TreeKeys:
        """Make what a server needs to evaluate trees for this client."""
        return TreeKeys(self._raw.evaluation_keys())

    def encrypt_query(self, interface: TreeInterface, rows: npt.ArrayLike) -> TreeQuery:
        """Encrypt rows of features, or one row."""
        check_interface(interface)
        if interface.tables != self.tables:
            raise ArgumentError(
                f"encrypt a query: the trees are for the tables {interface.tables!r}, the key is for {self.tables!r}"
            )
        values = interface._rows(rows, "encrypt a query")
        return TreeQuery(self._raw.encrypt(interface._raw(), values.ravel().tolist()))

    def decrypt(self, interface: TreeInterface, reply: TreeReply) -> npt.NDArray[Any]:
        """Return what trees say of each row: its class, or the values of a regression.

        `interface` is the one that the query was made with; a reply that was made for another is
        refused.
        """
        return read(interface, self._outputs(interface, reply))

    def decrypt_shares(self, interface: TreeInterface, reply: TreeReply) -> _Doubles:
        """Return for each row the shares of the classes: `predict_proba` of a forest or of a gradient boosting."""
        check_interface(interface)
        if interface.outputs not in {"shares", "scores"}:
            raise ArgumentError(
                "decrypt shares: replies hold shares of classes where the model is a forest or a gradient boosting"
            )
        return shares_of(interface, self._outputs(interface, reply))

    def _outputs(self, interface: TreeInterface, reply: TreeReply) -> _Doubles:
        check_interface(interface)
        if not isinstance(reply, TreeReply):
            raise TypeError(f"decrypt takes a TreeReply, not {type(reply).__name__}")
        outputs = np.array(self._raw.decrypt(interface._raw(), reply._raw)).reshape(reply.shape)
        counts = {"class": 1, "shares": len(interface.classes or ()) - 1}
        need = counts.get(interface.outputs, len(interface.scales or ()))
        if reply.shape[1] != need:
            raise ShapeError(
                f"decrypt: the reply has {reply.shape[1]} numbers for a row, not {need}"
            )
        return outputs

    def to_bytes(self) -> bytes:
        """Return what `save` writes: the secret key, in the clear."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> TreeClient:
        """Read what `to_bytes` returned."""
        return cls(_native.TreeClient.from_bytes(raw_bytes(data)))

    def save(self, path: FilePath) -> None:
        """Write the secret key to a new file that only this user may read; a file that exists is left alone."""
        self._raw.save(path_of_secret(path))

    @classmethod
    def load(cls, path: FilePath) -> TreeClient:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            return cls(_native.TreeClient.load(name))

    def __reduce__(self) -> tuple[object, ...]:
        raise SecretPickleError(
            "a client of trees holds the secret key and does not pickle: use save and load"
        )

    def __repr__(self) -> str:
        return f"TreeClient(tables={self.tables!r}, fingerprint={self.fingerprint!r})"


class TreeServer(Local):
    """The keys of one client, made ready to evaluate trees with, on so many threads."""

    __slots__ = ("_raw",)
    _instead = "send its TreeKeys, and make one of them there"

    def __init__(self, keys: TreeKeys, *, threads: int = 1) -> None:
        """Make them ready: that takes about three times their size."""
        if not isinstance(keys, TreeKeys):
            raise TypeError(
                f"a server of trees is made from TreeKeys, not from {type(keys).__name__}"
            )
        self._raw = _native.TreeServer(keys._raw, thread_count(threads))

    @property
    def tables(self) -> str:
        """The tables that its keys are for."""
        return self._raw.tables

    def __repr__(self) -> str:
        return f"TreeServer(tables={self.tables!r})"


@dataclass(frozen=True)
class TreeSimulation:
    """What `PrivateDecisionTree.simulate` found out."""

    result: npt.NDArray[Any]
    """What the trees say of each row, as `TreeClient.decrypt` returns it, but for its noise."""
    seconds: float
    """How long one thread of the server takes, as predicted for this machine."""
    operations: Mapping[str, tuple[int, float]]
    """What is done, how often, and how many seconds it takes, the longest first."""
    key_memory: int
    """How many bytes of memory the server's keys take."""
    key_bytes: int
    """How large the file of the server's keys is, about."""
    query_bytes: int
    """How large the query is."""
    reply_bytes: int
    """How large the reply is."""


class PrivateDecisionTree(Local):
    """A decision tree or a forest that a server evaluates on encrypted rows."""

    __slots__ = ("_interface", "_raw")
    _instead = "pickle the trees that it was made from, and call from_sklearn there, with the same sample or ranges"

    def __init__(self, raw: _native.TreeModel, interface: TreeInterface) -> None:
        """Wrap what the extension module made; `from_sklearn` is the way in."""
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
        """Take over a fitted tree, forest or gradient boosting of scikit-learn, of one target if it classifies.

        Either a `sample` or `ranges` say which values features have:

        - `sample` are rows like those that the trees were fitted to, or like those that clients
          will have. **The extremes and quantiles of its features become public** (65 values of
          each, or all where there are no more): where rows of the training data must not be, take
          others. Nothing of the trees becomes so.
        - `ranges` are the least and the largest value of each feature, ``(low, high)``.

        Answers are those of scikit-learn, but for one comparison in 10**10:

        - With a `sample`, for its rows. If all its values of a feature are integers, or decimal
          numbers with the same few digits after the point, also for any other such numbers. A value
          between others may be compared wrongly where it is next to a threshold.
        - With `ranges`, for all values that float32 has. That takes several times as long. If all
          thresholds of a feature are integers or half-way between two, it is for integers only.

        Rows are rounded to float32 before they are compared, as scikit-learn does (histogram-based
        boosting compares doubles). Values on either side of a threshold that are too near to each
        other for the tables are refused.

        `clamp`: whether a threshold may lie outside the sample or the ranges. Clients take values
        beyond the ends for the nearest end. Such a split would therefore send every row to the same
        side, and is refused. With ``True`` it does so, as is right for clients whose rows never
        leave the ranges.

        `tables`: ``"lut11"``, ``"lut12"`` or ``"lut13"``. A look-up takes more than twice as long
        with each step up, and fewer are needed; keys are twice as large.

        `deviation` is the largest standard deviation wanted of the errors of results: 1/256 for the
        shares of classes of a forest and a 1000th of the range of results for regression, if
        nothing is said (for scores of a gradient boosting, and values of one, of the largest range
        of a tree times their number), or, in large forests, what is possible
        (`PrivateDecisionTree.deviation` says it). Of several targets each has its own range, and
        may have its own deviation: ``[0.1, 20.0]``. One that is asked for and not possible is
        refused. Classes of a single tree are exact.

        Where the trees were fitted to a data frame, the names of its columns become public too, and
        rows and samples that are data frames need the same ones in the same order.
        """
        if not isinstance(clamp, bool):
            raise TypeError(f"from_sklearn: clamp is True or False, not {type(clamp).__name__}")
        trees, outputs, classes = parts(model)
        if (sample is None) == (ranges is None):
            raise TypeError(
                "from_sklearn takes a sample or ranges, one and not both: rows that show which values features have, "
                "or the least and the largest values"
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
            wanted = float(largest / noisiest(outputs, len(classes or ())))
        elif outputs != "class":
            spans, units = scales_of(trees)
            scales, trees = (
                tuple(units.tolist()),
                [tree.of_values(tree.values / units) for tree in trees],
            )
            each = spans / 1000 if deviation is None else deviations(deviation, len(scales))
            # One for all outputs, of numbers that are as large: powers of two tell no more of them.
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
                f"from_sklearn: results with a deviation of {deviation}, where {possible} is possible"
            )
        return made

    @property
    def interface(self) -> TreeInterface:
        """What clients have to know; it is public."""
        return self._interface

    @property
    def look_ups(self) -> tuple[int, int]:
        """How many look-ups a row takes: for comparisons, and for subtrees."""
        return self._raw.look_ups

    @property
    def deviation(self) -> float | _Doubles:
        """The standard deviation of the errors of results: of several targets, of each.

        Of the shares of a forest's classes it is the largest: that of the first class, which is 1
        less all others.
        """
        interface = self.interface
        each = self._raw.deviation * np.array(interface.scales or (1.0,))
        each *= noisiest(interface.outputs, len(interface.classes or ()))
        return float(each[0]) if len(each) == 1 else each

    @property
    def log2_failure_probability(self) -> float:
        """log2 of the probability that a row is led to a wrong leaf, errors of its features aside."""
        return self._raw.log2_failure_probability

    def simulate(self, rows: npt.ArrayLike) -> TreeSimulation:
        """Say what it takes to evaluate the trees on these rows, and what comes out, before there are keys."""
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
        """Say of each row of the query what the trees say of it.

        A query that was made for another interface than that of this model is refused.

        `progress` shows how far it is, in a bar where rich is installed and there is a terminal,
        else in lines, or is called with the number of rows that are done and of all.
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
