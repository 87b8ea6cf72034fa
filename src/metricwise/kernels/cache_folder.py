"""Find a folder for compiled functions where neither the package nor the home directory can be written to.

numba keeps compiled functions beside their source or in the user's cache folder. Where it can write to neither, as in a
container with a read-only file system and without a home, it refuses to compile. It does not read a folder that it
cannot write to either, so functions that were compiled when an image was built have to be copied to one that it can.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import stat
import tempfile
from pathlib import Path

_LOG = logging.getLogger("metricwise")
_VARIABLE = "NUMBA_CACHE_DIR"
_SHARED_MEMORY = "/dev/shm"  # writable in most containers whose file system is read-only
_INDEX, _CODE = ".nbi", ".nbc"  # the files of numba's cache


def ensure_cache_folder() -> None:
    """Make numba keep the compiled functions of this package in a folder that can be written to.

    Nothing changes where numba finds one itself. If that is the user's cache folder, functions that were compiled
    beside the source before are copied to it.
    """
    package = Path(__file__).parent
    beside_source = package / "__pycache__"
    given = os.environ.get(_VARIABLE, "")
    if not given and os.access(beside_source if beside_source.is_dir() else package, os.W_OK):
        return  # the usual case, without loading numba
    import numba

    if numba.config.DISABLE_JIT:
        return
    folder = find_numba_folder()
    if folder is not None:
        if not given:  # a folder that the user has named stays as it is
            _copy_compiled(beside_source, folder)
        return
    chosen = _make_temporary_folder()
    # The variable is for the processes that this one starts.
    os.environ[_VARIABLE] = numba.config.CACHE_DIR = str(chosen)
    folder = find_numba_folder()
    if folder is None:
        raise _no_folder_error(f"{chosen} is full or read-only")
    _copy_compiled(beside_source, folder)
    if given:
        _copy_compiled(Path(given) / folder.name, folder)
    is_warm = any(folder.glob(f"*{_INDEX}"))
    remedy = f"run `metricwise warm-up` when the image is built, or set {_VARIABLE} to a folder that is kept"
    _LOG.warning(
        "compiled functions are kept in %s, as neither %s nor the home directory can be written to%s",
        chosen,
        given or package,
        "" if is_warm else f"; to compile them only once, {remedy}",
    )


def _probe() -> None:
    """Stand for the compiled functions of this folder."""


def find_numba_folder() -> Path | None:
    """Return the folder in which numba keeps the compiled functions of this package; None if it has none."""
    import numba

    if numba.config.DISABLE_JIT:
        return None
    try:
        return Path(numba.njit(cache=True)(_probe).stats.cache_path)
    except RuntimeError:  # "no locator available"
        return None


def _make_temporary_folder() -> Path:
    """Return a folder that no other user can write to, the same one for all processes of this user if possible.

    Compiled functions are executed: a folder that another user has prepared would run that user's code as this one.
    """
    try:
        parent = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        if not os.access(_SHARED_MEMORY, os.W_OK):
            raise _no_folder_error(str(error)) from error
        parent = Path(_SHARED_MEMORY)
    user = os.geteuid() if hasattr(os, "geteuid") else 0  # on Windows, every user has temporary files of their own
    folder = parent / f"metricwise-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:  # such as a file of this name
        found = None
    is_own = found is not None and stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    if is_own and not _lets_others_rename(parent):
        return folder
    private = Path(tempfile.mkdtemp(prefix="metricwise-", dir=parent))
    atexit.register(_remove_own_folder, private, os.getpid())
    return private


def _lets_others_rename(folder: Path) -> bool:
    """Return whether other users may exchange a folder in this one for theirs: the sticky bit prevents it."""
    mode = folder.stat().st_mode
    return bool(mode & 0o022) and not mode & stat.S_ISVTX


def _remove_own_folder(folder: Path, owner: int) -> None:
    """Remove a folder at the end of the process that has made it; processes forked from it end earlier."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _no_folder_error(reason: str) -> OSError:
    return OSError(
        "metricwise compiles functions on first use and finds no folder to keep them in: the folder of the package, "
        f"the home directory and temporary folders cannot be written to ({reason}). Set {_VARIABLE} to a folder that "
        "can be written to, or mount one at /tmp"
    )


def _copy_compiled(source: Path, folder: Path) -> None:
    """Copy compiled functions to a folder, unless it has them; those compiled there later are newer and stay."""
    if source == folder or not os.access(source, os.R_OK | os.X_OK):
        return
    try:
        _copy_newer(source, folder)
    except OSError as error:  # such as a full disk: what is missing is compiled again
        _LOG.warning("not all compiled functions could be copied from %s to %s (%s)", source, folder, error)


def _copy_newer(source: Path, folder: Path) -> None:
    for index in sorted(source.glob(f"*{_INDEX}")):
        copy = folder / index.name
        if copy.exists() and copy.stat().st_mtime >= index.stat().st_mtime:
            continue
        for code in source.glob(f"{index.stem}.*{_CODE}"):
            _copy_atomically(code, folder / code.name)
        _copy_atomically(index, copy)  # last, as it names the others


def _copy_atomically(source: Path, target: Path) -> None:
    """Copy a file with its time, so that no other process sees a part of it."""
    handle, name = tempfile.mkstemp(dir=target.parent)
    os.close(handle)
    try:
        shutil.copy2(source, name)
        os.replace(name, target)
    except OSError:
        os.unlink(name)
        raise
