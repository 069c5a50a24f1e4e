"""What a file is, told without any key."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, cast

from hippocrene import _native
from hippocrene.values import raw_bytes, reading


def inspect(data: bytes | bytearray | memoryview | str | PathLike[str]) -> dict[str, Any]:
    """Say what a file that this package wrote is, given its bytes or its path, without any key.

    It is what the command ``hippocrene inspect --json`` prints for the file: ``kind``, ``version``
    of the wire format, ``secret``, ``bytes``, ``peak_memory`` (how many bytes of memory loading it
    takes, at most about), ``key`` (the `fingerprint` of the secret key that it belongs to),
    ``preset``, ``ring_degree``, ``settings`` (with ``precision``, and ``integers`` for their scheme
    and modulus), and, where it is one, what an ``array`` is like (``shape``, ``memory``, ``work``
    (see `Limits`), ``precision_bits``, ``capacity_bits`` or ``budget_bits``, ..), which ``keys``
    there are (``rotations``, ``conjugation``, ``bootstrapping``, ``tables``, ``bits``, ..), where a
    ``transfer`` key leads, and what a file of ``trees`` has. What does not apply is None.

    ``kind`` is ``"settings"``, ``"secret_key"``, ``"public_key"``, ``"evaluation_keys"``,
    ``"transfer_key"``, ``"array"``, ``"integer_array"``, ``"bit_array"``, ``"tree_secret_key"``,
    ``"tree_keys"``, ``"tree_query"``, ``"tree_reply"``, ``"clustering"``, ``"gate_secret_key"``,
    ``"gate_keys"`` or ``"gate_array"``.

    Header, checksum and the lengths of all parts are checked; whether residues make sense shows
    where they are read.

    `FormatError` is raised for what is no whole file of this package, and `FileError` for a path
    that cannot be read.
    """
    if isinstance(data, (str, PathLike)):
        with reading(data) as name:
            return cast("dict[str, Any]", json.loads(_native.inspect_file(name)))
    return cast("dict[str, Any]", json.loads(_native.inspect_bytes(raw_bytes(data))))
