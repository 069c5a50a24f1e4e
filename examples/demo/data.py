"""Rows for the examples: bundled with scikit-learn, generated, or a user's own."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets

BUNDLED = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast-cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
# Generated sets in the shapes of Housing and Spambase, as numbers of rows, features and classes.
GENERATED = {"housing": (506, 13, 3), "spambase": (4601, 57, 2)}


class Data(NamedTuple):
    """Rows of features, and the class of each row; None without classes."""

    rows: np.ndarray
    classes: np.ndarray | None


def add_options(parser: argparse.ArgumentParser, last: str) -> None:
    """Add the options that choose the rows; `last` describes the last column of a user's file."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--data", choices=[*BUNDLED, *GENERATED], default="iris", help="which set (default: iris)"
    )
    source.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        help=f"your own rows: numbers separated by commas, with or without a heading; {last}",
    )


def load(options: argparse.Namespace, *, classified: bool) -> Data:
    """Return the requested rows. Rows of a file end in their class if `classified`."""
    if options.csv is not None:
        return read(options.csv, classified=classified)
    if options.data in BUNDLED:
        return Data(*BUNDLED[options.data](return_X_y=True))
    count, features, classes = GENERATED[options.data]
    return Data(
        *datasets.make_classification(
            count,
            features,
            n_informative=min(features, 10),
            n_redundant=0,
            n_classes=classes,
            random_state=0,
        )
    )


def read(path: Path, *, classified: bool) -> Data:
    """Read a user's own rows, or exit with the reason."""
    try:
        with path.open(newline="") as file:
            lines = [line for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path} cannot be read: {error}")
    features = [line[:-1] if classified else line for line in lines]
    start = 0 if features and _numbers(features[0]) is not None else 1
    rows = [_numbers(line) for line in features[start:]]
    for number, row in enumerate(rows, start=start + 1):
        if row is None or len(row) != len(rows[0] or ()):
            sys.exit(
                f"{path}: row {number} must have as many numbers as the first row, all of them "
                "finite"
            )
    if len(rows) < 4 or not rows[0]:
        sys.exit(
            f"{path} has {len(rows)} rows of {len(rows[0] or ()) if rows else 0} numbers: at least "
            "4 rows are needed"
        )
    classes = np.array([line[-1] for line in lines[start:]]) if classified else None
    return Data(np.array(rows), classes)


def _numbers(texts: list[str]) -> list[float] | None:
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if np.all(np.isfinite(numbers)) else None
