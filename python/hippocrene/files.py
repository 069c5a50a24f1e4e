"""Names and contents of files."""

from __future__ import annotations

import base64
import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from hippocrene.errors import FileError, FormatError, ParameterError, file_errors
from hippocrene.values.scalars import check_type

# The names of files that Python's own functions accept.
FilePath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

# The first bytes of every file.
MAGIC = b"\x89HPCR\r\n\x1a"

# The same bytes as text: decoded, as a file name, in base64 (without the characters that depend on
# the next bytes), and as Python prints them.
_MAGIC_TEXTS = (
    MAGIC.decode("latin1"),
    os.fsdecode(MAGIC),
    base64.b64encode(MAGIC)[:10].decode(),
    *(f"b{quote}{repr(MAGIC)[2:-1]}" for quote in "\"'"),
)

# Number of bytes that are copied at a time.
_PIECE = 1 << 20

# Number of characters of a file name that an error shows, if no file can have the name.
LONGEST_NAME = 255


def file_path(path: FilePath) -> str:
    """Return the name of a file as text.

    A value that is no name is a `TypeError`, and a name that no file can have is a `FileError`. The
    bytes of a file may be a secret key, so no error shows them.
    """
    if isinstance(path, bytes) and path.startswith(MAGIC):
        raise TypeError("these are the bytes of a file, not the name of one: from_bytes reads them")
    name = os.fsdecode(path)
    if name.startswith(_MAGIC_TEXTS) or name[: 2 * len(MAGIC)].lower() == MAGIC.hex():
        raise TypeError(
            "this is the text of a file's bytes, not the name of a file: from_bytes reads the bytes"
        )
    if "\0" in name:
        shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
        raise FileError(errno.EINVAL, "file name contained an unexpected NUL byte", shown)
    return name


def path_of_secret(path: FilePath) -> str:
    """Return the name of a new file for a secret key. An existing file is a `FileError`."""
    name = file_path(path)
    with file_errors():
        if Path(name).exists():
            raise FileError(
                errno.EEXIST, "a secret key is never written over a file that exists", name
            )
    return name


@contextmanager
def reading(path: FilePath) -> Iterator[str]:
    """Yield the name of a file, and add it to errors about the content of the file in the block."""
    name = file_path(path)
    try:
        with file_errors():
            yield name
    except (FormatError, ParameterError) as error:
        raise type(error)(f"{name}: {error}") from None


def raw_bytes(data: bytes | bytearray | memoryview) -> bytes:
    """Return the content of a file as `bytes`. Other types are a `TypeError`."""
    if isinstance(data, (str, os.PathLike)):
        kind = type(data).__name__
        raise TypeError(f"bytes are needed, not {kind}. To read a file, use load(path).")
    check_type(data, (bytes, bytearray, memoryview), "bytes are needed")
    if type(data) is bytes:
        return data
    view = memoryview(data)
    if view.nbytes <= _PIECE or not view.c_contiguous:
        return bytes(view)
    # Other threads can run between the pieces.
    view, copy = view.cast("B"), io.BytesIO()
    for start in range(0, len(view), _PIECE):
        copy.write(view[start : start + _PIECE])
    return copy.getvalue()
