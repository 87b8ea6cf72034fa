"""Files that are written as a whole or not at all.

An unfinished file has the name of its target with a dot before and ``.partial`` after it. Its writer holds a lock on
it, which ends with the process: one that nobody holds is left over from an interrupted writer, and the next writer of
the same target removes it. On a file system without locks, unfinished files of interrupted writers stay.

A symbolic link stays, and the file that it points to is replaced. The new file has the permissions of the one it
replaces. A device or a named pipe is never replaced, nor is a file that is open already and given by its descriptor,
as /dev/stdout.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed: there the removal itself shows who writes
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".partial"  # how the names of unfinished files end
_RANDOM_BYTES = 8  # in their names
_DIGEST_DIGITS = 16  # in the names of unfinished files whose target has a long name
_MOST_NAME_BYTES = 255  # of a file name, on nearly all file systems
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # the last on Windows alone
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC), None)  # None: from numpy, about the same
_DESCRIPTORS = re.compile(r"/proc/[^/]+(/task/[^/]+)?/fd|/dev/fd")  # folders of the open files of processes
_MOST_LINKS = 40  # that are followed, as Linux does
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)  # some network file systems


def remove_abandoned(path: Path) -> None:
    """Remove what interrupted writers of a target left; files that others are writing stay."""
    target = _follow_link(path)
    pattern = glob.escape(f".{_shorten_name(target.name)}.") + "[0-9a-f]" * (2 * _RANDOM_BYTES) + PARTIAL
    for name in glob.iglob(pattern, root_dir=target.parent):
        with suppress(OSError):
            _remove_unless_locked(target.parent / name)


def _remove_unless_locked(unfinished: Path) -> None:
    if fcntl is None:
        unfinished.unlink()
        return
    with unfinished.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if its writer is alive
        unfinished.unlink()


def _follow_link(path: Path) -> Path:
    """Return the file that a symbolic link points to, whether it exists or not; any other path as it is."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _shorten_name(name: str) -> str:
    """Return a name to which the rest of the name of an unfinished file can be added; most names as they are."""
    encoded = os.fsencode(name)
    room = _MOST_NAME_BYTES - len(f"..{'0' * (2 * _RANDOM_BYTES)}{PARTIAL}")
    if len(encoded) <= room:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST_DIGITS]
    return encoded[: room - _DIGEST_DIGITS].decode(errors="ignore") + digest


def _find_descriptor(path: Path) -> Path | None:
    """Return the descriptor of an open file that a path leads to, such as /dev/stdout; None if it leads to another."""
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if _DESCRIPTORS.fullmatch(folder):
            return Path(folder, path.name)
        if not path.is_symlink():
            return None
        path = Path(folder, os.readlink(path))
    return None


def _open_in_place(path: Path) -> BinaryIO:
    """Open a device, a pipe or the open file of a descriptor for writing; nothing in a file is overwritten."""
    descriptor = _find_descriptor(path)
    if descriptor is None:
        return open(path, "wb")
    if descriptor.parent == Path(os.path.realpath("/proc/self/fd")):
        return os.fdopen(os.dup(int(descriptor.name)), "wb")  # what the process prints to it later comes behind
    return open(path, "ab")


class _Target(NamedTuple):
    """Where a file is written, the status of what is there, None if nothing is, and whether it is written in place.

    A device, a pipe and the open file of a descriptor are not replaced.
    """

    path: Path
    found: os.stat_result | None
    is_special: bool


def _locate(path: Path, sequential: bool) -> _Target:
    """Return where a file is written; raise an OSError if no file can be written there."""
    check_folder(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        found = None
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"{str(path)!r} is a directory: give the path of a file")
    if found is not None and stat.S_ISSOCK(found.st_mode):
        raise OSError(f"{str(path)!r} is a socket: give the path of a file")
    if found is None and _find_descriptor(path):
        raise FileNotFoundError(f"{str(path)!r} is no open file of this process: give the path of a file")
    if found is not None and (not stat.S_ISREG(found.st_mode) or _find_descriptor(path)):
        if not sequential:
            kind = "an open file" if stat.S_ISREG(found.st_mode) else "a device or a pipe"
            raise OSError(
                f"{str(path)!r} is {kind}, and this file is not written from start to end: give the path of a regular "
                "file"
            )
        return _Target(path, found, is_special=True)
    target = _follow_link(path)
    check_folder(target)
    return _Target(target, found, is_special=False)


def check_writable(path: Path, *, sequential: bool = False) -> None:
    """Raise an OSError, before the content is computed, if `atomic_file` cannot write to a path.

    Parameters
    ----------
    path : Path
        The file to be written.
    sequential : bool
        As `atomic_file` gets it: whether a device, a pipe or a descriptor will do.

    Examples
    --------
    >>> check_writable(Path("."))
    Traceback (most recent call last):
        ...
    IsADirectoryError: '.' is a directory: give the path of a file
    """
    target = _locate(path, sequential)
    if target.is_special:  # opening a pipe would wait for its reader
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    temporary, file = _create(target)
    with file:
        if fcntl is not None:
            temporary.unlink()  # while it is locked: no other writer takes it for abandoned
    temporary.unlink(missing_ok=True)


def _create(target: _Target) -> tuple[Path, BinaryIO]:
    """Return a new unfinished file of a target, locked where the file system has locks."""
    path = target.path
    # Nobody else reads the new content of a file before it has the permissions of the old one.
    mode = 0o666 if target.found is None else stat.S_IRUSR | stat.S_IWUSR
    while True:
        temporary = path.parent / f".{_shorten_name(path.name)}.{secrets.token_hex(_RANDOM_BYTES)}{PARTIAL}"
        file = os.fdopen(os.open(temporary, _NEW, mode), "w+b")
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


def _keep_permissions(file: BinaryIO, found: os.stat_result) -> None:
    """Give a file the permissions of the one that it replaces and, where this user may, its owner and group."""
    handle = file.fileno()
    for user, group in ((found.st_uid, -1), (-1, found.st_gid)):
        with suppress(OSError):
            os.fchown(handle, user, group)
    with suppress(OSError):  # some file systems have no permissions of their own
        os.fchmod(handle, found.st_mode & (stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO))


def _lock(file: BinaryIO) -> None:
    """Lock a file, where the file system has locks; without them no writer takes a file for abandoned."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


@contextmanager
def atomic_file(path: Path, *, sequential: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing and reading that takes its name once it is complete and on disk.

    Until then, and after any error, an existing file at the path stays unchanged. What interrupted writers of the same
    path have left is removed first.

    Parameters
    ----------
    path : Path
        The file. Behind a symbolic link, the file that it points to is replaced; the new one has the permissions of
        the old one.
    sequential : bool
        Whether the content is written from start to end, and not read. A device, a pipe or an open file, given by its
        descriptor, at the path then takes it, behind what an open file holds; else that is an error.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    OSError
        If there is no room for the file, or no file can be at the path.

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
    target = _locate(path, sequential)
    if target.is_special:
        with name_full_disk(path), _open_in_place(path) as special:
            yield special
        return
    remove_abandoned(target.path)
    temporary, file = _create(target)
    try:
        with name_full_disk(path), file:
            yield file
            file.flush()
            if fcntl is not None and target.found is not None:
                _keep_permissions(file, target.found)
            os.fsync(file.fileno())
            if fcntl is not None:
                os.replace(temporary, target.path)  # while it is locked: nobody takes it for abandoned
        if fcntl is None:
            os.replace(temporary, target.path)  # Windows renames no open file
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
