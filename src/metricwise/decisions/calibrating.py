"""Lines that make calibrated log-odds or log-probabilities of out-of-fold scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from metricwise._typing import Floats
from metricwise.decisions.decision import Calibration, ScoredSamples, Sigmoid
from metricwise.decisions.log_loss import softmax_loss
from metricwise.decisions.prior_shift import class_likelihoods, maximise_likelihood

if TYPE_CHECKING:  # tasks choose guaranteed thresholds, whose orders need calibrated scores
    from metricwise.decisions.task import Task

_LARGEST_FALL = 10.0  # factor by which one step may lower a slope
_RIDGE = 1e-3  # of the parameters, in samples: classes that are separated must not get infinite slopes
_LEAST_SLOPE = 1e-3  # of standardised scores: scores worse than chance keep their order
_MOST_STEPS = 100
_CONVERGED = 1e-12
_SUFFICIENT = 1e-4  # share of the decrease that a step predicts, for it to be taken
_ROUNDING = 1e-12
_SINGULAR = 1e-10  # relative
_LIMITS = (9.0, 6.0, 4.0, 3.0, 2.0)  # of log-probabilities below those of the classes
_NOTICEABLE = 1e-6  # of a log loss per sample


def fit_calibration(task: Task, samples: ScoredSamples) -> Calibration:
    """Return the lines that minimise the log loss of out-of-fold scores.

    Two classes have one line (Platt 1999), several have one slope and an intercept for each (vector scaling with a
    common slope), and labels a line each.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.decisions.tasks import Binary
    >>> from metricwise.measures import FBeta
    >>> random = np.random.default_rng(0)
    >>> log_odds = random.normal(size=4000)
    >>> positive = random.random(4000) < 1.0 / (1.0 + np.exp(-log_odds))
    >>> samples = ScoredSamples(positive, 3.0 * log_odds + 1.0, np.ones(4000))  # overconfident
    >>> line = fit_calibration(Binary(np.array([0, 1]), FBeta(), 1), samples).lines[0]
    >>> abs(line.slope - 1.0 / 3.0) < 0.03 and abs(line.intercept + 1.0 / 3.0) < 0.1
    True
    """
    found = task.calibrate(samples)
    return found if found.lines else fit_class_calibration(samples)


def fit_class_calibration(samples: ScoredSamples) -> Calibration:
    """Return the lines of several classes, which have a common slope.

    They minimise a strictly convex function, so that neither order nor copies of samples matter.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> log_chances = np.log(random.dirichlet(np.ones(3), 4000))
    >>> codes = np.array([random.choice(3, p=np.exp(one)) for one in log_chances])
    >>> lines = fit_class_calibration(ScoredSamples(codes, 4.0 * log_chances, np.ones(4000))).lines
    >>> 0.23 < lines[0].slope < 0.27
    True
    """
    codes, scores, weights = samples
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = max(float(np.sqrt(np.average(np.mean(centred**2, axis=1), weights=weights))), _ROUNDING)
    standardised = ScoredSamples(codes, centred / spread, weights)
    found = _minimise(standardised, has_slope=True)
    if found[0] < _LEAST_SLOPE:  # the function is convex: its minimum with a larger slope has the least of them
        found = _minimise(standardised, has_slope=False)
    slope, intercepts = float(found[0]) / spread, found[1:] - found[1:].mean()
    return Calibration(tuple(Sigmoid(slope, float(intercept)) for intercept in intercepts))


class LimitedCalibration(NamedTuple):
    """The lines of several classes, after log-probabilities below a floor are raised to it; None for no floor."""

    floor: Floats | None
    calibration: Calibration

    def log_probabilities(self, scores: Floats) -> Floats:
        """Return log-probabilities, up to a constant for each sample."""
        return self.calibration(raise_to_floor(scores, self.floor))


def raise_to_floor(scores: Floats, floor: Floats | None) -> Floats:
    """Return scores that are no less than a floor of their class; unchanged without one."""
    return scores if floor is None else np.maximum(scores, floor)


def fit_limited_calibration(samples: ScoredSamples, has_probabilities: bool) -> LimitedCalibration:
    """Return the lines of several classes and, if the scores are log-probabilities, the floor of least log loss.

    Trees and naive Bayes give some classes a probability of zero or nearly so. Its logarithm outweighs all others, so
    that no line fits both; the floor is a distance below the shares of the classes.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> chances = random.dirichlet(np.ones(3), 4000)
    >>> codes = np.array([random.choice(3, p=one) for one in chances])
    >>> chances[random.random(4000) < 0.3, 0] = 1e-15
    >>> found = fit_limited_calibration(ScoredSamples(codes, np.log(chances), np.ones(4000)), True)
    >>> bool(np.all(found.floor > -5.0)), 0.7 < found.calibration.lines[0].slope < 1.3
    (True, True)
    """
    codes, scores, weights = samples
    if not has_probabilities:
        return LimitedCalibration(None, fit_class_calibration(samples))
    shares = np.bincount(codes, weights, scores.shape[1]) / weights.sum()
    prior, best, least = np.log(np.maximum(shares, 1.0 / (weights.sum() + 1.0))), None, np.inf
    for limit in _LIMITS:
        raised = ScoredSamples(codes, raise_to_floor(scores, prior - limit), weights)
        found = LimitedCalibration(prior - limit, fit_class_calibration(raised))
        loss = float(softmax_loss(codes, found.log_probabilities(scores), weights).value)
        if loss < least - _NOTICEABLE:
            best, least = found, loss
    assert best is not None  # the first loss is finite
    return best


def _minimise(samples: ScoredSamples, has_slope: bool) -> Floats:
    """Return the slope and intercepts with the least penalised log loss, by Newton's method with halved steps.

    Parameters
    ----------
    samples : ScoredSamples
        Codes, standardised scores of each class, and weights.
    has_slope : bool
        Whether the slope is free; otherwise it is the least one.
    """
    codes, scores, weights = samples
    ridge = _RIDGE / weights.sum()
    parameters = np.append(1.0 if has_slope else _LEAST_SLOPE, np.zeros(scores.shape[1]))
    free = slice(0 if has_slope else 1, None)

    def value(at: Floats) -> float:
        penalty = 0.5 * ridge * float(at[free] @ at[free])
        return float(softmax_loss(codes, at[0] * scores + at[1:], weights).value + penalty)

    present = value(parameters)
    for _ in range(_MOST_STEPS):
        downhill, curvature = _newton_terms(samples, parameters[0], parameters[1:])
        downhill = downhill[free] / weights.sum() - ridge * parameters[free]
        curvature = curvature[free, free] / weights.sum() + ridge * np.eye(downhill.size)
        step, length, moved = np.linalg.solve(curvature, downhill), 1.0, parameters.copy()
        decrease = float(step @ downhill)
        moved[free] += step
        if decrease <= _CONVERGED:  # of the value; as the steps converge quadratically, this is the last one
            return moved
        while (new := value(moved)) > present - _SUFFICIENT * length * decrease:
            length *= 0.5
            moved[free] = parameters[free] + length * step
        parameters, present = moved, new
    return parameters


def _newton_terms(samples: ScoredSamples, slope: float, intercepts: Floats) -> tuple[Floats, Floats]:
    """Return the negative gradient and the curvature of the log loss, summed over samples: slope, then intercepts."""
    codes, scores, weights = samples
    chances = softmax(slope * scores + intercepts, axis=1)
    centred = scores - np.sum(chances * scores, axis=1, keepdims=True)
    errors = (codes[:, None] == np.arange(scores.shape[1])) - chances
    downhill = weights @ np.column_stack([np.sum(errors * scores, axis=1), errors])
    weighted = weights[:, None] * chances
    curvature = np.empty((downhill.size, downhill.size))
    curvature[0, 0] = np.sum(weighted * centred**2)
    curvature[0, 1:] = curvature[1:, 0] = np.sum(weighted * centred, axis=0)
    curvature[1:, 1:] = np.diag(weighted.sum(axis=0)) - weighted.T @ chances
    return downhill, curvature


@dataclass(frozen=True)
class ClassCalibration:
    """Log-probabilities of classes: slope * score + intercept of the class, up to a constant for each sample.

    Attributes
    ----------
    slope : float
        Of all classes.
    intercepts : array of shape (n_classes,)
        One per class.
    """

    slope: float
    intercepts: Floats

    @classmethod
    def of(cls, calibration: Calibration) -> ClassCalibration:
        """Return the same calibration of a column of scores per class; that of the negative one of two is zero."""
        intercepts = np.array([line.intercept for line in calibration.lines])
        return cls(calibration.lines[0].slope, intercepts if intercepts.size > 1 else np.append(0.0, intercepts))

    def log_probabilities(self, scores: Floats) -> Floats:
        """Return log-probabilities, up to a constant for each sample."""
        return self.slope * scores + self.intercepts

    def likelihoods(self, samples: ScoredSamples, scores: Floats) -> Floats:
        """Return the likelihood of every class, up to a factor for each sample.

        Parameters
        ----------
        samples : ScoredSamples
            The samples that the calibration was fitted on: codes, scores of each class, and weights.
        scores : array of shape (n_samples, n_classes)
            Scores of new samples.
        """
        counts = np.bincount(samples.target, samples.weights)
        return class_likelihoods(self.log_probabilities(scores), counts / counts.sum())

    def find_shares(self, samples: ScoredSamples, scores: Floats) -> Floats:
        """Return the most likely class priors among new samples.

        Parameters
        ----------
        samples : ScoredSamples
            The samples that the calibration was fitted on: codes, scores of each class, and weights.
        scores : array of shape (n_samples, n_classes)
            Scores of the new samples.
        """
        return maximise_likelihood(self.likelihoods(samples, scores))

    def refit(self, samples: ScoredSamples) -> ClassCalibration:
        """Return the calibration after one step of Newton towards that of other weights of the samples.

        Parameters
        ----------
        samples : ScoredSamples
            Codes, scores of each class, and the new weights.
        """
        downhill, curvature = _newton_terms(samples, self.slope, self.intercepts)
        # A constant added to all intercepts changes nothing, so that the curvature has no inverse.
        step = np.linalg.lstsq(curvature, downhill, rcond=_SINGULAR)[0]
        smallest = self.slope / _LARGEST_FALL
        return ClassCalibration(max(self.slope + float(step[0]), smallest), self.intercepts + step[1:])
