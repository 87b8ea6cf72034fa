"""Oracles are exact for very many samples, and for very large or small weights."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.measures import FBeta, GowerLegendre, RatioOfRates, get_measure, registered_names
from metricwise.oracles import make_oracle
from metricwise.oracles.generic import GenericOracle

RATIOS = [get_measure(name) for name in registered_names(RatioOfRates)] + [FBeta(0.3), GowerLegendre(0.4)]


def search_grid(measure, n_pos, scores, weights, steps=2000):
    """Return the largest violation with any fraction of a negative predicted positive, on a grid."""
    truth = np.arange(scores.size) < n_pos
    total_pos, total_neg = weights[truth].sum(), weights[~truth].sum()
    u = measure.mistakes_per_loss(total_pos, total_neg)
    pos, neg = np.argsort(scores[truth]), np.argsort(-scores[~truth])
    missed = np.r_[0.0, np.cumsum(weights[truth][pos])]
    lost = np.r_[0.0, np.cumsum((weights * scores)[truth][pos])] / u
    alarms = np.r_[0.0, np.cumsum(weights[~truth][neg])]
    gained = np.r_[0.0, np.cumsum((weights * scores)[~truth][neg])] / u
    fp = np.unique(np.r_[alarms, np.linspace(0.0, alarms[-1], steps)])
    tp = np.maximum(total_pos - missed, 0.0)[:, None]
    losses = 1.0 - measure.value(tp, fp[None], total_pos - tp, total_neg - fp[None])
    return float(np.max(losses - lost[:, None] + np.interp(fp, alarms, gained)[None]))


# The others divide samples into equal pieces instead of splitting them anywhere.
SPLITTING = [m for m in RATIOS if not isinstance(make_oracle(m, 8, 25, np.linspace(0.5, 1.5, 33)), GenericOracle)]


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("measure", SPLITTING, ids=repr)
def test_oracles_do_not_depend_on_the_scale_of_the_weights(measure, size):
    """Fractional weights allow split samples: no split on a grid is more violated."""
    rng = np.random.default_rng(0)
    n_pos, n_neg = 8, 25
    for scale in (0.3, 1.0, 3.0):
        scores = scale * rng.normal(size=n_pos + n_neg) + np.r_[np.full(n_pos, 1.0), np.full(n_neg, -1.0)]
        weights = size * rng.uniform(0.2, 3.0, size=n_pos + n_neg)
        found = make_oracle(measure, n_pos, n_neg, weights).violate(scores)
        assert found.value >= search_grid(measure, n_pos, scores, weights) - 1e-9 * max(1.0, abs(found.value))


@pytest.mark.parametrize("levels", [(0.5, -1.3), (-2.0, -0.2), (0.0, 0.0)], ids=str)
@pytest.mark.parametrize("measure", RATIOS, ids=repr)
def test_very_many_samples_get_the_labelling_of_few(measure, levels):
    """All scores of a class are equal: a case that is neither convex nor concave."""
    n_pos, n_neg = 30_000, 300_000
    scores = np.r_[np.full(n_pos, levels[0]), np.full(n_neg, levels[1])]
    fast = make_oracle(measure, n_pos, n_neg).violate(scores)
    slow = make_oracle(measure, n_pos, n_neg, generic=True).violate(scores)
    assert fast.value == pytest.approx(slow.value, abs=1e-9)
