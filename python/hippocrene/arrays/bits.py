"""Encrypted arrays of bits and their gates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from hippocrene.arrays.advice import refuse_options
from hippocrene.arrays.encrypted import ArrayServer, EncryptedArray
from hippocrene.arrays.places import Axes, common_shape, places_of
from hippocrene.errors import named
from hippocrene.html_tables import Cell
from hippocrene.values.operands import booleans, is_plain, plain_bits, to_array
from hippocrene.values.scalars import check_type, text

if TYPE_CHECKING:
    from typing_extensions import Self

    from hippocrene.arrays.encrypted import _Operand


class BitArray(EncryptedArray, holds=("bits", "single bits")):
    """An encrypted array of bits. Each gate is a bootstrap, so that depth has no limit.

    `EncryptedArray` describes all kinds of array.
    """

    __slots__ = ()
    _refusals: ClassVar[Mapping[str, str]] = {
        **EncryptedArray._refusals,
        "divisor": "encrypted bits cannot be divisors: they compute with & | ^ ~",
        "entries_of": "entries_of takes encrypted numbers and integers, not bits",
        "interval": "encrypted bits have no interval: they are 0 or 1",
        "imag": "encrypted bits have no imag: they are 0 or 1",
    }
    _no_method = "{name} is not for encrypted bits, which compute with & | ^ ~, comparisons, nand, nor, xnor and select"
    _no_property = "encrypted bits have no {name}: bit_error says how uncertain they are"
    _selects_lazily = False

    @property
    def bit_error(self) -> float:
        """The largest difference between a slot and its bit. It is below 1/2."""
        return cast("float", self._elements().bit_error)

    def _summary(self) -> str:
        return f", bit_error={self.bit_error:.3g}"

    def _facts(self) -> list[tuple[str, Cell]]:
        return [("bit error", f"{self.bit_error:.3g} at most (below 0.5 is right)")]

    def _plain(self, values: npt.ArrayLike, operation: str) -> npt.NDArray[Any]:
        return plain_bits(values, operation)

    def _filled(self, places: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> Self:
        return self ^ np.where(places, values, False).astype(np.bool_)

    def _as_wide(self, shape: tuple[int, ...], operation: str) -> Self:
        """Return the bits, repeated to the common shape of this array and another one."""
        common = self._common_shape(shape, operation)
        if common == self.shape:
            return self
        return self._gather(np.broadcast_to(places_of(self), common))

    def _constants(self, values: npt.NDArray[np.bool_]) -> Self:
        """Return plain bits as an array that can compute with this one."""
        return self._placed(np.full(values.shape, -1), [self], values)

    # Gates

    def _gate(self, gate: str, other: object, operation: str = "") -> Self:
        """Compute a gate, which errors call `operation`.

        This returns `NotImplemented` if `other` is neither an array nor a number.
        """
        operation = operation or gate
        if isinstance(other, EncryptedArray):
            server = self._any_server(operation, other)
            if not isinstance(other, BitArray):
                raise TypeError(
                    f"{operation} takes encrypted bits or booleans, not encrypted {other._holds}"
                )
            with named(operation, gate, "bootstrap bits", "move elements"):
                both = [
                    self._as_wide(other.shape, operation)._elements(),
                    other._as_wide(self.shape, operation)._elements(),
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
            return cast("Self", NotImplemented)
        server = self._any_server(operation)
        with named(operation, gate, "bootstrap bits", "move elements"):
            array = self._as_wide(plain.shape, operation)
            plain = np.array(np.broadcast_to(plain, array.shape), order="C")
            return server._wrap(server._raw.gate_plain(gate, array._elements(), plain))

    def _method(self, gate: str, other: object) -> Self:
        result = self._gate(gate, other)
        if result is NotImplemented:
            raise TypeError(f"{gate} takes encrypted bits or booleans, not {type(other).__name__}")
        return result

    def __and__(self, other: _Operand) -> Self:
        return self._gate("and", other, "&")

    __rand__ = __and__

    def __or__(self, other: _Operand) -> Self:
        return self._gate("or", other, "|")

    __ror__ = __or__

    def __xor__(self, other: _Operand) -> Self:
        return self._gate("xor", other, "^")

    __rxor__ = __xor__

    def __invert__(self) -> Self:
        """Return the complements. This is free and needs no bootstrap."""
        server = self._any_server("~")
        with named("~", "not"):
            return server._wrap(server._raw.complement(self._elements()))

    def __mul__(self, other: object) -> Self:
        """Return the gate ``and``, which numpy defines as the product of booleans."""
        return self._gate("and", other, "*")

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        """Return the gate `xnor`. An object that is no array of booleans is not equal."""
        return self._gate("xnor", other, "==")

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        """Return the gate ``xor``; see `__eq__`."""
        return self._gate("xor", other, "!=")

    # Bits are in order like numpy's booleans: 0 is less than 1.

    def __lt__(self, other: _Operand) -> Self:
        return (~self)._gate("and", other, "<")

    def __le__(self, other: _Operand) -> Self:
        return (~self)._gate("or", other, "<=")

    def __gt__(self, other: _Operand) -> Self:
        return self._gate("and", _complement(other, ">"), ">")

    def __ge__(self, other: _Operand) -> Self:
        return self._gate("or", _complement(other, ">="), ">=")

    def nand(self, other: _Operand) -> Self:
        """Return ``~(x & y)``."""
        return self._method("nand", other)

    def nor(self, other: _Operand) -> Self:
        """Return ``~(x | y)``."""
        return self._method("nor", other)

    def xnor(self, other: _Operand) -> Self:
        """Return ``~(x ^ y)``, as ``==`` does."""
        return self._method("xnor", other)

    def select(self, where: _Operand, otherwise: _Operand) -> Self:
        """Return the bits of `where` where this is 1, and those of `otherwise` where it is 0.

        This takes three gates. For single bits (`hippocrene.gates`), it takes as long as two gates,
        or as one if one of the two choices is plain.
        """
        ones, zeros = (
            x if isinstance(x, EncryptedArray) else booleans(x, "select")
            for x in (where, otherwise)
        )
        if ones is None or zeros is None:
            raise TypeError("select takes encrypted bits or booleans")
        if isinstance(ones, EncryptedArray) and isinstance(zeros, EncryptedArray):
            server = self._any_server("select", ones)
            mask = self._as_wide(ones.shape, "select")._as_wide(zeros.shape, "select")
            ones, zeros = (
                require_bits(x, "select")._as_wide(mask.shape, "select") for x in (ones, zeros)
            )
            if self._holds == "single bits":
                raw = cast("Any", server._raw).select(
                    mask._elements(), ones._elements(), zeros._elements()
                )
                return server._wrap(raw)
            return zeros ^ (mask & (ones ^ zeros))
        if isinstance(zeros, EncryptedArray):
            return ones ^ (~self & (ones ^ zeros))
        return zeros ^ (self & (ones ^ zeros))

    def maximum(self, other: _Operand) -> Self:
        """Return the larger bits, which is the gate ``or``."""
        return self._gate("or", other, "maximum")

    def minimum(self, other: _Operand) -> Self:
        """Return the smaller bits, which is the gate ``and``."""
        return self._gate("and", other, "minimum")

    # Reductions

    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Return 1 where all bits along one axis, several axes or all of them are 1.

        For ``n`` bits, this computes about ``log2(n)`` gates one after the other.
        """
        return self._halved("all", "and", axis, keepdims=keepdims)

    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Return 1 where any bit along one axis, several axes or all of them is 1.

        For ``n`` bits, this computes about ``log2(n)`` gates one after the other.
        """
        return self._halved("any", "or", axis, keepdims=keepdims)

    def max(self, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Self:
        """Return the largest bits along one or several axes, or of all, as `any` does."""
        refuse_options("max", None, out)
        return self._halved("max", "or", axis, keepdims=keepdims)

    def min(self, axis: Axes = None, out: None = None, *, keepdims: bool = False) -> Self:
        """Return the smallest bits along one or several axes, or of all, as `all` does."""
        refuse_options("min", None, out)
        return self._halved("min", "and", axis, keepdims=keepdims)

    def _halved(self, operation: str, gate: str, axis: Any, *, keepdims: bool) -> Self:
        """Reduce axes with a gate of the first half and the second half, repeatedly.

        If a gate computes all bits of a ciphertext at once, the two halves of an odd length
        overlap. This is wrong for ``xor``, which would count a bit twice. For ``xor`` and for
        single bits, an odd bit waits until the end.
        """
        with named(operation, gate, "move elements", "bootstrap bits"):
            folded = self._folded(
                self._axes(axis, operation),
                lambda one, other: one._gate(gate, other, operation),
                keepdims=keepdims,
                overlap=gate != "xor" and self._holds == "bits",
            )
            return cast("Self", folded)

    def _parity(self, axis: Any, *, keepdims: bool = False) -> Self:
        """Return 1 where the number of ones is odd, for `numpy.logical_xor.reduce`."""
        return self._halved("parity", "xor", axis, keepdims=keepdims)


def _complement(other: Any, operation: str) -> Any:
    """Return the complement of bits or booleans. The later gate refuses anything else."""
    if isinstance(other, BitArray):
        return ~other
    plain = None if isinstance(other, EncryptedArray) else booleans(other, operation)
    return other if plain is None else ~plain


def require_bits(array: EncryptedArray, operation: str) -> BitArray:
    """Return an array of bits, and refuse other kinds."""
    if not isinstance(array, BitArray):
        raise array._refused(operation)
    return array


def gates_of(
    server: ArrayServer[Any],
    names: Iterable[str],
    operands: Sequence[EncryptedArray | npt.ArrayLike],
) -> list[BitArray]:
    """Compute several gates of the same operands, for `Server.gates`. Shapes broadcast."""
    if isinstance(names, str):
        raise TypeError(f"gates takes several names: say [{names!r}] for one")
    check_type(names, Iterable, "gates takes names of gates")
    wanted = [text(name, "the name of a gate") for name in names]
    some = next((one for one in operands if isinstance(one, EncryptedArray)), None)
    if some is None:
        raise TypeError("gates takes EncryptedArrays of bits, one at least, and booleans")
    first = require_bits(some, "gates")
    arrays = [
        one if isinstance(one, EncryptedArray) else first._constants(plain_bits(one, "gates"))
        for one in operands
    ]
    shape = common_shape("gates", (array.shape for array in arrays))
    with named("gates", "compute", "move elements"):
        raw = [
            require_bits(array, "gates")._as_wide(shape, "gates")._elements() for array in arrays
        ]
        return [server._wrap(one) for one in server._raw.gates(wanted, raw)] if wanted else []
