"""The client, which holds the secret key, encrypts, decrypts and makes keys for others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast, overload

import numpy as np
import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.encryption import encrypt
from hippocrene.errors import ArgumentError, ParameterError, SecretPickleError
from hippocrene.files import FilePath, raw_bytes, reading
from hippocrene.html_tables import Cell
from hippocrene.keys import (
    EvaluationKeys,
    TransferKey,
    check_made_alike,
    preset_text,
    scheme_text,
)
from hippocrene.program import Interface, encrypted_inputs, interface_of
from hippocrene.requirements import (
    Bootstrapping,
    LookUps,
    to_native_bootstrapping,
    to_native_tables,
)
from hippocrene.stored import Forwarded, Stored, StoredSecret
from hippocrene.values.operands import (
    Kind,
    decrypted,
    is_type,
)
from hippocrene.values.scalars import (
    check_type,
    double,
    double_or_none,
    integer,
    text,
    thread_count,
    whole,
)

if TYPE_CHECKING:
    from hippocrene._native import _KeyRequest
    from hippocrene.simulation_report import Simulation


def checked_scheme(
    scheme: str, plain_modulus: int | None, precision: float | None
) -> tuple[str | None, int | None]:
    """Return the scheme and the plain modulus as arguments of the extension module.

    The scheme is None for numbers. Wrong combinations raise a `TypeError` or `ParameterError`.
    """
    if text(scheme, "a scheme") not in ("ckks", "bgv", "bfv"):
        raise ParameterError(
            f"there is no scheme {scheme!r}: ckks is for numbers, bgv and bfv are for integers"
        )
    if scheme == "ckks" and plain_modulus is not None:
        raise TypeError('a plain modulus is for integers: use scheme="bgv" or scheme="bfv"')
    if scheme != "ckks" and precision is not None:
        raise TypeError(f"a precision is for numbers: integers of the scheme {scheme!r} are exact")
    modulus = None if plain_modulus is None else integer(plain_modulus, "plain_modulus")
    if modulus is not None and not 2 <= modulus < 2**61:
        raise ParameterError(f"plain modulus {modulus}: 2 to 2**61 - 1 are supported")
    return None if scheme == "ckks" else scheme, modulus


def check_for_numbers(
    operation: str, integers: bool, bootstrapping: object, tables: object
) -> None:
    """Raise an `ArgumentError` for bootstrapping or tables of integers, which have neither."""
    asked = [
        name
        for name, what in (("bootstrapping", bootstrapping), ("tables", tables))
        if what is not None
    ]
    if integers and asked:
        raise ArgumentError(
            f"{operation}: {' and '.join(asked)} can only be used for numbers, not for integers"
        )


def key_request(
    rotations: Iterable[SupportsIndex] | None,
    conjugation: bool,
    bootstrapping: bool | Bootstrapping,
    tables: bool | str | LookUps,
    bits: bool,
    *,
    is_exact: bool,
) -> _KeyRequest:
    """Convert arguments of `Client.evaluation_keys` to those of the extension module."""
    rotations = () if bits and rotations is None else rotations
    if rotations is not None and not isinstance(rotations, Iterable):
        raise TypeError(
            f"rotations are integers in a list, or None for all, not {type(rotations).__name__}"
        )
    most = 2**63 - 1
    steps = (
        None
        if rotations is None
        else [whole(step, "a rotation", -most, most) for step in rotations]
    )
    looked_up, how = to_native_tables(tables), to_native_bootstrapping(bootstrapping)
    check_for_numbers("evaluation keys", is_exact, how, looked_up)
    return steps, True, conjugation, how, looked_up, bits


def _raw_array(array: EncryptedArray) -> _native.EncryptedArray:
    if isinstance(array, EncryptedArray):
        return array._to_be_read()
    if isinstance(array, (bytes, bytearray, memoryview)):
        instead = "Read it with EncryptedArray.from_bytes(data) first"
    elif isinstance(array, (str, os.PathLike)):
        instead = "Read the file with EncryptedArray.load(path) first"
    elif isinstance(array, (list, tuple, Mapping)):
        instead = "Decrypt each array on its own"
    else:
        instead = "This value is not encrypted"
    raise TypeError(f"an EncryptedArray is decrypted, not {type(array).__name__}. {instead}.")


class _Encrypting:
    """The base of classes that encrypt for one client, with its secret or its public key."""

    __slots__ = ()
    _raw: _native.ClientKey | _native.PublicKey

    @overload
    def encrypt(self, values: Interface, *inputs: Any) -> Any: ...

    @overload
    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        interval: tuple[float, float] | None = None,
        bound: float | None = None,
        precision: float | None = None,
        wrap: bool = False,
    ) -> EncryptedArray: ...

    def encrypt(
        self,
        values: npt.ArrayLike | Interface,
        *inputs: Any,
        interval: tuple[float, float] | None = None,
        bound: float | None = None,
        precision: float | None = None,
        wrap: bool = False,
    ) -> Any:
        """Encrypt an array of any shape, or the inputs of a program.

        ``client.encrypt(interface, rows)`` encrypts the inputs of a compiled program, in the order
        of its parameters, and checks their shapes and intervals. It returns an array, or a tuple of
        arrays if the program takes several. `Program.interface` returns the interface.

        A client of the scheme ``"ckks"`` encrypts real or complex numbers, which must be finite. A
        client with a `plain_modulus` encrypts integers. A client of a preset for bits encrypts
        booleans, which compute by gates.

        Everyone can see the shape of the array and its `interval` ``(low, high)``, which contains
        all values. By default, its bound is the largest absolute value, rounded up to a power of
        two that is at least 1. The default interval ends at 0 if no value is negative, or none is
        positive. An interval that does not depend on the values reveals nothing about them.
        Operations check the interval. For example, ``numpy.sqrt(x)`` needs ``low >= 0``.
        ``bound=b`` is short for ``interval=(-b, b)``.

        `precision` is the requested precision of the values and of results computed from them, in
        bits after the binary point. The default is the client's own (see `Client.generate`). For
        more than the 53 bits of doubles, values can be `numpy.longdouble`, `decimal.Decimal`,
        mpmath's `mpf` or decimal text such as ``"0.1"``. They are encrypted without rounding to
        doubles.

        Results with encrypted integers are modulo the `plain_modulus` ``t``. Integers outside
        ``[-(t - 1) / 2, t - 1]`` would wrap around, which raises an `ArgumentError` unless
        ``wrap=True``. By default, the interval of integers only tells whether all of them lie in
        ``[0, t - 1]``, or all in ``[-(t - 1) / 2, (t - 1) / 2]``.
        """
        interface = interface_of(values)
        if interface is not None:
            if interval is not None or bound is not None or precision is not None or wrap:
                raise TypeError("encrypt: an interface already determines interval and precision")
            interface._check_parameters("encrypt", self._raw)
            of_one = partial(encrypt, self._raw, bound=None, wrap=False)
            return encrypted_inputs(interface, inputs, of_one)
        if inputs:
            raise TypeError(
                "encrypt: one array is encrypted at a time, unless the first argument is the "
                "interface of a program"
            )
        plain = cast("npt.ArrayLike", values)
        return encrypt(self._raw, plain, interval, bound, precision, bool(wrap))


class PublicKey(Stored, _Encrypting):
    """A key that encrypts for the client that made it, and can do nothing else.

    Give it to anyone who sends data to the client.
    """

    __slots__ = ()
    _raw: _native.PublicKey
    _kind = _native.PublicKey
    _factory = "Client.public_key"

    def _facts(self) -> list[tuple[str, Cell]]:
        modulus = self._raw.plain_modulus
        numbers = "numbers, and booleans as bits" if self._raw.for_bits else "numbers"
        kind = numbers if modulus is None else f"integers modulo {modulus}"
        return [("encrypts", kind), *super()._facts()]

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, threads: int = 1) -> PublicKey:
        """Read a key from the bytes that `to_bytes` returned, to encrypt on `threads` threads."""
        return cls(_native.PublicKey.from_bytes(raw_bytes(data), thread_count(threads)))

    @classmethod
    def load(cls, path: FilePath, *, threads: int = 1) -> PublicKey:
        """Read a key from a file that `save` wrote, to encrypt on `threads` threads."""
        with reading(path) as name:
            return cls(_native.PublicKey.load(name, thread_count(threads)))


# The clients that may be pickled in this context.
_may_pickle: ContextVar[frozenset[Client]] = ContextVar("_may_pickle", default=frozenset())


class Client(StoredSecret, _Encrypting):
    """The owner of the data, with the secret key.

    Evaluation keys, public keys and encrypted arrays contain no secret and can be given to others.
    The client itself, and the file that `save` writes, must stay with the owner.
    """

    _raw: _native.ClientKey
    _kind = _native.ClientKey
    _factory = "Client.generate"

    @classmethod
    def generate(
        cls,
        preset: str | Interface = "n14",
        *,
        precision: float | None = None,
        scheme: Literal["ckks", "bgv", "bfv"] = "ckks",
        plain_modulus: int | None = None,
        threads: int = 1,
    ) -> Client:
        """Make a client with a new secret key from the system's random number generator.

        `preset` names the parameters (see `presets`). Larger parameters allow more operations one
        after the other, and are slower. The interface of a compiled program stands for the
        parameters and the precision that the program was compiled for.

        `precision` is the requested precision of results, in bits after the binary point, for
        numbers. Presets for one fixed scale have a default of their own; for all others it is 32. A
        multiplication uses up about that many bits of capacity and 15 more. Arrays and operations
        can have another precision:

        - ``client.encrypt(x, precision=80)`` encrypts with another precision.
        - ``x.with_precision(20)`` changes the precision of an array.
        - ``with server.at_precision(50): ...`` sets the precision of operations.

        An operation on arrays of different precision uses the smaller one.
        `NumberArray.precision_bits` is the precision that a result really has.

        With the `scheme` ``"bgv"`` or ``"bfv"``, the client encrypts integers, and results are
        exact modulo `plain_modulus`. It must be a prime that is 1 modulo twice the ring degree. The
        default is 65537, or 786433 at the ring degrees ``2**16`` and ``2**17``.
        `hippocrene.plain_modulus` finds a prime of any size. Both schemes have the same keys and
        the same arrays, and differ in how they compute products.
        docs/how-to/integers.md explains when to choose which.
        """
        interface = interface_of(preset)
        if interface is not None:
            if not (precision is plain_modulus is None and scheme == "ckks"):
                raise TypeError(
                    "generate: an interface already determines precision, scheme and plain modulus"
                )
            return cls(interface._raw.generate_client(thread_count(threads)))
        exact, modulus = checked_scheme(scheme, plain_modulus, precision)
        precision = double_or_none(precision, "a precision")
        preset = text(preset, "a preset")
        return cls(
            _native.ClientKey.generate(preset, precision, exact, modulus, thread_count(threads))
        )

    scheme = Forwarded[str](
        'The scheme: ``"ckks"`` for numbers, ``"bgv"`` or ``"bfv"`` for integers.'
    )

    plain_modulus = Forwarded[int | None](
        "The modulus of the integers, or None for a client that encrypts numbers."
    )

    precision = Forwarded[float](
        "The default requested precision of results, in bits after the binary point."
    )

    preset = Forwarded[str | None](
        "The name of the parameters, or None if they belong to no preset."
    )

    ring_degree = Forwarded[int](
        "The ring degree, a power of two. A ciphertext holds half as many numbers."
    )

    slots = Forwarded[int](
        """The number of numbers that one ciphertext holds; it holds twice as many integers.

        Larger arrays span several ciphertexts.
        """
    )

    @overload
    def decrypt(
        self, array: EncryptedArray, *, dtype: Kind | None = None, signed: bool = False
    ) -> npt.NDArray[Any]: ...

    @overload
    def decrypt(
        self,
        array: EncryptedArray | tuple[Any, ...] | dict[str, Any],
        interface: Interface | None = None,
        *,
        dtype: Kind | None = None,
        signed: bool = False,
    ) -> Any: ...

    def decrypt(
        self,
        array: EncryptedArray | tuple[Any, ...] | dict[str, Any],
        interface: Interface | None = None,
        *,
        dtype: Kind | None = None,
        signed: bool = False,
    ) -> Any:
        """Decrypt an array, for the client's own eyes.

        A tuple or a dict of arrays, as `Server.run` returns it, becomes one of decrypted arrays.
        With the `interface` of a compiled classifier, decrypted scores become the class of each
        row. The reply of a model with other classes raises an `ArgumentError`.

        Numbers are doubles. They are complex if any value may be complex. Integers are exact and
        lie from 0 to ``plain_modulus - 1``, or around zero if `signed`. Bits are booleans.

        `dtype` selects another type for numbers. It can be another float or complex type of numpy,
        such as ``"float32"``. For more than the 53 bits of doubles, there are three choices:

        - `numpy.longdouble`,
        - `decimal.Decimal`, which gives an array of objects, each rounded to the digits that
          `precision_bits` justifies,
        - a function of a pair of a mantissa and an exponent of two, such as `mpmath.mpf`.

        The last bits of a result are noise that depends on the secret key. Anyone who sees many
        results together with their encryptions can compute the key (ePrint 2020/1533). Publish only
        results of `decrypt_for_sharing`.
        """
        if interface is not None:
            known = interface_of(interface)
            if known is None:
                check_type(interface, Interface, "decrypt: the second argument is an Interface")
            if known is not None and isinstance(array, EncryptedArray):
                known._raw.check_result(_raw_array(array))
            values = self.decrypt(array, dtype=dtype, signed=signed)
            return values if known is None else known._read(values)
        if isinstance(array, tuple):
            return tuple(self.decrypt(one, dtype=dtype, signed=signed) for one in array)
        if isinstance(array, dict):
            items = array.items()
            return {name: self.decrypt(one, dtype=dtype, signed=signed) for name, one in items}
        raw = _raw_array(array)
        if raw.holds == "single bits":
            raise ArgumentError(
                "decrypt: this array holds encrypted single bits. The GateClient that encrypted it decrypts it."
            )
        if raw.plain_modulus is not None:
            if not (dtype is int or is_type(dtype, np.int64)):
                raise TypeError("encrypted integers can only be decrypted to numpy.int64")
            return self._raw.decrypt_integers(raw, signed)
        if raw.bit_error is not None and not is_type(dtype, np.bool_):
            raise TypeError("encrypted bits can only be decrypted to numpy.bool_")
        if signed:
            raise TypeError("decrypt: signed is for encrypted integers; numbers have a sign anyway")
        return decrypted(self._raw, raw, None if raw.bit_error is not None else dtype)

    def noise_budget(self, array: EncryptedArray) -> float:
        """Measure the noise budget of encrypted integers, in bits.

        This is the distance of the largest error from one that makes a result wrong. It is larger
        than ``array.budget_bits``, which is an estimate that needs no secret key. The measurement
        depends on the error, and so is only for the client's own eyes.
        """
        raw = _raw_array(array)
        if raw.plain_modulus is None:
            raise TypeError(
                "encrypted numbers and bits have no noise budget: precision_bits states the precision of numbers"
            )
        return self._raw.noise_budget(raw)

    def decrypt_for_sharing(
        self, array: EncryptedArray, bits: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Decrypt real numbers for others to see, with noise that protects the secret key.

        The last bits of a result depend on the key, and the noise hides them. The noise is
        ``2**bits`` to ``2**(bits + 2)`` times as large as the estimated error, and costs as many
        bits of precision (ePrint 2022/816). By default, it leaves 8 bits of precision after the
        binary point, with `bits` at most 40. Fewer than 20 bits are refused, and by default an array
        that would have less than 8 bits left with 20.

        Anyone who sees ``d`` ciphertexts decrypted in this way has an advantage of at most
        ``sqrt(d * N) * 2**-(bits + 1)``, where ``N`` is the ring degree. This holds if the
        estimated error is right. The estimate assumes independent errors, which the errors in sums
        of an array with itself are not. It is also a mean square over all elements. If the columns
        of ``W`` have very different sizes, share ``X @ W[:, 7]`` and not ``(X @ W)[:, 7]``.

        docs/reference/security.md has the details. To publish many results, encrypt with a higher
        precision. Every additional bit of precision allows one more bit of hiding.
        """
        raw = _raw_array(array)
        if raw.bit_error is not None:
            raise TypeError(
                "decrypt_for_sharing hides the error of numbers: use decrypt for bits, which it rounds"
            )
        if raw.plain_modulus is not None:
            raise TypeError(
                "decrypt_for_sharing hides the error of numbers: use decrypt for integers, which have none"
            )
        hiding = None if bits is None else whole(bits, "bits of noise for sharing", 0, 2**32 - 1)
        return self._raw.decrypt_for_sharing(raw, hiding)

    def evaluation_keys(
        self,
        rotations: Iterable[SupportsIndex] | Interface | None = None,
        *,
        conjugation: bool = False,
        bootstrapping: bool | Bootstrapping = False,
        tables: bool | str | LookUps = False,
        bits: bool | None = None,
        for_: Simulation | None = None,
    ) -> EvaluationKeys:
        """Make the keys that a server computes with.

        By default these are keys for products and for rotations by any number of places. Rotations
        to the left by powers of two have their own keys. So do rotations to the right by 1, 16 and
        256, unless the keys have bootstrapping. All other rotations are composed of these, in up to
        about ten steps. A rotation that `rotations` or `for_` names takes one step.

        ``client.evaluation_keys(interface)`` makes exactly the keys that a compiled program uses.

        - `rotations` limits the rotations to these numbers of slots, which makes the keys smaller.
          An empty list is enough for a server that only adds, multiplies and evaluates polynomials.
        - `conjugation` adds the key for the conjugates of complex values. For integers, this key
          exchanges the two rows of slots. It is then included by default, unless `rotations` or
          `for_` limits the keys.
        - `bootstrapping` lets the server restore the capacity of an array whenever an operation
          lacks it, so that any number of products can follow one another. The keys take half a
          gigabyte with the preset ``"n15"``, whose bootstrap has 14 bits of precision. They take
          gigabytes with ``"n16s"``, ``"n16"``, ``"n17s"`` and ``"n17"``. Use a `Bootstrapping` for
          more than real values up to 1. `describe_bootstrapping` returns its properties before any
          key is made.
        - `tables` lets the server apply any function to values by look-up tables
          (`NumberArray.apply`). The keys take gigabytes, and need the preset ``"n15"`` or a
          larger one. A name or a `LookUps` selects the tables.
        - `bits` lets the server compute gates of encrypted bits. It is the default for presets for
          bits. No rotations for numbers are then made, unless `rotations` asks for them.
        - `for_` is a result of `simulate` for a program, with the preset, scheme and plain modulus
          of this client. The keys are those that the program uses, including its bootstrapping,
          tables and bits. If given, `bootstrapping` and `tables` replace those of the
          program, and `bits` adds to them. `rotations` or `conjugation` together with `for_` raise
          a `TypeError`.

        Bootstrapping and tables are for numbers, and raise an `ArgumentError` for a client of
        integers.
        """
        interface = interface_of(rotations)
        if interface is not None:
            if conjugation or bootstrapping or tables or bits is not None or for_ is not None:
                raise TypeError("evaluation_keys: an interface already determines the keys")
            interface._check_parameters("evaluation_keys", self._raw)
            return EvaluationKeys(interface._raw.evaluation_keys(self._raw))
        relinearisation = True
        if for_ is not None:
            if rotations is not None or conjugation:
                raise TypeError(
                    "for_ already determines the rotations and the conjugation: pass for_ alone"
                )
            try:
                check_made_alike(self._raw, for_, "evaluation keys", "this client")
                rotations, conjugation = for_.rotations, for_.conjugation
                relinearisation = for_.relinearisation
                bootstrapping = bootstrapping or for_.bootstrapping or False
                tables = tables or for_.tables or False
                bits = bits or for_.bits
            except AttributeError:
                raise TypeError(
                    f"for_ must be a Simulation, as simulate returns it, not {type(for_).__name__}"
                ) from None
        gates = self._raw.for_bits if bits is None else bits
        is_exact = self.plain_modulus is not None
        steps = cast("Iterable[SupportsIndex] | None", rotations)
        asked = key_request(steps, conjugation, bootstrapping, tables, gates, is_exact=is_exact)
        return EvaluationKeys(self._raw.evaluation_keys((asked[0], relinearisation, *asked[2:])))

    def describe_bootstrapping(
        self, bootstrapping: bool | Bootstrapping = True
    ) -> _native.BootstrappingDescription:
        """Return the properties of a bootstrap before any key is made.

        They are its precision, the capacities before and after it, its probability of failure and
        the size of its keys. `bootstrapping` is as for `evaluation_keys`.
        """
        how = to_native_bootstrapping(bootstrapping)
        if how is None:
            raise ArgumentError(
                "describe_bootstrapping: bootstrapping is False, and there is nothing to describe"
            )
        check_for_numbers("describe_bootstrapping", self.plain_modulus is not None, how, None)
        return self._raw.describe_bootstrapping(how)

    def describe_tables(self, tables: bool | str | LookUps = True) -> _native.TablesDescription:
        """Return the properties of look-ups in tables before any key is made.

        They include the capacity of results and the probability of failure. `tables` is as for
        `evaluation_keys`, without bootstrapping.
        """
        how = to_native_tables(tables)
        if how is None:
            raise ArgumentError(
                "describe_tables: tables is False, and there is nothing to describe"
            )
        return self._raw.describe_tables(how)

    def second_client(self, capacity: float) -> Client:
        """Make a client with a second secret key, for results of limited capacity.

        Results can have at most `capacity` bits of capacity. For integers, these are bits of noise
        budget. The evaluation keys of the second client are a fraction of the size. A server that
        has them and this client's `transfer_key` takes this client's arrays of numbers and
        integers, but not of bits. The second client decrypts the results.
        """
        return Client(self._raw.second(double(capacity, "a capacity")))

    def transfer_key(self, second: Client) -> TransferKey:
        """Make the key that converts this client's arrays to the secret key of `second`."""
        check_type(second, Client, "a transfer key leads to a Client")
        return TransferKey(self._raw.transfer_key(second._raw))

    def public_key(self) -> PublicKey:
        """Make a key with which others encrypt for this client."""
        return PublicKey(self._raw.public_key())

    # Files

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, threads: int = 1) -> Client:
        """Read a client from the bytes that `to_bytes` returned, to work on `threads` threads."""
        return cls(_native.ClientKey.from_bytes(raw_bytes(data), thread_count(threads)))

    @classmethod
    def load(cls, path: FilePath, *, threads: int = 1) -> Client:
        """Read a client from a file that `save` wrote, to work on `threads` threads."""
        with reading(path) as name:
            return cls(_native.ClientKey.load(name, thread_count(threads)))

    @contextmanager
    def allow_pickle(self) -> Iterator[Client]:
        """Allow pickling this client with its secret key, within a ``with`` block.

        It applies to this thread or task only. Queues of processes and Dask pickle in threads of
        their own. Give them the bytes of ``pickle.dumps(client)`` instead.
        """
        token = _may_pickle.set(_may_pickle.get() | {self})
        try:
            yield self
        finally:
            _may_pickle.reset(token)

    def __reduce__(self) -> tuple[object, ...]:
        if self not in _may_pickle.get():
            raise SecretPickleError(
                "a client holds the secret key and can only be pickled within `with client.allow_pickle():`"
            )
        return Client.from_bytes, (self.to_bytes(),)

    def _facts(self) -> list[tuple[str, Cell]]:
        rows: list[tuple[str, Cell]] = [
            ("preset", preset_text(self.preset, self.ring_degree)),
            ("scheme", scheme_text(self.scheme, self.plain_modulus)),
            ("slots", f"{self.slots} in each ciphertext"),
        ]
        if self.plain_modulus is None and not self._raw.for_bits:
            rows.append(("precision", f"{self.precision:g} bits requested by default"))
        return [*rows, ("fingerprint", self.fingerprint)]

    def __repr__(self) -> str:
        exact = (
            ""
            if self.plain_modulus is None
            else f", scheme={self.scheme!r}, plain_modulus={self.plain_modulus}"
        )
        return f"Client(preset={self.preset!r}, fingerprint={self.fingerprint!r}{exact})"
