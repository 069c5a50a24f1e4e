"""Trees of scikit-learn as programs of comparisons: their results, and rows near thresholds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

import hippocrene
from hippocrene import ArgumentError, UnsupportedError
from hippocrene.models.affine import Affine
from hippocrene.models.model import Model
from hippocrene.models.model_interface import ModelInterface
from hippocrene.models.sklearn import from_sklearn
from hippocrene.models.tree_programs import tree_leaves

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True, scaled=False)
TWO_TARGETS = DIABETES[0], np.stack([DIABETES[1], DIABETES[0][:, 2]], axis=1)
SEED: dict[str, Any] = {"random_state": 0}


def name(parameter: Any) -> str | None:
    """Return short names of estimators and data for the names of tests."""
    if isinstance(parameter, BaseEstimator):
        steps = [step for _, step in getattr(parameter, "steps", [("", parameter)])]
        return "-".join(type(step).__name__ for step in steps)
    all_data = {"cancer": CANCER, "wine": WINE, "iris": IRIS, "digits": DIGITS}
    known = {id(data): short for short, data in all_data.items()}
    return known.get(id(parameter))


def expected(estimator: Any, rows: Any) -> Any:
    """Return the results of scikit-learn that the default results of a model should have."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not is_classifier(last):
        return estimator.predict(rows)
    if not hasattr(last, "decision_function"):
        return estimator.predict_proba(rows)
    factor = 2 if getattr(last, "loss", "") == "exponential" else 1
    return factor * estimator.decision_function(rows)


def simulated(converted: Model, rows: Any, preset: str = "n16") -> Any:
    encoded = converted.encode(rows)
    return hippocrene.simulate(converted, encoded, interval=converted.interval, preset=preset)


def inside(converted: Model, rows: Any) -> Any:
    """Return the rows that lie in the intervals of the model."""
    low, high = converted.input_intervals.T
    return rows[np.all((low <= rows) & (rows <= high), axis=1)]


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (DecisionTreeClassifier(**SEED), CANCER),
        (DecisionTreeClassifier(**SEED), IRIS),
        (DecisionTreeClassifier(**SEED), DIGITS),
        (DecisionTreeClassifier(max_depth=1, **SEED), WINE),
        (ExtraTreeClassifier(max_depth=6, **SEED), DIGITS),
        (RandomForestClassifier(10, **SEED), CANCER),
        (RandomForestClassifier(5, class_weight="balanced", **SEED), WINE),
        (ExtraTreesClassifier(10, max_depth=5, **SEED), WINE),
        (GradientBoostingClassifier(n_estimators=10, **SEED), WINE),
        (GradientBoostingClassifier(n_estimators=10, loss="exponential", **SEED), CANCER),
        (HistGradientBoostingClassifier(max_iter=5, **SEED), CANCER),
        (HistGradientBoostingClassifier(max_iter=5, **SEED), WINE),
        (DecisionTreeRegressor(**SEED), DIABETES),
        (DecisionTreeRegressor(max_depth=4, **SEED), TWO_TARGETS),
        (ExtraTreeRegressor(max_depth=5, **SEED), DIABETES),
        (RandomForestRegressor(5, **SEED), TWO_TARGETS),
        (ExtraTreesRegressor(4, max_depth=4, **SEED), DIABETES),
        (GradientBoostingRegressor(n_estimators=10, **SEED), DIABETES),
        (HistGradientBoostingRegressor(max_iter=5, **SEED), DIABETES),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier(**SEED)), CANCER),
        (make_pipeline(MinMaxScaler(), HistGradientBoostingRegressor(max_iter=4)), DIABETES),
        (make_pipeline(StandardScaler(), PCA(3), RandomForestClassifier(4, **SEED)), WINE),
    ],
    ids=name,
)
def test_only_rows_near_thresholds_may_differ_from_scikit_learn(estimator, data):
    x, y = data
    estimator.fit(x[::2], y[::2])
    converted = from_sklearn(estimator, x[::2])
    rows = inside(converted, x)
    assert len(rows) > 0.9 * len(x)
    near = converted.near_thresholds(rows)
    assert near.mean() < 0.08
    wanted = expected(estimator, rows)
    results = converted(converted.encode(rows))
    assert results.shape == wanted.shape
    tolerance = 1e-12 * np.max(np.abs(wanted))
    assert np.max(np.abs(results - wanted)[~near]) <= tolerance
    if converted.kind == "classifier":
        # Rounding decides between shares that are equal.
        certain = ~near & (converted.margins(results) > tolerance)
        assert np.array_equal(converted.labels(results)[certain], estimator.predict(rows)[certain])
        probabilities = converted.predict_proba(converted.encode(rows))
        wanted = estimator.predict_proba(rows)
        assert np.max(np.abs(probabilities - wanted)[~near]) < 1e-12


