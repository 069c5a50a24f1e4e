"""Train a decision tree in plaintext, and write a folder for each side."""

from __future__ import annotations

import argparse
import pickle
import sys
from pathlib import Path

import numpy as np
from data import add_options, load
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from hippocrene.trees import PrivateDecisionTree

# The tables. Look-ups with `lut11` take half as long, but more of them may be needed.
TABLES = "lut12"
# The maximum number of rows of the client.
MAX_ROWS = 30


def main() -> None:
    """Give the tree to the server and the rows to the client, and publish the interface."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder for all files")
    parser.add_argument(
        "--depth", type=int, default=4, help="the maximum depth of the tree (default: 4)"
    )
    add_options(parser, "the last column is the class")
    options = parser.parse_args()
    features, classes = load(options, classified=True)
    if len(np.unique(classes)) < 2:
        sys.exit("all rows have the same class, so there is nothing to decide")
    folder = options.folder
    for side in ("client", "server", "shared"):
        (folder / side).mkdir(parents=True)
    counts = np.unique(classes, return_counts=True)[1]
    share = max(min(0.2, MAX_ROWS / len(features)), len(counts) / len(features))
    rows, asked, known, truth = train_test_split(
        features,
        classes,
        test_size=share,
        random_state=7,
        stratify=classes if counts.min() > 1 else None,
    )
    tree = DecisionTreeClassifier(max_depth=options.depth, random_state=0).fit(rows, known)
    (folder / "server" / "tree.pickle").write_bytes(pickle.dumps((tree, rows)))
    PrivateDecisionTree.from_sklearn(tree, rows, tables=TABLES).interface.save(
        folder / "shared" / "interface.json"
    )
    np.save(folder / "client" / "rows.npy", asked)
    np.savez(folder / "client" / "truth.npz", classes=truth, plaintext=tree.predict(asked))


if __name__ == "__main__":
    main()
