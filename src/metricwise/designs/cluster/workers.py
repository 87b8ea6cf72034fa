"""What the workers of a Dask cluster do: make chunks ready once, then multiply with them where they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.base import make_design
from metricwise.designs.cluster.numbers import FewValues, by_entries, in_full, n_bytes
from metricwise.designs.finite import first_not_finite


class ChunkFacts(NamedTuple):
    """What the coordinator knows of a chunk."""

    n_samples: int
    n_features: int
    dtype: str
    is_sparse: bool
    n_bytes: int


class Timed(NamedTuple):
    """Answers of a worker, one a chunk, and the seconds it took to find them."""

    answers: list[Any]
    seconds: float


def prepared(block: Any, number: int) -> Any:
    """Return a chunk as products take it: an array of numbers or a CSR matrix, all of them finite."""
    if hasattr(block, "columns"):
        _refuse_text(block, number)
        single = all(kind == np.float32 for kind in block.dtypes)
        block = block.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    if sparse.issparse(block):
        block = block.tocsr()
    elif not isinstance(block, np.ndarray):
        raise TypeError(
            f"chunk {number} of X is of type {type(block).__name__}: chunks must be NumPy arrays, CSR matrices of "
            "SciPy or pandas data frames. Convert them with X.map_blocks(...)"
        )
    if block.ndim != 2:
        raise ValueError(f"chunk {number} of X has {block.ndim} dimension(s): samples and features make two")
    if block.dtype.kind not in "fiub":
        raise ValueError(f"chunk {number} of X has entries of type {block.dtype}: convert them to numbers")
    if block.dtype not in (np.float32, np.float64):
        block = block.astype(np.float64)
    if isinstance(block, np.ndarray):
        block = np.ascontiguousarray(
            block
        )  # data frames have columns one behind the other; samples are read in any order
    _refuse_endless(block, number)
    return block


def _refuse_text(frame: Any, number: int) -> None:
    for name, kind in frame.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiub":
            raise ValueError(
                f"column {name!r} of X holds {kind} (chunk {number}), not numbers: encode it as numbers "
                "(OneHotEncoder, OrdinalEncoder) or drop it"
            )


def _refuse_endless(block: Any, number: int) -> None:
    """Raise if a number is missing or infinite."""
    wrong = first_not_finite(block)
    if wrong is not None:
        raise ValueError(
            f"X contains {'NaN' if np.isnan(wrong.value) else 'infinity'} in chunk {number}, sample {wrong.row} of it, "
            f"column {wrong.column}: fill or drop such samples first (X.fillna(...), X.dropna() or "
            "dask.array.nan_to_num(X))"
        )


def facts(block: Any) -> ChunkFacts:
    """Return what the coordinator must know of a prepared chunk."""
    is_sparse = bool(sparse.issparse(block))
    return ChunkFacts(int(block.shape[0]), int(block.shape[1]), str(block.dtype), is_sparse, n_bytes([block]))


class HeldChunks:
    """The chunks of one worker, with all products; lives on the worker.

    Parameters
    ----------
    numbers : sequence of int
        Of the chunks.
    *blocks
        The chunks.
    """

    def __init__(self, numbers: Sequence[int], *blocks: Any) -> None:
        from distributed import get_worker

        threads = int(get_worker().state.nthreads)
        self.blocks = dict(zip(numbers, blocks, strict=True))
        self.designs = {number: make_design(block, threads=threads) for number, block in self.blocks.items()}

    def scores(self, numbers: Sequence[int], w: Floats) -> Timed:
        """Return X w of every chunk."""
        started = time.perf_counter()
        answers = [self.designs[number].scores(w) for number in numbers]
        return Timed(answers, time.perf_counter() - started)

    def combine(self, numbers: Sequence[int], *coefficients: Floats | FewValues) -> Timed:
        """Return X' c of every chunk."""
        started = time.perf_counter()
        answers = [by_entries(self.designs[k].combine(in_full(c))) for k, c in zip(numbers, coefficients, strict=True)]
        return Timed(answers, time.perf_counter() - started)

    def fingerprints(self, numbers: Sequence[int], seed: int) -> Timed:
        """Return the fingerprints of the samples of every chunk."""
        started = time.perf_counter()
        answers: list[Hashes] = [self.designs[number].fingerprints(seed) for number in numbers]
        return Timed(answers, time.perf_counter() - started)

    def gather(self, numbers: Sequence[int], *rows: Indices) -> Timed:
        """Return some samples of every chunk."""
        started = time.perf_counter()
        answers = [self.blocks[number][wanted] for number, wanted in zip(numbers, rows, strict=True)]
        return Timed(answers, time.perf_counter() - started)
