"""What a program on encrypted arrays takes and gives, before any key is made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from hippocrene import _native
from hippocrene.array import EncryptedArray
from hippocrene.automatic import candidates, chosen
from hippocrene.bits import booleans
from hippocrene.bootstrapping import Bootstrapping, wanted
from hippocrene.client import KeyRequest, check_for_numbers, checked_scheme, encrypt, key_request
from hippocrene.errors import (
    BudgetError,
    CapacityError,
    HippocreneError,
    KeyMismatchError,
    MissingKeyError,
    ParameterMismatchError,
)
from hippocrene.look_ups import LookUps, wanted_tables
from hippocrene.scalars import double, double_or_none, text, whole
from hippocrene.server import HOW_TO_MAKE_THEM, EvaluationKeys, Server, listed
from hippocrene.simulation_json import KIND, VERSION, read
from hippocrene.simulation_report import described, described_in_html, drawn
from hippocrene.trace import tracing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt


@dataclass(frozen=True, repr=False)
class Simulation:
    """What `simulate` found out of a program."""

    result: Any
    """What the program returned, with plain arrays in place of encrypted ones: what decryption gives, but for noise.

    Where the values are not known, as those of integers, it is None. Booleans stand for bits.
    """
    seconds: float
    """How long one thread takes with the keys that ``client.evaluation_keys(for_=simulation)`` makes.

    It is predicted for this machine where `hippocrene tune` has measured it, and for a typical one
    elsewhere. With keys of powers of two, which `Client.evaluation_keys` makes where nothing is
    said, other rotations are composed of several and take several times as long. A server's first
    calls take longer than later ones: what is derived from keys is made then.
    """
    operations: Mapping[str, tuple[int, float]]
    """What is done, how often, and how many seconds it takes, the longest first."""
    capacities: Sequence[tuple[str, float]]
    """The capacity along the program: each operation on encrypted arrays, and the bits that its result has left.

    Of integers that is the noise budget. An operation that is made of several has several steps of
    its name; those that follow on one another and leave the same are one. Elements that are only
    picked, and bits, are no steps.
    """
    peak_memory: int
    """The most bytes of memory at one time while the program runs, keys and all.

    What comes before is not in it: while keys are read and a `Server` is made of them, the bytes of
    the file, the keys and those of the server, as they are computed with, are there at one time,
    which is up to about twice as much as the server's alone.
    """
    bootstraps: int
    """How many bootstraps of ciphertexts there are, those of gates of bits too."""
    log2_failure_probability: float | None
    """log2 of the probability that a bootstrap or a look-up fails, for all of them together; None where none can.

    What fails is wrong by more than `precision_bits` says.
    """
    rotations: Mapping[int, float]
    """The rotations that have keys of their own, each with the bits of the modulus that its key is used at."""
    relinearisation: bool
    """Whether the relinearisation key is used: that of products of encrypted arrays."""
    conjugation: bool
    """Whether the key of complex conjugation is used."""
    key_bytes: int
    """How large the file of the evaluation keys is, about."""
    precision_bits: float | None
    """The least precision of the results, in bits after the binary point; None for integers."""
    capacity_bits: float | None
    """The least capacity that is left in a result; None for integers."""
    budget_bits: float | None
    """The least noise budget that is left in a result; None for numbers."""
    bit_error: float | None
    """How far what a slot holds is from its bit at most; None where no result is of bits."""
    bootstrapping: Bootstrapping | None
    """The bootstrapping that takes keys; None where no number is bootstrapped."""
    tables: LookUps | None
    """The tables that are looked up, with the capacity that results have; None where none is."""
    bits: bool
    """Whether the keys of bits are used."""
    preset: str
    """The name of the parameters that it was made with; `Client.evaluation_keys` takes it for the same only."""
    scheme: str
    """The scheme that it was made with."""
    plain_modulus: int | None
    """What integers are computed modulo; None for numbers and bits."""
    precision: float | None
    """The precision that it was made with, as `Client.generate` takes it; None for integers."""

    def __repr__(self) -> str:
        return described(self)

    def _repr_html_(self) -> str:
        return described_in_html(self)

    def plot(self) -> Any:
        """Draw the time by operation and the capacity along the program, as a figure of matplotlib.

        matplotlib is not installed with this package; where it is missing, an `ImportError` says
        so.
        """
        return drawn(self)

    def to_json(self) -> str:
        """Return everything but the result as JSON: a server sends it to the client, which makes keys `for_` it."""
        told = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "result"
        }
        told["rotations"] = [[steps, bits] for steps, bits in self.rotations.items()]
        told["operations"] = [[name, *known] for name, known in self.operations.items()]
        told["bootstrapping"] = None if self.bootstrapping is None else asdict(self.bootstrapping)
        told["tables"] = None if self.tables is None else asdict(self.tables)
        return json.dumps({"kind": KIND, "version": VERSION, **told})

    @classmethod
    def from_json(cls, text: str | bytes) -> Simulation:
        """Read what `to_json` returned. The result is None. Anything else is a `FormatError`."""
        return cls(result=None, **read(text))

    def _requested(self) -> KeyRequest:
        """Return the keys that the program uses, as the extension module takes them."""
        how = None if self.bootstrapping is None else self.bootstrapping._raw()
        tables = None if self.tables is None else self.tables._raw()
        return list(self.rotations), self.relinearisation, self.conjugation, how, tables, self.bits


# The preset where nothing is said, as that of `Client.generate`.
_PRESET = "n14"


def simulate(
    program: Callable[..., Any],
    *arrays: npt.ArrayLike,
    preset: str | None = None,
    precision: float | Literal["auto"] | None = None,
    scheme: Literal["ckks", "bgv", "bfv"] = "ckks",
    plain_modulus: int | None = None,
    bound: float | None = None,
    bootstrapping: bool | Bootstrapping = False,
    tables: bool | str | LookUps = False,
    keys: EvaluationKeys | Mapping[str, Any] | None = None,
    max_memory: int | None = None,
    min_precision: float | None = None,
) -> Simulation:
    """Run `program` on `arrays` as if they were encrypted, and say what it would take.

    `program` takes encrypted arrays and returns one, or a tuple (a named one too), list or dict of
    them, nested or not; whatever else is among them is handed on as it is. It is run as it is, by
    the code that computes on encrypted arrays, on arrays that hold no residues: moduli, precision
    and errors such as `CapacityError` are those of the real run, and no key is made. What it takes
    is added up instead of being done. A server that the program names, as in
    ``server.at_precision(50)``, is that of the simulation while it runs.

    With `bootstrapping`, as `Client.evaluation_keys` takes it, arrays get capacity again wherever
    an operation lacks it; with `tables`, values are looked up in these. Programs on bits take
    booleans and a preset for bits.

    `preset` (``"n14"`` by default), `precision`, `scheme` and `plain_modulus` are those of
    `Client.generate`, `bound` that of `Client.encrypt` for every array.
    ``client.evaluation_keys(for_=simulation)`` makes the keys that the program used, and no others.

    With `keys` the simulated server has these keys and no others, and goes the way that a real one
    goes with them. They are `EvaluationKeys`, whose parameters it then has, or a dict of arguments
    of `Client.evaluation_keys`, such as ``{"rotations": [1, 2], "conjugation": True}``. Where some
    are missing, the error names all that the program needs.

    ``preset="auto"`` runs the program with several presets and takes the one that is predicted to
    be fastest, within `max_memory` bytes (``2**34``, 16 GiB, by default) for keys and arrays.
    ``precision="auto"`` finds the least precision with which all results have `min_precision` bits
    after the binary point (16 by default). The simulation has both as `preset` and `precision`, for
    `Client.generate`. The times that it goes by are those of one reference machine, so that the
    choice is the same everywhere. Where nothing fits, a `ParameterError` names the nearest miss.

    The program is called several times with ``"auto"``, and after a `CapacityError`, `BudgetError`
    or `MissingKeyError`, to find out what would work.
    """
    if not callable(program):
        raise TypeError(
            f"a program is called with encrypted arrays; {type(program).__name__} cannot be"
        )
    auto_preset, auto_precision = (
        preset == "auto",
        isinstance(precision, str) and precision == "auto",
    )
    is_auto = auto_preset or auto_precision
    if not is_auto and (max_memory is not None or min_precision is not None):
        raise TypeError('max_memory and min_precision go with preset="auto" or precision="auto"')
    if min_precision is not None and not auto_precision:
        raise TypeError('min_precision goes with precision="auto"')
    if keys is not None and (bootstrapping or tables or is_auto):
        raise TypeError(
            "with keys, bootstrapping and tables are those that they have, and nothing is chosen: say keys alone"
        )
    if isinstance(keys, EvaluationKeys):
        if not (preset is precision is plain_modulus is None and scheme == "ckks"):
            raise TypeError(
                "evaluation keys have a preset, a precision and a scheme of their own: say keys alone"
            )
    elif keys is not None and not isinstance(keys, Mapping):
        raise TypeError(
            f"keys are EvaluationKeys or a dict of what they are made with, not {type(keys).__name__}"
        )
    known = (
        None if auto_precision else double_or_none(cast("float | None", precision), "a precision")
    )
    name = text(_PRESET if preset is None else preset, "a preset")
    asked = _Asked(
        program, arrays, name, known, scheme, plain_modulus, bound, bootstrapping, tables, keys
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
        raise type(error)(f"{error}. {more}") from error


def _automatic(asked: _Asked, min_precision: float | None, max_memory: int) -> Simulation:
    """Choose preset and precision as far as they are not said, and run the program with them."""
    if min_precision is not None:
        # Integers have no precision.
        checked_scheme(asked.scheme, asked.plain_modulus, min_precision)
    of_bits = any(booleans(array, "simulate") is not None for array in asked.arrays)
    presets = candidates(of_bits) if asked.preset == "auto" else [asked.preset]

    def run(preset: str, precision: float | None, bootstraps: bool) -> Simulation:
        how = asked.bootstrapping if bootstraps else False
        return _run(
            replace(asked, preset=preset, precision=precision, bootstrapping=how), at_reference=True
        )

    best = chosen(
        run, presets, asked.precision, min_precision, max_memory, bool(asked.bootstrapping)
    )
    how = asked.bootstrapping if best.bootstrapping is not None else False
    return _run(replace(asked, preset=best.preset, precision=best.precision, bootstrapping=how))


@dataclass(frozen=True)
class _Asked:
    """What `simulate` was asked for."""

    program: Callable[..., Any]
    arrays: tuple[npt.ArrayLike, ...]
    preset: str
    precision: float | None
    scheme: Literal["ckks", "bgv", "bfv"]
    plain_modulus: int | None
    bound: float | None
    bootstrapping: bool | Bootstrapping
    tables: bool | str | LookUps
    keys: EvaluationKeys | Mapping[str, Any] | None

    def raw(self) -> _native.Simulation:
        """Make the server without residues that it takes."""
        if isinstance(self.keys, EvaluationKeys):
            return _native.Simulation.limited_to(self.keys._raw)
        exact = checked_scheme(self.scheme, self.plain_modulus, self.precision)
        bits = any(booleans(array, "simulate") is not None for array in self.arrays)
        if self.keys is not None:
            request = _requested(self.keys, bits, is_exact=exact[0] is not None)
            return _native.Simulation.limited(self.preset, self.precision, *exact, request)
        how, looked_up = wanted(self.bootstrapping), wanted_tables(self.tables)
        check_for_numbers("simulate", exact[0] is not None, how, looked_up)
        return _native.Simulation(self.preset, self.precision, *exact, how, looked_up, bits)


def _requested(keys: Mapping[str, Any], bits: bool, *, is_exact: bool) -> KeyRequest:
    """Return what a dict asks for, as the extension module takes it."""
    names = ("rotations", "conjugation", "bootstrapping", "tables", "bits")
    if unknown := [name for name in keys if name not in names]:
        raise TypeError(f"keys are made with {listed(list(names))}, not with {unknown[0]!r}")
    rotations, conjugation = keys.get("rotations"), bool(keys.get("conjugation", False))
    bits = bits if keys.get("bits") is None else bool(keys["bits"])
    bootstrapping, tables = keys.get("bootstrapping", False), keys.get("tables", False)
    return key_request(rotations, conjugation, bootstrapping, tables, bits, is_exact=is_exact)


def _run(
    asked: _Asked, *, at_reference: bool = False, raw: _native.Simulation | None = None
) -> Simulation:
    """Run the program once; with times of the reference machine, or by a server that is made already."""
    raw = asked.raw() if raw is None else raw
    if at_reference:
        raw.use_reference_prices()
    description = raw.describe()
    server = Server._of(raw.server(), description, is_simulated=True)
    declared = (None, asked.bound, None, False)
    encrypted = [
        EncryptedArray(encrypt(raw, array, *declared)._raw, server) for array in asked.arrays
    ]
    raw.restart()
    found: list[EncryptedArray] = []
    try:
        with server._standing_in(), tracing() as capacities:
            # What is returned may be moved no sooner than it is read.
            result = _plain(raw, asked.program(*encrypted), found)
    except (KeyMismatchError, ParameterMismatchError) as mismatch:
        raise type(mismatch)(
            f"{mismatch} (what a simulated program computes with are its arguments)"
        ) from mismatch
    report = raw.report()
    return Simulation(
        result=result,
        seconds=report.seconds,
        operations={name: (count, seconds) for name, count, seconds in report.operations},
        capacities=tuple(capacities),
        peak_memory=report.peak_memory,
        bootstraps=report.bootstraps,
        log2_failure_probability=report.log2_failure_probability,
        rotations=dict(report.rotations),
        relinearisation=report.relinearisation,
        conjugation=report.conjugation,
        key_bytes=report.key_bytes,
        precision_bits=_least([array._raw.precision_bits for array in found]),
        capacity_bits=_least([array._raw.capacity_bits for array in found]),
        budget_bits=_least([array._raw.budget_bits for array in found]),
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
    complex: bool,  # noqa: A002
    bound: float,
    precision: float | None,
    slots: int | None,
) -> Bootstrapping:
    return Bootstrapping(complex=complex, bound=bound, precision=precision, slots=slots)


def _missing(asked: _Asked, error: HippocreneError) -> str:
    """Say which keys the whole program needs that are not there; nothing where none would help."""
    limited = asked.raw()
    # Bootstrapping or none, tables or none: what the error is about first.
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
            return (
                f"For the whole program these keys lack {listed(missing)}. {HOW_TO_MAKE_THEM}"
                if missing
                else ""
            )
    return ""


# The lower precisions that are tried after a `CapacityError`, in bits after the binary point;
# chosen.
_LOWER_PRECISIONS = (24.0, 20.0, 16.0, 12.0, 8.0)


def _what_fits(asked: _Asked) -> str:
    """Say which lower precision and which larger preset the program fits, as far as some tries find them."""
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
    """Return what was returned with plain values, and add the encrypted arrays in it to `found`."""
    if isinstance(returned, EncryptedArray):
        found.append(returned)
        return raw.values(returned._raw)
    if isinstance(returned, (tuple, list)):
        items = [_plain(raw, item, found) for item in returned]
        # Those with names take one argument for each.
        return returned._make(items) if hasattr(returned, "_make") else type(returned)(items)
    if isinstance(returned, dict):
        return {key: _plain(raw, item, found) for key, item in returned.items()}
    return returned


def _least(numbers: list[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    # NaN, of which nothing is known, is less than any.
    return min(known, key=lambda number: (not math.isnan(number), number)) if known else None
