"""Successive halving: candidates are compared on growing subsets of the samples, with the same folds for all.

1. On a subset of the samples, every candidate scores samples that its models have not seen.
2. Candidates clearly behind the best, on the same samples, are dropped, and so are all but the best few.
   Of the settings of one learner, the best stays, and with it those that may gain more from more samples.
3. The others go to the next rung, with more samples, at last with all of them.

With a time budget, a candidate only starts what it will probably finish, judged by how long it took on fewer samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from metricwise._typing import Floats, Indices
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import Calibration
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.groups import draw_whole_groups
from metricwise.decisions.learning_curve import Curve
from metricwise.decisions.out_of_fold import Splits, align_folds
from metricwise.decisions.tasks import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.candidates import Candidate
from metricwise.estimators.selection.clock import Clock

ReportProgress = Callable[[str], bool]

_FIRST_SAMPLES = 1000
_FIRST_MINORITY = 60  # minority samples, so that the first rung can separate candidates
_FIRST_SAMPLES_ON_A_BUDGET = 1000
_FIRST_SAMPLES_IN_A_HURRY, _HURRY = 250, 30.0  # below this many seconds the first rung must be fast
_FIRST_MINORITY_ON_A_BUDGET = 10
_FEWEST_TO_JUDGE = 1000  # samples; on fewer, learners that need many would be underrated
_GROWTH = 4  # of the samples from rung to rung
_FINALISTS, _LAST_FINALISTS = 4, 3  # after the first rung, and after later ones
_PROBE_SIZE = 1000  # samples that models which have seen them score, too
_RESAMPLES = 100
_CLEARLY = 0.95
MARGIN = 1.2  # on the expected time of a training
_SHARE_OF_FIRST_RUNG = 0.4  # of a time budget


@dataclass
class CandidateRun:
    """A candidate with its results so far; ``why_dropped`` is empty for finalists."""

    candidate: Candidate
    n_samples: int = 0
    value: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))
    seconds: float = 0.0
    fold_seconds: float = 0.0  # of one training and its scores
    growth: float | None = None  # exponent of their growth with the samples on the last two rungs
    curve: Curve = field(default_factory=list)
    why_dropped: str = ""
    is_out_of_time: bool = False
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    probe: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # samples whose models have seen them,
    probe_scores: Floats = field(default_factory=lambda: np.zeros(0))  # and their scores
    calibration: Calibration = field(default_factory=lambda: Calibration(()))

    def estimate_seconds(self, n_samples: int) -> float:
        """Return the seconds that training on ``n_samples`` samples will probably take."""
        growth = self.candidate.growth if self.growth is None else 0.5 * (self.growth + self.candidate.growth)
        return float(self.fold_seconds * (n_samples / max(self.n_samples, 1)) ** growth)

    def estimate_final_seconds(self, n_samples: int) -> float:
        """Return the seconds that training the final model will probably take."""
        return self.candidate.last_cost * self.estimate_seconds(n_samples)

    def record_time(self, seconds: float, n_folds: int, n_samples: int) -> None:
        """Record the seconds that folds of ``n_samples`` samples took."""
        before, self.seconds = self.fold_seconds, self.seconds + seconds
        self.fold_seconds = seconds / n_folds
        if self.n_samples:
            self.growth = float(np.log(max(self.fold_seconds / before, 1.0)) / np.log(n_samples / self.n_samples))
        self.n_samples = n_samples


@dataclass
class Rung:
    """A subset of the samples, its folds, and its probe: samples that the models which have seen them score, too."""

    samples: Indices
    splits: Splits
    probe: Indices

    @property
    def test_samples(self) -> Indices:
        """The samples in the order of the folds that test them."""
        test_samples: Indices = self.samples[np.concatenate([test for _, test in self.splits])]
        return test_samples

    @property
    def sizes(self) -> list[int]:
        """The number of test samples of each fold."""
        return [test.size for _, test in self.splits]


class Outcome(NamedTuple):
    """All runs, the finalists among them, and the samples that these have scored."""

    runs: list[CandidateRun]
    finalists: list[CandidateRun]
    rung: Rung


@dataclass
class SuccessiveHalving:
    """The settings that all candidates share.

    Attributes
    ----------
    task, data
        Task and samples.
    rule : ThresholdRule
        How thresholds are chosen.
    cv : int, splitter, iterable or None
        Folds of the last rung, all samples. Where it is no number, the data have its splits, and those of subsets.
    n_jobs : int or None
        Folds trained in parallel.
    clock : Clock
        The time that is left.
    report_progress : callable
        Called with a line of text; returns True to end the selection.
    """

    task: Task
    data: TrainingData
    rule: ThresholdRule
    cv: Any
    n_jobs: int | None
    clock: Clock
    report_progress: ReportProgress

    def __post_init__(self) -> None:
        self.prior = self.task.prior_scores(self.data.target)

    def run(self, candidates: list[Candidate]) -> Outcome:
        """Return all runs, and the finalists on the last rung that a candidate reached.

        Raises
        ------
        ValueError
            If no candidate could be trained.
        """
        runs = [CandidateRun(candidate) for candidate in candidates]
        made = (rung for rung in map(self._make_rung, self._rung_sizes()) if rung is not None)
        rungs = [rung for rung in made if self._score_rung(runs, rung)]
        if not rungs:
            reasons = "; ".join(f"{one.candidate.name}: {one.why_dropped.removeprefix('failed: ')}" for one in runs)
            raise ValueError(f"no candidate could be trained: {reasons}")
        last = rungs[-1]
        finalists = [
            one for one in runs if one.n_samples == last.samples.size and (one.is_out_of_time or not one.why_dropped)
        ]
        return Outcome(runs, finalists, last)

    def _rung_sizes(self) -> list[int]:
        """Return the number of samples of every rung."""
        total = len(self.data.y)
        counts = np.unique(self.task.strata(self.data.target), return_counts=True)[1]
        first = max(_FIRST_SAMPLES, int(_FIRST_MINORITY * total / counts.min()))
        if self.clock.budget is not None:
            few = _FIRST_SAMPLES_IN_A_HURRY if self.clock.budget < _HURRY else _FIRST_SAMPLES_ON_A_BUDGET
            first = min(first, max(few, int(_FIRST_MINORITY_ON_A_BUDGET * total / counts.min())))
        sizes = []
        while first * 2 <= total:
            sizes.append(first)
            first *= _GROWTH
        return [*sizes, total]

    def _make_rung(self, size: int) -> Rung | None:
        """Return the rung of about so many samples; None if they make no folds though all samples may."""
        data, seed = self.data, self.rule.seed
        samples, strata = np.arange(len(data.y)), self.task.strata(data.target)
        is_part = size < samples.size
        if is_part:
            samples = self._draw_part(strata, size)
        part = data.take(samples) if is_part else data
        with warnings.catch_warnings():
            if is_part:
                warnings.simplefilter(
                    "ignore"
                )  # a rung may have too few samples of a class, though the data have enough
            splits = part.split(_folds_of_part(self.cv) if is_part else self.cv, strata[samples], seed, needed=True)
        if is_part:
            splits = _keep_trainable(splits, strata[samples])
            if not splits and not data.has_random_folds:
                return None  # groups, or the user's own folds, that only larger parts have enough of
        if not splits:
            needed = "at least two must be different" if data.groups is None else "there must be some in two groups"
            raise ValueError(
                "candidates are judged on out-of-fold samples, but the rarest class has "
                f"{int(np.bincount(strata[samples]).min())} samples, of which {needed}: collect more samples of it"
            )
        return Rung(samples, splits, self.task.draw_probe(data.target[samples], seed, most=_PROBE_SIZE))

    def _draw_part(self, strata: NDArray[Any], size: int) -> Indices:
        if self.data.groups is None:
            return _draw_part(strata, size, self.rule.seed)
        return draw_whole_groups(self.data.groups, strata, size, self.rule.seed)

    def _score_rung(self, runs: list[CandidateRun], rung: Rung) -> bool:
        """Score the samples by the remaining runs; return False if all of them failed."""
        judged: dict[int, Callable[[Floats], float]] = {}
        for number, run in enumerate(runs):
            if run.why_dropped or self._starts_at_a_later_rung(run, rung):
                continue
            if (judged or run.n_samples) and self._is_too_slow(run, rung):  # at least one candidate runs
                run.why_dropped = f"{rung.samples.size} samples would take more time than is left"
                run.is_out_of_time = True
                continue
            judge = self._score_candidate(run, rung)
            if judge is not None:
                judged[number] = judge
        if not judged:
            return False
        is_last = rung.samples.size == len(self.data.y)
        if is_last or rung.samples.size >= _FEWEST_TO_JUDGE:
            is_first = all(one.n_samples in (0, rung.samples.size) or one.why_dropped for one in runs)
            some = _FINALISTS if is_first else _LAST_FINALISTS
            self._drop_dominated(runs, judged, rung, None if is_last else some)
        return True

    def _starts_at_a_later_rung(self, run: CandidateRun, rung: Rung) -> bool:
        """Return whether a run waits for more samples; never with a time budget, as its time would be unknown."""
        enough = min(run.candidate.least_samples, len(self.data.y))
        return self.clock.budget is None and rung.samples.size < enough

    def _is_too_slow(self, run: CandidateRun, rung: Rung) -> bool:
        """Return whether a run would exceed the time budget; unknown, hence False, before its first rung."""
        if self.clock.budget is None:
            return False
        if run.n_samples == 0:
            return self.clock.left() < (1.0 - _SHARE_OF_FIRST_RUNG) * self.clock.budget
        trainings = len(rung.splits) + run.candidate.last_cost
        return run.estimate_seconds(rung.samples.size) * trainings * MARGIN > self.clock.left()

    def _score_candidate(self, run: CandidateRun, rung: Rung) -> Callable[[Floats], float] | None:
        """Score the samples; return the measure as a function of weights, None if the candidate fails."""
        clock, executor = Clock(None), LocalExecutor(self.task, self.data.take(rung.samples), self.n_jobs)
        fit, score = partial(self.task.fit, run.candidate.estimator), partial(limit_scores, self.task, self.prior)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # slow convergence shows in the candidate's score
                found = executor.score_folds(fit, score, rung.splits, rung.probe)
        except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
            run.why_dropped = f"failed: {error}"
            warnings.warn(f"candidate {run.candidate.name} failed and is dropped: {error}", stacklevel=2)
            return None
        run.calibration = self.task.calibrate(self.data.attach_scores(rung.test_samples, found.scores))
        run.scores = run.calibration(found.scores)
        if self.task.measure.response == "scores" and self.data.has_random_folds:
            codes = self.task.strata(self.data.target[rung.test_samples])
            run.scores = align_folds(rung.splits, run.scores, codes)
        run.probe, run.probe_scores = rung.samples[found.probe], run.calibration(found.probe_scores)
        samples = self.data.attach_scores(rung.test_samples, run.scores)
        judge = self.task.best_value(samples, self.rule)
        run.value = judge(samples.weights)
        run.curve.append((float(np.mean([train.size for train, _ in rung.splits])), run.value))
        run.record_time(clock.seconds(), len(rung.splits), rung.samples.size)
        name = run.candidate.name
        if self.report_progress(f"{rung.samples.size} samples: {name} {run.candidate.settings or ''} {run.value:.4f}"):
            self.clock.budget = 0.0
        return judge

    def _drop_dominated(
        self, runs: list[CandidateRun], judged: dict[int, Callable[[Floats], float]], rung: Rung, most: int | None
    ) -> None:
        """Drop candidates clearly behind the best on resamples, and all but the best few; None on the last rung."""
        order = sorted(judged, key=lambda number: -runs[number].value)
        best, values = order[0], self._draw_values(judged, rung)
        for number in judged:
            low, high = np.quantile(values[number], [0.05, 0.95])
            runs[number].interval = (float(low), float(high))
        kept: list[str] = []
        for number in order:
            run, name = runs[number], runs[number].candidate.name
            if name in kept:
                if most is None or not run.candidate.gains_later:
                    run.why_dropped = "other settings of it are better"
            elif np.quantile(values[number] - values[best], _CLEARLY) < 0.0:
                run.why_dropped = f"clearly behind {runs[best].candidate.name}"
            elif len(kept) == most:
                run.why_dropped = f"not among the best {most}"
            else:
                kept.append(name)

    def _draw_values(self, judged: dict[int, Callable[[Floats], float]], rung: Rung) -> dict[int, NDArray[np.float64]]:
        random, weights = np.random.default_rng(self.rule.seed), self.data.sample_weights[rung.test_samples]
        groups = self.data.groups_of(rung.test_samples)
        units = np.arange(weights.size) if groups is None else groups  # that are drawn as one
        drawn = [weights * random.exponential(size=int(units.max()) + 1)[units] for _ in range(_RESAMPLES)]
        return {number: np.array([judge(one) for one in drawn]) for number, judge in judged.items()}


def limit_scores(task: Task, prior: Any, model: Any, X: Any) -> Floats:
    """Return the scores of a model, those from probabilities clipped to a distance from the prior."""
    return task.limit_certainty(model, task.scores(model, X), prior)


def _folds_of_part(cv: Any) -> Any:
    return min(3, cv) if isinstance(cv, Integral) else 3


def _keep_trainable(splits: Splits, strata: NDArray[Any]) -> Splits:
    """Return the splits whose training samples have all classes."""
    n_classes = np.unique(strata).size
    return [split for split in splits if np.unique(strata[split[0]]).size == n_classes]


def _draw_part(strata: NDArray[Any], size: int, seed: int) -> Indices:
    """Return a stratified subset of about ``size`` samples; larger subsets contain smaller ones."""
    random = np.random.default_rng((seed, 7))
    parts = []
    for label in np.unique(strata):
        samples = random.permutation(np.flatnonzero(strata == label))
        parts.append(samples[: max(2, round(size * samples.size / strata.size))])
    return np.sort(np.concatenate(parts))
