"""The base classes of objects that can be saved to files, and of those that cannot be pickled."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, NoReturn, TypeVar, cast

from hippocrene.errors import SecretPickleError
from hippocrene.files import FilePath, file_path, path_of_secret, raw_bytes, reading
from hippocrene.html_tables import Cell, table

_S = TypeVar("_S", bound="Stored")
_T = TypeVar("_T")


class Forwarded(Generic[_T]):
    """A property whose value is that of the same property of the wrapped object.

    The wrapped object belongs to the extension module and is in the attribute `own`.
    """

    def __init__(self, documentation: str, own: str = "_raw") -> None:
        """Make a property with this documentation."""
        self.__doc__, self._own = documentation, own

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wrapper: Any, owner: type) -> _T:
        value: Any = self if wrapper is None else getattr(getattr(wrapper, self._own), self._name)
        return cast("_T", value)

    def __set__(self, wrapper: object, value: object) -> NoReturn:
        raise AttributeError(f"{self._name} of a {type(wrapper).__name__} does not change")


class Stored:
    """A wrapper of an object of the extension module that can be saved to a file."""

    __slots__ = ("_raw",)
    _raw: Any
    # The class of the wrapped object.
    _kind: ClassVar[type[Any]]
    # The name of the method that makes such objects, for an error.
    _factory: ClassVar[str]
    # Arguments of the wrapped class's `load` and `from_bytes` after the first one.
    _arguments: ClassVar[tuple[Any, ...]] = ()
    # The properties in the `repr` and, by default, in the HTML table.
    _shown: ClassVar[tuple[str, ...]] = ("fingerprint",)
    # The text of the row "secret" of the HTML table: whether the object contains a secret.
    _confidentiality: ClassVar[str] = "none, so that it can be given to others"

    def __init__(self, raw: Any = None) -> None:
        """Wrap an object of the extension module."""
        name = type(self).__name__
        if not isinstance(raw, self._kind):
            raise TypeError(f"{name} is made by {self._factory}, {name}.load and {name}.from_bytes")
        self._raw = raw

    fingerprint = Forwarded[str]("The public identifier of the secret key that it belongs to.")

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        data: bytes = self._raw.to_bytes()
        return data

    @classmethod
    def from_bytes(cls: type[_S], data: bytes | bytearray | memoryview) -> _S:
        """Read the bytes that `to_bytes` returned."""
        return cls(cls._kind.from_bytes(raw_bytes(data), *cls._arguments))

    def save(self, path: FilePath) -> None:
        """Write a file."""
        self._raw.save(file_path(path))

    @classmethod
    def load(cls: type[_S], path: FilePath) -> _S:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            return cls(cls._kind.load(name, *cls._arguments))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({told})"

    def _repr_html_(self) -> str:
        """Return the properties as an HTML table, for notebooks. It never shows a secret."""
        return table(type(self).__name__, [*self._facts(), ("secret", self._confidentiality)])

    def _facts(self) -> list[tuple[str, Cell]]:
        """Return the rows of the HTML table."""
        return [(name, str(getattr(self, name))) for name in self._shown]


class StoredSecret(Stored):
    """A wrapper of a secret key. Its bytes and its file are not encrypted."""

    __slots__ = ()
    _confidentiality = "the secret key, which must stay with its owner"

    def save(self, path: FilePath) -> None:
        """Write the secret key, unencrypted, to a new file that only this user may read.

        A file that already exists is not overwritten and raises a `FileError`.
        """
        self._raw.save(path_of_secret(path))

    def __reduce__(self) -> tuple[object, ...]:
        raise SecretPickleError(
            f"a {type(self).__name__} holds the secret key and does not pickle: use save and load"
        )


_L = TypeVar("_L", bound="Local")


class Local:
    """An object that cannot be pickled. It never changes, so a copy is the object itself."""

    __slots__ = ()
    _instead: ClassVar[str]

    def __copy__(self: _L) -> _L:
        return self

    def __deepcopy__(self: _L, memo: object) -> _L:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} does not pickle: {self._instead}")
