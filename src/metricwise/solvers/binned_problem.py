"""The multivariate support vector problem of remote samples, known by histograms of their scores.

The objective is that of `metricwise.solvers.problem`. At a point it is known by a bracket
(`metricwise.oracles.histogram`): its upper end counts as the slack, so that upper bounds of the objective hold, and
planes are those of labellings of the samples, so that lower bounds hold, whatever the bins. Where the ends are further
apart than the tolerance allows, the same scores are counted again in bins that fit them better, at the cost of one
more histogram and no product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from metricwise._typing import Floats
from metricwise.designs.labelled import Bins, Edges
from metricwise.designs.remote_design import RemoteDesign
from metricwise.designs.remote_scores import BinCoefficients, RemoteScores, ScoreHistogram
from metricwise.measures import get_measure, registered_names
from metricwise.measures.base import Measure
from metricwise.measures.ranking_capabilities import find_roc_region, loss_size
from metricwise.oracles import make_oracle
from metricwise.oracles.factory import has_fast_oracle
from metricwise.oracles.histogram import Bracket, ClassScores, bracket_slack, refine_edges
from metricwise.results import Certificate
from metricwise.rounding import (
    STEPS,
    SlackTerms,
    combination_error,
    gamma,
    largest_coefficients,
    replace_nan_bounds,
    slack_dual,
    slack_error,
)
from metricwise.solvers.problem import MultivariateProblem

_MOST_HISTOGRAMS = 4  # of the same scores
_WORTH_IT = 0.7  # of the error is left at most, or bins are as good as they get
_ACCURACY = 0.1  # of the tolerance
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # of sums, relative to the largest score


@dataclass(frozen=True)
class BinnedLabelling:
    """The most violated labelling of the bins' means, with the slack of the samples between two bounds."""

    samples: RemoteDesign
    scores: RemoteScores
    histogram: ScoreHistogram
    bracket: Bracket

    @property
    def value(self) -> float:
        """The upper bound of the slack."""
        return self.bracket.upper

    @property
    def error(self) -> float:
        """By how much the slack may be smaller than ``value``."""
        return self.bracket.error

    @property
    def loss(self) -> float:
        return self.bracket.labelling.loss

    @property
    def table(self) -> tuple[float, float]:
        return self.bracket.labelling.table

    def coefficients(self) -> BinCoefficients:
        """Return the coefficient of the samples of every bin."""
        return BinCoefficients(self.scores, self.histogram.edges, self.bracket.by_bin)

    def slope(self, direction: RemoteScores) -> float:
        """Return c . direction."""
        histogram = self.histogram
        if not set(direction.factors) <= set(histogram.keys):
            histogram = self.samples.histogram(self.scores + 0.0 * direction, histogram.edges)
        sums = histogram.sums(direction)
        return float(sum(c @ total for c, total in zip(self.bracket.by_bin, sums, strict=True)))

    def replace_scores(self, scores: RemoteScores) -> BinnedLabelling:
        """Return the same labelling with scores that are stored as one vector."""
        return replace(self, scores=scores)


class BinnedOracle:
    """The oracle of remote samples: bounds the slack from histograms of their scores.

    Parameters
    ----------
    measure : Measure
        A measure with a fast oracle.
    samples : RemoteDesign
        The remote samples.
    n_bins : int
        Bins of each class.
    C : float
        The cost of one mistake.
    tol : float
        Relative duality gap to reach.

    Attributes
    ----------
    mistakes, cost : float
        Number of mistakes in a full loss, and their cost.
    last_error : float
        Width of the last bracket.
    """

    def __init__(self, measure: Measure, samples: RemoteDesign, n_bins: int, C: float, tol: float) -> None:
        self.measure, self.samples, self.n_bins, self.tol = measure, samples, n_bins, tol
        self.mistakes = float(measure.mistakes_per_loss(float(samples.n_pos), float(samples.n_neg)))  # type: ignore[attr-defined]
        self.cost = C * self.mistakes
        self.last_error = 0.0
        self._edges: Edges = (np.empty(0), np.empty(0))  # of the last scores; the next ones are similar

    def violate(self, scores: RemoteScores) -> BinnedLabelling:
        """Return the most violated labelling of the bins, finer ones where they are needed."""
        best = self._count(scores)
        w = self.samples.weights(scores)
        half_norm = 0.5 * float(w @ w) / self.cost
        for _ in range(_MOST_HISTOGRAMS - 1):
            if best.error <= _ACCURACY * self.tol * (half_norm + best.value):
                break
            self._edges = self._refine_edges(best)
            finer = self._count(scores)
            worth_it = finer.error <= _WORTH_IT * best.error
            best = min(best, finer, key=lambda labelling: labelling.error)
            if not worth_it:
                break
        self.last_error = best.error
        return best

    def _count(self, scores: RemoteScores) -> BinnedLabelling:
        histogram = self.samples.histogram(scores, self._edges)
        rounding = histogram.rounding(scores) + _ROUNDING * self.samples.largest(scores)
        pos, neg = class_scores(histogram, scores)
        return BinnedLabelling(self.samples, scores, histogram, bracket_slack(self.measure, pos, neg, rounding))

    def _refine_edges(self, labelling: BinnedLabelling) -> Edges:
        classes = class_scores(labelling.histogram, labelling.scores)
        pairs = zip(classes, labelling.bracket.changes, strict=True)
        pos, neg = (refine_edges(bins, changes, self.n_bins) for bins, changes in pairs)
        return pos, neg


