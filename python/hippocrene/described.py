"""The properties that evaluation keys and servers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hippocrene import _native
from hippocrene.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hippocrene.client import Client
    from hippocrene.simulation import Simulation


def check_made_alike(
    own: Client | Described, simulation: Simulation, operation: str, named: str
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
    raise ArgumentError(f"{operation}: the simulation was made with {have}, {named} with {need}")


class Described:
    """The base of evaluation keys and servers: the properties of their keys."""

    __slots__ = ("_description",)
    _description: _native.KeysDescription

    @property
    def scheme(self) -> str:
        """The scheme: ``"ckks"`` for numbers, ``"bgv"`` or ``"bfv"`` for integers."""
        return self._description.scheme

    @property
    def plain_modulus(self) -> int | None:
        """The modulus of integers, or None if the scheme is for numbers."""
        return self._description.plain_modulus

    @property
    def preset(self) -> str | None:
        """The name of the parameters, or None if they belong to no preset."""
        return self._description.preset

    @property
    def ring_degree(self) -> int:
        """The ring degree, a power of two. A ciphertext holds half as many numbers."""
        return self._description.ring_degree

    @property
    def precision(self) -> float:
        """The client's default for the precision of results, in bits after the binary point."""
        return self._description.precision

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

    @property
    def conjugation(self) -> bool:
        """True if complex values can be conjugated, and numbers compared without bootstrapping."""
        return self._description.conjugation

    @property
    def bootstrapping(self) -> bool:
        """True if arrays of numbers can be bootstrapped."""
        return self._description.bootstrapping

    @property
    def tables(self) -> str | None:
        """The name of the look-up tables, as in `LookUps`, or None if there are none."""
        return self._description.tables

    @property
    def log2_failure_probability(self) -> float | None:
        """log2 of the probability that a look-up of a ciphertext full of values fails.

        One of the results then has a larger error than `precision_bits` states. It is None if there
        are no tables. Bootstraps have their own probability of failure (see
        `Client.describe_bootstrapping`).
        """
        return self._description.log2_failure_probability

    def _looks_up(self) -> str:
        """Return the part of the `repr` about tables."""
        failure = self.log2_failure_probability
        told = "" if failure is None else f", log2_failure_probability={failure:.1f}"
        return "" if self.tables is None else f", tables={self.tables!r}{told}"

    @property
    def bits(self) -> bool:
        """True if gates of encrypted bits can be computed."""
        return self._description.bits
