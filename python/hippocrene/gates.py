"""Gates of single bits: every bit is a ciphertext of its own, and a gate of one is ready in milliseconds.

A `GateClient` encrypts booleans, and a `GateServer` computes on them with ``& | ^ ~`` and whatever
else arrays of bits have, without a limit of depth. Slices, `reshape`, `roll` and the like cost
nothing. Presets for bits such as ``"bits14"`` have gates of thousands of bits at once, which take
longer and are far fewer seconds for each bit. docs/bits.md says which to choose.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, cast

import numpy as np

from hippocrene import _native
from hippocrene.array import EncryptedArray
from hippocrene.bits import gates_of, plain_bits
from hippocrene.errors import ArgumentError, KeyMismatchError, SecretPickleError, ShapeError
from hippocrene.local import Local
from hippocrene.scalars import thread_count
from hippocrene.server import array_of
from hippocrene.stored import Stored
from hippocrene.values import FilePath, path_of_secret, raw_bytes, reading

if TYPE_CHECKING:
    import numpy.typing as npt

    from hippocrene.server import Server


class GateKeys(Stored[_native.GateKeys]):
    """What a server needs to compute gates of single bits: 21.6 MB. There is no secret in it."""

    __slots__ = ()
    _kind = _native.GateKeys
    _made_by = "GateClient.evaluation_keys"

    @property
    def fingerprint(self) -> str:
        """Which secret key they belong to."""
        return self._raw.fingerprint

    def __repr__(self) -> str:
        return f"GateKeys(fingerprint={self.fingerprint!r})"


class GateClient:
    """The secret key of a client: it encrypts and decrypts single bits, with 128 bits of security."""

    __slots__ = ("_raw",)

    def __init__(self, raw: _native.GateClient) -> None:
        """Wrap what the extension module made; `generate`, `load` and `from_bytes` are the ways in."""
        if not isinstance(raw, _native.GateClient):
            raise TypeError(
                "clients of single bits are made by GateClient.generate, .load and .from_bytes"
            )
        self._raw = raw

    @classmethod
    def generate(cls) -> GateClient:
        """Make a fresh secret key from the randomness of the system."""
        return cls(_native.GateClient.generate())

    @property
    def fingerprint(self) -> str:
        """The public name of the key."""
        return self._raw.fingerprint

    def evaluation_keys(self, *, threads: int = 1) -> GateKeys:
        """Make what a server needs to compute for this client."""
        return GateKeys(self._raw.evaluation_keys(thread_count(threads)))

    def encrypt(self, values: npt.ArrayLike) -> EncryptedArray:
        """Encrypt booleans of any shape, which is no secret. The file has 26 bits for each, and some 100 bytes."""
        if not np.size(values):
            raise ShapeError(f"encrypt: an array of shape {np.shape(values)} has no elements")
        return EncryptedArray(self._raw.encrypt(plain_bits(values, "encrypt")))

    def decrypt(self, array: EncryptedArray) -> npt.NDArray[np.bool_]:
        """Decrypt to booleans. One goes wrong but for a probability of ``2**-128``."""
        if not isinstance(array, EncryptedArray):
            raise TypeError(f"an EncryptedArray is decrypted, not {type(array).__name__}")
        return self._raw.decrypt(array._raw)

    def to_bytes(self) -> bytes:
        """Return what `save` writes: the secret key, in the clear."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> GateClient:
        """Read what `to_bytes` returned."""
        return cls(_native.GateClient.from_bytes(raw_bytes(data)))

    def save(self, path: FilePath) -> None:
        """Write the secret key to a new file that only this user may read; a file that exists is left alone."""
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
    """The keys of one client, made ready to compute gates with, on so many threads."""

    __slots__ = ("_raw",)
    _instead = "send its GateKeys, and make one of them there"

    def __init__(self, keys: GateKeys, *, threads: int = 1) -> None:
        """Make them ready: that takes some four times their size."""
        if not isinstance(keys, GateKeys):
            raise TypeError(
                f"a server of single bits is made from GateKeys, not from {type(keys).__name__}"
            )
        self._raw = _native.GateServer(keys._raw, thread_count(threads))

    @property
    def fingerprint(self) -> str:
        """Which secret key its keys belong to."""
        return self._raw.fingerprint

    @property
    def key_memory(self) -> int:
        """How many bytes of memory the keys take."""
        return self._raw.key_memory

    @property
    def rotations(self) -> int:
        """How many blind rotations it has made: one for each gate of a bit, two for each bit that is selected."""
        return self._raw.rotations

    def load(
        self, source: EncryptedArray | bytes | bytearray | memoryview | str | PathLike[str]
    ) -> EncryptedArray:
        """Make an encrypted array that computes here from a file, from bytes, or from one without a server."""
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
        """Return several gates of the same two or three arrays, or booleans: a rotation for each gate of each bit.

        Names are ``"and"``, ``"or"``, ``"xor"``, ``"nand"``, ``"nor"``, ``"xnor"`` and, of three
        arrays, ``"majority"``: ``total, carry = server.gates(("xor", "majority"), x, y, carry)`` is
        a full adder. Of three arrays conjunctions and disjunctions are two rotations.
        """
        return gates_of(self, names, arrays)

    def _wrap(self, raw: _native.EncryptedArray) -> EncryptedArray:
        # Of a server arrays of bits need no more than this one has.
        return EncryptedArray(raw, cast("Server", self))

    def _selected(
        self, mask: EncryptedArray, ones: EncryptedArray, zeros: EncryptedArray
    ) -> EncryptedArray:
        return self._wrap(self._raw.select(mask._raw, ones._raw, zeros._raw))

    def __repr__(self) -> str:
        return f"GateServer(fingerprint={self.fingerprint!r})"
