"""The conversion of fitted trees of scikit-learn to the arrays of private decision trees."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.values.operands import real_numbers, rows_of_doubles

if TYPE_CHECKING:
    _Doubles = npt.NDArray[np.float64]
    _Integers = npt.NDArray[np.intp]
    _Pair = tuple[_Doubles, _Doubles]
    _Outputs = Literal["class", "shares", "values", "scores"]
    _Classes = tuple[int | float | str | bool, ...]
    _RowType = Literal["float32", "float64"]

# Values with more decimals than this are not regarded as decimal numbers. Chosen, as float32 has 7
# significant digits.
_MOST_DECIMALS = 6
# Minimum distance of decimal numbers as a multiple of the distance of floats. With 8, a random
# float is one of the decimal numbers with a probability of at most 1/8.
_LEAST_SPACING = 8


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a tree: features, thresholds, children, and the values of all outputs."""

    features: _Integers
    thresholds: _Doubles
    left: _Integers
    right: _Integers
    values: _Doubles

    def lists(
        self, digits: _Integers
    ) -> tuple[list[int], list[float], list[int], list[int], list[int], list[Any]]:
        """Return the arrays as lists, with the digits to compare, for the extension module."""
        children = self.left.tolist(), self.right.tolist()
        return (
            self.features.tolist(),
            self.thresholds.tolist(),
            digits.tolist(),
            *children,
            self.values.tolist(),
        )


def parts(model: Any, *, shares: bool = False) -> tuple[list[Nodes], _Outputs, _Classes | None]:
    """Return the trees of a fitted model, the kind of their outputs, and the classes.

    A result of the model is the mean of the results of its trees. A single tree that classifies
    has classes as results. With `shares`, it has shares of classes, as a forest has.
    """
    if hasattr(model, "_predictors") and hasattr(model, "is_categorical_"):
        return _of_histograms(model)
    estimators: Any = getattr(model, "estimators_", None)
    boosted = isinstance(estimators, np.ndarray) and hasattr(model, "learning_rate")
    forest = isinstance(estimators, list) and hasattr(model, "n_outputs_")
    of_trees: list[Any] = list(estimators.flat) if boosted else estimators if forest else [model]
    others = hasattr(model, "estimators_features_") or hasattr(model, "estimator_weights_")
    if (
        others
        or not hasattr(model, "predict")
        or not all(hasattr(tree, "tree_") for tree in of_trees)
    ):
        fitted = (
            "one that is not fitted: "
            if hasattr(model, "fit") and not hasattr(model, "n_features_in_")
            else ""
        )
        what = f"{fitted}{type(model).__name__}{_hint(model)}"
        raise TypeError(
            f"from_sklearn takes a fitted decision tree, random forest or gradient boosting, not {what}"
        )
    classes = _classes_of(model)
    if boosted:
        return _boosted(model, classes), "values" if classes is None else "scores", classes
    of_classes: _Outputs = "shares" if forest or shares else "class"
    outputs = "values" if classes is None else of_classes
    return [_nodes_of(tree, outputs) for tree in of_trees], outputs, classes


def _classes_of(model: Any) -> _Classes | None:
    if not hasattr(model, "classes_"):
        return None
    if getattr(model, "n_outputs_", 1) != 1 or len(model.classes_) < 2:
        raise ArgumentError(
            "from_sklearn: the classifier has several targets or a single class, where one target and at least two "
            "classes are needed. Fit one model for each target."
        )
    classes = tuple(np.asarray(model.classes_).tolist())
    if (
        not all(isinstance(one, (bool, int, float, str)) for one in classes)
        or model.classes_.dtype.kind in "mM"
    ):
        raise ArgumentError(
            f"from_sklearn: the classes are of type {model.classes_.dtype} ({classes[0]!r}, ..): the interface can "
            "hold numbers, booleans and text, so fit the trees to labels that are"
        )
    return classes


