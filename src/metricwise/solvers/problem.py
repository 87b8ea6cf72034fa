"""The multivariate support vector problem: data, oracle and the price of the slack."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Indices
from metricwise.designs import Design
from metricwise.designs.base import sample_sizes
from metricwise.measures.base import Measure
from metricwise.oracles import Labelling, Oracle, make_oracle


@dataclass(frozen=True)
class MultivariateProblem:
    """Minimise J(w) = 1/2 |w|^2 + price * R(X w), R the slack of a measure's most violated labelling.

    ``price`` is C u: with u the mistakes that a full loss stands for, C is the price of one mistake. The design has
    the positives first.
    """

    design: Design
    oracle: Oracle
    measure: Measure
    n_pos: int
    price: float
    weights: Floats | None = None

    def objective(self, w: Floats, labelling: Labelling) -> float:
        """Return J(w), given the most violated labelling at w."""
        return 0.5 * float(w @ self.design.covector(w)) + self.price * labelling.value

    def at_price(self, price: float) -> MultivariateProblem:
        """Return the same problem with another price of the slack."""
        return replace(self, price=price)

    def sample(self, n_samples: int, random: np.random.Generator) -> MultivariateProblem:
        """Return the problem on a random sample with the same share of positives and the same price."""
        rows, n_pos = sampled_rows(self.n_pos, self.design.shape[0], n_samples, random)
        weights = None if self.weights is None else self.weights[rows]
        oracle = make_oracle(self.measure, n_pos, rows.size - n_pos, weights, threads=self.design.threads)
        return replace(self, design=self.design.gather(rows), oracle=oracle, n_pos=n_pos, weights=weights)


def sampled_rows(n_pos: int, total: int, n_samples: int, random: np.random.Generator) -> tuple[Indices, int]:
    """Return a random sample of samples, positives first, with the same share of them, and how many they are."""
    few_pos, few_neg = sample_sizes(n_pos, total - n_pos, n_samples)
    pos = np.sort(random.choice(n_pos, few_pos, replace=False))
    neg = n_pos + np.sort(random.choice(total - n_pos, few_neg, replace=False))
    return np.concatenate([pos, neg]), few_pos


def positives_first(positive: NDArray[np.bool_], weights: Floats | None) -> tuple[Indices, Floats | None]:
    """Return the samples, positives first, and their weights in that order; None if every sample counts once."""
    rows = np.concatenate([np.flatnonzero(positive), np.flatnonzero(~positive)])
    if weights is None or np.all(weights == 1.0):
        return rows, None
    return rows, np.asarray(weights, dtype=np.float64)[rows]


def make_problem(
    design: Design, positive: NDArray[np.bool_], measure: Measure, C: float, weights: Floats | None = None
) -> MultivariateProblem:
    """Order the samples of a design and set the price of the slack.

    Parameters
    ----------
    design : Design
        Samples in any order.
    positive : array of bool
        Which samples are positive; both classes must be there.
    measure : Measure
        With a most violated labelling.
    C : float
        The price of one mistake.
    weights : array, optional
        Weights of the samples, above zero.
    """
    rows, ordered = positives_first(positive, weights)
    n_pos = int(np.count_nonzero(positive))
    oracle = make_oracle(measure, n_pos, rows.size - n_pos, ordered, threads=design.threads)
    return MultivariateProblem(design.take(rows), oracle, measure, n_pos, C * oracle.mistakes, ordered)
