r"""Prior shift: the class priors change, what samples of each class look like does not.

With class probabilities p_k of training shares q_k, those of new shares r_k are proportional to p_k r_k / q_k. The same
formula undoes subsampling and class weights. New shares are estimated from unlabelled samples by expectation
maximisation (Saerens et al. 2002): it climbs the likelihood :math:`\sum_i \log \sum_k r_k l_{ik}` with
:math:`l_{ik} = p_{ik} / q_k`, which is concave in r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats

_MOST_STEPS = 2000
_CONVERGED = 1e-10
_DRAWS = 4000
CONFIDENCE = 0.9
_WIDEST_INTERVAL = 0.4  # of the share of a class, for an estimate to be accepted


class UndeterminedPriorError(ValueError):
    """Unlabelled samples do not determine the class priors: too few, or scored alike in all classes.

    Parameters
    ----------
    message : str
        What the samples leave open.
    interval : pair of arrays of shape (n_classes,)
        Intervals of 90 % of the shares.

    Attributes
    ----------
    interval : pair of arrays of shape (n_classes,)
        Intervals of 90 % of the shares, the negative and the positive class of two.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier, UndeterminedPriorError, adapt_prior
    >>> random = np.random.default_rng(0)
    >>> X, y = random.normal(size=(400, 1)), random.random(400) < 0.3  # no feature differs between the classes
    >>> model = PlugInClassifier(LogisticRegression()).fit(X, y)
    >>> try:
    ...     adapt_prior(model, X)
    ... except UndeterminedPriorError as error:
    ...     low, high = error.interval
    >>> bool(high[1] - low[1] > 0.4)
    True
    """

    def __init__(self, message: str, interval: tuple[Floats, Floats]) -> None:
        super().__init__(message)
        self.interval = interval

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.interval)  # otherwise pickle calls the class with the message alone


@stored_fields(version=1)
@dataclass(frozen=True)
class PriorEstimate:
    """Shares of the classes among new samples.

    Attributes
    ----------
    estimate : float or array of shape (n_classes,)
        Two classes: the share of the positive class. More: the share of each class.
    interval : pair of float or of arrays
        Interval that contains each share with probability 0.9; the estimate twice if the shares were given.
    training : float or array of shape (n_classes,)
        The shares among the training samples.
    n_samples : int or None
        Number of unlabelled samples of the estimate; None if the shares were given.

    Examples
    --------
    >>> prior = PriorEstimate(0.2, (0.17, 0.23), 0.1, 1000)
    >>> print(prior)
    0.2 (0.17 to 0.23, from 1000 samples; 0.1 in training)
    """

    estimate: float | Floats
    interval: tuple[float | Floats, float | Floats]
    training: float | Floats
    n_samples: int | None = None

    def __str__(self) -> str:
        new, low, high, old = map(_show, (self.estimate, *self.interval, self.training))
        source = "given" if self.n_samples is None else f"{low} to {high}, from {self.n_samples} samples"
        return f"{new} ({source}; {old} in training)"


def _show(share: float | Floats) -> str:
    numbers = [f"{one:.3g}" for one in np.ravel(share)]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"


def class_likelihoods(log_probabilities: Floats, prior: Floats) -> Floats:
    """Return the likelihood of every class, up to a factor for each sample.

    Parameters
    ----------
    log_probabilities : array of shape (n_samples, n_classes)
        Calibrated log-probabilities, up to a constant for each sample.
    prior : array of shape (n_classes,)
        Shares of the classes that they were calibrated for.
    """
    ratios = log_probabilities - np.log(prior)
    return np.asarray(np.exp(ratios - ratios.max(axis=1, keepdims=True)))


def maximise_likelihood(likelihoods: Floats, weights: Floats | None = None, start: Floats | None = None) -> Floats:
    """Return the class priors with the largest likelihood.

    Steps of expectation maximisation are extrapolated (squared iterative methods, Varadhan and Roland 2008) where that
    raises the likelihood at least as much.

    Parameters
    ----------
    likelihoods : array of shape (n_samples, n_classes)
        Likelihoods of the classes, up to a factor for each sample.
    weights : array of shape (n_samples,), optional
        Weights of the samples.
    start : array of shape (n_classes,), optional
        Shares to start from, none of them zero; by default equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> maximise_likelihood(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])).round(3)
    array([0.333, 0.667])
    """
    n_samples, n_classes = likelihoods.shape
    share = np.full(n_samples, 1.0 / n_samples) if weights is None else weights / weights.sum()
    prior = np.full(n_classes, 1.0 / n_classes) if start is None else start
    for _ in range(_MOST_STEPS):
        first = _step(likelihoods, share, prior)
        second = _step(likelihoods, share, first)
        move, bend = first - prior, second - 2.0 * first + prior
        if np.abs(move).max() <= _CONVERGED:
            return first
        moved = second
        if bend.any():
            length = max(float(np.linalg.norm(move) / np.linalg.norm(bend)), 1.0)
            jump = prior + 2.0 * length * move + length**2 * bend
            is_better = jump.min() > 0.0 and _value(likelihoods, share, jump) >= _value(likelihoods, share, second)
            moved = jump / jump.sum() if is_better else second
        prior = moved
    return prior


def _step(likelihoods: Floats, share: Floats, prior: Floats) -> Floats:
    """Return the mean probabilities of the classes, given their shares: one step of expectation maximisation."""
    moved: Floats = prior * ((share / (likelihoods @ prior)) @ likelihoods)
    return np.asarray(moved / moved.sum())


def _value(likelihoods: Floats, share: Floats, prior: Floats) -> float:
    return float(share @ np.log(likelihoods @ (prior / prior.sum())))


def prior_covariance(likelihoods: Floats, prior: Floats) -> Floats:
    """Return the covariance of the shares of all classes but the last: the inverse of the Fisher information.

    Where the likelihood is flat, the variance is huge.

    Parameters
    ----------
    likelihoods : array of shape (n_samples, n_classes)
        Likelihoods of the classes, up to a factor for each sample.
    prior : array of shape (n_classes,)
        Shares of the classes.
    """
    slopes = (likelihoods[:, :-1] - likelihoods[:, -1:]) / (likelihoods @ prior)[:, None]
    information = slopes.T @ slopes
    return np.asarray(np.linalg.inv(information + 1e-9 * np.eye(len(information))))


def estimate_shares(
    prior: Floats, covariance: Floats, changes: Floats, n_samples: int, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Return the mean share of each class given the data, and the ends of the intervals that contain it (90 %).

    Where the data determine the shares, the mean is the most likely value. Near zero it is larger: a class that is most
    likely absent may be there.

    Parameters
    ----------
    prior : array of shape (n_classes,)
        The most likely shares.
    covariance : array of shape (n_classes - 1, n_classes - 1)
        Its covariance, were the probabilities exact.
    changes : array of shape (n_replicates, n_classes)
        What other calibrations of the probabilities, equally likely, change of the estimate.
    n_samples : int
        Number of unlabelled samples; no class has less than half of one.
    seed : int
        Seeds the draws.
    """
    random = np.random.default_rng(seed)
    noise = random.multivariate_normal(np.zeros(prior.size - 1), covariance, _DRAWS, method="cholesky")
    noise = np.column_stack([noise, -noise.sum(axis=1)])
    # Other calibrations are as far from ours as ours is from the truth.
    drawn = prior + noise - changes[random.integers(len(changes), size=_DRAWS)]
    low, high = np.quantile(drawn, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0], axis=0)
    drawn = limit_shares(drawn, n_samples)
    mean: Floats = np.mean(drawn / drawn.sum(axis=1, keepdims=True), axis=0)
    low, high = limit_shares(np.minimum(low, mean), n_samples), limit_shares(np.maximum(high, mean), n_samples)
    return mean, low, high


def limit_shares(shares: Floats, n_samples: float) -> Floats:
    """Return shares that are half a sample or more away from none and all of the samples."""
    least = min(0.5, 0.5 / n_samples)
    return np.clip(shares, least, 1.0 - least)


def is_determined(low: Floats, high: Floats) -> bool:
    """Return whether intervals of the shares are narrow enough to act upon.

    Examples
    --------
    >>> import numpy as np
    >>> is_determined(np.array([0.7, 0.2]), np.array([0.8, 0.3]))
    True
    >>> is_determined(np.array([0.2, 0.1]), np.array([0.9, 0.8]))
    False
    """
    return bool(np.max(high - low) <= _WIDEST_INTERVAL)
