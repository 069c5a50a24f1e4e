"""The server evaluates its tree on rows that it cannot read.

It has the tree and the files that the client shared.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from steps import Steps

from hippocrene.trees import (
    PrivateDecisionTree,
    TreeInterface,
    TreeKeys,
    TreeQuery,
    TreeServer,
)


def answer(own: Path, shared: Path) -> None:
    """Evaluate the tree on each row."""
    tree, rows = pickle.loads((own / "tree.pickle").read_bytes())
    tables = TreeInterface.load(shared / "interface.json").tables
    model = PrivateDecisionTree.from_sklearn(tree, rows, tables=tables)
    with Steps("server", 4) as steps:
        with steps.step("load the evaluation keys"):
            server = TreeServer(
                TreeKeys.load(shared / "evaluation.keys"), threads=os.cpu_count() or 1
            )
        with steps.step("load the query"):
            query = TreeQuery.load(shared / "query")
        with steps.step(f"evaluate a tree of {tree.get_n_leaves()} leaves"):
            reply = model.evaluate(query, server)
        with steps.step("write the reply"):
            reply.save(shared / "reply")
        steps.wrote("reply", shared / "reply")
        steps.save(shared / "server.json")


if __name__ == "__main__":
    answer(Path(sys.argv[1]), Path(sys.argv[2]))