def _boosted(model: Any, classes: _Classes | None) -> list[Nodes]:
    """Return the trees of a gradient boosting, with values whose mean is the result.

    A gradient boosting adds the results of its stages, times the learning rate, to a start. The
    start has a number for each output, and a stage has a tree for each output. For a classifier,
    the results are log odds.
    """
    if model.init is not None and model.init != "zero":
        raise ArgumentError(
            "from_sklearn: a gradient boosting that starts from another model (init) is not possible"
        )
    stages, anywhere = model.estimators_, np.zeros((1, model.n_features_in_))
    with warnings.catch_warnings():
        # Ignore the warning that the row has no feature names.
        warnings.simplefilter("ignore", UserWarning)
        result = (model.predict if classes is None else model.decision_function)(anywhere).reshape(
            -1
        )
    of_stages = [[tree.predict(anywhere)[0] for tree in stage] for stage in stages]
    start = result - model.learning_rate * np.sum(of_stages, axis=0)
    # The exponential loss uses half of the log odds.
    factor = 2.0 if getattr(model, "loss", "") == "exponential" else 1.0
    nodes = [[_nodes_of(tree, "values") for tree in stage] for stage in stages]
    return _added(nodes, factor * start, factor * model.learning_rate)


def _added(stages: list[list[Nodes]], start: _Doubles, rate: float) -> list[Nodes]:
    """Return trees whose mean is the start plus the learning rate times the sum of the stages.

    Each stage has a tree for each output.
    """
    count, trees = sum(map(len, stages)), []
    for output, tree in ((k, tree) for stage in stages for k, tree in enumerate(stage)):
        values = np.tile(start, (len(tree.values), 1))
        values[:, output] += rate * count * tree.values[:, 0]
        trees.append(replace(tree, values=values))
    return trees


def _of_histograms(model: Any) -> tuple[list[Nodes], _Outputs, _Classes | None]:
    """Return the same as `parts`, for a histogram-based gradient boosting."""
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise ArgumentError(
            "from_sklearn: trees that split by categories are not possible: encode them as numbers"
        )
    if model.loss in {"gamma", "poisson"}:
        raise ArgumentError(
            f"from_sklearn: results of the loss {model.loss!r} are exponentials of the sum of the trees: fit "
            "logarithms of the targets with the loss 'squared_error'"
        )
    stages = []
    for stage in model._predictors:
        for nodes in (predictor.nodes for predictor in stage):
            _check_thresholds(nodes["num_threshold"][nodes["is_leaf"] == 0])
        stages.append([_nodes_of_histograms(predictor.nodes) for predictor in stage])
    classes = _classes_of(model)
    start = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    return _added(stages, start, 1.0), "values" if classes is None else "scores", classes


def _nodes_of_histograms(nodes: Any) -> Nodes:
    leaf = nodes["is_leaf"] != 0
    left, right = (np.where(leaf, -1, nodes[side].astype(np.intp)) for side in ("left", "right"))
    features = np.where(leaf, -1, nodes["feature_idx"].astype(np.intp))
    return Nodes(
        features,
        nodes["num_threshold"],
        left,
        right,
        nodes["value"].astype(np.float64)[:, np.newaxis],
    )


def _check_thresholds(thresholds: _Doubles) -> None:
    if np.isinf(thresholds).any():
        raise ArgumentError(
            "from_sklearn: these trees split on missing values, and encrypted rows cannot have any: fit trees "
            "to rows without missing values (impute them)"
        )


def _hint(model: Any) -> str:
    """Return advice if a part of the model is a tree that could be given instead."""
    if hasattr(model, "best_estimator_"):
        return ": pass its best_estimator_"
    if hasattr(model, "steps"):
        return (
            ": pass its last step, model[-1], and apply the steps before it to samples and rows "
            "of queries"
        )
    return ""


def _nodes_of(estimator: Any, outputs: _Outputs) -> Nodes:
    tree = estimator.tree_
    _check_thresholds(tree.threshold[tree.children_left >= 0])
    # The axes are nodes, targets and classes.
    values = np.asarray(tree.value, dtype=np.float64)
    if outputs == "class":
        values = np.argmax(values[:, 0, :], axis=1)[:, np.newaxis].astype(np.float64)
    elif outputs == "shares":
        values = (values[:, 0, :] / values[:, 0, :].sum(axis=1, keepdims=True))[:, 1:]
    else:
        values = values[:, :, 0]
    return Nodes(tree.feature, tree.threshold, tree.children_left, tree.children_right, values)


