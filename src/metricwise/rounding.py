"""Bounds of rounding errors: what floating-point sums may differ by from exact ones (Higham 2002, Chapter 3).

A sum or inner product of k terms, in any order, differs from the exact one by at most

    gamma(k) * sum of the absolute terms,    gamma(k) = k u / (1 - k u),    u = 2^-53.

A certificate is widened by such bounds, so that it holds in exact arithmetic: where terms are much larger than their
sum, it is wide, and never wrong.
"""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats, Mask

_UNIT = 2.0**-53
STEPS = 64  # operations on a value other than those of a sum
_SEARCH = 4e-12  # of the slack's terms: by how much a search for the largest value may miss it, which ends at ties


def gamma(n_terms: float) -> float:
    """Return the bound of the relative error of a sum of so many terms; infinity if there is none."""
    share = n_terms * _UNIT
    return share / (1.0 - share) if share < 1.0 else np.inf


def masses(positive: Mask, weights: Floats, u: float, fpr_range: tuple[float, float] | None) -> Floats:
    """Return the largest size of every sample's coefficient in any labelling.

    A labelling changes the label of a sample, whose coefficient then is its weight over u. In a ranking, a positive is
    placed below all top negatives at most, and a top negative above all positives (``fpr_range``).
    """
    if fpr_range is None:
        return weights / u
    low, high = fpr_range
    n_pos, n_neg = float(weights[positive].sum()), float(weights[~positive].sum())
    scales: Floats = np.where(positive, high / (n_pos * (high - low)), 1.0 / (n_neg * (high - low)))
    return weights * scales


def slack_error(mass: Floats, scores: Floats, score_errors: Floats) -> float:
    """Return by how much a slack may differ from the exact one at the exact scores."""
    terms = 1.0 + float(mass @ np.abs(scores))
    # Where rounding hides a slow rise, a search along sorted samples may stop a step of rounding early per sample.
    own = _SEARCH + gamma(8 * scores.size + STEPS)
    return float(mass @ score_errors) * (1.0 + gamma(scores.size)) + own * terms
