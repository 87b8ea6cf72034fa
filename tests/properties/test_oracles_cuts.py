"""Labellings are cuts: their violation at any other scores never exceeds the largest one there.

Cutting planes rely on this property alone. It makes the largest violation a convex function of the scores.
"""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.measures import (
    GainsByRank,
    HasViolatedLabelling,
    RestrictsLabellings,
    contingency_measure,
    get_measure,
)
from metricwise.measures import registered_names as names
from metricwise.oracles import make_oracle

OWN = contingency_measure(lambda tp, fp, fn, tn: (tp + 0.3 * tn) / (tp + 0.3 * tn + 2 * np.sqrt(fp) + fn), "own")
MEASURES = [*map(get_measure, names(HasViolatedLabelling)), OWN]
WEIGHTS = {
    "no weights": lambda rng, n: None,
    "whole weights": lambda rng, n: rng.integers(1, 5, size=n).astype(float),
    "halves": lambda rng, n: rng.integers(1, 9, size=n) / 2,
    "any weights": lambda rng, n: rng.uniform(0.05, 20.0, size=n),
    "large weights": lambda rng, n: rng.uniform(100.0, 10_000.0, size=n),
}


def make_random_case(seed, measure, kind):
    """Return a small problem, its scores, and nearby scores in another order; every second case has ties."""
    rng = np.random.default_rng(seed)
    n_pos, n_neg = int(rng.integers(1, 6)), int(rng.integers(11, 15))
    n = n_pos + n_neg
    weights = WEIGHTS[kind](rng, n)
    if weights is not None and isinstance(measure, RestrictsLabellings):
        weights[-1] += 2 * weights[:n_pos].sum() + 1.0  # twice as many samples as predicted positives
    here = rng.normal(size=n) + rng.choice([0.0, 0.5, 1.0]) * np.r_[np.ones(n_pos), -np.ones(n_neg)]
    here = np.round(here) if seed % 2 else here
    return n_pos, n_neg, weights, here, here + rng.choice([0.01, 0.1, 1.0]) * rng.normal(size=n)


CASES = [
    pytest.param(measure, kind, id=f"{measure.name}-{kind}")
    for measure in MEASURES
    for kind in WEIGHTS
    if kind in ("no weights", "whole weights") or not isinstance(measure, GainsByRank)  # copies are ranked whole
]


@pytest.mark.parametrize(("measure", "kind"), CASES)
def test_a_labelling_is_a_lower_bound_everywhere(measure, kind):
    for seed in range(220):
        n_pos, n_neg, weights, here, there = make_random_case(seed, measure, kind)
        oracle = make_oracle(measure, n_pos, n_neg, weights)
        labelling = oracle.violate(here)
        cut, loss, value = labelling.coefficients(), labelling.loss, labelling.value
        assert value == pytest.approx(loss + cut @ here, abs=1e-9)
        assert oracle.violate(there).value >= loss + cut @ there - 1e-9, f"seed {seed}"


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_loss_and_slope_treat_samples_on_the_margin_alike(measure):
    """Loss and slope of a labelling belong to the same samples, even where rounding decides the violation."""
    for n_pos in (1, 3, 7, 15):
        for n_neg in (3, 7, 8, 31):
            if isinstance(measure, RestrictsLabellings) and 2 * n_pos > n_pos + n_neg:
                continue
            oracle = make_oracle(measure, n_pos, n_neg)
            for margin in (1.0, np.nextafter(1.0, 0.0), np.nextafter(1.0, 2.0), oracle.mistakes / (n_pos + n_neg)):
                for other in (margin, margin * n_pos / n_neg):
                    for low in (-other, np.nextafter(-other, 0.0), np.nextafter(-other, -9.0)):
                        scores = np.r_[np.full(n_pos, margin), np.full(n_neg, low)]
                        labelling = oracle.violate(scores)
                        rebuilt = labelling.loss + labelling.coefficients() @ scores
                        assert labelling.value == pytest.approx(rebuilt, abs=1e-9), (n_pos, n_neg, margin, low)
