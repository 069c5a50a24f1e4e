"""Fitted models of scikit-learn as functions of encrypted rows: their results, and errors."""

from __future__ import annotations

import doctest
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC

import hippocrene
from hippocrene import ArgumentError, FormatError, ShapeError, UnsupportedError
from hippocrene.models import affine, model, model_interface, sklearn
from hippocrene.models.model import Model
from hippocrene.models.model_interface import ModelInterface
from hippocrene.models.nonlinear import Nonlinear
from hippocrene.models.sklearn import from_sklearn

# pytest turns warnings into errors, also those of scikit-learn about models that we mean to test.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Stochastic Optimizer"),
    pytest.mark.filterwarnings("ignore:Skipping features without any observed values"),
]

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True, scaled=False)
WINE_FRAME = load_wine(return_X_y=True, as_frame=True)

Function = Callable[[Any], Any]


def name(parameter: Any) -> str | None:
    """Return short names of estimators and data for the names of tests."""
    if isinstance(parameter, BaseEstimator):
        steps = [step for _, step in getattr(parameter, "steps", [("", parameter)])]
        return "-".join(type(step).__name__ for step in steps)
    known = {id(CANCER): "cancer", id(WINE): "wine", id(DIGITS): "digits", id(DIABETES): "diabetes"}
    return known.get(id(parameter))


def scaled(*steps: Any) -> Pipeline:
    return make_pipeline(StandardScaler(), *steps)


def perceptron(*hidden: int, activation: str = "tanh", **options: Any) -> MLPClassifier:
    how = {"alpha": 0.1, "max_iter": 1000, "random_state": 0, **options}
    return MLPClassifier(hidden, activation=activation, **how)


def simulated(
    function: Function, converted: Model, rows: Any, preset: str = "n13", **how: Any
) -> hippocrene.Simulation:
    encoded = converted.encode(rows)
    return hippocrene.simulate(function, encoded, interval=converted.interval, preset=preset, **how)


def near(values: Any, wanted: Any, error: float) -> None:
    """Check shapes, and that no value is further from the wanted one than the error."""
    assert np.shape(values) == np.shape(wanted)
    assert np.max(np.abs(values - wanted)) <= error


# Affine models


@pytest.mark.parametrize(
    ("estimator", "data", "wanted"),
    [
        (scaled(LogisticRegression()), CANCER, "decision_function"),
        (scaled(LogisticRegression()), WINE, "decision_function"),
        (scaled(LogisticRegression()), DIGITS, "decision_function"),
        (scaled(LinearSVC()), CANCER, "decision_function"),
        (make_pipeline(MinMaxScaler(), LinearSVC()), WINE, "decision_function"),
        (make_pipeline(RobustScaler(), RidgeClassifier()), CANCER, "decision_function"),
        (make_pipeline(MaxAbsScaler(), RidgeClassifier()), WINE, "decision_function"),
        (scaled(SGDClassifier(random_state=0)), WINE, "decision_function"),
        (scaled(RidgeClassifierCV()), WINE, "decision_function"),
        (scaled(SVC(kernel="linear")), CANCER, "decision_function"),
        (LinearDiscriminantAnalysis(), CANCER, "decision_function"),
        (LinearDiscriminantAnalysis(), WINE, "decision_function"),
        (scaled(PCA(5, whiten=True), LogisticRegression()), CANCER, "decision_function"),
        (GaussianNB(), WINE, "predict_joint_log_proba"),
        (scaled(GaussianNB()), CANCER, "predict_joint_log_proba"),
        (scaled(PCA(6), GaussianNB()), WINE, "predict_joint_log_proba"),
        (LinearRegression(), DIABETES, "predict"),
        (scaled(Ridge()), DIABETES, "predict"),
        (scaled(Lasso()), DIABETES, "predict"),
        (make_pipeline(TruncatedSVD(4), ElasticNet()), DIABETES, "predict"),
        (scaled(perceptron(5, activation="identity")), CANCER, "decision_function"),
        (StandardScaler(), WINE, "transform"),
        (StandardScaler(with_mean=False), WINE, "transform"),
        (StandardScaler(with_std=False), WINE, "transform"),
        (MinMaxScaler((-3, 2)), WINE, "transform"),
        (MaxAbsScaler(), WINE, "transform"),
        (RobustScaler(), WINE, "transform"),
        (RobustScaler(with_centering=False, with_scaling=False), WINE, "transform"),
        (SimpleImputer(), WINE, "transform"),
        (PCA(4), CANCER, "transform"),
        (scaled(PCA(4, whiten=True)), CANCER, "transform"),
        (TruncatedSVD(3), WINE, "transform"),
    ],
    ids=name,
)
def test_models_without_nonlinear_functions_are_exact(estimator, data, wanted):
    x, y = data
    estimator.fit(x, y)
    converted = from_sklearn(estimator, x)
    rows = x[::9]
    last, transformed = estimator, rows
    if isinstance(estimator, Pipeline) and wanted != "transform":
        last, transformed = estimator[-1], estimator[:-1].transform(rows)
    if isinstance(last, MLPClassifier):
        expected = np.log(last.predict_proba(transformed)) @ [-1, 1]
    else:
        expected = getattr(last, wanted)(transformed)
    size = np.max(np.abs(expected))
    near(converted(converted.encode(rows)), expected, 1e-9 * size)
    # The scores of naive Bayes have squares.
    preset = "n14" if isinstance(last, GaussianNB) else "n13"
    simulation = simulated(converted, converted, rows, preset)
    near(simulation.result, expected, 1e-9 * size)
    # Noise is far below the values too.
    assert 2.0**-simulation.precision_bits < 1e-5 * size
    if converted.kind == "classifier":
        certain = converted.margins(expected) > 1e-6 * size
        assert certain.mean() > 0.98
        labels = converted.labels(simulation.result)
        assert np.array_equal(labels[certain], estimator.predict(rows)[certain])


