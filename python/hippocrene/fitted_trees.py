"""What private decision trees take over from fitted ones of scikit-learn: arrays, and nothing else."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hippocrene import _native
from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.values import real_numbers, rows_of_doubles

if TYPE_CHECKING:
    import numpy.typing as npt

    _Doubles = npt.NDArray[np.float64]
    _Integers = npt.NDArray[np.intp]
    _Outputs = Literal["class", "shares", "values", "scores"]
    _Classes = tuple[int | float | str | bool, ...]


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a tree: features, thresholds, left and right children, and for each the values of all outputs."""

    features: _Integers
    thresholds: _Doubles
    left: _Integers
    right: _Integers
    values: _Doubles

    def of_values(self, values: _Doubles) -> Nodes:
        """Return the same tree with other values."""
        return replace(self, values=values)

    def lists(self) -> tuple[list[int], list[float], list[int], list[int], list[list[float]]]:
        """Return what it consists of as the extension module takes it."""
        children = self.left.tolist(), self.right.tolist()
        return self.features.tolist(), self.thresholds.tolist(), *children, self.values.tolist()


def parts(model: Any) -> tuple[list[Nodes], _Outputs, _Classes | None]:
    """Return the trees of a fitted model, of which results are the means, what these are, and classes."""
    if hasattr(model, "_predictors") and hasattr(model, "is_categorical_"):
        return _of_histograms(model)
    estimators: Any = getattr(model, "estimators_", None)
    boosted = isinstance(estimators, np.ndarray) and hasattr(model, "learning_rate")
    forest = isinstance(estimators, list) and hasattr(model, "n_outputs_")
    of_trees: list[Any] = list(estimators.flat) if boosted else estimators if forest else [model]
    others = hasattr(model, "estimators_features_") or hasattr(model, "estimator_weights_")
    if others or not hasattr(model, "predict") or not all(hasattr(tree, "tree_") for tree in of_trees):
        fitted = "one that is not fitted: " if hasattr(model, "fit") and not hasattr(model, "n_features_in_") else ""
        what = f"{fitted}{type(model).__name__}{_hint(model)}"
        raise TypeError(f"from_sklearn takes a fitted decision tree, random forest or gradient boosting, not {what}")
    classes = _classes_of(model)
    if boosted:
        return _boosted(model, classes), "values" if classes is None else "scores", classes
    outputs: _Outputs = "values" if classes is None else "shares" if forest else "class"
    return [_nodes_of(tree, outputs) for tree in of_trees], outputs, classes


def _classes_of(model: Any) -> _Classes | None:
    if not hasattr(model, "classes_"):
        return None
    if getattr(model, "n_outputs_", 1) != 1 or len(model.classes_) < 2:
        raise ArgumentError("from_sklearn: classifiers of one target and at least two classes are possible")
    classes = tuple(np.asarray(model.classes_).tolist())
    if not all(isinstance(one, (bool, int, float, str)) for one in classes) or model.classes_.dtype.kind in "mM":
        raise ArgumentError(
            f"from_sklearn: the classes are of type {model.classes_.dtype} ({classes[0]!r}, ..): the interface can "
            "hold numbers, booleans and text, so fit the trees to labels that are"
        )
    return classes


def _boosted(model: Any, classes: _Classes | None) -> list[Nodes]:
    """Return the trees of a gradient boosting, with values of which it has the means: scores are log odds.

    It starts from a number for each output and adds what its stages say, each with one tree for each output, times the
    learning rate.
    """
    if model.init is not None and model.init != "zero":
        raise ArgumentError("from_sklearn: a gradient boosting that starts from another model (init) is not possible")
    stages, anywhere = model.estimators_, np.zeros((1, model.n_features_in_))
    with warnings.catch_warnings():
        # That the row has no names of features.
        warnings.simplefilter("ignore", UserWarning)
        result = (model.predict if classes is None else model.decision_function)(anywhere).reshape(-1)
    of_stages = [[tree.predict(anywhere)[0] for tree in stage] for stage in stages]
    start = result - model.learning_rate * np.sum(of_stages, axis=0)
    # The exponential loss is of half of the log odds.
    factor = 2.0 if getattr(model, "loss", "") == "exponential" else 1.0
    nodes = [[_nodes_of(tree, "values") for tree in stage] for stage in stages]
    return _added(nodes, factor * start, factor * model.learning_rate)


def _added(stages: list[list[Nodes]], start: _Doubles, rate: float) -> list[Nodes]:
    """Return trees of which the mean is what stages, with a tree for each output, add to a start, times the rate."""
    count, trees = sum(map(len, stages)), []
    for output, tree in ((k, tree) for stage in stages for k, tree in enumerate(stage)):
        values = np.tile(start, (len(tree.values), 1))
        values[:, output] += rate * count * tree.values[:, 0]
        trees.append(tree.of_values(values))
    return trees


