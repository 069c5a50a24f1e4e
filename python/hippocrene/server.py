"""The server, which computes on encrypted arrays and cannot read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from os import PathLike
from threading import TIMEOUT_MAX
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.bits import BitArray, gates_of
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.arrays.view import View
from hippocrene.errors import ArgumentError, KeyMismatchError
from hippocrene.files import FilePath, raw_bytes, reading
from hippocrene.html_tables import table
from hippocrene.keys import Described, EvaluationKeys, TransferKey
from hippocrene.limits import Limits, native_limits
from hippocrene.program import Program
from hippocrene.progress import counted
from hippocrene.stored import Forwarded
from hippocrene.trace import note
from hippocrene.units import size_text
from hippocrene.values.operands import is_plain
from hippocrene.values.scalars import check_type, double, double_or_none, text, thread_count, whole


def array_of(
    source: EncryptedArray | bytes | bytearray | memoryview | str | PathLike[str],
    limits: Limits | None = None,
) -> EncryptedArray:
    """Return an array, or read one from a file or from bytes, and check it against the limits."""
    within = native_limits(limits, "load")
    if isinstance(source, EncryptedArray):
        if source._view is None:
            source._elements().check(within)
        return source
    if isinstance(source, (str, PathLike)):
        with reading(source) as name:
            raw = _native.EncryptedArray.load(name, within)
            raw.check(within)
        return EncryptedArray(raw)
    if is_plain(source) and not isinstance(source, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"load: the source is a file, bytes or an encrypted array, not {type(source).__name__}. Encrypt "
            "plain values first, with client.encrypt(values)."
        )
    data = raw_bytes(cast("bytes | bytearray | memoryview", source))
    raw = _native.EncryptedArray.from_bytes(data, within)
    raw.check(within)
    return EncryptedArray(raw)


@dataclass(frozen=True)
class ServerMemory:
    """The memory that a server uses by itself, in bytes.

    - `keys`: the evaluation keys, without those of look-up tables.
    - `tables`: the keys of look-up tables.
    - `derived_keys`: keys derived from the others to compute faster. They are part of the budget of
      all caches (see `set_cache_budget`).
    - `caches`: cached ciphertexts of arrays and encoded matrices. They are part of that budget too.
    - `scratch`: working memory of operations, and memory of arrays that no longer exist. It is kept
      for reuse.
    """

    keys: int
    tables: int
    derived_keys: int
    caches: int
    scratch: int

    @property
    def total(self) -> int:
        """The sum of all fields."""
        return self.keys + self.tables + self.derived_keys + self.caches + self.scratch


def set_cache_budget(limit: int) -> None:
    """Set how many bytes the caches of all servers of this process may use together.

    The default is 2 GiB. Caches hold derived keys, complete ciphertexts of freshly encrypted
    arrays, and encoded matrices. When they are full, the entries that have been unused for the
    longest time are dropped, whichever server they belong to. With a smaller budget, entries of
    arrays that are in use stay until these arrays are dropped. Results do not depend on the budget.
    The limits `key_memory` and `cache_memory` of each server apply within it.
    """
    _native.set_cache_budget(whole(limit, "set_cache_budget: limit", 0, 2**63 - 1))


def cache_budget() -> tuple[int, int]:
    """Return the number of bytes that all caches use, and the number that they may use."""
    return _native.cache_budget()


# The servers of the extension module that replace others in this context, since `at_precision` or
# `finishing` is in effect.
_in_place: ContextVar[Mapping[Server, _native.Server]] = ContextVar(
    "_in_place", default=MappingProxyType({})
)
# The server of the simulation that is running in this context.
_simulated: ContextVar[Server | None] = ContextVar("_simulated", default=None)


class Server(Described):
    """A server, which computes on encrypted arrays with a client's evaluation keys.

    `load` takes an array of the client, and operations on that array then run here. `fingerprint`
    identifies the client's secret key. `scheme`, `preset`, `rotations` and similar properties
    describe the abilities of the server.
    """

    __slots__ = ("__weakref__", "_description", "_is_simulated", "_own")

    def __init__(
        self,
        keys: EvaluationKeys,
        *,
        threads: int = 1,
        key_memory: int | None = None,
        cache_memory: int | None = None,
        transfer: TransferKey | None = None,
    ) -> None:
        """Prepare `keys` for computing on `threads` threads.

        - `keys`: the evaluation keys. The server uses about as much memory as they have bytes.
        - `threads`: the number of threads, 1 to 1024.
        - `key_memory`: the largest number of bytes, in addition to the keys, for keys derived from
          them to compute faster. The default is 1 GiB.
        - `cache_memory`: the largest number of bytes for cached data of arrays and matrices that
          may be used again. These are encoded matrices and complete ciphertexts of fresh arrays, of
          which half is sent as a seed. The default is 1 GiB.
        - `transfer`: a transfer key. With it, `load` also takes arrays of another client and
          converts them to this server's key.

        All servers of the process share one budget for both caches (see `set_cache_budget`).
        Results do not depend on the caches.

        Numbers out of range raise an `ArgumentError`. More threads than the machine can start raise
        a `MachineError`. A transfer key that leads to another key than that of `keys` raises a
        `KeyMismatchError`.
        """
        if not isinstance(keys, EvaluationKeys):
            raise TypeError(
                f"a server computes with EvaluationKeys, not {type(keys).__name__}. Make them with "
                "client.evaluation_keys(), or read them with EvaluationKeys.load(path) or .from_bytes(data)."
            )
        check_type(transfer, TransferKey | None, "a server transfers with a TransferKey")
        memory = None if key_memory is None else whole(key_memory, "key_memory", 0, 2**63 - 1)
        cache = None if cache_memory is None else whole(cache_memory, "cache_memory", 0, 2**63 - 1)
        self._own = _native.Server(keys._raw, thread_count(threads))
        self._is_simulated = False
        self._description = keys._description
        if transfer is not None:
            if transfer.second != keys.fingerprint:
                raise KeyMismatchError(
                    f"server: the transfer key leads to key {transfer.second}, and the evaluation keys are of "
                    f"{keys.fingerprint}. Pass evaluation keys of the second client."
                )
            self._own = self._own.with_transfer(transfer._raw)
        if memory is not None:
            self._own.set_key_memory(memory)
        if cache is not None:
            self._own.set_cache_memory(cache)

    @classmethod
    def _of(
        cls, raw: _native.Server, description: _native.KeysDescription, *, is_simulated: bool
    ) -> Server:
        """Wrap a server of the extension module."""
        server = cls.__new__(cls)
        server._own, server._description, server._is_simulated = raw, description, is_simulated
        return server

    @contextmanager
    def _standing_in(self) -> Iterator[None]:
        """Let this simulated server replace all servers that a program names, within a block."""
        token = _simulated.set(self)
        try:
            yield
        finally:
            _simulated.reset(token)

    @property
    def _computing_server(self) -> Server:
        """The server that computes here: within a simulation, always the simulated one."""
        return self if self._is_simulated else _simulated.get() or self

    @property
    def _raw(self) -> _native.Server:
        """The server of the extension module, with the policy of the current block."""
        return self._for_now or self._computing_server._own

    @property
    def _for_now(self) -> _native.Server | None:
        """The replacement server of the current ``with`` block, or None outside of one."""
        return _in_place.get().get(self._computing_server)

    @contextmanager
    def _replaced(self, raw: _native.Server) -> Iterator[Server]:
        """Compute with another server of the extension module within a ``with`` block."""
        token = _in_place.set({**_in_place.get(), self._computing_server: raw})
        try:
            yield self
        finally:
            _in_place.reset(token)

    def at_precision(self, bits: float) -> AbstractContextManager[Server]:
        """Compute with another precision, in bits after the binary point, within a ``with`` block.

        It applies to every operation of this server in the block, in this thread or task, whatever
        the precision of the operands is. Results keep this precision.
        """
        return self._replaced(self._raw.with_precision(double(bits, "a precision")))

    def at_distance(self, distance: float) -> AbstractContextManager[Server]:
        """Declare that values are equal or differ by `distance` or more, within a ``with`` block.

        `sort`, `top_k`, `max`, `min`, `median`, `quantile` and `percentile` are faster with it, and
        `argsort`, `argmax` and `argmin` need it, unless the keys have look-up tables. They compare
        all pairs of values, and values that are closer would make results wrong. A smaller distance
        takes more time. It applies to this thread or task.
        """
        return self._replaced(self._raw.with_distance(double(distance, "a distance")))

    def finishing(self) -> AbstractContextManager[Server]:
        """Let results use up all capacity within a ``with`` block.

        Use it for the last operations of a program. Elsewhere, with bootstrapping keys, an
        operation leaves as much capacity as a bootstrap of its result needs. If its operands have
        too little capacity for that, it bootstraps them first. In the block, no operand is
        bootstrapped for the sake of later operations. It applies to this thread or task.
        """
        return self._replaced(self._raw.finishing())

    def with_scheme(self, scheme: Literal["bgv", "bfv"]) -> Server:
        """Return a server with the same keys that multiplies encrypted integers by another scheme.

        Arrays are the same in the schemes ``"bgv"`` and ``"bfv"``. Nothing is converted, no noise
        budget is lost, and the client decrypts results of either. For example,
        ``server.with_scheme("bfv").load(x)`` is `x` with products of BFV. An operation on arrays of
        both servers is computed by the server of the first array. docs/how-to/integers.md explains
        when to use which scheme.
        """
        here = self._computing_server
        made = here._own.with_scheme(here._description, text(scheme, "a scheme"))
        return Server._of(*made, is_simulated=here._is_simulated)

    def run(
        self,
        program: Program,
        *inputs: EncryptedArray,
        parameters: Mapping[str, npt.ArrayLike] | None = None,
        progress: Callable[[int], object] | None = None,
        checkpoint: FilePath | None = None,
        max_memory: int | str | None = None,
    ) -> Any:
        """Run a compiled program on encrypted inputs, and return its results.

        The inputs are arrays that ``client.encrypt(interface, ..)`` made, in the order of the
        program's parameters. The result is an array, a tuple or a dict, as the compiled function
        returned it. The server follows the plan in the program and decides nothing.

        `parameters` are plain values by name, for a program that was compiled with parameters.

        `progress` is called after each step with the number of steps done, for example to show a
        bar. ``len(program.steps)`` is their number. `deadline` and `CancelToken` stop a run.

        `checkpoint` is the name of a file for the values of a long run. They are written after a
        step if the last time was 10 seconds ago. If the run is stopped or the process dies, the same
        call goes on from there. The file holds encrypted values only, and is removed at the end.

        `max_memory`, in bytes or as text such as ``"4 GB"``, refuses programs that are predicted to
        take more memory, with keys and arrays.

        Missing keys raise a `MissingKeyError`, other shapes a `ShapeError`, and arrays with another
        interval or precision an `ArgumentError`, before anything is computed.
        """
        check_type(program, Program, "run: a Program is run, as compile and Program.load return it")
        if progress is not None and not callable(progress):
            raise TypeError(f"run: progress is a function, not {type(progress).__name__}")
        return program._run(self, inputs, parameters, progress, checkpoint, max_memory)

    def bootstrap(self, array: EncryptedArray, *, capacity: float | None = None) -> EncryptedArray:
        """Restore the capacity of an array to at least `capacity` bits.

        The default is the largest possible capacity. If the evaluation keys were made with
        bootstrapping, operations bootstrap by themselves when they lack capacity. Call this if you
        know a better moment, or know how little capacity is needed. A lower `capacity` takes less
        time. An array that is left with less capacity than a bootstrap needs cannot be bootstrapped
        again.

        The array must have some capacity left. `Client.describe_bootstrapping` returns how much
        that is, and how much an array can have afterwards. Each new value of `capacity` uses some
        more memory on the server, and takes longer the first time.
        """
        check_type(array, EncryptedArray, "an EncryptedArray is bootstrapped")
        array._need_numbers("bootstrap")
        return self._wrap(
            self._raw.bootstrap(array._elements(), double_or_none(capacity, "a capacity"))
        )

    def sum_of_products(
        self, pairs: Iterable[tuple[EncryptedArray, EncryptedArray]]
    ) -> EncryptedArray:
        """Return ``sum(x * y for x, y in pairs)`` for at least one pair of encrypted arrays.

        All products must have the same shape. If all arrays have the same shape, the products share
        one relinearisation, which is the costly part of a product. Every product but the first then
        costs little more than a sum. With the scheme ``"bfv"``, it costs about half a product.

        Numbers are multiplied one by one in two cases. Either they differ in precision or in the
        number of earlier multiplications, or the server can bootstrap them.
        """
        check_type(pairs, Iterable, "sum_of_products takes pairs of EncryptedArrays")
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
            self._raw.sum_of_products([(x._elements(), y._elements()) for x, y in both])
        )

    def gates(
        self, names: Iterable[str], *arrays: EncryptedArray | npt.ArrayLike
    ) -> list[BitArray]:
        """Compute several gates of the same two or three arrays of bits with one bootstrap.

        The arrays are encrypted bits or booleans. At least one must be encrypted. The names are
        ``"and"``, ``"or"``, ``"xor"``, ``"nand"``, ``"nor"``, ``"xnor"`` and, for three arrays,
        ``"majority"``. For example, ``total, carry = server.gates(("xor", "majority"), x, y,
        carry)`` is a full adder.
        """
        return gates_of(self, names, arrays)

    bootstraps = Forwarded[int](
        """The number of bootstraps of this server. Two ciphertexts of a real array share one.

        It includes those that operations bootstrapped by themselves.
        """
    )

    def progress(
        self, total: int | None = None, *, every: float | None = None
    ) -> AbstractContextManager[None]:
        """Show the number of look-ups in tables while a ``with`` block runs.

        ``with server.progress(): y = x.apply(f)`` shows a bar if rich is installed and the output
        is a terminal. Otherwise it prints lines, one every `every` seconds. `total` is the expected
        number of look-ups, which `simulate` predicts: ``simulate(...).operations["look up"][0]``.
        """
        if total is not None:
            total = whole(total, "progress: total", 0, 2**63 - 1)
        if every is not None:
            every = double(every, "progress: every")
            if not 0 < every <= TIMEOUT_MAX:
                raise ArgumentError(
                    f"progress: every is {every:g}, a positive number of seconds is needed"
                )
        return counted(lambda: self._raw.look_ups_done, "tables", "look-ups", total, every=every)

    key_memory = Forwarded[tuple[int, int]](
        "The bytes that derived keys use, and the bytes that they may use.", "_own"
    )

    cache_memory = Forwarded[tuple[int, int]](
        "The bytes that caches of arrays and matrices use, and the bytes that they may use.", "_own"
    )

    @property
    def memory(self) -> ServerMemory:
        """The memory that this server uses by itself, in bytes. Its arrays are not included."""
        return ServerMemory(*self._own.memory)

    fingerprint = Forwarded[str](
        "The identifier of the secret key that this server's keys belong to."
    )

    def load(
        self,
        source: EncryptedArray | bytes | bytearray | memoryview | str | PathLike[str],
        *,
        limits: Limits | None = None,
    ) -> EncryptedArray:
        """Return an encrypted array that computes on this server.

        The source is a file, bytes, or an array without a server. If the server has a transfer key,
        an array under the key that it converts from is converted to the server's own key.

        `limits` apply to files and bytes from strangers, who may choose a layout that causes much
        work. An array that this process computed is not limited.
        """
        array = array_of(source, limits)
        if self._computing_server is not self:
            raise ArgumentError(
                "load: within a simulation, the only arrays are the arguments of the program"
            )
        if array._holds == "single bits":
            raise ArgumentError(
                "load: this array holds encrypted single bits. A GateServer computes with it."
            )
        if array.fingerprint == self._raw.transfers:
            if isinstance(array, BitArray):
                raise ArgumentError(
                    "load: encrypted bits cannot be transferred to a second key. Use a server with keys of the client "
                    "that encrypted them."
                )
            return self._wrap(self._raw.transfer(array._elements()))
        if array.fingerprint != self.fingerprint:
            have = f"key {array.fingerprint} (preset {array._held.preset!r})"
            need = f"{self.fingerprint} (preset {self.preset!r})"
            raise KeyMismatchError(
                f"load: encrypted under {have}, but this server's keys are of {need}. Load arrays of "
                "the client that made the evaluation keys, or pass a transfer key to the server."
            )
        return self._wrap(self._raw.load(array._elements()))

    def _wrap(self, raw: _native.EncryptedArray | View) -> EncryptedArray:
        if self._is_simulated:
            note(raw)
        return EncryptedArray(raw, self)

    # Type checkers should not accept every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse the methods of clients, with advice."""
            if name in ("decrypt", "decrypt_for_sharing", "encrypt"):
                raise AttributeError(
                    f"a Server has no {name}, because it has no secret key: use client.{name}"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Server is neither pickled nor copied: send its EvaluationKeys, and make one of them there"
        )

    def _repr_html_(self) -> str:
        """Return the properties as an HTML table, for notebooks."""
        memory = ("memory", f"{size_text(self.memory.total)}, without arrays")
        return table(type(self).__name__, [*self._facts(), memory])

    def __repr__(self) -> str:
        tables = self._looks_up()
        return f"Server(preset={self.preset!r}, scheme={self.scheme!r}, fingerprint={self.fingerprint!r}{tables})"
