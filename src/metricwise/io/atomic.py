"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PARTIAL = ".partial"  # how the names of unfinished files end


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing and reading that takes its name once it is complete and on disk.

    Until then, and after any error, an existing file at the path stays unchanged.

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
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}{PARTIAL}"
    try:
        with temporary.open("x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
