"""The base class of objects that stay in the process that made them."""

from __future__ import annotations

from typing import ClassVar, NoReturn, TypeVar

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
