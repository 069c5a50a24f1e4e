"""Gates of single bits: every bit is a ciphertext of its own, and a gate takes milliseconds.

A `GateClient` encrypts booleans. A `GateServer` computes on them with ``& | ^ ~`` and all other
operations of arrays of bits, with no limit on the depth. Slices, `reshape`, `roll` and similar
operations cost nothing. Presets for bits such as ``"bits14"`` compute gates of thousands of bits at
once. Such a gate takes longer, but far less time per bit. docs/how-to/bits.md tells which to
choose.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.bits import BitArray, gates_of
from hippocrene.arrays.encrypted import ArrayServer, EncryptedArray
from hippocrene.arrays.view import View
from hippocrene.errors import ArgumentError, KeyMismatchError, ShapeError
from hippocrene.server import array_of
from hippocrene.stored import Forwarded, Local, Stored, StoredSecret
from hippocrene.values.operands import plain_bits
from hippocrene.values.scalars import check_type, thread_count


class GateKeys(Stored):
    """The keys that a server needs for gates of single bits: 21.6 MB. They contain no secret."""

    __slots__ = ()
    _kind = _native.GateKeys
    _factory = "GateClient.evaluation_keys"


class GateClient(StoredSecret):
    """The secret key of a client, for single bits, with 128 bits of security."""

    __slots__ = ()
    _raw: _native.GateClient
    _kind = _native.GateClient
    _factory = "GateClient.generate"

    @classmethod
    def generate(cls) -> GateClient:
        """Make a new secret key from the randomness of the system."""
        return cls(_native.GateClient.generate())

    def evaluation_keys(self, *, threads: int = 1) -> GateKeys:
        """Make the keys that a server needs to compute for this client."""
        return GateKeys(self._raw.evaluation_keys(thread_count(threads)))

    def encrypt(self, values: npt.ArrayLike) -> EncryptedArray:
        """Encrypt booleans of any shape.

        The shape is public. The file has 26 bits for each boolean, and about 100 bytes.
        """
        if not np.size(values):
            raise ShapeError(f"encrypt: an array of shape {np.shape(values)} has no elements")
        return EncryptedArray(self._raw.encrypt(plain_bits(values, "encrypt")))

    def decrypt(self, array: EncryptedArray) -> npt.NDArray[np.bool_]:
        """Decrypt to booleans. Each is wrong with a probability of ``2**-128``."""
        check_type(array, EncryptedArray, "an EncryptedArray is decrypted")
        return self._raw.decrypt(array._elements())


class GateServer(Local):
    """The keys of one client, prepared for computing gates with the given number of threads."""

    __slots__ = ("_raw",)
    _instead = "send its GateKeys, and make one of them there"

    def __init__(self, keys: GateKeys, *, threads: int = 1) -> None:
        """Prepare the keys, which needs about four times their size in memory."""
        check_type(keys, GateKeys, "a server of single bits is made from GateKeys")
        self._raw = _native.GateServer(keys._raw, thread_count(threads))

    fingerprint = Forwarded[str]("The fingerprint of the secret key that its keys belong to.")

    key_memory = Forwarded[int]("The memory of the keys, in bytes.")

    rotations = Forwarded[int](
        "The number of blind rotations so far: one per gate of a bit, two per selected bit."
    )

    def load(
        self, source: EncryptedArray | bytes | bytearray | memoryview | str | PathLike[str]
    ) -> EncryptedArray:
        """Load an encrypted array from a file, from bytes, or from an array without a server."""
        array = array_of(source)
        if array._holds != "single bits":
            raise ArgumentError(
                f"load: this array holds encrypted {array._holds}, and single bits are needed"
            )
        if array.fingerprint != self.fingerprint:
            raise KeyMismatchError(
                f"load: encrypted under key {array.fingerprint}, but this server's keys are of {self.fingerprint}"
            )
        return self._wrap(array._elements())

    def gates(
        self, names: Iterable[str], *arrays: EncryptedArray | npt.ArrayLike
    ) -> list[BitArray]:
        """Return several gates of the same two or three arrays of bits, encrypted or plain.

        The names are ``"and"``, ``"or"``, ``"xor"``, ``"nand"``, ``"nor"``, ``"xnor"`` and, for
        three arrays, ``"majority"``. For example, ``total, carry = server.gates(("xor",
        "majority"), x, y, carry)`` is a full adder. Each gate needs one rotation per bit.
        Conjunctions and disjunctions of three arrays need two.
        """
        return gates_of(self._for_arrays, names, arrays)

    @property
    def _for_arrays(self) -> ArrayServer[BitArray]:
        # Arrays of bits only use those methods of a server that this class has too.
        return cast("ArrayServer[BitArray]", self)

    @property
    def _for_now(self) -> None:
        """None: a server of single bits has no other precision."""

    def _wrap(self, raw: _native.EncryptedArray | View) -> EncryptedArray:
        return EncryptedArray(raw, self._for_arrays)

    def __repr__(self) -> str:
        return f"GateServer(fingerprint={self.fingerprint!r})"