@pytest.mark.parametrize(
    ("estimator", "data", "error"),
    [
        (DecisionTreeClassifier(**SEED), CANCER, 0.005),
        (DecisionTreeClassifier(**SEED), DIGITS, 0.005),
        (DecisionTreeClassifier(**SEED), IRIS, 0.005),
        (RandomForestClassifier(10, **SEED), CANCER, 0.005),
        (GradientBoostingClassifier(n_estimators=5, **SEED), WINE, 0.005),
        (HistGradientBoostingClassifier(max_iter=3, **SEED), CANCER, 0.005),
        (DecisionTreeRegressor(max_depth=5, **SEED), DIABETES, 1.0),
    ],
    ids=name,
)
def test_simulated_results_have_small_errors(estimator, data, error):
    x, y = data
    estimator.fit(x[::2], y[::2])
    converted = from_sklearn(estimator, x[::2])
    rows = inside(converted, x)[:200]
    rows = rows[~converted.near_thresholds(rows)]
    simulation = simulated(converted, rows)
    wanted = expected(estimator, rows)
    errors = np.abs(simulation.result - wanted)
    assert np.max(errors) < error
    if converted.kind == "classifier":
        certain = converted.margins(wanted) > 2 * error
        assert certain.mean() > 0.95
        labels = converted.labels(simulation.result)
        assert np.array_equal(labels[certain], estimator.predict(rows)[certain])


def test_a_row_is_near_if_its_value_decides_on_a_leaf():
    # The second split matters for values of the first feature above 2 only.
    x = np.array([[0.0, 0.0], [1.0, 9.0], [3.0, 4.0], [3.0, 6.0]])
    estimator = DecisionTreeRegressor(**SEED).fit(x, [0.0, 0.0, 1.0, 2.0])
    assert sorted(estimator.tree_.threshold[estimator.tree_.feature >= 0]) == [2.0, 5.0]
    converted = from_sklearn(estimator, x)
    # Both gaps are a 32nd of the largest distance from the threshold in the interval.
    (low, high), (lowest, highest) = converted.input_intervals
    first, second = max(2 - low, high - 2) / 32, max(5 - lowest, highest - 5) / 32
    parts = np.array([-1.3, -0.9, 0.0, 0.9, 1.3])
    expected_near = [False, True, True, True, False]
    along_first = np.stack([2 + parts * first, np.full(5, 4.0)], axis=1)
    along_second = np.stack([np.full(5, 3.0), 5 + parts * second], axis=1)
    other_side = along_second - [2, 0]
    assert converted.near_thresholds(along_first).tolist() == expected_near
    assert converted.near_thresholds(along_second).tolist() == expected_near
    assert not converted.near_thresholds(other_side).any()
    for rows in (along_first, along_second, other_side):
        near = converted.near_thresholds(rows)
        errors = simulated(converted, rows).result - estimator.predict(rows)
        assert np.max(np.abs(errors[~near])) < 0.005
        assert np.max(np.abs(errors)) < 2.005


def test_thresholds_between_integers_are_moved_to_the_middle():
    x, y = DIGITS
    # Thresholds of extra trees are random numbers.
    estimator = ExtraTreeClassifier(max_depth=7, **SEED).fit(x[::2], y[::2])
    thresholds = estimator.tree_.threshold[estimator.tree_.feature >= 0]
    assert np.min(np.abs(thresholds - np.rint(thresholds))) < 0.01
    converted = from_sklearn(estimator, x[::2])
    rows = inside(converted, np.clip(np.rint(x), 0, 16))
    # Integers are half of a unit away from the thresholds, unless the sample lacks one of them.
    assert converted.near_thresholds(rows).mean() < 0.02
    between = rows.copy()
    at = estimator.tree_.feature[0]
    between[:, at] = np.rint(estimator.tree_.threshold[0]) + 0.01
    assert converted.near_thresholds(between).any()


