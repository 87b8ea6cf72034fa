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

from metricwise.measures.base import CountsTable
from metricwise.oracles.base import Classes, Cut, CutLabelling, Floats, cut_after

_SMALLEST_BLOCK = 64
_BLOCKS_AN_AXIS = 400
_MOST_COPIES = 5_000_000


class GenericOracle:
    """Exact for every function of (tp, fp, fn, tn)."""

    truth_allowed = True

    def __init__(self, measure: CountsTable, monotone: bool, classes: Classes, mistakes: float) -> None:
        self._measure, self._monotone = measure, monotone
        self.classes = classes
        self.mistakes = mistakes
        self.n_pos, self.n_neg = classes.pos_weight, classes.neg_weight
        # Copies put the tables on a fixed grid, whatever the order of the rows.
        self._copies = classes.weighted and classes.whole_weights and self.n_pos + self.n_neg <= _MOST_COPIES
        self._on_grid = self._copies or not classes.weighted
        self._block_losses: Floats | None = None
        if self._on_grid and not monotone:
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
            loss=float(self._losses(T[a : a + 1], F[b : b + 1])[0, 0]),
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

    def _losses(self, T: Floats, F: Floats) -> Floats:
        """Return the losses of all tables of T x F."""
        tp, fp = T[:, None], F[None, :]
        tp, fp = np.broadcast_arrays(tp, fp)
        return 1.0 - np.asarray(self._measure.value(tp, fp, self.n_pos - tp, self.n_neg - fp), dtype=float)

    def _largest_losses(self, T: Floats, F: Floats) -> Floats:
        """Return the largest loss of every block of tables."""
        a_edges, b_edges = _edges(T.size), _edges(F.size)
        if self._monotone:
            # Few true and many false positives: the first row and the last column of each block.
            last = np.append(b_edges[1:], F.size) - 1
            return self._losses(T[a_edges], F[last])
        rows = [
            np.maximum.reduceat(self._losses(T[start:stop], F).max(axis=0), b_edges)
            for start, stop in zip(a_edges, np.append(a_edges[1:], T.size), strict=True)
        ]
        return np.array(rows)

    def _search(self, T: Floats, A: Floats, F: Floats, B: Floats) -> tuple[float, int, int]:
        losses = self._block_losses if self._block_losses is not None else self._largest_losses(T, F)
        a_edges, b_edges = _edges(T.size), _edges(F.size)
        bounds = losses + np.maximum.reduceat(A, a_edges)[:, None] + np.maximum.reduceat(B, b_edges)[None, :]
        a_stops, b_stops = np.append(a_edges[1:], T.size), np.append(b_edges[1:], F.size)
        best, best_a, best_b = -np.inf, 0, 0
        for flat in np.argsort(-bounds, axis=None):
            i, j = divmod(int(flat), b_edges.size)
            if bounds[i, j] <= best:
                break
            a, b = slice(a_edges[i], a_stops[i]), slice(b_edges[j], b_stops[j])
            values = self._losses(T[a], F[b]) + A[a, None] + B[None, b]
            at = int(np.argmax(values))
            if values.flat[at] > best:
                best = float(values.flat[at])
                best_a, best_b = a_edges[i] + at // values.shape[1], b_edges[j] + at % values.shape[1]
        return best, int(best_a), int(best_b)


def _edges(size: int) -> np.ndarray:
    """Return the first positions of the blocks of an axis."""
    return np.arange(0, size, max(_SMALLEST_BLOCK, -(-size // _BLOCKS_AN_AXIS)))


def _prefix(keys: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return the cumulated weight and the cumulated weighted key, both from nothing on."""
    weight = np.ones(keys.size) if weights is None else weights
    return np.concatenate([[0.0], np.cumsum(weight)]), np.concatenate([[0.0], np.cumsum(weight * keys)])