def test_affine_steps_become_one_product():
    x, y = WINE
    rows = x[:16]
    pipeline = make_pipeline(StandardScaler(), PCA(6), MinMaxScaler(), LogisticRegression())
    converted = from_sklearn(pipeline.fit(x, y), x)
    alone = from_sklearn(LinearSVC().fit(x, y), x)
    one = simulated(alone, alone, rows)
    assert simulated(converted, converted, rows).seconds == pytest.approx(one.seconds, rel=0.01)


def test_clusters_are_found_by_linear_scores():
    x, _ = WINE
    for estimator in (KMeans(3, random_state=0), scaled(KMeans(4, random_state=0))):
        estimator.fit(x)
        converted = from_sklearn(estimator, x)
        assert converted.kind == "clusters"
        assert converted.classes == tuple(range(len(converted.classes)))
        scores = simulated(converted, converted, x).result
        assert np.array_equal(converted.labels(scores), estimator.predict(x))
        # Differences of scores are those of half of the squared distances.
        distances = estimator.transform(x)
        expected = (distances[:, :1] ** 2 - distances**2) / 2
        near(scores - scores[:, :1], expected, 1e-9 * np.max(expected))


def test_regressors_may_have_several_targets():
    x, y = DIABETES
    targets = np.stack([y, x[:, 0] - y], axis=1)
    for estimator, wanted in ((LinearRegression(), targets), (LinearRegression(), y[:, None])):
        estimator.fit(x, wanted)
        converted = from_sklearn(estimator, x)
        near(simulated(converted, converted, x[:50]).result, estimator.predict(x[:50]), 1e-7)


def test_sparse_coefficients_become_dense():
    x, y = WINE
    estimator = scaled(SGDClassifier(penalty="l1", random_state=0)).fit(x, y)
    expected = estimator.decision_function(x)
    estimator[-1].sparsify()
    converted = from_sklearn(estimator, x)
    near(converted(converted.encode(x)), expected, 1e-9 * np.max(np.abs(expected)))


def test_pipelines_may_be_nested_and_pass_through():
    x, y = WINE
    inner = Pipeline([("scaler", StandardScaler()), ("nothing", "passthrough")])
    outer = Pipeline([("nothing", None), ("inner", inner), ("last", LogisticRegression())])
    estimator = outer.fit(x, y)
    converted = from_sklearn(estimator, x)
    near(converted(converted.encode(x)), estimator.decision_function(x), 1e-10)
    identity = Pipeline([("nothing", "passthrough")]).fit(x)
    converted = from_sklearn(identity, x)
    assert converted.kind == "transformer"
    near(converted(converted.encode(x)), x, 1e-9)


def test_columns_may_have_transformers_of_their_own():
    x, y = WINE_FRAME
    first = [
        ("both", make_pipeline(StandardScaler(), PCA(2)), ["alcohol", "ash", "magnesium"]),
        ("none", MinMaxScaler(), []),
        ("dropped", "drop", ["hue"]),
        ("range", MinMaxScaler(), slice(5, 8)),
    ]
    for remainder in ("drop", "passthrough"):
        columns = ColumnTransformer(first, remainder=remainder)
        estimator = make_pipeline(columns, StandardScaler(), LogisticRegression()).fit(x, y)
        converted = from_sklearn(estimator, x)
        near(converted(converted.encode(x)), estimator.decision_function(x), 1e-10)
    assert converted.feature_names == tuple(x.columns)
    with pytest.raises(ArgumentError, match=r"predict of the Pipeline refuses like: .* Pass rows"):
        from_sklearn(estimator, x.to_numpy())


def test_imputers_pass_values_through():
    x, y = WINE
    holes = x.copy()
    holes[::5, 2] = np.nan
    holes[:, 4] = np.nan
    imputer = SimpleImputer(add_indicator=True).fit(holes)
    converted = from_sklearn(imputer, x)
    near(converted(converted.encode(x)), imputer.transform(x), 1e-9)
    estimator = make_pipeline(imputer, StandardScaler(), LogisticRegression()).fit(holes, y)
    converted = from_sklearn(estimator, x)
    near(converted(converted.encode(x)), estimator.decision_function(x), 1e-10)


# Nonlinear functions


