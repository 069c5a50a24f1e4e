"""What can go wrong, as a tree of exceptions: one class for each kind of error of the Rust library.

Every message names the operation, what it had and what it needed.
"""

from __future__ import annotations


class HippocreneError(Exception):
    """Base of every exception of this package."""


class ParameterError(HippocreneError, ValueError):
    """A parameter set or preset that does not exist or makes no sense."""


class SecurityError(HippocreneError, ValueError):
    """A parameter set beyond the limit for 128-bit security."""


class EncodeError(HippocreneError, ValueError):
    """Values that cannot be encoded: not finite, or too large."""


class ShapeError(HippocreneError, ValueError):
    """Shapes or axes that do not fit each other or an operation."""


class CapacityError(HippocreneError, ArithmeticError):
    """The capacity of an encrypted array is used up."""


class BudgetError(HippocreneError, ArithmeticError):
    """The noise budget of encrypted integers is used up."""


class ScaleError(HippocreneError, ArithmeticError):
    """Scales that cannot be brought together."""


class MissingKeyError(HippocreneError, LookupError):
    """The evaluation keys lack one that the operation needs."""


class KeyMismatchError(HippocreneError, ValueError):
    """Things that belong to different keys."""


class ParameterMismatchError(HippocreneError, ValueError):
    """Things that were made with different parameters."""


class FormatError(HippocreneError, ValueError):
    """Bytes that are not what they should be: truncated, altered, of another kind or version."""


class FileError(HippocreneError, OSError):
    """A file that cannot be read or written."""


class ArgumentError(HippocreneError, ValueError):
    """An argument that an operation cannot work with."""


class MachineError(HippocreneError, RuntimeError):
    """Something this machine cannot do: a kernel, threads, randomness."""


class InternalError(HippocreneError, RuntimeError):
    """A failure that no argument should be able to cause: please report it."""


class SecretPickleError(HippocreneError, TypeError):
    """A client was pickled, with its secret key, without having been allowed to."""


class MissingServerError(HippocreneError, RuntimeError):
    """An encrypted array without a server was asked to compute."""
