"""The server: it computes on what it cannot read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from os import PathLike
from threading import TIMEOUT_MAX
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NoReturn, cast

from hippocrene import _native
from hippocrene.array import EncryptedArray
from hippocrene.bits import gates_of
from hippocrene.described import Described, check_made_alike
from hippocrene.errors import ArgumentError, KeyMismatchError, MissingKeyError
from hippocrene.limits import Limits, native_limits
from hippocrene.picked import Picked
from hippocrene.progress import counted
from hippocrene.scalars import double, double_or_none, text, thread_count, whole
from hippocrene.trace import note
from hippocrene.values import FilePath, file_path, raw_bytes, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from hippocrene.simulation import Simulation


# What to do where keys are missing.
HOW_TO_MAKE_THEM = "The client makes them with evaluation_keys(for_=simulation)."


def listed(names: list[str]) -> str:
    """Return names as a list in words."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def array_of(
    source: EncryptedArray | bytes | bytearray | memoryview | str | PathLike[str],
    limits: Limits | None = None,
) -> EncryptedArray:
    """Return an array, or read one from a file or from bytes, within limits."""
    within = native_limits(limits, "load")
    if isinstance(source, EncryptedArray):
        if source._picked is None:
            source._raw.check(within)
        return source
    if isinstance(source, (str, PathLike)):
        with reading(source) as name:
            raw = _native.EncryptedArray.load(name, within)
            raw.check(within)
        return EncryptedArray(raw)
    raw = _native.EncryptedArray.from_bytes(raw_bytes(source), within)
    raw.check(within)
    return EncryptedArray(raw)


class EvaluationKeys(Described):
    """What a server needs to compute. There is no secret in it.

    `fingerprint`, `scheme`, `preset`, `rotations` and the like say whom they are from, and what
    they can do.
    """

    __slots__ = ("__weakref__", "_raw")

    def __init__(self, raw: _native.EvaluationKeys) -> None:
        """Wrap what the extension module made; `Client.evaluation_keys` is the way in."""
        if not isinstance(raw, _native.EvaluationKeys):
            raise TypeError(
                "evaluation keys are made by Client.evaluation_keys, EvaluationKeys.load and .from_bytes"
            )
        self._raw = raw
        self._description = raw.describe()

    @property
    def fingerprint(self) -> str:
        """Which secret key these belong to."""
        return self._raw.fingerprint

    def suffice(self, simulation: Simulation) -> Literal[True]:
        """Return True if these keys are enough for a simulated program, and raise an error otherwise.

        The `MissingKeyError` names all keys that are missing. A rotation that other keys compose is
        not missing; the program takes longer with it than was predicted, as ``simulate(...,
        keys=keys)`` says. Keys for tables must have the same name and at least the capacity, and
        those for bootstrapping must have been made for no less. A simulation of another preset,
        scheme or plain modulus is an `ArgumentError`.
        """
        if not hasattr(simulation, "_requested"):
            raise TypeError(
                f"keys suffice for what simulate returned, not for {type(simulation).__name__}"
            )
        check_made_alike(self, simulation, "suffice", "these keys")
        if missing := self._raw.lacks(simulation._requested()):
            raise MissingKeyError(f"suffice: these keys lack {listed(missing)}. {HOW_TO_MAKE_THEM}")
        return True

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, *, accept: Limits | None = None
    ) -> EvaluationKeys:
        """Read what `to_bytes` returned, within the limits `accept`."""
        within = native_limits(accept, "EvaluationKeys.from_bytes")
        return cls(_native.EvaluationKeys.from_bytes(raw_bytes(data), 1, within))

    def save(self, path: FilePath) -> None:
        """Write the keys to a file."""
        self._raw.save(file_path(path))

    @classmethod
    def load(cls, path: FilePath, *, accept: Limits | None = None) -> EvaluationKeys:
        """Read a file that `save` wrote, within the limits `accept`."""
        within = native_limits(accept, "EvaluationKeys.load")
        with reading(path) as name:
            return cls(_native.EvaluationKeys.load(name, 1, within))

    def __reduce__(self) -> tuple[object, ...]:
        return EvaluationKeys.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        tables = self._looks_up()
        told = f"preset={self.preset!r}, scheme={self.scheme!r}, fingerprint={self.fingerprint!r}"
        return f"EvaluationKeys({told}{tables})"


