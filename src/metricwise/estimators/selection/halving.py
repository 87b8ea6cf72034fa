"""Candidates against each other on growing parts of the samples, with the same folds for all (successive halving).

1. On a part of the samples, every candidate scores samples that its models have not seen.
2. Whoever is clearly behind the best, on the same samples, leaves; and so do all but the best few.
   Of the settings of one learner, the best stays, and with it those that may gain more from more samples.
3. The others go on with more samples, at last with all of them.

With a time budget, a candidate only starts what it will probably finish, judged by how long it took on fewer samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import Calibration
from metricwise.decisions.out_of_fold import Splits, align_folds, make_splits, score_out_of_fold
from metricwise.decisions.tasks import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.candidates import Candidate
from metricwise.estimators.selection.clock import Clock

Tell = Callable[[str], bool]

_FIRST_ROWS = 1000
_FIRST_RARE_ROWS = 60  # of the rarest class, so that a first part can tell candidates apart
_FIRST_ROWS_ON_A_BUDGET = 1000
_FIRST_ROWS_IN_A_HURRY, _HURRY = 250, 30.0  # with less than so many seconds nobody may take long for a first try
_FIRST_RARE_ROWS_ON_A_BUDGET = 10
_FEWEST_TO_JUDGE = 1000  # samples; on fewer, learners that need many would look worse than they are
_GROWTH = 4  # of the part of the samples
_FINALISTS, _LAST_FINALISTS = 4, 3  # after the first part of the samples, and after later ones
_PROBED_ROWS = 1000  # that models which have seen them score, too
_RESAMPLES = 100
_CLEARLY = 0.95
MARGIN = 1.2  # on the expected time of a training
_SHARE_OF_FIRST_HEAT = 0.4  # of a time budget


@dataclass
class Runner:
    """A candidate and how it fares; ``why_dropped`` is empty for finalists."""

    candidate: Candidate
    n_samples: int = 0
    value: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))
    seconds: float = 0.0
    fold_seconds: float = 0.0  # of one training and its scores
    growth: float | None = None  # exponent by which they grew with the samples at last
    curve: list[tuple[float, float]] = field(default_factory=list)  # samples that models learnt from, and their measure
    why_dropped: str = ""
    out_of_time: bool = False
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    probe: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # samples whose models have seen them,
    seen: Floats = field(default_factory=lambda: np.zeros(0))  # and their scores
    calibration: Calibration = field(default_factory=lambda: Calibration(()))

    def expected_seconds(self, n_samples: int) -> float:
        """Return how long a training on so many samples will probably take."""
        growth = self.candidate.growth if self.growth is None else 0.5 * (self.growth + self.candidate.growth)
        return float(self.fold_seconds * (n_samples / max(self.n_samples, 1)) ** growth)

    def last_seconds(self, n_samples: int) -> float:
        """Return how long the last training, of what is kept, will probably take."""
        return self.candidate.last_cost * self.expected_seconds(n_samples)

    def took(self, seconds: float, n_folds: int, n_samples: int) -> None:
        """Note how long the folds of so many samples took."""
        before, self.seconds = self.fold_seconds, self.seconds + seconds
        self.fold_seconds = seconds / n_folds
        if self.n_samples:
            self.growth = float(np.log(max(self.fold_seconds / before, 1.0)) / np.log(n_samples / self.n_samples))
        self.n_samples = n_samples


@dataclass
class Heat:
    """Some samples, divided into folds, and some of them whose scores by models that have seen them are of interest."""

    rows: Indices
    splits: Splits
    probe: Indices

    @property
    def held(self) -> Indices:
        """The samples in the order in which they are held out."""
        held: Indices = self.rows[np.concatenate([test for _, test in self.splits])]
        return held

    @property
    def sizes(self) -> list[int]:
        """How many samples each fold holds out."""
        return [test.size for _, test in self.splits]


class Outcome(NamedTuple):
    """All runners, the finalists among them, and the samples that these have scored."""

    runners: list[Runner]
    finalists: list[Runner]
    heat: Heat


@dataclass
class Race:
    """What candidates have in common.

    Attributes
    ----------
    task, data
        What is predicted, and the samples.
    rule : ThresholdRule
        How thresholds are chosen.
    cv : int, splitter or None
        Folds of the last part, all samples.
    n_jobs : int or None
        Folds trained side by side.
    clock : Clock
        The time that is left.
    tell : callable
        Takes a line of text about the progress; returns True if the race shall end.
    """

    task: Task
    data: TrainingData
    rule: ThresholdRule
    cv: Any
    n_jobs: int | None
    clock: Clock
    tell: Tell

    def __post_init__(self) -> None:
        self.prior = self.task.prior_scores(self.data.target)

    def run(self, candidates: list[Candidate]) -> Outcome:
        """Return who reached the last samples that anybody did, and everybody's fate.

        Raises
        ------
        ValueError
            If no candidate could be trained.
        """
        runners = [Runner(candidate) for candidate in candidates]
        heats = [heat for heat in map(self._heat, self._parts()) if self._run_heat(runners, heat)]
        if not heats:
            reasons = "; ".join(f"{one.candidate.name}: {one.why_dropped.removeprefix('failed: ')}" for one in runners)
            raise ValueError(f"no candidate could be trained: {reasons}")
        last = heats[-1]
        finalists = [
            one for one in runners if one.n_samples == last.rows.size and (one.out_of_time or not one.why_dropped)
        ]
        return Outcome(runners, finalists, last)

    def _parts(self) -> list[int]:
        """Return how many samples take part, first to last."""
        total = len(self.data.y)
        counts = np.unique(self.task.strata(self.data.target), return_counts=True)[1]
        first = max(_FIRST_ROWS, int(_FIRST_RARE_ROWS * total / counts.min()))
        if self.clock.budget is not None:
            rows = _FIRST_ROWS_IN_A_HURRY if self.clock.budget < _HURRY else _FIRST_ROWS_ON_A_BUDGET
            first = min(first, max(rows, int(_FIRST_RARE_ROWS_ON_A_BUDGET * total / counts.min())))
        sizes = []
        while first * 2 <= total:
            sizes.append(first)
            first *= _GROWTH
        return [*sizes, total]

    def _heat(self, size: int) -> Heat:
        data, seed = self.data, self.rule.seed
        rows, strata = np.arange(len(data.y)), self.task.strata(data.target)
        is_part = size < rows.size
        if is_part:
            rows = _spread_part(strata, size, seed)
        with warnings.catch_warnings():
            if is_part:
                warnings.simplefilter("ignore")  # a part may have few samples of a class, of which the user has more
            cv = _folds_of_part(self.cv) if is_part else self.cv
            splits = make_splits(cv, take_samples(data.X, rows), strata[rows], seed, needed=True)
        if not splits:
            raise ValueError(
                "candidates are judged on out-of-fold samples, but the rarest class has "
                f"{int(np.bincount(strata[rows]).min())} samples, of which at least two must be different: collect "
                "more samples of it"
            )
        return Heat(rows, splits, self.task.draw_probe(data.target[rows], seed, most=_PROBED_ROWS))

    def _run_heat(self, runners: list[Runner], heat: Heat) -> bool:
        """Let the runners that are left score the samples; return False if nobody could."""
        judged: dict[int, Callable[[Floats], float]] = {}
        for number, runner in enumerate(runners):
            if runner.why_dropped or self._comes_later(runner, heat):
                continue
            if (judged or runner.n_samples) and self._is_too_slow(runner, heat):  # somebody has to run first
                runner.why_dropped = f"{heat.rows.size} samples would take more time than is left"
                runner.out_of_time = True
                continue
            judge = self._run(runner, heat)
            if judge is not None:
                judged[number] = judge
        if not judged:
            return False
        is_last = heat.rows.size == len(self.data.y)
        if is_last or heat.rows.size >= _FEWEST_TO_JUDGE:
            is_first = all(one.n_samples in (0, heat.rows.size) or one.why_dropped for one in runners)
            some = _FINALISTS if is_first else _LAST_FINALISTS
            self._drop_the_slow(runners, judged, heat, None if is_last else some)
        return True

    def _comes_later(self, runner: Runner, heat: Heat) -> bool:
        """Whether a runner waits for more samples; on a budget nobody does, as nobody would know how long it takes."""
        enough = min(runner.candidate.least_rows, len(self.data.y))
        return self.clock.budget is None and heat.rows.size < enough

    def _is_too_slow(self, runner: Runner, heat: Heat) -> bool:
        """Whether a runner had better not start; nobody knows how long one will take that has not run before."""
        if self.clock.budget is None:
            return False
        if runner.n_samples == 0:
            return self.clock.left() < (1.0 - _SHARE_OF_FIRST_HEAT) * self.clock.budget
        trainings = len(heat.splits) + runner.candidate.last_cost
        return runner.expected_seconds(heat.rows.size) * trainings * MARGIN > self.clock.left()

    def _run(self, runner: Runner, heat: Heat) -> Callable[[Floats], float] | None:
        """Score the samples; return the measure as a function of weights, None if the candidate fails."""
        clock, score = Clock(None), partial(self._score_fold, runner.candidate.estimator, self.data.take(heat.rows))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # slow convergence is the candidate's own problem
                found = score_out_of_fold(score, heat.splits, heat.probe, self.n_jobs)
        except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
            runner.why_dropped = f"failed: {error}"
            warnings.warn(f"candidate {runner.candidate.name} failed and is dropped: {error}", stacklevel=2)
            return None
        runner.calibration = self.task.calibrate(self.data.scored(heat.held, found.scores))
        runner.scores = runner.calibration(found.scores)
        if self.task.measure.response == "scores":
            codes = self.task.strata(self.data.target[heat.held])
            runner.scores = align_folds(self.cv, heat.splits, runner.scores, codes)
        runner.probe, runner.seen = heat.rows[found.probe], runner.calibration(found.probe_scores)
        samples = self.data.scored(heat.held, runner.scores)
        judge = self.task.best_value(samples, self.rule)
        runner.value = judge(samples.weights)
        runner.curve.append((float(np.mean([train.size for train, _ in heat.splits])), runner.value))
        runner.took(clock.seconds(), len(heat.splits), heat.rows.size)
        name = runner.candidate.name
        if self.tell(f"{heat.rows.size} samples: {name} {runner.candidate.settings or ''} {runner.value:.4f}"):
            self.clock.budget = 0.0
        return judge

    def _score_fold(
        self, estimator: Any, data: TrainingData, train: Indices, test: Indices, seen: Indices
    ) -> tuple[Floats, Floats]:
        part = data.take(train)
        model = self.task.fit(estimator, part.X, part.y, part.weights)
        scores = limited_scores(self.task, model, take_samples(data.X, test), self.prior)
        if not seen.size:
            return scores, scores[:0]
        return scores, limited_scores(self.task, model, take_samples(data.X, seen), self.prior)

    def _drop_the_slow(
        self, runners: list[Runner], judged: dict[int, Callable[[Floats], float]], heat: Heat, most: int | None
    ) -> None:
        """Drop candidates clearly behind the best on resamples, and all but the best few; None on the last rung."""
        order = sorted(judged, key=lambda number: -runners[number].value)
        best, values = order[0], self._resampled(judged, heat)
        for number in judged:
            low, high = np.quantile(values[number], [0.05, 0.95])
            runners[number].interval = (float(low), float(high))
        kept: list[str] = []
        for number in order:
            runner, name = runners[number], runners[number].candidate.name
            if name in kept:
                if most is None or not runner.candidate.gains_later:
                    runner.why_dropped = "other settings of it are better"
            elif np.quantile(values[number] - values[best], _CLEARLY) < 0.0:
                runner.why_dropped = f"clearly behind {runners[best].candidate.name}"
            elif len(kept) == most:
                runner.why_dropped = f"not among the best {most}"
            else:
                kept.append(name)

    def _resampled(self, judged: dict[int, Callable[[Floats], float]], heat: Heat) -> dict[int, NDArray[np.float64]]:
        random, weights = np.random.default_rng(self.rule.seed), self.data.sample_weights[heat.held]
        drawn = [weights * random.exponential(size=weights.size) for _ in range(_RESAMPLES)]
        return {number: np.array([judge(one) for one in drawn]) for number, judge in judged.items()}


def limited_scores(task: Task, model: Any, X: Any, prior: Any) -> Floats:
    """Return the scores of a model, probabilities no further from the prior than a limit."""
    return task.limit_certainty(model, task.scores(model, X), prior)


def _folds_of_part(cv: Any) -> Any:
    return 3 if cv is None else min(3, cv) if isinstance(cv, int) else 3


def _spread_part(strata: NDArray[Any], size: int, seed: int) -> Indices:
    """Return so many samples, about, each class with its share; larger parts contain smaller ones."""
    random = np.random.default_rng((seed, 7))
    parts = []
    for label in np.unique(strata):
        rows = random.permutation(np.flatnonzero(strata == label))
        parts.append(rows[: max(2, round(size * rows.size / strata.size))])
    return np.sort(np.concatenate(parts))
