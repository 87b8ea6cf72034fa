"""Average precision with its interval, and the band of the precision-recall curve, from resamples of the samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions.intervals import interval_around
from metricwise.measures import AveragePrecision
from metricwise.measures.tables import divide
from metricwise.reporting.evaluation import draw_counts, middle_ends
from metricwise.reporting.predictions import Problem
from metricwise.reporting.steps import Steps

_RECALLS = 200  # at which the band is drawn
_ROUNDING = 1e-12  # of a sum of drawn weights


class PrecisionRecallBand(NamedTuple):
    """Average precision with its interval, and the band of the precision at every recall.

    Attributes
    ----------
    area : float
        Average precision: the area under the curve.
    interval : tuple of float
        Its interval.
    recall : array
        Recalls in ascending order.
    low, high : arrays
        Between them lies the precision at each recall with the given probability.
    """

    area: float
    interval: tuple[float, float]
    recall: Floats
    low: Floats
    high: Floats


def precision_recall_band(
    problem: Problem, steps: Steps, confidence: float = 0.9, seed: int = 0
) -> PrecisionRecallBand | None:
    """Return average precision and the band of the precision-recall curve; None if a class is missing.

    Parameters
    ----------
    problem : Problem
        Truth and scores, of which average precision is exact.
    steps : Steps
        Its thresholds, at which resamples are drawn as those of `measure_curve`.
    confidence : float
        Confidence level of interval and band.
    seed : int
        Seeds the resamples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.reporting.predictions import Problem
    >>> from metricwise.reporting.steps import make_steps
    >>> truth = np.arange(400) % 4 == 0
    >>> scores = truth + np.random.default_rng(0).normal(size=400)
    >>> problem = Problem("1", 1, truth, scores > 0.5, scores, "score", 0.5, np.ones(400))
    >>> band = precision_recall_band(problem, make_steps(problem))
    >>> low, high = band.interval
    >>> bool(low < band.area < high), bool(np.all(band.low <= band.high))
    (True, True)
    """
    if steps.n_pos <= 0.0 or steps.n_neg <= 0.0:
        return None
    area = AveragePrecision().score(problem.truth, problem.scores, problem.weights)
    tp, fp, n_pos, _ = draw_counts(steps, seed)
    precision = np.where(tp + fp > 0.0, divide(tp, tp + fp), 1.0)
    draws = _sum_precision(tp, precision) / n_pos[:, 0]
    own = _sum_precision(steps.tp[None, ::-1], steps.precision[None, ::-1])[0] / steps.n_pos
    # Steps tie the samples between them, which biases the area but not its spread.
    interval = interval_around(area, np.clip(draws - own + area, 0.0, 1.0), confidence)
    grid = np.linspace(0.0, 1.0, _RECALLS + 1)[1:]
    reached = [np.searchsorted(row, (1.0 - _ROUNDING) * grid * row[-1]) for row in tp]
    low, high = np.quantile(np.take_along_axis(precision, np.array(reached), axis=1), middle_ends(confidence), axis=0)
    return PrecisionRecallBand(area, interval, grid, low, high)


def _sum_precision(tp: Floats, precision: Floats) -> Floats:
    """Return the precision at every positive, added up, for resamples (rows)."""
    return np.asarray((np.diff(tp, axis=1, prepend=0.0) * precision).sum(axis=1))