@pytest.mark.parametrize(
    ("estimator", "data", "preset", "error"),
    [
        (scaled(LogisticRegression()), CANCER, "n15", 0.001),
        (scaled(LogisticRegression(C=0.1)), WINE, "n15", 0.002),
        (LinearDiscriminantAnalysis(), WINE, "n16", 0.002),
        (scaled(SGDClassifier("log_loss", alpha=0.1, random_state=0)), CANCER, "n15", 0.001),
        # The probabilities are sigmoids divided by their sum.
        (scaled(SGDClassifier("log_loss", alpha=0.1, random_state=0)), WINE, "n15", 0.005),
        (scaled(PCA(1), GaussianNB()), CANCER, "n15", 0.001),
        (scaled(perceptron(6)), CANCER, "n15", 0.002),
        (scaled(perceptron(6, activation="logistic")), WINE, "n15", 0.003),
    ],
    ids=name,
)
def test_probabilities_are_those_of_scikit_learn(estimator, data, preset, error):
    x, y = data
    estimator.fit(x, y)
    converted = from_sklearn(estimator, x)
    rows = x[::9]
    expected = estimator.predict_proba(rows)
    near(converted.predict_proba(converted.encode(rows)), expected, 1e-9)
    simulation = simulated(converted.predict_proba, converted, rows, preset)
    near(simulation.result, expected, error)
    # The stated error includes that of polynomials.
    assert np.max(np.abs(simulation.result - expected)) < 8 * 2.0**-simulation.precision_bits
    certain = converted.margins(expected) > 2 * error
    assert certain.mean() > 0.9
    labels = converted.labels(simulation.result)
    assert np.array_equal(labels[certain], estimator.predict(rows)[certain])


def test_probabilities_of_ten_classes():
    x, y = DIGITS
    estimator = scaled(LogisticRegression(C=0.01)).fit(x, y)
    converted = from_sklearn(estimator, x)
    simulation = simulated(converted.predict_proba, converted, x[::40], "n16", precision=16)
    near(simulation.result, estimator.predict_proba(x[::40]), 0.002)


@pytest.mark.parametrize(
    ("activation", "hidden", "preset", "error"),
    [
        ("tanh", (8,), "n15", 0.01),
        ("tanh", (8, 4), "n15", 0.01),
        ("logistic", (8, 4), "n15", 0.01),
        ("relu", (8,), "n15", 0.02),
        ("relu", (8, 4), "n16", 0.02),
        ("identity", (8, 4), "n13", 1e-9),
    ],
)
def test_perceptrons_classify_as_scikit_learn(activation, hidden, preset, error):
    x, y = WINE
    estimator = scaled(perceptron(*hidden, activation=activation)).fit(x, y)
    converted = from_sklearn(estimator, x)
    rows = x[::3]
    exact = converted(converted.encode(rows))
    near(softmax(exact, axis=1), estimator.predict_proba(rows), 1e-12)
    simulation = simulated(converted, converted, rows, preset, precision=24)
    near(simulation.result, exact, error)
    certain = converted.margins(exact) > 2 * error
    assert certain.mean() > 0.95
    labels = converted.labels(simulation.result)
    assert np.array_equal(labels[certain], estimator.predict(rows)[certain])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"activation": "logistic"}, 0.005),
        ({"activation": "relu"}, 0.03),
        # The output is an exponential.
        ({"activation": "tanh", "loss": "poisson"}, 0.01),
    ],
)
def test_perceptrons_predict_as_scikit_learn(options, error):
    x, y = DIABETES
    y = y / 100
    network = MLPRegressor(hidden_layer_sizes=(6,), random_state=0, max_iter=2000, **options)
    estimator = scaled(network).fit(x, y)
    converted = from_sklearn(estimator, x)
    rows = x[::9]
    expected = estimator.predict(rows)
    near(converted(converted.encode(rows)), expected, 1e-10)
    near(simulated(converted, converted, rows, "n15").result, expected, error * np.ptp(expected))


def test_perceptrons_of_several_targets():
    x, y = DIABETES
    targets = np.stack([y / 100, x[:, 0] / 100], axis=1)
    network = MLPRegressor(hidden_layer_sizes=(6,), activation="tanh", random_state=0)
    estimator = scaled(network).fit(x, targets)
    converted = from_sklearn(estimator, x)
    near(simulated(converted, converted, x[:20], "n15").result, estimator.predict(x[:20]), 0.01)


def test_a_narrower_interval_is_cheaper_and_wrong_rows_are_reported():
    x, y = CANCER
    estimator = scaled(perceptron(4)).fit(x, y)
    seconds = []
    for margin in (1.0, 3.0):
        converted = from_sklearn(estimator, x, margin=margin)
        seconds.append(simulated(converted, converted, x[:4], "n15").seconds)
    assert seconds[0] < seconds[1]
    narrow = from_sklearn(estimator, x, margin=1.0)
    # A row of the ends of all columns lies in the interval of each column.
    weights = estimator[-1].coefs_[0][:, 0]
    row = np.where(weights > 0, x.max(axis=0), x.min(axis=0))
    with pytest.raises(ArgumentError, match=r"does not lie from .* Pass from_sklearn a larger mar"):
        simulated(narrow, narrow, [row], "n15")


def test_a_wider_interval_does_not_replace_the_proved_one():
    values, intervals = np.linspace(-1, 0.5, 9), []

    def run(function: Function) -> hippocrene.Simulation:
        def program(x: Any) -> Any:
            result = function(x)
            intervals.append(result.interval)
            return result

        return hippocrene.simulate(program, values, interval=(-1, 1), preset="n15")

    own = run(lambda x: x.tanh())
    assert run(Nonlinear("tanh", (-40.0, 40.0))).seconds == own.seconds
    near(run(Nonlinear("tanh", (-40.0, 0.5))).result, np.tanh(values), 0.001)
    assert intervals[1] == intervals[0]
    near(intervals[2], np.tanh([-1.0, 0.5]), 0.005)


# Encrypted runs


