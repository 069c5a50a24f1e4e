"""The client asks for the record of one code and reads the answer.

The secret key stays in the client's folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from steps import Steps

import hippocrene

# A look-up takes 16 squarings in a row, one product with the table, and sums over all slots. The
# preset n15 allows this modulo 65537.
PRESET = "n15"


def ask(own: Path, shared: Path) -> None:
    """Make keys, and write evaluation keys and the encrypted code for the server."""
    code = np.load(own / "code.npy")
    with Steps("client", 4) as steps:
        with steps.step("make the secret key"):
            client = hippocrene.Client.generate(PRESET, scheme="bgv")
            client.save(own / "client.key")
        with steps.step("make the evaluation keys"):
            keys = client.evaluation_keys()
        with steps.step("write the evaluation keys"):
            keys.save(shared / "evaluation.keys")
        with steps.step("encrypt the code, once for every slot"):
            client.encrypt(np.full(client.slots, code)).save(shared / "code.enc")
        steps.wrote("secret key", own / "client.key")
        steps.wrote("evaluation keys", shared / "evaluation.keys")
        steps.wrote("encrypted code", shared / "code.enc")
        steps.save(own / "ask.json")


def read(own: Path, shared: Path) -> None:
    """Decrypt the answer: the number of records with the code, and the record's columns."""
    with Steps("client", 1) as steps:
        with steps.step("decrypt the record"):
            client = hippocrene.Client.load(own / "client.key")
            answers = sorted(shared.glob("answer-*.enc"))
            numbers = [
                int(client.decrypt(hippocrene.EncryptedArray.load(path))) for path in answers
            ]
        np.savez(own / "answer.npz", found=numbers[0], record=numbers[1:])
        steps.save(own / "read.json")


if __name__ == "__main__":
    {"ask": ask, "read": read}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