def scales_of(trees: list[Nodes]) -> tuple[_Doubles, _Doubles]:
    """Return the largest range of the leaves of a tree for each output, and a scale.

    The scale is the range rounded up to a power of two.
    """
    # Use leaves only: in a histogram-based boosting, the values of other nodes are not yet
    # multiplied by the learning rate.
    spans = np.max([np.ptp(tree.values[tree.features < 0], axis=0) for tree in trees], axis=0)
    spans = np.where(spans > 0, spans, 1.0)
    return spans, np.exp2(np.ceil(np.log2(spans)).clip(-1022, 1023))


def row_type(model: Any) -> _RowType:
    """Return the type of floats in which the trees of a model compare rows with thresholds.

    scikit-learn rounds rows to float32 before it compares them with thresholds of double precision.
    Histogram-based boosting compares doubles.
    """
    return "float64" if hasattr(model, "_predictors") else "float32"


def as_compared(rows: npt.ArrayLike, kind: _RowType, operation: str) -> _Doubles:
    """Return rows of features as doubles, rounded to the type in which trees compare them."""
    values = rows_of_doubles(rows, operation)
    if kind == "float64":
        return values
    # scikit-learn rounds arrays of integers to float32 directly, without rounding to doubles first.
    own = rows if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu" else values
    with np.errstate(over="ignore"):
        rounded = own.astype(np.float32).astype(np.float64)
    beyond = np.argwhere(np.isinf(rounded))
    if len(beyond):
        row, feature = (0, 0, *beyond[0].tolist())[-2:]
        raise ArgumentError(
            f"{operation}: feature {feature} of row {row} is {values[tuple(beyond[0])]}, which is too large for "
            "float32. scikit-learn's trees compare rows in float32 and refuse it too."
        )
    return rounded


def knots_of(
    rows: _Doubles | None, ranges: tuple[npt.ArrayLike, npt.ArrayLike] | None, features: int
) -> tuple[tuple[float, ...], ...]:
    """Return the knots of each feature, from the rows of a sample or else from ranges."""
    if rows is not None:
        if rows.ndim != 2 or rows.shape[1] != features:
            raise ShapeError(
                f"from_sklearn: a sample of rows of {features} features is needed, not {rows.shape}"
            )
        return tuple(
            tuple(knots) for knots in _native.feature_knots(features, rows.ravel().tolist())
        )
    try:
        low, high = cast("tuple[npt.ArrayLike, npt.ArrayLike]", ranges)
    except (TypeError, ValueError):
        raise TypeError(
            "from_sklearn: ranges are (low, high), the least and the largest value of each feature"
        ) from None
    low, high = (real_numbers(end, "from_sklearn").copy() for end in (low, high))
    if low.shape != (features,) or high.shape != (features,):
        raise ShapeError(
            f"from_sklearn: ranges of {features} features are needed, not {low.shape} and {high.shape}"
        )
    # A feature that does not vary gets a range around its value.
    same = low == high
    low[same] -= 1.0
    high[same] += 1.0
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Comparing:
    """The comparison of features by digits. Every digit is finer than the one before."""

    knots: tuple[tuple[float, ...], ...]
    kind: _RowType
    resolutions: tuple[float, ...]
    """The width of a position of the last digit, as a share of the range, for each digit count."""
    margin: float
    """The number of positions between a value and a threshold that makes a comparison certain."""
    names: tuple[str, ...] | None = None

    def name(self, feature: int) -> str:
        """Return the number of a feature, and its name if it has one."""
        return f"{feature}" if self.names is None else f"{feature} ({self.names[feature]!r})"

    def shares(self, feature: int, values: _Doubles) -> _Doubles:
        """Return the shares of the range that clients map values of a feature to."""
        return np.array(_native.feature_shares(self.knots[feature], values.tolist()))

    def values(self, feature: int, shares: _Doubles) -> _Doubles:
        """Return the values of a feature that have these shares."""
        knots = self.knots[feature]
        return np.interp(shares, np.linspace(0.0, 1.0, len(knots)), knots)


@dataclass(frozen=True, slots=True)
class Placed:
    """Trees whose thresholds were moved away from values."""

    trees: list[Nodes]
    digits: list[_Integers]
    """For each tree, the number of digits that each node compares. For leaves it has no meaning."""
    unresolved: str | None
    """A sentence about splits whose neighbouring values are too near to each other, if any."""


