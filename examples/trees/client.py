"""The client encrypts rows for the server's tree and reads their classes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from steps import Steps

from hippocrene.trees import TreeClient, TreeInterface, TreeReply


def ask(own: Path, shared: Path) -> None:
    """Make keys, and write the server's keys and a query for all rows."""
    rows = np.load(own / "rows.npy")
    interface = TreeInterface.load(shared / "interface.json")
    with Steps("client", 4) as steps:
        with steps.step("make the secret key"):
            client = TreeClient.generate(interface)
            client.save(own / "client.key")
        with steps.step("make the evaluation keys"):
            keys = client.evaluation_keys()
        with steps.step("write the evaluation keys"):
            keys.save(shared / "evaluation.keys")
        with steps.step(f"encrypt {rows.shape[0]} rows of {rows.shape[1]}"):
            client.encrypt_query(interface, rows).save(shared / "query")
        steps.wrote("evaluation keys", shared / "evaluation.keys")
        steps.wrote("query", shared / "query")
        steps.save(own / "ask.json")


def read(own: Path, shared: Path) -> None:
    """Decrypt the server's answer."""
    with Steps("client", 1) as steps:
        with steps.step("decrypt the classes"):
            client = TreeClient.load(own / "client.key")
            interface = TreeInterface.load(shared / "interface.json")
            classes = client.decrypt(interface, TreeReply.load(shared / "reply"))
        np.save(own / "classes.npy", classes)
        steps.save(own / "read.json")


if __name__ == "__main__":
    {"ask": ask, "read": read}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
