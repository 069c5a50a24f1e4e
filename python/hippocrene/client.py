"""The client: it holds the secret key, encrypts, decrypts, and makes the keys that others need."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias

import numpy as np

from hippocrene import _native
from hippocrene.array import EncryptedArray
from hippocrene.bits import booleans
from hippocrene.bootstrapping import Bootstrapping, wanted
from hippocrene.described import check_made_alike
from hippocrene.errors import ArgumentError, ParameterError, SecretPickleError
from hippocrene.exact import Kind, decrypted, is_type
from hippocrene.integers import integers, without_wrapping
from hippocrene.look_ups import LookUps, wanted_tables
from hippocrene.scalars import (
    declared_interval,
    double,
    double_or_none,
    integer,
    text,
    thread_count,
    whole,
)
from hippocrene.server import EvaluationKeys, TransferKey
from hippocrene.values import (
    FilePath,
    check_finite,
    file_path,
    numbers,
    path_of_secret,
    raw_bytes,
    reading,
    to_native,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from hippocrene.simulation import Simulation

# Rotations, relinearisation, conjugation, bootstrapping, tables and bits, as the extension module
# takes them.
KeyRequest: TypeAlias = tuple[
    "list[int] | None",
    bool,
    bool,
    "tuple[bool, float, float | None, int | None] | None",
    "tuple[str, float | None] | None",
    bool,
]


def checked_scheme(
    scheme: str, plain_modulus: int | None, precision: float | None
) -> tuple[str | None, int | None]:
    """Return the scheme of integers, if it is one, and their modulus, as the extension module takes them."""
    if text(scheme, "a scheme") not in ("ckks", "bgv", "bfv"):
        raise ParameterError(
            f"there is no scheme {scheme!r}: ckks is for numbers, bgv and bfv are for integers"
        )
    if scheme == "ckks" and plain_modulus is not None:
        raise TypeError('a plain modulus is for integers: say scheme="bgv" or scheme="bfv"')
    if scheme != "ckks" and precision is not None:
        raise TypeError(f"a precision is for numbers: integers of the scheme {scheme!r} are exact")
    modulus = None if plain_modulus is None else integer(plain_modulus, "plain_modulus")
    if modulus is not None and not 2 <= modulus < 2**61:
        raise ParameterError(f"plain modulus {modulus}: 2 to 2**61 - 1 are supported")
    return None if scheme == "ckks" else scheme, modulus


def check_for_numbers(
    operation: str, integers: bool, bootstrapping: object, tables: object
) -> None:
    """Refuse bootstraps and tables of integers, which have neither."""
    asked = [
        name
        for name, what in (("bootstrapping", bootstrapping), ("tables", tables))
        if what is not None
    ]
    if integers and asked:
        raise ArgumentError(
            f"{operation}: {' and '.join(asked)} for numbers, where integers are computed with"
        )


def key_request(
    rotations: Iterable[SupportsIndex] | None,
    conjugation: bool,
    bootstrapping: bool | Bootstrapping,
    tables: bool | str | LookUps,
    bits: bool,
    *,
    is_exact: bool,
) -> KeyRequest:
    """Return what `Client.evaluation_keys` is asked for, as the extension module takes it."""
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
    looked_up, how = wanted_tables(tables), wanted(bootstrapping)
    check_for_numbers("evaluation keys", is_exact, how, looked_up)
    return steps, True, conjugation, how, looked_up, bits


# What to do instead of encrypting missing values.
_MASK = (
    "where values are missing, encrypt others, such as 0, and a mask of ones and zeros beside them"
)


def encrypt(
    key: _native.ClientKey | _native.PublicKey | _native.Simulation,
    values: npt.ArrayLike,
    interval: tuple[float, float] | None,
    bound: float | None,
    precision: float | None,
    wrap: bool,
) -> EncryptedArray:
    """Encrypt under either key."""
    ends = declared_interval(interval, bound)
    bits = booleans(values, "encrypt") if key.for_bits else None
    if bits is not None:
        if ends is not None or precision is not None or wrap:
            raise TypeError(
                "encrypt: encrypted bits have neither interval nor precision, and do not wrap around"
            )
        return EncryptedArray(key.encrypt_bits(bits))
    if key.plain_modulus is None:
        plain = numbers(values, "encrypt")
        check_finite(plain, "encrypt", "encrypted", _MASK)
        raw = to_native(plain, "encrypt")
        if wrap:
            raise TypeError(
                "encrypt: wrap is for integers, which are computed with modulo a plain modulus"
            )
        return EncryptedArray(
            key.encrypt(raw, interval=ends, precision=double_or_none(precision, "a precision"))
        )
    if precision is not None:
        raise TypeError("encrypt: encrypted integers are exact and have no precision")
    whole = integers(values, "encrypt", key.plain_modulus)
    if not wrap:
        whole = without_wrapping(values, whole, key.plain_modulus)
    return EncryptedArray(key.encrypt(whole, interval=ends, precision=None))


def _raw_array(array: EncryptedArray) -> _native.EncryptedArray:
    if not isinstance(array, EncryptedArray):
        raise TypeError(
            f"an EncryptedArray is decrypted, not {type(array).__name__}: EncryptedArray.load reads files"
        )
    return array._to_be_read


class _Encrypting:
    """Encrypts for one client, by its secret key or by its public key."""

    __slots__ = ()
    _raw: _native.ClientKey | _native.PublicKey

    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        interval: tuple[float, float] | None = None,
        bound: float | None = None,
        precision: float | None = None,
        wrap: bool = False,
    ) -> EncryptedArray:
        """Encrypt real or complex numbers of any shape; finite ones only.

        Everybody can see the shape and the `interval` ``(low, high)`` that goes with the array and
        in which all values lie. By default, its bound is the largest absolute value rounded up to a
        power of two from 1, and it ends at 0 if no value is negative, or none is positive. An
        interval that does not come from the values tells nothing of them; operations check it, so
        that ``numpy.sqrt(x)`` wants ``low >= 0``. ``bound=b`` is short for ``interval=(-b, b)``.

        `precision` is how precise the values and what is computed from them are to be, in bits
        after the binary point, where that is not to be the client's own: see `Client.generate`.
        Beyond the 53 bits of doubles, values can be `numpy.longdouble`, `decimal.Decimal`, mpmath's
        `mpf` or decimal text such as ``"0.1"``, and are taken as they are.

        A client with a `plain_modulus` ``t`` encrypts integers of any shape. Results count modulo
        ``t``. Integers outside ``[-(t - 1) / 2, t - 1]`` would wrap around, which is an error
        unless ``wrap=True``. By default, the interval of integers says only whether all of them lie
        in ``[0, t - 1]``.

        A client of a preset for bits encrypts booleans, for gates.
        """
        return encrypt(self._raw, values, interval, bound, precision, bool(wrap))


class PublicKey(_Encrypting):
    """Encrypts for the client it is from, and can do nothing else: give it to whoever sends data."""

    __slots__ = ("_raw",)
    _raw: _native.PublicKey

    def __init__(self, raw: _native.PublicKey) -> None:
        """Wrap what the extension module made; `Client.public_key` is the way in."""
        if not isinstance(raw, _native.PublicKey):
            raise TypeError(
                "public keys are made by Client.public_key, PublicKey.load and PublicKey.from_bytes"
            )
        self._raw = raw

    @property
    def fingerprint(self) -> str:
        """Which secret key this belongs to."""
        return self._raw.fingerprint

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, threads: int = 1) -> PublicKey:
        """Read what `to_bytes` returned, to encrypt on so many threads."""
        return cls(_native.PublicKey.from_bytes(raw_bytes(data), thread_count(threads)))

    def save(self, path: FilePath) -> None:
        """Write the key to a file."""
        self._raw.save(file_path(path))

    @classmethod
    def load(cls, path: FilePath, *, threads: int = 1) -> PublicKey:
        """Read a file that `save` wrote, to encrypt on so many threads."""
        with reading(path) as name:
            return cls(_native.PublicKey.load(name, thread_count(threads)))

    def __reduce__(self) -> tuple[object, ...]:
        return PublicKey.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"PublicKey(fingerprint={self.fingerprint!r})"


# The clients that may be pickled in this context.
_may_pickle: ContextVar[frozenset[Client]] = ContextVar("_may_pickle", default=frozenset())


class Client(_Encrypting):
    """The owner of the data, with the secret key.

    What it makes for others, `evaluation_keys` and `public_key`, and what it encrypts, hold no
    secret; the client itself, and the file that `save` writes, stay where they are.
    """

    _raw: _native.ClientKey

    def __init__(self, raw: _native.ClientKey) -> None:
        """Wrap what the extension module made; `generate`, `load` and `from_bytes` are the ways in."""
        if not isinstance(raw, _native.ClientKey):
            raise TypeError(
                "clients are made by Client.generate, Client.load and Client.from_bytes"
            )
        self._raw = raw

    @classmethod
    def generate(
        cls,
        preset: str = "n14",
        *,
        precision: float | None = None,
        scheme: Literal["ckks", "bgv", "bfv"] = "ckks",
        plain_modulus: int | None = None,
        threads: int = 1,
    ) -> Client:
        """Make a fresh secret key from the randomness of the system.

        `preset` names the parameters (see `presets`): the larger, the more can be computed in a
        row, and the slower.

        `precision` is how precise results are to be, in bits after the binary point, where arrays
        and operations say nothing else: a multiplication takes about as many bits of capacity, and
        some 15 more. Arrays can be encrypted with another precision, ``client.encrypt(x,
        precision=80)``, and asked for another one later, ``x.with_precision(20)``; operations can
        have one of their own, ``with server.at_precision(50): ...``. An operation on arrays of
        different precision has the smaller one. `EncryptedArray.precision_bits` says what precision
        a result really has.

        With the `scheme` ``"bgv"`` or ``"bfv"`` the client encrypts integers, which are computed
        with exactly, modulo `plain_modulus`: a prime that is 1 modulo twice the ring degree, by
        default 65537, or 786433 at the ring degrees ``2**16`` and ``2**17``;
        `hippocrene.plain_modulus` finds one of any size. Both schemes have the same keys and the
        same arrays; they differ in how products are computed. docs/integers.md says when to choose
        which.
        """
        exact, modulus = checked_scheme(scheme, plain_modulus, precision)
        precision = double_or_none(precision, "a precision")
        preset = text(preset, "a preset")
        return cls(
            _native.ClientKey.generate(preset, precision, exact, modulus, thread_count(threads))
        )

    @property
    def scheme(self) -> str:
        """How it computes: ``"ckks"`` on numbers, ``"bgv"`` or ``"bfv"`` on integers."""
        return self._raw.scheme

    @property
    def plain_modulus(self) -> int | None:
        """What its integers are computed modulo; None for a client that encrypts numbers."""
        return self._raw.plain_modulus

    @property
    def precision(self) -> float:
        """How precise results are to be where nothing else is said, in bits after the binary point."""
        return self._raw.precision

    @property
    def preset(self) -> str | None:
        """Name of the parameters, if they have one."""
        return self._raw.preset

    @property
    def ring_degree(self) -> int:
        """The ring degree, a power of two."""
        return self._raw.ring_degree

    @property
    def fingerprint(self) -> str:
        """Which secret key this is; encrypted arrays and other keys carry the same."""
        return self._raw.fingerprint

    @property
    def slots(self) -> int:
        """How many numbers (or integers, twice as many) one ciphertext holds; larger arrays span several."""
        return self._raw.slots

    def decrypt(
        self, array: EncryptedArray, *, dtype: Kind | None = None, signed: bool = False
    ) -> npt.NDArray[Any]:
        """Decrypt, for the client's own eyes: doubles, or complex numbers where any were encrypted or computed with.

        Integers are exact, and from 0 up to the `plain_modulus`, or around zero when `signed`. Bits
        are booleans.

        `dtype` asks for other floats or complex numbers of numpy, such as ``"float32"``, or for
        more than the 53 bits of doubles: `numpy.longdouble`, `decimal.Decimal` (an array of
        objects, rounded to what `precision_bits` says that they are worth), or a function of
        mantissa and exponent of two as one pair, which `mpmath.mpf` is.

        The last bits of the result are noise that depends on the secret key: whoever sees many
        results together with their encryptions can compute the key (ePrint 2020/1533). Publish only
        what `decrypt_for_sharing` returns.
        """
        raw = _raw_array(array)
        if raw.holds == "single bits":
            raise ArgumentError(
                "decrypt: an array of encrypted single bits, which the GateClient decrypts that encrypted it"
            )
        if raw.plain_modulus is not None:
            if not (dtype is int or is_type(dtype, np.int64)):
                raise TypeError("encrypted integers are decrypted to numpy.int64, and nothing else")
            return self._raw.decrypt_integers(raw, signed)
        if raw.bit_error is not None and not is_type(dtype, np.bool_):
            raise TypeError("encrypted bits are decrypted to numpy.bool_, and nothing else")
        if signed:
            raise TypeError("decrypt takes signed for encrypted integers: numbers have their signs")
        return decrypted(self._raw, raw, None if raw.bit_error is not None else dtype)

    def noise_budget(self, array: EncryptedArray) -> float:
        """Measure the noise budget of encrypted integers, in bits: how far the largest error is from a wrong result.

        The estimate that needs no secret key, ``array.budget_bits``, is below it. What is measured
        tells how large the error is, and so is for the client's own eyes.
        """
        raw = _raw_array(array)
        if raw.plain_modulus is None:
            raise TypeError(
                "encrypted numbers and bits have no noise budget: precision_bits says how precise numbers are"
            )
        return self._raw.noise_budget(raw)

    def decrypt_for_sharing(
        self, array: EncryptedArray, bits: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Decrypt real numbers for the eyes of others, with noise that hides what the error tells about the key.

        It is ``2**bits`` times as large as the estimated error, or up to four times that, and costs
        as many bits of precision (ePrint 2022/816). By default it is as much as leaves 8 bits of
        precision after the binary point, at most 40 bits; an array that would be left with less at
        20 bits is refused.

        Whoever sees ``d`` ciphertexts decrypted so has an advantage of at most ``sqrt(d * N) *
        2**-(bits + 1)``, ``N`` the ring degree, where the estimate is right: it takes errors as
        independent, which sums of an array with itself are not. It is of the mean square over all
        elements: share ``X @ W[:, 7]``, not ``(X @ W)[:, 7]``, where the columns of ``W`` are of
        very different sizes. SECURITY.md says more. Who publishes many results encrypts them with
        more precision, and every bit of that is a bit of hiding.
        """
        raw = _raw_array(array)
        if raw.bit_error is not None:
            raise TypeError(
                "decrypt_for_sharing hides the error of numbers: bits are rounded, which decrypt does"
            )
        if raw.plain_modulus is not None:
            raise TypeError(
                "decrypt_for_sharing hides the error of numbers: integers, which have none, are for decrypt"
            )
        hiding = None if bits is None else whole(bits, "bits of noise for sharing", 0, 2**32 - 1)
        return self._raw.decrypt_for_sharing(raw, hiding)

    def evaluation_keys(
        self,
        rotations: Iterable[SupportsIndex] | None = None,
        *,
        conjugation: bool = False,
        bootstrapping: bool | Bootstrapping = False,
        tables: bool | str | LookUps = False,
        bits: bool | None = None,
        for_: Simulation | None = None,
    ) -> EvaluationKeys:
        """Make the keys a server computes with: for products, and for rotations by any number of places.

        Rotations by powers of two to the left have keys, and those by 1, 16 and 256 to the right
        where there are none of bootstrapping; all others are composed of these, in up to some ten
        steps. What `for_` and `rotations` name takes one step.

        `rotations` limits the latter to these numbers of slots, which makes the keys smaller: none
        at all for a server that only adds, multiplies and evaluates polynomials. `conjugation` adds
        the key for conjugating complex values, which also exchanges the two rows of slots that
        integers stand in: for these it is there where nothing is said.

        With `bootstrapping` the server gives arrays capacity again wherever an operation lacks it,
        so that any number of products can follow on one another. The keys take half a gigabyte with
        the preset ``"n15"``, whose bootstrap has 14 bits of precision, and gigabytes with
        ``"n16s"``, ``"n16"``, ``"n17s"`` and ``"n17"``. A `Bootstrapping` says what is wanted
        beyond real values up to 1, and `describe_bootstrapping` what it will be like.

        With `tables` the server looks up any function of values (`EncryptedArray.apply`). The keys
        take gigabytes, from the preset ``"n15"`` on; a name or `LookUps` says which tables.
        Bootstrapping and tables are for numbers: a client of integers has an `ArgumentError`.

        With `bits` the server computes gates of encrypted bits, as it does for presets for bits
        where nothing is said. No rotations for numbers are made then, unless they are asked for.

        `for_` is what `simulate` returned of a program, run with this client's preset, scheme and
        plain modulus: the keys are those that it uses, with those of bootstrapping, tables and bits
        where it takes them, and no others but for what is asked for here.
        """
        relinearisation = True
        if for_ is not None:
            if rotations is not None or conjugation:
                raise TypeError("the keys of a simulated program are known: say for_ alone")
            try:
                check_made_alike(self, for_, "evaluation keys", "this client")
                rotations, conjugation = for_.rotations, for_.conjugation
                relinearisation = for_.relinearisation
                bootstrapping, tables = (
                    bootstrapping or for_.bootstrapping or False,
                    tables or for_.tables or False,
                )
                bits = bits or for_.bits
            except AttributeError:
                raise TypeError(
                    f"keys are made for what simulate returned, not for {type(for_).__name__}"
                ) from None
        gates = self._raw.for_bits if bits is None else bits
        is_exact = self.plain_modulus is not None
        asked = key_request(rotations, conjugation, bootstrapping, tables, gates, is_exact=is_exact)
        steps, _, conjugation, how, looked_up, gates = asked
        return EvaluationKeys(
            self._raw.evaluation_keys(steps, relinearisation, conjugation, how, looked_up, gates)
        )

    def describe_bootstrapping(
        self, bootstrapping: bool | Bootstrapping = True
    ) -> _native.BootstrappingDescription:
        """Tell what a bootstrap would be like, before any key is made: precision, capacity, chance of failure, size.

        `bootstrapping` is what `evaluation_keys` takes.
        """
        how = wanted(bootstrapping)
        if how is None:
            raise ArgumentError("describe_bootstrapping: no bootstrapping is asked for")
        check_for_numbers("describe_bootstrapping", self.plain_modulus is not None, how, None)
        return self._raw.describe_bootstrapping(how)

    def describe_tables(self, tables: bool | str | LookUps = True) -> _native.TablesDescription:
        """Tell what look-ups would be like, before any key is made: the capacity of results, and the chance of failure.

        `tables` is what `evaluation_keys` takes, without bootstrapping.
        """
        how = wanted_tables(tables)
        if how is None:
            raise ArgumentError("describe_tables: no tables are asked for")
        return _native.describe_tables(self._raw, how)

    def second(self, capacity: float) -> Client:
        """Make a client with a second secret key, for what needs no more than `capacity` bits of capacity.

        Of integers that is bits of noise budget.

        Its evaluation keys are a fraction of the size. A server that has them and this client's
        `transfer_key` takes this client's arrays of numbers and of integers; the second client
        decrypts what it computes. Encrypted bits are not taken.
        """
        return Client(self._raw.second(double(capacity, "a capacity")))

    def transfer_key(self, second: Client) -> TransferKey:
        """Make the key with which a server brings this client's arrays to the secret key of `second`."""
        if not isinstance(second, Client):
            raise TypeError(f"a transfer key leads to a Client, not to {type(second).__name__}")
        return TransferKey(self._raw.transfer_key(second._raw))

    def public_key(self) -> PublicKey:
        """Make a key with which others encrypt for this client."""
        return PublicKey(self._raw.public_key())

    # Files

    def to_bytes(self) -> bytes:
        """Return what `save` writes: the secret key, in the clear."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, threads: int = 1) -> Client:
        """Read what `to_bytes` returned, to work on so many threads."""
        return cls(_native.ClientKey.from_bytes(raw_bytes(data), thread_count(threads)))

    def save(self, path: FilePath) -> None:
        """Write the secret key to a new file that only this user may read; a file that exists is left alone."""
        self._raw.save(path_of_secret(path))

    @classmethod
    def load(cls, path: FilePath, *, threads: int = 1) -> Client:
        """Read a file that `save` wrote, to work on so many threads."""
        with reading(path) as name:
            return cls(_native.ClientKey.load(name, thread_count(threads)))

    @contextmanager
    def allow_pickle(self) -> Iterator[Client]:
        """Let this client be pickled, secret key and all, within a ``with`` block, in this thread or task only.

        What pickles in threads of its own, as queues of processes and Dask do, is given
        ``pickle.dumps(client)``.
        """
        token = _may_pickle.set(_may_pickle.get() | {self})
        try:
            yield self
        finally:
            _may_pickle.reset(token)

    def __reduce__(self) -> tuple[object, ...]:
        if self not in _may_pickle.get():
            raise SecretPickleError(
                "a client holds the secret key and pickles only when asked to: use `with client.allow_pickle():`"
            )
        return Client.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        exact = (
            ""
            if self.plain_modulus is None
            else f", scheme={self.scheme!r}, plain_modulus={self.plain_modulus}"
        )
        return f"Client(preset={self.preset!r}, fingerprint={self.fingerprint!r}{exact})"