def test_logistic_regression_on_encrypted_rows():
    x, y = CANCER
    estimator = scaled(LogisticRegression()).fit(x, y)
    converted, rows = from_sklearn(estimator, x), x[:64]
    plan = simulated(converted, converted, rows)
    client = hippocrene.Client.generate("n13")
    server = hippocrene.Server(client.evaluation_keys(for_=plan))
    encrypted = client.encrypt(converted.encode(rows), interval=converted.interval)
    scores = client.decrypt(converted(server.load(encrypted)))
    near(scores, estimator.decision_function(rows), 16 * 2.0**-plan.precision_bits)
    assert np.array_equal(converted.labels(scores), estimator.predict(rows))


def test_a_perceptron_on_encrypted_rows():
    x, y = WINE
    estimator = scaled(perceptron(6)).fit(x, y)
    converted, rows = from_sklearn(estimator, x), x[::12][:16]
    plan = simulated(converted, converted, rows, "n14", precision=20)
    client = hippocrene.Client.generate("n14", precision=20)
    server = hippocrene.Server(client.evaluation_keys(for_=plan))
    encrypted = client.encrypt(converted.encode(rows), interval=converted.interval)
    scores = client.decrypt(converted(server.load(encrypted)))
    near(scores, converted(converted.encode(rows)), 0.01)
    near(scores, plan.result, 0.001)
    assert np.array_equal(converted.labels(scores), estimator.predict(rows))


def test_parts_of_a_union_stand_side_by_side():
    x, y = WINE
    parts = [("scaled", StandardScaler()), ("few", make_pipeline(StandardScaler(), PCA(2)))]
    weights = {"few": 0.5}
    union = FeatureUnion([*parts, ("as they are", "passthrough")], transformer_weights=weights)
    fitted = make_pipeline(union, StandardScaler(), LogisticRegression()).fit(x, y)
    model = from_sklearn(fitted, x)
    assert (model.labels(model(model.encode(x))) == fitted.predict(x)).all()
    dropped = make_pipeline(FeatureUnion([("none", "drop"), ("few", PCA(2))]), LogisticRegression())
    with_names = load_wine(as_frame=True).data
    model = from_sklearn(dropped.fit(with_names, y), with_names)
    assert (model.labels(model(model.encode(with_names))) == dropped.predict(with_names)).all()
    encoder = FeatureUnion([("squares", PolynomialFeatures())])
    wrong = make_pipeline(encoder, LogisticRegression(max_iter=9999)).fit(x[:, :2], y)
    refused(wrong, x[:, :2], "PolynomialFeatures is not supported in a FeatureUnion")


def test_compiled_models_describe_themselves_and_are_simulated():
    x, y = WINE_FRAME
    fitted = scaled(LogisticRegression()).fit(x, y)
    program = from_sklearn(fitted, x).compile(rows=len(x))
    interface = program.interface()
    assert interface.columns == tuple(x.columns)
    assert interface.classes == (0, 1, 2)
    lows, highs = interface.column_intervals.T
    assert (lows <= x.min()).all()
    assert (highs >= x.max()).all()
    assert f"columns = alcohol in [{lows[0]:.4g}, {highs[0]:.4g}], malic_acid in [" in str(
        interface
    )
    shuffled = x[x.columns[::-1]]
    assert (hippocrene.simulate(program, shuffled).result == fitted.predict(x)).all()
    plain = hippocrene.compile(lambda x: x + 1, hippocrene.spec(4, bound=1), preset="n13")
    assert plain.interface().columns is plain.interface().classes is None
    assert plain.interface().column_intervals is None


def test_wrong_notes_describe_no_model():
    told = {"feature_names": None, "centres": [1.0, 2.0], "half_widths": [1.0, 1.0]}
    results = json.dumps({"kind": "regressor", "classes": None, "result": "predict"})
    found, result = ModelInterface.of_notes(json.dumps(told), results)
    assert (found.half_widths, result) == ([1.0, 1.0], "predict")
    for wrong in (
        {"half_widths": [1.0]},
        {"half_widths": [1.0, 0.0]},
        {"half_widths": [1.0, float("nan")]},
        {"centres": ["a", "b"]},
        {"feature_names": ["only"]},
    ):
        with pytest.raises(FormatError, match="the notes of this interface describe no model"):
            ModelInterface.of_notes(json.dumps({**told, **wrong}), results)
    with pytest.raises(FormatError, match="describe no model"):
        ModelInterface.of_notes("[" * 100_000, results)


def test_steps_that_are_not_supported_transform_plain_rows():
    x, y = load_diabetes(return_X_y=True, as_frame=True)
    x = x.assign(site=np.where(x.index % 3 == 0, "north", "south"))
    columns = ColumnTransformer([("site", OneHotEncoder(), ["site"])], remainder="passthrough")
    pipeline = make_pipeline(columns, StandardScaler(), Ridge()).fit(x, y)
    with pytest.raises(TypeError, match=r"the columns 'site' \('north' in row 0\) do not hold"):
        from_sklearn(pipeline, like=x)
    plain = pipeline[:1].transform(x)
    model = from_sklearn(pipeline[1:], like=plain)
    assert np.allclose(model(model.encode(plain)), pipeline.predict(x))


# The interface of clients


