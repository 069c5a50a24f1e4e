"""Multi-layer perceptrons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hippocrene.errors import ArgumentError
from hippocrene.models.affine import Affine
from hippocrene.models.fitted import array_of, name_of
from hippocrene.models.nonlinear import Nonlinear, widened

# scikit-learn's names of activations. The identity joins two layers to one.
_ACTIVATIONS = {"identity": None, "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}


@dataclass(frozen=True, slots=True)
class HiddenLayers:
    """The layers of a perceptron before the last one. There may be none."""

    layers: tuple[tuple[Affine, Nonlinear], ...] = ()

    def __call__(self, x: Any) -> tuple[Any]:
        """Return the outputs of the last hidden layer, for encrypted or plain rows."""
        for layer, activation in self.layers:
            x = activation(layer(x))
        return (x,)


def perceptron(
    model: Any, before: Affine, sample: npt.NDArray[np.float64], margin: float
) -> tuple[HiddenLayers, Affine]:
    """Return the hidden layers and the last layer of a fitted `MLPClassifier` or `MLPRegressor`.

    `before` maps encoded rows to the features that the model was fitted to. `sample` holds encoded
    rows. The values before each activation determine its interval (see `Nonlinear.of_sample`).

    The outputs of the last layer come before the output activation. If there is one output, they
    have the shape ``(rows,)``.
    """
    if model.activation not in _ACTIVATIONS:
        raise ArgumentError(
            f"from_sklearn: this {name_of(model)} has the activation {model.activation!r}, and "
            f"{', '.join(_ACTIVATIONS)} are supported. Fit it with one of these."
        )
    name = _ACTIVATIONS[model.activation]
    count = len(model.coefs_)
    weights, shifts = (
        [array_of(model, attribute, index) for index in range(count)]
        for attribute in ("coefs_", "intercepts_")
    )
    *hidden, last = (Affine(*layer) for layer in zip(weights, shifts, strict=True))
    if last.matrix.shape[1] == 1:
        last = Affine(last.matrix[:, 0], last.shift[0])
    layers: list[tuple[Affine, Nonlinear]] = []
    x: Any = sample
    for layer in hidden:
        before = before.then(layer)
        if name is None:
            continue
        factors = np.ones(len(before.shift))
        if name == "relu":
            # relu(factor * x) is factor * relu(x). Its error is a share of the largest value, so
            # that all units are scaled to the same size.
            sizes = np.max(np.abs(widened(before(x), margin)), axis=0)
            factors = 1.0 / np.where(sizes > 0, sizes, 1.0)
            before = before.then(Affine.scaling(factors))
        activation = Nonlinear.of_sample(name, before(x), margin)
        layers.append((before, activation))
        x = activation(before(x))
        before = Affine.scaling(1.0 / factors)
    return HiddenLayers(tuple(layers)), before.then(last)
