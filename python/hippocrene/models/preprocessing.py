"""Transformers of scikit-learn that are affine maps of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError
from hippocrene.models.affine import Affine
from hippocrene.models.fitted import (
    array_of,
    check_fitted,
    is_a,
    name_of,
    passes_through,
    steps_of,
)

_Doubles: TypeAlias = npt.NDArray[np.float64]


TRANSFORM_FIRST = (
    "convert the steps after the unsupported one, and encrypt rows that the steps up to it have "
    "transformed: from_sklearn(pipeline[1:], like=pipeline[:1].transform(rows)), if it is the first"
)
"""How to use a pipeline with a step that is not supported."""


def is_transformer(estimator: Any) -> bool:
    """Return True if `transformation` supports the class of this estimator."""
    return any(is_a(estimator, name) for name in TRANSFORMERS)


def transformer_names() -> str:
    """Return the names of the supported transformers, for errors."""
    return ", ".join(name for name in TRANSFORMERS if name != "FunctionTransformer")


def transformation(estimator: Any) -> Affine:
    """Return the affine map of a fitted transformer of one of the classes in `TRANSFORMERS`.

    An `ArgumentError` is raised if the transformer is not fitted, or if its options make it
    something else than an affine map.
    """
    check_fitted(estimator)
    return next(read for name, read in TRANSFORMERS.items() if is_a(estimator, name))(estimator)


def _standard_scaler(scaler: Any) -> Affine:
    factors = _factors(scaler)
    means = array_of(scaler, "mean_") if scaler.with_mean else 0.0
    return Affine.scaling(factors, -means * factors)


def _robust_scaler(scaler: Any) -> Affine:
    factors = _factors(scaler)
    centres = array_of(scaler, "center_") if scaler.with_centering else 0.0
    return Affine.scaling(factors, -centres * factors)


def _max_abs_scaler(scaler: Any) -> Affine:
    _check_not_clipping(scaler)
    return Affine.scaling(_factors(scaler))


def _min_max_scaler(scaler: Any) -> Affine:
    _check_not_clipping(scaler)
    return Affine.scaling(array_of(scaler, "scale_"), array_of(scaler, "min_"))


def _factors(scaler: Any) -> _Doubles:
    """Return one over the scales of a scaler, which are None if it does not scale."""
    if scaler.scale_ is None:
        return np.ones(scaler.n_features_in_)
    return 1.0 / array_of(scaler, "scale_")


def _check_not_clipping(scaler: Any) -> None:
    if getattr(scaler, "clip", False):
        raise ArgumentError(
            f"from_sklearn: this {name_of(scaler)} clips values, which is no affine map. Fit it "
            f"with clip=False. Or {TRANSFORM_FIRST}."
        )


def _simple_imputer(imputer: Any) -> Affine:
    """Return the columns that an imputer keeps, with zeros as its indicators of missing values.

    Encrypted rows have no missing values.
    """
    missing = imputer.missing_values
    if not (isinstance(missing, float) and np.isnan(missing)):
        raise ArgumentError(
            f"from_sklearn: this SimpleImputer replaces the value {missing!r}, and only the "
            f"replacement of NaN is supported. Fit one that replaces NaN. Or {TRANSFORM_FIRST}."
        )
    # A column without any value has no statistic, and is dropped.
    kept = ~np.isnan(np.asarray(imputer.statistics_, dtype=np.float64))
    indicators = len(imputer.indicator_.features_) if imputer.add_indicator else 0
    matrix = np.eye(len(kept))[:, kept]
    matrix = np.column_stack([matrix, np.zeros((len(kept), indicators))])
    return Affine(matrix, np.zeros(matrix.shape[1]))


def _pca(pca: Any) -> Affine:
    directions = array_of(pca, "components_").T
    if pca.whiten:
        # scikit-learn has the same lower limit for directions without variance.
        least = np.finfo(np.float64).eps
        directions = directions / np.sqrt(array_of(pca, "explained_variance_")).clip(least)
    return Affine(directions, -array_of(pca, "mean_") @ directions)


def _truncated_svd(svd: Any) -> Affine:
    directions = array_of(svd, "components_").T
    return Affine(directions, np.zeros(directions.shape[1]))


def _function_transformer(transformer: Any) -> Affine:
    """Return the identity, which stands for the remainder of a `ColumnTransformer`."""
    if transformer.func is not None:
        raise ArgumentError(
            "from_sklearn: a FunctionTransformer with a function is not supported. Leave out the "
            f"function. Or {TRANSFORM_FIRST}."
        )
    return Affine.identity(transformer.n_features_in_)


def _column_transformer(transformer: Any) -> Affine:
    """Return the maps of groups of columns side by side."""
    count = transformer.n_features_in_
    # This attribute is private. The public one names columns in many ways, some of them private.
    columns = transformer._transformer_to_input_indices
    maps = []
    for name, one, _ in transformer.transformers_:
        own = np.asarray(columns[name], dtype=np.intp)
        if not own.size or _drops(one):
            continue
        group = _part(name, one, own.size, transformer)
        matrix = np.zeros((count, group.matrix.shape[1]))
        matrix[own] = group.matrix
        maps.append(Affine(matrix, group.shift))
    return _side_by_side(maps, transformer)


def _feature_union(union: Any) -> Affine:
    """Return the maps of all parts side by side."""
    count = column_source(union).n_features_in_
    kept = [(name, one) for name, one in union.transformer_list if not _drops(one)]
    maps = [_part(name, one, count, union) for name, one in kept]
    return _side_by_side(maps, union)


def _drops(part: Any) -> bool:
    return isinstance(part, str) and part == "drop"


def column_source(estimator: Any) -> Any:
    """Return the estimator that knows the number and the names of the columns of a step.

    A `FeatureUnion` asks its first part, even if that is dropped.
    """
    if not is_a(estimator, "FeatureUnion"):
        return estimator
    return next((one for _, one in estimator.transformer_list if not _drops(one)), estimator)


def _part(name: str, one: Any, count: int, whole: Any) -> Affine:
    """Return the map of a part of a transformer, from this number of columns, with its weight."""
    part = Affine.identity(count)
    for step in [] if passes_through(one) else steps_of(one):
        if not is_transformer(step):
            raise ArgumentError(
                f"from_sklearn: {name_of(step)} is not supported in a {name_of(whole)}. Supported "
                f"are {transformer_names()}. Or {TRANSFORM_FIRST}."
            )
        part = part.then(transformation(step))
    weight = (whole.transformer_weights or {}).get(name)
    return part if weight is None else Affine(part.matrix * weight, part.shift * weight)


def _side_by_side(maps: list[Affine], whole: Any) -> Affine:
    if not maps:
        raise ArgumentError(
            f"from_sklearn: this {name_of(whole)} drops all columns. Fit it with at least one "
            "column that it keeps."
        )
    return Affine(
        np.column_stack([one.matrix for one in maps]), np.concatenate([one.shift for one in maps])
    )


TRANSFORMERS: Mapping[str, Callable[[Any], Affine]] = {
    "StandardScaler": _standard_scaler,
    "MinMaxScaler": _min_max_scaler,
    "MaxAbsScaler": _max_abs_scaler,
    "RobustScaler": _robust_scaler,
    "SimpleImputer": _simple_imputer,
    "PCA": _pca,
    "TruncatedSVD": _truncated_svd,
    "FunctionTransformer": _function_transformer,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _feature_union,
}
"""The supported transformers, with the functions that read their affine maps."""
