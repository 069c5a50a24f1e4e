"""A private decision tree, by a client and a server that share only the files of one folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# Running processes and printing their measurements is shared with that example.
sys.path.append(str(HERE.parent / "demo"))

from processes import play  # noqa: E402


def report(folder: Path) -> bool:
    """Print the results, and return True if the classes are those of the plaintext tree."""
    truth, ours = (
        np.load(folder / "client" / "truth.npz"),
        np.load(folder / "client" / "classes.npy"),
    )
    same = ours == truth["plaintext"]
    print()
    print(f"accuracy, encrypted     {np.mean(ours == truth['classes']):.4f}")
    print(f"accuracy, scikit-learn  {np.mean(truth['plaintext'] == truth['classes']):.4f}")
    print(f"rows that agree         {same.sum()} of {same.size}")
    # Rows that a user chose may be close to a threshold, between the values of the training rows.
    return bool(same.all()) or len(sys.argv) > 2


if __name__ == "__main__":
    play(HERE, "train.py", report, "the encrypted tree disagrees with the plaintext one")
