"""What every encrypted array is and says of itself, whatever is computed with it."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.errors import ArgumentError, MissingServerError
from hippocrene.picked import Picked
from hippocrene.values import FilePath, file_path, is_plain

if TYPE_CHECKING:
    from hippocrene.array import EncryptedArray
    from hippocrene.server import Server

Part = TypeVar("Part", bound=type)


def part_of_arrays(part: Part) -> Part:
    """Name methods of a part of `EncryptedArray` in Python's errors of arguments as they are called: of the whole."""
    for method in vars(part).values():
        if inspect.isfunction(method):
            method.__module__, method.__qualname__ = (
                "hippocrene.array",
                f"EncryptedArray.{method.__name__}",
            )
    return part


@part_of_arrays
class Encrypted:
    """What `EncryptedArray` stands on: the shape, what is known of the values and their errors, and the server."""

    __slots__ = ("__weakref__", "_held", "_server")

    # pandas hands `series + EncryptedArray` and the like over to the methods of `EncryptedArray`,
    # above its own 4000.
    __pandas_priority__ = 5000

    def __init__(self, raw: _native.EncryptedArray | Picked, server: Server | None = None) -> None:
        """Wrap what the extension module made; `Client.encrypt` and `Server.load` are the ways in."""
        if not isinstance(raw, (_native.EncryptedArray, Picked)):
            raise TypeError(
                "encrypted arrays are made by Client.encrypt, PublicKey.encrypt and Server.load"
            )
        self._held = raw
        self._server = server

    @property
    def _raw(self) -> _native.EncryptedArray:
        """What the extension module computes with; what was only picked is moved for it, once."""
        if isinstance(self._held, Picked):
            self._held = self._held.moved()
        return self._held

    @property
    def _to_be_read(self) -> _native.EncryptedArray:
        """What clients and files read; what was only picked is moved for it, and computed with as if it were not."""
        picked = self._picked
        return self._raw if picked is None else picked.to_be_read

    def _raw_beside(self, server: _native.Server, other: Encrypted) -> _native.EncryptedArray:
        """Return what `_raw` does; where these are what `other` has picked, transposed, both are moved at once."""
        if isinstance(self._held, Picked) and self._held.is_transposed(other._held):
            return server.transpose(other._raw)
        return self._raw

    @property
    def _picked(self) -> Picked | None:
        """What was picked, and is not moved yet."""
        return self._held if isinstance(self._held, Picked) else None

    @property
    def _alike(self) -> _native.EncryptedArray:
        """An array of which the same holds as of these values where they are: what was picked is not moved for it."""
        picked = self._picked
        return self._raw if picked is None else picked.alike

    @property
    def _one_by_one(self) -> _native.EncryptedArray:
        """An array of which the same holds as of these values one by one: what was picked is moved to be asked."""
        picked = self._picked
        return self._raw if picked is None else picked.one_by_one

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""
        return self._held.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_complex(self) -> bool:
        """Whether the values may be complex."""
        return self._held.is_complex

    @property
    def fingerprint(self) -> str:
        """Which secret key this is encrypted under; the client, its other keys and servers with them have the same."""
        return self._held.fingerprint

    @property
    def plain_modulus(self) -> int | None:
        """What integers are computed modulo; None for an array of numbers or bits."""
        return self._held.plain_modulus

    @property
    def budget_bits(self) -> float | None:
        """How many bits the noise of encrypted integers may still grow by, as estimated; results are exact until then.

        None for an array of numbers or bits, and for one without a server that was made with
        parameters of no preset.
        """
        return self._one_by_one.budget_bits

    @property
    def bit_error(self) -> float | None:
        """How far what a slot holds is from its bit at most, below 1/2; None for an array that is not of bits."""
        return self._held.bit_error

    def _of_numbers(self, value: float | None, what: str) -> float:
        """Return what an array of numbers has, and integers have not."""
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
        """How small the error is, in bits after the binary point: ``-log2`` of its estimated standard deviation.

        The largest error among thousands of values is four to sixteen times that: two to four bits
        worse. What a comparison is off by as a polynomial (see `sign`) comes beside it.

        It is NaN where the error is not known. Estimates follow errors as if nothing made them
        smaller, and exceed the values in iterations that correct themselves; a bootstrap gives such
        an estimate up. Comparisons, look-up tables and `Client.decrypt_for_sharing` then refuse the
        array, until `with_precision_bits` says how precise it is.
        """
        return self._of_numbers(self._one_by_one.precision_bits, "precision_bits")

    @property
    def precision(self) -> float:
        """How precise what is computed from this array is to be, in bits after the binary point: what was asked for.

        Operations on arrays of different precision have the smaller one. `precision_bits` says what
        there is.
        """
        return self._of_numbers(self._alike.precision, "precision")

    @property
    def bound(self) -> float:
        """No absolute value is larger: the worst case that follows from the interval declared at encryption."""
        return self._of_numbers(self._alike.bound, "bound")

    @property
    def interval(self) -> tuple[float, float]:
        """The ends ``(low, high)`` of the interval that all values lie in.

        It is declared at encryption, and every operation propagates the worst case: see
        `with_interval`. Of complex values it holds the real and the imaginary parts. Integers that
        may be any residue lie in ``[0, t - 1]``.
        """
        ends = self._alike.interval
        if ends is None and self.plain_modulus is not None:
            return 0.0, float(self.plain_modulus - 1)
        if ends is None:
            raise AttributeError("encrypted bits have no interval: they are 0 or 1")
        return ends

    @property
    def capacity_bits(self) -> float | None:
        """Bits left for computing; a multiplication takes as many as its precision has, and some 15 more.

        None for an array without a server that was made with parameters of no preset.
        """
        if self.plain_modulus is not None or self.bit_error is not None:
            self._of_numbers(None, "capacity_bits")
        return self._one_by_one.capacity_bits

    @property
    def server(self) -> Server | None:
        """The server that computes with this array, if it has one."""
        return self._server

    def _needs_digits(self, size: float, operation: str) -> bool:
        """Tell whether products with doubles of up to `size` that are rounded are less precise than is asked for."""
        return _native.needs_digits(self._bound_server(operation)._raw, self._alike, size)

    def _rounded(self, product: EncryptedArray, size: float) -> EncryptedArray:
        """Return a product of this array with rounded doubles of up to `size`, whose rounding is part of the error."""
        return (
            product._off_by(self.bound * size * 2.0**-53)
            if self._needs_digits(size, "mul")
            else product
        )

    def _off_by(self, error: float) -> EncryptedArray:
        """Return the array with rounding to doubles, which makes it off by up to `error`, as part of its error."""
        if not error or math.isnan(self.precision_bits):
            return cast("EncryptedArray", self)
        server = self._bound_server("with_precision_bits")
        bits = -0.5 * float(np.logaddexp2(-2 * self.precision_bits, 2 * math.log2(error)))
        return server._wrap(server._raw.with_precision_bits(self._raw, bits))

    def _beside(self, other: Encrypted | npt.NDArray[Any]) -> EncryptedArray:
        """Return the sum with an array that is 0 wherever this one is not: no element is larger than in either."""
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
        # What stands between the elements may be larger.
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
        """Return the server that computes with this array and another: of numbers, or of integers."""
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
        """Refuse integers, and what is neither an array nor a number to compare with."""
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
        # Who looks at an array moves nothing.
        alike = self._alike
        left = alike.capacity_bits if self.plain_modulus is None else alike.budget_bits
        bits = "?" if left is None else f"{left:.1f}"
        picked = "" if self._picked is None else ", picked"
        if self.plain_modulus is not None:
            return f"EncryptedArray(shape={self.shape}, plain_modulus={self.plain_modulus}, budget_bits={bits}{picked})"
        precision, kind = f"{alike.precision_bits:.1f}", ", complex" if self.is_complex else ""
        return f"EncryptedArray(shape={self.shape}{kind}, precision_bits={precision}, capacity_bits={bits}{picked})"

    # What it cannot be

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

    # Hidden from type checkers, which would take what has it for something that `ndarray` computes
    # with itself.
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
        """Return what `save` writes."""
        return self._to_be_read.to_bytes()

    def save(self, path: FilePath) -> None:
        """Write the array to a file."""
        self._to_be_read.save(file_path(path))
