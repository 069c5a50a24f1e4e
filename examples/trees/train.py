"""Trains a decision tree on Iris in plaintext, and lays out a folder for each side."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from hippocrene.trees import PrivateDecisionTree

# The tables: `lut11` is the fastest, and makes thresholds half as sharp as `lut12`.
TABLES = "lut12"


def main(folder: Path) -> None:
    """Give the server the tree, the client rows of flowers, and publish what a client has to know of the tree."""
    for side in ("client", "server", "shared"):
        (folder / side).mkdir(parents=True)
    flowers, species = load_iris(return_X_y=True)
    rows, asked, known, truth = train_test_split(flowers, species, test_size=0.2, random_state=7, stratify=species)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, known)
    ranges = (flowers.min(axis=0), flowers.max(axis=0))
    (folder / "server" / "tree.pickle").write_bytes(pickle.dumps((tree, ranges)))
    PrivateDecisionTree.from_sklearn(tree, ranges, tables=TABLES).interface.save(folder / "shared" / "interface.json")
    np.save(folder / "client" / "rows.npy", asked)
    np.savez(folder / "client" / "truth.npz", species=truth, plaintext=tree.predict(asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
