"""The errors that this package raises, one class for each kind of error of the Rust library.

Every message names the operation, its input and its requirement.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class HippocreneError(Exception):
    """The base class of this package's errors.

    Some errors have Python's own class instead:

    - `TypeError` for an object of the wrong type,
    - `IndexError` for an index out of range,
    - `ZeroDivisionError` for a divisor of zero,
    - `OverflowError` for a number that is too large for a double.
    """


class ParameterError(HippocreneError, ValueError):
    """A parameter set or preset does not exist or is not valid."""


class SecurityError(HippocreneError, ValueError):
    """A parameter set exceeds the limit for 128-bit security."""


class EncodeError(HippocreneError, ValueError):
    """Values cannot be encoded, since they are not finite or too large."""


class ShapeError(HippocreneError, ValueError):
    """Shapes or axes do not fit each other or the operation."""


class CapacityError(HippocreneError, ArithmeticError):
    """An encrypted array has too little capacity left for an operation."""


class BudgetError(HippocreneError, ArithmeticError):
    """Encrypted integers have too little noise budget left for an operation."""


class ScaleError(HippocreneError, ArithmeticError):
    """Two arrays have scales that cannot be made equal."""


class MissingKeyError(HippocreneError, LookupError):
    """The evaluation keys lack a key that the operation needs."""


class KeyMismatchError(HippocreneError, ValueError):
    """Arrays or keys belong to different secret keys."""


class ParameterMismatchError(HippocreneError, ValueError):
    """Arrays or keys were made with different parameters."""


class FormatError(HippocreneError, ValueError):
    """Bytes are not valid: they are truncated, altered, or of another kind or version.

    Files and bytes beyond given `Limits` raise it too.
    """


class FileError(HippocreneError, OSError):
    """A file cannot be read or written.

    It is also an instance of Python's own class of the error. ``except FileNotFoundError`` and
    ``except FileExistsError``, for example, catch it.
    """

    def __new__(cls, *args: object) -> FileError:
        """Make an error from an error number, a message and a file name, as `OSError` does."""
        own = _FILE_ERRORS.get(type(OSError(*args)), cls) if cls is FileError else cls
        error: FileError = super().__new__(own, *args)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return FileError, (self.errno, self.strerror, self.filename)


class UnsupportedError(HippocreneError, TypeError, AttributeError):
    """A kind of array lacks an operation, a property or a function of numpy.

    `hasattr` is False for operations and properties that a kind of array lacks.
    """


# The operations that errors may name when a difference is computed. An operation that computes a
# difference as one of its steps replaces these names by its own (see `named`).
DIFFERENCE = ("sub", "subtract", "neg", "add", "add a number", "add plain numbers")


class named:  # noqa: N801
    """In errors that are raised in the block, replaces the name of a step by `operation`.

    It takes less time than a function with `contextmanager`.
    """

    __slots__ = ("operation", "parts")

    def __init__(self, operation: str, *parts: str) -> None:
        self.operation, self.parts = operation, parts

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (HippocreneError, TypeError)):
            words = str(error)
            for part in self.parts:
                if words.startswith(
                    tuple(part + end for end in (" needs", ": ", " is ", " takes "))
                ):
                    raise type(error)(self.operation + words.removeprefix(part)) from None


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
    """Convert Python's errors about files in the block to `FileError`."""
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
    """An operation cannot work with one of its arguments."""


class OutOfIntervalError(HippocreneError, ArithmeticError):
    """Decrypted values are wrong: they lie far outside of the interval of their array.

    Some input led to a value outside of an interval that was declared or seen in a sample.
    """


class MachineError(HippocreneError, RuntimeError):
    """The machine lacks something that is needed: a compute kernel, threads or randomness."""


class StoppedError(HippocreneError, RuntimeError):
    """A computation was told to stop.

    If a signal handler stops it in Python, the exception of the handler is raised instead.
    """


class DeadlineExceeded(HippocreneError, TimeoutError):  # noqa: N818
    """Work took longer than the `deadline` of its ``with`` block."""


class Cancelled(HippocreneError, RuntimeError):  # noqa: N818
    """Work was ended by the `CancelToken` of its ``with`` block."""


class InternalError(HippocreneError, RuntimeError):
    """A failure that no argument should be able to cause. Please report it."""


class SecretPickleError(HippocreneError, TypeError):
    """A client, which holds a secret key, was pickled outside of `Client.allow_pickle`."""


class SecretKeyWarning(UserWarning):
    """A file with a secret key was loaded that users other than its owner can read."""


class MissingServerError(HippocreneError, RuntimeError):
    """An operation needs a server, and the encrypted array has none."""
