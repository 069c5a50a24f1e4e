"""The base class of wrappers of objects that can be saved to files."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from hippocrene import _native
from hippocrene.files import FilePath, file_path, raw_bytes, reading

_Raw = TypeVar("_Raw", _native.TreeKeys, _native.TreeQuery, _native.TreeReply, _native.GateKeys)
_S = TypeVar("_S", bound="Stored[Any]")


class Stored(Generic[_Raw]):
    """A wrapper of an object of the extension module that can be saved to a file."""

    __slots__ = ("_raw",)
    _raw: _Raw
    _kind: ClassVar[type[Any]]
    _made_by: ClassVar[str]

    def __init__(self, raw: _Raw) -> None:
        """Wrap an object of the extension module."""
        if not isinstance(raw, self._kind):
            raise TypeError(
                f"{type(self).__name__} is made by {self._made_by}, .load and .from_bytes"
            )
        self._raw = raw

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls: type[_S], data: bytes | bytearray | memoryview) -> _S:
        """Read the bytes that `to_bytes` returned."""
        return cls(cls._kind.from_bytes(raw_bytes(data)))

    def save(self, path: FilePath) -> None:
        """Write a file."""
        self._raw.save(file_path(path))

    @classmethod
    def load(cls: type[_S], path: FilePath) -> _S:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            return cls(cls._kind.load(name))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_bytes, (self.to_bytes(),)
