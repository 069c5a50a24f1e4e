"""A private query to a table, by a client and a server that share only the files of one folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# Running processes and printing their measurements is shared with that example.
sys.path.append(str(HERE.parent / "demo"))

from processes import play  # noqa: E402


def report(folder: Path) -> bool:
    """Print the results, and return True if the answer is the requested record."""
    client = folder / "client"
    truth, answer = np.load(client / "truth.npz"), np.load(client / "answer.npz")
    right = answer["found"] == 1 and np.array_equal(answer["record"], truth["record"])

    print()
    print(f"records in the table    {truth['records']}")
    print(f"records of the code     {answer['found']}")
    for name, got, wanted in zip(truth["names"], answer["record"], truth["record"], strict=True):
        print(f"{name:<24}{got} (in the table: {wanted})")
    return bool(right)


if __name__ == "__main__":
    play(HERE, "table.py", report, "the answer is not the requested record")
