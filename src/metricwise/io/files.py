"""Bytes of files, plain or compressed with gzip: all of them, the first lines, or blocks of whole lines."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from metricwise.io.encodings import UTF8, ByteStream, Utf8Reader, recognise_encoding

A = TypeVar("A")
T = TypeVar("T")

STANDARD_INPUT = "-"
_HEAD_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
BINARY_STARTS = (b"PAR1", b"\x93NUMPY", b"PK\x03\x04")  # of Parquet, .npy and .npz files, which hold no text
_MARK = b"\xef\xbb\xbf"  # the byte order mark, by which some programs declare UTF-8


class FileBytes(NamedTuple):
    """The name of a file in messages, its content (decompressed, text in UTF-8), and how it was written."""

    name: str
    data: bytes
    is_compressed: bool
    encoding: str = UTF8


def check_file(path: str | os.PathLike[str], repeatedly: bool = False) -> str:
    """Return the name of a file that exists, may be read (``repeatedly``: more than once) and is not empty."""
    name = os.fsdecode(path)
    try:
        found = os.stat(name)
    except FileNotFoundError:
        raise FileNotFoundError(f"{name} does not exist") from None
    except (OSError, ValueError) as error:  # the latter at a NUL byte in the name
        reason = getattr(error, "strerror", None) or error
        raise OSError(f"{name!r} cannot be opened ({reason}): check the path") from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"{name} is a directory: give the path of a file")
    if stat.S_ISREG(found.st_mode):
        if found.st_size == 0:
            raise ValueError(f"{name} has no rows: the file is empty")
        if not os.access(name, os.R_OK):
            raise PermissionError(f"{name} may not be read by this user: change its permissions (chmod u+r)")
    elif repeatedly:
        raise ValueError(f"{name} is no regular file, and it has to be read more than once: copy its content to a file")
    return name


def get_standard_input() -> BinaryIO:
    """Return standard input as a file of bytes; raise an OSError if this process has none."""
    if sys.stdin is None:
        raise OSError("standard input is closed: send the data to it, or give the path of a file")
    return sys.stdin.buffer


def load_file(path: str | os.PathLike[str], encoding: str | None = None) -> FileBytes:
    """Read all of a file, or of standard input if it is called "-"; text comes in UTF-8.

    An encoding that is not given is recognised by its byte order mark.
    """
    if os.fsdecode(path) == STANDARD_INPUT:
        name, data = "standard input", get_standard_input().read()
    else:
        name = check_file(path)
        data = Path(name).read_bytes()
    is_compressed = data.startswith(_GZIP)
    if is_compressed:
        data = read_guarded(name, gzip.decompress, data)
    written = recognise_encoding(data) if encoding is None else encoding
    if written != UTF8 and not data.startswith(BINARY_STARTS):
        data = Utf8Reader(BytesIO(data), name, written).read(sys.maxsize)
    if not data or data.isspace() or data == _MARK:
        raise ValueError(f"{name} has no rows: the file is empty")
    return FileBytes(name, data, is_compressed, written)


def load_head(path: str, encoding: str | None = None, n_lines: int = 0) -> FileBytes:
    """Read the first 64 KiB of a file, or more if ``n_lines`` lines need more; text comes in UTF-8.

    An encoding that is not given is recognised by its byte order mark.
    """
    with open(path, "rb") as file:
        is_compressed = file.read(len(_GZIP)) == _GZIP
    written = encoding
    if written is None:
        with closing(open_bytes(path)) as start:
            written = recognise_encoding(read_guarded(path, start.read, 8))
    with closing(open_bytes(path, written)) as file:
        data = read_guarded(path, file.read, _HEAD_BYTES)
        while data.count(b"\n") < n_lines and (more := read_guarded(path, file.read, len(data))):
            data += more
    return FileBytes(path, data, is_compressed, written)


def is_cut_off(head: FileBytes) -> bool:
    """Return whether a file may continue after its first lines."""
    return len(head.data) >= _HEAD_BYTES


def as_text(data: bytes) -> bytes:
    """Return a text without a byte order mark and with a final line feed."""
    data = data.removeprefix(_MARK)
    return data if data.endswith(b"\n") else data + b"\n"


def open_bytes(path: str, encoding: str = UTF8) -> ByteStream:
    """Open a file for reading: decompressed if it begins like a gzip file, whatever its name, and text in UTF-8."""
    if encoding != UTF8:
        with closing(open_bytes(path)) as start:
            has_text = not read_guarded(path, start.read, 8).startswith(BINARY_STARTS)
        return Utf8Reader(open_bytes(path), path, encoding) if has_text else open_bytes(path)
    with open(path, "rb") as file:
        is_compressed = file.read(len(_GZIP)) == _GZIP
    return gzip.open(path, "rb") if is_compressed else open(path, "rb")


def read_line_blocks(file: ByteStream, path: str, start: int, size: int) -> Iterator[bytes]:
    """Yield a text from byte ``start`` on (behind a byte order mark) in blocks of whole lines of about ``size`` bytes.

    Longer lines make longer blocks.
    """
    head = read_guarded(path, file.read, start + len(_MARK))
    data = b"" if head.startswith(_MARK) else head[start:]
    data += read_guarded(path, file.read, size)
    parts: list[bytes] = []
    while data:
        cut = data.rfind(b"\n") + 1
        parts.append(data[:cut] if cut else data)
        if cut:
            yield b"".join(parts)
            parts = [data[cut:]]
        data = read_guarded(path, file.read, size)
    if rest := b"".join(parts):
        yield rest + b"\n"


def read_guarded(path: str, read: Callable[[A], T], argument: A) -> T:
    """Call ``read(argument)``; raise an OSError that names the file if the gzip data are damaged."""
    try:
        return read(argument)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        message = f"{path}: the gzip file is damaged or ends too early ({error}): copy or download it again"
        raise OSError(message) from None


def line_and_column(data: bytes, place: int) -> tuple[int, int]:
    """Return line and column of a byte position in a text, both counted from one."""
    start = data.rfind(b"\n", 0, place) + 1
    return data.count(b"\n", 0, place) + 1, len(data[start:place].decode(errors="replace")) + 1
