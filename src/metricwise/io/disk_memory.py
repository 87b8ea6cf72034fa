"""Memory that samples on disk take."""

from __future__ import annotations

from typing import NamedTuple

from metricwise.io.blocks import BUFFERS, Layout
from metricwise.memory import format_megabytes


class VectorBytes(NamedTuple):
    """Bytes of vectors over all samples and all features: per row, per feature, and per feature that has entries."""

    row: int
    feature: int
    used_feature: int
    work: str

    def total(self, shape: tuple[int, int], n_entries: int) -> int:
        """Return the bytes for samples of a shape with some stored entries."""
        return self.row * shape[0] + self.feature * shape[1] + self.used_feature * min(shape[1], n_entries)


# Measured: Python with its libraries; labels and the like of all samples, and what predictions take per feature; and
# what training of a linear machine takes: labels, weights, scores, and buffers of the oracles' sorts; weights and
# gradients; and the coefficients of 25 cutting planes, which are zero for features without entries.
LIBRARIES = 320 * 10**6
_OPENING = VectorBytes(30, 60, 0, "labels and the like take")
_TRAINING = VectorBytes(220, 60, 660, "training takes")


def count_vector_bytes(memory_limit: int, shape: tuple[int, int], n_entries: int) -> int:
    """Return the bytes that are kept free for vectors: for training, unless the limit is too small for that anyway.

    Examples
    --------
    >>> count_vector_bytes(10**9, (10**6, 10), 10**7), count_vector_bytes(10**9, (10**7, 10), 10**8)
    (220007200, 300000600)
    """
    trained = _TRAINING.total(shape, n_entries)
    return trained if memory_limit >= LIBRARIES + trained else _OPENING.total(shape, n_entries)


def count_needed(layout: Layout, vector_bytes: int) -> int:
    """Return the bytes that are needed beside samples brought into memory."""
    return LIBRARIES + vector_bytes + 2 * BUFFERS * layout.block_bytes


def check_memory(path: str, layout: Layout, memory_limit: int, *, is_training: bool) -> None:
    """Raise a ValueError if a memory limit is too small to open a file or to train a linear machine on all samples."""
    vectors = _TRAINING if is_training else _OPENING
    (n_rows, n_features), n_entries = layout.shape, layout.n_entries
    needed = count_needed(layout, vectors.total(layout.shape, n_entries))
    if memory_limit < needed:
        beside_rows = vectors._replace(row=0).total(layout.shape, n_entries)
        is_wide = beside_rows > vectors.row * n_rows
        raise ValueError(
            f"memory_limit={format_megabytes(memory_limit)} is too little for the {n_rows} rows and {n_features} "
            f"features of {path}: Python with its libraries takes {format_megabytes(LIBRARIES)}, and {vectors.work} "
            f"{vectors.row} bytes per row and {format_megabytes(beside_rows)} for the features. "
            + ("If so many features are a mistake, correct the largest index in the file. " if is_wide else "")
            + f"Give at least memory_limit={format_megabytes(needed)!r}"
        )
