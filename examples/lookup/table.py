"""Make a table for the server and a code for the client.

- ``server/table.npz``: the codes of the records, 16-bit numbers in random order, and the columns
- ``client/code.npy``: the client's code, which is secret
- ``client/truth.npz``: the record of this code, for a comparison at the end
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SEED = 1
RECORDS = 30_000
COLUMNS = ["price in cents", "pieces in stock", "shelf"]


def make(folder: Path) -> None:
    """Write the files above."""
    random = np.random.default_rng(SEED)
    codes = random.permutation(2**16)[:RECORDS]
    columns = np.stack([random.integers(1, most, RECORDS) for most in (60_000, 500, 2_000)])
    asked = random.integers(RECORDS)
    for side in ("client", "server", "shared"):
        (folder / side).mkdir(parents=True, exist_ok=True)
    np.savez(folder / "server" / "table.npz", codes=codes, columns=columns)
    np.save(folder / "client" / "code.npy", codes[asked])
    np.savez(
        folder / "client" / "truth.npz", record=columns[:, asked], names=COLUMNS, records=RECORDS
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
