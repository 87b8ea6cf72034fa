"""The oracle of a measure, chosen by the measure's capabilities."""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats
from metricwise.kernels import tables
from metricwise.measures import GMean, HMean, MinRate, QMean
from metricwise.measures.base import CountsTable, HasViolatedLabelling, Measure, RestrictsLabellings, is_monotone
from metricwise.measures.ranking_capabilities import GainsByRank, RanksPairs, RocRegion
from metricwise.measures.rate_capabilities import RatioOfRates
from metricwise.oracles.base import Classes, Oracle
from metricwise.oracles.contingency import AdditiveOracle, RatioShape, TableOracle, ratio_constants, scan_for_ratio
from metricwise.oracles.generic import GenericOracle
from metricwise.oracles.partial_area import PartialAreaOracle
from metricwise.oracles.rank_gains import RankGainOracle
from metricwise.oracles.ranking import PairOracle
from metricwise.oracles.restricted import AtLeastOracle, AtMostOracle

# Concave functions of the rates with a compiled loss; each loss is convex, and its best table is monotone.
_RATE_KINDS: dict[type, int] = {
    GMean: tables.G_MEAN,
    HMean: tables.H_MEAN,
    QMean: tables.Q_MEAN,
    MinRate: tables.MIN_RATE,
}


def make_oracle(
    measure: Measure,
    n_pos: int,
    n_neg: int,
    weights: Floats | None = None,
    *,
    threads: int = 1,
    generic: bool = False,
) -> Oracle:
    """Return the oracle of a measure for ``n_pos`` positive samples followed by ``n_neg`` negative ones.

    Parameters
    ----------
    measure : Measure
        Must have a most violated labelling.
    n_pos, n_neg : int
        Numbers of samples of each class.
    weights : array of shape (n_pos + n_neg,), optional
        Weights above zero.
    threads : int
        Threads that may sort; the result does not depend on it.
    generic : bool
        Use the generic scan even where there is a faster one, to check the latter.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> labelling = make_oracle(FBeta(), n_pos=1, n_neg=2).violate(np.array([2.0, 0.5, -3.0]))
    >>> labelling.table  # the positive stays, the first negative joins it
    (1.0, 1.0)
    """
    if not isinstance(measure, HasViolatedLabelling):
        raise TypeError(f"{measure!r} has no most violated labelling: give it a method mistakes_per_loss(n_pos, n_neg)")
    if weights is not None and np.all(weights == 1.0):
        weights = None
    classes = Classes(n_pos, n_neg, weights, threads)
    mistakes = float(measure.mistakes_per_loss(classes.pos_weight, classes.neg_weight))
    if isinstance(measure, GainsByRank):
        return RankGainOracle(measure, classes, mistakes, scans=generic)
    if isinstance(measure, RanksPairs):
        whole = measure.roc_region == RocRegion() and not generic
        return PairOracle(classes, mistakes) if whole else PartialAreaOracle(measure.roc_region, classes, mistakes)
    assert isinstance(measure, CountsTable)
    if isinstance(measure, RestrictsLabellings):
        size = float(measure.predicted_positives(classes.pos_weight, classes.pos_weight + classes.neg_weight))
        top = AtMostOracle if size >= classes.pos_weight else AtLeastOracle
        return top(size, classes, mistakes)
    fast = None if generic else _fast_oracle(measure, classes, mistakes)
    return fast or GenericOracle(measure, is_monotone(measure), classes, mistakes)


def has_fast_oracle(measure: Measure, n_pos: float, n_neg: float) -> bool:
    """Return whether the time that the oracle of a measure takes does not depend on the sample weights.

    Examples
    --------
    >>> from metricwise.measures import MCC, FBeta
    >>> has_fast_oracle(FBeta(), 10.0, 90.0), has_fast_oracle(MCC(), 10.0, 90.0)
    (True, False)
    """
    if not isinstance(measure, HasViolatedLabelling):
        return False
    if isinstance(measure, GainsByRank):
        return False
    if isinstance(measure, RanksPairs | RestrictsLabellings):
        return True
    assert isinstance(measure, CountsTable)
    return _fast_oracle(measure, Classes(1, 1, np.array([n_pos, n_neg])), mistakes=1.0) is not None


def _fast_oracle(measure: CountsTable, classes: Classes, mistakes: float) -> Oracle | None:
    kind = _RATE_KINDS.get(type(measure))
    if kind is not None:
        return TableOracle(measure, kind, np.empty(0), "rising", False, classes, mistakes)
    if not isinstance(measure, RatioOfRates):
        return None
    n_pos, n_neg = classes.pos_weight, classes.neg_weight
    ratio = measure.ratio(n_neg / n_pos)
    par, shape = ratio_constants(ratio, n_pos, n_neg), RatioShape(ratio)
    if shape.additive and shape.defined:
        return AdditiveOracle(float(par[3] / par[5]), float(-par[4] / par[5]), classes, mistakes)
    scan = scan_for_ratio(shape)
    if scan is None:
        return None
    split = not (shape.convex_in_pos and shape.convex_in_neg)
    if (
        classes.is_weighted
        and split
        and not (shape.convex_in_pos and shape.concave_in_neg and shape.loss_grows_with_neg)
    ):
        return None
    return TableOracle(measure, tables.RATIO, par, scan, split, classes, mistakes)
