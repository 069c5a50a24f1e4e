"""Numbers of bytes and seconds as short text for people."""

from __future__ import annotations


def size_text(count: float) -> str:
    """Return a number of bytes in a readable unit.

    >>> size_text(59_884_630)
    '59.9 MB'
    """
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def time_text(seconds: float) -> str:
    """Return a time in a readable unit.

    >>> time_text(0.0125)
    '12.5 ms'
    """
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
