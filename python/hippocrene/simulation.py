"""What a program on encrypted arrays takes and gives, before any key is made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hippocrene import _native
from hippocrene.array import EncryptedArray
from hippocrene.bits import booleans
from hippocrene.bootstrapping import Bootstrapping, wanted
from hippocrene.client import check_for_numbers, checked_scheme, encrypt
from hippocrene.errors import KeyMismatchError, ParameterMismatchError
from hippocrene.look_ups import LookUps, wanted_tables
from hippocrene.scalars import double_or_none, text
from hippocrene.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt


@dataclass(frozen=True)
class Simulation:
    """What `simulate` found out of a program."""

    result: Any
    """What the program returned, with plain arrays in place of encrypted ones: what decryption gives, but for noise.

    Where the values are not known, as those of integers, it is None. Booleans stand for bits.
    """
    seconds: float
    """How long one thread takes with the keys that ``client.evaluation_keys(for_=simulation)`` makes.

    It is predicted for this machine where `hippocrene tune` has measured it, and for a typical one elsewhere. With keys
    of powers of two, which `Client.evaluation_keys` makes where nothing is said, other rotations are composed of
    several and take several times as long. A server's first calls take longer than later ones: what is derived from
    keys is made then.
    """
    operations: Mapping[str, tuple[int, float]]
    """What is done, how often, and how many seconds it takes, the longest first."""
    peak_memory: int
    """The most bytes of memory at one time while the program runs, keys and all.

    What comes before is not in it: while keys are read and a `Server` is made of them, the bytes of the file, the keys
    and those of the server, as they are computed with, are there at one time, which is up to about twice as much as the
    server's alone.
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


def simulate(
    program: Callable[..., Any],
    *arrays: npt.ArrayLike,
    preset: str = "n14",
    precision: float | None = None,
    scheme: Literal["ckks", "bgv", "bfv"] = "ckks",
    plain_modulus: int | None = None,
    bound: float | None = None,
    bootstrapping: bool | Bootstrapping = False,
    tables: bool | str | LookUps = False,
) -> Simulation:
    """Run `program` on `arrays` as if they were encrypted, and say what it would take.

    `program` takes encrypted arrays and returns one, or a tuple (a named one too), list or dict of them, nested or not;
    whatever else is among them is handed on as it is. It is run as it is, by the code that computes on encrypted
    arrays, on arrays that hold no residues: moduli, precision and errors such as `CapacityError` are those of the real
    run, and no key is made. What it takes is added up instead of being done. A server that the program names, as in
    ``server.at_precision(50)``, is that of the simulation while it runs.

    With `bootstrapping`, as `Client.evaluation_keys` takes it, arrays get capacity again wherever an operation lacks
    it; with `tables`, values are looked up in these. Programs on bits take booleans and a preset for bits.

    `preset`, `precision`, `scheme` and `plain_modulus` are those of `Client.generate`, `bound` that of `Client.encrypt`
    for every array. ``client.evaluation_keys(for_=simulation)`` makes the keys that the program used, and no others.
    """
    if not callable(program):
        raise TypeError(f"a program is called with encrypted arrays; {type(program).__name__} cannot be")
    how, precision = wanted(bootstrapping), double_or_none(precision, "a precision")
    exact = checked_scheme(scheme, plain_modulus, precision)
    looked_up = wanted_tables(tables)
    check_for_numbers("simulate", exact[0] is not None, how, looked_up)
    bits = any(booleans(array, "simulate") is not None for array in arrays)
    raw = _native.Simulation(text(preset, "a preset"), precision, *exact, how, looked_up, bits)
    description = raw.describe()
    server = Server._of(raw.server(), description, is_simulated=True)
    encrypted = [EncryptedArray(encrypt(raw, array, None, bound, None, False)._raw, server) for array in arrays]
    raw.restart()
    found: list[EncryptedArray] = []
    try:
        with server._standing_in():
            # What is returned may be moved no sooner than it is read.
            result = _plain(raw, program(*encrypted), found)
    except (KeyMismatchError, ParameterMismatchError) as mismatch:
        raise type(mismatch)(f"{mismatch} (what a simulated program computes with are its arguments)") from mismatch
    report = raw.report()
    return Simulation(
        result=result,
        seconds=report.seconds,
        operations={name: (count, seconds) for name, count, seconds in report.operations},
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
        bit_error=max((error for array in found if (error := array.bit_error) is not None), default=None),
        bootstrapping=_asked(bootstrapping) if report.bootstraps_numbers else None,
        tables=None if report.look_ups is None else LookUps(tables=report.look_ups[0], capacity=report.look_ups[1]),
        bits=report.bits,
        preset=description.preset or preset,
        scheme=description.scheme,
        plain_modulus=description.plain_modulus,
    )


def _asked(bootstrapping: bool | Bootstrapping) -> Bootstrapping:
    return bootstrapping if isinstance(bootstrapping, Bootstrapping) else Bootstrapping()


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
