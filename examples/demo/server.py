"""The server scores rows that it cannot read.

It has the model and the files that the client shared, and no secret key.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.polynomial import Chebyshev
from steps import Steps

import hippocrene


def score(own: Path, shared: Path) -> None:
    """Compute ``sigmoid(W x + b)`` for every encrypted row."""
    model = np.load(own / "model.npz")
    sigmoid = Chebyshev(model["sigmoid"], domain=model["domain"])
    with Steps("server", 5) as steps:
        with steps.step("load the evaluation keys"):
            server = hippocrene.Server(hippocrene.EvaluationKeys.load(shared / "evaluation.keys"))
        with steps.step("load the encrypted rows"):
            rows = server.load(shared / "rows.enc")
        with steps.step("W x + b"):
            # Scores are scaled from the polynomial's domain to [-1, 1]. This is free here, and
            # would cost a multiplication later.
            shift, slope = sigmoid.mapparms()
            scores = rows @ (slope * model["weights"]) + (slope * model["bias"] + shift)
            # The worst case could exceed this bound: see `INTERVAL_FACTOR` in train.py. Declaring
            # it sets the stray slots of the sums to zero.
            scores = scores.with_bound(1.0)
        with steps.step(f"sigmoid of degree {sigmoid.degree()}"):
            probabilities = scores.polynomial(Chebyshev(sigmoid.coef))
        with steps.step("write the encrypted probabilities"):
            probabilities.save(shared / "probabilities.enc")
        steps.wrote("encrypted probabilities", shared / "probabilities.enc")
        steps.save(shared / "server.json")


if __name__ == "__main__":
    score(Path(sys.argv[1]), Path(sys.argv[2]))
