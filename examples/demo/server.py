"""The server runs its model on rows that it cannot read.

It has the compiled model and the files that the client shared, and no secret key.
"""

from __future__ import annotations

import sys
from pathlib import Path

from steps import Steps

import hippocrene


def answer(own: Path, shared: Path) -> None:
    """Run the program on the encrypted rows."""
    with Steps("server", 7) as steps:
        with steps.step("load the program"):
            program = hippocrene.Program.load(own / "model.program")
        with steps.step("load the evaluation keys"):
            server = hippocrene.Server(hippocrene.EvaluationKeys.load(shared / "evaluation.keys"))
        with steps.step("load the encrypted rows"):
            rows = server.load(shared / "rows.enc")
        with steps.step("run the program"):
            reply = server.run(program, rows)
        with steps.step("run it again"):
            # The second run caches the encoded weights for later ones.
            reply = server.run(program, rows)
        with steps.step("run it with cached weights"):
            reply = server.run(program, rows)
        with steps.step("write the reply"):
            reply.save(shared / "reply.enc")
        steps.wrote("reply", shared / "reply.enc")
        steps.save(shared / "server.json")


if __name__ == "__main__":
    answer(Path(sys.argv[1]), Path(sys.argv[2]))