def test_values_equal_to_a_threshold_go_to_the_left():
    # Percentiles of histograms can be values of the sample.
    x = np.repeat([0.1, 0.2, 0.3, 0.7], 300)[:, None]
    estimator = HistGradientBoostingRegressor(max_iter=1, max_bins=4, min_samples_leaf=1)
    estimator.fit(x, np.repeat([1.0, 5.0, 2.0, 9.0], 300))
    for predictor in estimator._predictors[0]:
        inner = predictor.nodes["is_leaf"] == 0
        predictor.nodes["num_threshold"][inner] = np.floor(
            predictor.nodes["num_threshold"][inner] * 10
        ) / np.float64(10)
    converted = from_sklearn(estimator, x)
    assert not converted.near_thresholds(x).any()
    assert np.max(np.abs(converted(converted.encode(x)) - estimator.predict(x))) < 1e-12


def test_trees_of_any_depth_take_two_comparisons():
    x, y = IRIS
    for depth, count in ((1, 1), (5, 2)):
        estimator = DecisionTreeClassifier(max_depth=depth, **SEED).fit(x, y)
        program = from_sklearn(estimator, x).compile(4, preset="n16", bootstrapping=False)
        comparisons = [step for step in program.steps if step.operation == "positive"]
        assert len(comparisons) == count


def test_nodes_of_a_forest_are_packed_as_densely_as_those_of_a_tree():
    x, y = WINE
    seconds = []
    for trees in (1, 10):
        estimator = RandomForestClassifier(trees, max_depth=3, **SEED).fit(x, y)
        program = from_sklearn(estimator, x).compile(100, preset="n16", bootstrapping=False)
        comparisons = [step for step in program.steps if step.operation == "positive"]
        seconds.append(sum(step.seconds for step in comparisons))
    assert seconds[1] < 1.5 * seconds[0]


def test_a_leaf_has_at_most_two_bounds_for_each_feature():
    x = np.linspace(-1, 1, 64)[:, None]
    estimator = DecisionTreeRegressor(**SEED).fit(x, np.sin(50 * x[:, 0]))
    assert estimator.get_depth() > 6
    leaves, last = tree_leaves(estimator, Affine.identity(1), x)
    assert [group.bounds for group in leaves.groups] == [2]
    assert np.max(np.abs(last(*leaves(x))[:, 0] - estimator.predict(x))) < 1e-12


def test_trees_with_a_single_leaf_are_constant():
    x, y = CANCER
    single = DecisionTreeClassifier(min_samples_split=1000).fit(x, y)
    converted = from_sklearn(single, x)
    assert not converted.near_thresholds(x).any()
    result = simulated(converted, x[:5], "n13").result
    assert np.max(np.abs(result - single.predict_proba(x[:5]))) < 1e-6
    # Some trees of a boosting may be constant.
    steps = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=200).fit(x, y)
    assert np.allclose(from_sklearn(steps, x)(from_sklearn(steps, x).encode(x)), steps.predict(x))


def test_splits_outside_of_the_intervals_have_known_answers():
    x, y = IRIS
    estimator = DecisionTreeClassifier(max_depth=3, **SEED).fit(x, y)
    few = x[y == 2]
    converted = from_sklearn(estimator, few, margin=1)
    low, high = converted.input_intervals[estimator.tree_.feature[0]]
    assert not low <= estimator.tree_.threshold[0] <= high
    assert not converted.near_thresholds(few).any()
    simulation = simulated(converted, few[:20])
    assert np.array_equal(converted.labels(simulation.result), estimator.predict(few[:20]))


def test_clients_pass_data_frames_and_get_text():
    x, y = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    estimator = RandomForestClassifier(3, max_depth=3, **SEED).fit(x, names)
    converted = from_sklearn(estimator, x)
    turned = x[x.columns[::-1]]
    assert not converted.near_thresholds(turned).any()
    interface = ModelInterface(**json.loads(json.dumps(converted.interface())))
    scores = converted(interface.encode(turned))
    assert np.array_equal(interface.labels(scores), estimator.predict(x))