def test_rows_and_replies_of_another_interface_are_refused(tmp_path):
    x, y = load_breast_cancer(return_X_y=True)
    named = np.array(["malignant", "benign"])[y]

    def compiled(target, scale=1.0, result=None):
        fitted = LogisticRegression(max_iter=200).fit(StandardScaler().fit_transform(x), target)
        rows = scale * StandardScaler().fit_transform(x)
        return hippocrene.models.from_sklearn(fitted, like=rows).compile(
            3, result=result, preset="n13"
        )

    first, wider, words = compiled(y), compiled(y, scale=1.5), compiled(named)
    assert first.interface().to_bytes() == compiled(y).interface().to_bytes()
    rows = StandardScaler().fit_transform(x)[:3]
    client = hippocrene.Client.generate(first.interface())
    server = hippocrene.Server(client.evaluation_keys(first.interface()))
    encrypted = client.encrypt(first.interface(), rows)
    sent = hippocrene.EncryptedArray.from_bytes(encrypted.to_bytes())
    reply = server.run(first, sent)
    assert client.decrypt(reply, first.interface()).tolist() == y[:3].tolist()
    # The columns and their intervals are the same, and only the classes differ.
    other = server.run(words, encrypted)
    assert client.decrypt(other, words.interface()).tolist() == named[:3].tolist()
    with pytest.raises(ArgumentError, match="input x was encoded for another program"):
        server.run(wider, sent)
    with pytest.raises(ArgumentError, match="input x was encoded for another program"):
        server.run(wider, encrypted, checkpoint=tmp_path / "state")
    received = hippocrene.EncryptedArray.from_bytes(reply.to_bytes())
    for own in (reply, received):
        with pytest.raises(ArgumentError, match="this is no reply of the program of the interface"):
            client.decrypt(own, words.interface())
    assert not (tmp_path / "state").exists()
    told = hippocrene.inspect(received.to_bytes())["array"]["notes"]
    assert told == hippocrene.inspect(first.to_bytes())["program"]["notes_of_results"]
    assert hippocrene.inspect((-reply).to_bytes())["array"]["notes"] is None


def test_a_client_needs_the_interface_only():
    x, y = WINE_FRAME
    names = np.array(["barolo", "grignolino", "barbera"])
    estimator = scaled(LogisticRegression()).fit(x, names[y])
    converted = from_sklearn(estimator, x)
    description = json.loads(json.dumps(converted.interface()))
    assert description.keys() == {"kind", "feature_names", "centres", "half_widths", "classes"}
    interface = ModelInterface(**description)
    encoded = interface.encode(x)
    assert np.array_equal(encoded, converted.encode(x))
    assert np.array_equal(interface.labels(converted(encoded)), estimator.predict(x))
    assert converted.classes == tuple(sorted(names))
    assert repr(converted) == f"Model(kind='classifier', features=13, classes={converted.classes})"


def test_columns_are_scaled_to_their_widened_intervals():
    sample = np.array([[0.0, 5.0, 0.0, -3.0], [4.0, 5.0, 0.0, 1.0]])
    converted = from_sklearn(StandardScaler().fit(sample), sample, margin=3)
    # Columns with a single value have intervals too.
    expected = [[-4.0, 8.0], [-10.0, 20.0], [-3.0, 3.0], [-7.0, 5.0]]
    near(converted.input_intervals, np.array(expected), 1e-12)
    near(converted.encode([[8.0, 20.0, -1.5, -1.0]]), np.array([[1.0, 1.0, -0.5, 0.0]]), 1e-12)
    assert converted.interval == (-1.0, 1.0)


def test_the_columns_of_data_frames_are_found_by_name():
    x, y = WINE_FRAME
    estimator = scaled(LogisticRegression()).fit(x, y)
    turned = x[x.columns[::-1]]
    converted = from_sklearn(estimator, turned)
    assert converted.feature_names == tuple(x.columns)
    near(converted(converted.encode(turned)), estimator.decision_function(x), 1e-10)
    assert np.array_equal(converted.encode(turned), converted.encode(x.to_numpy()))
    # Without names in the model, those of the sample count. Others than text are not names.
    converted = from_sklearn(scaled(LogisticRegression()).fit(*WINE), x)
    assert np.array_equal(converted.encode(turned), converted.encode(x.to_numpy()))
    unnamed = from_sklearn(scaled(LogisticRegression()).fit(*WINE), pd.DataFrame(WINE[0]))
    assert unnamed.feature_names is None


def test_margins_and_labels():
    three = ModelInterface("classifier", None, [0.0], [1.0], ["a", "b", "c"])
    scores = [[1.0, 3.0, 2.5], [0.0, -1.0, -4.0]]
    assert three.labels(scores).tolist() == ["b", "a"]
    assert three.margins(scores).tolist() == [0.5, 1.0]
    two = ModelInterface("classifier", None, [0.0], [1.0], [3, 7])
    assert two.labels([-0.5, 0.0, 2.0]).tolist() == [3, 3, 7]
    assert two.margins([-0.5, 0.0, 2.0]).tolist() == [0.5, 0.0, 2.0]
    assert two.labels([[0.1, 0.9]]).tolist() == [7]
    with pytest.raises(
        ArgumentError, match=r"^labels: the scores have the shape \(2,\), and \(row"
    ):
        three.labels([0.0, 1.0])
    with pytest.raises(ArgumentError, match=r"^margins: .* \(1, 3\), and \(rows,\) or \(rows, 2\)"):
        two.margins([[0.0, 1.0, 2.0]])
    with pytest.raises(ArgumentError, match=r"^labels: this model is of the kind .regressor."):
        ModelInterface("regressor", None, [0.0], [1.0], None).labels([1.0])


