"""The client encrypts rows for the server and reads their classes.

The secret key stays in the client's folder. Of the model, the client has only the interface.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from steps import Steps

import hippocrene


def ask(own: Path, shared: Path) -> None:
    """Make keys, and write evaluation keys and encrypted rows for the server."""
    interface = hippocrene.Interface.load(shared / "model.interface")
    rows = np.load(own / "rows.npy")
    with Steps("client", 4) as steps:
        with steps.step("make the secret key"):
            client = hippocrene.Client.generate(interface)
            client.save(own / "client.key")
        with steps.step("make the evaluation keys"):
            keys = client.evaluation_keys(interface)
        with steps.step("write the evaluation keys"):
            keys.save(shared / "evaluation.keys")
        with steps.step(f"encrypt {rows.shape[0]} rows of {rows.shape[1]}"):
            client.encrypt(interface, rows).save(shared / "rows.enc")
        steps.wrote("evaluation keys", shared / "evaluation.keys")
        steps.wrote("encrypted rows", shared / "rows.enc")
        steps.save(own / "ask.json")


def read(own: Path, shared: Path) -> None:
    """Decrypt the server's reply."""
    interface = hippocrene.Interface.load(shared / "model.interface")
    with Steps("client", 1) as steps:
        with steps.step("decrypt the classes"):
            client = hippocrene.Client.load(own / "client.key")
            reply = hippocrene.EncryptedArray.load(shared / "reply.enc")
            classes = client.decrypt(reply, interface)
        # The scores behind the classes are for the comparison with scikit-learn only.
        np.savez(own / "answer.npz", classes=classes, scores=client.decrypt(reply))
        steps.save(own / "read.json")


if __name__ == "__main__":
    {"ask": ask, "read": read}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
