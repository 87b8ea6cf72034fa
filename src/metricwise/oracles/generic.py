"""Any function of the contingency table: an exact scan of all tables that skips blocks which cannot win.

The grid of tables is divided into square blocks. Within a block the objective is at most the largest loss of the block
plus the largest score part of its rows and of its columns, so blocks are visited from the most promising bound on
and the scan stops when no bound exceeds the best table found. The largest loss of a block lies in its corner if the
measure is monotone (more true positives never hurt, more false positives never help); otherwise all losses are
evaluated once, when the oracle is made.

Sample weights: a sample is divided into pieces of one size per class, each with a label of its own. If all weights of a
class are whole numbers, a piece is a copy; if all are equal, a piece is a sample; otherwise weights are rounded to
sixteenths of their mean, and the oracle is exact for the rounded weights. Pieces put the tables on a fixed grid,
whatever the order of the samples, and make the slack a maximum over labellings that do not depend on the scores, as it
must be to be convex.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.measures.base import CountsTable
from metricwise.oracles.base import Classes, CutLabelling, cut_after
from metricwise.oracles.contingency import widen_tables
from metricwise.rounding import STEPS, gamma

_SMALLEST_BLOCK = 16
_BLOCKS_PER_AXIS = 1500
_BLOCKS_AT_ONCE = 32
_MOST_COPIES = 5_000_000
_PIECES_PER_SAMPLE = 16


class GenericOracle:
    """The oracle of any function of (tp, fp, fn, tn), by an exact scan."""

    def __init__(self, measure: CountsTable, monotone: bool, classes: Classes, mistakes: float) -> None:
        self._measure, self._monotone = measure, monotone
        self.mistakes = mistakes
        n_pos = classes.n_pos
        weights = classes.weights
        self._pos_pieces, self._pos_unit = split_into_pieces(None if weights is None else weights[:n_pos], n_pos)
        self._neg_pieces, self._neg_unit = split_into_pieces(
            None if weights is None else weights[n_pos:], classes.n_neg
        )
        if weights is not None:
            pieces = np.concatenate([self._pos_pieces * self._pos_unit, self._neg_pieces * self._neg_unit])
            classes = replace(classes, weights=pieces)
        self.classes = classes
        self._T = self._pos_unit * np.arange(self._pos_pieces.sum() + 1.0)
        self._F = self._neg_unit * np.arange(self._neg_pieces.sum() + 1.0)
        self.n_pos, self.n_neg = float(self._T[-1]), float(self._F[-1])
        self._last = (self.n_pos, 0.0)
        self._table_errors = (0.0, 0.0)
        if monotone:
            self._table_errors = (
                _multiple_error(self._pos_unit, self.n_pos),
                _multiple_error(self._neg_unit, self.n_neg),
            )
        self._block_losses = self._largest_losses(self._T, self._F)

    def exact(self) -> Self:
        """Return the oracle whose value bounds the slack for the exact tables, if the measure is monotone.

        Multiples of a piece that is not a whole number are rounded, and the loss is evaluated where it is largest
        within these errors. Nothing is known of the slope of a measure that does not declare itself monotone.
        """
        if not any(self._table_errors):
            return self
        oracle = copy(self)
        oracle._T, oracle._F = widen_tables(self._T, self._F, self._table_errors)
        oracle._block_losses = oracle._largest_losses(oracle._T, oracle._F)
        return oracle

    def violate(self, scores: Floats) -> CutLabelling:
        classes, scale, n_pos = self.classes, 1.0 / self.mistakes, self.classes.n_pos
        pos, pos_sums = _sort_pieces(scores[:n_pos], self._pos_pieces)
        neg, neg_sums = _sort_pieces(-scores[n_pos:], self._neg_pieces)
        A = -scale * self._pos_unit * pos_sums[::-1]
        B = -scale * self._neg_unit * neg_sums
        value, a, b = self._search(self._T, A, self._F, B)
        tp, fp = float(self._T[a]), float(self._F[b])
        return CutLabelling(
            value=value,
            loss=self._least_loss(tp, fp),
            table=(tp, fp),
            pos=cut_after(pos, None, pos.size - a),
            neg=cut_after(neg, None, b).negate(),
            scores=scores,
            classes=classes,
            scale=scale,
        )

    def _least_loss(self, tp: float, fp: float) -> float:
        """Return the least loss of a table within its errors; that of all or nothing has none."""
        more = min(tp + self._table_errors[0], self.n_pos) if tp > 0.0 else tp
        fewer = max(fp - self._table_errors[1], 0.0) if fp < self.n_neg else fp
        return float(self.losses(more, fewer))

    def losses(self, T: Any, F: Any) -> Any:
        """Return the losses of tables, given by arrays that broadcast."""
        tp, fp = np.broadcast_arrays(T, F)
        return 1.0 - np.asarray(self._measure.value(tp, fp, self.n_pos - tp, self.n_neg - fp), dtype=float)

    def _largest_losses(self, T: Floats, F: Floats) -> Floats:
        """Return the largest loss of every block of tables."""
        a_edges, b_edges = _edges(T.size), _edges(F.size)
        if self._monotone:
            # Few true and many false positives: the first row and the last column of each block.
            last = np.append(b_edges[1:], F.size) - 1
            corners: Floats = self.losses(T[a_edges, None], F[None, last])
            return corners
        rows = [
            np.maximum.reduceat(self.losses(T[start:stop, None], F[None, :]).max(axis=0), b_edges)
            for start, stop in zip(a_edges, np.append(a_edges[1:], T.size), strict=True)
        ]
        return np.array(rows)

    def _search(self, T: Floats, A: Floats, F: Floats, B: Floats) -> tuple[float, int, int]:
        a_edges, b_edges = _edges(T.size), _edges(F.size)
        bounds = (
            self._block_losses + np.maximum.reduceat(A, a_edges)[:, None] + np.maximum.reduceat(B, b_edges)[None, :]
        )
        grid = _Grid(self, T, A, F, B, _block(T.size), _block(F.size))
        # The best table of the last call is a good guess, and blocks that cannot beat it need not even be sorted.
        near = (np.searchsorted(a_edges, np.searchsorted(T, self._last[0]), "right") - 1) * b_edges.size
        near += np.searchsorted(b_edges, np.searchsorted(F, self._last[1]), "right") - 1
        best = grid.find_best(np.array([min(int(near), bounds.size - 1)]), b_edges.size)
        flat = bounds.ravel()
        rest = np.flatnonzero(flat > best[0])
        rest = rest[np.argsort(-flat[rest])]
        for start in range(0, rest.size, _BLOCKS_AT_ONCE):
            batch = rest[start : start + _BLOCKS_AT_ONCE]
            if flat[batch[0]] <= best[0]:
                break
            best = max(best, grid.find_best(batch, b_edges.size), key=lambda candidate: candidate[0])
        self._last = float(T[best[1]]), float(F[best[2]])
        return best


class _Grid:
    """The objective over all tables, evaluated block by block."""

    def __init__(
        self, oracle: GenericOracle, T: Floats, A: Floats, F: Floats, B: Floats, a_block: int, b_block: int
    ) -> None:
        self.oracle, self.T, self.A, self.F, self.B = oracle, T, A, F, B
        self.a_block, self.b_block = a_block, b_block

    def find_best(self, blocks: NDArray[np.int64], blocks_per_row: int) -> tuple[float, int, int]:
        """Return the largest value in some blocks, given by their indices, and its position."""
        rows, columns = np.divmod(blocks, blocks_per_row)
        # Blocks at the border repeat its last row and column.
        a = np.minimum(rows[:, None] * self.a_block + np.arange(self.a_block), self.T.size - 1)[:, :, None]
        b = np.minimum(columns[:, None] * self.b_block + np.arange(self.b_block), self.F.size - 1)[:, None, :]
        values = self.oracle.losses(self.T[a], self.F[b]) + self.A[a] + self.B[b]
        block, i, j = np.unravel_index(int(np.argmax(values)), values.shape)
        return float(values[block, i, j]), int(a[block, i, 0]), int(b[block, 0, j])


def _block(size: int) -> int:
    """Return the length of a block along an axis of tables."""
    return max(_SMALLEST_BLOCK, -(-size // _BLOCKS_PER_AXIS))


def _edges(size: int) -> NDArray[np.int64]:
    """Return the first positions of the blocks of an axis."""
    return np.arange(0, size, _block(size))


def split_into_pieces(weights: Floats | None, n_samples: int) -> tuple[NDArray[np.int64], float]:
    """Return the number of pieces of every sample of a class, and the weight of a piece."""
    if weights is None:
        return np.ones(n_samples, dtype=np.int64), 1.0
    if np.all(weights == np.floor(weights)) and weights.sum() <= _MOST_COPIES:
        unit = 1.0
    elif np.all(weights == weights[0]):
        unit = float(weights[0])
    else:
        unit = float(weights.mean()) / _PIECES_PER_SAMPLE
    return np.maximum(np.rint(weights / unit), 1.0).astype(np.int64), unit


def _multiple_error(unit: float, total: float) -> float:
    """Return by how much the multiples of a unit up to ``total`` may differ from the exact ones."""
    return 0.0 if unit == np.floor(unit) else gamma(STEPS) * total


def _sort_pieces(keys: Floats, pieces: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the keys of all pieces in ascending order, and their cumulated sums, starting with zero.

    Pieces of a sample are multiplied rather than added up, so that rounding errors grow with the samples alone.
    """
    order = np.argsort(keys)
    keys, pieces = keys[order], pieces[order]
    before = np.concatenate([[0.0], np.cumsum(pieces * keys)[:-1]])
    repeated: Floats = np.repeat(keys, pieces)
    own = np.arange(1.0, repeated.size + 1.0) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return repeated, np.concatenate([[0.0], np.repeat(before, pieces) + own * repeated])
