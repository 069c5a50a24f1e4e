"""The client encrypts rows for the server and reads the probabilities.

The secret key stays in the client's folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from steps import Steps

import hippocrene

PRESET = "n14"
# The bits after the binary point. With 20 bits, eight multiplications in a row are possible: one
# for W x + b, one for the bound of the scores, and six for the sigmoid.
PRECISION = 20


def ask(own: Path, shared: Path) -> None:
    """Make keys, and write evaluation keys and encrypted rows for the server."""
    rows = np.load(own / "rows.npy")
    with Steps("client", 4) as steps:
        with steps.step("make the secret key"):
            client = hippocrene.Client.generate(PRESET, precision=PRECISION)
            client.save(own / "client.key")
        with steps.step("make the evaluation keys"):
            # Sums over the 30 numbers of a row, padded to 32 slots, need only these rotations.
            keys = client.evaluation_keys(rotations=[1, 2, 4, 8, 16])
        with steps.step("write the evaluation keys"):
            keys.save(shared / "evaluation.keys")
        with steps.step(f"encrypt {rows.shape[0]} rows of {rows.shape[1]}"):
            client.encrypt(rows).save(shared / "rows.enc")
        steps.wrote("secret key", own / "client.key")
        steps.wrote("evaluation keys", shared / "evaluation.keys")
        steps.wrote("encrypted rows", shared / "rows.enc")
        steps.save(own / "ask.json")


def read(own: Path, shared: Path) -> None:
    """Decrypt the server's answer."""
    with Steps("client", 1) as steps:
        with steps.step("decrypt the probabilities"):
            client = hippocrene.Client.load(own / "client.key")
            answer = hippocrene.EncryptedArray.load(shared / "probabilities.enc")
            probabilities = client.decrypt(answer)
        np.save(own / "probabilities.npy", probabilities)
        steps.save(own / "read.json")


if __name__ == "__main__":
    {"ask": ask, "read": read}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
