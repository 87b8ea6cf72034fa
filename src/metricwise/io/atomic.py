"""Files that are written as a whole or not at all.

An unfinished file has the name of its target with a dot before and ``.partial`` after it. Its writer holds a lock on
it, which ends with the process: one that nobody holds is left over from an interrupted writer, and the next writer of
the same target removes it. On a file system without locks, unfinished files of interrupted writers stay.
"""

from __future__ import annotations

import errno
import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed: there the removal itself shows who writes
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".partial"  # how the names of unfinished files end
_RANDOM_BYTES = 8  # in their names
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC), None)  # None: from numpy, about the same
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)  # some network file systems


def remove_abandoned(path: Path) -> None:
    """Remove what interrupted writers of a target left; files that others are writing stay."""
    pattern = glob.escape(f".{path.name}.") + "[0-9a-f]" * (2 * _RANDOM_BYTES) + PARTIAL
    for name in glob.iglob(pattern, root_dir=path.parent):
        with suppress(OSError):
            _remove_unless_locked(path.parent / name)


def _remove_unless_locked(unfinished: Path) -> None:
    if fcntl is None:
        unfinished.unlink()
        return
    with unfinished.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if its writer is alive
        unfinished.unlink()


def _create(path: Path) -> tuple[Path, BinaryIO]:
    """Return a new unfinished file of a target, locked where the file system has locks."""
    while True:
        temporary = path.parent / f".{path.name}.{secrets.token_hex(_RANDOM_BYTES)}{PARTIAL}"
        file = temporary.open("x+b")
        if fcntl is None:
            return temporary, file
        try:
            _lock(file)
        except BaseException:
            file.close()
            temporary.unlink(missing_ok=True)
            raise
        if temporary.exists():
            return temporary, file
        file.close()  # another writer took it for abandoned before it was locked


def _lock(file: BinaryIO) -> None:
    """Lock a file, where the file system has locks; without them no writer takes a file for abandoned."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing and reading that takes its name once it is complete and on disk.

    Until then, and after any error, an existing file at the path stays unchanged. What interrupted writers of the same
    path have left is removed first.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    OSError
        If there is no room for the file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers"
    >>> with atomic_file(path) as file:
    ...     _ = file.write(b"1 2 3")
    ...     path.exists()
    False
    >>> path.read_bytes()
    b'1 2 3'
    """
    check_folder(path)
    remove_abandoned(path)
    temporary, file = _create(path)
    try:
        with name_full_disk(path), file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                os.replace(temporary, path)  # while it is locked: nobody takes it for abandoned
        if fcntl is None:
            os.replace(temporary, path)  # Windows renames no open file
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def name_full_disk(path: Path) -> Iterator[None]:
    """Name the target in the error of a disk, a quota or a file that is full: the operating system names no file.

    Parameters
    ----------
    path : Path
        What is written.

    Examples
    --------
    >>> with name_full_disk(Path("model.mw")):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
        ...
    OSError: [Errno 28] No space left on device; free some there, or give another path: 'model.mw'
    """
    try:
        yield
    except OSError as error:
        if type(error) is not OSError or error.filename is not None or error.errno not in _NO_ROOM:
            raise
        code = errno.ENOSPC if error.errno is None else error.errno
        raise OSError(code, f"{os.strerror(code)}; free some there, or give another path", str(path)) from error


def check_folder(path: Path) -> None:
    """Raise a FileNotFoundError or NotADirectoryError that names the folder of a file if there is none."""
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(
            f"the folder {str(folder)!r} of {path.name!r} does not exist: create it, or give another path"
        )
    if not folder.is_dir():
        raise NotADirectoryError(f"{str(folder)!r}, where {path.name!r} belongs, is no folder: give another path")
