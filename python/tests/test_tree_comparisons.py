"""Comparisons of private decision trees: rows go where scikit-learn sends them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hippocrene import ArgumentError
from hippocrene.models.trees import PrivateDecisionTree, TreeClient, TreeServer

DAYS = 20240101.0 + np.arange(31)


def agrees(fitted, sample: np.ndarray, rows: np.ndarray, **how) -> bool:
    """Tell whether a simulation says of all rows what scikit-learn says."""
    model = PrivateDecisionTree.from_sklearn(fitted, sample, tables="lut11", **how)
    result, truth = model.simulate(rows).result, fitted.predict(rows)
    if truth.dtype.kind == "f":
        # Leaves are further apart than this.
        return bool(np.max(abs(result - truth)) < 10 * np.max(model.deviation))
    return np.array_equal(result, truth)


def test_the_module_comes_with_the_package():
    code = (
        "import sys, hippocrene; hippocrene.trees.TreeClient; assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dates_are_compared_in_float32_when_encrypted():
    rows = DAYS[:, np.newaxis]
    # float32 holds every second of these days. The threshold 20240115 lies between two of them.
    tree = DecisionTreeClassifier().fit(
        np.repeat(rows, 20, axis=0), np.repeat(DAYS % 100 >= 15, 20)
    )
    model = PrivateDecisionTree.from_sklearn(tree, rows, tables="lut11")
    assert model.interface.row_type == "float32"
    client = TreeClient.generate(model.interface)
    server = TreeServer(client.evaluation_keys(), threads=2)
    reply = model.evaluate(client.encrypt_query(model.interface, rows), server)
    truth = tree.predict(rows)
    assert np.array_equal(client.decrypt(model.interface, reply), truth)
    assert np.array_equal(model.simulate(rows).result, truth)
    # The same days as integers, and next to the threshold as doubles.
    assert np.array_equal(model.simulate(rows.astype(np.int64)).result, truth)
    near = np.array([[20240115.0], [20240115.0 + 1e-6], [20240114.9]])
    assert np.array_equal(model.simulate(near).result, tree.predict(near))


@pytest.mark.parametrize(
    "load", [load_iris, load_wine, load_breast_cancer, load_diabetes, load_digits]
)
def test_real_data_is_classified_as_by_scikit_learn(load):
    rows, known = load(return_X_y=True)
    kind = DecisionTreeRegressor if load is load_diabetes else DecisionTreeClassifier
    assert agrees(kind(max_depth=4, random_state=0).fit(rows, known), rows, rows)
    # A tree that was fitted to other rows than the sample.
    half = kind(max_depth=4, random_state=0).fit(rows[::2], known[::2])
    assert agrees(half, rows, rows)
    # Rows that are not in the sample: measurements have a few digits after the point.
    if load is not load_diabetes:
        assert agrees(half, rows[::2], rows.clip(rows[::2].min(axis=0), rows[::2].max(axis=0)))


@pytest.mark.parametrize("tables", ["lut11", "lut12", "lut13"])
def test_values_of_any_size_are_compared_as_by_scikit_learn(tables):
    random = np.random.default_rng(0)
    seconds = 1.7e9 + np.sort(random.integers(0, 86400 * 365, 1000)).astype(float)
    longitudes = random.uniform(-180, 180, 1000)
    days = np.array(
        [20240000.0 + 100 * month + day for month in range(1, 13) for day in range(1, 29)]
    )
    skewed = random.exponential(size=1000) ** 9
    for values, known in (
        (seconds, seconds % 86400 > 40000),
        (longitudes, np.abs(longitudes) < 60),
        (days, days > 20240615),
        (days, days % 100 > 14),
        (skewed, random.random(1000) > 0.5),
    ):
        rows = values[:, np.newaxis]
        tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, known)
        model = PrivateDecisionTree.from_sklearn(tree, rows, tables=tables)
        assert np.array_equal(model.simulate(rows).result, tree.predict(rows))


def neighbours_of_thresholds(tree: DecisionTreeClassifier, around: np.ndarray) -> np.ndarray:
    """Return rows of the sample with the nearest floats on either side of each threshold."""
    inner = tree.tree_.children_left >= 0
    rows = []
    for feature, threshold in zip(
        tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True
    ):
        low = np.float32(threshold)
        low = np.nextafter(low, np.float32(-np.inf)) if low > threshold else low
        for value in (low, np.nextafter(low, np.float32(np.inf))):
            row = around[len(rows) % len(around)].copy()
            row[feature] = value
            rows.append(row)
    return np.array(rows)


def test_neighbours_of_thresholds_are_compared_when_encrypted():
    random = np.random.default_rng(3)
    places = np.column_stack([random.uniform(-9, 30, 300), random.uniform(36, 60, 300)])
    known = ((places[:, 0] > 5) & (places[:, 1] > 45)).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(places, known)
    rows = neighbours_of_thresholds(tree, places[::7])
    # One model has a sample with such rows, the other one ranges, which allow all floats.
    by_sample = PrivateDecisionTree.from_sklearn(tree, np.vstack([places, rows]), tables="lut11")
    by_ranges = PrivateDecisionTree.from_sklearn(
        tree, ranges=([-10.0, 30.0], [40.0, 70.0]), tables="lut11"
    )
    client = TreeClient.generate("lut11")
    server = TreeServer(client.evaluation_keys(), threads=2)
    for model in (by_sample, by_ranges):
        assert model.look_ups[0] > 8
        assert np.array_equal(model.simulate(rows).result, tree.predict(rows))
        reply = model.evaluate(client.encrypt_query(model.interface, rows), server)
        assert np.array_equal(client.decrypt(model.interface, reply), tree.predict(rows))
        assert np.array_equal(model.simulate(places).result, tree.predict(places))


def test_thresholds_compare_no_more_digits_than_they_need():
    rows = np.arange(40.0)[:, np.newaxis]
    tree = DecisionTreeClassifier().fit(rows, rows[:, 0] > 20)
    assert PrivateDecisionTree.from_sklearn(tree, rows, tables="lut11").look_ups == (1, 1)
    # Rows with half of the numbers may be asked for, and are half as far from a threshold.
    tree = DecisionTreeClassifier().fit(rows, rows[:, 0] > 20)
    halves = np.append(rows, [[0.5]], axis=0)
    model = PrivateDecisionTree.from_sklearn(tree, halves, tables="lut11")
    assert model.look_ups == (3, 1)
    asked = np.arange(0.0, 39.0, 0.1)[:, np.newaxis]
    assert np.array_equal(model.simulate(asked).result, tree.predict(asked))


@pytest.mark.parametrize("unit", [0.001, 0.1, 1.0, 128.0])
def test_numbers_between_those_of_the_sample_may_be_thresholds(unit):
    # Every second number is in the sample: thresholds are half-way, which is where the others are.
    steps = np.arange(401)
    rows = (steps * unit).round(3)[:, np.newaxis]
    sample = rows[::2]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(sample, steps[::2] % 82 > 40)
    assert (
        np.isin(
            np.float32(tree.tree_.threshold[tree.tree_.children_left >= 0]), np.float32(rows)
        ).sum()
        > 2
    )
    assert agrees(tree, sample, rows)
    assert agrees(tree, sample, rows + 1e-9 * unit)


def test_ensembles_are_evaluated_as_by_scikit_learn():
    rows, known = load_breast_cancer(return_X_y=True)
    for fitted in (
        RandomForestClassifier(5, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        GradientBoostingRegressor(n_estimators=5, random_state=0),
    ):
        assert agrees(fitted.fit(rows, known), rows, rows)


def test_far_and_near_values_are_told_apart():
    random = np.random.default_rng(4)
    seconds = 1.7e9 + 86400.0 * np.arange(40)
    degrees = 13.4 + 1e-5 * np.arange(40)
    both = np.column_stack([random.permutation(seconds), random.permutation(degrees)])
    known = 2 * (both[:, 0] > 1.701e9) + (both[:, 1] > 13.40015)
    for fitted in (
        DecisionTreeClassifier(random_state=0),
        DecisionTreeRegressor(random_state=0),
        ExtraTreesClassifier(3, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3),
    ):
        assert agrees(fitted.fit(both, known), both, both)


def test_a_threshold_stays_away_from_values_of_the_sample():
    # The threshold of the node is half-way between 0 and 2, which is where the sample has 1.
    tree = DecisionTreeClassifier().fit([[0.0], [2.0]], [0, 1])
    sample = np.append(np.arange(0.0, 3.0, 0.1), [1.0])[:, np.newaxis]
    model = PrivateDecisionTree.from_sklearn(tree, sample, tables="lut11")
    assert np.array_equal(model.simulate(sample).result, tree.predict(sample))
    # It moves by no more than the error of a comparison reaches: values in between stay on their
    # side.
    assert model.simulate([[1.06]]).result == tree.predict([[1.06]]) == 1


def test_arrays_of_integers_are_rounded_once():
    # Just above the middle of two numbers of float32, where the nearest double is the middle.
    values = np.array([[2**54], [2**54 + 2**30 + 1], [2**54 + 2**31]])
    assert np.float32(np.float64(values[1, 0])) == 2**54
    tree = DecisionTreeClassifier().fit(values, [0, 1, 1])
    model = PrivateDecisionTree.from_sklearn(tree, values, tables="lut11")
    assert model.simulate(values).result.tolist() == tree.predict(values).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "fitted",
    [
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
        RandomForestClassifier(3, random_state=0),
        GradientBoostingRegressor(n_estimators=3),
        HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1),
    ],
    ids=lambda fitted: type(fitted).__name__,
)
def test_splits_outside_the_sample_are_refused(fitted):
    rows = np.arange(-10.0, 8)[:, np.newaxis]
    fitted.fit(rows, (rows[:, 0] > 5).astype(int))
    for how in (
        {"sample": rows[rows[:, 0] <= 4]},
        {"ranges": ([-10.0], [4.0])},
        {"sample": rows[rows[:, 0] >= 6]},
    ):
        with pytest.raises(
            ArgumentError,
            match=r"feature 0 is split at \d[.\d]*, outside its range from .* clamp=True",
        ):
            PrivateDecisionTree.from_sklearn(fitted, tables="lut11", **how)
        # Clients whose rows stay within the ranges may ask, and rows beyond are taken for the ends.
        model = PrivateDecisionTree.from_sklearn(fitted, tables="lut11", clamp=True, **how)
        expected = fitted.predict(rows.clip(model.interface.low, model.interface.high))
        assert np.max(abs(model.simulate(rows).result - expected)) < 0.01
    assert agrees(fitted, rows, rows)


def test_splits_are_refused_by_name():
    frame = pandas.DataFrame({"age": np.arange(4.0), "height": np.zeros(4)})
    tree = DecisionTreeClassifier().fit(frame, [0, 0, 1, 1])
    with pytest.raises(
        ArgumentError,
        match=r"feature 0 \('age'\) is split at 1\.5, outside its range from 0 to 1\.",
    ):
        PrivateDecisionTree.from_sklearn(tree, frame[:2])


def test_values_that_tables_do_not_tell_apart_are_refused():
    close = np.array([[0.0], [1e-6]])
    rows = np.vstack([close, np.linspace(1e7, 1e9, 200)[:, np.newaxis]])
    tree = DecisionTreeClassifier().fit(rows, rows[:, 0] > 0)
    words = (
        r"do not resolve 1 of 1 splits\. The first is that of feature 0 at 4\.99.*e-07, "
        r"between the values 0 and 9\.99"
    )
    with pytest.raises(
        ArgumentError,
        match=words + r".*e-07\. Use larger tables, or round the feature before fitting\.",
    ):
        PrivateDecisionTree.from_sklearn(tree, rows, tables="lut11")
    with pytest.raises(ArgumentError, match=r"\. Round the feature before fitting"):
        PrivateDecisionTree.from_sklearn(tree, rows, tables="lut13")
    # All of them are values of a smaller sample, which sets them apart.
    assert agrees(tree, close, close)


def test_ranges_that_are_too_wide_for_integers_are_refused():
    rows = DAYS[:, np.newaxis]
    tree = DecisionTreeClassifier().fit(rows, DAYS >= 20240115)
    with pytest.raises(
        ArgumentError,
        match=r"feature 0 at 20240115, between the values 20240114 and 20240116\. .*ange",
    ):
        PrivateDecisionTree.from_sklearn(tree, ranges=([0.0], [2e18]))
    for low, high in ((20240101.0, 20240131.0), (0.0, 2e8)):
        model = PrivateDecisionTree.from_sklearn(tree, ranges=([low], [high]), tables="lut11")
        assert np.array_equal(model.simulate(rows).result, tree.predict(rows))
    # Two thresholds on one path that have the same position: one of the splits would vanish.
    tree = DecisionTreeClassifier().fit([[0.1], [0.2], [0.3]], [0, 1, 2])
    with pytest.raises(
        ArgumentError,
        match=r"feature 0 is split at 0\.\d* and bounded by 0\.\d*\. These tables cannot",
    ):
        PrivateDecisionTree.from_sklearn(tree, ranges=([-1e12], [1e12]), tables="lut11")


def test_rows_beyond_float32_and_missing_values_are_refused():
    rows = np.arange(4.0)[:, np.newaxis]
    tree = DecisionTreeClassifier().fit(rows, [0, 0, 1, 1])
    model = PrivateDecisionTree.from_sklearn(tree, rows, tables="lut11")
    client = TreeClient.generate(model.interface)
    with pytest.raises(ArgumentError, match=r"feature 0 of row 0 is inf"):
        client.encrypt_query(model.interface, np.inf)
    for value in (1e39, -1e300, np.inf):
        with pytest.raises(
            ArgumentError, match=r"feature 0 of row 1 is .*, which is too large for float32"
        ):
            client.encrypt_query(model.interface, [[0.0], [value]])
    with pytest.raises(ArgumentError, match="from_sklearn: feature 0 of row 0 is 1e\\+39"):
        PrivateDecisionTree.from_sklearn(tree, [[1e39]])
    # Histogram-based boosting compares doubles.
    boosting = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=1).fit(rows, [0, 0, 1, 1])
    model = PrivateDecisionTree.from_sklearn(boosting, rows, tables="lut11")
    assert model.interface.row_type == "float64"
    assert model.simulate([[1e39]]).result == pytest.approx(boosting.predict([[1e39]]), abs=0.01)
    # Nothing defines the results for missing values.
    missing = np.append(rows, [[np.nan]], axis=0)
    for fitted in (
        DecisionTreeClassifier(max_depth=1, random_state=0).fit(missing, [0, 0, 1, 1, 1]),
        HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=2, min_samples_leaf=1).fit(
            missing, [0, 0, 1, 1, 1]
        ),
    ):
        model = PrivateDecisionTree.from_sklearn(fitted, rows, tables="lut11")
        assert np.max(abs(model.simulate(rows).result - fitted.predict(rows))) < 0.01
        with pytest.raises(ArgumentError, match="feature 0 of row 4 is not a number"):
            model.simulate(missing)


def test_monotonic_constraints_and_several_targets():
    rows, known = load_iris(return_X_y=True)
    falling = DecisionTreeClassifier(max_depth=3, monotonic_cst=[0, 0, -1, 0], random_state=0).fit(
        rows, known > 0
    )
    assert agrees(falling, rows, rows)
    both = DecisionTreeRegressor(max_depth=2, random_state=0).fit(
        rows, np.column_stack([known, -5 * known])
    )
    assert agrees(both, rows, rows)
    with pytest.raises(
        ArgumentError, match=r"several targets or a single class.* Fit one model for each target"
    ):
        PrivateDecisionTree.from_sklearn(
            DecisionTreeClassifier().fit(rows, np.column_stack([known, known])), rows
        )
    frame = pandas.DataFrame(rows.astype(np.float32), columns=["a", "b", "c", "d"])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, known)
    assert agrees(tree, frame, frame)
