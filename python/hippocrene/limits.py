"""Limits on what is loaded, for services that load what strangers send."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from hippocrene import _native
from hippocrene.scalars import text, whole

# As the extension module takes them.
Native: TypeAlias = tuple[int | None, int | None, int | None, list[str] | None, list[str] | None]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What may be loaded: `Server.load`, `EvaluationKeys.load` and `EvaluationKeys.from_bytes` take it.

    Kind, preset and length are checked against the header of a file, before anything else of it is
    read. Memory and work are checked before there is memory for residues. What is beyond the limits
    is a `FormatError`. None, which is the default of each field, does not limit anything but the
    work.

    `max_bytes` is the largest file, in bytes.

    `max_memory` is the largest peak of memory while a file is loaded, in bytes: ``peak_memory`` of
    `inspect`.

    `max_work` is how many products with plaintexts it may take, at most about, to bring the
    elements of an array to where those of a fresh array stand: ``work`` of `inspect`. Operations on
    several arrays do that. 0 takes only arrays whose elements stand as in fresh ones. By default it
    is 1024, and one more for every 16 bytes of the file, which no array exceeds that a server
    computed from other values than zeros.

    `kinds` are kinds of files, as `inspect` names them, such as ``["array"]``.

    `presets` are names of presets. What has other parameters is refused.
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

    def _for_native(self) -> Native:
        kinds, presets = (
            None if names is None else list(names) for names in (self.kinds, self.presets)
        )
        return self.max_bytes, self.max_memory, self.max_work, kinds, presets


def native_limits(limits: Limits | None, operation: str) -> Native | None:
    """Return limits as the extension module takes them; what is none is a `TypeError`."""
    if limits is None:
        return None
    if not isinstance(limits, Limits):
        raise TypeError(f"{operation}: limits are hippocrene.Limits, not {type(limits).__name__}")
    return limits._for_native()
