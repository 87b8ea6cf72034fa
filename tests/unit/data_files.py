"""Write data files and read streams back as a whole, for the tests of readers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def write_file(folder: Path, content: str | bytes, name: str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def join_chunks(chunks: Iterable[Any]) -> tuple[Any, Any]:
    """Return the samples and the labels of all chunks."""
    blocks, labels = zip(*((chunk.X, chunk.y) for chunk in chunks), strict=True)
    samples = sparse.vstack(blocks) if sparse.issparse(blocks[0]) else np.concatenate(blocks)
    return samples, np.concatenate(labels)
