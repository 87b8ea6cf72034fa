"""Any function of the contingency table: an exact scan of all tables that skips blocks which cannot win.

The grid of tables is divided into square blocks. Within a block the objective is at most the largest loss of the block
plus the largest score part of its rows and of its columns, so blocks are visited from the most promising bound on and
the scan stops when no bound exceeds the best table found. The largest loss of a block lies in its corner if the
measure is monotone (more true positives never hurt, more false positives never help); otherwise all losses are
evaluated once, when the oracle is made.

Sample weights: if all are whole numbers, a row is that many copies with labels of their own. Otherwise rows are kept
whole: nothing is known of the function between the tables of whole rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricwise.measures.base import CountsTable
from metricwise.oracles.base import Classes, Cut, CutLabelling, Floats, cut_after

_SMALLEST_BLOCK = 16
_BLOCKS_AN_AXIS = 1500
_BLOCKS_AT_ONCE = 32
_MOST_COPIES = 5_000_000


class GenericOracle:
    """Exact for every function of (tp, fp, fn, tn)."""

    def __init__(self, measure: CountsTable, monotone: bool, classes: Classes, mistakes: float) -> None:
        self._measure, self._monotone = measure, monotone
        self.classes = classes
        self.mistakes = mistakes
        self.n_pos, self.n_neg = classes.pos_weight, classes.neg_weight
        # Copies put the tables on a fixed grid, whatever the order of the rows.
        self._copies = classes.weighted and classes.whole_weights and self.n_pos + self.n_neg <= _MOST_COPIES
        self._last = (self.n_pos, 0.0)
        self._block_losses: Floats | None = None
        if self._copies or not classes.weighted:
            self._block_losses = self._largest_losses(np.arange(self.n_pos + 1.0), np.arange(self.n_neg + 1.0))

    def violate(self, scores: Floats) -> CutLabelling:
        rows, scale = self.classes, 1.0 / self.mistakes
        n_pos = rows.n_pos
        pos, pos_weights = self._sorted(scores[:n_pos], None if rows.weights is None else rows.weights[:n_pos])
        neg, neg_weights = self._sorted(-scores[n_pos:], None if rows.weights is None else rows.weights[n_pos:])
        missed, pos_sum = _prefix(pos, pos_weights)
        F, neg_sum = _prefix(neg, neg_weights)
        T, A, B = self.n_pos - missed[::-1], -scale * pos_sum[::-1], -scale * neg_sum
        value, a, b = self._search(T, A, F, B)
        tp, fp = float(T[a]), float(F[b])
        neg_cut = cut_after(neg, neg_weights, fp)
        return CutLabelling(
            value=value,
            loss=float(self.losses(T[a], F[b])),
            table=(tp, fp),
            pos=cut_after(pos, pos_weights, self.n_pos - tp),
            neg=Cut(-neg_cut.at, neg_cut.share),
            scores=scores,
            classes=rows,
            scale=scale,
        )

    def _sorted(self, keys: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
        if weights is None:
            return np.sort(keys), None
        order = np.argsort(keys)
        if self._copies:
            return np.repeat(keys[order], weights[order].astype(np.int64)), None
        return keys[order], weights[order]

    def losses(self, T: Floats, F: Floats) -> Floats:
        """Return the losses of tables, given by arrays that broadcast."""
        tp, fp = np.broadcast_arrays(T, F)
        return 1.0 - np.asarray(self._measure.value(tp, fp, self.n_pos - tp, self.n_neg - fp), dtype=float)

    def _largest_losses(self, T: Floats, F: Floats) -> Floats:
        """Return the largest loss of every block of tables."""
        a_edges, b_edges = _edges(T.size), _edges(F.size)
        if self._monotone:
            # Few true and many false positives: the first row and the last column of each block.
            last = np.append(b_edges[1:], F.size) - 1
            return self.losses(T[a_edges, None], F[None, last])
        rows = [
            np.maximum.reduceat(self.losses(T[start:stop, None], F[None, :]).max(axis=0), b_edges)
            for start, stop in zip(a_edges, np.append(a_edges[1:], T.size), strict=True)
        ]
        return np.array(rows)

    def _search(self, T: Floats, A: Floats, F: Floats, B: Floats) -> tuple[float, int, int]:
        losses = self._block_losses if self._block_losses is not None else self._largest_losses(T, F)
        a_edges, b_edges = _edges(T.size), _edges(F.size)
        bounds = losses + np.maximum.reduceat(A, a_edges)[:, None] + np.maximum.reduceat(B, b_edges)[None, :]
        grid = _Grid(self, T, A, F, B, _block(T.size), _block(F.size))
        # The winner of the last call is a good guess, and blocks that cannot beat it need not even be sorted.
        near = (np.searchsorted(a_edges, np.searchsorted(T, self._last[0]), "right") - 1) * b_edges.size
        near += np.searchsorted(b_edges, np.searchsorted(F, self._last[1]), "right") - 1
        best = grid.best_of(np.array([min(int(near), bounds.size - 1)]), b_edges.size)
        flat = bounds.ravel()
        rest = np.flatnonzero(flat > best[0])
        rest = rest[np.argsort(-flat[rest])]
        for start in range(0, rest.size, _BLOCKS_AT_ONCE):
            batch = rest[start : start + _BLOCKS_AT_ONCE]
            if flat[batch[0]] <= best[0]:
                break
            best = max(best, grid.best_of(batch, b_edges.size), key=lambda found: found[0])
        self._last = float(T[best[1]]), float(F[best[2]])
        return best


class _Grid:
    """The objective over all tables, evaluated block by block."""

    def __init__(
        self, oracle: GenericOracle, T: Floats, A: Floats, F: Floats, B: Floats, a_block: int, b_block: int
    ) -> None:
        self.oracle, self.T, self.A, self.F, self.B = oracle, T, A, F, B
        self.a_block, self.b_block = a_block, b_block

    def best_of(self, blocks: NDArray[np.int64], blocks_a_row: int) -> tuple[float, int, int]:
        """Return the largest value in some blocks, given by number, and where it is."""
        rows, columns = np.divmod(blocks, blocks_a_row)
        # Blocks at the border repeat its last row and column.
        a = np.minimum(rows[:, None] * self.a_block + np.arange(self.a_block), self.T.size - 1)[:, :, None]
        b = np.minimum(columns[:, None] * self.b_block + np.arange(self.b_block), self.F.size - 1)[:, None, :]
        values = self.oracle.losses(self.T[a], self.F[b]) + self.A[a] + self.B[b]
        block, i, j = np.unravel_index(int(np.argmax(values)), values.shape)
        return float(values[block, i, j]), int(a[block, i, 0]), int(b[block, 0, j])


def _block(size: int) -> int:
    """Return the length of a block along an axis of tables."""
    return max(_SMALLEST_BLOCK, -(-size // _BLOCKS_AN_AXIS))


def _edges(size: int) -> NDArray[np.int64]:
    """Return the first positions of the blocks of an axis."""
    return np.arange(0, size, _block(size))


def _prefix(keys: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return the cumulated weight and the cumulated weighted key, both from nothing on."""
    weight = np.ones(keys.size) if weights is None else weights
    return np.concatenate([[0.0], np.cumsum(weight)]), np.concatenate([[0.0], np.cumsum(weight * keys)])
