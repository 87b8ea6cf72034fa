"""Write data files and read streams back as a whole, for the tests of readers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from metricwise.io import MalformedLineError, stream


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


def assert_line_5_is_malformed(path: Path, column: int, message: str, **options: Any) -> Any:
    """Check that the third row of a stream raises with its location or can be skipped; return the skipping stream."""
    chunks = iter(stream(path, chunk_rows=1, **options))
    assert [next(chunks).first_row, next(chunks).first_row] == [0, 1]
    with pytest.raises(MalformedLineError) as raised:
        next(chunks)
    error = raised.value
    assert (error.path, error.line, error.column) == (str(path), 5, column)
    assert str(error).startswith(f"{path}, line 5, column {column}: ")
    assert message in str(error)
    skipping = stream(path, chunk_rows=1, on_error="skip", **options)
    with pytest.warns(UserWarning, match="1 malformed line was left out; the first: .*line 5, column"):
        assert len(list(skipping)) == 3
    assert [f"{line}; on_error='skip' leaves out such lines" for line in skipping.skipped_lines] == [str(error)]
    return skipping
