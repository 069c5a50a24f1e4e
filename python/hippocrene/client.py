"""The client: it holds the secret key, encrypts, decrypts, and makes the keys that others need."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hippocrene import _native
from hippocrene.array import EncryptedArray, Float64Array, plain
from hippocrene.errors import SecretPickleError
from hippocrene.server import EvaluationKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    import numpy.typing as npt


class PublicKey:
    """Encrypts for the client it is from, and can do nothing else: give it to whoever sends data."""

    __slots__ = ("_raw",)

    def __init__(self, raw: _native.PublicKey) -> None:
        """Wrap what the extension module made; `Client.public_key` is the way in."""
        self._raw = raw

    @property
    def fingerprint(self) -> str:
        """Which secret key this belongs to."""
        return self._raw.fingerprint

    def encrypt(self, values: npt.ArrayLike) -> EncryptedArray:
        """Encrypt real numbers of any shape; finite ones only."""
        return EncryptedArray(self._raw.encrypt(plain(values, "encrypt")))

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> PublicKey:
        """Read what `to_bytes` returned."""
        return cls(_native.PublicKey.from_bytes(data))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the key to a file."""
        Path(path).write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PublicKey:
        """Read a file that `save` wrote."""
        return cls.from_bytes(Path(path).read_bytes())

    def __reduce__(self) -> tuple[object, ...]:
        return PublicKey.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"PublicKey(fingerprint={self.fingerprint!r})"


class Client:
    """The owner of the data, with the secret key. What it makes for others, `evaluation_keys` and `public_key`, and
    what it encrypts, hold no secret; the client itself, and the file that `save` writes, stay where they are.
    """  # noqa: D205

    def __init__(self, raw: _native.ClientKey) -> None:
        """Wrap what the extension module made; `generate`, `load` and `from_bytes` are the ways in."""
        self._raw = raw
        self._may_pickle = False

    @classmethod
    def generate(cls, preset: str = "n14", *, threads: int = 1) -> Client:
        """Make a fresh secret key from the randomness of the system.

        `preset` names the parameters (see `presets`): the larger, the more can be computed in a row, and the slower.
        """
        return cls(_native.ClientKey.generate(preset, threads))

    @property
    def preset(self) -> str:
        """Name of the parameters."""
        return self._raw.preset

    @property
    def fingerprint(self) -> str:
        """Which secret key this is; encrypted arrays and other keys carry the same."""
        return self._raw.fingerprint

    @property
    def slots(self) -> int:
        """How many numbers one ciphertext holds; larger arrays span several."""
        return self._raw.slots

    def encrypt(self, values: npt.ArrayLike) -> EncryptedArray:
        """Encrypt real numbers of any shape; finite ones only."""
        return EncryptedArray(self._raw.encrypt(plain(values, "encrypt")))

    def decrypt(self, array: EncryptedArray) -> Float64Array:
        """Decrypt, for the client's own eyes.

        The last bits of the result are noise that depends on the secret key: whoever sees many results together with
        their encryptions can compute the key. Publish what `decrypt_for_sharing` returns, never this.
        """
        return self._raw.decrypt(array._raw)

    def decrypt_for_sharing(self, array: EncryptedArray) -> Float64Array:
        """Decrypt, with fresh noise that hides the key's: what may be shown to others, at some bits of precision."""
        return self._raw.decrypt_for_sharing(array._raw)

    def evaluation_keys(self, rotations: Iterable[int] | None = None) -> EvaluationKeys:
        """Make the keys a server computes with: for products, and for rotations by any number of places.

        `rotations` limits the latter to these numbers of places, which makes the keys smaller: none at all for a
        server that only adds, multiplies and evaluates polynomials.
        """
        steps = None if rotations is None else [int(step) for step in rotations]
        return EvaluationKeys(self._raw.evaluation_keys(steps))

    def public_key(self) -> PublicKey:
        """Make a key with which others encrypt for this client."""
        return PublicKey(self._raw.public_key())

    # Files

    def to_bytes(self) -> bytes:
        """Return what `save` writes: the secret key, in the clear."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, *, threads: int = 1) -> Client:
        """Read what `to_bytes` returned."""
        return cls(_native.ClientKey.from_bytes(data, threads))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the secret key to a new file that only this user may read; a file that exists is left alone."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str], *, threads: int = 1) -> Client:
        """Read a file that `save` wrote."""
        return cls.from_bytes(Path(path).read_bytes(), threads=threads)

    @contextmanager
    def allow_pickle(self) -> Iterator[Client]:
        """Let this client be pickled, secret key and all, within a ``with`` block."""
        before, self._may_pickle = self._may_pickle, True
        try:
            yield self
        finally:
            self._may_pickle = before

    def __reduce__(self) -> tuple[object, ...]:
        if not self._may_pickle:
            raise SecretPickleError(
                "a client holds the secret key and pickles only when asked to: use `with client.allow_pickle():`"
            )
        return Client.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"Client(preset={self.preset!r}, fingerprint={self.fingerprint!r})"
