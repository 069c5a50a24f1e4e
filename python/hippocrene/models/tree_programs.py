"""Decision trees as functions of encrypted rows: comparisons, leaves, and sums of their values.

A leaf is a box: its rows lie below an upper bound or above a lower bound in some features. So a
row is in a leaf if as many comparisons have the right answer as the leaf has bounds. The values
of all trees then take two comparisons one after the other, however deep the trees are:

1. The features are compared with the thresholds of all nodes at once.
2. For each leaf, the number of right answers is compared with the number of its bounds.

All maps between these steps are affine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError
from hippocrene.models.affine import Affine
from hippocrene.models.fitted import name_of
from hippocrene.models.fitted_trees import Nodes, as_compared, parts, row_type

_Doubles = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.intp]
_Booleans = npt.NDArray[np.bool_]

LEAST_GAP = 2.0**-16
"""The least gap of a comparison, as a share of the largest distance from its threshold.

Chosen. A forest of 10 trees for breast cancer takes 4.1 s for 100 rows on ``"n16"`` with it, and
3.5 s with 2**-12, where 6 % of the rows of the sample are near thresholds.
"""
_LARGEST_GAP = 2.0**-5
"""The largest gap, even if no value of the sample is near a threshold. Chosen, because values of
other rows may be nearer."""

_MAX_LEAVES = 4096
"""The largest number of leaves of all trees. Chosen: compiling 4096 takes some minutes."""
_MAX_LEAVES_OF_TREE = 512
"""The largest number of leaves of a tree. Compiling takes time like the square of this number."""
_COLUMNS_OF_GROUP = 256
"""The number of columns of trees that are computed together. Chosen, as 512 takes longer to
compile, and 128 needs more ciphertexts for few rows."""

_ROUNDING = 2.0**-20
"""The share by which the bound of a difference is enlarged, for rounding. Chosen."""
_EQUAL = 2.0**-40
"""Values that differ by less are equal, as a share of the largest distance from a threshold.
Chosen, far above the rounding of doubles."""
_SHARE_OF_GAP = 0.99
"""The gap of comparisons as a share of the least distance of the sample. Chosen: the rest is for
rounding and noise, so that rows of the sample are outside of the gap."""
_ERROR_OF_COUNT = 2.0**-4
"""The largest error of the number of bounds that hold, for a row that is not near a threshold.
Chosen; anything from 1/32 to 1/16 works."""
_LEAF_GAP = 0.4
"""The gap of the second comparison. Its values are 1/2 away from 0, except for the error of the
count. The rest is for noise."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeGroup:
    """Trees whose nodes and leaves are columns of the same arrays.

    All arrays have as many columns as `differences` has results.

    - `differences`: the map of repeated columns of encoded rows (see `_repeated`) to the features
      less their thresholds, divided by their bounds. Its results lie between -1 and 1.
    - `leaves`: the map of answers, which are 0 or 1, to the number of bounds of a leaf that hold,
      less their number, plus 1/2. It is None if the answers are the leaves.
    - `at` and `bound`: a result of `differences` is a feature less `at`, divided by `bound`.
    - `thresholds`: the thresholds of scikit-learn.
    - `compared`: the type of floats in which scikit-learn compares features with thresholds.
    - `gap`: differences below the gap may have any answer from 0 to 1.
    - `bounds`: the largest number of bounds of a leaf.
    """

    differences: Affine
    leaves: Affine | None
    at: _Doubles
    bound: _Doubles
    thresholds: _Doubles
    compared: str
    gap: float
    bounds: int

    def __call__(self, x: Any) -> Any:
        """Return 1 for the leaf where a row is and 0 elsewhere, for encrypted or plain rows."""
        differences = self.differences(self._repeated(x))
        if isinstance(x, np.ndarray):
            answers = (differences > 0).astype(np.float64)
            return answers if self.leaves is None else (self.leaves(answers) > 0).astype(np.float64)
        differences = differences.with_interval((-1.0, 1.0))
        if self.leaves is None:
            return differences.greater(0.0, gap=self.gap, at_ties=0.5)
        # An answer has an error of at most 2**-precision / 2.
        precision = math.log2(self.bounds / (2.0 * _ERROR_OF_COUNT))
        answers = differences.greater(0.0, gap=self.gap, precision=precision, at_ties=0.5)
        ends = -self.bounds + 0.5 - _ERROR_OF_COUNT, 0.5 + _ERROR_OF_COUNT
        return self.leaves(answers).with_interval(ends).greater(0.0, gap=_LEAF_GAP, at_ties=0.5)

    def undecided(self, encoded: _Doubles, gap: float) -> _Booleans:
        """Return True for rows that may be in another leaf if differences are wrong by `gap`."""
        differences = self.differences(self._repeated(encoded))
        # The lowest and the highest answer that is possible.
        features = (differences * self.bound + self.at).astype(self.compared).astype(np.float64)
        wanted = features > self.thresholds
        low = (wanted & (differences >= gap)).astype(np.float64)
        high = (wanted | (differences > -gap)).astype(np.float64)
        if self.leaves is None:
            return np.asarray(np.any(low < high, axis=1))
        up, down = self.leaves.matrix.clip(min=0.0), self.leaves.matrix.clip(max=0.0)
        surely = low @ up + high @ down + self.leaves.shift > 0
        possibly = high @ up + low @ down + self.leaves.shift > 0
        return np.asarray(np.any(surely < possibly, axis=1))

    def _repeated(self, x: Any) -> Any:
        """Return rows whose columns are repeated up to the number of columns of the group.

        A product with a square matrix returns an array that is packed as densely as its operand.
        A product with more columns may use a ciphertext for each of them. A program joins a
        selection by indices with the product, with the same effect, so that this is a tile.
        """
        count, features = len(self.differences.matrix), x.shape[1]
        return x if count == features else np.tile(x, (1, -(-count // features)))[:, :count]


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The leaves of all trees of a model, for the rows that it is applied to.

    If all trees have a single leaf, there are no groups.
    """

    groups: tuple[TreeGroup, ...]

    def __call__(self, x: Any) -> tuple[Any, ...]:
        """Return 1 for the leaves where rows are and 0 elsewhere, as an array for each group.

        Without groups, the rows are returned. They have the right shape, and no influence.
        """
        return tuple(group(x) for group in self.groups) or (x,)

    def undecided(self, encoded: _Doubles, gap: float | None = None) -> _Booleans:
        """Return True for each row that may be in another leaf of a tree than in scikit-learn.

        This holds if a value that decides on the leaf is nearer to its threshold than `gap`, which
        is a share of the largest distance. The default is the gap of the comparisons.
        """
        found = np.zeros(len(encoded), dtype=np.bool_)
        for group in self.groups:
            found |= group.undecided(encoded, group.gap if gap is None else gap)
        return found


def tree_leaves(model: Any, before: Affine, sample: _Doubles) -> tuple[Trees, Affine]:
    """Return the leaves of a fitted tree, forest or gradient boosting, and the map to its results.

    `before` maps encoded rows to the features that the model was fitted to. `sample` holds encoded
    rows. The distances of their values from the thresholds determine the gap of the comparisons,
    which is the least distance, within limits. A threshold that is nearer to a value of the sample
    than the gap is moved away from it, at most to the middle between its neighbours in the sample.

    The results are the mean shares of classes of trees and forests, the log odds of a gradient
    boosting that classifies, and the predictions of regressors. They have two axes.
    """
    nodes, outputs, _ = parts(model, shares=True)
    if outputs == "shares":
        nodes = [_with_all_shares(tree) for tree in nodes]
    trees = [_boxes(tree) for tree in nodes]
    _check_sizes(model, trees)
    shift = np.sum([tree.usual for tree in trees], axis=0) / len(trees)
    trees = [tree for tree in trees if tree.leaves]
    if not trees:
        # Every row has the same result.
        return Trees(()), Affine(np.zeros((len(before.matrix), len(shift))), shift)
    features = as_compared(before(sample), row_type(model), "from_sklearn")
    splits = _Splits.of_trees(trees, before, before(sample), features, row_type(model))
    bounds = max(len(leaf.bounds) for tree in trees for leaf in tree.leaves)
    together = _grouped(trees)
    # All groups have the same number of columns, so that the rows are repeated once.
    width = max(len(before.matrix), *(sum(map(_columns_of, some)) for some in together))
    groups, values, first = [], [], 0
    for some in together:
        last = first + sum(len(tree.nodes) for tree in some)
        group, of_group = _group(some, splits.part(first, last), before, width, bounds)
        groups.append(group)
        values.append(of_group / len(nodes))
        first = last
    return Trees(tuple(groups)), Affine(np.concatenate(values), shift)


def _with_all_shares(tree: Nodes) -> Nodes:
    """Return a tree with the shares of all classes, from those of all but the first class."""
    first = 1.0 - np.sum(tree.values, axis=1, keepdims=True)
    values = np.column_stack([first, tree.values])
    return Nodes(tree.features, tree.thresholds, tree.left, tree.right, values)


def _check_sizes(model: Any, trees: Sequence[_Boxes]) -> None:
    """Refuse models with too many leaves."""
    counts = [tree.count for tree in trees]
    if max(counts) > _MAX_LEAVES_OF_TREE:
        raise ArgumentError(
            f"from_sklearn: a tree of this {name_of(model)} has {max(counts)} leaves, and at most "
            f"{_MAX_LEAVES_OF_TREE} are supported. Fit it with max_leaf_nodes or a smaller "
            "max_depth."
        )
    if sum(counts) > _MAX_LEAVES:
        number = "max_iter" if hasattr(model, "max_iter") else "n_estimators"
        raise ArgumentError(
            f"from_sklearn: the {len(trees)} trees of this {name_of(model)} have {sum(counts)} "
            f"leaves, and at most {_MAX_LEAVES} are supported. Fit it with a smaller {number}, "
            "max_leaf_nodes or max_depth."
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    """A leaf: the node of each of its bounds, with True for a lower bound, and its values."""

    bounds: list[tuple[int, bool]]
    values: _Doubles


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """A tree as boxes.

    - `nodes`: the numbers of the nodes that are bounds, from the left to the right.
    - `features` and `thresholds`: those of these nodes.
    - `leaves`: the leaves whose values are not the usual ones, from the left to the right.
    - `usual`: the most common values of the leaves. The leaves that have them need no box.
    - `count`: the number of all leaves.
    """

    nodes: list[int]
    features: _Integers
    thresholds: _Doubles
    leaves: list[_Leaf]
    usual: _Doubles
    count: int


def _boxes(tree: Nodes) -> _Boxes:
    """Return the leaves of a tree as boxes."""
    order: list[int] = []
    leaves: list[_Leaf] = []
    # A node is visited after its left part, if there is None instead of its bounds.
    stack: list[tuple[int, dict[tuple[int, bool], int] | None]] = [(0, {})]
    while stack:
        node, bounds = stack.pop()
        if bounds is None:
            order.append(node)
        elif tree.left[node] < 0:
            sides = [(at, is_lower) for (_, is_lower), at in bounds.items()]
            leaves.append(_Leaf(sides, tree.values[node]))
        else:
            # A bound further down is tighter, and replaces that of the same side.
            feature = int(tree.features[node])
            stack.append((int(tree.right[node]), {**bounds, (feature, True): node}))
            stack.append((node, None))
            stack.append((int(tree.left[node]), {**bounds, (feature, False): node}))
    values = np.array([leaf.values for leaf in leaves])
    _, firsts, counts = np.unique(values, axis=0, return_index=True, return_counts=True)
    # If several values are equally common, those of the first leaf are taken.
    usual = values[np.min(firsts[counts == np.max(counts)])]
    kept = [leaf for leaf in leaves if not np.array_equal(leaf.values, usual)]
    used = {node for leaf in kept for node, _ in leaf.bounds}
    nodes = [node for node in order if node in used]
    return _Boxes(nodes, tree.features[nodes], tree.thresholds[nodes], kept, usual, len(leaves))


@dataclass(frozen=True, slots=True, eq=False)
class _Splits:
    """The comparisons of nodes: of a feature less `at`, divided by `bound`.

    `features` has the number of the feature, or -1 if the answer is always that of `at`.
    `thresholds` and `compared` are as in `TreeGroup`.
    """

    features: _Integers
    at: _Doubles
    bound: _Doubles
    thresholds: _Doubles
    compared: str
    gap: float

    @classmethod
    def of_trees(
        cls,
        trees: Sequence[_Boxes],
        before: Affine,
        values: _Doubles,
        rounded: _Doubles,
        compared: str,
    ) -> _Splits:
        """Return the comparisons of all nodes, for the `values` of the features in the sample.

        `rounded` are the values as scikit-learn compares them, which has the type `compared`.
        """
        feature = np.concatenate([tree.features for tree in trees])
        threshold = np.concatenate([tree.thresholds for tree in trees]).astype(np.float64)
        radius = np.sum(np.abs(before.matrix), axis=0)
        low, high = (before.shift - radius)[feature], (before.shift + radius)[feature]
        # The nearest values of the sample on either side.
        below, above = np.full(feature.shape, -np.inf), np.full(feature.shape, np.inf)
        for one in np.unique(feature):
            mine = feature == one
            ordered = np.concatenate([[-np.inf], np.sort(values[:, one]), [np.inf]])
            # Values of the sample that are equal to a threshold may be rounded to either side.
            most = threshold[mine] + _EQUAL * radius[one]
            place = np.searchsorted(np.sort(rounded[:, one]), most, side="right")
            below[mine], above[mine] = ordered[place], ordered[place + 1]
        bound = np.maximum(high - np.maximum(below, low), np.minimum(above, high) - low)
        bound *= 1.0 + _ROUNDING
        is_known = (threshold >= high) | (threshold < low)
        half = 0.5 * above - 0.5 * below
        least = np.min(half[~is_known] / bound[~is_known], initial=np.inf)
        gap = float(np.clip(least, LEAST_GAP, _LARGEST_GAP))
        # Move thresholds as little as is enough for the gap, or else to the middle.
        moved = np.clip(threshold, below + gap * bound, above - gap * bound)
        at = np.where(half >= gap * bound, moved, 0.5 * below + 0.5 * above)
        at[is_known] = np.where(threshold >= high, 1.0, -1.0)[is_known]
        bound[is_known] = 1.0
        # Features that are computed from encoded rows may differ from a threshold by rounding.
        limits = np.where(is_known, at, threshold + _EQUAL * bound)
        known = np.where(is_known, -1, feature)
        return cls(known, at, bound, limits, compared, gap * _SHARE_OF_GAP)

    def part(self, first: int, last: int) -> _Splits:
        """Return the comparisons of some nodes."""
        own = slice(first, last)
        return _Splits(
            self.features[own],
            self.at[own],
            self.bound[own],
            self.thresholds[own],
            self.compared,
            self.gap,
        )


def _columns_of(tree: _Boxes) -> int:
    """Return the number of columns that a tree needs."""
    return max(len(tree.nodes), len(tree.leaves))


def _grouped(trees: Sequence[_Boxes]) -> list[list[_Boxes]]:
    """Return the trees in groups that fill the columns, each with at least one tree."""
    groups: list[list[_Boxes]] = [[]]
    columns = 0
    for tree in trees:
        if groups[-1] and columns + _columns_of(tree) > _COLUMNS_OF_GROUP:
            groups.append([])
            columns = 0
        groups[-1].append(tree)
        columns += _columns_of(tree)
    return groups


def _group(
    trees: Sequence[_Boxes], splits: _Splits, before: Affine, count: int, bounds: int
) -> tuple[TreeGroup, _Doubles]:
    """Return the group of these trees in `count` columns, and the values of the leaf in each."""
    starts = np.cumsum([0, *map(_columns_of, trees[:-1])])
    # Nodes and leaves of a tree are in columns close to each other, so that the matrices have
    # entries near their diagonals only. That makes products fast.
    columns = np.concatenate(
        [start + np.arange(len(tree.nodes)) for start, tree in zip(starts, trees, strict=True)]
    )
    known = splits.features < 0
    slopes = np.where(known, 0.0, before.matrix[:, splits.features] / splits.bound)
    offsets = np.where(known, 0.0, before.shift[splits.features])
    shift, thresholds = -np.ones(count), np.zeros(count)
    at, scale = np.zeros(count), np.ones(count)
    shift[columns] = (offsets - splits.at) / splits.bound
    thresholds[columns], at[columns] = splits.thresholds, splits.at
    scale[columns] = splits.bound
    differences = Affine(_on_repeated(slopes, columns, count), shift)
    matrix, target = np.zeros((count, count)), np.full(count, 0.5 - bounds)
    values = np.zeros((count, len(trees[0].usual)))
    for start, tree in zip(starts, trees, strict=True):
        place = {node: start + index for index, node in enumerate(tree.nodes)}
        for column, leaf in enumerate(tree.leaves, start=start):
            values[column] = leaf.values - tree.usual
            # The answer is 1 where a lower bound holds, and 0 where an upper bound holds.
            target[column] = 0.5 - sum(is_lower for _, is_lower in leaf.bounds)
            for node, is_lower in leaf.bounds:
                matrix[place[node], column] = 1.0 if is_lower else -1.0
    # Each answer is the leaf of its own column if all bounds are lower bounds of different leaves.
    is_same = bounds == 1 and np.array_equal(matrix, np.diag(np.any(values, axis=1)))
    leaves = None if is_same else Affine(matrix, target)
    compared, gap = splits.compared, splits.gap
    return TreeGroup(differences, leaves, at, scale, thresholds, compared, gap, bounds), values


def _on_repeated(slopes: _Doubles, columns: _Integers, count: int) -> _Doubles:
    """Return a matrix for repeated columns that gives the results `slopes` gives for a row.

    `slopes` has a column for each of `columns` of the matrix. Of the repetitions of a feature, the
    nearest to the column is used.
    """
    features = len(slopes)
    matrix = np.zeros((count, count))
    for feature in range(features):
        places = columns - (columns - feature + features // 2) % features + features // 2
        places = np.where(places < 0, places + features, places)
        places = np.where(places >= count, places - features, places)
        matrix[places, columns] = slopes[feature]
    return matrix
