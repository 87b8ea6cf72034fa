"""What dense and sparse designs share: positions of samples in one matrix, and the virtual constant column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np

from metricwise._typing import Floats, Indices
from metricwise.designs.base import LinearWeights
from metricwise.threads import block_bounds, run_blocks

_MANY_SAMPLES = 5000


class MatrixDesign(LinearWeights, ABC):
    """Some samples of a matrix, in a given order, with ``intercept`` as the value of a constant last column."""

    is_sparse: bool

    def __init__(self, X: Any, rows: Indices, intercept: float, threads: int) -> None:
        self.X = X
        self.rows = rows
        self.intercept = float(intercept)
        self.threads = threads

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), int(self.X.shape[1]) + (self.intercept != 0.0)

    @cached_property
    def order(self) -> Indices:
        """The order in which products read the samples: by their position in memory, if there are many.

        Few samples fit into the cache and are read as listed, so that sums over them depend on the list alone.
        """
        if len(self.rows) < _MANY_SAMPLES:
            return np.arange(len(self.rows))
        return np.argsort(self.rows, kind="stable")  # linear time for a few ascending runs, such as the two classes

    def take(self, rows: Indices) -> Self:
        return type(self)(self.X, self.rows[rows], self.intercept, self.threads)

    @property
    def most_gathered(self) -> int:
        return len(self.rows)

    def gather(self, rows: Indices) -> Self:
        return self.take(rows)

    def scores(self, w: Floats) -> Floats:
        weights, offset = self._split(w)
        return self._scores(weights, offset)

    def combine(self, c: Floats) -> Floats:
        out = np.zeros(self.shape[1])
        self._combine(np.ascontiguousarray(c, dtype=np.float64), out[: self.X.shape[1]])
        if self.intercept != 0.0:
            out[-1] = self.intercept * c.sum()
        return out

    def scores_by(self, model: Floats) -> Floats:
        return self.scores(model)

    def _split(self, w: Floats) -> tuple[Floats, float]:
        """Return the weights of the real columns and what the constant column adds to every score."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        if self.intercept == 0.0:
            return w, 0.0
        return w[:-1], self.intercept * float(w[-1])

    def _sum_blocks(self, task: Any, out: Floats, work: float) -> None:
        """Run task(start, stop, out) on blocks of samples with an accumulator each, and add these up in order."""
        bounds = block_bounds(len(self.rows), work)
        if len(bounds) == 1:
            task(0, len(self.rows), out)
            return
        parts = np.zeros((len(bounds), out.size))
        run_blocks(lambda block, start, stop: task(start, stop, parts[block]), bounds, self.threads)
        np.sum(parts, axis=0, out=out)

    def _run(self, task: Any, size: int, work: float) -> None:
        run_blocks(lambda _, start, stop: task(start, stop), block_bounds(size, work), self.threads)

    @abstractmethod
    def _scores(self, w: Floats, offset: float) -> Floats: ...

    @abstractmethod
    def _combine(self, c: Floats, out: Floats) -> None: ...
