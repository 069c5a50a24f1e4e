"""Logistic regression on encrypted rows, by a client and a server that share only files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.polynomial import Chebyshev
from processes import play

HERE = Path(__file__).parent


def report(folder: Path) -> bool:
    """Print the results, and return True if every row is scored as by the plaintext model."""
    client = folder / "client"
    truth = np.load(client / "truth.npz")
    model = np.load(folder / "server" / "model.npz")
    ours = np.load(client / "probabilities.npy")
    scores = np.load(client / "rows.npy") @ model["weights"] + model["bias"]
    polynomial = Chebyshev(model["sigmoid"], domain=model["domain"])(scores)
    diagnoses, plaintext = truth["diagnoses"], truth["probabilities"]
    same = (ours > 0.5) == (plaintext > 0.5)

    print()
    print(f"accuracy, encrypted     {np.mean((ours > 0.5) == diagnoses):.4f}")
    print(f"accuracy, plaintext     {np.mean((plaintext > 0.5) == diagnoses):.4f}")
    print(f"rows that agree         {same.sum()} of {same.size}")
    print(
        f"largest error           {np.abs(ours - plaintext).max():.1e} against the plaintext model"
    )
    print(
        f"  of the encryption     {np.abs(ours - polynomial).max():.1e} "
        "against the same polynomial in plaintext"
    )
    return bool(same.all())


if __name__ == "__main__":
    play(HERE, "train.py", report, "the encrypted model disagrees with the plaintext one")
