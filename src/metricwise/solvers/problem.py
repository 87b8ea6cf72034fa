"""The multivariate support vector problem: data, oracle and the cost of the slack."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Indices
from metricwise.designs import Design
from metricwise.designs.base import BoundsRounding, sample_sizes
from metricwise.measures import Accuracy, HasMistakeCosts, Measure
from metricwise.measures.base import RestrictsLabellings
from metricwise.measures.ranking_capabilities import GainsByRank, find_roc_region, loss_size
from metricwise.oracles import Labelling, Oracle, make_oracle
from metricwise.oracles.base import BoundsSlack
from metricwise.results import Certificate, Witness
from metricwise.rounding import (
    STEPS,
    SlackTerms,
    gamma,
    largest_coefficients,
    placing_error,
    replace_nan_bounds,
    slack_dual,
    slack_error,
    widen_restricted,
)


@dataclass(frozen=True)
class MultivariateProblem:
    """Minimise J(w) = 1/2 |w|^2 + cost * R(X w), R the slack of a measure's most violated labelling.

    ``cost`` is C u: with u the number of mistakes in a full loss, C is the cost of one mistake. The design has
    the positives first.
    """

    design: Design
    oracle: Oracle
    measure: Measure
    n_pos: int
    cost: float
    weights: Floats | None = None

    def objective(self, w: Floats, labelling: Labelling) -> float:
        """Return J(w), given the most violated labelling at w."""
        return 0.5 * float(w @ self.design.covector(w)) + self.cost * labelling.value

    @property
    def bounds_rounding(self) -> bool:
        """Whether bounds can be proved: rounding errors of the products are known."""
        return isinstance(self.design, BoundsRounding)

    def prove(
        self, w: Floats, loss: float, direction: Floats, n_terms: int, sizes: Floats | None = None
    ) -> Certificate:
        """Return bounds that hold in exact arithmetic: J(w), and the dual value of a combination of labellings.

        Parameters
        ----------
        w : array
            The weights.
        loss : float
            The combined loss of the labellings.
        direction : array
            The product of their combined coefficients with the samples.
        n_terms : int
            Number of labellings, or of the terms that every coefficient is a sum of.
        sizes : array, optional
            Sums of the absolute terms of the coefficients, where these may exceed the coefficients of labellings.
        """
        design: Any = self.design
        w, g = design.recompute_values(w), design.recompute_values(self.cost * direction)
        largest = self._largest_coefficients
        mass = largest if sizes is None else np.maximum(sizes, largest)
        errors = design.rounding_errors(w, g, self.cost * mass, n_terms)
        scores = design.scores(w)
        oracle = self.oracle.exact() if isinstance(self.oracle, BoundsSlack) else self.oracle
        terms = SlackTerms(
            self._loss_size, float(largest @ np.abs(scores)), float(largest @ errors.scores), self._n_copies
        )
        if isinstance(self.measure, GainsByRank):
            terms = terms._replace(search=self._placing_error(scores))
        if isinstance(self.measure, RestrictsLabellings):
            terms = widen_restricted(terms, largest, scores, self.oracle.classes.weight_errors)
        slack = oracle.violate(scores).value + slack_error(terms, ranks=find_roc_region(self.measure) is not None)
        upper = 0.5 * (float(w @ design.covector(w)) + errors.square) + self.cost * slack
        lower = self._dual_value(loss, float(g @ design.covector(g)) + errors.combination, n_terms)
        return Certificate(*replace_nan_bounds(upper, lower, slack))

    def bound_choices(self, loss: float, direction: Floats, square: float, n_terms: int) -> float:
        """Return the dual value of a combination of labellings whose direction counts in part only.

        ``square`` is that of the part, as computed.
        """
        design: Any = self.design
        g, nothing = self.cost * direction, np.zeros(self.design.shape[1])
        errors = design.rounding_errors(nothing, g, self.cost * self._largest_coefficients, n_terms)
        return self._dual_value(loss, self.cost**2 * square * (1.0 + gamma(STEPS)) + errors.combination, n_terms)

    def _dual_value(self, loss: float, square: float, n_terms: int) -> float:
        return slack_dual(self.cost, loss, square, (self._loss_size, self._n_copies, n_terms))

    def _placing_error(self, scores: Floats) -> float:
        """Return by how much the most violated ranking at some scores may be missed."""
        classes = self.oracle.classes
        return placing_error(int(classes.pos_weight), int(classes.neg_weight), float(np.abs(scores).max()))

    @property
    def _n_copies(self) -> int:
        """Number of samples; of their copies where each copy has a rank, and so a term of the loss, of its own."""
        classes, n_samples = self.oracle.classes, int(self.design.shape[0])
        ranks_copies = isinstance(self.measure, GainsByRank)
        return int(classes.pos_weight + classes.neg_weight) if ranks_copies else n_samples

    @property
    def _loss_size(self) -> float:
        classes = self.oracle.classes
        return loss_size(self.measure, classes.pos_weight, classes.neg_weight)

    @property
    def _largest_coefficients(self) -> Floats:
        n_samples, weights = self.design.shape[0], self.oracle.classes.weights
        weights = np.ones(n_samples) if weights is None else weights
        positive, roc_region = np.arange(n_samples) < self.n_pos, find_roc_region(self.measure)
        return largest_coefficients(positive, weights, self.oracle.mistakes, roc_region)

    def with_cost(self, cost: float) -> MultivariateProblem:
        """Return the same problem with another cost of the slack."""
        return replace(self, cost=cost)

    def sample(self, n_samples: int, random: np.random.Generator) -> MultivariateProblem:
        """Return the problem on a random subset with the same share of positives and the same cost."""
        indices, n_pos = draw_sample(self.n_pos, self.design.shape[0], n_samples, random)
        weights = None if self.weights is None else self.weights[indices]
        oracle = make_oracle(self.measure, n_pos, indices.size - n_pos, weights, threads=self.design.threads)
        return replace(self, design=self.design.gather(indices), oracle=oracle, n_pos=n_pos, weights=weights)


def combine_labellings(problem: MultivariateProblem, witness: Witness) -> Floats:
    """Return the coefficients of the samples in the labellings of a witness: the average by their shares."""
    combined = np.zeros(problem.design.shape[0])
    for share, point in zip(witness.shares, np.asarray(witness.points), strict=True):
        combined += share * problem.oracle.violate(problem.design.scores(point)).coefficients()
    return combined


def draw_sample(n_pos: int, total: int, n_samples: int, random: np.random.Generator) -> tuple[Indices, int]:
    """Return the indices of a random subset, positives first and in the same proportion, and how many are positive."""
    few_pos, few_neg = sample_sizes(n_pos, total - n_pos, n_samples)
    pos = np.sort(random.choice(n_pos, few_pos, replace=False))
    neg = n_pos + np.sort(random.choice(total - n_pos, few_neg, replace=False))
    return np.concatenate([pos, neg]), few_pos


def order_positives_first(positive: NDArray[np.bool_], weights: Floats | None) -> tuple[Indices, Floats | None]:
    """Return the indices of the samples, positives first, and their weights in that order (None if all are 1)."""
    indices = np.concatenate([np.flatnonzero(positive), np.flatnonzero(~positive)])
    if weights is None or np.all(weights == 1.0):
        return indices, None
    return indices, np.asarray(weights, dtype=np.float64)[indices]


def make_problem(
    design: Design, positive: NDArray[np.bool_], measure: Measure, C: float, weights: Floats | None = None
) -> MultivariateProblem:
    """Return the problem of a design, positives first, with the cost of the slack.

    Parameters
    ----------
    design : Design
        Samples in any order.
    positive : array of bool
        Which samples are positive; both classes must be present.
    measure : Measure
        A measure with a most violated labelling.
    C : float
        The cost of one mistake.
    weights : array, optional
        Weights of the samples, above zero.
    """
    if isinstance(measure, HasMistakeCosts):
        weights = weigh_by_costs(measure, positive, weights)
        measure = Accuracy()
    indices, ordered = order_positives_first(positive, weights)
    n_pos = int(np.count_nonzero(positive))
    oracle = make_oracle(measure, n_pos, indices.size - n_pos, ordered, threads=design.threads)
    return MultivariateProblem(design.take(indices), oracle, measure, n_pos, C * oracle.mistakes, ordered)


def weigh_by_costs(cost: HasMistakeCosts, positive: NDArray[np.bool_], weights: Floats | None) -> Floats:
    """Return the weights of the accuracy whose hinge loss is that of a linear cost."""
    miss, alarm = cost.mistake_costs
    if min(miss, alarm) <= 0.0:
        raise ValueError(
            f"a missed positive costs {miss:g} and a false alarm {alarm:g} (in units of the costlier), so that one "
            "label for all samples costs least: both must cost something to be trained for"
        )
    weighted: Floats = np.where(positive, miss, alarm) * (1.0 if weights is None else weights)
    return weighted
