"""The properties that every encrypted array has, whatever it computes."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.view import View
from hippocrene.errors import ArgumentError, MissingServerError
from hippocrene.files import FilePath, file_path
from hippocrene.values.operands import is_plain

if TYPE_CHECKING:
    from hippocrene.arrays.array import EncryptedArray
    from hippocrene.server import Server

Part = TypeVar("Part", bound=type)


def part_of_arrays(part: Part) -> Part:
    """Rename the methods of a mixin, so that errors call them methods of `EncryptedArray`.

    Python's own messages about arguments contain the qualified name of the method.
    """
    for method in vars(part).values():
        if inspect.isfunction(method):
            method.__module__, method.__qualname__ = (
                "hippocrene.arrays.array",
                f"EncryptedArray.{method.__name__}",
            )
    return part


@part_of_arrays
class Encrypted:
    """The base of `EncryptedArray`: its shape, its metadata and its server.

    The metadata describe the known properties of the values and their errors.
    """

    __slots__ = ("__weakref__", "_held", "_server")

    # A priority above pandas' own 4000 makes pandas leave `series + array` and similar operations
    # to the methods of `EncryptedArray`.
    __pandas_priority__ = 5000

    def __init__(self, raw: _native.EncryptedArray | View, server: Server | None = None) -> None:
        """Wrap an array of the extension module; users call `Client.encrypt` or `Server.load`."""
        if not isinstance(raw, (_native.EncryptedArray, View)):
            raise TypeError(
                "encrypted arrays are made by Client.encrypt, PublicKey.encrypt and Server.load"
            )
        self._held = raw
        self._server = server

    @property
    def _raw(self) -> _native.EncryptedArray:
        """The array of the extension module. A lazy view is moved first, and only once."""
        if isinstance(self._held, View):
            self._held = self._held.moved()
        return self._held

    @property
    def _to_be_read(self) -> _native.EncryptedArray:
        """The array for clients and files to read.

        The elements of a lazy view are moved for this, and the view itself stays lazy.
        """
        picked = self._picked
        return self._raw if picked is None else picked.to_be_read

    def _raw_beside(self, server: _native.Server, other: Encrypted) -> _native.EncryptedArray:
        """Return `_raw` for a computation together with `other`.

        If this is a lazy transpose of the lazy view `other`, one move of elements serves both.
        """
        if isinstance(self._held, View) and self._held.is_transposed(other._held):
            return server.transpose(other._raw)
        return self._raw

    @property
    def _picked(self) -> View | None:
        """The lazy view, or None if this array is not one or has been moved."""
        return self._held if isinstance(self._held, View) else None

    @property
    def _alike(self) -> _native.EncryptedArray:
        """An array with the same metadata, available without moving the selection."""
        picked = self._picked
        return self._raw if picked is None else picked.alike

    @property
    def _one_by_one(self) -> _native.EncryptedArray:
        """An array with the metadata of the moved elements; a dry run of the move finds them."""
        picked = self._picked
        return self._raw if picked is None else picked.one_by_one

    # Properties

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._held.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_complex(self) -> bool:
        """True if the values may be complex."""
        return self._held.is_complex

    @property
    def fingerprint(self) -> str:
        """The identifier of the secret key that this array is encrypted under.

        The client, its other keys, and servers with those keys have the same fingerprint.
        """
        return self._held.fingerprint

    @property
    def plain_modulus(self) -> int | None:
        """The modulus of encrypted integers, or None for an array of numbers or bits."""
        return self._held.plain_modulus

    @property
    def budget_bits(self) -> float | None:
        """The estimated noise budget of encrypted integers, in bits.

        The noise may still grow by this many bits, and results stay exact until then. It is None
        for an array of numbers or bits, and for an array without a server whose parameters belong
        to no preset.
        """
        return self._one_by_one.budget_bits

    @property
    def bit_error(self) -> float | None:
        """The largest difference between a slot and its bit, or None for other kinds of array.

        It is below 1/2, so that the bits are right.
        """
        return self._held.bit_error

    def _of_numbers(self, value: float | None, what: str) -> float:
        """Return a property of numbers; raise an `AttributeError` for integers and bits."""
        if value is None and self.bit_error is not None:
            raise AttributeError(
                f"encrypted bits have no {what}: bit_error says how uncertain they are"
            )
        if value is None:
            raise AttributeError(
                f"encrypted integers are exact and have no {what}: budget_bits says what is left"
            )
        return value

    @property
    def precision_bits(self) -> float:
        """The precision in bits after the binary point, from an estimate of the error.

        It is ``-log2`` of the estimated standard deviation of the error. The largest error among
        thousands of values is four to sixteen times the standard deviation, which is two to four
        bits worse. Comparisons by polynomials (see `sign`) have an additional error that is not
        part of this estimate.

        It is NaN if the error is unknown. Estimates assume that nothing makes errors smaller. In
        iterations that correct themselves, the estimated error can therefore exceed the values. A
        bootstrap gives up such an estimate. Comparisons, look-up tables and
        `Client.decrypt_for_sharing` then refuse the array, until `with_precision_bits` declares its
        precision.
        """
        return self._of_numbers(self._one_by_one.precision_bits, "precision_bits")

    @property
    def precision(self) -> float:
        """The requested precision of results computed from this array, in bits.

        Bits count after the binary point. Operations on arrays of different precision use the
        smaller one. `precision_bits` is the precision that the array really has.
        """
        return self._of_numbers(self._alike.precision, "precision")

    @property
    def bound(self) -> float:
        """An upper bound of all absolute values.

        It is a worst case that follows from the interval declared at encryption. Encrypted bits
        have no bound.
        """
        if self.plain_modulus is not None:
            return max(abs(end) for end in self.interval)
        return self._of_numbers(self._alike.bound, "bound")

    @property
    def interval(self) -> tuple[float, float]:
        """The ends ``(low, high)`` of the interval that contains all values.

        It is declared at encryption, and every operation propagates the worst case; see
        `with_interval`. For complex values, it contains both the real and the imaginary parts.
        Integers that may have any value modulo ``t`` lie in ``[0, t - 1]``.
        """
        ends = self._alike.interval
        if ends is None and self.plain_modulus is not None:
            return 0.0, float(self.plain_modulus - 1)
        if ends is None:
            raise AttributeError("encrypted bits have no interval: they are 0 or 1")
        return ends

    @property
    def capacity_bits(self) -> float | None:
        """The number of bits of modulus that are left to compute with.

        A multiplication uses up the bits of the requested `precision`, and about 15 more. It is
        None for an array without a server whose parameters belong to no preset.
        """
        if self.plain_modulus is not None or self.bit_error is not None:
            self._of_numbers(None, "capacity_bits")
        return self._one_by_one.capacity_bits

    @property
    def server(self) -> Server | None:
        """The server that computes with this array, or None."""
        return self._server

    def _needs_digits(self, size: float, operation: str) -> bool:
        """Return True if factors rounded to doubles would miss the requested precision.

        `size` is the largest absolute value of the factors.
        """
        return _native.needs_digits(self._bound_server(operation)._raw, self._alike, size)

    def _rounded(self, product: EncryptedArray, size: float) -> EncryptedArray:
        """Return a product with rounded doubles, and add their rounding to its estimated error.

        `size` is the largest absolute value of the factors.
        """
        return (
            product._off_by(self.bound * size * 2.0**-53)
            if self._needs_digits(size, "mul")
            else product
        )

    def _off_by(self, error: float) -> EncryptedArray:
        """Return the array with an additional error of at most `error` in its estimate."""
        if not error or math.isnan(self.precision_bits):
            return cast("EncryptedArray", self)
        server = self._bound_server("with_precision_bits")
        bits = -0.5 * float(np.logaddexp2(-2 * self.precision_bits, 2 * math.log2(error)))
        return server._wrap(server._raw.with_precision_bits(self._raw, bits))

    def _beside(self, other: Encrypted | npt.NDArray[Any]) -> EncryptedArray:
        """Return the sum with an array that is 0 wherever this one is not.

        No element of the sum is larger than the elements of either array, so that its bound is the
        larger one of both.
        """
        total: EncryptedArray = cast("EncryptedArray", self) + cast("Any", other)
        if (
            self.plain_modulus is not None
            or self.bit_error is not None
            or total._picked is not None
        ):
            return total
        if isinstance(other, Encrypted):
            bound = max(self.bound, other.bound)
        elif other.dtype.kind in "biufc":
            bound = max(self.bound, float(np.max(abs(other))))
        else:
            return total
        # Values in stray slots may exceed the bound of the elements.
        return (
            total.with_bound(bound) if bound < total.bound and not total._raw.has_strays else total
        )

    def _refuse_division(self) -> NoReturn:
        if self.plain_modulus is not None:
            raise TypeError(
                "encrypted integers are no divisors: x.apply takes a function that has their inverses"
            )
        raise TypeError(
            "divisors are plain: multiply by x.reciprocal(domain=(low, high)) of an encrypted x, which is looked up "
            "where the keys have tables"
        )

    def _bound_server(self, operation: str, other: Encrypted | None = None) -> Server:
        """Return the server that computes with this array, and with `other` if there is one.

        Bits are refused, and so is a mix of numbers and integers.
        """
        for array in (self, other):
            if array is not None:
                array._refuse_bits(operation)
        if other is not None and other._holds != self._holds:
            raise ArgumentError(
                f"{operation}: an array of encrypted {other._holds}, where one of {self._holds} is needed"
            )
        return self._any_server(operation, other)

    def _any_server(self, operation: str, other: Encrypted | None = None) -> Server:
        server = self._server or (other._server if other is not None else None)
        if server is None:
            raise MissingServerError(
                f"{operation} needs a server with evaluation keys, and this array has none: "
                "compute with server.load(array)"
            )
        return server

    def _refuse_integers(self, operation: str) -> None:
        if self.plain_modulus is not None:
            raise TypeError(
                f"{operation} is for encrypted numbers: integers modulo {self.plain_modulus} have no order and no "
                "fractions; == and != compare them, and apply takes any function of theirs"
            )

    def _check_operand(self, other: object, operation: str) -> None:
        """Refuse encrypted integers, and operands that are neither arrays nor numbers."""
        self._refuse_integers(operation)
        if not isinstance(other, Encrypted) and not is_plain(other):
            raise TypeError(
                f"{operation} takes encrypted arrays, plain arrays and numbers, not {type(other).__name__}"
            )

    @property
    def _holds(self) -> str:
        if self.bit_error is not None:
            return self._raw.holds
        return "numbers" if self.plain_modulus is None else "integers"

    def _refuse_bits(self, operation: str) -> None:
        if self.bit_error is not None:
            raise TypeError(
                f"{operation} is not for encrypted bits, which compute with & | ^ ~, comparisons, nand, nor, xnor and "
                "select"
            )

    def _need_numbers(self, operation: str) -> None:
        self._refuse_bits(operation)
        if self.plain_modulus is not None:
            raise ArgumentError(
                f"{operation}: an array of encrypted integers, where one of numbers is needed"
            )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an encrypted array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        if self.bit_error is not None:
            return f"EncryptedArray(shape={self.shape}, bit_error={self.bit_error:.3g})"
        # A repr must not move the elements of a lazy view.
        alike = self._alike
        left = alike.capacity_bits if self.plain_modulus is None else alike.budget_bits
        bits = "?" if left is None else f"{left:.1f}"
        picked = "" if self._picked is None else ", picked"
        if self.plain_modulus is not None:
            return f"EncryptedArray(shape={self.shape}, plain_modulus={self.plain_modulus}, budget_bits={bits}{picked})"
        precision, kind = f"{alike.precision_bits:.1f}", ", complex" if self.is_complex else ""
        return f"EncryptedArray(shape={self.shape}{kind}, precision_bits={precision}, capacity_bits={bits}{picked})"

    # Conversions and operators that encrypted arrays refuse

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an encrypted array is neither true nor false: only the client can read it; numpy.where(condition, a, b) "
            "picks one of two, and x.max(), x.min() and x.sort() are in place of Python's own"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                f"an encrypted array has no digits to format as {spec!r}: Client.decrypt first"
            )
        return str(self)

    __hash__ = None  # type: ignore[assignment]

    # Hidden from type checkers, which would otherwise infer that `ndarray` operators accept
    # encrypted arrays.
    if not TYPE_CHECKING:

        def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
            raise TypeError(
                "an encrypted array cannot become a plain one: only Client.decrypt reads it. Its operators and methods "
                "compute with it: x.polynomial(p) in place of p(x), x.entries_of(table) in place of table[x], "
                "numpy.dot(a, x) where a pandas object refuses a @ x, a.dot(x) and numpy.matmul(a, x), "
                "numpy.stack([x, y]) in place of lists of them, and plain arrays, .filled() and .toarray(), in place "
                "of masked and of sparse ones"
            )

        def __float__(self) -> NoReturn:
            raise TypeError(
                "an encrypted array cannot become a plain number: only Client.decrypt reads it. Its methods compute "
                "with it, and numpy.stack and numpy.concatenate put it into an array"
            )

        __int__ = __float__

        def __floordiv__(self, other: object) -> NoReturn:
            self._refuse_bits("// and %")
            domain = (
                ""
                if self.plain_modulus is not None
                else ", domain=(low, high)), where the keys have tables"
            )
            raise TypeError(
                f"encrypted {self._holds} have no // and no %: x.apply(lambda v: v // m{domain or ')'}"
            )

        __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __floordiv__

        def __round__(self, digits: object = None) -> NoReturn:
            raise TypeError("encrypted values are not rounded: Client.decrypt first")

        def __setitem__(self, key: object, value: object) -> NoReturn:
            raise TypeError(
                "encrypted arrays are not written into: numpy.where(mask, values, x), of a plain mask, and "
                "numpy.concatenate make a new one of parts"
            )

        def __delitem__(self, key: object) -> NoReturn:
            raise TypeError("encrypted arrays are not written into: numpy.delete makes a new one")

    # Files

    def to_bytes(self) -> bytes:
        """Return the array as bytes, in the format of `save`."""
        return self._to_be_read.to_bytes()

    def save(self, path: FilePath) -> None:
        """Write the array to a file."""
        self._to_be_read.save(file_path(path))
