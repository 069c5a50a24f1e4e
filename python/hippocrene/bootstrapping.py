"""Requirements for bootstrapping keys."""

from __future__ import annotations

from dataclasses import dataclass

from hippocrene.scalars import double, double_or_none, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrapping:
    """Requirements for the bootstraps of a server; see `Client.evaluation_keys`.

    - `complex`: True to bootstrap complex arrays too. A bootstrap of a complex array takes twice as
      long.
    - `bound`: the bound on absolute values that the bootstrap is planned for, by default 1. Arrays
      with a bound ``2**k`` times as large come out with ``k`` bits less after the binary point.
    - `precision`: the precision of the result, in bits after the binary point. Each bit uses about
      15 bits of the modulus. One bootstrap reaches up to about 37 bits. For a higher precision, the
      error of the bootstrap is bootstrapped again. For example, 50 bits need two bootstraps, for
      arrays that have this precision (``Client.generate(precision=50)``). The default is the
      client's own precision, or the highest that one bootstrap reaches.
    - `slots`: the number of slots of a ciphertext to bootstrap, a power of two, by default all.
      With fewer slots, bootstraps are faster and keys are smaller. Arrays must then fit into these
      slots of one ciphertext, with every axis but the first rounded up to the next power of two.

    All other parameters of the bootstrap follow from these. `Client.describe_bootstrapping` returns
    its properties before any key is made. If the parameters have no room for the requirements, that
    method and `Client.evaluation_keys` raise an `ArgumentError` or a `ParameterError`.
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
    """Convert to the argument of the extension module, or None for no bootstrapping."""
    if isinstance(bootstrapping, Bootstrapping):
        return bootstrapping._raw()
    if not isinstance(bootstrapping, bool):
        raise TypeError(
            f"bootstrapping is True, False or a Bootstrapping, not {type(bootstrapping).__name__}"
        )
    return Bootstrapping()._raw() if bootstrapping else None
