"""Numbers of bytes and seconds as short text for people."""

from __future__ import annotations


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
