"""Frank-Wolfe over confusion matrices, and bisection for ratios (Narasimhan et al. 2015, Algorithms 1 and 2).

The confusion matrices that randomised classifiers can have form a convex set, whose corners are those of rules of
greatest expected gain. Frank-Wolfe maximises a concave measure over it: each step adds the rule whose gains are the
gradient, and moves weight to it from the rule that the gradient likes least (a pairwise step, Lacoste-Julien and Jaggi
2015), as far as a line search goes. What is reached is a mixture of rules, and the gradient bounds what is missing. Of
measures that are not concave, it finds a mixture that no step improves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions.gain_rules import GainRule, KnownSamples
from metricwise.measures.multiclass_capabilities import ConcaveInRecalls, CountsConfusion, RatioOfConfusion
from metricwise.measures.rates import MinRate
from metricwise.measures.tables import divide

_HALVINGS = 30  # of line searches and bisections
_CORRECTIONS = 8  # pairwise steps among known rules, per new rule
_SHARPNESS = (10.0, 100.0, 1000.0)  # of smooth minima, one after the other
_TINY = 1e-9  # weights of rules that are dropped


class Objective(Protocol):
    """A smooth function of confusion matrices of shares."""

    def value(self, matrix: Floats) -> float:
        """Return the value at a matrix."""

    def gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a matrix."""


class MeasureObjective(NamedTuple):
    """A measure."""

    measure: Any

    def value(self, matrix: Floats) -> float:
        """Return the measure of a matrix."""
        return float(self.measure.of_confusion(matrix))

    def gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a matrix."""
        return np.asarray(self.measure.confusion_gradient(matrix))


class SmoothMinimum(NamedTuple):
    """The least recall, made smooth: at most log(n_classes) / sharpness greater."""

    measure: MinRate
    sharpness: float

    def value(self, matrix: Floats) -> float:
        """Return the smooth minimum of the recalls."""
        return self.measure.smooth_minimum(divide(np.diagonal(matrix), matrix.sum(axis=1)), self.sharpness)

    def gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a matrix."""
        true = matrix.sum(axis=1)
        slopes = self.measure.recall_gradient(divide(np.diagonal(matrix), true), self.sharpness)
        return np.diag(divide(slopes, true))


class Mixture(NamedTuple):
    """Rules with their probabilities, the confusion matrix of the mixture, and a bound of what is missing.

    ``gap`` is the most by which a concave objective can still rise.
    """

    rules: list[GainRule]
    shares: Floats
    gap: float = np.inf

    @property
    def matrix(self) -> Floats:
        """The confusion matrix, of shares."""
        return np.asarray(np.tensordot(self.shares, [rule.matrix for rule in self.rules], axes=1))


def objectives_of(measure: CountsConfusion) -> list[Objective]:
    """Return the smooth objectives that lead to a measure, one after the other."""
    if isinstance(measure, MinRate):
        return [SmoothMinimum(measure, sharpness) for sharpness in _SHARPNESS]
    return [MeasureObjective(measure)]


def is_concave(measure: object) -> bool:
    """Return whether a measure is a concave function of the confusion matrix, given the class shares."""
    return isinstance(measure, ConcaveInRecalls)


def start_mixture(samples: KnownSamples) -> Mixture:
    """Return a mixture of the plain rule and the one that balances the classes, in which no recall should be zero."""
    n_classes = samples.shares.size
    rules = [samples.respond(np.eye(n_classes)), samples.respond(np.diag(divide(1.0, samples.shares)))]
    return Mixture(rules, np.full(2, 0.5))


def maximise_measure(
    measure: CountsConfusion,
    samples: KnownSamples,
    start: Mixture | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
) -> Mixture:
    """Return a mixture of rules that maximises a concave measure; of another, one that no step improves.

    Parameters
    ----------
    measure : CountsConfusion
        The measure.
    samples : KnownSamples
        Samples.
    start : Mixture, optional
        Where to start; by default at the plain and the balanced rule.
    max_iter : int
        Most new rules per objective.
    tol : float
        Gap at which to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import GMean
    >>> chances = np.random.default_rng(0).dirichlet([4.0, 2.0, 1.0], 500)
    >>> found = maximise_measure(GMean(), KnownSamples.of(chances, chances, np.ones(500)))
    >>> found.gap < 1e-4
    True
    """
    mixture = start_mixture(samples) if start is None else start
    for objective in objectives_of(measure):
        mixture = frank_wolfe(objective, samples.respond, mixture, max_iter, tol)
    return mixture


