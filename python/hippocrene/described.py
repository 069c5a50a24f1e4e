"""What evaluation keys say of themselves, and servers that were made of them."""

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
    """Check that a simulation was made with the parameters and the scheme of a client, keys or a server."""
    theirs = (simulation.preset, simulation.scheme, simulation.plain_modulus)
    preset = own.preset
    if preset is None:
        # Parameters of a second key have no name, but the ring degree of the first, with fewer
        # moduli.
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
    """Evaluation keys, or a server with them: what they are for, and what they can do."""

    __slots__ = ("_description",)
    _description: _native.KeysDescription

    @property
    def scheme(self) -> str:
        """How they compute, as `Client.scheme` says: ``"ckks"`` on numbers, ``"bgv"`` or ``"bfv"`` on integers."""
        return self._description.scheme

    @property
    def plain_modulus(self) -> int | None:
        """What integers are computed modulo; None where the scheme is of numbers."""
        return self._description.plain_modulus

    @property
    def preset(self) -> str | None:
        """Name of the parameters, as `Client.preset` says; None where they have none."""
        return self._description.preset

    @property
    def ring_degree(self) -> int:
        """The ring degree, a power of two: twice as many as a ciphertext holds numbers."""
        return self._description.ring_degree

    @property
    def precision(self) -> float:
        """How precise the client wants results where nothing else is said, in bits after the binary point."""
        return self._description.precision

    @property
    def rotations(self) -> Sequence[int]:
        """The numbers of slots that there are rotation keys for, to the left (negative: to the right), rising.

        Others are composed of them where that is possible. Keys of bootstrapping, of tables and of
        bits are among them; they may be for arrays of less capacity only. The server of a
        simulation has all.
        """
        steps = self._description.rotations
        if steps is None:
            quarter = self._description.ring_degree // 4
            return range(1 - quarter, quarter + 1)
        return tuple(steps)

    @property
    def conjugation(self) -> bool:
        """Whether complex values can be conjugated, and numbers compared without bootstrapping."""
        return self._description.conjugation

    @property
    def bootstrapping(self) -> bool:
        """Whether arrays of numbers get capacity again."""
        return self._description.bootstrapping

    @property
    def tables(self) -> str | None:
        """Which tables values are looked up in, as `LookUps.tables` says; None where there are none."""
        return self._description.tables

    @property
    def log2_failure_probability(self) -> float | None:
        """log2 of the probability that a look-up of as many values as a ciphertext holds fails.

        One of the results is wrong then by more than `precision_bits` says. None where there are no
        tables; bootstraps have one of their own (`Client.describe_bootstrapping`).
        """
        return self._description.log2_failure_probability

    def _looks_up(self) -> str:
        """Say of tables what stands in `repr`."""
        failure = self.log2_failure_probability
        told = "" if failure is None else f", log2_failure_probability={failure:.1f}"
        return "" if self.tables is None else f", tables={self.tables!r}{told}"

    @property
    def bits(self) -> bool:
        """Whether gates of encrypted bits are computed."""
        return self._description.bits
