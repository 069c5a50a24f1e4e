"""Encrypted arrays that follow numpy."""

from __future__ import annotations

import operator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev, Polynomial

from hippocrene import _native
from hippocrene.errors import MissingServerError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hippocrene.server import Server

Float64Array: TypeAlias = npt.NDArray[np.float64]


def plain(values: npt.ArrayLike, operation: str) -> Float64Array:
    """Return `values` as a C-ordered array of doubles; anything that is not real numbers is a `TypeError`."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{operation} takes real numbers, not values of type {array.dtype}")
    return np.asarray(array, dtype=np.float64, order="C")


class EncryptedArray:
    """An array whose numbers only the client can read.

    It has the shape of the array that was encrypted, and computes as numpy does: ``+ - * ** @``, `sum`, `mean`, `dot`,
    `roll` and polynomials, with other encrypted arrays of the same key, with plain arrays and with numbers. Scales and
    rescaling are automatic. Every multiplication uses some of `capacity_bits`; when too little is left, the next one
    raises `CapacityError`.

    Clients and `Server.load` make these; one that was read without a server can be kept and decrypted, and computes
    after ``server.load(array)``.
    """

    __slots__ = ("_raw", "_server")

    # numpy hands `ndarray + EncryptedArray` and the like over to the methods below.
    __array_ufunc__ = None

    def __init__(self, raw: _native.EncryptedArray, server: Server | None = None) -> None:
        """Wrap what the extension module made; `Client.encrypt` and `Server.load` are the ways in."""
        self._raw = raw
        self._server = server

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""
        return self._raw.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def precision_bits(self) -> float:
        """Bits after the binary point that the estimate of the noise says are right."""
        return self._raw.precision_bits

    @property
    def capacity_bits(self) -> float:
        """Bits of modulus left for computing; a multiplication takes about as many as the scale has."""
        return self._raw.capacity_bits

    @property
    def server(self) -> Server | None:
        """The server that computes with this array, if it has one."""
        return self._server

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an encrypted array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"EncryptedArray(shape={self.shape}, precision_bits={self.precision_bits:.1f}, "
            f"capacity_bits={self.capacity_bits:.1f})"
        )

    # What it cannot be

    def __bool__(self) -> NoReturn:
        raise TypeError("an encrypted array is neither true nor false: only the client can read it")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("encrypted arrays cannot be compared with ==: only the client can read them")

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        raise TypeError("an encrypted array cannot become a plain one: only Client.decrypt reads it")

    # Arithmetic

    def _bound(self, operation: str, other: EncryptedArray | None = None) -> Server:
        server = self._server or (other._server if other is not None else None)
        if server is None:
            raise MissingServerError(
                f"{operation} needs a server with evaluation keys, and this array has none: "
                "compute with server.load(array)"
            )
        return server

    def _beside(self, values: npt.ArrayLike, operation: str) -> Float64Array:
        """Return plain values broadcast to the shape of this array."""
        array = plain(values, operation)
        try:
            if np.broadcast_shapes(array.shape, self.shape) == self.shape:
                return np.ascontiguousarray(np.broadcast_to(array, self.shape))
        except ValueError:
            pass
        raise ShapeError(f"{operation} cannot broadcast shape {array.shape} to the encrypted shape {self.shape}")

    def _apply(self, operation: str, other: object) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            server = self._bound(operation, other)
            return server._wrap(getattr(server._raw, operation)(self._raw, other._raw))
        if not isinstance(other, (int, float, np.number, np.bool_, np.ndarray, list, tuple)):
            return NotImplemented
        values = self._beside(other, operation)
        server = self._bound(operation)
        return server._wrap(getattr(server._raw, operation + "_plain")(self._raw, values))

    def __add__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._apply("add", other)

    def __radd__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._apply("add", other)

    def __sub__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._apply("sub", other)

    def __rsub__(self, other: npt.ArrayLike) -> EncryptedArray:
        return (-self)._apply("add", other)

    def __mul__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        return self._apply("mul", other)

    def __rmul__(self, other: npt.ArrayLike) -> EncryptedArray:
        return self._apply("mul", other)

    def __truediv__(self, other: npt.ArrayLike) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            return NotImplemented
        divisor = plain(other, "div")
        if not np.all(divisor):
            raise ZeroDivisionError("division of an encrypted array by zero")
        return self._apply("mul", 1.0 / divisor)

    def __neg__(self) -> EncryptedArray:
        server = self._bound("neg")
        return server._wrap(server._raw.neg(self._raw))

    def __pos__(self) -> EncryptedArray:
        return self

    def __pow__(self, exponent: SupportsIndex) -> EncryptedArray:
        """Raise to a positive integer power, in as few multiplications one after the other as there are."""
        try:
            n = operator.index(exponent)
        except TypeError:
            return NotImplemented
        if n < 1:
            raise ValueError(f"encrypted arrays can be raised to the powers 1, 2, 3, ..., not {n}")
        return self if n == 1 else self.polynomial([0.0] * n + [1.0])

    def __matmul__(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            if self.ndim == 1 == other.ndim:
                return self.dot(other)
            return NotImplemented
        matrix = plain(other, "matmul")
        server = self._bound("matmul")
        return server._wrap(server._raw.matmul_plain(self._raw, matrix))

    def __rmatmul__(self, other: npt.ArrayLike) -> EncryptedArray:
        matrix = plain(other, "matmul")
        server = self._bound("matmul")
        return server._wrap(server._raw.plain_matmul(matrix, self._raw))

    def dot(self, other: EncryptedArray | npt.ArrayLike) -> EncryptedArray:
        """Compute what `numpy.dot` does: the inner product of vectors, the product with a plain matrix or number."""
        if not isinstance(other, EncryptedArray):
            if np.ndim(other) == 0:
                return self * other
            return self @ other
        if self.ndim != 1 or self.shape != other.shape:
            raise ShapeError(
                f"dot of encrypted arrays takes two vectors of one length, not {self.shape} and {other.shape}"
            )
        return (self * other).sum()

    def sum(self, axis: SupportsIndex | None = None) -> EncryptedArray:
        """Sum over one axis, or over all of them."""
        server = self._bound("sum")
        return server._wrap(server._raw.sum(self._raw, self._axis(axis)))

    def mean(self, axis: SupportsIndex | None = None) -> EncryptedArray:
        """Average over one axis, or over all of them."""
        index = self._axis(axis)
        count = self.size if index is None else self.shape[index]
        return self.sum(axis) * (1.0 / count)

    def roll(self, shift: SupportsIndex) -> EncryptedArray:
        """Move every value of a vector `shift` places up, those from the end coming back at the start."""
        server = self._bound("roll")
        return server._wrap(server._raw.roll(self._raw, operator.index(shift)))

    def polynomial(
        self, polynomial: Polynomial[Any] | Chebyshev[Any] | Sequence[float] | Float64Array
    ) -> EncryptedArray:
        """Evaluate a polynomial at every value, in about ``log2(degree)`` multiplications one after the other.

        It is one of numpy's `Polynomial` and `Chebyshev` (whose domain is honoured: values outside the domain of a
        Chebyshev series give wildly wrong results, so choose it with room), or a sequence of coefficients, that of
        the constant first.
        """
        server = self._bound("polynomial")
        if not isinstance(polynomial, (Polynomial, Chebyshev)):
            polynomial = Polynomial(plain(polynomial, "polynomial"))
        shift, slope = polynomial.mapparms()
        at = self
        if slope != 1.0:
            at = at * slope
        if shift != 0.0:
            at = at + shift
        basis = "chebyshev" if isinstance(polynomial, Chebyshev) else "monomial"
        return server._wrap(server._raw.polynomial(at._raw, plain(polynomial.coef, "polynomial"), basis))

    def _axis(self, axis: SupportsIndex | None) -> int | None:
        if axis is None:
            return None
        index = operator.index(axis)
        if not -self.ndim <= index < self.ndim:
            raise ShapeError(f"axis {index} is out of range for an encrypted array of {self.ndim} axes")
        return index % self.ndim

    # Files

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> EncryptedArray:
        """Read what `to_bytes` returned; the array has no server."""
        return cls(_native.EncryptedArray.from_bytes(data))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the array to a file."""
        Path(path).write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> EncryptedArray:
        """Read a file that `save` wrote; the array has no server."""
        return cls.from_bytes(Path(path).read_bytes())

    def __reduce__(self) -> tuple[object, ...]:
        return EncryptedArray.from_bytes, (self.to_bytes(),)
