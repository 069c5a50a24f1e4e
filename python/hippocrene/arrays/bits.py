"""Gates of encrypted bits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from hippocrene.arrays.encrypted import Encrypted, part_of_arrays
from hippocrene.arrays.moves import places_of
from hippocrene.arrays.reductions import part_of
from hippocrene.errors import ShapeError, named
from hippocrene.values.booleans import booleans, plain_bits
from hippocrene.values.operands import is_plain, to_array
from hippocrene.values.scalars import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hippocrene.arrays.array import EncryptedArray
    from hippocrene.gates import GateServer
    from hippocrene.server import Server


def gates_of(
    server: Server | GateServer,
    names: Iterable[str],
    operands: Sequence[EncryptedArray | npt.ArrayLike],
) -> list[EncryptedArray]:
    """Compute several gates of the same operands, for `Server.gates`. Shapes broadcast."""
    if isinstance(names, str):
        raise TypeError(f"gates takes several names: say [{names!r}] for one")
    if not isinstance(names, Iterable):
        raise TypeError(f"gates takes names of gates, not {type(names).__name__}")
    wanted = [text(name, "the name of a gate") for name in names]
    some = next((one for one in operands if isinstance(one, Encrypted)), None)
    if some is None:
        raise TypeError("gates takes EncryptedArrays of bits, one at least, and booleans")
    some._bits("gates")
    arrays = [one if isinstance(one, Encrypted) else _constants(one, some) for one in operands]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ShapeError(f"gates: shapes {shapes} do not broadcast together") from None
    with named("gates", "compute", "move elements"):
        raw = [array._bits("gates")._as_wide(shape, "gates")._raw for array in arrays]
        return [server._wrap(one) for one in server._raw.gates(wanted, raw)] if wanted else []


def _constants(values: npt.ArrayLike, beside: EncryptedArray) -> EncryptedArray:
    """Return plain bits as an array that can compute with another array."""
    plain = plain_bits(values, "gates")
    return beside._placed(np.full(plain.shape, -1), [beside], plain)


def chosen(
    condition: EncryptedArray | npt.ArrayLike,
    where: EncryptedArray | npt.ArrayLike,
    otherwise: EncryptedArray | npt.ArrayLike,
) -> EncryptedArray:
    """Select bits by a condition, for `numpy.where`.

    With a plain condition, encrypted single bits are moved.
    """
    mask, ones, zeros = (
        one if isinstance(one, Encrypted) else plain_bits(one, "where")
        for one in (condition, where, otherwise)
    )
    shapes = [one.shape for one in (mask, ones, zeros)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            "where: shapes {}, {} and {} do not broadcast together".format(*shapes)
        ) from None
    with named("where", "select", "&", "^", "and", "xor", "move elements"):
        if isinstance(mask, Encrypted):
            return mask.select(ones, zeros)._as_wide(shape, "where")
        mask = np.broadcast_to(mask, shape)
        arrays = [one._bits("where") for one in (ones, zeros) if isinstance(one, Encrypted)]
        if (only := ones if mask.all() else zeros if not mask.any() else None) is not None:
            return (only if isinstance(only, Encrypted) else _constants(only, arrays[0]))._as_wide(
                shape, "where"
            )
        if arrays[0]._holds == "bits":
            return cast("EncryptedArray", zeros ^ (mask & (ones ^ zeros)))
        places: list[npt.NDArray[np.int64]] = []
        values: list[npt.NDArray[np.bool_]] = []
        first = 0
        for one in (ones, zeros):
            if isinstance(one, Encrypted):
                places.append(places_of(one, first))
                values.append(np.zeros(one.shape, dtype=np.bool_))
                first += one.size
            else:
                places.append(np.full(one.shape, -1))
                values.append(one)
        return arrays[0]._placed(np.where(mask, *places), arrays, np.where(mask, *values))


# How to compute gates if the conditions are encrypted numbers, 0 or 1.
_OF_NUMBERS = {
    "&": "a * b",
    "|": "a + b - a * b",
    "^": "a + b - 2 * a * b",
    "~": "1 - a",
    "all": "a.prod()",
    "any": "1 - (1 - a).prod()",
}


@part_of_arrays
class Gates:
    """The methods of encrypted bits. Each gate is a bootstrap, so that depth has no limit."""

    __slots__ = ()

    def _as_wide(self, shape: tuple[int, ...], operation: str) -> EncryptedArray:
        """Return the bits, repeated to the common shape of this array and another one."""
        array = cast("EncryptedArray", self)
        common = array._common_shape(shape, operation)
        return (
            array
            if common == array.shape
            else array._gather(np.broadcast_to(places_of(array), common))
        )

    def _bits(self, operation: str) -> EncryptedArray:
        array = cast("EncryptedArray", self)
        if array.bit_error is None:
            of_numbers = _OF_NUMBERS.get(operation)
            instead = (
                f"; of conditions that are numbers, 0 and 1, it is {of_numbers}"
                if of_numbers
                else ""
            )
            raise TypeError(
                f"{operation} is for encrypted bits: booleans, encrypted with a preset for bits{instead}"
            )
        return array

    def _gate(self, gate: str, other: object, operation: str = "") -> EncryptedArray:
        """Compute a gate, which errors call `operation`.

        This returns `NotImplemented` if `other` is neither an array nor a number.
        """
        operation = operation or gate
        array = self._bits(operation)
        if isinstance(other, Encrypted):
            server = array._any_server(operation, other)
            if other.bit_error is None:
                raise TypeError(
                    f"{operation} takes encrypted bits or booleans, not encrypted {other._holds}"
                )
            with named(operation, gate, "bootstrap bits", "move elements"):
                both = [
                    array._as_wide(other.shape, operation)._raw,
                    cast("Gates", other)._as_wide(array.shape, operation)._raw,
                ]
                return server._wrap(server._raw.gates([gate], both)[0])
        plain = booleans(other, operation)
        if plain is None and is_plain(other):
            have = to_array(cast("npt.ArrayLike", other), operation).dtype
            raise TypeError(
                f"{operation} takes encrypted bits or booleans, not values of type {have}: `a != 0` makes booleans of "
                "numbers"
            )
        if plain is None:
            return cast("EncryptedArray", NotImplemented)
        server = array._any_server(operation)
        with named(operation, gate, "bootstrap bits", "move elements"):
            array = array._as_wide(plain.shape, operation)
            plain = np.array(np.broadcast_to(plain, array.shape), order="C")
            return server._wrap(server._raw.gate_plain(gate, array._raw, plain))

    def _method(self, gate: str, other: object) -> EncryptedArray:
        result = self._gate(gate, other)
        if result is NotImplemented:
            raise TypeError(f"{gate} takes encrypted bits or booleans, not {type(other).__name__}")
        return result

    def __and__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._gate("and", other, "&")

    def __rand__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._gate("and", other, "&")

    def __or__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._gate("or", other, "|")

    def __ror__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._gate("or", other, "|")

    def __xor__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._gate("xor", other, "^")

    def __rxor__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._gate("xor", other, "^")

    def __invert__(self) -> EncryptedArray:
        """Return the complements. This is free and needs no bootstrap."""
        array = self._bits("~")
        server = array._any_server("~")
        with named("~", "not"):
            return server._wrap(server._raw.complement(array._raw))

    def all(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        *,
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return 1 where all bits along one axis, several axes or all of them are 1.

        For ``n`` bits, this computes about ``log2(n)`` gates one after the other.
        """
        return self._halved("all", "and", axis, keepdims=keepdims)

    def any(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        *,
        keepdims: bool = False,
    ) -> EncryptedArray:
        """Return 1 where any bit along one axis, several axes or all of them is 1.

        For ``n`` bits, this computes about ``log2(n)`` gates one after the other.
        """
        return self._halved("any", "or", axis, keepdims=keepdims)

    def _halved(self, operation: str, gate: str, axis: Any, *, keepdims: bool) -> EncryptedArray:
        """Reduce axes with a gate of the first half and the second half, repeatedly.

        If a gate computes all bits of a ciphertext at once, the two halves of an odd length
        overlap. This is wrong for ``xor``, which would count a bit twice. For ``xor`` and for
        single bits, an odd bit waits until the end.
        """
        array = self._bits(operation)
        overlap = gate != "xor" and array._holds == "bits"
        axes = array._axes(axis, operation)
        shape = tuple(1 if k in axes else length for k, length in enumerate(array.shape))
        with named(operation, gate, "move elements", "bootstrap bits"):
            for k in axes:
                waiting = []
                while (length := array.shape[k]) > 1:
                    half = length // 2
                    if length % 2 and not overlap:
                        waiting.append(part_of(array, k, slice(-1, None)))
                    last = slice(half, length if overlap else 2 * half)
                    first = slice(length - half if overlap else half)
                    array = part_of(array, k, first)._gate(gate, part_of(array, k, last), operation)
                for one in waiting:
                    array = array._gate(gate, one, operation)
            rest = shape if keepdims else tuple(n for k, n in enumerate(shape) if k not in axes)
            return array.reshape(rest)

    def _parity(self, axis: Any, *, keepdims: bool = False) -> EncryptedArray:
        """Return 1 where the number of ones is odd, for `numpy.logical_xor.reduce`."""
        return self._halved("parity", "xor", axis, keepdims=keepdims)

    def _product_of_bits(self, other: object, operation: str) -> EncryptedArray:
        """Return the gate ``and``, which numpy defines as the product of booleans.

        Sums of encrypted bits are refused.
        """
        if operation != "mul":
            self._bits(operation)._refuse_bits(operation)
        return self._gate("and", other, "*")

    def _ordered(self, sign: str, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Compare bits, where 0 is less than 1."""
        if sign in ("<", "<="):
            return cast("Gates", ~self)._gate("and" if sign == "<" else "or", other, sign)
        plain = None if isinstance(other, Encrypted) else booleans(other, sign)
        if isinstance(other, Encrypted) or plain is not None:
            other = ~cast("EncryptedArray", other) if plain is None else ~plain
        return self._gate("and" if sign == ">" else "or", other, sign)

    def nand(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Return ``~(x & y)``."""
        return self._method("nand", other)

    def nor(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Return ``~(x | y)``."""
        return self._method("nor", other)

    def xnor(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Return ``~(x ^ y)``, as ``==`` does."""
        return self._method("xnor", other)

    def select(
        self, where: EncryptedArray | npt.ArrayLike, otherwise: EncryptedArray | npt.ArrayLike
    ) -> EncryptedArray:
        """Return the bits of `where` where this is 1, and those of `otherwise` where it is 0.

        This takes three gates. For single bits (`hippocrene.gates`), it takes as long as two gates,
        or as one if one of the two choices is plain.
        """
        mask = self._bits("select")
        ones, zeros = (
            x if isinstance(x, Encrypted) else booleans(x, "select") for x in (where, otherwise)
        )
        if ones is None or zeros is None:
            raise TypeError("select takes encrypted bits or booleans")
        if isinstance(ones, Encrypted) and isinstance(zeros, Encrypted):
            server = mask._any_server("select", ones)
            wide = mask._as_wide(ones.shape, "select")._as_wide(zeros.shape, "select")
            both = (
                cast("Gates", x)._bits("select")._as_wide(wide.shape, "select")
                for x in (ones, zeros)
            )
            return server._selected(wide, *both)
        if isinstance(zeros, Encrypted):
            return ones ^ (~mask & (ones ^ zeros))
        return zeros ^ (mask & (ones ^ zeros))
