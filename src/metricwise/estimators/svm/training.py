"""The binary trainings of one call of `fit`: the solution, and the threshold out of fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.folds import merge_copies, split_samples
from metricwise.designs import Design
from metricwise.estimators.svm.training_file import TrainingFile
from metricwise.inference import threshold_for
from metricwise.measures import Measure
from metricwise.measures.base import CountsTopSamples, RestrictsLabellings
from metricwise.results import Result
from metricwise.solvers import Limits, run

if TYPE_CHECKING:
    from metricwise.estimators.svm.base import BatchClassifier
    from metricwise.estimators.svm.kernel_space import KernelSpace


# Copies of samples are merged into weights where that costs nothing, so that a sample of weight two and the same sample
# twice give the same numbers to the last digit. On large data both end within the tolerance, and unit weights are
# faster.
_MOST_ROWS_TO_MERGE = 2000


class Training:
    """The binary trainings of one call of `fit`.

    Parameters
    ----------
    model : BatchClassifier
        Whose parameters count.
    measure : Measure
        What is trained for.
    X, design
        The data as they came, for splitters, and as solvers take them.
    seed : int
        Of the folds.
    n_problems : int
        Binary problems among which the time is divided.
    solver : Solver
        Solves the problems that ``make_problem`` makes of (design, positive, measure, C, weights).
    space : KernelSpace, optional
        The functions of a kernel, if they are not linear in the features.
    """

    def __init__(
        self,
        model: BatchClassifier,
        measure: Measure,
        X: Any,
        design: Design,
        *,
        seed: int,
        n_problems: int,
        solver: Any,
        make_problem: Callable[[Design, Mask, Measure, float, Floats], Any],
        space: KernelSpace | None = None,
    ) -> None:
        self.model, self.measure, self.X, self.seed = model, measure, X, seed
        self.design = design if space is None else space.design
        self.solver, self.make_problem = solver, make_problem
        self.space = space
        self.n_problems = n_problems
        self.too_few_for_folds = False
        self.file: TrainingFile | None = None

    def fit(self, k: int, positive: Mask, weights: Floats) -> tuple[Result, float]:
        """Solve one binary problem and choose its threshold."""
        rows = np.flatnonzero(weights > 0.0)
        splits = self._splits(positive, weights) if self.model.threshold == "cv" else []
        limits = self._limits(n_runs=len(splits) + 1)
        if self.space is not None and self.space.choose_design is not None:
            self.design = self.space.choose_design(self, rows, positive, weights, limits)
        result = self._solve(k, rows, positive, weights, limits)
        return result, self._threshold(result, rows, positive, weights, splits, limits)

    def _solve(self, k: int, rows: Indices, positive: Mask, weights: Floats, limits: Limits) -> Result:
        """Solve binary problem k on all samples with weight."""
        return self._trained(self._problem(rows, positive, weights, self.measure), limits, self.model.callback)

    def _trained(self, problem: Any, limits: Limits, callback: Any = None) -> Result:
        """Solve a problem; the weights do not depend on the order of its samples."""
        return portable(self._run(problem, limits, None, callback)[0], problem.design)

    def _run(self, problem: Any, limits: Limits, state: Any, callback: Any) -> tuple[Result, Any]:
        """Run the solver, from where the file of the training has it if there is one."""
        if self.file is None:
            return run(self.solver, problem, limits, state, callback)
        return self.file.run(self.solver, problem, limits, state, callback)

    def _scores(self, result: Result, rows: Indices) -> Floats:
        """Return the scores that a solution gives to samples."""
        return self.design.take(rows).scores_by(result.weights)

    def _problem(self, rows: Indices, positive: Mask, weights: Floats, measure: Measure) -> Any:
        rows, merged = self._merged(rows, positive, weights)
        return self.make_problem(self.design.take(rows), positive[rows], measure, self.model.C, merged)

    def _merged(self, rows: Indices, positive: Mask, weights: Floats) -> tuple[Indices, Floats]:
        """Return samples and their weights, copies merged where that costs nothing."""
        whole = bool(np.all(weights[rows] == np.floor(weights[rows])))
        if whole and rows.size <= _MOST_ROWS_TO_MERGE:
            return merge_copies(self.design.take(rows), rows, positive[rows], weights[rows])
        return rows, weights[rows]

    def _limits(self, n_runs: int) -> Limits:
        seconds = self.model.max_seconds
        share = None if seconds is None else seconds / (n_runs * self.n_problems)
        return Limits(tol=self.model.tol, max_iter=self.model.max_iter, max_seconds=share)

    def _splits(self, positive: Mask, weights: Floats) -> list[tuple[Indices, Indices]]:
        """Return training and held-out samples of every fold, samples without weight left out."""
        with_weight = weights > 0.0
        rows = np.flatnonzero(with_weight)
        if self.model.cv is None or isinstance(self.model.cv, Integral):
            found = split_samples(self.model.cv, self.design.take(rows), None, positive[rows], self.seed)
            pairs = [(rows[train], rows[test]) for train, test in found or ()]
        else:
            found = split_samples(self.model.cv, self.design, self.X, positive, self.seed)
            pairs = [(train[with_weight[train]], test[with_weight[test]]) for train, test in found or ()]
        both_classes = all(0 < np.count_nonzero(positive[train]) < train.size for train, _ in pairs)
        if both_classes and any(test.size for _, test in pairs):
            return pairs
        self.too_few_for_folds = True
        return []

    def _threshold(
        self,
        result: Result,
        rows: Indices,
        positive: Mask,
        weights: Floats,
        splits: list[tuple[Indices, Indices]],
        limits: Limits,
    ) -> float:
        if not isinstance(self.model.threshold, str):
            return float(self.model.threshold)
        fraction = None
        if isinstance(self.measure, RestrictsLabellings):  # of all samples: fewer may be held out
            total = float(weights.sum())
            fraction = self.measure.predicted_positives(float(weights[positive].sum()), total) / total
        if splits:
            scores = np.concatenate([self._held_out_scores(*split, positive, weights, limits) for split in splits])
            rows = np.concatenate([test for _, test in splits])
        else:
            scores = self._scores(result, rows)
        return threshold_for(self.measure, positive[rows], scores, weights[rows], fraction)

    def _held_out_scores(
        self, train: Indices, test: Indices, positive: Mask, weights: Floats, limits: Limits
    ) -> Floats:
        n_pos = float(weights[positive].sum())
        measure = self.measure.relative_to(n_pos) if isinstance(self.measure, CountsTopSamples) else self.measure
        problem = self._problem(train, positive, weights, measure)
        return self._scores(self._trained(problem, limits), test)


def portable(result: Result, design: Design) -> Result:
    """Return a result whose weights and witness do not depend on the order of the samples of its problem."""
    weights, points = design.portable(result.weights), result.witness.points
    if not sparse.issparse(points):
        points = np.array([design.portable(point) for point in points]).reshape(len(points), weights.size)
    return replace(result, weights=weights, witness=replace(result.witness, points=points))
