"""A candidate with its results and times so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Indices
from metricwise.decisions.decision import Calibration
from metricwise.decisions.learning_curve import Curve
from metricwise.estimators.selection.candidates.candidate import Candidate

_FIXED_COST = 1000.0  # samples that take as long as what is done however few they are


class Difference(NamedTuple):
    """By how much the measure differs from that of a rival on the same samples, with the 90 % of resamples."""

    rival: str
    value: float
    interval: tuple[float, float]


@dataclass(eq=False)
class CandidateRun:
    """A candidate with its results so far; ``why_dropped`` is empty for finalists.

    ``value`` is the measure of the out-of-fold samples of the last rung that the candidate reached, which has
    ``n_samples`` samples and ``n_folds`` folds; ``difference`` compares it with a better candidate of that rung.
    """

    candidate: Candidate
    n_samples: int = 0
    n_folds: int = 0
    value: float = float("nan")
    is_cost: bool = False  # whether value and interval are those of a cost, as users see it
    interval: tuple[float, float] = (float("nan"), float("nan"))
    difference: Difference | None = None
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    fold_seconds: float = 0.0  # of one training and its scores,
    timed_samples: int = 0  # of a rung of so many samples,
    trained_share: float = 1.0  # of which this share was trained on
    growth: float | None = None  # exponent of their growth with the samples on the last two rungs
    curve: Curve = field(default_factory=list)
    why_dropped: str = ""
    is_out_of_time: bool = False
    has_failed: bool = False
    failure: Exception | None = None  # of the final training
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    probe: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # samples whose models have seen them,
    probe_scores: Floats = field(default_factory=lambda: np.zeros(0))  # and their scores
    calibration: Calibration = field(default_factory=lambda: Calibration(()))
    models: list[Any] = field(default_factory=list)  # of the folds, with a time budget, as long as they may be needed
    scoring_seconds: float = 0.0  # of one sample by one model, with a time budget

    def estimate_seconds(self, n_samples: int) -> float:
        """Return the seconds that training on ``n_samples`` samples will probably take."""
        growth = self.candidate.growth if self.growth is None else 0.5 * (self.growth + self.candidate.growth)
        return float(self.fold_seconds * work_ratio(self.timed_samples, n_samples) ** growth)

    def estimate_final_seconds(self, n_samples: int) -> float:
        """Return the seconds that training the final model will probably take."""
        return self.candidate.last_cost * self.estimate_seconds(round(n_samples / self.trained_share))

    def record_time(self, seconds: float, n_folds: int, n_samples: int) -> None:
        """Record the seconds that the training of folds of ``n_samples`` samples took."""
        self._record_training(seconds / n_folds, n_samples)
        self.n_samples, self.trained_share = n_samples, 1.0 - 1.0 / n_folds

    def record_final_time(self, seconds: float, n_samples: int) -> None:
        """Record the seconds that training the final model on ``n_samples`` samples took."""
        self._record_training(seconds / self.candidate.last_cost, n_samples)
        self.trained_share = 1.0

    def _record_training(self, seconds: float, n_samples: int) -> None:
        if self.timed_samples and n_samples != self.timed_samples:
            more_work = np.log(work_ratio(self.timed_samples, n_samples))
            self.growth = float(np.log(max(seconds / max(self.fold_seconds, 1e-9), 1.0)) / more_work)
        self.fold_seconds, self.timed_samples = seconds, n_samples

    @property
    def is_eligible(self) -> bool:
        """Whether the candidate can be selected: it is not dropped, or for lack of time only."""
        return self.is_out_of_time or not self.why_dropped

    @property
    def is_clearly_behind(self) -> bool:
        """Whether nearly all resamples show a better candidate of the rung ahead."""
        return self.difference is not None and self.difference.interval[1] < 0.0

    def drop_unneeded(self) -> None:
        """Drop the candidate because an ensemble does not need it."""
        self.why_dropped = "adds nothing to the ensemble"
        if self.difference is not None and self.is_clearly_behind:
            self.why_dropped = f"clearly behind {self.difference.rival}"

    def drop_untrained(self) -> None:
        """Drop the candidate because it has neither a final model nor models of folds."""
        if self.failure is None:
            self.drop_for_time("there was no time to train it as well")
        else:
            self.why_dropped, self.has_failed = f"failed: {self.failure}", True

    def drop_for_time(self, why: str) -> None:
        """Drop the candidate from later rungs; it can still be selected by what it reached."""
        self.why_dropped, self.is_out_of_time = why, True


def work_ratio(before: int, after: int, fixed: float = _FIXED_COST) -> float:
    """Return by how much the time for samples grows with their number.

    Parameters
    ----------
    before, after : int
        Numbers of samples.
    fixed : float
        Number of samples that take as long as what does not depend on their number.
    """
    return (after + fixed) / (before + fixed)
