"""Simulations, which predict time, memory, keys and errors of a program before any key is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.automatic import Need, candidates, chosen
from hippocrene.client import check_for_numbers, checked_scheme, key_request
from hippocrene.encryption import encrypt
from hippocrene.errors import (
    ArgumentError,
    BudgetError,
    CapacityError,
    HippocreneError,
    KeyMismatchError,
    MissingKeyError,
    ParameterMismatchError,
    named,
)
from hippocrene.keys import EvaluationKeys, listed
from hippocrene.program import Program, encrypted_inputs
from hippocrene.requirements import (
    Bootstrapping,
    LookUps,
    to_native_bootstrapping,
    to_native_tables,
)
from hippocrene.server import Server
from hippocrene.simulation_report import Simulation
from hippocrene.trace import tracing
from hippocrene.values.operands import booleans
from hippocrene.values.scalars import double, double_or_none, text, whole

if TYPE_CHECKING:
    from hippocrene._native import _KeyRequest

# The default preset, the same as in `Client.generate`.
_PRESET = "n14"


def simulate(
    program: Callable[..., Any] | Program,
    *arrays: Any,
    preset: str | None = None,
    precision: float | Literal["auto"] | None = None,
    scheme: Literal["ckks", "bgv", "bfv"] = "ckks",
    plain_modulus: int | None = None,
    interval: tuple[float, float] | None = None,
    bound: float | None = None,
    bootstrapping: bool | Bootstrapping = False,
    tables: bool | str | LookUps = False,
    keys: EvaluationKeys | Mapping[str, Any] | None = None,
    max_memory: int | None = None,
    min_precision: float | None = None,
    parameters: Mapping[str, npt.ArrayLike] | None = None,
) -> Simulation:
    """Run `program` on `arrays` as if they were encrypted, and predict its cost and its errors.

    A **compiled program** runs as it was planned. It already determines everything but its inputs
    and its `parameters`, so it takes no other arguments. Rows of a model may be a DataFrame.
    ``simulate(program, rows).result`` is the decrypted reply: the classes of the rows, for example.
    It is None for integers, whose values are not known. `first_seconds` is the time of a first run.

    All other arguments are for functions.

    `program` is a function of encrypted arrays. It returns one, or a tuple, named tuple, list or
    dict of them, which may be nested. Other objects among the results are passed through. The
    program runs unchanged, with the same code as on encrypted arrays, but on arrays that hold no
    residues. Costs are added up and no key is made. Moduli, precision, and errors such as
    `CapacityError` are those of the real run. If the program names a server, as in
    ``server.at_precision(50)``, the simulated server replaces it.

    - `preset` (default ``"n14"``), `precision`, `scheme` and `plain_modulus` are as for
      `Client.generate`.
    - `interval` and `bound` are as for `Client.encrypt`, for every array.
    - `bootstrapping` is as for `Client.evaluation_keys`. With it, arrays are bootstrapped whenever
      an operation lacks capacity.
    - `tables` is as for `Client.evaluation_keys`. With it, functions can use look-up tables.
    - `keys` limits the simulated server to these keys, so that it makes the same choices as a real
      server with them. It takes `EvaluationKeys`, which also determine the parameters, or a dict of
      arguments of `Client.evaluation_keys`, such as ``{"rotations": [1, 2], "conjugation": True}``.
      If keys are missing, the error names all that the program needs.
    - `max_memory` is for an automatic preset or precision: the limit for keys and arrays in bytes,
      by default ``2**34`` (16 GiB).
    - `min_precision` is for an automatic precision: the lowest precision of a result in bits after
      the binary point, by default 16.

    For programs on bits, the arrays are booleans and the preset is one for bits.
    ``client.evaluation_keys(for_=simulation)`` makes exactly the keys that the program uses.

    ``preset="auto"`` tries several presets and chooses the one that is predicted to be fastest
    within `max_memory`. ``precision="auto"`` finds the lowest precision at which all results have
    `min_precision` bits. The simulation holds both choices as `preset` and `precision`, for
    `Client.generate`. They are based on the times of one reference machine, so that they are the
    same everywhere. If nothing fits, a `ParameterError` names the best failed attempt. If all
    presets fail with the same error, that error is raised.

    The program is called several times with ``"auto"``. It is also called again after a
    `CapacityError`, `BudgetError` or `MissingKeyError`, to find out what would work.
    """
    options = (preset, precision, plain_modulus, interval, bound, keys, max_memory, min_precision)
    if isinstance(program, Program):
        if any(one is not None for one in options) or bootstrapping or tables or scheme != "ckks":
            raise TypeError(
                "simulate: a compiled program already determines preset, precision and keys. Pass only "
                "its inputs and parameters."
            )
        return _of_program(program, arrays, parameters)
    if not callable(program):
        raise TypeError(
            f"a program is a function of encrypted arrays, not {type(program).__name__}"
        )
    if parameters is not None:
        raise TypeError(
            "simulate: parameters are those of a compiled program. Bind arguments of a function with "
            "functools.partial."
        )
    if any(isinstance(array, EncryptedArray) for array in arrays):
        raise TypeError(
            "simulate takes plain arrays, because it encrypts nothing. Pass values like the encrypted ones."
        )
    auto_preset = preset == "auto"
    auto_precision = isinstance(precision, str) and precision == "auto"
    is_auto = auto_preset or auto_precision
    if not is_auto and (max_memory is not None or min_precision is not None):
        raise TypeError('max_memory and min_precision need preset="auto" or precision="auto"')
    if min_precision is not None and not auto_precision:
        raise TypeError('min_precision needs precision="auto"')
    if keys is not None and (bootstrapping or tables or is_auto):
        raise TypeError(
            "keys already determine bootstrapping, tables, preset and precision: pass keys without them"
        )
    if isinstance(keys, EvaluationKeys):
        if not (preset is precision is plain_modulus is None and scheme == "ckks"):
            raise TypeError(
                "evaluation keys already determine preset, precision and scheme: pass keys without them"
            )
    elif keys is not None and not isinstance(keys, Mapping):
        raise TypeError(
            f"keys are EvaluationKeys or a dict of arguments of evaluation_keys, not {type(keys).__name__}"
        )
    known = (
        None if auto_precision else double_or_none(cast("float | None", precision), "a precision")
    )
    name = text(_PRESET if preset is None else preset, "a preset")
    asked = _Asked(
        program,
        arrays,
        name,
        known,
        scheme,
        plain_modulus,
        interval,
        bound,
        bootstrapping,
        tables,
        keys,
    )
    if is_auto:
        most = 2**34 if max_memory is None else whole(max_memory, "max_memory", 1, 2**63 - 1)
        least = 16.0 if min_precision is None else double(min_precision, "min_precision")
        return _automatic(asked, least if auto_precision else None, most)
    try:
        return _run(asked)
    except (BudgetError, CapacityError, MissingKeyError) as error:
        if keys is not None:
            more = _missing(asked, error)
        else:
            more = "" if isinstance(error, MissingKeyError) else _what_fits(asked)
        if not more:
            raise
        raise type(error)(f"{str(error).removesuffix('.')}. {more}") from error


def _automatic(asked: _Asked, min_precision: float | None, max_memory: int) -> Simulation:
    """Choose preset and precision where they are automatic, and run the program with them."""
    if min_precision is not None:
        # Integers have no precision.
        checked_scheme(asked.scheme, asked.plain_modulus, min_precision)
    of_bits = any(booleans(array, "simulate") is not None for array in asked.arrays)
    presets = candidates(of_bits) if asked.preset == "auto" else [asked.preset]

    def run(preset: str, precision: float | None, bootstraps: bool, _extra: float) -> Simulation:
        # Operations that run one by one have no more precise functions, and none are asked for.
        how = asked.bootstrapping if bootstraps else False
        return _run(
            replace(asked, preset=preset, precision=precision, bootstrapping=how), at_reference=True
        )

    need = None
    if min_precision is not None:
        goal, remedy = f"results of {min_precision:g} bits", "Or take a lower min_precision."
        need = Need(min_precision, goal, remedy, in_errors=False)
    bootstraps = bool(asked.bootstrapping)
    best, _ = chosen(
        "simulate", run, presets, asked.precision, need, max_memory, bootstraps=bootstraps
    )
    how = asked.bootstrapping if best.bootstrapping is not None else False
    return _run(replace(asked, preset=best.preset, precision=best.precision, bootstrapping=how))


@dataclass(frozen=True)
class _Asked:
    """The arguments of `simulate`."""

    program: Callable[..., Any]
    arrays: tuple[npt.ArrayLike, ...]
    preset: str
    precision: float | None
    scheme: Literal["ckks", "bgv", "bfv"]
    plain_modulus: int | None
    interval: tuple[float, float] | None
    bound: float | None
    bootstrapping: bool | Bootstrapping
    tables: bool | str | LookUps
    keys: EvaluationKeys | Mapping[str, Any] | None

    def raw(self) -> _native.Simulation:
        """Make the simulated server that these arguments describe."""
        if isinstance(self.keys, EvaluationKeys):
            return _native.Simulation.limited_to(self.keys._raw)
        exact = checked_scheme(self.scheme, self.plain_modulus, self.precision)
        bits = any(booleans(array, "simulate") is not None for array in self.arrays)
        if self.keys is not None:
            request = _requested(self.keys, bits, is_exact=exact[0] is not None)
            return _native.Simulation.limited(self.preset, self.precision, *exact, request)
        how, looked_up = to_native_bootstrapping(self.bootstrapping), to_native_tables(self.tables)
        check_for_numbers("simulate", exact[0] is not None, how, looked_up)
        return _native.Simulation(self.preset, self.precision, *exact, how, looked_up, bits)


def _requested(keys: Mapping[str, Any], bits: bool, *, is_exact: bool) -> _KeyRequest:
    """Convert a dict of keys to the arguments of the extension module."""
    names = ("rotations", "conjugation", "bootstrapping", "tables", "bits")
    if unknown := [name for name in keys if name not in names]:
        raise TypeError(f"keys has the entries {listed(list(names))}, not {unknown[0]!r}")
    rotations, conjugation = keys.get("rotations"), bool(keys.get("conjugation", False))
    bits = bits if keys.get("bits") is None else bool(keys["bits"])
    bootstrapping, tables = keys.get("bootstrapping", False), keys.get("tables", False)
    return key_request(rotations, conjugation, bootstrapping, tables, bits, is_exact=is_exact)


def _run(
    asked: _Asked, *, at_reference: bool = False, raw: _native.Simulation | None = None
) -> Simulation:
    """Run the program once.

    With `at_reference`, times are those of the reference machine. `raw` is a simulated server that
    was made earlier.
    """
    raw = asked.raw() if raw is None else raw
    if at_reference:
        raw.use_reference_prices()
    declared = (asked.interval, asked.bound, None, False)
    encrypted = [encrypt(raw, array, *declared) for array in asked.arrays]
    try:
        return _simulated(raw, encrypted, lambda _, arrays: asked.program(*arrays))
    except (KeyMismatchError, ParameterMismatchError) as mismatch:
        raise type(mismatch)(
            "simulate: a simulated program can only compute with its arguments, and it uses another "
            "encrypted array. Pass the values of that array to simulate too."
        ) from mismatch


def _of_program(
    program: Program, values: tuple[Any, ...], parameters: Mapping[str, npt.ArrayLike] | None
) -> Simulation:
    """Run a compiled program once."""
    raw, interface = program._raw.simulation(), program.interface()
    of_one = partial(encrypt, raw, bound=None, wrap=False)
    with named("simulate", "encrypt"):
        encrypted = encrypted_inputs(interface, values, of_one)
    arrays = encrypted if isinstance(encrypted, tuple) else (encrypted,)

    def run(server: Server, arrays: tuple[EncryptedArray, ...]) -> Any:
        try:
            with named("simulate", "run", "declare an interval"):
                return program._run(server, arrays, parameters, None, None, None)
        except ArgumentError as error:
            if "does not lie" not in str(error):
                raise
            raise ArgumentError(
                f"{error}, the interval inside of the program. With keys, the results would be wrong. "
                "Compile the program with a sample that covers such inputs, or with a larger margin."
            ) from None

    simulation = _simulated(raw, list(arrays), run)
    return replace(simulation, result=interface._read(simulation.result))


def _simulated(
    raw: _native.Simulation,
    encrypted: list[EncryptedArray],
    compute: Callable[[Server, tuple[EncryptedArray, ...]], Any],
) -> Simulation:
    """Compute with encrypted arrays on a simulated server, and report the cost."""
    description = raw.describe()
    server = Server._of(raw.server(), description, is_simulated=True)
    arrays = tuple(EncryptedArray(array._elements(), server) for array in encrypted)
    raw.restart()
    found: list[EncryptedArray] = []
    with server._standing_in(), tracing() as capacities:
        # Results may be lazy views. A view moves its elements when its values are read. The program
        # pays for these moves, so the values are read here.
        result = _plain(raw, compute(server, arrays), found)
    report = raw.report()
    return Simulation(
        result=result,
        seconds=report.seconds,
        first_seconds=report.first_seconds,
        operations={name: (count, seconds) for name, count, seconds in report.operations},
        capacities=tuple(capacities),
        peak_memory=report.peak_memory,
        bootstraps=report.bootstraps,
        log2_failure_probability=report.log2_failure_probability,
        rotations=dict(report.rotations),
        relinearisation=report.relinearisation,
        conjugation=report.conjugation,
        key_bytes=report.key_bytes,
        precision_bits=_lowest([array._elements().precision_bits for array in found]),
        capacity_bits=_lowest([array._elements().capacity_bits for array in found]),
        budget_bits=_lowest([array._elements().budget_bits for array in found]),
        bit_error=max(
            (error for array in found if (error := array.bit_error) is not None), default=None
        ),
        bootstrapping=None
        if report.bootstrapping is None
        else _bootstrapping(*report.bootstrapping),
        tables=None
        if report.look_ups is None
        else LookUps(tables=report.look_ups[0], capacity=report.look_ups[1]),
        bits=report.bits,
        preset=description.preset or f"of ring degree {description.ring_degree}",
        scheme=description.scheme,
        plain_modulus=description.plain_modulus,
        precision=description.precision if description.plain_modulus is None else None,
    )


def _bootstrapping(
    bound: float,
    precision: float | None,
    slots: int | None,
) -> Bootstrapping:
    return Bootstrapping(bound=bound, precision=precision, slots=slots)


def _missing(asked: _Asked, error: HippocreneError) -> str:
    """Return a sentence about the keys that the whole program lacks, or "" if none would help."""
    limited = asked.raw()
    # All combinations of bootstrapping and tables, beginning with the one that the error is about.
    ways = (
        [(False, True), (True, False)]
        if isinstance(error, MissingKeyError)
        else [(True, False), (False, True)]
    )
    exact = limited.plain_modulus is not None
    for bootstrapping, tables in [(False, False), *([] if exact else [*ways, (True, True)])]:
        with suppress(HippocreneError):
            needed = _run(asked, raw=limited.unlimited(bootstrapping, tables))
            missing = limited.lacks(needed._requested())
            return f"For the whole program these keys lack {listed(missing)}." if missing else ""
    return ""


# The lower precisions to try after a `CapacityError`, in bits after the binary point. They are a
# choice.
_LOWER_PRECISIONS = (24.0, 20.0, 16.0, 12.0, 8.0)


def _what_fits(asked: _Asked) -> str:
    """Return a sentence about a lower precision and a larger preset that the program fits.

    This tries only a few of them, and returns "" if none fits.
    """
    # Bits have presets of their own, and runs with tables and bootstraps take seconds each.
    if (
        any(booleans(array, "simulate") is not None for array in asked.arrays)
        or asked.tables
        or asked.bootstrapping
    ):
        return ""

    def fits(precision: float | None, preset: str) -> bool:
        # Programs may fail in any way when they are called again.
        with suppress(Exception):
            _run(replace(asked, precision=precision, preset=preset))
            return True
        return False

    own = asked.raw().describe()
    ways = []
    if own.plain_modulus is None:
        lower = (bits for bits in _LOWER_PRECISIONS if bits < own.precision)
        bits = next((bits for bits in lower if fits(bits, asked.preset)), None)
        if bits is not None:
            ways.append(f"{asked.preset} at a precision of {bits:g} bits")
    names = [one.name for one in _native.presets() if one.ring_degree > own.ring_degree]
    larger = [name for name in candidates(False) if name in names and not name.endswith("s")][:2]
    name = next((name for name in larger if fits(asked.precision, name)), None)
    if name is not None:
        ways.append(f"the preset {name}")
    return f"The program fits {' and '.join(ways)}." if ways else ""


def _plain(raw: _native.Simulation, returned: Any, found: list[EncryptedArray]) -> Any:
    """Replace encrypted arrays in a result by plain values, and collect them in `found`."""
    if isinstance(returned, EncryptedArray):
        found.append(returned)
        return raw.values(returned._elements())
    if isinstance(returned, (tuple, list)):
        items = [_plain(raw, item, found) for item in returned]
        # The constructor of a named tuple takes one argument for each item, so that `_make` is
        # needed.
        return returned._make(items) if hasattr(returned, "_make") else type(returned)(items)
    if isinstance(returned, dict):
        return {key: _plain(raw, item, found) for key, item in returned.items()}
    return returned


def _lowest(numbers: list[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    # NaN means an unknown precision, and counts as the lowest.
    return min(known, key=lambda number: (not math.isnan(number), number)) if known else None
