"""Limits on loaded files, for services that load files from strangers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hippocrene import _native
from hippocrene.values.scalars import check_type, text, whole

if TYPE_CHECKING:
    from hippocrene._native import _Limits


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits for `Server.load`, `EvaluationKeys.load` and `EvaluationKeys.from_bytes`.

    Anything beyond the limits raises a `FormatError`. Kind, preset and length are checked against
    the header, before the rest of the file is read. Memory and work are checked before memory for
    residues is allocated. None, the default of each field, is no limit, except for `max_work`.

    - `max_bytes`: the largest size of a file, in bytes.
    - `max_memory`: the largest peak of memory while a file is loaded, in bytes. It limits
      ``peak_memory`` of `inspect`.
    - `max_work`: the largest number of products with plaintexts, about, that move the elements of
      an array to where those of a fresh array are. Operations on several arrays may do that. It
      limits ``work`` of `inspect`. With 0, only arrays with the layout of fresh ones are accepted.
      The default is 1024, and one more for every 16 bytes of the file. No array exceeds it that a
      server computed, unless its values were all zeros.
    - `kinds`: the accepted kinds of files, as `inspect` names them, such as ``["array"]``.
    - `presets`: the names of the accepted presets. Files with other parameters are refused.
    """

    max_bytes: int | None = None
    max_memory: int | None = None
    max_work: int | None = None
    kinds: Iterable[str] | None = None
    presets: Iterable[str] | None = None

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_memory", "max_work"):
            number = getattr(self, name)
            if number is not None:
                object.__setattr__(self, name, whole(number, f"limits: {name}", 0, 2**64 - 1))
        for name in ("kinds", "presets"):
            names = getattr(self, name)
            if names is not None:
                several = (names,) if isinstance(names, str) else tuple(names)
                object.__setattr__(
                    self, name, tuple(text(one, f"limits: one of {name}") for one in several)
                )
        _native.check_limits(self._for_native())

    def _for_native(self) -> _Limits:
        kinds, presets = (
            None if names is None else list(names) for names in (self.kinds, self.presets)
        )
        return self.max_bytes, self.max_memory, self.max_work, kinds, presets


def native_limits(limits: Limits | None, operation: str) -> _Limits | None:
    """Convert limits to the argument of the extension module. Other types raise a `TypeError`."""
    if limits is None:
        return None
    check_type(limits, Limits, f"{operation}: limits are hippocrene.Limits")
    return limits._for_native()