def test_rows_that_do_not_fit_are_refused_by_encode():
    x, y = WINE_FRAME
    converted = from_sklearn(scaled(LogisticRegression()).fit(x, y), x)

    def refused(rows: Any, match: str, kind: type[Exception] = ArgumentError) -> None:
        with pytest.raises(kind, match=match):
            converted.encode(rows)

    refused(x.drop(columns=["ash", "hue"]), r"^encode: the columns 'ash', 'hue' are missing\. Pass")
    refused(x.assign(size=1.0), r"^encode: the columns 'size' are not columns of the model\. Pass")
    repeated = pd.concat([x, x[["hue"]]], axis=1)
    refused(repeated, r"^encode: the columns 'hue' occur several times\. Pass each")
    refused(WINE[0][:, :5], r"^encode: the rows have 5 columns, and 13 are needed\. Pass the col")
    refused(WINE[0][0], r"^encode: the rows have the shape \(13,\), and \(rows, features\) is nee")
    refused(x[:0], r"^encode: there are 0 rows of 13 columns, and at least one row and one column")
    refused(
        x.assign(ash="low"),
        r"^encode: the columns 'ash' \('low' in row 0\) do not hold real numbers, .*",
        TypeError,
    )
    refused(x.assign(ash=np.nan), r"^encode: column 'ash' of row 0 is nan, and finite numbers are")
    low, high = converted.input_intervals[2]
    far = x.assign(ash=[*x["ash"][:-1], 77.0])
    refused(
        far, rf"^encode: column 'ash' of row 177 is 77, outside of its interval from {low:g} to"
    )
    assert far["ash"].iloc[-2] < high
    unnamed = from_sklearn(scaled(LogisticRegression()).fit(*WINE), WINE[0])
    with pytest.raises(ArgumentError, match=r"^encode: the rows have 1 columns, and 13 are needed"):
        unnamed.encode([[1.0]])
    with pytest.raises(
        TypeError, match=r"^encode: the columns 0 \('a' in row 0\), 1 \('b' in row 0\) do"
    ):
        unnamed.encode([["a", "b"]])


def test_rows_that_do_not_fit_are_refused_by_models():
    x, _ = WINE
    converted = from_sklearn(scaled(LogisticRegression()).fit(*WINE), x)
    with pytest.raises(
        ShapeError, match=r"^scores: the rows have the shape \(13,\), and \(rows, 13"
    ):
        converted(x[0])
    with pytest.raises(ArgumentError, match=r"^scores: the interval of the rows is from 0 to 2048"):
        hippocrene.simulate(converted, x, preset="n13")
    with pytest.raises(UnsupportedError, match=r"^predict: this model is of the kind .classifier"):
        converted.predict(x)
    with pytest.raises(
        UnsupportedError, match=r"^transform: this model is of the kind .classifier"
    ):
        converted.transform(x)
    scaler = from_sklearn(StandardScaler().fit(x), x)
    for method in (scaler.scores, scaler.predict_proba, scaler.predict):
        with pytest.raises(UnsupportedError, match=r"transformer.\. Use transform\."):
            method(x)
    for estimator in (
        LinearSVC(),
        RidgeClassifier(),
        SGDClassifier("modified_huber", random_state=0),
    ):
        no_probabilities = from_sklearn(scaled(estimator).fit(*WINE), x)
        with pytest.raises(UnsupportedError, match=r"^predict_proba: this classifier has no prob"):
            no_probabilities.predict_proba(x)


def test_scores_that_are_too_far_apart_have_no_encrypted_probabilities():
    x, _ = CANCER
    converted = from_sklearn(GaussianNB().fit(*CANCER), x)
    with pytest.raises(ArgumentError, match=r"^sigmoid: between .* or send scores instead of prob"):
        simulated(converted.predict_proba, converted, x[:4], "n15")


# Models and samples that are refused


def refused(
    estimator: Any, like: Any, match: str, kind: type[Exception] = ArgumentError, **how: Any
) -> None:
    with pytest.raises(kind, match=match):
        from_sklearn(estimator, like, **how)


def test_estimators_that_are_not_supported_are_named():
    x, y = WINE
    first = r"^from_sklearn: Normalizer is not supported before the last step of a Pipeline\. Supp"
    refused(make_pipeline(Normalizer(), LogisticRegression(max_iter=9999)).fit(x, y), x, first)
    advice = (
        r"from_sklearn\(pipeline\[1:\], like=pipeline\[:1\].transform\(rows\)\), if it is the first"
    )
    refused(make_pipeline(Normalizer(), LogisticRegression(max_iter=9999)).fit(x, y), x, advice)
    refused(Normalizer().fit(x), x, r"^from_sklearn: Normalizer is not supported\. .* Fit one of")
    refused(SVC().fit(x, y), x, r"SVC is not supported\..* may have kernel=\"linear\"")
    refused(scaled(PolynomialFeatures()).fit(x), x, "PolynomialFeatures is not supported. ")
    trees = AdaBoostClassifier(n_estimators=2).fit(x, y)
    refused(trees, x, r"AdaBoostClassifier is not supported\..* Fit one of these instead\.")
    nearest = KNeighborsClassifier().fit(x, y)
    refused(nearest, x, r"KNeighborsClassifier is not supported\..* Fit one of these instead\.")
    search = GridSearchCV(scaled(LogisticRegression()), {}).fit(x, y)
    refused(search, x, r"GridSearchCV is not supported\..* Pass its best_estimator_\.")
    refused("model", x, r"^from_sklearn: str is not supported\. Supported are StandardScaler, M")
    columns = ColumnTransformer([("one", OneHotEncoder(), [0])]).fit(x)
    refused(columns, x, r"^from_sklearn: OneHotEncoder is not supported in a ColumnTransformer\. ")
    nothing = ColumnTransformer([("one", "drop", [0])]).fit(x)
    refused(nothing, x, r"^from_sklearn: this ColumnTransformer drops all columns")