def check_inside(trees: list[Nodes], how: Comparing) -> None:
    """Refuse splits outside the ranges, because they would send all rows to the same side.

    Values beyond a range are replaced by its end.
    """
    for tree in trees:
        for feature, threshold in zip(
            tree.features[tree.left >= 0], tree.thresholds[tree.left >= 0], strict=True
        ):
            low, high = how.knots[feature][0], how.knots[feature][-1]
            if not low <= threshold < high:
                raise ArgumentError(
                    f"from_sklearn: feature {how.name(feature)} is split at {threshold:.12g}, outside its range from "
                    f"{low:.12g} to {high:.12g}. Give a sample or ranges with values on either side, or pass "
                    "clamp=True if rows never leave the range."
                )


def placed(trees: list[Nodes], rows: _Doubles | None, how: Comparing) -> Placed:
    """Return the trees with thresholds moved away from values, and the digits that they compare.

    A comparison is certain for values that are at least `Comparing.margin` positions away from the
    threshold. A threshold therefore compares enough digits for that distance to fit between its
    neighbours, and moves away from a neighbour that is too near. The neighbours of a threshold are:

    - If the sample has integers or decimal numbers with a few digits after the point for the
      feature, the nearest such numbers, in the sample or not.
    - Otherwise, with a sample, its nearest values.
    - Without a sample, the nearest integers if all thresholds are integers or half-way between two.
      Otherwise they are the nearest floats.
    """
    splits = [tree.left >= 0 for tree in trees]
    feature = np.concatenate(
        [tree.features[inner] for tree, inner in zip(trees, splits, strict=True)]
    )
    threshold = np.concatenate(
        [tree.thresholds[inner] for tree, inner in zip(trees, splits, strict=True)]
    )
    moved, digits, finer = threshold.astype(np.float64), np.ones(threshold.shape, dtype=np.intp), []
    for one in np.unique(feature).tolist():
        mine = feature == one
        inside = mine & (how.knots[one][0] <= moved) & (moved < how.knots[one][-1])
        column = None if rows is None else np.unique(rows[:, one])
        decimals = _decimals(2 * moved[mine] if column is None else column, how.kind)
        near = _neighbours(one, moved[inside], column, decimals, how)
        low, high = near[-1]
        moved[inside], digits[inside], certain = _separated_thresholds(
            one, moved[inside], near, how
        )
        if column is not None or decimals == 0:
            tight = np.flatnonzero(~certain)
            finer += [(one, *(float(x[i]) for x in (threshold[inside], low, high))) for i in tight]
    trees = [replace(tree, thresholds=tree.thresholds.astype(np.float64)) for tree in trees]
    counts = [np.ones(tree.left.shape, dtype=np.intp) for tree in trees]
    ends = np.cumsum([np.count_nonzero(inner) for inner in splits])[:-1]
    each = zip(trees, counts, splits, np.split(moved, ends), np.split(digits, ends), strict=True)
    for tree, count, inner, own, of_own in each:
        tree.thresholds[inner], count[inner] = own, of_own
    what = None
    if finer:
        one, at, least, most = finer[0]
        what = (
            f"the tables do not resolve {len(finer)} of {len(threshold)} splits. The first is that of feature "
            f"{how.name(one)} at {at:.12g}, between the values {least:.12g} and {most:.12g}."
        )
    return Placed(trees, counts, what)


def _separated_thresholds(
    feature: int, thresholds: _Doubles, neighbours: list[_Pair], how: Comparing
) -> tuple[_Doubles, _Integers, npt.NDArray[np.bool_]]:
    """Return the final thresholds, how many digits they compare, and which of them are certain.

    Each threshold is placed between its first pair of neighbours that some number of digits
    separates, and compares the least such number. If there is none, it stays and compares all
    digits.
    """
    at = how.shares(feature, thresholds)
    moved, certain = thresholds.copy(), np.zeros(thresholds.shape, dtype=bool)
    digits = np.full(thresholds.shape, len(how.resolutions), dtype=np.intp)
    for near in neighbours:
        start, end = (how.shares(feature, values) for values in near)
        for count, width in enumerate(how.resolutions, start=1):
            # Thresholds lie half-way between two positions.
            first = np.ceil(start / width + how.margin - 0.5) + 0.5
            last = np.floor(end / width - how.margin - 0.5) + 0.5
            own = how.values(feature, np.clip(np.floor(at / width) + 0.5, first, last) * width)
            found = np.floor(how.shares(feature, own) / width) + 0.5
            fits = ~certain & (first <= found) & (found <= last)
            moved = np.where(fits, own, moved)
            digits = np.where(fits, count, digits)
            certain = certain | fits
    return moved, digits, certain


