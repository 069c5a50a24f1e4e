"""Evaluation keys, which a server computes with, and keys that lead to a second client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from hippocrene import _native
from hippocrene.errors import ArgumentError, MissingKeyError
from hippocrene.files import FilePath, raw_bytes, reading
from hippocrene.html_tables import Cell
from hippocrene.limits import Limits, native_limits
from hippocrene.stored import Forwarded, Stored

if TYPE_CHECKING:
    from hippocrene.simulation_report import Simulation

_T = TypeVar("_T")


def check_made_alike(
    own: Described | _native.ClientKey, simulation: Simulation, operation: str, named: str
) -> None:
    """Check that a simulation has the parameters and the scheme of a client, keys or a server."""
    theirs = (simulation.preset, simulation.scheme, simulation.plain_modulus)
    preset = own.preset
    if preset is None:
        # The parameters of a second client have no name. They have the ring degree of the first
        # client and fewer moduli.
        fits = {one.name for one in _native.presets() if one.ring_degree == own.ring_degree}
        preset = (
            simulation.preset if simulation.preset in fits else f"of ring degree {own.ring_degree}"
        )
    mine = (preset, own.scheme, own.plain_modulus)
    if theirs == mine:
        return
    have, need = (
        f"preset {preset!r} and scheme {scheme!r}"
        + ("" if modulus is None else f" modulo {modulus}")
        for preset, scheme, modulus in (theirs, mine)
    )
    raise ArgumentError(
        f"{operation}: the simulation was made with {have}, {named} with {need}. Simulate the program "
        "with the same."
    )


class _Description(Forwarded[_T]):
    """A property of the description of keys."""

    def __init__(self, documentation: str) -> None:
        super().__init__(documentation, "_description")


class Described:
    """The base of evaluation keys and servers: the properties of their keys."""

    __slots__ = ()
    _description: _native.KeysDescription
    fingerprint: Forwarded[str]

    scheme = _Description[str](
        'The scheme: ``"ckks"`` for numbers, ``"bgv"`` or ``"bfv"`` for integers.'
    )

    plain_modulus = _Description[int | None](
        "The modulus of integers, or None if the scheme is for numbers."
    )

    preset = _Description[str | None](
        "The name of the parameters, or None if they belong to no preset."
    )

    ring_degree = _Description[int](
        "The ring degree, a power of two. A ciphertext holds half as many numbers."
    )

    precision = _Description[float](
        "The client's default for the precision of results, in bits after the binary point."
    )

    @property
    def rotations(self) -> Sequence[int]:
        """The rotations that have their own keys, in increasing order.

        They are numbers of slots to the left, and negative to the right. Other rotations are
        composed of these where possible. The list includes keys of bootstrapping, tables and bits,
        and some of these may only work for arrays of lower capacity. The server of a simulation has
        all rotations.
        """
        steps = self._description.rotations
        if steps is None:
            quarter = self._description.ring_degree // 4
            return range(1 - quarter, quarter + 1)
        return tuple(steps)

    conjugation = _Description[bool](
        "True if complex values can be conjugated, and numbers compared without bootstrapping."
    )

    bootstrapping = _Description[bool]("True if arrays of numbers can be bootstrapped.")

    tables = _Description[str | None](
        "The name of the look-up tables, as in `LookUps`, or None if there are none."
    )

    log2_failure_probability = _Description[float | None](
        """log2 of the probability that a look-up of a ciphertext full of values fails.

        One of the results then has a larger error than `precision_bits` states. It is None if there
        are no tables. Bootstraps have their own probability of failure (see
        `Client.describe_bootstrapping`).
        """
    )

    def _looks_up(self) -> str:
        """Return the part of the `repr` about tables."""
        failure = self.log2_failure_probability
        told = "" if failure is None else f", log2_failure_probability={failure:.1f}"
        return "" if self.tables is None else f", tables={self.tables!r}{told}"

    bits = _Description[bool]("True if gates of encrypted bits can be computed.")

    def _facts(self) -> list[tuple[str, Cell]]:
        """Return the rows of the HTML table."""
        steps = self._description.rotations
        failure = self.log2_failure_probability
        chance = "" if failure is None else f", failure probability 2^{failure:.1f}"
        return [
            ("preset", preset_text(self.preset, self.ring_degree)),
            ("scheme", scheme_text(self.scheme, self.plain_modulus)),
            ("rotations", "all" if steps is None else f"{len(steps)} with keys of their own"),
            ("conjugation", _yes(self.conjugation)),
            ("bootstrapping", _yes(self.bootstrapping)),
            ("tables", "no" if self.tables is None else f"{self.tables}{chance}"),
            ("gates of bits", _yes(self.bits)),
            ("fingerprint", self.fingerprint),
        ]


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def preset_text(preset: str | None, ring_degree: int) -> str:
    """Return the name of the parameters, if they have one, and the ring degree."""
    degree = f"ring degree {ring_degree}"
    return degree if preset is None else f"{preset} ({degree})"


def scheme_text(scheme: str, plain_modulus: int | None) -> str:
    """Return the scheme, with the modulus of integers."""
    return scheme if plain_modulus is None else f"{scheme}, integers modulo {plain_modulus}"


# The advice in errors about missing keys.
HOW_TO_MAKE_THEM = "The client makes them with evaluation_keys(for_=simulation)."


def listed(names: list[str]) -> str:
    """Join names with commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class EvaluationKeys(Described, Stored):
    """The keys that a server computes with. They contain no secret.

    `fingerprint` identifies the secret key that they belong to. `scheme`, `preset`, `rotations` and
    similar properties describe their abilities.
    """

    __slots__ = ("__weakref__", "_description")
    _raw: _native.EvaluationKeys
    _kind = _native.EvaluationKeys
    _factory = "Client.evaluation_keys"

    def __init__(self, raw: _native.EvaluationKeys) -> None:
        """Wrap keys of the extension module; users call `Client.evaluation_keys`."""
        super().__init__(raw)
        self._description = raw.describe()

    def suffice(self, simulation: Simulation) -> Literal[True]:
        """Return True if these keys are enough for a simulated program; otherwise raise an error.

        The `MissingKeyError` names all missing keys. A rotation that can be composed of other keys
        is not missing, but the program then takes longer than predicted.
        ``simulate(..., keys=keys)`` predicts that time. Keys for tables must have the same name and
        at least the same capacity. Keys for bootstrapping must have been made for at least the same
        requirements. A simulation of another preset, scheme or plain modulus raises an
        `ArgumentError`.
        """
        if not hasattr(simulation, "_requested"):
            raise TypeError(
                f"suffice takes a Simulation, as simulate returns it, not {type(simulation).__name__}"
            )
        check_made_alike(self, simulation, "suffice", "these keys")
        if missing := self._raw.lacks(simulation._requested()):
            raise MissingKeyError(f"suffice: these keys lack {listed(missing)}. {HOW_TO_MAKE_THEM}")
        return True

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, *, accept: Limits | None = None
    ) -> EvaluationKeys:
        """Read keys from the bytes that `to_bytes` returned, within the limits `accept`."""
        within = native_limits(accept, "EvaluationKeys.from_bytes")
        return cls(_native.EvaluationKeys.from_bytes(raw_bytes(data), 1, within))

    @classmethod
    def load(cls, path: FilePath, *, accept: Limits | None = None) -> EvaluationKeys:
        """Read keys from a file that `save` wrote, within the limits `accept`."""
        within = native_limits(accept, "EvaluationKeys.load")
        with reading(path) as name:
            return cls(_native.EvaluationKeys.load(name, 1, within))

    def __repr__(self) -> str:
        tables = self._looks_up()
        told = f"preset={self.preset!r}, scheme={self.scheme!r}, fingerprint={self.fingerprint!r}"
        return f"EvaluationKeys({told}{tables})"


class TransferKey(Stored):
    """A key that converts arrays of one client to the secret key of a second one.

    See `Client.second_client`. It contains no secret. Its `fingerprint` identifies the secret key that
    arrays are converted from.
    """

    __slots__ = ()
    _raw: _native.TransferKey
    _kind = _native.TransferKey
    _factory = "Client.transfer_key"
    _shown = ("fingerprint", "second")
    _arguments = (1,)

    second = Forwarded[str]("The identifier of the secret key that arrays are converted to.")