def _of_histograms(model: Any) -> tuple[list[Nodes], _Outputs, _Classes | None]:
    """Return what `parts` does of a histogram-based gradient boosting."""
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise ArgumentError("from_sklearn: trees that split by categories are not possible: encode them as numbers")
    if model.loss in {"gamma", "poisson"}:
        raise ArgumentError(
            f"from_sklearn: results of the loss {model.loss!r} are exponentials of what trees add up: fit logarithms "
            "of the targets with the loss 'squared_error'"
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
    return Nodes(features, nodes["num_threshold"], left, right, nodes["value"].astype(np.float64)[:, np.newaxis])


def _check_thresholds(thresholds: _Doubles) -> None:
    if np.isinf(thresholds).any():
        raise ArgumentError(
            "from_sklearn: these trees split by whether a value is missing, which encrypted rows cannot say: fit trees "
            "to rows without missing values (impute them)"
        )


def _hint(model: Any) -> str:
    """Say what of a model may be a tree, where it has a part that is."""
    if hasattr(model, "best_estimator_"):
        return ": take its best_estimator_"
    if hasattr(model, "steps"):
        return (
            ": take its last step, model[-1], whose samples and queries are rows that the steps before were applied to"
        )
    return ""


def _nodes_of(estimator: Any, outputs: _Outputs) -> Nodes:
    tree = estimator.tree_
    _check_thresholds(tree.threshold[tree.children_left >= 0])
    # Nodes, targets, and classes.
    values = np.asarray(tree.value, dtype=np.float64)
    if outputs == "class":
        values = np.argmax(values[:, 0, :], axis=1)[:, np.newaxis].astype(np.float64)
    elif outputs == "shares":
        values = (values[:, 0, :] / values[:, 0, :].sum(axis=1, keepdims=True))[:, 1:]
    else:
        values = values[:, :, 0]
    return Nodes(tree.feature, tree.threshold, tree.children_left, tree.children_right, values)


def scales_of(trees: list[Nodes]) -> tuple[_Doubles, _Doubles]:
    """Return the largest range of the values of a tree's leaves, for each output, and a power of two as large."""
    # Other nodes of a histogram-based boosting have values that are not yet times the learning rate.
    spans = np.max([np.ptp(tree.values[tree.features < 0], axis=0) for tree in trees], axis=0)
    spans = np.where(spans > 0, spans, 1.0)
    return spans, np.exp2(np.ceil(np.log2(spans)).clip(-1022, 1023))


def beyond_thresholds(trees: list[Nodes], features: int) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    """Return a range for each feature from its thresholds: to powers of two, a fifth of these away at least."""
    largest, negative = np.zeros(features), np.zeros(features, dtype=bool)
    for tree in trees:
        inner = tree.features >= 0
        feature, threshold = tree.features[inner], tree.thresholds[inner]
        np.maximum.at(largest, feature, abs(threshold))
        np.logical_or.at(negative, feature, threshold <= 0)
    exponents = np.ceil(np.log2(1.25 * largest, where=largest > 0, out=np.zeros(features)))
    high = np.exp2(exponents)
    return np.where(negative, -high, -high / 4), high


def between_integers(trees: list[Nodes], sample: npt.ArrayLike) -> list[Nodes]:
    """Return the same trees on integers, with no thresholds at them, of features that are integers in a sample."""
    rows = rows_of_doubles(sample, "from_sklearn")
    whole = np.all(np.rint(rows) == rows, axis=0)

    def moved(tree: Nodes) -> Nodes:
        # Leaves have no feature, and their threshold is not read.
        at_integer = whole[tree.features.clip(0)] & (np.rint(tree.thresholds) == tree.thresholds)
        return replace(tree, thresholds=np.where(at_integer, tree.thresholds + 0.5, tree.thresholds))

    return [moved(tree) for tree in trees]


def knots_of(
    sample: npt.ArrayLike | None, ranges: tuple[npt.ArrayLike, npt.ArrayLike], features: int
) -> tuple[tuple[float, ...], ...]:
    """Return the knots of each feature, from a sample or else from ranges."""
    if sample is not None:
        rows = rows_of_doubles(sample, "from_sklearn")
        if rows.ndim != 2 or rows.shape[1] != features:
            raise ShapeError(f"from_sklearn: a sample of rows of {features} features is needed, not {rows.shape}")
        return tuple(tuple(knots) for knots in _native.feature_knots(features, rows.ravel().tolist()))
    try:
        low, high = ranges
    except (TypeError, ValueError):
        raise TypeError(
            "from_sklearn: ranges are (low, high), the least and the largest value of each feature"
        ) from None
    low, high = (real_numbers(end, "from_sklearn").copy() for end in (low, high))
    if low.shape != (features,) or high.shape != (features,):
        raise ShapeError(f"from_sklearn: ranges of {features} features are needed, not {low.shape} and {high.shape}")
    # A feature that does not vary: any range around it does.
    same = low == high
    low[same] -= 1.0
    high[same] += 1.0
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def feature_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the features that a model was fitted to, if it knows them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def check_columns(rows: Any, names: tuple[str, ...] | None, operation: str) -> None:
    """Check that a data frame, or a row of one, has the columns that the trees were fitted to, in their order."""
    columns = getattr(rows, "columns", None)
    labels = getattr(rows, "index", None) if columns is None else columns
    if names is None or labels is None or callable(labels):
        return
    have = tuple(str(label) for label in labels)
    # A row that has no names of its own is counted.
    if have != names and (columns is not None or not all(isinstance(label, (int, np.integer)) for label in labels)):
        raise ShapeError(f"{operation}: the columns are {list(have)}, where {list(names)} are needed, in this order")


def deviations(deviation: npt.ArrayLike, outputs: int) -> _Doubles:
    """Return a deviation for each output."""
    each = real_numbers(deviation, "from_sklearn")
    if each.shape not in {(), (outputs,)}:
        raise ShapeError(f"from_sklearn: a deviation, or one for each of {outputs} outputs, not {each.shape}")
    if not (np.isfinite(each) & (each > 0)).all():
        raise ArgumentError(f"from_sklearn: a deviation of {each.tolist()}, where positive numbers are needed")
    return np.broadcast_to(each, (outputs,))