class TransferKey:
    """What brings arrays of one client to a second: see `Client.second`. There is no secret in it."""

    __slots__ = ("_raw",)

    def __init__(self, raw: _native.TransferKey) -> None:
        """Wrap what the extension module made; `Client.transfer_key` is the way in."""
        if not isinstance(raw, _native.TransferKey):
            raise TypeError(
                "transfer keys are made by Client.transfer_key, TransferKey.load and .from_bytes"
            )
        self._raw = raw

    @property
    def fingerprint(self) -> str:
        """Which secret key the arrays belong to that this is for."""
        return self._raw.fingerprint

    @property
    def second(self) -> str:
        """Which secret key it leads to."""
        return self._raw.second

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return self._raw.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> TransferKey:
        """Read what `to_bytes` returned."""
        return cls(_native.TransferKey.from_bytes(raw_bytes(data), 1))

    def save(self, path: FilePath) -> None:
        """Write the key to a file."""
        self._raw.save(file_path(path))

    @classmethod
    def load(cls, path: FilePath) -> TransferKey:
        """Read a file that `save` wrote."""
        with reading(path) as name:
            return cls(_native.TransferKey.load(name, 1))

    def __reduce__(self) -> tuple[object, ...]:
        return TransferKey.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"TransferKey(fingerprint={self.fingerprint!r}, second={self.second!r})"


@dataclass(frozen=True)
class ServerMemory:
    """Bytes of memory that a server takes by itself.

    - `keys`: the evaluation keys, without those of look-up tables.
    - `tables`: the keys of look-up tables.
    - `derived_keys`: keys derived from the others to compute faster. They are part of the budget of
      all caches.
    - `caches`: what is kept of arrays and matrices. They are part of that budget too.
    - `scratch`: memory that operations worked in, and that of arrays that are gone, kept for the
      next.
    """

    keys: int
    tables: int
    derived_keys: int
    caches: int
    scratch: int

    @property
    def total(self) -> int:
        """The sum of all."""
        return self.keys + self.tables + self.derived_keys + self.caches + self.scratch


def set_cache_budget(limit: int) -> None:
    """Set how many bytes the caches of all servers of this process may take together: 2 GiB where nothing is said.

    Caches hold keys derived from others, whole ciphertexts of fresh arrays and encoded matrices.
    When they are full, those that were not used for the longest time make room, whichever server
    they belong to. Results do not depend on it. A server's own `key_memory` and `cache_memory` hold
    within it.
    """
    _native.set_cache_budget(whole(limit, "set_cache_budget: limit", 0, 2**63 - 1))


def cache_budget() -> tuple[int, int]:
    """Return how many bytes the caches of all servers take together, and how many they may."""
    return _native.cache_budget()


# What computes for servers in this context, with a precision of its own or at the end of a program.
_in_place: ContextVar[Mapping[Server, _native.Server]] = ContextVar(
    "_in_place", default=MappingProxyType({})
)
# The server of the simulation that this is a part of.
_simulated: ContextVar[Server | None] = ContextVar("_simulated", default=None)


