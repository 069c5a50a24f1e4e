"""Models that were fitted in the clear and are applied to encrypted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from hippocrene.compiling import compile_noted
from hippocrene.errors import ArgumentError, ShapeError, UnsupportedError
from hippocrene.models.affine import Affine
from hippocrene.models.model_interface import ModelInterface
from hippocrene.models.nonlinear import Nonlinear
from hippocrene.models.probabilities import Probabilities
from hippocrene.models.tree_programs import Trees
from hippocrene.specs import Spec
from hippocrene.values.scalars import text, whole

if TYPE_CHECKING:
    from hippocrene.program import Program
    from hippocrene.requirements import Bootstrapping

_Doubles = npt.NDArray[np.float64]

# The default result of a model, by its kind.
_DEFAULTS = {
    "classifier": "scores",
    "clusters": "scores",
    "regressor": "predict",
    "transformer": "transform",
}
_METHODS = ("scores", "predict_proba", "predict", "transform")


class Model:
    """A fitted model as functions of encrypted rows, made by `from_sklearn`.

    The server holds the model. Its methods `scores`, `predict_proba`, `predict` and `transform` are
    ordinary functions of an encrypted array of shape ``(rows, features)``. They run on a server and
    in `hippocrene.simulate`. For a plain array they return the exact values. Calling the model
    calls the cheapest of them: `scores` for classifiers and clusters, `predict` for regressors, and
    `transform` for transformers.

    `compile` makes a program of the model. Its interface lets the client encrypt rows as they are,
    and decrypt classes. Without a program, the client encodes its rows with `encode` before it
    encrypts them with the `interval` of the model, and turns decrypted scores into classes with
    `labels`. It needs no model for this: see `interface`.

    >>> import hippocrene as hp
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> program = hp.models.from_sklearn(fitted, like=X).compile(rows=64, preset="n13")
    >>> client = hp.Client.generate(program.interface())
    >>> server = hp.Server(client.evaluation_keys(program.interface()))
    >>> reply = server.run(program, client.encrypt(program.interface(), X[:64]))
    >>> labels = client.decrypt(reply, program.interface())
    >>> bool((labels == fitted.predict(X[:64])).all())
    True
    """

    __slots__ = ("_inner", "_interface", "_last", "_output", "_probabilities")

    def __init__(
        self,
        interface: ModelInterface,
        inner: Callable[[Any], tuple[Any, ...]],
        last: Affine,
        *,
        probabilities: Probabilities | None = None,
        output: Nonlinear | None = None,
    ) -> None:
        """Join the parts of a model; use `from_sklearn` instead.

        - `inner` maps encoded rows to arrays whose columns side by side are the inputs of `last`.
        - `last` gives the scores, predictions or transformed rows.
        - `probabilities` maps the inputs of `last` to the probabilities of classes.
        - `output` is applied to predictions.
        """
        self._interface, self._inner, self._last = interface, inner, last
        self._probabilities, self._output = probabilities, output

    # Properties

    @property
    def kind(self) -> str:
        """``"classifier"``, ``"regressor"``, ``"transformer"`` or ``"clusters"``."""
        return self._interface.kind

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of rows in their order, or None if they have no names."""
        names = self._interface.feature_names
        return None if names is None else tuple(names)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The class of each score, the numbers of clusters from 0 on, or None for other models."""
        classes = self._interface.classes
        return None if classes is None else tuple(classes)

    @property
    def input_intervals(self) -> _Doubles:
        """The low and the high end of the interval of each column, of shape ``(features, 2)``.

        They are those of the sample, widened by the margin, in the units of the rows.
        """
        return self._interface.input_intervals

    @property
    def interval(self) -> tuple[float, float]:
        """The interval ``(-1.0, 1.0)`` of all encoded values, for `Client.encrypt`."""
        return -1.0, 1.0

    def __repr__(self) -> str:
        features = len(self._interface.centres)
        classes = "" if self.classes is None else f", classes={self.classes}"
        return f"Model(kind={self.kind!r}, features={features}{classes})"

    # Functions of encrypted rows

    def __call__(self, x: Any) -> Any:
        """Return the default result: `scores`, `predict` or `transform`, by the `kind`."""
        return getattr(self, _DEFAULTS[self.kind])(x)

    def scores(self, x: Any) -> Any:
        """Return the scores of classes or clusters for encrypted rows.

        `x` has the shape ``(rows, features)`` and holds encoded rows. The scores depend on the
        estimator. They have the shape ``(rows, classes)``, except as stated:

        - linear classifiers: ``decision_function``, of shape ``(rows,)`` for two classes,
        - `GaussianNB`: the joint log likelihoods,
        - `MLPClassifier`: the values before the last activation, of shape ``(rows,)`` for two
          classes,
        - trees and forests: the probabilities of the classes, also for two classes,
        - gradient boosting: the log odds, of shape ``(rows,)`` for two classes. They are
          ``decision_function``, or twice of it with the loss ``"exponential"``,
        - `KMeans`: minus half of the squared distance to each centre, plus half of the squared
          length of the row. That length is the same for all clusters.

        Decrypted scores are turned into classes by `labels`.

        A `ShapeError` is raised for another shape, an `ArgumentError` if the interval of `x`
        exceeds `interval`, and an `UnsupportedError` for other kinds of models.
        """
        return self._last(*self._checked(x, "scores"))

    def predict_proba(self, x: Any) -> Any:
        """Return the probabilities of all classes for encrypted rows.

        `x` is as for `scores`. The result has the shape ``(rows, classes)``, also for two classes.
        Its columns are in the order of `classes`. The largest error is about 0.001 for two classes,
        and 0.002 for more. The errors of the scores of a perceptron come on top. Where the
        probabilities are sigmoids divided by their sum, as for `SGDClassifier`, a small sum makes
        the error larger.

        The probabilities of trees and forests are their scores, and cost as much. Those of other
        models take polynomials of degrees up to 255. Three classes usually fit the preset
        ``"n15"``, and ten need ``"n16"`` or bootstraps. Scores are far cheaper, and the client can
        compute probabilities from them.

        Errors are those of `scores`. An `UnsupportedError` is also raised if the model has no
        probabilities that are sigmoids or a softmax of its scores. An `ArgumentError` is also
        raised if scores are too large for polynomials.
        """
        parts = self._checked(x, "predict_proba")
        if self._probabilities is None:
            raise UnsupportedError(
                "predict_proba: this classifier has no probabilities that are a sigmoid or a "
                "softmax of its scores. Use scores, and labels on the client."
            )
        return self._probabilities(parts)

    def predict(self, x: Any) -> Any:
        """Return the predictions of a regressor for encrypted rows.

        `x` is as for `scores`. The result has the shape that scikit-learn's `predict` returns:
        ``(rows,)``, or ``(rows, targets)``. Errors are those of `scores`.
        """
        values = self._last(*self._checked(x, "predict"))
        return values if self._output is None else self._output(values)

    def transform(self, x: Any) -> Any:
        """Return the rows that a transformer makes of encrypted rows.

        `x` is as for `scores`. The result has the shape ``(rows, transformed features)``. Errors
        are those of `scores`.
        """
        return self._last(*self._checked(x, "transform"))

    def _checked(self, x: Any, operation: str) -> tuple[Any, ...]:
        """Check that an operation suits the model, and return the inputs of its last map."""
        default = _DEFAULTS[self.kind]
        if operation != default and (operation, self.kind) != ("predict_proba", "classifier"):
            raise UnsupportedError(
                f"{operation}: this model is of the kind {self.kind!r}. Use {default}."
            )
        features = len(self._interface.centres)
        if len(x.shape) != 2 or x.shape[1] != features:
            raise ShapeError(
                f"{operation}: the rows have the shape {x.shape}, and (rows, {features}) is "
                "needed. Encrypt the result of encode."
            )
        if not isinstance(x, np.ndarray):
            low, high = x.interval
            if low < self.interval[0] or high > self.interval[1]:
                raise ArgumentError(
                    f"{operation}: the interval of the rows is from {low:g} to {high:g}, and at "
                    "most -1 to 1 is needed. Encrypt the result of encode with interval=(-1, 1)."
                )
        return self._inner(x)

    def compile(
        self,
        rows: int,
        *,
        result: Literal["scores", "predict_proba", "predict", "transform"] | None = None,
        preset: str = "auto",
        precision: float | None = None,
        error: float | None = None,
        bootstrapping: bool | Bootstrapping | Literal["auto"] = "auto",
        max_memory: int | str | None = None,
        optimize: Literal["latency", "throughput", "keys"] = "latency",
    ) -> Program:
        """Compile the model to a program for this number of rows.

        `result` is the method that the program computes. The default is that of a call. All other
        arguments are as for `hippocrene.compile`.

        With the interface of the program, `Client.encrypt` takes rows as they are, as an array or a
        data frame, and encodes them. ``client.decrypt(reply, interface)`` returns the class of each
        row if the program computes scores.
        """
        count = whole(rows, "compile: rows", 1, 2**40)
        method = _DEFAULTS[self.kind] if result is None else text(result, "a result")
        if method not in _METHODS:
            raise ArgumentError(
                f"compile: a result is one of {', '.join(_METHODS)}, not {method!r}"
            )
        spec = Spec((count, len(self._interface.centres)), self.interval)
        return compile_noted(
            getattr(self, method),
            spec,
            notes=self._interface.as_notes(method),
            preset=preset,
            precision=precision,
            error=error,
            bootstrapping=bootstrapping,
            max_memory=max_memory,
            optimize=optimize,
        )

    # For the client, with plain numbers

    def encode(self, rows: Any) -> _Doubles:
        """Return plain rows, ready to encrypt; see `ModelInterface.encode`."""
        return self._interface.encode(rows)

    def labels(self, scores: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each row from decrypted scores; see `ModelInterface.labels`."""
        return self._interface.labels(scores)

    def margins(self, scores: npt.ArrayLike) -> _Doubles:
        """Return how far the best score of each row is ahead; see `ModelInterface.margins`."""
        return self._interface.margins(scores)

    def near_thresholds(self, rows: Any) -> npt.NDArray[np.bool_]:
        """Return True for each plain row whose result may differ from that of scikit-learn.

        The comparisons of trees cannot tell values apart that are too near to a threshold (see
        `from_sklearn`). A row is one of these if such a value decides on its leaf in any tree. The
        encrypted result then counts this leaf in part, or a neighbour of it. All other rows have
        the result of scikit-learn, up to noise.

        `rows` are as for `encode`. Give rows like those of the clients, to find out how often it
        happens. An `UnsupportedError` is raised if the model has no trees.
        """
        if not isinstance(self._inner, Trees):
            raise UnsupportedError(
                "near_thresholds: this model has no trees, and compares nothing. Compare its "
                "results for known rows with those of scikit-learn."
            )
        return self._inner.undecided(self.encode(rows))

    def interface(self) -> dict[str, Any]:
        """Return all that a client needs to encode rows and to read scores, as a dict for JSON.

        Its entries are ``kind``, ``feature_names``, ``centres``, ``half_widths`` and ``classes``.
        It holds no weights. The extremes of the columns of the sample follow from it.
        ``ModelInterface(**model.interface())`` has the methods `encode`, `labels` and `margins`.
        """
        return self._interface.as_dict()
