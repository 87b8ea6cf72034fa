"""The scores of samples that a model was not trained on, and a watch on whether new scores are like them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.betting import N_BETS, new_stake, payoffs, settle, wealth

_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97)


@stored_fields(version=2)
@dataclass(frozen=True)
class ScoreReference:
    """How many of the scores of some samples are above each of a few cuts.

    Attributes
    ----------
    cuts : array
        Scores, ascending, chosen without looking at the samples.
    n_above : array
        How many samples have a greater score than each cut.
    n_samples : int
        Number of samples.
    columns : array of int or None
        The class or label whose score each cut is on, ascending, where samples have a score for each; None for two
        classes.
    """

    cuts: Floats
    n_above: Floats
    n_samples: int
    columns: Integers | None = None

    @classmethod
    def count(cls, others: Floats, scores: Floats) -> ScoreReference | None:
        """Return how many scores are above cuts between the scores of other samples; None if these are all equal.

        Examples
        --------
        >>> found = ScoreReference.count(np.arange(100.0), np.arange(50.0))
        >>> found.cuts.tolist(), found.n_above.tolist()
        ([9.5, 24.5, 49.5, 74.5, 89.5, 96.5], [40.0, 25.0, 0.0, 0.0, 0.0, 0.0])
        """
        if others.ndim == 2:
            return cls._count_columns(others, scores)
        different, counts = np.unique(others[np.isfinite(others)], return_counts=True)
        if different.size < 2:
            return None
        shares = np.cumsum(counts)[:-1] / counts.sum()
        # Between two scores, so that rounding errors cannot move a score across a cut.
        below = np.unique(np.minimum(np.searchsorted(shares, _LEVELS), shares.size - 1))
        cuts = 0.5 * (different[below] + different[below + 1])
        above = np.count_nonzero(scores[:, None] > cuts, axis=0).astype(np.float64)
        return cls(cuts, above, scores.size)

    @classmethod
    def _count_columns(cls, others: Floats, scores: Floats) -> ScoreReference | None:
        """Return how many scores of each class or label are above cuts of its own."""
        found = [(k, cls.count(*pair)) for k, pair in enumerate(zip(others.T, scores.T, strict=True))]
        parts = [(k, one) for k, one in found if one is not None]
        if not parts:
            return None
        cuts, above = (np.concatenate([getattr(one, name) for _, one in parts]) for name in ("cuts", "n_above"))
        columns = np.repeat([k for k, _ in parts], [one.cuts.size for _, one in parts])
        return cls(cuts, above, len(scores), columns.astype(np.int64))

    def exceeded_by(self, scores: Floats) -> Mask:
        """Return which cuts the score, or scores, of one sample are above."""
        above: Mask = (scores if self.columns is None else scores[self.columns]) > self.cuts
        return above

    def shift(self, thresholds: Any) -> ScoreReference:
        """Return the reference of scores from which thresholds, one or one per class or label, are subtracted."""
        own = thresholds if self.columns is None else np.asarray(thresholds)[self.columns]
        return replace(self, cuts=self.cuts - own)

    def limits(self, alpha: float) -> tuple[Floats, Floats]:
        """Return limits of the shares above all cuts that hold together with probability 1 - alpha."""
        each = alpha / (2.0 * self.cuts.size)
        above, below = self.n_above, self.n_samples - self.n_above
        low = np.where(above > 0, betaincinv(np.maximum(above, 1.0), below + 1.0, each), 0.0)
        high = np.where(below > 0, betaincinv(above + 1.0, np.maximum(below, 1.0), 1.0 - each), 1.0)
        return low, high


@stored_fields(version=1)
@dataclass
class ScoreWatch:
    """A test of whether new scores are distributed like those of a reference; false with probability at most alpha.

    Half of alpha is the probability that the reference misleads: that a share of scores above a cut is outside its
    limits. The other half is that of bets against these limits, two per cut, whose average wealth is watched.

    Attributes
    ----------
    reference : ScoreReference
        The reference; its cuts are on the scores that are given later.
    alpha : float
        Probability of a false warning.
    stakes : array
        Stakes of the bets.
    n_seen : int
        Number of scores so far.
    warning_at : int or None
        How many scores had been seen when the warning was given.
    """

    reference: ScoreReference
    alpha: float
    stakes: Floats
    n_seen: int = 0
    warning_at: int | None = None

    @classmethod
    def start(cls, reference: ScoreReference, alpha: float) -> ScoreWatch:
        """Return a watch that has seen no scores."""
        return cls(reference, alpha, np.zeros((2 * reference.cuts.size, N_BETS)))

    @cached_property
    def _payoffs(self) -> Floats:
        """What the bets that too few, and that too many, scores are above each cut multiply their stakes by."""
        low, high = self.reference.limits(self.alpha / 2.0)
        required = np.concatenate([low, 1.0 - high]).tolist()
        return np.stack([payoffs(one) for one in required], axis=1)

    @property
    def wealth(self) -> float:
        """The average wealth of the bets."""
        return float(np.mean(wealth(self.stakes, self.n_seen)))

    def update(self, scores: Floats) -> None:
        """Bet on the scores of samples, in their order."""
        failed, kept = self._payoffs
        for own in scores:
            is_above = self.reference.exceeded_by(own)
            bets = np.concatenate([is_above, ~is_above])[:, None]
            self.stakes = settle(self.stakes, new_stake(self.n_seen), np.where(bets, kept, failed))
            self.n_seen += 1
            if self.warning_at is None and self.wealth >= 2.0 / self.alpha:
                self.warning_at = self.n_seen
