"""Numbers of bytes and seconds as short text for people."""

from __future__ import annotations

import re

from hippocrene.errors import ArgumentError
from hippocrene.values.scalars import double, whole


def size_text(count: float) -> str:
    """Return a number of bytes with a readable unit, such as ``"59.9 MB"``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.0f} TB"


def time_text(seconds: float) -> str:
    """Return a time with a readable unit, such as ``"12.5 ms"``."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BINARY = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def size_of(size: int | str, name: str) -> int:
    """Return a number of bytes, given as a number or as text such as ``"4 GB"``."""
    if not isinstance(size, str):
        return whole(size, name, 1, 2**63 - 1)
    parts = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", size)
    unit = {**_UNITS, **_BINARY}.get(parts[2].lower()) if parts else None
    if parts is None or unit is None:
        raise ArgumentError(f'{name}: {size!r} is no size in bytes, such as 4000000000 or "4 GB"')
    return whole(round(double(float(parts[1]), name) * unit), name, 1, 2**63 - 1)