def test_options_that_are_not_affine_are_refused():
    x, y = WINE
    refused(MinMaxScaler(clip=True).fit(x), x, "^from_sklearn: this MinMaxScaler clips values")
    zeros = SimpleImputer(missing_values=0).fit(x)
    refused(zeros, x, "^from_sklearn: this SimpleImputer replaces the value 0, and only the rep")
    logarithm = make_pipeline(FunctionTransformer(np.log1p), StandardScaler()).fit(x)
    refused(logarithm, x, "^from_sklearn: a FunctionTransformer with a function is")
    network = MLPRegressor(hidden_layer_sizes=(3,), random_state=0).fit(x, y)
    network.activation = "softsign"
    refused(network, x, r"the activation 'softsign', and identity, logistic, tanh, relu are supp")


def test_estimators_that_are_not_fitted_are_refused():
    x, _ = WINE
    message = (
        r"^from_sklearn: this {} is not fitted, and a fitted model is needed\. Call its method"
    )
    refused(LogisticRegression(), x, message.format("LogisticRegression"))
    refused(LogisticRegression, x, message.format("LogisticRegression"))
    refused(scaled(PCA(2)), x, message.format("StandardScaler"))
    refused(make_pipeline(StandardScaler().fit(x), PCA(2)), x, message.format("PCA"))


def test_models_of_several_targets_or_one_class_are_refused():
    x, y = WINE
    several = perceptron(3).fit(x / 100, np.eye(3, dtype=int)[y])
    refused(several, x, r"^from_sklearn: this MLPClassifier has several targets, and one is needed")
    single = GaussianNB().fit(x, np.zeros(len(y)))
    refused(single, x, r"^from_sklearn: this GaussianNB has a single class, and at least two are")
    dates = np.array(["2024-01-01", "2025-01-01", "2026-01-01"], dtype="datetime64[D]")
    refused(GaussianNB().fit(x, dates[y]), x, r"^from_sklearn: the classes are of type datetime64")


def test_coefficients_that_do_not_fit_are_refused():
    x, y = WINE
    broken = LinearRegression().fit(x, y)
    broken.coef_[3] = np.nan
    # scikit-learn would return NaN for every row.
    refused(broken, x, r"^from_sklearn: coef_ of LinearRegression holds nan, and finite numbers ar")
    pairs = scaled(LinearSVC()).fit(x, y)
    pairs[-1].coef_ = pairs[-1].coef_[:2]
    pairs[-1].intercept_ = pairs[-1].intercept_[:2]
    refused(pairs, x, r"^from_sklearn: coef_ of LinearSVC has 2 rows, and 3 are needed for 3 class")
    never = GaussianNB(priors=[0.0, 0.5, 0.5]).fit(x, y)
    with np.errstate(divide="ignore"):
        refused(
            never, x, r"^from_sklearn: this GaussianNB has a variance or a prior probability of"
        )
    exponential = make_pipeline(StandardScaler(), PoissonRegressor()).fit(x, y + 1)
    other = r"^from_sklearn: predict of this Pipeline gives other results for the sample than its"
    refused(exponential, x, other)

    # Its scores are those of pairs of classes.
    refused(scaled(SVC(kernel="linear")).fit(x, y), x, other)
    huge = LinearSVC().fit(x / 100, y)
    huge.coef_ *= 1e308 / np.max(abs(huge.coef_))
    with np.errstate(over="ignore", invalid="ignore"):
        refused(huge, x, "than its fitted attributes")

    class Reversed(LogisticRegression):
        def predict(self, rows: Any) -> Any:
            return super().predict(rows)[::-1]

    refused(scaled(Reversed()).fit(x, y), x, other)


def test_probabilities_of_one_versus_rest_are_recognised_by_their_values():
    x, y = WINE

    class Legacy(LogisticRegression):
        """As versions of scikit-learn with ``multi_class="ovr"`` compute it."""

        def predict_proba(self, rows: Any) -> Any:
            return self._predict_proba_lr(rows)

    estimator = scaled(Legacy(C=0.1)).fit(x, y)
    converted = from_sklearn(estimator, x)
    expected = estimator.predict_proba(x[::9])
    near(simulated(converted.predict_proba, converted, x[::9], "n15").result, expected, 0.003)


