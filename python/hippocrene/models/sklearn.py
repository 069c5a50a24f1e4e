"""The conversion of fitted models of scikit-learn to functions of encrypted rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError
from hippocrene.models.affine import Affine
from hippocrene.models.fitted import check_fitted, dense, is_a, name_of, steps_of
from hippocrene.models.linear import cluster_scores, linear_predictions, linear_scores
from hippocrene.models.model import Model
from hippocrene.models.model_interface import (
    ModelInterface,
    column_intervals,
    read_rows,
)
from hippocrene.models.naive_bayes import Squares, joint_log_likelihoods
from hippocrene.models.neural import HiddenLayers, perceptron
from hippocrene.models.nonlinear import Nonlinear
from hippocrene.models.preprocessing import (
    TRANSFORM_FIRST,
    column_source,
    is_transformer,
    transformation,
    transformer_names,
)
from hippocrene.models.probabilities import (
    OneVersusRest,
    Probabilities,
    Shares,
    Sigmoid,
    Softmax,
    class_columns,
)
from hippocrene.models.tree_programs import Trees, tree_leaves
from hippocrene.values.scalars import double

_Doubles = npt.NDArray[np.float64]
_Inner: TypeAlias = HiddenLayers | Squares | Trees

# The largest difference from scikit-learn's results for the sample, as a share of their spread.
# Chosen: far above the rounding of doubles, and far below a wrong formula.
_TOLERANCE = 1e-6
# The rounding of results in doubles, as a share of the largest one. Chosen: sums of large terms that
# cancel may lose several digits.
_ROUNDING = 1e-9

# The supported estimators besides transformers, in words.
_SUPPORTED = (
    "GaussianNB, MLPClassifier, MLPRegressor, KMeans, trees, forests and gradient boosting, and "
    "linear models with coef_ and intercept_, such as LogisticRegression and Ridge"
)

# The base classes of trees, forests and both kinds of gradient boosting.
_TREES = ("BaseDecisionTree", "BaseForest", "BaseGradientBoosting", "BaseHistGradientBoosting")


def from_sklearn(model: Any, like: Any, *, margin: float = 2.0) -> Model:
    """Convert a fitted model of scikit-learn to functions of encrypted rows.

    `model` is one of these fitted estimators, or a `Pipeline` of them:

    - transformers: `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`,
      `SimpleImputer` (encrypted rows have no missing values), `PCA`, `TruncatedSVD`, and a
      `ColumnTransformer` and `FeatureUnion` of these,
    - classifiers for one target: `GaussianNB`, `MLPClassifier`, and all linear ones with `coef_`
      and `intercept_`, such as `LogisticRegression`, `LinearSVC`, `SGDClassifier`,
      `RidgeClassifier` and `LinearDiscriminantAnalysis`,
    - regressors: `MLPRegressor`, and all linear ones with `coef_` and `intercept_`, such as
      `LinearRegression`, `Ridge`, `Lasso` and `ElasticNet`,
    - trees of classifiers and regressors: single ones such as `DecisionTreeClassifier` and
      `ExtraTreeRegressor`, forests such as `RandomForestClassifier` and `ExtraTreesRegressor`,
      `GradientBoostingClassifier`, `HistGradientBoostingRegressor` and the like. Encrypted rows
      have no missing values, and splits by categories are not supported. A tree may have 512
      leaves, and all trees together 4096,
    - clusters: `KMeans`.

    `like` is a sample of rows, as an array or a data frame of shape ``(rows, features)``. Its rows
    should be like those that the model will be applied to. **The extremes of its columns become
    public** in `Model.interface`. The sample has these uses:

    - Each column has the interval of its values, widened by the factor `margin` about its centre.
      `Model.encode` maps it to -1 to 1. So columns of any units are equally precise.
    - The values before each nonlinear function have an interval, which is declared on the encrypted
      array. It is the proved one, without those values that lie beyond the interval of the sample,
      widened by `margin`. A narrow interval makes the function fast and precise. **If a row leaves
      it, its result is wrong.** `hippocrene.simulate` reports it for the rows that it is given.

    - Trees compare values with thresholds. The least distance of a value of the sample from a
      threshold is the gap. **A value nearer to a threshold may give a wrong result.** The gap is
      between a 32nd and a 65536th of the largest distance that is possible. A threshold that is
      nearer to a value of the sample than this is moved to the middle between the values on both
      sides. `Model.near_thresholds` finds the rows that may be wrong.

    `margin` is at least 1. All affine steps in a row, such as a scaler, a `PCA` and a linear
    model, become one matrix and one vector. The converted model is compared with the results of
    scikit-learn for `like`.

    An `ArgumentError` is raised for estimators that are not supported or not fitted, and for
    samples that do not suit the model. A `TypeError` names columns that do not hold numbers.

    >>> import hippocrene
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> network = MLPClassifier((8,), activation="tanh", max_iter=1000, random_state=0)
    >>> fitted = make_pipeline(StandardScaler(), network).fit(X, y)
    >>> model = from_sklearn(fitted, X)
    >>> model
    Model(kind='classifier', features=13, classes=(0, 1, 2))
    >>> plan = hippocrene.simulate(
    ...     model, model.encode(X), interval=model.interval, preset="n14", precision=20
    ... )
    >>> bool(np.all(model.labels(plan.result) == fitted.predict(X)))
    True
    """
    margin = double(margin, "from_sklearn: margin")
    if not 1 <= margin < math.inf:
        raise ArgumentError(
            f"from_sklearn: the margin is {margin:g}, and a finite number from 1 on is needed. "
            "With 1, the intervals are those of the sample."
        )
    steps = steps_of(model)
    for step in steps:
        check_fitted(step)
    sample, names = _sample(like, steps)
    centres, half_widths = column_intervals(sample, margin)
    encoded = (sample - centres) / half_widths
    before = Affine.scaling(half_widths, centres)
    *first, last = steps or [None]
    for step in first:
        if not is_transformer(step):
            raise _refusal(step, is_last=False)
        before = before.then(transformation(step))
    source = _Source(model, _in_order(like, names))
    found = _converted(last, before, encoded, margin, source)
    interface = ModelInterface(
        found.kind,
        None if names is None else list(names),
        centres.tolist(),
        half_widths.tolist(),
        None if found.classes is None else list(found.classes),
    )
    converted = Model(
        interface,
        found.inner,
        found.last,
        probabilities=_probabilities(last, found, encoded, margin, source),
        output=found.output,
    )
    _check_same(converted, encoded, source)
    return converted


class _Source(NamedTuple):
    """A fitted model of scikit-learn, and a sample that it accepts."""

    model: Any
    sample: Any

    def result(self, method: str) -> _Doubles:
        """Return the result of a method for the sample."""
        try:
            with warnings.catch_warnings():
                # The sample may have no names of columns where the model knows some.
                warnings.simplefilter("ignore", UserWarning)
                return dense(getattr(self.model, method)(self.sample))
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"from_sklearn: {method} of the {name_of(self.model)} refuses like: {error}. Pass "
                "rows like those that the model was fitted to."
            ) from None


class _Converted(NamedTuple):
    """The parts of a model. `Model` describes `inner`, `last` and `output`."""

    kind: str
    inner: _Inner
    last: Affine
    classes: Sequence[Any] | None = None
    output: Nonlinear | None = None


def _converted(
    last: Any, before: Affine, encoded: _Doubles, margin: float, source: _Source
) -> _Converted:
    """Convert the last step of a model. `before` maps encoded rows to its features."""
    if last is None:
        return _Converted("transformer", HiddenLayers(), before)
    if is_transformer(last):
        return _Converted("transformer", HiddenLayers(), before.then(transformation(last)))
    is_linear = all(hasattr(last, name) for name in ("predict", "coef_", "intercept_"))
    is_naive_bayes, is_perceptron = is_a(last, "GaussianNB"), is_a(last, "MLPClassifier")
    if is_naive_bayes or is_perceptron or (is_linear and hasattr(last, "classes_")):
        classes = _classes_of(last, source)
        if is_naive_bayes:
            return _Converted("classifier", *joint_log_likelihoods(last, before), classes)
        if is_perceptron:
            return _Converted("classifier", *perceptron(last, before, encoded, margin), classes)
        return _Converted("classifier", HiddenLayers(), before.then(linear_scores(last)), classes)
    if any(is_a(last, name) for name in _TREES) and hasattr(last, "predict"):
        return _of_trees(last, before, encoded, source)
    if is_a(last, "KMeans"):
        scores = before.then(cluster_scores(last))
        return _Converted("clusters", HiddenLayers(), scores, range(scores.matrix.shape[1]))
    if is_a(last, "MLPRegressor"):
        inner, values = perceptron(last, before, encoded, margin)
        output = None
        if last.out_activation_ == "exp":
            output = Nonlinear.of_sample("exp", values(*inner(encoded)), margin)
        return _Converted("regressor", inner, values, output=output)
    if is_linear:
        values = before.then(linear_predictions(last, source.result("predict").ndim))
        return _Converted("regressor", HiddenLayers(), values)
    raise _refusal(last, is_last=True)


def _of_trees(last: Any, before: Affine, encoded: _Doubles, source: _Source) -> _Converted:
    """Convert a tree, a forest or a gradient boosting."""
    classes = _classes_of(last, source) if hasattr(last, "classes_") else None
    inner, values = tree_leaves(last, before, encoded)
    # A regressor may have predictions with one axis, and a classifier one score for two classes.
    axes = 1 if classes else source.result("predict").ndim
    if values.matrix.shape[1] == 1 and axes == 1:
        values = Affine(values.matrix[:, 0], values.shift[0])
    return _Converted("classifier" if classes else "regressor", inner, values, classes)


def _sample(like: Any, steps: Sequence[Any]) -> tuple[_Doubles, Sequence[str] | None]:
    """Return the sample as doubles, with the names of its columns."""
    sources = (column_source(step) for step in steps)
    first = next((one for one in sources if hasattr(one, "n_features_in_")), None)
    names = getattr(first, "feature_names_in_", None)
    sample, found = read_rows(like, None if names is None else names.tolist(), "from_sklearn")
    if first is not None and sample.shape[1] != first.n_features_in_:
        raise ArgumentError(
            f"from_sklearn: the sample has {sample.shape[1]} columns, and {name_of(first)} was "
            f"fitted to {first.n_features_in_}. Pass rows with the same columns."
        )
    if len(sample) < 2:
        raise ArgumentError(
            "from_sklearn: the sample has 1 row, and at least two are needed to tell how far "
            "values spread. Pass more rows."
        )
    return sample, found


def _in_order(like: Any, names: Sequence[str] | None) -> Any:
    """Return the sample with the columns of a data frame in the order of the model."""
    is_named = names is not None and hasattr(like, "columns")
    return like[list(names or ())] if is_named else np.asarray(like)


def _classes_of(classifier: Any, source: _Source) -> list[Any]:
    """Return the classes of a classifier, which must have a single target."""
    if source.result("predict").ndim != 1:
        raise ArgumentError(
            f"from_sklearn: this {name_of(classifier)} has several targets, and one is needed. Fit "
            "one model for each target."
        )
    classes = np.asarray(classifier.classes_)
    if len(classes) < 2:
        raise ArgumentError(
            f"from_sklearn: this {name_of(classifier)} has a single class, and at least two are "
            "needed. Fit it to rows of several classes."
        )
    listed: list[Any] = classes.tolist()
    if classes.dtype.kind in "mM" or not all(
        isinstance(one, (bool, int, float, str)) for one in listed
    ):
        raise ArgumentError(
            f"from_sklearn: the classes are of type {classes.dtype}, and numbers, booleans or text "
            "are needed. Fit the model to labels of these types."
        )
    return listed


def _probabilities(
    last: Any, found: _Converted, encoded: _Doubles, margin: float, source: _Source
) -> Probabilities | None:
    """Return the function that gives scikit-learn's probabilities of classes, if there is one.

    Estimators and versions of scikit-learn do not tell this function in the same way, so that it is
    found by comparing the results for the sample. Where those are all close to 0 or 1, different
    functions may have the same results. The loss of an `SGDClassifier` therefore decides first.
    """
    if found.classes is None or not hasattr(source.model, "predict_proba"):
        return None
    by_sgd = is_a(last, "SGDClassifier")
    if by_sgd and last.loss != "log_loss":
        return None
    wanted, parts = source.result("predict_proba"), found.inner(encoded)
    of_scores = Shares(found.last)
    if _is_close(of_scores(parts), wanted):
        return of_scores
    if len(found.classes) == 2:
        of_two = Sigmoid.of_sample(class_columns(found.last), parts, margin)
        return of_two if _is_close(of_two(parts), wanted) else None
    for kind in (OneVersusRest,) if by_sgd else (Softmax, OneVersusRest):
        of_several: Probabilities = kind.of_sample(found.last, parts, margin)
        if _is_close(of_several(parts), wanted):
            return of_several
    return None


def _check_same(converted: Model, encoded: _Doubles, source: _Source) -> None:
    """Refuse a model whose results for the sample are not those of scikit-learn."""
    mine = converted(encoded)
    if converted.classes is None:
        method = "transform" if converted.kind == "transformer" else "predict"
        if _is_close(mine, source.result(method)):
            return
    else:
        method = "predict"
        # Rounding may decide between scores that are about equal.
        certain = converted.margins(mine) > _TOLERANCE * np.max(np.abs(mine))
        same = converted.labels(mine)[certain] == source.result(method)[certain]
        if np.all(same) and np.all(np.isfinite(mine)):
            return
    raise ArgumentError(
        f"from_sklearn: {method} of this {name_of(source.model)} gives other results for the "
        "sample than its fitted attributes, so that it cannot be converted. Fit a model of one of "
        "the supported classes instead."
    )


def _is_close(values: _Doubles, wanted: _Doubles) -> bool:
    """Return True if results agree, compared with their spread over the sample.

    An offset that all results have in common must not hide differences. Its rounding may.
    """
    if values.shape != wanted.shape:
        return False
    largest = np.max(np.abs(wanted), axis=0, initial=0.0)
    spread = np.max(wanted, axis=0, initial=-np.inf) - np.min(wanted, axis=0, initial=np.inf)
    rounding = max(_ROUNDING, 16 * float(np.finfo(np.result_type(wanted, np.float32)).eps))
    tolerance = _TOLERANCE * np.maximum(spread, 0.0) + rounding * largest
    return bool(np.all(np.abs(values - wanted) <= tolerance))


def _refusal(estimator: Any, *, is_last: bool) -> ArgumentError:
    """Return the error about an estimator that is not supported."""
    advice = "Fit one of these instead."
    if hasattr(estimator, "best_estimator_"):
        advice = "Pass its best_estimator_."
    elif not is_last and hasattr(estimator, "transform"):
        advice = f"Or {TRANSFORM_FIRST}."
    elif is_a(estimator, "SVC") or is_a(estimator, "SVR"):
        advice = (
            'Fit one of these instead. An SVC of two classes and an SVR may have kernel="linear".'
        )
    place, supported = " before the last step of a Pipeline", transformer_names()
    if is_last:
        place, supported = "", f"{supported}, {_SUPPORTED}"
    return ArgumentError(
        f"from_sklearn: {name_of(estimator)} is not supported{place}. Supported are {supported}. "
        f"{advice}"
    )
