"""Requirements for evaluation keys: for bootstrapping and for look-up tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hippocrene.values.scalars import check_type, double, double_or_none, whole

if TYPE_CHECKING:
    from hippocrene._native import _Bootstrapping, _Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrapping:
    """Requirements for the bootstraps of a server; see `Client.evaluation_keys`.

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

    bound: float = 1.0
    precision: float | None = None
    slots: int | None = None

    def _raw(self) -> _Bootstrapping:
        precision = double_or_none(self.precision, "a precision")
        slots = None if self.slots is None else whole(self.slots, "slots of a bootstrap", 1, 2**17)
        return double(self.bound, "a bound"), precision, slots


def to_native_bootstrapping(
    bootstrapping: bool | Bootstrapping,
) -> _Bootstrapping | None:
    """Convert to the argument of the extension module, or None for no bootstrapping."""
    if isinstance(bootstrapping, Bootstrapping):
        return bootstrapping._raw()
    check_type(bootstrapping, bool, "bootstrapping is True, False or a Bootstrapping")
    return Bootstrapping()._raw() if bootstrapping else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUps:
    """Requirements for the look-up tables of a server; see `Client.evaluation_keys`.

    - `tables`: ``"lut11"``, ``"lut12"`` (the default) or ``"lut13"``. Each step halves the errors
      and takes more than twice as long. Other names raise a `ParameterError` when keys are made.
    - `capacity`: the capacity of results with values up to 1, in bits. The default is 30, for about
      one product. With bootstrapping, and a preset with enough room for it (``"n16s"`` and larger),
      the default is more than a bootstrap needs, so that results can be bootstrapped. On ``"n15"``,
      results can be bootstrapped with ``LookUps(capacity=73)``, but not for all functions and
      bounds.
    """

    tables: str = "lut12"
    capacity: float | None = None

    def _raw(self) -> _Tables:
        return str(self.tables), None if self.capacity is None else double(
            self.capacity, "a capacity"
        )


def to_native_tables(tables: bool | str | LookUps) -> _Tables | None:
    """Convert to the argument of the extension module, or None for no tables."""
    if isinstance(tables, str):
        tables = LookUps(tables=tables)
    if isinstance(tables, LookUps):
        return tables._raw()
    check_type(tables, bool, "tables is True, False, a name or LookUps")
    return LookUps()._raw() if tables else None