def test_samples_that_do_not_fit_are_refused():
    x, y = WINE_FRAME
    estimator = scaled(LogisticRegression()).fit(x, y)
    fewer = r"^from_sklearn: the rows have 12 columns, and 13 are needed"
    refused(estimator, WINE[0][:, :12], fewer)
    unnamed = scaled(LogisticRegression()).fit(*WINE)
    fitted = r"^from_sklearn: the sample has 12 columns, and StandardScaler was fitted to 13\. Pass"
    refused(unnamed, WINE[0][:, :12], fitted)
    refused(unnamed, x.iloc[:, :12], fitted)
    refused(estimator, x.drop(columns="hue"), "^from_sklearn: the columns 'hue' are missing")
    words = x.assign(hue="red", ash="low")
    named = (
        r"^from_sklearn: the columns 'ash' \('low' in row 0\), 'hue' \('red' in row 0\) do not hold"
    )
    refused(estimator, words, named, TypeError)
    refused(estimator, x.assign(hue=np.nan), r"^from_sklearn: column 'hue' of row 0 is nan, and f")
    refused(unnamed, WINE[0] * np.inf, r"^from_sklearn: column 0 of row 0 is inf, and finite num")
    refused(estimator, x[:0], r"^from_sklearn: there are 0 rows of 13 columns, and at least one")
    refused(unnamed, np.zeros((3, 0)), r"^from_sklearn: there are 3 rows of 0 columns, and at lea")
    refused(unnamed, WINE[0][:1], r"^from_sklearn: the sample has 1 row, and at least two are nee")
    refused(unnamed, WINE[0][0], r"^from_sklearn: the rows have the shape \(13,\), and \(rows, fe")
    refused(unnamed, WINE[0], r"^from_sklearn: the margin is 0\.5, and a finite number", margin=0.5)
    refused(unnamed, WINE[0], r"^from_sklearn: the margin is nan", margin=float("nan"))
    refused(unnamed, WINE[0], r"^from_sklearn: margin", TypeError, margin="wide")


def test_estimators_that_are_not_scikit_learns_are_read_by_their_attributes():
    class Own(BaseEstimator):
        def fit(self, rows: Any, _: Any) -> Own:
            self.coef_, self.intercept_ = np.arange(rows.shape[1]) / 10, np.array([3.0])
            self.n_features_in_ = rows.shape[1]
            return self

        def predict(self, rows: Any) -> Any:
            return rows @ self.coef_ + self.intercept_

    x, y = WINE
    converted = from_sklearn(Own().fit(x, y), x)
    assert converted.kind == "regressor"
    near(simulated(converted, converted, x).result, x @ np.arange(13) / 10 + 3, 1e-7)


@pytest.mark.parametrize("module", [affine, model_interface, model, sklearn])
def test_examples_are_right(module):
    tested = doctest.testmod(module)
    assert tested.attempted > 1
    assert tested.failed == 0


def test_a_common_offset_of_results_hides_no_wrong_formula() -> None:
    class Stretched(Ridge):
        def predict(self, x):
            return self.intercept_ + 1.01 * (x @ self.coef_)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3)) + 5
    y = 1e6 + 0.1 * x[:, 0] + 0.05 * rng.normal(size=30)
    with pytest.raises(hippocrene.ArgumentError, match="gives other results for the sample"):
        from_sklearn(Stretched().fit(x, y), x)
    # A right formula with such an offset is accepted.
    ridge = Ridge().fit(x, y)
    program = from_sklearn(ridge, x).compile(rows=len(x), preset="n13")
    error = np.abs(hippocrene.simulate(program, x).result - ridge.predict(x)).max()
    assert error < program.error_bound + 1e-8


@pytest.mark.parametrize("targets", [1, 2])
def test_regressors_may_subtract_means_first(targets: int) -> None:
    x = WINE[0]
    y = x[:, -targets:] if targets > 1 else x[:, -1]
    rows = pd.DataFrame(x).rename(columns=str)
    fitted = PLSRegression(3).fit(rows, y)
    expected = fitted.predict(rows)
    result = simulated(converted := from_sklearn(fitted, rows), converted, rows).result
    near(result, expected, 1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("regressor", "y"),
    [
        (MultiTaskLasso(0.1), WINE[0][:, -2:]),
        (Ridge(), WINE[0][:, -1:]),
        (SVR(kernel="linear"), WINE[1]),
    ],
)
def test_linear_regressors_have_coefficients_of_any_shape(regressor: Any, y: Any) -> None:
    x = WINE[0] / np.abs(WINE[0]).max(axis=0)
    expected = regressor.fit(x, y).predict(x)
    converted = from_sklearn(regressor, x)
    near(simulated(converted, converted, x).result, expected, 1e-4 * np.abs(expected).max())


def test_regressors_that_are_not_linear_are_refused() -> None:
    x = WINE[0] / np.abs(WINE[0]).max(axis=0)
    with pytest.raises(ArgumentError, match="predict of this PoissonRegressor gives other results"):
        from_sklearn(PoissonRegressor().fit(x, WINE[1] + 1.0), x)


def test_errors_of_rows_name_the_first_text() -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, "x", 2.0]})
    with pytest.raises(TypeError, match=r"the columns 'b' \('x' in row 1\) do not hold real"):
        from_sklearn(Ridge().fit([[1.0, 2.0], [2.0, 5.0]], [1.0, 2.0]), rows)
    with pytest.raises(TypeError, match=r"not the name of a file\. Read the file first"):
        from_sklearn(Ridge().fit([[1.0, 2.0], [2.0, 5.0]], [1.0, 2.0]), "rows.csv")


def test_a_single_cluster_is_that_of_all_rows() -> None:
    x = np.random.default_rng(1).random((9, 2))
    model = from_sklearn(KMeans(1, n_init=1).fit(x), x)
    program = model.compile(rows=9, preset="n13")
    assert (hippocrene.simulate(program, x).result == 0).all()
    assert (model.margins(model(model.encode(x))) == np.inf).all()
