"""What the time budget of model selection allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import joblib

from metricwise.decisions.parallel import count_side_by_side
from metricwise.estimators.selection.candidate_run import CandidateRun, work_ratio
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.profile import MANY_SAMPLES
from metricwise.threads import available_cores, count_free_cores, threads_for

_MARGIN = 1.2  # on the expected time of a training
_SHARE_OF_FIRST_RUNG = 0.4  # of the time budget
_SHARE_OF_FINAL = 0.25  # of the time budget, for training on more samples than candidates were compared on
_DECISIONS_AT_LAST = (
    10  # thresholds chosen after the last candidate: for the ensemble, for each fold and for all samples
)
_FIXED_DECISION = 3000.0  # samples that take as long as what every choice of a threshold takes
_SPARE = 0.05  # of the time budget, for all that is not measured


@dataclass
class Schedule:
    """Decides what starts and when it is stopped, so that the time budget is kept.

    Times are expected from what candidates took on fewer samples, as the machine was then, and are exceeded when it is
    busier later. A candidate therefore has a limit as well, and time for what comes after it is kept back.

    Attributes
    ----------
    clock : Clock
        The time that is left.
    n_testing : int
        Number of samples that the final model scores to test a guarantee.
    n_samples, n_held_out : int
        Number of all samples, and of those on which the threshold is chosen if fewer than all are trained on.
    is_stopped : bool
        Whether the user has ended the selection: nothing else starts.
    judged_samples : int
        Number of samples by which a candidate was last judged.
    decision_seconds, judging_seconds : float
        Seconds that choosing its threshold took then, and judging it altogether.
    n_jobs : int or None
        Folds trained in parallel, as the user wants it.
    """

    clock: Clock
    n_testing: int = 0
    n_samples: int = 0
    n_held_out: int = 0
    is_stopped: bool = False
    judged_samples: int = 0
    decision_seconds: float = 0.0
    judging_seconds: float = 0.0
    n_jobs: int | None = 1

    @property
    def is_limited(self) -> bool:
        """Whether there is a time budget."""
        return self.clock.budget is not None

    def n_threads(self, size: int) -> int | None:
        """Return the number of threads for training on ``size`` samples; None for all of them.

        Few samples have one thread. On a busy machine, more have as many as there are free cores: threads wait for
        each other, and so all of them for one that has no core.
        """
        n_threads = threads_for(size)
        if n_threads is not None:
            return n_threads
        free = count_free_cores()
        return None if free >= available_cores() else free

    def n_side_by_side(self, size: int) -> int:
        """Return how many folds of ``size`` training samples share the cores, in threads of this process.

        Of many samples in all, folds of few have no threads of their own: the C library keeps what such threads have
        freed, on Linux 20 to 30 megabytes, and returns that of the main thread only.
        """
        is_alone = threads_for(size) is None or self.n_samples > MANY_SAMPLES
        return 1 if is_alone else count_side_by_side(self.n_jobs)

    @property
    def n_jobs_of_folds(self) -> int | None:
        """How many folds joblib trains in parallel; 1 if there are many samples, of which every process has copies."""
        return 1 if self.n_samples > MANY_SAMPLES else self.n_jobs

    def count_rounds(self, size: int, n_folds: int) -> int:
        """Return how many fold models of ``size`` samples are trained one after the other, the others beside them."""
        at_once = max(int(joblib.effective_n_jobs(self.n_jobs_of_folds)), self.n_side_by_side(size))
        return math.ceil(n_folds / at_once)

    def is_too_slow(self, run: CandidateRun, size: int, n_folds: int) -> bool:
        """Return whether a run and its final training on ``size`` samples would probably exceed the time budget.

        Before its first rung the time of a run is unknown: it starts if the share of the first rung is not used up.
        """
        if self.is_stopped or self.clock.budget is None:
            return self.is_stopped
        if run.n_samples == 0:
            return self._left_of_first_rung(self.clock.budget) < 0.0
        left = self._left_for([run], size, n_folds) - self._kept_for_final([run], size)
        return run.estimate_seconds(size) * self.count_rounds(size, n_folds) * _MARGIN > left

    def limit(self, runs: Sequence[CandidateRun], run: CandidateRun, size: int, n_folds: int) -> float:
        """Return the seconds after which a run on a rung of ``size`` samples is stopped.

        Time is kept back for its own final training, or that of the runs which have finished the rung.
        """
        if self.clock.budget is None:
            return math.inf
        done = [one for one in runs if one.n_samples == size and one is not run]
        left = self._left_for([*done, run], size, n_folds)
        of_others = left - self._kept_for_final(done, size)
        if run.n_samples == 0:
            return min(of_others, self._left_of_first_rung(self.clock.budget))
        n_rounds = self.count_rounds(size, n_folds)
        return min(of_others, left * n_rounds / (n_rounds + run.candidate.last_cost))

    def _left_for(self, runs: Sequence[CandidateRun], size: int, n_folds: int) -> float:
        """Return the seconds that are left for training, if some of the runs are selected."""
        if size < self.n_samples:  # one of them, if time is short
            finishing = max(self.finishing_seconds([run], size, n_folds) for run in runs)
        else:
            finishing = self.finishing_seconds(runs, size, n_folds)
        return self.clock.left() - finishing - self._judging(size)

    def _kept_for_final(self, runs: Sequence[CandidateRun], size: int) -> float:
        """Return the seconds to keep for the final training of one of the runs, on ``size`` samples or more."""
        least = _MARGIN * max((run.estimate_final_seconds(size) for run in runs), default=0.0)
        return least if size >= self.n_samples else max(least, _SHARE_OF_FINAL * (self.clock.budget or 0.0))

    def final_limit(self, runs: Sequence[CandidateRun], size: int, n_samples: int, n_folds: int) -> float | None:
        """Return the seconds that the final training of runs has; None if it would probably not finish.

        Parameters
        ----------
        runs : sequence of CandidateRun
            The selected candidates.
        size : int
            Number of out-of-fold samples that the threshold is chosen on.
        n_samples : int
            Number of samples of the final training.
        n_folds : int
            Fold models of a candidate.
        """
        left = self.clock.left() - self.finishing_seconds(runs, size, n_folds)
        needed = sum(run.estimate_final_seconds(n_samples) for run in runs)
        return left if needed * _MARGIN <= left else None

    def finishing_seconds(self, runs: Sequence[CandidateRun], size: int, n_folds: int) -> float:
        """Return the seconds that remain to be spent when the final models of runs are trained."""
        is_part = size < self.n_samples and self.n_held_out > 0
        judged, scored = (self.n_held_out, self.n_testing + self.n_held_out) if is_part else (size, self.n_testing)
        scoring = scored * n_folds * sum(run.scoring_seconds for run in runs)
        decisions = _DECISIONS_AT_LAST * self.decision_seconds * self._decision_ratio(judged)
        return _MARGIN * (decisions + scoring) + _SPARE * (self.clock.budget or 0.0)

    def _judging(self, size: int) -> float:
        return self.judging_seconds * self._decision_ratio(size)

    def _decision_ratio(self, size: int) -> float:
        return work_ratio(self.judged_samples, size, _FIXED_DECISION)

    def _left_of_first_rung(self, budget: float) -> float:
        return self.clock.left() - (1.0 - _SHARE_OF_FIRST_RUNG) * budget
