"""Memory that samples on disk take."""

from __future__ import annotations

from metricwise.io.blocks import BUFFERS, Layout
from metricwise.memory import format_megabytes

# Measured: Python with its libraries; labels and the like of all samples; and what training of a linear machine takes
# for them (labels, weights, scores, and buffers of the oracles' sorts).
LIBRARIES = 320 * 10**6
_BYTES_PER_ROW = 30
_BYTES_PER_TRAINED_ROW = 220


def count_bytes_per_row(memory_limit: int, n_rows: int) -> int:
    """Return the bytes per row that are kept free: for training, unless the limit is too small for that anyway.

    Examples
    --------
    >>> count_bytes_per_row(10**9, 10**6), count_bytes_per_row(10**9, 10**7)
    (220, 30)
    """
    can_train = memory_limit >= LIBRARIES + _BYTES_PER_TRAINED_ROW * n_rows
    return _BYTES_PER_TRAINED_ROW if can_train else _BYTES_PER_ROW


def count_needed(layout: Layout, bytes_per_row: int) -> int:
    """Return the bytes that are needed beside samples brought into memory."""
    return int(LIBRARIES + bytes_per_row * layout.shape[0] + 2 * BUFFERS * layout.block_bytes)


def check_memory(path: str, layout: Layout, memory_limit: int, *, is_training: bool) -> None:
    """Raise a ValueError if a memory limit is too small to open a file or to train a linear machine on all samples."""
    bytes_per_row = _BYTES_PER_TRAINED_ROW if is_training else _BYTES_PER_ROW
    needed = count_needed(layout, bytes_per_row)
    if memory_limit < needed:
        what = "training takes" if is_training else "labels and the like take"
        raise ValueError(
            f"memory_limit={format_megabytes(memory_limit)} is too little for the {layout.shape[0]} rows of {path}: "
            f"Python with its libraries takes {format_megabytes(LIBRARIES)}, and {what} {bytes_per_row} bytes per row, "
            f"however wide. Give at least memory_limit={format_megabytes(needed)!r}"
        )
