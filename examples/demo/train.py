"""Train two models in plaintext, compile them, and write a folder for each of them.

- ``server/model.program``: the compiled model, which contains its weights
- ``shared/model.interface``: all that the client needs to know about it, without weights
- ``client/rows.npy``: rows that the model was not trained on, the client's secret
- ``truth.npz``: the true classes and scikit-learn's results, for the comparison at the end
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import hippocrene

# With this seed, no row of a client is outside of the intervals of the training rows.
SEED = 1
SETS = {"patients": load_breast_cancer, "digits": load_digits}
MODELS = {
    "patients": make_pipeline(StandardScaler(), PCA(10), LogisticRegression()),
    "digits": make_pipeline(MinMaxScaler(), MLPClassifier((32,), max_iter=1000, random_state=SEED)),
}
# The precision in bits after the binary point. Without one, a program has that of its preset. With
# 20 bits, the preset n15 has enough capacity for the relu of the perceptron.
PRECISIONS = {"patients": None, "digits": 20}
# The number of rows of each client.
ROWS = {"patients": 114, "digits": 256}


def train(name: str, folder: Path, rows: int) -> None:
    """Write the files above for one model and this number of rows."""
    data = SETS[name]()
    seen, unseen, seen_classes, classes = train_test_split(
        data.data,
        data.target_names[data.target],
        test_size=rows,
        random_state=SEED,
        stratify=data.target,
    )
    fitted = MODELS[name].fit(seen, seen_classes)

    model = hippocrene.models.from_sklearn(fitted, like=seen)
    program = model.compile(rows=rows, precision=PRECISIONS[name])
    steps = ", ".join(type(step).__name__ for step in fitted)
    print(f"{name}: {steps}\n{program}\n", flush=True)

    for side in ("client", "server", "shared"):
        (folder / side).mkdir(parents=True)
    program.save(folder / "server" / "model.program")
    program.interface().save(folder / "shared" / "model.interface")
    np.save(folder / "client" / "rows.npy", unseen)
    # For plain rows, these are the scores of scikit-learn.
    scores = model.scores(model.encode(unseen))
    np.savez(
        folder / "truth.npz",
        model=steps,
        classes=classes,
        predicted=fitted.predict(unseen),
        scores=scores,
        margins=model.margins(scores),
    )


def main() -> None:
    """Train, compile and write both models."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder for all files")
    parser.add_argument(
        "--rows", type=int, default=256, help="the maximum number of rows of a client (from 10 on)"
    )
    options = parser.parse_args()
    if options.rows < 10:
        parser.error("there are ten digits, so pass --rows 10 or more")
    for name in MODELS:
        train(name, options.folder / name, min(options.rows, ROWS[name]))


if __name__ == "__main__":
    main()
