"""Gates of single bits: every bit is a ciphertext of its own, and a gate takes milliseconds.

A `GateClient` encrypts booleans. A `GateServer` computes on them with ``& | ^ ~`` and all other
operations of arrays of bits, with no limit on the depth. Slices, `reshape`, `roll` and similar
operations cost nothing. Presets for bits such as ``"bits14"`` compute gates of thousands of bits at
once. Such a gate takes longer, but far less time per bit. docs/bits.md tells which to choose.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, cast

import numpy as np

from hippocrene import _native
from hippocrene.arrays.array import EncryptedArray
from hippocrene.arrays.bits import gates_of
from hippocrene.errors import ArgumentError, KeyMismatchError, SecretPickleError, ShapeError
from hippocrene.files import FilePath, path_of_secret, raw_bytes, reading
from hippocrene.local import Local
from hippocrene.server import array_of
from hippocrene.stored import Stored
from hippocrene.values.booleans import plain_bits
from hippocrene.values.scalars import thread_count

if TYPE_CHECKING:
    import numpy.typing as npt

    from hippocrene.server import Server


class GateKeys(Stored[_native.GateKeys]):
    """The keys that a server needs for gates of single bits: 21.6 MB. They contain no secret."""

    __slots__ = ()
    _kind = _native.GateKeys
    _made_by = "GateClient.evaluation_keys"

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the secret key that they belong to."""
        return self._raw.fingerprint

    def __repr__(self) -> str:
        return f"GateKeys(fingerprint={self.fingerprint!r})"


class GateClient:
    """The secret key of a client, for single bits, with 128 bits of security."""

    __slots__ = ("_raw",)

    def __init__(self, raw: _native.GateClient) -> None:
        """Wrap an object of the extension module.

        Use `generate`, `load` or `from_bytes` instead.
        """
        if not isinstance(raw, _native.GateClient):
            raise TypeError(
                "clients of single bits are made by GateClient.generate, .load and .from_bytes"
            )
        self._raw = raw

    @classmethod
    def generate(cls) -> GateClient:
        """Make a new secret key from the randomness of the system."""
        return cls(_native.GateClient.generate())

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key, which is public."""
        return self._raw.fingerprint

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
        if not isinstance(array, EncryptedArray):
            raise TypeError(f"an EncryptedArray is decrypted, not {type(array).__name__}")
        return self._raw.decrypt(array._raw)

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes: the secret key, not encrypted."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> GateClient:
        """Read the bytes that `to_bytes` returned."""
        return cls(_native.GateClient.from_bytes(raw_bytes(data)))

    def save(self, path: FilePath) -> None:
        """Write the secret key to a new file that only this user may read.

        An existing file is never overwritten.
        """
        self._raw.save(path_of_secret(path))

    @classmethod
    def load(cls, path: FilePath) -> GateClient:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            return cls(_native.GateClient.load(name))

    def __reduce__(self) -> tuple[object, ...]:
        raise SecretPickleError(
            "a client of single bits holds the secret key and does not pickle: use save and load"
        )

    def __repr__(self) -> str:
        return f"GateClient(fingerprint={self.fingerprint!r})"


class GateServer(Local):
    """The keys of one client, prepared for computing gates with the given number of threads."""

    __slots__ = ("_raw",)
    _instead = "send its GateKeys, and make one of them there"

    def __init__(self, keys: GateKeys, *, threads: int = 1) -> None:
        """Prepare the keys, which needs about four times their size in memory."""
        if not isinstance(keys, GateKeys):
            raise TypeError(
                f"a server of single bits is made from GateKeys, not from {type(keys).__name__}"
            )
        self._raw = _native.GateServer(keys._raw, thread_count(threads))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the secret key that its keys belong to."""
        return self._raw.fingerprint

    @property
    def key_memory(self) -> int:
        """The memory of the keys, in bytes."""
        return self._raw.key_memory

    @property
    def rotations(self) -> int:
        """The number of blind rotations so far: one per gate of a bit, two per selected bit."""
        return self._raw.rotations

    def load(
        self, source: EncryptedArray | bytes | bytearray | memoryview | str | PathLike[str]
    ) -> EncryptedArray:
        """Load an encrypted array from a file, from bytes, or from an array without a server."""
        array = array_of(source)
        if array._holds != "single bits":
            raise ArgumentError(
                f"load: an array of encrypted {array._holds}, where one of single bits is needed"
            )
        if array.fingerprint != self.fingerprint:
            raise KeyMismatchError(
                f"load: encrypted under key {array.fingerprint}, but this server's keys are of {self.fingerprint}"
            )
        return self._wrap(array._raw)

    def gates(
        self, names: Iterable[str], *arrays: EncryptedArray | npt.ArrayLike
    ) -> list[EncryptedArray]:
        """Return several gates of the same two or three arrays of bits, encrypted or plain.

        The names are ``"and"``, ``"or"``, ``"xor"``, ``"nand"``, ``"nor"``, ``"xnor"`` and, for
        three arrays, ``"majority"``. For example, ``total, carry = server.gates(("xor",
        "majority"), x, y, carry)`` is a full adder. Each gate needs one rotation per bit.
        Conjunctions and disjunctions of three arrays need two.
        """
        return gates_of(self, names, arrays)

    def _wrap(self, raw: _native.EncryptedArray) -> EncryptedArray:
        # Arrays of bits only use those methods of a server that this class has too.
        return EncryptedArray(raw, cast("Server", self))

    def _selected(
        self, mask: EncryptedArray, ones: EncryptedArray, zeros: EncryptedArray
    ) -> EncryptedArray:
        return self._wrap(self._raw.select(mask._raw, ones._raw, zeros._raw))

    def __repr__(self) -> str:
        return f"GateServer(fingerprint={self.fingerprint!r})"