def frank_wolfe(
    objective: Objective, respond: Callable[[Floats], GainRule], start: Mixture, max_iter: int, tol: float
) -> Mixture:
    """Return the mixture that pairwise Frank-Wolfe steps lead to from a start."""
    rules, shares = list(start.rules), np.array(start.shares)
    gap = np.inf
    for _ in range(max_iter):
        matrix = Mixture(rules, shares).matrix
        gradient = objective.gradient(matrix)
        rule = respond(gradient)
        gap = float(np.sum(gradient * (rule.matrix - matrix)))
        if gap <= tol:
            break
        rules, shares = [*rules, rule], np.append(shares, 0.0)
        before = objective.value(matrix)
        rules, shares = _correct(objective, rules, shares)
        if objective.value(Mixture(rules, shares).matrix) <= before:
            break
    return Mixture(rules, shares, gap)


def _correct(objective: Objective, rules: list[GainRule], shares: Floats) -> tuple[list[GainRule], Floats]:
    """Return rules and shares after pairwise steps among known rules; those without a share are dropped."""
    matrices = np.array([rule.matrix for rule in rules])
    for _ in range(_CORRECTIONS):
        matrix = np.tensordot(shares, matrices, axes=1)
        slopes = np.tensordot(matrices, objective.gradient(matrix), axes=2)
        best, worst = int(np.argmax(slopes)), int(np.argmin(np.where(shares > 0.0, slopes, np.inf)))
        if slopes[best] <= slopes[worst]:
            break
        step = _search_line(objective, matrix, matrices[best] - matrices[worst], float(shares[worst]))
        if step <= 0.0:
            break
        shares[best] += step
        shares[worst] = max(shares[worst] - step, 0.0)
    keeps = shares > _TINY
    return [rule for rule, kept in zip(rules, keeps, strict=True) if kept], shares[keeps] / shares[keeps].sum()


def _search_line(objective: Objective, matrix: Floats, direction: Floats, longest: float) -> float:
    """Return the step at which the slope along a direction vanishes, or the longest one; 0 if the value falls."""

    def slope(step: float) -> float:
        return float(np.sum(objective.gradient(matrix + step * direction) * direction))

    low, high = 0.0, longest
    if slope(longest) >= 0.0:
        low = longest
    else:
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return low if objective.value(matrix + low * direction) > objective.value(matrix) else 0.0


def maximise_ratio(measure: RatioOfConfusion, samples: KnownSamples) -> GainRule:
    """Return the rule that maximises a ratio of linear functions, by bisection of its level.

    A level v can be reached if the rule of gains A - v B has a ratio of v or more, for the measure <A, C> / <B, C>. The
    lower end of the interval is the best ratio that a rule has had (a step of Dinkelbach 1967).

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import CohenKappa
    >>> chances = np.random.default_rng(0).dirichlet([4.0, 2.0, 1.0], 500)
    >>> samples = KnownSamples.of(chances, chances, np.ones(500))
    >>> kappa = CohenKappa("quadratic")
    >>> best, plain = maximise_ratio(kappa, samples), samples.respond(np.eye(3))
    >>> bool(kappa.of_confusion(best.matrix) > kappa.of_confusion(plain.matrix))
    True
    """
    top, bottom = measure.confusion_ratio(samples.shares)

    def ratio_of(rule: GainRule) -> float:
        return float(divide(np.sum(top * rule.matrix), np.sum(bottom * rule.matrix)))

    best = samples.respond(top)
    low, high = ratio_of(best), 1.0
    for _ in range(_HALVINGS):
        if not low < high:
            break
        # The first levels are those of Dinkelbach, which converge fast; halving the interval guarantees the rest.
        for level in (low, 0.5 * (low + high)):
            rule = samples.respond(top - level * bottom)
            reached = ratio_of(rule)
            if reached > low:
                best, low = rule, reached
            elif level > low:
                high = level
    return best
