"""The log loss of scores that are log-odds or log-probabilities, with its gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_softmax

from metricwise._typing import Floats, Integers, Mask


class Loss(NamedTuple):
    """A loss and its gradient with respect to the scores."""

    value: float
    gradient: Floats


def logistic_loss(target: Mask, scores: Floats, weights: Floats) -> Loss:
    """Return the weighted mean log loss of log-odds; multilabel: the sum over the labels.

    Parameters
    ----------
    target : array of bool of shape (n_samples,) or (n_samples, n_labels)
        Which samples are positive.
    scores : array of the same shape
        Log-odds.
    weights : array of shape (n_samples,)
        Weights of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> loss = logistic_loss(np.array([True, False]), np.zeros(2), np.ones(2))
    >>> bool(np.isclose(loss.value, np.log(2.0))), loss.gradient
    (True, array([-0.25,  0.25]))
    """
    shares = weights / weights.sum()
    losses = np.logaddexp(0.0, np.where(target, -scores, scores))
    errors = expit(scores) - target
    return Loss(float(np.sum(shares @ losses)), (shares * errors.T).T)


def softmax_loss(codes: Integers, scores: Floats, weights: Floats) -> Loss:
    """Return the weighted mean log loss of unnormalised log-probabilities.

    Parameters
    ----------
    codes : array of int of shape (n_samples,)
        Columns of the true classes.
    scores : array of shape (n_samples, n_classes)
        Log-probabilities, each sample's up to a constant.
    weights : array of shape (n_samples,)
        Weights of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> loss = softmax_loss(np.array([0, 1]), np.zeros((2, 2)), np.ones(2))
    >>> bool(np.isclose(loss.value, np.log(2.0))), loss.gradient.tolist()
    (True, [[-0.25, 0.25], [0.25, -0.25]])
    """
    shares = weights / weights.sum()
    log_chances, samples = log_softmax(scores, axis=1), np.arange(codes.size)
    errors = np.exp(log_chances)
    errors[samples, codes] -= 1.0
    return Loss(-float(shares @ log_chances[samples, codes]), shares[:, None] * errors)
