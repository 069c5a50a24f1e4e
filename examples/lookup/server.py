"""The server finds the record of a code that it cannot read.

It learns neither the code nor the record.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from steps import Steps

import hippocrene


def find(own: Path, shared: Path) -> None:
    """Compare the code with all codes at once, and add up the columns of the equal ones."""
    table = np.load(own / "table.npz")
    codes, columns = table["codes"], table["columns"]
    with Steps("server", 5) as steps:
        with steps.step("load the evaluation keys"):
            server = hippocrene.Server(hippocrene.EvaluationKeys.load(shared / "evaluation.keys"))
        with steps.step("load the encrypted code"):
            code = server.load(shared / "code.enc")
        with steps.step(f"compare it with {codes.size} codes"):
            # Slots without a record hold -1, which is 65536. No code has this value, since codes
            # have 16 bits.
            same = code == np.pad(codes, (0, code.size - codes.size), constant_values=-1)
        with steps.step(f"select {len(columns)} columns"):
            room = (0, code.size - codes.size)
            answers = [same.sum()] + [(same * np.pad(column, room)).sum() for column in columns]
        with steps.step("write the encrypted record"):
            for i, answer in enumerate(answers):
                answer.save(shared / f"answer-{i}.enc")
        steps.wrote("encrypted record, each column", shared / "answer-0.enc")
        steps.save(shared / "server.json")


if __name__ == "__main__":
    find(Path(sys.argv[1]), Path(sys.argv[2]))
