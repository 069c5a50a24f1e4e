"""What can go wrong, as a tree of exceptions: one class for each kind of error of the Rust library.

Every message names the operation, what it had and what it needed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class HippocreneError(Exception):
    """Base of what this package raises, but where Python has one word for it.

    That is so where something is of the wrong type (`TypeError`; `AttributeError` for what
    encrypted integers and bits do not have), an index lies outside (`IndexError`), a divisor is
    zero (`ZeroDivisionError`), or a number that is to be a double is too large for one
    (`OverflowError`).
    """


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
    """A file that cannot be read or written.

    It is of Python's own kind too: ``except FileNotFoundError`` and ``except FileExistsError``
    catch those that are.
    """

    def __new__(cls, *args: object) -> FileError:
        """Make one from the number of the error, what it is in words, and the file, as `OSError` does."""
        own = _FILE_ERRORS.get(type(OSError(*args)), cls) if cls is FileError else cls
        error: FileError = super().__new__(own, *args)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return FileError, (self.errno, self.strerror, self.filename)


# What a difference is named as in errors, where something else was called that is made of it.
DIFFERENCE = ("sub", "subtract", "neg", "add", "add a number", "add plain numbers")


@contextmanager
def named(operation: str, *parts: str) -> Iterator[None]:
    """Name `operation` in errors of the block that name one of the parts that it is made of."""
    try:
        yield
    except (HippocreneError, TypeError) as error:
        words = str(error)
        part = next(
            (
                part
                for part in parts
                if words.startswith((f"{part} needs", f"{part}: ", f"{part} is ", f"{part} takes "))
            ),
            None,
        )
        if part is None:
            raise
        raise type(error)(operation + words.removeprefix(part)) from None


_FILE_ERRORS: dict[type[OSError], type[FileError]] = {
    kind: type(
        "FileError", (FileError, kind), {"__module__": __name__, "__doc__": FileError.__doc__}
    )
    for kind in (
        FileExistsError,
        FileNotFoundError,
        IsADirectoryError,
        NotADirectoryError,
        PermissionError,
    )
}


@contextmanager
def file_errors() -> Iterator[None]:
    """Raise what Python says of files in the block as `FileError`."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        if (
            error.errno is None
        ):  # Not the system's: the handler of a signal raises a TimeoutError of its own.
            raise
        raise FileError(error.errno, error.strerror, error.filename) from None


class ArgumentError(HippocreneError, ValueError):
    """An argument that an operation cannot work with."""


class MachineError(HippocreneError, RuntimeError):
    """Something this machine cannot do: a kernel, threads, randomness."""


class StoppedError(HippocreneError, RuntimeError):
    """A computation that was told to stop; in Python, what a signal's handler raises comes in its place."""


class DeadlineExceeded(HippocreneError, TimeoutError):  # noqa: N818
    """Work took longer than the `deadline` of its ``with`` block."""


class Cancelled(HippocreneError, RuntimeError):  # noqa: N818
    """Work was ended by the `CancelToken` of its ``with`` block."""


class InternalError(HippocreneError, RuntimeError):
    """A failure that no argument should be able to cause: please report it."""


class SecretPickleError(HippocreneError, TypeError):
    """A client was pickled, with its secret key, without having been allowed to."""


class SecretKeyWarning(UserWarning):
    """A file with a secret key was loaded that others than its owner can read."""


class MissingServerError(HippocreneError, RuntimeError):
    """An encrypted array without a server was asked to compute."""
