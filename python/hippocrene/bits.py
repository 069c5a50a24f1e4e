"""Gates of encrypted bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from hippocrene.encrypted import Encrypted
from hippocrene.errors import ShapeError
from hippocrene.values import to_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from hippocrene.array import EncryptedArray


def booleans(values: object, operation: str) -> npt.NDArray[np.bool_] | None:
    """Return `values` as a C-ordered array of booleans; None for what is not booleans."""
    if not isinstance(values, (bool, np.bool_, np.ndarray, list, tuple)):
        return None
    array = to_array(values, operation)
    return np.asarray(array, dtype=np.bool_, order="C") if array.dtype.kind == "b" else None


class Gates:
    """What arrays of encrypted bits compute: each gate is a bootstrap, and there is no limit of depth."""

    __slots__ = ()

    def _bits(self, operation: str) -> EncryptedArray:
        array = cast("EncryptedArray", self)
        if array.bit_error is None:
            raise TypeError(f"{operation} is for encrypted bits: booleans, encrypted with a preset for bits")
        return array

    def _gate(self, gate: str, other: object) -> EncryptedArray:
        array = self._bits(gate)
        if isinstance(other, Encrypted):
            server = array._bound_server(gate, other)
            return server._wrap(server._raw.gates([gate], [array._raw, other._raw])[0])
        plain = booleans(other, gate)
        if plain is None:
            return cast("EncryptedArray", NotImplemented)
        server = array._bound_server(gate)
        try:
            plain = np.array(np.broadcast_to(plain, array.shape), order="C")
        except ValueError:
            raise ShapeError(f"{gate}: booleans of shape {plain.shape} for bits of shape {array.shape}") from None
        return server._wrap(server._raw.gate_plain(gate, array._raw, plain))

    def _method(self, gate: str, other: object) -> EncryptedArray:
        result = self._gate(gate, other)
        if result is NotImplemented:
            raise TypeError(f"{gate} takes encrypted bits or booleans, not {type(other).__name__}")
        return result

    def __and__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._gate("and", other)

    def __rand__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._gate("and", other)

    def __or__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._gate("or", other)

    def __ror__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._gate("or", other)

    def __xor__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._gate("xor", other)

    def __rxor__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._gate("xor", other)

    def __invert__(self) -> EncryptedArray:
        """Return the complements, for nothing."""
        array = self._bits("~")
        server = array._bound_server("~")
        return server._wrap(server._raw.complement(array._raw))

    def nand(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Return ``~(x & y)``."""
        return self._method("nand", other)

    def nor(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Return ``~(x | y)``."""
        return self._method("nor", other)

    def xnor(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Return ``~(x ^ y)``, as ``==`` does."""
        return self._method("xnor", other)

    def select(self, where: EncryptedArray, otherwise: EncryptedArray) -> EncryptedArray:
        """Return the bits of `where` where this is 1 and those of `otherwise` where it is 0: three gates."""
        return otherwise ^ (self._bits("select") & (where ^ otherwise))
