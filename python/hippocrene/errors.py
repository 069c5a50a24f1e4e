"""What can go wrong, as a tree of exceptions: one class for each kind of error of the Rust library.

Every message names the operation, what it had and what it needed.
"""

from __future__ import annotations


class HippocreneError(Exception):
    """Base of every exception of this package."""


class ParameterError(HippocreneError, ValueError):
    """Parameters, presets or thread counts that do not exist or contradict each other."""


class SecurityError(ParameterError):
    """Parameters beyond the limit for 128-bit security."""


class EncodeError(HippocreneError, ValueError):
    """Values that cannot be encoded: not finite, or too large."""


class ShapeError(HippocreneError, ValueError):
    """Shapes or axes that do not fit together."""


class CapacityError(HippocreneError):
    """Too little modulus is left for the operation."""


class ScaleError(HippocreneError):
    """Scales that cannot be brought together."""


class PrecisionError(HippocreneError):
    """The noise would drown the values."""


class MissingKeyError(HippocreneError, LookupError):
    """The evaluation keys lack one that the operation needs."""


class KeyMismatchError(HippocreneError, ValueError):
    """Things that belong to different keys or parameters."""


class FormatError(HippocreneError, ValueError):
    """Bytes that are not what they should be: truncated, altered, of another kind, version or parameter set."""


class SecretPickleError(HippocreneError, TypeError):
    """A client was pickled, with its secret key, without having been allowed to."""


class MissingServerError(HippocreneError, RuntimeError):
    """An encrypted array without a server was asked to compute."""
