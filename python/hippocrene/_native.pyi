"""The extension module, on which the classes of this package are based."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from os import PathLike
from typing import Final, TypeAlias, TypedDict, final, type_check_only

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

@final
class BigArray:
    """Numbers of any precision, as mantissas and exponents of two, or in decimal notation."""

    def __new__(
        cls, numbers: Sequence[tuple[int, int] | str], shape: Sequence[int]
    ) -> BigArray: ...

_Array: TypeAlias = EncryptedArray
_Path: TypeAlias = str | PathLike[str]
_Interval: TypeAlias = tuple[float, float] | None
# The number of points, the dimension, and the number of clusters.
_Sizes: TypeAlias = tuple[int, int, int]
# A requested bootstrap: the bound, the precision, and the slots.
_Bootstrapping: TypeAlias = tuple[float, float | None, int | None]
# The name of tables, and the capacity of results.
_Tables: TypeAlias = tuple[str, float | None]
_Plain: TypeAlias = (
    npt.NDArray[np.int64] | npt.NDArray[np.float64] | npt.NDArray[np.complex128] | BigArray
)
_Matrix: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]
_KeyRequest: TypeAlias = tuple[
    list[int] | None,
    bool,
    bool,
    _Bootstrapping | None,
    _Tables | None,
    bool,
]

# The declared interval of values, and their precision.
_How: TypeAlias = tuple[_Interval, float | None]

@type_check_only
class _Application(TypedDict):
    domain: _Interval
    error: float | None
    breaks: Sequence[float] | None
    gap: float | None
    look_ups: int | None
    precise: bool

# Limits on loaded files: bytes, memory, work, names of kinds, names of presets.
_Limits: TypeAlias = tuple[
    int | None, int | None, int | None, Sequence[str] | None, Sequence[str] | None
]

__version__: str
limits: ContextVar[tuple[Limit, ...]]

def set_cache_budget(limit: int) -> None: ...
def cache_budget() -> tuple[int, int]: ...

# The methods of all classes that are saved to files.
@type_check_only
class _Stored:
    def to_bytes(self) -> bytes: ...
    def save(self, path: _Path) -> None: ...

@type_check_only
class _Read(_Stored):
    @classmethod
    def from_bytes(cls, data: bytes) -> Self: ...
    @classmethod
    def load(cls, path: _Path) -> Self: ...

@type_check_only
class _ReadOnThreads(_Stored):
    @classmethod
    def from_bytes(cls, data: bytes, threads: int) -> Self: ...
    @classmethod
    def load(cls, path: _Path, threads: int) -> Self: ...

@final
class Limit:
    """A deadline or a cancel token."""

    @staticmethod
    def after(seconds: float) -> Limit: ...
    @staticmethod
    def token() -> Limit: ...
    def cancel(self) -> None: ...
    reached: Final[bool]

@final
class Preset:
    """A named parameter set."""

    name: Final[str]
    ring_degree: Final[int]
    slots: Final[int]
    log2_pq: Final[float]
    usable_bits: Final[float]

@final
class BootstrappingDescription:
    """The properties of a bootstrap."""

    bound: Final[float]
    precision: Final[float]
    slots: Final[int]
    iterations: Final[int]
    capacity_needed: Final[float]
    capacity_after: Final[float]
    log2_failure_probability: Final[float | None]
    key_bytes: Final[int]

@final
class TablesDescription:
    """The properties of look-ups."""

    tables: Final[str]
    capacity: Final[float]
    slots: Final[int]
    log2_failure_probability: Final[float]

def approximate(
    function: Callable[[float], float],
    domain: tuple[float, float],
    degree: int | None,
    error: float,
    derivative: tuple[int, float] | None,
) -> tuple[list[float], float]: ...
def simulate_clustering(
    preset: str,
    tables: str | None,
    sizes: _Sizes,
    points: Sequence[float],
    start: Sequence[float],
    iterations: int,
    new: Sequence[float] | None,
) -> tuple[tuple[list[float], list[int] | None] | None, SimulationReport]: ...
def plain_modulus_from(preset: str, least: int) -> int: ...
def presets() -> list[Preset]: ...
def error_kinds() -> list[str]: ...
def check_limits(wanted: _Limits) -> None: ...
def inspect_bytes(data: bytes) -> str: ...
def inspect_file(path: _Path) -> str: ...
def write_file(path: _Path, data: bytes) -> None: ...
def run_command(arguments: Sequence[str], closed: bool) -> int: ...

@final
class ClientKey(_ReadOnThreads):
    @staticmethod
    def generate(
        preset: str,
        precision: float | None,
        scheme: str | None,
        plain_modulus: int | None,
        threads: int,
    ) -> ClientKey: ...
    preset: Final[str | None]
    fingerprint: Final[str]
    precision: Final[float]
    slots: Final[int]
    scheme: Final[str]
    ring_degree: Final[int]
    plain_modulus: Final[int | None]
    for_bits: Final[bool]
    def encrypt_bits(self, values: npt.NDArray[np.bool_]) -> _Array: ...
    def encrypt(self, values: _Plain, how: _How) -> _Array: ...
    def decrypt(
        self, array: _Array
    ) -> (
        npt.NDArray[np.int64]
        | npt.NDArray[np.float64]
        | npt.NDArray[np.complex128]
        | npt.NDArray[np.bool_]
    ): ...
    def decrypt_integers(self, array: _Array, signed: bool) -> npt.NDArray[np.int64]: ...
    def noise_budget(self, array: _Array) -> float: ...
    def decrypt_exact(self, array: _Array) -> list[tuple[int, int]]: ...
    def decrypt_for_sharing(self, array: _Array, bits: int | None) -> npt.NDArray[np.float64]: ...
    def public_key(self) -> PublicKey: ...
    def evaluation_keys(self, request: _KeyRequest) -> EvaluationKeys: ...
    def describe_bootstrapping(self, bootstrapping: _Bootstrapping) -> BootstrappingDescription: ...
    def describe_tables(self, tables: _Tables) -> TablesDescription: ...
    def clustering_keys(self, tables: str | None, sizes: _Sizes) -> EvaluationKeys: ...
    def nearest_deviation(self, tables: str | None, sizes: _Sizes) -> float: ...
    def second(self, capacity: float) -> ClientKey: ...
    def transfer_key(self, second: ClientKey) -> TransferKey: ...

@final
class KeysDescription:
    """The purpose and the contents of evaluation keys."""

    scheme: Final[str]
    plain_modulus: Final[int | None]
    preset: Final[str | None]
    ring_degree: Final[int]
    precision: Final[float]
    rotations: Final[list[int] | None]
    conjugation: Final[bool]
    bootstrapping: Final[bool]
    tables: Final[str | None]
    log2_failure_probability: Final[float | None]
    bits: Final[bool]

@final
class Simulation:
    def __new__(
        cls,
        preset: str,
        precision: float | None,
        scheme: str | None,
        plain_modulus: int | None,
        bootstrapping: _Bootstrapping | None,
        look_ups: _Tables | None,
        bits: bool,
    ) -> Simulation: ...
    @staticmethod
    def limited(
        preset: str,
        precision: float | None,
        scheme: str | None,
        plain_modulus: int | None,
        request: _KeyRequest,
    ) -> Simulation: ...
    @staticmethod
    def limited_to(keys: EvaluationKeys) -> Simulation: ...
    def unlimited(self, bootstrapping: bool, tables: bool) -> Simulation: ...
    def lacks(self, request: _KeyRequest) -> list[str]: ...
    def use_reference_prices(self) -> None: ...
    def server(self) -> Server: ...
    def describe(self) -> KeysDescription: ...
    def encrypt_bits(self, values: npt.NDArray[np.bool_]) -> _Array: ...
    plain_modulus: Final[int | None]
    for_bits: Final[bool]
    def encrypt(self, values: _Plain, how: _How) -> _Array: ...
    def values(
        self, array: _Array
    ) -> npt.NDArray[np.float64] | npt.NDArray[np.complex128] | npt.NDArray[np.bool_] | None: ...
    def restart(self) -> None: ...
    def report(self) -> SimulationReport: ...

@final
class Recorder:
    def __new__(
        cls,
        preset: str,
        precision: float | None,
        scheme: str | None,
        plain_modulus: int | None,
        bootstrapping: _Bootstrapping | None,
        bits: bool,
        margin: float | None,
        extra_function_bits: float,
        few_rotations: bool,
    ) -> Recorder: ...
    def server(self) -> Server: ...
    def describe(self) -> KeysDescription: ...
    def input(
        self,
        name: str,
        kind: str,
        shape: Sequence[int],
        interval: _Interval,
        sample: npt.NDArray[np.float64] | None,
        is_parameter: bool,
    ) -> _Array: ...
    def finish(
        self,
        outputs: Sequence[_Array],
        single: bool,
        names: Sequence[str] | None,
        notes: tuple[str, str],
        planned: bool,
    ) -> Program: ...

@final
class Interface(_Read):
    def describe(self) -> str: ...
    def noted_input(self, fresh: _Array) -> _Array: ...
    def check_result(self, array: _Array) -> None: ...
    def generate_client(self, threads: int) -> ClientKey: ...
    def evaluation_keys(self, client: ClientKey) -> EvaluationKeys: ...

@final
class Program(_Read):
    def describe(self, at_reference: bool) -> str: ...
    def interface(self) -> Interface: ...
    def simulation(self) -> Simulation: ...
    def run(
        self,
        server: Server,
        inputs: Sequence[_Array],
        progress: Callable[[int], object] | None,
    ) -> list[_Array]: ...
    def check_inputs(self, server: Server, inputs: Sequence[_Array]) -> None: ...
    def part(self, steps: Sequence[int]) -> tuple[list[int], list[int]]: ...
    def run_part(
        self, server: Server, steps: Sequence[int], inputs: Sequence[_Array]
    ) -> list[_Array]: ...

@final
class SimulationReport:
    seconds: Final[float]
    first_seconds: Final[float]
    operations: Final[list[tuple[str, int, float]]]
    peak_memory: Final[int]
    key_bytes: Final[int]
    bootstraps: Final[int]
    log2_failure_probability: Final[float | None]
    bootstrapping: Final[_Bootstrapping | None]
    look_ups: Final[_Tables | None]
    bits: Final[bool]
    rotations: Final[list[tuple[int, float]]]
    conjugation: Final[bool]
    relinearisation: Final[bool]

@final
class PublicKey(_ReadOnThreads):
    preset: Final[str | None]
    scheme: Final[str]
    ring_degree: Final[int]
    fingerprint: Final[str]
    plain_modulus: Final[int | None]
    for_bits: Final[bool]
    def encrypt_bits(self, values: npt.NDArray[np.bool_]) -> _Array: ...
    def encrypt(self, values: _Plain, how: _How) -> _Array: ...

@final
class TrivialEncryption:
    plain_modulus: Final[int | None]
    def encrypt(self, values: _Plain, how: _How) -> _Array: ...

@final
class EvaluationKeys(_Stored):
    @staticmethod
    def from_bytes(data: bytes, threads: int, limits: _Limits | None) -> EvaluationKeys: ...
    @staticmethod
    def load(path: _Path, threads: int, limits: _Limits | None) -> EvaluationKeys: ...
    def describe(self) -> KeysDescription: ...
    def lacks(self, request: _KeyRequest) -> list[str]: ...
    fingerprint: Final[str]

@final
class TransferKey(_ReadOnThreads):
    fingerprint: Final[str]
    second: Final[str]

@final
class EncryptedArray(_Stored):
    @staticmethod
    def from_bytes(data: bytes, limits: _Limits | None = None) -> _Array: ...
    @staticmethod
    def load(path: _Path, limits: _Limits | None = None) -> _Array: ...
    def check(self, limits: _Limits | None) -> None: ...
    value: Final[int | None]
    shape: Final[tuple[int, ...]]
    holds: Final[str]
    is_complex: Final[bool]
    fingerprint: Final[str]
    preset: Final[str | None]
    memory: Final[int | None]
    bit_error: Final[float | None]
    has_strays: Final[bool]
    bound: Final[float | None]
    interval: Final[_Interval]
    precision: Final[float | None]
    layout: Final[tuple[list[int], int] | None]
    precision_bits: Final[float | None]
    capacity_bits: Final[float | None]
    plain_modulus: Final[int | None]
    budget_bits: Final[float | None]

@final
class Server:
    loop_reserve: Final[float | None]
    def trivial_encryption(self) -> TrivialEncryption: ...
    def slot_period(self, array: _Array) -> tuple[int, bool] | None: ...
    def with_slot_period(self, array: _Array, period: int, has_zeros: bool) -> _Array: ...
    def enter_loop(self, state: Sequence[_Array]) -> list[_Array]: ...
    def repeat(
        self,
        state: Sequence[_Array],
        entered: Sequence[_Array],
        results: Sequence[_Array],
        times: int,
    ) -> list[_Array]: ...
    def __new__(cls, keys: EvaluationKeys, threads: int) -> Server: ...
    fingerprint: Final[str]
    def set_key_memory(self, limit: int) -> None: ...
    def set_cache_memory(self, limit: int) -> None: ...
    memory: Final[tuple[int, int, int, int, int]]
    cache_memory: Final[tuple[int, int]]
    key_memory: Final[tuple[int, int]]
    def with_transfer(self, key: TransferKey) -> Server: ...
    transfers: Final[str | None]
    def transfer(self, array: _Array) -> _Array: ...
    def sum_of_products(self, pairs: Sequence[tuple[_Array, _Array]]) -> _Array: ...
    def with_scheme(
        self, description: KeysDescription, scheme: str
    ) -> tuple[Server, KeysDescription]: ...
    look_ups_done: Final[int]
    def bootstrap(self, array: _Array, capacity: float | None) -> _Array: ...
    def quantile(self, array: _Array, shares: Sequence[float], axis: int | None) -> _Array: ...
    def times_i(self, array: _Array) -> _Array: ...
    def real(self, array: _Array) -> _Array: ...
    def imag(self, array: _Array) -> _Array: ...
    def convolve_plain(self, array: _Array, kernel: _Matrix, first: int, length: int) -> _Array: ...
    def linear_combinations(
        self,
        array: _Array,
        entries: tuple[npt.NDArray[np.int64], _Matrix],
        axes: int,
        most: int | None,
        strides: Sequence[int] | None,
    ) -> _Array | None: ...
    def pick(
        self, array: _Array, shape: Sequence[int], places: npt.NDArray[np.int64]
    ) -> tuple[_Array | None, int]: ...
    def as_deviations(self, array: _Array, bound: float) -> _Array: ...
    def as_variances(self, array: _Array, values: _Array, factor: float) -> _Array: ...
    def broadcast_like(self, array: _Array, other: _Array, factor: float) -> _Array: ...
    def cumsum(self, array: _Array, axis: int) -> _Array: ...
    def mul_exact_number(self, array: _Array, number: BigArray) -> _Array: ...
    def div_number(self, array: _Array, divisor: float) -> _Array: ...
    def needs_digits(self, array: _Array, size: float) -> bool: ...
    bootstraps: Final[int]
    def gates(self, names: Sequence[str], arrays: Sequence[_Array]) -> list[_Array]: ...
    def gate_plain(self, name: str, array: _Array, bits: npt.NDArray[np.bool_]) -> _Array: ...
    def complement(self, array: _Array) -> _Array: ...
    def with_precision(self, bits: float) -> Server: ...
    def with_distance(self, distance: float) -> Server: ...
    def finishing(self) -> Server: ...
    has_own_precision: Final[bool]
    def array_with_precision(self, array: _Array, bits: float) -> _Array: ...
    def load(self, array: _Array) -> _Array: ...
    def with_interval(self, array: _Array, low: float, high: float) -> _Array: ...
    def with_precision_bits(self, array: _Array, bits: float) -> _Array: ...
    def dry_run(self, array: _Array) -> tuple[Server, _Array]: ...
    def add(self, left: _Array, right: _Array) -> _Array: ...
    def sub(self, left: _Array, right: _Array) -> _Array: ...
    def mul(self, left: _Array, right: _Array) -> _Array: ...
    def add_plain(self, array: _Array, values: _Plain) -> _Array: ...
    def mul_plain(self, array: _Array, values: _Plain) -> _Array: ...
    def add_number(self, array: _Array, number: float) -> _Array: ...
    def mul_number(self, array: _Array, number: float) -> _Array: ...
    def negate(self, array: _Array) -> _Array: ...
    def pow(self, array: _Array, exponent: int) -> _Array: ...
    def conjugate(self, array: _Array) -> _Array: ...
    def dot(self, left: _Array, right: _Array) -> _Array: ...
    def dot_plain(self, array: _Array, vector: _Matrix) -> _Array: ...
    def matmul_plain(self, array: _Array, matrix: _Matrix) -> _Array: ...
    def rmatmul_plain(self, matrix: _Matrix, array: _Array) -> _Array: ...
    def sum(self, array: _Array, axis: int | None) -> _Array: ...
    def roll(self, array: _Array, shift: int, axis: int | None) -> _Array: ...
    def transpose(self, array: _Array) -> _Array: ...
    def packed(self, array: _Array) -> _Array: ...
    def gather(
        self, arrays: Sequence[_Array], shape: Sequence[int], sources: npt.NDArray[np.int64]
    ) -> _Array: ...
    def insert_axis(self, array: _Array, axis: int) -> _Array: ...
    def broadcast_to(self, array: _Array, shape: Sequence[int]) -> _Array: ...
    def polynomial(
        self,
        array: _Array,
        coefficients: Sequence[float] | npt.NDArray[np.float64],
        interval: _Interval,
    ) -> _Array: ...
    def integer_polynomial(
        self, array: _Array, coefficients: Sequence[int] | npt.NDArray[np.int64]
    ) -> _Array: ...
    def table(self, array: _Array, table: Sequence[int] | npt.NDArray[np.int64]) -> _Array: ...
    def entries(
        self,
        array: _Array,
        table: Sequence[float] | npt.NDArray[np.float64],
        precision: float | None,
    ) -> _Array: ...
    def is_zero(self, array: _Array) -> _Array: ...
    def apply(
        self, array: _Array, function: Callable[[float], float], how: _Application
    ) -> _Array: ...
    def apply_function(self, array: _Array, name: str, how: _Application) -> _Array: ...
    def near_zero(self, array: _Array, within: float) -> _Array: ...
    def in_order(self, operation: str, array: _Array, axis: int | None) -> _Array: ...
    def top_k(self, array: _Array, k: int, axis: int | None) -> _Array: ...
    def max_pool(self, array: _Array, size: int) -> _Array: ...
    def of_sign(
        self,
        operation: str,
        array: _Array,
        gap: float | None,
        precision: float | None,
        at_ties: float,
    ) -> _Array: ...
    def of_difference(
        self,
        operation: str,
        left: _Array,
        right: _Array,
        gap: float | None,
        precision: float | None,
        at_ties: float,
    ) -> _Array: ...

@final
class Clusters(_Stored):
    """Encrypted centroids and labels, with or without the points."""

    @staticmethod
    def from_bytes(data: bytes) -> Clusters: ...
    @staticmethod
    def load(path: _Path) -> Clusters: ...
    sizes: Final[_Sizes]
    iteration: Final[int]
    has_points: Final[bool]
    origin: Final[tuple[str, str | None] | None]
    @staticmethod
    def encrypt(
        client: ClientKey,
        tables: str | None,
        sizes: _Sizes,
        points: Sequence[float],
        start: Sequence[float],
    ) -> Clusters: ...
    def encrypt_new(
        self, client: ClientKey, tables: str | None, points: Sequence[float]
    ) -> Clusters: ...
    def decrypt(self, client: ClientKey) -> tuple[list[float], list[int] | None]: ...
    def assign_new(self, server: Server, points: Clusters) -> Clusters: ...
    def cluster(self, server: Server, clusters: Clusters) -> tuple[Clusters, list[float]]: ...
    def blocks(self, server: Server) -> list[bytes]: ...
    def assign_block(
        self, server: Server, points: bytes, block: int
    ) -> tuple[bytes, list[float]]: ...
    def update(
        self, server: Server, assigned: Sequence[bytes], clusters: Clusters
    ) -> tuple[Clusters, list[float]]: ...
    def start(self, server: Server, chosen: Sequence[int]) -> Clusters: ...
    def as_origin(self, server: Server, chosen: Sequence[int] | None) -> tuple[str, str | None]: ...

_Nodes: TypeAlias = tuple[
    Sequence[int],
    Sequence[float],
    Sequence[int],
    Sequence[int],
    Sequence[int],
    Sequence[Sequence[float]],
]

def feature_knots(features: int, rows: Sequence[float]) -> list[list[float]]: ...
def feature_shares(knots: Sequence[float], values: Sequence[float]) -> list[float]: ...

@final
class TreeInterface:
    def __new__(
        cls, tables: str, knots: Sequence[Sequence[float]], meaning: str
    ) -> TreeInterface: ...
    digest: Final[str]
    digits: Final[int]
    margin: Final[float]
    def resolution(self, digits: int) -> float: ...

@final
class TreeModel:
    def __new__(
        cls,
        interface: TreeInterface,
        trees: Sequence[_Nodes],
        deviation: float | None,
        firm: bool,
        clamp: bool,
    ) -> TreeModel: ...
    def simulate(
        self, rows: Sequence[float]
    ) -> tuple[float, list[tuple[str, int, float]], tuple[int, int, int, int], list[float]]: ...
    look_ups: Final[tuple[int, int]]
    deviation: Final[float]
    log2_failure_probability: Final[float]

@final
class TreeClient(_Read):
    @staticmethod
    def generate(tables: str) -> TreeClient: ...
    tables: Final[str]
    fingerprint: Final[str]
    def evaluation_keys(self) -> TreeKeys: ...
    def encrypt(self, interface: TreeInterface, rows: Sequence[float]) -> TreeQuery: ...
    def decrypt(self, interface: TreeInterface, reply: TreeReply) -> list[float]: ...

@final
class TreeKeys(_Read):
    tables: Final[str]
    fingerprint: Final[str]

@final
class TreeQuery(_Read):
    shape: Final[tuple[int, int]]
    interface: Final[str]

@final
class TreeReply(_Read):
    shape: Final[tuple[int, int]]
    interface: Final[str]

@final
class TreeServer:
    def __new__(cls, keys: TreeKeys, threads: int) -> TreeServer: ...
    tables: Final[str]
    def evaluate(
        self, model: TreeModel, query: TreeQuery, progress: Callable[[int], object]
    ) -> TreeReply: ...

@final
class GateClient(_Read):
    @staticmethod
    def generate() -> GateClient: ...
    fingerprint: Final[str]
    def evaluation_keys(self, threads: int) -> GateKeys: ...
    def encrypt(self, values: npt.NDArray[np.bool_]) -> _Array: ...
    def decrypt(self, array: _Array) -> npt.NDArray[np.bool_]: ...

@final
class GateKeys(_Read):
    fingerprint: Final[str]

@final
class GateServer:
    def __new__(cls, keys: GateKeys, threads: int) -> GateServer: ...
    fingerprint: Final[str]
    key_memory: Final[int]
    rotations: Final[int]
    def gates(self, names: Sequence[str], arrays: Sequence[_Array]) -> list[_Array]: ...
    def gate_plain(self, name: str, array: _Array, bits: npt.NDArray[np.bool_]) -> _Array: ...
    def complement(self, array: _Array) -> _Array: ...
    def select(self, condition: _Array, a: _Array, b: _Array) -> _Array: ...
    def gather(
        self, arrays: Sequence[_Array], shape: Sequence[int], sources: npt.NDArray[np.int64]
    ) -> _Array: ...
    def packed(self, array: _Array) -> _Array: ...