def _neighbours(
    feature: int,
    thresholds: _Doubles,
    column: _Doubles | None,
    decimals: int | None,
    how: Comparing,
) -> list[_Pair]:
    """Return pairs of values on either side of thresholds that must be separated, nearest first."""
    if column is None:
        of_integers = decimals == 0
        return [
            _decimal_neighbours(thresholds, 0, how.kind)
            if of_integers
            else _floats(thresholds, how.kind)
        ]
    knots = how.knots[feature]
    points = np.unique(np.concatenate([[knots[0]], column, [knots[-1]]]))
    above = np.searchsorted(points, thresholds, side="right")
    of_sample = points[above - 1], points[above]
    if decimals is None:
        return [of_sample]
    low, high = _decimal_neighbours(thresholds, decimals, how.kind)
    return [(np.maximum(low, of_sample[0]), np.minimum(high, of_sample[1])), of_sample]


def _floats(thresholds: _Doubles, kind: _RowType) -> _Pair:
    """Return the nearest floats: one at most as large as a threshold, and one above it."""
    low = thresholds.astype(kind)
    low = np.where(low > thresholds, np.nextafter(low, low.dtype.type(-np.inf)), low)
    return low.astype(np.float64), np.nextafter(low, low.dtype.type(np.inf)).astype(np.float64)


def _decimals(values: _Doubles, kind: _RowType) -> int | None:
    """Return the least number of digits after the point that is enough for all values, if small."""
    rounded = values.astype(kind)
    spacing = float(np.spacing(np.max(np.abs(rounded))))
    for decimals in range(_MOST_DECIMALS + 1):
        if decimals and 10.0**-decimals < _LEAST_SPACING * spacing:
            break
        if np.array_equal(_rounded(values * 10.0**decimals, decimals, kind), rounded):
            return decimals
    return None


def _rounded(steps: _Doubles, decimals: int, kind: _RowType) -> npt.NDArray[np.floating[Any]]:
    """Return decimal numbers, given in units of their last digit, as floats."""
    return (np.rint(steps) / 10.0**decimals).astype(kind)


def _decimal_neighbours(thresholds: _Doubles, decimals: int, kind: _RowType) -> _Pair:
    """Return the nearest decimal numbers as floats: one up to a threshold, and one above it."""
    steps = np.floor(thresholds * 10.0**decimals)[:, np.newaxis] + np.arange(-1.0, 3.0)
    numbers, at = _rounded(steps, decimals, kind).astype(np.float64), thresholds[:, np.newaxis]
    low = np.max(numbers, axis=1, initial=-np.inf, where=numbers <= at)
    high = np.min(numbers, axis=1, initial=np.inf, where=numbers > at)
    # All floats that are too large for decimal neighbours are integers.
    floats, few = _floats(thresholds, kind), np.isinf(low) | np.isinf(high)
    return np.where(few, floats[0], low), np.where(few, floats[1], high)


def feature_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the features that a model was fitted to, if it knows them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def check_columns(rows: Any, names: tuple[str, ...] | None, operation: str) -> None:
    """Check that a data frame, or a row of one, has the columns of the trees in their order."""
    columns = getattr(rows, "columns", None)
    labels = getattr(rows, "index", None) if columns is None else columns
    if names is None or labels is None or callable(labels):
        return
    have = tuple(str(label) for label in labels)
    # A row without feature names has integer labels. Only its length is checked, elsewhere.
    if have != names and (
        columns is not None or not all(isinstance(label, (int, np.integer)) for label in labels)
    ):
        raise ShapeError(
            f"{operation}: the columns are {list(have)}, where {list(names)} are needed, in this order"
        )


def deviations(deviation: npt.ArrayLike, outputs: int) -> _Doubles:
    """Return a deviation for each output."""
    each = real_numbers(deviation, "from_sklearn")
    if each.shape not in {(), (outputs,)}:
        raise ShapeError(
            f"from_sklearn: a deviation, or one for each of {outputs} outputs, not {each.shape}"
        )
    if not (np.isfinite(each) & (each > 0)).all():
        raise ArgumentError(
            f"from_sklearn: a deviation of {each.tolist()}, where positive numbers are needed"
        )
    return np.broadcast_to(each, (outputs,))
