"""Successive halving: candidates are compared on growing subsets of the samples, with the same folds for all.

1. On a subset of the samples, every candidate scores samples that its models have not seen.
2. Candidates that an ensemble of all of them does not need are dropped. The best stays, and with it settings that may
   gain more from more samples.
3. The others go to the next rung, with more samples, at last with all of them.

With a time budget, a candidate only starts what it will probably finish, judged by how long it took on fewer samples,
and is stopped if it takes longer. The rungs end where the best candidate is too slow. Time for the final training is
kept back, and so are the fold models (of many samples those of the best candidate alone), in case that training does
not finish, and samples to choose its threshold on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricwise._sklearn import count_samples, take_samples
from metricwise._typing import Floats, Integers
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.out_of_fold import NO_SAMPLES, OutOfFoldScores, align_folds, score_out_of_fold
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.candidate_run import CandidateRun, Difference
from metricwise.estimators.selection.candidate_training import draw_to_train, limit_scores
from metricwise.estimators.selection.candidate_warnings import record_warnings, score_fold_quietly
from metricwise.estimators.selection.candidates.candidate import Candidate
from metricwise.estimators.selection.clock import Clock, OutOfTimeError, run_within
from metricwise.estimators.selection.learner_threads import fit_on_threads, shares_random_numbers
from metricwise.estimators.selection.profile import MANY_SAMPLES
from metricwise.estimators.selection.rungs import Rung, make_rung
from metricwise.estimators.selection.schedule import Schedule
from metricwise.estimators.selection.selection_progress import SelectionProgress
from metricwise.estimators.selection.stacking import stack_scores
from metricwise.estimators.selection.subsets import Subsets, hold_out
from metricwise.memory import release_freed_memory
from metricwise.progress import Stage
from metricwise.threads import FEW_SAMPLES

ReportProgress = Callable[[str], bool]
Judge = Callable[[Floats], float]  # the measure as a function of the weights of the samples

_FIRST_SAMPLES = 2500
_FIRST_MINORITY = 60  # minority samples, so that the first rung can separate candidates
_FIRST_SAMPLES_ON_A_BUDGET = 1000
_FIRST_SAMPLES_IN_A_HURRY, _HURRY = 250, 30.0  # below this many seconds the first rung must be fast
_FIRST_MINORITY_ON_A_BUDGET = 10
_FEWEST_TO_JUDGE = 1000  # samples; on fewer, learners that need many would be underrated
_GROWTH = 4  # of the samples from rung to rung
_FINALISTS, _LAST_FINALISTS = 6, 4  # after the first rung with enough samples to judge, and after later ones
_TIMED_SAMPLES = 1000  # that a model scores to measure its time
_RESAMPLES = 100


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
    schedule : Schedule
        What the time budget allows, and how folds share the cores.
    report_progress : callable
        Called with a line of text; returns True to end the selection.
    stage : Stage
        Shows which candidate is trained.
    """

    task: Task
    data: TrainingData
    rule: ThresholdRule
    cv: Any
    schedule: Schedule
    report_progress: ReportProgress
    stage: Stage = field(default_factory=Stage)

    def __post_init__(self) -> None:
        self.prior = self.task.prior_scores(self.data.target, self.data.sample_weights)
        aim = self.task.aim(self.rule)
        self._is_ranking = aim is not None and aim.table is None
        strata, seed = self.task.strata(self.data.target), self.rule.seed
        self._sizes = self._rung_sizes(strata)
        may_end_early = self.schedule.is_limited and len(self._sizes) > 1
        held_out = hold_out(self.data, strata, seed) if may_end_early else NO_SAMPLES
        self.subsets = Subsets(self.data, strata, seed, held_out)
        self.schedule.n_samples, self.schedule.n_held_out = strata.size, self.subsets.held_out.size
        n_judged = float(self.data.sample_weights.sum())
        self.progress = SelectionProgress(self.stage, self.schedule, self.task.measure, n_judged, self._sizes)

    def run(self, candidates: list[Candidate]) -> Outcome:
        """Return all runs, and the finalists on the last rung that a candidate reached.

        Raises
        ------
        ValueError
            If no candidate could be trained.
        """
        ordered = _one_of_each_first(candidates) if self.schedule.is_limited else candidates
        runs = [CandidateRun(candidate) for candidate in ordered]
        rungs: list[Rung] = []
        for number, size in enumerate(self._sizes):
            self.progress.rung = number
            if rungs and self._drop_slow(runs, size):
                break
            rung = make_rung(self.task, self.data, self.cv, self.rule.seed, self.subsets.draw(size))
            while rung is not None:
                if self._score_rung(runs, rung):
                    rungs.append(rung)
                elif rungs and _revive_best(runs):
                    continue
                break
        for rung in reversed(rungs):
            finalists = [run for run in runs if run.n_samples == rung.samples.size and run.is_eligible]
            if finalists:
                return Outcome(runs, finalists, rung)
        reasons = "; ".join(f"{one.candidate.name}: {one.why_dropped.removeprefix('failed: ')}" for one in runs)
        raise ValueError(f"no candidate could be trained: {reasons}")

    def _rung_sizes(self, strata: Integers) -> list[int]:
        """Return the number of samples of every rung."""
        total, counts = strata.size, np.unique(strata, return_counts=True)[1]
        first = max(_FIRST_SAMPLES, int(_FIRST_MINORITY * total / counts.min()))
        budget = self.schedule.clock.budget
        if budget is not None:
            few = _FIRST_SAMPLES_IN_A_HURRY if budget < _HURRY else _FIRST_SAMPLES_ON_A_BUDGET
            first = min(first, max(few, int(_FIRST_MINORITY_ON_A_BUDGET * total / counts.min())))
        sizes = []
        while first * 2 <= total:
            sizes.append(first)
            first *= _GROWTH
        return [*sizes, total]

    def _score_rung(self, runs: list[CandidateRun], rung: Rung) -> bool:
        """Score the samples by the remaining runs; return False if none of them finishes."""
        drawn: dict[int, Floats] = {}
        best = _best_of_enough(runs)
        n_finalists = _FINALISTS if best is None else _LAST_FINALISTS
        numbers = [number for number in self._order(runs) if self._takes_part(runs[number], rung)]
        running = [runs[number] for number in numbers]
        for position, (number, run) in enumerate(zip(numbers, running, strict=True)):
            self.progress.show_candidate(runs, running, position, len(rung.splits))
            is_first = not any(one.n_samples for one in runs)  # one candidate finishes, so that there is a model
            values = self._score_in_time(runs, run, rung, is_first)
            if values is not None:
                drawn[number] = values
                self._release_models(running, rung)
            elif run is best and run.is_out_of_time:
                break  # worse candidates must not win by being faster
        if not drawn:
            return False
        for run in runs:
            if run.n_samples < rung.samples.size and not run.is_eligible:
                run.models = []
        self._compare(runs, drawn)
        if _FEWEST_TO_JUDGE <= rung.samples.size < len(self.data.y):
            self._drop_dominated(runs, list(drawn), rung, n_finalists)
        return True

    def _release_models(self, running: list[CandidateRun], rung: Rung) -> None:
        """Keep the fold models of the best run of a rung alone if there are many samples: forests are large."""
        if len(self.data.y) <= MANY_SAMPLES:
            return
        scored = [run for run in running if run.n_samples == rung.samples.size]
        best = max(scored, key=lambda run: run.value)
        for run in scored:
            if run is not best:
                run.models = []
        release_freed_memory()

    def _order(self, runs: list[CandidateRun]) -> list[int]:
        """Return the numbers of the runs, the best on enough samples first: time may run out, or the user may stop."""
        numbers = list(range(len(runs)))
        if _best_of_enough(runs) is None:
            return numbers
        return sorted(numbers, key=lambda number: (-runs[number].n_samples, -np.nan_to_num(runs[number].value)))

    def _score_in_time(self, runs: list[CandidateRun], run: CandidateRun, rung: Rung, is_first: bool) -> Floats | None:
        """Return the measure of a run on resamples; None if it is dropped, for failing or for lack of time."""
        size, n_folds = rung.samples.size, len(rung.splits)
        if not is_first and self.schedule.is_too_slow(run, size, n_folds):
            run.drop_for_time(f"{size} samples would take more time than is left")
            return None
        try:
            return self._score_candidate(
                run, rung, np.inf if is_first else self.schedule.limit(runs, run, size, n_folds)
            )
        except OutOfTimeError:
            run.drop_for_time(f"{size} samples took more time than there was")
            return None

    def _takes_part(self, run: CandidateRun, rung: Rung) -> bool:
        """Return whether a run is trained on a rung.

        It may wait for more samples, but never with a time budget, as its time would be unknown.
        """
        enough = min(run.candidate.least_samples, len(self.data.y))
        return not run.why_dropped and (self.schedule.is_limited or rung.samples.size >= enough)

    def _drop_slow(self, runs: list[CandidateRun], size: int) -> bool:
        """Drop runs that are too slow for two folds of a rung; return whether the rungs end.

        They end if no run is left, or if the best is too slow: worse candidates must not win by being faster, and what
        time is left is better spent on training the best on more samples.
        """
        left = [run for run in runs if not run.why_dropped]
        for run in left:
            if run.n_samples and self.schedule.is_too_slow(run, size, n_folds=2):
                run.drop_for_time(f"{size} samples would take more time than is left")
        best = _best_of_enough(runs)
        return all(run.why_dropped for run in left) or (best is not None and best.is_out_of_time)

    def _score_candidate(self, run: CandidateRun, rung: Rung, limit: float) -> Floats | None:
        """Score the samples; return the measure on resamples of them, None if the candidate fails.

        Raises
        ------
        OutOfTimeError
            If the candidate takes longer than the limit.
        """
        clock, part = Clock(None), self.data.take(rung.samples)
        fit = partial(fit_on_threads, self.task, run.candidate.estimator)
        score = partial(limit_scores, self.task, self.prior)
        draw = partial(draw_to_train, self.task, part, run.candidate.most_samples, self.rule.seed)
        score_fold = partial(score_fold_quietly, fit, score, draw, part)
        try:
            with record_warnings() as in_this_process:
                found = self._train_folds(run, score_fold, rung, limit)
        except OutOfTimeError:
            raise
        except Exception as error:  # learners of other packages have errors of their own
            run.why_dropped, run.has_failed = f"failed: {error}", True
            warnings.warn(f"candidate {run.candidate.name} failed and is dropped: {error}", stacklevel=2)
            return None
        finally:
            run.seconds += clock.seconds()
        run.models = [one.model for one in found.kept if one.model is not None]
        with record_warnings() as of_threshold:
            values = self._judge_scores(run, rung, found)
        if self.schedule.is_limited:
            timed = partial(_measure_scoring, partial(score, run.models[0]), part.X)
            run.scoring_seconds = run_within(np.inf, timed, self.schedule.n_threads(_TIMED_SAMPLES))
        of_folds = sorted({*in_this_process, *(text for one in found.kept for text in one.warnings)})  # in any order
        run.warnings = list(dict.fromkeys([*run.warnings, *of_folds, *of_threshold]))
        run.n_folds = len(rung.splits)
        run.curve.append((float(np.mean([train.size for train, _ in rung.splits])), run.value))
        run.record_time(sum(one.seconds for one in found.kept), len(rung.splits), rung.samples.size)
        name = run.candidate.name
        text = f"{rung.samples.size} samples: {name} {run.candidate.shown_settings or ''} {run.value:.4f}"
        self.schedule.is_stopped |= self.report_progress(text)
        return values

    def _judge_scores(self, run: CandidateRun, rung: Rung, found: OutOfFoldScores) -> Floats:
        """Calibrate and judge out-of-fold scores; return the measure on resamples."""
        run.calibration = self.task.calibrate(self.data.attach_scores(rung.test_samples, found.scores))
        run.scores = run.calibration(found.scores)
        if self._is_ranking and self.data.has_random_folds:
            codes = self.task.strata(self.data.target[rung.test_samples])
            weights = self.data.sample_weights[rung.test_samples]
            run.scores = align_folds(rung.splits, run.scores, codes, weights)
        run.probe, run.probe_scores = rung.samples[found.probe], run.calibration(found.probe_scores)
        return self._judge(run, rung)

    def _train_folds(
        self, run: CandidateRun, score_fold: Callable[..., Any], rung: Rung, limit: float
    ) -> OutOfFoldScores:
        """Return out-of-fold scores, with the models and the warnings of the folds."""
        n_trained = max(train.size for train, _ in rung.splits)
        is_alone = shares_random_numbers(run.candidate.estimator)
        n_side_by_side = 1 if is_alone else self.schedule.n_side_by_side(n_trained)
        kept, n_jobs = self._list_kept(len(rung.splits)), self.schedule.n_jobs_of_folds
        train = partial(score_out_of_fold, score_fold, rung.splits, rung.probe, n_jobs, kept, n_side_by_side)
        found = run_within(limit, train, self.schedule.n_threads(n_trained))
        if n_trained > FEW_SAMPLES:
            release_freed_memory()
        if not (np.isfinite(found.scores).all() and np.isfinite(found.probe_scores).all()):
            raise ValueError("it gives some samples NaN or infinite scores")
        return found

    def _list_kept(self, n_folds: int) -> list[bool]:
        """Return which fold models are kept in case of no time for a final one; the first if there are many samples."""
        n_kept = 0 if not self.schedule.is_limited else 1 if len(self.data.y) > MANY_SAMPLES else n_folds
        return [fold < n_kept for fold in range(n_folds)]

    def _judge(self, run: CandidateRun, rung: Rung) -> Floats:
        """Record the measure of a run with its interval; return the measure on resamples, the same for all runs."""
        samples, clock = self.data.attach_scores(rung.test_samples, run.scores), Clock(None)
        judge = self.task.best_value(samples, self.rule)
        self.schedule.judged_samples, self.schedule.decision_seconds = rung.samples.size, clock.seconds()
        run.value = judge(samples.weights)
        values = self.draw_values(judge, rung)
        run.interval = middle_of(values)
        self.schedule.judging_seconds = clock.seconds()
        return values

    def draw_values(self, judge: Judge, rung: Rung) -> Floats:
        """Return the measure on resamples of a rung, the same resamples in every call."""
        random, weights = np.random.default_rng(self.rule.seed), self.data.sample_weights[rung.test_samples]
        groups = self.data.groups_of(rung.test_samples)
        values: Floats = np.array([judge(_resample(weights, groups, random)) for _ in range(_RESAMPLES)])
        return values

    def _compare(self, runs: list[CandidateRun], drawn: dict[int, Floats]) -> None:
        """Set the differences of the runs to the best of them."""
        best = max(drawn, key=lambda number: runs[number].value)
        for number in drawn:
            runs[number].difference = None if number == best else _difference(runs, drawn, number, best)

    def _drop_dominated(self, runs: list[CandidateRun], numbers: list[int], rung: Rung, most: int) -> None:
        """Drop candidates that the ensemble of the rung does not need, and all but those that count most in it.

        The best candidate stays, and so do settings that may gain more from more samples than others, unless they are
        clearly behind it on resamples.
        """
        scores = [runs[number].scores for number in numbers]
        target, weights = (part[rung.test_samples] for part in (self.data.target, self.data.sample_weights))
        shares = dict(zip(numbers, stack_scores(self.task, target, weights, scores, self.prior), strict=True))
        best = max(numbers, key=lambda number: runs[number].value)
        counting = sorted((number for number in numbers if shares[number]), key=lambda number: -shares[number])[:most]
        for number in set(numbers).difference([best, *counting]):
            run = runs[number]
            if shares[number] and not run.is_clearly_behind:
                run.why_dropped = f"not among the {most} that count most in the ensemble"
            elif run.is_clearly_behind or not run.candidate.gains_later:
                run.drop_unneeded()


