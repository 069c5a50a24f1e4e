"""Train the model in plaintext, and write what each of the two sides knows.

- ``client/rows.npy``: the patients' standardised measurements, the client's secret
- ``client/truth.npz``: the diagnoses, and the plaintext model's probabilities for a comparison
- ``server/model.npz``: weights, bias and the polynomial sigmoid, the server's own
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.polynomial import Chebyshev
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 1
REGULARISATION = (
    0.1  # scores as well as scikit-learn's 1.0 in cross-validation, with scores half as large
)
DEGREE = 63  # of the polynomial sigmoid, which is six multiplications deep
INTERVAL_FACTOR = 1.5  # the polynomial's interval, in units of the training rows' largest score


def sigmoid(score: np.ndarray) -> np.ndarray:
    """Turn scores into probabilities."""
    return 1.0 / (1.0 + np.exp(-score))


def polynomial_sigmoid(largest: float) -> Chebyshev:
    """Interpolate the sigmoid on ``[-largest, largest]`` by 1/2 plus an odd polynomial."""
    series = Chebyshev.interpolate(sigmoid, DEGREE, domain=[-largest, largest])
    series.coef[0] = 0.5
    series.coef[2::2] = 0.0
    return series


def train(folder: Path) -> None:
    """Write the files above."""
    rows, diagnoses = load_breast_cancer(return_X_y=True)
    seen, unseen, seen_truth, truth = train_test_split(
        rows, diagnoses, test_size=0.2, random_state=SEED, stratify=diagnoses
    )
    scaler = StandardScaler().fit(seen)
    model = LogisticRegression(C=REGULARISATION, max_iter=1000).fit(
        scaler.transform(seen), seen_truth
    )
    series = polynomial_sigmoid(
        INTERVAL_FACTOR * np.abs(model.decision_function(scaler.transform(seen))).max()
    )

    client, server = folder / "client", folder / "server"
    client.mkdir(parents=True)
    server.mkdir()
    (folder / "shared").mkdir()
    unseen = scaler.transform(unseen)
    np.save(client / "rows.npy", unseen)
    np.savez(client / "truth.npz", diagnoses=truth, probabilities=model.predict_proba(unseen)[:, 1])
    np.savez(
        server / "model.npz",
        weights=model.coef_[0],
        bias=model.intercept_[0],
        sigmoid=series.coef,
        domain=series.domain,
    )
    print(
        f"train: logistic regression on {len(seen)} rows of {rows.shape[1]} measurements, "
        f"{len(truth)} rows to score; polynomial sigmoid of degree {DEGREE} on scores to "
        f"{series.domain[1]:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    train(Path(sys.argv[1]))
