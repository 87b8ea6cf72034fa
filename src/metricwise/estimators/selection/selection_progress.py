"""Show the progress of model selection: rung, candidate, best so far and time left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from metricwise.decisions.out_of_fold import DEFAULT_FOLDS
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.schedule import Schedule
from metricwise.measures import IsCost, IsTotal, Measure
from metricwise.measures.base import show_value
from metricwise.progress import Stage

_EXPECTED_LATER = 4  # candidates on every later rung and in the final training


@dataclass
class SelectionProgress:
    """Updates the stage of model selection.

    Attributes
    ----------
    stage : Stage
        Part of the bar.
    schedule : Schedule
        The time budget, and how many folds are trained at once.
    measure : Measure
        The measure, for its name and units.
    n_judged : float
        Number of samples, or their weight, that a total cost is shown for.
    sizes : sequence of int
        The number of samples of every rung.
    rung : int
        The position of the present one.
    """

    stage: Stage
    schedule: Schedule
    measure: Measure
    n_judged: float
    sizes: Sequence[int]
    rung: int = 0
    _fraction: float = field(default=0.0, init=False)

    def show_candidate(
        self, runs: Sequence[CandidateRun], running: Sequence[CandidateRun], position: int, n_folds: int
    ) -> None:
        """Show which candidate is trained.

        Parameters
        ----------
        runs : sequence of CandidateRun
            All candidates.
        running : sequence of CandidateRun
            Those of this rung, in their order.
        position : int
            The position of the candidate among them.
        n_folds : int
            The number of folds of this rung.
        """
        name, n_rungs = running[position].candidate.name, len(self.sizes)
        text = f"rung {self.rung + 1} of {n_rungs}, {name} ({position + 1} of {len(running)})"
        done = (self.rung + position / len(running)) / n_rungs
        self._update(f"{text}{self._describe_best(runs)}", done, self._estimate_left(running, position, n_folds))

    def show_final(self, runs: Sequence[CandidateRun], selected: Sequence[CandidateRun]) -> None:
        """Show that the selected candidates are trained on all samples.

        Parameters
        ----------
        runs, selected : sequence of CandidateRun
            All candidates, and the selected ones.
        """
        seconds = sum(run.estimate_final_seconds(self.sizes[-1]) for run in selected)
        self._update(f"training the selected model{self._describe_best(runs)}", self._fraction, seconds)

    def _update(self, text: str, done: float, seconds_left: float | None) -> None:
        """Update the stage; its bar is that of the time budget, or else of the expected time, and never goes back."""
        clock = self.schedule.clock
        if clock.budget is not None:
            left = max(clock.left(), 0.0)
            seconds_left = left if seconds_left is None else min(left, seconds_left)
            done = clock.seconds() / clock.budget
        elif seconds_left is not None:
            done = clock.seconds() / max(clock.seconds() + seconds_left, 1e-9)
        self._fraction = min(max(self._fraction, done), 1.0)
        self.stage.update(text, self._fraction, seconds_left)

    def _describe_best(self, runs: Sequence[CandidateRun]) -> str:
        """Return the best of those that have reached the most samples, with its measure as users see it."""
        most = max(run.n_samples for run in runs)
        reached = [run for run in runs if run.n_samples == most and not run.has_failed]
        if not most or not reached:
            return ""
        best = max(reached, key=lambda run: run.value)
        value = float(show_value(self.measure, best.value, self.n_judged))
        shown = f"{value:.4g}" if isinstance(self.measure, IsCost | IsTotal) else f"{value:.3f}"
        return f", best {self.measure.name} {shown} ({best.candidate.name})"

    def _estimate_left(self, running: Sequence[CandidateRun], position: int, n_folds: int) -> float | None:
        """Return the seconds until training ends; None while the times of less than half of the candidates are known.

        Candidates whose time is unknown are expected to take the mean of the others. Which of them reach later rungs
        is unknown, so that these are expected to take the mean, too.
        """
        known = [run for run in running if run.timed_samples]
        if 2 * len(known) < len(running):
            return None
        last, n_later = self.sizes[-1], min(_EXPECTED_LATER, len(running))
        means = {
            size: fmean(self._rung_seconds(run, size, n_folds) for run in known) for size in self.sizes[self.rung :]
        }
        size = self.sizes[self.rung]
        waiting = (
            self._rung_seconds(run, size, n_folds) if run.timed_samples else means[size] for run in running[position:]
        )
        later = n_later * sum(means[size] for size in self.sizes[self.rung + 1 :])
        return sum(waiting) + later + n_later * fmean(run.estimate_final_seconds(last) for run in known)

    def _rung_seconds(self, run: CandidateRun, size: int, n_folds: int) -> float:
        """Return the seconds that a candidate probably takes on a rung, its judging included."""
        n_folds = n_folds if size == self.sizes[self.rung] else max(n_folds, DEFAULT_FOLDS)
        training = run.estimate_seconds(size) * self.schedule.count_rounds(size, n_folds)
        return training + self.schedule.judging_seconds