def _resample(weights: Floats, groups: Integers | None, random: np.random.Generator) -> Floats:
    """Return the weights of the samples in a resample; those of a group are drawn as one."""
    if groups is None:
        drawn = random.exponential(size=weights.size)
        drawn *= weights
        return drawn
    return weights * random.exponential(size=int(groups.max()) + 1)[groups]


def _best_of_enough(runs: list[CandidateRun]) -> CandidateRun | None:
    """Return the best run of the last rung, None if no run was judged by enough samples yet."""
    size = max(run.n_samples for run in runs)
    reached = [run for run in runs if run.n_samples == size and run.is_eligible]
    return max(reached, key=lambda run: run.value) if reached and size >= _FEWEST_TO_JUDGE else None


def _revive_best(runs: list[CandidateRun]) -> bool:
    """Take back the best dropped run where all others have failed on more samples; return whether there is one."""
    dropped = [run for run in runs if not run.is_eligible and not run.has_failed]
    if any(run.is_eligible for run in runs) or not dropped:
        return False
    max(dropped, key=lambda run: (run.n_samples, run.value)).why_dropped = ""
    return True


def _one_of_each_first(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates with one setting of every learner before the others, which there may be no time for."""
    names = [candidate.name for candidate in candidates]
    order = sorted(range(len(names)), key=lambda number: names[:number].count(names[number]))
    return [candidates[number] for number in order]


def _measure_scoring(score: Callable[[Any], Floats], X: Any) -> float:
    """Return the seconds that a model takes to score one of many samples, not misled by one interruption."""
    some = take_samples(X, np.arange(min(_TIMED_SAMPLES, count_samples(X))))

    def time_once() -> float:
        clock = Clock(None)
        score(some)
        return clock.seconds()

    return float(np.median([time_once() for _ in range(3)])) / float(count_samples(some))


def _difference(runs: list[CandidateRun], values: dict[int, Floats], number: int, rival: int) -> Difference:
    ends = middle_of(values[number] - values[rival])
    return Difference(runs[rival].candidate.title, runs[number].value - runs[rival].value, ends)


def middle_of(values: Floats) -> tuple[float, float]:
    """Return the interval of the middle 90 % of the values."""
    low, high = np.quantile(values, [0.05, 0.95])
    return float(low), float(high)