def class_scores(histogram: ScoreHistogram, scores: RemoteScores) -> tuple[ClassScores, ClassScores]:
    """Return the scores of both classes in a histogram."""
    pos, neg = (
        _make_class_scores(bins, sums) for bins, sums in zip(histogram.classes, histogram.sums(scores), strict=True)
    )
    return pos, neg


def _make_class_scores(bins: Bins, sums: Floats) -> ClassScores:
    counts = bins.counts.astype(np.float64)
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0.0)
    return ClassScores(counts, means, bins.low, bins.high)


@dataclass(frozen=True)
class BinnedProblem:
    """The problem of `MultivariateProblem` for remote samples."""

    design: RemoteDesign
    oracle: BinnedOracle
    measure: Measure
    bounds_rounding: ClassVar[bool] = True

    @property
    def cost(self) -> float:
        return self.oracle.cost

    def objective(self, w: Floats, labelling: BinnedLabelling) -> float:
        """Return an upper bound of J(w), given the most violated labelling at w."""
        return 0.5 * float(w @ w) + self.cost * labelling.value

    def prove(self, w: Floats, loss: float, direction: Floats, n_terms: int) -> Certificate:
        """Return bounds that hold in exact arithmetic: J(w), and the dual value of a combination of labellings.

        Scores are at most the sums of their absolute terms, so that the sums of the absolute features of both classes
        bound all rounding errors. One product, and one pass for these sums.

        Parameters
        ----------
        w : array
            The weights.
        loss : float
            The combined loss of the labellings.
        direction : array
            The product of their combined coefficients with the samples.
        n_terms : int
            Number of labellings.
        """
        n_samples, g = self.design.shape[0], self.cost * direction
        counts = np.array([self.design.n_pos, self.design.n_neg], dtype=np.float64)
        roc_region = find_roc_region(self.measure)
        largest = largest_coefficients(np.array([True, False]), counts, self.oracle.mistakes, roc_region) / counts
        of_columns = largest @ np.array(self.design.column_sizes())
        score_terms = float(of_columns @ np.abs(w))
        size, relative = loss_size(self.measure, *counts), gamma(w.size + STEPS)
        terms = SlackTerms(size, score_terms, relative * score_terms, n_samples)
        labelling = self.oracle.violate(self.design.scores(w))  # those of the last step have gathered rounding errors
        rounding = slack_error(terms, ranks=roc_region is not None)
        slack = labelling.value + rounding
        upper = 0.5 * float(w @ w) * (1.0 + relative) + self.cost * slack
        square = float(g @ g) + combination_error(g, self.cost * of_columns, n_samples + n_terms)
        lower = slack_dual(self.cost, loss, square, (size, n_samples, n_terms))
        # Rounding may have raised the value by as much as the bound allows it to be too low.
        score_error = self.cost * (labelling.error + 2.0 * rounding)
        return Certificate(*replace_nan_bounds(upper, lower, slack), score_error)

    def sample(self, n_samples: int, random: np.random.Generator) -> MultivariateProblem:
        """Return the problem on a random sample in memory, with the same share of positives and the same cost."""
        design, n_pos = self.design.sample(n_samples, int(random.integers(2**31)))
        oracle = make_oracle(self.measure, n_pos, design.shape[0] - n_pos, threads=design.threads)
        return MultivariateProblem(design, oracle, self.measure, n_pos, self.cost)


def make_binned_problem(samples: RemoteDesign, measure: Measure, n_bins: int, C: float, tol: float) -> BinnedProblem:
    """Return the problem of remote samples.

    Parameters
    ----------
    samples : RemoteDesign
        Remote samples of both classes.
    measure : Measure
        The measure to train for.
    n_bins : int
        Bins of each class.
    C : float
        The cost of one mistake.
    tol : float
        Relative duality gap to reach.
    """
    check_binnable(measure, float(samples.n_pos), float(samples.n_neg))
    return BinnedProblem(samples, BinnedOracle(measure, samples, n_bins, C, tol), measure)


def check_binnable(measure: Any, n_pos: float, n_neg: float) -> None:
    """Raise a ValueError that names the measures that fit unless histograms are enough for a measure."""
    if has_fast_oracle(measure, n_pos, n_neg):
        return
    fitting = [name for name in registered_names() if has_fast_oracle(get_measure(name), n_pos, n_neg)]
    raise ValueError(
        f"measure {measure.name!r} has no oracle that works on histograms of {n_pos:,.0f} positives and {n_neg:,.0f} "
        f"negatives: set score_bins=None, or train for one of {', '.join(fitting)}"
    )
