"""The thresholds of a page: few enough to be part of it, each with its exact counts.

All thresholds are kept where they are few. Of many, those are kept that answer questions exactly: the corners of the
ROC curve's convex hull, one of which is cheapest whatever mistakes cost; the one with most recall for every whole
percentage of precision; the best for the measure; the model's own. Others fill the curves evenly, closer than the eye
can resolve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from metricwise._typing import Floats
from metricwise.decisions.binary import value_of_labels
from metricwise.decisions.design_effect import estimate_design_effect
from metricwise.inference.threshold import Candidates
from metricwise.measures.base import CountsTable
from metricwise.measures.tables import divide
from metricwise.reporting.predictions import Problem, shortest_between
from metricwise.reporting.resampling import SampleGroups

CandidateIndices = NDArray[np.intp]

MOST_STEPS = 2000
_RANK_WEIGHT = 3.0  # precision changes fastest among the first samples


@dataclass(frozen=True)
class Steps:
    """Thresholds in ascending order, with the true and the false positives of each.

    Attributes
    ----------
    thresholds : array
        Samples with a greater score are predicted positive.
    tp, fp : arrays
        Exact counts over all samples, or sums of their weights.
    n_pos, n_neg : float
        Samples of either class, or their weights.
    own : int
        Step of the model's own threshold; if it has none, the one with about as many predicted positives.
    n_distinct : int
        Number of thresholds that separate samples.
    pos_weight, neg_weight : float
        The weight by which one independent sample of either class counts, from which bands are drawn: Kish's mean; with
        groups, times the design effect.
    """

    thresholds: Floats
    tp: Floats
    fp: Floats
    n_pos: float
    n_neg: float
    own: int
    n_distinct: int
    pos_weight: float = 1.0
    neg_weight: float = 1.0

    @property
    def tables(self) -> tuple[Floats, Floats, Floats, Floats]:
        """True positives, false positives, false negatives and true negatives of every step."""
        return self.tp, self.fp, self.n_pos - self.tp, self.n_neg - self.fp

    @property
    def precision(self) -> Floats:
        """Precision of every step; 1 where nothing is predicted positive, as in scikit-learn's curve."""
        predicted = self.tp + self.fp
        return np.where(predicted > 0, divide(self.tp, predicted), 1.0)

    @property
    def recall(self) -> Floats:
        """Recall of every step."""
        return divide(self.tp, self.n_pos)

    @property
    def false_positive_rate(self) -> Floats:
        """Share of the negatives that is predicted positive, for every step."""
        return divide(self.fp, self.n_neg)


def make_steps(
    problem: Problem,
    measure: CountsTable | None = None,
    most: int = MOST_STEPS,
    groups: SampleGroups | None = None,
) -> Steps:
    """Return the steps of a problem.

    Parameters
    ----------
    problem : Problem
        Truth and scores.
    measure : CountsTable, optional
        The step with its largest value is kept.
    most : int
        Approximate number of steps; those that answer questions exactly are always kept.
    groups : SampleGroups, optional
        Groups of the samples; their design effect on the measure widens bands.

    Examples
    --------
    >>> import numpy as np
    >>> truth, scores = np.array([False, True, True]), np.array([0.1, 0.4, 0.8])
    >>> steps = make_steps(Problem("yes", "yes", truth, scores > 0.5, scores, "probability", 0.5, np.ones(3)))
    >>> steps.thresholds.tolist(), steps.tp.tolist(), steps.own
    ([0.0, 0.2, 0.5, 1.0], [2.0, 2.0, 1.0, 0.0], 2)
    """
    candidates = Candidates.of(problem.truth, problem.scores, problem.weights)
    tp, fp, *_ = candidates.tables()
    predicted = float(problem.weights @ problem.predicted)
    own = int(np.argmin(np.abs(tp + fp - predicted)))
    kept = np.arange(tp.size)
    if tp.size > most:
        essential: list[Any] = [[0, own, tp.size - 1], _hull_corners(candidates), _most_recall(tp, fp)]
        if measure is not None:
            essential.append([candidates.best(candidates.values(measure))])
        required = np.unique(np.concatenate(essential)).astype(np.intp)
        kept = np.union1d(required, _even_candidates(tp, fp, max(most - required.size, 2)))
    kept = kept[::-1]  # thresholds ascend
    thresholds = np.array(
        [shortest_between(*ends) for ends in zip(candidates.edges[kept + 1], candidates.edges[kept], strict=True)]
    )
    at = int(np.flatnonzero(kept == own)[0])
    if problem.threshold is not None:
        thresholds[at] = problem.threshold
    of_one = [_weight_of_one(problem.weights[problem.truth == is_positive]) for is_positive in (True, False)]
    if groups is not None and measure is not None:
        of_one = [_weight_of_one_in_groups(problem, measure, groups)] * 2
    return Steps(thresholds, tp[kept], fp[kept], float(tp[-1]), float(fp[-1]), at, tp.size, *of_one)


def _weight_of_one(weights: Floats) -> float:
    return float(weights @ weights / weights.sum()) if weights.size else 1.0


def _weight_of_one_in_groups(problem: Problem, measure: CountsTable, groups: SampleGroups) -> float:
    """Return the weight of the samples that are worth one independent one, for the measure of the model's labels."""
    value, of_one = value_of_labels(measure, problem.truth, problem.predicted), _weight_of_one(problem.weights)
    strata = problem.truth.astype(np.int64)
    return of_one * estimate_design_effect(value, problem.weights / of_one, groups.codes, strata)


def _hull_corners(candidates: Candidates) -> CandidateIndices:
    """Return the candidates at the corners of the ROC curve's convex hull: where pooled rates of groups change."""
    sizes = candidates.positives + candidates.negatives
    pooled = isotonic_regression(candidates.positives / sizes, weights=sizes, increasing=False)
    return np.asarray(pooled.blocks, dtype=np.intp)


def _most_recall(tp: Floats, fp: Floats) -> CandidateIndices:
    """Return the candidate with most recall, and then fewest false alarms, for each whole percentage of precision."""
    precision = divide(tp, tp + fp)
    found = []
    for least in np.arange(1, 101) / 100.0:
        enough = precision >= least
        if enough.any():
            last = tp.size - 1 - int(np.argmax(enough[::-1]))
            found.append(int(np.searchsorted(tp, tp[last])))
    return np.unique(np.array(found, dtype=np.intp))


def _even_candidates(tp: Floats, fp: Floats, wanted: int) -> CandidateIndices:
    """Return candidates between which recall, false alarms and the logarithm of the rank change by equal amounts."""
    rank = tp + fp
    way = divide(tp, tp[-1]) + divide(fp, fp[-1]) + _RANK_WEIGHT * np.log1p(rank) / np.log1p(rank[-1])
    return np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], wanted)).clip(0, tp.size - 1))