class Server(Described):
    """Evaluation keys made ready for computing: `load` takes a client's arrays, which then compute here.

    `fingerprint` says whose arrays it takes, and `scheme`, `preset`, `rotations` and the like what
    it can do.
    """

    __slots__ = ("__weakref__", "_is_simulated", "_own")

    def __init__(
        self,
        keys: EvaluationKeys,
        *,
        threads: int = 1,
        key_memory: int | None = None,
        cache_memory: int | None = None,
        transfer: TransferKey | None = None,
    ) -> None:
        """Make `keys` ready, to compute on `threads` threads, 1 to 1024. That takes memory of about their size.

        `key_memory` is how many bytes, beside the keys, may go to what is derived from them to
        compute faster: 1 GiB where nothing is said. `cache_memory` is how many may go to what is
        kept of arrays and matrices, to compute faster with those that come again: whole ciphertexts
        of fresh arrays, half of each of which was a seed, and encoded matrices; 1 GiB too. All
        servers of the process share one budget for both (`set_cache_budget`). Results do not depend
        on them.

        With a key of `transfer` the server takes arrays of another client too: `load` brings them
        to this one's key.

        Numbers that are out of range are an `ArgumentError`, more threads than there can be a
        `MachineError`, and a transfer key that leads to another key than `keys` are of a
        `KeyMismatchError`.
        """
        if not isinstance(keys, EvaluationKeys):
            raise TypeError(f"a server computes with EvaluationKeys, not {type(keys).__name__}")
        if not isinstance(transfer, TransferKey | None):
            raise TypeError(f"a server transfers with a TransferKey, not {type(transfer).__name__}")
        memory = None if key_memory is None else whole(key_memory, "key_memory", 0, 2**63 - 1)
        cache = None if cache_memory is None else whole(cache_memory, "cache_memory", 0, 2**63 - 1)
        self._own = _native.Server(keys._raw, thread_count(threads))
        self._is_simulated = False
        self._description = keys._description
        if transfer is not None:
            self._own = self._own.with_transfer(transfer._raw)
        if memory is not None:
            self._own.set_key_memory(memory)
        if cache is not None:
            self._own.set_cache_memory(cache)

    @classmethod
    def _of(
        cls, raw: _native.Server, description: _native.KeysDescription, *, is_simulated: bool
    ) -> Server:
        """Return a server of the extension module as one of this class."""
        server = cls.__new__(cls)
        server._own, server._description, server._is_simulated = raw, description, is_simulated
        return server

    @contextmanager
    def _standing_in(self) -> Iterator[None]:
        """Let this simulated server stand in, within a ``with`` block, for any that a program names."""
        token = _simulated.set(self)
        try:
            yield
        finally:
            _simulated.reset(token)

    @property
    def _here(self) -> Server:
        """What computes here: in a program that is simulated no server that it has not made."""
        return self if self._is_simulated else _simulated.get() or self

    @property
    def _raw(self) -> _native.Server:
        """The server of the extension module, with the policy that holds here."""
        return self._for_now or self._here._own

    @property
    def _for_now(self) -> _native.Server | None:
        """What computes by another policy in the ``with`` block that this is in, if it is in one."""
        return _in_place.get().get(self._here)

    @contextmanager
    def _replaced(self, raw: _native.Server) -> Iterator[Server]:
        """Compute with this server of the extension module within a ``with`` block."""
        token = _in_place.set({**_in_place.get(), self._here: raw})
        try:
            yield self
        finally:
            _in_place.reset(token)

    def at_precision(self, bits: float) -> AbstractContextManager[Server]:
        """Compute with another precision, in bits after the binary point, within a ``with`` block.

        It holds for every operation of this server in the block, in this thread or task, whatever
        the precision of the operands is; results keep it.
        """
        return self._replaced(self._raw.with_precision(double(bits, "a precision")))

    def finishing(self) -> AbstractContextManager[Server]:
        """Let results use up all capacity within a ``with`` block: the last operations of a program.

        Elsewhere an operation keeps the capacity that a bootstrap of its result needs, and
        bootstraps its operands first if they have too little for that. In the block no operand is
        bootstrapped for the sake of later operations. It holds in this thread or task.
        """
        return self._replaced(self._raw.finishing())

    def with_scheme(self, scheme: Literal["bgv", "bfv"]) -> Server:
        """Return a server with the same keys that multiplies encrypted integers in the manner of `scheme`.

        Arrays are the same in both, so that nothing is converted, no noise budget is lost, and the
        client decrypts what comes of either: ``server.with_scheme("bfv").load(x)`` is `x` with
        products of BFV. An operation on arrays of both servers is done by that of the first.
        docs/integers.md says when it is worth it.
        """
        here = self._here
        made = _native.with_scheme(here._own, here._description, text(scheme, "a scheme"))
        return Server._of(*made, is_simulated=here._is_simulated)

    def bootstrap(self, array: EncryptedArray, *, capacity: float | None = None) -> EncryptedArray:
        """Give an array capacity again: `capacity` bits at least, or where nothing is said as many as there are.

        Operations that lack capacity do so by themselves, where the evaluation keys were made with
        bootstrapping; this is for who knows a better moment, or how little is needed: the less
        `capacity`, the less time it takes, and an array that is left with less than a bootstrap
        needs is not bootstrapped again. The array must have some capacity left for it;
        `Client.describe_bootstrapping` says how much, and how much it can have after. Each
        `capacity` that is new to a server takes some memory and, the first time, some more time.
        """
        if not isinstance(array, EncryptedArray):
            raise TypeError(f"an EncryptedArray is bootstrapped, not {type(array).__name__}")
        array._need_numbers("bootstrap")
        return self._wrap(
            _native.bootstrap(self._raw, array._raw, double_or_none(capacity, "a capacity"))
        )

    def sum_of_products(
        self, pairs: Iterable[tuple[EncryptedArray, EncryptedArray]]
    ) -> EncryptedArray:
        """Return ``sum(x * y for x, y in pairs)`` for one pair of encrypted arrays or more, all products of one shape.

        Of arrays of one shape they are relinearised once: each product but the first costs hardly
        more than a sum does, and with the scheme ``"bfv"`` about half a product. Numbers that
        differ in precision or in how many products came before, or that can be bootstrapped, are
        multiplied one by one.
        """
        if not isinstance(pairs, Iterable):
            raise TypeError(
                f"sum_of_products takes pairs of EncryptedArrays, not {type(pairs).__name__}"
            )
        both = list(pairs)
        for pair in both:
            several = isinstance(pair, (tuple, list))
            if (
                not several
                or len(pair) != 2
                or not all(isinstance(one, EncryptedArray) for one in pair)
            ):
                have = [type(one).__name__ for one in pair] if several else type(pair).__name__
                raise TypeError(f"sum_of_products takes pairs of EncryptedArrays, not {have}")
        return self._wrap(
            self._raw.sum_of_products([x._raw for x, _ in both], [y._raw for _, y in both])
        )

    def gates(
        self, names: Iterable[str], *arrays: EncryptedArray | npt.ArrayLike
    ) -> list[EncryptedArray]:
        """Return several gates of the same two or three arrays of encrypted bits, or booleans, by one bootstrap.

        Names are ``"and"``, ``"or"``, ``"xor"``, ``"nand"``, ``"nor"``, ``"xnor"`` and, of three
        arrays, ``"majority"``: ``total, carry = server.gates(("xor", "majority"), x, y, carry)`` is
        a full adder.
        """
        return gates_of(self, names, arrays)

    def _selected(
        self, mask: EncryptedArray, ones: EncryptedArray, zeros: EncryptedArray
    ) -> EncryptedArray:
        return zeros ^ (mask & (ones ^ zeros))

    @property
    def bootstraps(self) -> int:
        """How many ciphertexts this server has bootstrapped, asked for or not."""
        return self._raw.bootstraps

    def progress(
        self, total: int | None = None, *, every: float | None = None
    ) -> AbstractContextManager[None]:
        """Show how many values are looked up in tables while the block runs.

        ``with server.progress(): y = x.apply(f)`` shows a bar where rich is installed and there is
        a terminal, and lines elsewhere, one in `every` seconds. `total` is how many there will be,
        which `simulate` says: ``simulate(...).operations["look up"][0]``.
        """
        if total is not None:
            total = whole(total, "progress: total", 0, 2**63 - 1)
        if every is not None:
            every = double(every, "progress: every")
            if not 0 < every <= TIMEOUT_MAX:
                raise ArgumentError(
                    f"progress: every is {every:g}, a positive number of seconds is needed"
                )
        return counted(
            lambda: _native.look_ups_done(self._raw), "tables", "look-ups", total, every=every
        )

    @property
    def key_memory(self) -> tuple[int, int]:
        """How many bytes what is derived from the keys takes, and how many it may."""
        return self._own.key_memory

    @property
    def cache_memory(self) -> tuple[int, int]:
        """How many bytes what is kept of arrays and matrices takes, and how many it may."""
        return self._own.cache_memory

    @property
    def memory(self) -> ServerMemory:
        """How many bytes of memory this server takes by itself; its arrays come on top of it."""
        return ServerMemory(*self._own.memory)

    @property
    def fingerprint(self) -> str:
        """Which secret key this server's keys belong to."""
        return self._raw.fingerprint

    def load(
        self,
        source: EncryptedArray | bytes | bytearray | memoryview | str | PathLike[str],
        *,
        limits: Limits | None = None,
    ) -> EncryptedArray:
        """Make an encrypted array that computes here from a file, from bytes, or from one without a server.

        An array of the key that this server has a transfer key for is brought to its own.

        `limits` are for files and bytes of strangers, which may choose a layout that makes much
        work. An array that this process computed is not limited.
        """
        array = array_of(source, limits)
        if self._here is not self:
            raise ArgumentError(
                "load: within a simulation arrays are the arguments of the program, and no others"
            )
        if array.bit_error is not None and array._holds == "single bits":
            raise ArgumentError(
                "load: an array of encrypted single bits, which a GateServer computes with"
            )
        if array.fingerprint == self._raw.transfers:
            if array.bit_error is not None:
                raise ArgumentError(
                    "load: encrypted bits are not brought to a second key, which takes numbers and integers: bits "
                    "compute with keys of the client that encrypted them"
                )
            return self._wrap(self._raw.transfer(array._raw))
        if array.fingerprint != self.fingerprint:
            raise KeyMismatchError(
                f"load: encrypted under key {array.fingerprint}, but this server's keys are of {self.fingerprint}"
            )
        return self._wrap(self._raw.load(array._raw))

    def _computed(
        self, compute: Callable[..., _native.EncryptedArray], *arrays: EncryptedArray
    ) -> EncryptedArray:
        """Compute element by element; of windows that are alike, with what they are windows of, which is smaller."""
        first, *others = (array._held for array in arrays)
        if isinstance(first, Picked) and all(first.is_alike(held) for held in (first, *others)):
            source = compute(*(cast("Picked", array._held).source for array in arrays))
            return self._wrap(first.of(self._for_now, source))
        return self._wrap(compute(*(array._raw for array in arrays)))

    def _wrap(self, raw: _native.EncryptedArray | Picked) -> EncryptedArray:
        if self._is_simulated:
            note(raw)
        return EncryptedArray(raw, self)

    def _broadcast(
        self, raw: _native.EncryptedArray, shape: tuple[int, ...]
    ) -> _native.EncryptedArray:
        return raw if raw.shape == shape else self._raw.broadcast_to(raw, shape)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Server is neither pickled nor copied: send its EvaluationKeys, and make one of them there"
        )

    def __repr__(self) -> str:
        tables = self._looks_up()
        return f"Server(preset={self.preset!r}, scheme={self.scheme!r}, fingerprint={self.fingerprint!r}{tables})"