def test_a_tree_on_encrypted_rows():
    x, y = IRIS
    estimator = DecisionTreeClassifier(max_depth=2, **SEED).fit(x, y)
    converted, rows = from_sklearn(estimator, x, margin=1), x[::8]
    program = converted.compile(len(rows), preset="n15", bootstrapping=False)
    interface = program.interface()
    client = hippocrene.Client.generate(interface)
    server = hippocrene.Server(client.evaluation_keys(interface))
    reply = server.run(program, client.encrypt(interface, rows))
    errors = client.decrypt(reply) - estimator.predict_proba(rows)
    assert np.max(np.abs(errors)) < program.error_bound
    assert np.array_equal(client.decrypt(reply, interface), estimator.predict(rows))


def test_models_that_are_not_supported_are_refused():
    x, y = CANCER
    values = np.arange(600.0)[:, None]

    def refused(estimator: Any, match: str, like: Any = x, target: Any = y) -> None:
        with pytest.raises(ArgumentError, match=match):
            from_sklearn(estimator.fit(like, target), like)

    deep = r"^from_sklearn: a tree of this DecisionTreeRegressor has 600 leaves, and at most 512 ar"
    refused(DecisionTreeRegressor(), deep, values, values[:, 0])
    many = r"^from_sklearn: the 12 trees of this RandomForestRegressor have \d+ leaves, and at mos"
    refused(RandomForestRegressor(12, **SEED), many, values, values[:, 0])
    rounds = r"^from_sklearn: the 200 trees .* Fit it with a smaller max_iter, max_leaf_nodes or"
    refused(
        HistGradientBoostingRegressor(max_iter=200),
        rounds,
        np.tile(values, (3, 1)),
        np.tile(np.sin(values[:, 0]), 3),
    )
    several = (
        r"^from_sklearn: this {} has several targets, and one is needed\. Fit one model for ea"
    )
    both = np.stack([y, 1 - y], axis=1)
    for classifier in (DecisionTreeClassifier(max_depth=2), RandomForestClassifier(2)):
        refused(classifier, several.format(type(classifier).__name__), target=both)
    refused(
        DecisionTreeClassifier(), "this DecisionTreeClassifier has a single class", target=0 * y
    )
    refused(RandomTreesEmbedding(2), r"^from_sklearn: RandomTreesEmbedding is not supported\. Supp")
    few = np.column_stack([np.arange(len(x)) % 4, x])
    by_category = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    refused(by_category, "^from_sklearn: trees that split by categories are not possible", like=few)


def test_splits_by_missing_values_are_refused():
    x, y = CANCER
    holes = x.copy()
    holes[::3, 0] = np.nan
    missing = np.isnan(holes[:, 0]).astype(int)
    for estimator in (DecisionTreeClassifier(max_depth=2), HistGradientBoostingClassifier()):
        estimator.fit(holes, missing)
        with pytest.raises(ArgumentError, match=r"^from_sklearn: these trees split on missing val"):
            from_sklearn(estimator, x)
    # Trees that were fitted to missing values, and split by others, suit complete rows.
    estimator = HistGradientBoostingClassifier(max_iter=3, **SEED).fit(holes[:, :2], y)
    converted = from_sklearn(estimator, x[:, :2])
    sure = ~converted.near_thresholds(x[:, :2])
    scores = converted(converted.encode(x[:, :2]))
    assert np.allclose(scores[sure], estimator.decision_function(x[sure, :2]))


def test_only_models_with_trees_have_thresholds():
    x, _ = WINE
    converted = from_sklearn(StandardScaler().fit(x), x)
    with pytest.raises(
        UnsupportedError, match=r"^near_thresholds: this model has no trees, and co"
    ):
        converted.near_thresholds(x)


def test_rows_that_rounding_sends_to_the_other_side_are_near_thresholds():
    # Floats of 32 bits near 1.7e9 are 128 apart.
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + rng.uniform(0, 3600, 5000)
    rows = np.column_stack([seconds, rng.normal(size=5000)])
    fitted = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows, np.sin(seconds / 300))
    converted = from_sklearn(fitted, rows[:200], margin=1.2)
    other = rows[200:]
    inside = np.all(
        (other >= converted.input_intervals[:, 0]) & (other <= converted.input_intervals[:, 1]),
        axis=1,
    )
    other = other[inside]
    near = converted.near_thresholds(other)
    wrong = np.abs(converted.predict(converted.encode(other)) - fitted.predict(other)) > 1e-9
    assert wrong.any()
    assert near[wrong].all()
    assert near.mean() < 0.6
