"""Weights of candidates in an ensemble, by stacking their out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from metricwise._typing import Floats, Labels
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.log_loss import Loss
from metricwise.decisions.task import Task

_PENALTY = 1.0  # on squared weights, against the log loss of the prior in all samples together
_LEAST_SHARE = 0.02  # of the weights, below which a candidate is not worth its training


def combine_scores(weights: Floats, parts: Sequence[Floats], prior: Any) -> Floats:
    """Return the prior plus the weighted sum of what the scores of each candidate add to it.

    The weights need not sum to one: averages of log-odds are less certain than they could be.

    Parameters
    ----------
    weights : array of float
        The weight of each candidate.
    parts : sequence of arrays
        Calibrated scores by each candidate: log-odds or log-probabilities.
    prior : float or array
        Scores of samples of which nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> combine_scores(np.array([0.5, 1.0]), [np.array([1.0, -3.0]), np.array([0.0, -1.0])], prior=-1.0)
    array([ 1., -2.])
    """
    # In this order, weights that sum to one leave no trace of the prior, not even of rounding.
    total: Floats = np.zeros_like(parts[0])
    for weight, part in zip(weights, parts, strict=True):
        total += weight * part
    combined: Floats = total + (1.0 - np.sum(weights)) * prior
    return combined


def stack_scores(task: Task, target: Labels, sample_weights: Floats, parts: Sequence[Floats], prior: Any) -> Floats:
    """Return the weights with which `combine_scores` has the least log loss; zero for those not worth a training.

    The loss of probabilities uses all that the samples show, so that it is overfitted later than the measure, which
    depends on the samples near the threshold. The fewer samples, and the rarer a class, the more equal are the weights
    of similar candidates: the penalty is divided by the log loss of the prior, summed over the samples.

    Parameters
    ----------
    task : Task
        The task.
    target : array
        Encoded targets of out-of-fold samples.
    sample_weights : array of shape (n_samples,)
        Their weights.
    parts : sequence of arrays
        Their calibrated scores by each of the candidates.
    prior : float or array
        Scores of samples of which nothing is known.
    """
    if len(parts) == 1:
        return np.ones(1)

    def loss(distances: Floats) -> Loss:
        return task.log_loss(ScoredSamples(target, distances + prior, sample_weights))

    distances = [part - prior for part in parts]
    total = float(sample_weights.sum()) * loss(np.zeros_like(parts[0])).value
    return _stack_few(loss, distances, _PENALTY / total)


def _stack_few(loss: Callable[[Floats], Loss], parts: Sequence[Floats], penalty: float) -> Floats:
    """Return weights as `stack` does, zero for candidates that would hardly count, times the factor of least loss."""
    weights, kept = stack(loss, parts, penalty), np.ones(len(parts), dtype=bool)
    while np.any(small := kept & (weights < _LEAST_SHARE * weights.sum())):
        kept &= ~small
        weights = np.zeros(len(parts))
        weights[kept] = stack(loss, [parts[number] for number in np.flatnonzero(kept).tolist()], penalty)
    return weights * _best_factor(loss, combine_scores(weights, parts, 0.0))


def _best_factor(loss: Callable[[Floats], Loss], scores: Floats) -> float:
    """Return the factor with which scores have the least loss: the penalty has made them too small."""
    found = minimize_scalar(lambda factor: loss(factor * scores).value, bounds=(0.5, 5.0), method="bounded")
    return float(found.x)


def stack(loss: Callable[[Floats], Loss], parts: Sequence[Floats], penalty: float) -> Floats:
    r"""Return non-negative weights :math:`w` that minimise the loss of a weighted sum of scores :math:`s_k`.

    .. math:: \min_{w \ge 0} L\Bigl(\sum_k w_k s_k\Bigr) + \lambda \sum_k w_k^2

    Parameters
    ----------
    loss : callable
        Returns the loss of scores, with its gradient.
    parts : sequence of arrays
        Scores by each of the candidates.
    penalty : float
        :math:`\lambda`, which makes weights of similar scores equal.

    References
    ----------
    .. [1] L. Breiman (1996). Stacked regressions. *Machine Learning* 24, 49-64. Non-negative weights.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.decisions.log_loss import logistic_loss
    >>> truth = np.array([True, True, False, False])
    >>> informed, noise = np.array([2.0, 1.0, 1.5, -2.0]), np.array([-1.0, 1.0, 1.0, -1.0])
    >>> weights = stack(lambda scores: logistic_loss(truth, scores, np.ones(4)), [informed, noise], penalty=0.01)
    >>> bool(weights[0] > weights[1])
    True
    """

    def objective(weights: Floats) -> tuple[float, Floats]:
        found = loss(combine_scores(weights, parts, 0.0))
        slopes = np.array([np.vdot(found.gradient, part) for part in parts])
        return found.value + penalty * float(weights @ weights), slopes + 2.0 * penalty * weights

    equal = np.full(len(parts), 1.0 / len(parts))
    settings = {"ftol": 1e-12, "gtol": 1e-8}  # the weights themselves are to be precise, not only their loss
    bounds = [(0.0, None)] * len(parts)
    weights: Floats = minimize(objective, equal, jac=True, bounds=bounds, method="L-BFGS-B", options=settings).x
    return weights if weights.any() else equal
