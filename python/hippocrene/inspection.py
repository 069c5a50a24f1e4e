"""Descriptions of files, without any key."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, cast

from hippocrene import _native
from hippocrene.files import raw_bytes, reading


def inspect(data: bytes | bytearray | memoryview | str | PathLike[str]) -> dict[str, Any]:
    """Describe a file that this package wrote, from its bytes or its path, without any key.

    The result is a dict, which the command ``hippocrene inspect --json`` prints too. Entries that
    do not apply are None. These are the main ones:

    - ``kind``: the kind of file; see below.
    - ``version``: the version of the wire format.
    - ``secret``: whether the file contains a secret.
    - ``bytes``: the size of the file.
    - ``peak_memory``: an upper bound of the memory needed to load it, in bytes. For keys and arrays
      it is at most 1.3 times the memory that a process really needs.
    - ``key``: the `fingerprint` of the secret key that it belongs to.
    - ``preset`` and ``ring_degree``: the parameters.
    - ``settings``: details of the parameters, such as ``precision``, and ``integers`` with the
      scheme and plain modulus.
    - ``array``: the properties of an array, such as ``shape``, ``work`` (see `Limits`),
      ``precision_bits``, and ``capacity_bits`` or ``budget_bits``. ``memory`` is the size of the
      ciphertexts in memory. The file may be much smaller, since it stores zeros in hardly any bytes.
      ``packed`` is true if the elements have the layout of a fresh array. Otherwise, moving them may
      need thousands of products. `NumberArray.packed` restores the layout for one multiplication.
    - ``keys``: the evaluation keys in it, such as ``rotations``, ``conjugation``,
      ``bootstrapping``, ``tables`` and ``bits``.
    - ``transfer``: the second secret key that a transfer key leads to.
    - ``trees``: the properties of a file of decision trees.
    - ``program``: the inputs and the results of a program or of an interface, and the cost of a
      program.

    ``kind`` is ``"settings"``, ``"secret_key"``, ``"public_key"``, ``"evaluation_keys"``,
    ``"transfer_key"``, ``"array"``, ``"integer_array"``, ``"bit_array"``, ``"tree_secret_key"``,
    ``"tree_keys"``, ``"tree_query"``, ``"tree_reply"``, ``"clustering"``, ``"gate_secret_key"``,
    ``"gate_keys"``, ``"gate_array"``, ``"program"`` or ``"interface"``.

    This checks the header, the checksum and the lengths of all parts. Residues are checked only
    when they are read. Data that is not a whole file of this package raises a `FormatError`, and a
    path that cannot be read raises a `FileError`.
    """
    if isinstance(data, (str, PathLike)):
        with reading(data) as name:
            return cast("dict[str, Any]", json.loads(_native.inspect_file(name)))
    return cast("dict[str, Any]", json.loads(_native.inspect_bytes(raw_bytes(data))))
