"""What bootstrapping keys are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from hippocrene.scalars import double, double_or_none, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrapping:
    """What a server is to be able to bootstrap: see `Client.evaluation_keys`.

    - `complex`: complex arrays too, where it is True; bootstrapping them takes twice as long.
    - `bound`: the bound on absolute values that it is planned for, 1 where nothing is said. Arrays
      whose bound is ``2**k`` times as large are bootstrapped with ``k`` bits less after the binary
      point.
    - `precision`: how precise the result is to be, in bits after the binary point. Each bit takes
      about 15 bits of the modulus. What one bootstrap does not have, up to about 37 bits, is
      reached by bootstraps of the errors of bootstraps: 50 bits by two, for arrays that have them
      (``Client.generate(precision=50)``). By default it is the client's own precision, or as much
      as one bootstrap has.
    - `slots`: how many slots of a ciphertext are bootstrapped, a power of two; by default all. With
      few, bootstraps are faster and keys smaller; arrays that are bootstrapped have to fit in: of
      one ciphertext, with every axis but the first counted as the next power of two.

    Everything else about the bootstrap follows from it by rule; `Client.describe_bootstrapping`
    says what it will be like before any key is made. What the parameters have no room for is an
    `ArgumentError` or a `ParameterError` there and where keys are made.
    """

    complex: bool = False
    bound: float = 1.0
    precision: float | None = None
    slots: int | None = None

    def _raw(self) -> tuple[bool, float, float | None, int | None]:
        precision = double_or_none(self.precision, "a precision")
        slots = None if self.slots is None else whole(self.slots, "slots of a bootstrap", 1, 2**17)
        return bool(self.complex), double(self.bound, "a bound"), precision, slots


def wanted(
    bootstrapping: bool | Bootstrapping,
) -> tuple[bool, float, float | None, int | None] | None:
    """Say it to the extension module; None for no bootstrapping."""
    if isinstance(bootstrapping, Bootstrapping):
        return bootstrapping._raw()
    if not isinstance(bootstrapping, bool):
        raise TypeError(
            f"bootstrapping is True, False or a Bootstrapping, not {type(bootstrapping).__name__}"
        )
    return Bootstrapping()._raw() if bootstrapping else None
